"""The page cache: a file's contents as pages of simulated physical memory.  mm/filemap.c, mm/shmem.c.

read(), write() and mmap() of a file see the same pages.  A page that was never written is a hole and takes no memory;
a file that comes from outside (a host file) has a `filler` that supplies a page's bytes at its first use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from arch.abi.errno import ENOSPC
from arch.abi.limits import PAGE_SHIFT, PAGE_SIZE
from arch.errors import KernelError, Poisoned


class PageHost(Protocol):
    """Whose pages they are: address_space.host."""

    @property
    def ino(self) -> int: ...
    @property
    def dev(self) -> int: ...


class PagePool(Protocol):
    """Physical pages with reference counts; addresses are physical, accesses stay inside one page."""

    def alloc_page(self) -> int:
        """A zeroed page with one reference."""

    def get_page(self, phys: int) -> None:
        """One more reference."""

    def put_page(self, phys: int) -> None:
        """One reference less; freed at none."""

    def comes(self, host: PageHost, index: int, phys: int) -> None:
        """A new page holds this part of a file that is on a disk."""

    def leaves(self, host: PageHost, index: int, phys: int) -> None:
        """The file has this page no more: put_page()."""

    def charge(self, size: int) -> None:
        """Bytes of memory for what is no page; negative: back.  KernelError(ENOMEM)."""

    def read(self, phys: int, size: int) -> bytes: ...

    def write(self, phys: int, data: bytes) -> None: ...


def xattr_room(xattrs: dict[bytes, bytes]) -> int:
    """Bytes of memory that extended attributes take."""
    return sum(len(name) + len(value) + 48 for name, value in xattrs.items())


class PlainPages:
    """A PagePool of plain Python: for tests without a machine."""

    def __init__(self) -> None:
        self.frames: dict[int, bytearray] = {}
        self.refs: dict[int, int] = {}
        self.next = PAGE_SIZE

    def charge(self, size: int) -> None:
        """There is enough."""

    def alloc_page(self) -> int:
        """A zeroed page with one reference."""
        phys, self.next = self.next, self.next + PAGE_SIZE
        self.frames[phys] = bytearray(PAGE_SIZE)
        self.refs[phys] = 1
        return phys

    def get_page(self, phys: int) -> None:
        """One more reference."""
        self.refs[phys] += 1

    def put_page(self, phys: int) -> None:
        """One reference less; freed at none."""
        self.refs[phys] -= 1
        if not self.refs[phys]:
            del self.refs[phys], self.frames[phys]

    def comes(self, host: PageHost, index: int, phys: int) -> None:
        """Nobody listens."""

    def leaves(self, host: PageHost, index: int, phys: int) -> None:
        """put_page()."""
        self.put_page(phys)

    def read(self, phys: int, size: int) -> bytes:
        """Bytes inside one page."""
        offset = phys & (PAGE_SIZE - 1)
        return bytes(self.frames[phys - offset][offset : offset + size])

    def write(self, phys: int, data: bytes) -> None:
        """Store inside one page."""
        offset = phys & (PAGE_SIZE - 1)
        self.frames[phys - offset][offset : offset + len(data)] = data


class Mapping:
    """struct address_space: page index -> physical page."""

    __slots__ = ("at_hand", "filler", "given", "host", "limit", "on_disk", "pages", "poisoned", "pool")

    def __init__(
        self, pool: PagePool, host: PageHost, filler: Callable[[int], bytes] | None = None,
        limit: Callable[[], bool] | None = None,
    ) -> None:  # fmt: skip
        self.pool, self.host = pool, host
        self.pages: dict[int, int] = {}
        # pages that fallocate() took and nobody used: not uptodate, and a hole to who looks
        self.given: dict[int, int] = {}
        self.poisoned: set[int] = set()  # pages of memory's own file systems that are broken
        self.filler = filler  # page index -> its bytes (shorter at the end of the file)
        self.on_disk = filler is not None  # not tmpfs, whose files may be filled late, too
        self.at_hand = True  # False: it reads a disk
        self.limit = limit  # False when the file system is full

    @property
    def swap_backed(self) -> bool:
        """Its pages have no home but memory: tmpfs and its like."""
        return self.filler is None

    def cached(self, index: int) -> int | None:
        """A page that is there, or that the host has: what its filler brings costs the machine nothing."""
        phys = self.pages.get(index)
        return self.page(index) if phys is None and self.filler is not None and self.at_hand else phys

    @property
    def nrpages(self) -> int:
        """Pages present."""
        return len(self.pages) + len(self.given)

    def page(self, index: int) -> int:
        """The page's physical address, made (and filled) if absent."""
        phys = self.pages.get(index)
        if phys is None:
            phys = self.pages[index] = self.given.pop(index, 0) or self._new(index)
            if self.on_disk:
                self.pool.comes(self.host, index, phys)
            if self.filler is not None:
                data = self.filler(index)
                if data:
                    self.pool.write(phys, data)
        return phys

    def _new(self, index: int) -> int:
        """A page for this place."""
        if index in self.poisoned:
            raise Poisoned
        if self.limit is not None and not self.limit() and self.filler is None:  # what is filled was there before
            raise KernelError(ENOSPC, "file system full")
        return self.pool.alloc_page()

    def give(self, index: int) -> bool:
        """shmem_get_folio(SGP_FALLOC): whether a page was made; one that was there is from now on used."""
        if index in self.pages or index in self.given:
            self.page(index)
            return False
        self.given[index] = self._new(index)
        return True

    def read(self, pos: int, size: int) -> bytes:
        """`size` bytes from `pos`; holes read as zeros.  The caller has clipped at the end of the file."""
        if size <= 0:
            return b""
        index, offset = pos >> PAGE_SHIFT, pos & (PAGE_SIZE - 1)
        if offset + size <= PAGE_SIZE:
            return self._piece(index, offset, size)
        parts = []
        while size > 0:
            step = min(PAGE_SIZE - offset, size)
            parts.append(self._piece(index, offset, step))
            size -= step
            index += 1
            offset = 0
        return b"".join(parts)

    def _piece(self, index: int, offset: int, size: int) -> bytes:
        phys = self.pages.get(index)
        if phys is None:
            if self.filler is None and index not in self.poisoned:
                return bytes(size)
            phys = self.page(index)
        return self.pool.read(phys + offset, size)

    def write(self, pos: int, data: bytes) -> int:
        """Store; gives how many bytes went in before the file system was full (ENOSPC when none)."""
        done, total = 0, len(data)
        while done < total:
            index, offset = (pos + done) >> PAGE_SHIFT, (pos + done) & (PAGE_SIZE - 1)
            step = min(PAGE_SIZE - offset, total - done)
            try:
                phys = self.page(index)
            except KernelError:
                if done:
                    return done
                raise
            self.pool.write(phys + offset, data[done : done + step])
            done += step
        return done

    def count(self, first: int, last: int) -> int:
        """How many of these pages are there, both ends included."""
        return sum(len(self._between(pages, first, last)) for pages in (self.pages, self.given))

    @staticmethod
    def _between(pages: dict[int, int], first: int, last: int) -> list[int]:
        """Those of `pages` from first to last, in order."""
        if last - first < len(pages):
            return [index for index in range(first, last + 1) if index in pages]
        return sorted(index for index in pages if first <= index <= last)

    def drop(self, index: int) -> None:
        """filemap_remove_folio() of a page that is there."""
        pages = self.pages if index in self.pages else self.given
        self.pool.leaves(self.host, index, pages.pop(index))

    def poison(self, index: int) -> None:
        """A page is broken: what has a home elsewhere is read again, the rest is lost."""
        if index in self.pages:
            self.drop(index)
        if not self.on_disk:
            self.poisoned.add(index)

    def truncate(self, size: int) -> None:
        """Forget pages beyond `size`; the tail of the last page becomes zeros."""
        first = (size + PAGE_SIZE - 1) >> PAGE_SHIFT
        self.poisoned = {index for index in self.poisoned if index < first}
        for pages in (self.pages, self.given):
            if pages:
                for index in sorted(i for i in pages if i >= first):
                    self.drop(index)
        tail = size & (PAGE_SIZE - 1)
        phys = self.pages.get(size >> PAGE_SHIFT)
        if tail and phys is not None:
            self.pool.write(phys + tail, bytes(PAGE_SIZE - tail))

    def punch(self, start: int, end: int) -> None:
        """Make [start, end) a hole."""
        first, last = start >> PAGE_SHIFT, (end - 1) >> PAGE_SHIFT
        self.poisoned = {index for index in self.poisoned if not start <= index << PAGE_SHIFT <= end - PAGE_SIZE}
        for index in self._between(self.given, first, last):
            if start <= index << PAGE_SHIFT <= end - PAGE_SIZE:
                self.drop(index)
        for index in self._between(self.pages, first, last):
            low, high = max(start - (index << PAGE_SHIFT), 0), min(end - (index << PAGE_SHIFT), PAGE_SIZE)
            if high - low == PAGE_SIZE:
                self.drop(index)
            else:
                self.pool.write(self.pages[index] + low, bytes(high - low))

    def seek_data(self, pos: int, end: int) -> int | None:
        """The first offset >= pos that is in a page, or None."""
        if self.filler is not None:
            return pos
        index = pos >> PAGE_SHIFT
        if index in self.pages:
            return pos
        later = [i for i in self.pages if i > index]
        start = min(later) << PAGE_SHIFT if later else end
        return start if start < end else None

    def seek_hole(self, pos: int, end: int) -> int:
        """The first offset >= pos in a hole; the end of the file is one."""
        if self.filler is not None:
            return end
        index = pos >> PAGE_SHIFT
        if index not in self.pages:
            return pos
        while index in self.pages:
            index += 1
        return min(index << PAGE_SHIFT, end)
