"""Writes docs/performance.md from the last recorded run of the benchmarks (bench/last_run.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from bench._rows import plot

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "bench" / "last_run.json"
PAGE = ROOT / "docs" / "performance.md"

HEAD = """# What things cost

Simulated time is virtual and never depends on the host. This page is about the host's time: what one waits for. It is made by
`docs/performance_page.py` from one recorded run of all benchmarks (`make bench`; one of them: `python -m bench machine`; `--record`
keeps what was measured): on {processors} processors, CPython {Python}, unicorn {unicorn}, llvmlite {llvmlite}, with a load
of {low} to {high} when benchmarks began (on a busy host they are run, as is the real kernel, with priority over all else). A row says the least of some rounds and the highest; processor time unless its benchmark says
otherwise. Compare rows of one run, not machines: on a busy host all of them are longer, and ratios to a peer, taken in the same rounds,
say more than numbers.

Peers, where they can do the same: the **real Linux 6.1 under QEMU** without KVM, the usual way to have a kernel where there is none
(`SIMKERNEL_BENCH_KERNEL`), programs run **natively**, by **qemu-user**, and by **Qiling**, which runs programs on unicorn with system
calls in Python (`SIMKERNEL_BENCH_QILING`). A ratio below 1 means that it is quicker here; in brackets the lowest and the highest of the rounds.
"""


REAL = "the real kernel"


class Section(NamedTuple):
    """A heading, what stands below it, and the benchmarks whose rows follow."""

    title: str
    text: str
    names: tuple[str, ...]


SECTIONS = (
    Section("Programs and system calls", """
Frequent system calls are answered in the hook of their instruction, in host code; all others go through kernel text and Python behind every
kernel function. `SIMKERNEL_TIER=python` shows what the latter costs, with the same time and counts. A real kernel needs two seconds or more to boot.

What bounds the latter is Python in many places, by samples. A fork and exec of a static busybox (1.8 ms where the host has a processor to spare) is a
quarter emulated code with its translation and its page faults (69 of them, 59 by compiled code), 14 % `copy_process()`, 7 % the loading of the program, 5 % the
way from `/proc/self/exe` to its file, and nothing else above 4 %. Of a file that `find` shows two thirds are its `stat`, half of that the record, a tenth is the
reading of the directory. Of the blocks through a pipe between two programs fifteen of sixteen are moved from the hook, in a fifth of the time; the rest is the
sixteenth, at which each of both sleeps once: two calls that go their whole way, with two wake-ups and two switches of tasks, 130 us of Python. An open with its close is twelve kernel
functions: 31 % are ways between them, a fifth their structures in kernel memory, the rest their bodies, none of which takes more than 3 %.
""", ("work", "machine", "paths")),
    Section("Starts, copies, growth", """
Most of a start is Python making the classes of some 900 modules, which the command finds in one file of the cache. What must not cost more where there is more of it is
compared with one of few.
""", ("start", "growth")),
    Section("Probes, tracepoints and the programs on them", """
What a call with an attached program or event takes, and what that added to it. A program that is used often is compiled with its helpers
and maps, and its hits reach it without Python; the call itself stays in the hook where the handler looks at no more than arguments, results and the
kernel's memory ([design notes](design-notes.md), "Probes on such a call's way are visited from the hook"). It goes its whole way through kernel text where a
handler looks at other registers or the stack, a probe is inside a function behind its begin, a record wakes a reader who sleeps, or a program needs Python. A program that asks for
stacks goes its whole way, too, since it looks at them; where it has met a stack before Python is not asked.
""", ("events", "tracepoints")),
    Section("Tracing without a CPU", """
The event, its record and its text, on the fake machine of the tests: Python's part.
""", ("tracing_events", "filter_events")),
    Section("User probes", "", ("uprobe",)),
    Section("The ground: crossings between the CPU and Python", """
For each architecture. A system call is one exit of the emulator, two conversions of registers and a coroutine; a kprobe is a hook at its instruction:
no cost where there is none.
""", ("arch_crossing",)),
    Section("eBPF", """
A program is interpreted until it has run 400 times or has worked for a while; then it becomes host code, and gives the same bytes. The verifier can be
installed as machine code (`SIMKERNEL_COMPILED=1 pip install .`). The same C, for BPF and compiled here, and by gcc for the host: what is dearer here is that each
access is checked, which shows where there is nothing else to wait for. New elements of maps per CPU are made by Python.
""", ("bpf_speed", "native_programs", "verifier_steps", "loader_objects")),
    Section("The debugger", """
Real time, on a machine of 256 MiB.
""", ("debug_back",)),
)  # fmt: skip

# What was wanted: what it is, its benchmark and row, of which peer (or in the row's unit), and how much it may be.
GOALS = (
    ("a kprobe with a program that counts, added", "events", "kprobe getppid, counter: added", REAL, 0.25),
    ("a kprobe with an empty program, added", "events", "kprobe getppid, empty: added", REAL, 0.2),
    ("a return probe, added", "events", "kretprobe getppid, counter: added", REAL, 0.4),
    ("a raw tracepoint, added", "events", "raw tracepoint sys_enter, counter: added", REAL, 0.6),
    ("fentry, added", "events", "fentry ksys_write, counter: added", REAL, 0.3),
    ("a kprobe event with three arguments, added", "events", "kprobe event, three arguments: added", "", 300),
    ("a user probe with a program that counts, added", "events", "uprobe, counter: added", REAL, 0.03),
    ("getppid with a probe on it", "events", "kprobe getppid, counter", REAL, 1.0),
    ("write to /dev/null with a probe on its way", "events", "kprobe ksys_write, counter", REAL, 1.0),
    ("getppid", "events", "no probe, getppid", REAL, 0.3),
    ("write to /dev/null", "events", "no probe, write(/dev/null,1)", REAL, 0.3),
    ("a compiled program's arithmetic, beside gcc -O2", "native_programs", "a turn of arithmetic", "gcc -O2", 1.3),
    ("... its memory, at random", "native_programs", "a turn of memory", "gcc -O2", 1.3),
    ("... its memory, in order", "native_programs", "a turn of memory, in order", "gcc -O2", 1.3),
    ("... its branches", "native_programs", "a turn of branches", "gcc -O2", 1.3),
    ("an update of a hash map by a program", "native_programs", "hash map, from a program: update", "", 15),
    ("a step of the verifier (500,000 a second)", "verifier_steps", "straight, 8,192 jumps, log level 0", "", 2000),
    ("a megabyte through a pipe, blocks of 4 KiB", "work", "a megabyte through a pipe, blocks of 4 KiB", "", 3),
    ("fork and exec of busybox", "work", "fork, exec of busybox, exit, wait", "", 1500),
    ("find, a file", "work", "find: a file", "", 20),
    ("a task beside 1,000, of one beside 10", "growth", "a task beside others", "10", 1.2),
)

GOALS_TEXT = """
## What was wanted

Of the real kernel where "of it" says so; this run, as all rows of this page. What bounds those that are not reached: the verifier is Python;
installed as machine code a step of a long program takes 1.6 us, one of a loop 1.0. A turn through memory in order is 11
instructions of the host where gcc's is 10, as what stays the same at each turn is checked before the first. An update of a hash map is a
hash of the key, a walk of its bucket and two copies, each load and store of them checked. What bounds fork
and exec stands below.
"""

TAIL = """
## Many kernels at once

`simkernel matrix` boots a machine for each kernel once and copies it for each cell, in as many processes as there are processors. A cell's limit is
processor time, so that the table does not depend on what else the host does.
"""


def number(value: float) -> str:
    """Three digits that mean something."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def ratio(own: list[float], peer: list[float]) -> str:
    """Least over least, lowest and highest of the rounds."""
    pairs = [a / b for a, b in zip(own, peer, strict=False) if b > 0]
    least = min(own) / min(peer) if min(peer) > 0 else min(pairs, default=0.0)
    rounds = f" ({min(pairs):.2f} to {max(pairs):.2f})" if len(pairs) > 1 else ""
    return f"{least:.2f}{rounds}"


def table(rows: list[dict[str, Any]]) -> str:
    """One benchmark; a column for each peer that any row has."""
    peers = list(dict.fromkeys(peer for row in rows for peer in row["peers"]))
    out = ["| | least | most | " + "".join(f"of {peer} | " for peer in peers), "|---|---|---|" + "---|" * len(peers)]
    for row in rows:
        own, unit = row["samples"], row["unit"]
        cells = [row["name"].replace("|", "\\|"), f"{number(min(own))} {unit}", number(max(own))]
        cells += [ratio(own, row["peers"][peer]) if row["peers"].get(peer) else "" for peer in peers]
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(line.rstrip() for line in out) + "\n"


def goals(record: dict[str, Any]) -> str:
    """Each, and whether it was reached."""
    out = ["| | wanted, at most | measured | |", "|---|---|---|---|"]
    for title, name, wanted, peer, limit in GOALS:
        row = next(row for row in record[name]["rows"] if row["name"] == wanted)
        least = min(row["samples"])
        value, unit = (least / min(row["peers"][peer]), "of it") if peer else (least, row["unit"])
        reached = "reached" if value <= limit else f"{value / limit:.1f} times that"
        out.append(f"| {title} | {number(limit)} {unit} | {number(value)} {unit} | {reached} |")
    return GOALS_TEXT + "\n" + "\n".join(out) + "\n"


def shown(rows: list[dict[str, Any]]) -> str:
    """A table, and bars below it for what grows."""
    grows = [row for row in rows if row.get("at")]
    named = [row | {"name": f"{row['name']} ({row['at']})"} if row.get("at") else row for row in rows]
    return table(named) + (f"\n```text\n{plot(grows)}```\n" if grows else "")


def page(record: dict[str, Any]) -> str:
    """The whole of it."""
    facts = [one["facts"] for one in record.values()]
    loads = [float(one["load"]) for one in facts]
    out = [
        HEAD.format(
            **{name: value for name, value in facts[0].items() if name != "load"}, low=min(loads), high=max(loads)
        )
    ]
    out.append(goals(record))
    for title, text, names in SECTIONS:
        out.append(f"\n## {title}\n{text}")
        out += [f"\n`python -m bench {name}`:\n\n{shown(record[name]['rows'])}" for name in names if name in record]
    return "".join(out) + TAIL


if __name__ == "__main__":
    PAGE.write_text(page(json.loads(RECORD.read_text())))
