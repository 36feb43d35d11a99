"""ipc(2): the one call of i386 and s390x for all of System V IPC.  ipc/syscall.c."""

from __future__ import annotations

from arch.abi.errno import EINVAL, ENOSYS
from arch.abi.ipc import IPC_64
from simkernel.ipc.face import IpcKernel
from simkernel.ipc.msg import sys_msgctl, sys_msgget, sys_msgrcv, sys_msgsnd
from simkernel.ipc.sem import sys_semctl, sys_semget, sys_semop, sys_semtimedop
from simkernel.ipc.shm import sys_shmat, sys_shmctl, sys_shmdt, sys_shmget
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import syscall

# include/uapi/linux/ipc.h
SEMOP, SEMGET, SEMCTL, SEMTIMEDOP = 1, 2, 3, 4
MSGSND, MSGRCV, MSGGET, MSGCTL = 11, 12, 13, 14
SHMAT, SHMDT, SHMGET, SHMCTL = 21, 22, 23, 24


def _signed(value: int) -> int:
    return ((value & 0xFFFFFFFF) ^ 1 << 31) - (1 << 31)


def _msgrcv(k: IpcKernel, version: int, first: int, second: int, third: int, ptr: int, fifth: int) -> Body:
    """Version 0 passes buffer and type in a block (struct ipc_kludge)."""
    word = k.arch.word
    if not version:
        if not ptr:
            return -EINVAL
        msgp, kind = k.usercopy.get_user(ptr, word), k.usercopy.get_user(ptr + word, word, signed=True)
        return (yield from sys_msgrcv(k, first, msgp, second, kind, _signed(third)))
    kind = k.regs.signed_word(fifth)
    return (yield from sys_msgrcv(k, first, ptr, second, kind, _signed(third)))


@syscall(
    "ipc", "unsigned int call, int first, unsigned long second, unsigned long third, void *ptr, long fifth",
    source="ipc/syscall.c",
)  # fmt: skip
def sys_ipc(k: IpcKernel, call: int, first: int, second: int, third: int, ptr: int, fifth: int) -> Body:
    """By number.  ENOSYS, EINVAL."""
    version, call = call >> 16, call & 0xFFFF
    if call in (MSGCTL, SHMCTL) and k.arch.word == 4:
        second &= ~IPC_64
    if call == SEMCTL and k.arch.word == 4:
        third &= ~IPC_64
    word = k.arch.word
    if call in (SEMOP, SEMTIMEDOP):
        timeout = 0 if call == SEMOP else (third if k.arch.calls.ipc_third_is_timeout else fifth & (1 << 8 * word) - 1)
        body = sys_semop(k, first, ptr, second) if not timeout else sys_semtimedop(k, first, ptr, second, timeout)
        return (yield from body)
    if call == SEMGET:
        return sys_semget(k, first, _signed(second), _signed(third))
    if call == SEMCTL:
        return (
            -EINVAL
            if not ptr
            else sys_semctl(k, first, _signed(second), _signed(third), k.usercopy.get_user(ptr, word))
        )
    if call == MSGSND:
        return (yield from sys_msgsnd(k, first, ptr, second, _signed(third)))
    if call == MSGRCV:
        return (yield from _msgrcv(k, version, first, second, third, ptr, fifth))
    if call == MSGGET:
        return sys_msgget(k, first, _signed(second))
    if call == MSGCTL:
        return sys_msgctl(k, first, _signed(second), ptr)
    if call == SHMAT:
        address = yield from sys_shmat(k, first, ptr, _signed(second))
        if not k.regs.is_err(address):
            k.usercopy.put_user(third, word, address)
            return 0
        return k.regs.ptr_err(address)
    if call == SHMDT:
        return sys_shmdt(k, ptr)
    if call == SHMGET:
        return sys_shmget(k, first, second, _signed(third))
    if call == SHMCTL:
        return sys_shmctl(k, first, _signed(second), ptr)
    return -ENOSYS
