"""Going back along the path to mark which scalars a decision depended on.

mark_chain_precision(), backtrack_insn() and the jump history of kernel/bpf/verifier.c.  Pruning compares only
precise scalars, so whoever relies on a scalar's value calls mark_chain_precision() for its register.
"""

from __future__ import annotations

from arch.abi.errno import EFAULT
from bpf.isa.insn import (
    BPF_ABS,
    BPF_ALU,
    BPF_ALU64,
    BPF_ATOMIC,
    BPF_CALL,
    BPF_CMPXCHG,
    BPF_END,
    BPF_EXIT,
    BPF_FETCH,
    BPF_IND,
    BPF_JMP,
    BPF_JMP32,
    BPF_LD,
    BPF_LDX,
    BPF_MOV,
    BPF_NEG,
    BPF_PSEUDO_CALL,
    BPF_PSEUDO_KFUNC_CALL,
    BPF_REG_0,
    BPF_REG_FP,
    BPF_ST,
    BPF_STX,
    BPF_X,
    Insn,
)
from bpf.verifier.access import precision_by_frame
from bpf.verifier.access.back_steps import ADD_SOURCE, FROM_SOURCE, OTHER_STEP, steps_of
from bpf.verifier.domain.callbacks import CALLBACK_CALLING_HELPERS
from bpf.verifier.domain.state import BPF_MAIN_FUNC, BPF_REG_SIZE, FuncState, VerifierState
from bpf.verifier.domain.types import SCALAR_VALUE
from bpf.verifier.env import Env
from bpf.verifier.lines.insn_text import insn_text
from bpf.verifier.lines.state import print_verifier_state


class _GiveUp(Exception):
    """Too complicated to follow: mark everything precise (-ENOTSUPP in the kernel)."""


class _Masks:
    """Registers and stack slots still to be followed, as bits."""

    __slots__ = ("regs", "slots")

    def __init__(self, regs: int, slots: int) -> None:
        self.regs = regs
        self.slots = slots


def push_jmp_history(env: Env, state: VerifierState) -> None:
    """Remember from where this instruction was reached, if it can be reached from several."""
    if env.aux[env.insn_idx].jmp_point:
        state.jmp_history.append((env.insn_idx, env.prev_insn_idx, 0, ()))
        env.noted_step = env.insn_processed


def _stack_bit(env: Env, off: int) -> int:
    """Bit of the slot that an access relative to r10 touches."""
    slot = (-off - 1) & 0xFFFFFFFF if off >= 0 else -off - 1
    number = slot // BPF_REG_SIZE
    if number >= 64:
        env.reject(EFAULT, f"BUG spi {number}")
    return 1 << number


def _backtrack_alu(insn: Insn, masks: _Masks) -> None:
    dreg, op = 1 << insn.dst_reg, insn.op
    if not masks.regs & dreg or op in (BPF_END, BPF_NEG):
        return
    if op == BPF_MOV:
        masks.regs &= ~dreg
    if insn.src_kind == BPF_X:
        masks.regs |= 1 << insn.src_reg


def _backtrack_load(env: Env, insn: Insn, masks: _Masks, fetch: bool) -> None:
    load_reg, base_reg = insn.dst_reg, insn.src_reg
    if fetch:
        load_reg = BPF_REG_0 if insn.imm == BPF_CMPXCHG else insn.src_reg
        base_reg = insn.dst_reg
    if not masks.regs & (1 << load_reg):
        return
    masks.regs &= ~(1 << load_reg)
    # a load through another register than r10: whoever spilled there need not be precise
    if base_reg == BPF_REG_FP:
        masks.slots |= _stack_bit(env, insn.off)


def _backtrack_store(env: Env, insn: Insn, masks: _Masks) -> None:
    if masks.regs & (1 << insn.dst_reg):
        raise _GiveUp
    if insn.dst_reg != BPF_REG_FP:
        return
    bit = _stack_bit(env, insn.off)
    if masks.slots & bit:
        masks.slots &= ~bit
        if insn.cls == BPF_STX:
            masks.regs |= 1 << insn.src_reg


def _backtrack_jump(env: Env, insn: Insn, masks: _Masks) -> None:
    op = insn.op
    if op == BPF_CALL:
        if insn.src_reg == BPF_PSEUDO_CALL:
            raise _GiveUp
        if insn.src_reg == BPF_PSEUDO_KFUNC_CALL and insn.imm == 0:
            raise _GiveUp
        if insn.src_reg == 0 and insn.imm in CALLBACK_CALLING_HELPERS:
            raise _GiveUp
        masks.regs &= ~1
        if masks.regs & 0x3F:
            env.reject(EFAULT, f"BUG regs {masks.regs:x}")
    elif op == BPF_EXIT:
        raise _GiveUp
    elif insn.src_kind == BPF_X:
        both = (1 << insn.dst_reg) | (1 << insn.src_reg)
        if masks.regs & both:
            masks.regs |= both


def _backtrack_insn(env: Env, idx: int, masks: _Masks) -> None:
    """Follow the masks backwards over one instruction."""
    insn = env.insns[idx]
    code = insn.code
    if code == 0:
        return
    if env.log_precision:
        env.log.write(f"regs={masks.regs:x} stack={masks.slots:x} before {idx}: {insn_text(env, idx)}\n")
    class_ = insn.cls
    if class_ in (BPF_ALU, BPF_ALU64):
        _backtrack_alu(insn, masks)
        return
    fetch = class_ == BPF_STX and insn.mode == BPF_ATOMIC and bool(insn.imm & BPF_FETCH)
    if class_ == BPF_LDX or fetch:
        _backtrack_load(env, insn, masks, fetch)
    elif class_ in (BPF_STX, BPF_ST):
        _backtrack_store(env, insn, masks)
    elif class_ in (BPF_JMP, BPF_JMP32):
        _backtrack_jump(env, insn, masks)
    elif class_ == BPF_LD and masks.regs & (1 << insn.dst_reg):
        masks.regs &= ~(1 << insn.dst_reg)
        if insn.mode in (BPF_IND, BPF_ABS):
            raise _GiveUp


def _prev_insn_idx(state: VerifierState, idx: int, history: int) -> tuple[int | None, int]:
    """The instruction before `idx` on this path, and how much history is left; None at the checkpoint."""
    if idx == state.first_insn_idx:
        if history == 0:
            return None, history
        if history == 1 and state.jmp_history[0][0] == idx:
            return None, history
    if history and state.jmp_history[history - 1][0] == idx:
        return state.jmp_history[history - 1][1], history - 1
    return idx - 1, history


def _mark_frames(state: VerifierState, precise: bool) -> None:
    for frame in state.frames:
        for reg in frame.regs[:BPF_REG_FP]:
            if reg.value.type == SCALAR_VALUE:
                reg.precise = precise
        for slot in frame.stack:
            if slot.precise != precise and slot.is_spilled_reg and slot.value.type == SCALAR_VALUE:
                slot.precise = precise


def mark_all_scalars_precise(state: VerifierState) -> None:
    """Every scalar of every earlier checkpoint matters."""
    ancestor = state.parent
    while ancestor is not None:
        _mark_frames(ancestor, True)
        ancestor = ancestor.parent


def mark_all_scalars_imprecise(state: VerifierState) -> None:
    """At a checkpoint nothing after it has relied on a scalar yet."""
    _mark_frames(state, False)


def _mark_checkpoint(state: VerifierState, frame: FuncState, masks: _Masks) -> bool | None:
    """Mark what is followed precise in a checkpoint.  Whether any mark is new; None: a slot is not there."""
    new_marks = False
    for regno in range(16):
        if not masks.regs >> regno & 1:
            continue
        reg = frame.regs[regno]
        if reg.value.type != SCALAR_VALUE:
            masks.regs &= ~(1 << regno)
            continue
        new_marks |= not reg.precise
        reg.precise = True
    number = 0
    left = masks.slots
    while left:
        if left & 1:
            if number >= len(frame.stack):
                mark_all_scalars_precise(state)
                return None
            slot = frame.stack[number]
            if not slot.is_spilled_reg or slot.value.type != SCALAR_VALUE:
                masks.slots &= ~(1 << number)
            else:
                new_marks |= not slot.precise
                slot.precise = True
        left >>= 1
        number += 1
    return new_marks


def _entered_from_nowhere(env: Env, state: VerifierState, masks: _Masks) -> None:
    """The start of a global function: only its arguments can still be wanted."""
    frame = state.frames[0]
    if (
        len(state.frames) == 1
        and frame.subprogno > 0
        and frame.callsite == BPF_MAIN_FUNC
        and masks.slots == 0
        and masks.regs & ~0x3E == 0
    ):
        for regno in range(1, 6):
            reg = frame.regs[regno]
            if masks.regs >> regno & 1 and reg.value.type == SCALAR_VALUE:
                reg.precise = True
        return
    env.reject(
        EFAULT,
        f"BUG backtracing func entry subprog {frame.subprogno} reg_mask {masks.regs:x} stack_mask {masks.slots:x}",
    )


def _walk_back(env: Env, state: VerifierState, last_idx: int, masks: _Masks, skip_first: bool) -> bool:
    """Follow the masks to the state's checkpoint.  True: nothing is left to follow."""
    if env.log_precision:
        return _walk_back_aloud(env, state, last_idx, masks, skip_first)
    begins: tuple[int, int, int, int] | None = None  # of the history what is left, instruction, registers, slots
    known, jumps = state.walked, state.jmp_history
    history = len(jumps)
    known_left = known[1] if known is not None and known[0] is jumps else -1
    first = state.first_insn_idx
    steps = steps_of(env)
    count = len(steps)
    regs, slots = masks.regs, masks.slots
    idx = last_idx
    while True:
        if not skip_first:
            if begins is None:
                begins = history, idx, regs, slots
            if history == known_left and known is not None and known[2] == idx and known[4:6] == (regs, slots):
                masks.regs, masks.slots = known[6:8]
                state.walked = (jumps, begins[0], begins[1], 0, begins[2], begins[3], masks.regs, masks.slots, 0)
                return not masks.regs and not masks.slots
            kind, dst, src = steps[idx]
            if kind == OTHER_STEP:
                masks.regs, masks.slots = regs, slots
                _backtrack_insn(env, idx, masks)
                regs, slots = masks.regs, masks.slots
            elif kind and regs & dst:
                if kind == ADD_SOURCE:
                    regs |= src
                elif kind == FROM_SOURCE:
                    regs = regs & ~dst | src
                else:
                    regs &= ~dst
        skip_first = False
        if not regs and not slots:
            return True
        # get_prev_insn_idx()
        if idx == first and (history == 0 or (history == 1 and jumps[0][0] == idx)):
            masks.regs, masks.slots = regs, slots
            if begins is not None:
                state.walked = (jumps, begins[0], begins[1], 0, begins[2], begins[3], regs, slots, 0)
            return False
        if history and jumps[history - 1][0] == idx:
            history -= 1
            idx = jumps[history][1]
        else:
            idx -= 1
        if not 0 <= idx < count:
            env.reject(EFAULT, f"BUG backtracking idx {idx}")


def _walk_back_aloud(env: Env, state: VerifierState, last_idx: int, masks: _Masks, skip_first: bool) -> bool:
    """The same, and each step is logged."""
    history = len(state.jmp_history)
    idx: int | None = last_idx
    while idx is not None:
        if not skip_first:
            _backtrack_insn(env, idx, masks)
        skip_first = False
        if not masks.regs and not masks.slots:
            return True
        idx, history = _prev_insn_idx(state, idx, history)
        if idx is not None and not 0 <= idx < len(env.insns):
            env.reject(EFAULT, f"BUG backtracking idx {idx}")
    return False


def _mark_chain(env: Env, frameno: int, masks: _Masks) -> None:
    """__mark_chain_precision(): back from the current instruction, checkpoint by checkpoint."""
    state: VerifierState = env.cur
    first_idx, last_idx = state.first_insn_idx, env.insn_idx
    aloud = env.log_precision
    skip_first = True
    while True:
        if aloud:
            env.log.write(f"last_idx {last_idx} first_idx {first_idx}\n")
        if last_idx < 0:
            _entered_from_nowhere(env, state, masks)
            return
        try:
            if _walk_back(env, state, last_idx, masks, skip_first):
                return
        except _GiveUp:
            mark_all_scalars_precise(state)
            return
        skip_first = False
        if state.parent is None:
            return
        state = state.parent
        frame = state.frames[frameno]
        new_marks = _mark_checkpoint(state, frame, masks)
        if new_marks is None:
            return
        if aloud:
            had = "didn't have" if new_marks else "already had"
            marks = f"parent {had} regs={masks.regs:x} stack={masks.slots:x} marks"
            if env.rules.marks_after_state:
                print_verifier_state(env, frame, True)
                env.log.write(marks + "\n")
            else:
                env.log.write(marks + ":")
                print_verifier_state(env, frame, True)
        if not new_marks or not (masks.regs or masks.slots):
            return
        first_idx, last_idx = state.first_insn_idx, state.last_insn_idx


def mark_chain_precision_frame(env: Env, frameno: int, regno: int) -> None:
    """The value of a register in this frame was relied on."""
    if not env.bpf_capable:
        return
    if env.cur.frames[frameno].regs[regno].value.type != SCALAR_VALUE:
        env.reject(EFAULT)  # "backtracing misuse" in the kernel's own log
    if env.rules.stack_in_history:
        precision_by_frame.mark_register(env, frameno, regno)
        return
    _mark_chain(env, frameno, _Masks(1 << regno, 0))


def mark_chain_precision(env: Env, regno: int) -> None:
    """The value of a register was relied on."""
    if env.bpf_capable:
        mark_chain_precision_frame(env, len(env.cur.frames) - 1, regno)


def mark_chain_precision_stack_frame(env: Env, frameno: int, spi: int) -> None:
    """The value spilled in a stack slot was relied on."""
    if not env.bpf_capable:
        return
    slot = env.cur.frames[frameno].stack[spi]
    if slot.is_spilled_reg and slot.value.type == SCALAR_VALUE:
        _mark_chain(env, frameno, _Masks(0, 1 << spi))
