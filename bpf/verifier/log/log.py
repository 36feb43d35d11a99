"""The verifier's log: the buffer, and how registers, stack slots and types read in it.

kernel/bpf/log.c; reg_type_str(), print_verifier_state() and print_insn_state() of kernel/bpf/verifier.c.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from arch.abi.limits import S32_MAX, S64_MAX, U32_MAX, U64_MAX
from arch.abi.version import KernelVersion
from bpf.verifier.domain.state import (
    BPF_REG_SIZE,
    INVALID_SLOT,
    REG_LIVE_DONE,
    REG_LIVE_READ,
    REG_LIVE_WRITTEN,
    S32_MIN,
    S64_MIN,
    FuncState,
    Reg,
    StackSlot,
    Value,
)
from bpf.verifier.domain.tnum import tnum_text
from bpf.verifier.domain.types import (
    CONST_PTR_TO_MAP,
    MEM_PERCPU,
    MEM_RDONLY,
    MEM_RINGBUF,
    MEM_USER,
    NOT_INIT,
    PTR_MAYBE_NULL,
    PTR_TO_BTF_ID,
    PTR_TO_MAP_KEY,
    PTR_TO_MAP_VALUE,
    PTR_TO_MEM,
    PTR_TO_PACKET,
    PTR_TO_PACKET_META,
    PTR_TO_SOCKET,
    PTR_TO_STACK,
    PTR_TO_TCP_SOCK,
    PTR_UNTRUSTED,
    SCALAR_VALUE,
    base_type,
    is_non_owning_ref,
)
from bpf.versions.verifier_rules import rules_of

BPF_LOG_LEVEL1: Final = 1
BPF_LOG_LEVEL2: Final = 2
BPF_LOG_STATS: Final = 4
BPF_LOG_FIXED: Final = 8  # since 6.4: what does not fit is left out
BPF_LOG_LEVEL: Final = BPF_LOG_LEVEL1 | BPF_LOG_LEVEL2
BPF_LOG_MASK: Final = BPF_LOG_LEVEL | BPF_LOG_STATS

MIN_LOG: Final = 128  # bytes of the user's buffer, until 6.4
MAX_LOG: Final = U32_MAX >> 2
MAX_LOG_BEFORE: Final = U32_MAX >> 8
_MAX_CHUNKS: Final = 4096
_MAX_MESSAGE: Final = 1023  # bytes of one message: BPF_VERIFIER_TMP_LOG_SIZE less its NUL


class Log:
    """The user's log buffer.  `level` 0 means that nobody wants one."""

    __slots__ = ("_chunks", "_joined", "level", "limit", "longest", "rolls", "used")

    def __init__(self, level: int, size: int | None, rolls: bool = False) -> None:
        self.level = level
        self.rolls = rolls  # what does not fit drives out the beginning, or with BPF_LOG_FIXED is only counted
        self.longest = 0  # it ever was, in bytes
        self.limit = size - 1 if size else None  # bytes that fit before the NUL; 0: nobody reads it, how long is it?
        self.used = 0
        self._chunks: list[str] = []
        self._joined: list[str] = []  # what comes before the chunks

    def write(self, text: str) -> None:
        """Append one message: bpf_verifier_vlog()."""
        if not self.level:
            return
        if len(text) > _MAX_MESSAGE:
            text = text[:_MAX_MESSAGE]
        used = self.used + len(text)
        if self.limit is not None and used > self.limit and not self.rolls:
            if self.full:
                return
            text, used = text[: self.limit - self.used], self.limit
        self._chunks.append(text)
        self.used = used
        if used > self.longest:
            self.longest = used
        if len(self._chunks) > _MAX_CHUNKS:
            # many short strings cost more memory than their text
            self._joined.append("".join(self._chunks))
            self._chunks.clear()

    def write_state(self, text: str) -> None:
        """Append a line that the kernel writes as many short messages."""
        if len(text) <= _MAX_MESSAGE:
            self.write(text)
            return
        for at in range(0, len(text), _MAX_MESSAGE):
            self.write(text[at : at + _MAX_MESSAGE])

    def reset(self, position: int) -> None:
        """Forget what was written after `position`: bpf_vlog_reset()."""
        if not self.level or (self.full and not self.rolls):
            return
        while self.used > position:
            last = self._chunks.pop() if self._chunks else self._joined.pop()
            self.used -= len(last)
            if self.used < position:
                keep = last[: position - self.used]
                self._chunks.append(keep)
                self.used += len(keep)

    @property
    def full(self) -> bool:
        """Nothing more fits: bpf_verifier_log_full()."""
        return self.limit is not None and self.used >= self.limit

    @property
    def truncated(self) -> bool:
        """It did not fit, now or before something was forgotten: bpf_vlog_finalize()."""
        return self.limit is not None and self.longest > self.limit if self.rolls else self.full

    @property
    def text(self) -> str:
        """All of it."""
        whole = "".join(self._joined) + "".join(self._chunks)
        return cut(whole, self.level, self.limit) if self.rolls else whole

    @property
    def true_size(self) -> int:
        """Bytes of a buffer that would have held all of it, with the NUL: attr.log_true_size."""
        return self.longest + 1 if self.longest else 0


def cut(whole: str, level: int, limit: int | None) -> str:
    """What is kept of a log since 6.4 where `limit` characters fit: its end, or with BPF_LOG_FIXED its beginning."""
    if limit is None:
        return whole
    return whole[:limit] if level & BPF_LOG_FIXED else whole[max(0, len(whole) - limit) :]


def log_is_valid(version: KernelVersion, level: int, size: int | None, address: int | None) -> bool:
    """bpf_verifier_log_attr_valid(), of BPF_PROG_LOAD and BPF_BTF_LOAD since 4.9.

    `size` and `address` of the user's buffer; None: nobody asks about them.
    """
    if level == 0 and not size and not address:
        return True
    if rules_of(version).log_rolls:  # a level alone asks how long the log would be
        together = size is None or address is None or bool(size) == bool(address)
        known = BPF_LOG_MASK | BPF_LOG_FIXED
        return together and not level & ~known and (level != 0 or not address) and (size or 0) <= MAX_LOG
    limit = MAX_LOG if version.at_least("4.20") else MAX_LOG_BEFORE
    good = size is None or MIN_LOG <= size <= limit
    return good and level != 0 and address != 0 and not level & ~BPF_LOG_MASK


# ---- types ----

# fmt: off
_TYPE_NAMES: Final = (
    "?", "scalar", "ctx", "map_ptr", "map_value", "map_key", "fp", "pkt_meta", "pkt", "pkt_end", "flow_keys",
    "sock", "sock_common", "tcp_sock", "tp_buffer", "xdp_sock", "ptr_", "mem", "buf", "func", "dynptr_ptr", "arena",
    "insn",
)
_PREFIXES: Final = (  # the last one that applies is printed
    (MEM_RDONLY, "rdonly_"), (MEM_RINGBUF, "alloc_"), (MEM_USER, "user_"), (MEM_PERCPU, "percpu_"),
    (PTR_UNTRUSTED, "untrusted_"),
)
# fmt: on

_type_texts: dict[int, str] = {}


def reg_type_str(word: int) -> str:
    """A register type as the log names it."""
    text = _type_texts.get(word)
    if text is None:
        base = base_type(word)
        postfix = ""
        if word & PTR_MAYBE_NULL:
            postfix = "or_null_" if base == PTR_TO_BTF_ID else "_or_null"
        prefix = ""
        for flag, name in _PREFIXES:
            if word & flag:
                prefix = name
        text = _type_texts[word] = f"{prefix}{_TYPE_NAMES[base]}{postfix}"
    return text


# ---- registers ----

LIVENESS: Final = tuple(
    ("_" if live & (REG_LIVE_READ | REG_LIVE_WRITTEN | REG_LIVE_DONE) else "")
    + ("r" if live & REG_LIVE_READ else "")
    + ("w" if live & REG_LIVE_WRITTEN else "")
    + ("D" if live & REG_LIVE_DONE else "")
    for live in range(16)
)
SLOT_CHARS: Final = bytes.maketrans(bytes(range(8)), b"?rm0difp")
_MAP_POINTERS: Final = (CONST_PTR_TO_MAP, PTR_TO_MAP_KEY, PTR_TO_MAP_VALUE)
_REFERENCED: Final = (PTR_TO_SOCKET, PTR_TO_TCP_SOCK, PTR_TO_MEM, PTR_TO_BTF_ID)


def _value_attributes(v: Value) -> list[str]:
    """What stands between the parentheses."""
    base = base_type(v.type)
    found = []
    if v.id:
        found.append(f"id={v.id}")
    if v.ref_obj_id and base in _REFERENCED:
        found.append(f"ref_obj_id={v.ref_obj_id}")
    if is_non_owning_ref(v.type):
        found.append("non_own_ref")
    if v.type != SCALAR_VALUE:
        found.append(f"off={v.off}")
    if base in (PTR_TO_PACKET, PTR_TO_PACKET_META):
        found.append(f"r={v.raw1}")
    elif base in _MAP_POINTERS:
        found.append(f"ks={v.raw1.key_size},vs={v.raw1.value_size}")
    if not v.var_off[1]:
        found.append(f"imm={v.var_off[0]:x}")
    else:
        found.extend(bounds(v))
    return found


def bounds(v: Value, suffix: str = "") -> list[str]:
    """The bounds that say something; before 5.18 their names ended with _value."""
    found = []
    if v.smin & U64_MAX != v.umin and v.smin != S64_MIN:
        found.append(f"smin{suffix}={v.smin}")
    if v.smax & U64_MAX != v.umax and v.smax != S64_MAX:
        found.append(f"smax{suffix}={v.smax}")
    if v.umin:
        found.append(f"umin{suffix}={v.umin}")
    if v.umax != U64_MAX:
        found.append(f"umax{suffix}={v.umax}")
    if v.var_off[1] != U64_MAX:
        found.append(f"var_off={tnum_text(v.var_off)}")
    if v.s32_min not in (v.smin, S32_MIN):
        found.append(f"s32_min{suffix}={v.s32_min}")
    if v.s32_max not in (v.smax, S32_MAX):
        found.append(f"s32_max{suffix}={v.s32_max}")
    if v.u32_min not in (v.umin, 0):
        found.append(f"u32_min{suffix}={as_int(v.u32_min)}")
    if v.u32_max not in (v.umax, U32_MAX):
        found.append(f"u32_max{suffix}={as_int(v.u32_max)}")
    return found


def as_int(number: int) -> int:
    """32 bits as %d prints them."""
    return number - (1 << 32) if number >> 31 else number


def as_s64(number: int) -> int:
    """64 bits as %lld prints them."""
    number &= U64_MAX
    return number - (1 << 64) if number >> 63 else number


def value_text(v: Value) -> str:
    """The contents of a register as the log shows them."""
    if v.text is None:
        if v.type in (SCALAR_VALUE, PTR_TO_STACK) and not v.var_off[1]:
            name = "" if v.type == SCALAR_VALUE else "fp"
            v.text = f"{name}{as_s64(v.var_off[0] + v.off)}"
        else:
            name = reg_type_str(v.type)
            if base_type(v.type) == PTR_TO_BTF_ID:
                name += v.raw1.name_of(v.raw2)
            v.text = f"{name}({','.join(_value_attributes(v))})"
    return v.text


def _reg_text(number: int, reg: Reg) -> str:
    v = reg.value
    precise = "P" if reg.precise and v.type == SCALAR_VALUE else ""
    return f" R{number}{LIVENESS[reg.live]}={precise}{v.text or value_text(v)}"


def slot_offset(number: int) -> int:
    """Of stack slot `number`, from the frame pointer."""
    return (-number - 1) * BPF_REG_SIZE


def slot_text(number: int, slot: StackSlot) -> str:
    """One slot with what is spilled there, or the kinds of its bytes."""
    if slot.is_spilled_reg:
        v = slot.value
        text = ""
        if v.type != SCALAR_VALUE:
            text = reg_type_str(v.type)
        else:
            if slot.precise:
                text = "P"
            if not v.var_off[1]:
                text += str(as_s64(v.var_off[0] + v.off))
    else:
        text = slot.kinds.translate(SLOT_CHARS).decode()
    return f" fp{slot_offset(number)}{LIVENESS[slot.live]}={text}"


def state_text(frame: FuncState, regs: int, slots: int, refs: Sequence[int]) -> str:
    """One line of state: the registers and stack slots whose bits are set in `regs` and `slots`."""
    parts = []
    if frame.frameno:
        parts.append(f" frame{frame.frameno}:")
    for number, reg in enumerate(frame.regs):
        if (regs >> number) & 1 and reg.value.type != NOT_INIT:
            parts.append(_reg_text(number, reg))
    if slots:
        for number, slot in enumerate(frame.stack):
            if (slots >> number) & 1 and slot.kinds != INVALID_SLOT:
                parts.append(slot_text(number, slot))
    if refs and refs[0]:
        parts.append(" refs=" + ",".join(str(number) for number in refs if number))
    if frame.in_callback_fn:
        parts.append(" cb")
    if frame.in_async_callback_fn:
        parts.append(" async_cb")
    parts.append("\n")
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class StateStyle:
    """How a version writes what it knows."""

    type_name: Callable[[int], str]  # of a type word
    state_text: Callable[[FuncState, int, int, Sequence[int]], str]


SHORT_STATES: Final = StateStyle(reg_type_str, state_text)
