"""Rebuild bin/ARCH/life, bin/ARCH/calls, bin/ARCH/pipes and bin/ARCH/returns:  python tests/simkernel/kernel/programs/build.py      (needs ziglang; a minute per target at first)

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
RETURNS_ON = (
    "x86_64",
    "arm64",
    "i386",
    "s390x",
)  # the return address on the stack or in a register, both orders of bytes
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
        *(["-O2"] if name == "returns" else ["-Os", "-s"]),  # that keeps symbols: for probes
        f"{name}.c",
    ]
    subprocess.run([*command, "-o", str(out)], cwd=HERE, check=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        done = subprocess.run([str(HERE / "bin/x86_64/life"), *PARTS], capture_output=True, text=True, check=True)
        (HERE / "life.out").write_text(done.stdout.replace(str(HERE / "bin/x86_64/life"), "/bin/life"))
    else:
        for name in sys.argv[1:] or TARGETS:
            for program in (
                "life",
                "calls",
                *(["pipes"] if name in PIPES_ON else []),
                *(["returns"] if name in RETURNS_ON else []),
            ):
                build(name, program)
