"""Compare `simkernel feature probe` with what Debian's bpftool prints on a real kernel, line by line.

    python tests/tools/compare_feature_probe.py --kernel 6.12 --config FILE BOOT_COMMAND    # BOOT_COMMAND as in record_tracefs.py
    python tests/tools/compare_feature_probe.py --kernel 6.12 --answer FILE [--figures]

FILE of --config is the kernel's configuration, which bpftool reads in /boot.  bpftool is that of foreign_packages.py, run with this
machine's own libraries.  --keep FILE keeps the answer, --figures how much is equal (figures.py).
"""

from __future__ import annotations

import argparse
import difflib
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from bpftool_compare import LIBRARIES
from figures import keep
from foreign_packages import path

import simkernel
from simkernel.cli import feature
from simkernel.probe_features import probe_features

SCRIPT = (
    "mkdir -p /boot; cp /config /boot/config-$(uname -r); "
    f"/{Path(LIBRARIES[0]).name} --library-path / /bpftool feature probe > /tmp/out 2>&1"
)


def ask(command: list[str], config: Path) -> str:
    """What bpftool prints on the real kernel."""
    root = path("bpftool", "amd64")
    if root is None:
        sys.exit("bpftool is not there: run foreign_packages.py")
    with tempfile.TemporaryDirectory() as folder:
        named, out = Path(folder) / "config", Path(folder) / "out"
        named.write_bytes(config.read_bytes())
        files = [word for file in (root / "usr/sbin/bpftool", *LIBRARIES, named) for word in ("-f", str(file))]
        subprocess.run([*command, *files, "-o", out, SCRIPT], check=True)
        return out.read_text()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--config", type=Path)
    parser.add_argument("--answer", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--figures", action="store_true")
    parser.add_argument("command", nargs="*")
    args = parser.parse_args()
    text = args.answer.read_text() if args.answer else ask(args.command, args.config)
    if args.keep:
        args.keep.write_text(text)
    real = text.splitlines()
    ours = feature.text(probe_features(simkernel.boot(kernel=args.kernel))).splitlines()
    changed = [line for line in difflib.ndiff(real, ours) if line[0] in "-+"]
    print("\n".join(changed))
    equal = len(real) - sum(line[0] == "-" for line in changed)
    print(f"{len(real)} lines, {equal} equal, {len(ours) - equal} that bpftool does not print")
    if args.figures:
        keep(
            "machine",
            [
                {
                    "kernel": args.kernel,
                    "what": "`feature probe`: lines of bpftool 7.1.0",
                    "count": len(real),
                    "equal": equal,
                }
            ],
        )
    return int(bool(changed))


if __name__ == "__main__":
    raise SystemExit(main())
