"""Limits of C's integer types and of Linux's interfaces.  include/linux/limits.h, include/vdso/limits.h, uio.h, fs.h."""

from __future__ import annotations

U8_MAX, U16_MAX, U32_MAX, U64_MAX = ((1 << bits) - 1 for bits in (8, 16, 32, 64))
INT_MAX = S32_MAX = (1 << 31) - 1
INT_MIN = -(1 << 31)
UINT_MAX = U32_MAX
S64_MAX = LLONG_MAX = (1 << 63) - 1
ULLONG_MAX = U64_MAX

PAGE_SHIFT = 12  # every machine here has pages of 4 KiB
PAGE_SIZE = 1 << PAGE_SHIFT
KMALLOC_MAX_SIZE = 1 << 22  # bytes: MAX_ORDER 11
PATH_MAX = 4096  # bytes, with the terminating zero
NAME_MAX = 255
XATTR_NAME_MAX = 255
TASK_COMM_LEN = 16  # bytes, with the terminating zero
IOV_MAX = 1024
MAX_RW_COUNT = 0x7FFFF000  # bytes of one read or write: INT_MAX & PAGE_MASK
MAX_LFS_FILESIZE = S64_MAX
OVERFLOWUID = 65534  # DEFAULT_OVERFLOWUID, include/linux/highuid.h
