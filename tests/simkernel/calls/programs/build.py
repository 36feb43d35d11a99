"""Build the programs of this folder and record what the real kernel says to them.

    python tests/simkernel/calls/programs/build.py [NAME...]            # bin/ARCH/NAME of each NAME.c, by gcc and its crosses

NAME.out is what NAME prints on Linux 6.1 as root (NAME.CPU.out: where a CPU answers otherwise).  The programs use no C library (tiny.h), so they are a few kilobytes.
"""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
COMPILERS = {
    "x86_64": ["gcc"],
    "i386": ["gcc", "-m32", "-idirafter", "/usr/include/x86_64-linux-gnu"],
    "s390x": ["s390x-linux-gnu-gcc", "-march=z10"],
}
FLAGS = ["-nostdlib", "-static", "-Os", "-fno-pie", "-no-pie", "-fno-stack-protector", "-fno-asynchronous-unwind-tables",
         "-fno-builtin", "-Wall", "-Wno-unused-function", "-s", "-Wl,--build-id=none", "-Wl,-z,noseparate-code", "-Wl,-z,noexecstack"]  # fmt: skip


def build(name: str) -> None:
    """One program for every CPU that it says it runs on (`/* not: ARCH */` in its first lines)."""
    source = HERE / f"{name}.c"
    without = re.findall(
        r"\b(?:%s)\b" % "|".join(COMPILERS), " ".join(re.findall(r"not: (.*)", source.read_text()[:400]))
    )
    for arch, compiler in COMPILERS.items():
        if arch in without:
            continue
        out = HERE / "bin" / arch / name
        out.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([*compiler, *FLAGS, "-o", str(out), str(source)], check=True)


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(path.stem for path in HERE.glob("*.c")):
        build(name)
