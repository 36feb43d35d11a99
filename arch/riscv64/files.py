"""How riscv64 programs see files.  asm-generic/stat.h.  Offsets and sizes in bytes."""

from __future__ import annotations

from arch.abi.files import STAT_GENERIC, STATFS_64, FileAbi

FILES = FileAbi(STAT_GENERIC, STATFS_64)
