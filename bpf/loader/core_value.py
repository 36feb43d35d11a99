"""The number that a CO-RE relocation asks for, in the object's BTF and in the kernel's.

tools/lib/bpf/relo_core.c: bpf_core_calc_{field,type,enumval}_relo().
"""

from __future__ import annotations

from arch.abi.errno import E2BIG, EINVAL, EOPNOTSUPP
from arch.records import dataclass
from bpf.btf import Kind
from bpf.btf.codec import ENUMS, INT_SIGNED
from bpf.btf.ext import CoreKind
from bpf.loader.core_spec import FIELD_KINDS, TYPE_KINDS, Spec, bad_spec, size_of


class Poison(Exception):
    """The instruction has no meaning on this kernel (relo_core.c says -EUCLEAN)."""


@dataclass(slots=True)
class Value:
    """One side of a relocation: the number, and for loads the field's size and type."""

    number: int = 0
    size: int = 0
    type_id: int = 0
    validate: bool = True


@dataclass(slots=True)
class Result:
    """What to patch in.  `wrong_size`: a load or store of this field cannot be resized safely."""

    original: int = 0
    new: int = 0
    poison: bool = False
    validate: bool = True
    wrong_size: bool = False
    original_size: int = 0
    new_size: int = 0


def value_of(spec: Spec | None, kind: int) -> Value:
    """The number a relocation asks for.  bpf_core_calc_{field,type,enumval}_relo()."""
    if kind in TYPE_KINDS:
        return _type_value(spec, kind)
    if kind == CoreKind.FIELD_EXISTS or kind == CoreKind.ENUMVAL_EXISTS:
        return Value(1 if spec else 0)
    if spec is None:
        raise Poison
    if kind == CoreKind.ENUMVAL_VALUE:
        number = spec.btf[spec.steps[0].type_id].values[spec.steps[0].index][1]
        return Value(number & 0xFFFFFFFFFFFFFFFF)
    if kind not in FIELD_KINDS:
        raise bad_spec(EOPNOTSUPP)
    return _field_value(spec, kind)


def _type_value(spec: Spec | None, kind: int) -> Value:
    if spec is None:
        return Value(0)
    match kind:
        case CoreKind.TYPE_ID_TARGET:
            return Value(spec.root, validate=False)
        case CoreKind.TYPE_EXISTS | CoreKind.TYPE_MATCHES:
            return Value(1)
        case CoreKind.TYPE_SIZE:
            return Value(size_of(spec.btf, spec.root))
        case _:
            raise bad_spec(EOPNOTSUPP)


def _field_value(spec: Spec, kind: int) -> Value:
    btf, last = spec.btf, spec.steps[-1]
    if not last.name:
        size = size_of(btf, last.type_id)
        if kind == CoreKind.FIELD_BYTE_OFFSET:
            return Value(spec.bit_offset // 8, size, last.type_id)
        if kind == CoreKind.FIELD_BYTE_SIZE:
            return Value(size)
        raise bad_spec(EINVAL)
    member = btf[last.type_id].members[last.index]
    field_id = btf.skip(member.type)
    t = btf[field_id]
    if member.bit_size:
        start, size, width = _bitfield_window(spec.bit_offset, member.bit_size, t.size)
    else:
        size = size_of(btf, field_id)
        start, width = spec.bit_offset // 8, size * 8
    plain = not member.bit_size
    match kind:
        case CoreKind.FIELD_BYTE_OFFSET:
            return Value(start, size, field_id) if plain else Value(start, validate=False)
        case CoreKind.FIELD_BYTE_SIZE:
            return Value(size, validate=plain)
        case CoreKind.FIELD_SIGNED:
            signed = t.kflag if t.kind in ENUMS else bool(t.encoding & INT_SIGNED)
            return Value(int(signed))
        case CoreKind.FIELD_LSHIFT_U64:
            if btf.byteorder == "little":
                return Value(64 - (spec.bit_offset + width - start * 8), validate=plain)
            return Value((8 - size) * 8 + spec.bit_offset - start * 8, validate=plain)
        case _:
            return Value(64 - width)


def _bitfield_window(bit_offset: int, width: int, size: int) -> tuple[int, int, int]:
    """The smallest aligned load that holds a bit-field: first byte, bytes, bits."""
    size = size or 1
    start = bit_offset // 8 // size * size
    while bit_offset + width - start * 8 > size * 8:
        if size >= 8:
            raise bad_spec(E2BIG)
        size *= 2
        start = bit_offset // 8 // size * size
    return start, size, width


def result_of(local: Spec, target: Spec | None, kind: int) -> Result:
    """bpf_core_calc_relo()."""
    original = value_of(local, kind)
    result = Result(original.number, validate=original.validate, original_size=original.size)
    try:
        new = value_of(target, kind)
    except Poison:
        result.poison = True
        return result
    result.new, result.new_size = new.number, new.size
    if kind in FIELD_KINDS and original.size != new.size:
        a, b = local.btf[original.type_id], target.btf[new.type_id] if target else None
        assert b is not None
        pointers = a.kind is Kind.PTR and b.kind is Kind.PTR
        unsigned = a.kind is Kind.INT and b.kind is Kind.INT
        unsigned = unsigned and a.encoding != INT_SIGNED and b.encoding != INT_SIGNED
        result.wrong_size = not (pointers or unsigned)
    return result
