"""Futexes: fast user-space locks.  kernel/futex/*.c."""

from __future__ import annotations

from arch.abi.capability import CAP_SYS_PTRACE
from arch.abi.errno import EAGAIN, EINVAL, ENOSYS, EPERM, ERESTARTSYS, ESRCH, ETIME, ETIMEDOUT
from arch.abi.futex import (
    FUTEX_CLOCK_REALTIME,
    FUTEX_CMP_REQUEUE,
    FUTEX_CMP_REQUEUE_PI,
    FUTEX_LOCK_PI,
    FUTEX_LOCK_PI2,
    FUTEX_OWNER_DIED,
    FUTEX_PRIVATE_FLAG,
    FUTEX_REQUEUE,
    FUTEX_TID_MASK,
    FUTEX_TRYLOCK_PI,
    FUTEX_UNLOCK_PI,
    FUTEX_WAIT,
    FUTEX_WAIT_BITSET,
    FUTEX_WAIT_REQUEUE_PI,
    FUTEX_WAITERS,
    FUTEX_WAKE,
    FUTEX_WAKE_BITSET,
    FUTEX_WAKE_OP,
    ROBUST_LIST_LIMIT,
)
from arch.abi.time import CLOCK_MONOTONIC
from arch.errors import KernelError
from simkernel.kernel.calls.futex_pi import futex_deadline
from simkernel.kernel.calls.futex_requeue import CMP_VALUE, TO_LOCK
from simkernel.kernel.calls.time import read_timespec
from simkernel.kernel.clock import HRTIMER_MODE_ABS
from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.futexes import ANY, FLAGS_SHARED, FutexWaiter, enqueue, forget, key_of, wake
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.task import Task

FLAGS_STRICT = 0x100  # kernel/futex/futex.h, since 6.7: sys_futex_wake() means the number that it is given


@kernel_function(
    "int futex_wait(u32 *uaddr, unsigned int flags, u32 val, ktime_t *abs_time, u32 bitset)",
    source="kernel/futex/waitwake.c",
)
def futex_wait(k: KernelFace, uaddr: int, flags: int, val: int, until: int, bitset: int) -> Body:
    """Sleep while *uaddr == val.  EAGAIN, ETIMEDOUT, EINTR.  `until` is the monotonic time in ns, 0 for ever."""
    if k.version.at_least("6.7"):
        return (yield k.call("__futex_wait", uaddr, flags, val, until, bitset))
    return (yield from _wait(k, uaddr, flags, val, until, bitset))


@kernel_function(
    "int __futex_wait(u32 *uaddr, unsigned int flags, u32 val, struct hrtimer_sleeper *to, u32 bitset)",
    source="kernel/futex/waitwake.c",
    since="6.7",
)
def __futex_wait(k: KernelFace, uaddr: int, flags: int, val: int, until: int, bitset: int) -> Body:
    """What futex_wait() and futex_wait(2) have in common."""
    return (yield from _wait(k, uaddr, flags, val, until, bitset))


def _wait(k: KernelFace, uaddr: int, flags: int, val: int, until: int, bitset: int) -> Body:
    if not bitset:
        raise KernelError(EINVAL)
    key = key_of(k, uaddr, flags)
    if k.usercopy.get_user(uaddr, 4) != val:
        raise KernelError(EAGAIN)
    waiter = FutexWaiter(k.current, key, bitset)
    enqueue(k, waiter)
    try:
        while not waiter.woken:
            if until:
                k.hrtimers.sleeper(k.current, CLOCK_MONOTONIC, HRTIMER_MODE_ABS)
            result = yield k.wait(None, timeout_ns=until - k.clock.now_ns if until else None)
            if waiter.woken:
                break
            if result == -ETIME:
                raise KernelError(ETIMEDOUT)
            if result == -ERESTARTSYS and k.signals.pending():
                raise KernelError(ERESTARTSYS)
    finally:
        forget(k, waiter)
    return 0


@kernel_function(
    "int futex_wake(u32 *uaddr, unsigned int flags, int nr_wake, u32 bitset)", source="kernel/futex/waitwake.c"
)
def futex_wake(k: KernelFace, uaddr: int, flags: int, nr_wake: int, bitset: int) -> int:
    """Wake sleepers; how many.  With FLAGS_STRICT none where none are asked for."""
    if not bitset:
        raise KernelError(EINVAL)
    key = key_of(k, uaddr, flags)
    if flags & FLAGS_STRICT and not nr_wake:
        return 0
    return wake(k, key, max(nr_wake, 1), bitset)


def _wake_op(k: KernelFace, uaddr1: int, flags: int, uaddr2: int, nr1: int, nr2: int, encoded: int) -> int:
    """FUTEX_WAKE_OP: change the second word, wake the first, and the second when the comparison holds."""
    op, cmp = encoded >> 28 & 7, encoded >> 24 & 15
    oparg, cmparg = encoded >> 12 & 0xFFF, encoded & 0xFFF
    oparg = oparg - 0x1000 if oparg & 0x800 else oparg
    cmparg = cmparg - 0x1000 if cmparg & 0x800 else cmparg
    if encoded & 0x80000000:
        oparg = 1 << (oparg & 31)
    if op > 4:
        raise KernelError(ENOSYS)
    first, second = key_of(k, uaddr1, flags), key_of(k, uaddr2, flags)
    old = k.usercopy.get_user(uaddr2, 4, signed=True)
    k.usercopy.put_user(uaddr2, 4, (oparg, old + oparg, old | oparg, old & ~oparg, old ^ oparg)[op])
    holds = (old == cmparg, old != cmparg, old < cmparg, old <= cmparg, old > cmparg, old >= cmparg)
    if cmp > 5:
        raise KernelError(ENOSYS)
    count = wake(k, first, nr1)
    return count + (wake(k, second, nr2) if holds[cmp] else 0)


def _with_realtime(k: KernelFace) -> tuple[int, ...]:
    """Commands that FUTEX_CLOCK_REALTIME goes with; FUTEX_WAIT from 4.5 until 5.13."""
    old = (FUTEX_WAIT,) if k.version.at_least("4.5") and not k.version.at_least("5.13") else ()
    return (FUTEX_WAIT_BITSET, FUTEX_WAIT_REQUEUE_PI, FUTEX_LOCK_PI2, *old)


def _do_futex(
    k: KernelFace, uaddr: int, op: int, val: int, utime: int, uaddr2: int, val3: int, size: int | None
) -> Body:
    command = op & ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME)
    k.cpus.charge_user()
    if op & FUTEX_CLOCK_REALTIME and command not in _with_realtime(k):
        raise KernelError(ENOSYS)
    val2 = utime & 0xFFFFFFFF
    flags = 0 if op & FUTEX_PRIVATE_FLAG else FLAGS_SHARED
    if command in (FUTEX_WAIT, FUTEX_WAIT_BITSET):
        if command == FUTEX_WAIT:
            until = max(read_timespec(k, utime, size), 1) + k.clock.now_ns if utime else 0
        else:
            until = futex_deadline(k, utime, size, bool(op & FUTEX_CLOCK_REALTIME))
        return (yield k.call("futex_wait", uaddr, flags, val, until, val3 if command == FUTEX_WAIT_BITSET else ANY))
    if command in (FUTEX_WAKE, FUTEX_WAKE_BITSET):
        bitset = val3 if command == FUTEX_WAKE_BITSET else ANY
        return (yield k.call("futex_wake", uaddr, flags, val, bitset))
    if command == FUTEX_REQUEUE:
        return (yield k.call("futex_requeue", uaddr, flags, uaddr2, val, val2, 0))
    if command == FUTEX_CMP_REQUEUE:
        return (yield k.call("futex_requeue", uaddr, flags | CMP_VALUE, uaddr2, val, val2, val3))
    if command == FUTEX_CMP_REQUEUE_PI:
        return (yield k.call("futex_requeue", uaddr, flags | CMP_VALUE | TO_LOCK, uaddr2, val, val2, val3))
    if command == FUTEX_WAIT_REQUEUE_PI:
        until = futex_deadline(k, utime, size, bool(op & FUTEX_CLOCK_REALTIME))
        return (yield k.call("futex_wait_requeue_pi", uaddr, flags, val, until, ANY, uaddr2))
    if command == FUTEX_WAKE_OP:
        return _wake_op(k, uaddr, flags, uaddr2, val, val2, val3)
    if command in (FUTEX_LOCK_PI, FUTEX_LOCK_PI2):
        realtime = command == FUTEX_LOCK_PI or bool(op & FUTEX_CLOCK_REALTIME)
        return (yield k.call("futex_lock_pi", uaddr, flags, futex_deadline(k, utime, size, realtime), 0))
    if command == FUTEX_TRYLOCK_PI:
        return (yield k.call("futex_lock_pi", uaddr, flags, 0, 1))
    if command == FUTEX_UNLOCK_PI:
        return (yield k.call("futex_unlock_pi", uaddr, flags))
    raise KernelError(ENOSYS)


@syscall(
    "futex",
    "u32 *uaddr, int op, u32 val, const struct timespec *utime, u32 *uaddr2, u32 val3",
    source="kernel/futex/syscalls.c",
)
def sys_futex(k: KernelFace, uaddr: int, op: int, val: int, utime: int, uaddr2: int, val3: int) -> Body:
    """WAIT, WAKE, BITSET, REQUEUE, CMP_REQUEUE, WAKE_OP, LOCK_PI and its kin, requeueing to a lock with an owner."""
    return (yield from _do_futex(k, uaddr, op, val, utime, uaddr2, val3, None))


@syscall(
    "futex_time64",
    "u32 *uaddr, int op, u32 val, const struct timespec *utime, u32 *uaddr2, u32 val3",
    source="kernel/futex/syscalls.c",
)
def sys_futex_time64(k: KernelFace, uaddr: int, op: int, val: int, utime: int, uaddr2: int, val3: int) -> Body:
    """The same with 64-bit times on 32-bit machines."""
    return (yield from _do_futex(k, uaddr, op, val, utime, uaddr2, val3, 8))


@syscall("set_robust_list", "struct robust_list_head *head, size_t len", source="kernel/futex/syscalls.c")
def sys_set_robust_list(k: KernelFace, head: int, length: int) -> int:
    """EINVAL for a wrong size."""
    if length != 3 * k.arch.word:
        raise KernelError(EINVAL)
    k.current.robust_list = head
    k.mirror.store_own_memory(k.current)
    return 0


@syscall(
    "get_robust_list", "int pid, struct robust_list_head **head_ptr, size_t *len_ptr", source="kernel/futex/syscalls.c"
)
def sys_get_robust_list(k: KernelFace, pid: int, head_ptr: int, len_ptr: int) -> int:
    """ESRCH, EPERM, EFAULT."""
    task = k.tasks.find(pid) if pid else k.current
    if task is None:
        raise KernelError(ESRCH)
    if not _may_read(k, task):
        raise KernelError(EPERM)
    k.usercopy.put_user(len_ptr, k.arch.word, 3 * k.arch.word)
    k.usercopy.put_user(head_ptr, k.arch.word, task.robust_list)
    return 0


def _may_read(k: KernelFace, task: Task) -> bool:
    """ptrace_may_access(task, PTRACE_MODE_READ_REALCREDS)."""
    me, them = k.current.cred, task.cred
    if task.signal is k.current.signal:
        return True
    same = {them.uid, them.euid, them.suid} == {me.uid} and {them.gid, them.egid, them.sgid} == {me.gid}
    dumpable = task.dumpable == 1 or task.mm is None
    return (same and dumpable and not them.cap_permitted & ~me.cap_permitted) or k.capable(CAP_SYS_PTRACE)


def exit_robust_list(k: KernelFace, task: Task) -> Body:
    """A dying thread's robust locks are marked and handed on."""
    if not task.robust_list or task.mm is None:
        return 0
    yield 0
    word = k.arch.word
    head, task.robust_list = task.robust_list, 0
    try:
        entry = k.usercopy.get_user(head, word)
        offset = k.usercopy.get_user(head + word, word, signed=True)
        pending = k.usercopy.get_user(head + 2 * word, word)
        for _ in range(ROBUST_LIST_LIMIT):
            if entry & ~1 == head:
                break
            following = k.usercopy.get_user(entry & ~1, word)
            if entry != pending:
                _handle_death(k, (entry & ~1) + offset, task, bool(entry & 1))
            entry = following
        if pending:
            _handle_death(k, (pending & ~1) + offset, task, bool(pending & 1))
    except KernelError:
        return 0
    return 0


def _handle_death(k: KernelFace, addr: int, task: Task, pi: bool) -> None:
    value = k.usercopy.get_user(addr, 4)
    if value & FUTEX_TID_MASK == k.tasks.number_in(task.pid_ns, task.pid):
        k.usercopy.put_user(addr, 4, (value & FUTEX_WAITERS) | FUTEX_OWNER_DIED)
        if value & FUTEX_WAITERS and not pi:
            wake(k, key_of(k, addr), 1)
