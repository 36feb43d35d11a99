"""Priorities of a task's input and output: kept and told, the simulated disk serves in order.  block/ioprio.c."""

from __future__ import annotations

from arch.abi.capability import CAP_SYS_ADMIN, CAP_SYS_NICE
from arch.abi.errno import EINVAL, EPERM, ESRCH
from arch.errors import KernelError
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import syscall
from simkernel.kernel.security import ask
from simkernel.kernel.task import Task
from simkernel.kernel.user_namespace import to_kernel, user_ns

IOPRIO_CLASS_NONE, IOPRIO_CLASS_RT, IOPRIO_CLASS_BE, IOPRIO_CLASS_IDLE = range(4)
IOPRIO_CLASS_SHIFT, IOPRIO_CLASS_MASK, IOPRIO_NR_LEVELS = 13, 7, 8
IOPRIO_WHO_PROCESS, IOPRIO_WHO_PGRP, IOPRIO_WHO_USER = 1, 2, 3


def _found(k: KernelFace, which: int, who: int) -> list[Task]:
    tasks = k.tasks
    if which == IOPRIO_WHO_PROCESS:
        task = tasks.find(who) if who else k.current
        return [task] if task is not None else []
    if which == IOPRIO_WHO_PGRP:
        group = tasks.real(who) if who else k.current.pgid
        return [t for t in tasks.by_pid.values() if t.pgid == group and not t.is_kernel]
    if which == IOPRIO_WHO_USER:
        uid = to_kernel(user_ns(k.current), "uid", who) if who else k.current.cred.uid
        return [t for t in tasks.by_pid.values() if t.cred.uid == uid and t.pid]
    raise KernelError(EINVAL)


def check_ioprio(k: KernelFace, ioprio: int) -> None:
    """ioprio_check_cap().  EINVAL, EPERM."""
    kind, level = (
        ioprio >> IOPRIO_CLASS_SHIFT & IOPRIO_CLASS_MASK,
        ioprio & IOPRIO_NR_LEVELS - 1,
    )  # what is between are hints
    if kind == IOPRIO_CLASS_RT and not k.capable(CAP_SYS_ADMIN) and not k.capable(CAP_SYS_NICE):
        raise KernelError(EPERM)
    if kind > IOPRIO_CLASS_IDLE or (kind == IOPRIO_CLASS_NONE and level):
        raise KernelError(EINVAL)


@syscall("ioprio_set", "int which, int who, int ioprio", source="block/ioprio.c")
def sys_ioprio_set(k: KernelFace, which: int, who: int, ioprio: int) -> int:
    """EINVAL, EPERM, ESRCH."""
    check_ioprio(k, ioprio)
    found, me = _found(k, which, who), k.current.cred
    if not found:
        raise KernelError(ESRCH)
    for task in found:
        if task.cred.uid not in (me.euid, me.uid) and not k.capable(CAP_SYS_NICE):
            raise KernelError(EPERM)
        ask(k, "task_setioprio", task.addr, ioprio)
        task.ioprio = ioprio & 0xFFFF  # unsigned short
    return 0


@syscall("ioprio_get", "int which, int who", source="block/ioprio.c")
def sys_ioprio_get(k: KernelFace, which: int, who: int) -> int:
    """Of several tasks the highest.  EINVAL, ESRCH."""
    found = _found(k, which, who)
    if not found:
        raise KernelError(ESRCH)
    for task in found:
        ask(k, "task_getioprio", task.addr)
    if which == IOPRIO_WHO_PROCESS:
        return found[0].ioprio
    return min((task.ioprio for task in found), key=lambda p: (p >> IOPRIO_CLASS_SHIFT or IOPRIO_CLASS_BE, p))
