"""How s390x programs see files.  arch/s390/include/uapi/asm/{stat,statfs}.h.  Offsets and sizes in bytes."""

from __future__ import annotations

from arch.abi.files import FileAbi, Record

STAT = Record("stat", 144, (
    (0, 8, "st_dev"), (8, 8, "st_ino"), (16, 8, "st_nlink"), (24, 4, "st_mode"), (28, 4, "st_uid"), (32, 4, "st_gid"),
    (40, 8, "st_rdev"), (48, 8, "st_size"), (56, 8, "st_atime"), (64, 8, "st_atime_nsec"), (72, 8, "st_mtime"),
    (80, 8, "st_mtime_nsec"), (88, 8, "st_ctime"), (96, 8, "st_ctime_nsec"), (104, 8, "st_blksize"),
    (112, 8, "st_blocks"),
))  # fmt: skip

STATFS = Record("statfs", 88, (
    (0, 4, "f_type"), (4, 4, "f_bsize"), (8, 8, "f_blocks"), (16, 8, "f_bfree"), (24, 8, "f_bavail"),
    (32, 8, "f_files"), (40, 8, "f_ffree"), (48, 4, "f_fsid0"), (52, 4, "f_fsid1"), (56, 4, "f_namelen"),
    (60, 4, "f_frsize"), (64, 4, "f_flags"),
))  # fmt: skip

FILES = FileAbi(STAT, STATFS)
