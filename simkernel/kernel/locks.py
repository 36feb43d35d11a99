"""Sleeping locks as tracers see them.  kernel/locking/{mutex,rwsem}.c.

The body of a kernel function runs without preemption between its calls, so nothing here needs a lock to be right, and a
lock never waits.  The places where Linux takes the locks that tools measure call these functions all the same, with the
lock of the object itself, while anything at all has a probe; who holds a lock is written into it.

    lock = mmap_lock(k)
    if lock:
        yield k.call("down_write_killable", lock)
    ...
    if lock:
        yield k.call("up_write", lock)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from arch.errors import KernelError
from simkernel.kernel.areas import MappedFile
from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.kfunc import kernel_function

RWSEM_WRITER_LOCKED = 1
RWSEM_READER_BIAS = 1 << 8
RWSEM_READER_OWNED = 1

MUTEX, RWSEM = "kernel/locking/mutex.c", "kernel/locking/rwsem.c"


# ---- the functions ----


def _declare(prototype: str, source: str, body: Callable[..., int], since: str | None = None) -> None:
    kernel_function(prototype, source=source, since=since)(body)


def _take_mutex(k: KernelFace, lock: int) -> int:
    """The owner is the current task."""
    k.mirror.set_field(lock, "mutex", "owner.counter", k.current.addr)
    k.current.held_locks.append(("mutex", lock))
    return 0


def _try_mutex(k: KernelFace, lock: int) -> int:
    """1: it was free."""
    _take_mutex(k, lock)
    return 1


def _give_mutex(k: KernelFace, lock: int) -> int:
    """Nobody owns it."""
    k.mirror.set_field(lock, "mutex", "owner.counter", 0)
    _given(k, "mutex", lock)
    return 0


def _read_lock(k: KernelFace, sem: int) -> int:
    """One reader more."""
    k.mirror.set_field(
        sem,
        "rw_semaphore",
        "count.counter",
        k.mirror.get_field(sem, "rw_semaphore", "count.counter") + RWSEM_READER_BIAS,
    )
    k.mirror.set_field(sem, "rw_semaphore", "owner.counter", k.current.addr | RWSEM_READER_OWNED)
    k.current.held_locks.append(("read", sem))
    return 0


def _try_read(k: KernelFace, sem: int) -> int:
    """1: no writer."""
    _read_lock(k, sem)
    return 1


def _read_unlock(k: KernelFace, sem: int) -> int:
    """One reader less."""
    count = k.mirror.get_field(sem, "rw_semaphore", "count.counter") - RWSEM_READER_BIAS
    k.mirror.set_field(sem, "rw_semaphore", "count.counter", max(0, count))
    _given(k, "read", sem)
    return 0


def _write_lock(k: KernelFace, sem: int) -> int:
    """The writer is the current task."""
    k.mirror.set_field(sem, "rw_semaphore", "count.counter", RWSEM_WRITER_LOCKED)
    k.mirror.set_field(sem, "rw_semaphore", "owner.counter", k.current.addr)
    k.current.held_locks.append(("write", sem))
    return 0


def _try_write(k: KernelFace, sem: int) -> int:
    """1: it was free."""
    _write_lock(k, sem)
    return 1


def _write_unlock(k: KernelFace, sem: int) -> int:
    """Nobody owns it."""
    k.mirror.set_field(sem, "rw_semaphore", "owner.counter", 0)
    k.mirror.set_field(sem, "rw_semaphore", "count.counter", 0)
    _given(k, "write", sem)
    return 0


def _given(k: KernelFace, kind: str, lock: int) -> None:
    """Somebody else may have taken it: then it is not in the list."""
    held = k.current.held_locks
    if (kind, lock) in held:
        held.remove((kind, lock))


def release_all(k: KernelFace) -> None:
    """The current task ends in an oops: it gives back what it holds, the newest first."""
    give = {"mutex": _give_mutex, "read": _read_unlock, "write": _write_unlock}
    for kind, lock in reversed(k.current.held_locks.copy()):
        give[kind](k, lock)


_declare("void mutex_lock(struct mutex *lock)", MUTEX, _take_mutex)
_declare("int mutex_lock_interruptible(struct mutex *lock)", MUTEX, _take_mutex)
_declare("int mutex_lock_killable(struct mutex *lock)", MUTEX, _take_mutex)
_declare("int mutex_trylock(struct mutex *lock)", MUTEX, _try_mutex)
_declare("void mutex_unlock(struct mutex *lock)", MUTEX, _give_mutex)
_declare("void down_read(struct rw_semaphore *sem)", RWSEM, _read_lock)
_declare("int down_read_interruptible(struct rw_semaphore *sem)", RWSEM, _read_lock, "5.11")
_declare("int down_read_killable(struct rw_semaphore *sem)", RWSEM, _read_lock, "4.15")
_declare("int down_read_trylock(struct rw_semaphore *sem)", RWSEM, _try_read)
_declare("void up_read(struct rw_semaphore *sem)", RWSEM, _read_unlock)
_declare("void down_write(struct rw_semaphore *sem)", RWSEM, _write_lock)
_declare("int down_write_killable(struct rw_semaphore *sem)", RWSEM, _write_lock, "4.7")
_declare("int down_write_trylock(struct rw_semaphore *sem)", RWSEM, _try_write)
_declare("void up_write(struct rw_semaphore *sem)", RWSEM, _write_unlock)


class Pipe(Protocol):
    """struct pipe_inode_info's twin."""

    addr: int


# ---- the locks of objects: 0 while nothing has a probe ----


def observed(k: KernelFace) -> bool:
    """Somebody has a probe on some kernel function."""
    return bool(k.vfs.probed)


def _member(k: KernelFace, struct: str, address: int, *names: str) -> int:
    for name in names:
        offset = k.mirror.offset_of(f"struct {struct}", name)
        if offset >= 0:
            return int(address) + int(offset)
    return 0


def mmap_lock(k: KernelFace) -> int:
    """Of the current address space."""
    mm = k.current.mm
    if mm is None or not mm.addr or not observed(k):
        return 0
    return _member(k, "mm_struct", mm.addr, "mmap_lock", "mmap_sem")


def inode_lock(k: KernelFace, inode: object) -> int:
    """inode_lock(): i_rwsem, a mutex before 4.7."""
    return _member(k, "inode", k.vfs.inode_address(inode), "i_rwsem") if observed(k) else 0


def pos_lock(k: KernelFace, file: MappedFile) -> int:
    """fdget_pos(): the position of a file that more than one descriptor or thread uses."""
    return _member(k, "file", file.addr, "f_pos_lock") if observed(k) else 0


def pipe_mutex(k: KernelFace, pipe: Pipe) -> int:
    """pipe_lock()."""
    if not observed(k):
        return 0
    if not pipe.addr:
        pipe.addr = k.mem.alloc(k.mirror.size_of("struct pipe_inode_info"))
    return _member(k, "pipe_inode_info", pipe.addr, "mutex")


MMAP_LOCK_EVENTS = ("mmap_lock_start_locking", "mmap_lock_acquire_returned")


def mmap_locking(k: KernelFace, write: bool) -> None:
    """The events of taking an address space's lock, which never waits."""
    points, mm = k.tracepoints.points, k.current.mm
    if mm is None or MMAP_LOCK_EVENTS[0] not in points:
        return
    if points[MMAP_LOCK_EVENTS[0]].active:
        points[MMAP_LOCK_EVENTS[0]].fire(mm.addr, k.mirror.scratch_string(b"/"), write)
    if points[MMAP_LOCK_EVENTS[1]].active:
        points[MMAP_LOCK_EVENTS[1]].fire(mm.addr, k.mirror.scratch_string(b"/"), write, True)


def mmap_unlocked(k: KernelFace, write: bool) -> None:
    """And of giving it back."""
    point, mm = k.tracepoints.points.get("mmap_lock_released"), k.current.mm
    if mm is not None and point is not None and point.active:
        point.fire(mm.addr, k.mirror.scratch_string(b"/"), write)


def under_mmap_lock(k: KernelFace, work: Callable[[], int | None]) -> Body:
    """`yield from`: some plain work on the current address space as its only writer."""
    lock = mmap_lock(k)
    mmap_locking(k, True)
    if lock:
        killable = k.version.at_least("4.7")
        yield k.call("down_write_killable" if killable else "down_write", lock)
    try:
        ret = work() or 0
    except KernelError as error:
        ret = -error.errno
    mmap_unlocked(k, True)
    if lock:
        yield k.call("up_write", lock)
    return ret


def under_inode_lock(k: KernelFace, inode: object, name: str, *args: int) -> Body:
    """`yield from`: one call with an inode locked for writing."""
    lock = inode_lock(k, inode)
    if not lock:
        return (yield k.call(name, *args))
    yield k.call("down_write", lock)
    ret = yield k.call(name, *args)
    yield k.call("up_write", lock)
    return ret
