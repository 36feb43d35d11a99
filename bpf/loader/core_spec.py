"""What a CO-RE relocation names: a field, a type or an enumerator, by the compiler's access string.

tools/lib/bpf/relo_core.c: bpf_core_parse_spec().
"""

from __future__ import annotations

import re

from arch.abi.errno import E2BIG, EINVAL
from arch.records import dataclass, field
from bpf.btf import Btf, BtfError, Kind
from bpf.btf.codec import COMPOSITES, ENUMS
from bpf.btf.ext import CoreKind, CoreRelo

MAX_SPEC = 64

KIND_NAMES = {
    CoreKind.FIELD_BYTE_OFFSET: "byte_off",
    CoreKind.FIELD_BYTE_SIZE: "byte_sz",
    CoreKind.FIELD_EXISTS: "field_exists",
    CoreKind.FIELD_SIGNED: "signed",
    CoreKind.FIELD_LSHIFT_U64: "lshift_u64",
    CoreKind.FIELD_RSHIFT_U64: "rshift_u64",
    CoreKind.TYPE_ID_LOCAL: "local_type_id",
    CoreKind.TYPE_ID_TARGET: "target_type_id",
    CoreKind.TYPE_EXISTS: "type_exists",
    CoreKind.TYPE_SIZE: "type_size",
    CoreKind.ENUMVAL_EXISTS: "enumval_exists",
    CoreKind.ENUMVAL_VALUE: "enumval_value",
    CoreKind.TYPE_MATCHES: "type_matches",
}
FIELD_KINDS = frozenset(range(CoreKind.FIELD_BYTE_OFFSET, CoreKind.FIELD_RSHIFT_U64 + 1))
TYPE_KINDS = frozenset({6, 7, 8, 9, 12})
ENUM_KINDS = frozenset({10, 11})
# libbpf's btf_kind_str(): in small letters.
KIND_TEXT = {kind: kind.name.lower() for kind in Kind}


@dataclass(slots=True)
class Accessor:
    """One named member or one array index on the way to a field."""

    type_id: int
    index: int
    name: str = ""


@dataclass(slots=True)
class Spec:
    """What a relocation is about, in one BTF."""

    btf: Btf
    root: int
    kind: int
    steps: list[Accessor] = field(default_factory=list)
    raw: list[int] = field(default_factory=list)
    bit_offset: int = 0

    def __str__(self) -> str:
        t = self.btf[self.root]
        text = f"<{kind_name(self.kind)}> [{self.root}] {KIND_TEXT[t.kind]} {t.name or '<anon>'}"
        if self.kind in ENUM_KINDS:
            name, value = self.btf.resolved(self.root).values[self.raw[0]]
            return f"{text}::{name} = {value}"
        if self.kind in FIELD_KINDS:
            for number, step in enumerate(self.steps):
                text += f".{step.name}" if step.name else f"[{step.index}]" if number or step.index else ""
            place = f"{self.bit_offset // 8}" + (f".{self.bit_offset % 8}" if self.bit_offset % 8 else "")
            text += f" ({':'.join(map(str, self.raw))} @ offset {place})"
        return text


def kind_name(kind: int) -> str:
    return KIND_NAMES.get(CoreKind(kind), "unknown") if kind <= CoreKind.TYPE_MATCHES else "unknown"


def parse_spec(btf: Btf, relo: CoreRelo) -> Spec:
    """The access string, understood in the object's own BTF.  bpf_core_parse_spec(); ValueError(-errno)."""
    text = relo.access
    if not text or text.startswith(":"):
        raise bad_spec(EINVAL)
    spec = Spec(btf, relo.type_id, relo.kind)
    if relo.kind in TYPE_KINDS:
        if text != "0":
            raise bad_spec(EINVAL)
        return spec
    if not re.fullmatch(r"\d+(?::\d+)*:?", text):
        raise bad_spec(EINVAL)
    spec.raw = [int(part) for part in text.rstrip(":").split(":")]
    if len(spec.raw) > MAX_SPEC:
        raise bad_spec(E2BIG)
    here = btf.skip(relo.type_id)
    first = spec.raw[0]
    spec.steps.append(Accessor(here, first))
    if relo.kind in ENUM_KINDS:
        t = btf[here]
        if t.kind not in ENUMS or len(spec.raw) > 1 or first >= len(t.values):
            raise bad_spec(EINVAL)
        spec.steps[0].name = t.values[first][0]
        return spec
    if relo.kind not in FIELD_KINDS:
        raise bad_spec(EINVAL)
    spec.bit_offset = first * size_of(btf, here) * 8
    for index in spec.raw[1:]:
        here = _step(spec, btf.skip(here), index)
    return spec


def _step(spec: Spec, here: int, index: int) -> int:
    """Into a member or an array element; the type found there."""
    btf, t = spec.btf, spec.btf[here]
    if t.kind in COMPOSITES:
        if index >= len(t.members):
            raise bad_spec(EINVAL)
        member = t.members[index]
        spec.bit_offset += member.bit_offset
        if member.name:
            spec.steps.append(Accessor(here, index, member.name))
        return member.type
    if t.kind is Kind.ARRAY:
        element = btf.skip(t.type)
        if not is_flexible(spec, t.nelems) and index >= t.nelems:
            raise bad_spec(EINVAL)
        spec.steps.append(Accessor(element, index))
        spec.bit_offset += index * size_of(btf, element) * 8
        return element
    raise bad_spec(EINVAL)


def is_flexible(spec: Spec, nelems: int) -> bool:
    """A zero-sized array that is the last member of its struct."""
    last = spec.steps[-1]
    return bool(last.name) and nelems == 0 and last.index == len(spec.btf[last.type_id].members) - 1


def size_of(btf: Btf, type_id: int) -> int:
    try:
        return btf.size_of(type_id)
    except BtfError:
        raise bad_spec(EINVAL) from None


class SpecError(ValueError):
    """Carries an errno."""

    def __init__(self, errno: int) -> None:
        super().__init__(errno)
        self.errno = errno


def bad_spec(errno: int) -> SpecError:
    return SpecError(errno)
