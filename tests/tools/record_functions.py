"""Ask a real kernel for its functions and keep them for tracing/tracers/recorded/.

    python tests/tools/record_functions.py x86_64-6.1 BOOT_COMMAND...

BOOT_COMMAND as in record_tracefs.py.  --twice: only the names that several symbols share.
"""

from __future__ import annotations

import lzma
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "tracing/tracers/recorded"
MARK = b"=== functions\n"


def main() -> int:
    only_twice = "--twice" in sys.argv
    kernel, *command = (word for word in sys.argv[1:] if word != "--twice")
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "out"
        ask = "(cat /proc/kallsyms; echo === functions; cat /sys/kernel/tracing/available_filter_functions) > /tmp/out"
        subprocess.run([*command, "-o", str(out), ask], check=True)
        symbols, _, functions = out.read_bytes().partition(MARK)
    letters: defaultdict[str, str] = defaultdict(str)
    for line in symbols.decode().splitlines():
        words = line.split()
        if len(words) == 3:
            letters[words[2]] += words[1]
    twice = {name: found for name, found in letters.items() if len(found) > 1 and found.lower().count("t")}
    keep(f"{kernel}.twice", "".join(f"{name} {found}\n" for name, found in sorted(twice.items())))
    if not only_twice:
        names = functions.decode().split()
        assert Counter(names).keys() & letters.keys()
        keep(f"{kernel}.functions", "".join(f"{name} t\n" if letters[name] == "t" else f"{name}\n" for name in names))
    return 0


def keep(name: str, text: str) -> None:
    """A table, compressed."""
    (FOLDER / f"{name}.xz").write_bytes(lzma.compress(text.encode(), preset=9))


if __name__ == "__main__":
    raise SystemExit(main())
