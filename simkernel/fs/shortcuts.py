"""Reading, writing and seeking without kernel text and without Python: /dev/null, /dev/zero, and what the page cache has; pipes
that have room or bytes, without kernel text: what moves the bytes is their own Python.

kernel/shortcuts.py tells how.
"""

from __future__ import annotations

import ctypes
from functools import partial

from arch.abi.fcntl import O_NOATIME, SEEK_CUR, SEEK_END, SEEK_SET
from arch.abi.limits import MAX_RW_COUNT, PAGE_SHIFT, PAGE_SIZE, S32_MAX, U32_MAX, U64_MAX
from arch.abi.mount import MS_NOATIME, MS_RDONLY, MS_RELATIME
from arch.abi.stat import makedev
from arch.abi.time import TICK_NSEC
from arch.native.block import Word
from arch.native.slots import ITEMS, LENGTH, slot_address, slot_offset
from arch.native.subset import (
    Words,
    as_uint,
    call_python,
    copy,
    copy_in,
    copy_out,
    decline,
    entry,
    native,
    set_uint,
    shared,
    store64,
    zero,
)
from arch.native.walk import user_readable
from simkernel.fs.constants import (
    FMODE_ATOMIC_POS,
    FMODE_CAN_READ,
    FMODE_CAN_WRITE,
    FMODE_LSEEK,
    FMODE_PATH,
    FMODE_READ,
    FMODE_STREAM,
    FMODE_WRITE,
)
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import FilesStruct
from simkernel.fs.hostfs import HOST_FILE_OPERATIONS
from simkernel.fs.inode import File, Inode, Mount, SuperBlock
from simkernel.fs.mounts import DAY_NS
from simkernel.fs.pagecache import Mapping
from simkernel.fs.pipe import PIPEFIFO_FOPS, Pipe
from simkernel.fs.pipe_bodies import PIPE_MOST, WHOLE_PAGES, PipeBodies
from simkernel.fs.tmpfs import SHMEM_FILE_OPERATIONS
from simkernel.kernel.engine import HYPERCALL_NS
from simkernel.kernel.runqueue import WAKEUP_PREEMPTS_NS
from simkernel.kernel.shortcuts import (
    COST,
    NONE,
    OTHER_BODY,
    OTHER_COST,
    OTHER_WALK,
    OWN,
    REALTIME,
    UNPROBED_BODY,
    UNPROBED_COST,
    UNPROBED_WALK,
    WALK,
    Shortcut,
    Way,
    at,
    begin,
    end,
    user_place,
)
from simkernel.kernel.task import TASK_RUNNING, Task, TaskIo, WaitQueue
from simkernel.kernel.visits import A32, B, C, X, Y, arrive, charge, depart

FILES, IO = slot_offset(Task, "files"), slot_offset(Task, "io")
FDS, SHARERS = slot_offset(FilesStruct, "fds"), slot_offset(FilesStruct, "count")
F_MODE, F_OP, F_POS, F_FLAGS = (slot_offset(File, name) for name in ("f_mode", "f_op", "f_pos", "f_flags"))
F_COUNT, F_INODE, F_MAPPING = (slot_offset(File, name) for name in ("f_count", "f_inode", "f_mapping"))
F_PATH, POS_ADDR, ADDR = (slot_offset(File, name) for name in ("f_path", "pos_addr", "addr"))
I_SIZE, ATIME, MTIME, CTIME = (slot_offset(Inode, name) for name in ("i_size", "atime", "mtime", "ctime"))
I_PIPE, BUFS, SLOTS = slot_offset(Inode, "i_pipe"), slot_offset(Pipe, "bufs"), slot_offset(Pipe, "slots")
READERS, RD_WAIT, WR_WAIT = (slot_offset(Pipe, name) for name in ("readers", "rd_wait", "wr_wait"))
WAITERS, ON_WAKE = slot_offset(WaitQueue, "waiters"), slot_offset(WaitQueue, "on_wake")
I_SB, I_STATE, S_FLAGS = slot_offset(Inode, "i_sb"), slot_offset(Inode, "i_state"), slot_offset(SuperBlock, "s_flags")
MNT_FLAGS, PAGES = slot_offset(Mount, "mnt_flags"), slot_offset(Mapping, "pages")
SYSCR, SYSCW, RCHAR, WCHAR = (slot_offset(TaskIo, name) for name in ("syscr", "syscw", "rchar", "wchar"))
FIRST_ITEM = tuple.__basicsize__  # of a tuple: path.mnt, a waiter's task
STATE, VRUNTIME = slot_offset(Task, "state"), slot_offset(Task, "vruntime")
MAX_POSITION = 1 << 40  # beyond, the bodies look

PIPE_MARGIN = 64  # pages that are free: no call here can find that there is no memory

# Own words: a reference to the number of inotify marks, file operations, the list of free kiocbs, a reference to
# whether somebody hears of dirty inodes; for pipes: their operations, functions that have probes, a reference to the number of free
# pages, what Python has in place of a body, the words where it finds how many bytes it is asked for and leaves how many it was,
# the bytes, what says whether a sleeper may be woken, whether there is one, and whether the machine has one CPU.
(
    MARKS, NULL, ZERO, SHMEM, HOST, KIOCBS, LISTENERS, PIPE, PROBED, FREE_PAGES, PIPE_BODY, PIPE_COUNT, PIPE_BYTES, PIPE_ASKS, ASLEEP, ALONE,
) = range(OWN, OWN + 16)  # fmt: skip
FAILED = U64_MAX


@native
def open_file(fd: int, mode: int) -> int:
    """fdget(): a file that may do this."""
    if fd > S32_MAX:
        decline()
    file = entry(at(at(shared[Word.TASK] + FILES) + FDS), fd)
    if not file:
        decline()
    if as_uint(at(file + F_MODE)) & (mode | FMODE_PATH) != mode:
        decline()
    return file


@native
def check_access(s: Words, buf: int, count: int) -> int:
    """What vfs_read() and vfs_write() ask first."""
    if as_uint(at(s[MARKS])):
        decline()
    if count > MAX_RW_COUNT or buf > shared[Word.USER_END] or buf + count > shared[Word.USER_END]:
        decline()
    return 0


@native
def add(place: int, count: int) -> int:
    if count:
        set_uint(place, as_uint(at(place)) + count)
    return 0


@native
def count_read(count: int) -> int:
    io = at(shared[Word.TASK] + IO)
    add(io + SYSCR, 1)
    add(io + RCHAR, count)
    return 0


@native
def count_written(count: int) -> int:
    io = at(shared[Word.TASK] + IO)
    add(io + SYSCW, 1)
    add(io + WCHAR, count)
    return 0


@native
def write(s: Words, nr: int, fd: int, buf: int, count: int) -> int:
    """write_null(), and pipes."""
    check_access(s, buf, count)
    file = open_file(fd & U32_MAX, FMODE_WRITE | FMODE_CAN_WRITE)
    operations = at(file + F_OP)
    if operations == s[PIPE]:
        return write_pipe(s, nr, fd, file, buf, count)
    now = begin(s, s[COST])
    if operations != s[NULL] and operations != s[ZERO]:
        decline()
    if as_uint(at(file + F_POS)) or as_uint(at(file + F_MODE)) & FMODE_ATOMIC_POS:
        decline()
    arrive(s[WALK], now, nr, fd, buf, count, as_uint(at(file + ADDR)), position(file))
    count_written(count)
    depart(s[WALK], now, count)
    end(s, nr, now, s[COST])
    return count


@native
def position(file: int) -> int:
    """The ppos that vfs_read() and vfs_write() get."""
    return 0 if as_uint(at(file + F_MODE)) & FMODE_STREAM else as_uint(at(file + POS_ADDR))


@native
def read(s: Words, nr: int, fd: int, buf: int, count: int) -> int:
    """read_null(), read_zero() into one page, what the page cache has, and pipes."""
    file = open_file(fd & U32_MAX, FMODE_READ | FMODE_CAN_READ)
    check_access(s, buf, count)
    operations = at(file + F_OP)
    if operations == s[SHMEM] or operations == s[HOST]:
        return read_pages(s, nr, fd, file, buf, count)
    if operations == s[PIPE]:
        return read_pipe(s, nr, fd, file, buf, count)
    now = begin(s, s[COST])
    if as_uint(at(file + F_POS)) or as_uint(at(file + F_MODE)) & FMODE_ATOMIC_POS:
        decline()
    if operations == s[ZERO]:
        if count == 0 or count > PAGE_SIZE:
            decline()
        place = user_place(buf, count)
        arrive(s[WALK], now, nr, fd, buf, count, as_uint(at(file + ADDR)), position(file))
        zero(place, count)
    elif operations == s[NULL]:
        arrive(s[WALK], now, nr, fd, buf, count, as_uint(at(file + ADDR)), position(file))
        count = 0
    else:
        decline()
    count_read(count)
    depart(s[WALK], now, count)
    end(s, nr, now, s[COST])
    return count


@native
def least(a: int, b: int) -> int:
    return a if a < b else b


@native
def check_pages(mapping: int, pos: int, buf: int, count: int) -> int:
    """Declines where read_pages() would in its midst."""
    done = 0
    while done < count:
        if not entry(at(mapping + PAGES), pos + done >> PAGE_SHIFT):
            decline()
        offset = pos + done & (PAGE_SIZE - 1)
        step = least(count - done, least(PAGE_SIZE - offset, PAGE_SIZE - (buf + done & (PAGE_SIZE - 1))))
        user_place(buf + done, step)
        done += step
    return 0


@native
def read_pages(s: Words, nr: int, fd: int, file: int, buf: int, asked: int) -> int:
    """shmem_file_read_iter(), generic_file_read_iter().  What was copied when it declines is copied once more."""
    now = begin(s, s[OTHER_COST])
    if as_uint(at(file + F_MODE)) & FMODE_STREAM or not at(s[KIOCBS] + LENGTH):
        decline()
    if as_uint(at(file + F_COUNT)) != 1 or as_uint(at(at(shared[Word.TASK] + FILES) + SHARERS)) != 1:
        decline()  # the position is shared
    mapping = at(file + F_MAPPING)
    inode = at(file + F_INODE)
    pos = as_uint(at(file + F_POS))
    size = as_uint(at(inode + I_SIZE))
    if mapping == s[NONE] or pos > MAX_POSITION:
        decline()
    count = least(asked, size - pos) if pos < size else 0
    time = now + s[OTHER_BODY] + as_uint(at(s[REALTIME]))
    mount = at(at(file + F_PATH) + FIRST_ITEM)
    touched = 0 if as_uint(at(file + F_FLAGS)) & O_NOATIME else atime(s, mount, inode, time)
    if s[OTHER_WALK]:
        check_pages(mapping, pos, buf, count)
        arrive(s[OTHER_WALK], now, nr, fd, buf, asked, as_uint(at(file + ADDR)), position(file))
    done = 0
    while done < count:
        page = entry(at(mapping + PAGES), pos + done >> PAGE_SHIFT)
        if not page:
            decline()
        offset = pos + done & (PAGE_SIZE - 1)
        step = least(count - done, least(PAGE_SIZE - offset, PAGE_SIZE - (buf + done & (PAGE_SIZE - 1))))
        copy(user_place(buf + done, step), shared[Word.DIRECT] + as_uint(page) + offset, step)
        done += step
    if touched:
        set_uint(inode + ATIME, touched)
    set_pos(file, pos + count)
    count_read(count)
    depart(s[OTHER_WALK], now, count)
    end(s, nr, now, s[OTHER_COST])
    return count


@native
def atime(s: Words, mount: int, inode: int, time: int) -> int:
    """touch_atime() of what is no directory: the time that it sets, or 0."""
    flags = as_uint(at(mount + MNT_FLAGS))
    if (flags | as_uint(at(at(inode + I_SB) + S_FLAGS))) & (MS_NOATIME | MS_RDONLY):
        return 0
    time -= time % TICK_NSEC
    last = as_uint(at(inode + ATIME))
    if time == last:
        return 0
    if flags & MS_RELATIME and as_uint(at(inode + MTIME)) < last and as_uint(at(inode + CTIME)) < last:
        if time - last < DAY_NS or time < last:
            return 0
    if as_uint(at(s[LISTENERS])) or not as_uint(at(inode + I_STATE)):
        decline()  # mark_inode_dirty() tells, or notes it for the first time
    return time


@native
def set_pos(file: int, pos: int) -> int:
    """f_pos, in both places."""
    store64(as_uint(at(file + POS_ADDR)), pos)
    set_uint(file + F_POS, pos)
    return 0


@native
def wake_cost(s: Words, queue: int) -> int:
    """ns of a __wake_up() of those on a queue: most have been woken and have not run since, or it is one, who may sleep.

    With nobody there it is not called.  Declines where one wants to be told, or more than one are there and one sleeps.
    """
    if at(at(queue + ON_WAKE) + LENGTH):
        decline()
    waiters = at(queue + WAITERS)
    count = at(waiters + LENGTH)
    s[ASLEEP] = 0
    for i in range(count):
        waiter = at(at(waiters + ITEMS) + 8 * i)
        if as_uint(at(at(waiter + FIRST_ITEM) + STATE)) != TASK_RUNNING:
            if count != 1:
                decline()
            s[ASLEEP] = 1
    return HYPERCALL_NS + (HYPERCALL_NS >> 1) + count * HYPERCALL_NS if count else 0


@native
def wake_follows(s: Words, file: int, queue: int, count: int, end: int) -> int:
    """What comes behind the call, which would be over at `end`, since a sleeper is woken: ns, or FAILED.  Nothing has changed by then."""
    if not s[ASLEEP]:
        return 0
    pages = 0
    if count >= PAGE_SIZE:
        pages = WHOLE_PAGES
    sleeper = at(at(at(at(queue + WAITERS) + ITEMS)) + FIRST_ITEM)
    behind = as_uint(at(sleeper + VRUNTIME)) + WAKEUP_PREEMPTS_NS < as_uint(at(shared[Word.TASK] + VRUNTIME))
    if s[ALONE] and behind and not pages:
        decline()  # it would run at once, which Python would say, too
    set_at(s[PIPE_COUNT], end)
    shared[Word.VISITED] = 1
    if call_python(s[PIPE_ASKS], as_uint(at(file + ADDR)) + pages):
        return FAILED
    answer = at(s[PIPE_COUNT])
    if not answer:
        shared[Word.VISITED] = 0
        decline()
    return answer - 1


@native
def quiet_pipe(s: Words, file: int, count: int) -> int:
    """A pipe with its lock as nobody sees it, of which so many bytes are moved at once."""
    if at(s[PROBED] + LENGTH) or not at(s[KIOCBS] + LENGTH) or not as_uint(at(file + F_MODE)) & FMODE_STREAM:
        decline()
    pipe = at(at(file + F_INODE) + I_PIPE)
    if pipe == s[NONE] or not count or count > PIPE_MOST:
        decline()
    return pipe


@native
def begin_moving(s: Words, waking: int) -> int:
    """begin(), where a __wake_up() takes so long on its way."""
    return begin(s, s[UNPROBED_COST] + waking)


@native
def move_bytes(s: Words, now: int, file: int, count: int) -> int:
    """What the body does: how many bytes."""
    charge(shared[Word.WORK] - shared[Word.WORK_SEEN])
    set_uint(shared[Word.CLOCK], now + s[UNPROBED_BODY])
    shared[Word.VISITED] = 1
    set_at(s[PIPE_COUNT], count)
    if call_python(s[PIPE_BODY], as_uint(at(file + ADDR))):
        return 0
    return at(s[PIPE_COUNT])


@native
def set_at(m: Words, value: int) -> int:
    m[0] = value
    return 0


@native
def piece(address: int, left: int) -> int:
    """Bytes up to the end of a page."""
    return least(left, PAGE_SIZE - (address & (PAGE_SIZE - 1)))


@native
def read_pipe(s: Words, nr: int, fd: int, file: int, buf: int, count: int) -> int:
    """pipe_read() of what is there."""
    pipe = quiet_pipe(s, file, count)
    held = at(at(pipe + BUFS) + LENGTH)
    if not held:
        decline()
    waking = wake_cost(s, at(pipe + WR_WAIT))
    if waking and held >= as_uint(at(pipe + SLOTS)) and count < PAGE_SIZE:
        decline()  # it may be as full afterwards, and then calls nobody
    now = begin_moving(s, waking)
    reached = least(count, held * PAGE_SIZE)
    done = 0
    while done < reached:
        user_place(buf + done, piece(buf + done, reached - done))
        done += piece(buf + done, reached - done)
    inode = at(file + F_INODE)
    time = now + s[UNPROBED_BODY] + waking + as_uint(at(s[REALTIME]))
    touched = atime(s, at(at(file + F_PATH) + FIRST_ITEM), inode, time)
    more = wake_follows(s, file, at(pipe + WR_WAIT), count, now + waking + s[UNPROBED_COST])
    if more == FAILED:
        return 0
    arrive(s[UNPROBED_WALK], now, nr, fd, buf, count, as_uint(at(file + ADDR)), 0)
    got = move_bytes(s, now, file, count)
    done = 0
    while done < got:
        step = piece(buf + done, got - done)
        copy_in(user_place(buf + done, step), s[PIPE_BYTES] + done, step)
        done += step
    if touched:
        set_uint(inode + ATIME, touched)
    count_read(got)
    depart(s[UNPROBED_WALK], now + waking, got)
    end(s, nr, now + waking + more, s[UNPROBED_COST])
    return got


@native
def write_pipe(s: Words, nr: int, fd: int, file: int, buf: int, count: int) -> int:
    """pipe_write() of what there is room for."""
    pipe = quiet_pipe(s, file, count)
    held = at(at(pipe + BUFS) + LENGTH)
    if held + (count + PAGE_SIZE - 1) // PAGE_SIZE > as_uint(at(pipe + SLOTS)) or not as_uint(at(pipe + READERS)):
        decline()
    waking = wake_cost(s, at(pipe + RD_WAIT))
    if held:
        if s[ASLEEP]:
            decline()
        waking = 0  # what has bytes already tells its readers without a call
    now = begin_moving(s, waking)
    if as_uint(at(s[FREE_PAGES])) < PIPE_MARGIN:
        decline()
    done = 0
    while done < count:
        if not user_readable(buf + done):
            decline()
        done += piece(buf + done, count - done)
    inode = at(file + F_INODE)
    time = now + s[UNPROBED_BODY] + waking + as_uint(at(s[REALTIME]))
    time -= time % TICK_NSEC
    changes = as_uint(at(inode + MTIME)) != time or as_uint(at(inode + CTIME)) != time
    if changes and (as_uint(at(s[LISTENERS])) or not as_uint(at(inode + I_STATE))):
        decline()
    more = wake_follows(s, file, at(pipe + RD_WAIT), count, now + waking + s[UNPROBED_COST])
    if more == FAILED:
        return 0
    arrive(s[UNPROBED_WALK], now, nr, fd, buf, count, as_uint(at(file + ADDR)), 0)
    done = 0
    while done < count:
        step = piece(buf + done, count - done)
        copy_out(s[PIPE_BYTES] + done, user_readable(buf + done), step)
        done += step
    got = move_bytes(s, now, file, count)
    if changes:
        set_uint(inode + MTIME, time)
        set_uint(inode + CTIME, time)
    count_written(got)
    depart(s[UNPROBED_WALK], now + waking, got)
    end(s, nr, now + waking + more, s[UNPROBED_COST])
    return got


@native
def lseek(s: Words, nr: int, fd: int, offset: int, whence: int) -> int:
    """Of files of tmpfs, forward or back to a place that the file could have."""
    now = begin(s, s[COST])
    file = open_file(fd & U32_MAX, FMODE_LSEEK)
    whence &= U32_MAX
    if at(file + F_OP) != s[SHMEM] or offset > MAX_POSITION:
        decline()
    pos = as_uint(at(file + F_POS))
    asked = offset
    if whence == SEEK_CUR:
        offset += pos
    elif whence == SEEK_END:
        offset += as_uint(at(at(file + F_INODE) + I_SIZE))
    elif whence != SEEK_SET:
        decline()
    if offset > S32_MAX:
        decline()
    arrive(s[WALK], now, nr, fd, asked, whence, as_uint(at(file + ADDR)), 0)
    if offset != pos:
        set_pos(file, offset)
    depart(s[WALK], now, offset)
    end(s, nr, now, s[COST])
    return offset


def shortcuts(k: FsKernel) -> tuple[Shortcut, ...]:
    """The rows of a machine's file system."""
    vfs, pipes = k.vfs, PipeBodies(k)
    bodies = pipes.read, pipes.write  # alive as long as the rows
    asks = pipes.asks_to_read, pipes.asks_to_write

    def words(reads: bool) -> tuple[int, ...]:
        null, zeros = vfs.char_devices[makedev(1, 3)], vfs.char_devices[makedev(1, 5)]
        zero_fops = id(zeros) if zeros.read or not reads else 0
        files = (id(SHMEM_FILE_OPERATIONS), id(HOST_FILE_OPERATIONS))
        return (
            slot_address(vfs.fsnotify, "active"),
            id(null),
            zero_fops,
            *files,
            id(vfs.uio.free),
            slot_address(vfs.dirty, "active"),
            id(PIPEFIFO_FOPS),
            id(vfs.probed),
            slot_address(k.physical, "free_pages"),
            id(bodies[not reads]),
            ctypes.addressof(pipes.count),
            ctypes.addressof(pipes.bytes),
            id(asks[not reads]),
            0,
            len(k.cpus.rqs) == 1,
        )

    woken = ("__wake_up", "try_to_wake_up")
    asked = ("rw_verify_area", "security_file_permission", "bpf_lsm_file_permission")
    given, inner = (A32, B, C), (X, B, C, Y)
    writing = Way(("ksys_write", "vfs_write", "__vfs_write"), "write_null", True, (given, inner, inner, inner))
    reading = ("ksys_read", "vfs_read", "__vfs_read")
    into = Way((*writing.calls, "new_sync_write", "pipe_write"))
    out_of = Way((*reading, "new_sync_read", "pipe_read"))
    pages = Way((*reading, "new_sync_read"), "shmem_file_read_iter", False, (given, inner, inner, inner))
    others = (*asked, "read_zero", "generic_file_read_iter")
    return (
        Shortcut("write", write, writing, unprobed_way=into, others=asked, behind=woken, words=partial(words, False)),
        Shortcut(
            "read",
            read,
            Way(reading, "read_null", False, (given, inner, inner)),
            pages,
            out_of,
            others,
            woken,
            partial(words, True),
        ),
        Shortcut("lseek", lseek, Way(leaf="ksys_lseek"), words=partial(words, False)),
    )
