"""What tracing costs without a CPU: an event nobody listens to, a record, its text, a kprobe hit, a filter.

    python -m bench.tracing_events [--json]

Nanoseconds of processor time per operation, seven rounds.  Uses the fake machine of tests/tracing.
"""

from __future__ import annotations

from collections.abc import Callable

from bench._rows import Row, each_ns, report
from tests.tracing.fakes import Program, cat, echo, machine

TURNS = 5_000


def nobody_listens() -> Callable[[], object]:
    point = machine().tracepoints["sched_switch"]

    def fire() -> None:
        if point.active:
            point.fire(0, 0, 0, 0)

    return fire


def switch_event(filter_text: str = "") -> Callable[[], object]:
    tracing = machine()
    one, two = tracing.host.task_struct("a", 1), tracing.host.task_struct("b", 2)
    if filter_text:
        echo(tracing, "events/sched/sched_switch/filter", filter_text)
    echo(tracing, "events/sched/sched_switch/enable", "1")
    point = tracing.tracepoints["sched_switch"]
    return lambda: point.fire(0, one, two, 1)


def text_of_an_event() -> Callable[[], object]:
    tracing = machine()
    one, two = tracing.host.task_struct("a", 1), tracing.host.task_struct("b", 2)
    echo(tracing, "events/sched/sched_switch/enable", "1")
    tracing.trace("sched_switch", 0, one, two, 1)
    event = tracing.trace_array.buffer.cpus[0].peek()
    assert event is not None
    assert "sched_switch: prev_comm=a" in cat(tracing, "trace")
    return lambda: tracing.trace_array.line(event)


def kprobe(definition: str) -> Callable[[], object]:
    tracing = machine()
    host = tracing.host
    echo(tracing, "kprobe_events", definition)
    echo(tracing, "events/kprobes/enable", "1")
    text = host.mem.alloc(16)
    host.mem.write(text, b"hello\0")
    regs = host.regs(di=1, si=text, dx=3)
    handler = host.armed[host.address["vfs_write"]]
    return lambda: handler(regs)


def kprobe_with_program() -> Callable[[], object]:
    tracing = machine()
    host = tracing.host
    echo(tracing, "kprobe_events", "p:foo vfs_write")
    event = tracing.events.get("kprobes", "foo")
    assert event is not None
    event.perf_register()
    event.add_bpf(Program())
    regs = host.regs()
    handler = host.armed[host.address["vfs_write"]]
    return lambda: handler(regs)


ROWS: tuple[tuple[str, Callable[[], Callable[[], object]]], ...] = (
    ("tracepoint without listener", nobody_listens),
    ("sched_switch into the buffer", switch_event),
    ("sched_switch, filtered out", lambda: switch_event("prev_pid == 77")),
    ("sched_switch as text", text_of_an_event),
    ("kprobe, no arguments", lambda: kprobe("p:foo vfs_write")),
    ("kprobe, three registers", lambda: kprobe("p:foo vfs_write a=%di b=%si c=%dx:u32")),
    ("kprobe, a string", lambda: kprobe("p:foo vfs_write a=+0(%si):string")),
    ("kprobe to an empty program", kprobe_with_program),
)


def main() -> None:
    """Print the rows."""
    report([Row(name, each_ns(make(), TURNS)) for name, make in ROWS])


if __name__ == "__main__":
    main()
