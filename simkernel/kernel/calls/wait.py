"""Waiting for children: wait4, waitid.  kernel/exit.c."""

from __future__ import annotations

from arch.abi.errno import EAGAIN, ECHILD, EINVAL, ERESTARTSYS, ESRCH
from arch.abi.limits import U32_MAX
from arch.abi.signal import (
    CLD_CONTINUED,
    CLD_STOPPED,
    CLD_TRAPPED,
    SIGCHLD,
)
from arch.abi.wait import WALL, WCLONE, WCONTINUED, WEXITED, WNOHANG, WNOTHREAD, WNOWAIT, WSTOPPED, WUNTRACED
from arch.errors import KernelError
from simkernel.kernel.calls.exit import decode_exit
from simkernel.kernel.face import Body, KernelFace, Steps
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.ptrace.stops import unlink
from simkernel.kernel.task import (
    EXIT_ZOMBIE,
    TASK_TRACED,
    Task,
    WaitRequest,
)
from simkernel.kernel.usage import RUSAGE_BOTH


def _eligible(request: WaitRequest, child: Task, traced: bool = False) -> bool:
    if request.which == "pid" and child.pid != request.upid:
        return False
    if request.which == "pgid" and child.pgid != request.upid:
        return False
    cloned = child.exit_signal != SIGCHLD
    return (
        traced or child.ptracer is not None or bool(request.options & WALL) or cloned == bool(request.options & WCLONE)
    )


@kernel_function("long do_wait(struct wait_opts *wo)", source="kernel/exit.c")
def do_wait(k: KernelFace, wo: int) -> Body:
    """Find a child that has something to report; its pid, 0 with WNOHANG, or ECHILD, -ERESTARTSYS."""
    request = k.current.wait_request
    assert request is not None
    k.trace("sched_process_wait", k.tasks.pid_struct(request.upid) if request.which != "all" else 0)
    while True:
        found = False
        for parent in list(k.current.signal.threads):
            if request.options & WNOTHREAD and parent is not k.current:
                continue
            for child in list(parent.children):
                if not _eligible(request, child):
                    continue
                found = True
                if (yield from _consider(k, request, child)):
                    return request.pid
            for child in list(parent.ptraced):
                if child in parent.children or not _eligible(request, child, traced=True):
                    continue
                found = True
                if (yield from _consider(k, request, child)):
                    return request.pid
        if not found:
            raise KernelError(ECHILD)
        if request.options & WNOHANG:
            return 0
        if k.signals.pending():
            raise KernelError(ERESTARTSYS)
        yield k.wait(k.current.signal.wait_chldexit)  # whoever wakes it, the children are looked at first


def _consider(k: KernelFace, request: WaitRequest, child: Task) -> Steps[bool]:
    """wait_consider_task(): take the child's report if there is one."""
    signal = child.signal
    tracer = child.ptracer is not None and child.ptracer.signal is k.current.signal
    if child.ptracer is not None and not tracer and child.exit_state:
        return False  # its tracer comes first
    if tracer and child.ptrace_code and child.state == TASK_TRACED:
        request.pid, request.uid, request.status = k.tasks.vnr(child.pid), child.cred.uid, child.ptrace_code << 8 | 0x7F
        request.trapped = True
        request.usage = k.tasks.usage(child, RUSAGE_BOTH)
        child.ptrace_code = child.ptrace_code if request.options & WNOWAIT else 0
        return True
    if child.exit_state == EXIT_ZOMBIE:
        if (len(signal.threads) > 1 and child is child.group_leader) or not request.options & WEXITED:
            return False
        if tracer and child not in [c for t in k.current.signal.threads for c in t.children]:
            return (yield from _traced_zombie(k, request, child))
        request.pid, request.status, request.uid = k.tasks.vnr(child.pid), child.exit_code, child.cred.uid
        used = request.usage = k.tasks.usage(child, RUSAGE_BOTH)
        if not request.options & WNOWAIT:
            mine = k.current.signal
            mine.cutime_ns += used.utime_ns
            mine.cstime_ns += used.stime_ns
            mine.cmaxrss = max(mine.cmaxrss, used.maxrss)
            mine.of_children = mine.of_children.plus(used.counts)
            yield k.call("release_task", child.addr)
        return True
    if signal.stopped and not signal.stop_reported and request.options & WSTOPPED:
        request.pid, request.uid = k.tasks.vnr(child.pid), child.cred.uid
        request.status = signal.stop_code << 8 | 0x7F
        request.usage = k.tasks.usage(child, RUSAGE_BOTH)
        signal.stop_reported = signal.stop_reported or not request.options & WNOWAIT
        return True
    if signal.continued and request.options & WCONTINUED:
        request.pid, request.uid, request.status = k.tasks.vnr(child.pid), child.cred.uid, 0xFFFF
        request.usage = k.tasks.usage(child, RUSAGE_BOTH)
        signal.continued = bool(request.options & WNOWAIT)
        return True
    return False


def _traced_zombie(k: KernelFace, request: WaitRequest, child: Task) -> Steps[bool]:
    """A tracer that is not the parent learns of the end; then the parent does."""
    request.pid, request.status, request.uid = k.tasks.vnr(child.pid), child.exit_code, child.cred.uid
    request.usage = k.tasks.usage(child, RUSAGE_BOTH)
    if request.options & WNOWAIT:
        return True
    unlink(k, child)
    if child is not child.group_leader:
        yield k.call("release_task", child.addr)
        leader = child.group_leader
        if leader.exit_state == EXIT_ZOMBIE and len(leader.signal.threads) == 1:
            yield k.call("do_notify_parent", leader.addr, leader.exit_signal)
    elif (yield k.call("do_notify_parent", child.addr, child.exit_signal)):
        yield k.call("release_task", child.addr)
    return True


@syscall("wait4", "pid_t upid, int *stat_addr, int options, struct rusage *ru", source="kernel/exit.c")
def sys_wait4(k: KernelFace, upid: int, stat_addr: int, options: int, ru: int) -> Body:
    """The pid of a child that ended or stopped.  ECHILD, EINVAL, EFAULT, EINTR."""
    return (yield k.call("kernel_wait4", upid, stat_addr, options, ru))


@kernel_function(
    "long kernel_wait4(pid_t upid, int *stat_addr, int options, struct rusage *ru)",
    source="kernel/exit.c",
    since="4.15",
)
def kernel_wait4(k: KernelFace, upid: int, stat_addr: int, options: int, ru: int) -> Body:
    """The same, for calls inside the kernel as well; the caller's addresses are the program's here."""
    if options & U32_MAX & ~(WNOHANG | WUNTRACED | WCONTINUED | WNOTHREAD | WCLONE | WALL):
        raise KernelError(EINVAL)
    if upid == -(1 << 31):
        raise KernelError(ESRCH)
    which = ("all", 0) if upid == -1 else ("pgid", k.tasks.real(-upid)) if upid < 0 else ("pgid", k.current.pgid)
    if upid > 0:
        which = ("pid", k.tasks.real(upid))
    request = WaitRequest(which[0], which[1], options | WEXITED)
    k.current.wait_request = request
    pid: int = yield k.call("do_wait", 0)
    if pid > 0:
        if stat_addr:
            k.usercopy.put_user(stat_addr, 4, request.status)
        if ru:
            k.usercopy.copy_to_user(ru, k.tasks.rusage(request.usage))
    return pid


P_PIDFD = 3


@syscall(
    "waitid",
    "int which, pid_t upid, struct siginfo *infop, int options, struct rusage *ru",
    source="kernel/exit.c",
)
def sys_waitid(k: KernelFace, which: int, upid: int, infop: int, options: int, ru: int) -> Body:
    """As wait4, with a siginfo, which is emptied where the call fails.  ECHILD, EINVAL, EFAULT."""
    try:
        ret: int = yield from _kernel_waitid(k, which, upid, infop, options, ru)
    except KernelError as error:
        ret = -error.errno
    if ret < 0 and infop and ret > -ERESTARTSYS:
        _tell(k, infop, 0, 0, 0, 0, 0)
    return ret


def _tell(k: KernelFace, infop: int, sig: int, code: int, pid: int, uid: int, status: int) -> None:
    """The members of a siginfo that waitid() sets; what lies between and behind them stays.  EFAULT."""
    raw, after = k.signals.siginfo_child(sig, code, pid, uid, status), 8 + k.arch.word
    k.usercopy.copy_to_user(infop, raw[:12])
    k.usercopy.copy_to_user(infop + after, raw[after : after + 12])


def _kernel_waitid(k: KernelFace, which: int, upid: int, infop: int, options: int, ru: int) -> Body:
    if options & U32_MAX & ~(WNOHANG | WNOWAIT | WEXITED | WSTOPPED | WCONTINUED | WNOTHREAD | WCLONE | WALL):
        raise KernelError(EINVAL)
    if not options & (WEXITED | WSTOPPED | WCONTINUED) or which not in (0, 1, 2, P_PIDFD):
        raise KernelError(EINVAL)
    if which in (1, 2) and (upid <= 0 if which == 1 else upid < 0):
        raise KernelError(EINVAL)
    nonblock = False
    if which == P_PIDFD:
        if upid < 0:
            raise KernelError(EINVAL)
        target, nonblock = k.pidfds.task(k, upid)
        which, upid = 1, target.pid
        nonblock = nonblock and not options & WNOHANG
        options |= WNOHANG if nonblock else 0
    else:
        upid = k.tasks.real(upid)
    kind = ("all", "pid", "pgid")[which]
    request = WaitRequest(kind, upid or (k.current.pgid if which == 2 else 0), options)
    k.current.wait_request = request
    pid: int = yield k.call("do_wait", 0)
    if pid < 0:
        return pid
    if nonblock and not pid:
        raise KernelError(EAGAIN)
    if infop:
        code, status = (0, 0)
        if pid:
            code, status = decode_exit(request.status)
            if request.status & 0xFF == 0x7F:
                code, status = CLD_TRAPPED if request.trapped else CLD_STOPPED, request.status >> 8
            elif request.status == 0xFFFF:
                code, status = CLD_CONTINUED, 18
        _tell(k, infop, SIGCHLD if pid else 0, code, pid, request.uid, status)
    if ru and pid:
        k.usercopy.copy_to_user(ru, k.tasks.rusage(request.usage))
    return 0
