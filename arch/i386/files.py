"""How i386 programs see files.  arch/x86/include/uapi/asm/stat.h, asm-generic/fcntl.h.  Offsets and sizes in bytes."""

from __future__ import annotations

from arch.abi.files import FLOCK_32, STAT_32, STATFS64_32, STATFS_32, FileAbi, Record

# long long is aligned to 4 bytes
STAT64 = Record("stat64", 96, (
    (0, 8, "st_dev"), (12, 4, "__st_ino"), (16, 4, "st_mode"), (20, 4, "st_nlink"), (24, 4, "st_uid"),
    (28, 4, "st_gid"), (32, 8, "st_rdev"), (44, 8, "st_size"), (52, 4, "st_blksize"), (56, 8, "st_blocks"),
    (64, 4, "st_atime"), (68, 4, "st_atime_nsec"), (72, 4, "st_mtime"), (76, 4, "st_mtime_nsec"), (80, 4, "st_ctime"),
    (84, 4, "st_ctime_nsec"), (88, 8, "st_ino"),
), align=4)  # fmt: skip

FLOCK64 = Record("flock64", 24, (
    (0, 2, "l_type"), (2, 2, "l_whence"), (4, 8, "l_start"), (12, 8, "l_len"), (20, 4, "l_pid"),
), align=4)  # fmt: skip

FILES = FileAbi(
    STAT_32, STATFS_32, epoll_event_packed=True, flock=FLOCK_32, stat64=STAT64, statfs64=STATFS64_32, flock64=FLOCK64,
)  # fmt: skip
