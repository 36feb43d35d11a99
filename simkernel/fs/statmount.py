"""statmount(2), listmount(2): what is told of mounts by numbers that are never used again.  fs/namespace.c, since 6.8."""

from __future__ import annotations

import struct

from arch.abi.capability import CAP_SYS_ADMIN
from arch.abi.errno import E2BIG, EBADF, EINVAL, ENOENT, EOVERFLOW, EPERM
from arch.abi.limits import INT_MAX, PAGE_SIZE
from arch.abi.mount import (
    MOUNT_ATTR_STRICTATIME,
    MS_DIRSYNC,
    MS_LAZYTIME,
    MS_PRIVATE,
    MS_RDONLY,
    MS_SHARED,
    MS_SLAVE,
    MS_SYNCHRONOUS,
    MS_UNBINDABLE,
)
from arch.abi.stat import dev_major, dev_minor
from arch.abi.version import newest
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import files_of, fs_of
from simkernel.fs.fsopen import ATIME_OF_ATTR, MNT_OF_ATTR
from simkernel.fs.inode import Mount, Path, prepend_path, to_bytes
from simkernel.fs.mounts import MNT_UNIQUE_ID_OFFSET, top_of, unique_id
from simkernel.fs.namespace import path_inside
from simkernel.fs.nsfs import NS_FILE_OPERATIONS, namespace_of
from simkernel.kernel.kfunc import syscall
from simkernel.kernel.user_namespace import ns_capable

# struct mnt_id_req: size, mnt_ns_fd, mnt_id, param, mnt_ns_id (which the first had not)
REQUEST, MNT_ID_REQ_SIZE_VER0, LSMT_ROOT = "IIQQQ", 24, 0xFFFF_FFFF_FFFF_FFFF
LISTMOUNT_REVERSE, MOST_LISTED = 1, 1_000_000

(SB_BASIC, MNT_BASIC, PROPAGATE_FROM, MNT_ROOT, MNT_POINT, FS_TYPE, NS_ID, OPTIONS, SUBTYPE, SOURCE, ARRAY, SECURITY_ARRAY, SUPPORTED,
 UIDMAP, GIDMAP) = (1 << bit for bit in range(15))  # fmt: skip
# What a version knows of STATMOUNT_*; the first to tell what it knows, 6.15, also leaves out what is empty.
KNOWN = (("6.15", 0x7FFF), ("6.11", 0x00FF), (None, 0x003F))
STRINGS = MNT_ROOT | MNT_POINT | FS_TYPE | OPTIONS | SUBTYPE | SOURCE | ARRAY | SECURITY_ARRAY | UIDMAP | GIDMAP
# struct statmount: its size, and where the numbers and the places of the strings are: (offset, size)
STATMOUNT_SIZE = 512
PLACES = {
    "size": (0, 4), "mask": (8, 8), "sb_dev_major": (16, 4), "sb_dev_minor": (20, 4), "sb_magic": (24, 8), "sb_flags": (32, 4),
    "mnt_id": (40, 8), "mnt_parent_id": (48, 8), "mnt_id_old": (56, 4), "mnt_parent_id_old": (60, 4), "mnt_attr": (64, 8),
    "mnt_propagation": (72, 8), "mnt_peer_group": (80, 8), "mnt_master": (88, 8), "propagate_from": (96, 8), "mnt_ns_id": (112, 8),
    "opt_num": (128, 4), "supported_mask": (144, 8),
}  # fmt: skip
STRING_PLACES = {FS_TYPE: 36, MNT_ROOT: 104, MNT_POINT: 108, OPTIONS: 4, ARRAY: 132, SOURCE: 124}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call asks: the mount by its number, what is wanted of it, the root of the namespace, and where the task's root is."""

    mnt_id: int
    param: int
    top: Mount
    root: Path


def _asked(k: FsKernel, req: int) -> Asked:
    """copy_mnt_id_req(), grab_requested_mnt_ns().  EFAULT, E2BIG, EINVAL, EBADF, ENOENT."""
    order = "<" if k.mem.byteorder == "little" else ">"
    size = k.usercopy.get_user(req, 4)
    if size > PAGE_SIZE:
        raise KernelError(E2BIG)
    if size < MNT_ID_REQ_SIZE_VER0:
        raise KernelError(EINVAL)
    raw = k.usercopy.copy_struct_from_user(req, size, struct.calcsize(order + REQUEST))
    _, fd, mnt_id, param, ns_id = struct.unpack(order + REQUEST, raw)
    if mnt_id <= MNT_UNIQUE_ID_OFFSET:
        raise KernelError(EINVAL)
    mounts, mine = k.vfs.mounts, k.current.namespaces.get("mnt")
    own = mounts.root.mnt if mine is None else mine.state
    assert isinstance(own, Mount)
    top = own
    if ns_id:
        top = next((mnt for mnt in mounts if mnt.mnt_parent is mnt and _ns_id(mnt) == ns_id), own)
        if _ns_id(top) != ns_id:
            raise KernelError(ENOENT)
    elif fd:
        top = _namespace_of_fd(k, fd)
    if top is own:
        return Asked(mnt_id, param, top, fs_of(k.current).root)
    if not ns_capable(k.current, mounts.owners.get(top), CAP_SYS_ADMIN):
        raise KernelError(ENOENT)
    return Asked(mnt_id, param, top, Path(top, top.mnt_root))


def _ns_id(top: Mount) -> int:
    """A namespace has the number of its root."""
    return top.mnt_id


def _namespace_of_fd(k: FsKernel, fd: int) -> Mount:
    if fd > INT_MAX or fd not in files_of(k.current).fds:
        raise KernelError(EBADF)
    file = k.vfs.fget(fd)
    if file.f_op is not NS_FILE_OPERATIONS or namespace_of(file.f_inode).kind != "mnt":
        raise KernelError(EINVAL)
    state = namespace_of(file.f_inode).state
    return state if isinstance(state, Mount) else k.vfs.mounts.root.mnt


def _found(k: FsKernel, asked: Asked) -> Mount:
    """lookup_mnt_in_ns().  ENOENT, EPERM for what the task's root does not reach."""
    for mnt in k.vfs.mounts:
        if unique_id(mnt) == asked.mnt_id and top_of(mnt) is asked.top:
            _may_see(k, Path(mnt, mnt.mnt_root), asked)
            return mnt
    raise KernelError(ENOENT)


def _may_see(k: FsKernel, path: Path, asked: Asked) -> None:
    owner = k.vfs.mounts.owners.get(asked.top)
    if not prepend_path(path, asked.root)[1] and not ns_capable(k.current, owner, CAP_SYS_ADMIN):
        raise KernelError(EPERM)


def _numbers(mnt: Mount, wanted: int, known: int) -> dict[str, int]:
    sb, out = mnt.mnt_sb, dict[str, int]()
    if wanted & SB_BASIC:
        shown = (MS_SYNCHRONOUS | MS_DIRSYNC | MS_LAZYTIME) & sb.s_flags | (MS_RDONLY if sb.read_only else 0)
        out |= {
            "sb_dev_major": dev_major(sb.s_dev),
            "sb_dev_minor": dev_minor(sb.s_dev),
            "sb_magic": sb.s_magic,
            "sb_flags": shown,
        }
    if wanted & MNT_BASIC:
        parent = mnt.mnt_parent
        kind = (
            (MS_SHARED if mnt.group_id else 0)
            | (MS_SLAVE if mnt.master_id else 0)
            | (MS_UNBINDABLE if mnt.unbindable else 0)
        )
        out |= {
            "mnt_id": unique_id(mnt), "mnt_parent_id": unique_id(parent), "mnt_id_old": mnt.mnt_id, "mnt_parent_id_old": parent.mnt_id,
            "mnt_attr": _attr(mnt), "mnt_propagation": kind or MS_PRIVATE, "mnt_peer_group": mnt.group_id, "mnt_master": mnt.master_id,
        }  # fmt: skip
    if wanted & PROPAGATE_FROM:
        out["propagate_from"] = mnt.master_id
    if wanted & NS_ID:
        out["mnt_ns_id"] = _ns_id(top_of(mnt))
    if wanted & SUPPORTED:
        out["supported_mask"] = known
    return out


def _attr(mnt: Mount) -> int:
    """mnt_to_attr_flags()."""
    times = [attr for attr, flag in ATIME_OF_ATTR.items() if flag and mnt.mnt_flags & flag]
    return sum(attr for attr, flag in MNT_OF_ATTR if mnt.mnt_flags & flag) | (
        times[0] if times else MOUNT_ATTR_STRICTATIME
    )


def _strings(k: FsKernel, mnt: Mount, wanted: int, root: Path) -> dict[int, bytes]:
    """What is asked for, in the order in which it is written."""
    sb, out = mnt.mnt_sb, dict[int, str]()
    k.vfs.security.show_options(sb)
    where, reachable = prepend_path(Path(mnt, mnt.mnt_root), root)
    out[FS_TYPE], out[MNT_ROOT], out[MNT_POINT] = (
        sb.fs_name,
        path_inside(mnt.mnt_root, sb.s_root),
        where if reachable else "",
    )
    out[OPTIONS], out[ARRAY], out[SOURCE] = sb.options, sb.options.replace(",", "\0"), mnt.devname
    return {bit: to_bytes(text) for bit, text in out.items() if wanted & bit}


@syscall(
    "statmount",
    "const struct mnt_id_req *req, struct statmount *buf, size_t bufsize, unsigned int flags",
    source="fs/namespace.c",
    since="6.8",
)
def sys_statmount(k: FsKernel, req: int, buf: int, bufsize: int, flags: int) -> int:
    """EINVAL, EFAULT, E2BIG, ENOENT, EPERM, EOVERFLOW where the strings have no room."""
    if flags:
        return -EINVAL
    asked = _asked(k, req)
    known = newest(KNOWN, k.version)
    mnt, wanted, order = _found(k, asked), asked.param & known, k.mem.byteorder
    numbers, leaves_out = _numbers(mnt, wanted, known), bool(known & SUPPORTED)
    told, text = wanted & ~STRINGS, b"\0" if wanted & STRINGS else b""
    raw = bytearray(STATMOUNT_SIZE)
    for bit, string in _strings(k, mnt, wanted, asked.root).items():
        if string or not leaves_out:
            told, at = told | bit, STRING_PLACES[bit]
            raw[at : at + 4] = len(text).to_bytes(4, order)
            text += string + b"\0"
            if bit == ARRAY:
                numbers["opt_num"] = string.count(b"\0") + 1
    if wanted & STRINGS and STATMOUNT_SIZE + len(text) > bufsize:
        return -EOVERFLOW
    numbers |= {"mask": told, "size": STATMOUNT_SIZE + len(text) if text else min(bufsize, STATMOUNT_SIZE)}
    for name, value in numbers.items():
        at, size = PLACES[name]
        raw[at : at + size] = value.to_bytes(size, order)
    k.usercopy.copy_to_user(buf, (bytes(raw) + text)[:bufsize])
    return 0


@syscall(
    "listmount",
    "const struct mnt_id_req *req, u64 *mnt_ids, size_t nr_mnt_ids, unsigned int flags",
    source="fs/namespace.c",
    since="6.8",
)
def sys_listmount(k: FsKernel, req: int, mnt_ids: int, nr_mnt_ids: int, flags: int) -> int:
    """How many mounts below one, oldest first, that come after `param`.  EINVAL, EFAULT, E2BIG, ENOENT, EPERM, EOVERFLOW."""
    if flags & ~LISTMOUNT_REVERSE:
        return -EINVAL
    if nr_mnt_ids > MOST_LISTED:
        return -EOVERFLOW
    asked = _asked(k, req)
    last, backwards = asked.param, bool(flags)
    if last and last <= MNT_UNIQUE_ID_OFFSET:
        return -EINVAL
    below = asked.root
    if asked.mnt_id != LSMT_ROOT:
        mnt = _found(k, asked)
        below = Path(mnt, mnt.mnt_root)
    found = sorted(unique_id(mnt) for mnt in k.vfs.mounts if prepend_path(Path(mnt, mnt.mnt_root), below)[1])
    found = [number for number in (reversed(found) if backwards else found) if number != asked.mnt_id]
    if last:
        found = [number for number in found if (number < last if backwards else number > last)]
    found = found[:nr_mnt_ids]
    k.usercopy.copy_to_user(mnt_ids, b"".join(number.to_bytes(8, k.mem.byteorder) for number in found))
    return len(found)
