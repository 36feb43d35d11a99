"""Ask a real kernel for its functions and keep them for tracing/tracers/recorded/.

    python tests/tools/record_functions.py x86_64-6.1 BOOT_COMMAND...

BOOT_COMMAND as in record_tracefs.py.  --twice: only the names that several symbols share.
"""

from __future__ import annotations

import lzma
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "tracing/tracers/recorded"
OURS = re.compile(r"(?!.*\.cold)[A-Za-z_]")  # not what compilers cut off, nor the marks of assemblers
PADDING = "__pfx_"  # in front of the names of what precedes functions
MARK = b"=== functions\n"


def main() -> int:
    only_twice = "--twice" in sys.argv
    kernel, *command = (word for word in sys.argv[1:] if word != "--twice")
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "out"
        ask = "(cat /proc/kallsyms; echo === functions; cat /sys/kernel/tracing/available_filter_functions"
        ask += "; echo === blacklist; cat /sys/kernel/debug/kprobes/blacklist) > /tmp/out"
        subprocess.run([*command, "-o", str(out), ask], check=True)
        symbols, _, rest = out.read_bytes().partition(MARK)
        functions, _, blacklist = rest.partition(b"=== blacklist\n")
    letters: defaultdict[str, str] = defaultdict(str)
    places: dict[str, str] = {}
    for line in symbols.decode().splitlines():
        words = line.split()
        if len(words) == 3:
            letters[words[2]] += words[1]
            places[words[2]] = words[0]
    twice = {name: found for name, found in letters.items() if len(found) > 1 and found.lower().count("t")}
    keep(f"{kernel}.twice", "".join(f"{name} {found}\n" for name, found in sorted(twice.items())))
    if not only_twice:
        names = [line for line in functions.decode().splitlines() if "[" not in line]  # without modules' functions
        listed = [line.split()[-1] for line in blacklist.decode().splitlines()]  # some twice
        black = dict.fromkeys(listed)
        traced = set(names)
        assert traced & letters.keys()
        keep_letters(f"{kernel}.functions", names, letters)
        known = traced | black.keys()
        same = {places[name] for name in names if name in places} - {places[name] for name in black if name in places}
        known |= {name for name, place in places.items() if place in same}  # other names of one that can be traced
        others = [name for name, found in letters.items() if "t" in found.lower() and name not in known]
        refused = [*(name for name in others if OURS.match(name)), *black]
        keep_letters(f"{kernel}.refused", [name for name in refused if not name.startswith(PADDING)], letters)
        if PADDING + names[0] in letters or PADDING + names[-1] in letters:
            bases = dict.fromkeys(name for name in (*names, *refused) if not name.startswith(PADDING))
            keep(f"{kernel}.unpadded", "".join(f"{name}\n" for name in bases if PADDING + name not in letters))
        keep(f"{kernel}.blacklist", "".join(f"{name}\n" for name in listed))
        told = twice.keys() | {
            name for name in (*names, *refused) if letters[name] in "tT" and not name.startswith(PADDING)
        }
        told |= {PADDING + name for name in told if letters.get(PADDING + name) == letters[name]}
        others = [(name, found) for name, found in letters.items() if name not in told]
        keep(f"{kernel}.others", "".join(f"{name} {found}\n" for name, found in others))
    return 0


def keep_letters(name: str, names: list[str], letters: dict[str, str]) -> None:
    """Names, and a `t` behind those that are static."""
    keep(name, "".join(f"{name} t\n" if letters[name] == "t" else f"{name}\n" for name in names))


def keep(name: str, text: str) -> None:
    """A table, compressed."""
    (FOLDER / f"{name}.xz").write_bytes(lzma.compress(text.encode(), preset=9))


if __name__ == "__main__":
    raise SystemExit(main())
