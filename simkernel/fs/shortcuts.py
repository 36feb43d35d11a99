"""Reading, writing and seeking without kernel text and without Python: /dev/null, /dev/zero, and what the page cache has.

kernel/shortcuts.py tells how.
"""

from __future__ import annotations

from functools import partial

from arch.abi.fcntl import O_NOATIME, SEEK_CUR, SEEK_END, SEEK_SET
from arch.abi.limits import MAX_RW_COUNT, PAGE_SHIFT, PAGE_SIZE, S32_MAX, U32_MAX
from arch.abi.mount import MS_NOATIME, MS_RDONLY, MS_RELATIME
from arch.abi.stat import makedev
from arch.abi.time import TICK_NSEC
from arch.native.block import Word
from arch.native.slots import LENGTH, slot_address, slot_offset
from arch.native.subset import Words, as_uint, copy, decline, entry, native, set_uint, shared, store64, zero
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
from simkernel.fs.fdtable import FilesStruct
from simkernel.fs.hostfs import HOST_FILE_OPERATIONS
from simkernel.fs.inode import File, Inode, Mount, SuperBlock
from simkernel.fs.mounts import DAY_NS
from simkernel.fs.pagecache import Mapping
from simkernel.fs.tmpfs import SHMEM_FILE_OPERATIONS
from simkernel.fs.vfs import Vfs
from simkernel.kernel.shortcuts import (
    COST,
    NONE,
    OTHER_BODY,
    OTHER_COST,
    OTHER_WALK,
    OWN,
    REALTIME,
    WALK,
    Shortcut,
    Way,
    at,
    begin,
    end,
    user_place,
)
from simkernel.kernel.task import Task, TaskIo
from simkernel.kernel.visits import A32, B, C, X, Y, arrive, depart

FILES, IO = slot_offset(Task, "files"), slot_offset(Task, "io")
FDS, SHARERS = slot_offset(FilesStruct, "fds"), slot_offset(FilesStruct, "count")
F_MODE, F_OP, F_POS, F_FLAGS = (slot_offset(File, name) for name in ("f_mode", "f_op", "f_pos", "f_flags"))
F_COUNT, F_INODE, F_MAPPING = (slot_offset(File, name) for name in ("f_count", "f_inode", "f_mapping"))
F_PATH, POS_ADDR, ADDR = (slot_offset(File, name) for name in ("f_path", "pos_addr", "addr"))
I_SIZE, ATIME, MTIME, CTIME = (slot_offset(Inode, name) for name in ("i_size", "atime", "mtime", "ctime"))
I_SB, I_STATE, S_FLAGS = slot_offset(Inode, "i_sb"), slot_offset(Inode, "i_state"), slot_offset(SuperBlock, "s_flags")
MNT_FLAGS, PAGES = slot_offset(Mount, "mnt_flags"), slot_offset(Mapping, "pages")
SYSCR, SYSCW, RCHAR, WCHAR = (slot_offset(TaskIo, name) for name in ("syscr", "syscw", "rchar", "wchar"))
FIRST_ITEM = tuple.__basicsize__  # of a tuple: path.mnt
MAX_POSITION = 1 << 40  # beyond, the bodies look

# Own words: a reference to the number of inotify marks, file operations, the list of free kiocbs, a reference to
# whether somebody hears of dirty inodes.
MARKS, NULL, ZERO, SHMEM, HOST, KIOCBS, LISTENERS = range(OWN, OWN + 7)


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
def write(s: Words, nr: int, fd: int, buf: int, count: int) -> int:
    """write_null()."""
    now = begin(s, s[COST])
    check_access(s, buf, count)
    file = open_file(fd & U32_MAX, FMODE_WRITE | FMODE_CAN_WRITE)
    operations = at(file + F_OP)
    if operations != s[NULL] and operations != s[ZERO]:
        decline()
    if as_uint(at(file + F_POS)) or as_uint(at(file + F_MODE)) & FMODE_ATOMIC_POS:
        decline()
    arrive(s[WALK], now, nr, fd, buf, count, as_uint(at(file + ADDR)), position(file))
    io = at(shared[Word.TASK] + IO)
    add(io + SYSCW, 1)
    add(io + WCHAR, count)
    depart(s[WALK], now, count)
    end(s, nr, now, s[COST])
    return count


@native
def position(file: int) -> int:
    """The ppos that vfs_read() and vfs_write() get."""
    return 0 if as_uint(at(file + F_MODE)) & FMODE_STREAM else as_uint(at(file + POS_ADDR))


@native
def read(s: Words, nr: int, fd: int, buf: int, count: int) -> int:
    """read_null(), read_zero() into one page, and what the page cache has."""
    file = open_file(fd & U32_MAX, FMODE_READ | FMODE_CAN_READ)
    check_access(s, buf, count)
    operations = at(file + F_OP)
    if operations == s[SHMEM] or operations == s[HOST]:
        return read_pages(s, nr, fd, file, buf, count)
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


def shortcuts(vfs: Vfs) -> tuple[Shortcut, ...]:
    """The rows of a machine's file system."""

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
        )

    asked = ("rw_verify_area", "security_file_permission", "bpf_lsm_file_permission")
    given, inner = (A32, B, C), (X, B, C, Y)
    writing = Way(("ksys_write", "vfs_write", "__vfs_write"), "write_null", True, (given, inner, inner, inner))
    reading = ("ksys_read", "vfs_read", "__vfs_read")
    pages = Way((*reading, "new_sync_read"), "shmem_file_read_iter", False, (given, inner, inner, inner))
    others = (*asked, "read_zero", "generic_file_read_iter")
    return (
        Shortcut("write", write, writing, others=asked, words=partial(words, False)),
        Shortcut(
            "read", read, Way(reading, "read_null", False, (given, inner, inner)), pages, others, partial(words, True)
        ),
        Shortcut("lseek", lseek, Way(("ksys_lseek",), "vfs_llseek"), words=partial(words, False)),
    )
