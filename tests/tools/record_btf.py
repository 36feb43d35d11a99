"""Keep a real kernel's BTF for bpf/btf/recorded/:  python tests/tools/record_btf.py x86_64-6.1 VMLINUX_BTF

VMLINUX_BTF is that kernel's /sys/kernel/btf/vmlinux.  Afterwards `python -m docs.layouts` writes the places of members.
"""

from __future__ import annotations

import lzma
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "bpf/btf/recorded"


def main() -> None:
    kernel, source = sys.argv[1:]
    (FOLDER / f"{kernel}.btf.xz").write_bytes(lzma.compress(Path(source).read_bytes(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main()
