"""A small machine for the tests of the ground floor: CPU, kernel text, one task, Python bodies."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest

from arch import architecture
from arch.abi.version import NEWEST, KernelVersion
from arch.cpu import Cpu, Stop
from arch.memory import KernelMemory, PhysicalMemory
from arch.mmu import PTE_EXEC, PTE_READ, PTE_WRITE, AddressSpace
from arch.symbols import Symbols
from arch.text import KernelText

ARCHES = ("x86_64", "arm64", "riscv64", "s390x", "i386", "arm")
CODE, DATA = 0x400000, 0x500000

Body = Callable[..., Generator[Any, int, int] | int]


class Tiny:
    """Kernel functions are Python generators: `yield (name, args...)` calls another one; return is the result."""

    def __init__(self, name: str, version: KernelVersion = NEWEST) -> None:
        self.arch = a = architecture.get(name)
        self.phys = PhysicalMemory(32 << 20)
        self.mem = KernelMemory(self.phys, a.map, a.byteorder)
        self.cpu = Cpu(a, self.phys, self.mem, version)
        self.symbols = Symbols()
        self.text = KernelText(a, self.mem, self.symbols, version)
        self.bodies: dict[str, Body] = {}
        self.calls: list[tuple[str, tuple[int, ...]]] = []
        self.stacks: dict[int, list[Any]] = {0: []}
        self.task = 0
        self.cpu.on_enter = self._enter
        self.cpu.on_resume = self._resume
        self.top = self.new_stack()
        self.cpu.kernel_stack = self.top
        self.layout = self.cpu.layout

    def new_stack(self) -> int:
        size = self.arch.map.stack_size
        return self.mem.alloc(size, size) + size

    def build(self, **bodies: Body) -> None:
        self.bodies.update(bodies)
        self.bodies["start_kernel"] = self._start_kernel
        names = list(dict.fromkeys([*self.bodies, *self.arch.entry.handlers.values()]))
        self.text.add_functions(names)
        self.text.add_entry(self.cpu)

    def role(self, role: str) -> str:
        return self.arch.entry.handlers[role]

    def _enter(self, index: int, *args: int) -> Any:
        name = self.text.names[index]
        self.calls.append((name, args))
        result = self.bodies[name](*args)
        if isinstance(result, int):
            return result
        self.stacks[self.task].append(result)
        return self._step(None)

    def _resume(self, result: int) -> Any:
        if result >= 1 << (8 * self.arch.word - 1):
            result -= 1 << (8 * self.arch.word)
        return self._step(result)

    def _step(self, value: Any) -> Any:
        stack = self.stacks[self.task]
        try:
            name, *args = stack[-1].send(value)
        except StopIteration as stop:
            stack.pop()
            return stop.value or 0
        return (self.text.address(name), *args)

    def call(self, name: str, *args: int, budget: int | None = None) -> int:
        """Run a kernel function to its end from a fresh stack."""
        self._main = (name, *args)
        self.cpu.start(self.text.address("start_kernel"), self.top - 0x400)
        assert self.cpu.run(budget) is Stop.STOPPED
        return self.answer

    def _start_kernel(self, *args: int) -> Any:
        self.answer = yield self._main
        self.cpu.stop()
        return 0

    # -- user mode ---------------------------------------------------------------------------------------------
    def user(self, code: bytes, **registers: int) -> AddressSpace:
        """An address space with code at CODE, and pt_regs to start it; registers are pt_regs fields."""
        space = AddressSpace(self.phys, self.arch.map.user_end, self.arch.byteorder)
        page = self.phys.alloc_page()
        self.phys.write(page << 12, code)
        space.map(CODE, page, PTE_READ | PTE_EXEC)
        self.cpu.set_address_space(space)
        self.set_user(self.cpu.user_regs, CODE, registers)
        return space

    def set_user(self, regs: int, pc: int, registers: dict[str, int]) -> None:
        self.mem.write(regs, bytes(self.layout.size))
        fields = {**self.arch.support.user_mode_fields, self.arch.instruction_pointer: pc, **registers}
        for field, value in fields.items():
            self.layout.set(self.mem, regs, field, value)

    def enter_user(self) -> None:
        self.cpu.start(self.text.fork_entry, self.cpu.user_regs + self.cpu.facts.up_sp_offset)

    def data_page(self, space: AddressSpace, prot: int = PTE_READ | PTE_WRITE) -> int:
        page = self.phys.alloc_page()
        space.map(DATA, page, prot)
        return page

    def reg(self, regs: int, field: str) -> int:
        return self.layout.get(self.mem, regs, field)


@pytest.fixture(params=ARCHES)
def tiny(request: pytest.FixtureRequest) -> Generator[Tiny, None, None]:
    machine = Tiny(request.param)
    yield machine
    machine.cpu.close()


@pytest.fixture(autouse=True)
def no_endless_run(request: pytest.FixtureRequest) -> Generator[None, None, None]:
    """A test that hangs is killed with a stack dump."""
    import faulthandler

    faulthandler.dump_traceback_later(60, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
