"""Records that programs send through ring buffers and perf event arrays, as values of the object's own types.

    events = m.records(obj, "events", "struct event")     from now on; a struct of the object's BTF
    m.run([...])
    for record in events.read():                           what has come since the last read
        assert record["pid"] == 100
    assert events.lost == 0                                of a perf array: what its reader was told (PERF_RECORD_LOST)

A reader that is late is one that is not read: `pages` and the map's size say how much it holds until then.
"""

from __future__ import annotations

import difflib

from arch.records import dataclass
from bpf import uapi
from bpf.btf import Btf, Kind
from bpf.loader import values
from bpf.loader.buffers import PerfBuffer, RingBuffer
from bpf.loader.object import BpfObject

TYPES = {"struct": Kind.STRUCT, "union": Kind.UNION, "enum": Kind.ENUM}


class RecordError(ValueError):
    """Records that cannot be read as what was asked: a sentence for a person."""


@dataclass(frozen=True)
class Record:
    """One record; `record["member"]` is a member of it."""

    value: object  # as map values: numbers, text, dicts, lists
    raw: bytes
    cpu: int | None = None  # of a perf array: whose ring it came through

    def __getitem__(self, member: str) -> object:
        if not isinstance(self.value, dict):
            raise RecordError(f"a record of {type(self.value).__name__} has no members")
        if member not in self.value:
            raise RecordError(f"no member {member!r}; it has {', '.join(self.value)}")
        found: object = self.value[member]
        return found


class Records:
    """A reader of one map."""

    def __init__(self, obj: BpfObject, name: str, ctype: str | None, pages: int) -> None:
        if name not in obj.maps:
            raise RecordError(f"{obj.name} has no map {name!r}; it has {', '.join(obj.maps) or 'none'}")
        self.map = obj.maps[name]
        self.btf = obj.btf
        self.type_id = 0 if ctype is None else type_of(obj.btf, ctype)
        self.ctype = ctype
        self.lost = 0
        self._new: list[Record] = []
        self.reader: PerfBuffer | RingBuffer
        if self.map.type == uapi.BPF_MAP_TYPE_RINGBUF:
            self.reader = RingBuffer(self.map, lambda raw: self._take(raw, None))
        elif self.map.type == uapi.BPF_MAP_TYPE_PERF_EVENT_ARRAY:
            self.reader = PerfBuffer(self.map, lambda cpu, raw: self._take(raw, cpu), self._count_lost, pages)
        else:
            kind = uapi.MAP_TYPE_NAMES.get(self.map.type, str(self.map.type)).lower()
            raise RecordError(f"map {name} is of type {kind}: records come through ringbuf and perf_event_array")

    def _count_lost(self, cpu: int, count: int) -> None:
        self.lost += count

    def _take(self, raw: bytes, cpu: int | None) -> None:
        value: object = raw
        if self.btf is not None and self.type_id:
            size = self.btf.size_of(self.type_id)
            if len(raw) < size:
                raise RecordError(f"a record of {len(raw)} bytes is too short for {self.ctype} ({size})")
            value = values.decode(self.btf, self.type_id, raw)
        self._new.append(Record(value, raw, cpu))

    def read(self) -> list[Record]:
        """What has come since the last read, in the order of the buffer (of perf arrays: CPU by CPU)."""
        self.reader.consume()
        new, self._new = self._new, []
        return new

    def close(self) -> None:
        """Unmap; a perf array's events end."""
        self.reader.close()


def type_of(btf: Btf | None, name: str) -> int:
    """Number of a type of the object; RecordError."""
    if btf is None:
        raise RecordError(f"the object has no BTF that could say what {name} is: compile it with -g")
    word, _, rest = name.partition(" ")
    kind, wanted = (TYPES[word], rest.strip()) if word in TYPES else (None, name)
    found = btf.find(wanted, kind)
    if found:
        return found
    known = sorted({each.name for each in btf.types[1:] if each.name and (kind is None or each.kind is kind)})
    near = difflib.get_close_matches(wanted, known, n=3)
    hint = f"; near: {', '.join(near)}" if near else ""
    raise RecordError(
        f"the object has no type {name!r}{hint}.  Types that no variable or map has are left out by clang"
    )
