"""Signals: sending, blocking, delivering.  kernel/signal.c, arch/*/kernel/signal.c.

The layout of the frame that a handler gets on the user stack is the architecture's (arch/<name>/signal.py).
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from arch.abi.errno import EAGAIN, EFAULT, EINTR, EINVAL, ENOMEM, EPERM, ERESTARTNOHAND, ERESTARTSYS, ESRCH, ETIME
from arch.abi.signal import (
    MINSIGSTKSZ,
    SA_NOCLDSTOP,
    SA_NODEFER,
    SA_RESETHAND,
    SI_KERNEL,
    SI_TKILL,
    SI_USER,
    SIG_BLOCK,
    SIG_DFL,
    SIG_IGN,
    SIG_SETMASK,
    SIG_UNBLOCK,
    SIGABRT,
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
    SS_AUTODISARM,
    SS_DISABLE,
    SS_ONSTACK,
)
from arch.errors import KernelError
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.task import (
    PF_EXITING,
    TASK_INTERRUPTIBLE,
    TASK_STOPPED,
    SigAction,
    SigInfo,
    Task,
    mask_of,
)

if TYPE_CHECKING:
    from simkernel.kernel.kernel import Kernel

Body = Generator[Any, Any, Any]


def bit(sig: int) -> int:
    """sigmask(sig)."""
    return 1 << (sig - 1)


def bits(*sigs: int) -> int:
    """Mask of several signals."""
    return sum(bit(s) for s in sigs)


UNBLOCKABLE = bits(SIGKILL, SIGSTOP)
STOPS = bits(SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU)
IGNORED_BY_DEFAULT = bits(SIGCONT, SIGCHLD, SIGWINCH, SIGURG)
CORE = bits(SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGSEGV, SIGBUS, SIGSYS, SIGXCPU, SIGXFSZ)
SYNCHRONOUS = bits(SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGSYS)


class Signals:
    """Sending and taking signals: a mixin of Kernel."""

    # -- sending -------------------------------------------------------------------------------------------------

    def send_signal(self: Any, task: Task, sig: int, code: int = SI_KERNEL, **info: Any) -> None:
        """send_signal to a thread group."""
        self._send(task, sig, code, True, info)

    def send_thread_signal(self: Any, task: Task, sig: int, code: int = SI_KERNEL, **info: Any) -> None:
        """send_signal to one thread."""
        self._send(task, sig, code, False, info)

    def _send(self: Any, task: Task, sig: int, code: int, group: bool, values: dict[str, Any]) -> None:
        if not sig:
            return
        signal = task.signal
        info = SigInfo(sig, code)
        for name, value in values.items():
            setattr(info, name, value)
        if not self._prepare(task, sig):
            self._trace_signal("signal_generate", info, task.addr, int(group), 1)
            return
        queue = signal.pending if group else task.pending
        if sig < 32 and any(i.sig == sig for i in queue):
            self._trace_signal("signal_generate", info, task.addr, int(group), 2)
            return
        queue.append(info)
        self._trace_signal("signal_generate", info, task.addr, int(group), 0)
        self._complete(task, sig, group)

    def _prepare(self: Any, task: Task, sig: int) -> bool:
        """prepare_signal(): STOP and CONT cancel each other; false when the signal is ignored."""
        signal = task.signal
        if signal.group_exiting:
            return sig == SIGKILL
        if bit(sig) & STOPS:
            self.flush_signals(signal, bit(SIGCONT))
        elif sig == SIGCONT:
            self.flush_signals(signal, STOPS)
            if signal.stopped:
                signal.stopped, signal.continued, signal.stop_reported = False, True, True
                for thread in signal.threads:
                    self.activate(thread, 0)
                leader = task.group_leader
                self.wake_up(leader.parent.signal.wait_chldexit)
                self._tell_parent(task, 6, SIGCONT)
        blocked = task.blocked | (mask_of([]) if task.saved_blocked is None else task.saved_blocked)
        if blocked & bit(sig):
            return True
        if task.pid == 1 and signal.actions[sig].handler == SIG_DFL:
            return False
        return not self.ignores(task, sig)

    def ignores(self: Any, task: Task, sig: int) -> bool:
        """The signal has no effect on this task."""
        handler = task.signal.actions[sig].handler
        return handler == SIG_IGN or (handler == SIG_DFL and bool(bit(sig) & IGNORED_BY_DEFAULT))

    def flush_signals(self: Any, signal: Any, mask: int) -> None:
        """flush_sigqueue_mask(): forget pending signals of a mask."""
        signal.pending = [i for i in signal.pending if not bit(i.sig) & mask]
        for thread in signal.threads:
            thread.pending = [i for i in thread.pending if not bit(i.sig) & mask]

    def _complete(self: Any, task: Task, sig: int, group: bool) -> None:
        """complete_signal(): choose the thread that takes it, wake it; a fatal one ends the whole group."""
        signal = task.signal
        chosen = task
        if group and (task.blocked & bit(sig) or task.flags & PF_EXITING):
            for thread in signal.threads:
                if not thread.blocked & bit(sig) and not thread.flags & PF_EXITING:
                    chosen = thread
                    break
        if chosen.blocked & bit(sig) and sig != SIGKILL:
            if chosen.sigwait & bit(sig):
                self.activate(chosen, -ERESTARTSYS)
            return
        fatal = sig == SIGKILL or (
            signal.actions[sig].handler == SIG_DFL
            and not bit(sig) & (STOPS | IGNORED_BY_DEFAULT)
            and not chosen.blocked & bit(sig)
        )
        if sig == SIGKILL:
            for thread in signal.threads:
                self.wake_signal(thread, True)
        self.wake_signal(chosen, fatal)

    def kill_other_threads(self: Any, me: Task) -> None:
        """zap_other_threads()."""
        for thread in me.signal.threads:
            if thread is not me and not thread.flags & PF_EXITING:
                thread.pending.append(SigInfo(SIGKILL))
                self.wake_signal(thread, True)

    def _trace_signal(self: Any, name: str, info: SigInfo, *rest: Any) -> None:
        """Fire a signal tracepoint, with the siginfo (and the k_sigaction) in memory meanwhile."""
        point = self.tracepoints.get(name)
        if point is None or not point.active:
            return
        address = self.mem.alloc(256)
        try:
            self.mem.write(address, self.siginfo(info))
            if rest and isinstance(rest[0], SigAction):
                self.mem.write(address + 128, bytes(128))
                view = self.view(address + 128, "struct k_sigaction")
                view.sa.sa_handler, view.sa.sa_flags = rest[0].handler, rest[0].flags
                rest = (address + 128,)
            point.fire(info.sig, address, *rest)
        finally:
            self.mem.free(address)

    def force_signal(self: Any, task: Task, sig: int, code: int, addr: int) -> None:
        """force_sig_fault(): cannot be blocked or ignored."""
        action = task.signal.actions[sig]
        if task.blocked & bit(sig) or action.handler == SIG_IGN:
            action.handler = SIG_DFL
            task.blocked &= ~bit(sig)
        info = SigInfo(sig, code)
        info.addr = addr
        task.pending.append(info)
        self._trace_signal("signal_generate", info, task.addr, 0, 0)
        task.work = True

    def _tell_parent(self: Any, task: Task, code: int, status: int) -> None:
        """do_notify_parent_cldstop()."""
        parent = task.group_leader.parent
        action = parent.signal.actions[SIGCHLD]
        if action.handler != SIG_IGN and not action.flags & SA_NOCLDSTOP:
            self.send_signal(parent, SIGCHLD, code, pid=task.tgid, uid=task.cred.uid, status=status)
        self.wake_up(parent.signal.wait_chldexit)

    # -- looking -------------------------------------------------------------------------------------------------

    def has_signal(self: Any, task: Task) -> bool:
        """TIF_SIGPENDING: something unblocked is pending."""
        if not task.pending and not task.signal.pending and not (task.signal.stopped or task.signal.group_exiting):
            return False
        if task.signal.stopped or (task.signal.group_exiting and not task.flags & PF_EXITING):
            return True
        return bool((mask_of(task.pending) | mask_of(task.signal.pending)) & ~(task.blocked & ~UNBLOCKABLE))

    def signal_pending(self: Any) -> bool:
        """For bodies: the current task should stop waiting."""
        return self.has_signal(self.current)  # type: ignore[no-any-return]

    def recalc_sigpending(self: Any, task: Task) -> None:
        """After a change of the mask."""
        if self.has_signal(task):
            task.work = True

    def dequeue(self: Any, task: Task, mask: int) -> SigInfo | None:
        """dequeue_signal(): the next pending signal that is not in `mask`; faults first, then by number."""
        for queue in (task.pending, task.signal.pending):
            allowed = [i for i in queue if not bit(i.sig) & mask or bit(i.sig) & UNBLOCKABLE]
            if allowed:
                info = min(allowed, key=lambda i: (not bit(i.sig) & SYNCHRONOUS, i.sig))
                queue.remove(info)
                return info
        return None

    def get_signal(self: Any) -> Generator[Any, Any, SigInfo | None]:
        """get_signal(): take signals until one has a handler; default actions happen here."""
        task: Task = self.current
        signal = task.signal
        while True:
            if signal.group_exiting and not task.flags & PF_EXITING:
                yield self.call("do_group_exit", signal.group_exit_code)
            if signal.stopped:
                yield from self._stay_stopped(task)
                continue
            info = self.dequeue(task, task.blocked)
            if info is None:
                return None
            sig = info.sig
            action = signal.actions[sig]
            self._trace_signal("signal_deliver", info, action)
            if self.strace is not None:
                self.strace.signal(task, info)
            if action.handler == SIG_IGN and sig != SIGKILL:
                continue
            if action.handler > SIG_IGN:
                return info  # type: ignore[no-any-return]
            if bit(sig) & IGNORED_BY_DEFAULT:
                continue
            if task.pid == 1 and sig not in (SIGKILL, SIGSTOP):
                continue
            if bit(sig) & STOPS:
                if sig != SIGSTOP and self.is_orphaned(task):
                    continue
                self._stop(task, sig)
                continue
            if sig != SIGKILL:
                self.record_crash(task, info)
            if self.strace is not None:
                self.strace.killed(task, sig)
            yield self.call("do_group_exit", sig)

    def _stop(self: Any, task: Task, sig: int) -> None:
        """do_signal_stop()."""
        signal = task.signal
        signal.stopped, signal.stop_code, signal.stop_reported, signal.continued = True, sig, False, False
        for thread in signal.threads:
            if thread is not task:
                self.wake_signal(thread, False)
        self._tell_parent(task, 5, sig)

    def _stay_stopped(self: Any, task: Task) -> Body:
        while task.signal.stopped and not any(i.sig == SIGKILL for i in task.pending + task.signal.pending):
            task.state = TASK_STOPPED
            task.wait_interruptible, task.wait_killable, task.wait_queues = False, True, ()
            self.store_state(task)
            yield self.call("schedule")
        task.signal.stopped = task.signal.stopped and not any(
            i.sig == SIGKILL for i in task.pending + task.signal.pending
        )
        return 0

    def is_orphaned(self: Any, task: Task) -> bool:
        """is_current_pgrp_orphaned(): nobody in the session could continue the group."""
        for other in self.tasks.values():
            if other.pgid == task.pgid and other is other.group_leader and not other.exit_state:
                parent = other.real_parent
                if parent.pid != 1 and parent.pgid != task.pgid and parent.session == task.session:
                    return False
        return True

    def orphaned_groups(self: Any, task: Task) -> None:
        """kill_orphaned_pgrp(): a stopped group that became orphaned gets HUP and CONT."""
        for child in list(task.descendants()):
            if child.signal.stopped and child.pgid != task.pgid and self.is_orphaned(child):
                self.send_signal(child, SIGHUP)
                self.send_signal(child, SIGCONT)

    # -- frames --------------------------------------------------------------------------------------------------

    def siginfo(self: Any, info: SigInfo) -> bytes:
        """siginfo_t, 128 bytes.  include/uapi/asm-generic/siginfo.h."""
        order = self.mem.byteorder
        word = self.arch.word

        def i32(value: int) -> bytes:
            return (value & 0xFFFFFFFF).to_bytes(4, order)

        head = i32(info.sig) + i32(0) + i32(info.code)
        if word == 8:
            head += bytes(4)
        if info.sig in (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP) and info.code > 0:
            body = info.addr.to_bytes(word, order)
        elif info.sig == SIGCHLD and info.code > 0:
            body = i32(info.pid) + i32(info.uid) + i32(info.status)
            body += bytes(4 if word == 8 else 0)
            body += info.utime.to_bytes(word, order) + info.stime.to_bytes(word, order)
        else:
            body = i32(info.pid) + i32(info.uid) + (info.value & ((1 << 8 * word) - 1)).to_bytes(word, order)
        return (head + body).ljust(128, b"\0")

    def siginfo_child(self: Any, sig: int, code: int, pid: int, uid: int, status: int) -> bytes:
        """For waitid()."""
        info = SigInfo(sig, code, pid, uid)
        info.status = status
        return self.siginfo(info)  # type: ignore[no-any-return]


@kernel_function("int setup_rt_frame(int sig, struct pt_regs *regs)", source="arch/*/kernel/signal.c")
def setup_rt_frame(k: Kernel, sig: int, regs: int) -> Body:
    """Put the handler's frame on the user stack and point the registers at the handler."""
    task = k.current
    info, action = k.delivering, task.signal.actions[sig]
    saved = task.blocked if task.saved_blocked is None else task.saved_blocked
    task.saved_blocked = None
    try:
        k.arch_signal.setup_rt_frame(k, regs, info, action, saved)
    except KernelError:
        task.signal.actions[SIGSEGV].handler = SIG_DFL
        k.force_signal(task, SIGSEGV, SI_KERNEL, 0)
        task.work = True
        return -EFAULT
        yield
    task.blocked |= action.mask
    if not action.flags & SA_NODEFER:
        task.blocked |= bit(sig)
    task.blocked &= ~UNBLOCKABLE
    if action.flags & SA_RESETHAND:
        action.handler = SIG_DFL
    k.recalc_sigpending(task)
    return 0


@syscall("rt_sigreturn", "", source="arch/*/kernel/signal.c")
def sys_rt_sigreturn(k: Kernel) -> int:
    """Back from a handler: registers, mask and stack of before."""
    task = k.current
    try:
        blocked = k.arch_signal.rt_sigreturn(k, task.regs)
    except KernelError:
        k.force_signal(task, SIGSEGV, SI_KERNEL, 0)
        return 0
    task.blocked = blocked & ~UNBLOCKABLE
    task.in_syscall = False
    task.returned_from_signal = True
    k.recalc_sigpending(task)
    return k.signed_word(k.regs_get(task.regs, k.abi.result))


# -- calls ----------------------------------------------------------------------------------------------------------


def _read_mask(k: Kernel, addr: int, size: int) -> int:
    """A sigset_t: an array of words, so the order of halves differs between 32 and 64 bit only on big endian."""
    if size != 8:
        raise KernelError(EINVAL)
    raw = k.copy_from_user(addr, 8)
    word = k.arch.word
    value = 0
    for i in range(0, 8, word):
        value |= int.from_bytes(raw[i : i + word], k.mem.byteorder) << (8 * i)
    return value


def _mask_bytes(k: Kernel, mask: int) -> bytes:
    word = k.arch.word
    return b"".join(((mask >> (8 * i)) & ((1 << 8 * word) - 1)).to_bytes(word, k.mem.byteorder)
                    for i in range(0, 8, word))  # fmt: skip


@syscall(
    "rt_sigaction",
    "int sig, const struct sigaction *act, struct sigaction *oact, size_t sigsetsize",
    source="kernel/signal.c",
)
def sys_rt_sigaction(k: Kernel, sig: int, act: int, oact: int, size: int) -> int:
    """Set or read a handler.  EINVAL, EFAULT."""
    if size != 8 or not 1 <= sig <= 64:
        raise KernelError(EINVAL)
    if act and sig in (SIGKILL, SIGSTOP):
        raise KernelError(EINVAL)
    task = k.current
    word = k.arch.word
    has_restorer = k.arch_signal.HAS_RESTORER
    old = task.signal.actions[sig]
    order = k.mem.byteorder
    total = word * (3 if has_restorer else 2) + 8
    if act:
        raw = k.copy_from_user(act, total)
        fields = [int.from_bytes(raw[i * word : (i + 1) * word], order) for i in range(3)]
        mask_at = total - 8
        mask = 0
        for i in range(0, 8, word):
            mask |= int.from_bytes(raw[mask_at + i : mask_at + i + word], order) << (8 * i)
        new = SigAction(fields[0], fields[1], mask & ~UNBLOCKABLE, fields[2] if has_restorer else 0)
    if oact:
        data = old.handler.to_bytes(word, order) + (old.flags & ((1 << 8 * word) - 1)).to_bytes(word, order)
        if has_restorer:
            data += old.restorer.to_bytes(word, order)
        k.copy_to_user(oact, data + _mask_bytes(k, old.mask))
    if act:
        task.signal.actions[sig] = new
        if k.ignores(task, sig):
            k.flush_signals(task.signal, bit(sig))
    return 0


@syscall("rt_sigprocmask", "int how, sigset_t *nset, sigset_t *oset, size_t sigsetsize", source="kernel/signal.c")
def sys_rt_sigprocmask(k: Kernel, how: int, nset: int, oset: int, size: int) -> int:
    """Change the mask of blocked signals.  EINVAL, EFAULT."""
    if size != 8:
        raise KernelError(EINVAL)
    task = k.current
    old = task.blocked
    if nset:
        mask = _read_mask(k, nset, 8) & ~UNBLOCKABLE
        if how == SIG_BLOCK:
            task.blocked |= mask
        elif how == SIG_UNBLOCK:
            task.blocked &= ~mask
        elif how == SIG_SETMASK:
            task.blocked = mask
        else:
            raise KernelError(EINVAL)
        k.recalc_sigpending(task)
    if oset:
        k.copy_to_user(oset, _mask_bytes(k, old))
    return 0


@syscall("rt_sigpending", "sigset_t *uset, size_t sigsetsize", source="kernel/signal.c")
def sys_rt_sigpending(k: Kernel, uset: int, size: int) -> int:
    """Blocked signals that are pending."""
    if size > 8:
        raise KernelError(EINVAL)
    task = k.current
    k.copy_to_user(uset, _mask_bytes(k, (task.sigpending | task.shared_pending) & task.blocked)[:size])
    return 0


@syscall("rt_sigsuspend", "sigset_t *unewset, size_t sigsetsize", source="kernel/signal.c")
def sys_rt_sigsuspend(k: Kernel, unewset: int, size: int) -> Body:
    """Wait for a signal under another mask."""
    mask = _read_mask(k, unewset, size) & ~UNBLOCKABLE
    task = k.current
    task.saved_blocked = task.blocked
    task.blocked = mask
    task.work = True
    while not k.has_signal(task):
        yield k.wait(None)
    raise KernelError(ERESTARTNOHAND)


@syscall("pause", "", source="kernel/signal.c")
def sys_pause(k: Kernel) -> Body:
    """Wait for a signal."""
    while not k.signal_pending():
        yield k.wait(None)
    raise KernelError(ERESTARTNOHAND)


@syscall(
    "rt_sigtimedwait",
    "const sigset_t *uthese, siginfo_t *uinfo, const struct timespec *uts, size_t sigsetsize",
    source="kernel/signal.c",
)
def sys_rt_sigtimedwait(k: Kernel, uthese: int, uinfo: int, uts: int, size: int) -> Body:
    """Take a pending signal of a set, waiting for it.  EAGAIN after the time, EINTR by another signal."""
    these = _read_mask(k, uthese, size) & ~UNBLOCKABLE
    timeout = k.read_timespec(uts) if uts else None
    task = k.current
    deadline = None if timeout is None else k.clock.now_ns + timeout
    while True:
        info = k.dequeue(task, ~these)
        if info is not None and bit(info.sig) & these:
            if uinfo:
                k.copy_to_user(uinfo, k.siginfo(info))
            return info.sig
        if deadline is not None and k.clock.now_ns >= deadline:
            raise KernelError(EAGAIN)
        task.sigwait = these
        left = None if deadline is None else deadline - k.clock.now_ns
        result = yield k.wait(None, timeout_ns=left)
        task.sigwait = 0
        if result == -ERESTARTSYS and k.signal_pending():
            raise KernelError(EINTR)
        if result == -ETIME:
            continue


def _may_signal(k: Kernel, task: Task, sig: int) -> None:
    me = k.current.cred
    them = task.cred
    if me.cap_effective >> 5 & 1 or me.euid in (them.suid, them.uid) or me.uid in (them.suid, them.uid):
        return
    if sig == SIGCONT and task.session == k.current.session:
        return
    raise KernelError(EPERM)


@kernel_function("int kill_pid_info(int sig, struct kernel_siginfo *info, struct pid *pid)", source="kernel/signal.c")
def kill_pid_info(k: Kernel, sig: int, info: int, pid: int) -> int:
    """Send to one process (here `pid` is its task_struct).  EPERM."""
    task = k.task_at(pid)
    _may_signal(k, task, sig)
    if sig:
        k.send_signal(task, sig, SI_USER, pid=k.current.tgid, uid=k.current.cred.uid)
    return 0


@syscall("kill", "pid_t pid, int sig", source="kernel/signal.c")
def sys_kill(k: Kernel, pid: int, sig: int) -> Body:
    """Send a signal to a process, a group (negative, or 0 for one's own), or all (-1).  EINVAL, EPERM, ESRCH."""
    if not 0 <= sig <= 64:
        raise KernelError(EINVAL)
    if pid > 0:
        task = k.find_task(pid)
        if task is None:
            raise KernelError(ESRCH)
        return (yield k.call("kill_pid_info", sig, 0, task.group_leader.addr))
    group = k.current.pgid if pid == 0 else -pid
    targets = [
        t for t in list(k.tasks.values())
        if t is t.group_leader and ((pid == -1 and t.pid > 1 and t.tgid != k.current.tgid and t.mm) or
                                    (pid != -1 and t.pgid == group and not t.is_kernel))
    ]  # fmt: skip
    if not targets:
        raise KernelError(ESRCH)
    results = []
    for task in targets:
        results.append((yield k.call("kill_pid_info", sig, 0, task.addr)))
    return 0 if 0 in results else results[-1]


def _tkill(k: Kernel, tgid: int, pid: int, sig: int) -> int:
    if pid <= 0 or not 0 <= sig <= 64:
        raise KernelError(EINVAL)
    task = k.find_task(pid)
    if task is None or (tgid > 0 and task.tgid != tgid) or task.exit_state:
        raise KernelError(ESRCH)
    _may_signal(k, task, sig)
    if sig:
        k.send_thread_signal(task, sig, SI_TKILL, pid=k.current.tgid, uid=k.current.cred.uid)
    return 0


@syscall("tkill", "pid_t pid, int sig", source="kernel/signal.c")
def sys_tkill(k: Kernel, pid: int, sig: int) -> int:
    """Send to a thread.  EINVAL, ESRCH, EPERM."""
    return _tkill(k, 0, pid, sig)


@syscall("tgkill", "pid_t tgid, pid_t pid, int sig", source="kernel/signal.c")
def sys_tgkill(k: Kernel, tgid: int, pid: int, sig: int) -> int:
    """Send to a thread of a process.  EINVAL, ESRCH, EPERM."""
    if tgid <= 0:
        raise KernelError(EINVAL)
    return _tkill(k, tgid, pid, sig)


@syscall("rt_sigqueueinfo", "pid_t pid, int sig, siginfo_t *uinfo", source="kernel/signal.c")
def sys_rt_sigqueueinfo(k: Kernel, pid: int, sig: int, uinfo: int) -> int:
    """Send with a value.  EPERM, ESRCH."""
    raw = k.copy_from_user(uinfo, 128)
    if not 0 <= sig <= 64:
        raise KernelError(EINVAL)
    code = int.from_bytes(raw[8:12], k.mem.byteorder, signed=True)
    task = k.find_task(pid)
    if task is None:
        raise KernelError(ESRCH)
    if (code >= 0 or code == SI_TKILL) and task.tgid != k.current.tgid:
        raise KernelError(EPERM)
    at = 24 if k.arch.word == 8 else 20
    value = int.from_bytes(raw[at : at + k.arch.word], k.mem.byteorder)
    k.send_signal(task, sig, code, pid=k.current.tgid, uid=k.current.cred.uid, value=value)
    return 0


@syscall("sigaltstack", "const stack_t *uss, stack_t *uoss", source="kernel/signal.c")
def sys_sigaltstack(k: Kernel, uss: int, uoss: int) -> int:
    """The alternate signal stack.  EPERM while on it, ENOMEM too small, EINVAL flags."""
    task = k.current
    word, order = k.arch.word, k.mem.byteorder
    old = k.altstack_bytes(task)
    sp = k.regs_get(task.regs, k.arch.stack_pointer)
    if uss:
        raw = k.copy_from_user(uss, 3 * word)
        new_sp = int.from_bytes(raw[:word], order)
        flags = int.from_bytes(raw[word : word + 4], order)
        size = int.from_bytes(raw[2 * word :], order)
        if task.sas_size and task.sas_sp < sp <= task.sas_sp + task.sas_size and not task.sas_flags & SS_AUTODISARM:
            raise KernelError(EPERM)
        mode = flags & ~SS_AUTODISARM
        if mode not in (SS_DISABLE, SS_ONSTACK, 0):
            raise KernelError(EINVAL)
        if mode == SS_DISABLE:
            new_sp = size = 0
        elif size < MINSIGSTKSZ:
            raise KernelError(ENOMEM)
        task.sas_sp, task.sas_size, task.sas_flags = new_sp, size, flags
    if uoss:
        k.copy_to_user(uoss, old)
    return 0


@syscall("restart_syscall", "", source="kernel/signal.c")
def sys_restart_syscall(k: Kernel) -> Body:
    """Go on with a sleep that a signal without handler (stop, continue) interrupted."""
    restart = k.current.restart
    if restart is None:
        raise KernelError(EINTR)
    return (yield from restart(k))


__all__ = ["TASK_INTERRUPTIBLE"]
