"""File modes, statx(2), statfs(2), directory entries.  include/uapi/linux/{stat,magic}.h, linux/{statfs,fs_types}.h."""

from __future__ import annotations

S_IFMT = 0o170000
S_IFSOCK, S_IFLNK, S_IFREG, S_IFBLK = 0o140000, 0o120000, 0o100000, 0o060000
S_IFDIR, S_IFCHR, S_IFIFO = 0o040000, 0o020000, 0o010000
S_ISUID, S_ISGID, S_ISVTX, S_IXGRP, S_IWOTH = 0o4000, 0o2000, 0o1000, 0o010, 0o002
S_IRWXUGO, S_IRWXG = 0o777, 0o070
S_IALLUGO = 0o7777
S_IRUGO = 0o444
S_IWUGO = 0o222
S_IXUGO = 0o111

# d_type of getdents; the value is (mode & S_IFMT) >> 12
DT_UNKNOWN, DT_FIFO, DT_CHR, DT_DIR, DT_BLK, DT_REG, DT_LNK, DT_SOCK = 0, 1, 2, 4, 6, 8, 10, 12

STATX_BASIC_STATS = 0x7FF
STATX_BTIME = 0x800
STATX_MNT_ID = 0x1000
STATX_MNT_ID_UNIQUE = 0x4000
STATX__RESERVED = 0x80000000

UTIME_NOW = (1 << 30) - 1
UTIME_OMIT = (1 << 30) - 2

# f_flags of statfs
ST_RDONLY, ST_NOSUID, ST_NODEV, ST_NOEXEC = 1, 2, 4, 8
ST_VALID, ST_NOATIME, ST_NODIRATIME, ST_RELATIME, ST_NOSYMFOLLOW = 0x20, 0x400, 0x800, 0x1000, 0x2000

# f_type of statfs: super block magics
TMPFS_MAGIC = 0x01021994
RAMFS_MAGIC = 0x858458F6
PROC_SUPER_MAGIC = 0x9FA0
SYSFS_MAGIC = 0x62656572
DEBUGFS_MAGIC = 0x64626720
TRACEFS_MAGIC = 0x74726163
BPF_FS_MAGIC = 0xCAFE4A11
CGROUP2_SUPER_MAGIC = 0x63677270
PIPEFS_MAGIC = 0x50495045
ANON_INODE_FS_MAGIC = 0x09041934
NSFS_MAGIC = 0x6E736673
SECRETMEM_MAGIC = 0x5345434D
SOCKFS_MAGIC = 0x534F434B
DEVPTS_SUPER_MAGIC = 0x1CD1
V9FS_MAGIC = 0x01021997


def makedev(major: int, minor: int) -> int:
    """The kernel's dev_t: MKDEV(), include/linux/kdev_t.h."""
    return (major << 20) | minor


def dev_major(dev: int) -> int:
    """MAJOR()."""
    return dev >> 20


def dev_minor(dev: int) -> int:
    """MINOR()."""
    return dev & 0xFFFFF


def new_encode_dev(dev: int) -> int:
    """dev_t as user space sees it, include/linux/kdev_t.h."""
    minor = dev & 0xFFFFF
    return (minor & 0xFF) | (dev >> 20) << 8 | (minor & ~0xFF) << 12


def new_decode_dev(dev: int) -> int:
    """The inverse of new_encode_dev."""
    return makedev((dev & 0xFFF00) >> 8, (dev & 0xFF) | ((dev >> 12) & 0xFFF00))
