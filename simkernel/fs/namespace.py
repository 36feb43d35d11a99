"""mount(2), umount2(2), pivot_root(2), and the texts of /proc/mounts and /proc/PID/mountinfo.

fs/namespace.c, fs/proc_namespace.c.  There is one mount namespace; propagation (shared, slave) is accepted and ignored.
"""

from __future__ import annotations

from typing import NamedTuple

from arch.abi.capability import CAP_SYS_ADMIN
from arch.abi.errno import EBUSY, EINVAL, ELOOP, ENODEV, ENOENT, ENOTBLK, ENOTDIR, EPERM
from arch.abi.fcntl import AT_FDCWD
from arch.abi.limits import PAGE_SIZE
from arch.abi.mount import (
    MNT_DETACH,
    MNT_EXPIRE,
    MNT_FORCE,
    MS_BIND,
    MS_MGC_MSK,
    MS_MGC_VAL,
    MS_MOVE,
    MS_NOATIME,
    MS_NODEV,
    MS_NODIRATIME,
    MS_NOEXEC,
    MS_NOSUID,
    MS_PRIVATE,
    MS_RDONLY,
    MS_RELATIME,
    MS_REMOUNT,
    MS_SHARED,
    MS_SLAVE,
    MS_STRICTATIME,
    MS_SYNCHRONOUS,
    MS_UNBINDABLE,
    UMOUNT_NOFOLLOW,
)
from arch.abi.stat import S_IFBLK, S_IFMT, dev_major, dev_minor
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import Dentry, Mount, Path, prepend_path
from simkernel.fs.mounts import MNT_FLAGS
from simkernel.fs.namei import LOOKUP_FOLLOW
from simkernel.fs.open_walk import get_path_name
from simkernel.fs.vfs import Vfs
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.user_namespace import ns_address


class MountRequest(NamedTuple):
    """What mount(2) was given, on its way to path_mount()."""

    where: Path
    dev: str
    fs_name: str
    data: str


def mount_flags(flags: int) -> int:
    """path_mount(): relatime unless told otherwise."""
    out = flags & MNT_FLAGS
    if not flags & MS_NOATIME:
        out |= MS_RELATIME
    if flags & MS_STRICTATIME:
        out &= ~(MS_RELATIME | MS_NOATIME)
    return out


def _do_new_mount(vfs: Vfs, where: Path, fs_name: str, devname: str, flags: int, data: str) -> int:
    fs_type = vfs.fs_types.get(fs_name)
    if fs_type is None:
        return -ENODEV
    if not fs_type.user_mountable:
        return -EINVAL
    if not fs_type.nodev:
        return _do_block_mount(vfs, where, fs_name, devname, flags, data)
    sb = vfs.make_super(fs_name, devname, flags, data)
    if where.dentry is where.mnt.mnt_root and where.mnt.mnt_sb is sb:
        return -EBUSY
    vfs.mounts.attach(vfs.mounts.new(sb, devname, mount_flags(flags)), where)
    return 0


def _do_block_mount(vfs: Vfs, where: Path, fs_name: str, devname: str, flags: int, data: str) -> int:
    device = vfs.user_path(AT_FDCWD, devname)
    if device.dentry.inode.i_mode & S_IFMT != S_IFBLK:
        return -ENOTBLK
    sb = vfs.make_super(fs_name, devname, flags, data)
    vfs.mounts.attach(vfs.mounts.new(sb, devname, mount_flags(flags)), where)
    return 0


def _do_bind(vfs: Vfs, where: Path, source_name: str) -> int:
    if not source_name:
        return -EINVAL
    source = vfs.user_path(AT_FDCWD, source_name)
    if (source.dentry.children is None) != (where.dentry.children is None):
        return -ENOTDIR
    mnt = vfs.mounts.new(source.mnt.mnt_sb, source.mnt.devname, source.mnt.mnt_flags, source.dentry)
    vfs.mounts.attach(mnt, where)
    return 0


def _do_move(vfs: Vfs, where: Path, source_name: str) -> int:
    source = vfs.user_path(AT_FDCWD, source_name)
    mnt = source.mnt
    if source.dentry is not mnt.mnt_root or mnt.mnt_parent is mnt:
        return -EINVAL
    step = where.mnt
    while step.mnt_parent is not step:
        if step is mnt:
            return -ELOOP
        step = step.mnt_parent
    vfs.mounts.detach(mnt)
    vfs.mounts.attach(mnt, where)
    return 0


@kernel_function(
    "int path_mount(const char *dev_name, struct path *path, const char *type_page, unsigned long flags, "
    "void *data_page)", source="fs/namespace.c", since="5.9",
)  # fmt: skip
def path_mount(k: FsKernel, dev_name: int, path: int, type_page: int, flags: int, data: int) -> Body:
    """What kind of mount it is."""
    asked = k.vfs.passed(path, MountRequest)
    return (yield from _path_mount(k, asked.where, asked.dev, asked.fs_name, flags, asked.data))


def _may_mount(k: FsKernel) -> Body:
    """may_mount(): CAP_SYS_ADMIN in the user namespace that the mount namespace belongs to."""
    found = k.current.namespaces.get("mnt")
    return (yield k.call("ns_capable", ns_address(k, found.owner if found is not None else None), CAP_SYS_ADMIN))


def _path_mount(k: FsKernel, where: Path, dev: str, fs_name: str, flags: int, data: str) -> Body:
    vfs: Vfs = k.vfs
    if not (yield from _may_mount(k)):
        return -EPERM
    if flags & MS_REMOUNT:
        if where.dentry is not where.mnt.mnt_root:
            return -EINVAL
        if flags & MS_BIND:
            where.mnt.mnt_flags = mount_flags(flags)
        else:
            vfs.remount(where.mnt, mount_flags(flags) | flags & MS_RDONLY, data)
        return 0
    if flags & MS_BIND:
        return _do_bind(vfs, where, dev)
    if flags & (MS_SHARED | MS_PRIVATE | MS_SLAVE | MS_UNBINDABLE):
        return 0 if where.dentry is where.mnt.mnt_root else -EINVAL
    if flags & MS_MOVE:
        return _do_move(vfs, where, dev)
    if not fs_name:
        return -EINVAL
    return _do_new_mount(vfs, where, fs_name, dev or "none", flags, data)


@syscall(
    "mount", "char *dev_name, char *dir_name, char *type, unsigned long flags, void *data", source="fs/namespace.c"
)
def sys_mount(k: FsKernel, dev_name: int, dir_name: int, type_: int, flags: int, data: int) -> Body:
    """mount(2)."""
    fs_name = k.usercopy.strncpy_from_user(type_, PAGE_SIZE).decode("utf-8", "surrogateescape") if type_ else ""
    dev = k.usercopy.strncpy_from_user(dev_name, PAGE_SIZE).decode("utf-8", "surrogateescape") if dev_name else ""
    text = k.usercopy.strncpy_from_user(data, PAGE_SIZE).decode("utf-8", "surrogateescape") if data else ""
    where = k.vfs.user_path(AT_FDCWD, get_path_name(k, dir_name))
    if flags & MS_MGC_MSK == MS_MGC_VAL:
        flags &= ~MS_MGC_MSK
    if not k.vfs.names.path_mount:
        return (yield from _path_mount(k, where, dev, fs_name, flags, text))
    layout = k.vfs.mirror.struct("struct path")
    addr = layout.new({"mnt": k.vfs.mirror.vfsmount(where.mnt), "dentry": k.vfs.mirror.dentry(where.dentry)})
    k.vfs.objects[addr] = MountRequest(where, dev, fs_name, text)
    try:
        return (yield k.call("path_mount", 0, addr, 0, flags, 0))
    finally:
        del k.vfs.objects[addr]
        k.mem.free(addr)


@syscall("umount2", "char *name, int flags", source="fs/namespace.c")
def sys_umount(k: FsKernel, name: int, flags: int) -> Body:
    """umount2(2)."""
    if flags & ~(MNT_FORCE | MNT_DETACH | MNT_EXPIRE | UMOUNT_NOFOLLOW):
        return -EINVAL
    vfs: Vfs = k.vfs
    lookup = 0 if flags & UMOUNT_NOFOLLOW else LOOKUP_FOLLOW
    path = vfs.user_path(AT_FDCWD, get_path_name(k, name), lookup)
    if not (yield from _may_mount(k)):
        return -EPERM
    mnt = path.mnt
    if path.dentry is not mnt.mnt_root or mnt.mnt_parent is mnt:
        return -EINVAL
    if flags & MNT_DETACH:
        for child in reversed(vfs.mounts.children_of(mnt)):
            vfs.mounts.detach(child)
    elif vfs.is_busy(mnt):
        return -EBUSY
    vfs.mounts.detach(mnt)
    return 0


@syscall("pivot_root", "const char *new_root, const char *put_old", source="fs/namespace.c")
def sys_pivot_root(k: FsKernel, new_root: int, put_old: int) -> Body:
    """pivot_root(2): another mount becomes the root; not from the initial one, which is rootfs.  EBUSY, EINVAL, EPERM, ENOTDIR."""
    if not (yield from _may_mount(k)):
        return -EPERM
    vfs, mounts = k.vfs, k.vfs.mounts
    new = vfs.user_path(AT_FDCWD, get_path_name(k, new_root))
    old = vfs.user_path(AT_FDCWD, get_path_name(k, put_old))
    if not new.inode.is_dir or not old.inode.is_dir:
        return -ENOTDIR
    root: Path = k.current.fs.root
    if not new.dentry.hashed and new.dentry is not new.mnt.mnt_root:
        return -ENOENT
    if new.mnt is root.mnt or old.mnt is root.mnt:
        return -EBUSY
    if root.dentry is not root.mnt.mnt_root or root.mnt.mnt_parent is root.mnt:
        return -EINVAL
    if new.dentry is not new.mnt.mnt_root or new.mnt.mnt_parent is new.mnt:
        return -EINVAL
    if not _below(old, new) or not _below(new, root):
        return -EINVAL
    place = Path(root.mnt.mnt_parent, root.mnt.mountpoint)
    mounts.detach(new.mnt)
    mounts.detach(root.mnt)
    mounts.attach(root.mnt, old)
    mounts.attach(new.mnt, place)
    for task in k.tasks.by_pid.values():  # chroot_fs_refs()
        if task.fs is not None:
            if task.fs.root == root:
                task.fs.set_root(new)
            if task.fs.pwd == root:
                task.fs.set_pwd(new)
    return 0


def _below(path: Path, top: Path) -> bool:
    """is_path_reachable()."""
    mnt, dentry = path
    while mnt is not top.mnt and mnt.mnt_parent is not mnt:
        mnt, dentry = mnt.mnt_parent, mnt.mountpoint
    return mnt is top.mnt and top.dentry.is_ancestor_of(dentry)


# --- texts ---

_SHOWN_FLAGS = (
    (MS_NOSUID, ",nosuid"), (MS_NODEV, ",nodev"), (MS_NOEXEC, ",noexec"), (MS_NOATIME, ",noatime"),
    (MS_NODIRATIME, ",nodiratime"), (MS_RELATIME, ",relatime"),
)  # fmt: skip


def _mangle(text: str) -> str:
    """mangle(): octal escapes for blanks and backslashes."""
    return "".join(f"\\{ord(ch):03o}" if ch in " \t\n\\#" else ch for ch in text)


def _options(mnt: Mount) -> str:
    return "".join(text for bit, text in _SHOWN_FLAGS if mnt.mnt_flags & bit)


def _sb_options(mnt: Mount) -> str:
    sb = mnt.mnt_sb
    out = "ro" if sb.read_only else "rw"
    if sb.s_flags & MS_SYNCHRONOUS:
        out += ",sync"
    return out + ("," + sb.options if sb.options else "")


def _visible(vfs: Vfs, root: Path) -> list[tuple[Mount, str]]:
    """Mounts below the task's root, with their paths."""
    out = []
    for mnt in vfs.mounts:
        text, reachable = prepend_path(Path(mnt, mnt.mnt_root), root)
        if reachable:
            out.append((mnt, text))
    return out


def show_mounts(vfs: Vfs, root: Path) -> str:
    """/proc/mounts."""
    lines = []
    for mnt, where in _visible(vfs, root):
        state = "ro" if mnt.read_only else "rw"
        options = state + _options(mnt) + ("," + mnt.mnt_sb.options if mnt.mnt_sb.options else "")
        lines.append(f"{_mangle(mnt.devname)} {_mangle(where)} {mnt.mnt_sb.fs_name} {options} 0 0\n")
    return "".join(lines)


def show_mountinfo(vfs: Vfs, root: Path) -> str:
    """/proc/PID/mountinfo."""
    lines = []
    for mnt, where in _visible(vfs, root):
        sb = mnt.mnt_sb
        inside = _path_inside(mnt.mnt_root, sb.s_root)
        flags = ("ro" if mnt.mnt_flags & MS_RDONLY else "rw") + _options(mnt)
        dev = f"{dev_major(sb.s_dev)}:{dev_minor(sb.s_dev)}"
        lines.append(
            f"{mnt.mnt_id} {mnt.mnt_parent.mnt_id} {dev} {_mangle(inside)} {_mangle(where)} {flags} - "
            f"{sb.fs_name} {_mangle(mnt.devname)} {_sb_options(mnt)}\n"
        )
    return "".join(lines)


def _path_inside(dentry: Dentry, root: Dentry) -> str:
    parts: list[str] = []
    while dentry is not root and dentry.parent is not dentry:
        parts.append(dentry.name)
        dentry = dentry.parent
    return "/" + "/".join(reversed(parts))


def show_mountstats(vfs: Vfs, root: Path) -> str:
    """/proc/PID/mountstats."""
    return "".join(
        f"device {mnt.devname} mounted on {where} with fstype {mnt.mnt_sb.fs_name}\n"
        for mnt, where in _visible(vfs, root)
    )
