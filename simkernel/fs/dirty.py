"""Inodes that become dirty: `i_state` and the events of __mark_inode_dirty().  fs/fs-writeback.c.

Nothing of memory's file systems is ever written back, so an inode that was dirty once stays so, as tmpfs and procfs have it on Linux.
"""

from __future__ import annotations

from simkernel.fs.inode import Inode
from simkernel.fs.mirror import Mirror
from simkernel.kernel.page_events import Listening
from simkernel.kernel.tracepoints import Tracepoints

I_LINKABLE = 1 << 10  # a file without a name that may get one
I_DIRTY_SYNC = 1
I_DIRTY = 7  # and I_DIRTY_DATASYNC, I_DIRTY_PAGES
EVENTS = ("writeback_mark_inode_dirty", "writeback_dirty_inode_start", "writeback_dirty_inode")


class DirtyInodes:
    """`vfs.dirty`."""

    __slots__ = ("active", "mirror", "moved", "points")

    def __init__(self, tracepoints: Tracepoints, mirror: Mirror) -> None:
        self.active = 0  # 1: somebody listens
        self.mirror = mirror
        self.moved = mirror.names.dirty_bits_moved
        self.points = [Listening(name, self._changed) for name in EVENTS]
        tracepoints.points.update((point.name, point) for point in self.points)

    def _changed(self) -> None:
        self.active = int(any(point.active for point in self.points))

    def mark(self, inode: Inode, flags: int) -> None:
        """__mark_inode_dirty(): some of I_DIRTY."""
        if self.active:
            addr = self.mirror.inode(inode)
            self.mirror.inode_state(inode, self._shown(inode.i_state))
            for point in self.points:
                if point.active:
                    point.fire(addr, self._shown(flags))
        inode.i_state |= flags

    def _shown(self, state: int) -> int:
        return (state & I_DIRTY) << self.moved | state & ~I_DIRTY

    def attributes_set(self, inode: Inode) -> None:
        """simple_setattr(), proc_setattr(), of the file systems that have no better one."""
        if inode.i_sb.simple_setattr:
            self.mark(inode, I_DIRTY)

    def file_update_time(self, inode: Inode, now: int) -> None:
        """The time of a write, if the clock has ticked since the last."""
        if inode.mtime != now or inode.ctime != now:
            inode.mtime = inode.ctime = now
            self.mark(inode, I_DIRTY_SYNC)
