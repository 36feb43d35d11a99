"""Security modules by number (6.8), and what only compilers and uprobes call.  security/lsm_syscalls.c, arch/x86/kernel/."""

from __future__ import annotations

from arch.abi.errno import E2BIG, EINVAL, EOPNOTSUPP, EPERM, EPROTO
from arch.abi.signal import SI_KERNEL, SIGILL
from arch.errors import KernelError
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import syscall

# lockdown, capability, landlock, yama, apparmor, tomoyo, bpf, ipe, ima, evm: those of Debian's 6.12 and 7.2, in their order
MODULES = (108, 100, 110, 105, 104, 103, 109, 113, 111, 112)


@syscall("lsm_list_modules", "u64 *ids, u32 *size, u32 flags", source="security/lsm_syscalls.c", since="6.8")
def sys_lsm_list_modules(k: KernelFace, ids: int, size: int, flags: int) -> int:
    """How many there are; their numbers go to `ids`, their bytes to `size`.  EINVAL, EFAULT, E2BIG."""
    if flags:
        raise KernelError(EINVAL)
    room = k.usercopy.get_user(size, 4)
    k.usercopy.put_user(size, 4, 8 * len(MODULES))
    if room < 8 * len(MODULES):
        raise KernelError(E2BIG)
    k.usercopy.copy_to_user(ids, b"".join(number.to_bytes(8, k.mem.byteorder) for number in MODULES))
    return len(MODULES)


@syscall(
    "map_shadow_stack",
    "unsigned long addr, unsigned long size, unsigned int flags",
    source="arch/x86/kernel/shstk.c",
    since="6.6",
)
def sys_map_shadow_stack(k: KernelFace, addr: int, size: int, flags: int) -> int:
    """EOPNOTSUPP: the CPU has no shadow stacks."""
    raise KernelError(EOPNOTSUPP)


@syscall("uretprobe", "", source="arch/x86/kernel/uprobes.c", since="6.11")
def sys_uretprobe(k: KernelFace) -> int:
    """Only the kernel's own trampoline may call it: SIGILL."""
    k.signals.force(k.current, SIGILL, SI_KERNEL, 0)
    return -EPERM


@syscall("uprobe", "", source="arch/x86/kernel/uprobes.c", since="6.18")
def sys_uprobe(k: KernelFace) -> int:
    """EPROTO: it is for the kernel's trampolines in place of breakpoints, and there are none here."""
    raise KernelError(EPROTO)
