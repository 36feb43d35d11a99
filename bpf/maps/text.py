"""Maps as text by the types of their keys and values: what a pinned map's file shows.  kernel/bpf/inode.c: bpffs_map_fops,
map_seq_show_elem of the map types.

Whether a type has one, and how its keys look, is `text` of its row.  Maps of other types, and those without BTF, have files
that cannot be opened.
"""

from __future__ import annotations

from collections.abc import Iterator

from arch.errors import KernelError
from arch.memory import ByteOrder
from bpf.btf.codec import Btf
from bpf.btf.show import SHOW_COMPACT, SHOW_NONAME, SHOW_ZERO, show
from bpf.maps.base import BpfMap
from bpf.maps.rows import MAP_TYPES, MapType
from bpf.maps.sizes import round_up

WARNING = """\
# WARNING!! The output is for debug purpose only
# WARNING!! The output format will change
"""
MANY = 1 << 20  # elements of a map without a limit
FLAGS = SHOW_NONAME | SHOW_COMPACT | SHOW_ZERO  # btf_type_seq_show()


def _value_type(found: BpfMap) -> tuple[Btf | None, int]:
    if found.btf_vmlinux_value_type_id:
        return found.host.vmlinux_btf, found.btf_vmlinux_value_type_id
    return found.btf, found.btf_value_type_id


def has_text(found: BpfMap) -> bool:
    """bpf_map_support_seq_show()."""
    btf, value_type = _value_type(found)
    return bool(MAP_TYPES[found.map_type].text and btf is not None and value_type)


def map_text(found: BpfMap) -> str:
    """The text of all elements of a map that has one."""
    row, (btf, value_type) = MAP_TYPES[found.map_type], _value_type(found)
    assert btf is not None
    order, parts = found.mem.byteorder, [WARNING]
    for key in _keys(found):
        try:
            value = found.user_lookup(key, 0)
        except KernelError:
            continue
        parts.append(_key(row, btf, found.btf_key_type_id, key, order))
        size = round_up(found.value_size, 8) if row.per_cpu else len(value)
        texts = [_text(btf, value_type, value[at : at + size], order) for at in range(0, len(value), size)]
        if row.per_cpu:
            parts += ["{\n", *(f"\tcpu{cpu}: {text}\n" for cpu, text in enumerate(texts)), "}\n"]
        else:
            parts += [*texts, "\n"]
    return "".join(parts)


def _keys(found: BpfMap) -> Iterator[bytes]:
    key: bytes | None = None
    for _ in range(found.max_entries or MANY):
        try:
            key = found.next_key(key)
        except KernelError:
            return
        yield key


def _text(btf: Btf, type_id: int, raw: bytes, order: ByteOrder) -> str:
    return show(btf, type_id, 0, lambda at, size: raw[at : at + size], order, FLAGS)


def _key(row: MapType, btf: Btf, type_id: int, key: bytes, order: ByteOrder) -> str:
    if row.text == "type":
        return _text(btf, type_id, key, order) + ": "
    return f"{int.from_bytes(key, order)}: " if row.text == "index" and type_id else ""
