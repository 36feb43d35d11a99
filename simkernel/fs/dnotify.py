"""dnotify: signals about what happens in a directory (F_NOTIFY).  fs/notify/dnotify/dnotify.c."""

from __future__ import annotations

from arch.abi.errno import ENOTDIR
from arch.abi.fcntl import (
    DN_ACCESS,
    DN_ATTRIB,
    DN_CREATE,
    DN_DELETE,
    DN_MODIFY,
    DN_MULTISHOT,
    DN_RENAME,
    F_OWNER_PID,
)
from arch.abi.signal import POLL_MSG
from simkernel.fs.face import FsKernel
from simkernel.fs.fasync import f_setown, send_sigio
from simkernel.fs.fsnotify import (
    FS_ACCESS,
    FS_ATTRIB,
    FS_CREATE,
    FS_DELETE,
    FS_MODIFY,
    FS_MOVED_FROM,
    FS_MOVED_TO,
    FS_RENAME,
)
from simkernel.fs.inode import File

# DN_* -> the events that it stands for: convert_arg()
EVENTS = (
    (DN_ACCESS, FS_ACCESS), (DN_MODIFY, FS_MODIFY), (DN_CREATE, FS_CREATE | FS_MOVED_TO), (DN_DELETE, FS_DELETE | FS_MOVED_FROM),
    (DN_RENAME, FS_RENAME), (DN_ATTRIB, FS_ATTRIB),
)  # fmt: skip


class DnotifyMark:
    """struct dnotify_struct: one open directory that somebody asked about."""

    def __init__(self, k: FsKernel, fd: int, file: File) -> None:
        self.k, self.fd, self.file = k, fd, file
        self.asked = 0

    def event(self, mask: int, name: str, cookie: int, unlinked: bool) -> None:
        """dnotify_handle_event(): of the directory and its entries."""
        if not any(self.asked & dn and mask & fs for dn, fs in EVENTS):
            return
        send_sigio(self.k, self.file, self.fd, POLL_MSG)
        if not self.asked & DN_MULTISHOT:
            self.remove()

    def inode_gone(self) -> None:
        """The directory is no more."""
        self.remove()

    def remove(self) -> None:
        """dnotify_flush()."""
        self.k.vfs.fsnotify.remove(self.file.f_inode, self)
        self.k.vfs.dnotify.pop(self.file, None)


def fcntl_dirnotify(k: FsKernel, fd: int, file: File, arg: int) -> int:
    """F_NOTIFY: 0 takes everything back.  ENOTDIR."""
    if not file.f_inode.is_dir:
        return -ENOTDIR
    mark = k.vfs.dnotify.get(file)
    assert mark is None or isinstance(mark, DnotifyMark)
    if not arg & ~DN_MULTISHOT:
        if mark is not None:
            mark.remove()
        return 0
    if mark is None:
        mark = k.vfs.dnotify[file] = DnotifyMark(k, fd, file)
        k.vfs.fsnotify.add(file.f_inode, mark)
    mark.asked |= arg
    f_setown(k, file, F_OWNER_PID, k.current.tgid)
    return 0
