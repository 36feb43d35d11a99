"""Ask real kernels what the scripts print, and keep their answers.

    python tests/simkernel/versions/record.py [--only NAME] BOOT_COMMAND...

BOOT_COMMAND boots a kernel with busybox as its only program; `{}` in it is the kernel's version: `BOOT_COMMAND -f FILE...
-o OUT COMMAND` puts the files into /, runs the shell command as root and stores what the guest's /tmp/out holds.

A script scripts/NAME.sh runs with `busybox sh` in /tmp.  Its first line says for which kernels: `# 6.12 7.2`.  What differs from boot
to boot (addresses, times, pids) it hides itself.  answers/NAME.VERSION is what it printed there.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
KERNELS = ("5.10", "6.1", "6.12", "7.2")


def scripts(kernel: str) -> list[Path]:
    """Those that a kernel is asked."""
    found = sorted((HERE / "scripts").glob("*.sh"))
    return [path for path in found if kernel in path.read_text().partition("\n")[0].split()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append")
    parser.add_argument("--kernel", action="append")
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    for kernel in args.kernel or KERNELS:
        asked = [path for path in scripts(kernel) if not args.only or path.stem in args.only]
        if not asked:
            continue
        with tempfile.TemporaryDirectory() as name:
            out = Path(name) / "out"
            files = [word for path in asked for word in ("-f", str(path))]
            run = "".join(
                f"cd /tmp; echo '@@@ {path.stem}' >> /tmp/out; sh /{path.name} >> /tmp/out 2>&1; " for path in asked
            )
            command = [word.replace("{}", kernel) for word in args.command]
            subprocess.run([*command, *files, "-o", str(out), run], check=True)
            for block in out.read_text(errors="surrogateescape").split("@@@ ")[1:]:
                stem, _, text = block.partition("\n")
                (HERE / "answers" / f"{stem}.{kernel}").write_text(text, errors="surrogateescape")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
