"""What an event costs with no program, with a program that discards it, and with one that lets it be stored.

    python -m bench.filter_events [--json]

The cover letter of January 2015 has programs run before the trace buffer is allocated, because filtering huge numbers of
events must not pay for storing them.  Here: the tracepoint sched:sched_switch of a booted 3.20-rfc machine, fired from
outside, nanoseconds per event; and the same event with the classic filter, which looks at the record after it is made.
"""

from __future__ import annotations

from collections.abc import Callable

import simkernel
from arch.abi.fcntl import O_WRONLY
from bench._rows import Row, each_ns, report
from bpf.isa.asm import assemble
from bpf.loader.bpf_load import BPF_PROG_TYPE_TRACING_FILTER, DEBUGFS, bpf_prog_load

TURNS = 4_000
DISCARDED = "program discards"
EVENT = DEBUGFS + "events/sched/sched_switch/"
# Look at arg2 (the task that comes) as a filter would, and answer.
PROGRAM = """
    r1 = *(u64 *)(r1 +8)
    if r1 == 0 goto out
    r0 = {answer}
    exit
  out:
    r0 = {answer}
    exit
"""


def measure(setup: Callable[[simkernel.Machine], None]) -> list[float]:
    """Nanoseconds of one event on a machine prepared by `setup`, in each round."""
    machine = simkernel.boot(kernel="3.20-rfc")
    task = machine.session.task
    task.write_file(DEBUGFS + "buffer_size_kb", "1408")
    setup(machine)
    k = machine.kernel
    point = k.observer.tracing.tracepoints["sched_switch"]
    current = k.current.addr if k.current else k.tasks.init.addr

    def fire() -> None:
        if point.active:  # as the tracepoint's static branch does
            point.fire(0, current, current, 0)

    samples = each_ns(fire, TURNS)
    machine.close()
    return samples


def program(answer: int) -> Callable[[simkernel.Machine], None]:
    """A program that discards (0) or keeps (1)."""

    def setup(machine: simkernel.Machine) -> None:
        task = machine.session.task
        prog = bpf_prog_load(task, BPF_PROG_TYPE_TRACING_FILTER, assemble(PROGRAM.format(answer=answer)))
        task.write_fd(task.open(EVENT + "filter", O_WRONLY), b"bpf-%d" % prog)

    return setup


def enabled(predicate: str = "") -> Callable[[simkernel.Machine], None]:
    """The event on, perhaps with a classic filter."""

    def setup(machine: simkernel.Machine) -> None:
        if predicate:
            machine.session.write_file(EVENT + "filter", predicate)
        machine.session.write_file(EVENT + "enable", "1")

    return setup


ROWS: tuple[tuple[str, Callable[[simkernel.Machine], None]], ...] = (
    ("event off", lambda machine: None),
    ("event on, stored", enabled()),
    ("classic filter discards", enabled("prev_pid == 77777")),
    (DISCARDED, program(0)),
    ("program lets it be stored", program(1)),
)


def main() -> None:
    """Print the rows; what a program discards is also compared with the other ways."""
    samples = {name: measure(setup) for name, setup in ROWS}
    peers = {
        DISCARDED: {
            "one that a program lets through": samples["program lets it be stored"],
            "one that is stored without a program": samples["event on, stored"],
            "one that the filter of tracefs discards": samples["classic filter discards"],
        }
    }
    report(
        [Row(f"sched_switch of 3.20-rfc: {name}", found, peers=peers.get(name, {})) for name, found in samples.items()]
    )


if __name__ == "__main__":
    main()
