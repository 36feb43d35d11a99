"""The tree of mounts: what covers what, and the access times that depend on a mount's flags.  fs/namespace.c, fs/inode."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from arch.abi.errno import ENOENT, ENOTDIR
from arch.abi.mount import MS_NOATIME, MS_NODEV, MS_NODIRATIME, MS_NOEXEC, MS_NOSUID, MS_RDONLY, MS_RELATIME
from arch.errors import KernelError
from simkernel.fs.inode import Dentry, Mount, Path, SuperBlock

DAY_NS = 86_400_000_000_000

MNT_FLAGS = (
    MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME | MS_NODIRATIME | MS_RELATIME
)  # fmt: skip


class Mounts:
    """The mounts of the one mount namespace, in mount order."""

    def __init__(self, now: Callable[[], int]) -> None:
        self.now = now
        self.root: Path  # of the namespace; set when the root file system is there
        self.at: dict[tuple[Mount, Dentry], Mount] = {}  # what covers a place
        self.all: list[Mount] = []
        self._next_id = 1

    def __iter__(self) -> Iterator[Mount]:
        return iter(self.all)

    def new(self, sb: SuperBlock, devname: str, flags: int = 0, root: Dentry | None = None) -> Mount:
        """A mount that is not yet attached anywhere."""
        mnt = Mount(sb, root or sb.s_root, devname, flags, self._next_id)
        self._next_id += 1
        return mnt

    def set_root(self, mnt: Mount) -> None:
        """init_mount_tree(): the first mount of all."""
        self.all.append(mnt)
        self.root = Path(mnt, mnt.mnt_root)

    def attach(self, mnt: Mount, at: Path) -> None:
        """graft_tree(): make `mnt` cover `at`."""
        if (at.dentry.children is None) != (mnt.mnt_root.children is None):
            raise KernelError(ENOTDIR, "a directory can cover only a directory")
        if not at.dentry.hashed:
            raise KernelError(ENOENT, "mount point was removed")
        mnt.mnt_parent, mnt.mountpoint = at.mnt, at.dentry
        self.at[at.mnt, at.dentry] = mnt
        at.dentry.mounts += 1
        self.all.append(mnt)

    def detach(self, mnt: Mount) -> None:
        """umount: uncover what it covered."""
        mnt.mountpoint.mounts -= 1
        del self.at[mnt.mnt_parent, mnt.mountpoint]
        self.all.remove(mnt)

    def copy_tree(self, top: Mount) -> dict[Mount, Mount]:
        """copy_tree(): the mounts of a namespace once more, by the old ones."""
        copies: dict[Mount, Mount] = {}
        for old in list(self.all):
            if old is not top and old.mnt_parent not in copies:
                continue
            new = copies[old] = self.new(old.mnt_sb, old.devname, old.mnt_flags, old.mnt_root)
            if old is not top:
                new.mnt_parent, new.mountpoint = copies[old.mnt_parent], old.mountpoint
                self.at[new.mnt_parent, new.mountpoint] = new
                new.mountpoint.mounts += 1
            self.all.append(new)
        return copies

    def drop_tree(self, top: Mount) -> None:
        """umount_tree(): a namespace is gone."""
        gone = {top}
        for mnt in self.all:
            if mnt.mnt_parent in gone:
                gone.add(mnt)
        for mnt in gone - {top}:
            mnt.mountpoint.mounts -= 1
            del self.at[mnt.mnt_parent, mnt.mountpoint]
        self.all = [mnt for mnt in self.all if mnt not in gone]

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

    def touch_atime(self, path: Path) -> None:
        """touch_atime(): the access time, under noatime and relatime rules.  fs/inode."""
        flags = path.mnt.mnt_flags
        inode = path.dentry.inode
        if flags & (MS_NOATIME | MS_RDONLY) or inode.i_sb.s_flags & (MS_NOATIME | MS_RDONLY):
            return
        if flags & MS_NODIRATIME and inode.is_dir:
            return
        now = self.now()
        atime = inode.atime
        if now == atime:
            return
        if flags & MS_RELATIME and inode.mtime < atime and inode.ctime < atime and now - atime < DAY_NS:
            return
        inode.atime = now
