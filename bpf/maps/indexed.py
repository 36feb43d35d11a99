"""The core of arrays of values, as native functions.  kernel/bpf/arraymap.c; see htab.py for what that means."""

from __future__ import annotations

from functools import cache

from arch.abi.errno import E2BIG, EEXIST
from arch.native.block import Word
from arch.native.library import Library
from arch.native.subset import Errno, Words, copy, decline, load32, native, shared
from bpf.uapi import BPF_EXIST, BPF_NOEXIST

# Words of a map: where the values are, bytes from one to the next and from one CPU's to the next.
VALUES, ELEM_SIZE, VALUE_SIZE, MAX_ENTRIES, CPU_SIZE = range(5)
INDEXED_WORDS = 5


@native
def array_lookup(m: Words, key: int) -> int:
    """array_map_lookup_elem(), percpu_array_map_lookup_elem(): address of the value, or 0."""
    index = load32(key)
    if index >= m[MAX_ENTRIES]:
        return 0
    return m[VALUES] + shared[Word.CPU] * m[CPU_SIZE] + index * m[ELEM_SIZE]


@native
def array_update(m: Words, key: int, value: int, flags: int) -> Errno:
    """array_map_update_elem() of values without special fields."""
    if flags > BPF_EXIST:
        decline()  # a lock: the order of what is refused then is Python's to know
    address = array_lookup(m, key)
    if not address:
        return -E2BIG
    if flags == BPF_NOEXIST:
        return -EEXIST
    copy(address, value, m[VALUE_SIZE])
    return 0


FUNCTIONS = (array_lookup, array_update)


@cache
def library(big_endian: bool) -> Library:
    """Compiled when a program that uses an array is."""
    return Library(FUNCTIONS, big_endian)
