"""Write the enumerators of bpf/uapi.py from simkernel/include/bpf.h:  python -m docs.uapi

The header is where they are stated, because programs and BTF are made of it; bpf/uapi.py shows them to Python.  What the
header has no enumeration for (flags, sizes) stands in bpf/uapi.py alone, below the generated part.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEADER, MODULE = ROOT / "simkernel/include/bpf.h", ROOT / "bpf/uapi.py"
BEGIN = "# ---- from simkernel/include/bpf.h by `python -m docs.uapi`; not to be edited here ----\n"
END = "# ---- end of what comes from simkernel/include/bpf.h ----\n"
ENUM = re.compile(r"^enum (bpf_\w+|xdp_action) \{\n(.*?)^\};", re.M | re.S)
ENUMERATOR = re.compile(r"\s*(\w+)(?:\s*=\s*(\w+))?")


def enums(header: str) -> list[tuple[str, list[tuple[str, int]]]]:
    """Each enumeration with its enumerators, as a C compiler counts them."""
    found = []
    for name, body in ENUM.findall(header):
        rows: list[tuple[str, int]] = []
        for part in re.sub(r"/\*.*?\*/", "", body, flags=re.S).split(","):
            match = ENUMERATOR.match(part)
            if match is not None:
                rows.append((match[1], int(match[2], 0) if match[2] else rows[-1][1] + 1 if rows else 0))
        found.append((name, rows))
    return found


def generated(header: str) -> str:
    """The part of bpf/uapi.py that comes from the header."""
    parts = []
    for name, rows in enums(header):
        parts.append(f"# enum {name}\n" + "".join(f"{row} = {value}\n" for row, value in rows))
    return "\n".join(parts)


def module(before: str, header: str) -> str:
    """bpf/uapi.py as it should be."""
    start, end = before.index(BEGIN) + len(BEGIN), before.index(END)
    return before[:start] + "\n" + generated(header) + "\n" + before[end:]


def main() -> None:
    MODULE.write_text(module(MODULE.read_text(), HEADER.read_text()))


if __name__ == "__main__":
    main()
