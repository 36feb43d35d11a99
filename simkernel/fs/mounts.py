"""The tree of mounts: what covers what, and the access times that depend on a mount's flags.  fs/namespace.c, fs/inode."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from arch.abi.errno import ENOENT, ENOSPC, ENOTDIR
from arch.abi.mount import (
    MS_NOATIME,
    MS_NODEV,
    MS_NODIRATIME,
    MS_NOEXEC,
    MS_NOSUID,
    MS_NOSYMFOLLOW,
    MS_RDONLY,
    MS_RELATIME,
)
from arch.errors import KernelError
from simkernel.fs.dirty import I_DIRTY_SYNC, DirtyInodes
from simkernel.fs.inode import Dentry, Mount, Path, SuperBlock
from simkernel.kernel.namespaces import Namespace

DAY_NS = 86_400_000_000_000

MNT_FLAGS = (
    MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME | MS_NODIRATIME | MS_RELATIME | MS_NOSYMFOLLOW
)  # fmt: skip


def top_of(mnt: Mount) -> Mount:
    """The root of the mount's tree."""
    while mnt.mnt_parent is not mnt:
        mnt = mnt.mnt_parent
    return mnt


MNT_UNIQUE_ID_OFFSET = 1 << 31


def unique_id(mnt: Mount) -> int:
    """mnt_id_unique: as mnt_id, which no other mount gets here, where no old number can be."""
    return MNT_UNIQUE_ID_OFFSET + mnt.mnt_id


MOUNT_SIZE = 512  # bytes of memory: struct mount, struct mountpoint, the name of what is mounted


class Mounts:
    """The mounts of all mount namespaces, in mount order."""

    def __init__(
        self, now: Callable[[], int], charge: Callable[[int], None], unused: Callable[[SuperBlock], None],
        dirty: DirtyInodes,
    ) -> None:  # fmt: skip
        """`unused` is told of a file system when its last mount has gone."""
        self.now, self.charge, self.unused, self.dirty = now, charge, unused, dirty
        self.root: Path  # of the namespace; set when the root file system is there
        self.at: dict[tuple[Mount, Dentry], Mount] = {}  # what covers a place
        self.all: list[Mount] = []
        self._next_id = 1
        self.protected_symlinks = True  # fs.protected_symlinks
        self.mount_max = 100_000  # of one namespace: fs.mount-max
        self.owners: dict[Mount, Namespace | None] = {}  # whose the mount namespaces are, by their roots
        self.detached: set[Mount] = set()  # roots of trees that only a descriptor holds: the anonymous namespaces
        self.when_gone: list[Callable[[Mount], None]] = []  # told of each mount that is taken off
        self.when_touched: Callable[[Mount], None] = lambda top: (
            None
        )  # and of a namespace, by its root, that has others

    def __iter__(self) -> Iterator[Mount]:
        return iter(self.all)

    def new(
        self, sb: SuperBlock, devname: str, flags: int = 0, root: Dentry | None = None, mnt_id: int | None = None
    ) -> Mount:
        """A mount that is not yet attached anywhere."""
        if mnt_id is None:
            mnt_id, self._next_id = self._next_id, self._next_id + 1
        mnt = Mount(sb, root or sb.s_root, devname, flags, mnt_id)
        return mnt

    def enter(self, mnt: Mount) -> None:
        """One of a namespace's.  KernelError(ENOMEM)."""
        self.charge(MOUNT_SIZE)
        self.all.append(mnt)
        if mnt.mnt_sb.mounts is not None:
            mnt.mnt_sb.mounts.add(mnt)

    def _left(self, mnt: Mount) -> None:
        self.charge(-MOUNT_SIZE)
        mounts = mnt.mnt_sb.mounts
        if mounts is not None:
            mounts.discard(mnt)
            if not mounts:
                self.unused(mnt.mnt_sb)

    def set_root(self, mnt: Mount) -> None:
        """init_mount_tree(): the first mount of all."""
        self.enter(mnt)
        self.root = Path(mnt, mnt.mnt_root)

    def attach(self, mnt: Mount, at: Path) -> None:
        """graft_tree(): make `mnt` cover `at`."""
        if (at.dentry.children is None) != (mnt.mnt_root.children is None):
            raise KernelError(ENOTDIR, "a directory can cover only a directory")
        if not at.dentry.hashed:
            raise KernelError(ENOENT, "mount point was removed")
        self.enter(mnt)
        mnt.mnt_parent, mnt.mountpoint = at.mnt, at.dentry
        self.at[at.mnt, at.dentry] = mnt
        at.dentry.mounts += 1
        self.touch(mnt)

    def touch(self, mnt: Mount) -> None:
        """touch_mnt_namespace(): who polls its /proc/PID/mounts is told."""
        top = top_of(mnt)
        top.event += 1
        self.when_touched(top)

    def detach(self, mnt: Mount) -> None:
        """umount_mnt(): uncover what it covered."""
        self.uncover(mnt)
        self.all.remove(mnt)
        self._left(mnt)
        for told in self.when_gone:
            told(mnt)

    def uncover(self, mnt: Mount) -> None:
        """unhash_mnt(): no longer in the tree, but still a mount."""
        self.touch(mnt)
        mnt.mountpoint.mounts -= 1
        del self.at[mnt.mnt_parent, mnt.mountpoint]
        mnt.mnt_parent, mnt.mountpoint = mnt, mnt.mnt_root

    def cover(self, mnt: Mount, parent: Mount, mountpoint: Dentry) -> None:
        """mnt_set_mountpoint() and hashing, of a mount that is known already."""
        mnt.mnt_parent, mnt.mountpoint = parent, mountpoint
        self.at[parent, mountpoint] = mnt
        mountpoint.mounts += 1
        self.touch(mnt)

    def copy_tree(
        self, top: Mount, root: Dentry | None = None, wanted: Callable[[Mount], bool] = lambda mnt: True
    ) -> dict[Mount, Mount]:
        """copy_tree(): a mount and those on it once more, by the old ones; `root` is where the copy of the first begins."""
        copies: dict[Mount, Mount] = {}
        try:
            self._copy_tree(copies, top, root, wanted)
        except KernelError:
            self.drop_tree(copies[top])
            raise
        return copies

    def _copy_tree(
        self, copies: dict[Mount, Mount], top: Mount, root: Dentry | None, wanted: Callable[[Mount], bool]
    ) -> None:
        for old in self.tree(top):
            if old is not top and (old.mnt_parent not in copies or not wanted(old)):
                continue
            if (
                old.mnt_parent is top
                and root is not None
                and old is not top
                and not root.is_ancestor_of(old.mountpoint)
            ):
                continue
            new = copies[old] = self.new(old.mnt_sb, old.devname, old.mnt_flags, old.mnt_root)
            if old is top and root is not None:
                new.mnt_root = new.mountpoint = root
            new.locked, new.locked_flags, new.unbindable = old.locked, old.locked_flags, old.unbindable
            self.enter(new)
            if old is not top:
                self.cover(new, copies[old.mnt_parent], old.mountpoint)

    def tree(self, top: Mount) -> list[Mount]:
        """A mount and all that are mounted on it, those below first."""
        found, members = [top], {top}
        later: dict[Mount, list[Mount]] = {}  # by what they are mounted on; propagation tucks mounts under older ones
        for mnt in self.all:
            if mnt.mnt_parent in members and mnt not in members:
                members.add(mnt)
                found.append(mnt)
            elif mnt not in members:
                later.setdefault(mnt.mnt_parent, []).append(mnt)
        for mnt in found:
            found += [each for each in later.get(mnt, ()) if each is not mnt and each not in members]
        return found

    def set_mount_max(self, most: int) -> None:
        """fs.mount-max."""
        self.mount_max = most

    def require_room(self, top: Mount, more: int) -> None:
        """count_mounts(): ENOSPC when a namespace would have more than it may."""
        if len(self.all) + more > self.mount_max and len(self.tree(top)) + more > self.mount_max:
            raise KernelError(ENOSPC, "too many mounts")

    def drop_tree(self, top: Mount) -> None:
        """umount_tree(): a namespace, or a tree that was never attached, is gone."""
        gone = set(self.tree(top))
        for mnt in gone:
            if mnt.mnt_parent is not mnt:
                self.uncover(mnt)
        left = [mnt for mnt in self.all if mnt in gone]
        self.all = [mnt for mnt in self.all if mnt not in gone]
        self.owners.pop(top, None)
        for mnt in left:
            self._left(mnt)

    def dissolve(self, mnt: Mount) -> None:
        """dissolve_on_fput(): a tree that only a descriptor held."""
        if mnt in self.detached:
            self.detached.discard(mnt)
            self.drop_tree(mnt)

    def children_of(self, mnt: Mount) -> list[Mount]:
        """Mounts that sit on this one."""
        return [m for m in self.all if m.mnt_parent is mnt and m is not mnt]

    def traverse(self, mnt: Mount, dentry: Dentry) -> tuple[Mount, Dentry]:
        """traverse_mounts(): go down to what is mounted here, as often as needed."""
        while dentry.mounts:
            over = self.at.get((mnt, dentry))
            if over is None:
                break
            mnt, dentry = over, over.mnt_root
        return mnt, dentry

    def touch_atime(self, path: Path) -> bool:
        """touch_atime(): the access time, under noatime and relatime rules; whether it changed.  fs/inode."""
        flags = path.mnt.mnt_flags
        inode = path.dentry.inode
        if flags & (MS_NOATIME | MS_RDONLY) or inode.i_sb.s_flags & (MS_NOATIME | MS_RDONLY):
            return False
        if flags & MS_NODIRATIME and inode.is_dir:
            return False
        now = self.now()
        atime = inode.atime
        if now == atime:
            return False
        if flags & MS_RELATIME and inode.mtime < atime and inode.ctime < atime and now - atime < DAY_NS:
            return False
        inode.atime = now
        self.dirty.mark(inode, I_DIRTY_SYNC)
        return True
