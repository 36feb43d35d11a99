"""The maps of a loaded object: raw bytes, or Python values where BTF says the types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from arch.abi.errno import ENOENT
from arch.errors import KernelError
from arch.htmltext import entries_html, frame
from bpf import uapi
from bpf.btf import Btf, Kind
from bpf.loader import values
from bpf.loader.defs import MapDef
from bpf.loader.errors import LoadError
from bpf.loader.sys import Task
from bpf.maps.types import row_of


class Map:
    """One map; `definition` may be changed until the object is loaded."""

    def __init__(self, definition: MapDef, btf: Btf | None) -> None:
        self.definition = definition
        self.btf = btf
        self.task: Task | None = None
        self.fd = -1
        self.reused = False
        self.autocreate = True
        self.pin_path = ""

    def __repr__(self) -> str:
        return f"<map {self.name} type {uapi.MAP_TYPE_NAMES.get(self.definition.type, self.definition.type)}>"

    def _repr_html_(self) -> str:
        """Its entries; whole numbers that count by whole numbers with a bar."""
        kind = uapi.MAP_TYPE_NAMES.get(self.definition.type, self.definition.type)
        title = f"map {self.name}, {kind}, at most {self.definition.max_entries:,}"
        if self.fd < 0:
            return frame(title, "", "not created yet")
        try:
            entries = list(self.items())
        except KernelError as error:
            return frame(title, "", f"has no entries to look up: {error}")
        return frame(title, entries_html(entries), f"{len(entries):,} entries")

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def type(self) -> int:
        return self.definition.type

    def _task(self) -> Task:
        if self.task is None or self.fd < 0:
            raise LoadError(f"map '{self.name}': not created yet", ENOENT)
        return self.task

    @property
    def value_bytes(self) -> int:
        """What a lookup returns: per-CPU maps give a value per possible CPU, each rounded up to 8 bytes."""
        size = self.definition.value_size
        if row_of(self.type).per_cpu:
            return (size + 7) // 8 * 8 * possible_cpus(self._task())
        return size

    # Bytes

    def lookup(self, key: bytes, flags: int = 0) -> bytes | None:
        """The value's bytes, or None where the key is not there."""
        try:
            return self._task().map_lookup(self.fd, key, self.value_bytes, flags)
        except KernelError as error:
            if error.errno == ENOENT:
                return None
            raise

    def update(self, key: bytes | None, value: bytes, flags: int = 0) -> None:
        self._task().map_update(self.fd, key, value, flags)

    def delete(self, key: bytes) -> None:
        self._task().map_delete(self.fd, key)

    def keys(self) -> Iterator[bytes]:
        """All keys, in the kernel's order; a snapshot, so that entries may be deleted meanwhile."""
        if row_of(self.type).keyless:
            return
        key = self._task().map_next_key(self.fd, None, self.definition.key_size)
        seen = 0
        while key is not None and seen <= max(self.definition.max_entries, 1) * 2:
            following = self._task().map_next_key(self.fd, key, self.definition.key_size)
            yield key
            key, seen = following, seen + 1

    def raw_items(self) -> Iterator[tuple[bytes, bytes]]:
        for key in self.keys():
            value = self.lookup(key)
            if value is not None:
                yield key, value

    def pin(self, path: str) -> None:
        self._task().obj_pin(self.fd, path)

    # Python values

    def decode_key(self, key: bytes) -> Any:
        return self._decode(self.definition.key_type_id, key)

    def decode_value(self, value: bytes) -> Any:
        if row_of(self.type).per_cpu:
            step = (self.definition.value_size + 7) // 8 * 8
            size = self.definition.value_size
            type_id = self.definition.value_type_id
            return [self._decode(type_id, value[i : i + size]) for i in range(0, len(value), step)]
        return self._decode(self.definition.value_type_id, value)

    def _decode(self, type_id: int, data: bytes) -> Any:
        if self.btf is not None and type_id:
            return values.decode(self.btf, type_id, data)
        if len(data) in (1, 2, 4, 8) and self.task is not None:
            return int.from_bytes(data, self.task.byteorder)
        return data

    def encode_key(self, key: Any) -> bytes:
        return self._encode(self.definition.key_type_id, key, self.definition.key_size)

    def encode_value(self, value: Any) -> bytes:
        size = self.definition.value_size
        if row_of(self.type).per_cpu:
            one = self.definition.value_type_id
            rows = value if isinstance(value, list) else [value] * possible_cpus(self._task())
            return b"".join(self._encode(one, row, size).ljust((size + 7) // 8 * 8, b"\0") for row in rows)
        return self._encode(self.definition.value_type_id, value, size)

    def _encode(self, type_id: int, value: Any, size: int) -> bytes:
        if isinstance(value, bytes | bytearray):
            return bytes(value)
        if self.btf is not None and type_id:
            return values.encode(self.btf, type_id, value)
        return (int(value) & ((1 << 8 * size) - 1)).to_bytes(size, self._task().byteorder)

    def __getitem__(self, key: Any) -> Any:
        found = self.lookup(self.encode_key(key))
        if found is None:
            raise KeyError(key)
        return self.decode_value(found)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.update(self.encode_key(key), self.encode_value(value))

    def __delitem__(self, key: Any) -> None:
        try:
            self.delete(self.encode_key(key))
        except KernelError as error:
            if error.errno == ENOENT:
                raise KeyError(key) from None
            raise

    def __contains__(self, key: Any) -> bool:
        return self.lookup(self.encode_key(key)) is not None

    def get(self, key: Any, default: Any = None) -> Any:
        found = self.lookup(self.encode_key(key))
        return default if found is None else self.decode_value(found)

    def items(self) -> Iterator[tuple[Any, Any]]:
        for key, value in self.raw_items():
            yield self.decode_key(key), self.decode_value(value)

    def pop_element(self) -> Any:
        """Take from a queue or stack."""
        return self.decode_value(self._task().map_lookup_and_delete(self.fd, None, self.value_bytes))

    # Text

    def format_key(self, key: bytes) -> str:
        return self._format(self.definition.key_type_id, key)

    def format_value(self, value: bytes) -> str:
        if row_of(self.type).per_cpu:
            step, size = (self.definition.value_size + 7) // 8 * 8, self.definition.value_size
            rows = [
                self._format(self.definition.value_type_id, value[i : i + size]) for i in range(0, len(value), step)
            ]
            return "[" + ", ".join(rows) + "]"
        return self._format(self.definition.value_type_id, value)

    def _format(self, type_id: int, data: bytes) -> str:
        if self.btf is not None and type_id:
            return values.text(self.btf, type_id, data)
        if len(data) in (1, 2, 4, 8) and self.task is not None:
            return str(int.from_bytes(data, self.task.byteorder))
        return data.hex(" ")


class Globals:
    """The global variables of one section, by name: `obj.bss.hits`, `obj.rodata.target_pid = 5` (before load)."""

    def __init__(self, map_: Map, btf: Btf | None, datasec: int) -> None:
        object.__setattr__(self, "_map", map_)
        object.__setattr__(self, "_btf", btf)
        rows = btf[datasec].secinfos if btf is not None and datasec else []
        table = {btf[v.type].name: v for v in rows} if btf is not None else {}
        object.__setattr__(self, "_rows", table)

    def __dir__(self) -> list[str]:
        return sorted(self._rows)

    def _bytes(self) -> bytes:
        m = self._map
        if m.fd < 0:
            return bytes(m.definition.data)
        found = m.lookup(bytes(4))
        return found if found is not None else b""

    def __getattr__(self, name: str) -> Any:
        row = self._rows.get(name)
        if row is None:
            raise AttributeError(f"no global variable {name} in {self._map.name}")
        data = self._bytes()[row.offset : row.offset + row.size]
        return values.decode(self._btf, self._btf[row.type].type, data)

    def __setattr__(self, name: str, value: Any) -> None:
        row = self._rows.get(name)
        if row is None:
            raise AttributeError(f"no global variable {name} in {self._map.name}")
        raw = values.encode(self._btf, self._btf[row.type].type, value)
        m = self._map
        data = bytearray(self._bytes())
        data[row.offset : row.offset + len(raw)] = raw
        if m.fd < 0:
            m.definition.data[:] = data
        else:
            m.update(bytes(4), bytes(data))

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)


def possible_cpus(task: Task) -> int:
    """/sys/devices/system/cpu/possible: "0-3" is 4."""
    if task.possible_cpus is None:
        try:
            task.possible_cpus = count_cpus(task.read_file("/sys/devices/system/cpu/possible").decode())
        except KernelError:
            task.possible_cpus = 1
    return task.possible_cpus


def cpu_list(text: str) -> list[int]:
    """`"0-2,5"` -> [0, 1, 2, 5]."""
    found: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first.strip().isdigit():
            found += range(int(first), int(last or first) + 1)
    return found


def count_cpus(text: str) -> int:
    return max(cpu_list(text), default=0) + 1


__all__ = ["Globals", "Kind", "Map", "possible_cpus"]
