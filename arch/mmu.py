"""The MMU: page tables of user address spaces, and Python's view of user memory.

A user address space is a radix tree of page tables that lives in simulated physical memory (four levels of 512
64-bit entries, the same on every architecture; only our own TLB fill walks it).  The native TLB fill in arch/native.py
reads the tables directly; Python changes them here.  After a change that takes rights away, the CPU's TLB entry must go:
`AddressSpace` tells its CPU itself when it is the current one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from arch.errors import Fault
from arch.memory import ByteOrder, PhysicalMemory

# Page-table entry: pfn << 12 | flags.  Native 64-bit words of the host.
PTE_PRESENT = 1
PTE_READ = 2
PTE_WRITE = 4
PTE_EXEC = 8
PTE_SOFT_SHIFT = 4  # bits 4..11 are free for the kernel (copy-on-write marks and the like)
PTE_FLAGS = 0xFFF
PTE_NONE = 0


class AddressSpace:
    """The page tables of one process.  Addresses below `limit` only."""

    def __init__(self, phys: PhysicalMemory, limit: int, byteorder: ByteOrder) -> None: ...

    root: int  # physical address of the top table

    def map(self, addr: int, pfn: int, prot: int) -> None:
        """Enter one page: `prot` is PTE_READ|PTE_WRITE|PTE_EXEC and soft bits.  Takes no reference on the page."""

    def unmap(self, addr: int) -> int:
        """Remove one page; returns the old entry (0 if there was none).  Drops no reference."""
        raise NotImplementedError

    def protect(self, addr: int, prot: int) -> None:
        """Change the rights of a present page."""

    def entry(self, addr: int) -> int:
        """The page-table entry for the address; 0 when nothing is mapped."""
        raise NotImplementedError

    def entries(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """(page address, entry) of every present page in [start, end), in order."""
        raise NotImplementedError

    def destroy(self) -> None:
        """Free the page tables (not the pages)."""


class UserMemory:
    """Memory protocol over an AddressSpace, with user rights.  Raises Fault where a user access would.

    `on_fault(addr, access) -> bool` may bring a page in (demand paging, copy on write); True means try again.
    """

    byteorder: ByteOrder

    def __init__(self, space: AddressSpace, on_fault: Any = None) -> None: ...

    def read(self, addr: int, size: int) -> bytes:
        """Bytes at a user address."""
        raise Fault(addr, "read")

    def write(self, addr: int, data: bytes) -> None:
        """Store bytes; needs the write right."""
        raise Fault(addr, "write")

    def poke(self, addr: int, data: bytes) -> None:
        """Store bytes without the write right (breakpoints, ptrace); translated code there is dropped."""

    def read_uint(self, addr: int, size: int) -> int:
        """A number in the machine's byte order."""
        raise Fault(addr, "read")

    def write_uint(self, addr: int, size: int, value: int) -> None:
        """Store a number."""

    def read_cstring(self, addr: int, limit: int) -> bytes:
        """The bytes before the first NUL; all `limit` bytes if there is none."""
        raise Fault(addr, "read")
