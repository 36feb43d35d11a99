"""How a C compiler lays out basic types: word size, byte order and the few alignments that differ.

Sizes and alignments in bytes.  The psABI documents of each architecture; the kernel itself is built with them.
"""

from __future__ import annotations

from typing import Literal

from arch.records import dataclass

ByteOrder = Literal["little", "big"]


@dataclass(frozen=True)
class DataModel:
    """One ABI's basic types.  `word` is the size of long and of a pointer."""

    name: str
    byteorder: ByteOrder
    word: int
    long_long_align: int
    # Plain `char`, as the ABI has it; kernels before 6.2 follow the ABI, later ones say -funsigned-char.
    char_signed: bool = False

    @property
    def word_bits(self) -> int:
        return 8 * self.word


LP64_LE = DataModel("lp64-le", "little", 8, 8, char_signed=True)  # x86-64
LP64_LE_UNSIGNED_CHAR = DataModel("lp64-le-uchar", "little", 8, 8)  # arm64, riscv64
LP64_BE = DataModel("lp64-be", "big", 8, 8)  # s390x
ILP32_LE_I386 = DataModel("ilp32-i386", "little", 4, 4, char_signed=True)  # long long aligns to 4 inside structs
ILP32_LE_ARM = DataModel("ilp32-arm", "little", 4, 8)
