"""Who wants to know what happens to files: marks on inodes, and the events that file operations report.  fs/notify/fsnotify.c.

While nobody has a mark an event costs one look at `active`.
"""

from __future__ import annotations

from typing import Protocol

from arch.abi.fanotify import PERM_EVENTS
from arch.abi.version import KernelVersion
from arch.records import dataclass
from simkernel.fs.constants import FMODE_PATH, FMODE_WRITE
from simkernel.fs.inode import Dentry, File, Inode, Path, SuperBlock
from simkernel.kernel.body import Body

# include/linux/fsnotify_backend.h
FS_ACCESS, FS_MODIFY, FS_ATTRIB, FS_CLOSE_WRITE, FS_CLOSE_NOWRITE, FS_OPEN = 1, 2, 4, 8, 0x10, 0x20
FS_MOVED_FROM, FS_MOVED_TO, FS_CREATE, FS_DELETE, FS_DELETE_SELF, FS_MOVE_SELF = 0x40, 0x80, 0x100, 0x200, 0x400, 0x800
FS_UNMOUNT, FS_Q_OVERFLOW, FS_IN_IGNORED, FS_EXCL_UNLINK, FS_ISDIR = 0x2000, 0x4000, 0x8000, 0x04000000, 0x40000000
FS_RENAME = 0x10000000
CONTENT_EVENTS = (
    FS_ACCESS | FS_MODIFY
)  # of devices, pipes and sockets, no news for their directory's watchers (435c13f3a5c3)
FS_OPEN_EXEC, FS_OPEN_PERM, FS_ACCESS_PERM, FS_OPEN_EXEC_PERM = 0x1000, 0x10000, 0x20000, 0x40000
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


@dataclass(frozen=True, slots=True)
class Happened:
    """What fsnotify() is told: of an inode, with the directory and name that it was reached by, or of an entry of a directory."""

    mask: int
    inode: Inode | None
    directory: Inode | None = None
    name: str = ""
    path: Path | None = None  # of an open file
    entry: bool = False  # it is the directory that changed
    new_directory: Inode | None = None  # of a rename
    new_name: str = ""


class Listener(Group, Protocol):
    """One that hears of all and looks for its marks itself (fanotify/)."""

    def heard(self, event: Happened) -> object:
        """Something happened."""

    def ask(self, event: Happened) -> Body:
        """May it? (`yield from`): 0 or -EPERM."""

    def inode_gone(self, inode: Inode) -> None:
        """The inode is no more."""

    def unmounted(self, sb: SuperBlock) -> None:
        """The file system is no more."""


class FsNotify:
    """`k.vfs.fsnotify`."""

    __slots__ = ("active", "any_rename", "groups", "marks", "next_cookie")

    def __init__(self, version: KernelVersion) -> None:
        self.any_rename = version.at_least("5.17")  # FS_RENAME: before it FS_DN_RENAME, of renames in one directory
        self.active = 0  # marks there are
        self.marks: dict[Inode, dict[Mark, None]] = {}  # oldest first
        self.next_cookie = 1
        self.groups: list[Listener] = []

    def _tell(self, event: Happened) -> None:
        for group in self.groups:
            group.heard(event)

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

    def dentry(self, dentry: Dentry, mask: int, path: Path | None = None) -> None:
        """fsnotify_dentry(): for those who watch the directory, with the name, and for those who watch the file itself."""
        if dentry.inode.is_dir:
            mask |= FS_ISDIR
        named = dentry.parent is not dentry and dentry.d_dname is None
        if named and not (mask & CONTENT_EVENTS and _special(dentry.inode)):
            self.inode(dentry.parent.inode, mask, dentry.name, 0, not dentry.hashed)
        self.inode(dentry.inode, mask)
        if self.groups:
            self._tell(_reached(dentry, mask, path))

    def file(self, file: File, mask: int) -> None:
        """fsnotify_file()."""
        if not file.f_mode & (FMODE_PATH | FMODE_NONOTIFY):
            self.dentry(file.f_path.dentry, mask, file.f_path)

    def ask(self, file: File, mask: int) -> Body:
        """fsnotify_perm() (`yield from`): those who want to be asked first.  EPERM."""
        assert mask & PERM_EVENTS
        if file.f_mode & (FMODE_PATH | FMODE_NONOTIFY):
            return 0
        dentry = file.f_path.dentry
        event = _reached(dentry, mask | (FS_ISDIR if dentry.inode.is_dir else 0), file.f_path)
        for group in list(self.groups):
            ret = yield from group.ask(event)
            if ret < 0:
                return ret
        return 0

    def itself(self, inode: Inode, mask: int) -> None:
        """fsnotify_inode(): whoever watches the inode, by whatever name."""
        self.inode(inode, mask)
        if self.groups:
            self._tell(Happened(mask | (FS_ISDIR if inode.is_dir else 0), inode))

    def closed(self, file: File) -> None:
        """fsnotify_close()."""
        self.file(file, FS_CLOSE_WRITE if file.f_mode & FMODE_WRITE else FS_CLOSE_NOWRITE)

    def made(self, parent: Inode, name: str, inode: Inode) -> None:
        """fsnotify_create() and fsnotify_mkdir()."""
        mask = FS_CREATE | (FS_ISDIR if inode.is_dir else 0)
        self.inode(parent, mask, name)
        self._tell(Happened(mask, inode, parent, name, entry=True))

    def removed(self, parent: Inode, victim: Dentry) -> None:
        """fsnotify_unlink() and fsnotify_rmdir(), and what the inode's own watchers are told."""
        inode = victim.inode
        if not inode.is_dir:
            self.itself(inode, FS_ATTRIB)
        if inode.is_dir or (not inode.i_nlink and not inode.i_count):
            self.gone(inode)
        mask = FS_DELETE | (FS_ISDIR if inode.is_dir else 0)
        self.inode(parent, mask, victim.name)
        self._tell(Happened(mask, inode, parent, victim.name, entry=True))

    def replaced(self, victim: Dentry) -> None:
        """What a rename put another file in the place of."""
        self.itself(victim.inode, FS_ATTRIB)
        if victim.inode.is_dir or (not victim.inode.i_nlink and not victim.inode.i_count):
            self.gone(victim.inode)

    def gone(self, inode: Inode) -> None:
        """fsnotify_inoderemove(): the last reference went."""
        marks = list(self.marks.get(inode, ()))
        for mark in marks:
            mark.event(FS_DELETE_SELF, "", 0, False)
        for mark in marks:
            mark.inode_gone()
        self._tell(Happened(FS_DELETE_SELF | (FS_ISDIR if inode.is_dir else 0), inode))
        for group in self.groups:
            group.inode_gone(inode)

    def unmounted(self, sb: SuperBlock) -> None:
        """fsnotify_sb_delete(): inodes from the newest on, and what is marked of the file system as a whole."""
        for inode in sorted((i for i in self.marks if i.i_sb is sb), key=lambda i: i.i_ino, reverse=True):
            marks = list(self.marks[inode])
            for mark in marks:
                mark.event(FS_UNMOUNT | (FS_ISDIR if inode.is_dir else 0), "", 0, False)
            for mark in marks:
                mark.inode_gone()
        for group in self.groups:
            group.unmounted(sb)

    def moved(self, old_parent: Inode, old_name: str, new_parent: Inode, new: Dentry) -> None:
        """fsnotify_move(): both ends have the same cookie."""
        cookie, self.next_cookie = self.next_cookie, self.next_cookie + 1
        is_dir = FS_ISDIR if new.inode.is_dir else 0
        if old_parent is new_parent:  # all that dnotify asks for
            self.inode(old_parent, FS_RENAME | is_dir, old_name)
        if self.groups and self.any_rename:
            self._tell(Happened(FS_RENAME | is_dir, new.inode, old_parent, old_name, None, True, new_parent, new.name))
        self.inode(old_parent, FS_MOVED_FROM | is_dir, old_name, cookie)
        self._tell(Happened(FS_MOVED_FROM | is_dir, new.inode, old_parent, old_name, entry=True))
        self.inode(new_parent, FS_MOVED_TO | is_dir, new.name, cookie)
        self._tell(Happened(FS_MOVED_TO | is_dir, new.inode, new_parent, new.name, entry=True))
        self.itself(new.inode, FS_MOVE_SELF)


def _special(inode: Inode) -> bool:
    """special_file(): a device, a pipe, a socket."""
    return not (inode.is_dir or inode.is_reg or inode.is_link)


def _reached(dentry: Dentry, mask: int, path: Path | None) -> Happened:
    """fsnotify_parent(): with its directory, where it has one."""
    of_device = mask & CONTENT_EVENTS and _special(dentry.inode)
    if dentry.parent is dentry or dentry.d_dname is not None or of_device:
        return Happened(mask, dentry.inode, path=path)
    return Happened(mask, dentry.inode, dentry.parent.inode, dentry.name, path)
