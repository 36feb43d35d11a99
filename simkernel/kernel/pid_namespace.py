"""Pid namespaces: the numbers that tasks have inside them.  kernel/pid_namespace.c, kernel/pid.c.

Everything in the kernel goes by the numbers of the initial namespace; a task is known by one more in each namespace
that it is in.  None stands for the initial namespace.
"""

from __future__ import annotations

from collections.abc import Sequence

from arch.abi.errno import EAGAIN, ENOMEM
from arch.errors import KernelError
from simkernel.kernel.namespaces import Namespace

PID_MAX, RESERVED_PIDS = 32768, 300
MAX_PID_LEVEL = 32


class PidNamespace:
    """struct pid_namespace."""

    def __init__(self, parent: PidNamespace | None) -> None:
        self.parent = parent
        self.level: int = parent.level + 1 if parent is not None else 1
        self.number: dict[int, int] = {}  # of a task of the initial namespace: its number here
        self.real: dict[int, int] = {}  # and back
        self.last = 0
        self.reaper = 0  # pid of its init
        self.dead = False
        self.holder: Namespace | None = None  # which it is the state of

    def chain(self) -> list[PidNamespace]:
        """This and those around it, without the initial one."""
        return [self] if self.parent is None else [self, *self.parent.chain()]

    def add(self, pid: int, wanted: Sequence[int] = ()) -> None:
        """alloc_pid(): numbers here and around for a new task; the first one is init.  ENOMEM when that has ended.

        `wanted` are those that clone3(2) asked for, innermost first.
        """
        if self.dead:
            raise KernelError(ENOMEM, "its init is gone")
        for depth, level in enumerate(self.chain()):
            level._take(pid, wanted[depth] if depth < len(wanted) else 0)
        if not self.reaper:
            self.reaper = pid

    def _take(self, pid: int, wanted: int) -> None:
        if wanted:
            self.number[pid], self.real[wanted] = wanted, pid
            return
        for _ in range(PID_MAX):
            self.last = self.last + 1 if self.last < PID_MAX - 1 else RESERVED_PIDS
            if self.last not in self.real:
                self.number[pid], self.real[self.last] = self.last, pid
                return
        raise KernelError(EAGAIN)

    def forget(self, pid: int) -> None:
        """free_pid()."""
        for level in self.chain():
            number = level.number.pop(pid, None)
            if number is not None:
                del level.real[number]

    def contains(self, other: PidNamespace | None) -> bool:
        """It is this one or one below."""
        while other is not None:
            if other is self:
                return True
            other = other.parent
        return False
