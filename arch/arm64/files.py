"""How arm64 programs see files.  asm-generic/stat.h, arch/arm64/include/uapi/asm/fcntl.h.  Offsets and sizes in bytes."""

from __future__ import annotations

from arch.abi.files import STAT_GENERIC, STATFS_64, FileAbi
from arch.arm.files import OPEN_FLAGS

FILES = FileAbi(STAT_GENERIC, STATFS_64, open_flags=OPEN_FLAGS)
