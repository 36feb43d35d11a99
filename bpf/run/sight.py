"""What a program looks at beside its maps: which bytes of its context, or more than that.

Where only the arguments of a call are looked at, a hit needs no stack and no other registers (simkernel/kernel/visits.py).
Followed is what each register may hold; what is not plainly in order is more than the context.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arch.native.handler import Guards, Sight
from bpf.isa.insn import (
    BPF_ADD,
    BPF_ALU,
    BPF_ALU64,
    BPF_ATOMIC,
    BPF_CALL,
    BPF_EXIT,
    BPF_JA,
    BPF_JMP,
    BPF_JMP32,
    BPF_LD_IMM64,
    BPF_LDX,
    BPF_LOAD_ACQ,
    BPF_MEM,
    BPF_MEMSX,
    BPF_MOV,
    BPF_PROBE_ATOMIC,
    BPF_PSEUDO_CALL,
    BPF_ST,
    BPF_STX,
    BPF_SUB,
    BPF_X,
    SIZE_BYTES,
    Insn,
    imm64,
)
from bpf.run.native_call import NativeCall
from bpf.uapi import BPF_RB_FORCE_WAKEUP

# What a register may hold: anything; the context; memory of the program or its maps; a number that is not BPF_RB_FORCE_WAKEUP.
NUMBER, THE_CONTEXT, OWN, NO_WAKE = 1, 2, 4, 8
KINDS = NUMBER | THE_CONTEXT | OWN | NO_WAKE
MAPS = 16  # and of which map, one bit for each
HELD_BY = 12
AT_START = tuple(THE_CONTEXT if r == 1 else OWN if r == 10 else NUMBER for r in range(HELD_BY))
State = tuple[int, ...]


class MoreThanContext(Exception):
    """It may look elsewhere."""


class _Follower:
    def __init__(self, insns: Sequence[Insn], form: Callable[[int], NativeCall | None]) -> None:
        self.insns, self.form = insns, form
        self.seen: set[tuple[int, int]] = set()
        self.elsewhere = False  # it reads memory of the kernel
        self.guards: set[tuple[int, int]] = set()
        self.forces = 0  # it may wake also who has not read all
        self.maps: dict[int, int] = {}  # address -> its bit

    def after(self, i: int, state: State) -> State:
        """What the registers may hold behind an instruction."""
        insn = self.insns[i]
        if insn.code == BPF_LD_IMM64:
            address = imm64(insn, self.insns[i + 1])
            return _with(state, insn.dst_reg, OWN | self.maps.setdefault(address, MAPS << len(self.maps)))
        if insn.cls in (BPF_ALU, BPF_ALU64):
            return self._computed(insn, state)
        if insn.cls == BPF_LDX:
            return self._loaded(insn, state)
        if insn.cls in (BPF_ST, BPF_STX):
            if state[insn.dst_reg] & THE_CONTEXT or (insn.cls == BPF_STX and state[insn.src_reg] & THE_CONTEXT):
                raise MoreThanContext
            if insn.mode in (BPF_ATOMIC, BPF_PROBE_ATOMIC):
                loaded = insn.dst_reg if insn.imm == BPF_LOAD_ACQ else 0
                return _with(_with(_with(state, insn.src_reg, NUMBER), 0, NUMBER), loaded, NUMBER)
            return state
        if insn.cls == BPF_JMP and insn.op == BPF_CALL:
            return self._called(i, state)
        if insn.cls in (BPF_JMP, BPF_JMP32):
            return state
        raise MoreThanContext

    def _computed(self, insn: Insn, state: State) -> State:
        constant = NUMBER if insn.imm & BPF_RB_FORCE_WAKEUP else NO_WAKE
        held, other = state[insn.dst_reg], state[insn.src_reg] if insn.src_kind == BPF_X else constant
        if insn.op == BPF_MOV:
            if insn.cls == BPF_ALU or insn.off:
                if other & THE_CONTEXT:
                    raise MoreThanContext
                other = other if insn.src_kind != BPF_X else NUMBER
            return _with(state, insn.dst_reg, other)
        if (held | other) & THE_CONTEXT:
            raise MoreThanContext
        keeps = insn.cls == BPF_ALU64 and (insn.op == BPF_SUB or insn.op == BPF_ADD)
        stays = keeps and held & KINDS == OWN and not other & ~(NUMBER | NO_WAKE)
        return _with(state, insn.dst_reg, OWN if stays else NUMBER)

    def _loaded(self, insn: Insn, state: State) -> State:
        base = state[insn.src_reg]
        plain = insn.mode in (BPF_MEM, BPF_MEMSX)
        self.elsewhere |= bool(base & (NUMBER | NO_WAKE)) or not plain
        if base & THE_CONTEXT:
            if not plain:
                raise MoreThanContext
            self.seen.add((insn.off, SIZE_BYTES[insn.size]))
        return _with(state, insn.dst_reg, NUMBER)

    def _called(self, i: int, state: State) -> State:
        call = self.form(i) if self.insns[i].src_reg != BPF_PSEUDO_CALL else None
        if call is None:
            raise MoreThanContext
        self.elsewhere |= call.elsewhere
        if call.guard:
            if call.map and state[call.map_register] != OWN | self.maps.get(call.map, 0):
                raise MoreThanContext  # of another map
            self.guards.add((call.guard, call.words))
        if call.wake_flags:
            self.forces |= state[call.wake_flags] != NO_WAKE
        elif not call.closed and not call.guard:
            raise MoreThanContext
        first, registers = (call.first, call.registers) if call.address else (1, 5)
        if call.context and state[1] != THE_CONTEXT:
            raise MoreThanContext
        if any(state[r] & THE_CONTEXT for r in range(first + call.context, first + registers)):
            raise MoreThanContext
        found = OWN if call.gives_memory else NUMBER
        return (found, *(NUMBER for _ in range(5)), *state[6:])


def _with(state: State, register: int, held: int) -> State:
    return (*state[:register], held, *state[register + 1 :])


def context_sight(
    insns: Sequence[Insn],
    form: Callable[[int], NativeCall | None],
    targets: Callable[[int], Sequence[int]],
    following: Callable[[int], int],
) -> tuple[Sight, bool, Guards | None]:
    """The bytes of its context that a program of one function looks at, None: that cannot be said; whether it reads memory of the
    kernel; and who tells that it wakes nobody.
    """
    follower = _Follower(insns, form)
    states: dict[int, State] = {0: AT_START}
    waiting = [0]
    try:
        while waiting:
            i = waiting.pop()
            insn = insns[i]
            if insn.cls == BPF_JMP and insn.op == BPF_EXIT:
                continue
            state = follower.after(i, states[i])
            goes_on = not (insn.cls in (BPF_JMP, BPF_JMP32) and insn.op == BPF_JA)
            for to in (*targets(i), *((following(i),) if goes_on else ())):
                old = states.get(to)
                new = state if old is None else tuple(a | b for a, b in zip(old, state, strict=True))
                if new != old:
                    states[to] = new
                    waiting.append(to)
    except MoreThanContext:
        return None, True, None
    guards = frozenset((function, words, int(follower.forces)) for function, words in follower.guards)
    return frozenset(follower.seen), follower.elsewhere, guards
