"""The program's stack: spilling and filling registers, plain data, accesses at variable offsets.

check_stack_*(), mark_reg_stack_read() and save_register_state() of kernel/bpf/verifier.c.  Byte `slot % 8` of a
slot is byte number `slot` below the frame pointer, so byte 7 of a slot has its lowest address.
"""

from __future__ import annotations

from typing import Final, NoReturn

from arch.abi.errno import EACCES, EFAULT, EINVAL
from arch.abi.internal import READ, WRITE
from bpf.isa.insn import BPF_MEM, BPF_REG_FP, BPF_ST
from bpf.verifier.access.fastcall import check_contract
from bpf.verifier.access.precision import mark_chain_precision
from bpf.verifier.access.precision_by_frame import note_stack_access
from bpf.verifier.access.regs import is_pointer_value, mark_reg_read, mark_unknown
from bpf.verifier.access.slot_objects import destroy_if_dynptr
from bpf.verifier.domain.bounds import is_unbounded, s32, s64
from bpf.verifier.domain.call_meta import CallMeta
from bpf.verifier.domain.scalar import with_fixed_offset
from bpf.verifier.domain.state import (
    ADD_CONST,
    BPF_REG_SIZE,
    MAX_BPF_STACK,
    NOTHING,
    REG_LIVE_READ64,
    REG_LIVE_WRITTEN,
    STACK_DYNPTR,
    STACK_INVALID,
    STACK_IRQ_FLAG,
    STACK_ITER,
    STACK_MISC,
    STACK_POISON,
    STACK_SPILL,
    STACK_ZERO,
    FuncState,
    Reg,
    StackSlot,
    Value,
    known_scalar,
)
from bpf.verifier.domain.tnum import tnum_text
from bpf.verifier.domain.types import (
    CONST_PTR_TO_MAP,
    NOT_INIT,
    PTR_TO_ARENA,
    PTR_TO_BTF_ID,
    PTR_TO_BUF,
    PTR_TO_CTX,
    PTR_TO_FLOW_KEYS,
    PTR_TO_FUNC,
    PTR_TO_MAP_KEY,
    PTR_TO_MAP_VALUE,
    PTR_TO_MEM,
    PTR_TO_PACKET,
    PTR_TO_PACKET_END,
    PTR_TO_PACKET_META,
    PTR_TO_SOCK_COMMON,
    PTR_TO_SOCKET,
    PTR_TO_STACK,
    PTR_TO_TCP_SOCK,
    PTR_TO_XDP_SOCK,
    SCALAR_VALUE,
    base_type,
)
from bpf.verifier.env import BPF_MAX_VAR_OFF, Env
from bpf.verifier.lines.source import verbose_linfo

# fmt: off
_SPILLABLE: Final = frozenset({
    PTR_TO_MAP_VALUE, PTR_TO_STACK, PTR_TO_CTX, PTR_TO_PACKET, PTR_TO_PACKET_META, PTR_TO_PACKET_END,
    PTR_TO_FLOW_KEYS, CONST_PTR_TO_MAP, PTR_TO_SOCKET, PTR_TO_SOCK_COMMON, PTR_TO_TCP_SOCK, PTR_TO_XDP_SOCK,
    PTR_TO_BTF_ID, PTR_TO_BUF, PTR_TO_MEM, PTR_TO_FUNC, PTR_TO_MAP_KEY, PTR_TO_ARENA,
})
# fmt: on


_SPECIAL: Final = frozenset({STACK_DYNPTR, STACK_ITER, STACK_IRQ_FLAG})  # slots that hold more than data


def grow_stack_state(env: Env, frame: FuncState, size: int) -> None:
    """The frame uses `size` bytes of stack from now on."""
    wanted = size // BPF_REG_SIZE
    if len(frame.stack) >= wanted:
        return
    _hold(frame, size)
    note_stack_depth(env, frame, -size)


def _hold(frame: FuncState, size: int) -> None:
    """There are slots for `size` bytes: realloc_func_state()."""
    missing = _rounded(size) // BPF_REG_SIZE - len(frame.stack)
    frame.stack.extend(StackSlot.unused() for _ in range(missing))


def _rounded(size: int) -> int:
    return (size + BPF_REG_SIZE - 1) // BPF_REG_SIZE * BPF_REG_SIZE


def note_stack_depth(env: Env, frame: FuncState, off: int) -> None:
    """The function's code touches the stack down to `off`: update_stack_depth()."""
    info = env.subprogs[frame.subprogno]
    info.stack_depth = max(info.stack_depth, -off)


def check_stack_access_within_bounds(env: Env, regno: int, off: int, size: int, helper: bool, access: int) -> None:
    """The access stays in the frame; the frame grows to hold it."""
    v = env.regs[regno].value
    frame = env.cur.frames[v.frameno]
    if helper and not env.rules.reads_and_writes_named:
        extra = " indirect access to"
    else:
        extra = " read from" if access == READ else " write to"
    if not v.var_off[1]:
        low = s64(v.var_off[0]) + off
        high = low + size
    else:
        if v.smax >= BPF_MAX_VAR_OFF or v.smin <= -BPF_MAX_VAR_OFF:
            env.reject(EACCES, f"invalid unbounded variable-offset{extra} stack R{regno}")
        low = v.smin + off
        high = v.smax + off + size
    grows = env.rules.stack_grows_when_checked
    lowest = -MAX_BPF_STACK if access == WRITE or (env.allow_uninit_stack and grows) else -frame.allocated_stack
    errno = 0
    if low < lowest or low > -1:
        errno = EACCES
    elif high > 0:
        errno = EINVAL
    elif size < 0:
        errno = EFAULT
    if errno:
        if not v.var_off[1]:
            env.reject(errno, f"invalid{extra} stack R{regno} off={off} size={size}")
        if env.rules.offsets_in_bounds:
            off -= v.off
            v = with_fixed_offset(v)
        fixed = f" off={off}" if env.rules.offset_in_stack_words else ""
        where = f"R{regno} var_off={tnum_text(v.var_off)}{fixed} size={size}"
        env.reject(errno, f"invalid variable-offset{extra} stack {where}")
    if grows:
        grow_stack_state(env, frame, _rounded(-low))


# ---- writing ----


def check_stack_write(env: Env, regno: int, off: int, size: int, value_regno: int, insn_idx: int) -> None:
    """A store through a stack pointer; value_regno -1: not of a register."""
    v = env.regs[regno].value
    frame = env.cur.frames[v.frameno]
    if not env.rules.stack_grows_when_checked:
        _hold(frame, -(v.smin + off))
    if not v.var_off[1]:
        _write_fixed(env, frame, s32(off + v.var_off[0]), size, value_regno, insn_idx)
    else:
        _write_variable(env, frame, v, off, size, value_regno, insn_idx)


def _save_register(slot: StackSlot, reg: Reg, size: int) -> None:
    """save_register_state(): spill a register or its low part."""
    slot.copy_register_state(reg)
    if size == BPF_REG_SIZE:
        slot.live |= REG_LIVE_WRITTEN
    above = BPF_REG_SIZE - size
    kept = bytes(STACK_INVALID if kind == STACK_INVALID else STACK_MISC for kind in slot.kinds[:above])
    slot.kinds = kept + bytes([STACK_SPILL]) * size


def _must_sanitize(slot: StackSlot, at: int, size: int, reg: Reg | None) -> bool:
    """A store that a mispredicting CPU must not let later loads overtake."""
    if reg is not None and base_type(reg.value.type) in _SPILLABLE:
        return True
    return any(slot.kinds[(at - i) % BPF_REG_SIZE] not in (STACK_MISC, STACK_ZERO) for i in range(size))


def _write_fixed(env: Env, frame: FuncState, off: int, size: int, value_regno: int, insn_idx: int) -> None:
    at = -off - 1
    spi = at // BPF_REG_SIZE
    slot = frame.stack[spi]
    insn = env.insns[insn_idx]
    if not env.allow_ptr_leaks and size != BPF_REG_SIZE and slot.is_spilled_reg:
        env.reject(EACCES, "attempt to corrupt spilled pointer on stack")
    reg = env.regs[value_regno] if value_regno >= 0 else None
    if not env.bypass_spec_v4 and _must_sanitize(slot, at, size, reg):
        env.aux[insn_idx].sanitize_stack_spill = True
    if slot.kinds[0] == STACK_DYNPTR and env.rules.slot_objects:
        destroy_if_dynptr(env, frame, spi)
    if env.fastcalls:
        check_contract(env, frame, insn_idx, off)
    env.scratched_stack_slots |= 1 << spi
    stores_imm = reg is None and insn.cls == BPF_ST and insn.mode == BPF_MEM
    tracked = env.bpf_capable and off % BPF_REG_SIZE == 0
    note_spill = env.rules.stack_in_history
    if env.rules.scalars_spilled and tracked and (stores_imm or (reg is not None and reg.value.type == SCALAR_VALUE)):
        _spill_scalar(env, slot, reg, size, insn.imm)
    elif reg is not None and tracked and _is_bounded(reg.value) and not reg.value.is_null:
        if insn.dst_reg != BPF_REG_FP and not env.rules.stack_in_history:
            # backtracking only sees stores through r10
            mark_chain_precision(env, value_regno)
        _save_register(slot, reg, size)
        if reg.value.umax.bit_length() > 8 * size:
            slot.value = slot.value.with_id(0)
    elif stores_imm and tracked and insn.imm != 0:
        _save_register(slot, Reg.of(known_scalar(insn.imm & ((1 << 64) - 1))), size)
    elif reg is not None and base_type(reg.value.type) in _SPILLABLE:
        _spill_pointer(env, frame, slot, reg, size, insn_idx)
    else:
        zero = insn.imm == 0 if stores_imm else reg is not None and reg.value.is_null
        _write_data(env, slot, at, size, value_regno, zero)
        note_spill = False
    if note_spill:
        note_stack_access(env, frame.frameno, spi)


def _spill_scalar(env: Env, slot: StackSlot, reg: Reg | None, size: int, imm: int) -> None:
    """Any scalar, with its id if nothing of it is cut off."""
    if reg is None:
        reg = Reg.of(known_scalar(imm & ((1 << 64) - 1)))
    v = reg.value
    fits = v.umax.bit_length() <= 8 * size
    if fits and env.rules.constants_linked:
        assign_id(env, reg)
    elif fits and not v.id and v.var_off[1]:
        reg.value = v.with_id(env.new_id())
    kinds = slot.kinds
    _save_register(slot, reg, size)
    above = BPF_REG_SIZE - size
    # zeros stay zeros, and what was never written stays so
    kept = bytes(kind if kind == STACK_ZERO or kind in NOTHING else STACK_MISC for kind in kinds[:above])
    slot.kinds = kept + slot.kinds[above:]
    if not fits:
        slot.value = slot.value.without_id()


def assign_id(env: Env, reg: Reg) -> None:
    """A number that is about to be copied gets an id both will have: assign_scalar_id_before_mov()."""
    if reg.value.type != SCALAR_VALUE:
        return
    if reg.value.id & ADD_CONST:
        reg.value = reg.value.without_id()
    if not reg.value.id and reg.value.var_off[1]:
        reg.value = reg.value.with_id(env.new_id())


def _is_bounded(v: Value) -> bool:
    return v.type == SCALAR_VALUE and not is_unbounded(v)


def _spill_pointer(env: Env, frame: FuncState, slot: StackSlot, reg: Reg, size: int, insn_idx: int) -> None:
    if size != BPF_REG_SIZE:
        verbose_linfo(env, insn_idx, "; ")
        env.reject(EACCES, "invalid size of register spill")
    if frame is not env.frame and reg.value.type == PTR_TO_STACK:
        env.reject(EINVAL, "cannot spill pointers to stack into stack frame of the caller")
    _save_register(slot, reg, size)


def _write_data(env: Env, slot: StackSlot, at: int, size: int, value_regno: int, zero: bool) -> None:
    slot.value = slot.value.with_type(NOT_INIT)
    if slot.is_spilled_reg or (slot.kinds[7] in _SPECIAL and env.rules.slot_objects):
        slot.scrub()
    if size == BPF_REG_SIZE:
        slot.live |= REG_LIVE_WRITTEN
    kind = STACK_MISC
    if zero:
        if value_regno >= 0:
            # the register must be zero on every path that counts on zeros here
            mark_chain_precision(env, value_regno)
        kind = STACK_ZERO
    kinds = bytearray(slot.kinds)
    for i in range(size):
        kinds[(at - i) % BPF_REG_SIZE] = kind
    slot.kinds = bytes(kinds)


def _write_variable(env: Env, frame: FuncState, v: Value, off: int, size: int, value_regno: int, insn_idx: int) -> None:
    """A store somewhere in a range: every byte of the range may now be data."""
    low, high = v.smin + off, v.smax + off + size
    insn, scrubs = env.insns[insn_idx], env.rules.variable_store_scrubs
    writing_zero = value_regno >= 0 and env.regs[value_regno].value.is_null
    if scrubs and value_regno < 0:
        writing_zero = insn.cls == BPF_ST and insn.mode == BPF_MEM and insn.imm == 0
    zero_used = False
    if env.rules.slot_objects:
        for i in range(low, high):
            destroy_if_dynptr(env, frame, (-i - 1) // BPF_REG_SIZE)
    if env.fastcalls:
        check_contract(env, frame, insn_idx, low)
    for i in range(low, high):
        at = -i - 1
        spi = at // BPF_REG_SIZE
        slot = frame.stack[spi]
        kind = slot.kinds[at % BPF_REG_SIZE]
        env.scratched_stack_slots |= 1 << spi
        if not env.allow_ptr_leaks and kind not in (STACK_MISC, STACK_ZERO):
            env.verbose(f"spilled ptr in range of var-offset stack write; insn {insn_idx}, ptr off: {i}")
            env.reject(EINVAL)
        if scrubs:
            if writing_zero and kind == STACK_SPILL and slot.value.is_null:
                zero_used = True
                continue
            if slot.is_spilled_reg or (slot.kinds[7] in _SPECIAL and env.rules.slot_objects):
                slot.scrub()
                kind = slot.kinds[at % BPF_REG_SIZE]
        if slot.value.type != NOT_INIT and (not scrubs or kind != STACK_DYNPTR):
            slot.value = slot.value.with_type(NOT_INIT)
        new_kind = STACK_MISC
        if writing_zero and kind == STACK_ZERO:
            new_kind = STACK_ZERO
            zero_used = True
        if kind in NOTHING and not env.allow_uninit_stack:
            env.verbose(f"uninit stack in range of var-offset write prohibited for !root; insn {insn_idx}, off: {i}")
            env.reject(EINVAL)
        slot.set_kind(at % BPF_REG_SIZE, new_kind)
    if zero_used and value_regno >= 0:
        mark_chain_precision(env, value_regno)


# ---- reading ----


def check_stack_read(env: Env, regno: int, off: int, size: int, dst_regno: int) -> None:
    """A load through a stack pointer; dst_regno -1: into no register."""
    v = env.regs[regno].value
    frame = env.cur.frames[v.frameno]
    if not v.var_off[1]:
        _read_fixed(env, frame, s32(off + v.var_off[0]), size, dst_regno)
        return
    if dst_regno < 0:
        env.reject(
            EACCES,
            "variable offset stack pointer cannot be passed into helper function; "
            f"var_off={tnum_text(v.var_off)} off={off} size={size}",
        )
    check_stack_range_initialized(env, regno, off, size, False, False, None)
    if env.fastcalls:
        check_contract(env, frame, env.insn_idx, v.smin + off)
    _mark_read_into(env, frame, v.smin + off, v.smax + off + size, dst_regno)


def _mark_read_into(env: Env, frame: FuncState, low: int, high: int, dst_regno: int) -> None:
    """The destination is zero if all bytes read are, else anything: mark_reg_stack_read()."""
    dst = env.regs[dst_regno]
    for i in range(low, high):
        at = -i - 1
        if env.rules.fills_shown:
            env.scratched_stack_slots |= 1 << at // BPF_REG_SIZE
        if frame.stack[at // BPF_REG_SIZE].kinds[at % BPF_REG_SIZE] != STACK_ZERO:
            mark_unknown(env, dst)
            break
    else:
        dst.value = known_scalar(0)
        # some of these zeros may have been precise registers, so the result is
        dst.precise = not (env.rules.zero_need_not_be_precise and env.bpf_capable)
    dst.live |= REG_LIVE_WRITTEN


def _check_readable(env: Env, slot: StackSlot, off: int, size: int, kinds: tuple[int, ...]) -> None:
    at = -off - 1
    for i in range(size):
        kind = slot.kinds[(at - i) % BPF_REG_SIZE]
        if kind in kinds or (kind == STACK_INVALID and env.allow_uninit_stack):
            continue
        env.reject(EACCES, f"invalid read from stack off {off}+{i} size {size}")


def _read_fixed(env: Env, frame: FuncState, off: int, size: int, dst_regno: int) -> None:
    spi = (-off - 1) // BPF_REG_SIZE
    slot = frame.stack[spi]
    if env.fastcalls:
        check_contract(env, frame, env.insn_idx, off)
    if env.rules.fills_shown:
        env.scratched_stack_slots |= 1 << spi
    if not slot.is_spilled_reg:
        _check_readable(env, slot, off, size, (STACK_MISC, STACK_ZERO))
        mark_reg_read(env, slot, slot.parent, REG_LIVE_READ64)
        if dst_regno >= 0:
            _mark_read_into(env, frame, off, off + size, dst_regno)
        return
    spill_size = 1
    while spill_size < BPF_REG_SIZE and slot.kinds[BPF_REG_SIZE - 1 - spill_size] == STACK_SPILL:
        spill_size += 1
    if size != BPF_REG_SIZE or spill_size != BPF_REG_SIZE:
        if _read_part(env, slot, off, size, spill_size, dst_regno) and env.rules.stack_in_history:
            note_stack_access(env, frame.frameno, spi)
        return
    if env.rules.stack_in_history:
        note_stack_access(env, frame.frameno, spi)
    if dst_regno >= 0:
        if env.rules.fills_linked and env.bpf_capable:
            assign_id(env, slot)
        env.regs[dst_regno].copy_register_state(slot)
        env.regs[dst_regno].live |= REG_LIVE_WRITTEN
    elif is_pointer_value(env, slot.value):
        env.reject(EACCES, f"leaking pointer from stack off {off}")
    mark_reg_read(env, slot, slot.parent, REG_LIVE_READ64)


def _read_part(env: Env, slot: StackSlot, off: int, size: int, spill_size: int, dst_regno: int) -> bool:
    """Not a whole register: fine for scalars.  Whether what was spilled came back."""
    if slot.value.type != SCALAR_VALUE:
        verbose_linfo(env, env.insn_idx, "; ")
        env.reject(EACCES, "invalid size of register fill")
    mark_reg_read(env, slot, slot.parent, REG_LIVE_READ64)
    if dst_regno < 0:
        return False
    dst = env.regs[dst_regno]
    dst.live |= REG_LIVE_WRITTEN
    if env.rules.narrow_fills:
        return _fill_narrow(env, slot, dst, off, size, spill_size)
    if off % BPF_REG_SIZE == 0 and size == spill_size:
        subreg_def = dst.subreg_def
        dst.copy_register_state(slot)
        dst.subreg_def = subreg_def
        return True
    _check_readable(env, slot, off, size, (STACK_SPILL, STACK_MISC))
    mark_unknown(env, dst)
    return False


def _fill_narrow(env: Env, slot: StackSlot, dst: Reg, off: int, size: int, spill_size: int) -> bool:
    """The low part of what was spilled, or whatever else lies there."""
    if size <= spill_size and off % BPF_REG_SIZE == 0:
        subreg_def = dst.subreg_def
        whole = size == spill_size == 4 and slot.value.umax.bit_length() <= 32
        if env.rules.fills_linked and env.bpf_capable and whole:
            assign_id(env, slot)
        dst.copy_register_state(slot)
        dst.subreg_def = subreg_def
        if dst.value.umax.bit_length() > 8 * size:
            dst.value = dst.value.without_id()
        return True
    _check_readable(env, slot, off, size, (STACK_SPILL, STACK_MISC, STACK_ZERO))
    kinds = {slot.kinds[(-off - 1 - i) % BPF_REG_SIZE] for i in range(size)}
    if (kinds == {STACK_SPILL} and slot.value.is_null) or kinds == {STACK_ZERO}:
        dst.value = known_scalar(0)
        dst.precise = not env.bpf_capable
        return kinds == {STACK_SPILL}
    mark_unknown(env, dst)
    return False


def check_stack_range_initialized(
    env: Env,
    regno: int,
    off: int,
    size: int,
    zero_size_ok: bool,
    helper: bool,
    meta: CallMeta | None,
    access: int = READ,
) -> None:
    """All bytes a load at a variable offset or a helper may read are there.

    A helper may also write them (since 6.14: if its prototype says so), so what it could reach is plain data afterwards.  With meta.raw_mode nothing
    needs to be there, and the caller records the write.  A negative size is that of a function's argument, which may have been forgotten:
    what its type says is more than it reads.
    """
    forgotten_ok, size = size < 0, abs(size)
    v = env.regs[regno].value
    frame = env.cur.frames[v.frameno]
    named = env.rules.reads_and_writes_named
    extra = " indirect" if helper and not named else ""
    if not named:
        access = WRITE if helper else READ
    helper = access == WRITE  # from here on: it may write
    if size == 0 and not zero_size_ok:
        env.reject(EACCES, "invalid zero-sized read")
    check_stack_access_within_bounds(env, regno, off, size, helper, access)
    if not v.var_off[1]:
        low = high = s32(v.var_off[0] + off)
    else:
        if not env.bypass_spec_v1:
            env.reject(
                EACCES,
                f"R{regno}{extra} variable offset stack access prohibited for !root, var_off={tnum_text(v.var_off)}",
            )
        # nobody knows which bytes are written: they must all be initialised
        meta = None
        low, high = s32(v.smin + off), s32(v.smax + off)
    if meta is not None and meta.raw_mode:
        _check_no_dynptr(env, frame, low, size)
        meta.access_size = size
        meta.regno = regno
        return
    for i in range(low, high + size):
        _check_byte_initialized(env, frame, v, regno, i, low, size, helper, forgotten_ok or helper)
    if not env.rules.stack_grows_when_checked:
        note_stack_depth(env, frame, low)


def _check_no_dynptr(env: Env, frame: FuncState, low: int, size: int) -> None:
    """A helper that fills memory may not write over one."""
    for i in range(low, low + size) if env.rules.slot_objects else ():
        at = -i - 1
        if at // BPF_REG_SIZE < len(frame.stack) and frame.stack[at // BPF_REG_SIZE].kinds[at % 8] == STACK_DYNPTR:
            env.reject(EACCES, f"potential write to dynptr at off={i} disallowed")


def _check_byte_initialized(
    env: Env, frame: FuncState, v: Value, regno: int, i: int, low: int, size: int, helper: bool, forgotten_ok: bool
) -> None:
    at = -i - 1
    spi = at // BPF_REG_SIZE
    if spi >= len(frame.stack):
        if not env.rules.stack_grows_when_checked:
            _reject_byte(env, v, regno, i, low, size, helper)
        env.verbose("verifier bug: allocated_stack too small")
        env.reject(EFAULT)
    slot = frame.stack[spi]
    kind = slot.kinds[at % BPF_REG_SIZE]
    if kind == STACK_MISC:
        pass
    elif kind == STACK_ZERO or (kind == STACK_INVALID and env.allow_uninit_stack):
        if helper:
            slot.set_kind(at % BPF_REG_SIZE, STACK_MISC)
    elif env.rules.spilled_btf_pointer and slot.is_spilled_reg and slot.value.type == PTR_TO_BTF_ID:
        pass
    elif slot.is_spilled_reg and (slot.value.type == SCALAR_VALUE or env.allow_ptr_leaks):
        if helper:
            mark_unknown(env, slot)
            slot.scrub()
    elif kind == STACK_POISON:
        if not forgotten_ok:
            where = f"off {low}+{i - low} size {size}"
            env.reject(EACCES, f"reading from stack R{regno} {where}, slot poisoned by dead code elimination")
    else:
        _reject_byte(env, v, regno, i, low, size, helper)
    mark_reg_read(env, slot, slot.parent, REG_LIVE_READ64)


def _reject_byte(env: Env, v: Value, regno: int, i: int, low: int, size: int, helper: bool) -> NoReturn:
    extra = " indirect" if helper and not env.rules.reads_and_writes_named else ""
    if not v.var_off[1]:
        where = f"off {low}+{i - low}"
    else:
        where = f"var_off {tnum_text(v.var_off)}+{i - low}"
    env.reject(EACCES, f"invalid{extra} read from stack R{regno} {where} size {size}")
