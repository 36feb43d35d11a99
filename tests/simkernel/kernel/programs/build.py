"""Rebuild bin/ARCH/life, bin/ARCH/calls and bin/ARCH/pipes:  python tests/simkernel/kernel/programs/build.py      (needs ziglang; a minute per target at first)

life.out is what `bin/x86_64/life PART...` prints on a real Linux, as root:  python build.py --record
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
TARGETS = {
    "x86_64": "x86_64-linux-musl",
    "arm64": "aarch64-linux-musl",
    "riscv64": "riscv64-linux-musl",
    "s390x": "s390x-linux-musl",
    "i386": "x86-linux-musl",
    "arm": "arm-linux-musleabihf",
}
PIPES_ON = ("x86_64", "arm64", "i386")  # 64 and 32 bits
PARTS = ("fork", "exec", "signals", "faults", "memory", "threads", "time", "ids")


def build(arch: str, name: str) -> None:
    out = HERE / "bin" / arch / name
    out.parent.mkdir(parents=True, exist_ok=True)
    cpu = ["-mcpu=z10"] if arch == "s390x" else []
    command = [
        sys.executable,
        "-m",
        "ziglang",
        "cc",
        "-target",
        TARGETS[arch],
        *cpu,
        "-static",
        "-Os",
        "-s",
        f"{name}.c",
    ]
    subprocess.run([*command, "-o", str(out)], cwd=HERE, check=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        done = subprocess.run([str(HERE / "bin/x86_64/life"), *PARTS], capture_output=True, text=True, check=True)
        (HERE / "life.out").write_text(done.stdout.replace(str(HERE / "bin/x86_64/life"), "/bin/life"))
    else:
        for name in sys.argv[1:] or TARGETS:
            for program in ("life", "calls", *(["pipes"] if name in PIPES_ON else [])):
                build(name, program)
