"""flock and record locks.  fs/locks.c.

A `LockTable` hangs on an inode: flock locks are owned by the open file, POSIX record locks by the descriptor table
(its address), OFD locks by the open file.
"""

from __future__ import annotations

from arch.abi.errno import EAGAIN, EBADF, EDEADLK, EINVAL, EOVERFLOW
from arch.abi.fcntl import (
    F_GETLK64,
    F_OFD_GETLK,
    F_OFD_SETLK,
    F_OFD_SETLKW,
    F_RDLCK,
    F_SETLK,
    F_SETLK64,
    F_UNLCK,
    F_WRLCK,
    LOCK_EX,
    LOCK_NB,
    LOCK_SH,
    LOCK_UN,
    SEEK_CUR,
    SEEK_END,
    SEEK_SET,
)
from arch.abi.files import Record
from arch.abi.limits import S64_MAX
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import files_of
from simkernel.fs.inode import File, Inode
from simkernel.fs.lock_events import FL_CLOSE, FL_FLOCK, FL_OFDLCK, FL_POSIX, FL_SLEEP, LockSeen
from simkernel.kernel.call_costs import SETLK_NS
from simkernel.kernel.face import Body
from simkernel.kernel.security import ask
from simkernel.kernel.task import WaitQueue

MAX_DEADLK_ITERATIONS = 10
LOCK_SIZE = 216  # bytes of a struct file_lock
FILE_LOCK_DEFERRED = 1  # include/linux/fs.h
FLOCK_KINDS = {LOCK_SH: F_RDLCK, LOCK_EX: F_WRLCK, LOCK_UN: F_UNLCK}


@dataclass
class Lock:
    """struct file_lock: bytes start..end (inclusive), read or write."""

    owner: File | int  # an open file (OFD locks), or the address of a descriptor table
    kind: int  # F_RDLCK or F_WRLCK
    start: int
    end: int
    pid: int
    place: tuple[int, int] | None = None  # in /proc/locks: fl_link

    def excludes(self, other: Lock) -> bool:
        """posix_locks_conflict(), flock_locks_conflict()."""
        if self.owner is other.owner or self.owner == other.owner:
            return False
        return self.start <= other.end and other.start <= self.end and F_WRLCK in (self.kind, other.kind)


class LockTable:
    """struct file_lock_context of one inode."""

    def __init__(self, inode: Inode) -> None:
        self.inode = inode
        self.flocks: dict[int, Lock] = {}  # id of the open file -> its lock, in order of acquisition
        self.records: list[Lock] = []
        self.waiting: list[tuple[Lock, bool]] = []  # who sleeps for one, as they came: whether for a flock
        self.queue = WaitQueue("file-lock")
        self.charged = 0  # locks

    def account(self, k: FsKernel) -> None:
        """locks_alloc_lock() and locks_free_lock(), after the lists have changed.  KernelError(ENOMEM)."""
        count = len(self.records) + len(self.flocks)
        k.mm.charge((count - self.charged) * LOCK_SIZE)
        self.charged = count
        if count:
            k.vfs.locked[self] = self.inode
        else:
            k.vfs.locked.pop(self, None)

    def place(self, k: FsKernel, *first: Lock) -> None:
        """locks_insert_global_locks(): new locks are at the head of the CPU's list; `first` come before all others."""
        for lock in (*first, *self.records):
            if lock.place is None:
                lock.place = k.vfs.next_lock_place()

    def drop_file(self, k: FsKernel, file: File) -> None:
        """The open file is gone: its flock and OFD locks go."""
        self._tell_removed(k, file, file.addr)
        had = self.flocks.pop(id(file), None) is not None
        before = len(self.records)
        self.records = [lock for lock in self.records if lock.owner is not file]
        if had or before != len(self.records):
            self.account(k)
            k.wake_up(self.queue, 0)

    def drop_owner(self, k: FsKernel, file: File, owner: int) -> None:
        """locks_remove_posix(): a descriptor of this table was closed, its record locks on the inode go."""
        self._tell_removed(k, file, owner)
        before = len(self.records)
        self.records = [lock for lock in self.records if lock.owner != owner]
        if before != len(self.records):
            self.account(k)
            k.wake_up(self.queue, 0)

    def _tell_removed(self, k: FsKernel, file: File, owner: int) -> None:
        """What tracing sees of locks_remove_posix(): nothing where nobody has a record lock."""
        if self.records:
            locks_get_lock_context(k, file.f_inode, F_UNLCK)
            seen = LockSeen(k, file, F_UNLCK, FL_POSIX | FL_CLOSE, 0, S64_MAX, owner)
            seen.tell("posix_lock_inode", 0)
            seen.tell("locks_remove_posix", 0)
            seen.gone()

    def conflict(self, wanted: Lock) -> Lock | None:
        """The first lock of someone else that overlaps and excludes."""
        return next((lock for lock in self.records if lock.excludes(wanted)), None)

    def replace(self, owner: File | int, start: int, end: int, new: Lock | None) -> None:
        """Cut [start, end] out of the owner's locks, then put the new one in; neighbours of its kind become one with it.

        The list has owner after owner, in the order of their first locks, and each one's by position: F_GETLK names
        the first that is in the way.
        """
        before: list[Lock] = []
        mine: list[Lock] = []
        after: list[Lock] = []
        found = False
        for lock in self.records:
            if lock.owner is not owner and lock.owner != owner:
                (after if found else before).append(lock)
                continue
            found = True
            if new is not None and lock.kind == new.kind and lock.start <= end + 1 and start <= lock.end + 1:
                new.start, new.end = min(new.start, lock.start), max(new.end, lock.end)
                new.place = new.place or lock.place
            elif lock.end < start or lock.start > end:
                mine.append(lock)
            else:
                if lock.start < start:
                    place = None if lock.end > end else lock.place  # of two halves the left one is new
                    mine.append(Lock(owner, lock.kind, lock.start, start - 1, lock.pid, place))
                if lock.end > end:
                    mine.append(Lock(owner, lock.kind, end + 1, lock.end, lock.pid, lock.place))
        if new is not None:
            mine.append(new)
            mine.sort(key=lambda lock: lock.start)
        self.records = before + mine + after


def would_deadlock(blocked: list[tuple[int, File | int]], owner: File | int, blocker: File | int) -> bool:
    """posix_locks_deadlock(): `blocker` waits, directly or over at most ten others, for `owner`.  Never for OFD locks."""
    if not isinstance(owner, int):
        return False
    for _ in range(MAX_DEADLK_ITERATIONS):
        waits_for = next((other for sleeper, other in blocked if sleeper == blocker), None)
        if waits_for is None:
            return False
        if waits_for == owner:
            return True
        blocker = waits_for
    return False


def table_of(inode: Inode) -> LockTable:
    """locks_get_lock_context()."""
    if inode.locks is None:
        inode.locks = LockTable(inode)
    assert isinstance(inode.locks, LockTable)
    return inode.locks


def locks_get_lock_context(k: FsKernel, inode: Inode, kind: int) -> LockTable:
    """The locks of a file; an unlock where there were never any finds none."""
    known = inode.locks is not None or kind != F_UNLCK
    table = table_of(inode)
    if k.tracepoints.point("locks_get_lock_context").active:
        k.trace("locks_get_lock_context", inode.addr, kind, k.vfs.mirror.lock_context(inode) if known else 0)
    return table


def flock_file(k: FsKernel, file: File, cmd: int) -> Body:
    """flock(2): shared, exclusive or unlock."""
    kind = cmd & ~LOCK_NB
    if kind != LOCK_UN and not file.f_mode & (c.FMODE_READ | c.FMODE_WRITE):
        return -EBADF
    ask(k, "file_lock", file.addr, FLOCK_KINDS[kind])
    flags = FL_FLOCK if cmd & LOCK_NB else FL_FLOCK | FL_SLEEP
    locks_get_lock_context(k, file.f_inode, FLOCK_KINDS[kind])
    seen = LockSeen(k, file, FLOCK_KINDS[kind], flags, 0, S64_MAX, file.addr)
    try:
        return (yield from _flock(k, file, kind, bool(cmd & LOCK_NB), seen))
    finally:
        seen.gone()


def _sleep(k: FsKernel, table: LockTable, wanted: Lock, flock: bool) -> Body:
    """locks_insert_block() and the wait."""
    entry = (wanted, flock)
    table.waiting.append(entry)
    ret = yield k.wait(table.queue, exclusive=True)  # the oldest is woken first
    table.waiting = [other for other in table.waiting if other is not entry]
    return ret


def _flock(k: FsKernel, file: File, kind: int, nonblock: bool, seen: LockSeen) -> Body:
    """flock_lock_inode_wait()."""
    table = table_of(file.f_inode)
    me = id(file)
    if kind == LOCK_UN:
        if table.flocks.pop(me, None) is not None:
            table.account(k)
            k.wake_up(table.queue, 0)
        seen.tell("flock_lock_inode", 0)
        return 0
    wanted = Lock(file, FLOCK_KINDS[kind], 0, S64_MAX, k.current.tgid)
    held = table.flocks.get(me)
    if held is not None and held.kind == wanted.kind:
        seen.tell("flock_lock_inode", 0)
        return 0
    if table.flocks.pop(me, None) is not None:
        table.account(k)
        k.wake_up(table.queue, 0)
    while any(other.excludes(wanted) for other in table.flocks.values()):
        seen.tell("flock_lock_inode", -EAGAIN if nonblock else FILE_LOCK_DEFERRED)
        if nonblock:
            return -EAGAIN
        ret = yield from _sleep(k, table, wanted, True)
        if ret < 0:
            return ret
    table.flocks[me] = wanted
    table.place(k, wanted)
    table.account(k)
    seen.tell("flock_lock_inode", 0)
    return 0


def _record(k: FsKernel, cmd: int) -> Record:
    """struct flock, or flock64 for the commands that say so on 32-bit machines."""
    abi = k.vfs.abi
    return abi.flock64 if abi.flock64 is not None and cmd >= F_GETLK64 else abi.flock


def _read_flock(k: FsKernel, arg: int, cmd: int) -> dict[str, int]:
    """The fields of the caller's record, by name, with their signs."""
    record = _record(k, cmd)
    raw = record.unpack(k.usercopy.copy_from_user(arg, record.size), k.mem.byteorder)
    out = {}
    for _, size, field in record.rows:
        value, bits = int(raw[field]), 8 * size
        out[field] = value - (1 << bits) if value >> (bits - 1) else value
    return out


def _posix_lock(k: FsKernel, file: File, cmd: int, given: dict[str, int]) -> Lock:
    """flock_to_posix_lock().  EINVAL, EOVERFLOW."""
    kind, whence, start, length = (given[f"l_{n}"] for n in ("type", "whence", "start", "len"))
    if whence == SEEK_CUR:
        start += file.f_pos
    elif whence == SEEK_END:
        start += file.f_inode.i_size
    elif whence != SEEK_SET:
        raise KernelError(EINVAL, "whence")
    if start < 0 or (length < 0 and start + length < 0):
        raise KernelError(EINVAL, "negative range")
    if start > S64_MAX or (length > 0 and start + length - 1 > S64_MAX):
        raise KernelError(EOVERFLOW, "range too large")
    if length > 0:
        end = start + length - 1
    elif length < 0:
        start, end = start + length, start - 1
    else:
        end = S64_MAX
    if kind not in (F_RDLCK, F_WRLCK, F_UNLCK):
        raise KernelError(EINVAL, "lock type")
    ofd = F_OFD_GETLK <= cmd <= F_OFD_SETLKW
    owner: File | int = file if ofd else files_of(k.current).addr
    return Lock(owner, kind, start, end, -1 if ofd else k.current.tgid)


def _check_pid(wanted: Lock, given: dict[str, int]) -> None:
    """A lock of an open file has no process.  EINVAL."""
    if not isinstance(wanted.owner, int) and given["l_pid"]:
        raise KernelError(EINVAL, "l_pid must be 0")


def fcntl_getlk(k: FsKernel, file: File, cmd: int, arg: int) -> int:
    """F_GETLK: who would stand in the way."""
    given = _read_flock(k, arg, cmd)
    known = (F_RDLCK, F_WRLCK, *((F_UNLCK,) if cmd == F_OFD_GETLK and k.vfs.names.ofd_getlk_unlck else ()))
    if given["l_type"] not in known:
        return -EINVAL
    wanted = _posix_lock(k, file, cmd, given)
    _check_pid(wanted, given)
    found = table_of(file.f_inode).conflict(wanted)
    if found is None:
        k.usercopy.put_user(arg, 2, F_UNLCK)
        return 0
    record = _record(k, cmd)
    k.usercopy.copy_to_user(arg, record.pack({
        "l_type": found.kind, "l_whence": SEEK_SET, "l_start": found.start, "l_pid": found.pid,
        "l_len": 0 if found.end == S64_MAX else found.end - found.start + 1,
    }, k.mem.byteorder))  # fmt: skip
    return 0


def fcntl_setlk(k: FsKernel, file: File, cmd: int, arg: int) -> Body:
    """F_SETLK, F_SETLKW and their OFD forms.  EAGAIN, EDEADLK."""
    given = _read_flock(k, arg, cmd)
    wanted = _posix_lock(k, file, cmd, given)
    kind = wanted.kind
    if (kind == F_RDLCK and not file.f_mode & c.FMODE_READ) or (kind == F_WRLCK and not file.f_mode & c.FMODE_WRITE):
        return -EBADF
    _check_pid(wanted, given)
    ask(k, "file_lock", file.addr, kind)
    locks_get_lock_context(k, file.f_inode, kind)
    k.clock.advance(SETLK_NS)
    waits = cmd not in (F_SETLK, F_SETLK64, F_OFD_SETLK)
    flags = FL_POSIX | (FL_SLEEP if waits else 0) | (0 if isinstance(wanted.owner, int) else FL_OFDLCK)
    owner = wanted.owner if isinstance(wanted.owner, int) else wanted.owner.addr
    seen = LockSeen(k, file, kind, flags, wanted.start, wanted.end, owner)
    try:
        ret = yield from _setlk(k, file, wanted, waits, seen)
        seen.tell("fcntl_setlk", ret)
    finally:
        seen.gone()
    return ret


def _setlk(k: FsKernel, file: File, wanted: Lock, may_wait: bool, seen: LockSeen) -> Body:
    """do_lock_file_wait()."""
    table, kind = table_of(file.f_inode), wanted.kind
    if kind == F_UNLCK:
        table.replace(wanted.owner, wanted.start, wanted.end, None)
        table.place(k)
        table.account(k)
        k.wake_up(table.queue, 0)
        seen.tell("posix_lock_inode", 0)
        return 0
    while (found := table.conflict(wanted)) is not None:
        deadlock = may_wait and would_deadlock(k.vfs.blocked_locks, wanted.owner, found.owner)
        refused = (-EDEADLK if deadlock else 0) if may_wait else -EAGAIN
        seen.tell("posix_lock_inode", refused or FILE_LOCK_DEFERRED)
        if refused:
            return refused
        waits = (wanted.owner, found.owner) if isinstance(wanted.owner, int) else None
        if waits is not None:
            k.vfs.blocked_locks.append(waits)
        ret = yield from _sleep(k, table, wanted, False)
        if waits is not None:
            k.vfs.blocked_locks.remove(waits)
        if ret < 0:
            return ret
    table.replace(wanted.owner, wanted.start, wanted.end, wanted)
    table.place(k, wanted)
    table.account(k)
    if kind == F_RDLCK:
        k.wake_up(table.queue, 0)
    seen.tell("posix_lock_inode", 0)
    return 0
