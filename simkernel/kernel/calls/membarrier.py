"""membarrier(2): memory seen in one order by all CPUs.  kernel/sched/membarrier.c.

Simulated CPUs see it so anyway; what is kept is who has registered for which command.
"""

from __future__ import annotations

from typing import NamedTuple

from arch.abi.errno import EINVAL, EPERM
from arch.errors import KernelError
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import syscall

MEMBARRIER_CMD_QUERY = 0
MEMBARRIER_CMD_FLAG_CPU = 1


class Command(NamedTuple):
    """One MEMBARRIER_CMD_*: its bit, the command that allows it (0: none needed), whether it is such a one, and the flags it takes."""

    bit: int
    since: str
    needs: int = 0
    registers: bool = False
    flags: int = 0


# include/uapi/linux/membarrier.h
SYNC_CORE = 1 << 5 | 1 << 6
COMMANDS = (
    Command(1 << 0, "4.3"),  # GLOBAL
    Command(1 << 1, "4.16"),  # GLOBAL_EXPEDITED
    Command(1 << 2, "4.16", registers=True),
    Command(1 << 3, "4.14", needs=1 << 4),  # PRIVATE_EXPEDITED
    Command(1 << 4, "4.14", registers=True),
    Command(1 << 5, "4.16", needs=1 << 6),  # PRIVATE_EXPEDITED_SYNC_CORE
    Command(1 << 6, "4.16", registers=True),
    Command(1 << 7, "5.10", needs=1 << 8, flags=MEMBARRIER_CMD_FLAG_CPU),  # PRIVATE_EXPEDITED_RSEQ
    Command(1 << 8, "5.10", registers=True),
)


@syscall("membarrier", "int cmd, unsigned int flags, int cpu_id", source="kernel/sched/membarrier.c", since="4.3")
def sys_membarrier(k: KernelFace, cmd: int, flags: int, cpu_id: int) -> int:
    """EINVAL; EPERM for a command that the process has not registered for."""
    left_out = 0 if k.arch.calls.syncs_cores else SYNC_CORE
    known = {row.bit: row for row in COMMANDS if k.version.at_least(row.since) and not row.bit & left_out}
    row = known.get(cmd)
    if flags & ~(row.flags if row is not None else 0) or (row is None and cmd != MEMBARRIER_CMD_QUERY):
        raise KernelError(EINVAL)
    if row is None:
        return sum(known)
    mm = k.current.mm
    if mm is not None and row.registers:
        mm.membarrier_state |= cmd
    if row.needs and (mm is None or not mm.membarrier_state & row.needs):
        raise KernelError(EPERM)
    return 0
