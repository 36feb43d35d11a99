"""Making a mount step by step: fsopen, fsconfig, fsmount, fspick.  fs/fsopen.c, fs/fs_context.c, fs/namespace.c.

A descriptor of a context collects parameters; CREATE makes the file system of them, fsmount(2) a mount that is attached
nowhere, behind a descriptor, until move_mount(2) gives it a place.
"""

from __future__ import annotations

from collections import deque

from arch.abi.capability import CAP_SYS_ADMIN
from arch.abi.errno import EBUSY, EINVAL, EMSGSIZE, ENODATA, ENODEV, EOPNOTSUPP, EPERM
from arch.abi.fcntl import AT_FDCWD, O_CLOEXEC, O_PATH, O_RDWR
from arch.abi.limits import PAGE_SIZE
from arch.abi.mount import (
    FSCONFIG_CMD_CREATE,
    FSCONFIG_CMD_RECONFIGURE,
    FSCONFIG_SET_BINARY,
    FSCONFIG_SET_FD,
    FSCONFIG_SET_FLAG,
    FSCONFIG_SET_PATH,
    FSCONFIG_SET_PATH_EMPTY,
    FSCONFIG_SET_STRING,
    FSMOUNT_CLOEXEC,
    FSOPEN_CLOEXEC,
    FSPICK_CLOEXEC,
    FSPICK_EMPTY_PATH,
    FSPICK_NO_AUTOMOUNT,
    FSPICK_SYMLINK_NOFOLLOW,
    MOUNT_ATTR_ATIME,
    MOUNT_ATTR_NOATIME,
    MOUNT_ATTR_NODEV,
    MOUNT_ATTR_NODIRATIME,
    MOUNT_ATTR_NOEXEC,
    MOUNT_ATTR_NOSUID,
    MOUNT_ATTR_NOSYMFOLLOW,
    MOUNT_ATTR_RDONLY,
    MOUNT_ATTR_RELATIME,
    MOUNT_ATTR_STRICTATIME,
    MS_DIRSYNC,
    MS_LAZYTIME,
    MS_MANDLOCK,
    MS_NOATIME,
    MS_NODEV,
    MS_NODIRATIME,
    MS_NOEXEC,
    MS_NOSUID,
    MS_NOSYMFOLLOW,
    MS_RDONLY,
    MS_RELATIME,
    MS_SYNCHRONOUS,
)
from arch.errors import KernelError
from arch.records import dataclass, field
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import files_of
from simkernel.fs.inode import EMPTY_FOPS, File, FileOperations, Mount, Path, SuperBlock
from simkernel.fs.landlock_access import check_mounts
from simkernel.fs.mount_options import BadOption, check
from simkernel.fs.namei import LOOKUP_FOLLOW
from simkernel.fs.namespace import may_mount, mount_capable
from simkernel.fs.open_walk import get_path_name
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall

CREATE_PARAMS, AWAITING_MOUNT, RECONF_PARAMS, FAILED = range(4)  # enum fs_context_phase, the steps that last
FC_LOG_LINES = 8  # struct fc_log: the oldest go
MAX_STRING, MAX_BINARY = 256, 1 << 20

# parameter of every file system -> (bit of the super block, whether it is set)
SB_FLAGS = {
    "dirsync": (MS_DIRSYNC, True), "lazytime": (MS_LAZYTIME, True), "mand": (MS_MANDLOCK, True), "ro": (MS_RDONLY, True),
    "sync": (MS_SYNCHRONOUS, True), "async": (MS_SYNCHRONOUS, False), "nolazytime": (MS_LAZYTIME, False), "nomand": (MS_MANDLOCK, False),
    "rw": (MS_RDONLY, False),
}  # fmt: skip
# file system -> its own parameters; one that is not here takes any, and looks at them when it is made (legacy_fs_context_ops)
PARAMETERS: dict[str, tuple[str, ...]] = {
    "tmpfs": ("size", "nr_blocks", "nr_inodes", "mode", "uid", "gid", "huge", "mpol", "inode32", "inode64"),
    "proc": ("hidepid", "gid", "subset"), "sysfs": (), "mqueue": (), "ramfs": ("mode",),
    "cgroup2": ("nsdelegate", "memory_localevents", "memory_recursiveprot", "favordynmods"),
}  # fmt: skip
TAKE_ANY = ("bpf", "ramfs")  # what these do not know they pass over
MNT_OF_ATTR = (
    (MOUNT_ATTR_RDONLY, MS_RDONLY), (MOUNT_ATTR_NOSUID, MS_NOSUID), (MOUNT_ATTR_NODEV, MS_NODEV), (MOUNT_ATTR_NOEXEC, MS_NOEXEC),
    (MOUNT_ATTR_NODIRATIME, MS_NODIRATIME), (MOUNT_ATTR_NOSYMFOLLOW, MS_NOSYMFOLLOW),
)  # fmt: skip
ATIME_OF_ATTR = {MOUNT_ATTR_RELATIME: MS_RELATIME, MOUNT_ATTR_NOATIME: MS_NOATIME, MOUNT_ATTR_STRICTATIME: 0}


@dataclass(eq=False, slots=True)
class FsContext:
    """struct fs_context."""

    fs_name: str
    phase: int = CREATE_PARAMS
    parameters: list[str] = field(default_factory=list)
    source: str | None = None
    sb_flags: int = 0
    sb: SuperBlock | None = None
    mnt: Mount | None = None  # what fspick(2) took up
    log: deque[str] = field(default_factory=lambda: deque(maxlen=FC_LOG_LINES))

    def refuse(self, errno: int, text: str) -> KernelError:
        """errorfc(): with a line for who reads the descriptor."""
        self.log.append(f"e {text}\n")
        return KernelError(errno, text)


@kernel_function("ssize_t fscontext_read(struct file *file, char *_buf, size_t len, loff_t *pos)", source="fs/fsopen.c",
                 since="5.2")  # fmt: skip
def fscontext_read(k: FsKernel, file: int, buf: int, size: int, pos: int) -> int:
    """The oldest message; ENODATA when there is none, EMSGSIZE when it does not fit."""
    context: FsContext = k.vfs.files[file].private_data
    if not context.log:
        return -ENODATA
    text = context.log[0].encode()
    if len(text) > size:
        return -EMSGSIZE
    context.log.popleft()
    k.usercopy.copy_to_user(buf, text)
    return len(text)


FSCONTEXT_FOPS = FileOperations("fscontext_fops", read="fscontext_read", llseek="no_llseek")


@syscall("fsopen", "const char *_fs_name, unsigned int flags", source="fs/fsopen.c", since="5.2")
def sys_fsopen(k: FsKernel, fs_name: int, flags: int) -> Body:
    """A context for a new file system.  EPERM, EINVAL, ENODEV, EFAULT."""
    if not (yield from may_mount(k)):
        return -EPERM
    if flags & ~FSOPEN_CLOEXEC:
        return -EINVAL
    name = k.usercopy.strncpy_from_user(fs_name, PAGE_SIZE).decode("utf-8", "surrogateescape")
    fs_type = k.vfs.fs_types.get(name)
    if fs_type is None or not fs_type.user_mountable:
        return -ENODEV
    return _context_fd(k, FsContext(name), flags & FSOPEN_CLOEXEC)


def _context_fd(k: FsKernel, context: FsContext, cloexec: int) -> int:
    return k.vfs.anon_inode_getfd(k, "[fscontext]", FSCONTEXT_FOPS, context, O_RDWR | (O_CLOEXEC if cloexec else 0))


@syscall("fspick", "int dfd, const char *path, unsigned int flags", source="fs/fsopen.c", since="5.2")
def sys_fspick(k: FsKernel, dfd: int, path: int, flags: int) -> Body:
    """A context for a file system that is mounted.  EPERM, EINVAL."""
    if not (yield from may_mount(k)):
        return -EPERM
    if flags & ~(FSPICK_CLOEXEC | FSPICK_SYMLINK_NOFOLLOW | FSPICK_NO_AUTOMOUNT | FSPICK_EMPTY_PATH):
        return -EINVAL
    name = get_path_name(k, path, empty_ok=True)
    lookup = 0 if flags & FSPICK_SYMLINK_NOFOLLOW else LOOKUP_FOLLOW
    where = k.vfs.user_path(dfd, name, lookup, empty=bool(flags & FSPICK_EMPTY_PATH))
    if where.dentry is not where.mnt.mnt_root:
        return -EINVAL
    sb = where.mnt.mnt_sb
    context = FsContext(sb.fs_name, RECONF_PARAMS, sb=sb, mnt=where.mnt, sb_flags=sb.s_flags)
    return _context_fd(k, context, flags & FSPICK_CLOEXEC)


def _well_formed(cmd: int, key: int, value: int, aux: int) -> bool:
    """Which arguments each command has; KernelError(EOPNOTSUPP) for one that does not exist."""
    if cmd == FSCONFIG_SET_FLAG:
        return bool(key) and not value and not aux
    if cmd == FSCONFIG_SET_STRING:
        return bool(key) and bool(value) and not aux
    if cmd == FSCONFIG_SET_BINARY:
        return bool(key) and bool(value) and 0 < aux <= MAX_BINARY
    if cmd in (FSCONFIG_SET_PATH, FSCONFIG_SET_PATH_EMPTY):
        return bool(key) and bool(value) and (aux == AT_FDCWD or aux >= 0)
    if cmd == FSCONFIG_SET_FD:
        return bool(key) and not value and aux >= 0
    if cmd in (FSCONFIG_CMD_CREATE, FSCONFIG_CMD_RECONFIGURE):
        return not key and not value and not aux
    raise KernelError(EOPNOTSUPP)


@syscall("fsconfig", "int fd, unsigned int cmd, const char *_key, const void *_value, int aux", source="fs/fsopen.c",
         since="5.2")  # fmt: skip
def sys_fsconfig(k: FsKernel, fd: int, cmd: int, key: int, value: int, aux: int) -> int:
    """A parameter, or making and changing the file system.  EINVAL, EBADF, EOPNOTSUPP, EBUSY, EPERM, EFAULT."""
    if fd < 0 or not _well_formed(cmd, key, value, aux):
        return -EINVAL
    file = k.vfs.fget(fd)
    if file.f_op is not FSCONTEXT_FOPS:
        return -EINVAL
    context: FsContext = file.private_data
    simple = (FSCONFIG_SET_FLAG, FSCONFIG_SET_STRING, FSCONFIG_CMD_CREATE, FSCONFIG_CMD_RECONFIGURE)
    if context.fs_name not in (*PARAMETERS, *TAKE_ANY) and cmd not in simple:
        return -EOPNOTSUPP
    name = _string(k, key) if key else ""
    text = _string(k, value) if cmd == FSCONFIG_SET_STRING else None
    if cmd in (FSCONFIG_SET_PATH, FSCONFIG_SET_PATH_EMPTY):
        get_path_name(k, value, empty_ok=cmd == FSCONFIG_SET_PATH_EMPTY)
    if cmd == FSCONFIG_SET_BINARY:
        k.usercopy.copy_from_user(value, aux)
    if cmd == FSCONFIG_SET_FD:
        k.vfs.fget(aux)
    if cmd == FSCONFIG_CMD_CREATE:
        return _create(k, context)
    if cmd == FSCONFIG_CMD_RECONFIGURE:
        return _reconfigure(k, context)
    if context.phase not in (CREATE_PARAMS, RECONF_PARAMS):
        return -EBUSY
    _parameter(k, context, cmd, name, text)
    return 0


def _string(k: FsKernel, addr: int) -> str:
    """strndup_user(): EINVAL for one that is too long."""
    raw = k.usercopy.copy_from_user_string(addr, MAX_STRING)
    if len(raw) >= MAX_STRING:
        raise KernelError(EINVAL)
    return raw.decode("utf-8", "surrogateescape")


def _parameter(k: FsKernel, context: FsContext, cmd: int, key: str, text: str | None) -> None:
    """vfs_parse_fs_param()."""
    if key in SB_FLAGS:
        bit, on = SB_FLAGS[key]
        context.sb_flags = context.sb_flags | bit if on else context.sb_flags & ~bit
        return
    fs_type = k.vfs.fs_types.get(context.fs_name)  # None: mounted at boot, and by nobody else
    known = fs_type.keys if fs_type is not None and fs_type.keys else PARAMETERS.get(context.fs_name)
    if key == "source":
        if text is None:
            raise context.refuse(EINVAL, "Non-string source")
        if context.source is not None:
            raise context.refuse(EINVAL, "Multiple sources")
        context.source = text
        return
    if key not in (known or (key,)) and context.fs_name in TAKE_ANY:
        return
    if known is not None and key not in known:
        raise context.refuse(EINVAL, f"{context.fs_name}: Unknown parameter '{key}'")
    if cmd not in (FSCONFIG_SET_FLAG, FSCONFIG_SET_STRING):
        raise context.refuse(EINVAL, f"{context.fs_name}: Bad value for '{key}'")
    if text is not None and "," in text:
        raise context.refuse(EINVAL, f"{context.fs_name}: Option '{key}' contained comma")
    try:
        if fs_type is not None and fs_type.check is not None:
            fs_type.check(key, text)
        else:
            check(context.fs_name, key, text)
    except BadOption as bad:
        raise context.refuse(EINVAL, f"{context.fs_name}: {bad.text}") from None
    context.parameters.append(key if text is None else f"{key}={text}")


def _create(k: FsKernel, context: FsContext) -> int:
    if context.phase != CREATE_PARAMS:
        return -EBUSY
    if not mount_capable(k, context.fs_name):
        return -EPERM
    try:
        context.sb = k.vfs.make_super(
            context.fs_name, context.source or "none", context.sb_flags, ",".join(context.parameters)
        )
    except KernelError:
        context.phase = FAILED
        raise
    context.sb.s_flags |= context.sb_flags
    context.phase = AWAITING_MOUNT
    return 0


def _reconfigure(k: FsKernel, context: FsContext) -> int:
    if context.phase != RECONF_PARAMS:
        return -EBUSY
    if not k.capable(CAP_SYS_ADMIN):
        return -EPERM
    assert context.mnt is not None
    check_mounts(k)
    flags = context.mnt.mnt_flags
    try:
        k.vfs.remount(context.mnt, flags & ~MS_RDONLY | context.sb_flags, ",".join(context.parameters))
    except BadOption as bad:
        context.phase = FAILED
        raise context.refuse(EINVAL, f"{context.fs_name}: {bad.text}") from None
    except KernelError:
        context.phase = FAILED
        raise
    finally:
        context.mnt.mnt_flags = flags
    context.parameters.clear()
    return 0


def attr_flags(attrs: int) -> int:
    """attr_flags_to_mnt_flags(): MS_* of MOUNT_ATTR_*, without the access times."""
    return sum(ms for attr, ms in MNT_OF_ATTR if attrs & attr)


def detached_fd(k: FsKernel, mnt: Mount, cloexec: bool) -> int:
    """A descriptor that holds a tree of mounts which is attached nowhere; the last close of it lets the tree go."""
    mounts = k.vfs.mounts
    if mnt not in mounts.all:
        mounts.enter(mnt)
    mounts.detached.add(mnt)
    files = files_of(k.current)
    with files.unused_fd(cloexec) as fd:
        files.install(fd, path_file(k, Path(mnt, mnt.mnt_root), c.FMODE_NEED_UNMOUNT))
    return int(fd)


def path_file(k: FsKernel, path: Path, more: int = 0) -> File:
    """dentry_open(O_PATH)."""
    file = k.vfs.new_file(path, O_PATH, EMPTY_FOPS)
    file.f_mode = c.FMODE_PATH | c.FMODE_OPENED | more
    k.vfs.mirror.file_flags(file)
    return file


@syscall("fsmount", "int fs_fd, unsigned int flags, unsigned int attr_flags", source="fs/namespace.c", since="5.2")
def sys_fsmount(k: FsKernel, fs_fd: int, flags: int, attrs: int) -> Body:
    """A mount of what a context has made, attached nowhere.  EPERM, EINVAL, EBADF, EBUSY."""
    if not (yield from may_mount(k)):
        return -EPERM
    known = MOUNT_ATTR_ATIME | sum(attr for attr, _ in MNT_OF_ATTR)
    if flags & ~FSMOUNT_CLOEXEC or attrs & ~known or attrs & MOUNT_ATTR_ATIME not in ATIME_OF_ATTR:
        return -EINVAL
    file = k.vfs.fget(fs_fd)
    if file.f_op is not FSCONTEXT_FOPS:
        return -EINVAL
    context: FsContext = file.private_data
    if context.sb is None:
        return -EINVAL
    if context.phase != AWAITING_MOUNT:
        return -EBUSY
    flags_ms = attr_flags(attrs) | ATIME_OF_ATTR[attrs & MOUNT_ATTR_ATIME]
    mnt = k.vfs.mounts.new(context.sb, context.source or "none", flags_ms)
    fd = detached_fd(k, mnt, bool(flags & FSMOUNT_CLOEXEC))
    context.phase, context.mnt = RECONF_PARAMS, mnt
    return fd
