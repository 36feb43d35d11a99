"""Checkpoints and pruning: has a path come here before that knew no more than this one does?

is_state_visited(), states_equal(), regsafe(), stacksafe(), propagate_liveness() and propagate_precision() of
kernel/bpf/verifier.c.
"""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EINVAL
from bpf.isa.insn import BPF_REG_6, BPF_REG_FP
from bpf.verifier.access import precision_by_frame
from bpf.verifier.access.iters import is_active, turns_differ
from bpf.verifier.access.precision import (
    mark_all_scalars_imprecise,
    mark_chain_precision_frame,
    mark_chain_precision_stack_frame,
    push_jmp_history,
)
from bpf.verifier.access.regs import mark_insn_zext, mark_not_init, mark_reg_read
from bpf.verifier.domain.state import (
    BPF_REG_SIZE,
    INVALID_SLOT,
    NOTHING,
    REG_LIVE_DONE,
    REG_LIVE_NONE,
    REG_LIVE_READ,
    REG_LIVE_READ64,
    STACK_INVALID,
    STACK_MISC,
    STACK_SPILL,
    STACK_ZERO,
    UNREADABLE,
    FuncState,
    Reg,
    StackSlot,
    Value,
    VerifierState,
    same_contents,
    same_head,
)
from bpf.verifier.domain.types import (
    NOT_INIT,
    PTR_MAYBE_NULL,
    PTR_TO_MAP_KEY,
    PTR_TO_MAP_VALUE,
    PTR_TO_PACKET,
    PTR_TO_PACKET_META,
    PTR_TO_STACK,
    SCALAR_VALUE,
    base_type,
)
from bpf.verifier.env import BPF_COMPLEXITY_LIMIT_STATES, Env
from bpf.verifier.lines.source import verbose_linfo
from bpf.verifier.lines.state import print_verifier_state
from bpf.verifier.log.log import BPF_LOG_LEVEL2
from bpf.verifier.paths import same_state
from bpf.verifier.paths.known_before import clear_lone_ids
from bpf.verifier.paths.loops import loop_entry_of, same_callsites, update_loop_entry
from bpf.verifier.paths.may_goto import MAY_GOTO
from bpf.verifier.paths.same_state import EXACT, NOT_EXACT, RANGE_WITHIN, range_within

_MAP_VALUES: Final = (PTR_TO_MAP_KEY, PTR_TO_MAP_VALUE)
_PACKETS: Final = (PTR_TO_PACKET, PTR_TO_PACKET_META)

_LONG_HISTORY: Final = 40  # entries after which a checkpoint is made
# a checkpoint goes when it missed so many times more often than it hit; where loops are closed it stays longer
_PATIENCE: Final = 3
_PATIENCE_IN_LOOPS: Final = 64

IdMap = dict[int, int]


def _check_ids(old_id: int, cur_id: int, idmap: IdMap) -> bool:
    """Ids may differ if they differ the same way everywhere."""
    if not old_id:
        return True
    return idmap.setdefault(old_id, cur_id) == cur_id


def _regsafe(env: Env, old_reg: Reg, cur_reg: Reg, idmap: IdMap) -> bool:
    """What follows was safe with the old register, which it read, so it is with this one."""
    old, cur = old_reg.value, cur_reg.value
    equal = old is cur or same_contents(old, cur)
    if old.type == PTR_TO_STACK:
        # two stack pointers are only equal if they point into the same frame
        return equal and old.frameno == cur.frameno
    if equal or old.type == NOT_INIT:
        return True
    if cur.type == NOT_INIT:
        return False
    base = base_type(old.type)
    if base == SCALAR_VALUE:
        if env.explore_alu_limits or cur.type != SCALAR_VALUE:
            return False
        if not old_reg.precise:
            return True
        return range_within(old, cur)
    if base in _MAP_VALUES:
        if old.type & PTR_MAYBE_NULL:
            if not cur.type & PTR_MAYBE_NULL or not same_head(old, cur):
                return False
            return _check_ids(old.id, cur.id, idmap)
        return same_head(old, cur) and range_within(old, cur)
    if base in _PACKETS:
        return _packet_safe(old, cur, idmap)
    return False


def _packet_safe(old: Value, cur: Value, idmap: IdMap) -> bool:
    if cur.type != old.type:
        return False
    if old.raw1 < 0 or cur.raw1 < 0:
        if old.raw1 != cur.raw1:
            return False
    elif old.raw1 > cur.raw1:
        return False
    if old.off != cur.off:
        return False
    if old.id and not _check_ids(old.id, cur.id, idmap):
        return False
    return range_within(old, cur)


def _stacksafe(env: Env, old: FuncState, cur: FuncState, idmap: IdMap) -> bool:
    """Whatever was read from the old stack is on the current one, too."""
    for number, old_slot in enumerate(old.stack):
        if not old_slot.live & REG_LIVE_READ or old_slot.kinds == INVALID_SLOT:
            continue
        cur_slot = cur.stack[number] if number < len(cur.stack) else None
        for i in range(BPF_REG_SIZE):
            kind = old_slot.kinds[i]
            if kind == STACK_INVALID or (kind == STACK_MISC and env.allow_uninit_stack):
                continue
            if cur_slot is None:
                return False
            cur_kind = cur_slot.kinds[i]
            if kind == STACK_MISC and cur_kind == STACK_ZERO:
                continue
            if kind != cur_kind:
                return False
        if old_slot.kinds[BPF_REG_SIZE - 1] != STACK_SPILL:
            continue
        assert cur_slot is not None
        # old_slot was read, as asked above
        if not _regsafe(env, old_slot, cur_slot, idmap):
            return False
    return True


def _func_states_equal(env: Env, old: FuncState, cur: FuncState) -> bool:
    idmap: IdMap = {}
    for old_reg, cur_reg in zip(old.regs, cur.regs):
        if old_reg.live & REG_LIVE_READ and not _regsafe(env, old_reg, cur_reg, idmap):
            return False
    if old.stack and not _stacksafe(env, old, cur, idmap):
        return False
    return old.refs == cur.refs


def states_equal(env: Env, old: VerifierState, cur: VerifierState) -> bool:
    """The current path can be cut: it knows at least what the old one did."""
    if len(old.frames) != len(cur.frames):
        return False
    if old.speculative and not cur.speculative:
        # a speculative path was not checked for everything
        return False
    if old.held.lock_id != cur.held.lock_id:
        return False
    for old_frame, cur_frame in zip(old.frames, cur.frames):
        if old_frame.callsite != cur_frame.callsite:
            return False
        if not _func_states_equal(env, old_frame, cur_frame):
            return False
    return True


def _maybe_looping(old: VerifierState, cur: VerifierState) -> bool:
    """Registers of the innermost frame did not change since the checkpoint: states_maybe_looping()."""
    if len(old.frames) != len(cur.frames):
        return False
    for old_reg, cur_reg in zip(old.frames[-1].regs, cur.frames[-1].regs):
        a, b = old_reg.value, cur_reg.value
        if a is not b and (a.umin != b.umin or not same_contents(a, b)):  # what counts turns differs in the first
            return False
    return True


# ---- liveness and precision of a path that was cut ----


def _propagate_liveness_reg(env: Env, old: Reg, cur: Reg) -> int:
    cur_flag = cur.live & REG_LIVE_READ
    flag = old.live & REG_LIVE_READ
    if cur_flag in (REG_LIVE_READ64, flag):
        return 0
    mark_reg_read(env, old, cur, flag)
    return flag


def _propagate_liveness(env: Env, old: VerifierState, cur: VerifierState) -> None:
    """What the old path read below here, the current one would have read."""
    for number, (old_frame, cur_frame) in enumerate(zip(old.frames, cur.frames)):
        first = BPF_REG_6 if number < old.curframe else 0
        for regno in range(first, BPF_REG_FP):
            old_reg, cur_reg = old_frame.regs[regno], cur_frame.regs[regno]
            if old_reg.live & REG_LIVE_READ and _propagate_liveness_reg(env, old_reg, cur_reg) == REG_LIVE_READ64:
                mark_insn_zext(env, cur_reg)
        for old_slot, cur_slot in zip(old_frame.stack, cur_frame.stack):
            if old_slot.live & REG_LIVE_READ:
                _propagate_liveness_reg(env, old_slot, cur_slot)


def _propagate_precision(env: Env, old: VerifierState) -> None:
    """What had to be precise for the old path, has to be for the current one."""
    if env.rules.stack_in_history:
        if env.bpf_capable:
            precision_by_frame.propagate(env, old)
        return
    level2 = env.level & BPF_LOG_LEVEL2
    for number in range(old.curframe, -1, -1):
        frame = old.frames[number]
        for regno in range(BPF_REG_FP):
            if frame.regs[regno].was_relied_on:
                if level2:
                    env.verbose(f"frame {number}: propagating r{regno}\n")
                mark_chain_precision_frame(env, number, regno)
        for spi, slot in enumerate(frame.stack):
            if slot.precise and slot.is_spilled_reg and slot.was_relied_on:
                if level2:
                    env.verbose(f"frame {number}: propagating fp{(-spi - 1) * BPF_REG_SIZE}\n")
                mark_chain_precision_stack_frame(env, number, spi)


# ---- checkpoints that are complete ----


def _clean_func_state(env: Env, frame: FuncState) -> None:
    """What no path below ever read need not be compared: forget it."""
    for reg in frame.regs[:BPF_REG_FP]:
        live = reg.live
        reg.live = live | REG_LIVE_DONE
        if not live & REG_LIVE_READ:
            mark_not_init(env, reg)
    for slot in frame.stack:
        live = slot.live
        slot.live = live | REG_LIVE_DONE
        if not live & REG_LIVE_READ and (slot.value is not UNREADABLE or slot.kinds is not INVALID_SLOT):
            mark_not_init(env, slot)
            slot.kinds = INVALID_SLOT


def _is_clean(state: VerifierState) -> bool:
    return bool(state.frames[0].regs[0].live & REG_LIVE_DONE)


def _clean_live_states(env: Env, bucket: list[VerifierState], insn_idx: int, cur: VerifierState) -> None:
    for state in reversed(bucket):
        if state.branches or state.insn_idx != insn_idx:
            continue
        if _is_clean(state) or not same_callsites(state, cur):
            continue
        entry = loop_entry_of(state)
        if entry is not None and entry.branches:
            continue
        for frame in state.frames:
            _clean_func_state(env, frame)


def _steps_since_checkpoint(env: Env) -> tuple[int, int]:
    return (
        env.jmps_processed - env.prev_jmps_processed,
        env.insn_processed - env.prev_insn_processed,
    )


def is_state_visited(env: Env, insn_idx: int) -> bool:
    """True: this path can be cut here.  Otherwise the state may have become a new checkpoint."""
    if not env.rules.stack_in_history:
        return _visit(env, insn_idx)
    if _visit(env, insn_idx):
        return True
    push_jmp_history(env, env.cur)  # in the new checkpoint's history, if there is one
    return False


def _visit(env: Env, insn_idx: int) -> bool:
    """True: this path can be cut here.  Otherwise the state may have become a new checkpoint."""
    cur = env.cur
    cur.last_insn_idx = env.prev_insn_idx
    late = env.rules.stack_in_history  # the caller enters the jump
    aux = env.aux[insn_idx]
    if not aux.prune_point:
        if not late:
            push_jmp_history(env, cur)
        return False
    jmps, insns = _steps_since_checkpoint(env)
    forced = env.test_state_freq or aux.force_checkpoint or (late and len(cur.jmp_history) > _LONG_HISTORY)
    add_new_state = forced or (jmps >= 2 and insns >= 8)
    bucket = env.explored_here(insn_idx)
    exact = env.rules.exact_in_loops
    # a state of a loop that this path is in covers it only where all is equal, or something is special about the place
    plain = exact and not (aux.iter_next or aux.calls_callback or env.insns[insn_idx].code == MAY_GOTO)
    count = 0
    if env.flow is not None:
        env.flow.forget_dead(cur, insn_idx)
    if bucket:
        if env.flow is None:
            _clean_live_states(env, bucket, insn_idx, cur)
        position = len(bucket)
        while position:
            position -= 1
            count += 1
            old = bucket[position]
            if old.insn_idx != insn_idx:
                continue
            if plain and old.branches and not _maybe_looping(old, cur):
                covered = False
            elif exact:
                covered = _covers(env, old, cur, insn_idx)
            elif old.branches:
                covered = False
                if _maybe_looping(old, cur):
                    _check_not_looping(env, old, cur, insn_idx)
            else:
                covered = states_equal(env, old, cur)
            if covered:
                old.hit_cnt += 1
                if env.request.on_prune is not None:
                    env.request.on_prune(insn_idx, _compared(env, old, cur))
                _inherit(env, old, cur, insn_idx)
                return True
            # an unrolled loop need not leave a checkpoint in every turn
            if old.branches and jmps < 20 and insns < 100 and not (late and forced):
                add_new_state = False
            if add_new_state:
                old.miss_cnt += 1
            patience = _PATIENCE_IN_LOOPS if aux.force_checkpoint and old.branches else _PATIENCE
            if old.miss_cnt > old.hit_cnt * patience + patience:
                # it costs more than it saves
                del bucket[position]
                if env.flow is not None:
                    env.flow.evicted(old)
                elif _is_clean(old) and not old.used_as_loop_entry:
                    env.peak_states -= 1
    if env.max_states_per_insn < count:
        env.max_states_per_insn = count
    too_many = not env.bpf_capable and count > BPF_COMPLEXITY_LIMIT_STATES
    if too_many or not add_new_state:
        if not late:
            push_jmp_history(env, cur)
        return False
    bucket.append(_checkpoint(env, cur, insn_idx))
    return False


def _compared(env: Env, old: VerifierState, cur: VerifierState) -> list[tuple[list[str], str, str]]:
    """What was compared, for people: in each frame what is read further on, and both states."""
    rows = []
    for then, now in zip(old.frames, cur.frames):
        read = [f"R{regno}" for regno in range(BPF_REG_FP) if _is_read(env, then.regs[regno])]
        for spi, slot in enumerate(then.stack):
            if _is_read(env, slot) and not NOTHING.issuperset(slot.kinds):
                read.append(f"fp{(-spi - 1) * BPF_REG_SIZE}")
        rows.append(
            (
                read,
                env.style.state_text(then, -1, -1, [ref[0] for ref in then.refs]),
                env.style.state_text(now, -1, -1, [ref[0] for ref in now.refs]),
            )
        )
    return rows


def _is_read(env: Env, reg: Reg) -> bool:
    """Further on; since 6.18 what is not read is not there."""
    if env.flow is None:
        return bool(reg.live & REG_LIVE_READ)
    return isinstance(reg, StackSlot) or reg.value.type != NOT_INIT


def _inherit(env: Env, old: VerifierState, cur: VerifierState, insn_idx: int) -> None:
    """What is read and relied on below the checkpoint, this path reads and relies on."""
    if env.flow is None:
        _propagate_liveness(env, old, cur)
    push_jmp_history(env, cur)
    _propagate_precision(env, old)
    if env.flow is not None and (old.branches or env.flow.loops.is_unsettled(old)):
        path = cur.clone()
        path.insn_idx = insn_idx
        env.flow.loops.came_back(path, old)
        env.flow.note_peak()


def _check_not_looping(env: Env, old: VerifierState, cur: VerifierState, insn_idx: int) -> None:
    """Before 6.6: the path has come back to a checkpoint of its own with the same registers."""
    if not _is_another_run(old, cur) and states_equal(env, old, cur):
        _refuse_endless_loop(env, old, cur, insn_idx)


def _covers(env: Env, old: VerifierState, cur: VerifierState, insn_idx: int) -> bool:
    """What this path would do was done below the checkpoint, or will be: since 6.6."""
    if old.branches:
        return _closes_loop(env, old, cur, insn_idx)
    if env.flow is not None:
        unsettled = env.flow.loops.is_unsettled(old)
        return same_state.states_equal(env, old, cur, RANGE_WITHIN if unsettled else NOT_EXACT)
    entry = loop_entry_of(old)
    exact = entry is not None and entry.branches > 0
    if not same_state.states_equal(env, old, cur, RANGE_WITHIN if exact else NOT_EXACT):
        return False
    if exact:
        assert entry is not None
        update_loop_entry(cur, entry)
    return True


def _closes_loop(env: Env, old: VerifierState, cur: VerifierState, insn_idx: int) -> bool:
    """The path has come back to a checkpoint of its own: nothing new, another turn, or a loop that never ends."""
    if _is_another_run(old, cur):
        return False
    same_turn = old.may_goto_depth == cur.may_goto_depth
    if not same_turn and env.insns[insn_idx].code == MAY_GOTO:
        if same_state.states_equal(env, old, cur, RANGE_WITHIN):
            update_loop_entry(cur, old)
            return True
    if env.aux[insn_idx].iter_next:
        if same_state.states_equal(env, old, cur, RANGE_WITHIN) and is_active(env):
            update_loop_entry(cur, old)
            return True
        return False
    if env.aux[insn_idx].calls_callback:
        return same_state.states_equal(env, old, cur, RANGE_WITHIN)
    endless = (
        _maybe_looping(old, cur)
        and same_state.states_equal(env, old, cur, EXACT)
        and same_turn
        and not turns_differ(old, cur)
        and old.callback_unroll_depth == cur.callback_unroll_depth
    )
    if endless:
        _refuse_endless_loop(env, old, cur, insn_idx)
    return False


def _is_another_run(old: VerifierState, cur: VerifierState) -> bool:
    """Another run of the same callback some time later."""
    frame = old.frame
    return frame.in_async_callback_fn and frame.async_entry_cnt != cur.frame.async_entry_cnt


def _refuse_endless_loop(env: Env, old: VerifierState, cur: VerifierState, insn_idx: int) -> None:
    verbose_linfo(env, insn_idx, "; ")
    env.verbose(f"infinite loop detected at insn {insn_idx}\n")
    if env.rules.loop_states_shown:
        for name, shown in (("cur", cur.frame), ("old", old.frame)):
            env.verbose(f"{name} state:")
            print_verifier_state(env, shown, True)
    env.reject(EINVAL)


def _checkpoint(env: Env, cur: VerifierState, insn_idx: int) -> VerifierState:
    """Keep a copy of the current state; the current registers become its registers' children."""
    env.total_states += 1
    if env.flow is not None:
        env.flow.explored += 1
        env.flow.note_peak()
    else:
        env.peak_states += 1
    env.prev_jmps_processed = env.jmps_processed
    env.prev_insn_processed = env.insn_processed
    if env.bpf_capable:
        mark_all_scalars_imprecise(cur)
    if env.rules.lone_ids_cleared:
        clear_lone_ids(cur)
    new = cur.clone()
    new.insn_idx = insn_idx
    if env.flow is not None:
        env.flow.loops.enter(new)
    cur.parent = new
    cur.dfs_depth = new.dfs_depth + 1
    cur.first_insn_idx = insn_idx
    cur.jmp_history = []
    if env.flow is None:
        _descend(cur, new)
    return new


def _descend(cur: VerifierState, new: VerifierState) -> None:
    """What is read from here on is read of the checkpoint's registers: before 6.18 it is the walk that finds out."""
    for number, (frame, new_frame) in enumerate(zip(cur.frames, new.frames)):
        first = BPF_REG_6 if number < cur.curframe else 0
        for regno in range(BPF_REG_FP):
            reg = frame.regs[regno]
            if regno >= first:
                reg.parent = new_frame.regs[regno]
            reg.live = REG_LIVE_NONE
        for slot, new_slot in zip(frame.stack, new_frame.stack):
            slot.live = REG_LIVE_NONE
            slot.parent = new_slot
