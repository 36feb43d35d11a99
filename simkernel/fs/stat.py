"""stat(2), statx(2), statfs(2), readlink(2), utimensat(2).  fs/stat.c, fs/statfs.c, fs/utimes.c."""

from __future__ import annotations

from arch.abi.capability import CAP_FOWNER
from arch.abi.errno import EBADF, EINVAL, EPERM, EROFS
from arch.abi.fcntl import AT_EMPTY_PATH, AT_FDCWD, AT_NO_AUTOMOUNT, AT_STATX_SYNC_TYPE, AT_SYMLINK_NOFOLLOW
from arch.abi.files import STATX, Record
from arch.abi.mount import MS_NOATIME, MS_NODEV, MS_NODIRATIME, MS_NOEXEC, MS_NOSUID, MS_NOSYMFOLLOW, MS_RELATIME
from arch.abi.stat import (
    ST_NOATIME,
    ST_NODEV,
    ST_NODIRATIME,
    ST_NOEXEC,
    ST_NOSUID,
    ST_NOSYMFOLLOW,
    ST_RDONLY,
    ST_RELATIME,
    ST_VALID,
    STATX__RESERVED,
    STATX_BASIC_STATS,
    STATX_BTIME,
    STATX_MNT_ID,
    STATX_MNT_ID_UNIQUE,
    UTIME_NOW,
    UTIME_OMIT,
    dev_major,
    dev_minor,
    new_encode_dev,
)
from arch.abi.time import NSEC_PER_SEC
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.fhandle import fsid
from simkernel.fs.fileattr import check_changeable, statx_attributes
from simkernel.fs.fsnotify import FS_ACCESS, FS_ATTRIB, FS_MODIFY
from simkernel.fs.inode import Inode, Path, inode_permission, to_bytes
from simkernel.fs.mounts import unique_id
from simkernel.fs.namei import LOOKUP_FOLLOW
from simkernel.fs.open_walk import Filename, get_path_name
from simkernel.fs.security import (
    ATTR_ATIME,
    ATTR_ATIME_SET,
    ATTR_CTIME,
    ATTR_MTIME,
    ATTR_MTIME_SET,
    ATTR_TIMES_SET,
    ATTR_TOUCH,
)
from simkernel.fs.tmpfs import TmpfsInode
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.security import ask, hook_probed
from simkernel.kernel.user_namespace import munged, user_ns

AT_STAT_FLAGS = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | AT_STATX_SYNC_TYPE


class Kstat:
    """struct kstat: attributes on their way to user space; its C twin is written for those who probe vfs_statx."""

    __slots__ = ("addr", "inode", "k", "path")

    def __init__(self, k: FsKernel) -> None:
        self.k = k
        self.path: Path | None = None
        self.inode: Inode | None = None
        free = k.vfs.kstats
        self.addr = free.pop() if free else k.mem.alloc(k.vfs.mirror.struct("struct kstat").size)
        k.vfs.objects[self.addr] = self

    def fill(self, path: Path) -> None:
        """vfs_getattr()."""
        self.path = path
        inode = self.inode = path.dentry.inode
        inode.getattr()
        layout = self.k.vfs.mirror.struct("struct kstat")
        self.k.mem.write(self.addr, layout.pack({
            "result_mask": STATX_BASIC_STATS, "mode": inode.i_mode, "nlink": inode.i_nlink, "blksize": 4096,
            "ino": inode.i_ino, "dev": inode.i_sb.s_dev, "rdev": inode.i_rdev, "uid": inode.i_uid, "gid": inode.i_gid,
            "size": inode.i_size, "blocks": inode.i_blocks, "atime.tv_sec": inode.atime // NSEC_PER_SEC,
            "atime.tv_nsec": inode.atime % NSEC_PER_SEC, "mtime.tv_sec": inode.mtime // NSEC_PER_SEC,
            "mtime.tv_nsec": inode.mtime % NSEC_PER_SEC, "ctime.tv_sec": inode.ctime // NSEC_PER_SEC,
            "ctime.tv_nsec": inode.ctime % NSEC_PER_SEC,
        }))  # fmt: skip

    def to_user(self, statbuf: int, record: Record | None = None) -> int:
        """cp_new_stat(): the architecture's struct stat, or another record."""
        assert self.inode is not None
        self.k.usercopy.copy_to_user(statbuf, stat_record(self.k, self.inode, record or self.k.vfs.abi.stat))
        return 0

    def put(self) -> None:
        """Give the struct back."""
        del self.k.vfs.objects[self.addr]
        self.k.vfs.kstats.append(self.addr)


def stat_record(k: FsKernel, inode: Inode, record: Record) -> bytes:
    """What a program is told of an inode."""
    space = user_ns(k.current)
    return record.pack({
        "st_dev": new_encode_dev(inode.i_sb.s_dev), "st_ino": inode.i_ino, "st_nlink": inode.i_nlink, "__st_ino": inode.i_ino,
        "st_mode": inode.i_mode, "st_uid": munged(space, "uid", inode.i_uid), "st_gid": munged(space, "gid", inode.i_gid),
        "st_rdev": new_encode_dev(inode.i_rdev), "st_size": inode.i_size,
        "st_blksize": inode.i_sb.s_blocksize, "st_blocks": inode.i_blocks,
        "st_atime": inode.atime // NSEC_PER_SEC, "st_atime_nsec": inode.atime % NSEC_PER_SEC,
        "st_mtime": inode.mtime // NSEC_PER_SEC, "st_mtime_nsec": inode.mtime % NSEC_PER_SEC,
        "st_ctime": inode.ctime // NSEC_PER_SEC, "st_ctime_nsec": inode.ctime % NSEC_PER_SEC,
    }, k.mem.byteorder)  # fmt: skip


@kernel_function(
    "int vfs_getattr(const struct path *path, struct kstat *stat, u32 request_mask, unsigned int query_flags)",
    source="fs/stat.c", since="4.11",
)  # fmt: skip
def vfs_getattr(k: FsKernel, path: int, stat: int, mask: int, flags: int) -> int:
    """Attributes of a path."""
    k.vfs.passed(stat, Kstat).fill(k.vfs.paths[path])
    return 0


@kernel_function("int vfs_getattr(struct path *path, struct kstat *stat)", source="fs/stat.c", until="4.11")
def vfs_getattr_4_10(k: FsKernel, path: int, stat: int) -> int:
    """Attributes of a path."""
    k.vfs.passed(stat, Kstat).fill(k.vfs.paths[path])
    return 0


def _getattr(k: FsKernel, path: Path, stat: Kstat) -> Body:
    """Call vfs_getattr on a path of its own."""
    from simkernel.fs.attributes import with_path

    if k.vfs.probed and hook_probed(k, "security_inode_getattr"):
        refused: int = yield from with_path(k, path, "security_inode_getattr")
        if refused:
            return refused
    args = (STATX_BASIC_STATS, 0) if k.vfs.names.statx else ()
    return (yield from with_path(k, path, "vfs_getattr", stat.addr, *args))


def _lookup_stat(k: FsKernel, dfd: int, name: str, flags: int, stat: Kstat) -> Body:
    lookup = 0 if flags & AT_SYMLINK_NOFOLLOW else LOOKUP_FOLLOW
    path = k.vfs.user_path(dfd, name, lookup, bool(flags & AT_EMPTY_PATH))
    return (yield from _getattr(k, path, stat))


@kernel_function(
    "int vfs_statx(int dfd, struct filename *filename, int flags, struct kstat *stat, u32 request_mask)",
    source="fs/stat.c", since="4.11",
)  # fmt: skip
def vfs_statx(k: FsKernel, dfd: int, filename: int, flags: int, stat: int, mask: int) -> Body:
    """Walk, then vfs_getattr."""
    name = k.vfs.passed(filename, Filename).name
    return (yield from _lookup_stat(k, dfd, name, flags, k.vfs.passed(stat, Kstat)))


@kernel_function("int vfs_fstatat(int dfd, const char *filename, struct kstat *stat, int flags)", source="fs/stat.c")
def vfs_fstatat(k: FsKernel, dfd: int, filename: int, stat: int, flags: int) -> Body:
    """stat, lstat and newfstatat."""
    name = get_path_name(k, filename, bool(flags & AT_EMPTY_PATH), "" if k.vfs.names.statx else "user_path_at_empty")
    if not k.vfs.names.statx:
        return (yield from _lookup_stat(k, dfd, name, flags, k.vfs.passed(stat, Kstat)))
    return (yield from _call_statx(k, dfd, name, filename, flags, stat))


def _call_statx(k: FsKernel, dfd: int, name: str, uptr: int, flags: int, stat: int) -> Body:
    from simkernel.fs.open_walk import Filename, OpenFlags

    file_name = Filename(k, name, uptr, OpenFlags(0, 0), "vfs_fstatat")
    try:
        return (yield k.call("vfs_statx", dfd, file_name.addr, flags, stat, STATX_BASIC_STATS))
    finally:
        file_name.put()


@kernel_function("int vfs_fstat(int fd, struct kstat *stat)", source="fs/stat.c")
def vfs_fstat(k: FsKernel, fd: int, stat: int) -> Body:
    """Attributes of an open file."""
    file = k.vfs.file_of(k, k.current, fd)
    return (yield from _getattr(k, file.f_path, k.vfs.passed(stat, Kstat)))


def stat_path(k: FsKernel, dfd: int, filename: int, statbuf: int, flags: int, record: Record | None = None) -> Body:
    """stat, lstat, fstatat and their forms."""
    if flags & ~AT_STAT_FLAGS:
        return -EINVAL
    stat = Kstat(k)
    try:
        ret = yield k.call("vfs_fstatat", dfd, filename, stat.addr, flags)
        return ret or stat.to_user(statbuf, record)
    finally:
        stat.put()


@syscall("stat", "const char *filename, struct __old_kernel_stat *statbuf", source="fs/stat.c")
def sys_stat(k: FsKernel, filename: int, statbuf: int) -> Body:
    """stat(2)."""
    return (yield from stat_path(k, AT_FDCWD, filename, statbuf, 0))


@syscall("lstat", "const char *filename, struct __old_kernel_stat *statbuf", source="fs/stat.c")
def sys_lstat(k: FsKernel, filename: int, statbuf: int) -> Body:
    """lstat(2)."""
    return (yield from stat_path(k, AT_FDCWD, filename, statbuf, AT_SYMLINK_NOFOLLOW))


@syscall("newfstatat", "int dfd, const char *filename, struct stat *statbuf, int flag", source="fs/stat.c")
def sys_newfstatat(k: FsKernel, dfd: int, filename: int, statbuf: int, flag: int) -> Body:
    """fstatat(2)."""
    return (yield from stat_path(k, dfd, filename, statbuf, flag))


@syscall("fstat", "unsigned int fd, struct __old_kernel_stat *statbuf", source="fs/stat.c")
def sys_fstat(k: FsKernel, fd: int, statbuf: int) -> Body:
    """fstat(2)."""
    return (yield from stat_fd(k, fd, statbuf))


def stat_fd(k: FsKernel, fd: int, statbuf: int, record: Record | None = None) -> Body:
    """fstat and fstat64."""
    stat = Kstat(k)
    try:
        ret = yield k.call("vfs_fstat", fd, stat.addr)
        return ret or stat.to_user(statbuf, record)
    finally:
        stat.put()


@syscall(
    "statx", "int dfd, const char *filename, unsigned flags, unsigned int mask, struct statx *buffer",
    source="fs/stat.c", since="4.11",
)  # fmt: skip
def sys_statx(k: FsKernel, dfd: int, filename: int, flags: int, mask: int, buffer: int) -> Body:
    """statx(2)."""
    if mask & STATX__RESERVED:
        return -EINVAL
    if flags & AT_STATX_SYNC_TYPE == AT_STATX_SYNC_TYPE or flags & ~AT_STAT_FLAGS:
        return -EINVAL
    name = get_path_name(k, filename, bool(flags & AT_EMPTY_PATH))
    stat = Kstat(k)
    try:
        ret = yield from _call_statx(k, dfd, name, filename, flags, stat.addr)
        if ret:
            return ret
        assert stat.path is not None
        k.usercopy.copy_to_user(buffer, STATX.pack(_statx_values(k, stat.path, mask), k.mem.byteorder))
        return 0
    finally:
        stat.put()


def _statx_values(k: FsKernel, path: Path, wanted: int) -> dict[str, int]:
    inode, space = path.dentry.inode, user_ns(k.current)
    mask = STATX_BASIC_STATS | (STATX_MNT_ID if k.vfs.names.statx_mnt_id else 0)
    shown, known = statx_attributes(k, inode)
    out = {
        "stx_mask": mask, "stx_blksize": inode.i_sb.s_blocksize,
        "stx_attributes": (0x2000 if path.dentry is path.mnt.mnt_root else 0) | shown, "stx_nlink": inode.i_nlink,
        "stx_uid": munged(space, "uid", inode.i_uid), "stx_gid": munged(space, "gid", inode.i_gid), "stx_mode": inode.i_mode, "stx_ino": inode.i_ino,
        "stx_size": inode.i_size, "stx_blocks": inode.i_blocks, "stx_attributes_mask": 0x203000 | known,
        "stx_rdev_major": dev_major(inode.i_rdev), "stx_rdev_minor": dev_minor(inode.i_rdev),
        "stx_dev_major": dev_major(inode.i_sb.s_dev), "stx_dev_minor": dev_minor(inode.i_sb.s_dev),
        "stx_mnt_id": path.mnt.mnt_id,
    }  # fmt: skip
    if wanted & STATX_MNT_ID_UNIQUE and k.vfs.names.unique_mount_ids:
        out["stx_mask"] ^= STATX_MNT_ID | STATX_MNT_ID_UNIQUE
        out["stx_mnt_id"] = unique_id(path.mnt)
    times = [("atime", inode.atime), ("ctime", inode.ctime), ("mtime", inode.mtime)]
    if wanted & STATX_BTIME and isinstance(inode, TmpfsInode) and k.vfs.names.shmem_fileattr:
        out["stx_mask"] |= STATX_BTIME
        times.append(("btime", inode.btime))
    for name, value in times:
        out[f"stx_{name}"] = value // NSEC_PER_SEC
        out[f"stx_{name}_nsec"] = value % NSEC_PER_SEC
    return out


# --- readlink ---


@kernel_function("int vfs_readlink(struct dentry *dentry, char *buffer, int buflen)", source="fs/namei.c", since="4.10")
def vfs_readlink(k: FsKernel, dentry: int, buffer: int, buflen: int) -> int:
    """Copy the text of a link, cut to the buffer."""
    return _readlink(k, k.vfs.mirror.dentries[dentry].inode, dentry, buffer, buflen)


def _readlink(k: FsKernel, inode: Inode, dentry: int, buffer: int, buflen: int) -> int:
    text = to_bytes(inode.readlink(k.vfs.mirror.dentries[dentry]))[:buflen]
    k.usercopy.copy_to_user(buffer, text)
    return len(text)


@syscall("readlinkat", "int dfd, const char *pathname, char *buf, int bufsiz", source="fs/stat.c")
def sys_readlinkat(k: FsKernel, dfd: int, pathname: int, buf: int, bufsiz: int) -> Body:
    """readlinkat(2)."""
    return (yield k.call("do_readlinkat", dfd, pathname, buf, bufsiz))


@kernel_function(
    "int do_readlinkat(int dfd, const char *pathname, char *buf, int bufsiz)", source="fs/stat.c", since="4.17"
)
def do_readlinkat(k: FsKernel, dfd: int, pathname: int, buf: int, bufsiz: int) -> Body:
    """EINVAL for what is no link."""
    if bufsiz <= 0:
        return -EINVAL
    name = get_path_name(k, pathname, True)
    path = k.vfs.user_path(dfd, name, 0, True)
    inode = path.dentry.inode
    if not inode.is_link:
        return -EINVAL if name else -2
    dentry = k.vfs.mirror.dentry(path.dentry)
    ask(k, "inode_readlink", dentry)
    k.vfs.mounts.touch_atime(path)
    if k.vfs.names.vfs_readlink:
        return (yield k.call("vfs_readlink", dentry, buf, bufsiz))
    return _readlink(k, inode, dentry, buf, bufsiz)


@syscall("readlink", "const char *path, char *buf, int bufsiz", source="fs/stat.c")
def sys_readlink(k: FsKernel, path: int, buf: int, bufsiz: int) -> Body:
    """readlink(2)."""
    return (yield k.call("do_readlinkat", AT_FDCWD, path, buf, bufsiz))


# --- statfs ---


def _statfs(k: FsKernel, path: Path, buf: int, record: Record | None = None) -> int:
    k.vfs.security.ask("sb_statfs", path.dentry)
    values = path.mnt.mnt_sb.statfs()
    flags = ST_VALID
    for ms, st in (
        (MS_NOSUID, ST_NOSUID), (MS_NODEV, ST_NODEV), (MS_NOEXEC, ST_NOEXEC),
        (MS_NOATIME, ST_NOATIME), (MS_NODIRATIME, ST_NODIRATIME), (MS_RELATIME, ST_RELATIME), (MS_NOSYMFOLLOW, ST_NOSYMFOLLOW),
    ):  # fmt: skip
        if path.mnt.mnt_flags & ms:
            flags |= st
    if path.mnt.read_only:
        flags |= ST_RDONLY
    values = {"f_frsize": values["f_bsize"], "f_flags": flags, "f_fsid0": fsid(path.mnt.mnt_sb)[0], **values}
    record = record or k.vfs.abi.statfs
    assert record is not None
    k.usercopy.copy_to_user(buf, record.pack(values, k.mem.byteorder))
    return 0


@kernel_function("int vfs_statfs(const struct path *path, struct kstatfs *buf)", source="fs/statfs.c")
def vfs_statfs(k: FsKernel, path: int, buf: int) -> int:
    """Ask the file system for its size."""
    return 0


@syscall("statfs", "const char *pathname, struct statfs *buf", source="fs/statfs.c")
def sys_statfs(k: FsKernel, pathname: int, buf: int) -> Body:
    """statfs(2)."""
    from simkernel.fs.attributes import with_path

    path = k.vfs.user_path(AT_FDCWD, get_path_name(k, pathname))
    yield from with_path(k, path, "vfs_statfs", 0)
    return _statfs(k, path, buf)


@syscall("fstatfs", "unsigned int fd, struct statfs *buf", source="fs/statfs.c")
def sys_fstatfs(k: FsKernel, fd: int, buf: int) -> int:
    """fstatfs(2)."""
    return _statfs(k, k.vfs.file_of(k, k.current, fd).f_path, buf)


@syscall("statfs64", "const char *pathname, size_t sz, struct statfs64 *buf", source="fs/statfs.c")
def sys_statfs64(k: FsKernel, pathname: int, size: int, buf: int) -> int:
    """statfs64(2) of the architectures that have both: the same structure on 64 bits."""
    record = statfs64_record(k, size)
    path = k.vfs.user_path(AT_FDCWD, get_path_name(k, pathname))
    return _statfs(k, path, buf, record)


def statfs64_record(k: FsKernel, size: int) -> Record:
    """The layout of struct statfs64; EINVAL for another size (arm's user space may count the padding)."""
    record: Record = k.vfs.abi.statfs64 or k.vfs.abi.statfs
    if size != record.size and not (k.arch.calls.pads_statfs64 and size == record.size + 4):
        raise KernelError(EINVAL, "size of struct statfs64")
    return record


@syscall("fstatfs64", "unsigned int fd, size_t sz, struct statfs64 *buf", source="fs/statfs.c")
def sys_fstatfs64(k: FsKernel, fd: int, size: int, buf: int) -> int:
    """fstatfs64(2)."""
    record = statfs64_record(k, size)
    return _statfs(k, k.vfs.file_of(k, k.current, fd).f_path, buf, record)


# --- times ---


def _times_asked(times: tuple[tuple[int, int], tuple[int, int]] | None) -> int:
    """ia_valid of vfs_utimes()."""
    valid = ATTR_CTIME | ATTR_MTIME | ATTR_ATIME
    if times is None or all(nsec == UTIME_NOW for _, nsec in times):
        return valid | ATTR_TOUCH
    for (_, nsec), plain, given in zip(times, (ATTR_ATIME, ATTR_MTIME), (ATTR_ATIME_SET, ATTR_MTIME_SET)):
        if nsec == UTIME_OMIT:
            valid &= ~plain
        elif nsec != UTIME_NOW:
            valid |= given
    return valid | ATTR_TIMES_SET


def _set_times(k: FsKernel, path: Path, times: tuple[tuple[int, int], tuple[int, int]] | None) -> int:
    """vfs_utimes(): explicit times need the owner, "now" needs write permission."""
    if path.mnt.read_only:
        return -EROFS
    inode, cred = path.dentry.inode, k.vfs.cred()
    now = k.vfs.now()
    owner = cred.fsuid == inode.i_uid or cred.capable(CAP_FOWNER, inode)
    explicit = times is not None and not all(t[1] == UTIME_NOW for t in times)
    if not owner:
        if explicit:
            return -EPERM
        inode_permission(inode, c.MAY_WRITE, cred)
    check_changeable(inode, touched=not explicit)
    k.vfs.security.setattr(path.dentry, _times_asked(times))
    for name, value in zip(("atime", "mtime"), times or ((0, UTIME_NOW), (0, UTIME_NOW)), strict=True):
        second, nsec = value
        if nsec != UTIME_OMIT:
            setattr(inode, name, now if nsec == UTIME_NOW else second * NSEC_PER_SEC + nsec)
    inode.ctime = now
    k.vfs.mirror.inode_changed(inode)
    if k.vfs.fsnotify.active:
        told = zip((FS_ACCESS, FS_MODIFY), times or ((0, 0), (0, 0)), strict=True)
        changed = [mask for mask, value in told if value[1] != UTIME_OMIT]
        k.vfs.fsnotify.dentry(path.dentry, FS_ATTRIB if len(changed) != 1 else changed[0])
    return 0


def _check_nsec(times: tuple[tuple[int, int], ...]) -> None:
    for _, nsec in times:
        if not (0 <= nsec < NSEC_PER_SEC or nsec in (UTIME_NOW, UTIME_OMIT)):
            raise KernelError(EINVAL, "nanoseconds out of range")


@syscall(
    "utimensat", "int dfd, const char *filename, struct __kernel_timespec *utimes, int flags", source="fs/utimes.c"
)
def sys_utimensat(k: FsKernel, dfd: int, filename: int, utimes: int, flags: int) -> int:
    """utimensat(2), and futimens(3) with a null name."""
    return utimensat(k, dfd, filename, utimes, flags, k.arch.model.word)


def utimensat(k: FsKernel, dfd: int, filename: int, utimes: int, flags: int, word: int) -> int:
    """The same with the size of time_t."""
    times = None
    if utimes:
        values = [k.usercopy.get_user(utimes + i * word, word, True) for i in range(4)]
        times = ((values[0], values[1]), (values[2], values[3]))
        if times[0][1] == UTIME_OMIT and times[1][1] == UTIME_OMIT:
            return 0
        _check_nsec(times)
    if not filename and dfd != AT_FDCWD:
        if flags:
            return -EINVAL
        return _set_times(k, k.vfs.fget(dfd).f_path, times)
    if flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH):
        return -EINVAL
    empty = bool(flags & AT_EMPTY_PATH)
    lookup = 0 if flags & AT_SYMLINK_NOFOLLOW else LOOKUP_FOLLOW
    return _set_times(k, k.vfs.user_path(dfd, get_path_name(k, filename, empty), lookup, empty), times)


def _timevals(k: FsKernel, addr: int) -> tuple[tuple[int, int], tuple[int, int]] | None:
    if not addr:
        return None
    word = k.arch.model.word
    values = [k.usercopy.get_user(addr + i * word, word, True) for i in range(4)]
    if not all(0 <= usec < 1_000_000 for usec in (values[1], values[3])):
        raise KernelError(EINVAL, "microseconds out of range")
    return ((values[0], values[1] * 1000), (values[2], values[3] * 1000))


@syscall("futimesat", "int dfd, const char *filename, struct __kernel_old_timeval *utimes", source="fs/utimes.c")
def sys_futimesat(k: FsKernel, dfd: int, filename: int, utimes: int) -> int:
    """futimesat(2)."""
    times = _timevals(k, utimes)
    if not filename and dfd != AT_FDCWD:
        return _set_times(k, k.vfs.fget(dfd).f_path, times) if dfd >= 0 else -EBADF
    return _set_times(k, k.vfs.user_path(dfd, get_path_name(k, filename)), times)


@syscall("utimes", "char *filename, struct __kernel_old_timeval *utimes", source="fs/utimes.c")
def sys_utimes(k: FsKernel, filename: int, utimes: int) -> int:
    """utimes(2)."""
    return sys_futimesat(k, AT_FDCWD, filename, utimes)


@syscall("utime", "char *filename, struct utimbuf *times", source="fs/utimes.c")
def sys_utime(k: FsKernel, filename: int, buf: int) -> int:
    """utime(2)."""
    times = None
    if buf:
        word = k.arch.model.word
        times = ((k.usercopy.get_user(buf, word, True), 0), (k.usercopy.get_user(buf + word, word, True), 0))
    return _set_times(k, k.vfs.user_path(AT_FDCWD, get_path_name(k, filename)), times)
