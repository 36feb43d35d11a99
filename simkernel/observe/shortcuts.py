"""bpf(2) on elements of maps without kernel text and without Python.

kernel/shortcuts.py tells how; bpf/maps/base.py:BpfMap.offer() says which map has what.
"""

from __future__ import annotations

from arch.abi.errno import ENOENT
from arch.abi.fcntl import O_ACCMODE, O_RDONLY, O_WRONLY
from arch.abi.limits import PAGE_SIZE, U32_MAX
from arch.abi.version import KernelVersion
from arch.native.block import Word
from arch.native.slots import slot_offset
from arch.native.subset import Words, as_uint, attempt, copy, decline, entry, load32, load64, native, shared
from arch.native.walk import user_readable
from bpf.maps.base import BpfMap
from bpf.maps.functions import LOOKUP_ELEM_RAW, MAP_FUNCTIONS
from bpf.syscall.attr import attr_size
from bpf.uapi import (
    BPF_EXIST,
    BPF_MAP_DELETE_ELEM,
    BPF_MAP_GET_NEXT_KEY,
    BPF_MAP_LOOKUP_ELEM,
    BPF_MAP_UPDATE_ELEM,
)
from simkernel.fs.fdtable import FilesStruct
from simkernel.fs.inode import File
from simkernel.kernel.shortcuts import COST, OWN, Shortcut, Way, at, begin, end, user_place
from simkernel.kernel.task import Task
from simkernel.observe.bpf_files import BPF_MAP_FOPS

FILES, FDS = slot_offset(Task, "files"), slot_offset(FilesStruct, "fds")
F_OP, F_FLAGS, PRIVATE_DATA = (slot_offset(File, name) for name in ("f_op", "f_flags", "private_data"))
OFFERED = slot_offset(BpfMap, "offered")

# What offer() says, by place.
LOOKUP, UPDATE, DELETE, NEXT_KEY, MAP_WORDS, KEY_SIZE, VALUE_SIZE, KEY_SCRATCH, VALUE_SCRATCH = range(0, 72, 8)

# Own words: file operations, sizeof(union bpf_attr).
MAP_FOPS, ATTR_SIZE = range(OWN, OWN + 2)

# Offsets in union bpf_attr, bytes.
ATTR_KEY, ATTR_VALUE, ATTR_FLAGS = 8, 16, 24
FIRST_ERRNO = (1 << 64) - 4095


@native
def attributes(s: Words, uattr: int, size: int, used: int) -> int:
    """Kernel address of the caller's attributes, of which nothing behind so many bytes is set."""
    if size < used or size > s[ATTR_SIZE] or (uattr & (PAGE_SIZE - 1)) + size > PAGE_SIZE:
        decline()
    place = user_readable(uattr)
    if not place or size & 7:
        decline()
    while used < size:
        if load64(place + used):
            decline()
        used += 8
    return place


@native
def map_behind(s: Words, fd: int, refused: int) -> int:
    """What the map behind a descriptor offers; declines one that was not opened for this."""
    file = entry(at(at(shared[Word.TASK] + FILES) + FDS), fd)
    if not file or at(file + F_OP) != s[MAP_FOPS] or as_uint(at(file + F_FLAGS)) & O_ACCMODE == refused:
        decline()
    offered = as_uint(at(at(file + PRIVATE_DATA) + OFFERED))
    if not offered:
        decline()
    return offered


@native
def given(address: int, size: int, scratch: int) -> int:
    """Kernel address of bytes of user memory: where they are, or a copy if they do not lie in one page."""
    if (address & (PAGE_SIZE - 1)) + size <= PAGE_SIZE:
        place = user_readable(address)
        if not place:
            decline()
        return place
    if not scratch:
        decline()
    done = 0
    while done < size:
        piece = PAGE_SIZE - (address + done & (PAGE_SIZE - 1))
        if piece > size - done:
            piece = size - done
        place = user_readable(address + done)
        if not place:
            decline()
        copy(scratch + done, place, piece)
        done += piece
    return scratch


@native
def answer(address: int, place: int, size: int) -> int:
    """copy_to_user().  What was copied when it declines is copied once more."""
    done = 0
    while done < size:
        piece = PAGE_SIZE - (address + done & (PAGE_SIZE - 1))
        if piece > size - done:
            piece = size - done
        copy(user_place(address + done, piece), place + done, piece)
        done += piece
    return 0


@native
def asked(function: int, words: int, key: int, value: int, flags: int) -> int:
    """What a map's function says: what it declines, Python does."""
    if not function:
        decline()
    found = attempt(function, words, key, value, flags)
    if shared[Word.NATIVE_STATUS]:
        decline()
    return found


@native
def lookup(s: Words, uattr: int, size: int) -> int:
    """map_lookup_elem() without flags."""
    attr = attributes(s, uattr, size, ATTR_FLAGS)
    m = map_behind(s, load32(attr), O_WRONLY)
    key = given(load64(attr + ATTR_KEY), at(m + KEY_SIZE), at(m + KEY_SCRATCH))
    value = asked(at(m + LOOKUP), at(m + MAP_WORDS), key, 0, 0)
    if not value:
        return -ENOENT
    return answer(load64(attr + ATTR_VALUE), value, at(m + VALUE_SIZE))


@native
def update(s: Words, uattr: int, size: int) -> int:
    """map_update_elem()."""
    attr = attributes(s, uattr, size, ATTR_FLAGS + 8)
    flags = load64(attr + ATTR_FLAGS)
    if flags > BPF_EXIST:
        decline()
    m = map_behind(s, load32(attr), O_RDONLY)
    key = given(load64(attr + ATTR_KEY), at(m + KEY_SIZE), at(m + KEY_SCRATCH))
    value = given(load64(attr + ATTR_VALUE), at(m + VALUE_SIZE), at(m + VALUE_SCRATCH))
    return asked(at(m + UPDATE), at(m + MAP_WORDS), key, value, flags)


@native
def delete(s: Words, uattr: int, size: int) -> int:
    """map_delete_elem()."""
    attr = attributes(s, uattr, size, ATTR_VALUE)
    m = map_behind(s, load32(attr), O_RDONLY)
    key = given(load64(attr + ATTR_KEY), at(m + KEY_SIZE), at(m + KEY_SCRATCH))
    return asked(at(m + DELETE), at(m + MAP_WORDS), key, 0, 0)


@native
def next_key(s: Words, uattr: int, size: int) -> int:
    """map_get_next_key()."""
    attr = attributes(s, uattr, size, ATTR_FLAGS)
    m = map_behind(s, load32(attr), O_WRONLY)
    key = load64(attr + ATTR_KEY)
    if key:
        key = given(key, at(m + KEY_SIZE), at(m + KEY_SCRATCH))
    found = asked(at(m + NEXT_KEY), at(m + MAP_WORDS), key, 0, 0)
    if not found:
        return -ENOENT
    return answer(load64(attr + ATTR_VALUE), found, at(m + KEY_SIZE))


@native
def bpf(s: Words, nr: int, cmd: int, uattr: int, size: int) -> int:
    """The commands on one element of a map."""
    now = begin(s, s[COST])
    cmd &= U32_MAX
    size &= U32_MAX
    result = 0
    if cmd == BPF_MAP_LOOKUP_ELEM:
        result = lookup(s, uattr, size)
    elif cmd == BPF_MAP_UPDATE_ELEM:
        result = update(s, uattr, size)
    elif cmd == BPF_MAP_DELETE_ELEM:
        result = delete(s, uattr, size)
    elif cmd == BPF_MAP_GET_NEXT_KEY:
        result = next_key(s, uattr, size)
    else:
        decline()
    end(s, nr, now, s[COST])
    return result


def shortcuts(version: KernelVersion) -> tuple[Shortcut, ...]:
    """Before 5.19 every command asks who may use BPF at all."""
    if version.before("5.19"):
        return ()
    functions = [name for row in MAP_FUNCTIONS for name in (row.lookup, row.update, row.delete)]
    watched = ("security_bpf", "bpf_lsm_bpf", LOOKUP_ELEM_RAW, *functions)
    words = (id(BPF_MAP_FOPS), attr_size(version))
    return (Shortcut("bpf", bpf, Way(("__sys_bpf",)), others=watched, words=lambda: words, visits=False),)
