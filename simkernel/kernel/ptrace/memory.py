"""Another task's memory, whatever its rights are.  mm/memory.c:access_process_vm()."""

from __future__ import annotations

from arch.abi.errno import EIO
from arch.abi.limits import PAGE_SIZE
from arch.errors import Fault, KernelError
from simkernel.kernel.areas import any_secret
from simkernel.kernel.task import Task


def read_memory(task: Task, address: int, size: int) -> bytes:
    """access_process_vm(): also what the task itself may not read.  EIO."""
    mm = task.mm
    if mm is None:
        raise KernelError(EIO)
    out = b""
    while len(out) < size:
        at = address + len(out)
        step = min(size - len(out), PAGE_SIZE - (at & PAGE_SIZE - 1))
        try:
            if any_secret(mm.overlaps(at, at + step)):
                raise KernelError(EIO)
            out += bytes(mm.user.read(at, step))
        except Fault:
            out += mm.peek(at, step)
    return out


def write_memory(task: Task, address: int, data: bytes) -> None:
    """access_process_vm(FOLL_WRITE | FOLL_FORCE): a private page is copied, whoever may write it.  EIO."""
    mm = task.mm
    if mm is None:
        raise KernelError(EIO)
    mm.poke(address, data)
