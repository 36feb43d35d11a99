"""C programs for BPF: the compiler that is there, the right flags, and the simulated kernel's own vmlinux.h.

    obj = machine.load("count.bpf.c")
    data = machine.compile("count.bpf.c")       # bytes of an object file

clang is taken from PATH (or `CLANG` in the environment), else the one in the Python package ziglang.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from arch import cache
from arch.abi.version import KernelVersion, newest
from arch.architecture import get
from bpf.btf import Btf

LIMIT_S = 120  # a compiler that takes longer hangs
FLAGS = ("-O2", "-g", "-Wall", "-Wno-unused-function", "-fno-stack-protector", "-fno-asynchronous-unwind-tables")
# What the kernel's verifier knows of BPF's instructions.  A compiler left to itself makes version 3 since LLVM 20, in which
# __sync_fetch_and_add() fetches, as kernels before 5.12 cannot; on newer ones that choice is the compiler's.
INSTRUCTIONS: tuple[tuple[str | None, tuple[str, ...]], ...] = (
    ("5.12", ()),
    ("4.14", ("-mcpu=v2",)),
    (None, ("-mcpu=v1",)),
)
# Where a distribution puts <asm/...>: libbpf's usdt.bpf.h wants <asm/errno.h>.
ASM_PLACES = ("x86_64-linux-gnu", "aarch64-linux-gnu", "riscv64-linux-gnu", "s390x-linux-gnu", "i386-linux-gnu")


class CompileError(Exception):
    """The compiler refused, or there is none: what it said."""


def compiler(environment: Mapping[str, str] | None = None) -> list[str]:
    """The command of a C compiler that makes BPF."""
    env = os.environ if environment is None else environment
    if env.get("CLANG"):
        return env["CLANG"].split()
    if found := shutil.which("clang", path=env.get("PATH")):
        return [found]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    raise CompileError(
        "no C compiler for BPF: install clang, or the Python package ziglang (pip install simkernel[cc])"
    )


def include_directories() -> list[Path]:
    """Where libbpf's headers and the samples' own lie on this host."""
    here = Path(__file__).parent
    own = next((d for d in (here / "samples/include", here.parent / "samples/include") if d.is_dir()), None)
    places = [Path("/usr/include", triple) for triple in ASM_PLACES]
    return [*([own] if own else []), *(p for p in places if (p / "asm").is_dir())]


def compile_bpf(
    source: str | Path, arch: str, version: KernelVersion, vmlinux: str, flags: Sequence[str] = ()
) -> bytes:
    """An object file made from one C file, for this kernel.  `vmlinux` is the text of vmlinux.h.

    The source's own directory comes first where headers are looked for, then vmlinux.h, `flags`, and the host's libbpf.
    CompileError carries what the compiler printed.
    """
    source = Path(source)
    if not source.is_file():
        raise CompileError(f"{source}: no such file")
    command = compiler()
    cpu = get(arch)
    endian = "bpfeb" if cpu.byteorder == "big" else "bpfel"
    target = f"{endian}-freestanding" if "ziglang" in command else endian
    with tempfile.TemporaryDirectory(prefix="simkernel-cc-") as directory:
        header, out = Path(directory, "vmlinux.h"), Path(directory, "out.o")
        header.write_text(vmlinux)
        full = [*command, "-target", target, *FLAGS, *newest(INSTRUCTIONS, version)]
        full += [f"-D__TARGET_ARCH_{cpu.srcarch}", f"-DTARGET_{arch}"]
        full += ["-I", str(source.parent), "-I", directory, *flags]
        for place in include_directories():
            full += ["-idirafter", str(place)]
        full += ["-idirafter", "/usr/include", "-c", str(source), "-o", str(out)]
        try:
            done = subprocess.run(full, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CompileError(f"{command[0]}: {error}") from None
        if done.returncode:
            raise CompileError(done.stderr.rstrip() + missing_header(done.stderr))
        sys.stderr.write(done.stderr)
        return out.read_bytes()


def vmlinux_header(btf: Btf) -> str:
    """The text of vmlinux.h with these types.  A real kernel's are a hundred thousand: their text is kept."""
    from bpf.btf import codec, dump  # who compiles nothing needs no printer

    name = cache.digest([btf.encode(), *(Path(module.__file__ or "") for module in (codec, dump))])
    kept = cache.load("vmlinux", name)
    if kept is None:
        kept = dump.dump_c(btf).encode()
        cache.store("vmlinux", name, kept)
    return kept.decode()


def missing_header(said: str) -> str:
    """What to install when libbpf's headers are not there."""
    return "\nlibbpf's headers are in Debian's libbpf-dev" if "'bpf/" in said and "file not found" in said else ""
