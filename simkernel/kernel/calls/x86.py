"""Calls that x86 alone has: ports, and descriptors of the process's own.  arch/x86/kernel/{ioport,ldt}.c.

No device has ports, and the emulator lets every program use them: what is written goes nowhere.  There are no descriptors of a process: who makes one is told ENOSYS.
"""

from __future__ import annotations

from arch.abi.capability import CAP_SYS_RAWIO
from arch.abi.errno import EINVAL, ENOSYS, EPERM
from arch.abi.limits import U32_MAX
from arch.errors import KernelError
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import syscall

IO_BITMAP_BITS = 1 << 16
LDT_READ, LDT_WRITE_OLD, LDT_READ_DEFAULT, LDT_WRITE = 0, 1, 2, 0x11
LDT_ENTRIES, USER_DESC_SIZE, DEFAULT_LDT_SIZE = 8192, 16, 128


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


@syscall("modify_ldt", "int func, void *ptr, unsigned long bytecount", source="arch/x86/kernel/ldt.c")
def sys_modify_ldt(k: KernelFace, func: int, ptr: int, bytecount: int) -> int:
    """The process's own descriptors: none can be made.  The result is 32 bits of it, also of an error: EFAULT, EINVAL, ENOSYS."""
    try:
        return _modify_ldt(k, func, ptr, bytecount)
    except KernelError as error:
        return -error.errno & U32_MAX


def _modify_ldt(k: KernelFace, func: int, ptr: int, bytecount: int) -> int:
    if func == LDT_READ:
        return 0
    if func == LDT_READ_DEFAULT:
        size = min(bytecount, DEFAULT_LDT_SIZE)
        k.usercopy.copy_to_user(ptr, bytes(size))
        return size
    if func in (LDT_WRITE_OLD, LDT_WRITE):
        if bytecount != USER_DESC_SIZE:
            raise KernelError(EINVAL)
        raw = k.usercopy.copy_from_user(ptr, USER_DESC_SIZE)
        if int.from_bytes(raw[:4], k.mem.byteorder) >= LDT_ENTRIES:
            raise KernelError(EINVAL)
    raise KernelError(ENOSYS)
