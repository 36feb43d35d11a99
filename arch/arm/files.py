"""How ARM programs see files.  arch/arm/include/uapi/asm/{stat,fcntl}.h.  Offsets and sizes in bytes."""

from __future__ import annotations

from arch.abi.fcntl import O_DIRECT, O_DIRECTORY, O_LARGEFILE, O_NOFOLLOW
from arch.abi.files import FLOCK_32, FLOCK_64, STAT_32, STATFS64_32, STATFS_32, FileAbi, Record

# (what programs say, asm-generic's number) where they differ
OPEN_FLAGS = (
    (0o40000, O_DIRECTORY), (0o100000, O_NOFOLLOW), (0o200000, O_DIRECT), (0o400000, O_LARGEFILE),
)  # fmt: skip

STAT64 = Record("stat64", 104, (
    (0, 8, "st_dev"), (12, 4, "__st_ino"), (16, 4, "st_mode"), (20, 4, "st_nlink"), (24, 4, "st_uid"),
    (28, 4, "st_gid"), (32, 8, "st_rdev"), (48, 8, "st_size"), (56, 4, "st_blksize"), (64, 8, "st_blocks"),
    (72, 4, "st_atime"), (76, 4, "st_atime_nsec"), (80, 4, "st_mtime"), (84, 4, "st_mtime_nsec"), (88, 4, "st_ctime"),
    (92, 4, "st_ctime_nsec"), (96, 8, "st_ino"),
))  # fmt: skip

FILES = FileAbi(
    STAT_32, STATFS_32, open_flags=OPEN_FLAGS, flock=FLOCK_32, stat64=STAT64, statfs64=STATFS64_32, flock64=FLOCK_64,
)  # fmt: skip
