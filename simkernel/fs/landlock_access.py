"""What Landlock lets a task do with a path.  security/landlock/fs.c.

What is asked for must be allowed by every layer of the task's domain, by rules on the file or on a directory above it; a file that moves to
another directory must not be allowed more there.  The calls are in landlock.py.
"""

from __future__ import annotations

from arch.abi.errno import EACCES, ENOENT, EPERM, EXDEV
from arch.abi.fcntl import RENAME_EXCHANGE, RENAME_WHITEOUT
from arch.abi.stat import S_IFBLK, S_IFCHR, S_IFDIR, S_IFIFO, S_IFLNK, S_IFMT, S_IFREG, S_IFSOCK
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.inode import Dentry, File, Inode, Path
from simkernel.kernel.face import KernelFace
from simkernel.kernel.landlock import ACCESS_REFER, MASK_ACCESS_FS, Domain

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << bit for bit in range(6))
MAKE = {S_IFCHR: 1 << 6, S_IFDIR: 1 << 7, S_IFREG: 1 << 8, S_IFSOCK: 1 << 9, S_IFIFO: 1 << 10, S_IFBLK: 1 << 11, S_IFLNK: 1 << 12}  # fmt: skip
ACCESS_FILE = EXECUTE | WRITE_FILE | READ_FILE

Masks = dict[int, int]  # access bit -> the layers that still deny it


# --- layers ---


def _init(domain: Domain, access: int) -> Masks:
    """init_layer_masks(): the layers that handle each of these accesses."""
    masks = {}
    for number in range(14):
        bit = 1 << number
        layers = sum(1 << i for i, handled in enumerate(domain.handled) if handled & bit) if access & bit else 0
        masks[bit] = layers
    return masks


def _handled(masks: Masks) -> int:
    return sum(bit for bit, layers in masks.items() if layers)


def _unmask(domain: Domain, inode: Inode, access: int, masks: Masks | None) -> bool:
    """unmask_layers(): the rules of one object; True when nothing is left."""
    if not access or masks is None:
        return True
    for layer, allowed in domain.rules.get(inode, ()):
        for bit in masks:
            if bit & allowed & access:
                masks[bit] &= ~layer
        if not any(layers for bit, layers in masks.items() if bit & access):
            return True
    return False


def _no_more_access(source: Masks, child: Masks, is_dir: bool, target: Masks) -> bool:
    """no_more_access() one way: the target forbids whatever the source forbids of this child."""
    return all(not source[bit] & child[bit] & ~target[bit] for bit in source if is_dir or bit & ACCESS_FILE)


def _scope(access: int, masks: Masks) -> bool:
    """scope_to_request(): forget what is not asked for; True when nothing is left."""
    for bit in masks:
        if not access & bit:
            masks[bit] = 0
    return not any(masks.values())


def _up(path: Path) -> Path | None:
    """One directory up, through mount points; None at the real root."""
    mnt, dentry = path
    while dentry is mnt.mnt_root:
        if mnt.mnt_parent is mnt:
            return None
        mnt, dentry = mnt.mnt_parent, mnt.mountpoint
    if dentry.parent is dentry:  # a disconnected directory: on from the mount point that was missed
        return Path(mnt, mnt.mnt_root)
    return Path(mnt, dentry.parent)


def is_internal(path: Path) -> bool:
    """is_nouser_or_private(), MNT_INTERNAL: nothing that a path leads to."""
    return not path.mnt.mnt_sb.pseudo_mountable or path.dentry.d_dname is not None


class Reparenting:
    """A file that changes its directory: what its old and its new place deny, and what is asked of each."""

    def __init__(self, domain: Domain, old: Dentry, new: Dentry | None, requests: tuple[int, int]) -> None:
        self.domain = domain
        self.requests = requests
        self.children: list[tuple[Masks, bool] | None] = [None, None]
        for i, dentry in enumerate((old, new)):
            if dentry is not None:
                masks = _init(domain, MASK_ACCESS_FS)
                _unmask(domain, dentry.inode, _handled(masks), masks)
                self.children[i] = masks, dentry.inode.is_dir

    def allowed(self, start: Path, masks: tuple[Masks, Masks]) -> bool:
        """is_access_to_paths_allowed(): up from the root of the mount, which both places share."""
        every = ACCESS_REFER
        for handled in self.domain.handled:
            every |= handled
        wanted, comparing = (every, every), True
        path: Path | None = start
        granted = [False, False]
        while path is not None:
            if comparing and self._safe(masks):
                granted = [_scope(request, mask) for request, mask in zip(self.requests, masks, strict=True)]
                if all(granted):
                    return True
                comparing, wanted = False, self.requests
            granted = [_unmask(self.domain, path.dentry.inode, access, mask) for access, mask in zip(wanted, masks, strict=True)]  # fmt: skip
            if all(granted):
                return True
            path = _up(path)
        return all(granted)

    def _safe(self, masks: tuple[Masks, Masks]) -> bool:
        old, new = self.children
        assert old is not None
        there = _no_more_access(masks[0], old[0], old[1], masks[1])
        return there and (new is None or _no_more_access(masks[1], new[0], new[1], masks[0]))


# --- what the VFS asks ---


def check_path(k: KernelFace, path: Path, access: int) -> None:
    """check_access_path(): may the current task do that beneath this path?  EACCES."""
    domain = k.current.cred.domain
    if not isinstance(domain, Domain) or not access:
        return
    masks = _init(domain, access)
    access = _handled(masks)
    if not access or is_internal(path):
        return
    at: Path | None = path
    while at is not None:
        if _unmask(domain, at.dentry.inode, access, masks):
            return
        at = _up(at)
    raise KernelError(EACCES, "landlock")


def _making(mode: int, rdev: int = 1) -> int:
    """get_mode_access(): whiteouts, the devices 0:0, count as regular files."""
    kind = mode & S_IFMT or S_IFREG
    return MAKE[S_IFREG if kind == S_IFCHR and not rdev else kind]


def check_make(k: KernelFace, parent: Path, mode: int, rdev: int = 1) -> None:
    """hook_path_mknod(), hook_path_mkdir(), hook_path_symlink().  EACCES."""
    if k.current.cred.domain is not None:
        check_path(k, parent, _making(mode, rdev))


def check_remove(k: KernelFace, parent: Path, is_dir: bool) -> None:
    """hook_path_unlink(), hook_path_rmdir().  EACCES."""
    if k.current.cred.domain is not None:
        check_path(k, parent, REMOVE_DIR if is_dir else REMOVE_FILE)


def check_open(k: KernelFace, file: File) -> None:
    """hook_file_open().  EACCES."""
    access = 0
    if file.f_mode & c.FMODE_READ:
        access = READ_DIR if file.f_inode.is_dir else READ_FILE
    if file.f_mode & c.FMODE_WRITE:
        access |= WRITE_FILE
    if file.f_mode & c.FMODE_EXEC:
        access |= EXECUTE
    check_path(k, file.f_path, access)


def check_mounts(k: KernelFace) -> None:
    """hook_sb_mount() and its kin: nobody in a domain changes what is where.  EPERM."""
    if k.current.cred.domain is not None:
        raise KernelError(EPERM, "landlock")


def check_refer(
    k: KernelFace, old: Dentry, new_dir: Path, new: Dentry | None, removable: bool = False, flags: int = 0
) -> None:
    """current_check_refer_path(): link(2) and rename(2).  EACCES, EXDEV."""
    domain = k.current.cred.domain
    if not isinstance(domain, Domain):
        return
    exchange = bool(flags & RENAME_EXCHANGE)
    first = MAKE[S_IFREG] if flags & RENAME_WHITEOUT else 0
    if exchange:
        if new is None:
            raise KernelError(ENOENT)
        first = _making(new.inode.i_mode, new.inode.i_rdev)
    second = _making(old.inode.i_mode, old.inode.i_rdev)
    if removable:
        first |= REMOVE_DIR if old.inode.is_dir else REMOVE_FILE
        if new is not None:
            second |= REMOVE_DIR if new.inode.is_dir else REMOVE_FILE
    if old.parent is new_dir.dentry:
        check_path(k, new_dir, first | second)
        return
    first, second = first | ACCESS_REFER, second | ACCESS_REFER
    top = new_dir.mnt.mnt_root
    old_parent = old if old is top else old.parent
    one, allowed_one = _collect(domain, top, old_parent)
    two, allowed_two = _collect(domain, top, new_dir.dentry)
    if allowed_one and allowed_two:
        return
    moved = Reparenting(domain, old, new if exchange else None, (first, second))
    if moved.allowed(Path(new_dir.mnt, top), (one, two)):
        return
    denied = any(masks[bit] for masks, asked in ((one, first), (two, second)) for bit in masks if bit & asked & ~ACCESS_REFER)  # fmt: skip
    raise KernelError(EACCES if denied else EXDEV, "landlock")


def _collect(domain: Domain, top: Dentry, directory: Dentry) -> tuple[Masks, bool]:
    """collect_domain_accesses(): what is denied between a directory and the root of its mount; whether nothing is."""
    masks = _init(domain, MASK_ACCESS_FS)
    access = _handled(masks)
    while True:
        if _unmask(domain, directory.inode, access, masks):
            return masks, True
        if directory is top or directory.parent is directory:
            return masks, False
        directory = directory.parent
