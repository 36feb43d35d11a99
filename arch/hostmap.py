"""Host memory for the simulated machine, with guard pages at both ends.

Every simulated address is checked before it becomes one of the host.  Should a check be wrong, what runs over an end
faults there at once, instead of meeting something of ours.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from functools import cache
from typing import Any

from arch.abi.mman import MREMAP_FIXED, MREMAP_MAYMOVE, PROT_NONE
from arch.lastly import lastly

GUARD = 1 << 16  # bytes at each end

_FAILED = (1 << 64) - 1  # MAP_FAILED


@cache
def _libc() -> Any:
    lib = ctypes.CDLL(None, use_errno=True)
    lib.mmap.restype = ctypes.c_uint64
    lib.mmap.argtypes = (ctypes.c_uint64, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64)
    lib.mremap.restype = ctypes.c_uint64
    lib.mremap.argtypes = (ctypes.c_uint64, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_uint64)
    lib.munmap.argtypes = (ctypes.c_uint64, ctypes.c_size_t)
    return lib


def require_room(size: int, what: str) -> None:
    """MemoryError unless the host gives so much: unicorn ends the process where it finds none."""
    try:
        mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError as error:
        raise MemoryError(f"{error.strerror}: {size >> 20} MiB for {what}") from None


class HostMapping:
    """`size` zeroed bytes of the host, private to this process: `buf` for Python, `address` for native code."""

    def __init__(self, size: int) -> None:
        self.size = size
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        try:
            self.buf, self.guards = _guarded(size, flags)
        except OSError as error:
            raise MemoryError(f"{error.strerror}: {size >> 20} MiB for a simulated machine") from None
        self._anchor = ctypes.c_char.from_buffer(self.buf)
        self.address = ctypes.addressof(self._anchor)
        for guard in self.guards:
            lastly(self, _libc().munmap, guard, GUARD)

    def empty(self) -> None:
        """Give the memory behind the addresses back to the host; they read as zeros."""
        if sys.platform == "linux":
            self.buf.madvise(mmap.MADV_DONTNEED)

    @property
    def guarded(self) -> bool:
        """Whether nothing of the host lies next to it.  Only Linux offers what this takes."""
        return len(self.guards) == 2


def _guarded(size: int, flags: int) -> tuple[mmap.mmap, list[int]]:
    """A mapping and the addresses of its guards; none where Linux does not offer what it takes."""
    buf = mmap.mmap(-1, size, flags=flags)
    if sys.platform != "linux":
        return buf, []
    hole = _reserve(size + 2 * GUARD)
    if hole and not _move(buf, size, hole + GUARD):
        _libc().munmap(hole, size + 2 * GUARD)
        hole = 0
    return buf, [hole, hole + GUARD + size] if hole else []


def _move(buf: mmap.mmap, size: int, to: int) -> bool:
    """Let a mapping lie at an address, in place of what is there; False if it stays where it is.

    Python chooses no address and may be given any: so the pages are moved, and the object is told of it.
    """
    address = ctypes.addressof(ctypes.c_char.from_buffer(buf))
    words = (ctypes.c_uint64 * (type(buf).__basicsize__ // 8)).from_address(id(buf))
    holders = [at for at, word in enumerate(words) if word == address]
    if len(holders) != 1:
        return False  # this Python keeps it in another form
    if _libc().mremap(address, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to:
        return False
    words[holders[0]] = to
    return True


def _reserve(size: int) -> int:
    """Addresses that nothing may touch; 0 when there is no room."""
    got = int(_libc().mmap(0, size, PROT_NONE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0))
    return 0 if got == _FAILED else got
