"""Host memory for the simulated machine, with guard pages at both ends.

Every simulated address is checked before it becomes one of the host.  Should a check be wrong, what runs over an end
faults there at once, instead of meeting something of ours.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
import weakref
from functools import cache
from typing import Any

from arch.abi.mman import MAP_FIXED_NOREPLACE, PROT_NONE

GUARD = 1 << 16  # bytes at each end

# include/uapi/asm-generic/mman-common.h; mmap(2) by libc, for Python's chooses no address.
_FAILED = (1 << 64) - 1
TRIES = 4  # small mappings, for which there are many holes, get more


@cache
def _libc() -> Any:
    lib = ctypes.CDLL(None, use_errno=True)
    lib.mmap.restype = ctypes.c_uint64
    lib.mmap.argtypes = (ctypes.c_uint64, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64)
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
        weakref.finalize(self, _give_back, self.guards)

    def empty(self) -> None:
        """Give the memory behind the addresses back to the host; they read as zeros."""
        if sys.platform == "linux":
            self.buf.madvise(mmap.MADV_DONTNEED)

    @property
    def guarded(self) -> bool:
        """Whether nothing of the host lies next to it.  Only Linux offers what this takes."""
        return len(self.guards) == 2


def _guarded(size: int, flags: int) -> tuple[mmap.mmap, list[int]]:
    """A mapping and the addresses of its guards; without guards where the host has no room beside it, whatever is tried."""
    if sys.platform != "linux":
        return mmap.mmap(-1, size, flags=flags), []
    libc = _libc()
    tries = max(TRIES, min(256, (64 << 20) // size))
    missed: list[mmap.mmap] = []  # kept until the end, so that the next try is elsewhere
    while True:
        hole = _reserve(0, size + 2 * GUARD)
        if hole:  # Python's mmap() takes the highest hole that fits, which is now most likely this one
            libc.munmap(hole + GUARD, size)
        buf = mmap.mmap(-1, size, flags=flags)
        address = ctypes.addressof(ctypes.c_char.from_buffer(buf))
        guards = [address - GUARD, address + size]
        if not hole or address != hole + GUARD:
            if hole:
                _give_back([hole, hole + GUARD + size])
            guards = [at for at in guards if _reserve(at, GUARD) == at]
        if len(guards) == 2 or len(missed) == tries:
            return buf, guards
        _give_back(guards)
        missed.append(buf)


def _reserve(address: int, size: int) -> int:
    """Addresses that nothing may touch: at `address`, or anywhere for 0.  0 when there is no room."""
    fixed = MAP_FIXED_NOREPLACE if address else 0
    got = int(_libc().mmap(address, size, PROT_NONE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | fixed, -1, 0))
    if got == _FAILED:
        return 0
    if address and got != address:  # a kernel before 4.17 takes the address for a wish
        _libc().munmap(got, size)
        return 0
    return got


def _give_back(guards: list[int]) -> None:
    for at in guards:
        _libc().munmap(at, GUARD)
