"""What tracing sees of locks on files: struct file_lock, while somebody listens.  fs/locks.c."""

from __future__ import annotations

from simkernel.fs.face import FsKernel
from simkernel.fs.inode import File

FL_POSIX, FL_FLOCK, FL_CLOSE, FL_SLEEP, FL_OFDLCK = 1, 2, 64, 128, 1024  # include/linux/fs.h
EVENTS = ("posix_lock_inode", "fcntl_setlk", "locks_remove_posix", "flock_lock_inode")


class LockSeen:
    """One struct file_lock in kernel memory; none while nobody listens."""

    def __init__(self, k: FsKernel, file: File, kind: int, flags: int, start: int, end: int, owner: int) -> None:
        self.k, self.inode, self.addr = k, file.f_inode.addr, 0
        if any(k.tracepoints.point(name).active for name in EVENTS):
            view = k.new("struct file_lock")
            view.fl_owner, view.fl_pid, view.fl_flags, view.fl_type = owner, k.current.tgid, flags, kind
            view.fl_start, view.fl_end = start, end
            self.addr = view.addr

    def tell(self, event: str, ret: int) -> None:
        """Fire one of its events."""
        if self.addr:
            self.k.trace(event, self.inode, self.addr, ret)

    def gone(self) -> None:
        """locks_free_lock()."""
        if self.addr:
            self.k.mem.free(self.addr)
            self.addr = 0
