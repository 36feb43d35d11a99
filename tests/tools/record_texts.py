"""Ask a real kernel for the texts of tracefs that are its own, and keep them for tracing/files/recorded/.

    python tests/tools/record_texts.py x86_64-6.1 BOOT_COMMAND...

BOOT_COMMAND as in record_tracefs.py.
"""

from __future__ import annotations

import lzma
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "tracing/files/recorded"


def main() -> int:
    kernel, *command = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "out"
        ask = "cd /sys/kernel/tracing; (cat README; echo === strings; cat printk_formats) > /tmp/out"
        subprocess.run([*command, "-o", str(out), ask], check=True)
        readme, _, strings = out.read_text().partition("=== strings\n")
    texts = re.findall(r'^0x[0-9a-f]+ : "(.*)"$', strings, re.MULTILINE)
    assert len(texts) == strings.count("\n")
    for kind, text in (("readme", readme), ("strings", "\n".join(texts))):
        (FOLDER / f"{kernel}.{kind}.xz").write_bytes(lzma.compress(text.encode(), preset=9))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
