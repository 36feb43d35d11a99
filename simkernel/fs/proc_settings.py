"""What may be set in /proc/PID: out-of-memory scores, timer slack, what a core holds, who logged in, the session's nice value.

fs/proc/base.c, kernel/sched/autogroup.c, kernel/auditsc.c.
"""

from __future__ import annotations

from arch.abi.capability import CAP_AUDIT_CONTROL, CAP_OPT_NOAUDIT, CAP_SYS_ADMIN, CAP_SYS_NICE, CAP_SYS_RESOURCE
from arch.abi.errno import EACCES, EAGAIN, EINVAL, EPERM, ESRCH
from arch.abi.limits import U32_MAX
from arch.abi.time import NSEC_PER_SEC
from arch.cstring import c_string, kstrto
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.proc_text import proc_number
from simkernel.kernel.oom import OOM_SCORE_ADJ_MAX, oom_badness
from simkernel.kernel.task import Task

OOM_DISABLE, OOM_ADJUST_MAX = -17, 15  # include/uapi/linux/oom.h
MMF_DUMP_FILTER = 0x1FF
AUTOGROUP_PAUSE_NS = NSEC_PER_SEC // 10  # between two changes by somebody without CAP_SYS_ADMIN


# -- the out-of-memory killer ----------------------------------------------------------------------------------------------


def oom_score_text(k: FsKernel, task: Task) -> str:
    """proc_oom_score(): since 5.9 the same for the smallest as 667, before it a share of memory."""
    total = k.mm.total_ram_pages
    badness = oom_badness(task, total)
    if badness is None:
        return "0\n"
    if k.version.before("5.9"):
        return f"{max(badness, 1) * 1000 // total}\n"
    return f"{_quotient((1000 + _quotient(badness * 1000, total)) * 2, 3)}\n"


def _quotient(value: int, by: int) -> int:
    """C's division."""
    return value // by if value >= 0 else -(-value // by)


def oom_adj_text(task: Task) -> str:
    """The old scale: -17 to 15."""
    score = task.signal.oom_score_adj
    if score == OOM_SCORE_ADJ_MAX:
        return f"{OOM_ADJUST_MAX}\n"
    return f"{min(_quotient(score * -OOM_DISABLE, OOM_SCORE_ADJ_MAX), OOM_ADJUST_MAX)}\n"


def oom_adj_write(k: FsKernel, task: Task, data: bytes) -> int:
    """EINVAL, ERANGE, EACCES."""
    value, taken = proc_number(data, 0)
    if not OOM_DISABLE <= value <= OOM_ADJUST_MAX:
        raise KernelError(EINVAL, "out of range")
    value = OOM_SCORE_ADJ_MAX if value == OOM_ADJUST_MAX else _quotient(value * OOM_SCORE_ADJ_MAX, -OOM_DISABLE)
    if value < task.signal.oom_score_adj and not k.capable(CAP_SYS_RESOURCE):
        raise KernelError(EACCES, "lower than it is")
    _set_oom(k, task, value)
    return taken


def oom_score_adj_write(k: FsKernel, task: Task, data: bytes) -> int:
    """EINVAL, ERANGE, EACCES below what a privileged task allowed."""
    value, taken = proc_number(data, 0)
    if not -OOM_SCORE_ADJ_MAX <= value <= OOM_SCORE_ADJ_MAX:
        raise KernelError(EINVAL, "out of range")
    if value < task.signal.oom_score_adj_min and not k.capable(CAP_SYS_RESOURCE):
        raise KernelError(EACCES, "lower than allowed")
    if k.capable(CAP_SYS_RESOURCE, CAP_OPT_NOAUDIT):
        task.signal.oom_score_adj_min = value
    _set_oom(k, task, value)
    return taken


def _set_oom(k: FsKernel, task: Task, value: int) -> None:
    """__set_oom_adj(): of all who share the memory."""
    sharing = [t for t in k.tasks.by_pid.values() if t.mm is not None and t.mm is task.mm and t.vfork_done is None]
    for signal, other in {t.signal: t for t in (*sharing, task)}.items():
        signal.oom_score_adj, signal.oom_score_adj_min = value, task.signal.oom_score_adj_min
        k.mirror.store_oom_score_adj(other)
    k.trace("oom_score_adj_update", task.addr)


# -- timer slack -----------------------------------------------------------------------------------------------------------


def timerslack_text(k: FsKernel, task: Task) -> str:
    """Nanoseconds.  EPERM."""
    _may_change_slack(k, task)
    return f"{task.timer_slack_ns}\n"


def timerslack_write(k: FsKernel, task: Task, data: bytes) -> None:
    """Nanoseconds; 0: what it began with.  EINVAL, ERANGE, EPERM."""
    value = kstrto(c_string(data), 10, 64, False)
    _may_change_slack(k, task)
    task.timer_slack_ns = value or task.default_timer_slack_ns


def _may_change_slack(k: FsKernel, task: Task) -> None:
    if task is not k.current and not k.capable(CAP_SYS_NICE):
        raise KernelError(EPERM, "another's")


# -- what a core holds -----------------------------------------------------------------------------------------------------


def coredump_filter_text(task: Task) -> str:
    """Empty for those without memory."""
    return f"{task.mm.dump_filter:08x}\n" if task.mm is not None else ""


def coredump_filter_write(k: FsKernel, task: Task, data: bytes) -> None:
    """EINVAL, ERANGE, ESRCH."""
    value = kstrto(c_string(data), 0, 32, False)
    if task.mm is None:
        raise KernelError(ESRCH, "no memory")
    task.mm.dump_filter = value & MMF_DUMP_FILTER
    k.mirror.store_mm_flags(task.mm)


# -- who logged in ---------------------------------------------------------------------------------------------------------


def loginuid_write(k: FsKernel, task: Task, data: bytes) -> None:
    """audit_set_loginuid(): of the current task, and again only with CAP_AUDIT_CONTROL.  EINVAL, ERANGE, EPERM."""
    if task is not k.current:
        raise KernelError(EPERM, "another's")
    value = kstrto(c_string(data), 10, 32, False)
    if task.loginuid != U32_MAX and not k.capable(CAP_AUDIT_CONTROL):
        raise KernelError(EPERM, "it has one")
    session = U32_MAX
    if value != U32_MAX:
        session = k.tasks.next_session_id()
    task.loginuid, task.sessionid = value, session
    k.mirror.store_login(task)


# -- the session's nice value ----------------------------------------------------------------------------------------------


def autogroup_text(task: Task) -> str:
    """Nothing for those that no setsid(2) has led out of the first group."""
    group = task.signal.autogroup
    return f"/autogroup-{group.number} nice {group.nice}\n" if group is not None else ""


def autogroup_write(k: FsKernel, task: Task, data: bytes) -> int:
    """proc_sched_autogroup_set_nice().  EINVAL, ERANGE, EPERM, EAGAIN."""
    nice, taken = proc_number(data, 0)
    if not -20 <= nice <= 19:
        raise KernelError(EINVAL, "no nice value")
    if nice < 0 and not k.capable(CAP_SYS_NICE):
        raise KernelError(EPERM, "more than its share")
    now = k.clock.now_ns
    if not k.capable(CAP_SYS_ADMIN) and now < k.tasks.autogroup_next_ns:
        raise KernelError(EAGAIN, "changed a moment ago")
    k.tasks.autogroup_next_ns = now + AUTOGROUP_PAUSE_NS
    if task.signal.autogroup is not None:
        task.signal.autogroup.nice = nice
    return taken


def io_text(tasks: list[Task]) -> str:
    """do_io_accounting(): of one thread, or of all that live; what went to the disk is not accounted to tasks."""
    rows = (
        ("rchar", sum(task.io.rchar for task in tasks)), ("wchar", sum(task.io.wchar for task in tasks)),
        ("syscr", sum(task.io.syscr for task in tasks)), ("syscw", sum(task.io.syscw for task in tasks)),
        ("read_bytes", 0), ("write_bytes", 0), ("cancelled_write_bytes", 0),
    )  # fmt: skip
    return "".join(f"{name}: {value}\n" for name, value in rows)


def children_text(k: FsKernel, task: Task) -> str:
    """/proc/PID/task/TID/children: in the order of their birth."""
    return "".join(f"{k.tasks.vnr(child.pid)} " for child in task.children)
