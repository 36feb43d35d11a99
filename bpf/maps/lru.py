"""Which element makes room: the kernel's lists of least recently used elements, as native functions.  kernel/bpf/bpf_lru_list.c.

New elements come from a free list of this CPU and go to its list of pending ones.  When the free list is empty the
pending ones move to the map's active or inactive list (by their reference mark), the lists are rotated, and up to 128
free or unmarked inactive elements are taken at once: so a small map that overflows loses many elements, not one.  With
BPF_F_NO_COMMON_LRU each CPU has lists of its own and takes 4 at a time.

A node is the struct bpf_lru_node in a struct htab_elem: the next one and the one before, the CPU, the list it is in, the mark.
A list is a head with the same two pointers; they lie in simulated memory as the elements do, how many there are in words of
the host (htab.py).  A map's elements are given to it when they are first needed, behind all that are free.
"""

from __future__ import annotations

from functools import cache

from arch.abi.errno import EINVAL, ENOENT, ENOMEM
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
    load16,
    load64,
    native,
    put,
    shared,
    store8,
    store16,
    store32,
    store64,
)
from bpf.maps import htab
from bpf.maps.htab import (
    BUCKET_MASK,
    BUCKETS,
    COUNT,
    FREE_AT,
    HASH_AT,
    HTAB_WORDS,
    KEY_AT,
    KEY_SCRATCH,
    KEY_SIZE,
    MAX_ENTRIES,
    NO_ELEMENT,
    REF_AT,
    VALUE_AT,
    VALUE_SCRATCH,
    VALUE_SIZE,
    htab_check,
    htab_hash,
    htab_place,
    htab_unlink,
)
from bpf.uapi import BPF_EXIST

LOCAL_FREE_TARGET = 128
PERCPU_FREE_TARGET = 4
ACTIVE, INACTIVE, FREE, LOCAL_FREE, PENDING = range(5)

# More words of a map: where its heads are; by element, those that were deleted to make room, where somebody asks for them.
CPUS, OWN_LISTS, HEADS, LOCAL_HEADS, KEEPS_DELETED, DELETED = range(HTAB_WORDS, HTAB_WORDS + 6)
# Of each struct bpf_lru_list behind them: how many are active, inactive and free, how many more there may be, next_inactive_rotation.
LISTS = HTAB_WORDS + 6
UNUSED, ROTATION = 3, 4
LIST_WORDS = 5

HEAD_SIZE = 16  # of a struct list_head
NODE_AT, CPU_AT, LRU_TYPE_AT = 16, 32, 34  # in struct htab_elem; the mark is at REF_AT


def words_of(cpus: int) -> int:
    """How many words such a map has; behind those of the lists is next_steal of each CPU."""
    return LISTS + (LIST_WORDS + 1) * cpus


def heads_of(cpus: int) -> int:
    """Bytes of all heads: active, inactive and free of each list, free and pending of each CPU."""
    return (3 + 2) * HEAD_SIZE * cpus


@inlined
def push(node: int, head: int) -> int:
    """list_add(): a new one goes to the head."""
    following = load64(head)
    store64(node, following)
    store64(node + 8, head)
    store64(following + 8, node)
    store64(head, node)
    return 0


@inlined
def unlink(node: int) -> int:
    """list_del()."""
    following = load64(node)
    before = load64(node + 8)
    store64(before, following)
    store64(following + 8, before)
    return 0


@inlined
def set_type(node: int, kind: int) -> int:
    """The list it is in."""
    store8(node - NODE_AT + LRU_TYPE_AT, kind)
    return 0


@inlined
def is_marked(node: int) -> int:
    """Was it looked up?"""
    return load8(node - NODE_AT + REF_AT)


@inlined
def clear_mark(node: int) -> int:
    """It must be looked up again."""
    store8(node - NODE_AT + REF_AT, 0)
    return 0


@inlined
def head_of(m: Words, lists: int, kind: int) -> int:
    """The head of an active, inactive or free list."""
    return m[HEADS] + (lists * 3 + kind) * HEAD_SIZE


@inlined
def free_of(m: Words, cpu: int) -> int:
    """The head of a CPU's free list; its pending one's is behind it."""
    return m[LOCAL_HEADS] + cpu * 2 * HEAD_SIZE


@native
def lru_init(m: Words, head: int) -> int:
    """INIT_LIST_HEAD()."""
    store64(head, head)
    store64(head + 8, head)
    return 0


@native
def lru_add(m: Words, element: int, lists: int) -> int:
    """Another element, behind all that are free."""
    node = element + NODE_AT
    head = head_of(m, lists, FREE)
    last = load64(head + 8)
    set_type(node, FREE)
    store16(element + CPU_AT, lists)
    store64(node, head)
    store64(node + 8, last)
    store64(last, node)
    store64(head + 8, node)
    m[LISTS + LIST_WORDS * lists + FREE] += 1
    m[LISTS + LIST_WORDS * lists + UNUSED] -= 1
    return 0


@native
def lru_leave(m: Words, lists: int, node: int) -> int:
    """Take a node off its list; the rotation goes on with the one before."""
    at = LISTS + LIST_WORDS * lists
    if m[at + ROTATION] == node:
        m[at + ROTATION] = load64(node + 8)
    kind = load8(node - NODE_AT + LRU_TYPE_AT)
    if kind <= FREE:
        m[at + kind] -= 1
    return unlink(node)


@native
def lru_enter(m: Words, lists: int, node: int, kind: int) -> int:
    """To the head of a list."""
    set_type(node, kind)
    m[LISTS + LIST_WORDS * lists + kind] += 1
    return push(node, head_of(m, lists, kind))


@native
def lru_move(m: Words, lists: int, node: int, kind: int) -> int:
    """From one list to another, without its mark: __bpf_lru_node_move()."""
    lru_leave(m, lists, node)
    clear_mark(node)
    return lru_enter(m, lists, node, kind)


@native
def lru_pop_free(m: Words, lists: int) -> int:
    """The first of the free list, or 0."""
    node = load64(head_of(m, lists, FREE))
    if node == head_of(m, lists, FREE):
        return 0
    m[LISTS + LIST_WORDS * lists + FREE] -= 1
    unlink(node)
    return node


@inlined
def scans(m: Words) -> int:
    """nr_scans."""
    return PERCPU_FREE_TARGET if m[OWN_LISTS] else LOCAL_FREE_TARGET


@native
def lru_rotate_active(m: Words, lists: int) -> int:
    """Marked ones stay, at the head and without mark; others become inactive."""
    head = head_of(m, lists, ACTIVE)
    first = load64(head)
    node = load64(head + 8)
    scanned = 0
    while node != head:
        before = load64(node + 8)
        lru_move(m, lists, node, ACTIVE if is_marked(node) else INACTIVE)
        scanned += 1
        if scanned == scans(m) or node == first:
            break
        node = before
    return 0


@native
def lru_rotate_inactive(m: Words, lists: int) -> int:
    """Marked ones become active; goes on where it stopped the last time."""
    head = head_of(m, lists, INACTIVE)
    if load64(head) == head:
        return 0
    current = m[LISTS + LIST_WORDS * lists + ROTATION]
    last = load64(current)
    if last == head:
        last = load64(last)
    following = head
    scanned = 0
    while scanned < scans(m):
        if current == head:
            current = load64(current + 8)
            if current == head:
                fault(head)  # it was not empty: somebody wrote here
        following = load64(current + 8)
        if is_marked(current):
            lru_move(m, lists, current, ACTIVE)
        if current == last:
            break
        current = following
        scanned += 1
    m[LISTS + LIST_WORDS * lists + ROTATION] = following
    return 0


@native
def lru_rotate(m: Words, lists: int) -> int:
    """__bpf_lru_list_rotate()."""
    at = LISTS + LIST_WORDS * lists
    if m[at + INACTIVE] < m[at + ACTIVE]:
        lru_rotate_active(m, lists)
    return lru_rotate_inactive(m, lists)


@native
def lru_drop(m: Words, node: int) -> int:
    """htab_lru_map_delete_node(): 0 if the element is not in the map (any more)."""
    element = node - NODE_AT
    at = htab_place(m, element + KEY_AT, htab_hash(m, element + KEY_AT))
    if load64(at) != element:
        return 0
    store64(at, load64(element))
    m[COUNT] -= 1
    if m[KEEPS_DELETED]:
        store64(element + FREE_AT, m[DELETED])
        m[DELETED] = element
    return 1


@native
def lru_to_free(m: Words, lists: int, node: int, head: int, kind: int) -> int:
    """What was deleted goes to a free list."""
    lru_leave(m, lists, node)
    set_type(node, kind)
    if kind == FREE:
        m[LISTS + LIST_WORDS * lists + FREE] += 1
    return push(node, head)


@native
def lru_shrink(m: Words, lists: int, wanted: int, free: int, kind: int) -> int:
    """__bpf_lru_list_shrink(): unmarked inactive elements go; if there is none, one goes all the same."""
    head = head_of(m, lists, INACTIVE)
    node = load64(head + 8)
    shrunk = 0
    scanned = 0
    while node != head and scanned < scans(m):
        before = load64(node + 8)
        if is_marked(node):
            lru_move(m, lists, node, ACTIVE)
        elif lru_drop(m, node):
            lru_to_free(m, lists, node, free, kind)
            shrunk += 1
            if shrunk == wanted:
                return 0
        scanned += 1
        node = before
    if shrunk:
        return 0
    if load64(head) == head:
        head = head_of(m, lists, ACTIVE)
    node = load64(head + 8)
    left = m[MAX_ENTRIES]
    while node != head:
        before = load64(node + 8)
        if lru_drop(m, node):
            return lru_to_free(m, lists, node, free, kind)
        if left == 0:
            fault(node)
        left -= 1
        node = before
    return 0


@native
def lru_pop_own(m: Words, cpu: int) -> int:
    """bpf_percpu_lru_pop_free()."""
    lru_rotate(m, cpu)
    node = lru_pop_free(m, cpu)
    if not node:
        lru_shrink(m, cpu, PERCPU_FREE_TARGET, head_of(m, cpu, FREE), FREE)
        node = lru_pop_free(m, cpu)
    if node:
        clear_mark(node)
        lru_enter(m, cpu, node, INACTIVE)
    return node


@inlined
def lru_pop_local(m: Words, cpu: int) -> int:
    """The first of a CPU's free list, or 0."""
    node = load64(free_of(m, cpu))
    if node == free_of(m, cpu):
        return 0
    unlink(node)
    return node


@native
def lru_refill(m: Words, cpu: int) -> int:
    """bpf_lru_list_pop_free_to_local()."""
    free = free_of(m, cpu)
    pending = free + HEAD_SIZE
    node = load64(pending + 8)
    left = m[MAX_ENTRIES]
    while node != pending:
        before = load64(node + 8)
        kind = ACTIVE if is_marked(node) else INACTIVE
        unlink(node)
        clear_mark(node)
        lru_enter(m, 0, node, kind)
        if left == 0:
            fault(node)
        left -= 1
        node = before
    lru_rotate(m, 0)
    taken = 0
    while taken < LOCAL_FREE_TARGET:
        node = lru_pop_free(m, 0)
        if not node:
            break
        set_type(node, LOCAL_FREE)
        push(node, free)
        taken += 1
    if taken < LOCAL_FREE_TARGET:
        lru_shrink(m, 0, LOCAL_FREE_TARGET - taken, free, LOCAL_FREE)
    return 0


@native
def lru_pop_pending(m: Words, cpu: int, force: int) -> int:
    """The oldest of a CPU's pending ones, with `force` whether it is marked or not."""
    pending = free_of(m, cpu) + HEAD_SIZE
    node = load64(pending + 8)
    left = m[MAX_ENTRIES]
    while node != pending:
        before = load64(node + 8)
        if force or not is_marked(node):
            if lru_drop(m, node):
                unlink(node)
                return node
        if left == 0:
            fault(node)
        left -= 1
        node = before
    return 0


@native
def lru_steal(m: Words, cpu: int) -> int:
    """From the free or pending list of each CPU in turn."""
    next_steal = LISTS + LIST_WORDS * m[CPUS] + cpu
    first = m[next_steal]
    steal = first
    node = 0
    while not node:
        node = lru_pop_local(m, steal)
        if not node:
            node = lru_pop_pending(m, steal, 0)
        if not node:
            node = lru_pop_pending(m, steal, 1)
        steal = (steal + 1) % m[CPUS]
        if steal == first:
            break
    m[next_steal] = steal
    return node


@native
def lru_pop(m: Words, cpu: int) -> int:
    """bpf_lru_pop_free(): an element for a new key; others may be deleted for it.  0: there is none; NO_ELEMENT: give some and ask again."""
    if m[OWN_LISTS]:
        at = LISTS + LIST_WORDS * cpu
        if m[at + FREE] == 0 and m[at + UNUSED]:
            return NO_ELEMENT
        node = lru_pop_own(m, cpu)
        return node - NODE_AT if node else 0
    node = lru_pop_local(m, cpu)
    if not node:
        if m[LISTS + FREE] < LOCAL_FREE_TARGET and m[LISTS + UNUSED]:
            return NO_ELEMENT
        lru_refill(m, cpu)
        node = lru_pop_local(m, cpu)
    if not node:
        node = lru_steal(m, cpu)
    if not node:
        return 0
    store16(node - NODE_AT + CPU_AT, cpu)
    set_type(node, PENDING)
    clear_mark(node)
    push(node, free_of(m, cpu) + HEAD_SIZE)
    return node - NODE_AT


@native
def lru_push_free(m: Words, element: int) -> int:
    """bpf_lru_push_free(): an element was deleted."""
    node = element + NODE_AT
    cpu = load16(element + CPU_AT)
    if cpu >= m[CPUS]:
        fault(node)
    if m[OWN_LISTS]:
        return lru_move(m, cpu, node, FREE)
    if load8(element + LRU_TYPE_AT) == PENDING:
        unlink(node)
        set_type(node, LOCAL_FREE)
        clear_mark(node)
        return push(node, free_of(m, cpu))
    return lru_move(m, 0, node, FREE)


@native
def lru_update(m: Words, key: int, value: int, flags: int, cpu: int) -> Errno:
    """htab_lru_map_update_elem(): room is made before the flags are looked at.  0, an errno, or NO_ELEMENT."""
    if flags > BPF_EXIST:
        return -EINVAL
    element = lru_pop(m, cpu)
    if element == NO_ELEMENT:
        return NO_ELEMENT
    if not element:
        return -ENOMEM
    copy(element + KEY_AT, key, m[KEY_SIZE])
    copy(element + m[VALUE_AT], value, m[VALUE_SIZE])
    hash = htab_hash(m, key)
    at = htab_place(m, key, hash)
    old = load64(at)
    refused = htab_check(m, old, flags)
    if refused:
        lru_push_free(m, element)
        return refused
    if old:
        store8(element + REF_AT, 1)
        store64(at, load64(old))
    else:
        m[COUNT] += 1
    head = m[BUCKETS] + (hash & m[BUCKET_MASK]) * 8
    store32(element + HASH_AT, hash)
    store64(element, load64(head))
    store64(head, element)
    return lru_push_free(m, old) if old else 0


@native
def lru_update_or_decline(m: Words, key: int, value: int, flags: int) -> Errno:
    """The same for a program: where elements are to be given, Python does it."""
    answer = lru_update(m, key, value, flags, shared[Word.CPU])
    if answer == NO_ELEMENT:
        decline()
    return answer


@native
def lru_update_bytes(m: Words, key: Bytes, value: Bytes, flags: int, cpu: int) -> Errno:
    """lru_update() with key and value of Python's."""
    put(m[KEY_SCRATCH], key, m[KEY_SIZE])
    put(m[VALUE_SCRATCH], value, m[VALUE_SIZE])
    return lru_update(m, m[KEY_SCRATCH], m[VALUE_SCRATCH], flags, cpu)


@native
def lru_delete(m: Words, key: int) -> Errno:
    """htab_lru_map_delete_elem()."""
    element = htab_unlink(m, key)
    if not element:
        return -ENOENT
    return lru_push_free(m, element)


FUNCTIONS = (lru_init, lru_add, lru_pop, lru_push_free, lru_update_or_decline, lru_update_bytes, lru_delete)


@cache
def library(big_endian: bool) -> Library:
    """With those of all hash maps; compiled for machines of one byte order, when the first such map is made."""
    return Library((*htab.FUNCTIONS, *FUNCTIONS), big_endian)
