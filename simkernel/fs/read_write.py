"""read(2), write(2) and their relatives.  fs/read_write.c, fs/sync.c.

The path of a read is ksys_read, vfs_read (rw_verify_area and security_file_permission below it), then the file's own
function: read_null, pipe_read, shmem_file_read_iter ... .
"""

from __future__ import annotations

from arch.abi.errno import EAGAIN, EBADF, EFAULT, EINVAL, EOPNOTSUPP, ESPIPE  # fmt: skip
from arch.abi.fcntl import RWF_HIPRI, RWF_NOWAIT
from arch.abi.internal import READ, WRITE
from arch.abi.limits import MAX_RW_COUNT, S64_MAX
from arch.abi.poll import POLLIN, POLLOUT
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import files_of
from simkernel.fs.fsnotify import FS_ACCESS, FS_ACCESS_PERM, FS_MODIFY
from simkernel.fs.inode import File
from simkernel.fs.uio import IovIter, Kiocb, import_iovec
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.locks import pos_lock
from simkernel.kernel.security import call_int_hook


def get_pos(k: FsKernel, file: File, ppos: int) -> int:
    """*ppos, where it may be the file's own f_pos."""
    if ppos == file.pos_addr:
        return file.f_pos
    if not ppos:
        return 0
    value: int = k.mem.read_uint(ppos, 8)
    return value - (1 << 64) if value >> 63 else value


def set_pos(k: FsKernel, file: File, ppos: int, pos: int) -> None:
    """*ppos = pos."""
    if ppos == file.pos_addr:
        file.f_pos = pos
    if ppos:
        k.mem.write_uint(ppos, 8, pos & 0xFFFFFFFFFFFFFFFF)


# --- the vfs_ layer ---


def _area_is_sane(k: FsKernel, file: File, ppos: int, count: int) -> bool:
    return not ppos or 0 <= get_pos(k, file, ppos) <= S64_MAX - count


_PERMISSION = ("rw_verify_area", "security_file_permission", "bpf_lsm_file_permission")


def verify_area(k: FsKernel, file: File, read_write: int, ppos: int, count: int) -> Body:
    """rw_verify_area(): really called only while it, or what it calls, has a probe; nothing else can tell."""
    probed = k.vfs.probed
    if k.vfs.fsnotify.groups and read_write == READ:
        ret = yield from k.vfs.fsnotify.ask(file, FS_ACCESS_PERM)
        if ret < 0:
            return ret
    if probed and any(map(probed.get, _PERMISSION)):
        return (yield k.call("rw_verify_area", read_write, file.addr, ppos, count))
    return 0 if _area_is_sane(k, file, ppos, count) else -EINVAL


@kernel_function(
    "int rw_verify_area(int read_write, struct file *file, const loff_t *ppos, size_t count)",
    source="fs/read_write.c",
    jumps=True,
)
def rw_verify_area(k: FsKernel, read_write: int, file_addr: int, ppos: int, count: int) -> Body:
    """Positions must be sane, then the security modules are asked."""
    if not _area_is_sane(k, k.vfs.files[file_addr], ppos, count):
        return -EINVAL
    return (yield k.call("security_file_permission", file_addr, c.MAY_READ if read_write == READ else c.MAY_WRITE))


@kernel_function("int security_file_permission(struct file *file, int mask)", source="security/security.c")
def security_file_permission(k: FsKernel, file_addr: int, mask: int) -> Body:
    """May it be read or written?"""
    return (yield from call_int_hook(k, "file_permission", file_addr, mask))


@kernel_function("ssize_t vfs_read(struct file *file, char *buf, size_t count, loff_t *pos)", source="fs/read_write.c")
def vfs_read(k: FsKernel, file_addr: int, buf: int, count: int, ppos: int) -> Body:
    """Read at most `count` bytes; return how many.  EBADF, EINVAL, EFAULT, EISDIR."""
    file = k.vfs.files[file_addr]
    if not file.f_mode & c.FMODE_READ:
        return -EBADF
    if not file.f_mode & c.FMODE_CAN_READ:
        return -EINVAL
    if buf + count > k.vfs.user_end:
        return -EFAULT
    ret = yield from verify_area(k, file, READ, ppos, count)
    if ret < 0:
        return ret
    if count > MAX_RW_COUNT:
        count = MAX_RW_COUNT
    ret = (
        (yield k.call(k.vfs.names.read_step, file_addr, buf, count, ppos))
        if k.vfs.names.read_step
        else (yield from _read_step(k, file, buf, count, ppos))
    )
    io = k.current.io
    io.syscr += 1
    if ret > 0:
        io.rchar += ret
        if k.vfs.fsnotify.active:
            k.vfs.fsnotify.file(file, FS_ACCESS)
    return ret


@kernel_function(
    "ssize_t __vfs_read(struct file *file, char *buf, size_t count, loff_t *pos)", source="fs/read_write.c", until="5.9"
)
def __vfs_read(k: FsKernel, file_addr: int, buf: int, count: int, ppos: int) -> Body:
    """The file's own read, or read_iter through new_sync_read."""
    return (yield from _read_step(k, k.vfs.files[file_addr], buf, count, ppos))


def _read_step(k: FsKernel, file: File, buf: int, count: int, ppos: int) -> Body:
    ops = file.f_op
    if ops.read is not None:
        return (yield k.call(ops.read, file.addr, buf, count, ppos))
    if ops.read_iter is None:
        return -EINVAL
    if k.vfs.names.new_sync:
        return (yield k.call("new_sync_read", file.addr, buf, count, ppos))
    return (yield from sync_iter(k, file, ops.read_iter, [(buf, count)], ppos))


@kernel_function(
    "ssize_t new_sync_read(struct file *filp, char *buf, size_t len, loff_t *ppos)", source="fs/read_write.c",
    until="6.0",
)  # fmt: skip
def new_sync_read(k: FsKernel, file_addr: int, buf: int, count: int, ppos: int) -> Body:
    """Turn a read into a read_iter.  Inlined into vfs_read by later compilers."""
    file = k.vfs.files[file_addr]
    return (yield from sync_iter(k, file, file.f_op.read_iter, [(buf, count)], ppos))


def sync_iter(k: FsKernel, file: File, function: str | None, segments: list[tuple[int, int]], ppos: int,
               flags: int = 0) -> Body:  # fmt: skip
    """init_sync_kiocb(), the call of read_iter or write_iter, *ppos = ki_pos."""
    if function is None:
        return -EINVAL
    iocb = Kiocb(file, get_pos(k, file, ppos), IovIter(k, segments), flags)
    kiocb, it = k.vfs.uio.begin(iocb)
    ret = yield k.call(function, kiocb, it)
    k.vfs.uio.end(iocb)
    if ppos:
        set_pos(k, file, ppos, iocb.pos)
    return ret


@kernel_function(
    "ssize_t vfs_write(struct file *file, const char *buf, size_t count, loff_t *pos)", source="fs/read_write.c"
)
def vfs_write(k: FsKernel, file_addr: int, buf: int, count: int, ppos: int) -> Body:
    """Write at most `count` bytes; return how many.  EBADF, EINVAL, EFAULT."""
    file = k.vfs.files[file_addr]
    if not file.f_mode & c.FMODE_WRITE:
        return -EBADF
    if not file.f_mode & c.FMODE_CAN_WRITE:
        return -EINVAL
    if buf + count > k.vfs.user_end:
        return -EFAULT
    ret = yield from verify_area(k, file, WRITE, ppos, count)
    if ret < 0:
        return ret
    if count > MAX_RW_COUNT:
        count = MAX_RW_COUNT
    ret = (
        (yield k.call(k.vfs.names.write_step, file_addr, buf, count, ppos))
        if k.vfs.names.write_step
        else (yield from _write_step(k, file, buf, count, ppos))
    )
    io = k.current.io
    io.syscw += 1
    if ret > 0:
        io.wchar += ret
        if k.vfs.fsnotify.active:
            k.vfs.fsnotify.file(file, FS_MODIFY)
    return ret


@kernel_function(
    "ssize_t __vfs_write(struct file *file, const char *p, size_t count, loff_t *pos)", source="fs/read_write.c",
    until="5.9",
)  # fmt: skip
def __vfs_write(k: FsKernel, file_addr: int, buf: int, count: int, ppos: int) -> Body:
    """The file's own write, or write_iter through new_sync_write."""
    return (yield from _write_step(k, k.vfs.files[file_addr], buf, count, ppos))


def _write_step(k: FsKernel, file: File, buf: int, count: int, ppos: int) -> Body:
    ops = file.f_op
    if ops.write is not None:
        return (yield k.call(ops.write, file.addr, buf, count, ppos))
    if ops.write_iter is None:
        return -EINVAL
    if k.vfs.names.new_sync:
        return (yield k.call("new_sync_write", file.addr, buf, count, ppos))
    return (yield from sync_iter(k, file, ops.write_iter, [(buf, count)], ppos))


@kernel_function(
    "ssize_t new_sync_write(struct file *filp, const char *buf, size_t len, loff_t *ppos)", source="fs/read_write.c",
    until="6.0",
)  # fmt: skip
def new_sync_write(k: FsKernel, file_addr: int, buf: int, count: int, ppos: int) -> Body:
    """Turn a write into a write_iter.  Inlined into vfs_write by later compilers."""
    file = k.vfs.files[file_addr]
    return (yield from sync_iter(k, file, file.f_op.write_iter, [(buf, count)], ppos))


# --- read, write and positions ---


def _shared_position(k: FsKernel, file: File) -> int:
    """fdget_pos(): the lock of a position that somebody else could move meanwhile; 0 when nobody can."""
    if file.f_mode & c.FMODE_ATOMIC_POS and (file.f_count > 1 or files_of(k.current).count > 1):
        return pos_lock(k, file)
    return 0


@kernel_function("ssize_t ksys_read(unsigned int fd, char *buf, size_t count)", source="fs/read_write.c", since="4.17")
def ksys_read(k: FsKernel, fd: int, buf: int, count: int) -> Body:
    """read(2)."""
    return (yield from _read(k, fd, buf, count))


def _read(k: FsKernel, fd: int, buf: int, count: int) -> Body:
    file = k.vfs.fget(fd)
    lock = _shared_position(k, file)
    if lock:
        yield k.call("mutex_lock", lock)
    file.f_count += 1
    ret = yield k.call("vfs_read", file.addr, buf, count, 0 if file.f_mode & c.FMODE_STREAM else file.pos_addr)
    file.f_count -= 1
    if lock:
        yield k.call("mutex_unlock", lock)
    if not file.f_count:  # closed by another thread meanwhile
        yield k.call("__fput", file.addr)
    return ret


@kernel_function(
    "ssize_t ksys_write(unsigned int fd, const char *buf, size_t count)", source="fs/read_write.c", since="4.17"
)
def ksys_write(k: FsKernel, fd: int, buf: int, count: int) -> Body:
    """write(2)."""
    return (yield from _write(k, fd, buf, count))


def _write(k: FsKernel, fd: int, buf: int, count: int) -> Body:
    file = k.vfs.fget(fd)
    lock = _shared_position(k, file)
    if lock:
        yield k.call("mutex_lock", lock)
    file.f_count += 1
    ret = yield k.call("vfs_write", file.addr, buf, count, 0 if file.f_mode & c.FMODE_STREAM else file.pos_addr)
    file.f_count -= 1
    if lock:
        yield k.call("mutex_unlock", lock)
    if not file.f_count:  # closed by another thread meanwhile
        yield k.call("__fput", file.addr)
    return ret


@syscall("read", "unsigned int fd, char *buf, size_t count", source="fs/read_write.c", jumps=True)
def sys_read(k: FsKernel, fd: int, buf: int, count: int) -> Body:
    """read(2)."""
    if k.vfs.names.ksys:
        return (yield k.call("ksys_read", fd, buf, count))
    return (yield from _read(k, fd, buf, count))


@syscall("write", "unsigned int fd, const char *buf, size_t count", source="fs/read_write.c", jumps=True)
def sys_write(k: FsKernel, fd: int, buf: int, count: int) -> Body:
    """write(2)."""
    if k.vfs.names.ksys:
        return (yield k.call("ksys_write", fd, buf, count))
    return (yield from _write(k, fd, buf, count))


class ScratchPos:
    """A loff_t of its own in kernel memory, for calls that do not move the file's position."""

    def __init__(self, k: FsKernel, pos: int) -> None:
        self.k = k
        free = k.vfs.scratch
        self.addr = free.pop() if free else k.mem.alloc(8)
        k.mem.write_uint(self.addr, 8, pos & 0xFFFFFFFFFFFFFFFF)

    @property
    def pos(self) -> int:
        """Its value."""
        value: int = self.k.mem.read_uint(self.addr, 8)
        return value

    def free(self) -> None:
        """Give the memory back."""
        self.k.vfs.scratch.append(self.addr)


@syscall("pread64", "unsigned int fd, char *buf, size_t count, loff_t pos", source="fs/read_write.c")
def sys_pread64(k: FsKernel, fd: int, buf: int, count: int, pos: int) -> Body:
    """pread(2)."""
    if pos < 0:
        return -EINVAL
    file = k.vfs.fget(fd)
    if not file.f_mode & c.FMODE_PREAD:
        return -ESPIPE
    own = ScratchPos(k, pos)
    ret = yield k.call("vfs_read", file.addr, buf, count, own.addr)
    own.free()
    return ret


@syscall("pwrite64", "unsigned int fd, const char *buf, size_t count, loff_t pos", source="fs/read_write.c")
def sys_pwrite64(k: FsKernel, fd: int, buf: int, count: int, pos: int) -> Body:
    """pwrite(2)."""
    if pos < 0:
        return -EINVAL
    file = k.vfs.fget(fd)
    if not file.f_mode & c.FMODE_PWRITE:
        return -ESPIPE
    own = ScratchPos(k, pos)
    ret = yield k.call("vfs_write", file.addr, buf, count, own.addr)
    own.free()
    return ret


@kernel_function(
    "ssize_t vfs_readv(struct file *file, const struct iovec *vec, unsigned long vlen, loff_t *pos, rwf_t flags)",
    source="fs/read_write.c",
)
def vfs_readv(k: FsKernel, file_addr: int, vec: int, vlen: int, ppos: int, flags: int) -> Body:
    """Scattered read: one read_iter, or a read per segment."""
    ret = yield from _do_iter(k, file_addr, vec, vlen, ppos, flags, READ)
    io = k.current.io
    io.syscr += 1
    io.rchar += max(ret, 0)
    return ret


@kernel_function(
    "ssize_t vfs_writev(struct file *file, const struct iovec *vec, unsigned long vlen, loff_t *pos, rwf_t flags)",
    source="fs/read_write.c",
)
def vfs_writev(k: FsKernel, file_addr: int, vec: int, vlen: int, ppos: int, flags: int) -> Body:
    """Gathered write: one write_iter, or a write per segment."""
    ret = yield from _do_iter(k, file_addr, vec, vlen, ppos, flags, WRITE)
    io = k.current.io
    io.syscw += 1
    io.wchar += max(ret, 0)
    return ret


def _do_iter(k: FsKernel, file_addr: int, vec: int, vlen: int, ppos: int, flags: int, direction: int) -> Body:
    file = k.vfs.files[file_addr]
    segments = import_iovec(k, vec, vlen)
    wanted, can = (c.FMODE_READ, c.FMODE_CAN_READ) if direction == READ else (c.FMODE_WRITE, c.FMODE_CAN_WRITE)
    if not file.f_mode & wanted:
        return -EBADF
    if not file.f_mode & can:
        return -EINVAL
    total = sum(length for _, length in segments)
    if not total:
        return 0
    ret = yield from verify_area(k, file, direction, ppos, total)
    if ret < 0:
        return ret
    ops = file.f_op
    by_iter = ops.read_iter if direction == READ else ops.write_iter
    if by_iter is not None:
        if flags & RWF_NOWAIT:
            if not minds_nowait(k, file):
                return -EOPNOTSUPP
            ready = POLLIN if direction == READ else POLLOUT
            if ops.poll is not None and not ops.poll(k, file, None) & ready:
                return -EAGAIN
        return (yield from sync_iter(k, file, by_iter, segments, ppos, flags))
    if flags & ~RWF_HIPRI:
        return -EOPNOTSUPP
    plain = ops.read if direction == READ else ops.write
    if plain is None:
        return -EINVAL
    return (yield from loop_rw(k, plain, file_addr, segments, ppos))


def minds_nowait(k: FsKernel, file: File) -> bool:
    """FMODE_NOWAIT."""
    return bool(file.f_op.nowait) and k.version.at_least(file.f_op.nowait)


def loop_rw(k: FsKernel, function: str, file_addr: int, segments: list[tuple[int, int]], ppos: int) -> Body:
    """do_loop_readv_writev(): piece by piece, until one is not whole."""
    done = 0
    for base, length in segments:
        ret = yield k.call(function, file_addr, base, length, ppos)
        if ret < 0:
            return done or ret
        done += ret
        if ret != length:
            break
    return done


def _vector(k: FsKernel, fd: int, vec: int, vlen: int, pos: int | None, flags: int, name: str, mode: int) -> Body:
    """readv, writev, preadv, pwritev with or without flags."""
    if pos is not None and pos < 0:
        return -EINVAL
    file = k.vfs.fget(fd)
    if pos is not None and not file.f_mode & mode:
        return -ESPIPE
    if flags & ~0x1F and file.f_mode & (c.FMODE_CAN_READ if name == "vfs_readv" else c.FMODE_CAN_WRITE):
        import_iovec(k, vec, vlen)
        return -EOPNOTSUPP
    if pos is None:
        ppos = 0 if file.f_mode & c.FMODE_STREAM else file.pos_addr
        file.f_count += 1
        ret = yield k.call(name, file.addr, vec, vlen, ppos, flags)
        file.f_count -= 1
        if not file.f_count:
            yield k.call("__fput", file.addr)
        return ret
    own = ScratchPos(k, pos)
    ret = yield k.call(name, file.addr, vec, vlen, own.addr, flags)
    own.free()
    return ret


@syscall("readv", "unsigned long fd, const struct iovec *vec, unsigned long vlen", source="fs/read_write.c")
def sys_readv(k: FsKernel, fd: int, vec: int, vlen: int) -> Body:
    """readv(2)."""
    return (yield from _vector(k, fd, vec, vlen, None, 0, "vfs_readv", 0))


@syscall("writev", "unsigned long fd, const struct iovec *vec, unsigned long vlen", source="fs/read_write.c")
def sys_writev(k: FsKernel, fd: int, vec: int, vlen: int) -> Body:
    """writev(2)."""
    return (yield from _vector(k, fd, vec, vlen, None, 0, "vfs_writev", 0))


_PV = "unsigned long fd, const struct iovec *vec, unsigned long vlen, unsigned long pos_l, unsigned long pos_h"


def _pos_from_hilo(k: FsKernel, low: int, high: int) -> int:
    """pos_from_hilo(): on 64 bits the low word is all of it."""
    value = low if k.arch.model.word == 8 else high << 32 | low
    return value - (1 << 64) if value >> 63 else value


@syscall("preadv", _PV, source="fs/read_write.c")
def sys_preadv(k: FsKernel, fd: int, vec: int, vlen: int, pos_l: int, pos_h: int) -> Body:
    """preadv(2)."""
    return (yield from _vector(k, fd, vec, vlen, _pos_from_hilo(k, pos_l, pos_h), 0, "vfs_readv", c.FMODE_PREAD))


@syscall("pwritev", _PV, source="fs/read_write.c")
def sys_pwritev(k: FsKernel, fd: int, vec: int, vlen: int, pos_l: int, pos_h: int) -> Body:
    """pwritev(2)."""
    return (yield from _vector(k, fd, vec, vlen, _pos_from_hilo(k, pos_l, pos_h), 0, "vfs_writev", c.FMODE_PWRITE))


@syscall("preadv2", _PV + ", rwf_t flags", source="fs/read_write.c", since="4.6")
def sys_preadv2(k: FsKernel, fd: int, vec: int, vlen: int, pos_l: int, pos_h: int, flags: int) -> Body:
    """preadv2(2)."""
    pos = _pos_from_hilo(k, pos_l, pos_h)
    return (yield from _vector(k, fd, vec, vlen, None if pos == -1 else pos, flags, "vfs_readv", c.FMODE_PREAD))


@syscall("pwritev2", _PV + ", rwf_t flags", source="fs/read_write.c", since="4.6")
def sys_pwritev2(k: FsKernel, fd: int, vec: int, vlen: int, pos_l: int, pos_h: int, flags: int) -> Body:
    """pwritev2(2)."""
    pos = _pos_from_hilo(k, pos_l, pos_h)
    return (yield from _vector(k, fd, vec, vlen, None if pos == -1 else pos, flags, "vfs_writev", c.FMODE_PWRITE))
