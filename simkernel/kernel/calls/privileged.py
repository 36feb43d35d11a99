"""Calls about hardware and the machine as a whole that this machine does not have: who may not ask is told so first, as in Linux.

kernel/module/main.c, kernel/kexec.c, mm/swapfile.c, kernel/acct.c.  Whoever may ask gets ENOSYS.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from arch.abi.capability import CAP_SYS_BOOT
from arch.abi.errno import ENOSYS, EPERM
from arch.errors import KernelError
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import syscall


class Row(NamedTuple):
    """A call, its parameters, its file and the capability that it wants."""

    name: str
    params: str
    source: str
    cap: int


ROWS = (
    Row("kexec_load", "unsigned long entry, unsigned long nr_segments, void *segments, unsigned long flags", "kernel/kexec.c", CAP_SYS_BOOT),
)  # fmt: skip


def _body(row: Row) -> Callable[..., int]:
    def refuse(k: KernelFace, *args: int) -> int:
        raise KernelError(ENOSYS if k.capable(row.cap) else EPERM, row.name)

    refuse.__doc__ = f"{row.name}(2).  EPERM, ENOSYS."
    return refuse


for _row in ROWS:
    syscall(_row.name, _row.params, source=_row.source)(_body(_row))
