"""Verified programs as machine code: LLVM compiles what bpf/run/interpreter.py interprets.

One LLVM function per function of the program, registers as its variables.  Every access to memory is translated and
checked: inside the machine's memory it is a load or store of the host at the translated address, anything else is a
call of the memory's own read and write, which fault as they do for the interpreter.  So even a mistake of the verifier
touches nothing but the simulated machine.  Helpers are Python, called with the registers they may see.

The result is the interpreter's, bit for bit; tests/bpf/test_jit.py runs both.  Compiling takes as long as interpreting
hundreds of thousands of instructions, and a call between Python and native code as long as dozens, so a program is
compiled when it has worked that much, and only if it loops or has much to do between its calls.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Unpack

from arch.errors import Fault
from arch.hosttime import HOST_WORD, HostStop
from arch.memory import Memory
from arch.native import Block, Word
from arch.native.builtins import METH_FASTCALL, MethodDef
from arch.native.handler import NO_GUARDS, Guards, Sight
from arch.native.library import add_symbols
from arch.native.subset import DECLARATIONS
from bpf.isa.insn import (
    BPF_ALU,
    BPF_ALU64,
    BPF_CALL,
    BPF_EXIT,
    BPF_JA,
    BPF_JMP,
    BPF_JMP32,
    BPF_LD_IMM64,
    BPF_LDX,
    BPF_MOV,
    BPF_PSEUDO_CALL,
    BPF_PSEUDO_FUNC,
    BPF_REG_AX,
    BPF_TAIL_CALL,
    BPF_X,
    Insn,
    imm64,
)
from bpf.isa.registers import BUDGET_AT, NR_REGISTERS
from bpf.run.arena import ArenaProgram
from bpf.run.entry import program_text
from bpf.run.interpreter import (
    BpfFault,
    BudgetExceeded,
    EngineOptions,
    Program,
    Registers,
)
from bpf.run.llvm_arena import ArenaFunction
from bpf.run.llvm_lines import BUDGET_SPENT, OK, RAISED, STATUS, TAIL_CALLED, TOO_DEEP, WORDS
from bpf.run.llvm_memory import signed
from bpf.run.llvm_signed import Unsupported
from bpf.run.llvm_text import MAX_NATIVE_DEPTH, Function, M
from bpf.run.native_call import NativeCall
from bpf.run.sight import context_sight
from bpf.run.window import Window, window_of

WARM = 200_000  # instructions that are interpreted before a program is compiled
RUN_CONTEXT, NATIVE_RUN = 2, 3  # words of JitProgram.data: entry.program_text()
ENTRY_COST, CALL_COST = 40, 17  # of entering native code, and of leaving it for a helper, in interpreted instructions

_TICK = ctypes.PYFUNCTYPE(ctypes.c_uint32, ctypes.c_uint64)
_CALL = ctypes.PYFUNCTYPE(ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64)
_READ = ctypes.PYFUNCTYPE(
    ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint32
)
_WRITE = ctypes.PYFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64)
_FAULT = ctypes.PYFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint64)
_State = ctypes.c_uint64 * WORDS


class JitProgram(Program):
    """A program that becomes machine code when it is worth it; else, and for stepping, the interpreter's."""

    def __init__(self, insns: Sequence[Insn], mem: Memory, *, warm: int = WARM, **more: Unpack[EngineOptions]) -> None:
        super().__init__(insns, mem, **more)
        self._classic = more.get("classic", False)
        self._function_address: Callable[[int], int] = more.get("function_address", int)
        self._cold = warm if not warm or _is_worth_it(self) else 1 << 62  # instructions left to interpret
        self._native: dict[int, Callable[..., int]] = {}
        self._take_over: Callable[[Registers], bool] = more.get("tail_call", lambda r: False)
        self._engine: Any = None
        self._keep: list[object] = []
        self._calls: dict[int, Callable[[Registers], int]] = {}
        self._error: BaseException | None = None
        self.data = (ctypes.c_uint64 * 4)()  # see entry.program_text()
        self.code = 0  # host address of the compiled program, for native callers
        self.run_code: Callable[[int, int], int] | None = None  # the same for Python: (ctx, top of the stack) -> R0
        self.unsupported = ""  # why there is no machine code

    def address_of(self, index: int) -> int:
        """Kernel address of a function of the program."""
        return self._function_address(index)

    def pause(self, index: int, stop: Callable[[Registers], object] | None) -> None:
        """Only the interpreter stops."""
        self.unsupported = "it is stopped at an instruction"
        self._native.clear()
        super().pause(index, stop)

    def compile_now(self) -> None:
        """Machine code from the next run on, however little the program does."""
        self._cold = 0

    def compile(self) -> bool:
        """Machine code now, if there can be any."""
        if not self._native and not self.unsupported:
            self._compile()
        return not self.unsupported

    def raise_failure(self) -> None:
        """What ended the last run by a native caller; nothing if that was well."""
        status, self.data[1] = self.data[1], 0
        if status:
            self.failed(status)

    # ---- running ----

    def execute(self, r: Registers, pc: int = 0) -> None:
        """As the interpreter; natively from the beginning of a function."""
        if not self._native and not self.unsupported:
            if self._cold <= 0:
                self._compile()
        function = self._native.get(pc)
        if function is None:
            budget = r[BUDGET_AT]
            super().execute(r, pc)
            self._cold -= len(self.insns) + budget - r[BUDGET_AT]
            return
        state = _State(*r)
        status = function(ctypes.addressof(state), *r[1:6], r[10])
        r[0], r[BUDGET_AT] = state[0], signed(state[BUDGET_AT])
        if status != OK:
            self.failed(status)

    def failed(self, status: int) -> NoReturn:
        """Raise what ended a native run."""
        if status == BUDGET_SPENT:
            raise BudgetExceeded
        if status == TOO_DEEP:
            raise RecursionError(f"{self.name}: more than {MAX_NATIVE_DEPTH} functions of the program call each other")
        error, self._error = self._error, None
        assert error is not None
        raise error

    # ---- what native code calls ----

    def _py_tick(self, at: int) -> int:
        """A slice of the budget is used up."""
        if HOST_WORD[0]:
            self._error = HostStop()
            return RAISED
        return BUDGET_SPENT if signed(_State.from_address(at)[BUDGET_AT]) < 0 else OK

    def _py_call(self, at: int, index: int) -> int:
        state = _State.from_address(at)
        r = list(state[:NR_REGISTERS])
        r[BUDGET_AT] = signed(r[BUDGET_AT])
        try:
            call = self._calls[index]
            state[0] = (self._prepared(call, r) if self.data[NATIVE_RUN] else call(r)) & M
            state[BPF_REG_AX] = r[BPF_REG_AX]
            state[BUDGET_AT] = r[BUDGET_AT] & M
        except BaseException as error:
            self._error = error
            return RAISED
        return OK

    def _py_tail_call(self, at: int, index: int) -> int:
        state = _State.from_address(at)
        r = list(state[:NR_REGISTERS])
        r[BUDGET_AT] = signed(r[BUDGET_AT])
        try:
            taken = self._prepared(self._take_over, r) if self.data[NATIVE_RUN] else self._take_over(r)
            state[:NR_REGISTERS] = [value & M for value in r]
        except BaseException as error:
            self._error = error
            return RAISED
        return TAIL_CALLED if taken else OK

    def _py_step(self, at: int, index: int) -> int:
        """One instruction by the interpreter."""
        state = _State.from_address(at)
        r = list(state[:NR_REGISTERS])
        try:
            self.single(index)(r)
            if self.counts is not None:  # native code has counted it
                self.counts[index] -= 1
            state[:BPF_REG_AX] = [value & M for value in r[:BPF_REG_AX]]
        except BaseException as error:
            self._error = error
            return RAISED
        return OK

    def _prepared(self, call: Callable[[Registers], int], r: Registers) -> int:
        """In a run that Python does not know of yet."""
        self.data[NATIVE_RUN] = 0
        try:
            prepared = self.in_native_run
            return call(r) if prepared is None else prepared(call, r, self.data[RUN_CONTEXT])
        finally:
            self.data[NATIVE_RUN] = 1

    def _py_read(self, at: int, address: int, size: int, index: int, probe: int) -> int:
        try:
            return int(self._probe(address, size) if probe else self.mem.read_uint(address, size))
        except BaseException as error:
            self._note(at, index, error)
        return 0

    def _py_write(self, at: int, address: int, size: int, value: int, index: int) -> None:
        try:
            self.mem.write_uint(address, size, value & ((1 << 8 * size) - 1))
        except BaseException as error:
            self._note(at, index, error)

    def _py_fault(self, at: int, index: int) -> None:
        """A native helper was given an address outside of memory, or found one there."""
        assert self.block is not None
        self._note(at, index, Fault(self.block.words[Word.NATIVE_FAULT]))

    def _note(self, at: int, index: int, error: BaseException) -> None:
        """Whatever it is ends the program: what leaves a callback would only be printed."""
        self._error = error
        if isinstance(error, Fault):
            self._error = BpfFault(self.name, index, self._text(index), error)
            self._error.__cause__ = error
        _State.from_address(at)[STATUS] = RAISED

    # ---- compiling ----

    def _compile(self) -> None:
        window = window_of(self.mem)
        if window is None or self._classic or sys.byteorder == "big":
            self.unsupported = "memory is not one buffer, classic rules, or a big-endian host"
            return
        try:
            starts = sorted(self._function_starts())
            text = self._module(starts, window)
        except Unsupported as why:
            self.unsupported = str(why)
            return
        for i in self.helper_calls():
            self._calls[i] = self._bind_call(self.insns[i])
        self._engine = _build(text, any(map(_is_backward, self.insns)))
        if self.block is not None:
            self._publish(self.block)
        word = ctypes.c_uint64
        prototype = ctypes.PYFUNCTYPE(ctypes.c_uint32, *[word] * 7)
        self._native = {s: prototype(self._engine.get_function_address(f"f{s}")) for s in starts}

    def _publish(self, block: Block) -> None:
        """What runs the whole program, for native callers and for Python."""
        self.code = self._engine.get_function_address("code")
        definition = MethodDef(b"code", self._engine.get_function_address("py_code"), METH_FASTCALL, None)
        self._keep.append(definition)
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype = ctypes.py_object
        make.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
        self.run_code = make(ctypes.addressof(definition), None, self._engine)

    def native_form(self, index: int) -> NativeCall | None:
        """How the call of a helper at this instruction is made without Python; None: it is not."""
        insn = self.insns[index]
        if self.native_call is None or insn.code != BPF_JMP | BPF_CALL:
            return None

        def expected(register: int) -> int:
            for i in range(index - 1, -1, -1):
                before = self.insns[i]
                if before.code == BPF_LD_IMM64 and before.dst_reg == register and before.src_reg == 0:
                    return imm64(before, self.insns[i + 1])
            return 0

        return self.native_call(insn, expected)

    @property
    def closed(self) -> bool:
        """A run calls nothing but native functions, and Python of the kind that may be called in the midst of one."""
        if any(insn.code == BPF_JMP | BPF_TAIL_CALL for insn in self.insns):
            return False
        forms = map(self.native_form, self.helper_calls())
        return all(form is not None and form.closed for form in forms)

    def uses_context(self) -> bool:
        """Can R1, as it is at the program's start, be read?"""
        seen, waiting = set[int](), [0]
        while waiting:
            i = waiting.pop()
            if i in seen or i >= len(self.insns):
                continue
            seen.add(i)
            insn = self.insns[i]
            if insn.cls in (BPF_JMP, BPF_JMP32) and insn.op == BPF_CALL:
                native = self.native_form(i) if insn.src_reg != BPF_PSEUDO_CALL else None
                if native is None or not native.address or native.registers or native.map:
                    return True
                continue  # R1 is lost
            if insn.code == BPF_LD_IMM64 or (insn.op == BPF_MOV and insn.cls in (BPF_ALU, BPF_ALU64)):
                reads, writes = insn.code != BPF_LD_IMM64 and insn.src_kind == BPF_X and insn.src_reg == 1, True
            elif insn.cls == BPF_LDX:
                reads, writes = insn.src_reg == 1, True
            else:
                reads, writes = 1 in (insn.dst_reg, insn.src_reg), False
            if reads:
                return True
            if not (writes and insn.dst_reg == 1) and not (insn.cls == BPF_JMP and insn.op == BPF_EXIT):
                waiting += self.translator.targets(i)
                if not (insn.cls == BPF_JMP and insn.op == BPF_JA):
                    waiting.append(self.translator.following(i))
        return False

    def sight(self) -> tuple[Sight, bool, Guards | None]:
        """Which bytes of its context it looks at, whether at memory of the kernel that is no map's, and who tells that it wakes nobody."""
        if len(self._function_starts()) > 1 or any(insn.code == BPF_JMP | BPF_TAIL_CALL for insn in self.insns):
            return None, True, NO_GUARDS if self.closed else None
        sight, elsewhere, guards = context_sight(
            self.insns, self.native_form, self.translator.targets, self.translator.following
        )
        return sight, elsewhere, NO_GUARDS if self.closed else guards

    def helper_calls(self) -> list[int]:
        """Instructions that call a helper."""
        calls, i = [], 0
        while i < len(self.insns):
            insn = self.insns[i]
            if insn.code == BPF_JMP | BPF_CALL and insn.src_reg != BPF_PSEUDO_CALL:
                calls.append(i)
            i = self.translator.following(i)
        return calls

    def _function_starts(self) -> set[int]:
        starts = {0}
        i = 0
        while i < len(self.insns):
            insn = self.insns[i]
            call = insn.code == BPF_JMP | BPF_CALL and insn.src_reg == BPF_PSEUDO_CALL
            if call or (insn.code == BPF_LD_IMM64 and insn.src_reg == BPF_PSEUDO_FUNC):
                starts.add(i + insn.imm + 1)
            i = self.translator.following(i)
        return starts

    def _module(self, starts: list[int], window: Window) -> str:
        """LLVM text of all functions."""
        callbacks = {
            "tick": _TICK(self._py_tick),
            "call": _CALL(self._py_call),
            "tail_call": _CALL(self._py_tail_call),
            "step": _CALL(self._py_step),
            "fault": _FAULT(self._py_fault),
            "read": _READ(self._py_read),
            "write": _WRITE(self._py_write),
        }
        entries = {name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in callbacks.items()}
        host, shared = _host_address(window)
        self._keep = [callbacks, shared]
        parts = [DECLARATIONS]
        if self.block is not None:
            parts.append(program_text(starts[0], self.block, ctypes.addressof(self.data)))
        parts += [self._function(start, entries, window, host).make() for start in starts]
        return "\n".join(parts)

    def _function(self, start: int, entries: dict[str, int], window: Window, host: int) -> Function:
        return Function(self, start, entries, window, host)


class CompiledArenaProgram(ArenaProgram, JitProgram):
    """One with an arena."""

    @property
    def arena_table(self) -> int:
        """Where compiled code finds the arena's pages."""
        return self.arena.pages.table

    def _function(self, start: int, entries: dict[str, int], window: Window, host: int) -> Function:
        return ArenaFunction(self, start, entries, window, host)


def _host_address(window: Window) -> tuple[int, object]:
    """Where the machine's memory is in ours, and what must live as long."""
    if window.physical is not None:
        return window.physical.host_address, window.physical
    shared = (ctypes.c_char * window.size).from_buffer(window.buffer)
    return ctypes.addressof(shared), shared


def _is_worth_it(program: Program) -> bool:
    """Whether it is longer than what entering machine code and leaving it for calls costs, or may loop."""
    calls = sum([insn.code == BPF_JMP | BPF_CALL and insn.src_reg != BPF_PSEUDO_CALL for insn in program.insns])
    length = len(program.insns) - sum([insn.code == BPF_LD_IMM64 for insn in program.insns])
    return length > ENTRY_COST + CALL_COST * calls or any(map(_is_backward, program.insns))


def _is_backward(insn: Insn) -> bool:
    jump = insn.cls in (BPF_JMP, BPF_JMP32) and insn.op not in (BPF_CALL, BPF_EXIT, BPF_TAIL_CALL)
    return jump and insn.off < 0


def _build(text: str, loops: bool) -> Any:
    """Machine code for a module.  Where it loops it is worth a tenth more time: an address that was checked is not checked again."""
    import llvmlite.binding as llvm

    add_symbols()
    module = llvm.parse_assembly(text)
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=1, jit=True)
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    manager = llvm.create_new_module_pass_manager()
    manager.add_sroa_pass()
    if loops:
        manager.add_instruction_combine_pass()
        manager.add_jump_threading_pass()
        manager.add_simplify_cfg_pass()
    manager.run(module, passes)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine
