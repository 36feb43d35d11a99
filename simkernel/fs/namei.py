"""From a path name to a dentry: the walk over directories, mounts and symbolic links.  fs/namei.c.

`NameData` is struct nameidata: where the walk is, and the last component that is not yet looked up.  The walk never
sleeps, so it is plain Python; only the functions around it (do_filp_open, path_openat, vfs_*) are kernel functions.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.capability import CAP_FOWNER, CAP_FSETID
from arch.abi.errno import (  # fmt: skip
    EACCES,
    EBUSY,
    EEXIST,
    EISDIR,
    ELOOP,
    ENAMETOOLONG,
    ENOENT,
    ENOTDIR,
    EPERM,
    EROFS,
    EXDEV,
)
from arch.abi.fcntl import O_APPEND, O_NOATIME, O_TRUNC
from arch.abi.limits import NAME_MAX
from arch.abi.mount import MS_NODEV, MS_NOEXEC, MS_NOSYMFOLLOW
from arch.abi.stat import S_IFBLK, S_IFCHR, S_IFDIR, S_IFLNK, S_IFMT, S_IFREG, S_ISGID, S_ISVTX, S_IWOTH
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.inode import Cred, Dentry, Inode, Path, inode_permission
from simkernel.fs.mounts import Mounts
from simkernel.fs.pagecache import xattr_room
from simkernel.fs.posix_acl import in_group, inherited

LAST_NORM, LAST_ROOT, LAST_DOT, LAST_DOTDOT = range(4)

# include/linux/namei.h
LOOKUP_FOLLOW = 0x1
LOOKUP_DIRECTORY = 0x2


# include/uapi/linux/openat2.h
RESOLVE_NO_XDEV, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH, RESOLVE_IN_ROOT = 1, 2, 4, 8, 16
RESOLVE_CACHED = 32
RESOLVE_ALL = 63


class NameData:
    """struct nameidata."""

    __slots__ = ("base", "created", "cred", "flags", "last", "last_type", "links", "mounts", "path", "rcu", "resolve", "root",
                 "trailing")  # fmt: skip

    def __init__(self, mounts: Mounts, root: Path, base: Path, cred: Cred, flags: int = 0) -> None:
        self.mounts = mounts
        self.root = root
        self.base = base  # where a relative name starts
        self.path = base
        self.cred = cred
        self.flags = flags
        self.created = False  # open(2) has made the file
        self.rcu = c.MAY_NOT_BLOCK  # as long as the walk meets only what it has met before; then 0: try_to_unlazy()
        self.links = 0  # symbolic links followed so far
        self.last = ""
        self.last_type = LAST_ROOT
        self.trailing = False  # a slash after the last component
        self.resolve = 0  # RESOLVE_*: openat2(2)

    def scope(self, resolve: int) -> None:
        """What openat2(2) asks of the walk; the starting point may become its root."""
        self.resolve = resolve
        if resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT):
            self.root = self.base

    def _jump_root(self, beginning: bool = False) -> None:
        """nd_jump_root(): a path may begin at the root, whatever mount that is.  EXDEV."""
        crossed = not beginning and self.resolve & RESOLVE_NO_XDEV and self.root.mnt is not self.path.mnt
        if self.resolve & RESOLVE_BENEATH or crossed:
            raise KernelError(EXDEV, "outside of where it may be")
        self.path = self.root

    def start(self, name: str) -> None:
        """path_init() and link_path_walk(): stand in the parent of the last component."""
        if name.startswith("/"):
            self._jump_root(beginning=True)
        else:
            self.path = self.base
            if self.path.dentry.children is None and name:
                raise KernelError(ENOTDIR, "not a directory")
        self.walk_to_parent(name)

    def walk_to_parent(self, name: str) -> None:
        """link_path_walk(): consume everything but the last component, following links on the way."""
        stack: list[str] = []
        self.last_type = LAST_ROOT
        self.last = ""
        self.trailing = False
        name = name.lstrip("/")
        if not name:
            return
        while True:
            inode_permission(self.path.dentry.inode, c.MAY_EXEC | self.rcu, self.cred)
            component, slash, rest = name.partition("/")
            self.last = component
            self.last_type = LAST_DOT if component == "." else LAST_DOTDOT if component == ".." else LAST_NORM
            self.trailing = bool(slash)
            name = rest.lstrip("/")
            if not name:
                if not stack:
                    return
                name = stack.pop()
            link = self.walk_component(trailing=False)
            if link is not None:
                stack.append(name)
                name = link
                continue
            if self.path.dentry.children is None:
                raise KernelError(ENOTDIR, f"{component} is not a directory")

    def walk_component(self, trailing: bool) -> str | None:
        """Step over `last`; a symbolic link to follow gives its text (relative to self.path)."""
        if self.last_type != LAST_NORM:
            self.handle_dots()
            return None
        child = self.lookup_last_name()
        if child is None:
            raise KernelError(ENOENT, f"no {self.last}")
        return self.step_into(child, trailing)

    def lookup_last_name(self) -> Dentry | None:
        """The child named `last` of the directory where we stand."""
        parent = self.path.dentry
        name = self.last
        if len(name) > 63 and len(name.encode("utf-8", "surrogateescape")) > NAME_MAX:
            raise KernelError(ENAMETOOLONG, "component too long")
        if self.rcu and (parent.children is None or name not in parent.children):
            self.rcu = 0
        return parent.inode.lookup(parent, name)

    def step_into(self, child: Dentry, trailing: bool) -> str | None:
        """step_into(): cross mounts, then stand on the child or say which link to follow."""
        mnt = self.path.mnt
        if child.mounts:
            mnt, child = self.mounts.traverse(mnt, child)
            if self.resolve & RESOLVE_NO_XDEV and mnt is not self.path.mnt:
                raise KernelError(EXDEV, "another mount")
        if child.inode.is_link and not (trailing and not self.flags & LOOKUP_FOLLOW):
            if trailing and self.mounts.protected_symlinks:
                self._may_follow_link(child.inode)
            return self.pick_link(Path(mnt, child))
        self.path = Path(mnt, child)
        return None

    def _may_follow_link(self, inode: Inode) -> None:
        """may_follow_link(): in a sticky directory for all only one's own links, or the directory's owner's.  EACCES."""
        place = self.path.dentry.inode
        shared = place.i_mode & (S_ISVTX | S_IWOTH) == S_ISVTX | S_IWOTH
        if shared and inode.i_uid not in (self.cred.fsuid, place.i_uid):
            raise KernelError(EACCES, "another's link in a directory for all")

    def pick_link(self, path: Path) -> str | None:
        """pick_link(): the text of a link to walk; None when following it ended somewhere already."""
        self.links += 1
        if self.links > c.MAXSYMLINKS:
            raise KernelError(ELOOP, "too many symbolic links")
        if self.resolve & RESOLVE_NO_SYMLINKS:
            raise KernelError(ELOOP, "a symbolic link")
        if path.mnt.mnt_flags & MS_NOSYMFOLLOW:
            raise KernelError(ELOOP, "mounted nosymfollow")
        inode = path.dentry.inode
        if self.mounts.touch_atime(path):
            self.rcu = 0
        if self.cred.watched:
            self.cred.ask("inode_follow_link", path.dentry, inode, bool(self.rcu))
        target = inode.get_link(path.dentry)
        if isinstance(target, Path):
            self._jump_link(target)
            self.path = target
            return None
        if target.startswith("/"):
            self._jump_root()
            target = target.lstrip("/")
        return target or None

    def _jump_link(self, target: Path) -> None:
        """nd_jump_link().  ELOOP, EXDEV."""
        if self.resolve & RESOLVE_NO_MAGICLINKS:
            raise KernelError(ELOOP, "a magic link")
        crossed = self.resolve & RESOLVE_NO_XDEV and target.mnt is not self.path.mnt
        if self.resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT) or crossed:
            raise KernelError(EXDEV, "a magic link leads away")

    def handle_dots(self) -> None:
        """`.` stays, `..` goes up, over mounts, never above the root."""
        if self.last_type != LAST_DOTDOT:
            return
        mnt, dentry = self.path
        root = self.root
        while True:
            if dentry is root.dentry and mnt is root.mnt:
                if self.resolve & RESOLVE_BENEATH:
                    raise KernelError(EXDEV, "above where it began")
                break
            if dentry is not mnt.mnt_root:
                dentry = dentry.parent
                if mnt.mnt_root is not mnt.mnt_sb.s_root and not mnt.mnt_root.is_ancestor_of(dentry):
                    raise KernelError(ENOENT, "moved out of what is mounted here")  # path_connected()
                break
            if mnt.mnt_parent is mnt:
                break
            if self.resolve & RESOLVE_NO_XDEV:
                raise KernelError(EXDEV, "another mount")
            dentry, mnt = mnt.mountpoint, mnt.mnt_parent
        if dentry.mounts:
            mnt, dentry = self.mounts.traverse(mnt, dentry)
        self.path = Path(mnt, dentry)

    def lookup(self, name: str) -> Path:
        """path_lookupat(): the whole walk."""
        self.start(name)
        self.finish()
        if self.flags & LOOKUP_DIRECTORY and self.path.dentry.children is None:
            raise KernelError(ENOTDIR, "not a directory")
        return self.path

    def finish(self) -> None:
        """lookup_last() until no link is left."""
        while True:
            if self.last_type == LAST_ROOT:
                return
            if self.last_type == LAST_NORM and self.trailing:
                self.flags |= LOOKUP_FOLLOW | LOOKUP_DIRECTORY
            link = self.walk_component(trailing=True)
            if link is None:
                return
            self.walk_to_parent(link)


def may_create(dir_: Inode, cred: Cred) -> None:
    """Write and search permission on the directory.  fs/namei.c:may_create()."""
    if dir_.i_nlink == 0 and dir_.is_dir:
        raise KernelError(ENOENT, "directory was removed")
    inode_permission(dir_, c.MAY_WRITE | c.MAY_EXEC, cred)


def may_delete(parent: Dentry, victim: Dentry, isdir: bool, cred: Cred) -> None:
    """The ten rules for removing a name.  fs/namei.c:may_delete()."""
    dir_ = parent.inode
    inode = victim.inode
    inode_permission(dir_, c.MAY_WRITE | c.MAY_EXEC, cred)
    if dir_.i_flags & c.S_APPEND:
        raise KernelError(EPERM, "names are only added here")
    sticky = dir_.i_mode & S_ISVTX and cred.fsuid not in (inode.i_uid, dir_.i_uid)
    if sticky and not cred.capable(CAP_FOWNER, inode):
        raise KernelError(EPERM, "sticky directory")
    if inode.i_flags & (c.S_APPEND | c.S_IMMUTABLE):
        raise KernelError(EPERM, "immutable, or only added to")
    if isdir:
        if not inode.is_dir:
            raise KernelError(ENOTDIR, "not a directory")
        if victim.parent is victim:
            raise KernelError(EBUSY, "root of a file system")
    elif inode.is_dir:
        raise KernelError(EISDIR, "is a directory")
    if dir_.i_nlink == 0:
        raise KernelError(ENOENT, "directory was removed")


def may_open(path: Path, acc_mode: int, flags: int, cred: Cred) -> int:
    """may_open(): by kind of file; gives the flags without O_TRUNC where it means nothing."""
    inode = path.dentry.inode
    kind = inode.i_mode & S_IFMT
    if kind == S_IFLNK:
        raise KernelError(ELOOP, "a symbolic link cannot be opened")
    if kind == S_IFDIR:
        if acc_mode & c.MAY_WRITE:
            raise KernelError(EISDIR, "a directory cannot be written")
        if acc_mode & c.MAY_EXEC:
            raise KernelError(EACCES, "a directory cannot be executed")
    elif kind != S_IFREG:
        if kind in (S_IFBLK, S_IFCHR) and path.mnt.mnt_flags & MS_NODEV:
            raise KernelError(EACCES, "mounted nodev")
        if acc_mode & c.MAY_EXEC:
            raise KernelError(EACCES, "not a regular file")
        flags &= ~O_TRUNC
    elif acc_mode & c.MAY_EXEC and path.mnt.mnt_flags & MS_NOEXEC:
        raise KernelError(EACCES, "mounted noexec")
    inode_permission(inode, c.MAY_OPEN | acc_mode, cred)
    if inode.i_flags & c.S_APPEND and ((acc_mode & c.MAY_WRITE and not flags & O_APPEND) or flags & O_TRUNC):
        raise KernelError(EPERM, "only added to")
    if flags & O_NOATIME and cred.fsuid != inode.i_uid and not cred.capable(CAP_FOWNER, inode):
        raise KernelError(EPERM, "O_NOATIME is the owner's")
    return flags


def init_owner(inode: Inode, dir_: Inode, mode: int, cred: Cred, charge: Callable[[int], None]) -> None:
    """Owner, group, access lists and the set-group-id inheritance of a new inode.  fs/inode.c:inode_init_owner(), simple_acl_create()."""
    inode.i_uid = cred.fsuid
    if dir_.i_mode & S_ISGID:
        inode.i_gid = dir_.i_gid
        if mode & S_IFMT == S_IFDIR:
            mode |= S_ISGID
    else:
        inode.i_gid = cred.fsgid
    inode.i_mode = mode
    if dir_.xattrs is not None and mode & S_IFMT != S_IFLNK:
        inode.i_mode, acls = inherited(dir_.xattrs, mode, mode & S_IFMT == S_IFDIR)
        charge(xattr_room(acls))
        inode.xattrs = acls or None


def mode_strip_sgid(dir_: Inode, mode: int, cred: Cred) -> int:
    """A set-group-id executable must not be made in a foreign group.  fs/inode.c:mode_strip_sgid()."""
    if mode & (S_ISGID | 0o010) != S_ISGID | 0o010:
        return mode
    if mode & S_IFMT == S_IFDIR or not dir_.i_mode & S_ISGID:
        return mode
    if in_group(cred, dir_.i_gid) or cred.capable(CAP_FSETID, dir_):
        return mode
    return mode & ~S_ISGID


def lookup_create(nd: NameData, name: str, want_dir: bool) -> Dentry:
    """filename_create(): stand in the parent, make sure that the last name is free; gives the parent."""
    nd.start(name)
    if nd.last_type != LAST_NORM:
        raise KernelError(EEXIST, "exists")
    if nd.path.dentry.children is None:
        raise KernelError(ENOTDIR, "not a directory")
    parent = nd.path.dentry
    if nd.lookup_last_name() is not None:
        raise KernelError(EEXIST, f"{nd.last} exists")
    if nd.trailing and not want_dir:
        raise KernelError(ENOENT, "a slash after the name of what is no directory")
    if nd.path.mnt.read_only:
        raise KernelError(EROFS, "read-only mount")
    return parent
