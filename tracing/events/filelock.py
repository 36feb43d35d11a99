"""Locks on files.  include/trace/events/filelock.h."""

from __future__ import annotations

from tracing.events.declare import TraceEventDecl

_TYPES = '{ 0, "F_RDLCK" }, { 1, "F_WRLCK" }, { 2, "F_UNLCK" }'
_FLAGS = (
    '{ 1, "FL_POSIX" }, { 2, "FL_FLOCK" }, { 4, "FL_DELEG" }, { 8, "FL_ACCESS" }, { 16, "FL_EXISTS" }, '
    '{ 32, "FL_LEASE" }, { 64, "FL_CLOSE" }, { 128, "FL_SLEEP" }, { 256, "FL_DOWNGRADE_PENDING" }, '
    '{ 512, "FL_UNLOCK_PENDING" }, { 1024, "FL_OFDLCK" }, { 4096, "FL_RECLAIM"}'
)
_DEV = "MAJOR(REC->s_dev), MINOR(REC->s_dev), REC->i_ino"
locks_get_lock_context = TraceEventDecl(
    "filelock", "locks_get_lock_context",
    since="5.10",
    proto="struct inode *inode, int type, struct file_lock_context *ctx",
    entry=(
        ("unsigned long i_ino", "inode->i_ino"),
        ("dev_t s_dev", "inode->i_sb->s_dev"),
        ("unsigned char type", "type"),
        ("struct file_lock_context * ctx", "ctx"),
    ),
    print=(
        f'"dev=0x%x:0x%x ino=0x%lx type=%s ctx=%p", {_DEV}, __print_symbolic(REC->type, {_TYPES}), REC->ctx'
    ),
)  # fmt: skip
posix_lock_inode = TraceEventDecl(
    "filelock", "posix_lock_inode",
    since="5.10", held=(0, 1),
    proto="struct inode *inode, struct file_lock *fl, int ret",
    entry=(
        ("struct file_lock * fl", "fl"),
        ("unsigned long i_ino", "inode->i_ino"),
        ("dev_t s_dev", "inode->i_sb->s_dev"),
        ("struct file_lock * fl_blocker", "0"),
        ("fl_owner_t fl_owner", "fl->fl_owner"),
        ("unsigned int fl_pid", "fl->fl_pid"),
        ("unsigned int fl_flags", "fl->fl_flags"),
        ("unsigned char fl_type", "fl->fl_type"),
        ("loff_t fl_start", "fl->fl_start"),
        ("loff_t fl_end", "fl->fl_end"),
        ("int ret", "ret"),
    ),
    print=(
        '"fl=%p dev=0x%x:0x%x ino=0x%lx fl_blocker=%p fl_owner=%p fl_pid=%u fl_flags=%s fl_type=%s fl_start=%lld '
        f'fl_end=%lld ret=%d", REC->fl, {_DEV}, REC->fl_blocker, REC->fl_owner, REC->fl_pid, '
        f'__print_flags(REC->fl_flags, "|", {_FLAGS}), __print_symbolic(REC->fl_type, {_TYPES}), REC->fl_start, '
        "REC->fl_end, REC->ret"
    ),
)  # fmt: skip
fcntl_setlk = posix_lock_inode.like("fcntl_setlk", since="5.10")
locks_remove_posix = posix_lock_inode.like("locks_remove_posix", since="5.10")
flock_lock_inode = posix_lock_inode.like("flock_lock_inode", since="5.10")
_LEASE_BREAKS = "LEASE DELEG LAYOUT NONBLOCK OPEN_RDONLY DIR_CREATE DIR_DELETE DIR_RENAME"
break_lease = TraceEventDecl(
    "filelock", "break_lease",
    since="7.2",
    proto="struct inode *inode, unsigned int flags",
    entry=(
        ("unsigned long i_ino", "inode->i_ino"),
        ("dev_t s_dev", "inode->i_sb->s_dev"),
        ("unsigned int flags", "flags"),
    ),
    print=(
        f'"dev=0x%x:0x%x ino=0x%lx flags=%s", {_DEV}, __print_flags(REC->flags, "|", '
        + ", ".join(f'{{ {1 << bit}, "{name}" }}' for bit, name in enumerate(_LEASE_BREAKS.split()))
        + ")"
    ),
)  # fmt: skip
