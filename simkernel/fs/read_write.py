"""read(2), write(2) and their relatives.  fs/read_write.c, fs/sync.c.

The path of a read is ksys_read, vfs_read (rw_verify_area and security_file_permission below it), then the file's own
function: read_null, pipe_read, shmem_file_read_iter ... .
"""

from __future__ import annotations

from typing import Any

from arch.errors import (
    EBADF,
    EFAULT,
    EFBIG,
    EINVAL,
    EISDIR,
    ENXIO,
    EOPNOTSUPP,
    EOVERFLOW,
    EPERM,
    ESPIPE,
    ETXTBSY,
)  # fmt: skip
from simkernel.fs import constants as c
from simkernel.fs.inode import File
from simkernel.fs.uio import IovIter, Kiocb, import_iovec
from simkernel.kernel.kfunc import kernel_function, syscall

READ, WRITE = 0, 1
MAX_S64 = (1 << 63) - 1
RWF_HIPRI, RWF_DSYNC, RWF_SYNC, RWF_NOWAIT, RWF_APPEND = 1, 2, 4, 8, 16
SIGXFSZ = 25
RLIMIT_FSIZE = 1


def get_pos(k: Any, file: File, ppos: int) -> int:
    """*ppos, where it may be the file's own f_pos."""
    if ppos == file.pos_addr:
        return file.f_pos
    if not ppos:
        return 0
    value: int = k.mem.read_uint(ppos, 8)
    return value - (1 << 64) if value >> 63 else value


def set_pos(k: Any, file: File, ppos: int, pos: int) -> None:
    """*ppos = pos."""
    if ppos == file.pos_addr:
        file.f_pos = pos
    if ppos:
        k.mem.write_uint(ppos, 8, pos & 0xFFFFFFFFFFFFFFFF)


# --- the vfs_ layer ---


def _area_is_sane(k: Any, file: File, ppos: int, count: int) -> bool:
    return not ppos or 0 <= get_pos(k, file, ppos) <= MAX_S64 - count


def verify_area(k: Any, file: File, read_write: int, ppos: int, count: int) -> Any:
    """rw_verify_area(): really called only while it, or what it calls, has a probe; nothing else can tell."""
    probed = k.vfs.probed
    if probed.get("rw_verify_area") or probed.get("security_file_permission"):
        return (yield k.call("rw_verify_area", read_write, file.addr, ppos, count))
    return 0 if _area_is_sane(k, file, ppos, count) else -EINVAL


@kernel_function(
    "int rw_verify_area(int read_write, struct file *file, const loff_t *ppos, size_t count)", source="fs/read_write.c"
)
def rw_verify_area(k: Any, read_write: int, file_addr: int, ppos: int, count: int) -> Any:
    """Positions must be sane, then the security modules are asked."""
    if not _area_is_sane(k, k.vfs.files[file_addr], ppos, count):
        return -EINVAL
    return (yield k.call("security_file_permission", file_addr, c.MAY_READ if read_write == READ else c.MAY_WRITE))


@kernel_function("int security_file_permission(struct file *file, int mask)", source="security/security.c")
def security_file_permission(k: Any, file_addr: int, mask: int) -> int:
    """No security module is loaded: everything is allowed."""
    return 0


@kernel_function("ssize_t vfs_read(struct file *file, char *buf, size_t count, loff_t *pos)", source="fs/read_write.c")
def vfs_read(k: Any, file_addr: int, buf: int, count: int, ppos: int) -> Any:
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
    if count > c.MAX_RW_COUNT:
        count = c.MAX_RW_COUNT
    return (
        (yield k.call(k.vfs.names.read_step, file_addr, buf, count, ppos))
        if k.vfs.names.read_step
        else (yield from _read_step(k, file, buf, count, ppos))
    )


@kernel_function(
    "ssize_t __vfs_read(struct file *file, char *buf, size_t count, loff_t *pos)", source="fs/read_write.c", until="5.9"
)
def __vfs_read(k: Any, file_addr: int, buf: int, count: int, ppos: int) -> Any:
    """The file's own read, or read_iter through new_sync_read."""
    return (yield from _read_step(k, k.vfs.files[file_addr], buf, count, ppos))


def _read_step(k: Any, file: File, buf: int, count: int, ppos: int) -> Any:
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
def new_sync_read(k: Any, file_addr: int, buf: int, count: int, ppos: int) -> Any:
    """Turn a read into a read_iter.  Inlined into vfs_read by later compilers."""
    file = k.vfs.files[file_addr]
    return (yield from sync_iter(k, file, file.f_op.read_iter, [(buf, count)], ppos))


def sync_iter(k: Any, file: File, function: str | None, segments: list[tuple[int, int]], ppos: int,
               flags: int = 0) -> Any:  # fmt: skip
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
def vfs_write(k: Any, file_addr: int, buf: int, count: int, ppos: int) -> Any:
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
    if count > c.MAX_RW_COUNT:
        count = c.MAX_RW_COUNT
    return (
        (yield k.call(k.vfs.names.write_step, file_addr, buf, count, ppos))
        if k.vfs.names.write_step
        else (yield from _write_step(k, file, buf, count, ppos))
    )


@kernel_function(
    "ssize_t __vfs_write(struct file *file, const char *p, size_t count, loff_t *pos)", source="fs/read_write.c",
    until="5.9",
)  # fmt: skip
def __vfs_write(k: Any, file_addr: int, buf: int, count: int, ppos: int) -> Any:
    """The file's own write, or write_iter through new_sync_write."""
    return (yield from _write_step(k, k.vfs.files[file_addr], buf, count, ppos))


def _write_step(k: Any, file: File, buf: int, count: int, ppos: int) -> Any:
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
def new_sync_write(k: Any, file_addr: int, buf: int, count: int, ppos: int) -> Any:
    """Turn a write into a write_iter.  Inlined into vfs_write by later compilers."""
    file = k.vfs.files[file_addr]
    return (yield from sync_iter(k, file, file.f_op.write_iter, [(buf, count)], ppos))


# --- read, write and positions ---


@kernel_function("ssize_t ksys_read(unsigned int fd, char *buf, size_t count)", source="fs/read_write.c", since="4.17")
def ksys_read(k: Any, fd: int, buf: int, count: int) -> Any:
    """read(2)."""
    return (yield from _read(k, fd, buf, count))


def _read(k: Any, fd: int, buf: int, count: int) -> Any:
    file = k.vfs.fget(fd)
    file.f_count += 1
    ret = yield k.call("vfs_read", file.addr, buf, count, 0 if file.f_mode & c.FMODE_STREAM else file.pos_addr)
    file.f_count -= 1
    if not file.f_count:  # closed by another thread meanwhile
        yield k.call("__fput", file.addr)
    return ret


@kernel_function(
    "ssize_t ksys_write(unsigned int fd, const char *buf, size_t count)", source="fs/read_write.c", since="4.17"
)
def ksys_write(k: Any, fd: int, buf: int, count: int) -> Any:
    """write(2)."""
    return (yield from _write(k, fd, buf, count))


def _write(k: Any, fd: int, buf: int, count: int) -> Any:
    file = k.vfs.fget(fd)
    file.f_count += 1
    ret = yield k.call("vfs_write", file.addr, buf, count, 0 if file.f_mode & c.FMODE_STREAM else file.pos_addr)
    file.f_count -= 1
    if not file.f_count:  # closed by another thread meanwhile
        yield k.call("__fput", file.addr)
    return ret


@syscall("read", "unsigned int fd, char *buf, size_t count", source="fs/read_write.c")
def sys_read(k: Any, fd: int, buf: int, count: int) -> Any:
    """read(2)."""
    if k.vfs.names.ksys:
        return (yield k.call("ksys_read", fd, buf, count))
    return (yield from _read(k, fd, buf, count))


@syscall("write", "unsigned int fd, const char *buf, size_t count", source="fs/read_write.c")
def sys_write(k: Any, fd: int, buf: int, count: int) -> Any:
    """write(2)."""
    if k.vfs.names.ksys:
        return (yield k.call("ksys_write", fd, buf, count))
    return (yield from _write(k, fd, buf, count))


class ScratchPos:
    """A loff_t of its own in kernel memory, for calls that do not move the file's position."""

    def __init__(self, k: Any, pos: int) -> None:
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
def sys_pread64(k: Any, fd: int, buf: int, count: int, pos: int) -> Any:
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
def sys_pwrite64(k: Any, fd: int, buf: int, count: int, pos: int) -> Any:
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
def vfs_readv(k: Any, file_addr: int, vec: int, vlen: int, ppos: int, flags: int) -> Any:
    """Scattered read: one read_iter, or a read per segment."""
    return (yield from _do_iter(k, file_addr, vec, vlen, ppos, flags, READ))


@kernel_function(
    "ssize_t vfs_writev(struct file *file, const struct iovec *vec, unsigned long vlen, loff_t *pos, rwf_t flags)",
    source="fs/read_write.c",
)
def vfs_writev(k: Any, file_addr: int, vec: int, vlen: int, ppos: int, flags: int) -> Any:
    """Gathered write: one write_iter, or a write per segment."""
    return (yield from _do_iter(k, file_addr, vec, vlen, ppos, flags, WRITE))


def _do_iter(k: Any, file_addr: int, vec: int, vlen: int, ppos: int, flags: int, direction: int) -> Any:
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
        return (yield from sync_iter(k, file, by_iter, segments, ppos, flags))
    if flags & ~RWF_HIPRI:
        return -EOPNOTSUPP
    plain = ops.read if direction == READ else ops.write
    done = 0
    for base, length in segments:
        ret = yield k.call(plain, file_addr, base, length, ppos)
        if ret < 0:
            return done or ret
        done += ret
        if ret != length:
            break
    return done


def _vector(k: Any, fd: int, vec: int, vlen: int, pos: int | None, flags: int, name: str, mode: int) -> Any:
    """readv, writev, preadv, pwritev with or without flags."""
    if flags & ~0x1F:
        return -EOPNOTSUPP
    if pos is not None and pos < 0:
        return -EINVAL
    file = k.vfs.fget(fd)
    if pos is None:
        ppos = 0 if file.f_mode & c.FMODE_STREAM else file.pos_addr
        file.f_count += 1
        ret = yield k.call(name, file.addr, vec, vlen, ppos, flags)
        file.f_count -= 1
        if not file.f_count:
            yield k.call("__fput", file.addr)
        return ret
    if not file.f_mode & mode:
        return -ESPIPE
    own = ScratchPos(k, pos)
    ret = yield k.call(name, file.addr, vec, vlen, own.addr, flags)
    own.free()
    return ret


@syscall("readv", "unsigned long fd, const struct iovec *vec, unsigned long vlen", source="fs/read_write.c")
def sys_readv(k: Any, fd: int, vec: int, vlen: int) -> Any:
    """readv(2)."""
    return (yield from _vector(k, fd, vec, vlen, None, 0, "vfs_readv", 0))


@syscall("writev", "unsigned long fd, const struct iovec *vec, unsigned long vlen", source="fs/read_write.c")
def sys_writev(k: Any, fd: int, vec: int, vlen: int) -> Any:
    """writev(2)."""
    return (yield from _vector(k, fd, vec, vlen, None, 0, "vfs_writev", 0))


_PV = "unsigned long fd, const struct iovec *vec, unsigned long vlen, unsigned long pos_l, unsigned long pos_h"


def _pos_from_hilo(k: Any, low: int, high: int) -> int:
    """pos_from_hilo(): on 64 bits the low word is all of it."""
    value = low if k.arch.model.word == 8 else high << 32 | low
    return value - (1 << 64) if value >> 63 else value


@syscall("preadv", _PV, source="fs/read_write.c")
def sys_preadv(k: Any, fd: int, vec: int, vlen: int, pos_l: int, pos_h: int) -> Any:
    """preadv(2)."""
    return (yield from _vector(k, fd, vec, vlen, _pos_from_hilo(k, pos_l, pos_h), 0, "vfs_readv", c.FMODE_PREAD))


@syscall("pwritev", _PV, source="fs/read_write.c")
def sys_pwritev(k: Any, fd: int, vec: int, vlen: int, pos_l: int, pos_h: int) -> Any:
    """pwritev(2)."""
    return (yield from _vector(k, fd, vec, vlen, _pos_from_hilo(k, pos_l, pos_h), 0, "vfs_writev", c.FMODE_PWRITE))


@syscall("preadv2", _PV + ", rwf_t flags", source="fs/read_write.c", since="4.6")
def sys_preadv2(k: Any, fd: int, vec: int, vlen: int, pos_l: int, pos_h: int, flags: int) -> Any:
    """preadv2(2)."""
    pos = _pos_from_hilo(k, pos_l, pos_h)
    return (yield from _vector(k, fd, vec, vlen, None if pos == -1 else pos, flags, "vfs_readv", c.FMODE_PREAD))


@syscall("pwritev2", _PV + ", rwf_t flags", source="fs/read_write.c", since="4.6")
def sys_pwritev2(k: Any, fd: int, vec: int, vlen: int, pos_l: int, pos_h: int, flags: int) -> Any:
    """pwritev2(2)."""
    pos = _pos_from_hilo(k, pos_l, pos_h)
    return (yield from _vector(k, fd, vec, vlen, None if pos == -1 else pos, flags, "vfs_writev", c.FMODE_PWRITE))


# --- lseek ---


@kernel_function("loff_t vfs_llseek(struct file *file, loff_t offset, int whence)", source="fs/read_write.c")
def vfs_llseek(k: Any, file_addr: int, offset: int, whence: int) -> int:
    """Move the position; ESPIPE for what has none."""
    return llseek(k, k.vfs.files[file_addr], offset, whence)


def llseek(k: Any, file: File, offset: int, whence: int) -> int:
    """The llseek operations of fs/read_write.c and fs/libfs.c."""
    kind = file.f_op.llseek
    if kind == "no_llseek" or not file.f_mode & c.FMODE_LSEEK:
        return -ESPIPE
    if kind == "noop_llseek":
        return file.f_pos
    if kind == "null_lseek":
        k.vfs.mirror.set_pos(file, 0)
        return 0
    inode = file.f_inode
    if kind == "dcache_dir_lseek" and whence not in (c.SEEK_SET, c.SEEK_CUR):
        return -EINVAL
    if kind == "memory_lseek" and whence not in (c.SEEK_SET, c.SEEK_CUR):
        return -EINVAL
    if kind == "seq_lseek" and whence not in (c.SEEK_SET, c.SEEK_CUR):
        return -EINVAL
    inode.getattr()
    size = inode.i_size
    if whence == c.SEEK_CUR:
        if not offset:
            return file.f_pos
        offset += file.f_pos
    elif whence == c.SEEK_END:
        offset += size
    elif whence in (c.SEEK_DATA, c.SEEK_HOLE):
        if offset < 0 or offset >= size:
            return -ENXIO
        offset = _seek_data_hole(file, offset, whence, size)
        if offset < 0:
            return offset
    elif whence != c.SEEK_SET:
        return -EINVAL
    if offset < 0 or offset > inode.i_sb.s_maxbytes:
        return -EINVAL
    if offset != file.f_pos:
        k.vfs.mirror.set_pos(file, offset)
        if file.f_op.iterate:
            file.readdir_list = None
    return offset


def _seek_data_hole(file: File, offset: int, whence: int, size: int) -> int:
    mapping = file.f_mapping
    if mapping is None:
        return offset if whence == c.SEEK_DATA else size
    if whence == c.SEEK_HOLE:
        return mapping.seek_hole(offset, size)
    found = mapping.seek_data(offset, size)
    return -ENXIO if found is None else found


@syscall("lseek", "unsigned int fd, off_t offset, unsigned int whence", source="fs/read_write.c")
def sys_lseek(k: Any, fd: int, offset: int, whence: int) -> Any:
    """lseek(2)."""
    file = k.vfs.fget(fd)
    if whence > c.SEEK_HOLE:
        return -EINVAL
    ret = yield k.call("vfs_llseek", file.addr, offset, whence)
    return -EOVERFLOW if ret > k.vfs.word_mask >> 1 else ret


# --- copies between files ---


def _transfer(k: Any, source: File, in_pos: int, dest: File, out_pos: int, count: int) -> Any:
    """Move bytes through read_iter/read and write_iter/write in pieces of a pipe's size; (moved, in_pos, out_pos)."""
    moved = 0
    while moved < count:
        step = min(count - moved, 65536)
        got = yield from kernel_read(k, source, in_pos, step)
        if isinstance(got, int):
            return (moved or got), in_pos, out_pos
        if not got:
            break
        wrote = yield from kernel_write(k, dest, out_pos, got)
        if wrote < 0:
            return (moved or wrote), in_pos, out_pos
        moved += wrote
        in_pos += wrote
        out_pos += wrote
        if wrote < len(got) or len(got) < step:
            break
    return moved, in_pos, out_pos


def kernel_read(k: Any, file: File, pos: int, size: int) -> Any:
    """Bytes of an open file for the kernel's own use, or -errno."""
    name = file.f_op.read_iter
    if name is None:
        data = yield from _read_by_kernel(k, file, pos, size)
        return data
    it = IovIter.sink(k, size)
    iocb = Kiocb(file, pos, it)
    kiocb, addr = k.vfs.uio.begin(iocb)
    ret = yield k.call(name, kiocb, addr)
    k.vfs.uio.end(iocb)
    if ret < 0:
        return ret
    assert it.kernel_out is not None
    return b"".join(it.kernel_out)


def _read_by_kernel(k: Any, file: File, pos: int, size: int) -> Any:
    """A file with plain read only (proc, sysfs): its node is asked directly."""
    from simkernel.fs.pseudo import read_steps

    if not hasattr(file.private_data, "read"):
        return -EINVAL
    return (yield from read_steps(k, file, size, pos))


def kernel_write(k: Any, file: File, pos: int, data: bytes) -> Any:
    """Write the kernel's bytes to an open file; how many, or -errno."""
    name = file.f_op.write_iter
    if name is None:
        from simkernel.fs.pseudo import write_steps

        if file.f_op.write == "write_null":
            return len(data)
        if not hasattr(file.private_data, "write"):
            return -EINVAL
        return (yield from write_steps(k, file, data, pos))
    iocb = Kiocb(file, pos, IovIter.source(k, data))
    kiocb, addr = k.vfs.uio.begin(iocb)
    ret = yield k.call(name, kiocb, addr)
    k.vfs.uio.end(iocb)
    return ret


@syscall("sendfile", "int out_fd, int in_fd, off_t *offset, size_t count", source="fs/read_write.c")
def sys_sendfile(k: Any, out_fd: int, in_fd: int, offset: int, count: int, width: int = 0) -> Any:
    """sendfile(2); `width` is the size of *offset in bytes."""
    width = width or k.arch.model.word
    source = k.vfs.fget(in_fd)
    if not source.f_mode & c.FMODE_READ:
        return -EBADF
    if offset:
        if not source.f_mode & c.FMODE_PREAD:
            return -ESPIPE
        in_pos = k.get_user(offset, width, True)
    else:
        in_pos = source.f_pos
    if in_pos < 0:
        return -EINVAL
    dest = k.vfs.fget(out_fd)
    if not dest.f_mode & c.FMODE_WRITE:
        return -EBADF
    if source.f_op.iterate or dest.f_flags & c.O_APPEND:
        return -EINVAL
    if source.f_op.read_iter is None and source.private_data is None:
        return -EINVAL
    moved, in_pos, out_pos = yield from _transfer(k, source, in_pos, dest, dest.f_pos, min(count, c.MAX_RW_COUNT))
    if moved > 0:
        if offset:
            k.put_user(offset, width, in_pos)
        else:
            k.vfs.mirror.set_pos(source, in_pos)
        if not dest.f_mode & c.FMODE_STREAM:
            k.vfs.mirror.set_pos(dest, out_pos)
    return moved


@syscall(
    "splice", "int fd_in, loff_t *off_in, int fd_out, loff_t *off_out, size_t len, unsigned int flags",
    source="fs/splice.c",
)  # fmt: skip
def sys_splice(k: Any, fd_in: int, off_in: int, fd_out: int, off_out: int, length: int, flags: int) -> Any:
    """splice(2): one end is a pipe; bytes are copied, not moved by page."""
    if flags & ~0xF:
        return -EINVAL
    if not length:
        return 0
    source, dest = k.vfs.fget(fd_in), k.vfs.fget(fd_out)
    if not source.f_mode & c.FMODE_READ or not dest.f_mode & c.FMODE_WRITE:
        return -EBADF
    in_pipe, out_pipe = source.f_inode.i_pipe is not None, dest.f_inode.i_pipe is not None
    if (in_pipe and off_in) or (out_pipe and off_out):
        return -ESPIPE
    if not in_pipe and not out_pipe:
        return -EINVAL
    if not out_pipe and dest.f_flags & c.O_APPEND:
        return -EINVAL
    in_pos = k.get_user(off_in, 8, True) if off_in else source.f_pos
    out_pos = k.get_user(off_out, 8, True) if off_out else dest.f_pos
    got = yield from kernel_read(k, source, in_pos, min(length, 65536))
    if isinstance(got, int) or not got:
        return got if isinstance(got, int) else 0
    wrote = yield from kernel_write(k, dest, out_pos, got)
    if wrote <= 0:
        return wrote
    for is_pipe, off, file, pos in ((in_pipe, off_in, source, in_pos), (out_pipe, off_out, dest, out_pos)):
        if off:
            k.put_user(off, 8, pos + wrote)
        elif not is_pipe:
            k.vfs.mirror.set_pos(file, pos + wrote)
    return wrote


@syscall(
    "copy_file_range", "int fd_in, loff_t *off_in, int fd_out, loff_t *off_out, size_t len, unsigned int flags",
    source="fs/read_write.c", since="4.5",
)  # fmt: skip
def sys_copy_file_range(k: Any, fd_in: int, off_in: int, fd_out: int, off_out: int, length: int, flags: int) -> Any:
    """copy_file_range(2)."""
    source, dest = k.vfs.fget(fd_in), k.vfs.fget(fd_out)
    in_pos = k.get_user(off_in, 8, True) if off_in else source.f_pos
    out_pos = k.get_user(off_out, 8, True) if off_out else dest.f_pos
    if flags:
        return -EINVAL
    if source.f_inode.is_dir or dest.f_inode.is_dir:
        return -EISDIR
    if not source.f_inode.is_reg or not dest.f_inode.is_reg:
        return -EINVAL
    if not source.f_mode & c.FMODE_READ or not dest.f_mode & c.FMODE_WRITE or dest.f_flags & c.O_APPEND:
        return -EBADF
    if in_pos < 0 or out_pos < 0:
        return -EINVAL
    if source.f_inode is dest.f_inode and in_pos < out_pos + length and out_pos < in_pos + length:
        return -EINVAL
    moved, in_pos, out_pos = yield from _transfer(k, source, in_pos, dest, out_pos, min(length, c.MAX_RW_COUNT))
    if moved > 0:
        for off, file, pos in ((off_in, source, in_pos), (off_out, dest, out_pos)):
            if off:
                k.put_user(off, 8, pos)
            else:
                k.vfs.mirror.set_pos(file, pos)
    return moved


# --- sizes and syncing ---


def truncate_path(k: Any, file_or_inode: Any, size: int) -> None:
    """do_truncate(): limits and seals, then the file system, then the times.  fs/open.c."""
    inode = file_or_inode.f_inode if isinstance(file_or_inode, File) else file_or_inode
    inode.setattr_size(size)
    now = k.vfs.now()
    inode.mtime = inode.ctime = now
    k.vfs.mirror.inode_changed(inode)


@kernel_function("int vfs_fsync_range(struct file *file, loff_t start, loff_t end, int datasync)", source="fs/sync.c")
def vfs_fsync_range(k: Any, file_addr: int, start: int, end: int, datasync: int) -> Any:
    """Memory is all there is: nothing to write."""
    file = k.vfs.files[file_addr]
    if file.f_op.fsync is None:
        return -EINVAL
    ret = file.f_op.fsync(k, file)
    return ret if isinstance(ret, int) else (yield from ret)


@kernel_function("int vfs_fsync(struct file *file, int datasync)", source="fs/sync.c")
def vfs_fsync(k: Any, file_addr: int, datasync: int) -> Any:
    """The whole file."""
    return (yield k.call("vfs_fsync_range", file_addr, 0, MAX_S64, datasync))


@syscall("fsync", "unsigned int fd", source="fs/sync.c")
def sys_fsync(k: Any, fd: int) -> Any:
    """fsync(2)."""
    return (yield k.call("vfs_fsync", k.vfs.fget(fd).addr, 0))


@syscall("fdatasync", "unsigned int fd", source="fs/sync.c")
def sys_fdatasync(k: Any, fd: int) -> Any:
    """fdatasync(2)."""
    return (yield k.call("vfs_fsync", k.vfs.fget(fd).addr, 1))


@syscall("sync", "", source="fs/sync.c")
def sys_sync(k: Any) -> Any:
    """sync(2)."""
    return (yield k.call("ksys_sync"))


@kernel_function("void ksys_sync(void)", source="fs/sync.c")
def ksys_sync(k: Any) -> Any:
    """Every super block that has something to write."""
    for sb in dict.fromkeys(mnt.mnt_sb for mnt in k.vfs.mounts):
        yield from _sync_filesystem(k, sb)
    return 0


def _sync_filesystem(k: Any, sb: Any) -> Any:
    sync_fs = getattr(sb, "sync_fs", None)
    if sync_fs is not None:
        yield from sync_fs(k)


@syscall("syncfs", "int fd", source="fs/sync.c")
def sys_syncfs(k: Any, fd: int) -> Any:
    """syncfs(2)."""
    yield from _sync_filesystem(k, k.vfs.fget(fd).f_inode.i_sb)
    return 0


@syscall("sync_file_range", "int fd, loff_t offset, loff_t nbytes, unsigned int flags", source="fs/sync.c")
def sys_sync_file_range(k: Any, fd: int, offset: int, nbytes: int, flags: int) -> int:
    """sync_file_range(2)."""
    file = k.vfs.fget(fd)
    if flags & ~7 or offset < 0 or nbytes < 0:
        return -EINVAL
    kind = file.f_inode.i_mode & c.S_IFMT
    return 0 if kind in (c.S_IFREG, c.S_IFBLK, c.S_IFDIR, c.S_IFLNK) else -ESPIPE


@kernel_function("int vfs_fallocate(struct file *file, int mode, loff_t offset, loff_t len)", source="fs/open.c")
def vfs_fallocate(k: Any, file_addr: int, mode: int, offset: int, length: int) -> int:
    """Reserve or punch."""
    file = k.vfs.files[file_addr]
    if offset < 0 or length <= 0:
        return -EINVAL
    if mode & ~(c.FALLOC_FL_KEEP_SIZE | c.FALLOC_FL_PUNCH_HOLE):
        return -EOPNOTSUPP
    if mode & c.FALLOC_FL_PUNCH_HOLE and not mode & c.FALLOC_FL_KEEP_SIZE:
        return -EOPNOTSUPP
    if not file.f_mode & c.FMODE_WRITE:
        return -EBADF
    inode = file.f_inode
    if inode.i_pipe is not None:
        return -ESPIPE
    if inode.is_dir:
        return -EISDIR
    if not inode.is_reg:
        return -19  # ENODEV
    if offset + length > inode.i_sb.s_maxbytes:
        return -EFBIG
    mapping = inode.i_mapping
    if mapping is None or mapping.filler is not None:
        return -EOPNOTSUPP
    if mode & c.FALLOC_FL_PUNCH_HOLE:
        if inode.seals & c.F_SEAL_WRITE:
            return -EPERM
        before = mapping.nrpages
        mapping.punch(offset, offset + length)
        give = getattr(inode.i_sb, "give_blocks", None)
        if give is not None:
            give(before - mapping.nrpages)
    else:
        if inode.seals & c.F_SEAL_GROW and offset + length > inode.i_size:
            return -EPERM
        for index in range(offset >> c.PAGE_SHIFT, (offset + length + c.PAGE_SIZE - 1) >> c.PAGE_SHIFT):
            mapping.page(index)
        if not mode & c.FALLOC_FL_KEEP_SIZE and offset + length > inode.i_size:
            inode.i_size = offset + length
    inode.mtime = inode.ctime = k.vfs.now()
    k.vfs.mirror.inode_changed(inode)
    return 0


@syscall("fallocate", "int fd, int mode, loff_t offset, loff_t len", source="fs/open.c")
def sys_fallocate(k: Any, fd: int, mode: int, offset: int, length: int) -> Any:
    """fallocate(2)."""
    return (yield k.call("vfs_fallocate", k.vfs.fget(fd).addr, mode, offset, length))


@syscall("ftruncate", "unsigned int fd, off_t length", source="fs/open.c")
def sys_ftruncate(k: Any, fd: int, length: int) -> Any:
    """ftruncate(2)."""
    if length < 0:
        return -EINVAL
    file = k.vfs.fget(fd)
    if not file.f_inode.is_reg or not file.f_mode & c.FMODE_WRITE:
        return -EINVAL
    return (yield k.call("do_truncate", *k.vfs.userns_arg(file.f_path), file.f_path.dentry.addr, length, 0x60,
                         file.addr))  # fmt: skip


@syscall("truncate", "const char *path, long length", source="fs/open.c")
def sys_truncate(k: Any, path: int, length: int) -> Any:
    """truncate(2)."""
    from simkernel.fs.inode import inode_permission
    from simkernel.fs.open import get_path_name

    if length < 0:
        return -EINVAL
    where = k.vfs.user_path(c.AT_FDCWD, get_path_name(k, path))
    inode = where.dentry.inode
    if inode.is_dir:
        return -EISDIR
    if not inode.is_reg:
        return -EINVAL
    inode_permission(inode, c.MAY_WRITE, k.vfs.cred())
    if where.mnt.read_only:
        return -30  # EROFS
    if inode.i_writecount < 0:
        return -ETXTBSY
    k.vfs.mirror.dentry(where.dentry)
    return (yield k.call("do_truncate", *k.vfs.userns_arg(where), where.dentry.addr, length, 0, 0))


@kernel_function(
    "int do_truncate(struct user_namespace *mnt_userns, struct dentry *dentry, loff_t length, "
    "unsigned int time_attrs, struct file *filp)", source="fs/open.c", since="5.12",
)  # fmt: skip
def do_truncate(k: Any, userns: int, dentry: int, length: int, time_attrs: int, filp: int) -> int:
    """Set the size."""
    return _do_truncate(k, dentry, length)


@kernel_function(
    "int do_truncate(struct dentry *dentry, loff_t length, unsigned int time_attrs, struct file *filp)",
    source="fs/open.c", until="5.12",
)  # fmt: skip
def do_truncate_5_11(k: Any, dentry: int, length: int, time_attrs: int, filp: int) -> int:
    """Set the size."""
    return _do_truncate(k, dentry, length)


def _do_truncate(k: Any, dentry: int, length: int) -> int:
    inode = k.vfs.mirror.dentries[dentry].inode
    if exceeds_fsize(k, length, inode.i_size):
        return -EFBIG
    truncate_path(k, inode, length)
    return 0


def exceeds_fsize(k: Any, size: int, old_size: int) -> bool:
    """RLIMIT_FSIZE; sends SIGXFSZ."""
    limit = fsize_limit(k)
    if limit is None or size <= old_size or size <= limit:
        return False
    k.send_signal(k.current, SIGXFSZ)
    return True


def fsize_limit(k: Any) -> int | None:
    """RLIMIT_FSIZE of the current task, or None without a limit."""
    rlimits = getattr(k.current, "rlimits", None)
    if not rlimits or RLIMIT_FSIZE not in rlimits:
        return None
    value = int(rlimits[RLIMIT_FSIZE][0])
    return value if 0 <= value < c.MAX_LFS_FILESIZE else None
