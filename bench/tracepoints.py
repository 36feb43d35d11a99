"""What a tracepoint costs that fires once: with a program, and with its event in the trace.

    python -m bench tracepoints [--against FOLDER] [--json] [WORD ...]

Each row is one call of the tracepoint as the kernel makes it, as processor time, native code warm; --against another checkout of
this code (_rows.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable

from bench._rows import compare

CALLS, ROUNDS = 20000, 7
PROGRAMS = (
    ("raw_tp/sys_enter", "sys_enter"), ("tp/syscalls/sys_enter_getppid", "sys_enter"), ("tp/syscalls/sys_exit_getppid", "sys_exit"),
    ("tp/raw_syscalls/sys_enter", "sys_enter"), ("tp/sched/sched_switch", "sched_switch"), ("tp/sched/sched_wakeup", "sched_wakeup"),
    ("tp/sched/sched_process_exit", "sched_process_exit"),
)  # fmt: skip
EVENTS = (
    ("syscalls/sys_enter_getppid", "sys_enter"), ("raw_syscalls/sys_enter", "sys_enter"), ("sched/sched_switch", "sched_switch"),
    ("sched/sched_wakeup", "sched_wakeup"), ("sched/sched_process_exit", "sched_process_exit"), ("irq/softirq_entry", "softirq_entry"),
)  # fmt: skip


def ns(call: Callable[..., object], arguments: tuple[int, ...]) -> float:
    """The least of some rounds."""
    found = []
    for _ in range(ROUNDS):
        start = time.process_time_ns()
        for _ in range(CALLS):
            call(*arguments)
        found.append((time.process_time_ns() - start) / CALLS)
    return min(found)


def measured(words: list[str]) -> dict[str, float]:
    """Nanoseconds of one firing."""
    from bench.events import Bench, built

    bench = Bench()
    kernel = bench.machine.kernel
    regs, task, call = kernel.mem.alloc(4096), kernel.current.addr, kernel.abi.numbers["getppid"]
    row = kernel.arch.pt_regs_for(kernel.version).fields[kernel.arch.syscall_number]
    kernel.mem.write_uint(regs + row.offset, row.size, call)
    arguments = {
        "sys_enter": (regs, call), "sys_exit": (regs, 1), "sched_switch": (0, task, task, 0), "sched_wakeup": (task,),
        "sched_process_exit": (task,), "softirq_entry": (1,),
    }  # fmt: skip
    found = {}
    for section, point in PROGRAMS:
        name = f"{section}, a program that counts"
        if not words or any(word in name for word in words):
            links = bench.machine.load(built(section, "counter"), "prog").attach()
            for _ in range(2000):  # until all is compiled
                kernel.tracepoints.points[point].fire(*arguments[point])
            found[name] = ns(kernel.tracepoints.points[point].fire, arguments[point])
            for link in links:
                link.destroy()
    for event, point in EVENTS:
        name = f"event {event}, into the trace"
        if not words or any(word in name for word in words):
            enable = f"/sys/kernel/tracing/events/{event}/enable"
            bench.machine.session.write_file(enable, "1")
            for _ in range(2000):
                kernel.tracepoints.points[point].fire(*arguments[point])
            found[name] = ns(kernel.tracepoints.points[point].fire, arguments[point])
            bench.machine.session.write_file(enable, "0")
    return found


def main() -> None:
    """Print the rows."""
    compare(__file__, measured)


if __name__ == "__main__":
    main()
