"""What must not cost more when there is more of it: probes, tasks, free pages.

    python -m bench growth [--json]

Each row is the price of one when there are many; its peers are the price of one when there are fewer.  Bars show how it grows.
"""

from __future__ import annotations

from functools import partial

import simkernel
from arch.abi.fcntl import O_APPEND, O_WRONLY
from arch.memory import PhysicalMemory
from bench._rows import Row, cpu_ns, report, rounds
from bench.machine import program
from tracing.probes.kprobes import Kprobe

ROUNDS = 3


def same_address(count: int) -> float:
    """Registering one more probe on an address."""
    machine = simkernel.boot()
    kprobes, symbol = machine.kernel.observer.tracing.kprobes, machine.kernel.syscalls.symbols["getppid"]
    probes = [Kprobe(lambda regs: None, symbol) for _ in range(count)]
    total = cpu_ns(lambda: [kprobes.register(probe) for probe in probes])
    machine.close()
    return total / count


def probe_events(count: int) -> float:
    """A probe event on a function that has so many already: its line, and turned on."""
    machine = simkernel.boot()
    tracing = "/sys/kernel/tracing"

    def made(number: int) -> None:
        machine.session.write_file(f"{tracing}/kprobe_events", f"p:e{number} vfs_read\n", O_WRONLY | O_APPEND)
        machine.session.write_file(f"{tracing}/events/kprobes/e{number}/enable", "1")

    for number in range(count):
        made(number)
    turns = 50
    total = cpu_ns(lambda: [made(count + number) for number in range(turns)])
    machine.close()
    return total / turns


def translation(count: int) -> float:
    """A program's start with all code translated anew, with probes on functions that it does not call."""
    machine = simkernel.boot()
    kernel = machine.kernel
    path = machine.install(program())
    names = [
        name for name in sorted(kernel.text.functions) if "sys_" in name and "exec" not in name and "exit" not in name
    ]
    for name in names[:count]:
        try:
            kernel.observer.tracing.kprobes.register(Kprobe(lambda regs: None, name))
        except Exception:
            continue  # a function that may not be probed
    machine.run([path, "g", "1"])

    def once() -> None:
        kernel.cpu.flush_code()
        machine.run([path, "g", "1"])

    best = min(cpu_ns(once) for _ in range(3))
    machine.close()
    return best


def tasks(count: int) -> float:
    """One more task."""
    machine = simkernel.boot(memory=512 << 20)
    total = cpu_ns(lambda: [machine.user_task(f"t{number}") for number in range(count)])
    machine.close()
    return total / count


def free_pages(count: int) -> float:
    """A kernel stack (four pages) when so many single pages were freed before."""
    memory = PhysicalMemory(512 << 20)
    pages = [memory.alloc_page() for _ in range(2 * count)]
    for page in pages[::2]:
        memory.put_page(page)
    turns = 200
    total = cpu_ns(lambda: [memory.alloc_pages(4) for _ in range(turns)])
    return total / turns


ROWS = (
    # name                                   measure        how many             unit, divided by
    ("a probe on an address with others", same_address, (10, 100, 1000), "us", 1e3),
    ("a probe event on a function with others, made and turned on", probe_events, (10, 100, 500), "us", 1e3),
    ("a program's start with probes elsewhere", translation, (0, 100, 400), "ms", 1e6),
    ("a task beside others", tasks, (10, 100, 1000), "ms", 1e6),
    ("a stack among free pages", free_pages, (100, 5_000, 50_000), "us", 1e3),
)


def main() -> None:
    """Print the rows, and what they look like."""
    rows = []
    for name, measure, counts, unit, divisor in ROWS:
        samples = rounds(ROUNDS, *(partial(measure, count) for count in counts))
        scaled = [[sample / divisor for sample in own] for own in samples]
        *fewer, most = (f"{count:,}" for count in counts)
        rows.append(Row(name, scaled[-1], unit, dict(zip(fewer, scaled, strict=False)), most))
    report(rows)


if __name__ == "__main__":
    main()
