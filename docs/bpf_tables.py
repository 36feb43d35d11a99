"""Write docs/bpf-tables.md from the rows of program types, map types and helpers:  python -m docs.bpf_tables"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bpf.helpers.kfunc_rows import ROWS as KFUNCS
from bpf.helpers.rows import PROTOS
from bpf.helpers.table import helper_rows
from bpf.maps.types import map_types
from bpf.versions.program_types import RFC_PROGRAM_TYPES, attach_types, program_types

PAGE = Path(__file__).with_name("bpf-tables.md")
HEAD = """# Program types, map types, helpers and kernel functions of BPF

Written by `python -m docs.bpf_tables` from the rows of program types (`bpf/versions/program_types.py`) and those above the
bodies of maps, helpers and kernel functions (`bpf/maps/`, `bpf/helpers/`); what `missing` says is not simulated.  *since*: the first kernel version that has it.
"""


def table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table of Markdown."""
    lines = [columns, tuple("---" for _ in columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def words(names: frozenset[str] | None) -> str:
    return " ".join(sorted(names)) if names else ""


def joined(names: Iterable[str]) -> str:
    return " ".join(f"`{name}`" for name in names)


def program_table() -> str:
    rows = []
    for row in (*program_types(), *(row for row in RFC_PROGRAM_TYPES.values() if row.since == "3.20-rfc")):
        rows.append(
            (
                str(row.number),
                f"`{row.name}`",
                row.since,
                joined(row.context[:1]),
                joined(section.name for section in row.sections),
                row.helpers,
                row.kfuncs,
                row.convert,
                row.test_run,
                " ".join(row.needs),
                row.missing,
            )
        )
    columns = ("number", "BPF_PROG_TYPE_", "since", "context", "sections", "helpers", "kfuncs", "converter")
    return table((*columns, "test run", "capabilities", "missing"), rows)


def attach_table() -> str:
    rows = []
    for attach, row in attach_types():
        said = "names it" if attach.named else "said at load or in a link"
        rows.append((str(attach.number), f"`{attach.name}`", attach.since, f"`{row.name}`", said, row.missing))
    return table(("number", "BPF_", "since", "program type", "how", "missing"), rows)


def map_table() -> str:
    rows = []
    for row in map_types():
        holds = [what for what, may in (("lock", row.lock), ("timer", row.timer), ("kptr", row.kptr)) if may]
        only = "general" if row.helpers is None else words(row.helpers) or "none"
        rows.append((str(row.number), f"`{row.name}`", row.since, row.struct, only, " ".join(holds), row.missing))
    return table(("number", "BPF_MAP_TYPE_", "since", "struct", "helpers", "values may hold", "missing"), rows)


def helper_table() -> str:
    functions: dict[int, list[str]] = {}
    gpl: set[int] = set()
    for proto in PROTOS.values():
        if proto.func and proto.func not in functions.setdefault(proto.func_id, []):
            functions[proto.func_id].append(proto.func)
        if proto.gpl_only:
            gpl.add(proto.func_id)
    rows = []
    for row in helper_rows():
        names = functions.get(row.number, [])
        shown = "" if names == [f"bpf_{row.name}"] else " ".join(names)
        licence = "GPL" if row.number in gpl else ""
        rows.append((str(row.number), f"`{row.name}`", row.since, licence, words(row.maps), shown, row.missing))
    return table(("number", "bpf_", "since", "licence", "maps", "kernel functions", "missing"), rows)


def kfunc_table() -> str:
    rows = []
    for row in (row for name in sorted(KFUNCS) for row in KFUNCS[name]):
        callers = [kind.name for kind in program_types() if row.allows(kind.kfuncs) or row.allows(kind.name.lower())]
        who = "all" if row.allows("") else joined(callers)
        when = f"{row.since} to {row.until}" if row.until else row.since
        rows.append((f"`{row.name}`", when, row.flags, who, row.kfunc_set.module, row.missing))
    return table(("function", "since", "flags", "program types", "module", "missing"), rows)


def page() -> str:
    sections = {
        "Program types": program_table(),
        "Attach types": attach_table(),
        "Map types": map_table(),
        "Helpers": helper_table(),
        "Kernel functions": kfunc_table(),
    }
    return HEAD + "".join(f"\n## {title}\n\n{text}" for title, text in sections.items())


if __name__ == "__main__":
    PAGE.write_text(page())
