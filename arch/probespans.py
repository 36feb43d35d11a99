"""Where the emulator calls for probes: hooks on addresses, and on pages once there are many.

The emulator keeps its hooks in a list: it walks it for every instruction that it translates, and again at every hit.  So a
few probed addresses get a hook each, which costs nothing elsewhere; from the FEW-th on, hooks stand on spans of pages and
native code finds the probe by its address in a table.  Then every instruction of a span costs a call that finds nothing,
4 ns, and the list stays short.
"""

from __future__ import annotations

import ctypes
from typing import Any

from unicorn import unicorn_const as ucc

from arch.abi.limits import PAGE_SIZE
from arch.abi.version import KernelVersion
from arch.architecture import Architecture
from arch.emulator import Emulator
from arch.memory import KernelMemory, PhysicalMemory

FEW = 16  # hooks of single addresses, of kernel and of user text each
KERNEL_SPAN = 256 * PAGE_SIZE  # bytes: kernel text is one or two of these; user text is spans of one page


class _Span:
    """One hook: `table` is [first address, then for each address behind it the data of its probe, or 0]."""

    __slots__ = ("base", "count", "hook", "size", "table")

    def __init__(self, base: int, size: int) -> None:
        self.base = base
        self.size = size
        self.count = 0
        self.hook = 0
        self.table: Any = (ctypes.c_uint64 * (size + 1))(base)


class ProbeSpans(Emulator):
    """_hook(), _unhook(): make the native probe run at an address with some data."""

    def __init__(self, arch: Architecture, phys: PhysicalMemory, mem: KernelMemory, version: KernelVersion) -> None:
        self._spans: dict[tuple[int, bool, int], _Span] = {}  # by first address and size
        self._hooked: dict[tuple[int, bool], _Span] = {}  # by probed address
        self._wide = {False: False, True: False}  # whether user text (True), kernel text (False) has spans of pages
        super().__init__(arch, phys, mem, version)

    def _hook(self, addr: int, user: bool, data: int) -> None:
        """From now on: native probe(data) before the instruction at this address."""
        if not self._wide[user] and sum(known[1] == user for known in self._spans) >= FEW:
            self._widen(user)
        self._place(addr, user, data)

    def _unhook(self, addr: int, user: bool) -> None:
        """No more; also from inside the probe."""
        span = self._hooked.pop((addr, user))
        span.table[1 + addr - span.base] = 0
        span.count -= 1
        if not span.count:
            self._drop(span, user)
            if not any(known[1] == user for known in self._spans):
                self._wide[user] = False

    def _place(self, addr: int, user: bool, data: int) -> None:
        size = 1 if not self._wide[user] else PAGE_SIZE if user else KERNEL_SPAN
        base = addr - addr % size
        span = self._spans.get((base, user, size))
        if span is None:
            span = self._spans[base, user, size] = _Span(base, size)
            callback, table = self._native.address["probes"], ctypes.addressof(span.table)
            span.hook = self._add_hook(ucc.UC_HOOK_CODE, callback, table, base, base + size - 1)
            if user or size > 1:
                self.flush_code()
            else:
                self.code_changed(addr, 1)
        span.table[1 + addr - span.base] = data
        span.count += 1
        self._hooked[addr, user] = span

    def _widen(self, user: bool) -> None:
        """Move the probes of single addresses to spans of pages."""
        self._wide[user] = True
        narrow = [(addr, span) for (addr, mode), span in self._hooked.items() if mode == user]
        placed = [(addr, span.table[1]) for addr, span in narrow]
        for _, span in narrow:  # all of them first: one may stand at a page's first address
            span.table[1] = 0  # the old hook finds nothing any more, until it is gone
            self._drop(span, user)
        for addr, data in placed:
            self._place(addr, user, data)

    def hook_before_probes(self, kind: int, function: int, data: int) -> int:
        """A hook for all addresses that is called before the probe of an address: hooks run in the order of their making."""
        hook = self._add_hook(kind, function, data, 1, 0)
        for span in self._spans.values():
            self._hooks_to_delete.append(span.hook)
            callback, table = self._native.address["probes"], ctypes.addressof(span.table)
            span.hook = self._add_hook(ucc.UC_HOOK_CODE, callback, table, span.base, span.base + span.size - 1)
        self.flush_code()
        return hook

    def hook_everywhere(self, kind: int, function: int, data: int) -> int:
        """A hook for all addresses; of accesses to memory the physical ones."""
        hook = self._add_hook(kind, function, data, 1, 0)
        self.flush_code()
        return hook

    def drop_hook(self, hook: int, data: object) -> None:
        """No more of it, from the next block on; until then `data` is kept."""
        self._hooks_to_delete.append(hook)
        self._dead_blocks.append(data)
        self.flush_code()

    def _drop(self, span: _Span, user: bool) -> None:
        del self._spans[span.base, user, span.size]
        self._dead_blocks.append(span.table)
        self._hooks_to_delete.append(span.hook)
        self._between_blocks()
