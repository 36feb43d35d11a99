"""The reference interpreter: what each instruction does, and running programs quickly enough in Python.

kernel/bpf/core.c:___bpf_prog_run().  The meaning of every operation is a row of text in the tables below.  At load the
rows of a basic block are put together into one Python function over the list of registers (and, for stepping, each
instruction into a function of its own), so there is a single description of what an instruction does.

    r[0]..r[10]  registers     r[11]  BPF_REG_AX, used by rewritten programs
    r[12]        instructions that may still be executed, counted at backward jumps
    r[13]        tail calls made so far

Two sets of rules: `classic` as in Linux 4.1 (an unknown opcode and a division by zero end the program with 0, packet
loads are instructions) and modern.  Registers are unsigned 64-bit numbers; memory is the machine's.  An access that
faults is a mistake of the verifier or of the simulator, never of the program: BpfFault says where.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Required, TypedDict

from arch.abi.limits import U32_MAX
from arch.errors import Fault
from arch.memory import Memory
from arch.native import Block
from arch.records import dataclass
from bpf.isa import insn as isa
from bpf.isa.disasm import insn_line
from bpf.isa.insn import (
    BPF_ABS,
    BPF_ALU64,
    BPF_ARSH,
    BPF_ATOMIC,
    BPF_CALL,
    BPF_CMPXCHG,
    BPF_DIV,
    BPF_END,
    BPF_EXIT,
    BPF_FETCH,
    BPF_GOTOX,
    BPF_IND,
    BPF_JA,
    BPF_JMP,
    BPF_JMP32,
    BPF_K,
    BPF_LD_IMM64,
    BPF_LOAD_ACQ,
    BPF_MEM,
    BPF_MEMSX,
    BPF_MOD,
    BPF_MOV,
    BPF_PROBE_MEM,
    BPF_PROBE_MEMSX,
    BPF_PSEUDO_CALL,
    BPF_PSEUDO_FUNC,
    BPF_SIGNED,
    BPF_STORE_REL,
    BPF_TAIL_CALL,
    BPF_TO_BE,
    BPF_X,
    BPF_XCHG,
    SIZE_BYTES,
    Insn,
    imm64,
)
from bpf.isa.registers import BUDGET, BUDGET_AT, NR_REGISTERS, TAIL_CALLS_AT
from bpf.run.meaning import (
    ALU_MEANING,
    ATOMIC_MEANING,
    CLASSIC_JUMPS,
    JMP_MEANING,
    SIGNED_MEANING,
    CpuException,
    expand,
    sdiv,
    sign_extended,
    smod,
)
from bpf.run.native_call import Constant, NativeCall
from bpf.run.window import Window, window_of

M = (1 << 64) - 1
S = 1 << 63
S32 = 1 << 31
BPF_FRAME_SIZE = 1024  # bytes from one function's R10 to the next; 512 for the program, some for inlined loops
MAX_FRAMES = 8
MAX_TAIL_CALLS = 33
EXIT = -1
_SPENT = f"if r[{BUDGET_AT}] < 0: raise BudgetExceeded"

# Instructions that name the start of a function of the program.
_FUNCTION_STARTS = {(BPF_LD_IMM64, BPF_PSEUDO_FUNC), (BPF_JMP | BPF_CALL, BPF_PSEUDO_CALL)}

Registers = list[int]
Op = Callable[[Registers], int]

_FORMATS = {1: "B", 2: "H", 4: "I", 8: "Q"}


class BpfFault(Exception):
    """A verified program touched memory it cannot: the verifier or the simulator is wrong."""

    def __init__(self, program: str, index: int, text: str, fault: Fault) -> None:
        super().__init__(f"{program}: instruction {index}, {text}: {fault}")
        self.index = index
        self.fault = fault


class BudgetExceeded(Exception):
    """The program ran longer than it was allowed to."""


# Calls a helper's body for a run that native code started, on this context: with all that a run has around it.
InNativeRun = Callable[[Callable[[Registers], int], Registers, int], int]


class EngineOptions(TypedDict, total=False):
    """What an engine needs beside instructions and memory."""

    bind_call: Required[Callable[[Insn], Callable[[Registers], int]]]  # the body of a helper
    classic: bool
    name: str
    tail_call: Callable[[Registers], bool]
    function_address: Callable[[int], int]
    jumped_to: Callable[[int], int]
    load_packet: Callable[[int, int, int], int]
    unknown_opcode: Callable[[int], None]
    fast: bool
    native_call: Callable[[Insn, Constant], NativeCall | None]  # of a helper
    block: Block  # of the machine, for native calls
    counts: ctypes.Array[ctypes.c_uint64] | None  # how often each instruction ran, for coverage
    in_native_run: InNativeRun
    int_calls: frozenset[int]  # calls of functions whose int arrives without its sign in the upper half


class Translator:
    """Python text for instructions: `lines(i)` is a list of statements, the last of which may return."""

    int_calls: frozenset[int] = frozenset()

    def __init__(self, insns: Sequence[Insn], *, classic: bool, byteorder: str, fast: bool) -> None:
        self.insns, self.classic, self.byteorder, self.fast = insns, classic, byteorder, fast

    def lines(self, i: int) -> list[str]:
        """What instruction i does; falls through to `following(i)` unless it returns."""
        insn = self.insns[i]
        match insn.cls:
            case isa.BPF_ALU64 | isa.BPF_ALU:
                return self._alu(i, insn)
            case isa.BPF_LDX:
                return self._load(i, insn)
            case isa.BPF_ST:
                return self._store(i, insn)
            case isa.BPF_STX:
                return self._store_register(i, insn)
            case isa.BPF_JMP | isa.BPF_JMP32:
                return self._jump(i, insn)
        return self._ld(i, insn)

    def following(self, i: int) -> int:
        """The next instruction in program order."""
        return i + (2 if self.insns[i].code == BPF_LD_IMM64 else 1)

    def ends_block(self, i: int) -> bool:
        """Control may go elsewhere after this one."""
        insn = self.insns[i]
        return insn.cls in (BPF_JMP, BPF_JMP32) and insn.op != BPF_CALL

    def targets(self, i: int) -> list[int]:
        """Where a jump goes to."""
        insn = self.insns[i]
        # where the last of these leads only a register tells
        elsewhere = insn.op in (BPF_CALL, BPF_EXIT, BPF_TAIL_CALL) or insn.code == BPF_GOTOX
        return [] if insn.cls not in (BPF_JMP, BPF_JMP32) or elsewhere else [i + self._distance(insn) + 1]

    def _distance(self, insn: Insn) -> int:
        """Of a jump; a long goto has it in the immediate."""
        return insn.imm if insn.code == BPF_JMP32 | BPF_JA else insn.off

    # ---- arithmetic ----

    def _operand(self, insn: Insn, wide: bool) -> str:
        """The second operand."""
        if insn.src_kind == BPF_X:
            return f"r[{insn.src_reg}]" if wide else f"(r[{insn.src_reg}] & M32)"
        return str(insn.imm & (M if wide else U32_MAX))

    def _alu(self, i: int, insn: Insn) -> list[str]:
        wide = insn.cls == BPF_ALU64
        op = insn.op
        if op == BPF_END:
            return self._unknown(insn) if wide and self.classic else self._swap(insn)
        if op not in ALU_MEANING or (self.classic and op == BPF_ARSH and not wide):
            return self._unknown(insn)
        if insn.off and not self.classic:
            return self._alu_with_offset(insn, wide)
        before = self._classic_divisor(insn, wide) if self.classic and op in (BPF_DIV, BPF_MOD) else []
        value = expand(ALU_MEANING[op], f"r[{insn.dst_reg}]", self._operand(insn, wide), wide)
        return [*before, f"r[{insn.dst_reg}] = {value}"]

    def _alu_with_offset(self, insn: Insn, wide: bool) -> list[str]:
        """Signed division, and moves that extend a sign."""
        dst, operand = f"r[{insn.dst_reg}]", self._operand(insn, wide)
        if insn.op in SIGNED_MEANING and insn.off == BPF_SIGNED:
            return [f"{dst} = {expand(SIGNED_MEANING[insn.op], dst, operand, wide)}"]
        if insn.op == BPF_MOV and insn.src_kind == BPF_X and insn.off in (8, 16, 32):
            return [f"{dst} = {sign_extended(operand, insn.off)} & {'M' if wide else 'M32'}"]
        return self._unknown(insn)

    def _classic_divisor(self, insn: Insn, wide: bool) -> list[str]:
        """Before 4.15 a zero divisor, all 64 bits of it, ends the program."""
        if insn.src_kind == BPF_K:
            return []
        lines = [f"if not r[{insn.src_reg}]: r[0] = 0; return {EXIT}"]
        if not wide:
            lines.append(f"if not r[{insn.src_reg}] & M32: raise CpuException('divide error')")
        return lines

    def _swap(self, insn: Insn) -> list[str]:
        """To little or big endian, or to the other one; 16, 32 or 64 bits."""
        size = insn.imm // 8
        wanted = "big" if insn.src_kind == BPF_TO_BE else "little"
        value = f"r[{insn.dst_reg}] & {(1 << insn.imm) - 1}"
        if wanted != self.byteorder or insn.cls == BPF_ALU64:
            value = f"from_bytes(({value}).to_bytes({size}, 'little'), 'big')"
        return [f"r[{insn.dst_reg}] = {value}"]

    def _unknown(self, insn: Insn) -> list[str]:
        """A warning in the kernel log, and the program is over."""
        return [f"unknown_opcode({insn.code}); r[0] = 0; return {EXIT}"]

    # ---- memory ----

    def _address(self, reg: int, off: int) -> str:
        return f"r[{reg}] + {off}" if off >= 0 else f"r[{reg}] - {-off}"

    def _load(self, i: int, insn: Insn) -> list[str]:
        size = SIZE_BYTES[insn.size]
        dst = f"r[{insn.dst_reg}]"
        address = self._address(insn.src_reg, insn.off)
        if insn.mode == BPF_PROBE_MEM:
            return [f"{dst} = probe({address} & M, {size})"]
        if insn.mode in (BPF_MEMSX, BPF_PROBE_MEMSX) and not self.classic:
            read = "read" if insn.mode == BPF_MEMSX else "probe"
            return [f"{dst} = {sign_extended(f'{read}({address} & M, {size})', 8 * size)} & M"]
        if insn.mode != BPF_MEM:
            return self._unknown(insn)
        if not self.fast:
            return [f"{dst} = read({address} & M, {size})"]
        return [
            f"a = {address} - BASE",
            f"{dst} = unpack{size}(buffer, a)[0] if 0 <= a <= LIMIT else read(a + BASE & M, {size})",
        ]

    def _put(self, insn: Insn, size: int, value: str) -> list[str]:
        address = self._address(insn.dst_reg, insn.off)
        if not self.fast:
            return [f"write({address} & M, {size}, {value})"]
        return [
            f"a = {address} - BASE",
            f"if 0 <= a <= LIMIT: pack{size}(buffer, a, {value})",
            f"else: write(a + BASE & M, {size}, {value})",
        ]

    def _store(self, i: int, insn: Insn) -> list[str]:
        size = SIZE_BYTES[insn.size]
        if insn.mode == 0xC0 and not self.classic:
            return ["pass"]  # BPF_NOSPEC
        if insn.mode != BPF_MEM:
            return self._unknown(insn)
        return self._put(insn, size, str(insn.imm & (1 << 8 * size) - 1))

    def _store_register(self, i: int, insn: Insn) -> list[str]:
        size = SIZE_BYTES[insn.size]
        if insn.mode == BPF_ATOMIC:
            return self._atomic(insn, size)
        if insn.mode != BPF_MEM:
            return self._unknown(insn)
        source = f"r[{insn.src_reg}]"
        return self._put(insn, size, source if size == 8 else f"{source} & {(1 << 8 * size) - 1}")

    def _ordered(self, insn: Insn, size: int) -> list[str]:
        """Loads that acquire and stores that release: one thread runs all, so any access is ordered."""
        if insn.imm == BPF_LOAD_ACQ:
            return [f"r[{insn.dst_reg}] = read({self._address(insn.src_reg, insn.off)} & M, {size})"]
        source = f"r[{insn.src_reg}]" if size == 8 else f"r[{insn.src_reg}] & {(1 << 8 * size) - 1}"
        return self._put(insn, size, source)

    def _atomic(self, insn: Insn, size: int) -> list[str]:
        if insn.imm in (BPF_LOAD_ACQ, BPF_STORE_REL) and not self.classic:
            return self._ordered(insn, size)
        if size < 4:
            return self._unknown(insn)
        address = f"{self._address(insn.dst_reg, insn.off)} & M"
        source = f"r[{insn.src_reg}]" if size == 8 else f"(r[{insn.src_reg}] & M32)"
        op = insn.imm
        if op == BPF_XCHG:
            return [f"a = {address}", f"y = {source}", f"r[{insn.src_reg}] = read(a, {size})", f"write(a, {size}, y)"]
        if op == BPF_CMPXCHG:
            expected = "r[0]" if size == 8 else "(r[0] & M32)"
            return [
                f"a = {address}",
                f"old = read(a, {size})",
                f"if old == {expected}: write(a, {size}, {source})",
                "r[0] = old",
            ]
        if op & ~BPF_FETCH not in ATOMIC_MEANING or (self.classic and op):
            return self._unknown(insn)
        lines = [
            f"a = {address}",
            f"old = read(a, {size})",
            f"write(a, {size}, {ATOMIC_MEANING[op & ~BPF_FETCH].replace('y', source)})",
        ]
        return [*lines, f"r[{insn.src_reg}] = old"] if op & BPF_FETCH else lines

    def _ld(self, i: int, insn: Insn) -> list[str]:
        if insn.code == BPF_LD_IMM64:
            if insn.src_reg == BPF_PSEUDO_FUNC:
                return [f"r[{insn.dst_reg}] = function_address({i + insn.imm + 1})"]
            return [f"r[{insn.dst_reg}] = {imm64(insn, self.insns[i + 1])}"]
        mode, size = insn.mode, SIZE_BYTES[insn.size]
        if mode not in (BPF_ABS, BPF_IND) or size == 8 or not self.classic:
            return self._unknown(insn)
        offset = f"{insn.imm}" if mode == BPF_ABS else f"{insn.imm} + s32(r[{insn.src_reg}])"
        return [f"a = load_packet(r[6], {offset}, {size})", f"if a < 0: r[0] = 0; return {EXIT}", "r[0] = a"]

    # ---- jumps ----

    def _jump(self, i: int, insn: Insn) -> list[str]:
        op = insn.op
        wide = insn.cls == BPF_JMP
        if op == BPF_CALL:
            return self._call(i, insn)
        if op == BPF_EXIT and wide:
            return [f"return {EXIT}"]
        if op == BPF_TAIL_CALL and wide:
            return [f"if tail_call(r): return {EXIT}", f"return {i + 1}"]
        if insn.code == BPF_GOTOX and not self.classic:
            at = f"a = jumped_to(r[{insn.dst_reg}])"
            return [at, f"if a <= {i}: r[{BUDGET_AT}] -= {i + 1} - a", _SPENT, "return a"]
        if op == BPF_JA:
            return self._go(i, self._distance(insn))
        if op not in JMP_MEANING or (self.classic and (op not in CLASSIC_JUMPS or not wide)):
            return self._unknown(insn)
        x, y = f"r[{insn.dst_reg}]", self._operand(insn, wide)
        condition = expand(JMP_MEANING[op], x, y, wide)
        return [f"if {condition}:", *(" " + line for line in self._go(i, insn.off)), f"return {i + 1}"]

    def _go(self, i: int, off: int) -> list[str]:
        """To another instruction; going back costs as much of the budget as lies between."""
        if off >= 0:
            return [f"return {i + off + 1}"]
        return [f"r[{BUDGET_AT}] -= {-off}", _SPENT, f"return {i + off + 1}"]

    def _call(self, i: int, insn: Insn) -> list[str]:
        if insn.src_reg == BPF_PSEUDO_CALL:
            return [f"call_function(r, {i + insn.imm + 1})"]
        return [f"r[0] = call_{i}(r){' & M32' if i in self.int_calls else ''}"]


class _Ops(dict[int, Op]):
    """Functions by instruction, each translated when it is first reached: many programs are loaded and never run."""

    def __init__(self, translate: Callable[[int], Op]) -> None:
        self._translate = translate

    def __missing__(self, start: int) -> Op:
        op = self[start] = self._translate(start)
        return op


class Program:
    """A program ready to run: functions by instruction, and the names they use."""

    def __init__(
        self,
        insns: Sequence[Insn],
        mem: Memory,
        *,
        bind_call: Callable[[Insn], Callable[[Registers], int]],
        classic: bool = False,
        name: str = "program",
        tail_call: Callable[[Registers], bool] | None = None,
        function_address: Callable[[int], int] | None = None,
        jumped_to: Callable[[int], int] | None = None,
        load_packet: Callable[[int, int, int], int] | None = None,
        unknown_opcode: Callable[[int], None] | None = None,
        fast: bool = True,
        native_call: Callable[[Insn, Constant], NativeCall | None] | None = None,
        in_native_run: InNativeRun | None = None,
        block: Block | None = None,
        counts: ctypes.Array[ctypes.c_uint64] | None = None,
        int_calls: frozenset[int] = frozenset(),
    ) -> None:
        self.native_call, self.block, self.counts = native_call, block, counts
        self.in_native_run = in_native_run
        self.insns = list(insns)
        self.mem, self.name = mem, name
        window = window_of(mem) if fast else None
        self.translator = Translator(insns, classic=classic, byteorder=mem.byteorder, fast=window is not None)
        self.translator.int_calls = int_calls
        self._names: dict[str, object] = {
            "M": M,
            "M32": U32_MAX,
            "S": S,
            "S32": S32,
            "read": mem.read_uint,
            "write": mem.write_uint,
            "probe": self._probe,
            "from_bytes": int.from_bytes,
            "s32": lambda value: ((value & U32_MAX) ^ S32) - S32,
            "sdiv": sdiv,
            "smod": smod,
            "BudgetExceeded": BudgetExceeded,
            "CpuException": CpuException,
            "call_function": self.call_function,
            "tail_call": tail_call or (lambda r: False),
            "function_address": function_address or (lambda index: index),
            "jumped_to": jumped_to or (lambda address: address),
            "load_packet": load_packet or (lambda skb, off, size: -1),
            "unknown_opcode": unknown_opcode or (lambda code: None),
            "counts": counts,
        }
        if window is not None:
            self._names |= self._fast_names(window)
        self._bind_call = bind_call
        self._where: dict[tuple[str, int], int] = {}  # (file name of the text, line) -> instruction
        self.ops = _Ops(self._op)
        self._single: dict[int, Op] = {}
        self._pauses: set[int] = set()

    def _fast_names(self, window: Window) -> dict[str, object]:
        order = "<" if self.mem.byteorder == "little" else ">"
        names: dict[str, object] = {"buffer": window.buffer, "BASE": window.base, "LIMIT": window.size - 8}
        for size, letter in _FORMATS.items():
            layout = struct.Struct(order + letter)
            names[f"unpack{size}"], names[f"pack{size}"] = layout.unpack_from, layout.pack_into
        return names

    def _probe(self, address: int, size: int) -> int:
        """BPF_PROBE_MEM: a load that may fault gives 0."""
        try:
            return self.mem.read_uint(address, size)
        except Fault:
            return 0

    # ---- translation ----

    @cached_property
    def _leaders(self) -> set[int]:
        """Where basic blocks begin."""
        leaders = {0}
        i, count = 0, len(self.insns)
        while i < count:
            following = self.translator.following(i)
            insn = self.insns[i]
            if self.translator.ends_block(i):
                leaders.update(self.translator.targets(i))
                leaders.add(following)
            elif (insn.code, insn.src_reg) in _FUNCTION_STARTS:
                leaders.add(i + insn.imm + 1)
            i = following
        return leaders

    def _op(self, start: int) -> Op:
        """The basic block from an instruction on."""
        return self._translate(start, self._block(start))

    def _block(self, start: int) -> list[int]:
        """The instructions from here to the end of the basic block."""
        block, i = [], start
        while True:
            block.append(i)
            following = self.translator.following(i)
            if self.translator.ends_block(i) or following >= len(self.insns) or following in self._leaders:
                return block
            i = following

    def _translate(self, start: int, block: list[int]) -> Op:
        """One Python function for these instructions."""
        names = self._names
        file = f"<{self.name}:{start}+{len(block)}>"
        text = ["def op(r):"]
        for i in block:
            insn = self.insns[i]
            if insn.code == BPF_JMP | BPF_CALL and insn.src_reg != BPF_PSEUDO_CALL:
                names[f"call_{i}"] = self._bind_call(insn)
            for line in [*self._before(i), *self.translator.lines(i)]:
                text.append(" " + line)
                self._where[file, len(text)] = i
        text.append(f" return {self.translator.following(block[-1])}")
        scope: dict[str, Any] = {}
        exec(compile("\n".join(text), file, "exec"), names, scope)
        return scope["op"]  # type: ignore[no-any-return]

    def _before(self, i: int) -> list[str]:
        """What an instruction does for those who watch: nothing, where nobody does."""
        lines = [] if self.counts is None else [f"counts[{i}] += 1"]
        return [*lines, f"pause_{i}(r)"] if i in self._pauses else lines

    def pause(self, index: int, stop: Callable[[Registers], object] | None) -> None:
        """Call `stop(registers)` before each run of an instruction; None ends it.  Only the interpreter does."""
        (self._pauses.discard if stop is None else self._pauses.add)(index)
        self._names[f"pause_{index}"] = stop
        self.ops.clear()
        self._single.clear()

    def instruction_of(self, error: BaseException) -> int:
        """Which instruction an exception came from."""
        found, trace = -1, error.__traceback__
        while trace is not None:
            found = self._where.get((trace.tb_frame.f_code.co_filename, trace.tb_lineno), found)
            trace = trace.tb_next
        return found

    # ---- running ----

    def execute(self, r: Registers, pc: int = 0) -> None:
        """From instruction `pc` to the exit of its function; the result is in r[0]."""
        ops = self.ops
        try:
            while pc >= 0:
                pc = ops[pc](r)
        except Fault as fault:
            index = self.instruction_of(fault)
            raise BpfFault(self.name, index, self._text(index), fault) from fault

    def tail_called(self, r: Registers) -> None:
        """The program from its beginning, in place of the one that ran before."""
        self.execute(r)

    def _text(self, index: int) -> str:
        if not 0 <= index < len(self.insns):
            return "?"
        insn = self.insns[index]
        high = self.insns[index + 1].imm if insn.code == BPF_LD_IMM64 else 0
        return insn_line(insn, high)

    def call_function(self, r: Registers, start: int) -> None:
        """A call of a function of the program: a frame of its own, R6 to R9 kept."""
        saved, frame = r[6:10], r[10]
        r[10] = frame - BPF_FRAME_SIZE
        self.execute(r, start)
        r[6:10], r[10] = saved, frame

    def call_back(self, r: Registers, start: int, *args: int) -> int:
        """A helper calls a function of the program, with registers of its own below the caller's frame."""
        fresh = [0] * NR_REGISTERS
        fresh[1 : 1 + len(args)] = args
        fresh[10] = r[10] - BPF_FRAME_SIZE
        fresh[BUDGET_AT], fresh[TAIL_CALLS_AT] = r[BUDGET_AT], r[TAIL_CALLS_AT]
        self.execute(fresh, start)
        r[BUDGET_AT] = fresh[BUDGET_AT]
        return fresh[0]

    # ---- stepping ----

    def single(self, i: int) -> Op:
        """One instruction as a function."""
        op = self._single.get(i)
        if op is None:
            op = self._single[i] = self._translate(i, [i])
        return op

    def step(self, r: Registers) -> Iterator[Step]:
        """Run instruction by instruction: yields before each one.  Functions of the program are stepped into."""
        frames: list[tuple[list[int], int, int]] = []
        pc = 0
        while pc >= 0:
            insn = self.insns[pc]
            yield Step(pc, insn, self._text(pc), tuple(r[:11]), len(frames))
            if insn.code == BPF_JMP | BPF_CALL and insn.src_reg == BPF_PSEUDO_CALL:
                frames.append((r[6:10], r[10], pc + 1))
                r[10] -= BPF_FRAME_SIZE
                pc += insn.imm + 1
                continue
            pc = self.single(pc)(r)
            if pc < 0 and frames:
                r[6:10], r[10], pc = frames.pop()


@dataclass(frozen=True)
class Step:
    """What is about to be executed."""

    index: int
    insn: Insn
    text: str
    registers: tuple[int, ...]
    depth: int  # functions of the program entered


def new_registers(ctx: int, stack_top: int, budget: int = BUDGET) -> Registers:
    """Registers at entry: R1 the context, R10 the frame, the rest 0."""
    r = [0] * NR_REGISTERS
    r[1], r[10], r[BUDGET_AT] = ctx, stack_top, budget
    return r
