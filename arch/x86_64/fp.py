"""The FXSAVE image.  struct fxregs_state, arch/x86/include/asm/fpu/types.h"""

from __future__ import annotations

from unicorn import x86_const as x86

from arch.abi.signal import FPE_FLTDIV, FPE_FLTINV, FPE_FLTOVF, FPE_FLTRES, FPE_FLTUND
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


# What a program and a handler of a signal begin with.  arch/x86/kernel/fpu/core.c:fpstate_init_user()
FCW, MXCSR = 0x37F, 0x1F80
X86_CR0_NE = 1 << 5  # errors of x87 are exceptions of the CPU's own
INITIAL = (
    FCW.to_bytes(2, "little") + bytes(22) + MXCSR.to_bytes(4, "little") + (0xFFFF).to_bytes(4, "little") + bytes(480)
)


# Bits of the status word that the control word does not mask -> si_code, the first that fits.  fpu__exception_code()
_CODES = ((0x01, FPE_FLTINV), (0x04, FPE_FLTDIV), (0x08, FPE_FLTOVF), (0x12, FPE_FLTUND), (0x20, FPE_FLTRES))


def _exception(image: bytes) -> int:
    """What an exception of x87 was about."""
    control, status = int.from_bytes(image[:2], "little"), int.from_bytes(image[2:4], "little")
    return next((code for bits, code in _CODES if status & ~control & bits), 0)


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
        exception=_exception,
    )
