"""The core of hash maps, as native functions over simulated memory: what programs call without Python in the way.

kernel/bpf/hashtab.c.  An element is a struct htab_elem: the next one of its bucket at 0, the next free one at 8, the
hash at 40, the key at 48, the value behind it.  Buckets are pointers to their newest element.  What must be true
whatever a program writes (sizes, how many elements there are, where the free ones begin) is kept in words of the host;
pointers in simulated memory are checked at each use, and a chain that does not end is a fault.

Python's map classes (hash.py, lru_hash.py) call the same functions, so there is one order of elements, one rule for a
full map and one for flags, whoever asks.
"""

from __future__ import annotations

from functools import cache

from arch.abi.errno import E2BIG, EEXIST, EINVAL, ENOENT
from arch.abi.limits import U32_MAX
from arch.native.block import Word
from arch.native.library import Library
from arch.native.subset import (
    Bytes,
    Errno,
    Words,
    copy,
    decline,
    fault,
    inlined,
    load8,
    load32,
    load32le,
    load64,
    native,
    put,
    shared,
    store8,
    store32,
    store64,
)
from bpf.uapi import BPF_EXIST, BPF_NOEXIST

# Words of a map.
BUCKETS, BUCKET_MASK, KEY_SIZE, VALUE_SIZE, VALUE_AT, MAX_ENTRIES, COUNT, FREE, SEED, CPU_VALUE_SIZE = range(10)
ROOM_FIRST, KEY_SCRATCH, VALUE_SCRATCH = range(10, 13)
SPARE, MOST_SPARE = range(13, 15)  # how many free elements there are, and of how many more memory is given back
HTAB_WORDS = 15

FREE_AT, REF_AT, HASH_AT, KEY_AT = 8, 35, 40, 48  # in struct htab_elem
NO_ELEMENT = 1 << 32  # an answer: there is no free element; give one and ask again
INITVAL = 0xDEADBEEF


@inlined
def rol(x: int, n: int) -> int:
    """rol32()."""
    return (x << n | x >> (32 - n)) & U32_MAX


@inlined
def htab_hash(m: Words, key: int) -> int:
    """jhash() of a key.  include/linux/jhash.h; the last 1 to 12 bytes always low byte first."""
    left = m[KEY_SIZE]
    a = INITVAL + left + m[SEED] & U32_MAX
    b = a
    c = a
    while left > 12:
        a = a + load32(key) & U32_MAX
        b = b + load32(key + 4) & U32_MAX
        c = c + load32(key + 8) & U32_MAX
        a = (a - c ^ rol(c, 4)) & U32_MAX
        c = c + b & U32_MAX
        b = (b - a ^ rol(a, 6)) & U32_MAX
        a = a + c & U32_MAX
        c = (c - b ^ rol(b, 8)) & U32_MAX
        b = b + a & U32_MAX
        a = (a - c ^ rol(c, 16)) & U32_MAX
        c = c + b & U32_MAX
        b = (b - a ^ rol(a, 19)) & U32_MAX
        a = a + c & U32_MAX
        c = (c - b ^ rol(b, 4)) & U32_MAX
        b = b + a & U32_MAX
        left -= 12
        key += 12
    if left >= 4:
        a += load32le(key)
        if left >= 8:
            b += load32le(key + 4)
            if left == 12:
                c += load32le(key + 8)
            elif left > 8:
                c += last_bytes(key + 8, left - 8)
        elif left > 4:
            b += last_bytes(key + 4, left - 4)
    else:
        a += last_bytes(key, left)
    c = (c ^ b) - rol(b & U32_MAX, 14) & U32_MAX
    a = (a ^ c) - rol(c, 11) & U32_MAX
    b = (b ^ a) - rol(a, 25) & U32_MAX
    c = (c ^ b) - rol(b, 16) & U32_MAX
    a = (a ^ c) - rol(c, 4) & U32_MAX
    b = (b ^ a) - rol(a, 14) & U32_MAX
    return (c ^ b) - rol(b, 24) & U32_MAX


@native
def last_bytes(key: int, count: int) -> int:
    """Fewer than four bytes as a number."""
    value = 0
    for i in range(count):
        value |= load8(key + i) << 8 * i
    return value


@inlined
def same(a: int, b: int, size: int) -> int:
    """memcmp() == 0."""
    while size >= 8:
        if load64(a) != load64(b):
            return 0
        a += 8
        b += 8
        size -= 8
    if size >= 4:
        if load32(a) != load32(b):
            return 0
        a += 4
        b += 4
        size -= 4
    for i in range(size):
        if load8(a + i) != load8(b + i):
            return 0
    return 1


@inlined
def htab_place(m: Words, key: int, hash: int) -> int:
    """Where the pointer to the element with this key is; the element itself may be missing (a pointer that is 0)."""
    at = m[BUCKETS] + (hash & m[BUCKET_MASK]) * 8
    left = m[COUNT]
    element = load64(at)
    while element:
        if load32(element + HASH_AT) == hash and same(element + KEY_AT, key, m[KEY_SIZE]):
            return at
        if left == 0:
            fault(at)  # more than there are: somebody wrote here
        left -= 1
        at = element
        element = load64(at)
    return at


@native
def htab_find(m: Words, key: int) -> int:
    """__htab_map_lookup_elem(): the element, or 0."""
    return load64(htab_place(m, key, htab_hash(m, key)))


@native
def htab_first(m: Words, bucket: int) -> int:
    """The first element in this bucket or behind it; 0 if there is none."""
    while bucket <= m[BUCKET_MASK]:
        element = load64(m[BUCKETS] + bucket * 8)
        if element:
            return element
        bucket += 1
    return 0


@native
def htab_after(m: Words, element: int) -> int:
    """The element after this one (0: the first one) in the order of buckets; 0 after the last."""
    if not element:
        return htab_first(m, 0)
    following = load64(element)
    return following if following else htab_first(m, (load32(element + HASH_AT) & m[BUCKET_MASK]) + 1)


@native
def htab_link(m: Words, element: int) -> int:
    """Put an element, whose key is written, at the head of its bucket."""
    hash = htab_hash(m, element + KEY_AT)
    head = m[BUCKETS] + (hash & m[BUCKET_MASK]) * 8
    store32(element + HASH_AT, hash)
    store64(element, load64(head))
    store64(head, element)
    m[COUNT] += 1
    return 0


@native
def htab_unlink(m: Words, key: int) -> int:
    """Take the element with this key out of its bucket: the element, or 0.  Its own pointer stays as it was."""
    at = htab_place(m, key, htab_hash(m, key))
    element = load64(at)
    if element:
        store64(at, load64(element))
        m[COUNT] -= 1
    return element


@native
def htab_take(m: Words) -> int:
    """pcpu_freelist_pop(): a free element, last freed first, or 0."""
    element = m[FREE]
    if element:
        m[FREE] = load64(element + FREE_AT)
        m[SPARE] -= 1
    return element


@native
def htab_give(m: Words, element: int) -> int:
    """pcpu_freelist_push()."""
    store64(element + FREE_AT, m[FREE])
    m[FREE] = element
    m[SPARE] += 1
    return 0


@native
def htab_check(m: Words, old: int, flags: int) -> Errno:
    """check_flags(), and is there room?  4.1 looks at the room first."""
    if flags > BPF_EXIST:
        return -EINVAL
    full = not old and m[COUNT] >= m[MAX_ENTRIES]
    if flags and full and m[ROOM_FIRST]:
        return -E2BIG
    if old and flags == BPF_NOEXIST:
        return -EEXIST
    if not old and flags == BPF_EXIST:
        return -ENOENT
    return -E2BIG if full else 0


@native
def htab_update(m: Words, key: int, value: int, flags: int) -> Errno:
    """htab_map_update_elem() of a map that uses elements again and has no special fields: 0, an errno, or NO_ELEMENT."""
    hash = htab_hash(m, key)
    at = htab_place(m, key, hash)
    old = load64(at)
    refused = htab_check(m, old, flags)
    if refused:
        return refused
    element = m[FREE]
    if not element:
        return NO_ELEMENT
    m[FREE] = load64(element + FREE_AT)
    copy(element + KEY_AT, key, m[KEY_SIZE])
    copy(element + m[VALUE_AT], value, m[VALUE_SIZE])
    store32(element + HASH_AT, hash)
    if old:
        store64(at, load64(old))
        store64(old + FREE_AT, m[FREE])
        m[FREE] = old
    else:
        m[SPARE] -= 1
        m[COUNT] += 1
    head = m[BUCKETS] + (hash & m[BUCKET_MASK]) * 8
    store64(element, load64(head))
    store64(head, element)
    return 0


@native
def htab_update_or_decline(m: Words, key: int, value: int, flags: int) -> Errno:
    """The same for a program: where there is no free element, Python's helper gives one and does it."""
    answer = htab_update(m, key, value, flags)
    if answer == NO_ELEMENT:
        decline()
    return answer


@native
def htab_write(m: Words, key: int, value: int, flags: int) -> Errno:
    """rhtab_map_update_elem(): a value that is there is written over.  0, an errno, or NO_ELEMENT."""
    element = load64(htab_place(m, key, htab_hash(m, key)))
    if not element:
        return htab_update(m, key, value, flags)
    refused = htab_check(m, element, flags)
    if refused:
        return refused
    copy(element + m[VALUE_AT], value, m[VALUE_SIZE])
    return 0


@native
def htab_write_or_decline(m: Words, key: int, value: int, flags: int) -> Errno:
    """The same for a program."""
    answer = htab_write(m, key, value, flags)
    if answer == NO_ELEMENT:
        decline()
    return answer


@native
def htab_update_percpu(m: Words, key: int, value: int, flags: int) -> Errno:
    """__htab_percpu_map_update_elem() from a program: this CPU's value, in place; a new element is Python's to make."""
    element = load64(htab_place(m, key, htab_hash(m, key)))
    refused = htab_check(m, element, flags)
    if refused:
        return refused
    if not element:
        decline()
    copy(load64(element + m[VALUE_AT]) + shared[Word.CPU] * m[CPU_VALUE_SIZE], value, m[VALUE_SIZE])
    return 0


@native
def htab_delete(m: Words, key: int) -> Errno:
    """htab_map_delete_elem() of a map that uses elements again and has no special fields."""
    if m[SPARE] >= m[MOST_SPARE]:
        decline()
    element = htab_unlink(m, key)
    if not element:
        return -ENOENT
    return htab_give(m, element)


@native
def htab_lookup(m: Words, key: int) -> int:
    """htab_map_lookup_elem(): address of the value, or 0."""
    element = htab_find(m, key)
    return element + m[VALUE_AT] if element else 0


@native
def htab_lookup_percpu(m: Words, key: int) -> int:
    """htab_percpu_map_lookup_elem(): of this CPU."""
    element = htab_find(m, key)
    return load64(element + m[VALUE_AT]) + shared[Word.CPU] * m[CPU_VALUE_SIZE] if element else 0


@native
def htab_lookup_lru(m: Words, key: int) -> int:
    """htab_lru_map_lookup_elem(): and marks the element."""
    element = htab_find(m, key)
    if element:
        store8(element + REF_AT, 1)
        return element + m[VALUE_AT]
    return 0


@native
def htab_next_key(m: Words, key: int) -> int:
    """htab_map_get_next_key(): address of the key after this one (0: the first), or 0."""
    element = htab_after(m, htab_find(m, key) if key else 0)
    return element + KEY_AT if element else 0


@native
def htab_find_bytes(m: Words, key: Bytes) -> int:
    """htab_find() with a key of Python's."""
    put(m[KEY_SCRATCH], key, m[KEY_SIZE])
    return htab_find(m, m[KEY_SCRATCH])


@native
def htab_unlink_bytes(m: Words, key: Bytes) -> int:
    """htab_unlink() with a key of Python's."""
    put(m[KEY_SCRATCH], key, m[KEY_SIZE])
    return htab_unlink(m, m[KEY_SCRATCH])


@native
def htab_update_bytes(m: Words, key: Bytes, value: Bytes, flags: int) -> Errno:
    """htab_update() with key and value of Python's."""
    put(m[KEY_SCRATCH], key, m[KEY_SIZE])
    put(m[VALUE_SCRATCH], value, m[VALUE_SIZE])
    return htab_update(m, m[KEY_SCRATCH], m[VALUE_SCRATCH], flags)


@native
def htab_write_bytes(m: Words, key: Bytes, value: Bytes, flags: int) -> Errno:
    """htab_write() with key and value of Python's."""
    put(m[KEY_SCRATCH], key, m[KEY_SIZE])
    put(m[VALUE_SCRATCH], value, m[VALUE_SIZE])
    return htab_write(m, m[KEY_SCRATCH], m[VALUE_SCRATCH], flags)


FUNCTIONS = (
    htab_find,
    htab_first,
    htab_after,
    htab_link,
    htab_take,
    htab_give,
    htab_check,
    htab_update_or_decline,
    htab_write,
    htab_write_or_decline,
    htab_write_bytes,
    htab_update_percpu,
    htab_delete,
    htab_lookup,
    htab_lookup_percpu,
    htab_lookup_lru,
    htab_next_key,
    htab_find_bytes,
    htab_unlink_bytes,
    htab_update_bytes,
)


@cache
def library(big_endian: bool) -> Library:
    """Compiled for machines of one byte order, when the first hash map is made."""
    return Library(FUNCTIONS, big_endian)
