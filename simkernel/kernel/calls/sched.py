"""System calls of scheduling: policies and their parameters, nice values, the CPUs a task may run on.  kernel/sched/core.c."""

from __future__ import annotations

import struct

from arch.abi.capability import CAP_SYS_NICE
from arch.abi.errno import E2BIG, EACCES, EBUSY, EINVAL, EOPNOTSUPP, EPERM, ESRCH
from arch.abi.limits import PAGE_SIZE
from arch.abi.resource import RLIMIT_NICE, RLIMIT_RTPRIO
from arch.abi.sched import (
    MAX_RT_PRIO,
    SCHED_DEADLINE,
    SCHED_FIFO,
    SCHED_FLAG_ALL,
    SCHED_FLAG_DL_OVERRUN,
    SCHED_FLAG_KEEP_PARAMS,
    SCHED_FLAG_KEEP_POLICY,
    SCHED_FLAG_RECLAIM,
    SCHED_FLAG_RESET_ON_FORK,
    SCHED_FLAG_UTIL_CLAMP,
    SCHED_IDLE,
    SCHED_RESET_ON_FORK,
    SCHED_RR,
)
from arch.errors import KernelError
from simkernel.kernel.calls.limits import watch_rt_time
from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.fair import FAIR, NICED, sched_slice, yield_task_fair
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.security import ask
from simkernel.kernel.task import PF_NO_SETAFFINITY, Task

SETPARAM_POLICY = -1  # sched_setparam(): the policy stays
REAL_TIME = (SCHED_FIFO, SCHED_RR)
DL_FLAGS = SCHED_FLAG_RECLAIM | SCHED_FLAG_DL_OVERRUN
BW_SHIFT = 20  # a share of a CPU: to_ratio()
JIFFY_NS = 4_000_000
DL_MIN_RUNTIME, DL_PERIODS = 1 << 10, (100_000, (1 << 22) * 1000)  # ns: __checkparam_dl()
# struct sched_attr: size, policy, flags, nice, priority, runtime, deadline, period, util_min, util_max
SCHED_ATTR = "IIQiIQQQII"
SCHED_ATTR_SIZE, SCHED_ATTR_SIZE_VER0 = 56, 48


class SchedAttr:
    """struct sched_attr, the host-side twin."""

    __slots__ = ("deadline", "flags", "nice", "period", "policy", "priority", "runtime", "util_max", "util_min")

    def __init__(self, policy: int, priority: int = 0, nice: int = 0, flags: int = 0) -> None:
        self.policy, self.priority, self.nice, self.flags = policy, priority, nice, flags
        self.runtime = self.deadline = self.period = 0
        self.util_min = self.util_max = 0

    def pack(self, order: str, size: int = SCHED_ATTR_SIZE) -> bytes:
        """The bytes of struct sched_attr."""
        return struct.pack(
            ("<" if order == "little" else ">") + SCHED_ATTR, size, self.policy & 0xFFFFFFFF, self.flags, self.nice,
            self.priority, self.runtime, self.deadline, self.period, self.util_min, self.util_max,
        )  # fmt: skip

    @staticmethod
    def unpack(raw: bytes, order: str) -> SchedAttr:
        """From the bytes."""
        words = struct.unpack(("<" if order == "little" else ">") + SCHED_ATTR, raw.ljust(SCHED_ATTR_SIZE, b"\0"))
        attr = SchedAttr(((words[1] ^ 1 << 31) - (1 << 31)), words[4], words[3], words[2])
        attr.runtime, attr.deadline, attr.period, attr.util_min, attr.util_max = words[5:]
        return attr


def _target(k: KernelFace, pid: int) -> Task:
    task = k.current if pid == 0 else k.tasks.find(pid)
    if pid < 0:
        raise KernelError(EINVAL)
    if task is None:
        raise KernelError(ESRCH)
    return task


@syscall("sched_yield", "", source="kernel/sched/core.c")
def sys_sched_yield(k: KernelFace) -> Body:
    """Let others run first."""
    k.cpus.account()
    rq = k.cpus.rq
    rq.behind = True
    if rq.tasks:
        if k.current.prio_class:
            yield_task_fair(k)
        yield k.call("schedule")
    return 0


@syscall("sched_getaffinity", "pid_t pid, unsigned int len, unsigned long *user_mask_ptr", source="kernel/sched/core.c")
def sys_sched_getaffinity(k: KernelFace, pid: int, length: int, mask: int) -> int:
    """EINVAL, ESRCH, EFAULT."""
    word = k.arch.word
    if length * 8 < k.nr_cpus or length & (word - 1):
        raise KernelError(EINVAL)
    task = _target(k, max(pid, 0) and pid) if pid >= 0 else None
    if task is None:
        raise KernelError(ESRCH)
    ask(k, "task_getscheduler", task.addr)
    value = task.affinity or (1 << k.nr_cpus) - 1
    size: int = min(length, word)
    k.usercopy.copy_to_user(mask, value.to_bytes(size, k.mem.byteorder))
    return size


@syscall("sched_setaffinity", "pid_t pid, unsigned int len, unsigned long *user_mask_ptr", source="kernel/sched/core.c")
def sys_sched_setaffinity(k: KernelFace, pid: int, length: int, mask: int) -> Body:
    """EINVAL, ESRCH, EFAULT, EPERM."""
    raw = k.usercopy.copy_from_user(mask, min(length, k.arch.word))
    task = _target(k, pid)
    if task.flags & PF_NO_SETAFFINITY:
        raise KernelError(EINVAL)
    if not _is_own(k, task):
        raise KernelError(EPERM)
    ask(k, "task_setscheduler", task.addr)
    every = (1 << k.nr_cpus) - 1
    value = int.from_bytes(raw, k.mem.byteorder) & every
    if task.policy == SCHED_DEADLINE and value != every and k.tasks.rt_runtime_us >= 0:
        raise KernelError(EBUSY)  # dl_task_check_affinity()
    if not value:
        raise KernelError(EINVAL)
    task.affinity = value
    k.mirror.store_affinity(task)
    if not value >> task.cpu & 1 and task is k.current:
        yield k.call("migrate_task_to", task.addr)
    return 0


@kernel_function("int migrate_task_to(struct task_struct *p)", source="kernel/sched/core.c")
def migrate_task_to(k: KernelFace, p: int) -> Body:
    """Leave a CPU that is not allowed any more: sleep, and be woken on another."""
    task = k.tasks.at(p)
    k.clock.add(k.clock.now_ns, lambda: k.cpus.wake_task(task))
    yield k.wait(None, interruptible=False)
    return 0


@syscall("sched_getscheduler", "pid_t pid", source="kernel/sched/core.c")
def sys_sched_getscheduler(k: KernelFace, pid: int) -> int:
    """The policy, with SCHED_RESET_ON_FORK where that is set.  EINVAL, ESRCH."""
    task = _looked_at(k, pid)
    return task.policy | (SCHED_RESET_ON_FORK if task.sched_reset_on_fork else 0)


def _looked_at(k: KernelFace, pid: int) -> Task:
    """A task whose scheduling is asked for: security_task_getscheduler()."""
    task = _target(k, pid)
    ask(k, "task_getscheduler", task.addr)
    return task


def _check_attr(attr: SchedAttr, policy: int) -> None:
    """The numbers make sense for the policy.  EINVAL."""
    if policy not in (*FAIR, *REAL_TIME, SCHED_DEADLINE) or attr.flags & ~SCHED_FLAG_ALL:
        raise KernelError(EINVAL, "policy or flags")
    if attr.priority >= MAX_RT_PRIO or (policy in REAL_TIME) != (attr.priority != 0):
        raise KernelError(EINVAL, "priority")
    if policy == SCHED_DEADLINE:
        period = attr.period or attr.deadline
        sound = DL_MIN_RUNTIME <= attr.runtime <= attr.deadline <= period < 1 << 63
        if not sound or not DL_PERIODS[0] <= period <= DL_PERIODS[1]:
            raise KernelError(EINVAL, "deadline parameters")


def _may_schedule(k: KernelFace, task: Task, attr: SchedAttr, policy: int, reset: bool) -> None:
    """user_check_sched_setscheduler().  EPERM."""
    limits, me = task.rlimits, k.current.cred
    refused = me.euid not in (task.cred.euid, task.cred.uid) or policy == SCHED_DEADLINE
    if policy in NICED and attr.nice < task.nice:
        refused = refused or 20 - attr.nice > limits[RLIMIT_NICE][0] >= 0
    if policy in REAL_TIME:
        allowed = limits[RLIMIT_RTPRIO][0]
        refused = (
            refused or (policy != task.policy and not allowed) or attr.priority > max(task.rt_priority, allowed) >= 0
        )
    if task.policy == SCHED_IDLE and policy != SCHED_IDLE:
        refused = refused or 20 - task.nice > limits[RLIMIT_NICE][0] >= 0
    if (refused or (task.sched_reset_on_fork and not reset)) and not k.capable(CAP_SYS_NICE):
        raise KernelError(EPERM)


def _bandwidth(task: Task) -> int:
    runtime, _, period = task.deadline
    return (runtime << BW_SHIFT) // period if task.policy == SCHED_DEADLINE else 0


def _admit(k: KernelFace, task: Task, attr: SchedAttr) -> None:
    """sched_dl_overflow(): the CPUs can keep all promises, and the task may run on each of them.  EPERM, EBUSY."""
    allowed = k.tasks.rt_runtime_us
    if allowed < 0:
        return
    every = (1 << k.nr_cpus) - 1
    if (task.affinity or every) & every != every or not allowed:
        raise KernelError(EPERM)
    limit = (allowed << BW_SHIFT) // k.tasks.rt_period_us * k.nr_cpus
    others = sum(_bandwidth(other) for other in k.tasks.by_pid.values() if other is not task)
    if others + (attr.runtime << BW_SHIFT) // (attr.period or attr.deadline) > limit:
        raise KernelError(EBUSY)


@kernel_function(
    "int __sched_setscheduler(struct task_struct *p, const struct sched_attr *attr, bool user, bool pi)",
    source="kernel/sched/core.c",
)
def __sched_setscheduler(k: KernelFace, p: int, addr: int, user: int, pi: int) -> int:
    """Give a task a policy.  EINVAL, EPERM."""
    task = k.tasks.at(p)
    attr = SchedAttr.unpack(k.mem.read(addr, SCHED_ATTR_SIZE), k.mem.byteorder)
    policy, reset = attr.policy, bool(attr.flags & SCHED_FLAG_RESET_ON_FORK)
    if policy < 0:
        policy, reset = task.policy, task.sched_reset_on_fork
    _check_attr(attr, policy)
    if attr.flags & SCHED_FLAG_UTIL_CLAMP:  # no CONFIG_UCLAMP_TASK
        raise KernelError(EOPNOTSUPP)
    _may_schedule(k, task, attr, policy, reset)
    if user:
        ask(k, "task_setscheduler", task.addr)
    if policy == SCHED_DEADLINE:
        _admit(k, task, attr)
    if attr.flags & SCHED_FLAG_KEEP_PARAMS:  # the policy is one of them
        task.sched_reset_on_fork = reset
        return 0
    before = task.prio
    task.policy, task.rt_priority, task.sched_reset_on_fork = policy, attr.priority, reset
    task.deadline = (
        (attr.runtime, attr.deadline, attr.period or attr.deadline) if policy == SCHED_DEADLINE else (0, 0, 0)
    )
    task.dl_flags = attr.flags & DL_FLAGS if policy == SCHED_DEADLINE else 0
    if policy in NICED:
        task.static_prio = 120 + attr.nice
    if policy in FAIR:
        task.prio = task.normal_prio = task.static_prio
    else:
        task.prio = task.normal_prio = -1 if policy == SCHED_DEADLINE else 99 - attr.priority
    k.mirror.store_prio(task)
    k.cpus.rank_anew(task, before < task.prio)
    watch_rt_time(k, task)
    return 0


def _set_policy(k: KernelFace, task: Task, attr: SchedAttr) -> Body:
    address = k.mem.alloc(SCHED_ATTR_SIZE)
    k.mem.write(address, attr.pack(k.mem.byteorder))
    try:
        return (yield k.call("__sched_setscheduler", task.addr, address, 1, 1))
    finally:
        k.mem.free(address)


@syscall("sched_setscheduler", "pid_t pid, int policy, struct sched_param *param", source="kernel/sched/core.c")
def sys_sched_setscheduler(k: KernelFace, pid: int, policy: int, param: int) -> Body:
    """EINVAL, ESRCH, EFAULT, EPERM."""
    if policy < 0:
        raise KernelError(EINVAL)
    return (yield from _set_with_param(k, pid, policy, param))


def _set_with_param(k: KernelFace, pid: int, policy: int, param: int) -> Body:
    """do_sched_setscheduler(): the nice value stays what it is."""
    if pid < 0 or not param:
        raise KernelError(EINVAL)
    priority = k.usercopy.get_user(param, 4)
    task = _target(k, pid)
    attr = SchedAttr(policy, priority, task.nice)
    if policy != SETPARAM_POLICY and policy & SCHED_RESET_ON_FORK:
        attr.flags, attr.policy = SCHED_FLAG_RESET_ON_FORK, policy & ~SCHED_RESET_ON_FORK
    return (yield from _set_policy(k, task, attr))


@syscall("sched_getparam", "pid_t pid, struct sched_param *param", source="kernel/sched/core.c")
def sys_sched_getparam(k: KernelFace, pid: int, param: int) -> int:
    """EINVAL, ESRCH, EFAULT."""
    if not param:
        raise KernelError(EINVAL)
    k.usercopy.put_user(param, 4, _looked_at(k, pid).rt_priority)
    return 0


@syscall("sched_setparam", "pid_t pid, struct sched_param *param", source="kernel/sched/core.c")
def sys_sched_setparam(k: KernelFace, pid: int, param: int) -> Body:
    """EINVAL, ESRCH, EFAULT, EPERM."""
    return (yield from _set_with_param(k, pid, SETPARAM_POLICY, param))


def _read_attr(k: KernelFace, uattr: int) -> SchedAttr:
    """sched_copy_attr(): a size that is not ours is told what ours is.  E2BIG, EFAULT, EINVAL."""
    size = k.usercopy.get_user(uattr, 4) or SCHED_ATTR_SIZE_VER0
    known = SCHED_ATTR_SIZE_VER0 <= size <= PAGE_SIZE
    raw = k.usercopy.copy_from_user(uattr, size) if known else b""
    if not known or any(raw[SCHED_ATTR_SIZE:]):
        k.usercopy.put_user(uattr, 4, SCHED_ATTR_SIZE)
        raise KernelError(E2BIG)
    attr = SchedAttr.unpack(raw[:SCHED_ATTR_SIZE], k.mem.byteorder)
    if attr.flags & SCHED_FLAG_UTIL_CLAMP and size < SCHED_ATTR_SIZE:
        raise KernelError(EINVAL)
    attr.nice = min(max(attr.nice, -20), 19)
    return attr


@syscall("sched_setattr", "pid_t pid, struct sched_attr *uattr, unsigned int flags", source="kernel/sched/core.c")
def sys_sched_setattr(k: KernelFace, pid: int, uattr: int, flags: int) -> Body:
    """EINVAL, ESRCH, E2BIG, EFAULT, EPERM."""
    if not uattr or pid < 0 or flags:
        raise KernelError(EINVAL)
    attr = _read_attr(k, uattr)
    if attr.policy < 0:
        raise KernelError(EINVAL)
    task = _target(k, pid)
    if attr.flags & SCHED_FLAG_KEEP_POLICY:
        attr.policy = SETPARAM_POLICY
    if attr.flags & SCHED_FLAG_KEEP_PARAMS:
        _params_of(task, attr)
    return (yield from _set_policy(k, task, attr))


def _params_of(task: Task, attr: SchedAttr) -> None:
    """get_params()."""
    if task.policy == SCHED_DEADLINE:
        attr.runtime, attr.deadline, attr.period = task.deadline
        attr.flags = attr.flags & ~DL_FLAGS | task.dl_flags
    elif task.policy in REAL_TIME:
        attr.priority = task.rt_priority
    else:
        attr.nice = task.nice


@syscall(
    "sched_getattr", "pid_t pid, struct sched_attr *uattr, unsigned int usize, unsigned int flags",
    source="kernel/sched/core.c",
)  # fmt: skip
def sys_sched_getattr(k: KernelFace, pid: int, uattr: int, usize: int, flags: int) -> int:
    """EINVAL, ESRCH, EFAULT."""
    if not uattr or pid < 0 or not SCHED_ATTR_SIZE_VER0 <= usize <= PAGE_SIZE or flags:
        raise KernelError(EINVAL)
    task = _looked_at(k, pid)
    attr = SchedAttr(task.policy, flags=SCHED_FLAG_RESET_ON_FORK if task.sched_reset_on_fork else 0)
    _params_of(task, attr)
    size = min(usize, SCHED_ATTR_SIZE)
    k.usercopy.copy_to_user(uattr, attr.pack(k.mem.byteorder, size)[:size])
    return 0


@syscall("sched_get_priority_max", "int policy", source="kernel/sched/core.c")
def sys_sched_get_priority_max(k: KernelFace, policy: int) -> int:
    """EINVAL."""
    return _priority_of(policy, MAX_RT_PRIO - 1)


@syscall("sched_get_priority_min", "int policy", source="kernel/sched/core.c")
def sys_sched_get_priority_min(k: KernelFace, policy: int) -> int:
    """EINVAL."""
    return _priority_of(policy, 1)


def _priority_of(policy: int, of_real_time: int) -> int:
    if policy in REAL_TIME:
        return of_real_time
    if policy in (*FAIR, SCHED_DEADLINE):
        return 0
    raise KernelError(EINVAL)


@syscall("getpriority", "int which, int who", source="kernel/sys.c")
def sys_getpriority(k: KernelFace, which: int, who: int) -> int:
    """20 - nice.  EINVAL, ESRCH."""
    return max(20 - t.nice for t in _priority_targets(k, which, who))


@syscall("setpriority", "int which, int who, int niceval", source="kernel/sys.c")
def sys_setpriority(k: KernelFace, which: int, who: int, nice: int) -> int:
    """EINVAL, ESRCH, EACCES."""
    nice = min(max(nice, -20), 19)
    error = -ESRCH
    for task in _priority_targets(k, which, who):
        if not _is_own(k, task):
            error = -EPERM
        elif nice < task.nice and not _can_nice(k, task, nice):
            error = -EACCES
        else:
            try:
                ask(k, "task_setnice", task.addr, nice)
            except KernelError as refused:
                error = -refused.errno
                continue
            error = 0 if error == -ESRCH else error
            _set_nice(k, task, nice)
    return error


def _is_own(k: KernelFace, task: Task) -> bool:
    """set_one_prio_perm(), check_same_owner()."""
    return k.current.cred.euid in (task.cred.uid, task.cred.euid) or k.capable(CAP_SYS_NICE)


def _can_nice(k: KernelFace, task: Task, nice: int) -> bool:
    """can_nice()."""
    limit = task.rlimits[RLIMIT_NICE][0]
    return limit < 0 or 20 - nice <= limit or k.capable(CAP_SYS_NICE)


def _set_nice(k: KernelFace, task: Task, nice: int) -> None:
    """set_user_nice(): that of a real-time task shows once it is none any more."""
    task.static_prio = 120 + nice
    if task.prio_class:
        task.prio = task.normal_prio = task.static_prio
    k.mirror.store_prio(task)


def _priority_targets(k: KernelFace, which: int, who: int) -> list[Task]:
    if which not in (0, 1, 2):
        raise KernelError(EINVAL)
    if which == 0:
        found = [k.current] if not who else [t for t in (k.tasks.find(who),) if t is not None]
    elif which == 1:
        found = [t for t in k.tasks.by_pid.values() if t.pgid == (who or k.current.pgid)]
    else:
        found = [t for t in k.tasks.by_pid.values() if t.cred.uid == (who or k.current.cred.uid)]
    if not found:
        raise KernelError(ESRCH)
    return found


@syscall("nice", "int increment", source="kernel/sched/core.c")
def sys_nice(k: KernelFace, increment: int) -> int:
    """EPERM."""
    nice = min(max(k.current.nice + increment, -20), 19)
    if increment < 0 and not _can_nice(k, k.current, nice):
        raise KernelError(EPERM)
    _set_nice(k, k.current, nice)
    return 0


def _fair_slice(k: KernelFace, task: Task) -> int:
    """get_rr_interval_fair(): whole ticks of the slice that Linux would give, ns; 0 where nothing runs."""
    return sched_slice(k.cpus.rqs[task.cpu], task, k.nr_cpus) // JIFFY_NS * JIFFY_NS


@syscall("sched_rr_get_interval", "pid_t pid, struct __kernel_timespec *interval", source="kernel/sched/core.c")
def sys_sched_rr_get_interval(k: KernelFace, pid: int, interval: int) -> int:
    """The slice of SCHED_RR; none of SCHED_FIFO.  EINVAL, ESRCH, EFAULT."""
    return rr_get_interval(k, pid, interval, k.arch.word)


def rr_get_interval(k: KernelFace, pid: int, interval: int, word: int) -> int:
    """The same with words of this size."""
    task = _looked_at(k, pid)
    ns = k.cpus.rr_timeslice_ns if task.policy == SCHED_RR else _fair_slice(k, task) if task.policy in FAIR else 0
    k.usercopy.put_user(interval, word, 0)
    k.usercopy.put_user(interval + word, word, ns)
    return 0
