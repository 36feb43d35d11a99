"""Whether a checkpoint covers a state, since 6.7: in loops, states are compared exactly or by their ranges.

states_equal(), regsafe(), stacksafe() and refsafe() of kernel/bpf/verifier.c, Linux 6.12; before 6.7: prune.py.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from bpf.verifier.domain import arcs
from bpf.verifier.domain.state import (
    ADD_CONST,
    BPF_REG_SIZE,
    NOTHING,
    REG_LIVE_READ,
    SPILL_SLOT,
    STACK_DYNPTR,
    STACK_INVALID,
    STACK_IRQ_FLAG,
    STACK_ITER,
    STACK_MISC,
    STACK_POISON,
    STACK_SPILL,
    STACK_ZERO,
    UNKNOWN,
    FuncState,
    Held,
    Reg,
    StackSlot,
    Value,
    VerifierState,
    same_bounds,
    same_head,
)
from bpf.verifier.domain.types import (
    NOT_INIT,
    PTR_TO_ARENA,
    PTR_TO_BUF,
    PTR_TO_INSN,
    PTR_TO_MAP_KEY,
    PTR_TO_MAP_VALUE,
    PTR_TO_MEM,
    PTR_TO_PACKET,
    PTR_TO_PACKET_META,
    PTR_TO_STACK,
    PTR_TO_TP_BUFFER,
    SCALAR_VALUE,
    base_type,
)
from bpf.verifier.env import Env

_MEMORY: Final = frozenset({PTR_TO_MAP_KEY, PTR_TO_MAP_VALUE, PTR_TO_MEM, PTR_TO_BUF, PTR_TO_TP_BUFFER})
_PACKETS: Final = (PTR_TO_PACKET, PTR_TO_PACKET_META)
_PLAIN: Final = bytes.maketrans(bytes([STACK_POISON]), bytes([STACK_INVALID]))
_ANY_NUMBER: Final = Reg.of(UNKNOWN, live=REG_LIVE_READ)


class Exactness(Enum):
    """enum exact_level."""

    NOT_EXACT = 0  # what the checkpoint read and relied on
    EXACT = 1  # everything is the same
    RANGE_WITHIN = 2  # everything is within what the checkpoint had, read or not


NOT_EXACT, EXACT, RANGE_WITHIN = Exactness


class _Ids:
    """Which id of the checkpoint stands for which of the current state: bpf_idmap."""

    def __init__(self, env: Env) -> None:
        self.known: dict[int, int] = {}
        self.current: set[int] = set()
        self.last = env.id_gen

    def same(self, old: int, cur: int) -> bool:
        """check_ids()."""
        if not old or not cur:
            return old == cur
        found = self.known.get(old)
        if found is not None:
            return found == cur
        if cur in self.current:
            return False
        self.known[old] = cur
        self.current.add(cur)
        return True

    def same_number(self, old: int, cur: int) -> bool:
        """check_scalar_ids(): a number on its own stands for any, and has an id that no other has."""
        if not old:
            return True
        if not cur:
            self.last += 1
        cur = cur or self.last
        return self.same(old, cur) and (not old & ADD_CONST or self.same(old & ~ADD_CONST, cur & ~ADD_CONST))


def range_within(old: Value, cur: Value) -> bool:
    """Everything cur can be, old could be; bounds and bits."""
    return (
        old.umin <= cur.umin
        and old.umax >= cur.umax
        and old.smin <= cur.smin
        and old.smax >= cur.smax
        and old.u32_min <= cur.u32_min
        and old.u32_max >= cur.u32_max
        and old.s32_min <= cur.s32_min
        and old.s32_max >= cur.s32_max
        # tnum_in(old, cur)
        and not cur.var_off[1] & ~old.var_off[1]
        and old.var_off[0] == cur.var_off[0] & ~old.var_off[1]
        and (old.hidden is None or arcs.within(old, cur))
    )


def _same_but_ids(old: Value, cur: Value) -> bool:
    """memcmp() of everything before `id`."""
    return old is cur or (same_head(old, cur) and same_bounds(old, cur))


def _regs_exact(old: Value, cur: Value, ids: _Ids) -> bool:
    return _same_but_ids(old, cur) and ids.same(old.id, cur.id) and ids.same(old.ref_obj_id, cur.ref_obj_id)


def _regsafe(env: Env, old_reg: Reg, cur_reg: Reg, ids: _Ids, exact: Exactness) -> bool:
    old, cur = old_reg.value, cur_reg.value
    if exact is EXACT:
        return _regs_exact(old, cur, ids)
    known = env.rules.static_liveness  # what is not read is not there
    if exact is NOT_EXACT and not (known or old_reg.live & REG_LIVE_READ):
        return True
    if old.type == NOT_INIT and (known or exact is NOT_EXACT):
        return True
    if old.type != cur.type:
        return False
    base = base_type(old.type)
    if base == SCALAR_VALUE:
        if env.explore_alu_limits:
            return _same_but_ids(old, cur) and ids.same_number(old.id, cur.id)
        if not old_reg.precise and exact is NOT_EXACT:
            return True
        return _linked_alike(old, cur) and ids.same_number(old.id, cur.id) and range_within(old, cur)
    if base in _MEMORY:
        related = same_head(old, cur) and range_within(old, cur)
        return related and ids.same(old.id, cur.id) and ids.same(old.ref_obj_id, cur.ref_obj_id)
    if base in _PACKETS:
        return _packet_safe(old, cur, ids)
    if old.type == PTR_TO_ARENA:
        return True
    if old.type == PTR_TO_INSN:
        return same_head(old, cur) and range_within(old, cur)
    if base == PTR_TO_STACK and old.frameno != cur.frameno:
        return False
    return base == NOT_INIT or _regs_exact(old, cur, ids)


def _linked_alike(old: Value, cur: Value) -> bool:
    """Both are copies plus the same constant, or both are not; a number on its own stands for either."""
    if old.id and (old.id ^ cur.id) & ADD_CONST:
        return False
    return not old.id & ADD_CONST or old.off == cur.off


def _packet_safe(old: Value, cur: Value, ids: _Ids) -> bool:
    if old.raw1 < 0 or cur.raw1 < 0:
        if old.raw1 != cur.raw1:
            return False
    elif old.raw1 > cur.raw1:
        return False
    return old.off == cur.off and ids.same(old.id, cur.id) and range_within(old, cur)


def _as_number(env: Env, slot: StackSlot) -> Reg | None:
    """The spilled number, or one nobody knows for eight bytes of data: scalar_reg_for_stack()."""
    if slot.kinds == SPILL_SLOT and slot.value.type == SCALAR_VALUE:
        return slot
    data = (STACK_MISC, STACK_INVALID) if env.allow_uninit_stack else (STACK_MISC,)
    return _ANY_NUMBER if all(kind in data for kind in slot.kinds) else None


def _stacksafe(env: Env, old: FuncState, cur: FuncState, ids: _Ids, exact: Exactness) -> bool:
    if env.rules.static_liveness:
        return _stack_known_safe(env, old, cur, ids, exact)
    for number, old_slot in enumerate(old.stack):
        cur_slot = cur.stack[number] if number < len(cur.stack) else None
        if exact is not NOT_EXACT and (cur_slot is None or old_slot.kinds != cur_slot.kinds):
            return False
        if exact is NOT_EXACT and not old_slot.live & REG_LIVE_READ:
            continue
        if not _slot_safe(env, old_slot, cur_slot, ids, exact):
            return False
    return True


def _stack_known_safe(env: Env, old: FuncState, cur: FuncState, ids: _Ids, exact: Exactness) -> bool:
    for number, slot in enumerate(old.stack):
        cur_slot = cur.stack[number] if number < len(cur.stack) else None
        if exact is EXACT and (cur_slot is None or slot.kinds.translate(_PLAIN) != cur_slot.kinds.translate(_PLAIN)):
            return False
        if not _halves_safe(env, slot, cur_slot, ids, exact):
            return False
    return True


def _halves_safe(env: Env, old: StackSlot, cur: StackSlot | None, ids: _Ids, exact: Exactness) -> bool:
    """Since 7.1 each half of a slot may be a number, or data that is as good as one."""
    i = 0
    while i < BPF_REG_SIZE:
        kind = old.kinds[i]
        i += 1
        if kind in NOTHING or (kind == STACK_MISC and env.allow_uninit_stack):
            continue
        if cur is None:
            return False
        if i in (1, 5):
            old_number, cur_number = _number_from(env, old, i - 1), _number_from(env, cur, i - 1)
            if old_number is not None and cur_number is not None:
                if not _regsafe(env, old_number, cur_number, ids, exact):
                    return False
                i = BPF_REG_SIZE
                continue
        if kind == STACK_MISC and cur.kinds[i - 1] == STACK_ZERO:
            continue
        if kind != cur.kinds[i - 1]:
            return False
        if i == BPF_REG_SIZE:
            return _last_byte_safe(env, old, cur, ids, exact)
    return True


def _number_from(env: Env, slot: StackSlot, first: int) -> Reg | None:
    """What byte `first` and those below it hold, as a number: scalar_reg_for_stack() of 7.1."""
    if slot.kinds[first] == STACK_SPILL and slot.value.type == SCALAR_VALUE:
        return slot
    rest = slot.kinds[first:]
    return _ANY_NUMBER if all(k == STACK_MISC or (k in NOTHING and env.allow_uninit_stack) for k in rest) else None


def _slot_safe(env: Env, old: StackSlot, cur: StackSlot | None, ids: _Ids, exact: Exactness) -> bool:
    for i in range(BPF_REG_SIZE):
        kind = old.kinds[i]
        if kind == STACK_INVALID or (kind == STACK_MISC and env.allow_uninit_stack):
            continue
        if cur is None:
            return False
        if env.rules.misc_is_a_number:
            old_number, cur_number = _as_number(env, old), _as_number(env, cur)
            if old_number is not None and cur_number is not None:
                return _regsafe(env, old_number, cur_number, ids, exact)
        if kind == STACK_MISC and cur.kinds[i] == STACK_ZERO:
            continue
        if kind != cur.kinds[i]:
            return False
    return cur is None or _last_byte_safe(env, old, cur, ids, exact)


def _last_byte_safe(env: Env, old: StackSlot, cur: StackSlot, ids: _Ids, exact: Exactness) -> bool:
    """Both slots are of the same kind: what they hold."""
    last = old.kinds[BPF_REG_SIZE - 1]
    if last == STACK_SPILL:
        return _regsafe(env, old, cur, ids, exact)
    if last == STACK_DYNPTR:
        same = old.value.raw1 == cur.value.raw1 and old.value.raw2 == cur.value.raw2
        return same and ids.same(old.value.ref_obj_id, cur.value.ref_obj_id)
    if last == STACK_ITER:
        a, b = old.value, cur.value
        same = a.raw1 is b.raw1 and a.raw2 == b.raw2 and a.frameno == b.frameno  # however many turns it made
        return same and ids.same(a.ref_obj_id, b.ref_obj_id)
    if last == STACK_IRQ_FLAG:
        same = old.value.raw2 == cur.value.raw2
        return same and ids.same(old.value.ref_obj_id, cur.value.ref_obj_id)
    return True


def _func_states_equal(env: Env, old: FuncState, cur: FuncState, live: int, ids: _Ids, exact: Exactness) -> bool:
    if old.callback_depth > cur.callback_depth:
        return False
    for regno, (old_reg, cur_reg) in enumerate(zip(old.regs, cur.regs)):
        if live >> regno & 1 and not _regsafe(env, old_reg, cur_reg, ids, exact):
            return False
    if old.stack and not _stacksafe(env, old, cur, ids, exact):
        return False
    return len(old.refs) == len(cur.refs) and all(ids.same(a[0], b[0]) for a, b in zip(old.refs, cur.refs))


def _holds_alike(old: Held, cur: Held, ids: _Ids) -> bool:
    before, now = old.locks(), cur.locks()
    if len(before) != len(now):
        return False
    if not all(a.lock is b.lock and a.kind == b.kind and ids.same(a.lock_id, b.lock_id) for a, b in zip(before, now)):
        return False
    if len(old.irq) != len(cur.irq) or not all(ids.same(a, b) for (a, _), (b, _) in zip(old.irq, cur.irq)):
        return False
    return (old.rcu, old.preempt, old.sleepable) == (cur.rcu, cur.preempt, cur.sleepable)


def states_equal(env: Env, old: VerifierState, cur: VerifierState, exact: Exactness) -> bool:
    """The current path can be cut: it knows at least what the checkpoint did."""
    if len(old.frames) != len(cur.frames) or (old.speculative and not cur.speculative):
        return False
    ids = _Ids(env)
    if old.held is not cur.held and not _holds_alike(old.held, cur.held, ids):
        return False
    for number, (a, b) in enumerate(zip(old.frames, cur.frames)):
        live = -1
        if env.flow is not None:
            last = number == len(old.frames) - 1
            live = env.flow.live_registers(old.insn_idx if last else old.frames[number + 1].callsite)
        if a.callsite != b.callsite or not _func_states_equal(env, a, b, live, ids, exact):
            return False
    return True
