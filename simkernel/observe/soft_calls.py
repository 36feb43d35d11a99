"""Calls of functions from where the CPU cannot make them: in the midst of a plain body of Python, as on the walk of a path.

Security hooks are asked at two hundred such places.  Whoever watches the function (kprobe, return probe, trampoline) gets a
struct pt_regs as at its entry, made here, with a stack of its own below: its return address is where the kernel is now.
"""

from __future__ import annotations

from collections.abc import Callable

from simkernel.observe.face import WatchedKernel
from tracing.probes.kprobes import Kprobes

CALL_STACK_BYTES = 256  # bytes: the return address, and arguments that no register takes


class SoftCalls:
    """Of one machine."""

    def __init__(self, k: WatchedKernel, kprobes: Kprobes, trampoline: int) -> None:
        self.k, self.kprobes, self.trampoline = k, kprobes, trampoline
        self._places: list[int] = []
        self._depth = 0

    def call(self, name: str, args: tuple[int, ...], body: Callable[[], int]) -> int:
        """What a function returns whose body is `body`, with all that is attached to it; nothing else costs more than a look."""
        symbols = self.k.symbols
        handler = self.kprobes.armed.get(symbols[name].address) if name in symbols else None
        if handler is None:
            return body()
        k, arch, mem, layout = self.k, self.k.arch, self.k.mem, self.k.cpu.layout
        regs = self._enter(symbols[name].address, k.text.words(name, args))
        try:
            at = layout.get(mem, regs, arch.instruction_pointer)
            handler(regs)
            if layout.get(mem, regs, arch.instruction_pointer) != at:  # a program has answered in its place
                return layout.get(mem, regs, arch.return_value)
            result = body()
            if arch.return_address(mem, regs, layout) == self.trampoline:
                layout.set(mem, regs, arch.return_value, result & ((1 << 8 * arch.word) - 1))
                self.kprobes.return_handler(regs)
            return result
        finally:
            self._depth -= 1

    def _enter(self, address: int, args: tuple[int, ...]) -> int:
        """A struct pt_regs as at the entry of the function."""
        k, arch, mem, layout = self.k, self.k.arch, self.k.mem, self.k.cpu.layout
        if self._depth == len(self._places):
            self._places.append(mem.alloc(layout.size + CALL_STACK_BYTES))
        regs = self._places[self._depth]
        self._depth += 1
        k.cpu.write_pt_regs(regs)
        caller = layout.get(mem, regs, arch.instruction_pointer)
        layout.set(mem, regs, arch.instruction_pointer, address + arch.kprobe_ip_offset)
        layout.set(mem, regs, arch.stack_pointer, regs + layout.size)
        arch.set_return_address(mem, regs, caller, layout)
        bits = (1 << 8 * arch.word) - 1
        there = len(arch.function_args)
        for field, value in zip(arch.function_args, args):
            layout.set(mem, regs, field, value & bits)
        for number, value in enumerate(args[there:]):
            mem.write_uint(regs + layout.size + arch.stack_args_offset + arch.word * number, arch.word, value & bits)
        return regs
