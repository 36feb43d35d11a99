"""How a C compiler lays out basic types: word size, byte order and the few alignments that differ.

Sizes and alignments in bytes.  The psABI documents of each architecture; the kernel itself is built with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ByteOrder = Literal["little", "big"]

# Plain `char` is unsigned in these ABIs (kernels before 6.2 follow the ABI, later ones say -funsigned-char).
CHAR_IS_UNSIGNED = frozenset({"arm", "arm64", "riscv64", "s390x", "ppc64le"})


@dataclass(frozen=True)
class DataModel:
    """One ABI's basic types.  `word` is the size of long and of a pointer."""

    name: str
    byteorder: ByteOrder
    word: int
    long_long_align: int

    @property
    def word_bits(self) -> int:
        return 8 * self.word


LP64_LE = DataModel("lp64-le", "little", 8, 8)  # x86-64, arm64, riscv64
LP64_BE = DataModel("lp64-be", "big", 8, 8)  # s390x
ILP32_LE_I386 = DataModel("ilp32-i386", "little", 4, 4)  # long long and double align to 4 inside structs
ILP32_LE_ARM = DataModel("ilp32-arm", "little", 4, 8)
