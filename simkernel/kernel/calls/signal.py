"""Signals: sending, blocking, delivering.  kernel/signal.c, arch/*/kernel/signal.c.

The layout of the frame that a handler gets on the user stack is the architecture's (arch/<name>/signal.py).
"""

from __future__ import annotations

from arch.abi.capability import CAP_KILL
from arch.abi.errno import E2BIG, EAGAIN, EFAULT, EINTR, EINVAL, ENOMEM, EPERM, ERESTARTNOHAND, ESRCH, ETIME
from arch.abi.signal import (
    MINSIGSTKSZ,
    NSIG,
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
    SIGBUS,
    SIGCHLD,
    SIGCONT,
    SIGFPE,
    SIGILL,
    SIGKILL,
    SIGSEGV,
    SIGSTOP,
    SIGSYS,
    SIGTRAP,
    SS_AUTODISARM,
    SS_DISABLE,
    SS_ONSTACK,
)
from arch.abi.time import CLOCK_MONOTONIC
from arch.errors import KernelError
from simkernel.kernel.calls.time import read_timespec
from simkernel.kernel.clock import HRTIMER_MODE_REL
from simkernel.kernel.face import Body, KernelFace, Steps
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.ptrace.stops import traced_signal, trap_stop
from simkernel.kernel.security import ask
from simkernel.kernel.signals import CORE, IGNORED_BY_DEFAULT, STOPS
from simkernel.kernel.sigpending import SigAction, SigInfo, bit
from simkernel.kernel.task import (
    PF_EXITING,
    PF_SIGNALED,
    TASK_INTERRUPTIBLE,
    TASK_RUNNING,
    TASK_STOPPED,
    UNBLOCKABLE,
    Task,
    fatal_pending,
    has_signal,
)
from simkernel.kernel.user_namespace import may_in, user_ns


def get_signal(k: KernelFace) -> Steps[SigInfo | None]:
    """get_signal(): take signals until one has a handler; default actions happen here."""
    task, signals, strace = k.current, k.signals, k.syscalls.strace
    signal = task.signal
    while True:
        if signal.group_exiting and not task.flags & PF_EXITING:
            yield k.call("do_group_exit", signal.group_exit_code)
        if task.ptrace_trap:
            yield from trap_stop(k)
            continue
        if signal.stopped and not task.stop_ignored:
            if task.ptracer is not None:
                yield from trap_stop(k)
            else:
                yield from _stay_stopped(k, task)
            continue
        if task.freezing and not fatal_pending(task):
            yield from _stay_frozen(k, task)
            continue
        info = signals.dequeue(task, task.blocked & ~UNBLOCKABLE)
        if info is None:
            return None
        if task.ptracer is not None and info.sig != SIGKILL:
            info = yield from traced_signal(k, info)
            if info is None:
                continue
        sig = info.sig
        action = signal.actions[sig]
        signals.trace_signal("signal_deliver", info, action)
        if strace is not None:
            strace.signal(task, info)
        if action.handler == SIG_IGN and sig != SIGKILL:
            continue
        if action.handler > SIG_IGN:
            return info
        if bit(sig) & IGNORED_BY_DEFAULT:
            continue
        if (task.pid == 1 or signal.ns_init) and sig not in (SIGKILL, SIGSTOP):
            continue
        if bit(sig) & STOPS:
            if sig != SIGSTOP and signals.is_orphaned(task.pgid, task.session):
                continue
            signals.stop(task, sig)
            continue
        if sig != SIGKILL:
            registers = [(name, k.regs.get(task.regs, field)) for name, field in k.arch.crash_registers]
            signals.record_crash(task, info, registers)
        if strace is not None:
            strace.killed(task, sig)
        k.mirror.change_flags(task, PF_SIGNALED)
        if bit(sig) & CORE:
            signals.delivering = info
            address = k.mem.alloc(len(k.signals.siginfo(info)))
            k.mem.write(address, signals.siginfo(info))
            yield k.call("do_coredump", address)
            k.mem.free(address)
        yield k.call("do_group_exit", sig)


def _stay_frozen(k: KernelFace, task: Task) -> Body:
    """do_freezer_trap(): until its control group is thawed, or the task has to go."""
    task.frozen = True
    for told in k.tasks.freezer_hooks:
        told(task)
    task.state = TASK_INTERRUPTIBLE
    task.wait_interruptible, task.wait_killable, task.wait_queues = False, True, ()
    k.mirror.store_state(task)
    yield k.call("schedule")
    task.state, task.frozen = TASK_RUNNING, False
    for told in k.tasks.freezer_hooks:
        told(task)
    return 0


def _stay_stopped(k: KernelFace, task: Task) -> Body:
    while (
        task.signal.stopped
        and not task.ptrace_trap
        and not task.pending.has(SIGKILL)
        and not task.signal.pending.has(SIGKILL)
    ):
        task.state = TASK_STOPPED
        task.wait_interruptible, task.wait_killable, task.wait_queues = False, True, ()
        k.mirror.store_state(task)
        yield k.call("schedule")
    killed = task.pending.has(SIGKILL) or task.signal.pending.has(SIGKILL)
    task.signal.stopped = task.signal.stopped and not killed
    return 0


@kernel_function("int setup_rt_frame(int sig, struct pt_regs *regs)", source="arch/*/kernel/signal.c", inlined=True)
def setup_rt_frame(k: KernelFace, sig: int, regs: int) -> Body:
    """Put the handler's frame on the user stack and point the registers at the handler."""
    task = k.current
    info, action = k.signals.delivering, task.signal.actions[sig]
    assert info is not None
    saved = task.blocked if task.saved_blocked is None else task.saved_blocked
    try:
        k.sigframes.abi.setup_rt_frame(k.sigframes, regs, info, action, saved)
    except KernelError:
        if sig == SIGSEGV:
            task.signal.actions[sig] = action.handled_by(SIG_DFL)
        k.signals.force(task, SIGSEGV, SI_KERNEL, 0)
        return -EFAULT
        yield
    task.saved_blocked = None
    if task.sas_flags & SS_AUTODISARM:  # sas_ss_reset()
        task.sas_sp, task.sas_size, task.sas_flags = 0, 0, SS_DISABLE
    task.blocked |= action.mask
    if not action.flags & SA_NODEFER:
        task.blocked |= bit(sig)
    task.blocked &= ~UNBLOCKABLE
    if action.flags & SA_RESETHAND:
        task.signal.actions[sig] = action.handled_by(SIG_DFL)
    k.signals.recalc(task)
    return 0


@syscall("rt_sigreturn", "", source="arch/*/kernel/signal.c")
def sys_rt_sigreturn(k: KernelFace) -> int:
    """Back from a handler: registers, mask and stack of before."""
    task = k.current
    try:
        blocked = k.sigframes.abi.rt_sigreturn(k.sigframes, task.regs)
    except KernelError:
        k.signals.force(task, SIGSEGV, SI_KERNEL, 0)
        return 0
    task.blocked = blocked & ~UNBLOCKABLE
    task.in_syscall = False
    task.returned_from_signal = True
    return restored(k, task)


def restored(k: KernelFace, task: Task) -> int:
    """The end of sigreturn(2): a signal if the CPU would refuse the registers; the result register stays what it is."""
    k.signals.recalc(task)
    fault = k.sigframes.abi.return_fault(k.sigframes, task.regs)
    if fault is not None:
        k.signals.force(task, *fault, 0)
        task.unreturnable = True
    return k.regs.signed_word(k.regs.get(task.regs, k.abi.result))


# -- calls ----------------------------------------------------------------------------------------------------------


def _read_mask(k: KernelFace, addr: int, size: int) -> int:
    """A sigset_t: an array of words, so the order of halves differs between 32 and 64 bit only on big endian."""
    if size != 8:
        raise KernelError(EINVAL)
    raw = k.usercopy.copy_from_user(addr, 8)
    word = k.arch.word
    value = 0
    for i in range(0, 8, word):
        value |= int.from_bytes(raw[i : i + word], k.mem.byteorder) << (8 * i)
    return value


def _mask_bytes(k: KernelFace, mask: int) -> bytes:
    word = k.arch.word
    return b"".join(((mask >> (8 * i)) & ((1 << 8 * word) - 1)).to_bytes(word, k.mem.byteorder)
                    for i in range(0, 8, word))  # fmt: skip


@syscall(
    "rt_sigaction",
    "int sig, const struct sigaction *act, struct sigaction *oact, size_t sigsetsize",
    source="kernel/signal.c",
)
def sys_rt_sigaction(k: KernelFace, sig: int, act: int, oact: int, size: int) -> int:
    """Set or read a handler.  EINVAL, EFAULT."""
    if size != 8 or not 1 <= sig <= 64:
        raise KernelError(EINVAL)
    if act and sig in (SIGKILL, SIGSTOP):
        raise KernelError(EINVAL)
    task = k.current
    word = k.arch.word
    has_restorer = k.sigframes.abi.HAS_RESTORER
    old = task.signal.actions[sig]
    order = k.mem.byteorder
    total = word * (3 if has_restorer else 2) + 8
    if act:
        raw = k.usercopy.copy_from_user(act, total)
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
        k.usercopy.copy_to_user(oact, data + _mask_bytes(k, old.mask))
    if act:
        task.signal.actions[sig] = new
        if k.signals.ignores(task, sig):
            k.signals.flush(task.signal, bit(sig))
    return 0


@syscall("rt_sigprocmask", "int how, sigset_t *nset, sigset_t *oset, size_t sigsetsize", source="kernel/signal.c")
def sys_rt_sigprocmask(k: KernelFace, how: int, nset: int, oset: int, size: int) -> int:
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
        k.signals.recalc(task)
    if oset:
        k.usercopy.copy_to_user(oset, _mask_bytes(k, old))
    return 0


@syscall("rt_sigpending", "sigset_t *uset, size_t sigsetsize", source="kernel/signal.c")
def sys_rt_sigpending(k: KernelFace, uset: int, size: int) -> int:
    """Blocked signals that are pending."""
    if size > 8:
        raise KernelError(EINVAL)
    task = k.current
    k.usercopy.copy_to_user(uset, _mask_bytes(k, (task.sigpending | task.shared_pending) & task.blocked)[:size])
    return 0


@syscall("rt_sigsuspend", "sigset_t *unewset, size_t sigsetsize", source="kernel/signal.c")
def sys_rt_sigsuspend(k: KernelFace, unewset: int, size: int) -> Body:
    """Wait for a signal under another mask."""
    mask = _read_mask(k, unewset, size) & ~UNBLOCKABLE
    task = k.current
    task.saved_blocked = task.blocked
    task.blocked = mask
    task.work = True
    while not has_signal(task):
        yield k.wait(None)
    raise KernelError(ERESTARTNOHAND)


@syscall("pause", "", source="kernel/signal.c")
def sys_pause(k: KernelFace) -> Body:
    """Wait for a signal."""
    while not k.signals.pending():
        yield k.wait(None)
    raise KernelError(ERESTARTNOHAND)


@syscall(
    "rt_sigtimedwait",
    "const sigset_t *uthese, siginfo_t *uinfo, const struct timespec *uts, size_t sigsetsize",
    source="kernel/signal.c",
)
def sys_rt_sigtimedwait(k: KernelFace, uthese: int, uinfo: int, uts: int, size: int) -> Body:
    """Take a pending signal of a set, waiting for it.  EAGAIN after the time, EINTR by another signal."""
    return (yield from _sigtimedwait(k, uthese, uinfo, uts, size, None))


@syscall(
    "rt_sigtimedwait_time64",
    "const sigset_t *uthese, siginfo_t *uinfo, const struct __kernel_timespec *uts, size_t sigsetsize",
    source="kernel/signal.c", since="5.1",
)  # fmt: skip
def sys_rt_sigtimedwait_time64(k: KernelFace, uthese: int, uinfo: int, uts: int, size: int) -> Body:
    """The same with 64-bit times on 32-bit machines."""
    return (yield from _sigtimedwait(k, uthese, uinfo, uts, size, 8))


def _sigtimedwait(k: KernelFace, uthese: int, uinfo: int, uts: int, size: int, word: int | None) -> Body:
    these = _read_mask(k, uthese, size) & ~UNBLOCKABLE
    timeout = read_timespec(k, uts, word) if uts else None
    task = k.current
    info = k.signals.dequeue(task, ~these)
    result = -ETIME
    if info is None and timeout != 0:
        task.real_blocked = task.blocked  # as if unblocked: whoever sends finds this thread, even among several
        task.blocked &= ~these
        if timeout is not None:
            k.hrtimers.sleeper(k.current, CLOCK_MONOTONIC, HRTIMER_MODE_REL)
        result = yield k.wait(None, timeout_ns=timeout)
        task.blocked, task.real_blocked = task.real_blocked, 0
        k.signals.recalc(task)
        info = k.signals.dequeue(task, ~these)
    if info is None:
        raise KernelError(EAGAIN if result == -ETIME else EINTR)
    if uinfo:
        k.usercopy.copy_to_user(uinfo, k.signals.siginfo(info))
    return info.sig


def may_signal(k: KernelFace, task: Task, sig: int) -> None:
    """check_kill_permission().  EPERM."""
    me = k.current.cred
    them = task.cred
    same = me.euid in (them.suid, them.uid) or me.uid in (them.suid, them.uid)
    if (
        not same
        and not may_in(k, user_ns(task), CAP_KILL)
        and not (sig == SIGCONT and task.session == k.current.session)
    ):
        raise KernelError(EPERM)
    if "task_kill" in k.security_hooks.watched:
        info = k.mem.alloc(48)  # the head of struct kernel_siginfo
        k.mem.write_uint(info, 4, sig)
        try:
            ask(k, "task_kill", task.addr, info, sig, 0)
        finally:
            k.mem.free(info)


@kernel_function("int kill_pid_info(int sig, struct kernel_siginfo *info, struct pid *pid)", source="kernel/signal.c")
def kill_pid_info(k: KernelFace, sig: int, info: int, pid: int) -> int:
    """Send to one process (here `pid` is its task_struct).  EPERM."""
    task = k.tasks.at(pid)
    may_signal(k, task, sig)
    if sig:
        k.signals.send(task, sig, SI_USER, pid=k.current.tgid, uid=k.current.cred.uid)
    return 0


@syscall("kill", "pid_t pid, int sig", source="kernel/signal.c")
def sys_kill(k: KernelFace, pid: int, sig: int) -> Body:
    """Send a signal to a process, a group (negative, or 0 for one's own), or all (-1).  EINVAL, EPERM, ESRCH."""
    if pid > 0:
        task = k.tasks.find(pid)
        if task is None:
            raise KernelError(ESRCH)
        if not 0 <= sig <= 64:  # check_kill_permission()
            raise KernelError(EINVAL)
        return (yield k.call("kill_pid_info", sig, 0, task.group_leader.addr))
    group = k.current.pgid if pid == 0 else k.tasks.real(-pid)
    targets = [
        t for t in list(k.tasks.by_pid.values())
        if t is t.group_leader and ((pid == -1 and k.tasks.vnr(t.pid) > 1 and t.tgid != k.current.tgid and t.mm) or
                                    (pid != -1 and t.pgid == group and not t.is_kernel))
    ]  # fmt: skip
    if not targets:
        raise KernelError(ESRCH)
    if not 0 <= sig <= 64:
        raise KernelError(EINVAL)
    results = []
    for task in targets:
        results.append((yield k.call("kill_pid_info", sig, 0, task.addr)))
    return 0 if 0 in results else results[-1]


def _tkill(k: KernelFace, tgid: int, pid: int, sig: int) -> int:
    if pid <= 0:
        raise KernelError(EINVAL)
    task = k.tasks.find(pid)
    if task is None or (tgid > 0 and task.tgid != tgid) or task.exit_state:
        raise KernelError(ESRCH)
    if not 0 <= sig <= 64:  # check_kill_permission()
        raise KernelError(EINVAL)
    may_signal(k, task, sig)
    return k.signals.send_thread(task, sig, SI_TKILL, pid=k.current.tgid, uid=k.current.cred.uid)


@syscall("tkill", "pid_t pid, int sig", source="kernel/signal.c")
def sys_tkill(k: KernelFace, pid: int, sig: int) -> int:
    """Send to a thread.  EINVAL, ESRCH, EPERM; EAGAIN: a real-time signal beyond RLIMIT_SIGPENDING."""
    return _tkill(k, 0, pid, sig)


@syscall("tgkill", "pid_t tgid, pid_t pid, int sig", source="kernel/signal.c")
def sys_tgkill(k: KernelFace, tgid: int, pid: int, sig: int) -> int:
    """Send to a thread of a process.  As tkill(2)."""
    if tgid <= 0:
        raise KernelError(EINVAL)
    return _tkill(k, tgid, pid, sig)


@syscall("rt_sigqueueinfo", "pid_t pid, int sig, siginfo_t *uinfo", source="kernel/signal.c")
def sys_rt_sigqueueinfo(k: KernelFace, pid: int, sig: int, uinfo: int) -> int:
    """Send with a value.  EINVAL, E2BIG, EPERM, ESRCH."""
    code, said = _siginfo_from_user(k, sig, uinfo)
    if (code >= 0 or code == SI_TKILL) and k.tasks.vnr(k.current.pid) != pid:
        raise KernelError(EPERM)
    task = k.tasks.find(pid)
    if task is None:
        raise KernelError(ESRCH)
    if not 0 <= sig <= NSIG:
        raise KernelError(EINVAL)
    if code <= 0:
        may_signal(k, task, sig)
    return k.signals.send(task, sig, code, **said)


# known_siginfo_layout(): the largest si_code of signals that have their own; others have those of poll
SICODES = {SIGILL: 11, SIGFPE: 15, SIGSEGV: 9, SIGBUS: 5, SIGTRAP: 6, SIGCHLD: 6, SIGSYS: 2}
NSIGPOLL = 6
SI_DETHREAD, SI_ASYNCNL = -7, -60


def _known_layout(sig: int, code: int) -> bool:
    if code > 0:
        return code == SI_KERNEL or code <= SICODES.get(sig, NSIGPOLL)
    return code >= SI_DETHREAD or code == SI_ASYNCNL


def _siginfo_from_user(k: KernelFace, sig: int, uinfo: int) -> tuple[int, dict[str, int]]:
    """__copy_siginfo_from_user(): si_code and what goes with it.  EFAULT; E2BIG: more than is known of such a code (since 4.20)."""
    raw = k.usercopy.copy_from_user(uinfo, 128)
    code = int.from_bytes(raw[8:12], k.mem.byteorder, signed=True)
    if not _known_layout(sig, code) and any(raw[48 if k.arch.word == 8 else 32 :]) and k.version.at_least("4.20"):
        raise KernelError(E2BIG)
    return code, _said(k, raw)


def _said(k: KernelFace, raw: bytes) -> dict[str, int]:
    """What a sender put into a siginfo_t: _rt of its union."""
    order, at = k.mem.byteorder, 16 if k.arch.word == 8 else 12
    pid, uid = int.from_bytes(raw[at : at + 4], order, signed=True), int.from_bytes(raw[at + 4 : at + 8], order)
    return {"pid": pid, "uid": uid, "value": int.from_bytes(raw[at + 8 : at + 8 + k.arch.word], order)}


@syscall("rt_tgsigqueueinfo", "pid_t tgid, pid_t pid, int sig, siginfo_t *uinfo", source="kernel/signal.c")
def sys_rt_tgsigqueueinfo(k: KernelFace, tgid: int, pid: int, sig: int, uinfo: int) -> int:
    """The same to one thread.  EINVAL, E2BIG, EPERM, ESRCH."""
    code, said = _siginfo_from_user(k, sig, uinfo)
    if pid <= 0 or tgid <= 0 or not 0 <= sig <= NSIG:
        raise KernelError(EINVAL)
    if (code >= 0 or code == SI_TKILL) and k.tasks.vnr(k.current.pid) != pid:
        raise KernelError(EPERM)
    task = k.tasks.find(pid)
    if task is None or k.tasks.vnr(task.tgid) != tgid or task.exit_state:
        raise KernelError(ESRCH)
    if code <= 0:
        may_signal(k, task, sig)
    return k.signals.send_thread(task, sig, code, **said)


@syscall("sigaltstack", "const stack_t *uss, stack_t *uoss", source="kernel/signal.c")
def sys_sigaltstack(k: KernelFace, uss: int, uoss: int) -> int:
    """The alternate signal stack.  EPERM while on it, ENOMEM too small, EINVAL flags."""
    task = k.current
    word, order = k.arch.word, k.mem.byteorder
    old = k.sigframes.altstack_bytes()
    sp = k.regs.get(task.regs, k.arch.stack_pointer)
    if uss:
        raw = k.usercopy.copy_from_user(uss, 3 * word)
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
        k.mirror.store_own_memory(task)
    if uoss:
        k.usercopy.copy_to_user(uoss, old)
    return 0


@syscall("restart_syscall", "", source="kernel/signal.c")
def sys_restart_syscall(k: KernelFace) -> Body:
    """Go on with a sleep that a signal without handler (stop, continue) interrupted."""
    restart = k.current.restart
    if restart is None:
        raise KernelError(EINTR)
    return (yield from restart())


__all__ = ["TASK_INTERRUPTIBLE"]
