"""Rebuild the committed sample objects:  python samples/build.py [OUTPUT-DIRECTORY]

Needs ziglang (pip install simkernel[cc]).  BPF objects are built for each architecture, because the places of function
arguments in struct pt_regs differ; programs are static and need no C library.  A test compares what comes out with what
is committed, byte by byte, where the same compiler version is installed (samples/COMPILER).
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

HERE = Path(__file__).resolve().parent
ARCHES = {
    # ours      programs' zig target (z10 on s390x: the emulator has no newer high-word facility), BPF target
    "x86_64": ("x86_64-linux-none", "bpfel-freestanding"),
    "arm64": ("aarch64-linux-none", "bpfel-freestanding"),
    "riscv64": ("riscv64-linux-none", "bpfel-freestanding"),
    "s390x": ("s390x-linux-none -mcpu=arch8", "bpfeb-freestanding"),
    "arm": ("arm-linux-none", "bpfel-freestanding"),
    "i386": ("x86-linux-none", "bpfel-freestanding"),
}
BPF_FLAGS = ["-O2", "-g", "-mcpu=v1", "-fno-asynchronous-unwind-tables", "-fdebug-compilation-dir=.", "-Iinclude", "-c"]
PROGRAM_FLAGS = ["-Os", "-s", "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector", "-fno-builtin",
                 "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-Wl,--build-id=none", "-Wl,-z,norelro",
                 "-Iinclude"]  # fmt: skip
PROBED_FLAGS = ["-O2", "-g0", "-fno-sanitize=all", *[flag for flag in PROGRAM_FLAGS if flag not in ("-Os", "-s")]]
FOUR = ("x86_64", "arm64", "riscv64", "s390x")
BPF_OBJECTS = (
    # sources, without .bpf.c                                    architectures     objects' names begin with
    (("writes", "syscalls", "requests", "tasks", "functions"), FOUR, ""),
    (("v41/tracex1", "v41/tracex2", "v41/tracex3", "v41/tracex4"), FOUR, ""),
    (("v41/sizes",), tuple(ARCHES), ""),
    (("rfc2015/tracex1", "rfc2015/tracex2", "rfc2015/tracex3", "rfc2015/tracex4"), FOUR, "rfc_"),
)
PROGRAMS = ["hello", "writer"]
PROBED_PROGRAMS = ["server"]  # with symbols and probe notes, on 64-bit machines


def compiler_version() -> str:
    return run(["zig", "version"]).strip()


def run(command: list[str]) -> str:
    """Run zig from the sources' directory (so that no path of this machine gets into the objects)."""
    full = [sys.executable, "-m", "ziglang", *command[1:]]
    done = subprocess.run(full, cwd=HERE, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def jobs(out: Path) -> list[list[str]]:
    """One compiler command per object."""
    commands = []
    for arch, (target, _) in ARCHES.items():
        (out / "bin" / arch).mkdir(parents=True, exist_ok=True)
        for name in PROGRAMS + (PROBED_PROGRAMS if arch in FOUR else []):
            where = str(out / "bin" / arch / name)
            flags = PROGRAM_FLAGS if name in PROGRAMS else PROBED_FLAGS
            commands.append(["zig", "cc", "-target", *target.split(), *flags, f"{name}.c", "-o", where])
    for sources, arches, prefix in BPF_OBJECTS:
        for arch, source in product(arches, sources):
            (out / "obj" / arch).mkdir(parents=True, exist_ok=True)
            where = str(out / "obj" / arch / f"{prefix}{Path(source).name}.bpf.o")
            flags = [*BPF_FLAGS, f"-DTARGET_{arch}"]
            commands.append(["zig", "cc", "-target", ARCHES[arch][1], *flags, f"{source}.bpf.c", "-o", where])
    return commands


def build(out: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, jobs(out)))


if __name__ == "__main__":
    target = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else HERE
    build(target)
    (target / "COMPILER").write_text(f"ziglang {compiler_version()}\n")
