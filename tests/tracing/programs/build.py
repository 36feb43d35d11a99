"""Rebuild bin/x86_64/perf:  python tests/tracing/programs/build.py      (needs ziglang; a minute at first)

perf_6_1.out is what `perf arguments breakpoints watch records program groups samples` prints on Debian's 6.1.192, as root on one CPU.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent

if __name__ == "__main__":
    target = ["-target", "x86_64-linux-musl", "-static", "-Os", "-s"]
    command = [sys.executable, "-m", "ziglang", "cc", *target, "perf.c", "-o", "bin/x86_64/perf"]
    subprocess.run(command, cwd=HERE, check=True)
