"""mount(2) and umount2(2).  include/uapi/linux/mount.h, include/linux/fs.h."""

from __future__ import annotations

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_SYNCHRONOUS, MS_REMOUNT = 1, 2, 4, 8, 16, 32
MS_MANDLOCK, MS_DIRSYNC, MS_NOATIME, MS_NODIRATIME, MS_BIND, MS_MOVE = 64, 128, 1024, 2048, 4096, 8192
MS_REC, MS_SILENT, MS_UNBINDABLE, MS_PRIVATE, MS_SLAVE, MS_SHARED = 16384, 32768, 1 << 17, 1 << 18, 1 << 19, 1 << 20
MS_RELATIME, MS_STRICTATIME, MS_LAZYTIME = 1 << 21, 1 << 24, 1 << 25
MS_MGC_VAL, MS_MGC_MSK = 0xC0ED0000, 0xFFFF0000  # once required in the upper half of the flags
MNT_FORCE, MNT_DETACH, MNT_EXPIRE, UMOUNT_NOFOLLOW = 1, 2, 4, 8
