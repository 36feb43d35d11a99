"""Pass C of the classic verifier: every path of the program is simulated.  kernel/bpf/verifier.c of 4.1, do_check().

The order of checks, the words and the pruning are those of the kernel, so that the log agrees byte for byte.  The
exploration is depth-first, fall-through side first; the sides of branches not taken wait on a stack.
"""

from __future__ import annotations

from arch.abi.errno import E2BIG, EACCES, EFAULT, EINVAL
from arch.abi.version import KernelVersion
from bpf.isa.disasm import line_4_1
from bpf.isa.insn import (
    BPF_ABS,
    BPF_ADD,
    BPF_ALU64,
    BPF_CALL,
    BPF_DIV,
    BPF_END,
    BPF_EXIT,
    BPF_IMM,
    BPF_IND,
    BPF_JA,
    BPF_JEQ,
    BPF_JNE,
    BPF_K,
    BPF_LD_IMM64,
    BPF_MEM,
    BPF_MOD,
    BPF_MOV,
    BPF_NEG,
    BPF_W,
    BPF_X,
    BPF_XADD,
    SIZE_BYTES,
    Insn,
)
from bpf.verifier.api import MapInfo
from bpf.verifier.classic.cfg import Rejected
from bpf.verifier.classic.state import (
    CONST_IMM,
    CONST_PTR_TO_MAP,
    FRAME_PTR,
    MAX_BPF_STACK,
    NO_REG,
    NOT_INIT,
    PTR_TO_CTX,
    PTR_TO_MAP_VALUE,
    PTR_TO_MAP_VALUE_OR_NULL,
    PTR_TO_STACK,
    REG_TYPE_TEXT,
    STACK_MISC,
    STACK_SPILL,
    UNKNOWN,
    UNKNOWN_VALUE,
    Immediates,
    Reg,
    RememberedStates,
    State,
    start_state,
    state_text,
)
from bpf.verifier.classic.types import (
    ARG_CONST_MAP_PTR,
    ARG_CONST_STACK_SIZE,
    ARG_DONTCARE,
    ARG_PTR_TO_CTX,
    ARG_PTR_TO_MAP_KEY,
    ARG_PTR_TO_MAP_VALUE,
    ARG_PTR_TO_STACK,
    RET_INTEGER,
    RET_VOID,
    ProgramType,
    Proto,
    available,
    func_limit,
)

MAX_STEPS = 32768  # steps, over all paths
MAX_BRANCHES = 1024  # sides waiting to be explored
_EXPECTED = {
    ARG_PTR_TO_STACK: PTR_TO_STACK,
    ARG_PTR_TO_MAP_KEY: PTR_TO_STACK,
    ARG_PTR_TO_MAP_VALUE: PTR_TO_STACK,
    ARG_CONST_STACK_SIZE: CONST_IMM,
    ARG_CONST_MAP_PTR: CONST_PTR_TO_MAP,
    ARG_PTR_TO_CTX: PTR_TO_CTX,
}
_SPILLABLE = (PTR_TO_MAP_VALUE, PTR_TO_STACK, PTR_TO_CTX)


class Simulation:
    """struct verifier_env: the program, its maps, the current state, the log and what is still to explore."""

    def __init__(
        self,
        insns: list[Insn],
        maps: list[MapInfo],
        pruning_points: set[int],
        prog_type: ProgramType,
        *,
        gpl_compatible: bool,
        log: list[str] | None,
        version: KernelVersion,
        immediates: Immediates,
    ) -> None:
        self.insns = insns
        self.maps = {info.address: info for info in maps}
        self.remembered: list[RememberedStates | None] = [None] * len(insns)
        for point in pruning_points:
            self.remembered[point] = RememberedStates()
        self.prog_type = prog_type
        self.gpl_compatible = gpl_compatible
        self.log = log
        self.version = version
        self.immediates = immediates
        self.state = start_state()
        self.branches: list[tuple[State, int, int]] = []  # state, where it continues, where it branched
        self.insn_processed = 0
        self.base_types: dict[int, int] = {}  # of word loads: the type first seen for the base register
        self.lines: list[str] = [f"{i}: {line_4_1(insn)}\n" for i, insn in enumerate(insns)] if log is not None else []
        self._checks = (
            self._ld,
            self._ldx,
            self._st,
            self._stx,
            self._alu,
            self._jmp,
            self._unknown_class,
            self._alu,
        )

    def run(self) -> None:
        """Explore all paths; returns if none of them does wrong."""
        index, came_from, fresh = 0, -1, False
        insns, remembered, checks, log, lines = self.insns, self.remembered, self._checks, self.log, self.lines
        while True:
            if index >= len(insns):
                raise Rejected(EFAULT, f"invalid insn idx {index} insn_cnt {len(insns)}\n")
            self.insn_processed += 1
            if self.insn_processed > MAX_STEPS:
                raise Rejected(E2BIG, f"BPF program is too large. Proccessed {self.insn_processed} insn\n")
            point = remembered[index]
            following: int | None
            if point is not None and point.seen(self.state):
                if log is not None:
                    log.append(f"\nfrom {came_from} to {index}: safe\n" if fresh else f"{index}: safe\n")
                following = None
            else:
                if log is not None:
                    if fresh:
                        log.append(f"\nfrom {came_from} to {index}:{self._state_text()}")
                    log.append(lines[index])
                fresh = False
                insn = insns[index]
                following = checks[insn.cls](index, insn)
            if following is None:
                if not self.branches:
                    return
                self.state, index, came_from = self.branches.pop()
                fresh = True
            else:
                index = following

    def _state_text(self) -> str:
        return state_text(self.state, self.maps, self.immediates)

    # ---- registers ----

    def _source(self, regno: int) -> Reg:
        """check_reg_arg(SRC_OP): the register has been written."""
        if regno >= 11:
            raise Rejected(EINVAL, f"R{regno} is invalid\n")
        reg = self.state.regs[regno]
        if reg[0] == NOT_INIT:
            raise Rejected(EACCES, f"R{regno} !read_ok\n")
        return reg

    def _destination(self, regno: int) -> None:
        """check_reg_arg(DST_OP_NO_MARK): the register may be written."""
        if regno >= 10:
            if regno > 10:
                raise Rejected(EINVAL, f"R{regno} is invalid\n")
            raise Rejected(EACCES, "frame pointer is read only\n")

    def _set_unknown(self, regno: int) -> None:
        """check_reg_arg(DST_OP): the register is written with some number."""
        self._destination(regno)
        self.state.regs[regno] = UNKNOWN

    # ---- arithmetic ----

    def _alu(self, index: int, insn: Insn) -> int:
        """check_alu_op()."""
        code, dst, src, off, imm = insn.code, insn.dst_reg, insn.src_reg, insn.off, insn.imm
        op = insn.op
        if op in (BPF_NEG, BPF_END):
            self._unary(insn)
        elif op == BPF_MOV:
            self._mov(insn)
        elif op > BPF_END:
            raise Rejected(EINVAL, f"invalid BPF_ALU opcode {op:x}\n")
        else:
            if insn.src_kind == BPF_X:
                if imm or off:
                    raise Rejected(EINVAL, "BPF_ALU uses reserved fields\n")
                self._source(src)
            elif src or off:
                raise Rejected(EINVAL, "BPF_ALU uses reserved fields\n")
            before = self._source(dst)
            if insn.src_kind == BPF_K and imm == 0 and op in (BPF_MOD, BPF_DIV):
                raise Rejected(EINVAL, "div by zero\n")
            self._set_unknown(dst)
            if code == BPF_ALU64 | BPF_ADD and before[0] == FRAME_PTR:
                self.state.regs[dst] = (PTR_TO_STACK, self.immediates.store(0, imm))
        return index + 1

    def _unary(self, insn: Insn) -> None:
        dst, src, off, imm = insn.dst_reg, insn.src_reg, insn.off, insn.imm
        if insn.op == BPF_NEG:
            if insn.src_kind == BPF_X or src or off or imm:
                raise Rejected(EINVAL, "BPF_NEG uses reserved fields\n")
        elif src or off or imm not in (16, 32, 64):
            raise Rejected(EINVAL, "BPF_END uses reserved fields\n")
        self._source(dst)
        self._set_unknown(dst)

    def _mov(self, insn: Insn) -> None:
        dst, src, off, imm = insn.dst_reg, insn.src_reg, insn.off, insn.imm
        if insn.src_kind == BPF_X:
            if imm or off:
                raise Rejected(EINVAL, "BPF_MOV uses reserved fields\n")
            self._source(src)
        elif src or off:
            raise Rejected(EINVAL, "BPF_MOV uses reserved fields\n")
        self._set_unknown(dst)
        if insn.src_kind == BPF_K:
            self.state.regs[dst] = (CONST_IMM, self.immediates.store(0, imm))
        elif insn.cls == BPF_ALU64:
            self.state.regs[dst] = self.state.regs[src]  # after dst was marked: `r1 = r1` forgets a pointer

    # ---- loads and stores ----

    def _ldx(self, index: int, insn: Insn) -> int:
        dst, src, off = insn.dst_reg, insn.src_reg, insn.off
        base = self._source(src)
        self._destination(dst)
        size = SIZE_BYTES[insn.size]
        self.state.regs[dst] = self._read(src, base, off, size)
        if insn.size == BPF_W:
            first = self.base_types.setdefault(index, base[0])
            if first != base[0] and PTR_TO_CTX in (first, base[0]):
                raise Rejected(EINVAL, "same insn cannot be used with different pointers\n")
        return index + 1

    def _stx(self, index: int, insn: Insn) -> int:
        dst, src, off, imm = insn.dst_reg, insn.src_reg, insn.off, insn.imm
        size = SIZE_BYTES[insn.size]
        if insn.mode == BPF_XADD:
            if size < 4 or imm:
                raise Rejected(EINVAL, "BPF_XADD uses reserved fields\n")
            self._source(src)
            base = self._source(dst)
            self._read(dst, base, off, size)
            self._write(dst, base, off, size, None)
            return index + 1
        if insn.mode != BPF_MEM or imm:
            raise Rejected(EINVAL, "BPF_STX uses reserved fields\n")
        value = self._source(src)
        self._write(dst, self._source(dst), off, size, value)
        return index + 1

    def _st(self, index: int, insn: Insn) -> int:
        dst, src, off = insn.dst_reg, insn.src_reg, insn.off
        if insn.mode != BPF_MEM or src:
            raise Rejected(EINVAL, "BPF_ST uses reserved fields\n")
        self._write(dst, self._source(dst), off, SIZE_BYTES[insn.size], None)
        return index + 1

    def _read(self, regno: int, base: Reg, off: int, size: int) -> Reg:
        """check_mem_access(BPF_READ): what the load gives."""
        if off % size:
            raise Rejected(EACCES, f"misaligned access off {off} size {size}\n")
        kind = base[0]
        if kind == FRAME_PTR:
            self._within_stack(off, size)
            return self._read_stack(off, size)
        if kind == PTR_TO_MAP_VALUE:
            self._within_value(base, off, size)
        elif kind == PTR_TO_CTX:
            if not self.prog_type.readable(off, size):
                raise Rejected(EACCES, f"invalid bpf_context access off={off} size={size}\n")
        else:
            raise Rejected(EACCES, f"R{regno} invalid mem access '{REG_TYPE_TEXT[kind]}'\n")
        return UNKNOWN

    def _write(self, regno: int, base: Reg, off: int, size: int, value: Reg | None) -> None:
        """check_mem_access(BPF_WRITE); value None: a number."""
        if off % size:
            raise Rejected(EACCES, f"misaligned access off {off} size {size}\n")
        kind = base[0]
        if kind == FRAME_PTR:
            self._within_stack(off, size)
            if value is not None and value[0] in _SPILLABLE:
                if size != 8:
                    raise Rejected(EACCES, "invalid size of register spill\n")
                self.state.spill(off, value)
            else:
                self.state.write_misc(off, size)
        elif kind == PTR_TO_MAP_VALUE:
            self._within_value(base, off, size)
        elif kind == PTR_TO_CTX:
            raise Rejected(EACCES, f"invalid bpf_context access off={off} size={size}\n")
        else:
            raise Rejected(EACCES, f"R{regno} invalid mem access '{REG_TYPE_TEXT[kind]}'\n")

    def _within_stack(self, off: int, size: int) -> None:
        if off >= 0 or off < -MAX_BPF_STACK:
            raise Rejected(EACCES, f"invalid stack off={off} size={size}\n")

    def _within_value(self, base: Reg, off: int, size: int) -> None:
        """check_map_access()."""
        value_size = self.maps[base[1]].value_size
        if off < 0 or off + size > value_size:
            raise Rejected(EACCES, f"invalid access to map value, value_size={value_size} off={off} size={size}\n")

    def _read_stack(self, off: int, size: int) -> Reg:
        """check_stack_read()."""
        state = self.state
        if state.slot(off) == STACK_SPILL:
            if size != 8:
                raise Rejected(EACCES, "invalid size of register spill\n")
            if state.first_not(STACK_SPILL, off, 8) is not None:
                raise Rejected(EACCES, "corrupted spill memory\n")
            return state.spilled.get(off, NO_REG)
        bad = state.first_not(STACK_MISC, off, size)
        if bad is not None:
            raise Rejected(EACCES, f"invalid read from stack off {off}+{bad} size {size}\n")
        return UNKNOWN

    # ---- BPF_LD ----

    def _ld(self, index: int, insn: Insn) -> int:
        code, dst, src, off = insn.code, insn.dst_reg, insn.src_reg, insn.off
        mode = insn.mode
        if mode in (BPF_ABS, BPF_IND):
            self._ld_abs(insn)
            return index + 1
        if mode != BPF_IMM:
            raise Rejected(EINVAL, "invalid BPF_LD mode\n")
        if code != BPF_LD_IMM64:
            raise Rejected(EINVAL, "invalid BPF_LD_IMM insn\n")
        if off:
            raise Rejected(EINVAL, "BPF_LD_IMM64 uses reserved fields\n")
        self._set_unknown(dst)
        if src:
            high = self.insns[index + 1].imm & 0xFFFFFFFF
            self.state.regs[dst] = (CONST_PTR_TO_MAP, high << 32 | insn.imm & 0xFFFFFFFF)
        return index + 2

    def _ld_abs(self, insn: Insn) -> None:
        """check_ld_abs()."""
        dst, src, off = insn.dst_reg, insn.src_reg, insn.off
        indirect = insn.mode == BPF_IND
        if not self.prog_type.may_access_skb:
            raise Rejected(EINVAL, "BPF_LD_ABS|IND instructions not allowed for this program type\n")
        if dst or off or (not indirect and src):
            raise Rejected(EINVAL, "BPF_LD_ABS uses reserved fields\n")
        if self._source(6)[0] != PTR_TO_CTX:
            raise Rejected(EINVAL, "at the time of BPF_LD_ABS|IND R6 != pointer to skb\n")
        if indirect:
            self._source(src)
        self._forget_caller_saved()
        regs = self.state.regs
        regs[0] = (UNKNOWN_VALUE, regs[0][1])

    def _forget_caller_saved(self) -> None:
        """R0 to R5 lose their contents, though not the upper half of the union."""
        regs = self.state.regs
        for regno in range(6):
            regs[regno] = (NOT_INIT, self.immediates.store(regs[regno][1], 0))

    def _unknown_class(self, index: int, insn: Insn) -> int:
        raise Rejected(EINVAL, f"unknown insn class {insn.cls}\n")

    # ---- jumps and calls ----

    def _jmp(self, index: int, insn: Insn) -> int | None:
        dst, src, off, imm = insn.dst_reg, insn.src_reg, insn.off, insn.imm
        op = insn.op
        if op == BPF_CALL:
            if insn.src_kind == BPF_X or off or src or dst:
                raise Rejected(EINVAL, "BPF_CALL uses reserved fields\n")
            self._call(imm)
            return index + 1
        if op == BPF_JA:
            if insn.src_kind == BPF_X or imm or src or dst:
                raise Rejected(EINVAL, "BPF_JA uses reserved fields\n")
            return index + off + 1
        if op == BPF_EXIT:
            if insn.src_kind == BPF_X or imm or src or dst:
                raise Rejected(EINVAL, "BPF_EXIT uses reserved fields\n")
            self._source(0)
            return None
        return self._conditional_jump(index, insn)

    def _conditional_jump(self, index: int, insn: Insn) -> int:
        """check_cond_jmp_op(): the other side is pushed, what the comparison tells is noted on both."""
        dst, src, off, imm = insn.dst_reg, insn.src_reg, insn.off, insn.imm
        op = insn.op
        if op > BPF_EXIT:
            raise Rejected(EINVAL, f"invalid BPF_JMP opcode {op:x}\n")
        if insn.src_kind == BPF_X:
            if imm:
                raise Rejected(EINVAL, "BPF_JMP uses reserved fields\n")
            self._source(src)
        elif src:
            raise Rejected(EINVAL, "BPF_JMP uses reserved fields\n")
        reg = self._source(dst)
        equality = insn.src_kind == BPF_K and op in (BPF_JEQ, BPF_JNE)
        if equality and reg[0] == CONST_IMM and self.immediates.load(reg[1]) == imm:
            return index + off + 1 if op == BPF_JEQ else index + 1
        other = self.state.copy()
        if len(self.branches) >= MAX_BRANCHES:
            raise Rejected(EFAULT, "BPF program is too complex\n")
        self.branches.append((other, index + off + 1, index))
        if equality:
            equal, unequal = (other, self.state) if op == BPF_JEQ else (self.state, other)
            if imm == 0 and reg[0] == PTR_TO_MAP_VALUE_OR_NULL:
                unequal.regs[dst] = (PTR_TO_MAP_VALUE, reg[1])
            equal.regs[dst] = (CONST_IMM, self.immediates.store(reg[1], imm))
        if self.log is not None:
            self.log.append(self._state_text())
        return index + 1

    def _call(self, number: int) -> None:
        """check_call()."""
        if not 0 <= number < func_limit(self.version):
            raise Rejected(EINVAL, f"invalid func {number}\n")
        proto = self.prog_type.helpers.get(number)
        if proto is None or not available(proto, self.version):
            raise Rejected(EINVAL, f"unknown func {number}\n")
        if proto.gpl_only and not self.gpl_compatible:
            raise Rejected(EINVAL, "cannot call GPL only function from proprietary program\n")
        map_info = self._arguments(proto)
        if proto.map_type and map_info is not None and map_info.map_type != proto.map_type:
            raise Rejected(EINVAL, f"cannot pass map_type {map_info.map_type} into func {number}\n")
        regs = self.state.regs
        self._forget_caller_saved()
        if proto.ret == RET_INTEGER:
            regs[0] = (UNKNOWN_VALUE, regs[0][1])
        elif proto.ret != RET_VOID:
            assert map_info is not None
            regs[0] = (PTR_TO_MAP_VALUE_OR_NULL, map_info.address)

    def _arguments(self, proto: Proto) -> MapInfo | None:
        """check_func_arg() for R1 to R5; the map among them."""
        map_info: MapInfo | None = None
        for regno, constraint in enumerate(proto.args, 1):
            if constraint == ARG_DONTCARE:
                continue
            kind, union = self._source(regno)
            expected = _EXPECTED.get(constraint)
            if expected is not None and kind != expected:
                raise Rejected(EACCES, f"R{regno} type={REG_TYPE_TEXT[kind]} expected={REG_TYPE_TEXT[expected]}\n")
            if constraint == ARG_CONST_MAP_PTR:
                map_info = self.maps[union]
            elif constraint == ARG_PTR_TO_MAP_KEY:
                if map_info is None:
                    raise Rejected(EACCES, "invalid map_ptr to access map->key\n")
                self._stack_area(regno, map_info.key_size)
            elif constraint == ARG_PTR_TO_MAP_VALUE:
                if map_info is None:
                    raise Rejected(EACCES, "invalid map_ptr to access map->value\n")
                self._stack_area(regno, map_info.value_size)
            elif constraint == ARG_CONST_STACK_SIZE:
                if regno == 1:
                    raise Rejected(EACCES, "ARG_CONST_STACK_SIZE cannot be first argument\n")
                self._stack_area(regno - 1, self.immediates.load(union))
        return map_info

    def _stack_area(self, regno: int, size: int) -> None:
        """check_stack_boundary(): the helper may read (and write) `size` bytes at this pointer."""
        kind, union = self.state.regs[regno]
        if kind != PTR_TO_STACK:
            raise Rejected(EACCES)
        off = self.immediates.load(union)
        if off >= 0 or off < -MAX_BPF_STACK or off + size > 0 or size <= 0:
            raise Rejected(EACCES, f"invalid stack type R{regno} off={off} access_size={size}\n")
        bad = self.state.first_not(STACK_MISC, off, size)
        if bad is not None:
            raise Rejected(EACCES, f"invalid indirect read from stack off {off}+{bad} size {size}\n")
