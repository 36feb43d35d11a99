"""FP and vector registers as the bytes that signal frames hold.

An image is a table of pieces, register by register; Cpu.fp_state() and set_fp_state() copy it in one crossing.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.records import dataclass

Convert = Callable[[bytearray], None]


@dataclass(frozen=True, slots=True)
class Piece:
    """One register: the emulator's number, offset and size in the image (bytes)."""

    register: int
    offset: int
    size: int


@dataclass(frozen=True)
class FpImage:
    """Layout of the FP state in a signal frame.  Pieces are written in this order."""

    size: int
    pieces: tuple[Piece, ...]
    big_endian: bool = False
    after_read: Convert | None = None  # from what the emulator gives to what user space sees
    before_write: Convert | None = None
    exception: Callable[[bytes], int] | None = None  # si_code of an FP exception, from the image; 0: none is pending

    def swapped(self, image: bytearray) -> None:
        """Host byte order to machine byte order, or back."""
        if self.big_endian:
            for piece in self.pieces:
                end = piece.offset + piece.size
                image[piece.offset : end] = image[piece.offset : end][::-1]
