"""Special members of a struct that programs share with the kernel: locks, timers, kernel pointers, lists, trees, counts.

btf_parse_fields(), btf_find_field(), btf_parse_struct_metas() of kernel/bpf/btf.c, since 6.2; before, bpf/maps/btf.py finds the few
there were.  A `Record` is what is known of one type; errors are the kernel's, KernelError.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from arch.abi.errno import E2BIG, EEXIST, EFAULT, EINVAL, ELOOP, ENOENT
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from arch.records import dataclass, field
from bpf.btf.codec import COMPOSITES, MAX_RESOLVE_DEPTH, Btf, BtfType, Kind

BTF_FIELDS_MAX: Final = 11
BTF_MAX_OWNERSHIP_DEPTH: Final = 8
PAGE_SIZE: Final = 4096

KPTR_UNREF, KPTR_REF, KPTR_PERCPU, UPTR = "kptr_untrusted", "kptr", "percpu_kptr", "uptr"
SPIN_LOCK, RES_SPIN_LOCK, TIMER, WORKQUEUE, TASK_WORK, REFCOUNT = (
    "bpf_spin_lock", "bpf_res_spin_lock", "bpf_timer", "bpf_wq", "bpf_task_work", "bpf_refcount",
)  # fmt: skip
LIST_HEAD, LIST_NODE, RB_ROOT, RB_NODE = "bpf_list_head", "bpf_list_node", "bpf_rb_root", "bpf_rb_node"

KPTRS: Final = frozenset({KPTR_UNREF, KPTR_REF, KPTR_PERCPU})
GRAPH_ROOTS: Final = frozenset({LIST_HEAD, RB_ROOT})
GRAPH_NODES: Final = frozenset({LIST_NODE, RB_NODE})
_REPEATABLE: Final = KPTRS | GRAPH_ROOTS | {UPTR}


@dataclass(frozen=True, slots=True)
class FieldKind:
    """A kind of special member: the struct's name, its bytes and alignment, whether a type may have two."""

    name: str
    size: int
    align: int
    unique: bool
    since: str
    commit: str


# enum btf_field_type.  Kernel pointers are known by their tag, the others by the name of their struct.
FIELD_KINDS: Final = {
    kind.name: kind
    for kind in (
        FieldKind(SPIN_LOCK, 4, 4, True, "6.2", "db559117828d"),
        FieldKind(TIMER, 16, 8, True, "6.2", "db559117828d"),
        FieldKind(KPTR_UNREF, 8, 8, False, "6.2", "aa3496accc41"),
        FieldKind(KPTR_REF, 8, 8, False, "6.2", "aa3496accc41"),
        FieldKind(KPTR_PERCPU, 8, 8, False, "6.7", "55db92f42fe4"),
        FieldKind(LIST_HEAD, 16, 8, False, "6.2", "f0c5941ff5b2"),
        FieldKind(LIST_NODE, 24, 8, False, "6.2", "8ffa5cc14213"),
        FieldKind(RB_ROOT, 16, 8, False, "6.3", "9c395c1b99bd"),
        FieldKind(RB_NODE, 32, 8, False, "6.3", "9c395c1b99bd"),
        FieldKind(REFCOUNT, 4, 4, True, "6.4", "d54730b50bae"),
        FieldKind(WORKQUEUE, 16, 8, True, "6.10", "d56b63cf0c0f"),
        FieldKind(UPTR, 8, 8, False, "6.13", "1cb80d9e93f8"),
        FieldKind(RES_SPIN_LOCK, 4, 4, True, "6.15", "0de2046137f9"),
        FieldKind(TASK_WORK, 8, 8, True, "6.18", "5c8fd7e2b5b0"),
    )
}
# who may lie in the value of a map, and in an object of the program's own
IN_MAPS: Final = KPTRS | GRAPH_ROOTS | {SPIN_LOCK, RES_SPIN_LOCK, TIMER, WORKQUEUE, TASK_WORK, REFCOUNT, UPTR}
IN_OBJECTS: Final = KPTRS | GRAPH_ROOTS | GRAPH_NODES | {SPIN_LOCK, RES_SPIN_LOCK, REFCOUNT}
_SMALL_NODES: Final = "6.6"  # 0a1f7bfe35a3: before, nodes had no room for their owner
_NESTED: Final = "6.11"  # 64e8ee814819: members of members, and arrays
UNKNOWN_TAGS_IGNORED: Final = "7.2"  # found by asking: a tag that 6.12 refuses is passed over
_UNTRUSTED_NAMED: Final = "6.4"  # 03b77e17aeb2: kptr and kptr_ref became kptr_untrusted and kptr
_KPTRS_OF_OBJECTS: Final = "6.12"  # b0966c724584: kernel pointers in objects of the program's own
_OBJECT_NAMES: Final = (SPIN_LOCK, LIST_HEAD, LIST_NODE, RB_ROOT, RB_NODE, REFCOUNT)


@dataclass(slots=True)
class Field:
    """One special member: struct btf_field."""

    kind: str
    offset: int
    size: int
    # of a pointer: what it points to, and which kernel function gives a reference back
    btf: Btf | None = None
    btf_id: int = 0
    dtor: str = ""
    # of a list or tree: what it holds, and where the node lies in that
    node_offset: int = 0
    node_name: str = ""

    @property
    def shown(self) -> str:
        """btf_field_type_name()."""
        return KPTR_REF if self.kind == KPTR_UNREF else self.kind


@dataclass(slots=True)
class Record:
    """The special members of one type, by offset: struct btf_record."""

    fields: list[Field] = field(default_factory=list)

    def has(self, *kinds: str) -> bool:
        """One of these kinds is there."""
        return any(one.kind in kinds for one in self.fields)

    def offset_of(self, kind: str) -> int:
        """Of the only member of a kind; negative: there is none."""
        return next((one.offset for one in self.fields if one.kind == kind), -EINVAL)

    def at(self, offset: int, kinds: Iterable[str]) -> Field | None:
        """The member of one of these kinds at exactly this offset: btf_record_find()."""
        return next((one for one in self.fields if one.offset == offset and one.kind in kinds), None)


class Reader:
    """Finds the special members of types of one BTF."""

    def __init__(self, btf: Btf, vmlinux: Btf | None, version: KernelVersion, dtors: dict[str, str]) -> None:
        self.btf, self.vmlinux, self.version, self.dtors = btf, vmlinux, version, dtors
        self.nested = version.at_least(_NESTED)
        self.known = {name for name, kind in FIELD_KINDS.items() if version.at_least(kind.since)}
        self._metas: dict[int, Record] | None = None

    # ---- objects of the program's own ----

    def struct_metas(self) -> dict[int, Record]:
        """Records of all structs with special members: btf_parse_struct_metas()."""
        if self._metas is not None:
            return self._metas
        wanted = {self.btf.find(name, Kind.STRUCT) for name in _OBJECT_NAMES} - {0}
        if self.version.at_least(_KPTRS_OF_OBJECTS):
            wanted |= {t.id for t in self.btf.types[1:] if self._find_kptr(t, 0, KPTRS) is not None}
        self._metas = {}
        for t in self.btf.types[1:] if wanted else ():
            if t.kind in COMPOSITES and any(member.type in wanted for member in t.members):
                record = self.parse(t, IN_OBJECTS, t.size)
                if record is None:
                    raise KernelError(EFAULT)
                self._metas[t.id] = record
        for record in self._metas.values():
            self.check(record)
        self._check_ownership()
        return self._metas

    def _check_ownership(self) -> None:
        """Who owns whom has an end: btf_check_and_fixup_fields(), btf_check_ownership_depth()."""
        assert self._metas is not None
        depth: dict[int, int] = {}

        def walk(type_id: int, left: int) -> int:
            if not left:
                raise KernelError(ELOOP)
            if type_id not in depth:
                owned = [self._owned(one) for one in self.metas[type_id].fields]
                depth[type_id] = max([walk(one, left - 1) for one in owned if one], default=0) + 1
            if depth[type_id] > left:
                raise KernelError(ELOOP)
            return depth[type_id]

        for type_id in self._metas:
            walk(type_id, BTF_MAX_OWNERSHIP_DEPTH)

    def _owned(self, one: Field) -> int:
        if one.kind in GRAPH_ROOTS or (one.kind in (KPTR_REF, KPTR_PERCPU) and one.btf is self.btf):
            return one.btf_id if one.btf_id in self.metas else 0
        return 0

    @property
    def metas(self) -> dict[int, Record]:
        """The records by type id."""
        return self.struct_metas()

    def check(self, record: Record) -> None:
        """What lists and trees hold has a record of its own; a pointer to user space points into one page."""
        for one in record.fields:
            if one.kind in GRAPH_ROOTS and one.btf_id not in self.metas:
                raise KernelError(EFAULT)
            if one.kind == UPTR:
                if one.btf is not self.btf:
                    raise KernelError(EINVAL)
                size = self.btf[one.btf_id].size
                if not size:
                    raise KernelError(EINVAL)
                if size > PAGE_SIZE:
                    raise KernelError(E2BIG)

    # ---- one type ----

    def parse(self, t: BtfType, kinds: frozenset[str], value_size: int) -> Record | None:
        """The record of a struct or section; None: nothing special is there."""
        self._seen: set[str] = set()
        if t.kind in COMPOSITES:
            found = self._in_struct(t, kinds, BTF_FIELDS_MAX, 0)
        elif t.kind is Kind.DATASEC:
            found = self._in_section(t, kinds)
        else:
            raise KernelError(EINVAL)
        if not found:
            return None
        end = 0
        for one in found:
            if one.offset + one.size > value_size:
                raise KernelError(EFAULT)
            if one.offset < end:
                raise KernelError(EEXIST)
            end = one.offset + one.size
            self._resolve(one)
        record = Record(found)
        locked = record.has(SPIN_LOCK) or record.has(RES_SPIN_LOCK)
        if record.has(*GRAPH_ROOTS) and not locked:
            raise KernelError(EINVAL)
        if record.has(LIST_NODE) and record.has(RB_NODE) and not record.has(REFCOUNT):
            raise KernelError(EINVAL)
        record.fields.sort(key=lambda one: one.offset)
        return record

    def _in_struct(self, t: BtfType, kinds: frozenset[str], room: int, level: int) -> list[Field]:
        found: list[Field] = []
        for index, member in enumerate(t.members):
            if self.nested and member.bit_offset % 8:
                raise KernelError(EINVAL)
            place = member.bit_offset // 8
            found += self._one(t, index, member.type, place, 0, kinds, room - len(found), level)
        return found

    def _in_section(self, t: BtfType, kinds: frozenset[str]) -> list[Field]:
        found: list[Field] = []
        for info in t.secinfos:
            var = self.btf[info.type]
            found += self._one(var, -1, var.type, info.offset, info.size, kinds, BTF_FIELDS_MAX - len(found), 0)
        return found

    def _one(
        self,
        owner: BtfType,
        index: int,
        type_id: int,
        off: int,
        expected: int,
        kinds: frozenset[str],
        room: int,
        level: int,
    ) -> list[Field]:
        """btf_find_field_one(): what one member, or the elements of one array, bring."""
        t, count = self.btf[type_id], 1
        depth = 0
        while self.nested and t.kind is Kind.ARRAY:
            if depth == MAX_RESOLVE_DEPTH:
                raise KernelError(E2BIG)
            count *= t.nelems
            t = self.btf[t.type]
            depth += 1
        if count == 0:
            return []
        name = self._kind_of(t, kinds)
        if not name:
            if not self.nested or t.kind not in COMPOSITES or (expected and expected != t.size * count):
                return []
            return self._nested(t, off, count, kinds, room, level + 1)
        kind = FIELD_KINDS[name]
        if (expected and expected != kind.size * count) or off % kind.align:
            return []
        found = self._make(owner, index, t, off, kind, kinds)
        if found is None:
            return []
        if not room:
            raise KernelError(E2BIG)
        return self._repeated([found], count, kind.size, room)

    def _nested(self, t: BtfType, off: int, count: int, kinds: frozenset[str], room: int, level: int) -> list[Field]:
        if level >= MAX_RESOLVE_DEPTH:
            raise KernelError(E2BIG)
        found = self._in_struct(t, kinds, room, level)
        for one in found:
            one.offset += off
        return self._repeated(found, count, t.size, room) if found else []

    def _repeated(self, found: list[Field], count: int, size: int, room: int) -> list[Field]:
        if count == 1:
            return found
        if any(one.kind not in _REPEATABLE for one in found):
            raise KernelError(EINVAL)
        if len(found) * count > room:
            raise KernelError(E2BIG)
        return [replace(one, offset=one.offset + i * size) for i in range(count) for one in found]

    def _kind_of(self, t: BtfType, kinds: frozenset[str]) -> str:
        """btf_get_field_type(): by the name; anything that is no struct may be a kernel pointer."""
        kind = FIELD_KINDS.get(t.name)
        if kind is not None and t.name in kinds & self.known and t.name not in KPTRS | {UPTR}:
            if kind.unique:
                if t.name in self._seen:
                    raise KernelError(E2BIG)
                self._seen.add(t.name)
            return t.name
        return KPTR_REF if t.kind not in COMPOSITES and kinds & (KPTRS | {UPTR}) else ""

    def _make(
        self, owner: BtfType, index: int, t: BtfType, off: int, kind: FieldKind, kinds: frozenset[str]
    ) -> Field | None:
        if kind.name in KPTRS:
            return self._find_kptr(t, off, kinds)
        small = self.version.before(_SMALL_NODES) and kind.name in GRAPH_NODES
        size = kind.size - 8 if small else kind.size
        if t.kind not in COMPOSITES or t.size != size:
            return None
        found = Field(kind.name, off, size)
        if kind.name in GRAPH_ROOTS:
            self._find_contents(found, owner, index)
        return found

    def _find_kptr(self, t: BtfType, off: int, kinds: frozenset[str]) -> Field | None:
        """btf_find_kptr(): a pointer with a tag."""
        if t.kind is Kind.VOLATILE:
            t = self.btf[t.type]
        if t.kind is not Kind.PTR:
            return None
        tag = self.btf[t.type]
        if tag.kind is not Kind.TYPE_TAG:
            return None
        if self.btf[tag.type].kind is Kind.TYPE_TAG:
            raise KernelError(EINVAL)
        names = {KPTR_UNREF: KPTR_UNREF, KPTR_REF: KPTR_REF, KPTR_PERCPU: KPTR_PERCPU, UPTR: UPTR}
        if self.version.before(_UNTRUSTED_NAMED):
            names = {"kptr": KPTR_UNREF, "kptr_ref": KPTR_REF}
        name = names.get(tag.name, "")
        if name not in self.known:
            if self.version.at_least(UNKNOWN_TAGS_IGNORED):
                return None
            raise KernelError(EINVAL)
        if name not in kinds:
            return None
        target = self.btf.skip(tag.type)
        if self.btf[target].kind not in COMPOSITES:
            raise KernelError(EINVAL)
        return Field(name, off, 8, btf_id=target)

    def _find_contents(self, found: Field, owner: BtfType, index: int) -> None:
        """The tag "contains:STRUCT:MEMBER" of a list or tree: btf_find_graph_root()."""
        tags = [
            t.name.removeprefix("contains:")
            for t in self.btf.types
            if t.kind is Kind.DECL_TAG and t.type == owner.id and t.component_idx == index
            if t.name.startswith("contains:")
        ]
        if len(tags) != 1 or ":" not in tags[0]:
            raise KernelError(EINVAL)
        struct, _, member = tags[0].partition(":")
        found.btf_id = self.btf.find(struct, Kind.STRUCT)
        if not found.btf_id:
            raise KernelError(ENOENT)
        if not member:
            raise KernelError(EINVAL)
        found.node_name = member

    # ---- what a member leads to ----

    def _resolve(self, one: Field) -> None:
        if one.kind in KPTRS or one.kind == UPTR:
            self._resolve_kptr(one)
        elif one.kind in GRAPH_ROOTS:
            one.btf = self.btf
            one.node_offset = self._node_offset(one, LIST_NODE if one.kind == LIST_HEAD else RB_NODE)

    def _resolve_kptr(self, one: Field) -> None:
        """btf_parse_kptr(): a struct of the kernel by its name, else one of the program's own."""
        target = self.btf[one.btf_id]
        found = self.vmlinux.find(target.name, target.kind) if self.vmlinux is not None else 0
        if not found:
            one.btf = self.btf
            return
        one.btf, one.btf_id = self.vmlinux, found
        if one.kind == KPTR_REF:
            one.dtor = self.dtors.get(target.name, "")
            if not one.dtor:
                raise KernelError(ENOENT)

    def _node_offset(self, one: Field, node: str) -> int:
        found = -1
        for member in self.btf[one.btf_id].members:
            if member.name != one.node_name:
                continue
            t = self.btf[member.type]
            if found >= 0 or t.kind not in COMPOSITES or t.name != node or member.bit_offset % 64:
                raise KernelError(EINVAL)
            found = member.bit_offset // 8
        if found < 0:
            raise KernelError(ENOENT)
        return found
