"""What the verifier knows at one point of one path: registers, stack slots, references, call frames.

include/linux/bpf_verifier.h: bpf_reg_state, bpf_stack_state, bpf_func_state, bpf_verifier_state.

The kernel copies whole register states, 120 bytes each, at every branch.  Here a register is two objects: a
`Value`, which says what is known about the contents and is never changed once it sits in a register, and a small
holder `Reg`, which has what belongs to this register on this path: liveness, precision, parent.  Copying a state
copies the holders and shares the values, and two equal values are usually the same object.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from arch.abi.limits import S32_MAX, S64_MAX, U32_MAX, U64_MAX
from bpf import uapi
from bpf.isa.insn import BPF_REG_FP, MAX_BPF_REG
from bpf.verifier.domain.tnum import SIGN32, SIGN64, TNUM_UNKNOWN, Tnum, tnum_const
from bpf.verifier.domain.types import NOT_INIT, PTR_TO_STACK, SCALAR_VALUE

if TYPE_CHECKING:
    from bpf.verifier.api import MapInfo

S64_MIN: Final = -(1 << 63)
S32_MIN: Final = -(1 << 31)

BPF_REG_SIZE: Final = 8  # bytes of a stack slot
MAX_BPF_STACK: Final = uapi.MAX_BPF_STACK  # bytes
MAX_CALL_FRAMES: Final = uapi.MAX_CALL_FRAMES
MORE_CALL_FRAMES: Final = 16  # since 7.2
BPF_MAIN_FUNC: Final = -1  # callsite of the frame nobody calls
DEF_NOT_SUBREG: Final = 0

# enum bpf_reg_liveness
REG_LIVE_NONE: Final = 0
REG_LIVE_READ32: Final = 1
REG_LIVE_READ64: Final = 2
REG_LIVE_READ: Final = 3
REG_LIVE_WRITTEN: Final = 4
REG_LIVE_DONE: Final = 8

# enum bpf_stack_slot_type
STACK_INVALID: Final = 0  # nothing was stored here
STACK_SPILL: Final = 1  # part of a spilled register
STACK_MISC: Final = 2  # some data
STACK_ZERO: Final = 3  # zeros
STACK_DYNPTR: Final = 4  # part of a dynptr
STACK_ITER: Final = 5  # part of an open-coded iterator
STACK_IRQ_FLAG: Final = 6  # saved interrupt flags
STACK_POISON: Final = 7  # nobody reads it any more

# Marks in the id of a number that is another one (of the same id) plus the constant `off`; added in 64 or 32 bits.
ADD_CONST64: Final = 1 << 31
ADD_CONST32: Final = 1 << 30
ADD_CONST: Final = ADD_CONST64 | ADD_CONST32

# packet pointer ranges below zero
AT_PKT_END: Final = -1
BEYOND_PKT_END: Final = -2


Hidden = tuple[tuple[int, int] | None, tuple[int, int] | None]  # arcs of 64 and of 32 bits
Known = tuple[Tnum, int, int, int, int, int, int, int, int, Hidden | None]  # see Value.known


class Value:
    """Everything known about the contents of a register.

    `raw1` and `raw2` are the kernel's union; by type they are: map and map_uid; btf and btf_id; range of a packet
    pointer; size of memory, and the dynptr it is a slice of; dynptr type and "is the first slot"; struct of an iterator
    and its BTF; number of a subprogram.
    """

    __slots__ = (
        "frameno",
        "hidden",
        "id",
        "off",
        "raw1",
        "raw2",
        "ref_obj_id",
        "s32_max",
        "s32_min",
        "smax",
        "smin",
        "text",
        "type",
        "u32_max",
        "u32_min",
        "umax",
        "umin",
        "var_off",
    )

    type: int
    off: int  # fixed part of the offset, s32
    raw1: Any
    raw2: int
    id: int
    ref_obj_id: int
    var_off: Tnum
    smin: int
    smax: int
    umin: int
    umax: int
    s32_min: int
    s32_max: int
    u32_min: int
    u32_max: int
    frameno: int  # of the frame a stack pointer points into
    hidden: Hidden | None  # what arcs say that no range says; see domain/arcs.py
    text: str | None  # the log's form, once somebody printed it

    def copy(self) -> Value:
        """A value of its own that may still be changed."""
        new = Value()
        new.type = self.type
        new.off = self.off
        new.raw1 = self.raw1
        new.raw2 = self.raw2
        new.id = self.id
        new.ref_obj_id = self.ref_obj_id
        new.var_off = self.var_off
        new.smin = self.smin
        new.smax = self.smax
        new.umin = self.umin
        new.umax = self.umax
        new.s32_min = self.s32_min
        new.s32_max = self.s32_max
        new.u32_min = self.u32_min
        new.u32_max = self.u32_max
        new.frameno = self.frameno
        new.hidden = self.hidden
        new.text = None
        return new

    def with_type(self, word: int) -> Value:
        """The same with another type word."""
        new = self.copy()
        new.type = word
        return new

    def with_id(self, number: int) -> Value:
        """The same with another id."""
        new = self.copy()
        new.id = number
        return new

    @property
    def base_id(self) -> int:
        """The id without the mark of a constant that was added."""
        return self.id & ~ADD_CONST

    def without_id(self) -> Value:
        """The same number, a copy of none: clear_scalar_id()."""
        if not self.id and not self.off:
            return self
        new = self.copy()
        new.id = new.off = 0
        return new

    def clear_identity(self) -> None:
        """Forget off, the union and both ids: the head of __mark_reg_known()."""
        self.off = 0
        self.raw1 = 0
        self.raw2 = 0
        self.id = 0
        self.ref_obj_id = 0

    def set_known(self, imm: int) -> None:
        """Bounds and bits of one number: ___mark_reg_known()."""
        imm &= U64_MAX
        low = imm & U32_MAX
        self.hidden = None
        self.var_off = (imm, 0)
        self.smin = self.smax = imm - (1 << 64) if imm >> 63 else imm
        self.umin = self.umax = imm
        self.s32_min = self.s32_max = low - (1 << 32) if low >> 31 else low
        self.u32_min = self.u32_max = low

    @property
    def known(self) -> Known:
        """Bits, ranges and hidden arcs, for who remembers what follows from them."""
        return (
            self.var_off, self.umin, self.umax, self.smin, self.smax,
            self.u32_min, self.u32_max, self.s32_min, self.s32_max, self.hidden,
        )  # fmt: skip

    def know(self, known: Known) -> None:
        """Take these."""
        (
            self.var_off, self.umin, self.umax, self.smin, self.smax,
            self.u32_min, self.u32_max, self.s32_min, self.s32_max, self.hidden,
        ) = known  # fmt: skip

    def set_unbounded64(self) -> None:
        """__mark_reg64_unbounded()."""
        if self.hidden is not None:
            self.hide(None, self.hidden[1])
        self.smin = S64_MIN
        self.smax = S64_MAX
        self.umin = 0
        self.umax = U64_MAX

    def set_unbounded32(self) -> None:
        """__mark_reg32_unbounded()."""
        if self.hidden is not None:
            self.hide(self.hidden[0], None)
        self.s32_min = S32_MIN
        self.s32_max = S32_MAX
        self.u32_min = 0
        self.u32_max = U32_MAX

    def hide(self, wide: tuple[int, int] | None, narrow: tuple[int, int] | None) -> None:
        """The arcs that no range shows."""
        self.hidden = None if wide is None and narrow is None else (wide, narrow)

    @property
    def is_null(self) -> bool:
        """A scalar known to be zero: register_is_null()."""
        return self.type == SCALAR_VALUE and self.var_off == (0, 0)

    @property
    def map(self) -> MapInfo:
        """The map of a map pointer, key or value."""
        found: MapInfo = self.raw1
        return found


def _unknown(word: int) -> Value:
    new = Value()
    new.type = word
    new.hidden = None
    new.clear_identity()
    new.var_off = TNUM_UNKNOWN
    new.set_unbounded64()
    new.set_unbounded32()
    new.frameno = 0
    new.text = None
    return new


UNKNOWN: Final = _unknown(SCALAR_VALUE)  # any number at all: __mark_reg_unknown()
UNREADABLE: Final = _unknown(NOT_INIT)  # __mark_reg_not_init()

_known: dict[int, Value] = {}


def known_scalar(imm: int) -> Value:
    """The scalar that is exactly `imm`: __mark_reg_known()."""
    found = _known.get(imm)
    if found is None:
        found = UNKNOWN.copy()
        found.set_known(imm)
        if len(_known) < 4096:
            _known[imm] = found
    return found


def known_zero(word: int, raw1: Any = 0, raw2: int = 0, off: int = 0, number: int = 0) -> Value:
    """A pointer of type `word` with no variable part: mark_reg_known_zero()."""
    new = known_scalar(0).copy()
    new.type = word
    new.raw1 = raw1
    new.raw2 = raw2
    new.off = off
    new.id = number
    return new


def is_number(v: Value) -> bool:
    """One number, and nothing contradicts it."""
    number, mask = v.var_off
    if mask or not (v.umin == v.umax == number and v.smin == v.smax == (number ^ SIGN64) - SIGN64):
        return False
    low = number & U32_MAX
    return v.u32_min == v.u32_max == low and v.s32_min == v.s32_max == (low ^ SIGN32) - SIGN32


def same_contents(a: Value, b: Value) -> bool:
    """memcmp() of everything before `parent`."""
    return a is b or (same_head(a, b) and a.id == b.id and a.ref_obj_id == b.ref_obj_id and same_bounds(a, b))


def same_head(a: Value, b: Value) -> bool:
    """memcmp() of everything before `id`: type, fixed offset and the union."""
    if a.type != b.type or a.off != b.off or a.raw2 != b.raw2:
        return False
    return a.raw1 is b.raw1 or (type(a.raw1) is int and type(b.raw1) is int and a.raw1 == b.raw1)


def same_bounds(a: Value, b: Value) -> bool:
    """All bounds and known bits are the same."""
    return (
        a.var_off == b.var_off
        and a.smin == b.smin
        and a.smax == b.smax
        and a.umin == b.umin
        and a.umax == b.umax
        and a.s32_min == b.s32_min
        and a.s32_max == b.s32_max
        and a.u32_min == b.u32_min
        and a.u32_max == b.u32_max
        and a.hidden == b.hidden
    )


class Reg:
    """One register, or the register spilled into one stack slot, on one path; as Value without __init__(), whose call would count."""

    __slots__ = ("live", "parent", "precise", "subreg_def", "value")

    value: Value
    parent: Reg | None  # the same register at the last checkpoint of this path
    live: int  # REG_LIVE_*
    precise: bool  # pruning must compare this scalar exactly
    subreg_def: int  # 1 + instruction that wrote the low half only

    @staticmethod
    def of(value: Value, live: int = 0) -> Reg:
        """One that no checkpoint knows."""
        new = Reg()
        new.value = value
        new.parent = None
        new.live = live
        new.precise = False
        new.subreg_def = DEF_NOT_SUBREG
        return new

    def clone(self) -> Reg:
        """A holder of its own with everything the same."""
        new = Reg()
        new.value, new.parent, new.live = self.value, self.parent, self.live
        new.precise, new.subreg_def = self.precise, self.subreg_def
        return new

    def copy_register_state(self, src: Reg) -> None:
        """Take contents and precision of `src`, keep own parent and liveness."""
        self.value = src.value
        self.precise = src.precise
        self.subreg_def = src.subreg_def

    @property
    def was_relied_on(self) -> bool:
        """A scalar that had to be precise, and was read."""
        return self.precise and self.value.type == SCALAR_VALUE and bool(self.live & REG_LIVE_READ)

    def assign(self, src: Reg) -> None:
        """Take everything of `src`, parent and liveness too, as C's structure assignment does."""
        self.value = src.value
        self.parent = src.parent
        self.live = src.live
        self.precise = src.precise
        self.subreg_def = src.subreg_def


class StackSlot(Reg):
    """Eight bytes of stack: what each byte is, and the register spilled here if it is one."""

    __slots__ = ("kinds",)

    kinds: bytes  # one STACK_* per byte; byte 7 has the lowest address

    @staticmethod
    def unused() -> StackSlot:
        """One that nothing was written to."""
        new = StackSlot()
        new.assign(Reg.of(UNREADABLE))
        new.kinds = INVALID_SLOT
        return new

    @property
    def is_spilled_reg(self) -> bool:
        """A register, or its low part, was stored here."""
        return self.kinds[7] == STACK_SPILL

    def set_kind(self, byte: int, kind: int) -> None:
        """Say what byte number `byte` (counted downwards from the top) is."""
        if self.kinds[byte] != kind:
            changed = bytearray(self.kinds)
            changed[byte] = kind
            self.kinds = bytes(changed)

    def scrub(self) -> None:
        """The spilled register is gone; its bytes are still data: scrub_spilled_slot() for all bytes."""
        self.kinds = self.kinds.translate(_SCRUBBED)


INVALID_SLOT: Final = bytes(8)
NOTHING: Final = frozenset({STACK_INVALID, STACK_POISON})  # what says nothing of a byte
MISC_SLOT: Final = bytes([STACK_MISC]) * 8
ZERO_SLOT: Final = bytes([STACK_ZERO]) * 8
SPILL_SLOT: Final = bytes([STACK_SPILL]) * 8
DYNPTR_SLOT: Final = bytes([STACK_DYNPTR]) * 8
ITER_SLOT: Final = bytes([STACK_ITER]) * 8
_SCRUBBED: Final = bytes(kind if kind in NOTHING else STACK_MISC for kind in range(256))

# enum bpf_dynptr_type and enum bpf_iter_state, as the log has them
DYNPTR_NAMES: Final = {1: "local", 2: "ringbuf", 3: "skb", 4: "xdp", 5: "skb_meta", 6: "file"}
ITER_STATES: Final = ("<invalid>", "active", "drained")

# (id, insn_idx, callback_ref): bpf_reference_state
Reference = tuple[int, int, int]


class FuncState:
    """One call frame: bpf_func_state."""

    __slots__ = (
        "async_entry_cnt",
        "callback_depth",
        "callback_ret_range",
        "callsite",
        "frameno",
        "in_async_callback_fn",
        "in_callback_fn",
        "refs",
        "regs",
        "stack",
        "subprogno",
    )

    regs: list[Reg]
    stack: list[StackSlot]

    def __init__(self, callsite: int, frameno: int, subprogno: int) -> None:
        self.callsite = callsite  # instruction that called, or BPF_MAIN_FUNC
        self.frameno = frameno
        self.subprogno = subprogno
        self.async_entry_cnt = 0
        self.callback_depth = 0  # how often the callback of one call was walked, on this path
        self.in_callback_fn = False
        self.in_async_callback_fn = False
        self.callback_ret_range: Tnum = tnum_const(0)
        self.refs: tuple[Reference, ...] = ()

    @staticmethod
    def new(callsite: int, frameno: int, subprogno: int, precise: bool) -> FuncState:
        """init_func_state(): nothing is known but the frame pointer."""
        new = FuncState(callsite, frameno, subprogno)
        new.stack = []
        new.regs = [Reg.of(UNREADABLE) for _ in range(MAX_BPF_REG)]
        for reg in new.regs:
            reg.precise = precise
        frame_pointer = known_zero(PTR_TO_STACK)
        frame_pointer.frameno = frameno
        new.regs[BPF_REG_FP].value = frame_pointer
        return new

    @property
    def allocated_stack(self) -> int:
        """Bytes of stack this frame was seen to use."""
        return len(self.stack) * BPF_REG_SIZE

    def clone(self) -> FuncState:
        """copy_func_state()."""
        new = FuncState(self.callsite, self.frameno, self.subprogno)
        new.async_entry_cnt = self.async_entry_cnt
        new.callback_depth = self.callback_depth
        new.in_callback_fn = self.in_callback_fn
        new.in_async_callback_fn = self.in_async_callback_fn
        new.callback_ret_range = self.callback_ret_range
        new.refs = self.refs
        new.regs = [reg.clone() for reg in self.regs]
        new.stack = stack = []
        for slot in self.stack:
            twin = StackSlot()
            twin.value, twin.parent, twin.live = slot.value, slot.parent, slot.live
            twin.precise, twin.subreg_def, twin.kinds = slot.precise, slot.subreg_def, slot.kinds
            stack.append(twin)
        return new


class Held(NamedTuple):
    """What is held or forbidden at one point of a path, besides references."""

    lock: Hashable = None  # the map, or the BTF of the object, whose bpf_spin_lock is held
    lock_id: int = 0  # id of the value or object it lies in
    before_lock: tuple[int, ...] = ()  # references held when it was taken
    kind: str = ""  # of a resilient lock: "res", or "res irq" with interrupts disabled
    outer: Held | None = None  # what was held when it was taken, if that was a lock, too
    rcu: int = 0  # read sections entered
    preempt: int = 0  # how often preemption was disabled
    irq: tuple[tuple[int, int], ...] = ()  # interrupt flags saved: reference and instruction of each, in order
    sleepable: bool = False  # the program may sleep here

    def locks(self) -> list[Held]:
        """Each lock that is held, the last one taken first."""
        found, one = [], self if self.lock is not None else None
        while one is not None:
            found.append(one)
            one = one.outer
        return found

    def with_lock(self, lock: Hashable, number: int, refs: tuple[int, ...], kind: str = "") -> Held:
        """One more."""
        outer = self if self.lock is not None else None
        return self._replace(lock=lock, lock_id=number, before_lock=refs, kind=kind, outer=outer)

    def without_lock(self) -> Held:
        """The last one is given back."""
        below = self.outer or Held()
        return self._replace(
            lock=below.lock, lock_id=below.lock_id, before_lock=below.before_lock, kind=below.kind, outer=below.outer
        )


NOTHING_HELD: Final = Held()

LinkedReg = tuple[int, bool, int]  # frame, whether it is a register, its number or slot
# an entry of the history: instruction, the one before it, what it touched (precision_by_frame.py), copies that learnt with it
Jump = tuple[int, int, int, tuple[LinkedReg, ...]]
# A way back for precision from within a history to its checkpoint: the history, how much of it was left and the instruction where
# that began, frame, registers and slots that were followed there, registers and slots that are left at the end, and the instruction
# behind that.  A history only grows at its end, so who comes to the same place with the same wishes ends where that ended.
Walked = tuple[list[Jump], int, int, int, int, int, int, int, int]


class VerifierState:
    """One point of one path: bpf_verifier_state.  Checkpoints in the explored list are this, too."""

    __slots__ = (
        "branches",
        "callback_unroll_depth",
        "dfs_depth",
        "first_insn_idx",
        "frames",
        "held",
        "hit_cnt",
        "insn_idx",
        "jmp_history",
        "last_insn_idx",
        "loop_entry",
        "may_goto_depth",
        "miss_cnt",
        "parent",
        "speculative",
        "used_as_loop_entry",
        "walked",
    )

    def __init__(self, frames: list[FuncState]) -> None:
        self.frames = frames
        self.parent: VerifierState | None = None
        self.branches = 0  # paths below this checkpoint still to be walked
        self.insn_idx = 0
        self.held = NOTHING_HELD
        self.speculative = False  # a path that only a mispredicting CPU takes
        self.first_insn_idx = 0
        self.last_insn_idx = 0
        self.jmp_history: list[Jump] = []
        self.miss_cnt = 0
        self.hit_cnt = 0
        # loops of callbacks and iterators, since 6.7
        self.dfs_depth = 0  # checkpoints above this one on its path
        self.callback_unroll_depth = 0  # callbacks entered on this path
        self.may_goto_depth = 0  # how often a may_goto let it go on
        self.loop_entry: VerifierState | None = None  # the checkpoint this one's loop begins at
        self.used_as_loop_entry = False
        self.walked: Walked | None = None  # the last way back through this history

    @property
    def curframe(self) -> int:
        """Number of the innermost frame."""
        return len(self.frames) - 1

    @property
    def frame(self) -> FuncState:
        """The innermost frame."""
        return self.frames[-1]

    def clone(self) -> VerifierState:
        """copy_verifier_state()."""
        new = VerifierState([frame.clone() for frame in self.frames])
        new.parent = self.parent
        new.branches = self.branches
        new.held = self.held
        new.speculative = self.speculative
        new.first_insn_idx = self.first_insn_idx
        new.last_insn_idx = self.last_insn_idx
        new.jmp_history = self.jmp_history[:]
        new.dfs_depth = self.dfs_depth
        new.callback_unroll_depth = self.callback_unroll_depth
        new.may_goto_depth = self.may_goto_depth
        new.loop_entry = self.loop_entry
        new.used_as_loop_entry = self.used_as_loop_entry
        return new

    def each_reg(self) -> list[Reg]:
        """Registers and spilled registers of all frames, in order: bpf_for_each_reg_in_vstate()."""
        found: list[Reg] = []
        for frame in self.frames:
            found.extend(frame.regs)
            for slot in frame.stack:
                # The kernel asks for byte 0 here, so a spilled half register is not visited.
                if slot.kinds[0] == STACK_SPILL:
                    found.append(slot)
        return found
