"""Write docs/events.md from the rows of tracing/events/:  python -m docs.events_page"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from tracing.events import newer, newest, older, rows
from tracing.events.declare import TraceEventDecl

PAGE = Path(__file__).parent / "events.md"
HEAD = """# Tracepoints

Made from the rows of `tracing/events/` by `python -m docs.generate`; [add-tracepoint.md](add-tracepoint.md) adds one.

Every tracepoint here exists as in Linux 6.1 (same arguments, `format` file and text), so tools that attach to it work.
*Since* is the first version that has it (empty: 3.18 has it); *changed in* names the versions that changed its
arguments, fields or text. *Missing* says what this machine does not do of it. Beside
these there are `sys_enter_*` and `sys_exit_*` of every system call, `bpf_trace:bpf_trace_printk` since 5.9, whatever
`kprobe_events` and `uprobe_events` define, and in 5.10, 6.1, 6.12 and 7.2 all other events of Debian's kernels, with their numbers and
formats: they can be enabled, filtered and attached to, and never fire.
"""


# What a day of fork, exec, files, sockets, timers, signals and control groups fires on 6.1 and not here, and why.
SILENT = (
    ("`ma_op`, `ma_read`, `ma_write`, `vma_mas_szero`", "areas of an address space lie in a list, not in a maple tree"),
    ("`fib_table_lookup`", "what its arguments point to is nowhere in kernel memory"),
    ("`neigh_*` of lo", "packets of lo ask no neighbour"),
    ("`mm_lru_activate`", "nobody notes which pages are used"),
    (
        "`mm_page_alloc_zone_locked`, `mm_page_pcpu_drain`, `mm_page_alloc_extfrag`, `mm_compaction_*`",
        "there is one list of free pages, without zones",
    ),
    ("`percpu_alloc_percpu`, `percpu_free_percpu`", "memory of each CPU is laid out at boot"),
    ("`x86_fpu_*`", "the registers of the FPU are not kept in kernel memory"),
    ("`workqueue_*`", "what Linux leaves to a work queue is done at once"),
    (
        "the rest of `writeback_*`",
        "nobody writes back by himself: pages of tmpfs have no other home, those of a disk are written by fsync and umount; only "
        "`writeback_mark_inode_dirty`, `writeback_dirty_inode_start` and `writeback_dirty_inode` fire",
    ),
    ("`cgroup_release`", "a control group is gone when its directory is"),
)


def shapes(name: str) -> str:
    """The versions in which the event changed, oldest first."""
    changed = {row.until or "" for row in rows(older) if row.name == name}
    changed |= {row.since or "" for row in rows(newer) if row.name == name}
    return ", ".join(sorted(changed, key=version_key))


def version_key(text: str) -> tuple[int, ...]:
    """For sorting: 5.9 before 5.10."""
    return tuple(int(part) for part in text.split("."))


def lines(events: dict[str, TraceEventDecl]) -> Iterator[str]:
    """The page, line by line."""
    yield HEAD
    total, fired = len(events), sum(not row.missing for row in events.values())
    yield f"{total} tracepoints, of which this machine fires {fired}.\n"
    yield "Silent here, though on 6.1 ordinary work fires them:\n"
    yield "| events | why |"
    yield "|---|---|"
    yield from (f"| {names} | {why} |" for names, why in SILENT)
    yield ""
    ordered = sorted(events.values(), key=lambda row: (row.system, row.name))
    for system, group in groupby(ordered, key=lambda row: row.system):
        yield f"## {system}\n"
        yield "| event | arguments | since | changed in | missing |"
        yield "|---|---|---|---|---|"
        for row in group:
            proto = row.proto.replace("|", "\\|")
            yield f"| `{row.name}` | `{proto}` | {row.since or ''} | {shapes(row.name)} | {row.missing} |"
        yield ""


def main() -> None:
    """Write the page."""
    PAGE.write_text("\n".join(lines(newest())))


if __name__ == "__main__":
    main()
