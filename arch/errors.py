"""The two expected kinds of failure, shared by every floor.

`KernelError` is the kernel refusing; it becomes -errno where a kernel function returns.  `Fault` is an access to
an address where nothing (permitted) is mapped; it becomes -EFAULT or a signal.  Any other exception is our bug.
`CorruptMemory` is neither: a program that should not have run wrote where only the kernel writes.
The numbers are in arch/abi/errno.py.
"""

from __future__ import annotations

from arch.abi.errno import EIO, errno_name


class KernelError(Exception):
    """The kernel refuses: carries the (positive) errno and, for people, why."""

    def __init__(self, errno: int, why: str = "") -> None:
        super().__init__(errno, why)
        self.errno = errno
        self.why = why

    def __str__(self) -> str:
        return f"{errno_name(self.errno)}: {self.why}" if self.why else errno_name(self.errno)


class Poisoned(KernelError):
    """A page that is said to be broken (mm/memory-failure.c): SIGBUS with BUS_MCEERR_AR, EIO of a call."""

    def __init__(self) -> None:
        super().__init__(EIO, "the page is broken")


class Fault(Exception):
    """An access to memory that is not mapped, or not for this kind of access."""

    def __init__(self, address: int, access: str = "read") -> None:
        super().__init__(address, access)
        self.address = address
        self.access = access  # "read", "write" or "exec"

    def __str__(self) -> str:
        return f"{self.access} fault at {self.address:#x}"


class CorruptMemory(Exception):
    """Simulated memory says what the kernel never wrote there: the end of the machine, and of nothing else."""
