"""Probes on a kernel function that is called within a BPF program, where the CPU cannot call it: by a helper, around the helper's own body.

A kprobe is hit with a struct pt_regs that has the arguments in their registers, an empty stack and nowhere to return to; it is missed
where another is being handled on the CPU, as on Linux.  The tracers' own probes are not looked at.
"""

from __future__ import annotations

from collections.abc import Callable

from bpf.board import Bpf
from bpf.core.program import BpfProg
from bpf.maps.functions import LOOKUP_ELEM_RAW, MAP_FUNCTIONS
from simkernel.observe.face import WatchedKernel
from tracing.probes.kprobes import TRAMPOLINE, Kprobe, Kprobes

NAMES = (LOOKUP_ELEM_RAW, *(name for row in MAP_FUNCTIONS for name in (row.update, row.delete)))
EMPTY_STACK_BYTES = 512  # below and above the stack pointer of such a call


class ProbesWithin:
    """Hits of one machine's probes on such calls."""

    def __init__(self, k: WatchedKernel, bpf: Bpf, kprobes: Kprobes) -> None:
        self.k, self.bpf, self.kprobes = k, bpf, kprobes
        self._watched: frozenset[str] = frozenset()

    def probes_changed(self) -> None:
        """Compiled programs go past the functions of their maps: from now on those are interpreted whose functions are watched."""
        watched = frozenset(filter(self.k.text.probed.get, NAMES))
        if watched <= self._watched:
            self._watched = watched
            return
        self._watched = watched
        for prog in list(self.bpf.progs.objects.values()):
            if isinstance(prog, BpfProg):
                prog.maps_watched()

    def around(self, name: str, args: tuple[int, ...], body: Callable[[], int]) -> int:
        """What the function's body answers, with its probes hit before it, those of returns behind it."""
        k, kprobes = self.k, self.kprobes
        if not k.text.probed or not k.text.has(name) or not kprobes.all_armed:
            return body()
        at = k.text.address_of(name)
        probes = [kp for kp in kprobes.sites.get(at, ()) if self._hit_here(kp)]
        if not probes:
            return body()
        size = k.cpu.layout.size
        with self.bpf.scratch(size + EMPTY_STACK_BYTES) as regs:
            self._fill(regs, regs + size + EMPTY_STACK_BYTES // 2, at, args)
            calls = len(kprobes.returns)
            for kp in probes:
                kprobes.hit_within(kp, regs)
            result = body()
            if len(kprobes.returns) > calls:
                k.cpu.layout.set(k.mem, regs, k.arch.return_value, result & ((1 << 8 * k.arch.word) - 1))
                kprobes.return_handler(regs)
        return result

    def _hit_here(self, kp: Kprobe) -> bool:
        return not kp.disabled and kp.users is None and kp.kind != TRAMPOLINE

    def _fill(self, regs: int, stack: int, at: int, args: tuple[int, ...]) -> None:
        """The registers at the function's entry."""
        k, layout = self.k, self.k.cpu.layout
        k.mem.write(regs, bytes(layout.size + EMPTY_STACK_BYTES))
        for field, value in zip(k.arch.function_args, args, strict=False):
            layout.set(k.mem, regs, field, value & ((1 << 8 * k.arch.word) - 1))
        layout.set(k.mem, regs, k.arch.instruction_pointer, at + k.arch.probe_ip_offset(0, k.version))
        layout.set(k.mem, regs, k.arch.stack_pointer, stack)
