"""Running a program with every check on: what a verifier promises is held against what happens.

Memory is denied unless it is the program's: its stack frames, the values of its maps, its packet, its context and what
hangs on it.  Registers that were never written are poison.  `CheckedProgram` is a BpfProg that runs like this, slowly;
a violated promise is a `Violation`.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from typing import Any, NoReturn

from arch.errors import Fault
from arch.memory import FlatMemory, Memory
from bpf import uapi
from bpf.core.program import BpfProg
from bpf.isa.insn import BPF_PSEUDO_CALL, Insn
from bpf.maps.array import ArrayMap, FdArrayMap
from bpf.maps.base import STRUCT_BPF_MAP_SIZE, XSK_BEFORE, BpfMap
from bpf.maps.net import XskMap
from bpf.maps.storage import CgroupStorageMap
from bpf.run.interpreter import BPF_FRAME_SIZE, Program, Registers

FRAME_BYTES = 512 + 64  # what a function may use, and what inlined loops keep below it
SHARED_INFO = 320  # sizeof(struct skb_shared_info)
SKB_LEN, SKB_END, SKB_HEAD, SKB_DATA = 112, 192, 200, 208  # struct sk_buff as context accesses are rewritten for
SKB_TYPES = frozenset(
    (
        uapi.BPF_PROG_TYPE_SOCKET_FILTER,
        uapi.BPF_PROG_TYPE_SCHED_CLS,
        uapi.BPF_PROG_TYPE_SCHED_ACT,
        uapi.BPF_PROG_TYPE_CGROUP_SKB,
        uapi.BPF_PROG_TYPE_LWT_IN,
        uapi.BPF_PROG_TYPE_LWT_OUT,
        uapi.BPF_PROG_TYPE_LWT_XMIT,
    )
)


class Violation(Exception):
    """An accepted program did what no accepted program may do."""


class _Poison:
    """What is in a register nobody has written."""

    def _used(self, *_: object) -> NoReturn:
        raise Violation("a register is used before it is written")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _used
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _used
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __neg__ = __floordiv__ = __mod__ = _used
    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __int__ = __index__ = _used
    __eq__ = __ne__ = _used
    __hash__ = object.__hash__


POISON: Any = _Poison()


class GuardedMemory:
    """Memory of which only some ranges may be touched; the rest is a Violation."""

    def __init__(self, mem: Memory) -> None:
        self.mem = mem
        self.byteorder = mem.byteorder
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.frames: list[tuple[int, int]] = []  # of the stack, innermost last
        self.read_only: list[tuple[int, int]] = []  # struct bpf_map: programs with CAP_PERFMON may look into it

    def allow(self, ranges: list[tuple[int, int]]) -> None:
        """Replace the ranges (start, end); they do not overlap."""
        ranges = sorted(ranges)
        self.starts = [start for start, _ in ranges]
        self.ends = [end for _, end in ranges]

    def _check(self, address: int, size: int, what: str) -> None:
        if what == "load" and any(start <= address and address + size <= end for start, end in self.read_only):
            return
        at = bisect.bisect_right(self.starts, address) - 1
        if at >= 0 and address + size <= self.ends[at]:
            return
        if any(start <= address and address + size <= end for start, end in self.frames):
            return
        raise Violation(f"{what} of {size} bytes at {address:#x}, which is not the program's")

    def read_uint(self, address: int, size: int) -> int:
        self._check(address, size, "load")
        return int(self.mem.read_uint(address, size))

    def write_uint(self, address: int, size: int, value: int) -> None:
        self._check(address, size, "store")
        self.mem.write_uint(address, size, value)

    def read(self, address: int, size: int) -> bytes:
        self._check(address, size, "load")
        return self.mem.read(address, size)

    def write(self, address: int, data: bytes) -> None:
        self._check(address, len(data), "store")
        self.mem.write(address, data)


class CheckedProgram(BpfProg):
    """A program under suspicion."""

    def _make_program(self, make: Callable[..., Program], fast: bool) -> Program:
        self.guard = GuardedMemory(self.bpf.mem)
        program = super()._make_program(make, False)
        call, call_back = program.call_function, program.call_back

        def call_function(r: Registers, start: int) -> None:
            with _Frame(self.guard, r[10] - BPF_FRAME_SIZE):
                hidden, r[0] = r[0], POISON
                call(r, start)
                if r[0] is POISON:
                    r[0] = hidden
            r[1:6] = [POISON] * 5

        def checked_call_back(r: Registers, start: int, *args: int) -> int:
            with _Frame(self.guard, r[10] - BPF_FRAME_SIZE):
                return int(call_back(r, start, *args))

        def probe(address: int, size: int) -> int:
            """BPF_PROBE_MEM: through a pointer of the kernel's types a program may look at anything."""
            try:
                return int(self.bpf.mem.read_uint(address, size))
            except Fault:
                return 0

        program._names["call_function"], program._names["probe"] = call_function, probe
        setattr(program, "call_back", checked_call_back)  # noqa: B010 - helpers call it by this name
        return program

    def _memory(self) -> Memory:
        return self.guard

    def _bind(self, insn: Insn) -> Callable[[Registers], int]:
        bound = super()._bind(insn)
        keep = insn.imm >= 0x10000 or insn.src_reg == BPF_PSEUDO_CALL

        def call(r: Registers) -> int:
            given = [0 if value is POISON else value for value in r]
            answer = bound(given)
            r[12:] = given[12:]
            if not keep:
                r[1:6] = [POISON] * 5
            return answer

        return call

    def run64(self, ctx: int, cookie: int = 0, entry_ip: int = 0) -> int:
        """One run; Violation."""
        self.guard.allow(self._ranges(ctx))
        self.guard.read_only = [(found.address, found.address + STRUCT_BPF_MAP_SIZE) for found in self.used_maps]
        bpf = self.bpf
        bpf.enter()
        top = bpf.take_stack(16 << 10)
        r: Registers = [POISON] * 14
        r[1], r[10], r[12], r[13] = ctx, top, 1 << 24, 0
        try:
            with _Frame(self.guard, top):
                self.program.execute(r)
            if r[0] is POISON:
                raise Violation("the result was never written")
            return r[0]
        except Fault as fault:
            raise Violation(str(fault)) from None
        finally:
            bpf.give_stack(top)
            bpf.leave()

    def _ranges(self, ctx: int) -> list[tuple[int, int]]:
        """All live objects but maps, stacks and the packet's buffer; of those only what is the program's."""
        mem = self.bpf.mem
        assert isinstance(mem, FlatMemory)
        special = {found.address for found in self.bpf.map_at.values()}
        special |= {top - (16 << 10) for top in self.bpf.idle_stacks}
        ranges: list[tuple[int, int]] = []
        if self.type in SKB_TYPES:
            head, data = mem.read_uint(ctx + SKB_HEAD, 8), mem.read_uint(ctx + SKB_DATA, 8)
            special.add(_object_of(mem, head))
            ranges.append((data, data + mem.read_uint(ctx + SKB_LEN, 4)))
            shared = head + mem.read_uint(ctx + SKB_END, 4)
            ranges.append((shared, shared + SHARED_INFO))  # skb_shinfo(): gso_size, hwtstamp
        for found in self.used_maps:
            ranges += _map_ranges(found, special)
        ranges += [(start, start + size) for start, size in mem._sizes.items() if start not in special]
        return ranges


def _object_of(mem: FlatMemory, address: int) -> int:
    """Start of the live object an address lies in."""
    return max((start for start, size in mem._sizes.items() if start <= address < start + size), default=address)


def _map_ranges(found: BpfMap, special: set[int]) -> list[tuple[int, int]]:
    """Values of an array one by one; elements of other maps are objects of their own."""
    if isinstance(found, ArrayMap):
        assert isinstance(found.mem, FlatMemory)
        special.add(_object_of(found.mem, found.address))
        step = found.elem_size
        return [(found.values + i * step, found.values + i * step + found.value_size) for i in range(found.max_entries)]
    if isinstance(found, FdArrayMap):
        special.add(found.address)
        return [(found.address + found.array_size, found.address + found.array_size + found.max_entries * 8)]
    if isinstance(found, CgroupStorageMap):  # bpf_cgroup_storages_alloc(): a test run's own, made before it begins
        address = found.element(0, 0)
        special.add(address)
        own = found.of_this_cpu(address)
        return [(own, own + found.value_size)]
    if isinstance(found, XskMap):  # a lookup is part of the program
        start = found.address + found.array_size - XSK_BEFORE
        return [(start, start + found.max_entries * 8)]
    return []


class _Frame:
    """A function's stack frame, while it runs."""

    def __init__(self, guard: GuardedMemory, top: int) -> None:
        self.guard, self.range = guard, (top - FRAME_BYTES, top)

    def __enter__(self) -> None:
        self.guard.frames.append(self.range)

    def __exit__(self, *_: object) -> None:
        self.guard.frames.pop()
