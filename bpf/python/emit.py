"""From LLVM IR to a BPF object file.

LLVM's back end says what it cannot do by ending its process; so it works in a process of its own:
`python -m bpf.python.emit TRIPLE`, assembly in, object out.
"""

from __future__ import annotations

import re
import subprocess
import sys

from arch.datamodel import ByteOrder
from bpf.python.errors import CompileError

CPU = "v1"  # instructions that every kernel knows
# Calls that LLVM makes of its own accord; the kernel has no such functions.
_RUNTIME = re.compile(rb"\b(memcpy|memset|memmove|__multi3|__u?divti3|__u?modti3)\0")


def target(byteorder: ByteOrder) -> tuple[str, str]:
    """(triple, data layout)."""
    letter = "e" if byteorder == "little" else "E"
    return f"bpf{'el' if byteorder == 'little' else 'eb'}", f"{letter}-m:e-p:64:64-i64:64-i128:128-n32:64-S128"


def emit_object(text: str, byteorder: ByteOrder) -> bytes:
    """The object of a module, optimised: BTF and CO-RE relocations are made by the passes of LLVM's BPF back end."""
    command = [sys.executable, "-m", __name__, target(byteorder)[0]]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [f"status {done.returncode}"]
        said = next((line for line in lines if "error:" in line.lower()), lines[-1])
        raise CompileError(f"LLVM cannot make BPF of it: {said.strip()}")
    extra = _RUNTIME.search(done.stdout)
    if extra:
        raise CompileError(f"a struct is too large to be handled whole: LLVM would call {extra[1].decode()}()")
    return done.stdout


def main() -> None:
    """The process's work."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly(sys.stdin.read())
    module.verify()
    machine = llvm.Target.from_triple(sys.argv[1]).create_target_machine(cpu=CPU, opt=2)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    builder.getModulePassManager().run(module, builder)
    sys.stdout.buffer.write(machine.emit_object(module))


if __name__ == "__main__":
    main()
