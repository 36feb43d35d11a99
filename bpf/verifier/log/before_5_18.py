"""States as the log had them before 5.18: all types by name, all attributes of pointers, also those that say nothing.

reg_type_str[] and print_verifier_state() of kernel/bpf/verifier.c, 4.18 to 5.17.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bpf.verifier.domain.state import INVALID_SLOT, FuncState, Reg, StackSlot, Value
from bpf.verifier.domain.types import (
    CONST_PTR_TO_MAP,
    MEM_PERCPU,
    MEM_RDONLY,
    PTR_MAYBE_NULL,
    PTR_TO_BTF_ID,
    PTR_TO_BUF,
    PTR_TO_MAP_KEY,
    PTR_TO_MAP_VALUE,
    PTR_TO_MEM,
    PTR_TO_PACKET,
    PTR_TO_PACKET_META,
    PTR_TO_SOCK_COMMON,
    PTR_TO_SOCKET,
    PTR_TO_STACK,
    PTR_TO_TCP_SOCK,
    SCALAR_VALUE,
    base_type,
)
from bpf.verifier.log.log import LIVENESS, StateStyle, as_s64, bounds, reg_type_str, slot_offset, slot_text

_MAP_POINTERS: Final = (CONST_PTR_TO_MAP, PTR_TO_MAP_KEY, PTR_TO_MAP_VALUE)
# reg_type_may_be_refcounted_or_null()
_MAY_BE_COUNTED: Final = frozenset(
    base | null
    for base in (PTR_TO_SOCKET, PTR_TO_TCP_SOCK, PTR_TO_MEM, PTR_TO_SOCK_COMMON)
    for null in (0, PTR_MAYBE_NULL)
) - {PTR_TO_SOCK_COMMON, PTR_TO_SOCK_COMMON | PTR_MAYBE_NULL}


def type_name(word: int) -> str:
    """A register type: each combination had a name of its own."""
    if word == SCALAR_VALUE:
        return "inv"
    base = base_type(word)
    if base == PTR_TO_BUF:
        return ("rdonly_buf" if word & MEM_RDONLY else "rdwr_buf") + ("_or_null" if word & PTR_MAYBE_NULL else "")
    if base == PTR_TO_BTF_ID and word & MEM_PERCPU:
        return "percpu_ptr_"
    return reg_type_str(base | (word & PTR_MAYBE_NULL))


def _attributes(v: Value) -> str:
    base = base_type(v.type)
    found = [f"id={v.id}"]
    if v.type in _MAY_BE_COUNTED:
        found.append(f"ref_obj_id={v.ref_obj_id}")
    if v.type != SCALAR_VALUE:
        found.append(f"off={v.off}")
    if base in (PTR_TO_PACKET, PTR_TO_PACKET_META):
        found.append(f"r={v.raw1}")
    elif base in _MAP_POINTERS:
        found.append(f"ks={v.raw1.key_size},vs={v.raw1.value_size}")
    if not v.var_off[1]:
        found.append(f"imm={v.var_off[0]:x}")
    else:
        found.extend(bounds(v, "_value"))
    return ",".join(found)


def _reg_text(number: int, reg: Reg) -> str:
    v = reg.value
    name = type_name(v.type) + ("P" if v.type == SCALAR_VALUE and reg.precise else "")
    if v.type in (SCALAR_VALUE, PTR_TO_STACK) and not v.var_off[1]:
        return f" R{number}{LIVENESS[reg.live]}={name}{as_s64(v.var_off[0] + v.off)}"
    if base_type(v.type) == PTR_TO_BTF_ID:
        name += v.raw1.name_of(v.raw2)
    return f" R{number}{LIVENESS[reg.live]}={name}({_attributes(v)})"


def _slot_text(number: int, slot: StackSlot) -> str:
    if not slot.is_spilled_reg:
        return slot_text(number, slot)
    v = slot.value
    text = type_name(v.type)
    if v.type == SCALAR_VALUE:
        text += "P" if slot.precise else ""
        text += str(as_s64(v.var_off[0] + v.off)) if not v.var_off[1] else ""
    return f" fp{slot_offset(number)}{LIVENESS[slot.live]}={text}"


def state_text(frame: FuncState, regs: int, slots: int, refs: Sequence[int]) -> str:
    """One line of state; it is always the whole one."""
    parts = [f" frame{frame.frameno}:"] if frame.frameno else []
    parts.extend(_reg_text(number, reg) for number, reg in enumerate(frame.regs) if reg.value.type)
    parts.extend(_slot_text(number, slot) for number, slot in enumerate(frame.stack) if slot.kinds != INVALID_SLOT)
    if refs:
        parts.append(" refs=" + ",".join(map(str, refs)))
    return "".join(parts) + "\n"


WHOLE_STATES: Final = StateStyle(type_name, state_text)
