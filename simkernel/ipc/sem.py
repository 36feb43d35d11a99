"""System V semaphores.  ipc/sem.c.

The operations of one semop(2) happen together or not at all; who must wait looks again whenever the set changes.
"""

from __future__ import annotations

import struct

from arch.abi.errno import E2BIG, EACCES, EAGAIN, EFBIG, EIDRM, EINTR, EINVAL, ENOSPC, ERANGE, ETIME
from arch.abi.ipc import (
    GETALL,
    GETNCNT,
    GETPID,
    GETVAL,
    GETZCNT,
    IPC_INFO,
    IPC_NOWAIT,
    IPC_RMID,
    IPC_SET,
    IPC_STAT,
    SEM_INFO,
    SEM_STAT,
    SEM_STAT_ANY,
    SEM_UNDO,
    SEMAEM,
    SEMUME,
    SEMVMX,
    SETALL,
    SETVAL,
)
from arch.abi.stat import S_IRUGO, S_IWUGO
from arch.abi.time import NSEC_PER_SEC
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.ipc.face import IpcKernel
from simkernel.ipc.util import PERM_SIZE, IpcObject, order_of, seconds, times, version_of, words
from simkernel.kernel.calls.time import read_timespec64, timespec64
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.security import ask
from simkernel.kernel.task import PF_EXITING, SignalStruct, WaitQueue

SEM_SIZE = 64  # bytes of a struct sem, each in a cache line of its own


class Sem:
    """struct sem: one semaphore."""

    __slots__ = ("pid", "value")

    def __init__(self) -> None:
        self.value = 0
        self.pid = 0


@dataclass(frozen=True, slots=True)
class SemBuf:
    """struct sembuf."""

    num: int
    op: int
    flags: int


class SemArray(IpcObject):
    """struct sem_array: a set."""

    hooks = "sem"

    def __init__(self, k: IpcKernel, key: int, mode: int, nsems: int) -> None:
        super().__init__(k, key, mode)
        self.take(nsems * SEM_SIZE)
        self.sems = [Sem() for _ in range(nsems)]
        self.otime = 0
        self.queue = WaitQueue("semop")
        self.sleepers: list[SemBuf] = []  # the operation that each waiter waits for
        self.undo: dict[SignalStruct, list[int]] = {}  # what the end of a process adds to each semaphore

    def semid_ds(self, k: IpcKernel) -> bytes:
        """struct semid64_ds; x86-64 has room behind each time."""
        if k.arch.calls.sem_times_padded:
            return self.perm(k) + words(k, self.otime, 0, self.ctime, 0, len(self.sems), 0, 0)
        return self.perm(k) + times(k, self.otime, self.ctime) + words(k, len(self.sems), 0, 0)

    def waiting(self, num: int, for_zero: bool) -> int:
        """count_semcnt()."""
        return sum(op.num == num and (op.op == 0) == for_zero for op in self.sleepers)


def _set(k: IpcKernel, semid: int) -> SemArray:
    found = k.ipc.sem.at(semid)
    assert isinstance(found, SemArray)
    return found


def _new(k: IpcKernel, key: int, nsems: int, flags: int) -> int:
    limits = k.ipc.sem_limits
    if not nsems:
        raise KernelError(EINVAL)
    if nsems + sum(len(sma.sems) for sma in k.ipc.sem.by_index.values() if isinstance(sma, SemArray)) > limits[1]:
        raise KernelError(ENOSPC)
    sma = SemArray(k, key, flags, nsems)
    sma.admit(k)
    return k.ipc.sem.add(sma, limits[3])


@syscall("semget", "key_t key, int nsems, int semflg", source="ipc/sem.c")
def sys_semget(k: IpcKernel, key: int, nsems: int, semflg: int) -> int:
    """EINVAL, ENOENT, EEXIST, EACCES, ENOSPC."""
    if not 0 <= nsems <= k.ipc.sem_limits[0]:
        raise KernelError(EINVAL)

    def fits(item: IpcObject) -> None:
        assert isinstance(item, SemArray)
        if nsems > len(item.sems):
            raise KernelError(EINVAL)

    return k.ipc.sem.get(k, key, semflg, lambda: _new(k, key, nsems, semflg), fits)


def _read_ops(k: IpcKernel, tsops: int, nsops: int) -> list[SemBuf]:
    if not nsops >= 1:
        raise KernelError(EINVAL)
    if nsops > k.ipc.sem_limits[2]:
        raise KernelError(E2BIG)
    raw = k.usercopy.copy_from_user(tsops, 6 * nsops)
    return [SemBuf(*struct.unpack_from(order_of(k) + "Hhh", raw, 6 * i)) for i in range(nsops)]


def perform_atomic_semop(sma: SemArray, ops: list[SemBuf], pid: int, owner: SignalStruct) -> SemBuf | None:
    """All of them, or none: then the first that has to wait.  ERANGE, EAGAIN."""
    before = [sem.value for sem in sma.sems]
    undo = list(sma.undo.get(owner, [0] * len(before)))
    try:
        for op in ops:
            sem = sma.sems[op.num]
            if (not op.op and sem.value) or sem.value + op.op < 0:
                if op.flags & IPC_NOWAIT:
                    raise KernelError(EAGAIN)
                _restore(sma, before)
                return op
            if sem.value + op.op > SEMVMX:
                raise KernelError(ERANGE)
            sem.value += op.op
            if op.flags & SEM_UNDO:
                undo[op.num] -= op.op
                if not -SEMAEM - 1 <= undo[op.num] <= SEMAEM:
                    raise KernelError(ERANGE)
    except KernelError:
        _restore(sma, before)
        raise
    for op in ops:
        sma.sems[op.num].pid = pid
    if any(op.flags & SEM_UNDO for op in ops):
        sma.undo[owner] = undo
    return None


def _restore(sma: SemArray, values: list[int]) -> None:
    for sem, value in zip(sma.sems, values):
        sem.value = value


@kernel_function(
    "long do_semtimedop(int semid, struct sembuf *tsops, unsigned nsops, const struct timespec64 *timeout)",
    source="ipc/sem.c",
)
def do_semtimedop(k: IpcKernel, semid: int, tsops: int, nsops: int, timeout: int) -> Body:
    """EAGAIN, EINTR, EIDRM, EACCES, EFBIG, ERANGE, E2BIG, EINVAL, EFAULT."""
    until = None
    time = read_timespec64(k, timeout) if timeout else (0, 0)
    ops = _read_ops(k, tsops, nsops)
    if timeout:
        if time[0] < 0 or not 0 <= time[1] < NSEC_PER_SEC:
            raise KernelError(EINVAL)
        until = k.clock.now_ns + time[0] * NSEC_PER_SEC + time[1]
    sma = _set(k, semid)
    if max(op.num for op in ops) >= len(sma.sems):
        raise KernelError(EFBIG)
    alters = any(op.op for op in ops)
    sma.check(k, S_IWUGO if alters else S_IRUGO)
    if "sem_semop" in k.security_hooks.watched:
        _ask_semop(k, sma, ops, alters)
    while True:
        blocking = perform_atomic_semop(sma, ops, k.current.tgid, k.current.signal)
        if blocking is None:
            break
        sma.sleepers.append(blocking)
        result = yield k.wait(sma.queue, timeout_ns=None if until is None else until - k.clock.now_ns)
        sma.sleepers.remove(blocking)
        if sma.deleted:
            raise KernelError(EIDRM)
        if result < 0:
            raise KernelError(EAGAIN if result == -ETIME else EINTR)
    if any(op.op for op in ops):
        k.wake_up(sma.queue, 0)
    sma.otime = seconds(k)
    return 0


@syscall("semop", "int semid, struct sembuf *tsops, unsigned nsops", source="ipc/sem.c", jumps=True)
def sys_semop(k: IpcKernel, semid: int, tsops: int, nsops: int) -> Body:
    """Without a time limit."""
    return (yield k.call("do_semtimedop", semid, tsops, nsops, 0))


@syscall(
    "semtimedop", "int semid, struct sembuf *tsops, unsigned int nsops, const struct __kernel_timespec *timeout",
    source="ipc/sem.c",
)  # fmt: skip
def sys_semtimedop(k: IpcKernel, semid: int, tsops: int, nsops: int, timeout: int) -> Body:
    """With a time limit."""
    return (yield k.call("do_semtimedop", semid, tsops, nsops, timespec64(k, timeout, k.arch.word)))


@syscall(
    "semtimedop_time64", "int semid, struct sembuf *tsops, unsigned int nsops, const struct __kernel_timespec *timeout",
    source="ipc/sem.c", since="5.1",
)  # fmt: skip
def sys_semtimedop_time64(k: IpcKernel, semid: int, tsops: int, nsops: int, timeout: int) -> Body:
    """The same with 64-bit times on 32-bit machines."""
    return (yield k.call("do_semtimedop", semid, tsops, nsops, timespec64(k, timeout, 8)))


@kernel_function("void exit_sem(struct task_struct *tsk)", source="ipc/sem.c")
def exit_sem(k: IpcKernel, tsk: int) -> int:
    """The last thread of a process ends: what it did with SEM_UNDO is undone."""
    task = k.tasks.at(tsk)
    if any(not t.flags & PF_EXITING for t in task.signal.threads):
        return 0
    for sma in k.ipc.sem:
        assert isinstance(sma, SemArray)
        undo = sma.undo.pop(task.signal, None)
        if undo is None:
            continue
        for sem, amount in zip(sma.sems, undo):
            if amount:
                sem.value = min(max(sem.value + amount, 0), SEMVMX)
                sem.pid = task.tgid
        sma.otime = seconds(k)
        k.wake_up(sma.queue, 0)
    return 0


def _ask_semop(k: IpcKernel, sma: SemArray, ops: list[SemBuf], alters: bool) -> None:
    """security_sem_semop(): the operations as in the kernel's copy."""
    order = order_of(k)
    raw = b"".join(struct.pack(order + "Hhh", op.num, op.op, op.flags) for op in ops)
    copy = k.mem.alloc(len(raw))
    k.mem.write(copy, raw)
    try:
        sma.ask(k, "semop", copy, len(ops), alters)
    finally:
        k.mem.free(copy)


def _info(k: IpcKernel, cmd: int, addr: int) -> int:
    """semctl_info(): struct seminfo."""
    ns, (msl, mns, opm, mni) = k.ipc.sem, k.ipc.sem_limits
    usz, aem = 20, SEMAEM
    if cmd == SEM_INFO:
        sets = [sma for sma in ns if isinstance(sma, SemArray)]
        usz, aem = len(sets), sum(len(sma.sems) for sma in sets)
    raw = struct.pack(order_of(k) + "10i", mns, mni, mns, mns, msl, opm, SEMUME, usz, SEMVMX, aem)
    k.usercopy.copy_to_user(addr, raw)
    return ns.highest


def _set_value(k: IpcKernel, sma: SemArray, semnum: int, value: int) -> int:
    if not 0 <= semnum < len(sma.sems):
        raise KernelError(EINVAL)
    sma.check(k, S_IWUGO)
    try:
        sma.ask(k, "semctl", SETVAL)
    except KernelError:
        raise KernelError(EACCES) from None
    sma.sems[semnum].value, sma.sems[semnum].pid = value, k.current.tgid
    for undo in sma.undo.values():
        undo[semnum] = 0
    sma.ctime = seconds(k)
    k.wake_up(sma.queue, 0)
    return 0


def _all(k: IpcKernel, sma: SemArray, cmd: int, array: int) -> int:
    order, count = order_of(k), len(sma.sems)
    if cmd == GETALL:
        sma.check(k, S_IRUGO)
        sma.ask(k, "semctl", cmd)
        k.usercopy.copy_to_user(array, struct.pack(f"{order}{count}H", *(sem.value for sem in sma.sems)))
        return 0
    sma.check(k, S_IWUGO)
    sma.ask(k, "semctl", cmd)
    values = struct.unpack(f"{order}{count}H", k.usercopy.copy_from_user(array, 2 * count))
    if max(values, default=0) > SEMVMX:
        raise KernelError(ERANGE)
    for sem, value in zip(sma.sems, values):
        sem.value, sem.pid = value, k.current.tgid
    sma.undo.clear()
    sma.ctime = seconds(k)
    k.wake_up(sma.queue, 0)
    return 0


def _one(k: IpcKernel, sma: SemArray, semnum: int, cmd: int) -> int:
    sma.check(k, S_IRUGO)
    sma.ask(k, "semctl", cmd)
    if not 0 <= semnum < len(sma.sems):
        raise KernelError(EINVAL)
    sem = sma.sems[semnum]
    if cmd == GETVAL:
        return sem.value
    if cmd == GETPID:
        return sem.pid
    return sma.waiting(semnum, cmd == GETZCNT)


@syscall("semctl", "int semid, int semnum, int cmd, unsigned long arg", source="ipc/sem.c")
def sys_semctl(k: IpcKernel, semid: int, semnum: int, cmd: int, arg: int) -> int:
    """EINVAL, EACCES, EPERM, ERANGE, EIDRM, EFAULT."""
    cmd = version_of(k, cmd)
    if semid < 0:
        raise KernelError(EINVAL)
    if cmd in (IPC_INFO, SEM_INFO):
        ask(k, "sem_semctl", 0, cmd)
        return _info(k, cmd, arg)
    if cmd in (IPC_STAT, SEM_STAT, SEM_STAT_ANY):
        found = k.ipc.sem.at(semid) if cmd == IPC_STAT else k.ipc.sem.by_position(semid)
        assert isinstance(found, SemArray)
        if cmd != SEM_STAT_ANY:
            found.check(k, S_IRUGO)
        found.ask(k, "semctl", cmd)
        k.usercopy.copy_to_user(arg, found.semid_ds(k))
        return 0 if cmd == IPC_STAT else found.id
    if cmd in (GETALL, SETALL):
        return _all(k, _set(k, semid), cmd, arg)
    if cmd in (GETVAL, GETPID, GETNCNT, GETZCNT):
        return _one(k, _set(k, semid), semnum, cmd)
    if cmd == SETVAL:  # an int, wherever the union's long lies in the register
        value = arg >> 32 if k.arch.word == 8 and k.mem.byteorder == "big" and arg >> 32 else arg & 0xFFFFFFFF
        if not value <= SEMVMX:
            raise KernelError(ERANGE)
        return _set_value(k, _set(k, semid), semnum, value)
    if cmd not in (IPC_SET, IPC_RMID):
        raise KernelError(EINVAL)
    raw = k.usercopy.copy_from_user(arg, PERM_SIZE[k.arch.word]) if cmd == IPC_SET else b""
    sma = _set(k, semid)
    sma.check_owner(k)
    sma.ask(k, "semctl", cmd)
    if cmd == IPC_SET:
        sma.set_perm(k, raw)
    else:
        k.ipc.sem.remove(sma)
        k.wake_up(sma.queue, 0)
    return 0
