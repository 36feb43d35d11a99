"""A loaded program: struct bpf_prog and its aux; running it, and what happens between the machine and a run.

kernel/bpf/core.c, kernel/bpf/syscall.c, kernel/trace/bpf_trace.c:trace_call_bpf().
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from arch.abi.errno import EINVAL
from arch.abi.limits import PAGE_SIZE, U32_MAX
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from arch.memory import Memory, OutOfMemory
from arch.native import Word
from arch.native.handler import NativeCode, Tier
from bpf import uapi
from bpf.board import CLASSIC_UNTIL, Bpf, BtfObject, HelperCall
from bpf.core.places import TEXT_STEP, Places
from bpf.core.prog_aux import prog_pages
from bpf.core.told import CHANGES_CALLER, asks, names_variables, run_told
from bpf.core.trampoline import Chain
from bpf.face import Prog, ProgArray, ProgArrayOwner
from bpf.helpers import Runtime, find, load_all
from bpf.helpers.kfunc_rows import absent
from bpf.helpers.thrown import Thrown
from bpf.isa.insn import (
    BPF_LD_IMM64,
    BPF_PSEUDO_KFUNC_CALL,
    BPF_PSEUDO_MAP_FD,
    BPF_PSEUDO_MAP_VALUE,
    Insn,
    encode,
)  # fmt: skip
from bpf.isa.registers import BUDGET_AT, TAIL_CALLS_AT
from bpf.maps.arena import ArenaMap
from bpf.maps.array import ProgArrayMap
from bpf.maps.base import BpfMap
from bpf.maps.functions import any_watched
from bpf.maps.insn_array import InsnArrayMap
from bpf.run.arena import ArenaProgram
from bpf.run.compiled import CompiledArenaProgram, JitProgram
from bpf.run.interpreter import MAX_TAIL_CALLS, Program, Registers, new_registers
from bpf.run.native_call import Constant, NativeCall
from bpf.run.traced import Entry, TracedProgram
from bpf.verifier.api import Verdict, VerifyRequest
from bpf.versions.attach_groups import MANY_FUNCTIONS
from bpf.versions.program_types import types_where
from bpf.versions.verifier_rules import rules_of

if TYPE_CHECKING:
    from bpf.jit.compile import Code
    from bpf.verifier.protos.choose import ProgramFacts  # its tables are made when the first program is loaded

TEXT_BASE = 0xFFFFFFFFC0000000  # where programs pretend to be: modules' and JIT's text
KEPT_BYTES = 64  # for each instruction: as loaded, as rewritten, compiled, with its lines
STACK_BYTES = 16 << 10  # of one run: eight frames and their callbacks
COLD_RUNS = {Tier.AUTO: 400, Tier.NATIVE: 0, Tier.PYTHON: -1}  # before an attached program is compiled
# map_type_contains_progs(); the first one since ever
HOLDS_PROGS = (uapi.BPF_MAP_TYPE_PROG_ARRAY, uapi.BPF_MAP_TYPE_DEVMAP, uapi.BPF_MAP_TYPE_CPUMAP)
TRACING_LIKE = types_where(lambda row: "btf_target" in row.traits)


def prog_tag(insns: Sequence[Insn], byteorder: str = "little") -> bytes:
    """bpf_prog_calc_tag(): the first 8 bytes of SHA-1 over the program with map descriptors taken out."""
    out: list[Insn] = []
    was_map = False
    for insn in insns:
        maps = insn.code == BPF_LD_IMM64 and insn.src_reg in (BPF_PSEUDO_MAP_FD, BPF_PSEUDO_MAP_VALUE)
        if not was_map and maps:
            was_map = True
            insn = insn.replace(imm=0)
        elif was_map and insn.fields()[:4] == (0, 0, 0, 0):
            was_map = False
            insn = insn.replace(imm=0)
        else:
            was_map = False
        out.append(insn)
    import hashlib  # reads OpenSSL: only where there is a program

    return hashlib.sha1(encode(out, byteorder)).digest()[: uapi.BPF_TAG_SIZE]


class BpfProg(Prog):
    """One program.  Made from a request that a verifier accepted; holds its maps."""

    anon_name = "bpf-prog"
    program: Program
    program_class: type[TracedProgram] | None = None  # what runs it, if not the usual choice

    def __init__(
        self,
        bpf: Bpf,
        request: VerifyRequest,
        verdict: Verdict,
        *,
        fast: bool = True,
        btf_object: BtfObject | None = None,
    ) -> None:
        self.bpf = bpf
        self.kept = KEPT_BYTES * len(verdict.insns)
        bpf.mem.charge(self.kept)
        self.type = self.prog_type = request.prog_type
        self.expected_attach_type = request.expected_attach_type
        self.prog_flags = request.prog_flags
        self.name = request.name
        self.gpl_compatible = request.gpl_compatible
        self.sleepable = verdict.sleepable or bool(request.prog_flags & uapi.BPF_F_SLEEPABLE)
        self.orig_insns = list(request.insns)
        self.insns = verdict.insns
        self.pages = prog_pages(bpf.host.structs, len(request.insns), len(verdict.insns))
        self.verdict = verdict
        self.jited = request.jit_requested
        self.byteorder = request.byteorder
        self.tag = prog_tag(request.insns, request.byteorder)
        self.used_maps = [info.owner for info in verdict.used_maps if isinstance(info.owner, BpfMap)]
        self.map_infos = verdict.used_maps
        self.btf = self.prog_btf = request.prog_btf
        self.btf_object = btf_object
        if self.btf_object is not None:
            self.btf_object.get()
        self.func_info = verdict.func_info or request.func_info
        self.line_info = verdict.line_info or request.line_info
        self.attach_btf_id = request.attach_btf_id
        self.attach_btf = request.attach_btf
        self.attach_prog = request.attach_prog
        self.attach_info = verdict.attach_info
        self.verified_insns = verdict.insn_processed
        self.max_ctx_offset = int(verdict.stats.get("max_ctx_offset", 0))
        self.max_tp_access = int(verdict.stats.get("max_tp_access", 0))
        self.enforce_expected_attach_type = bool(verdict.stats.get("enforce_expected_attach_type", 0))
        self.writes_registers = bool(verdict.stats.get("writes_registers", 0))
        self.load_time_ns, self.uid = bpf.host.now_ns(), bpf.host.current_uid()
        self.run_time_ns = self.run_cnt = self.recursion_misses = 0
        self.free_aux = request.free_aux
        self.id = self.refs = 0
        self.runtime = Runtime(bpf, self)
        self.native: NativeCode | None = None  # the compiled program, once it is worth it and possible
        self.when_native: list[Callable[[], None]] = []  # called then
        self.busy: set[int] = set()  # CPUs on which it runs, where it must not interrupt itself
        self._run_code: Callable[[int, int], int] | None = None
        self._asks = False  # it, or who it jumps to, asks native code what started it
        self._cold = COLD_RUNS[bpf.tier]
        self.text = bpf.take_text(len(self.insns) * TEXT_STEP)
        self.places = Places(self.text, verdict.subprog_starts)
        self.orig_line_info = request.line_info
        self.counts = (ctypes.c_uint64 * len(self.insns))() if bpf.counting else None  # runs of each instruction
        self._untraced: Program | None = None  # while functions of it have trampolines
        bpf.idle_stack(STACK_BYTES)  # when it runs there is one, unless it interrupts another
        self.program = self._make_program(self._engine(fast), fast)
        for owner in self.used_maps:
            owner.get()
            if isinstance(owner, InsnArrayMap):
                owner.settle(self.places.address, lambda at: self.places.code_offset(at, self.machine_code))
        elsewhere = request.prog_type == uapi.BPF_PROG_TYPE_EXT or request.expected_attach_type in MANY_FUNCTIONS
        self.request = request if elsewhere else None  # to look at other targets
        self.trampolines: dict[int, Chain[BpfProg]] = {}  # of its functions, by the instruction where they begin
        self.entries: dict[int, Entry] = {}  # what calls them
        self.dst_prog: BpfProg | None = self.attach_prog  # until it is attached first
        if self.dst_prog is not None:
            self.dst_prog.get()
        for notify in bpf.on_loaded:
            notify(self)

    # ---- making it run ----

    def _engine(self, fast: bool) -> Callable[..., Program]:
        arena = next((used for used in self.used_maps if isinstance(used, ArenaMap)), None)
        classic = self.bpf.version.before(CLASSIC_UNTIL)
        if arena is not None:
            compiled = fast and self.bpf.intercept is None and self.program_class is None
            made = CompiledArenaProgram if compiled else ArenaProgram
            return partial(made, arena=arena, clears_missing=rules_of(self.bpf.version).arena_signed_loads)
        usual = JitProgram if fast and not classic and self.bpf.intercept is None else Program
        return self.program_class or usual

    def _make_program(self, make: Callable[..., Program], fast: bool) -> Program:
        return make(
            self.insns,
            self._memory(),
            bind_call=self._bind,
            classic=self.bpf.version.before(CLASSIC_UNTIL),
            name=f"bpf_prog_{self.tag.hex()}_{self.name}",
            tail_call=self._tail_call,
            function_address=self.function_address,
            jumped_to=self.places.index,
            load_packet=self._load_packet,
            unknown_opcode=self._unknown_opcode,
            fast=fast,
            native_call=self._native_call,
            block=self.bpf.host.block,
            counts=self.counts,
            in_native_run=self._in_native_run,
            int_calls=self._int_calls(),
        )

    def _int_calls(self) -> frozenset[int]:
        """Of an int that was returned all 64 bits are looked at."""
        arch = self.bpf.host.arch
        return frozenset() if arch is not None and arch.extends_int_results else self.verdict.int_calls

    def _memory(self) -> Memory:
        """What the program's loads and stores reach."""
        return self.bpf.mem

    def function_address(self, index: int) -> int:
        """Kernel address of the function of the program that starts at this instruction."""
        address = self.places.address(index)
        self.bpf.functions[address] = (self, index)
        return address

    def _bind(self, insn: Insn) -> Callable[[Registers], int]:
        """The helper (or kernel function) an instruction calls."""
        names = self._callee_names(insn)
        found = find(*names)
        call = found.bind(self.runtime) if found is not None else absent(names[0] or "?", self.bpf.version)
        return call if self.bpf.intercept is None else self.bpf.intercept(names, call)

    def _native_call(self, insn: Insn, constant: Constant) -> NativeCall | None:
        """How compiled code calls a helper without Python."""
        from bpf.helpers.native import native_call  # with LLVM behind it: who compiles waits for it

        return native_call(self.bpf, self._callee_names(insn), constant)

    def go_native(self) -> None:
        """Compile.  Native callers run it, too, but where a helper changes registers of the place that called it."""
        self._cold = -1
        program = self.program
        if any_watched(self.bpf.host, self.used_maps):
            self._cold = COLD_RUNS[self.bpf.tier]
            return
        if self._run_code is not None or not isinstance(program, JitProgram) or self.verdict.throws:
            return
        if not program.compile() or program.run_code is None:
            return
        self._run_code, self._asks = program.run_code, asks(self.orig_insns)
        if any(CHANGES_CALLER in self._callee_names(self.insns[i]) for i in program.helper_calls()):
            return
        program.data[0] = self.bpf.idle_stack(STACK_BYTES)
        blind, closed, data = not program.uses_context(), program.closed, ctypes.addressof(program.data)
        sight, reads, guards = program.sight()
        reads |= names_variables(self.orig_insns)
        self.native = NativeCode(program.code, data, program.raise_failure, blind, closed, 0, 0, sight, reads, guards)
        for notify in self.when_native:
            notify()

    def maps_watched(self) -> None:
        """Somebody watches functions of maps: where they are this program's it is interpreted, as compiled code does not call them."""
        if self.native is None and self._run_code is None:
            return
        if any_watched(self.bpf.host, self.used_maps):
            self.native, self._run_code, self._cold = None, None, COLD_RUNS[self.bpf.tier]
            for notify in self.when_native:
                notify()

    def interpret(self, kind: type[TracedProgram]) -> None:
        """Run on an interpreter of this kind from now on, also where it was compiled: a debugger is there."""
        self.program_class, self.native, self._run_code, self._cold = kind, None, None, -1
        self.program, self._untraced = self._make_program(kind, True), None
        self.trace_functions()
        for notify in self.when_native:
            notify()

    def callee(self, index: int) -> str:
        """The kernel function that the call instruction there calls."""
        return self.verdict.map_calls.get(index) or self._callee_names(self.insns[index])[0]

    def _callee_names(self, insn: Insn) -> list[str]:
        """Kernel function names to look for, the most particular first."""
        if insn.src_reg == BPF_PSEUDO_KFUNC_CALL:
            return [self.bpf.kfunc_name(insn.imm, insn.off)]
        if self.bpf.version.before(CLASSIC_UNTIL):
            from bpf.verifier.classic.types import program_type

            kind = program_type(self.type, self.bpf.version, None)
            return ["bpf_" + kind.helpers[insn.imm].name] if kind and insn.imm in kind.helpers else ["?"]
        from bpf.isa.callees import CALLEES
        from bpf.verifier.protos.choose import get_func_proto

        if insn.imm in CALLEES:
            return [CALLEES[insn.imm]]
        names = ["bpf_" + uapi.HELPER_NAMES.get(insn.imm, "unspec")]
        proto = get_func_proto(insn.imm, self.facts())
        return [proto.func, *names] if proto is not None and proto.func else names

    def facts(self) -> ProgramFacts:
        """What the tables of prototypes ask of a program."""
        from bpf.verifier.protos.choose import ProgramFacts

        return ProgramFacts(
            self.type,
            self.expected_attach_type,
            attach_func_name=self.attach_info.get("attach_func_name"),
            attach_member=self.attach_info.get("member"),
            attach_prog=self.attach_prog,
            version=self.bpf.version,
            sleepable=self.sleepable,
        )

    def _tail_call(self, r: Registers) -> bool:
        """bpf_tail_call(ctx, map, index): True if another program took over, and has ended."""
        array = self.bpf.map_at.get(r[2])
        index = r[3] & U32_MAX
        if not isinstance(array, ProgArrayMap) or index >= array.max_entries or r[TAIL_CALLS_AT] >= MAX_TAIL_CALLS:
            return False
        target = array.get_element(index)
        if not isinstance(target, BpfProg):
            return False
        r[TAIL_CALLS_AT] += 1
        target.runtime.cookie = self.runtime.cookie
        target.program.tail_called(r)
        return True

    def _load_packet(self, skb: int, off: int, size: int) -> int:
        """LD_ABS and LD_IND of the classic interpreter: the host knows where a packet's bytes are."""
        return self.bpf.host.load_packet(skb, off, size)

    def _unknown_opcode(self, code: int) -> None:
        self.bpf.host.pr(4, f"unknown opcode {code:02x}")

    # ---- running ----

    def run(self, ctx: int, cookie: int = 0, entry_ip: int = 0) -> int:
        """bpf_prog_run(): the low 32 bits of R0."""
        return self.run64(ctx, cookie, entry_ip) & U32_MAX

    def run64(self, ctx: int, cookie: int = 0, entry_ip: int = 0) -> int:
        """All of R0, which trampolines and iterators look at."""
        bpf, runtime = self.bpf, self.runtime
        if self._cold >= 0:
            self._cold -= 1
            if self._cold < 0 and bpf.tier is not Tier.PYTHON:
                self.go_native()
        if self.native is not None and self.native.closed and not bpf.stats_enabled:
            return self._run_compiled(ctx, bpf.idle_stack(STACK_BYTES), cookie, entry_ip)
        try:
            top = bpf.take_stack(STACK_BYTES)
        except OutOfMemory:  # for a run that interrupts another: missed, and counted
            self.recursion_misses += 1
            return 0
        bpf.enter()
        r = new_registers(ctx, top)
        before = runtime.regs, runtime.ctx, runtime.cookie, runtime.entry_ip
        runtime.regs, runtime.ctx, runtime.cookie, runtime.entry_ip = r, ctx, cookie, entry_ip
        started = bpf.host.now_ns() if bpf.stats_enabled else 0
        try:
            if self._run_code is not None:
                r[0] = self._run_compiled(ctx, top, cookie, entry_ip)
            else:
                self.program.execute(r)
        except Thrown as thrown:
            r[0] = self._catch(thrown.cookie, new_registers(ctx, top))
        finally:
            runtime.regs, runtime.ctx, runtime.cookie, runtime.entry_ip = before
            bpf.give_stack(top)
            bpf.leave()
        if bpf.stats_enabled:
            self.run_cnt += 1
            self.run_time_ns += bpf.host.now_ns() - started + len(self.insns)  # a nanosecond an instruction
        return r[0]

    def _catch(self, cookie: int, r: Registers) -> int:
        """What was thrown ends the run; the program's callback, if it has one, says with what."""
        start = self.verdict.exception_callback
        return self.program.call_back(r, start, cookie) if start else cookie

    def _in_native_run(self, call: HelperCall, r: Registers, ctx: int) -> int:
        """A helper's body in Python, in a run that native code began: it may find, free and run whatever it likes."""
        bpf, runtime, words = self.bpf, self.runtime, self.bpf.host.block.words
        assert isinstance(self.program, JitProgram)
        bpf.enter()
        top = self.program.data[0]
        bpf.idle_stacks.remove(top)  # the program is on it
        cpu = words[Word.CPU]
        first = cpu not in self.busy
        before = runtime.regs, runtime.ctx, runtime.cookie, runtime.entry_ip
        runtime.regs, runtime.ctx = r, ctx
        runtime.cookie, runtime.entry_ip = words[Word.COOKIE], words[Word.ENTRY_IP]
        self.busy.add(cpu)
        try:
            return call(r)
        finally:
            words[Word.COOKIE], words[Word.ENTRY_IP] = runtime.cookie, runtime.entry_ip
            runtime.regs, runtime.ctx, runtime.cookie, runtime.entry_ip = before
            if first:
                self.busy.discard(cpu)
            bpf.idle_stacks.append(top)
            bpf.leave()

    def _run_compiled(self, ctx: int, top: int, cookie: int, entry_ip: int) -> int:
        assert self._run_code is not None
        asked = self.bpf.host.block if self._asks else None
        value = run_told(self._run_code, asked, ctx, top, cookie, entry_ip) if asked else self._run_code(ctx, top)
        if value < 0:
            assert isinstance(self.program, JitProgram)
            self.program.failed(-value)
        return value

    def run_function(self, address: int, *args: int) -> int:
        """A function of the program by itself: a timer's callback."""
        prog, start = self.bpf.functions[address]
        bpf = self.bpf
        bpf.enter()
        top = bpf.take_stack(STACK_BYTES)
        r = new_registers(0, top)
        r[1 : 1 + len(args)] = args
        try:
            prog.program.execute(r, start)
        finally:
            bpf.give_stack(top)
            bpf.leave()
        return r[0]

    def replace_function(self, caller: Registers) -> int:
        """Run in place of another program's function, whose registers these are: all of R0."""
        bpf = self.bpf
        bpf.enter()
        top = bpf.take_stack(STACK_BYTES)
        r = new_registers(caller[1], top, caller[BUDGET_AT])
        r[2:6], r[TAIL_CALLS_AT] = caller[2:6], caller[TAIL_CALLS_AT]
        try:
            self.program.execute(r)
        finally:
            bpf.give_stack(top)
            bpf.leave()
        return r[0]

    def trace_functions(self) -> None:
        """From the next run on its functions begin with the present `entries`; with none left, as before."""
        if self.program_class is not None:
            pass  # it knows how
        elif not self.entries:
            self.program = self._untraced or self.program
            self._untraced, self._cold = None, COLD_RUNS[self.bpf.tier]
        elif self._untraced is None:
            self._untraced, self.program = self.program, self._make_program(TracedProgram, False)
            self.native, self._run_code, self._cold = None, None, -1
            for notify in self.when_native:
                notify()
        if isinstance(self.program, TracedProgram):
            self.program.entries = self.entries

    def missed(self) -> None:
        """Another program ran on this CPU: counted since 6.7 (dd8657894c11), not before."""
        if self.bpf.version.at_least("6.7"):
            self.recursion_misses += 1

    def stop_at(self, index: int, stop: Callable[[Registers], object] | None) -> None:
        """For tests of programs: call `stop(registers)` before an instruction runs, None: no more.  From now on it is interpreted."""
        self.native, self._run_code, self._cold = None, None, -1
        self.program.pause(index, stop)
        for notify in self.when_native:
            notify()

    # ---- lifetime ----

    def get(self) -> None:
        """One more reference."""
        self.refs += 1

    def put(self) -> None:
        """One reference less; the last one drops the program and its maps."""
        self.refs -= 1
        if self.refs == 0:
            self.bpf.progs.remove(self.id)
            self.bpf.defer(self._free)
            self.bpf.host.bpf_symbols_changed()

    release = put

    def _free(self) -> None:
        for owner in self.used_maps:
            owner.put()
        self.used_maps = []
        for address in [a for a, (prog, _) in self.bpf.functions.items() if prog is self]:
            del self.bpf.functions[address]
        if self.btf_object is not None:
            self.btf_object.put()
        self.free_aux()
        self.forget_target()
        self.bpf.mem.charge(-self.kept)

    def forget_target(self) -> None:
        """The program that it was loaded for is not kept any more."""
        if self.dst_prog is not None:
            target, self.dst_prog = self.dst_prog, None
            target.put()

    def bind_map(self, owner: BpfMap) -> None:
        """BPF_PROG_BIND_MAP: one more map whose life the program prolongs."""
        if owner not in self.used_maps:
            owner.get()
            self.used_maps.append(owner)

    # ---- properties ----

    def compatible_with(self, array: ProgArray) -> bool:
        """bpf_prog_map_compatible(): the first program decides what the others of a program array are."""
        mine = ProgArrayOwner(
            self.type,
            self.jited,
            self.expected_attach_type if self._alike_in_attach_type(array) else 0,
            bool(self.prog_flags & uapi.BPF_F_XDP_HAS_FRAGS),
            (self.attach_btf_id, id(self.attach_prog)) if self.type in TRACING_LIKE else None,
        )
        if array.owner is None:
            array.owner = mine
        return mine == array.owner

    def _alike_in_attach_type(self, array: ProgArray) -> bool:
        rules = rules_of(self.bpf.version)
        return rules.arrays_alike_in_attach_type and isinstance(array, ProgArrayMap)

    @cached_property
    def machine_code(self) -> list[Code]:
        """What the CPU's JIT compiler makes of each function; empty where it is off, or not known."""
        arch = self.bpf.host.arch
        if not self.jited or self.bpf.classic or (arch is not None and not arch.bpf_jit):
            return []
        from bpf.jit import compile_program  # only to be shown

        verdict = self.verdict
        starts = verdict.subprog_starts or (0,)
        return compile_program(self.insns, starts, verdict.stack_depths, verdict.tail_calls, self.bpf.host.structs)

    def symbols(self) -> list[tuple[int, str]]:
        """bpf_prog_kallsyms_add(): address and kallsyms name of each of its functions, the one that is called first last."""
        starts = self.verdict.subprog_starts or (0,)
        names = self.function_names(len(starts))
        rows = []
        rules = rules_of(self.bpf.version)
        first = 0 if len(starts) > 1 and not rules.first_function_named_once else 1
        for start, tag, name in list(zip(starts, self.tags(), names, strict=True))[first:]:
            rows.append((self.text + TEXT_STEP * start, f"bpf_prog_{tag.hex()}_{name or 'F'}"))
        main = names[0] or self.name
        return [*rows, (self.text, f"bpf_prog_{self.tag.hex()}" + (f"_{main}" if main else ""))]

    def tags(self) -> list[bytes]:
        """Of each function as rewritten; of a program with one alone as it was given."""
        starts = self.verdict.subprog_starts or (0,)
        if len(starts) < 2:
            return [self.tag]
        ends = (*starts[1:], len(self.insns))
        return [prog_tag(self.insns[start:end], self.byteorder) for start, end in zip(starts, ends, strict=True)]

    def function_names(self, count: int) -> list[str]:
        """bpf_get_prog_name(): what BTF calls the functions; "" for all of a program without func_info."""
        if self.btf is None or len(self.func_info) != count:
            return [""] * count
        return [self.btf.types[row[1]].name for row in self.func_info]

    def fdinfo(self) -> str:
        """bpf_prog_show_fdinfo()."""
        return (
            f"prog_type:\t{self.type}\nprog_jited:\t{int(self.jited)}\nprog_tag:\t{self.tag.hex()}\n"
            f"memlock:\t{self.pages * PAGE_SIZE}\nprog_id:\t{self.id}\nrun_time_ns:\t{self.run_time_ns}\nrun_cnt:\t{self.run_cnt}\n"
            f"recursion_misses:\t{self.recursion_misses}\nverified_insns:\t{self.verified_insns}\n"
        )


def prog_of_fd(bpf: Bpf, fd: int) -> BpfProg:
    """bpf_prog_get(): EBADF if not open, EINVAL if not a program."""
    found = bpf.host.fd_get(fd)
    if not isinstance(found, BpfProg):
        raise KernelError(EINVAL)
    return found


def load(bpf: Bpf, request: VerifyRequest, btf_object: BtfObject | None = None) -> tuple[Verdict, BpfProg | None]:
    """Verify, and make a program of what is accepted.  Neither id nor descriptor yet."""
    load_all()
    verdict = choose_verifier(request.version)(request)
    if verdict.ret:
        return verdict, None
    wanted = bpf.prog_class
    prog_class = wanted if wanted is not None and issubclass(wanted, BpfProg) else BpfProg
    prog = prog_class(bpf, request, verdict, btf_object=btf_object)
    rules = rules_of(request.version)
    kinds = HOLDS_PROGS if rules.progs_of_devices_alike else HOLDS_PROGS[:1]
    if not all(prog.compatible_with(used) for used in prog.used_maps if used.map_type in kinds):
        prog.get()
        prog.put()
        return replace(verdict, ret=-EINVAL), None  # bpf_check_tail_call(): who is loaded first decides
    return verdict, prog


def choose_verifier(version: KernelVersion) -> Callable[[VerifyRequest], Verdict]:
    """The classic verifier before 4.9, the modern one since.  One of the two places that read the version for it."""
    if version.before(CLASSIC_UNTIL):
        from bpf.verifier.classic.verifier import verify as classic

        return classic
    from bpf.verifier.modern import verify as modern

    return modern
