"""Syscall user dispatch: calls from outside one range of addresses become SIGSYS, while a byte of the task's memory says so.

kernel/entry/syscall_user_dispatch.c; on the architectures with the generic entry code.
"""

from __future__ import annotations

from arch.abi.errno import EFAULT, EINVAL
from arch.abi.prctl import (
    PR_SYS_DISPATCH_OFF,
    PR_SYS_DISPATCH_ON,
    SYSCALL_DISPATCH_FILTER_ALLOW,
    SYSCALL_DISPATCH_FILTER_BLOCK,
)
from arch.abi.signal import SIG_DFL, SIGSEGV, SIGSYS
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.kernel.face import KernelFace
from simkernel.kernel.sigpending import SigInfo

WORK_USER_DISPATCH = 1 << 6  # SYSCALL_WORK_SYSCALL_USER_DISPATCH
SYS_USER_DISPATCH = 2  # si_code of SIGSYS


@dataclass(frozen=True, slots=True)
class UserDispatch:
    """struct syscall_user_dispatch."""

    selector: int  # address of the byte, 0 for always
    offset: int
    length: int


def set_syscall_user_dispatch(k: KernelFace, mode: int, offset: int, length: int, selector: int) -> int:
    """PR_SET_SYSCALL_USER_DISPATCH.  EINVAL, EFAULT."""
    task = k.current
    if not k.arch.calls.generic_entry:
        raise KernelError(EINVAL)
    mask = (1 << 8 * k.arch.word) - 1
    if mode == PR_SYS_DISPATCH_OFF:
        if offset or length or selector:
            raise KernelError(EINVAL)
    elif mode == PR_SYS_DISPATCH_ON:
        if offset and (offset + length) & mask <= offset:
            raise KernelError(EINVAL, "the range is empty or wraps")
        if selector >= k.mm.layout.task_size:
            raise KernelError(EFAULT)
    else:
        raise KernelError(EINVAL)
    if mode == PR_SYS_DISPATCH_ON:
        task.user_dispatch = UserDispatch(selector, offset, length)
        task.syscall_work |= WORK_USER_DISPATCH
    else:
        task.user_dispatch = None
        task.syscall_work &= ~WORK_USER_DISPATCH
    return 0


def syscall_user_dispatch(k: KernelFace, regs: int, nr: int) -> bool:
    """True when the call is not made: the task gets SIGSYS instead, its registers as they were."""
    task = k.current
    asked = task.user_dispatch
    assert isinstance(asked, UserDispatch)
    ip = k.regs.get(regs, k.arch.instruction_pointer)
    if 0 <= ip - asked.offset < asked.length:
        return False
    if k.arch.calls.vdso_sigreturn and task.mm is not None and k.mm.is_trampoline(ip):
        return False  # arch_syscall_is_vdso_sigreturn()
    if asked.selector:
        try:
            state = k.usercopy.get_user(asked.selector, 1)
        except KernelError:
            _force_exit(k, SIGSEGV)
            return True
        if state == SYSCALL_DISPATCH_FILTER_ALLOW:
            return False
        if state != SYSCALL_DISPATCH_FILTER_BLOCK:
            _force_exit(k, SIGSYS)
            return True
    k.regs.set(regs, k.abi.result, nr)  # syscall_rollback()
    info = SigInfo(SIGSYS, SYS_USER_DISPATCH)
    info.addr, info.call = ip, (nr, k.arch.calls.audit_arch)
    k.signals.force_info(task, info)
    return True


def _force_exit(k: KernelFace, sig: int) -> None:
    """force_exit_sig(): no handler can take it."""
    actions = k.current.signal.actions
    actions[sig] = actions[sig].handled_by(SIG_DFL)
    k.signals.force_info(k.current, SigInfo(sig))
