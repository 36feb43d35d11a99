"""The verifier's workplace: the program, what is known per instruction, the path being walked, the rest to walk.

include/linux/bpf_verifier.h: bpf_verifier_env, bpf_insn_aux_data, bpf_subprog_info; push_stack() and pop_stack()
of kernel/bpf/verifier.c.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NoReturn

from arch.abi.errno import E2BIG, EFAULT
from arch.abi.version import KernelVersion
from bpf import uapi
from bpf.btf import Btf, BtfType
from bpf.btf.codec import GLOBAL
from bpf.btf.record import Reader, Record
from bpf.helpers.rows import FuncProto
from bpf.isa.insn import (
    BPF_ALU,
    BPF_ALU64,
    BPF_CALL,
    BPF_DW,
    BPF_END,
    BPF_EXIT,
    BPF_IMM,
    BPF_JMP,
    BPF_JMP32,
    BPF_LD,
    BPF_LDX,
    BPF_MEM,
    BPF_MEMSX,
    BPF_PSEUDO_BTF_ID,
    BPF_PSEUDO_CALL,
    BPF_PSEUDO_FUNC,
    BPF_PSEUDO_KFUNC_CALL,
    BPF_PSEUDO_MAP_FD,
    BPF_PSEUDO_MAP_IDX,
    BPF_PSEUDO_MAP_IDX_VALUE,
    BPF_PSEUDO_MAP_VALUE,
    BPF_STX,
    Insn,
)
from bpf.layout import default_layout
from bpf.maps.info import JumpTable
from bpf.verifier.api import MapInfo, VerifyRequest
from bpf.verifier.context.ctx_rule import AccessInfo, CtxArg
from bpf.verifier.domain.known_flow import KnownFlow
from bpf.verifier.domain.state import MAX_CALL_FRAMES, MORE_CALL_FRAMES, FuncState, Reg, VerifierState
from bpf.verifier.log.before_5_18 import WHOLE_STATES
from bpf.verifier.log.log import SHORT_STATES, Log, StateStyle
from bpf.verifier.log.since_6_8 import BARE_STATES, SPARE_STATES
from bpf.versions.kptr_destructors import kptr_destructors
from bpf.versions.verifier_rules import Rules, rules_of

BPF_COMPLEXITY_LIMIT_INSNS: Final = uapi.BPF_COMPLEXITY_LIMIT_INSNS
BPF_COMPLEXITY_LIMIT_JMP_SEQ: Final = 8192
BPF_COMPLEXITY_LIMIT_STATES: Final = 64
BPF_MAX_SUBPROGS: Final = 256
MAX_USED_MAPS: Final = uapi.MAX_USED_MAPS

BPF_MAX_VAR_OFF: Final = 1 << 29
BPF_MAX_VAR_SIZ: Final = 1 << 29

BPF_F_STRICT_ALIGNMENT: Final = uapi.BPF_F_STRICT_ALIGNMENT
BPF_F_ANY_ALIGNMENT: Final = uapi.BPF_F_ANY_ALIGNMENT
BPF_F_TEST_RND_HI32: Final = uapi.BPF_F_TEST_RND_HI32
BPF_F_TEST_STATE_FREQ: Final = uapi.BPF_F_TEST_STATE_FREQ
BPF_F_SLEEPABLE: Final = uapi.BPF_F_SLEEPABLE

# alu_state of an instruction: how pointer arithmetic is masked for unprivileged programs
BPF_ALU_SANITIZE_SRC: Final = 1
BPF_ALU_SANITIZE_DST: Final = 2
BPF_ALU_NEG_VALUE: Final = 4
BPF_ALU_NON_POINTER: Final = 8
BPF_ALU_IMMEDIATE: Final = 16

PT_REGS_SIZE: Final = 168  # x86-64, in bytes

MAP_PTR_POISON: Final = "poison"  # an instruction saw different maps on different paths
MAP_KEY_POISON: Final = -1

_ALL: Final = (1 << 64) - 1


class Rejected(Exception):
    """The program is refused with this errno; the log has said why."""

    def __init__(self, errno: int) -> None:
        super().__init__(errno)
        self.errno = errno


class InsnAux:
    """What verification found out about one instruction, for the passes after it: bpf_insn_aux_data.

    What most instructions never get stands in the class: a large program makes a million of these.
    """

    orig_idx: int
    ptr_type: int = 0  # type of the pointer a load or store goes through
    map_ptr: MapInfo | str | None  # map a helper call uses, or MAP_PTR_POISON
    map_unpriv: bool = False
    map_key: int | None = None  # constant index of a tail call, or MAP_KEY_POISON
    map_index: int = 0  # of a ld_imm64, in used_maps
    map_off: int = 0
    call_imm: int = 0
    alu_state: int = 0
    alu_limit: int = 0
    btf_var_type: int = 0  # of a BPF_PSEUDO_BTF_ID: register type, and its BTF or size
    btf_var_btf: Btf | None = None
    btf_var_id: int = 0
    btf_var_size: int = 0
    loop_initialized: bool = False  # a call of bpf_loop: can it be inlined, and with which callback
    loop_fit_for_inline: bool = False
    loop_callback: int = 0
    ctx_field_size: int = 0
    seen: int  # number of the pass that walked this instruction; 0 is dead code
    sanitize_stack_spill: bool = False
    nospec: bool = False  # no mispredicting CPU may come here: a fence stands before it
    zext_dst: bool
    prune_point: bool
    force_checkpoint: bool = False  # a loop is closed here, so each visit leaves a checkpoint
    calls_callback: bool = False  # of a helper that calls a function of the program before it returns
    jmp_point: bool
    fastcall: bool = False  # stores or loads a register around a call that may keep it
    fastcall_pairs: int = 0  # of such a call that does: how many stores and loads can go
    narrowed: bool = False  # of 64-bit arithmetic on a pointer into the arena: it becomes 32 bits wide
    iter_next: bool = False  # of a kernel function that asks an iterator for the next thing
    jumps: tuple[int, ...] | None = None  # the instructions that may run next, where more than the instruction tells

    def __init__(self, orig_idx: int, seen: int = 0, zext_dst: bool = False) -> None:
        self.orig_idx = orig_idx
        self.seen = seen
        self.zext_dst = zext_dst
        self.prune_point = self.jmp_point = False
        self.map_ptr = None  # machine code has no default for one of three types


@dataclass(slots=True)
class SubprogInfo:
    """One function of the program: bpf_subprog_info."""

    start: int
    linfo_idx: int = 0
    stack_depth: int = 0
    has_tail_call: bool = False
    tail_call_reachable: bool = False
    has_ld_abs: bool = False
    exit_idx: int = 0  # its last exit
    is_async_cb: bool = False
    is_cb: bool = False
    is_exception_cb: bool = False  # gets what bpf_throw() throws
    fastcall_off: int = 0  # below this of the stack are only registers around calls
    keep_fastcall_stack: bool = False  # of some of them the call may not keep the register
    # from func_info
    type_id: int = 0
    linkage: int = 0
    unreliable: bool = False
    called: bool = False  # a global function that was met, so it will be walked, too
    verified: bool = False
    args: list[FuncArg] | None = None  # since 6.8, once somebody asked


@dataclass(frozen=True, slots=True)
class FuncArg:
    """What an argument of one of the program's functions is: bpf_subprog_arg_info."""

    arg_type: int
    size: int = 0  # of memory, in bytes
    btf_id: int = 0  # of a struct of the kernel


@dataclass(slots=True)
class Branch:
    """A path still to be walked: bpf_verifier_stack_elem."""

    state: VerifierState
    insn_idx: int
    prev_insn_idx: int
    log_pos: int


@dataclass(slots=True)
class ProgFacts:
    """What the rest of the kernel learns about the program while it is verified: parts of bpf_prog_aux."""

    max_ctx_offset: int = 0
    max_pkt_offset: int = 0
    max_tp_access: int = 0
    max_rdonly_access: int = 0
    max_rdwr_access: int = 0
    attach_func_proto: BtfType | None = None  # BTF prototype of the function attached to
    attach_func_name: str = ""
    attach_btf_trace: bool = False
    ctx_arg_info: tuple[CtxArg, ...] = ()
    enforce_expected_attach_type: bool = False
    writes_registers: bool = False  # of a probe
    call_get_stack: bool = False
    call_get_func_ip: bool = False
    tail_call_reachable: bool = False
    stack_depth: int = 0
    saved_dst_prog_type: int = 0
    saved_dst_attach_type: int = 0
    attach_info: dict[str, Any] = field(default_factory=dict)

    @property
    def attached_to_void(self) -> bool:
        """Whether the function attached to returns nothing; the program is an LSM or struct_ops one."""
        assert self.attach_func_proto is not None
        return not self.attach_func_proto.type


def _wide_operands(insn: Insn) -> tuple[bool | None, bool]:
    """Whether sources and destination of an instruction are 64 bits wide: is_reg64().

    None for the sources of a store: a pointer is 64 bits, a scalar as wide as the store.
    """
    class_, op = insn.cls, insn.op
    if class_ == BPF_JMP and op == BPF_EXIT:
        return True, True
    if class_ == BPF_JMP and op == BPF_CALL:
        return insn.src_reg != BPF_PSEUDO_CALL, False
    if class_ == BPF_ALU64 and op == BPF_END and insn.imm in (16, 32):
        return False, False
    if class_ in (BPF_ALU64, BPF_JMP) or (class_ == BPF_ALU and op == BPF_END and insn.imm == 64):
        return True, True
    if class_ in (BPF_ALU, BPF_JMP32):
        return False, False
    wide = insn.size == BPF_DW
    if class_ == BPF_LDX:
        return True, wide or insn.mode == BPF_MEMSX
    if class_ == BPF_STX:
        return True if wide else None, wide
    if class_ == BPF_LD:
        return True, insn.mode == BPF_IMM
    return True, True


# _wide_operands() by opcode; None where it is not the opcode alone that says.
_WIDTHS: Final = tuple(
    None if insn.op in (BPF_CALL, BPF_END) and insn.cls in (BPF_JMP, BPF_ALU, BPF_ALU64) else _wide_operands(insn)
    for insn in map(Insn, range(256))
)


@cache
def _pseudo_kinds(version: KernelVersion) -> tuple[frozenset[int], frozenset[int]]:
    """What the source register of a call, and of an ld_imm64, may say."""
    rules = rules_of(version)
    calls = {0}
    calls |= {BPF_PSEUDO_CALL} if rules.multi_function else set()
    calls |= {BPF_PSEUDO_KFUNC_CALL} if rules.kfunc else set()
    loads = {0, BPF_PSEUDO_MAP_FD}
    loads |= {BPF_PSEUDO_MAP_VALUE} if rules.direct_map_value else set()
    loads |= {BPF_PSEUDO_BTF_ID} if rules.ksym else set()
    loads |= {BPF_PSEUDO_FUNC} if rules.callbacks else set()
    loads |= {BPF_PSEUDO_MAP_IDX, BPF_PSEUDO_MAP_IDX_VALUE} if rules.fd_array else set()
    return frozenset(calls), frozenset(loads)


def _style(rules: Rules) -> StateStyle:
    """How states read."""
    if rules.spare_state:
        return SPARE_STATES if rules.liveness_shown else BARE_STATES
    return SHORT_STATES if rules.short_state else WHOLE_STATES


NOWHERE: Final = VerifierState([FuncState.new(-1, 0, 0, False)])  # before a walk, and behind it


def no_access(off: int, size: int, access: int, info: AccessInfo) -> bool:
    """A context without BTF."""
    return False


class Env:
    """One program being verified: bpf_verifier_env."""

    def __init__(self, request: VerifyRequest) -> None:
        caps = set(request.caps)
        if "sys_admin" in caps:
            caps |= {"bpf", "perfmon", "net_admin"}
        flags = request.prog_flags
        self.request = request
        self.caps = caps
        self.prog_type = request.prog_type
        self.kernel = request.layout or default_layout()
        self.word_size = request.word_size
        self.pt_regs_size = request.ctx_size or PT_REGS_SIZE
        self.user_regs_size = request.user_regs_size or self.pt_regs_size
        self.expected_attach_type = request.expected_attach_type
        self.sleepable = bool(flags & BPF_F_SLEEPABLE)
        self.insns: list[Insn] = list(request.insns)
        self.aux = [InsnAux(i) for i in range(len(self.insns))]
        rules = rules_of(request.version)
        self.log = Log(request.log_level, request.log_size, rules.log_rolls)
        self.level = request.log_level & 3
        self.facts = ProgFacts()
        # privileges
        self.bpf_capable = "bpf" in caps
        perfmon = "perfmon" in caps
        self.allow_ptr_leaks = perfmon
        self.allow_uninit_stack = perfmon
        self.allow_ptr_to_map_access = perfmon
        self.bypass_spec_v1 = perfmon
        self.bypass_spec_v4 = perfmon
        self.strict_alignment = bool(flags & BPF_F_STRICT_ALIGNMENT) or request.strict_alignment
        if flags & BPF_F_ANY_ALIGNMENT:
            self.strict_alignment = False
        self.allow_loops = self.bpf_capable
        self.insn_limit = BPF_COMPLEXITY_LIMIT_INSNS
        self.test_state_freq = self.bpf_capable and bool(flags & BPF_F_TEST_STATE_FREQ)
        # the program
        self.subprogs: list[SubprogInfo] = []  # one more than functions: the end
        self.used_maps: list[MapInfo] = []
        self.jump_tables: list[JumpTable] = []  # of them those of places in the program
        self.kfuncs: dict[tuple[int, int], Any] = {}
        self.protos: dict[int, FuncProto] = {}  # of the helpers it has called, which it may
        self.has_func_info = False
        self.btf: Any = request.prog_btf
        self.vmlinux: Any = request.vmlinux_btf
        self.attach_btf: Any = request.attach_btf or request.vmlinux_btf
        self.attach_prog: Any = request.attach_prog
        self._metas: dict[int, dict[int, Record]] = {}  # of the program's types and those of its maps
        self.attach_member: str | None = None
        self.struct_ops = ""  # struct whose member the program is
        self.version: KernelVersion = request.version
        self.rules = rules
        self.style = _style(self.rules)
        self.type_name = self.style.type_name  # of a type word, as messages have it
        self.config = request.config
        self.call_kinds, self.load_kinds = _pseudo_kinds(request.version)
        self.call_frames = MORE_CALL_FRAMES if self.rules.more_call_frames else MAX_CALL_FRAMES
        self.load_modes = (BPF_MEM, BPF_MEMSX) if self.rules.sign_extension else (BPF_MEM,)
        self.log_precision = bool(self.level and (self.level & 2 or self.rules.precision_at_level_1))
        self.btf_ctx_access: Callable[[int, int, int, AccessInfo], bool] = no_access
        self.seen_direct_write = False
        self.explore_alu_limits = False
        self.back_steps: list[tuple[int, int, int]] = []  # see back_steps.py
        self.wide_src: list[bool | None] = []
        self.wide_dst: list[bool] = []
        # the walk
        self.cur: VerifierState = NOWHERE
        self.frame: FuncState = NOWHERE.frames[0]
        self.regs: list[Reg] = self.frame.regs
        self.insn_idx = 0
        self.prev_insn_idx = -1
        self.pass_cnt = 0
        self.exception_callback = 0  # number of that function; 0: what is thrown is the program's result
        self.throws = False
        self.arena: MapInfo | None = None  # of the program
        self.fastcalls = False  # some calls have stores and loads around them that could go
        self.noted_step = 0  # number of the instruction noted last in the path's history
        self.id_gen = 0
        self.stack: list[Branch] = []
        self.explored: dict[int, list[VerifierState]] = {}
        # the log
        self.scratched_regs = 0
        self.scratched_stack_slots = 0
        self.insn_texts: dict[int, str] = {}
        self.prev_log_len = 0
        self.prev_insn_print_len = 0
        self.prev_linfo = -1
        self.line_info = request.line_info
        self.flow: KnownFlow | None = None  # what was found out before the walk
        # statistics
        self.insn_processed = 0
        self.prev_insn_processed = 0
        self.jmps_processed = 0
        self.prev_jmps_processed = 0
        self.max_states_per_insn = 0
        self.total_states = 0
        self.peak_states = 0
        self.longest_mark_read_walk = 0

    @property
    def subprog_cnt(self) -> int:
        """Functions of the program, main one included."""
        return len(self.subprogs) - 1

    @property
    def attach_func_name(self) -> str | None:
        """Of the function a tracing or LSM program attaches to."""
        return self.facts.attach_func_name or None

    def decode(self) -> None:
        """Work out operand widths once for all visits."""
        widths = [_WIDTHS[insn.code] or _wide_operands(insn) for insn in self.insns]
        self.wide_src = [src for src, _ in widths]
        self.wide_dst = [dst for _, dst in widths]

    # ---- refusing ----

    def verbose(self, text: str) -> None:
        """Write to the log."""
        self.log.write(text)

    def reject(self, errno: int, text: str = "") -> NoReturn:
        """Say why, and refuse."""
        if text:
            self.log.write(text + "\n")
        raise Rejected(errno)

    def bug(self, words: str) -> NoReturn:
        """What the kernel's verifier thinks cannot be."""
        self.reject(EFAULT, f"verifier {'bug' if self.rules.bugs_named else 'internal error'}: {words}")

    # ---- where we are ----

    def enter(self, state: VerifierState) -> None:
        """Go on from `state`."""
        self.cur = state
        self.sync_frame()

    def sync_frame(self) -> None:
        """Frames were pushed or popped."""
        self.frame = self.cur.frames[-1]
        self.regs = self.frame.regs

    def new_id(self) -> int:
        """A number no other value has."""
        self.id_gen += 1
        return self.id_gen

    def scratch_everything(self) -> None:
        """The next state line shows all registers: mark_verifier_state_scratched()."""
        self.scratched_regs = _ALL
        self.scratched_stack_slots = _ALL

    def new_frame(self, callsite: int, frameno: int, subprogno: int) -> FuncState:
        """A call frame in which nothing is known: init_func_state()."""
        self.scratch_everything()
        return FuncState.new(callsite, frameno, subprogno, not self.bpf_capable)

    # ---- types ----

    def struct_meta(self, btf: Btf, type_id: int) -> Record | None:
        """Special members of an object of the program's own: btf_find_struct_meta()."""
        if btf is None or btf is self.vmlinux:
            return None
        found = self._metas.get(id(btf))
        if found is None:
            reader = Reader(btf, self.vmlinux, self.version, kptr_destructors(self.version))
            found = self._metas[id(btf)] = reader.struct_metas()
        return found.get(type_id)

    # ---- paths ----

    def push_stack(self, insn_idx: int, prev_insn_idx: int, speculative: bool) -> VerifierState:
        """Remember a copy of the current state, to be walked from `insn_idx` later."""
        state = self.cur.clone()
        state.speculative |= speculative
        self.stack.append(Branch(state, insn_idx, prev_insn_idx, self.log.used))
        if len(self.stack) > BPF_COMPLEXITY_LIMIT_JMP_SEQ:
            self.reject(self._too_complex, f"The sequence of {len(self.stack)} jumps is too complex.")
        if state.parent is not None:
            state.parent.branches += 1
        return state

    @property
    def _too_complex(self) -> int:
        return E2BIG if self.rules.complexity_is_size else EFAULT

    def push_async_cb(self, insn_idx: int, prev_insn_idx: int, subprog: int) -> VerifierState:
        """Remember a callback that runs some time later, with a stack of its own."""
        position = self.log.used
        if len(self.stack) + 1 > BPF_COMPLEXITY_LIMIT_JMP_SEQ:
            self.reject(self._too_complex, f"The sequence of {len(self.stack) + 1} jumps is too complex for async cb.")
        state = VerifierState([self.new_frame(-1, 0, subprog)])
        state.branches = 1
        self.stack.append(Branch(state, insn_idx, prev_insn_idx, position))
        return state

    def pop_stack(self, pop_log: bool) -> Branch | None:
        """Turn to the path remembered last; None if all are walked."""
        if not self.stack:
            return None
        branch = self.stack.pop()
        if pop_log:
            self.log.reset(branch.log_pos)
        self.enter(branch.state)
        return branch

    def explored_here(self, insn_idx: int) -> list[VerifierState]:
        """The checkpoints of this hash, newest last: explored_state()."""
        key = ((insn_idx ^ self.frame.callsite) & 0xFFFFFFFF) % len(self.insns)
        found = self.explored.get(key)
        if found is None:
            found = self.explored[key] = []
        return found

    def kfunc_name(self, insn: Insn) -> str:
        """The kernel function that is called by its type; "" where none is."""
        if insn.code != BPF_JMP | BPF_CALL or insn.src_reg != BPF_PSEUDO_KFUNC_CALL:
            return ""
        desc = self.kfuncs.get((insn.imm, insn.off))
        return "" if desc is None else str(desc.name)

    def find_subprog(self, start: int) -> int:
        """Number of the function starting there; -1 if none does."""
        for number, subprog in enumerate(self.subprogs[:-1]):
            if subprog.start == start:
                return number
        return -1

    def function_of(self, idx: int) -> int:
        """Number of the function that an instruction is in: bpf_find_containing_subprog()."""
        return bisect_right(self.subprogs, idx, key=lambda subprog: subprog.start) - 1

    def look_up_kfunc(self, insn: Insn) -> Any | None:
        """What is known of the kernel function that an instruction calls, before a path comes to it: bpf_fetch_kfunc_arg_meta()."""
        if not self.rules.missing_kfunc_told:
            return self.kfuncs.get((insn.imm, insn.off))
        if not insn.imm:
            self.verbose("invalid kernel function btf_id 0\n")
            return None
        desc = self.kfuncs[insn.imm, insn.off]
        return desc if desc.allowed else None

    def subprog_name(self, number: int) -> str:
        """Of a function whose type is known."""
        return str(self.btf[self.subprogs[number].type_id].name) if self.has_func_info else ""

    def is_global(self, number: int) -> bool:
        """A function that is verified by itself."""
        return self.has_func_info and self.subprogs[number].linkage == GLOBAL

    def forget_states(self) -> None:
        """Nothing is walked any more: let go of all states, which a reference from a cycle would keep."""
        self.explored.clear()
        self.stack.clear()
        self.enter(NOWHERE)
        self.flow = None  # it asks the environment, which goes at once without it

    # ---- references ----

    def acquire_reference(self, insn_idx: int) -> int:
        """A new object that must be released: acquire_reference_state()."""
        number = self.new_id()
        frame = self.frame
        frame.refs += ((number, insn_idx, frame.frameno if frame.in_callback_fn else 0),)
        return number


def release_reference_state(frame: FuncState, number: int, in_order: bool) -> bool:
    """Forget a reference; False if this frame may not."""
    refs = list(frame.refs)
    for i, (ref_id, _, callback_ref) in enumerate(refs):
        if ref_id == number:
            if frame.in_callback_fn and callback_ref != frame.frameno:
                return False
            if in_order:
                del refs[i]
            else:
                last = refs.pop()
                if i < len(refs):
                    refs[i] = last
            frame.refs = tuple(refs)
            return True
    return False
