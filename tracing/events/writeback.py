"""Inodes that become dirty.  include/trace/events/writeback.h."""

from __future__ import annotations

from tracing.events.declare import TraceEventDecl

writeback_mark_inode_dirty = TraceEventDecl(
    "writeback", "writeback_mark_inode_dirty",
    since="5.10",
    proto="struct inode *inode, int flags",
    entry=(
        ("char name[32]", "bdi_dev_name(inode)"),
        ("ino_t ino", "inode->i_ino"),
        ("unsigned long state", "inode->i_state"),
        ("unsigned long flags", "flags"),
    ),
    print=(
        '"bdi %s: ino=%lu state=%s flags=%s", REC->name, (unsigned long)REC->ino, show_inode_state(REC->state), '
        "show_inode_state(REC->flags)"
    ),
)  # fmt: skip
writeback_dirty_inode_start = writeback_mark_inode_dirty.like("writeback_dirty_inode_start", since="5.10")
writeback_dirty_inode = writeback_mark_inode_dirty.like("writeback_dirty_inode", since="5.10")
