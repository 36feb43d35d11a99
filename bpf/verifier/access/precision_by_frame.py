"""Going back for precision since 6.5: registers and slots of every frame, through calls, by what the history noted.

__mark_chain_precision(), backtrack_insn() and struct backtrack_state of kernel/bpf/verifier.c, Linux 6.12.  The history
has an entry for each instruction that was jumped to, touched the stack, or taught several copies of one number.
"""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EFAULT
from bpf.isa.insn import (
    BPF_ALU,
    BPF_ALU64,
    BPF_ATOMIC,
    BPF_CALL,
    BPF_CMPXCHG,
    BPF_END,
    BPF_EXIT,
    BPF_FETCH,
    BPF_IMM,
    BPF_JMP,
    BPF_JMP32,
    BPF_LD,
    BPF_LDX,
    BPF_LOAD_ACQ,
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
from bpf.verifier.access.back_steps import ADD_SOURCE, FROM_SOURCE, OTHER_STEP, steps_of
from bpf.verifier.domain.callbacks import calls_back_now
from bpf.verifier.domain.state import (
    BPF_MAIN_FUNC,
    MORE_CALL_FRAMES,
    Jump,
    LinkedReg,
    Reg,
    VerifierState,
    Walked,
)
from bpf.verifier.domain.types import SCALAR_VALUE
from bpf.verifier.env import Env
from bpf.verifier.lines.insn_text import insn_text
from bpf.verifier.lines.state import print_verifier_state

STACK_ACCESS: Final = 1 << 12  # the entry's low bits are frame << 6 | slot
SRC_ON_STACK: Final = 1 << 13  # the operand of a comparison is a stack pointer
DST_ON_STACK: Final = 1 << 14
_ARGS: Final = 0x3E  # r1 to r5
_LINKED_MAX: Final = 6
_NONE: Final = [0] * MORE_CALL_FRAMES  # of each frame


class GiveUp(Exception):
    """Too complicated to follow: mark everything precise (-ENOTSUPP in the kernel)."""


def note(env: Env, flags: int, linked: tuple[LinkedReg, ...] = ()) -> None:
    """Enter the current instruction in the history, once: push_insn_history()."""
    history = env.cur.jmp_history
    if env.noted_step == env.insn_processed and history:
        idx, prev, old, _ = history[-1]
        history[-1] = (idx, prev, old | flags, linked)
        return
    history.append((env.insn_idx, env.prev_insn_idx, flags, linked))
    env.noted_step = env.insn_processed


def note_stack_access(env: Env, frameno: int, slot: int) -> None:
    """The instruction spilled to, or filled from, a stack slot."""
    note(env, STACK_ACCESS | frameno << 6 | slot)


def collect_linked(env: Env, state: VerifierState, ids: list[int]) -> tuple[LinkedReg, ...]:
    """Registers and slots that hold these numbers; those that are too many are let go: collect_linked_regs()."""
    found: list[LinkedReg] = []
    for number in ids:
        for frameno in range(state.curframe, -1, -1):
            frame = state.frames[frameno]
            last = frameno == state.curframe
            at = env.insn_idx if last else state.frames[frameno + 1].callsite
            live = env.flow.live_registers(at) if env.flow is not None else -1
            places: list[tuple[bool, int, Reg]] = [
                (True, i, reg) for i, reg in enumerate(frame.regs[:BPF_REG_FP]) if reg.value.id and live >> i & 1
            ]
            places += [(False, i, slot) for i, slot in enumerate(frame.stack) if slot.is_spilled_reg]
            for is_reg, i, reg in places:
                if reg.value.type != SCALAR_VALUE or reg.value.base_id != number:
                    continue
                if len(found) < _LINKED_MAX:
                    found.append((frameno, is_reg, i))
                else:
                    reg.value = reg.value.without_id()
    return tuple(found)


class _Back:
    """What is still to be followed: struct backtrack_state."""

    __slots__ = ("frame", "regs", "slots")

    def __init__(self, frame: int) -> None:
        self.frame = frame
        self.regs = _NONE[:]
        self.slots = _NONE[:]

    @property
    def empty(self) -> bool:
        return not self.regs[self.frame] and self.regs == _NONE and self.slots == _NONE

    @property
    def is_of_one_frame(self) -> bool:
        """Nothing but registers of the frame in hand."""
        return self.slots == _NONE and self.regs.count(0) + (self.regs[self.frame] != 0) == MORE_CALL_FRAMES

    def has(self, reg: int) -> bool:
        return bool(self.regs[self.frame] >> reg & 1)

    def add(self, reg: int) -> None:
        self.regs[self.frame] |= 1 << reg

    def drop(self, reg: int) -> None:
        self.regs[self.frame] &= ~(1 << reg)

    def sync(self, linked: tuple[LinkedReg, ...]) -> None:
        """If one of the copies is followed, all are: bt_sync_linked_regs()."""
        masks = (self.slots, self.regs)
        if any(masks[is_reg][frame] >> i & 1 for frame, is_reg, i in linked):
            for frame, is_reg, i in linked:
                masks[is_reg][frame] |= 1 << i


def _bug(env: Env, text: str) -> None:
    env.reject(EFAULT, f"BUG {text}")


def _bits(mask: int) -> list[int]:
    if mask == mask & -mask:
        return [mask.bit_length() - 1] if mask else []
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def _regs_text(mask: int) -> str:
    return ",".join(f"r{i}" for i in range(32) if mask >> i & 1)


def _slots_text(mask: int) -> str:
    return ",".join(str(-(i + 1) * 8) for i in range(64) if mask >> i & 1)


def _back_insn(env: Env, idx: int, after: int, entry: Jump | None, back: _Back) -> None:
    """backtrack_insn(): `after` is the instruction that ran next."""
    insn = env.insns[idx]
    if insn.code == 0:
        return
    if env.log_precision:
        frame = back.frame
        where = f"regs={_regs_text(back.regs[frame])} stack={_slots_text(back.slots[frame])}"
        env.log.write(f"mark_precise: frame{frame}: {where} before {idx}: {insn_text(env, idx)}\n")
    flags, linked = (entry[2], entry[3]) if entry is not None else (0, ())
    if linked:
        back.sync(linked)
    _back_through(env, insn, idx, after, flags, back)
    if linked:  # a comparison has its other side followed, too
        back.sync(linked)


def _back_through(env: Env, insn: Insn, idx: int, after: int, flags: int, back: _Back) -> None:
    class_ = insn.cls
    atomic = class_ == BPF_STX and insn.mode == BPF_ATOMIC
    fetch = atomic and bool(insn.imm & BPF_FETCH)
    acquire = atomic and insn.imm == BPF_LOAD_ACQ
    if class_ in (BPF_ALU, BPF_ALU64):
        _back_alu(insn, back)
    elif class_ == BPF_LDX or fetch or acquire:
        load_reg = insn.dst_reg if not fetch else BPF_REG_0 if insn.imm == BPF_CMPXCHG else insn.src_reg
        if back.has(load_reg):
            back.drop(load_reg)
            if flags & STACK_ACCESS:
                back.slots[flags >> 6 & 15] |= 1 << (flags & 63)
    elif class_ in (BPF_STX, BPF_ST):
        _back_store(insn, flags, back)
    elif class_ in (BPF_JMP, BPF_JMP32):
        _back_jump(env, insn, idx, after, flags, back)
    elif class_ == BPF_LD:
        if insn.mode == BPF_IMM:
            back.drop(insn.dst_reg)
        elif back.has(BPF_REG_0):
            raise GiveUp


def _back_alu(insn: Insn, back: _Back) -> None:
    if not back.has(insn.dst_reg) or insn.op in (BPF_END, BPF_NEG):
        return
    if insn.op == BPF_MOV:
        back.drop(insn.dst_reg)
    if insn.src_kind == BPF_X and insn.src_reg != BPF_REG_FP:
        back.add(insn.src_reg)


def _back_store(insn: Insn, flags: int, back: _Back) -> None:
    if back.has(insn.dst_reg):
        raise GiveUp
    if not flags & STACK_ACCESS:
        return
    frame, bit = flags >> 6 & 15, 1 << (flags & 63)
    if back.slots[frame] & bit:
        back.slots[frame] &= ~bit
        if insn.cls == BPF_STX:
            back.add(insn.src_reg)


def _back_jump(env: Env, insn: Insn, idx: int, after: int, flags: int, back: _Back) -> None:
    op = insn.op
    if insn.code == BPF_JMP | BPF_CALL and insn.src_reg == BPF_PSEUDO_CALL:
        _back_call(env, insn, idx, back)
    elif op == BPF_CALL:
        if idx != after - 1 and calls_back_now(insn, env.kfunc_name(insn)):
            _leave_callee(env, back, propagate=False)  # out of a callback
            return
        if insn.src_reg == BPF_PSEUDO_KFUNC_CALL and insn.imm == 0:
            raise GiveUp
        back.drop(BPF_REG_0)
        if back.regs[back.frame] & _ARGS:
            _bug(env, f"regs {back.regs[back.frame]:x}")
    elif op == BPF_EXIT:
        from_call = after >= 1 and env.insns[after - 1].code == BPF_JMP | BPF_CALL
        from_call = from_call and env.insns[after - 1].src_reg == BPF_PSEUDO_CALL
        wanted = from_call and back.has(BPF_REG_0)
        follows = env.rules.callbacks_use_registers
        if not follows and after >= 0 and env.aux[after].calls_callback:
            back.regs[back.frame] &= ~_ARGS  # whoever calls back sets these
        if back.regs[back.frame] & _ARGS and (from_call or not follows):
            _bug(env, f"regs {back.regs[back.frame]:x}")
        back.drop(BPF_REG_0)
        back.frame += 1
        if back.frame >= env.call_frames:
            env.reject(EFAULT)
        if wanted:
            back.add(BPF_REG_0)
    elif insn.src_kind == BPF_X and (back.has(insn.dst_reg) or back.has(insn.src_reg)):
        if not flags & SRC_ON_STACK:
            back.add(insn.src_reg)
        if not flags & DST_ON_STACK:
            back.add(insn.dst_reg)


def _back_call(env: Env, insn: Insn, idx: int, back: _Back) -> None:
    number = env.find_subprog(idx + insn.imm + 1)
    if number < 0:
        env.reject(EFAULT)
    if env.is_global(number):
        if back.regs[back.frame] & _ARGS:
            _bug(env, f"regs {back.regs[back.frame]:x}")
        back.drop(BPF_REG_0)
        return
    _leave_callee(env, back, propagate=True)


def _leave_callee(env: Env, back: _Back, propagate: bool) -> None:
    """From the callee's first instruction back into the caller."""
    frame = back.frame
    if back.regs[frame] & ~_ARGS:
        _bug(env, f"regs {back.regs[frame]:x}")
    if back.slots[frame]:
        _bug(env, f"stack slots {back.slots[frame]:x}")
    if frame == 0:
        env.reject(EFAULT)
    if propagate:
        back.regs[frame - 1] |= back.regs[frame]
    back.regs[frame] = 0
    back.frame = frame - 1


def _force_all(env: Env, state: VerifierState) -> None:
    """Every scalar of every earlier checkpoint matters: mark_all_scalars_precise()."""
    say = env.log.write if env.log_precision else None
    if say:
        say(f"mark_precise: frame{state.curframe}: falling back to forcing all scalars precise\n")
    ancestor = state.parent
    while ancestor is not None:
        for number, frame in enumerate(ancestor.frames):
            for i, reg in enumerate(frame.regs[:BPF_REG_FP]):
                if reg.value.type == SCALAR_VALUE and not reg.precise:
                    reg.precise = True
                    if say:
                        say(f"force_precise: frame{number}: forcing r{i} to be precise\n")
            for i, slot in enumerate(frame.stack):
                if slot.is_spilled_reg and slot.value.type == SCALAR_VALUE and not slot.precise:
                    slot.precise = True
                    if say:
                        say(f"force_precise: frame{number}: forcing fp{-(i + 1) * 8} to be precise\n")
        ancestor = ancestor.parent


def _mark_frame(env: Env, state: VerifierState, number: int, back: _Back) -> bool:
    """Mark what is followed in one frame of a checkpoint; what is marked already is followed no further.

    Whether a mark is new.
    """
    frame = state.frames[number]
    changed = False
    for i in _bits(back.regs[number]):
        reg = frame.regs[i]
        if reg.value.type != SCALAR_VALUE or reg.precise:
            back.regs[number] &= ~(1 << i)
        else:
            reg.precise = changed = True
    for i in _bits(back.slots[number]):
        if i >= len(frame.stack):
            _bug(env, f"backtracking (stack slot {i}, total slots {len(frame.stack)})")
        slot = frame.stack[i]
        if not slot.is_spilled_reg or slot.value.type != SCALAR_VALUE or slot.precise:
            back.slots[number] &= ~(1 << i)
        else:
            slot.precise = changed = True
    if env.log_precision:
        where = f"regs={_regs_text(back.regs[number])} stack={_slots_text(back.slots[number])}"
        env.log.write(f"mark_precise: frame{number}: parent state {where}: ")
        print_verifier_state(env, frame, True, state)
    return changed


def _entered_from_nowhere(env: Env, state: VerifierState, back: _Back) -> None:
    """The start of a global function: only its arguments can still be wanted."""
    frame, regs, slots = state.frames[0], back.regs[back.frame], back.slots[back.frame]
    expected = len(state.frames) == 1 and frame.subprogno > 0 and frame.callsite == BPF_MAIN_FUNC
    if not expected or slots or regs & ~_ARGS:
        _bug(env, f"backtracking func entry subprog {frame.subprogno} reg_mask {regs:x} stack_mask {slots:x}")
    for i in range(1, 6):
        if regs >> i & 1 and frame.regs[i].value.type == SCALAR_VALUE:
            frame.regs[i].precise = True


def mark_chain(env: Env, back: _Back, path: VerifierState | None = None) -> bool:
    """From the current instruction (or the end of `path`) back, checkpoint by checkpoint: __mark_chain_precision().

    Whether a mark is new.
    """
    state: VerifierState = path or env.cur
    first_idx, last_idx, after, skip_first = state.first_insn_idx, path.insn_idx if path else env.insn_idx, -1, True
    changed = False
    while not back.empty:
        if env.log_precision:
            env.log.write(
                f"mark_precise: frame{back.frame}: last_idx {last_idx} first_idx {first_idx} subseq_idx {after} \n"
            )
        if last_idx < 0:
            _entered_from_nowhere(env, state, back)
            return True
        try:
            after = _walk(env, state, last_idx, after, skip_first, back)
        except GiveUp:
            _force_all(env, path or env.cur)
            return changed
        skip_first = False
        if back.empty:
            return changed
        if state.parent is None:
            break
        state = state.parent
        for number in range(back.frame, -1, -1):
            changed |= _mark_frame(env, state, number, back)
        after, last_idx, first_idx = first_idx, state.last_insn_idx, state.first_insn_idx
    if not back.empty:
        _force_all(env, path or env.cur)
    return changed


def _walk(env: Env, state: VerifierState, last_idx: int, after: int, skip_first: bool, back: _Back) -> int:
    """Through the instructions of one checkpoint; the one that ran next, for what is before it."""
    entries = state.jmp_history
    left, idx = len(entries), last_idx
    if skip_first:
        here = left > 0 and entries[left - 1][0] == idx
        if idx == state.first_insn_idx and (left == 0 or (left == 1 and here)):
            return idx
        after = idx
        if here:
            left -= 1
            idx = entries[left][1]
        else:
            idx -= 1
        if not 0 <= idx < len(env.insns):
            _bug(env, f"backtracking idx {idx}")
    if env.log_precision or not back.is_of_one_frame:
        return _follow(env, state, left, idx, after, back, None)
    frame = back.frame
    regs, walked = back.regs[frame], state.walked
    known = walked if walked is not None and walked[0] is entries and walked[3] == frame else None
    after = _follow(env, state, left, idx, after, back, known)
    if back.frame == frame and back.is_of_one_frame:
        state.walked = (entries, left, idx, frame, regs, 0, back.regs[frame], 0, after)
    return after


def _follow(env: Env, state: VerifierState, left: int, idx: int, after: int, back: _Back, known: Walked | None) -> int:
    """From an instruction back to the checkpoint, or to where `known` began; the one that ran next.

    Most of them change one mask as back_steps() says; the others, and all of them when it is told aloud, are followed by _back_insn().
    """
    entries, steps, first, aloud = state.jmp_history, steps_of(env), state.first_insn_idx, env.log_precision
    count = len(steps)
    frame = back.frame
    regs = back.regs[frame]
    noted = entries[left - 1][0] if left else -1
    known_left = known[1] if known is not None else -1
    while True:
        if left == known_left and known is not None and idx == known[2] and regs == known[4]:
            back.regs[frame] = known[6]
            return known[8]
        here = noted == idx
        kind, dst, src = steps[idx]
        if kind == OTHER_STEP or aloud or (here and entries[left - 1][3]):
            back.regs[frame] = regs
            _back_insn(env, idx, after, entries[left - 1] if here else None, back)
            if back.frame != frame or not back.is_of_one_frame:
                known_left = -1
            frame = back.frame
            regs = back.regs[frame]
            if not regs and back.empty:
                return after
        elif kind and regs & dst:
            if kind == ADD_SOURCE:
                regs |= src
            elif kind == FROM_SOURCE:
                regs = regs & ~dst | src
            else:
                regs &= ~dst
                if not regs:
                    back.regs[frame] = 0
                    if back.empty:
                        return after
        after = idx
        if idx == first and (left == 0 or (left == 1 and here)):
            back.regs[frame] = regs
            return after
        if here:
            left -= 1
            idx = entries[left][1]
            noted = entries[left - 1][0] if left else -1
        else:
            idx -= 1
        if not 0 <= idx < count:
            _bug(env, f"backtracking idx {idx}")


def mark_register(env: Env, frameno: int, regno: int) -> None:
    """The value of a register of the innermost frame was relied on."""
    back = _Back(frameno)
    back.add(regno)
    mark_chain(env, back)


def mark_slot(env: Env, frameno: int, slot: int) -> None:
    """The value spilled in a slot was relied on."""
    back = _Back(len(env.cur.frames) - 1)
    back.slots[frameno] |= 1 << slot
    mark_chain(env, back)


def propagate(env: Env, old: VerifierState, path: VerifierState | None = None) -> bool:
    """What had to be precise for the old path, has to be for the current one: propagate_precision()."""
    back = _Back(len((path or env.cur).frames) - 1)
    seen = env.rules.static_liveness  # what is not read is not there
    for number in range(old.curframe, -1, -1):
        frame = old.frames[number]
        names = []
        for i, reg in enumerate(frame.regs[:BPF_REG_FP]):
            if reg.was_relied_on or (seen and reg.precise and reg.value.type == SCALAR_VALUE):
                back.regs[number] |= 1 << i
                names.append(f"r{i}")
        for i, slot in enumerate(frame.stack):
            relied_on = slot.was_relied_on or (seen and slot.precise and slot.value.type == SCALAR_VALUE)
            if slot.is_spilled_reg and relied_on:
                back.slots[number] |= 1 << i
                names.append(f"fp{(-i - 1) * 8}")
        if names:
            told = f"frame {number}: propagating {','.join(names)}" if env.log_precision else ""
            env.verbose(told + "\n")
    return mark_chain(env, back, path)
