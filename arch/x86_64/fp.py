"""The FXSAVE image.  struct fxregs_state, arch/x86/include/asm/fpu/types.h"""

from __future__ import annotations

from unicorn import x86_const as x86

from arch.fpstate import FpImage, Piece

_TAG = 4  # offset of the tag word


def _abridge(image: bytearray) -> None:
    """The full tag word (two bits a register, 3 is empty) to FXSAVE's one bit, 1 for in use; and fixed fields."""
    full = int.from_bytes(image[_TAG : _TAG + 2], "little")
    image[_TAG : _TAG + 2] = bytes((sum(1 << i for i in range(8) if full >> 2 * i & 3 != 3), 0))
    image[28:32] = (0xFFFF).to_bytes(4, "little")  # mxcsr_mask


def _expand(image: bytearray) -> None:
    """One bit to two: in use becomes 0 (valid)."""
    used = image[_TAG]
    full = sum((0 if used >> i & 1 else 3) << 2 * i for i in range(8))
    image[_TAG : _TAG + 2] = full.to_bytes(2, "little")


def image(xmm: int) -> FpImage:
    """FXSAVE with this many XMM registers: 16, or 8 in 32-bit mode."""
    return FpImage(
        size=512,
        pieces=(
            Piece(x86.UC_X86_REG_FPSW, 2, 2),  # before the stack registers: it holds the top of stack
            Piece(x86.UC_X86_REG_FPCW, 0, 2),
            Piece(x86.UC_X86_REG_FPTAG, _TAG, 2),
            Piece(x86.UC_X86_REG_MXCSR, 24, 4),
            *(Piece(x86.UC_X86_REG_ST0 + i, 32 + 16 * i, 10) for i in range(8)),
            *(Piece(x86.UC_X86_REG_XMM0 + i, 160 + 16 * i, 16) for i in range(xmm)),
        ),
        after_read=_abridge,
        before_write=_expand,
    )
