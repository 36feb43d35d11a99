"""Who a process is: its numbers, groups and sessions.  kernel/sys.c."""

from __future__ import annotations

from arch.abi.errno import EACCES, EINVAL, EPERM, ESRCH
from arch.errors import KernelError
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import syscall
from simkernel.kernel.security import ask
from simkernel.kernel.task import (
    PF_FORKNOEXEC,
    Task,
)


@syscall("getpid", "", source="kernel/sys.c")
def sys_getpid(k: KernelFace) -> int:
    """Process id."""
    return k.tasks.vnr(k.current.tgid)


@syscall("gettid", "", source="kernel/sys.c")
def sys_gettid(k: KernelFace) -> int:
    """Thread id."""
    return k.tasks.vnr(k.current.pid)


@syscall("getppid", "", source="kernel/sys.c")
def sys_getppid(k: KernelFace) -> int:
    """The parent's process id."""
    return k.tasks.vnr(k.current.real_parent.tgid)


def _process(k: KernelFace, pid: int) -> Task:
    task = k.current.group_leader if pid == 0 else k.tasks.find(pid)
    if task is None:
        raise KernelError(ESRCH)
    return task


@syscall("getpgid", "pid_t pid", source="kernel/sys.c")
def sys_getpgid(k: KernelFace, pid: int) -> int:
    """Process group of a process.  ESRCH."""
    task = _process(k, pid)
    if pid:
        ask(k, "task_getpgid", task.addr)
    return k.tasks.vnr(task.pgid)


@syscall("getpgrp", "", source="kernel/sys.c")
def sys_getpgrp(k: KernelFace) -> int:
    """Own process group."""
    return k.tasks.vnr(k.current.pgid)


@syscall("getsid", "pid_t pid", source="kernel/sys.c")
def sys_getsid(k: KernelFace, pid: int) -> int:
    """Session of a process.  ESRCH."""
    task = _process(k, pid)
    if pid:
        ask(k, "task_getsid", task.addr)
    return k.tasks.vnr(task.session)


@syscall("setpgid", "pid_t pid, pid_t pgid", source="kernel/sys.c")
def sys_setpgid(k: KernelFace, pid: int, pgid: int) -> int:
    """Move a process to a group.  EINVAL, EPERM, ESRCH, EACCES."""
    me = k.current.group_leader
    if pgid < 0:
        raise KernelError(EINVAL)
    task = _process(k, pid)
    pgid = k.tasks.real(pgid) if pgid else task.pid
    if task is not task.group_leader:
        raise KernelError(EINVAL)
    if task.real_parent.tgid == me.tgid:
        if task.session != me.session:
            raise KernelError(EPERM)
        if not task.flags & PF_FORKNOEXEC:
            raise KernelError(EACCES)
    elif task is not me:
        raise KernelError(ESRCH)
    if task.session == task.pid:
        raise KernelError(EPERM)
    if pgid != task.pid and not any(t.pgid == pgid and t.session == me.session for t in k.tasks.by_pid.values()):
        raise KernelError(EPERM)
    ask(k, "task_setpgid", task.addr, pgid)
    task.signal.pgid = pgid
    return 0


@syscall("setsid", "", source="kernel/sys.c")
def sys_setsid(k: KernelFace) -> int:
    """A new session and group.  EPERM for a group leader."""
    leader = k.current.group_leader
    if any(t.pgid == leader.pid for t in k.tasks.by_pid.values()):
        raise KernelError(EPERM)
    leader.signal.session = leader.signal.pgid = leader.pid
    leader.signal.tty = None
    leader.signal.autogroup = k.tasks.new_autogroup()
    return k.tasks.vnr(leader.pid)
