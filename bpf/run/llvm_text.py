"""The text of a program for LLVM: one function of LLVM for each function of the program, registers as its variables.

Every access to memory is translated and checked: inside the machine's memory it is a load or store of the host at the
translated address, anything else is a call of the memory's own read and write.  bpf/run/compiled.py runs what this makes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Protocol

from arch.abi.limits import U32_MAX
from arch.memory import Memory
from arch.native import Block, Native, Word
from arch.native.ir import HARDLY_TAKEN
from bpf.isa.callees import TIMED_MAY_GOTO
from bpf.isa.insn import (
    BPF_ADD,
    BPF_ALU64,
    BPF_AND,
    BPF_ARSH,
    BPF_ATOMIC,
    BPF_CALL,
    BPF_CMPXCHG,
    BPF_DIV,
    BPF_END,
    BPF_EXIT,
    BPF_FETCH,
    BPF_GOTOX,
    BPF_JA,
    BPF_JEQ,
    BPF_JGE,
    BPF_JGT,
    BPF_JLE,
    BPF_JLT,
    BPF_JMP,
    BPF_JMP32,
    BPF_JNE,
    BPF_JSET,
    BPF_JSGE,
    BPF_JSGT,
    BPF_JSLE,
    BPF_JSLT,
    BPF_K,
    BPF_LD_IMM64,
    BPF_LOAD_ACQ,
    BPF_LSH,
    BPF_MEM,
    BPF_MEMSX,
    BPF_MOD,
    BPF_MOV,
    BPF_MUL,
    BPF_NEG,
    BPF_OR,
    BPF_PROBE_MEM,
    BPF_PROBE_MEMSX,
    BPF_PSEUDO_CALL,
    BPF_PSEUDO_FUNC,
    BPF_REG_AX,
    BPF_RSH,
    BPF_STORE_REL,
    BPF_SUB,
    BPF_TAIL_CALL,
    BPF_TO_BE,
    BPF_XCHG,
    BPF_XOR,
    SIZE_BYTES,
    Insn,
    imm64,
)
from bpf.run.interpreter import (
    BPF_FRAME_SIZE,
    Translator,
)
from bpf.run.llvm_lines import DEPTH, OK, RAISED, TAIL_CALLED, TOO_DEEP
from bpf.run.llvm_memory import Accesses, signed
from bpf.run.llvm_signed import Unsupported, compute_with_offset
from bpf.run.loops import Loop, loops
from bpf.run.native_call import NativeCall
from bpf.run.window import Window

M = (1 << 64) - 1

# The verifier allows eight functions (MAX_CALL_FRAMES); what it did not see may call itself, on the host's stack.
MAX_NATIVE_DEPTH = 64

_BINARY = {
    BPF_ADD: "add",
    BPF_SUB: "sub",
    BPF_MUL: "mul",
    BPF_OR: "or",
    BPF_AND: "and",
    BPF_XOR: "xor",
    BPF_LSH: "shl",
    BPF_RSH: "lshr",
    BPF_ARSH: "ashr",
}
_SHIFTS = (BPF_LSH, BPF_RSH, BPF_ARSH)
_COMPARE = {
    BPF_JEQ: "eq",
    BPF_JNE: "ne",
    BPF_JGT: "ugt",
    BPF_JGE: "uge",
    BPF_JLT: "ult",
    BPF_JLE: "ule",
    BPF_JSGT: "sgt",
    BPF_JSGE: "sge",
    BPF_JSLT: "slt",
    BPF_JSLE: "sle",
}
_ATOMIC = {BPF_ADD: "add", BPF_OR: "or", BPF_AND: "and", BPF_XOR: "xor"}


class Source(Protocol):
    """The program whose functions are translated."""

    insns: list[Insn]
    mem: Memory
    translator: Translator
    block: Block | None
    counts: ctypes.Array[ctypes.c_uint64] | None  # how often each instruction ran, for coverage

    def address_of(self, index: int) -> int:
        """Kernel address of a function of the program."""

    def native_form(self, index: int) -> NativeCall | None:
        """How the call of a helper at this instruction is made without Python; None: it is not."""


class Function(Accesses):
    """The text of one LLVM function."""

    def __init__(self, jit: Source, start: int, entries: dict[str, int], window: Window, host: int) -> None:
        super().__init__(entries, window, host, jit.mem.byteorder == "big")
        self.jit, self.start = jit, start

    # ---- the whole ----

    def make(self) -> str:
        """All instructions that can be reached without a call."""
        args = ", ".join(f"i64 %a{n}" for n in range(1, 6))
        self.text.append(f"define i32 @f{self.start}(ptr %state, {args}, i64 %fp) {{")
        self.label("entry")
        for reg in range(12):
            self.do(f"%R{reg} = alloca i64")
            given = f"%a{reg}" if 1 <= reg <= 5 else "%fp" if reg == 10 else "0"
            self.put(reg, given)
        instructions = sorted(self.reachable())
        self.loops = any(target <= i for i in instructions for target in self.jit.translator.targets(i))
        self.do("%slice = alloca i64")
        self.take_budget()
        self.do(f"br label %I{self.start}")
        twice = loops(self.jit.insns, instructions, self.jit.translator.targets)
        for i in instructions:
            self.label(f"I{i}")
            if i in twice:
                self.enter(twice[i], instructions)
            self.insn(i, self.jit.insns[i])
            if self.loop is not None and i >= self.loop.last:
                self.loop = None
        self.text.append("}")
        return "\n".join(self.text)

    def enter(self, loop: Loop, instructions: list[int]) -> None:
        """The copy of a loop for when all is in memory, and the label of the loop itself."""
        for register, first, length in loop.stretches:
            there = self.fresh("there")
            self.inside(self.address(register, first), length, there, f"G{loop.first}")
            self.label(there)
        self.do(f"br label %F{loop.first}")
        self.loop, self.fast = loop, True
        for i in instructions:
            if loop.first <= i <= loop.last:
                self.label(f"F{i}")
                self.insn(i, self.jit.insns[i])
        self.fast = False
        self.label(f"G{loop.first}")

    def place(self, i: int) -> str:
        """The label of an instruction: in the loop, that of the copy that is being written."""
        if self.loop is not None and self.loop.first <= i <= self.loop.last:
            return f"F{i}" if self.fast else f"G{i}" if i == self.loop.first else f"I{i}"
        return f"I{i}"

    def reachable(self) -> set[int]:
        """Instructions of this function."""
        translator, found, waiting = self.jit.translator, set[int](), [self.start]
        while waiting:
            i = waiting.pop()
            if i in found:
                continue
            if not 0 <= i < len(self.jit.insns):
                raise Unsupported("control leaves the program")
            found.add(i)
            insn = self.jit.insns[i]
            jump = insn.cls in (BPF_JMP, BPF_JMP32)
            waiting += translator.targets(i)
            if not jump or insn.op not in (BPF_JA, BPF_EXIT):
                waiting.append(translator.following(i))
        return found

    def insn(self, i: int, insn: Insn) -> None:
        """One instruction, and on to the next."""
        if self.jit.counts is not None:
            self.count_run(ctypes.addressof(self.jit.counts) + 8 * i)
        kind = insn.cls
        if kind in (4, BPF_ALU64):
            self.alu(insn)
        elif kind == 1:
            self.load(i, insn)
        elif kind in (2, 3):
            self.store(i, insn)
        elif kind in (BPF_JMP, BPF_JMP32):
            if self.jump(i, insn):
                return
        elif insn.code == BPF_LD_IMM64:
            self.put(insn.dst_reg, str(self.constant(i, insn)))
        else:
            raise Unsupported(f"opcode {insn.code:02x}")
        self.do(f"br label %{self.place(self.jit.translator.following(i))}")

    def count_run(self, at: int) -> None:
        """One more in a word of the host's."""
        pointer = f"inttoptr (i64 {at} to ptr)"
        count = self.let(f"load i64, ptr {pointer}")
        self.do(f"store i64 {self.let(f'add i64 {count}, 1')}, ptr {pointer}")

    def constant(self, i: int, insn: Insn) -> int:
        """What an ld_imm64 loads."""
        if insn.src_reg == BPF_PSEUDO_FUNC:
            return self.jit.address_of(i + insn.imm + 1)
        return imm64(insn, self.jit.insns[i + 1])

    # ---- arithmetic ----

    def operand(self, insn: Insn, wide: bool) -> str:
        """The second operand, as wide as the operation."""
        if insn.src_kind == BPF_K:
            return str(insn.imm)
        value = self.get(insn.src_reg)
        return value if wide else self.let(f"trunc i64 {value} to i32")

    def alu(self, insn: Insn) -> None:
        """dst = dst op operand."""
        op, wide = insn.op, insn.cls == BPF_ALU64
        if op == BPF_END:
            self.swap(insn)
            return
        kind = "i64" if wide else "i32"
        x = self.get(insn.dst_reg)
        if not wide:
            x = self.let(f"trunc i64 {x} to i32")
        y = self.operand(insn, wide) if op != BPF_NEG else "0"
        value = compute_with_offset(self.let, insn, kind, x, y) if insn.off else self.compute(op, kind, x, y)
        self.put(insn.dst_reg, value if wide else self.let(f"zext i32 {value} to i64"))

    def compute(self, op: int, kind: str, x: str, y: str) -> str:
        """The value of one operation."""
        if op == BPF_MOV:
            return self.let(f"add {kind} {y}, 0")
        if op == BPF_NEG:
            return self.let(f"sub {kind} 0, {x}")
        if op in (BPF_DIV, BPF_MOD):
            zero = self.let(f"icmp eq {kind} {y}, 0")
            divisor = self.let(f"select i1 {zero}, {kind} 1, {kind} {y}")
            value = self.let(f"{'udiv' if op == BPF_DIV else 'urem'} {kind} {x}, {divisor}")
            return self.let(f"select i1 {zero}, {kind} {'0' if op == BPF_DIV else x}, {kind} {value}")
        if op not in _BINARY:
            raise Unsupported(f"operation {op:02x}")
        if op in _SHIFTS:
            y = self.let(f"and {kind} {y}, {63 if kind == 'i64' else 31}")
        return self.let(f"{_BINARY[op]} {kind} {x}, {y}")

    def swap(self, insn: Insn) -> None:
        """To little or big endian, or to the other one."""
        if insn.imm not in (16, 32, 64):
            raise Unsupported("byte swap of an odd size")
        kind = f"i{insn.imm}"
        value = self.get(insn.dst_reg)
        if kind != "i64":
            value = self.let(f"trunc i64 {value} to {kind}")
        if (insn.src_kind == BPF_TO_BE) != self.big or insn.cls == BPF_ALU64:
            value = self.let(f"call {kind} @llvm.bswap.{kind}({kind} {value})")
        self.put(insn.dst_reg, value if kind == "i64" else self.let(f"zext {kind} {value} to i64"))

    # ---- memory ----

    def load(self, i: int, insn: Insn) -> None:
        """dst = *(size *)(src + off)"""
        mode = insn.mode
        if mode not in (BPF_MEM, BPF_PROBE_MEM, BPF_MEMSX, BPF_PROBE_MEMSX):
            raise Unsupported("load")
        size = SIZE_BYTES[insn.size]
        address = self.address(insn.src_reg, insn.off)
        value = self.read(i, address, size, mode in (BPF_PROBE_MEM, BPF_PROBE_MEMSX))
        if mode in (BPF_MEMSX, BPF_PROBE_MEMSX):
            low = self.let(f"trunc i64 {value} to i{8 * size}")
            value = self.let(f"sext i{8 * size} {low} to i64")
        self.put(insn.dst_reg, value)

    def store(self, i: int, insn: Insn) -> None:
        """*(size *)(dst + off) = src or imm; atomics; nothing for a speculation barrier."""
        mode, size, imm = insn.mode, SIZE_BYTES[insn.size], insn.cls == 2
        if imm and mode == 0xC0:
            return
        if mode == BPF_ATOMIC:
            self.atomic(i, insn, size)
            return
        if mode != BPF_MEM:
            raise Unsupported("store")
        address = self.address(insn.dst_reg, insn.off)
        self.write(i, address, size, str(insn.imm) if imm else self.get(insn.src_reg))

    def atomic(self, i: int, insn: Insn, size: int) -> None:
        """Read, compute, write: nothing comes between, for one thread runs it all."""
        if insn.imm == BPF_LOAD_ACQ:
            self.put(insn.dst_reg, self.read(i, self.address(insn.src_reg, insn.off), size))
            return
        if insn.imm == BPF_STORE_REL:
            self.write(i, self.address(insn.dst_reg, insn.off), size, self.get(insn.src_reg))
            return
        if size < 4:
            raise Unsupported("atomic")
        address = self.address(insn.dst_reg, insn.off)
        old, op = self.read(i, address, size), insn.imm
        source = self.get(insn.src_reg)
        if op == BPF_XCHG:
            self.write(i, address, size, source)
            self.put(insn.src_reg, old)
        elif op == BPF_CMPXCHG:
            self.compare_exchange(i, address, size, old, source)
        elif op & ~BPF_FETCH in _ATOMIC:
            self.write(i, address, size, self.let(f"{_ATOMIC[op & ~BPF_FETCH]} i64 {old}, {source}"))
            if op & BPF_FETCH:
                self.put(insn.src_reg, old)
        else:
            raise Unsupported("atomic")

    def compare_exchange(self, i: int, address: str, size: int, old: str, source: str) -> None:
        """if (*p == r0) *p = src; r0 = what *p was"""
        expected = self.get(0)
        if size == 4:
            expected = self.let(f"and i64 {expected}, {0xFFFFFFFF}")
        same, swap, done = self.let(f"icmp eq i64 {old}, {expected}"), self.fresh("swap"), self.fresh("done")
        self.do(f"br i1 {same}, label %{swap}, label %{done}")
        self.label(swap)
        self.write(i, address, size, source)
        self.do(f"br label %{done}")
        self.label(done)
        self.put(0, old)

    # ---- jumps ----

    def jump(self, i: int, insn: Insn) -> bool:
        """True if control does not just go on."""
        op, wide = insn.op, insn.cls == BPF_JMP
        if op == BPF_CALL:
            self.call(i, insn)
            if i in self.jit.translator.int_calls:
                self.put(0, self.let(f"and i64 {self.get(0)}, {U32_MAX}"))
            return False
        if op == BPF_EXIT and wide:
            self.do(f"store i64 {self.get(0)}, ptr {self.word(0)}")
            self.leave(OK)
        elif op == BPF_TAIL_CALL and wide:
            self.tail_call(i)
        elif insn.code == BPF_GOTOX:
            raise Unsupported("a jump that only a register tells")
        elif op == BPF_JA:
            self.go(i, insn.imm if insn.cls == BPF_JMP32 else insn.off)
        elif op == BPF_JSET or op in _COMPARE:
            self.branch(i, insn, op, wide)
        else:
            raise Unsupported("jump")
        return True

    def go(self, i: int, off: int) -> None:
        """To another instruction; going back costs as much of the budget as lies between.

        Whenever the budget crosses a multiple of SLICE, its end among them, Python is asked whether to go on.
        """
        if off < 0:
            if self.loop is not None and self.fast:
                self.hide(self.loop.counters)
            before = self.let("load i64, ptr %slice")
            self.do(f"store i64 {self.let(f'add i64 {before}, {off}')}, ptr %slice")
            ask, enough = self.fresh("ask"), self.fresh("enough")
            self.do(
                f"br i1 {self.let(f'icmp ult i64 {before}, {-off}')}, label %{ask}, label %{enough}, {HARDLY_TAKEN}"
            )
            self.label(ask)
            self.share_budget()
            status = self.let(f"call i32 {self.entry('tick')}(ptr %state)")
            self.take_budget()
            self.leave_unless_ok(status)
            self.do(f"br label %{enough}")
            self.label(enough)
        self.do(f"br label %{self.place(i + off + 1)}")

    def hide(self, registers: Iterable[int]) -> None:
        """From LLVM how they come to what they hold: it would count addresses in step with them, in more instructions than it saves."""
        for register in registers:
            self.put(register, self.let(f'call i64 asm "", "=r,0"(i64 {self.get(register)})'))

    def branch(self, i: int, insn: Insn, op: int, wide: bool) -> None:
        """if dst op operand goto off"""
        kind = "i64" if wide else "i32"
        x = self.get(insn.dst_reg)
        if not wide:
            x = self.let(f"trunc i64 {x} to i32")
        y = self.operand(insn, wide)
        if op == BPF_JSET:
            test = self.let(f"icmp ne {kind} {self.let(f'and {kind} {x}, {y}')}, 0")
        else:
            test = self.let(f"icmp {_COMPARE[op]} {kind} {x}, {y}")
        taken = self.fresh("taken")
        self.do(f"br i1 {test}, label %{taken}, label %{self.place(i + 1)}")
        self.label(taken)
        self.go(i, insn.off)

    # ---- calls ----

    def share(self, *registers: int) -> None:
        """Put registers where Python sees them."""
        for reg in registers:
            self.do(f"store i64 {self.get(reg)}, ptr {self.word(reg)}")

    def call(self, i: int, insn: Insn) -> None:
        """A function of the program, or a helper."""
        if insn.src_reg == BPF_PSEUDO_CALL:
            depth = self.deeper()
            args = ", ".join(f"i64 {self.get(n)}" for n in range(1, 6))
            frame = self.let(f"sub i64 {self.get(10)}, {BPF_FRAME_SIZE}")
            self.share_budget()
            status = self.let(f"call i32 @f{i + insn.imm + 1}(ptr %state, {args}, i64 {frame})")
            self.take_budget()
            self.do(f"store i64 {depth}, ptr {self.word(DEPTH)}")
            self.leave_unless_ok(status)
            self.put(0, self.let(f"load i64, ptr {self.word(0)}"))
            return
        native = self.jit.native_form(i)
        if insn.imm == TIMED_MAY_GOTO and not insn.src_reg:
            self.share(0, BPF_REG_AX)
            self.call_python(i)
            self.put(BPF_REG_AX, self.let(f"load i64, ptr {self.word(BPF_REG_AX)}"))
            return
        if native is None or not native.address:
            self.call_python(i)
            return
        done = self.fresh("done")
        self.call_native(i, native, done)
        self.call_python(i)
        self.do(f"br label %{done}")
        self.label(done)

    def call_python(self, i: int) -> None:
        """A helper's body in Python."""
        self.share(1, 2, 3, 4, 5, 10)
        self.share_budget()
        status = self.let(f"call i32 {self.entry('call')}(ptr %state, i64 {i})")
        self.take_budget()
        self.leave_unless_ok(status)
        self.put(0, self.let(f"load i64, ptr {self.word(0)}"))

    def call_native(self, i: int, native: NativeCall, done: str) -> None:
        """A native function, and to `done`; what follows is reached where it is not the one, or declines."""
        python = self.fresh("python")
        if native.map:
            same = self.fresh("same")
            expected = self.let(f"icmp eq i64 {self.get(native.map_register)}, {signed(native.map)}")
            self.do(f"br i1 {expected}, label %{same}, label %{python}")
            self.label(same)
        assert self.jit.block is not None
        block = self.jit.block.address
        values = [str(block), *([str(native.words)] if native.words else [])]
        values += [self.get(reg) for reg in range(native.first, native.first + native.registers)]
        arguments = ", ".join(f"i64 {value}" for value in values)
        result = self.let(f"call i64 inttoptr (i64 {native.address} to ptr)({arguments})")
        at = f"inttoptr (i64 {block + 8 * Word.NATIVE_STATUS} to ptr)"
        status = self.let(f"load i64, ptr {at}")
        good, bad, clear, fault = (self.fresh(name) for name in ("good", "bad", "clear", "fault"))
        self.do(f"br i1 {self.let(f'icmp eq i64 {status}, 0')}, label %{good}, label %{bad}")
        self.label(good)
        self.put(0, result)
        self.do(f"br label %{done}")
        self.label(bad)
        self.do(f"store i64 0, ptr {at}")
        declined = self.let(f"icmp eq i64 {status}, {int(Native.DECLINED)}")
        self.do(f"br i1 {declined}, label %{clear}, label %{fault}")
        self.label(fault)
        self.do(f"call void {self.entry('fault')}(ptr %state, i64 {i})")
        self.leave(RAISED)
        self.label(clear)
        self.do(f"br label %{python}")
        self.label(python)

    def deeper(self) -> str:
        """One function more; gives the depth to return to."""
        depth = self.let(f"load i64, ptr {self.word(DEPTH)}")
        self.do(f"store i64 {self.let(f'add i64 {depth}, 1')}, ptr {self.word(DEPTH)}")
        deep, go_on = self.fresh("deep"), self.fresh("call")
        self.do(f"br i1 {self.let(f'icmp uge i64 {depth}, {MAX_NATIVE_DEPTH}')}, label %{deep}, label %{go_on}")
        self.label(deep)
        self.leave(TOO_DEEP)
        self.label(go_on)
        return depth

    def tail_call(self, i: int) -> None:
        """Another program takes over, or this one goes on."""
        self.share(1, 2, 3, 4, 5, 10)
        self.share_budget()
        status = self.let(f"call i32 {self.entry('tail_call')}(ptr %state, i64 {i})")
        self.take_budget()
        over = self.let(f"icmp eq i32 {status}, {TAIL_CALLED}")
        ended, stays = self.fresh("ended"), self.fresh("stays")
        self.do(f"br i1 {over}, label %{ended}, label %{stays}")
        self.label(ended)
        self.leave(OK)
        self.label(stays)
        self.leave_unless_ok(status)
        self.do(f"br label %{self.place(i + 1)}")
