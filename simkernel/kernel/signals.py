"""Signals: sending, blocking, taking.  kernel/signal.c, include/uapi/asm-generic/{signal,siginfo}.h.

What a task does with a signal that it took (default actions, the handler's frame) is kernel functions of
calls/signal.py.
"""

from __future__ import annotations

from arch.abi.errno import EAGAIN
from arch.abi.internal import GFP_ATOMIC
from arch.abi.resource import RLIMIT_SIGPENDING
from arch.abi.signal import (
    SA_NOCLDSTOP,
    SI_KERNEL,
    SI_TIMER,
    SI_USER,
    SIG_DFL,
    SIG_IGN,
    SIGABRT,
    SIGALRM,
    SIGBUS,
    SIGCHLD,
    SIGCONT,
    SIGFPE,
    SIGHUP,
    SIGILL,
    SIGKILL,
    SIGQUIT,
    SIGSEGV,
    SIGSTOP,
    SIGSYS,
    SIGTRAP,
    SIGTSTP,
    SIGTTIN,
    SIGTTOU,
    SIGURG,
    SIGWINCH,
    SIGXCPU,
    SIGXFSZ,
    TRAP_PERF,
)
from arch.architecture import Architecture
from arch.cview import View
from arch.errors import KernelError
from arch.memory import KernelMemory
from arch.typetable import TypeTable
from simkernel.kernel.cpus import Cpus
from simkernel.kernel.objects import Objects
from simkernel.kernel.sigpending import SIGQUEUE_SIZE, SigAction, SigInfo, bit, bits
from simkernel.kernel.task import (
    PF_EXITING,
    PF_KTHREAD,
    TASK_STOPPED,
    Crash,
    CurrentTask,
    SignalStruct,
    Task,
    fatal_pending,
    has_signal,
)
from simkernel.kernel.tasks import Tasks
from simkernel.kernel.tracepoints import Tracepoints
from simkernel.kernel.user import User, Users

STOPS = bits(SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU)
IGNORED_BY_DEFAULT = bits(SIGCONT, SIGCHLD, SIGWINCH, SIGURG)
CORE = bits(SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGSEGV, SIGBUS, SIGSYS, SIGXCPU, SIGXFSZ)


# the highest si_code of each signal that has an address: include/uapi/asm-generic/siginfo.h, NSIGILL and so on
FAULT_CODES = {SIGILL: 11, SIGFPE: 15, SIGSEGV: 10, SIGBUS: 5, SIGTRAP: 6}


TRAP_PERF_FLAG_ASYNC = 1  # include/uapi/asm-generic/siginfo.h: it was blocked when it came
DELIVERED, IGNORED, ALREADY_PENDING, OVERFLOW_FAIL, LOSE_INFO = range(
    5
)  # TRACE_SIGNAL_*: include/trace/events/signal.h


class Signals:
    """`k.signals`: sending and taking signals."""

    def __init__(
        self,
        board: CurrentTask,
        arch: Architecture,
        mem: KernelMemory,
        types: TypeTable,
        cpus: Cpus,
        tasks: Tasks,
        tracepoints: Tracepoints,
        users: Users,
        objects: Objects,
    ) -> None:
        self.board, self.arch, self.mem, self.types = board, arch, mem, types
        self._stopped: list[SignalStruct] = []  # processes that were stopped, some of which go on again
        self.cpus, self.tasks, self.tracepoints = cpus, tasks, tracepoints
        self.users, self.objects = users, objects
        self.delivering: SigInfo | None = None  # of the frame that is being made
        self.crashes: list[Crash] = []

    # -- sending -------------------------------------------------------------------------------------------------

    def send(self, task: Task, sig: int, code: int = SI_KERNEL, **info: int) -> int:
        """send_signal to a thread group; 0, or -EAGAIN where a real-time signal found no room."""
        return self._send(task, sig, code, True, info)

    def send_perf(self, task: Task, addr: int, data: int, kind: int) -> None:
        """send_sig_perf(): SIGTRAP, which may be blocked."""
        info = SigInfo(SIGTRAP, TRAP_PERF)
        info.addr, info.perf = addr, (data, kind, TRAP_PERF_FLAG_ASYNC if task.blocked & bit(SIGTRAP) else 0)
        if self._prepare(task, SIGTRAP, TRAP_PERF) and not task.pending.has(SIGTRAP) and self._alloc(task, info):
            task.pending.append(info)
            self._queued(task, info, False, DELIVERED)

    def send_thread(self, task: Task, sig: int, code: int = SI_KERNEL, **info: int) -> int:
        """send_signal to one thread."""
        return self._send(task, sig, code, False, info)

    def _send(self, task: Task, sig: int, code: int, group: bool, values: dict[str, int]) -> int:
        if not sig or task.spared & bit(sig):
            return 0
        info = SigInfo(sig, code)
        for name, value in values.items():
            setattr(info, name, value)
        if task.pid_ns is not None:  # the receiver is told the number that it knows the sender by
            info.pid = self.tasks.number_in(task.pid_ns, info.pid)
        if not self._prepare(task, sig, code):
            self.trace_signal("signal_generate", info, task.addr, int(group), IGNORED)
            return 0
        queue = task.signal.pending if group else task.pending
        if sig < 32 and queue.has(sig):
            self.trace_signal("signal_generate", info, task.addr, int(group), ALREADY_PENDING)
            return 0
        result = DELIVERED if self._alloc(task, info) else LOSE_INFO
        if result == LOSE_INFO:
            if sig >= 32 and code not in (SI_USER, SI_KERNEL):
                self.trace_signal("signal_generate", info, task.addr, int(group), OVERFLOW_FAIL)
                return -EAGAIN
            queue.lose(sig)
        else:
            if info.user is not None and self.objects.watched:
                info.place = self.mem.alloc(SIGQUEUE_SIZE)
                self.objects.made("sigqueue", info.place, "__sigqueue_alloc", GFP_ATOMIC)
            queue.append(info)
        self._queued(task, info, group, result)
        return 0

    def _alloc(self, task: Task, info: SigInfo) -> bool:
        """__sigqueue_alloc(): room for what is said of a signal.  SIGKILL, and kernel threads, need none."""
        if info.sig == SIGKILL or task.flags & PF_KTHREAD:
            return True
        override = info.sig < 32 and info.code >= 0
        info.user = self.count(task, override)
        return info.user is not None

    def count(self, task: Task, override: bool = False) -> User | None:
        """One more queued signal or timer of the task's user; None when RLIMIT_SIGPENDING (or memory) forbids it."""
        user, limit = self.users.of(task.cred.uid), task.rlimits[RLIMIT_SIGPENDING][0]
        if not override and 0 <= limit <= user.sigpending:
            return None
        try:
            user.charge(SIGQUEUE_SIZE)
        except KernelError:
            return None
        user.sigpending += 1
        return user

    def send_sigqueue(self, task: Task, info: SigInfo, group: bool) -> bool:
        """The signal of a timer: its place was taken when the timer was made.  Not where it is ignored."""
        if not self._prepare(task, info.sig, info.code):
            self.trace_signal("signal_generate", info, task.addr, int(group), IGNORED)
            return False
        (task.signal.pending if group else task.pending).append(info)
        self._queued(task, info, group, DELIVERED)
        return True

    def _queued(self, task: Task, info: SigInfo, group: bool, result: int) -> None:
        listeners = task.signal.signalfd_wait
        if listeners.waiters or listeners.on_wake:
            self.cpus.wake_up(listeners, 0)
        self.trace_signal("signal_generate", info, task.addr, int(group), result)
        self._complete(task, info.sig, group)

    def _prepare(self, task: Task, sig: int, code: int) -> bool:
        """prepare_signal(): STOP and CONT cancel each other; false when the signal is ignored."""
        signal = task.signal
        if signal.group_exiting:
            return sig == SIGKILL
        if sig == SIGKILL:
            signal.stop_reported, signal.continued = True, False  # nobody is told of the stop any more
        if bit(sig) & STOPS:
            self.flush(signal, bit(SIGCONT))
        elif sig == SIGCONT:
            self.flush(signal, STOPS)
            if signal.stopped:
                signal.stopped, signal.continued, signal.stop_reported = False, True, True
                for thread in signal.threads:
                    thread.stop_ignored = False
                    if thread.ptrace_seized:
                        thread.ptrace_trap = thread.work = True
                    if thread.state == TASK_STOPPED or thread.ptrace_listening:
                        self.cpus.activate(thread, 0)
                leader = task.group_leader
                self.cpus.wake_up(leader.parent.signal.wait_chldexit)
                self._tell_parent(task, 6, SIGCONT)
        blocked = task.blocked | task.real_blocked
        if (blocked if task.saved_blocked is None else blocked | task.saved_blocked) & bit(sig):
            return True
        if signal.ns_init and signal.actions[sig].handler == SIG_DFL:
            outside = not (task.pid_ns is not None and task.pid_ns.contains(self.board.current.pid_ns))
            if not (outside and sig in (SIGKILL, SIGSTOP)):
                return False
        if (task.pid == 1 or (signal.unkillable and code <= SI_USER)) and signal.actions[sig].handler == SIG_DFL:
            return False
        return not self.ignores(task, sig)

    def ignores(self, task: Task, sig: int) -> bool:
        """The signal has no effect on this task; a tracer wants to see it all the same."""
        if task.ptracer is not None and sig != SIGKILL:
            return False
        handler = task.signal.actions[sig].handler
        return handler == SIG_IGN or (handler == SIG_DFL and bool(bit(sig) & IGNORED_BY_DEFAULT))

    def flush(self, signal: SignalStruct, mask: int) -> None:
        """flush_sigqueue_mask(): forget pending signals of a mask."""
        for queue in (signal.pending, *(thread.pending for thread in signal.threads)):
            queue.flush(mask)

    def _complete(self, task: Task, sig: int, group: bool) -> None:
        """complete_signal(): choose the thread that takes it, wake it; a fatal one ends the whole group."""
        signal = task.signal
        chosen = task
        if group and (task.blocked & bit(sig) or task.flags & PF_EXITING):
            for thread in signal.threads:
                if not thread.blocked & bit(sig) and not thread.flags & PF_EXITING:
                    chosen = thread
                    break
        if chosen.blocked & bit(sig) and sig != SIGKILL:
            return
        fatal = sig == SIGKILL or (
            signal.actions[sig].handler == SIG_DFL
            and not bit(sig) & (STOPS | IGNORED_BY_DEFAULT)
            and not chosen.real_blocked & bit(sig)
        )
        ends = fatal and not bit(sig) & CORE and (sig == SIGKILL or chosen.ptracer is None)
        if ends:
            signal.fatal = True
            for thread in signal.threads:
                self.cpus.wake_signal(thread, True)
        self.cpus.wake_signal(chosen, ends)

    def kill_other_threads(self, me: Task) -> None:
        """zap_other_threads()."""
        for thread in me.signal.threads:
            if thread is not me and not thread.flags & PF_EXITING:
                thread.pending.append(SigInfo(SIGKILL))
                self.cpus.wake_signal(thread, True)

    def trace_signal(self, name: str, info: SigInfo, *rest: int | SigAction) -> None:
        """Fire a signal tracepoint, with the siginfo (and the k_sigaction) in memory meanwhile."""
        point = self.tracepoints.points.get(name)
        if point is None or not point.active:
            return
        address = self.mem.alloc(256)
        try:
            self.mem.write(address, self.siginfo(info))
            if rest and isinstance(rest[0], SigAction):
                self.mem.write(address + 128, bytes(128))
                view = View(self.mem, address + 128, self.types.type("struct k_sigaction"))
                view.sa.sa_handler, view.sa.sa_flags = rest[0].handler, rest[0].flags
                rest = (address + 128,)
            point.fire(info.sig, address, *rest)
        finally:
            self.mem.free(address)

    def force(self, task: Task, sig: int, code: int, addr: int) -> None:
        """force_sig_fault(): cannot be blocked or ignored."""
        action = task.signal.actions[sig]
        if task.blocked & bit(sig) or action.handler == SIG_IGN:
            task.signal.actions[sig] = action.handled_by(SIG_DFL)
            task.blocked &= ~bit(sig)
        info = SigInfo(sig, code)
        info.addr = addr
        self._force(task, info)

    def force_info(self, task: Task, info: SigInfo) -> None:
        """force_sig_info(): the same with more to say."""
        action = task.signal.actions[info.sig]
        if task.blocked & bit(info.sig) or action.handler == SIG_IGN:
            task.signal.actions[info.sig] = action.handled_by(SIG_DFL)
            task.blocked &= ~bit(info.sig)
        self._force(task, info)

    def _force(self, task: Task, info: SigInfo) -> None:
        task.pending.append(info)
        self.trace_signal("signal_generate", info, task.addr, 0, 0)
        task.work = True

    def _tell_parent(self, task: Task, code: int, status: int) -> None:
        """do_notify_parent_cldstop()."""
        parent = task.group_leader.parent
        action = parent.signal.actions[SIGCHLD]
        if action.handler != SIG_IGN and not action.flags & SA_NOCLDSTOP:
            self.send(parent, SIGCHLD, code, pid=task.tgid, uid=task.cred.uid, status=status)
        self.cpus.wake_up(parent.signal.wait_chldexit)

    # -- looking -------------------------------------------------------------------------------------------------

    def pending(self) -> bool:
        """For bodies: the current task should stop waiting."""
        if not has_signal(self.board.current):
            return False
        self.board.current.work = self.board.current.signal_woken = (
            True  # perhaps another thread takes it: then this one has a call to restart
        )
        return True

    def fatal_pending(self) -> bool:
        """fatal_signal_pending() of the current task."""
        return fatal_pending(self.board.current)

    def recalc(self, task: Task) -> None:
        """After a change of the mask."""
        if has_signal(task):
            task.work = True

    def dequeue(self, task: Task, mask: int) -> SigInfo | None:
        """dequeue_signal(): the next pending signal that is not in `mask`; faults first, then by number."""
        for queue in (task.pending, task.signal.pending):
            info = queue.take(mask)
            if info is not None:
                if info.place:
                    self.objects.gone("sigqueue", info.place, "dequeue_signal")
                    self.mem.free(info.place)
                if info.code == SI_TIMER:
                    timer = task.signal.posix_timers.get(info.pid)
                    if timer is not None and timer.requeue is not None and timer.sigqueue is info:
                        timer.requeue(info)
                elif info.sig == SIGALRM and queue is task.signal.pending:
                    real = task.signal.itimers[0]
                    if real is not None:
                        real.requeue()
                return info
        return None

    def stop(self, task: Task, sig: int) -> None:
        """do_signal_stop()."""
        signal = task.signal
        signal.stopped, signal.stop_code, signal.stop_reported, signal.continued = True, sig, False, False
        for thread in signal.threads:
            thread.stop_ignored = False
            if thread is not task:
                self.cpus.wake_signal(thread, False)
        self._stopped.append(signal)
        self._tell_parent(task, 5, sig)

    def is_orphaned(self, pgid: int, session: int, ignored: Task | None = None) -> bool:
        """will_become_orphaned_pgrp(): nobody in the session could continue the group."""
        for other in self.tasks.by_pid.values():
            if other.pgid == pgid and other is other.group_leader and other is not ignored and not other.exit_state:
                parent = other.real_parent
                if parent.pid != 1 and parent.pgid != pgid and parent.session == session:
                    return False
        return True

    def orphaned_groups(self, task: Task, groups: set[int]) -> None:
        """kill_orphaned_pgrp(): of the groups of those whose parent ended, and of its own, each that is stopped and became orphaned."""
        self._stopped = [signal for signal in self._stopped if signal.stopped and signal.threads]
        if not self._stopped:
            return
        leader = task.group_leader
        parent = leader.real_parent
        orphans = {pgid for pgid in groups if pgid != leader.pgid}
        if parent.pgid != leader.pgid and parent.session == leader.session:
            orphans.add(leader.pgid)
        for pgid in sorted(orphans):
            members = [t for t in self.tasks.by_pid.values() if t.pgid == pgid and t is t.group_leader]
            if any(t.signal.stopped and t.session == leader.session for t in members) and self.is_orphaned(
                pgid, leader.session, leader
            ):
                for member in members:
                    self.send(member, SIGHUP)
                    self.send(member, SIGCONT)

    # -- frames --------------------------------------------------------------------------------------------------

    def siginfo(self, info: SigInfo) -> bytes:
        """siginfo_t, 128 bytes.  include/uapi/asm-generic/siginfo.h."""
        order = self.mem.byteorder
        word = self.arch.word

        def i32(value: int) -> bytes:
            return (value & 0xFFFFFFFF).to_bytes(4, order)

        head = i32(info.sig) + i32(info.errno) + i32(info.code)
        if word == 8:
            head += bytes(4)
        if info.perf is not None:
            body = b"".join(
                (value & ((1 << 8 * word) - 1)).to_bytes(word, order) for value in (info.addr, info.perf[0])
            )
            body += i32(info.perf[1]) + i32(info.perf[2])
        elif 0 < info.code <= FAULT_CODES.get(info.sig, 0) or (info.addr and not info.code):  # s390x traps with code 0
            body = info.addr.to_bytes(word, order) + (info.lsb.to_bytes(2, order) if info.lsb else b"")
        elif info.band:
            body = info.band.to_bytes(word, order) + i32(info.fd)
        elif info.call is not None:
            body = info.addr.to_bytes(word, order) + i32(info.call[0]) + i32(info.call[1])
        elif info.sig == SIGCHLD and info.code > 0:
            body = i32(info.pid) + i32(info.uid) + i32(info.status)
            body += bytes(4 if word == 8 else 0)
            body += info.utime.to_bytes(word, order) + info.stime.to_bytes(word, order)
        else:
            body = i32(info.pid) + i32(info.uid) + (info.value & ((1 << 8 * word) - 1)).to_bytes(word, order)
        return (head + body).ljust(128, b"\0")

    def siginfo_child(self, sig: int, code: int, pid: int, uid: int, status: int) -> bytes:
        """For waitid()."""
        info = SigInfo(sig, code, pid, uid)
        info.status = status
        return self.siginfo(info)

    def record_crash(self, task: Task, info: SigInfo, registers: list[tuple[str, int]]) -> None:
        """Keep what a person wants to know of a program that a signal ends."""
        task.crash = Crash(task, info, registers)
        self.crashes.append(task.crash)
