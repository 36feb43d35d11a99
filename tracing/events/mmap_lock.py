"""Who waits for, gets and gives back the lock of an address space.  include/trace/events/mmap_lock.h."""

from __future__ import annotations

from tracing.events.declare import TraceEventDecl

mmap_lock_start_locking = TraceEventDecl(
    "mmap_lock", "mmap_lock_start_locking",
    since="5.11",
    proto="struct mm_struct *mm, const char *memcg_path, bool write",
    entry=(
        ("struct mm_struct * mm", "mm"),
        ("__data_loc char[] memcg_path", "memcg_path"),
        ("bool write", "write"),
    ),
    print='"mm=%p memcg_path=%s write=%s", REC->mm, __get_str(memcg_path), REC->write ? "true" : "false"',
)  # fmt: skip
mmap_lock_released = mmap_lock_start_locking.like("mmap_lock_released", since="5.11")
mmap_lock_acquire_returned = TraceEventDecl(
    "mmap_lock", "mmap_lock_acquire_returned",
    since="5.11",
    proto="struct mm_struct *mm, const char *memcg_path, bool write, bool success",
    entry=(
        ("struct mm_struct * mm", "mm"),
        ("__data_loc char[] memcg_path", "memcg_path"),
        ("bool write", "write"),
        ("bool success", "success"),
    ),
    print=(
        '"mm=%p memcg_path=%s write=%s success=%s", REC->mm, __get_str(memcg_path), REC->write ? "true" : "false", '
        'REC->success ? "true" : "false"'
    ),
)  # fmt: skip
