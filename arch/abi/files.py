"""The user-visible structures of files: struct stat, struct statfs, struct flock, as rows.

Layouts are rows (offset, size, field) in the order of the kernel's header, checked at import; a big-endian machine
writes the same rows in its byte order.  Here are those that several architectures share; an architecture's own are in
arch/NAME/files.py.  asm-generic/{stat,statfs,fcntl}.h, linux/stat.h.  Bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Literal

from arch.records import dataclass

NUMBER_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}  # struct's codes by size


@dataclass(frozen=True)
class Record:
    """A user-visible structure: total size and its fields."""

    name: str
    size: int
    rows: tuple[tuple[int, int, str], ...]  # offset, size, field
    align: int = 8  # of the largest field

    def __post_init__(self) -> None:
        end = 0
        for offset, size, field in self.rows:
            if offset < end or offset % min(size, self.align) or offset + size > self.size:
                raise ValueError(f"{self.name}.{field}: offset {offset} does not fit")
            end = offset + size

    def pack(self, values: Mapping[str, int], byteorder: Literal["little", "big"]) -> bytes:
        """The bytes; fields without a value and padding are zero."""
        pack, get = self._little if byteorder == "little" else self._big, values.get
        return pack(*[get(field, 0) & mask for field, mask in self._masks])

    @cached_property
    def _masks(self) -> list[tuple[str, int]]:
        return [(field, (1 << 8 * size) - 1) for _, size, field in self.rows]

    @cached_property
    def _little(self) -> Callable[..., bytes]:
        return self._packer("<")

    @cached_property
    def _big(self) -> Callable[..., bytes]:
        return self._packer(">")

    def _packer(self, order: str) -> Callable[..., bytes]:
        text, end = order, 0
        for offset, size, _ in self.rows:
            text += f"{offset - end}x{NUMBER_CODES[size]}"
            end = offset + size
        return struct.Struct(f"{text}{self.size - end}x").pack

    def unpack(self, data: bytes, byteorder: Literal["little", "big"]) -> dict[str, int]:
        """Unsigned values of all fields."""
        return {field: int.from_bytes(data[offset : offset + size], byteorder) for offset, size, field in self.rows}


TIMES_AT_72 = (
    (72, 8, "st_atime"), (80, 8, "st_atime_nsec"), (88, 8, "st_mtime"), (96, 8, "st_mtime_nsec"),
    (104, 8, "st_ctime"), (112, 8, "st_ctime_nsec"),
)  # fmt: skip

STAT_GENERIC = Record("stat", 128, (
    (0, 8, "st_dev"), (8, 8, "st_ino"), (16, 4, "st_mode"), (20, 4, "st_nlink"), (24, 4, "st_uid"), (28, 4, "st_gid"),
    (32, 8, "st_rdev"), (48, 8, "st_size"), (56, 4, "st_blksize"), (64, 8, "st_blocks"), *TIMES_AT_72,
))  # fmt: skip

STATFS_64 = Record("statfs", 120, (
    (0, 8, "f_type"), (8, 8, "f_bsize"), (16, 8, "f_blocks"), (24, 8, "f_bfree"), (32, 8, "f_bavail"),
    (40, 8, "f_files"), (48, 8, "f_ffree"), (56, 4, "f_fsid0"), (60, 4, "f_fsid1"), (64, 8, "f_namelen"),
    (72, 8, "f_frsize"), (80, 8, "f_flags"),
))  # fmt: skip

STATX = Record("statx", 256, (
    (0, 4, "stx_mask"), (4, 4, "stx_blksize"), (8, 8, "stx_attributes"), (16, 4, "stx_nlink"), (20, 4, "stx_uid"),
    (24, 4, "stx_gid"), (28, 2, "stx_mode"), (32, 8, "stx_ino"), (40, 8, "stx_size"), (48, 8, "stx_blocks"),
    (56, 8, "stx_attributes_mask"), (64, 8, "stx_atime"), (72, 4, "stx_atime_nsec"), (80, 8, "stx_btime"),
    (88, 4, "stx_btime_nsec"), (96, 8, "stx_ctime"), (104, 4, "stx_ctime_nsec"), (112, 8, "stx_mtime"),
    (120, 4, "stx_mtime_nsec"), (128, 4, "stx_rdev_major"), (132, 4, "stx_rdev_minor"), (136, 4, "stx_dev_major"),
    (140, 4, "stx_dev_minor"), (144, 8, "stx_mnt_id"),
))  # fmt: skip

# 32-bit machines: struct stat of the old calls; stat64 differs.
STAT_32 = Record("stat", 64, (
    (0, 4, "st_dev"), (4, 4, "st_ino"), (8, 2, "st_mode"), (10, 2, "st_nlink"), (12, 2, "st_uid"), (14, 2, "st_gid"),
    (16, 4, "st_rdev"), (20, 4, "st_size"), (24, 4, "st_blksize"), (28, 4, "st_blocks"), (32, 4, "st_atime"),
    (36, 4, "st_atime_nsec"), (40, 4, "st_mtime"), (44, 4, "st_mtime_nsec"), (48, 4, "st_ctime"),
    (52, 4, "st_ctime_nsec"),
))  # fmt: skip

STATFS_32 = Record("statfs", 64, (
    (0, 4, "f_type"), (4, 4, "f_bsize"), (8, 4, "f_blocks"), (12, 4, "f_bfree"), (16, 4, "f_bavail"),
    (20, 4, "f_files"), (24, 4, "f_ffree"), (28, 4, "f_fsid0"), (32, 4, "f_fsid1"), (36, 4, "f_namelen"),
    (40, 4, "f_frsize"), (44, 4, "f_flags"),
))  # fmt: skip

STATFS64_32 = Record("statfs64", 84, (
    (0, 4, "f_type"), (4, 4, "f_bsize"), (8, 8, "f_blocks"), (16, 8, "f_bfree"), (24, 8, "f_bavail"),
    (32, 8, "f_files"), (40, 8, "f_ffree"), (48, 4, "f_fsid0"), (52, 4, "f_fsid1"), (56, 4, "f_namelen"),
    (60, 4, "f_frsize"), (64, 4, "f_flags"),
))  # fmt: skip

FLOCK_64 = Record("flock", 32, (
    (0, 2, "l_type"), (2, 2, "l_whence"), (8, 8, "l_start"), (16, 8, "l_len"), (24, 4, "l_pid"),
))  # fmt: skip

FLOCK_32 = Record("flock", 16, (
    (0, 2, "l_type"), (2, 2, "l_whence"), (4, 4, "l_start"), (8, 4, "l_len"), (12, 4, "l_pid"),
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileAbi:
    """How one architecture's programs see files: a field of `Architecture`."""

    stat: Record
    statfs: Record
    # user flag bit -> asm-generic bit, for those that differ (arm and arm64: arch/arm64/include/uapi/asm/fcntl.h)
    open_flags: tuple[tuple[int, int], ...] = ()
    # struct epoll_event is packed on x86-64 alone: include/uapi/linux/eventpoll.h
    epoll_event_packed: bool = False
    flock: Record = FLOCK_64
    # What the calls of 32-bit machines with 64 in their names use; on 64 bits the same as without
    stat64: Record | None = None
    statfs64: Record | None = None
    flock64: Record | None = None

    def flags_from_user(self, flags: int) -> int:
        """open(2)/fcntl(2) flags of this architecture in asm-generic numbering."""
        if not self.open_flags:
            return flags
        out = flags
        for user, _ in self.open_flags:
            out &= ~user
        for user, generic in self.open_flags:
            if flags & user:
                out |= generic
        return out

    def flags_to_user(self, flags: int) -> int:
        """The inverse."""
        if not self.open_flags:
            return flags
        out = flags
        for _, generic in self.open_flags:
            out &= ~generic
        for user, generic in self.open_flags:
            if flags & generic:
                out |= user
        return out
