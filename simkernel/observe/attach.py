"""Where programs run that do not hang on perf events: raw tracepoints, fentry and fexit, filter files.

kernel/trace/bpf_trace.c, kernel/bpf/trampoline.c.  A program's context is an array of 64-bit arguments in kernel memory,
or a struct pt_regs; it lives for the length of the run.
"""

from __future__ import annotations

import struct
from dataclasses import replace

from arch.abi.errno import EBUSY, EEXIST, EINVAL, ENOENT, ENOTSUPP, EOPNOTSUPP
from arch.abi.limits import U64_MAX
from arch.cstring import kstrto
from arch.errors import KernelError
from arch.native import Word
from arch.native.handler import NativeCode, NativeHandler
from bpf import uapi
from bpf.board import Bpf
from bpf.core.attach_prog import attach_to_program
from bpf.core.cgroup import run_cgroup
from bpf.core.load import MULTI_FUNCTION
from bpf.core.program import BpfProg, prog_of_fd
from bpf.core.run_array import trace_call_bpf
from bpf.core.trampoline import FENTRY, FEXIT, FSESSION, MODIFY_RETURN
from bpf.face import Detach, IterAttach, RawTracepointAttach, TracingAttach, TracingMultiAttach
from bpf.layout import layout_of
from bpf.verifier.protos.attach_rules import FAULTABLE_TRACEPOINTS
from simkernel.observe import iterators
from simkernel.observe.face import WatchedKernel
from simkernel.observe.native_entry import RawRun, fentry_handler, fexit_handler, raw_point, raw_tracepoint
from simkernel.observe.trampoline import KernelTrampoline, Override, argument_reader
from tracing.files.nodes import OpenFile
from tracing.perf.event import PerfEvent
from tracing.record.event import TraceEvent
from tracing.system import Tracing

# Program types of 3.20-rfc, the tree of January 2015.
BPF_PROG_TYPE_TRACING_FILTER, BPF_PROG_TYPE_KPROBE_FILTER = 2, 3


TRAMPOLINE_KINDS = {
    uapi.BPF_TRACE_FENTRY: FENTRY,
    uapi.BPF_TRACE_FEXIT: FEXIT,
    uapi.BPF_MODIFY_RETURN: MODIFY_RETURN,
    uapi.BPF_TRACE_FSESSION: FSESSION,
    uapi.BPF_TRACE_FENTRY_MULTI: FENTRY,
    uapi.BPF_TRACE_FEXIT_MULTI: FEXIT,
    uapi.BPF_TRACE_FSESSION_MULTI: FSESSION,
}
# The word before a trampoline's array, of a session: how many words before the array the call's own is, and whether this is the return.
SESSION_WORD, SESSION_RETURN = 3 << 8, 1 << 63


class Attached:
    """A program on a perf event: the tracing floor's AttachedProgram."""

    def __init__(self, prog: BpfProg, cookie: int = 0, entry_ip: int = 0) -> None:
        prog.get()
        self.prog, self.cookie, self.entry_ip = prog, cookie, entry_ip
        self.id = prog.id
        self.when_native = prog.when_native

    @property
    def native(self) -> NativeCode | None:
        """The compiled program, with what this attachment adds."""
        code = self.prog.native
        if code is None or not (self.cookie or self.entry_ip):
            return code
        return replace(code, cookie=self.cookie, entry_ip=self.entry_ip)

    def run(self, ctx: int) -> int:
        """With this attachment's cookie, and the probed address for bpf_get_func_ip()."""
        return self.prog.run(ctx, self.cookie, self.entry_ip)

    def missed(self) -> None:
        """Not run, as another program ran here."""
        self.prog.missed()

    def release(self) -> None:
        """Detached."""
        self.prog.put()


class Attachments:
    """Programs at events of one machine."""

    def __init__(self, k: WatchedKernel, bpf: Bpf, tracing: Tracing, override: Override) -> None:
        self.k = k
        self.bpf = bpf
        self.tracing = tracing
        self.override = override
        self._contexts: list[int] = []
        self._depth = 0
        self._words = k.cpu.block.words
        self._layouts: dict[int, struct.Struct] = {}  # of so many arguments
        self.trampolines: dict[str, KernelTrampoline] = {}
        self.raw_tracepoints: set[tuple[int, str]] = set()  # (program, tracepoint)

    # ---- running ----

    def context(self, data: bytes) -> int:
        """Put a context into kernel memory; give it back with `done()`."""
        address = self._place()
        self.k.mem.write(address, data)
        self._depth += 1
        return address

    def _place(self) -> int:
        """Where the next context goes; native code that started a program has taken the first one."""
        depth = self._depth + self._words[Word.CONTEXT_TAKEN]
        while depth >= len(self._contexts):
            self._contexts.append(self.k.mem.alloc(1024))
        return self._contexts[depth]

    def done(self) -> None:
        """The context that was put last is not needed any more."""
        self._depth -= 1

    def run_args(self, prog: BpfProg, args: tuple[int, ...], cookie: int = 0, entry_ip: int = 0, extra: int = 0) -> int:
        """Run a program on an array of u64; a program that is already running on this CPU is not run (a miss).

        Before the array lie the function's address and the number of arguments, where bpf_get_func_ip() and
        bpf_get_func_arg_cnt() look for them; `extra` of the values (a return value) are no arguments.
        """
        if (
            prog.native is not None and prog.native.closed and not self.bpf.stats_enabled
        ):  # nothing that it calls leads back here
            return prog.run64(self._arguments(args, entry_ip, len(args) - extra), cookie, entry_ip)
        cpu = self.k.cpus.rq.cpu
        if cpu in prog.busy:
            prog.recursion_misses += 1
            return 0
        prog.busy.add(cpu)
        words = (entry_ip, len(args) - extra, *args)
        order = self.k.mem.byteorder
        address = self.context(b"".join((word & U64_MAX).to_bytes(8, order) for word in words))
        try:
            return prog.run64(address + 16, cookie, entry_ip)
        finally:
            self._depth -= 1
            prog.busy.discard(cpu)

    def run_session(
        self, prog: BpfProg, args: tuple[int, ...], cookie: int, entry_ip: int, word: int, is_return: bool
    ) -> int:
        """The same for a session, whose last value is the result; the call's word lies before all."""
        cpu = self.k.cpus.rq.cpu
        if cpu in prog.busy:
            prog.recursion_misses += 1
            return word
        prog.busy.add(cpu)
        flags = len(args) - 1 | SESSION_WORD | SESSION_RETURN * is_return
        order = self.k.mem.byteorder
        words = (word, entry_ip, flags, *args)
        address = self.context(b"".join((word & U64_MAX).to_bytes(8, order) for word in words))
        try:
            prog.run64(address + 24, cookie, entry_ip)
            return int(self.k.mem.read_uint(address, 8))
        finally:
            self._depth -= 1
            prog.busy.discard(cpu)

    def _arguments(self, args: tuple[int, ...], entry_ip: int, count: int) -> int:
        """Put the array for a run in which no other begins; the address of its first argument."""
        address = self._place()
        layout = self._layouts.get(len(args))
        if layout is None:
            mark = "<" if self.k.mem.byteorder == "little" else ">"
            layout = self._layouts[len(args)] = struct.Struct(f"{mark}{len(args) + 2}Q")
        at = address - self.k.mem.map.direct_map
        try:
            layout.pack_into(self.k.physical.buf, at, entry_ip, count, *args)
        except struct.error:  # a negative number among them
            layout.pack_into(self.k.physical.buf, at, entry_ip, count, *(arg & U64_MAX for arg in args))
        return address + 16

    def first_context(self) -> int:
        """Where the context of a run lies that no other run surrounds."""
        if not self._contexts:
            self._contexts.append(self.k.mem.alloc(1024))
        return self._contexts[0]

    # ---- raw tracepoints ----

    def attach_raw_tracepoint(self, prog: BpfProg, request: RawTracepointAttach) -> Detach:
        """BPF_RAW_TRACEPOINT_OPEN: the tracepoint's own arguments, as u64."""
        point = self.tracing.tracepoint(request.name)
        if point is None:
            raise KernelError(ENOENT, f"no tracepoint {request.name}")

        sleeps = prog.sleepable and prog.type == uapi.BPF_PROG_TYPE_RAW_TRACEPOINT
        if sleeps and request.name not in FAULTABLE_TRACEPOINTS:
            raise KernelError(EINVAL, "a program that may sleep, where that must not be")
        if prog.max_ctx_offset > 8 * len(point.params):
            raise KernelError(EINVAL, "the program reads more arguments than the tracepoint has")
        if prog.max_tp_access > point.decl.writable:
            raise KernelError(EINVAL, "so much of the tracepoint's argument may not be written")
        if (prog.id, request.name) in self.raw_tracepoints:
            raise KernelError(EEXIST, "the program is attached there")
        self.raw_tracepoints.add((prog.id, request.name))

        quick: RawRun | None = None
        words = self.k.cpu.block.words

        def compiled() -> None:
            nonlocal quick
            if request.cookie:
                return
            big, count = self.k.mem.byteorder == "big", len(point.params)
            quick = raw_tracepoint(prog.native, self.k.cpu.block, big, self.first_context(), count)
            form = raw_point(prog.native, self.k.cpu.block, big, self.first_context(), count)
            point.set_native(fired, form if request.name in ("sys_enter", "sys_exit") else None)

        def fired(*args: int) -> None:
            if quick is None or self._depth or self.bpf.running or words[Word.FALLBACK]:
                self.run_args(prog, args, request.cookie)
            else:
                quick(args)

        def detach() -> None:
            point.remove(fired)
            point.set_native(fired, None)
            prog.when_native.remove(compiled)
            self.raw_tracepoints.discard((prog.id, request.name))

        prog.when_native.append(compiled)
        if prog.native is not None:
            compiled()
        point.add(fired)
        return detach

    # ---- fentry, fexit, fmod_ret, tp_btf ----

    def attach_tracing(self, prog: BpfProg, request: TracingAttach) -> Detach:
        """A BPF trampoline on a kernel function, or a BTF-typed tracepoint."""
        kind, symbol = request.attach_type, request.symbol or ""
        if request.target is not None:
            assert isinstance(request.target, BpfProg)
            way = TRAMPOLINE_KINDS.get(kind, "")
            return attach_to_program(self, prog, way, request.target, request.btf_id, request.cookie)
        if kind == uapi.BPF_TRACE_RAW_TP:
            return self.attach_raw_tracepoint(
                prog, RawTracepointAttach(symbol.removeprefix("btf_trace_"), request.cookie)
            )
        self._must_fit(symbol)
        if kind == uapi.BPF_LSM_MAC:
            declared = self.k.types.function(symbol)
            return self.trampoline(symbol).link(MODIFY_RETURN if declared.ret.size else FEXIT, prog, request.cookie)
        if kind not in TRAMPOLINE_KINDS:
            raise KernelError(EOPNOTSUPP, f"attach type {kind}")
        return self.trampoline(symbol).link(TRAMPOLINE_KINDS[kind], prog, request.cookie)

    def attach_many(self, prog: BpfProg, request: TracingMultiAttach) -> Detach:
        """bpf_trampoline_multi_attach(): all of them, or none.  ENOENT; EBUSY, E2BIG, ENOTSUPP of one."""
        linked: list[Detach] = []

        def detach() -> None:
            for unlink in linked:
                unlink()

        try:
            for _, symbol, cookie in request.functions:
                if symbol == MULTI_FUNCTION:
                    raise KernelError(ENOENT, "it is not there when the kernel has started")
                self._must_fit(symbol)
                kind = TRAMPOLINE_KINDS[request.attach_type]
                linked.append(self.trampoline(symbol).link(kind, prog, cookie))
        except KernelError:
            detach()
            raise
        return detach

    def _must_fit(self, symbol: str) -> None:
        """arch_prepare_bpf_trampoline(), of the compiler: arguments on the stack came later.  ENOTSUPP."""
        if not self.bpf.built_with("BPF_JIT"):
            raise KernelError(ENOTSUPP, "the kernel is built without CONFIG_BPF_JIT")
        if self.k.arch.trampoline_arguments is None:
            return
        most, until = self.k.arch.trampoline_arguments
        declared = self.k.text.functions.get(symbol)
        if declared is not None and not declared[2] and len(declared[1].params) > most and self.k.version.before(until):
            raise KernelError(ENOTSUPP, f"{symbol} has more arguments than registers")

    def trampoline(self, symbol: str) -> KernelTrampoline:
        """bpf_trampoline_get(): the one of this function.  EBUSY."""
        found = self.trampolines.get(symbol)
        if found is None:
            if self.tracing.functions.refused(symbol):  # bpf_arch_text_poke() finds no room for its call
                raise KernelError(EBUSY, f"{symbol} cannot be traced")
            declared = self.k.text.functions.get(symbol)
            count = 1 if declared is None or declared[2] else len(declared[1].params)
            count = min(count, uapi.MAX_BPF_FUNC_ARGS)
            cpu, arch = self.k.cpu, self.k.arch

            def compile_entry(codes: list[NativeCode | None], entry: int) -> NativeHandler | None:
                return fentry_handler(codes, arch, cpu.layout, cpu.block, self.first_context(), entry, count)

            kprobes, rows = self.tracing.kprobes, self.tracing.kprobes.returns
            noted = count if count <= rows.can_note() else 0

            def compile_exit(codes: list[NativeCode | None], entry: int) -> NativeHandler | None:
                if not noted:
                    return None
                place = self.first_context()
                return fexit_handler(codes, arch, cpu.layout, cpu.block, place, rows.address, entry, count)

            found = KernelTrampoline(
                kprobes, symbol, argument_reader(count, self._argument), self, self.override, compile_entry,
                compile_exit, noted,
            )  # fmt: skip
            self.trampolines[symbol] = found
        return found

    def attach_lsm_cgroup(self, symbol: str, place: int) -> Detach:
        """__cgroup_bpf_run_lsm_current(): the programs of the current task's group."""

        def ask(args: tuple[int, ...]) -> int:
            group = self.k.vfs.cgroups.of(self.k.current)
            return run_cgroup(self.bpf, group, place, lambda prog: self.run_args(prog, args))[0]

        return self.trampoline(symbol).ask_groups(ask)

    def _argument(self, regs: int, number: int) -> int:
        return self.k.arch.argument(self.k.mem, regs, number, self.k.cpu.layout)

    # ---- iterators ----

    def attach_iter(self, prog: BpfProg, request: IterAttach) -> Detach:
        """Nothing happens until BPF_ITER_CREATE makes a file of the link; that asks for the target again."""
        if request.target not in iterators.TARGETS:
            raise KernelError(ENOENT, f"no iterator over {request.target}")
        return lambda: None

    # ---- perf_event programs ----

    def perf_overflow(self, event: PerfEvent, regs: int, addr: int, period: int) -> int:
        """bpf_overflow_handler(): struct bpf_perf_event_data_kern, which points to registers and sample."""
        program = event.program
        assert isinstance(program, Attached)
        kernel, mem = layout_of(self.k.types), self.k.mem
        kern_size, sample_size = kernel.sizeof("bpf_perf_event_data_kern"), kernel.sizeof("perf_sample_data")
        context = self.context(bytes(kern_size + sample_size + self.k.cpu.layout.size))
        sample = context + kern_size
        for path, base, value in (
            ("bpf_perf_event_data_kern.regs", context, regs or sample + sample_size),
            ("bpf_perf_event_data_kern.data", context, sample),
            ("perf_sample_data.period", sample, period & U64_MAX),
            ("perf_sample_data.addr", sample, addr & U64_MAX),
        ):
            place = kernel.place(path)
            mem.write_uint(base + place.offset, place.size, value)
        self.bpf.perf_events[context] = event
        try:
            return trace_call_bpf(self.bpf, [program.prog], context, program.cookie)
        finally:
            del self.bpf.perf_events[context]
            self._depth -= 1

    # ---- the filter files of January 2015 ----

    def install(self) -> None:
        """3.20-rfc: `bpf-N` written to an event's filter file."""
        self.tracing.tracefs.filter_hook = self.filter_program

    def filter_program(self, event: TraceEvent, text: str, token: OpenFile) -> FilterProgram:
        """The program that `bpf-N` names.  EINVAL, ERANGE for bad numbers, EBADF, EINVAL for bad descriptors."""
        number = kstrto(text[4:], 0, 32, True)
        prog = prog_of_fd(self.bpf, number)
        kprobe = event.dynamic
        if prog.type != (BPF_PROG_TYPE_KPROBE_FILTER if kprobe else BPF_PROG_TYPE_TRACING_FILTER):
            raise KernelError(EINVAL, "a program of another type")
        return FilterProgram(self, prog)


class FilterProgram:
    """A program in an event's filter file."""

    def __init__(self, attachments: Attachments, prog: BpfProg) -> None:
        prog.get()
        self.attachments, self.prog = attachments, prog
        mark = "<" if attachments.k.mem.byteorder == "little" else ">"
        self.pack = struct.Struct(mark + "6Q").pack

    def run_args(self, args: tuple[int, ...]) -> int:
        """Tracepoints and system calls: struct bpf_context, six arguments, unused ones 0.  There is no recursion guard."""
        a, b, c, d, e, f = args if len(args) == 6 else (*args, 0, 0, 0, 0, 0, 0)[:6]
        attachments = self.attachments
        address = attachments.context(
            self.pack(a & U64_MAX, b & U64_MAX, c & U64_MAX, d & U64_MAX, e & U64_MAX, f & U64_MAX)
        )
        try:
            return self.prog.run(address)
        finally:
            attachments.done()

    def run_regs(self, regs: int) -> int:
        """Kprobes: struct pt_regs."""
        return self.prog.run(regs)

    def release(self) -> None:
        """Replaced, or its file closed."""
        self.prog.put()
