"""A walk over directories that are all in memory, for system calls that are answered in the hook.

What NameData (namei.py) finds for a path whose components are names of directories that the task may pass by their mode, on file systems
that keep their dentries.  Anything else (links to follow, `..`, access lists, rights that take a capability, directories that are made
when they are looked at) it leaves to that, before it has done anything.
"""

from __future__ import annotations

from arch.abi.errno import ENOENT
from simkernel.fs.inode import Inode, Path
from simkernel.fs.mounts import Mounts
from simkernel.kernel.task import Cred

SHORT = 63  # characters of a component that fits whatever its encoding


class QuickWalk:
    """The walks of one machine."""

    def __init__(self, mounts: Mounts) -> None:
        self.mounts = mounts
        self.plain: dict[type[Inode], bool] = {}  # it looks names up, and asks for rights, as most file systems do

    def _is_plain(self, kind: type[Inode]) -> bool:
        found = self.plain[kind] = kind.lookup is Inode.lookup and kind.permission is Inode.permission
        return found

    def look(self, start: Path, name: str, cred: Cred, follow: bool) -> Path | int | None:
        """Where a path leads that has no slash at its ends; -ENOENT, or None: NameData knows."""
        mnt, at = start
        plain, uid = self.plain, cred.fsuid
        components = name.split("/")
        left = len(components)
        for component in components:
            left -= 1
            inode, children = at.inode, at.children
            if children is None or inode.xattrs is not None:
                return None
            kind = inode.__class__
            if not (plain[kind] if kind in plain else self._is_plain(kind)):
                return None
            mode = inode.i_mode
            if inode.i_uid == uid:
                mode >>= 6
            elif inode.i_gid == cred.fsgid or inode.i_gid in cred.groups:
                mode >>= 3
            if not mode & 1:
                return None
            child = children.get(component)
            if child is None:
                if component == ".":
                    continue
                return -ENOENT if component and component != ".." and len(component) <= SHORT else None
            if child.mounts:
                mnt, child = self.mounts.traverse(mnt, child)
            if child.inode.is_link and (left or follow):
                return None
            at = child
        return Path(mnt, at)
