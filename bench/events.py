"""What one event of each kind of probe costs, with an empty program, one that counts, one that sends; and records in the trace.

    python -m bench events [--json] [WORD ...]

Each row is a turn of a loop (getppid, a byte to /dev/null, a function call) with one program attached, as processor time;
"added" is the same less the turn without a program.  With SIMKERNEL_BENCH_KERNEL (see machine.py) the
same rows of a real kernel stand beside them, where its `bench` command has them.  WORDs choose rows that contain one of them.
SIMKERNEL_BENCH_ROUNDS says how many pairs there are (7).
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial

import simkernel
from bench._rows import Row, report
from bench.machine import ROOT, WORK, program
from bpf.loader.object import BpfObject
from bpf.maps.array import PerfEventArrayMap
from tracing.perf.ring import OFF_DATA_TAIL

ROUNDS = int(os.environ.get("SIMKERNEL_BENCH_ROUNDS", 7))
COUNT = {"g": 40000, "w": 40000, "f": 40000}

HEAD = """
#include "bpf.h"
struct { number(type, HASH); number(max_entries, 64); type_of(key, u32); type_of(value, u64); } counts SEC(".maps");
struct { number(type, RINGBUF); number(max_entries, 1 << 20); } ring SEC(".maps");
struct { number(type, PERF_EVENT_ARRAY); number(key_size, 4); number(value_size, 4); } perf SEC(".maps");
struct { number(type, 7); number(max_entries, 1024); number(key_size, 4); number(value_size, 1016); } stacks SEC(".maps");
static long (*const ringbuf_output)(void *ring, void *data, u64 size, u64 flags) = (void *)130;
static void *(*const ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*const ringbuf_submit)(void *data, u64 flags) = (void *)132;
static long (*const get_stackid)(void *ctx, void *map, u64 flags) = (void *)27;
struct event { u64 time; u32 pid, tgid; char comm[16]; };
"""
BODIES = {
    "empty": "return 0;",
    "counter": """u32 pid = current_pid_tgid() >> 32; u64 one = 1, *n = map_lookup(&counts, &pid);
  if (n) __sync_fetch_and_add(n, 1); else map_update(&counts, &pid, &one, ANY);
  return 0;""",
    "ring": """struct event *e = ringbuf_reserve(&ring, sizeof(*e), 0); if (!e) return 0;
  e->time = ktime_ns(); u64 id = current_pid_tgid(); e->pid = id; e->tgid = id >> 32; current_comm(e->comm, 16);
  ringbuf_submit(e, 1); return 0;""",
    "ringout": """struct event e = {}; e.time = ktime_ns(); u64 id = current_pid_tgid(); e.pid = id; e.tgid = id >> 32;
  current_comm(e.comm, 16); ringbuf_output(&ring, &e, sizeof(e), 1); return 0;""",
    "perf": """struct event e = {}; e.time = ktime_ns(); u64 id = current_pid_tgid(); e.pid = id; e.tgid = id >> 32;
  current_comm(e.comm, 16); perf_event_output(ctx, &perf, 0xffffffffULL, &e, sizeof(e)); return 0;""",
    "stack": """u32 id = get_stackid(ctx, &stacks, 0); u64 one = 1, *n = map_lookup(&counts, &id);
  if (n) __sync_fetch_and_add(n, 1); else map_update(&counts, &id, &one, ANY);
  return 0;""",
    "printk": """char text[] = "pid %d"; trace_printk(text, sizeof(text), (u32)current_pid_tgid()); return 0;""",
}
TAIL = '\nchar LICENSE[] SEC("license") = "GPL";\n'


@dataclass(frozen=True)
class Probe:
    """A row: what the program's section is, which loop runs, and the name of the row in the real kernel's table."""

    name: str
    section: str
    loop: str
    peer: str = ""
    bodies: tuple[str, ...] = ("empty", "counter")


FUNCTION = "__x64_sys_getppid"
PROBES = (
    Probe("kprobe getppid", f"kprobe/{FUNCTION}", "g", f"kprobe {FUNCTION}",
          ("empty", "counter", "ring", "ringout", "perf", "stack", "printk")),
    Probe("kretprobe getppid", f"kretprobe/{FUNCTION}", "g", f"kretprobe {FUNCTION}"),
    Probe("kprobe ksys_write", "kprobe/ksys_write", "w", "kprobe ksys_write"),
    Probe("kretprobe ksys_write", "kretprobe/ksys_write", "w", "kretprobe ksys_write"),
    Probe("kprobe getppid+5", f"kprobe/{FUNCTION}+5", "g", f"kprobe {FUNCTION}+5"),
    Probe("raw tracepoint sys_enter", "raw_tp/sys_enter", "g", "raw_tracepoint sys_enter", ("empty", "counter", "ring")),
    Probe("raw tracepoint sys_enter, write", "raw_tp/sys_enter", "w", "raw_tracepoint sys_enter"),
    Probe("tracepoint sys_enter_getppid", "tp/syscalls/sys_enter_getppid", "g", "tracepoint sys_enter_getppid",
          ("empty", "counter", "ring")),
    Probe("tracepoint raw_syscalls:sys_exit", "tp/raw_syscalls/sys_exit", "g"),
    Probe("fentry ksys_write", "fentry/ksys_write", "w", "fentry ksys_write"),
    Probe("fexit ksys_write", "fexit/ksys_write", "w", "fexit ksys_write"),
    Probe("uprobe", "uprobe", "f", "uprobe target_fn"),
    Probe("uretprobe", "uretprobe", "f", "uretprobe target_fn"),
)  # fmt: skip
PEER_BODY = {"empty": "empty program", "counter": "hash counter"}
PEER_LOOP = {"g": "getppid", "w": "write(/dev/null,1)", "f": "target_fn()"}

# Records in the trace: (name, files to write with what, loop).
TRACE = "/sys/kernel/tracing/"
RECORDS: tuple[tuple[str, tuple[tuple[str, str], ...], str], ...] = (
    ("kprobe event, no arguments", (("kprobe_events", f"p:b/a {FUNCTION}"), ("events/b/a/enable", "1")), "g"),
    ("kprobe event, three arguments", (("kprobe_events", "p:b/a ksys_write a=%di b=%si c=%dx"), ("events/b/a/enable", "1")), "w"),
    ("kprobe event, three arguments and a filter", (("kprobe_events", "p:b/a ksys_write a=%di b=%si c=%dx"),
                                    ("events/b/a/filter", "c > 5"), ("events/b/a/enable", "1")), "w"),
    ("kprobe event, a string", (("kprobe_events", "p:b/a ksys_write a=+0(%si):ustring"), ("events/b/a/enable", "1")), "w"),
    ("kretprobe event", (("kprobe_events", "r:b/a ksys_write $retval"), ("events/b/a/enable", "1")), "w"),
    ("event sys_enter_getppid", (("events/syscalls/sys_enter_getppid/enable", "1"),), "g"),
    ("event raw_syscalls:sys_enter", (("events/raw_syscalls/sys_enter/enable", "1"),), "g"),
    ("event raw_syscalls:sys_enter, filtered out", (("events/raw_syscalls/sys_enter/filter", "id == 7"),
                                      ("events/raw_syscalls/sys_enter/enable", "1")), "g"),
)  # fmt: skip


def built(section: str, body: str) -> bytes:
    """An object with one program, kept from run to run."""
    text = f'{HEAD}SEC("{section}") int prog(void *ctx) {{\n  {BODIES[body]}\n}}{TAIL}'
    folder = WORK / "events"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / (re.sub(r"\W", "_", section) + f"_{body}.bpf.c")
    out = source.with_suffix(".o")
    if not out.exists() or source.read_text() != text:
        source.write_text(text)
        flags = ["-O2", "-g", "-DTARGET_x86_64", f"-I{ROOT / 'samples' / 'include'}", "-c", str(source), "-o", str(out)]
        subprocess.run([sys.executable, "-m", "ziglang", "cc", "-target", "bpfel-freestanding", *flags], check=True)
    return out.read_bytes()


class Bench:
    """One machine and its loops."""

    def __init__(self) -> None:
        self.machine = simkernel.boot()
        self.path = self.machine.install(program())
        self.objects: dict[tuple[str, str], BpfObject] = {}

    def once(self, loop: str, count: int) -> float:
        start = time.process_time_ns()
        result = self.machine.run([self.path, loop, str(count)])
        assert result.status == 0
        return float(time.process_time_ns() - start)

    def turn(self, loop: str) -> float:
        """Nanoseconds of one: what a run with many takes more than one with few, where the same is attached.

        The few fill a trace: at its end a run reads what is in there.
        """
        few, more = COUNT[loop], 2 * COUNT[loop]
        start = min(self.once(loop, few) for _ in range(2))
        return (self.once(loop, few + more) - start) / more

    def pairs(self, loop: str, attached: Callable[[], AbstractContextManager[None]]) -> tuple[list[float], list[float]]:
        """Turns without and with, in turns."""
        bare: list[float] = []
        watched: list[float] = []
        for _ in range(ROUNDS):
            bare.append(self.turn(loop))
            with attached():
                self.once(loop, COUNT[loop] // 8)  # what is hot is compiled
                watched.append(self.turn(loop))
        return bare, watched

    @contextmanager
    def program(self, probe: Probe, body: str) -> Iterator[None]:
        """The program is attached meanwhile."""
        section = probe.section
        if section in ("uprobe", "uretprobe"):
            section += f"/{self.path}:target"
        if (section, body) not in self.objects:
            self.objects[section, body] = self.machine.load(built(section, body), "prog")
            if body == "perf":
                self.machine.session.perf_buffer(
                    self.objects[section, body].maps["perf"], lambda cpu, data: None, pages=4096
                )
        for found in self.machine.kernel.observer.bpf.maps.objects.values():
            for event in found.objects.values() if isinstance(found, PerfEventArrayMap) else ():
                buffer = event.buffer
                buffer.mem.write_uint(buffer.base + OFF_DATA_TAIL, 8, buffer.head)  # all is read
        links = self.objects[section, body].attach()
        try:
            yield
        finally:
            for link in links:
                link.destroy()

    @contextmanager
    def tracing(self, files: tuple[tuple[str, str], ...]) -> Iterator[None]:
        """The files are written, and put back."""
        write = self.machine.session.write_file
        for name, text in files:
            write(TRACE + name, text)
        try:
            yield
        finally:
            for name, _ in reversed(files):
                write(TRACE + name, "-:b/a" if name == "kprobe_events" else "0")
            self.machine.kernel.observer.tracing.trace_array.reset_all()

    def rows(
        self,
        name: str,
        loop: str,
        attached: Callable[[], AbstractContextManager[None]],
        peer: tuple[float, float] | None = None,
    ) -> list[Row]:
        """The turn, and what was added: the difference of the least, and the middle one of the pairs."""
        bare, watched = self.pairs(loop, attached)
        differences = [b - a for a, b in zip(bare, watched, strict=True)]
        turn, more = ({"the real kernel": [value]} for value in peer) if peer else ({}, {})
        added = [min(watched) - min(bare), statistics.median(differences)]
        return [Row(name, watched, peers=turn), Row(name + ": added", added, peers=more)]


def real_kernel() -> dict[tuple[str, str], tuple[float, float]]:
    """(probe with its program, loop) -> (turn, overhead) in ns; empty where there is no real kernel."""
    command = os.environ.get("SIMKERNEL_BENCH_KERNEL")
    if not command:
        return {}
    done = subprocess.run([*command.split(), "bench"], capture_output=True, text=True)
    found = {}
    for line in done.stdout.splitlines():
        match = re.match(r"(.{46}) (.{18}) +([\d.]+) +[\d.]+ +(-?[\d.]+) ", line)
        if match:
            found[match[1].strip(), match[2].strip()] = float(match[3]), float(match[4])
    return found


def main() -> None:
    """Print the rows."""
    words = [word for word in sys.argv[1:] if not word.startswith("-")]

    def chosen(name: str) -> bool:
        return not words or any(word in name for word in words)

    theirs = real_kernel()
    bench = Bench()
    rows: list[Row] = []
    for loop, name in PEER_LOOP.items():
        if chosen(name):
            peer = theirs.get(("no probe", name))
            rows.append(
                Row(
                    f"no probe, {name}",
                    [bench.turn(loop) for _ in range(ROUNDS)],
                    peers={"the real kernel": [peer[0]]} if peer else {},
                )
            )
    for probe in PROBES:
        for body in probe.bodies:
            name = f"{probe.name}, {body}"
            if not chosen(name):
                continue
            peer = theirs.get((f"{probe.peer}, {PEER_BODY.get(body)}", PEER_LOOP[probe.loop]))
            rows += bench.rows(name, probe.loop, partial(bench.program, probe, body), peer)
    for name, files, loop in RECORDS:
        if chosen(name):
            rows += bench.rows(name, loop, partial(bench.tracing, files))
    report(rows)


if __name__ == "__main__":
    main()
