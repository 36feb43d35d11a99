"""Calls that x86 alone has: ports.  arch/x86/kernel/ioport.c.

No device has ports, and the emulator lets every program use them: what is written goes nowhere.
"""

from __future__ import annotations

from arch.abi.capability import CAP_SYS_RAWIO
from arch.abi.errno import EINVAL, EPERM
from arch.errors import KernelError
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import syscall

IO_BITMAP_BITS = 1 << 16


def _by_privilege(k: KernelFace) -> None:
    if not k.capable(CAP_SYS_RAWIO):
        raise KernelError(EPERM)


@syscall("ioperm", "unsigned long from, unsigned long num, int turn_on", source="arch/x86/kernel/ioport.c")
def sys_ioperm(k: KernelFace, first: int, num: int, turn_on: int) -> int:
    """Permission for ports.  EINVAL, EPERM."""
    if first + num & (1 << 8 * k.arch.word) - 1 <= first or first + num > IO_BITMAP_BITS:
        raise KernelError(EINVAL)
    if turn_on:
        _by_privilege(k)
    return 0


@syscall("iopl", "unsigned int level", source="arch/x86/kernel/ioport.c")
def sys_iopl(k: KernelFace, level: int) -> int:
    """Permission for all ports.  EINVAL, EPERM."""
    if level > 3:
        raise KernelError(EINVAL)
    if level > k.current.iopl:
        _by_privilege(k)
    k.current.iopl = level
    return 0
