"""Bob Jenkins' hash as the kernel has it.  include/linux/jhash.h."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Literal

ByteOrder = Literal["little", "big"]
JHASH_INITVAL = 0xDEADBEEF
_M = 0xFFFFFFFF
_WORDS = {"little": struct.Struct("<III"), "big": struct.Struct(">III")}


def jhash(key: bytes, initval: int = 0, byteorder: ByteOrder = "little") -> int:
    """Hash of bytes.  Whole blocks are read as the machine's words, the last 1 to 12 bytes always low byte first."""
    return _hash(key, initval, byteorder, "little")


@lru_cache(4096)  # the stacks that a program notes are few
def jhash2(words: bytes, initval: int = 0, byteorder: ByteOrder = "little") -> int:
    """Hash of whole 32-bit words of the machine; the same as jhash() where the low byte comes first."""
    return _hash(words, initval, byteorder, byteorder)


def _hash(key: bytes, initval: int, byteorder: ByteOrder, last: ByteOrder) -> int:
    length = len(key)
    a = b = c = (JHASH_INITVAL + length + initval) & _M
    unpack = _WORDS[byteorder].unpack_from
    at = 0
    while length > 12:
        x, y, z = unpack(key, at)
        a, b, c = _mix(a + x & _M, b + y & _M, c + z & _M)
        length -= 12
        at += 12
    if length == 0:
        return c
    x, y, z = _WORDS[last].unpack(key[at:] + bytes(12 - length))
    return _final(a + x & _M, b + y & _M, c + z & _M)


def _mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    """__jhash_mix(): six steps."""
    a = (a - c & _M) ^ (c << 4 & _M | c >> 28)
    c = c + b & _M
    b = (b - a & _M) ^ (a << 6 & _M | a >> 26)
    a = a + c & _M
    c = (c - b & _M) ^ (b << 8 & _M | b >> 24)
    b = b + a & _M
    a = (a - c & _M) ^ (c << 16 & _M | c >> 16)
    c = c + b & _M
    b = (b - a & _M) ^ (a << 19 & _M | a >> 13)
    a = a + c & _M
    c = (c - b & _M) ^ (b << 4 & _M | b >> 28)
    b = b + a & _M
    return a, b, c


def _final(a: int, b: int, c: int) -> int:
    """__jhash_final(): seven steps."""
    c = (c ^ b) - (b << 14 & _M | b >> 18) & _M
    a = (a ^ c) - (c << 11 & _M | c >> 21) & _M
    b = (b ^ a) - (a << 25 & _M | a >> 7) & _M
    c = (c ^ b) - (b << 16 & _M | b >> 16) & _M
    a = (a ^ c) - (c << 4 & _M | c >> 28) & _M
    b = (b ^ a) - (a << 14 & _M | a >> 18) & _M
    return (c ^ b) - (b << 24 & _M | b >> 8) & _M
