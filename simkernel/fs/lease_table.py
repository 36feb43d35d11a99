"""The leases that open files hold (leases.py has the calls).  include/linux/filelock.h."""

from __future__ import annotations

from arch.abi.fcntl import FASYNC
from arch.records import dataclass
from simkernel.fs.inode import File, Inode
from simkernel.kernel.face import KernelFace
from simkernel.kernel.task import WaitQueue


@dataclass(eq=False)
class Lease:
    """struct file_lock with FL_LEASE."""

    file: File
    fd: int
    kind: int
    target: int  # what it is to become: its kind, or less while somebody waits
    pid: int  # whose
    place: tuple[int, int]  # in /proc/locks
    break_ns: int = 0  # until when


@dataclass(eq=False)
class Breaker:
    """Who waits until leases of an inode are given up."""

    inode: Inode
    kind: int  # what it wants: F_RDLCK or F_WRLCK
    pid: int


class Leases:
    """`k.vfs.leases`: all there are, by inode."""

    def __init__(self) -> None:
        self.held: dict[Inode, list[Lease]] = {}
        self.broken = WaitQueue("fl_wait")
        self.breakers: list[Breaker] = []

    def of(self, file: File) -> Lease | None:
        """The one that an open file holds."""
        return next((lease for lease in self.held.get(file.f_inode, ()) if lease.file is file), None)

    def drop(self, k: KernelFace, lease: Lease) -> None:
        """lease_modify(F_UNLCK)."""
        file, inode = lease.file, lease.file.f_inode
        if file.f_owner is not None:
            file.f_owner.disown()
        file.f_flags &= ~FASYNC
        self.held[inode].remove(lease)
        if not self.held[inode]:
            del self.held[inode]
        k.wake_up(self.broken, 0)

    def closed(self, k: KernelFace, file: File) -> None:
        """locks_remove_lease()."""
        lease = self.of(file)
        if lease is not None:
            self.drop(k, lease)
