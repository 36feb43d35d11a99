"""Resource limits: getrlimit, setrlimit, prlimit64, and the CPU time limit's timer.  kernel/sys.c, kernel/time/posix-cpu-timers.c."""

from __future__ import annotations

from arch.abi.capability import CAP_SYS_RESOURCE
from arch.abi.errno import EINVAL, EPERM, ESRCH
from arch.abi.resource import RLIM_NLIMITS, RLIMIT_CPU, RLIMIT_NOFILE, RLIMIT_RTTIME
from arch.abi.signal import SIGKILL, SIGXCPU
from arch.abi.time import NSEC_PER_SEC, NSEC_PER_USEC, TICK_NSEC
from arch.errors import KernelError
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import syscall
from simkernel.kernel.security import ask
from simkernel.kernel.task import Task

NO_RLIMIT = (-1, -1)


def _limit_bytes(k: KernelFace, pair: tuple[int, int], size: int) -> bytes:
    mask = (1 << 8 * size) - 1
    return b"".join((v & mask).to_bytes(size, k.mem.byteorder) for v in pair)


def _read_limit(k: KernelFace, addr: int, size: int) -> tuple[int, int]:
    raw = k.usercopy.copy_from_user(addr, 2 * size)
    infinity = (1 << 8 * size) - 1
    pair = tuple(int.from_bytes(raw[i : i + size], k.mem.byteorder) for i in (0, size))
    soft, hard = (-1 if v == infinity else v for v in pair)
    return soft, hard


LSM_PRLIMIT_READ, LSM_PRLIMIT_WRITE = 1, 2  # include/linux/security.h


def _exceeds(a: int, b: int) -> bool:
    """a > b where -1 is infinity."""
    return b >= 0 and (a < 0 or a > b)


def _set_limit(k: KernelFace, task: Task, resource: int, new: tuple[int, int]) -> None:
    if _exceeds(new[0], new[1]):
        raise KernelError(EINVAL)
    if _exceeds(new[1], task.rlimits[resource][1]) and not k.capable(CAP_SYS_RESOURCE):
        raise KernelError(EPERM)
    if resource == RLIMIT_NOFILE and _exceeds(new[1], k.tasks.nr_open):
        raise KernelError(EPERM)
    if "task_setrlimit" in k.security_hooks.watched:
        shown = k.new("struct rlimit")
        shown.rlim_cur, shown.rlim_max = new
        try:
            ask(k, "task_setrlimit", task.addr, resource, shown.addr)
        finally:
            k.mem.free(shown.addr)
    task.rlimits[resource] = new
    k.mirror.store_limits(task)
    if resource == RLIMIT_CPU and new[0] >= 0:
        watch_cpu_time(k, task)
    if resource == RLIMIT_RTTIME:
        for thread in task.signal.threads:
            watch_rt_time(k, thread)


def watch_cpu_time(k: KernelFace, task: Task) -> None:
    """update_rlimit_cpu(): SIGXCPU at the soft limit and every second after it, SIGKILL at the hard one."""
    leader, state = task.group_leader, task.signal
    state.cpu_limit_generation += 1
    generation = state.cpu_limit_generation

    def look() -> None:
        if generation != state.cpu_limit_generation or leader.exit_state:
            return
        if k.current.signal is state:
            k.cpus.charge_user()
        used = state.utime_ns + state.stime_ns + sum(t.utime_ns + t.stime_ns for t in state.threads)
        soft, hard = state.rlimits[RLIMIT_CPU]
        if 0 <= hard * NSEC_PER_SEC <= used:
            k.signals.send(leader, SIGKILL)
            return
        if 0 <= soft * NSEC_PER_SEC <= used:
            k.signals.send(leader, SIGXCPU)
            soft = max(soft, used // NSEC_PER_SEC) + 1
            state.rlimits[RLIMIT_CPU] = (soft, hard)
        if soft >= 0:
            k.clock.add(k.clock.now_ns + max(soft * NSEC_PER_SEC - used, 1), look)

    k.clock.add(k.clock.now_ns + TICK_NSEC, look)  # what is over already is seen at the next tick


def watch_rt_time(k: KernelFace, task: Task) -> None:
    """posix_cputimers_rt_watchdog(): how long a task of a real-time policy runs without a sleep, looked at every tick."""
    if task.signal.rlimits[RLIMIT_RTTIME] == NO_RLIMIT or not task.rt_priority or task.rt_watched:
        return
    task.rt_watched = True
    sleeps, since = task.nvcsw, task.utime_ns + task.stime_ns

    def look() -> None:
        nonlocal sleeps, since
        limits = task.signal.rlimits[RLIMIT_RTTIME]
        if task.exit_state or limits == NO_RLIMIT or not task.rt_priority:
            task.rt_watched = False
            return
        if k.current is task:
            k.cpus.charge_user()
        now = task.utime_ns + task.stime_ns
        if task.nvcsw != sleeps:
            sleeps, since = task.nvcsw, now
        used = (now - since) // NSEC_PER_USEC
        soft, hard = limits
        if 0 <= hard <= used:
            k.signals.send(task.group_leader, SIGKILL)
        elif 0 <= soft <= used:
            k.signals.send(task.group_leader, SIGXCPU)
            task.signal.rlimits[RLIMIT_RTTIME] = (soft + NSEC_PER_SEC // NSEC_PER_USEC, hard)
        k.clock.add(k.clock.now_ns + TICK_NSEC, look)

    k.clock.add(k.clock.now_ns + TICK_NSEC, look)


@syscall("getrlimit", "unsigned int resource, struct rlimit *rlim", source="kernel/sys.c")
def sys_getrlimit(k: KernelFace, resource: int, rlim: int) -> int:
    """EINVAL, EFAULT."""
    if resource >= RLIM_NLIMITS:
        raise KernelError(EINVAL)
    k.usercopy.copy_to_user(rlim, _limit_bytes(k, k.current.rlimits[resource], k.arch.word))
    return 0


@syscall("setrlimit", "unsigned int resource, struct rlimit *rlim", source="kernel/sys.c")
def sys_setrlimit(k: KernelFace, resource: int, rlim: int) -> int:
    """EINVAL, EPERM, EFAULT."""
    wanted = _read_limit(k, rlim, k.arch.word)
    if resource >= RLIM_NLIMITS:
        raise KernelError(EINVAL)
    _set_limit(k, k.current, resource, wanted)
    return 0


@syscall(
    "prlimit64",
    "pid_t pid, unsigned int resource, const struct rlimit64 *new_rlim, struct rlimit64 *old_rlim",
    source="kernel/sys.c",
)
def sys_prlimit64(k: KernelFace, pid: int, resource: int, new: int, old: int) -> int:
    """EINVAL, EPERM, ESRCH, EFAULT."""
    wanted = _read_limit(k, new, 8) if new else None
    task = k.tasks.find(pid) if pid else k.current
    if task is None:
        raise KernelError(ESRCH)
    me, them = k.current.cred, task.cred
    mine = {me.uid} == {them.uid, them.euid, them.suid} and {me.gid} == {them.gid, them.egid, them.sgid}
    if task is not k.current and not mine and not k.capable(CAP_SYS_RESOURCE):  # check_prlimit_permission()
        raise KernelError(EPERM)
    if task is not k.current:
        asked = (LSM_PRLIMIT_READ if old else 0) | (LSM_PRLIMIT_WRITE if new else 0)
        ask(k, "task_prlimit", me.addr, them.addr, asked)
    if resource >= RLIM_NLIMITS:
        raise KernelError(EINVAL)
    before = task.rlimits[resource]
    if wanted is not None:
        _set_limit(k, task, resource, wanted)
    if old:
        k.usercopy.copy_to_user(old, _limit_bytes(k, before, 8))
    return 0
