"""What a crossing between the emulated CPU and Python costs, per architecture, in nanoseconds.

    python -m bench.arch_crossing [ARCH...] [--json]

call: a kernel function calls an empty kernel function (two hypercalls and a real call); syscall: user mode, kernel
entry, one Python handler, return to user mode; probe: a probe on a kernel function whose handler gets struct pt_regs;
switch: stack, user context and address space of two tasks exchanged; fork page: one page mapped and touched.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable
from typing import Any

from bench._rows import ROOT, Row, report

ROUNDS, TURNS = 3, 40_000

# For ever: getpid().
GETPID_LOOP = {
    "x86_64": "b8270000000f05ebf7",
    "arm64": "881580d2010000d4feffff17",
    "riscv64": "9308c00a730000006ff09fff",
    "s390x": "0a14a7f4ffff",
    "i386": "b814000000cd80ebf7",
    "arm": "1470a0e3000000effdffffea",
}


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tests" / "arch" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def timed(run: Any, turns: int) -> float:
    start = time.process_time_ns()
    run()
    return (time.process_time_ns() - start) / turns


def calls(machine: Any) -> float:
    def outer(*args: int) -> Any:
        for _ in range(TURNS):
            yield ("inner", 1)
        return 0

    machine.build(outer=outer, inner=lambda *a: 0)
    stack: list[Any] = []
    target = machine.text.address("inner")

    def enter_outer(*args: int) -> Any:
        stack.append(iter(range(TURNS)))
        return (target, 1)

    def resume(result: int) -> Any:
        for _ in stack[-1]:
            return (target, 1)
        machine.cpu.stop()
        return 0

    names = machine.text.names
    machine.cpu.set_enter(names.index("outer"), enter_outer, 0)
    machine.cpu.set_enter(names.index("inner"), lambda a: 0, 1)
    machine.cpu.on_resume = resume
    machine.cpu.start(machine.text.address("outer"), machine.top - 0x400)
    return timed(machine.cpu.run, TURNS)


def system_calls(machine: Any, probe: bool = False) -> float:
    name = machine.arch.name
    machine.build(**{machine.role("syscall"): lambda *a: 0, "schedule_tail": lambda *a: 0})
    machine.user(bytes.fromhex(GETPID_LOOP[name]))
    left = [TURNS]

    def handler(regs: int, nr: int) -> int:
        left[0] -= 1
        if not left[0]:
            machine.cpu.stop()
        return 0

    machine.cpu.set_enter(machine.text.names.index(machine.role("syscall")), handler, 2)
    if probe:
        machine.cpu.add_probe(machine.text.address(machine.role("syscall")), lambda regs: None)
    machine.enter_user()
    return timed(machine.cpu.run, TURNS)


def switches(machine: Any) -> float:
    """Stack and user context of two tasks, and the TLB flush of two address spaces (not the refill)."""
    cpu = machine.cpu
    machine.build(dummy=lambda *a: 0)
    one, two = cpu.new_context(), cpu.new_context()
    spaces = [machine.user(b"\0" * 8) for _ in range(2)]
    sp = cpu.sp

    def run() -> None:
        for _ in range(TURNS // 20):
            for context, other, space in ((one, two, spaces[0]), (two, one, spaces[1])):
                cpu.switch_stack(sp)
                cpu.save_user(context)
                cpu.load_user(other)
                cpu.kernel_stack = machine.top
                cpu.set_address_space(space)

    return timed(run, TURNS // 10)


def main() -> None:
    conftest = load("conftest")
    names = [word for word in sys.argv[1:] if not word.startswith("-")] or list(GETPID_LOOP)

    def fresh(name: str, measure: Callable[[Any], float]) -> float:
        machine = conftest.Tiny(name)
        took = measure(machine)
        machine.cpu.close()
        return took

    rows = []
    for name in names:
        call, syscall, probed, switch = (
            [fresh(name, measure) for _ in range(ROUNDS)]
            for measure in (calls, system_calls, lambda m: system_calls(m, probe=True), switches)
        )
        rows += [
            Row(f"{name}: a kernel call", call),
            Row(f"{name}: a system call's way in and out", syscall),
            Row(
                f"{name}: a probe hit",
                [max(after - before, 0.0) for before, after in zip(syscall, probed, strict=True)],
            ),
            Row(f"{name}: a switch of tasks", switch),
        ]
    report(rows)


if __name__ == "__main__":
    main()
