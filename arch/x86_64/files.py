"""How x86-64 programs see files.  arch/x86/include/uapi/asm/stat.h, linux/eventpoll.h.  Offsets and sizes in bytes."""

from __future__ import annotations

from arch.abi.files import STATFS_64, TIMES_AT_72, FileAbi, Record

STAT = Record("stat", 144, (
    (0, 8, "st_dev"), (8, 8, "st_ino"), (16, 8, "st_nlink"), (24, 4, "st_mode"), (28, 4, "st_uid"), (32, 4, "st_gid"),
    (40, 8, "st_rdev"), (48, 8, "st_size"), (56, 8, "st_blksize"), (64, 8, "st_blocks"), *TIMES_AT_72,
))  # fmt: skip

FILES = FileAbi(STAT, STATFS_64, epoll_event_packed=True)
