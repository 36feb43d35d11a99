"""Who wants to know what happens to files: marks on inodes, and the events that file operations report.  fs/notify/fsnotify.c.

While nobody has a mark an event costs one look at `active`.
"""

from __future__ import annotations

from typing import Protocol

from arch.abi.version import KernelVersion
from simkernel.fs.constants import FMODE_PATH, FMODE_WRITE
from simkernel.fs.inode import Dentry, File, Inode

# include/linux/fsnotify_backend.h
FS_ACCESS, FS_MODIFY, FS_ATTRIB, FS_CLOSE_WRITE, FS_CLOSE_NOWRITE, FS_OPEN = 1, 2, 4, 8, 0x10, 0x20
FS_MOVED_FROM, FS_MOVED_TO, FS_CREATE, FS_DELETE, FS_DELETE_SELF, FS_MOVE_SELF = 0x40, 0x80, 0x100, 0x200, 0x400, 0x800
FS_UNMOUNT, FS_Q_OVERFLOW, FS_IN_IGNORED, FS_EXCL_UNLINK, FS_ISDIR = 0x2000, 0x4000, 0x8000, 0x04000000, 0x40000000
FS_RENAME = 0x10000000
FMODE_NONOTIFY = 0x4000000


class Mark(Protocol):
    """struct fsnotify_mark: one listener on one inode."""

    def event(self, mask: int, name: str, cookie: int, unlinked: bool) -> None:
        """Something of this inode, or (with a name) of an entry of this directory; `unlinked`: the entry has no name now."""

    def inode_gone(self) -> None:
        """The inode is no more."""


class Group(Protocol):
    """One listener (inotify.py)."""

    uid: int  # whose it is


class FsNotify:
    """`k.vfs.fsnotify`."""

    __slots__ = ("active", "any_rename", "marks", "next_cookie")

    def __init__(self, version: KernelVersion) -> None:
        self.any_rename = version.at_least("5.17")  # FS_RENAME: before it FS_DN_RENAME, of renames in one directory
        self.active = 0  # marks there are
        self.marks: dict[Inode, dict[Mark, None]] = {}  # oldest first
        self.next_cookie = 1

    def add(self, inode: Inode, mark: Mark) -> None:
        """fsnotify_add_inode_mark()."""
        self.marks.setdefault(inode, {})[mark] = None
        self.active += 1

    def remove(self, inode: Inode, mark: Mark) -> None:
        """fsnotify_destroy_mark()."""
        marks = self.marks.get(inode)
        if marks is not None and mark in marks:
            del marks[mark]
            self.active -= 1
            if not marks:
                del self.marks[inode]

    def inode(self, inode: Inode, mask: int, name: str = "", cookie: int = 0, unlinked: bool = False) -> None:
        """An event of an inode, or with a name of an entry in a directory."""
        for mark in list(self.marks.get(inode, ())):
            mark.event(mask, name, cookie, unlinked)

    def dentry(self, dentry: Dentry, mask: int) -> None:
        """fsnotify_dentry(): for those who watch the directory, with the name, and for those who watch the file itself."""
        if dentry.inode.is_dir:
            mask |= FS_ISDIR
        if dentry.parent is not dentry and dentry.d_dname is None:
            self.inode(dentry.parent.inode, mask, dentry.name, 0, not dentry.hashed)
        self.inode(dentry.inode, mask)

    def file(self, file: File, mask: int) -> None:
        """fsnotify_file()."""
        if not file.f_mode & FMODE_PATH:
            self.dentry(file.f_path.dentry, mask)

    def closed(self, file: File) -> None:
        """fsnotify_close()."""
        self.file(file, FS_CLOSE_WRITE if file.f_mode & FMODE_WRITE else FS_CLOSE_NOWRITE)

    def made(self, parent: Inode, name: str, is_dir: bool) -> None:
        """fsnotify_create() and fsnotify_mkdir()."""
        self.inode(parent, FS_CREATE | (FS_ISDIR if is_dir else 0), name)

    def removed(self, parent: Inode, victim: Dentry) -> None:
        """fsnotify_unlink() and fsnotify_rmdir(), and what the inode's own watchers are told."""
        inode = victim.inode
        if not inode.is_dir:
            self.inode(inode, FS_ATTRIB)
        if inode.is_dir or (not inode.i_nlink and not inode.i_count):
            self.gone(inode)
        self.inode(parent, FS_DELETE | (FS_ISDIR if inode.is_dir else 0), victim.name)

    def replaced(self, victim: Dentry) -> None:
        """What a rename put another file in the place of."""
        self.inode(victim.inode, FS_ATTRIB)
        if victim.inode.is_dir or (not victim.inode.i_nlink and not victim.inode.i_count):
            self.gone(victim.inode)

    def gone(self, inode: Inode) -> None:
        """fsnotify_inoderemove(): the last reference went."""
        marks = list(self.marks.get(inode, ()))
        for mark in marks:
            mark.event(FS_DELETE_SELF, "", 0, False)
        for mark in marks:
            mark.inode_gone()

    def moved(self, old_parent: Inode, old_name: str, new_parent: Inode, new: Dentry) -> None:
        """fsnotify_move(): both ends have the same cookie."""
        cookie, self.next_cookie = self.next_cookie, self.next_cookie + 1
        is_dir = FS_ISDIR if new.inode.is_dir else 0
        if self.any_rename or old_parent is new_parent:
            self.inode(old_parent, FS_RENAME | is_dir, old_name)
        self.inode(old_parent, FS_MOVED_FROM | is_dir, old_name, cookie)
        self.inode(new_parent, FS_MOVED_TO | is_dir, new.name, cookie)
        self.inode(new.inode, FS_MOVE_SELF)
