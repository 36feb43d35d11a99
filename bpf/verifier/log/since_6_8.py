"""States as the log has them since 6.8: what is zero is left out, bounds that are equal share their number.

kernel/bpf/log.c: print_verifier_state(), print_reg_state(), print_scalar_ranges(), Linux 6.12.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from arch.abi.limits import S32_MAX, S64_MAX, U16_MAX, U32_MAX, U64_MAX
from bpf.verifier.domain.scalar import with_fixed_offset
from bpf.verifier.domain.state import (
    ADD_CONST,
    BPF_REG_SIZE,
    DYNPTR_NAMES,
    ITER_STATES,
    NOTHING,
    S32_MIN,
    S64_MIN,
    STACK_DYNPTR,
    STACK_ITER,
    STACK_SPILL,
    FuncState,
    StackSlot,
    Value,
)
from bpf.verifier.domain.tnum import tnum_text
from bpf.verifier.domain.types import (
    CONST_PTR_TO_MAP,
    MEM_PERCPU,
    MEM_RCU,
    MEM_RDONLY,
    MEM_RINGBUF,
    MEM_USER,
    PTR_MAYBE_NULL,
    PTR_TO_ARENA,
    PTR_TO_BTF_ID,
    PTR_TO_DYNPTR,
    PTR_TO_MAP_KEY,
    PTR_TO_MAP_VALUE,
    PTR_TO_MEM,
    PTR_TO_PACKET,
    PTR_TO_PACKET_META,
    PTR_TO_STACK,
    PTR_TRUSTED,
    PTR_UNTRUSTED,
    SCALAR_VALUE,
    base_type,
    is_non_owning_ref,
)
from bpf.verifier.log.log import LIVENESS, SLOT_CHARS, StateStyle, as_s64, reg_type_str, slot_offset

_MAP_POINTERS: Final = (CONST_PTR_TO_MAP, PTR_TO_MAP_KEY, PTR_TO_MAP_VALUE)
# all that apply are printed, in this order
_PREFIXES: Final = (
    (MEM_RDONLY, "rdonly_"),
    (MEM_RINGBUF, "ringbuf_"),
    (MEM_USER, "user_"),
    (MEM_PERCPU, "percpu_"),
    (MEM_RCU, "rcu_"),
    (PTR_UNTRUSTED, "untrusted_"),
    (PTR_TRUSTED, "trusted_"),
)
_type_texts: dict[int, str] = {}


def type_name(word: int) -> str:
    """A register type as the log names it: reg_type_str()."""
    text = _type_texts.get(word)
    if text is None:
        plain = reg_type_str(base_type(word) | (word & PTR_MAYBE_NULL))
        text = _type_texts[word] = "".join(name for flag, name in _PREFIXES if word & flag) + plain
    return text


def unsigned(number: int) -> str:
    """Small numbers as decimals: verbose_unum()."""
    return str(number) if number <= U16_MAX else f"{number:#x}"


def signed(number: int) -> str:
    """verbose_snum(): decimal around zero."""
    return str(number) if _is_decimal(number) else f"{number & U64_MAX:#x}"


def constant_text(word: int) -> str:
    """Of 64 bits that are known, what is small either way is a decimal."""
    number = as_s64(word)
    return unsigned(number) if number >= 0 else signed(number)


def _is_decimal(number: int) -> bool:
    return -(1 << 15) <= number < 1 << 15


def _ranges(v: Value) -> list[str]:
    """print_scalar_ranges(): pairs of names and numbers; later ones with the same number join earlier ones."""
    low32 = v.s32_min if _is_decimal(v.s32_min) else v.s32_min & U32_MAX
    high32 = v.s32_max if _is_decimal(v.s32_max) else v.s32_max & U32_MAX
    rows: list[tuple[str, int, bool]] = [
        ("smin", v.smin, v.smin == S64_MIN),
        ("smax", v.smax, v.smax == S64_MAX),
        ("umin", v.umin, v.umin == 0),
        ("umax", v.umax, v.umax == U64_MAX),
        ("smin32", low32, v.s32_min == S32_MIN),
        ("smax32", high32, v.s32_max == S32_MAX),
        ("umin32", v.u32_min, v.u32_min == 0),
        ("umax32", v.u32_max, v.u32_max == U32_MAX),
    ]
    omitted = [omit for _, _, omit in rows]
    found = []
    for i, (name, number, _) in enumerate(rows):
        if omitted[i]:
            continue
        text = f"{name}="
        negative = name[0] == "s" and as_s64(number) < 0
        for j in range(i + 2, len(rows), 2):
            other, same, _ = rows[j]
            if omitted[j] or same & U64_MAX != number & U64_MAX:
                continue
            if (other[0] == "s" and as_s64(same) < 0) != negative:
                continue  # negatives and positives are not mixed
            omitted[j] = True
            text += f"{other}="
        found.append(text + (signed(as_s64(number)) if name[0] == "s" else unsigned(number)))
    return found


def _attributes(v: Value, folded: bool) -> str:
    base = base_type(v.type)
    if folded and v.type != SCALAR_VALUE:
        v = with_fixed_offset(v)
    found = []
    if v.id:
        delta = f"{v.off:+d}" if v.type == SCALAR_VALUE and v.id & ADD_CONST else ""
        found.append(f"id={v.base_id}{delta}")
    if v.ref_obj_id and not folded:
        found.append(f"ref_obj_id={v.ref_obj_id}")
    elif folded and base == PTR_TO_MEM and v.raw2:
        found.append(f"parent_id={v.raw2}")  # of a slice, its dynptr
    elif v.ref_obj_id and v.ref_obj_id != v.id:
        found.append(f"parent_id={v.ref_obj_id}")
    if is_non_owning_ref(v.type):
        found.append("non_own_ref")
    if base in _MAP_POINTERS:
        if v.map.name:
            found.append(f"map={v.map.name}")
        found.append(f"ks={v.map.key_size},vs={v.map.value_size}")
    if v.type != SCALAR_VALUE and v.off:
        found.append(f"off={signed(v.off)}")
    if base in (PTR_TO_PACKET, PTR_TO_PACKET_META):
        found.append(f"r={unsigned(v.raw1 & U64_MAX)}")
    if base == PTR_TO_MEM:
        found.append(f"sz={unsigned(v.raw1)}")
    if base == PTR_TO_DYNPTR:
        found.append(f"type={DYNPTR_NAMES.get(v.raw1, '<unknown>')}")
    if not v.var_off[1]:
        if v.var_off[0]:
            found.append(f"imm={signed(as_s64(v.var_off[0]))}")
    else:
        found.extend(_ranges(v))
        if v.var_off[1] != U64_MAX:
            found.append(f"var_off={tnum_text(v.var_off)}")
    return ",".join(found)


def _value_text(frame: FuncState, v: Value, precise: bool, folded: bool) -> str:
    """print_reg_state()."""
    if v.type == SCALAR_VALUE:
        mark = "P" if precise else ""
        if not v.var_off[1]:
            return mark + signed(as_s64(v.var_off[0]))
        return f"{mark}scalar({_attributes(v, folded)})"
    name = type_name(v.type)
    if v.type == PTR_TO_ARENA:
        return name
    if v.type == PTR_TO_STACK:
        if v.frameno != frame.frameno:
            name += f"[{v.frameno}]"
        if not v.var_off[1]:
            return name + signed(as_s64(v.var_off[0] + v.off))
    if base_type(v.type) == PTR_TO_BTF_ID:
        name += v.raw1.name_of(v.raw2)
    return f"{name}({_attributes(v, folded)})"


class _Writer:
    """State lines, with or without what was read and written of each register."""

    def __init__(self, liveness: Sequence[str], folded: bool = False) -> None:
        self.liveness = liveness
        self.folded = folded  # fixed offsets of pointers are part of their bounds

    def slot(self, frame: FuncState, number: int, slot: StackSlot) -> str:
        kinds = slot.kinds.translate(SLOT_CHARS).decode()
        place = f" fp{slot_offset(number)}{self.liveness[slot.live]}="
        if slot.kinds[BPF_REG_SIZE - 1] != STACK_SPILL:
            return place + kinds
        above = slot.kinds.index(STACK_SPILL)
        return place + kinds[:above] + _value_text(frame, slot.value, slot.precise, self.folded)

    def dynptr(self, number: int, slot: StackSlot) -> str:
        v = slot.value
        found = [f"id={v.id}"] if v.id else []
        found += [f"{'parent' if self.folded else 'ref'}_id={v.ref_obj_id}"] if v.ref_obj_id else []
        found += ["dynptr_id=1"] if not self.folded else []  # where the kernel keeps that it is the first slot
        place = f" fp{slot_offset(number)}{self.liveness[slot.live]}"
        return f"{place}=dynptr_{DYNPTR_NAMES.get(v.raw1, '<unknown>')}({','.join(found)})"

    def iterator(self, number: int, slot: StackSlot) -> str:
        v = slot.value
        state = ITER_STATES[v.frameno]
        name = v.raw1.name_of(v.raw2).removeprefix("bpf_iter_")
        place = f" fp{slot_offset(number)}{self.liveness[slot.live]}"
        ref = "id" if self.folded else "ref_id"
        return f"{place}=iter_{name}({ref}={v.ref_obj_id},state={state},depth={v.off})"

    def state_text(self, frame: FuncState, regs: int, slots: int, refs: Sequence[int]) -> str:
        """One line of state: the registers and stack slots whose bits are set in `regs` and `slots`."""
        parts = [f" frame{frame.frameno}:"] if frame.frameno else []
        for number, reg in enumerate(frame.regs):
            if (regs >> number) & 1 and reg.value.type:
                parts.append(
                    f" R{number}{self.liveness[reg.live]}={_value_text(frame, reg.value, reg.precise, self.folded)}"
                )
        number = 0
        while slots and number < len(frame.stack):
            slot = frame.stack[number]
            if (slots >> number) & 1 and not NOTHING.issuperset(slot.kinds):
                if slot.kinds[BPF_REG_SIZE - 1] == STACK_DYNPTR:
                    number += 1  # the second slot has what is known of both
                    parts.append(self.dynptr(number, frame.stack[number]))
                elif slot.kinds[BPF_REG_SIZE - 1] == STACK_ITER:
                    if slot.value.ref_obj_id:  # only the first slot has it
                        parts.append(self.iterator(number, slot))
                else:
                    parts.append(self.slot(frame, number, slot))
            number += 1
        if refs and refs[0]:
            parts.append(" refs=" + ",".join(str(number) for number in refs if number))
        if frame.in_callback_fn:
            parts.append(" cb")
        if frame.in_async_callback_fn:
            parts.append(" async_cb")
        return "".join(parts) + "\n"


SPARE_STATES: Final = StateStyle(type_name, _Writer(LIVENESS).state_text)
BARE_STATES: Final = StateStyle(type_name, _Writer([""] * len(LIVENESS), folded=True).state_text)
