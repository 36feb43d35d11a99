"""Objects of programs, and the lists and trees they are kept in; exceptions.  kernel/bpf/helpers.c since 6.2.

An object is kernel memory of the size of its type. A list runs through its nodes in that memory, as in Linux; a tree's order is
kept beside it (nobody sees its shape here), only who owns a node is in memory.
"""

from __future__ import annotations

from arch.abi.errno import EINVAL
from bpf.btf.record import GRAPH_NODES, REFCOUNT, Reader, Record
from bpf.face import Registers
from bpf.helpers import Runtime, kernel_name
from bpf.helpers.thrown import Thrown
from bpf.versions.kptr_destructors import kptr_destructors

_NODE_NEXT, _NODE_PREV, _LIST_OWNER, _RB_OWNER = 0, 8, 16, 24
_POINTER_SIZE = 8


def _record(rt: Runtime, type_id: int) -> Record | None:
    """Special members of one of the program's types."""
    btf = rt.prog.btf
    assert btf is not None
    known = rt.bpf.owned.types.get(btf)
    if known is None:
        reader = Reader(btf, rt.host.vmlinux_btf, rt.host.version, kptr_destructors(rt.host.version))
        known = rt.bpf.owned.types[btf] = reader.struct_metas()
    return known.get(type_id)


@kernel_name("bpf_obj_new", "bpf_obj_new_impl")
def bpf_obj_new(rt: Runtime, type_id: int) -> int:
    """An object of this type of the program's; its special members are empty."""
    assert rt.prog.btf is not None
    address = rt.mem.alloc(rt.prog.btf[type_id].size)
    record = _record(rt, type_id)
    rt.bpf.owned.records[address] = record
    if record is not None:
        for one in record.fields:
            rt.mem.write(address + one.offset, bytes(one.size))
            if one.kind == REFCOUNT:
                rt.mem.write_uint(address + one.offset, 4, 1)
            elif one.kind in GRAPH_NODES:
                rt.bpf.owned.object_of_node[address + one.offset] = address
    return address


@kernel_name("bpf_obj_drop", "bpf_obj_drop_impl")
def bpf_obj_drop(rt: Runtime, address: int) -> int:
    """Give an object back; with the last reference it goes, and what it held."""
    _drop(rt, address)
    return 0


def _drop(rt: Runtime, address: int) -> None:
    record = rt.bpf.owned.records.get(address)
    for one in record.fields if record is not None else ():
        if one.kind == REFCOUNT:
            left = int(rt.mem.read_uint(address + one.offset, 4)) - 1
            rt.mem.write_uint(address + one.offset, 4, left & 0xFFFFFFFF)
            if left > 0:
                return
    owned = rt.bpf.owned
    if address in owned.records:
        del owned.records[address]
        for one in record.fields if record is not None else ():
            owned.object_of_node.pop(address + one.offset, None)
            owned.trees.pop(address + one.offset, None)
        rt.mem.free(address)


@kernel_name("bpf_refcount_acquire", "bpf_refcount_acquire_impl")
def bpf_refcount_acquire(rt: Runtime, address: int) -> int:
    """Another reference; 0: the last one is gone."""
    record = rt.bpf.owned.records.get(address)
    place = address + record.offset_of(REFCOUNT) if record is not None else 0
    count = int(rt.mem.read_uint(place, 4)) if place else 0
    if not count:
        return 0
    rt.mem.write_uint(place, 4, count + 1)
    return address


# ---- nodes ----


def _word(rt: Runtime, address: int) -> int:
    return int(rt.mem.read_uint(address, _POINTER_SIZE))


def _link(rt: Runtime, before: int, behind: int) -> None:
    rt.mem.write_uint(before + _NODE_NEXT, _POINTER_SIZE, behind)
    rt.mem.write_uint(behind + _NODE_PREV, _POINTER_SIZE, before)


def _ready(rt: Runtime, head: int) -> None:
    """A list that nobody used is zeros: it is empty."""
    if not _word(rt, head + _NODE_NEXT):
        _link(rt, head, head)


def _add(rt: Runtime, head: int, node: int, first: bool) -> int:
    _ready(rt, head)
    if _word(rt, node + _LIST_OWNER):
        _drop(rt, rt.bpf.owned.object_of_node[node])
        return -EINVAL
    before = head if first else _word(rt, head + _NODE_PREV)
    behind = _word(rt, before + _NODE_NEXT)
    _link(rt, before, node)
    _link(rt, node, behind)
    rt.mem.write_uint(node + _LIST_OWNER, _POINTER_SIZE, head)
    return 0


@kernel_name("bpf_list_push_front", "bpf_list_push_front_impl")
def bpf_list_push_front(rt: Runtime, head: int, node: int) -> int:
    """Put an object at the head.  EINVAL: it is in a list already; the reference is given back."""
    return _add(rt, head, node, True)


@kernel_name("bpf_list_push_back", "bpf_list_push_back_impl")
def bpf_list_push_back(rt: Runtime, head: int, node: int) -> int:
    """The same at the tail."""
    return _add(rt, head, node, False)


def _pop(rt: Runtime, head: int, at: int) -> int:
    _ready(rt, head)
    node = _word(rt, head + at)
    if node == head or _word(rt, node + _LIST_OWNER) != head:
        return 0
    _link(rt, _word(rt, node + _NODE_PREV), _word(rt, node + _NODE_NEXT))
    _link(rt, node, node)
    rt.mem.write_uint(node + _LIST_OWNER, _POINTER_SIZE, 0)
    return node


@kernel_name("bpf_list_pop_front")
def bpf_list_pop_front(rt: Runtime, head: int) -> int:
    """Take the first node out; 0: there is none."""
    return _pop(rt, head, _NODE_NEXT)


@kernel_name("bpf_list_pop_back")
def bpf_list_pop_back(rt: Runtime, head: int) -> int:
    """Take the last node out; 0: there is none."""
    return _pop(rt, head, _NODE_PREV)


@kernel_name("bpf_list_front")
def bpf_list_front(rt: Runtime, head: int) -> int:
    """The first node, which stays."""
    _ready(rt, head)
    node = _word(rt, head + _NODE_NEXT)
    return 0 if node == head else node


@kernel_name("bpf_list_back")
def bpf_list_back(rt: Runtime, head: int) -> int:
    """The last node, which stays."""
    _ready(rt, head)
    node = _word(rt, head + _NODE_PREV)
    return 0 if node == head else node


@kernel_name("bpf_rbtree_add", "bpf_rbtree_add_impl", registers=True)
def bpf_rbtree_add(rt: Runtime, r: Registers) -> int:
    """Put an object where the program's function says, behind its equals.  EINVAL: it is in a tree already."""
    root, node, less = r[1], r[2], r[3]
    if _word(rt, node + _RB_OWNER):
        _drop(rt, rt.bpf.owned.object_of_node[node])
        return -EINVAL
    order = rt.bpf.owned.trees.setdefault(root, [])
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        if rt.call_back(r, less, node, order[middle]):
            high = middle
        else:
            low = middle + 1
    order.insert(low, node)
    rt.mem.write_uint(node + _RB_OWNER, _POINTER_SIZE, root)
    return 0


@kernel_name("bpf_rbtree_first")
def bpf_rbtree_first(rt: Runtime, root: int) -> int:
    """The least node, which stays."""
    order = rt.bpf.owned.trees.get(root)
    return order[0] if order else 0


@kernel_name("bpf_rbtree_remove")
def bpf_rbtree_remove(rt: Runtime, root: int, node: int) -> int:
    """Take a node out; 0: it is not in this tree."""
    order = rt.bpf.owned.trees.get(root, [])
    if _word(rt, node + _RB_OWNER) != root or node not in order:
        return 0
    order.remove(node)
    rt.mem.write_uint(node + _RB_OWNER, _POINTER_SIZE, 0)
    return node


# A tree that a program walks through is the balanced one over its order: the middle is the root, and so on in both halves.


def _below(rt: Runtime, root: int, node: int, right: bool) -> int:
    order = rt.bpf.owned.trees.get(root, [])
    if _word(rt, node + _RB_OWNER) != root or node not in order:
        return 0
    at, low, high = order.index(node), 0, len(order)
    while (middle := (low + high) // 2) != at:
        low, high = (middle + 1, high) if at > middle else (low, middle)
    low, high = (at + 1, high) if right else (low, at)
    return order[(low + high) // 2] if low < high else 0


@kernel_name("bpf_rbtree_root")
def bpf_rbtree_root(rt: Runtime, root: int) -> int:
    """The node at the top; 0: there is none."""
    order = rt.bpf.owned.trees.get(root)
    return order[len(order) // 2] if order else 0


@kernel_name("bpf_rbtree_left")
def bpf_rbtree_left(rt: Runtime, root: int, node: int) -> int:
    """The node below to the left; 0: there is none."""
    return _below(rt, root, node, False)


@kernel_name("bpf_rbtree_right")
def bpf_rbtree_right(rt: Runtime, root: int, node: int) -> int:
    """The node below to the right; 0: there is none."""
    return _below(rt, root, node, True)


# ---- exceptions ----


@kernel_name("bpf_throw")
def bpf_throw(rt: Runtime, cookie: int) -> int:
    """End the program: its callback, or the number itself, is the result."""
    raise Thrown(cookie)
