"""What iopl(2) is since Linux 5.5: a right to ports, not to cli and sti, which then do nothing.  arch/x86/kernel/traps.c."""

from __future__ import annotations

from arch.errors import KernelError
from simkernel.kernel.face import KernelFace

ALL_PORTS = 3  # level of iopl(2)
CLI, STI = 0xFA, 0xFB


def fixed_up(k: KernelFace, regs: int) -> bool:
    """fixup_iopl_exception(): was the instruction one of these, and is it passed over?"""
    if k.current.iopl != ALL_PORTS:
        return False
    ip = k.regs.get(regs, k.arch.instruction_pointer)
    try:
        passed = k.usercopy.get_user(ip, 1) in (CLI, STI)
    except KernelError:
        return False
    if passed:
        k.regs.set(regs, k.arch.instruction_pointer, ip + 1)
    return passed
