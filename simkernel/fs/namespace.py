"""mount(2), umount2(2), pivot_root(2), and the texts of /proc/mounts and /proc/PID/mountinfo.

fs/namespace.c, fs/proc_namespace.c.  What is shared between mounts is pnode.py's.
"""

from __future__ import annotations

from typing import NamedTuple

from arch.abi.capability import CAP_SYS_ADMIN
from arch.abi.errno import EAGAIN, EBUSY, EINVAL, ELOOP, ENODEV, ENOENT, ENOTBLK, ENOTDIR, EPERM
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
    MS_NOSYMFOLLOW,
    MS_PRIVATE,
    MS_RDONLY,
    MS_REC,
    MS_RELATIME,
    MS_REMOUNT,
    MS_SHARED,
    MS_SILENT,
    MS_SLAVE,
    MS_STRICTATIME,
    MS_SYNCHRONOUS,
    MS_UNBINDABLE,
    SB_FLAGS,
    UMOUNT_NOFOLLOW,
)
from arch.abi.stat import S_IFBLK, S_IFMT, dev_major, dev_minor
from simkernel.fs import pnode
from simkernel.fs.constants import FMODE_WRITE
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import fs_if_any, fs_of
from simkernel.fs.inode import Dentry, Mount, Path, prepend_path
from simkernel.fs.landlock_access import check_mounts
from simkernel.fs.mounts import MNT_FLAGS, Mounts, top_of
from simkernel.fs.namei import LOOKUP_FOLLOW
from simkernel.fs.open_walk import get_path_name
from simkernel.fs.vfs import Vfs
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.user_namespace import ns_address, ns_capable


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


# File systems that may be mounted with the rights of a user namespace (FS_USERNS_MOUNT), and whose rights those are.
USERNS_MOUNT = {
    "tmpfs": "user", "ramfs": "user", "devpts": "user", "cgroup2": "cgroup", "cgroup": "cgroup", "bpf": "user", "proc": "pid", "sysfs": "net",
    "mqueue": "ipc",
}  # fmt: skip


def mount_capable(k: FsKernel, fs_name: str) -> bool:
    """mount_capable(): CAP_SYS_ADMIN where the file system's objects belong."""
    kind = USERNS_MOUNT.get(fs_name)
    if kind is None:
        return k.capable(CAP_SYS_ADMIN)
    owner = k.current.namespaces.get(kind)
    if kind != "user" and owner is not None:
        owner = owner.owner
    return ns_capable(k.current, owner, CAP_SYS_ADMIN)


def check_mnt(k: FsKernel, mnt: Mount) -> bool:
    """It is in the current task's mount namespace."""
    mine = k.current.namespaces.get("mnt")
    top = mine.state if mine is not None else k.vfs.mounts.root.mnt
    return top_of(mnt) is top


def _do_new_mount(k: FsKernel, where: Path, fs_name: str, devname: str, flags: int, data: str) -> int:
    vfs = k.vfs
    fs_type = vfs.fs_types.get(fs_name)
    if fs_type is None:
        return -ENODEV
    if not fs_type.user_mountable:
        return -EINVAL
    if not mount_capable(k, fs_name):
        return -EPERM
    if not fs_type.nodev:
        device = vfs.user_path(AT_FDCWD, devname)
        if device.dentry.inode.i_mode & S_IFMT != S_IFBLK:
            return -ENOTBLK
    if vfs.security.watched:
        for name, value in (("source", devname), *(part.partition("=")[::2] for part in data.split(",") if part)):
            vfs.security.parameter(name, value)
    sb = vfs.make_super(fs_name, devname, flags, data)
    vfs.security.new_super(sb)
    if all(mnt.mnt_sb is not sb for mnt in vfs.mounts):  # else flags are of the mount only
        sb.s_flags |= flags & SB_FLAGS
    if not check_mnt(k, where.mnt):
        return -EINVAL
    if fs_type.nodev and where.dentry is where.mnt.mnt_root and where.mnt.mnt_sb is sb:
        return -EBUSY
    pnode.require_room(vfs.mounts, where, 1)
    pnode.attach(vfs.mounts, vfs.mounts.new(sb, devname, mount_flags(flags)), where)
    return 0


def _bindable(mnt: Mount) -> bool:
    return not mnt.unbindable


def _do_bind(k: FsKernel, where: Path, source_name: str, recursive: bool) -> int:
    """do_loopback()."""
    vfs, mounts = k.vfs, k.vfs.mounts
    if not source_name:
        return -EINVAL
    source = vfs.user_path(AT_FDCWD, source_name)
    if source.mnt.unbindable or not check_mnt(k, where.mnt):
        return -EINVAL
    if not check_mnt(k, source.mnt) and source.mnt.mnt_sb.fs_name != "nsfs":
        return -EINVAL
    if not recursive and any(
        m.locked and source.dentry.is_ancestor_of(m.mountpoint) for m in mounts.children_of(source.mnt)
    ):
        return -EINVAL
    if (source.dentry.children is None) != (where.dentry.children is None):
        return -ENOTDIR
    pnode.require_room(mounts, where, len(mounts.tree(source.mnt)) if recursive else 1)
    copies = clone_tree(mounts, source, recursive)
    pnode.attach(mounts, copies[source.mnt], where, known=True)
    return 0


def clone_tree(mounts: Mounts, source: Path, recursive: bool) -> dict[Mount, Mount]:
    """What a bind mount shows: a mount from some directory on, alone or with what is mounted below."""
    copies = mounts.copy_tree(source.mnt, source.dentry, _bindable if recursive else lambda mnt: False)
    pnode.copied(mounts, copies)
    copies[source.mnt].locked = False
    return copies


def do_move_mount(k: FsKernel, source: Path, where: Path) -> int:
    """A mount, or a tree that is not attached yet, to another place.  EINVAL, ELOOP."""
    mounts, mnt = k.vfs.mounts, source.mnt
    attached = mnt.mnt_parent is not mnt
    if not check_mnt(k, where.mnt) or source.dentry is not mnt.mnt_root:
        return -EINVAL
    if attached and not check_mnt(k, mnt):
        return -EINVAL
    if not attached and (check_mnt(k, mnt) or mnt not in mounts.detached):
        return -EINVAL
    if mnt.locked or (source.dentry.children is None) != (where.dentry.children is None):
        return -EINVAL
    if attached and mnt.mnt_parent.group_id:
        return -EINVAL
    if where.mnt.group_id and any(member.unbindable for member in mounts.tree(mnt)):
        return -EINVAL
    if mnt in (where.mnt, top_of(where.mnt)) or mnt in _above(where.mnt):
        return -ELOOP
    pnode.require_room(mounts, where, len(mounts.tree(mnt)), own=not attached)
    if attached:
        mounts.uncover(mnt)
    mounts.detached.discard(mnt)
    pnode.attach(mounts, mnt, where, known=True)
    return 0


def _above(mnt: Mount) -> list[Mount]:
    found = []
    while mnt.mnt_parent is not mnt:
        mnt = mnt.mnt_parent
        found.append(mnt)
    return found


def _change_type(k: FsKernel, where: Path, flags: int) -> int:
    """do_change_type(): MS_SHARED and its kin, for a mount or (MS_REC) all on it.  EINVAL."""
    kind = flags & ~(MS_REC | MS_SILENT)
    if where.dentry is not where.mnt.mnt_root or kind not in pnode.KINDS or not check_mnt(k, where.mnt):
        return -EINVAL
    mounts = k.vfs.mounts
    for mnt in mounts.tree(where.mnt) if flags & MS_REC else [where.mnt]:
        pnode.change_propagation(mounts, mnt, kind)
    return 0


ATIME_FLAGS = MS_NOATIME | MS_NODIRATIME | MS_RELATIME


def can_change_locked(mnt: Mount, flags: int) -> bool:
    """can_change_locked_flags(): in a mount namespace of less rights, what was forbidden stays so."""
    locked = mnt.locked_flags
    kept = locked & ~ATIME_FLAGS & ~flags == 0
    return kept and not (locked & MS_RELATIME and (mnt.mnt_flags ^ flags) & ATIME_FLAGS)


def writers_on(k: FsKernel, mnt: Mount) -> bool:
    """mnt_get_writers(): somebody has a file open for writing."""
    return any(
        file.f_path.mnt is mnt and file.f_mode & FMODE_WRITE and file.f_inode.is_reg for file in k.vfs.files.values()
    )


def _remount(k: FsKernel, where: Path, flags: int, data: str) -> int:
    mnt = where.mnt
    new = mount_flags(flags)
    if not flags & (MS_NOATIME | MS_NODIRATIME | MS_RELATIME | MS_STRICTATIME):  # nothing said: as it was
        new = new & ~ATIME_FLAGS | mnt.mnt_flags & ATIME_FLAGS
    if where.dentry is not mnt.mnt_root or not check_mnt(k, mnt):
        return -EINVAL
    if not can_change_locked(mnt, new):
        return -EPERM
    if flags & MS_BIND:
        if new & MS_RDONLY and not mnt.mnt_flags & MS_RDONLY and writers_on(k, mnt):
            return -EBUSY
        mnt.mnt_flags = new
        k.vfs.mounts.touch(mnt)
        return 0
    if not k.capable(CAP_SYS_ADMIN) and mnt.mnt_sb.fs_name not in USERNS_MOUNT:
        return -EPERM
    k.vfs.security.ask("sb_remount", mnt.mnt_sb, 0)
    k.vfs.remount(mnt, new | flags & MS_RDONLY, data)
    return 0


@kernel_function(
    "int path_mount(const char *dev_name, struct path *path, const char *type_page, unsigned long flags, "
    "void *data_page)", source="fs/namespace.c", since="5.9",
)  # fmt: skip
def path_mount(k: FsKernel, dev_name: int, path: int, type_page: int, flags: int, data: int) -> Body:
    """What kind of mount it is."""
    asked = k.vfs.passed(path, MountRequest)
    return (yield from _path_mount(k, asked.where, asked.dev, asked.fs_name, flags, asked.data))


def may_mount(k: FsKernel) -> Body:
    """may_mount(): CAP_SYS_ADMIN in the user namespace that the mount namespace belongs to."""
    found = k.current.namespaces.get("mnt")
    return (yield k.call("ns_capable", ns_address(k, found.owner if found is not None else None), CAP_SYS_ADMIN))


def _path_mount(k: FsKernel, where: Path, dev: str, fs_name: str, flags: int, data: str) -> Body:
    vfs: Vfs = k.vfs
    check_mounts(k)
    if "sb_mount" in vfs.security.watched:
        vfs.security.mount(where, dev, fs_name, flags, data)
    if not (yield from may_mount(k)):
        return -EPERM
    if flags & MS_REMOUNT:
        return _remount(k, where, flags, data)
    if flags & MS_BIND:
        return _do_bind(k, where, dev, bool(flags & MS_REC))
    if flags & (MS_SHARED | MS_PRIVATE | MS_SLAVE | MS_UNBINDABLE):
        return _change_type(k, where, flags)
    if flags & MS_MOVE:
        return do_move_mount(k, vfs.user_path(AT_FDCWD, dev), where) if dev else -EINVAL
    if not fs_name:
        return -EINVAL
    return _do_new_mount(k, where, fs_name, dev or "none", flags, data)


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
    if not (yield from may_mount(k)):
        return -EPERM
    mnt = path.mnt
    if path.dentry is not mnt.mnt_root or mnt.mnt_parent is mnt or not check_mnt(k, mnt) or mnt.locked:
        return -EINVAL
    check_mounts(k)
    if flags & MNT_FORCE and not k.capable(CAP_SYS_ADMIN):
        return -EPERM
    if flags & MNT_EXPIRE:
        if flags & (MNT_FORCE | MNT_DETACH):
            return -EINVAL
        if vfs.is_busy(mnt):
            return -EBUSY
        if not mnt.expiry_mark:
            mnt.expiry_mark = True
            return -EAGAIN
    vfs.security.ask("sb_umount", mnt, flags)
    if flags & MNT_DETACH:
        for child in reversed(vfs.mounts.tree(mnt)[1:]):
            pnode.umount(vfs.mounts, child)
    elif vfs.is_busy(mnt):
        return -EBUSY
    pnode.umount(vfs.mounts, mnt)
    return 0


@syscall("pivot_root", "const char *new_root, const char *put_old", source="fs/namespace.c")
def sys_pivot_root(k: FsKernel, new_root: int, put_old: int) -> Body:
    """pivot_root(2): another mount becomes the root; not from the initial one, which is rootfs.  EBUSY, EINVAL, EPERM, ENOTDIR."""
    if not (yield from may_mount(k)):
        return -EPERM
    vfs, mounts = k.vfs, k.vfs.mounts
    new = vfs.user_path(AT_FDCWD, get_path_name(k, new_root))
    old = vfs.user_path(AT_FDCWD, get_path_name(k, put_old))
    if not new.inode.is_dir or not old.inode.is_dir:
        return -ENOTDIR
    vfs.security.ask("sb_pivotroot", old, new)
    check_mounts(k)
    root: Path = fs_of(k.current).root
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
    if new.mnt.mnt_parent.group_id or root.mnt.mnt_parent.group_id or old.mnt.group_id or new.mnt.locked:
        return -EINVAL
    place = Path(root.mnt.mnt_parent, root.mnt.mountpoint)
    mounts.uncover(new.mnt)
    mounts.uncover(root.mnt)
    mounts.cover(root.mnt, *old)
    mounts.cover(new.mnt, *place)
    for task in k.tasks.by_pid.values():  # chroot_fs_refs()
        fs = fs_if_any(task)
        if fs is not None and fs.root == root:
            fs.set_root(new)
        if fs is not None and fs.pwd == root:
            fs.set_pwd(new)
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
    (MS_NODIRATIME, ",nodiratime"), (MS_RELATIME, ",relatime"), (MS_NOSYMFOLLOW, ",nosymfollow"),
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
        vfs.security.show_options(mnt.mnt_sb)
        state = "ro" if mnt.read_only else "rw"
        options = state + _options(mnt) + ("," + mnt.mnt_sb.options if mnt.mnt_sb.options else "")
        lines.append(f"{_mangle(mnt.devname)} {_mangle(where)} {mnt.mnt_sb.fs_name} {options} 0 0\n")
    return "".join(lines)


def show_mountinfo(vfs: Vfs, root: Path) -> str:
    """/proc/PID/mountinfo."""
    lines = []
    for mnt, where in _visible(vfs, root):
        sb = mnt.mnt_sb
        vfs.security.show_options(sb)
        inside = path_inside(mnt.mnt_root, sb.s_root)
        flags = ("ro" if mnt.mnt_flags & MS_RDONLY else "rw") + _options(mnt)
        dev = f"{dev_major(sb.s_dev)}:{dev_minor(sb.s_dev)}"
        lines.append(
            f"{mnt.mnt_id} {mnt.mnt_parent.mnt_id} {dev} {_mangle(inside)} {_mangle(where)} {flags}{pnode.show(mnt)} - "
            f"{sb.fs_name} {_mangle(mnt.devname)} {_sb_options(mnt)}\n"
        )
    return "".join(lines)


def path_inside(dentry: Dentry, root: Dentry) -> str:
    """From a file system's root."""
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
