"""Ask a real kernel for its available_filter_functions and keep them for tracing/tracers/recorded/.

    python tests/tools/record_functions.py x86_64-6.1 BOOT_COMMAND...

BOOT_COMMAND as in record_tracefs.py.
"""

from __future__ import annotations

import lzma
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "tracing/tracers/recorded"


def main() -> int:
    kernel, *command = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "out"
        ask = "cat /sys/kernel/tracing/available_filter_functions > /tmp/out"
        subprocess.run([*command, "-o", str(out), ask], check=True)
        (FOLDER / f"{kernel}.functions.xz").write_bytes(lzma.compress(out.read_bytes(), preset=9))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
