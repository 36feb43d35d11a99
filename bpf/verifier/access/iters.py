"""Open-coded iterators, since 6.4: objects on the stack that three kernel functions make, ask for the next thing, and destroy.

process_iter_arg(), mark_stack_slots_iter(), process_iter_next_call() of kernel/bpf/verifier.c, Linux 6.12.  Of the first slot's value
`raw1` and `raw2` are the iterator's struct, `ref_obj_id` is its reference, `frameno` whether it still gives something and `off` how many
turns the path has made; the type word says whether a read section protects it.
"""

from __future__ import annotations

from arch.abi.errno import EFAULT, EINVAL, EPROTO
from arch.abi.internal import WRITE
from bpf.btf import Btf
from bpf.btf.codec import BtfType, Kind
from bpf.isa.insn import BPF_DW, BPF_REG_0, BPF_REG_1
from bpf.verifier.access.memory import check_mem_access
from bpf.verifier.access.regs import mark_reg_read, release_reference
from bpf.verifier.access.slot_objects import (
    BEYOND,
    find_slot,
    forget_slot,
    frame_of,
    shown_argument,
    shown_first,
    slot_of,
)
from bpf.verifier.access.trust import in_rcu_section
from bpf.verifier.domain.null import not_null
from bpf.verifier.domain.state import (
    ITER_SLOT,
    ITER_STATES,
    REG_LIVE_READ64,
    REG_LIVE_WRITTEN,
    STACK_ITER,
    Value,
    VerifierState,
    known_scalar,
    known_zero,
)
from bpf.verifier.domain.types import MEM_RCU, PTR_TO_STACK, PTR_UNTRUSTED
from bpf.verifier.env import Env
from bpf.verifier.paths.loops import previous_turn, same_callsites, widen

# enum bpf_iter_state
INVALID, ACTIVE, DRAINED = range(3)

Place = tuple[int, int]  # frame, first slot


def iter_name(btf: Btf, type_id: int) -> str:
    """iter_type_str(): the struct's name without bpf_iter_."""
    return btf.name_of(type_id).removeprefix("bpf_iter_") if type_id else "<invalid>"


def iter_struct(btf: Btf, proto: BtfType, arg: int) -> int:
    """The struct bpf_iter_* that an argument points to: btf_check_iter_arg(); 0: it is none."""
    if arg >= len(proto.params):
        return 0
    t = btf.resolved(proto.params[arg].type)
    if t.kind is not Kind.PTR:
        return 0
    type_id = btf.skip(t.type)
    found = btf[type_id]
    return type_id if found.kind is Kind.STRUCT and found.name.startswith("bpf_iter_") else 0


def _begin(env: Env, v: Value, btf: Btf, type_id: int, count: int, protected: bool) -> None:
    """mark_stack_slots_iter()."""
    spi = find_slot(env, v, "iter", count)
    if spi < 0:
        env.reject(EINVAL)
    frame = frame_of(env, v)
    number = env.acquire_reference(env.insn_idx)
    word = PTR_TO_STACK
    if protected:
        word |= MEM_RCU if in_rcu_section(env) else PTR_UNTRUSTED
    for i in range(count):
        slot = frame.stack[spi - i]
        slot.value = known_zero(word, btf, type_id)
        slot.value.ref_obj_id = 0 if i else number
        slot.value.frameno = ACTIVE
        slot.kinds = ITER_SLOT
        slot.live |= REG_LIVE_WRITTEN
        env.scratched_stack_slots |= 1 << spi - i


def _end(env: Env, v: Value, count: int) -> None:
    """unmark_stack_slots_iter()."""
    spi = find_slot(env, v, "iter", count)
    frame = frame_of(env, v)
    release_reference(env, frame.stack[spi].value.ref_obj_id)
    for i in range(count):
        forget_slot(env, frame.stack[spi - i])
        env.scratched_stack_slots |= 1 << spi - i


def _is_free(env: Env, v: Value, count: int) -> bool:
    spi = find_slot(env, v, "iter", count)
    if spi < 0:
        return spi == BEYOND
    frame = frame_of(env, v)
    return not any(STACK_ITER in frame.stack[spi - i].kinds for i in range(count))


def _why_not(env: Env, v: Value, btf: Btf, type_id: int, count: int) -> str:
    """What is wrong with the iterator here: is_iter_reg_valid_init()."""
    spi = find_slot(env, v, "iter", count)
    if spi < 0:
        return "missing"
    frame = frame_of(env, v)
    for i in range(count):
        slot = frame.stack[spi - i]
        known = slot.value
        if known.type & PTR_UNTRUSTED:
            return "unprotected"
        if bool(known.ref_obj_id) != (i == 0) or known.raw1 is not btf or known.raw2 != type_id:
            return "missing"
        if slot.kinds != ITER_SLOT:
            return "missing"
    return ""


def process_argument(
    env: Env, regno: int, btf: Btf, proto: BtfType, *, new: bool, destroy: bool, protected: bool, name: str
) -> tuple[Place, int]:
    """An argument that is an iterator: (its first slot, its reference); process_iter_arg()."""
    v = env.regs[regno].value
    if v.type != PTR_TO_STACK:
        env.reject(EINVAL, f"{shown_first(env, regno)} expected pointer to an iterator on stack")
    type_id = iter_struct(btf, proto, regno - 1)
    if not type_id:
        env.reject(EINVAL, f"expected valid iter pointer as {shown_argument(env, regno)}")
    count = btf[type_id].size // 8
    if new:
        if not _is_free(env, v, count):
            shown = f"iter_{iter_name(btf, type_id)} as {shown_argument(env, regno)}"
            env.reject(EINVAL, f"expected uninitialized {shown}")
        for i in range(0, count * 8, 8):
            check_mem_access(env, env.insn_idx, regno, i, BPF_DW, WRITE, -1)
        _begin(env, env.regs[regno].value, btf, type_id, count, protected)
        return (0, 0), 0
    wrong = _why_not(env, v, btf, type_id, count)
    if wrong == "unprotected":
        env.reject(EPROTO, f"expected an RCU CS when using {name}")
    if wrong:
        shown = f"iter_{iter_name(btf, type_id)} as {shown_argument(env, regno)}"
        env.reject(EINVAL, f"expected an initialized {shown}")
    spi = find_slot(env, v, "iter", count)
    frame = frame_of(env, v)
    for i in range(count):
        slot = frame.stack[spi - i]
        mark_reg_read(env, slot, slot.parent, REG_LIVE_READ64)
        env.scratched_stack_slots |= 1 << spi - i
    number = frame.stack[spi].value.ref_obj_id
    if destroy:
        _end(env, v, count)
    return (v.frameno, spi), number


def iter_at(state: VerifierState, place: Place) -> Value:
    """What is known of an iterator."""
    return state.frames[place[0]].stack[place[1]].value


def _set_state(state: VerifierState, place: Place, number: int, deeper: bool) -> None:
    slot = state.frames[place[0]].stack[place[1]]
    slot.value = slot.value.copy()
    slot.value.frameno = number
    slot.value.off += deeper


def is_active(env: Env) -> bool:
    """The iterator that r1 points to, which is one, may still give something."""
    v = env.regs[BPF_REG_1].value
    return iter_at(env.cur, (v.frameno, slot_of(v.off + v.var_off[0]))).frameno == ACTIVE


def turns_differ(old: VerifierState, cur: VerifierState) -> bool:
    """An iterator has given something in between, so this is no endless loop: iter_active_depths_differ()."""
    for frame, now in zip(old.frames, cur.frames):
        for a, b in zip(frame.stack, now.stack):
            if (
                STACK_ITER in a.kinds
                and a.value.ref_obj_id
                and a.value.frameno == ACTIVE
                and a.value.off != b.value.off
            ):
                return True
    return False


def process_next(env: Env, place: Place) -> None:
    """bpf_iter_*_next() gave something, which is another path; on this one it gave nothing, for good: process_iter_next_call()."""
    cur = env.cur
    known = iter_at(cur, place)
    if known.frameno not in (ACTIVE, DRAINED):
        text = f"unexpected iterator state {known.frameno} ({ITER_STATES[known.frameno]})"
        env.reject(EFAULT, f"verifier internal error: {text}")
    if known.frameno == ACTIVE:
        parent = cur.parent
        if parent is None or parent.insn_idx != env.insn_idx or not same_callsites(parent, cur):
            env.verbose("bug: bad parent state for iter next call")
            env.reject(EFAULT)
        before = previous_turn(env, parent)
        other = env.push_stack(env.insn_idx + 1, env.insn_idx, False)
        _set_state(other, place, ACTIVE, True)
        if before is not None:
            widen(before, other)
        r0 = other.frame.regs[BPF_REG_0]
        r0.value = not_null(r0.value)
    _set_state(cur, place, DRAINED, False)
    r0 = env.regs[BPF_REG_0]
    r0.value = known_scalar(0)
    r0.precise = not env.bpf_capable
