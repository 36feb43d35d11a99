"""Programs at many functions by one link, of the kernel or of a file, and sessions: at entry and return.  kernel/trace/bpf_trace.c."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial

from arch.abi.errno import EBADF, ESRCH
from arch.errors import KernelError
from arch.native import Word
from arch.native.handler import NativeHandler
from bpf.board import Bpf
from bpf.core.program import BpfProg
from bpf.core.run_array import trace_call_bpf
from bpf.face import Detach, FunctionsAttach, FunctionsAttached, KprobeMultiAttach, UprobeMultiAttach
from bpf.helpers import Session
from simkernel.fs.inode import Inode, Path
from simkernel.observe.face import WatchedKernel
from tracing.probes import programs as native_programs
from tracing.probes.kprobes import FPROBE, Kprobe, Kretprobe, KretprobeInstance
from tracing.probes.returns import Instances
from tracing.probes.uprobes import UprobeConsumer
from tracing.system import Tracing

COOKIE_BYTES = 8
MOST_RETURNS = 4096  # instances where calls are kept on shadow stacks
MISSED_ONCE = "6.13"  # seen in 7.2, not in 6.12: an entry that a session's program misses has no return


class FileOfProbes:
    """ProbedFile: what a path led to."""

    def __init__(self, k: WatchedKernel, found: Path) -> None:
        self.k, self.found = k, found

    @property
    def inode(self) -> Inode:
        """EBADF unless it is a regular file."""
        inode = self.found.dentry.inode
        if inode is None or not inode.is_reg:
            raise KernelError(EBADF, "no regular file")
        return inode

    def path(self) -> str:
        """d_path()."""
        return self.k.vfs.d_path(self.found)


class MultiProbes:
    """Such links of one machine."""

    def __init__(self, k: WatchedKernel, bpf: Bpf, tracing: Tracing) -> None:
        self.k, self.bpf, self.tracing = k, bpf, tracing
        self._free: list[int] = []  # words for the cookies of sessions

    def attach(self, prog: BpfProg, request: FunctionsAttach) -> FunctionsAttached:
        """KernelError where one of the places takes no probe: then none has one."""
        if isinstance(request, UprobeMultiAttach):
            return FunctionsAttached(self._attach_user(prog, request), int)
        return self._attach_kernel(prog, request)

    # ---- of the kernel ----

    def _attach_kernel(self, prog: BpfProg, request: KprobeMultiAttach) -> FunctionsAttached:
        """The cookie goes with the address."""
        arm, armed = self._session if request.session else self._one, list[Detach]()
        functions, instances = len(request.addresses), Instances(MOST_RETURNS)
        if not self.tracing.features.fprobes_on_shadow_stacks:
            instances = Instances(functions * 2 * self.bpf.host.nr_cpus)  # fprobe_init_rethook()
        try:
            for address, cookie in zip(request.addresses, request.cookies, strict=True):
                armed.append(arm(prog, address, cookie, request.is_return, instances))
        except KernelError:
            _all(armed)()
            if request.named:
                raise KernelError(ESRCH, "ftrace_lookup_symbols() knows functions only") from None
            raise
        return FunctionsAttached(_all(armed), lambda: instances.missed)

    def _one(self, prog: BpfProg, address: int, cookie: int, is_return: bool, instances: Instances) -> Detach:
        kprobes = self.tracing.kprobes

        def run(regs: int) -> None:
            trace_call_bpf(self.bpf, [prog], regs, cookie, address)

        def failed(regs: int) -> None:
            self.k.cpu.block.words[Word.NATIVE_STATUS] = 0
            if prog.native is not None:
                prog.native.failed()

        def compiled() -> NativeHandler | None:
            hits, code = native_programs.counter(), prog.native
            code = replace(code, cookie=cookie, entry_ip=address) if code is not None else None
            return native_programs.handler(hits, [code], failed, self.tracing.recorder, answer=False)

        ret = Kretprobe(lambda instance, regs: run(regs), addr=address, instances=instances)
        probe = Kprobe(run, addr=address)
        ret.kp.kind = probe.kind = FPROBE

        def aim() -> None:
            if is_return:
                kprobes.set_native_return(ret, compiled(), lambda regs, ret_addr: failed(regs))
            else:
                kprobes.set_native(probe, compiled())

        def detach() -> None:
            prog.when_native.remove(aim)
            if is_return:
                kprobes.unregister_kretprobe(ret)
            else:
                kprobes.unregister(probe)

        if is_return:
            kprobes.register_kretprobe(ret)
        else:
            kprobes.register(probe)
        prog.when_native.append(aim)
        aim()
        return detach

    def _session(self, prog: BpfProg, address: int, cookie: int, returns_only: bool, instances: Instances) -> Detach:
        """kprobe_multi_link_handler(), kprobe_multi_link_exit_handler()."""
        kprobes, missed = self.tracing.kprobes, int(self.bpf.version.at_least(MISSED_ONCE))

        def run(regs: int, session: Session) -> int:
            """Not where another program runs on this CPU."""
            if self.bpf.active[self.bpf.host.cpu_id()]:
                prog.missed()
                return missed
            return _knowing(prog, session, lambda: trace_call_bpf(self.bpf, [prog], regs, cookie, address))

        def enter(instance: KretprobeInstance, regs: int) -> bool:
            word = instance.data = self._word()
            if returns_only or not run(regs, Session(cookie=word)):
                return False
            self._free.append(word)
            return True

        def leave(instance: KretprobeInstance, regs: int) -> None:
            word = instance.data
            assert isinstance(word, int)
            run(regs, Session(True, word))
            self._free.append(word)

        ret = Kretprobe(leave, addr=address, entry_handler=enter, instances=instances)
        ret.kp.kind = FPROBE
        kprobes.register_kretprobe(ret)
        return lambda: kprobes.unregister_kretprobe(ret)

    def _word(self) -> int:
        """A call's cookie, zero."""
        word = self._free.pop() if self._free else self.k.mem.alloc(COOKIE_BYTES)
        self.k.mem.write_uint(word, COOKIE_BYTES, 0)
        return word

    # ---- of a file ----

    def _attach_user(self, prog: BpfProg, request: UprobeMultiAttach) -> Detach:
        """EINVAL, EIO from uprobe_register(): then none is left."""
        assert isinstance(request.file, FileOfProbes)
        inode, uprobes, armed = request.file.inode, self.tracing.uprobes, list[Detach]()
        consumers = [self._consumer(prog, request, cookie) for _, _, cookie in request.places]
        try:
            for consumer, (offset, counter, _) in zip(consumers, request.places, strict=True):
                uprobe = uprobes.register(inode, offset, consumer, counter)
                armed.append(partial(uprobes.unregister, uprobe, consumer))
        except KernelError:
            _all(armed)()
            raise
        return _all(armed)

    def _consumer(self, prog: BpfProg, request: UprobeMultiAttach, cookie: int) -> UprobeConsumer:
        k, process = self.k, request.process
        layout, ip_field = k.cpu.layout, k.arch.instruction_pointer

        def wanted(mm: Hashable) -> bool:
            task = k.tasks.by_pid.get(process) if process is not None else None
            return process is None or (task is not None and task.mm is mm)

        def run(address: int, regs: int, session: Session) -> int:
            """uprobe_prog_run(): whatever else runs on this CPU."""
            if process is not None and k.current.tgid != process:
                return 0
            return _knowing(prog, session, lambda: prog.run(regs, cookie, address))

        def hit(regs: int) -> int:
            return run(layout.get(k.mem, regs, ip_field), regs, Session())

        def returned(func: int, regs: int) -> int:
            return run(func, regs, Session(True))

        def enter(regs: int) -> int | None:
            word = self._word()
            if not run(layout.get(k.mem, regs, ip_field), regs, Session(cookie=word)):
                return word
            self._free.append(word)
            return None

        def leave(word: object, func: int, regs: int) -> None:
            assert isinstance(word, int)
            run(func, regs, Session(True, word))
            self._free.append(word)

        if request.is_return:  # also of a session: it has no cookie then
            return UprobeConsumer(ret_handler=returned, filter=wanted)
        if request.session:
            return UprobeConsumer(filter=wanted, session=(enter, leave))
        return UprobeConsumer(hit, filter=wanted)


def _knowing(prog: BpfProg, session: Session, run: Callable[[], int]) -> int:
    """A run of a program that knows of its session."""
    runtime = prog.runtime
    before, runtime.session = runtime.session, session
    try:
        return run()
    finally:
        runtime.session = before


def _all(armed: list[Detach]) -> Detach:
    def detach() -> None:
        for one in armed:
            one()

    return detach
