"""CO-RE: make field offsets, sizes, existence and enum values in a program those of the kernel at hand.

tools/lib/bpf/relo_core.c.  The compiler recorded what each such instruction meant (.BTF.ext); the same is looked up
in the kernel's BTF by name, and the instruction patched.  Where nothing matches, the instruction becomes a call of a
helper that does not exist (195896080, 0xbad2310): harmless in dead code, and the verifier says so otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from arch.abi.errno import E2BIG, EINVAL, EOPNOTSUPP, ERANGE
from bpf.btf import Btf, BtfError, Kind
from bpf.btf.codec import COMPOSITES, ENUMS, INT_SIGNED, essential_name
from bpf.btf.ext import CoreKind, CoreRelo
from bpf.isa.insn import (
    BPF_ALU,
    BPF_ALU64,
    BPF_CALL,
    BPF_JMP,
    BPF_K,
    BPF_LD,
    BPF_LD_IMM64,
    BPF_LDX,
    BPF_ST,
    BPF_STX,
    SIZE_BYTES,
    Insn,
    signed32,
)
from bpf.loader.errors import LoadError

BAD_RELO = 0xBAD2310
MAX_SPEC = 64
MAX_LEVEL = 16
_SIZE_FIELD = {8: 0x18, 4: 0x00, 2: 0x08, 1: 0x10}

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
_KIND_TEXT = {kind: kind.name.lower().replace("void", "void") for kind in Kind}


class Poison(Exception):
    """The instruction has no meaning on this kernel (relo_core.c says -EUCLEAN)."""


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
        text = f"<{kind_name(self.kind)}> [{self.root}] {_KIND_TEXT[t.kind]} {t.name or '<anon>'}"
        if self.kind in ENUM_KINDS:
            name, value = self.btf.resolved(self.root).values[self.raw[0]]
            return f"{text}::{name} = {value}"
        if self.kind in FIELD_KINDS:
            for number, step in enumerate(self.steps):
                text += f".{step.name}" if step.name else f"[{step.index}]" if number or step.index else ""
            place = f"{self.bit_offset // 8}" + (f".{self.bit_offset % 8}" if self.bit_offset % 8 else "")
            text += f" ({':'.join(map(str, self.raw))} @ offset {place})"
        return text


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


def kind_name(kind: int) -> str:
    return KIND_NAMES.get(CoreKind(kind), "unknown") if kind <= CoreKind.TYPE_MATCHES else "unknown"


# -------------------------------------------------------------------------------------------------- specs


def parse_spec(btf: Btf, relo: CoreRelo) -> Spec:
    """The access string, understood in the object's own BTF.  bpf_core_parse_spec(); ValueError(-errno)."""
    text = relo.access
    if not text or text.startswith(":"):
        raise _bad(EINVAL)
    spec = Spec(btf, relo.type_id, relo.kind)
    if relo.kind in TYPE_KINDS:
        if text != "0":
            raise _bad(EINVAL)
        return spec
    if not re.fullmatch(r"\d+(?::\d+)*:?", text):
        raise _bad(EINVAL)
    spec.raw = [int(part) for part in text.rstrip(":").split(":")]
    if len(spec.raw) > MAX_SPEC:
        raise _bad(E2BIG)
    here = btf.skip(relo.type_id)
    first = spec.raw[0]
    spec.steps.append(Accessor(here, first))
    if relo.kind in ENUM_KINDS:
        t = btf[here]
        if t.kind not in ENUMS or len(spec.raw) > 1 or first >= len(t.values):
            raise _bad(EINVAL)
        spec.steps[0].name = t.values[first][0]
        return spec
    if relo.kind not in FIELD_KINDS:
        raise _bad(EINVAL)
    spec.bit_offset = first * _size(btf, here) * 8
    for index in spec.raw[1:]:
        here = _step(spec, btf.skip(here), index)
    return spec


def _step(spec: Spec, here: int, index: int) -> int:
    """Into a member or an array element; the type found there."""
    btf, t = spec.btf, spec.btf[here]
    if t.kind in COMPOSITES:
        if index >= len(t.members):
            raise _bad(EINVAL)
        member = t.members[index]
        spec.bit_offset += member.bit_offset
        if member.name:
            spec.steps.append(Accessor(here, index, member.name))
        return member.type
    if t.kind is Kind.ARRAY:
        element = btf.skip(t.type)
        if not _is_flexible(spec, t.nelems) and index >= t.nelems:
            raise _bad(EINVAL)
        spec.steps.append(Accessor(element, index))
        spec.bit_offset += index * _size(btf, element) * 8
        return element
    raise _bad(EINVAL)


def _is_flexible(spec: Spec, nelems: int) -> bool:
    """A zero-sized array that is the last member of its struct."""
    last = spec.steps[-1]
    return bool(last.name) and nelems == 0 and last.index == len(spec.btf[last.type_id].members) - 1


def _size(btf: Btf, type_id: int) -> int:
    try:
        return btf.size_of(type_id)
    except BtfError:
        raise _bad(EINVAL) from None


class SpecError(ValueError):
    """Carries an errno."""

    def __init__(self, errno: int) -> None:
        super().__init__(errno)
        self.errno = errno


def _bad(errno: int) -> SpecError:
    return SpecError(errno)


# ------------------------------------------------------------------------------------------------ matching


def match_spec(local: Spec, target: Btf, target_id: int) -> Spec | None:
    """The same thing in the kernel's BTF, or None.  bpf_core_spec_match()."""
    spec = Spec(target, target_id, local.kind)
    if local.kind in TYPE_KINDS:
        matches = types_match if local.kind == CoreKind.TYPE_MATCHES else types_are_compatible
        return spec if matches(local.btf, local.root, target, target_id) else None
    if local.kind in ENUM_KINDS:
        return _match_enumerator(local, spec, target.skip(target_id))
    here = target_id
    for number, step in enumerate(local.steps):
        here = target.skip(here)
        if step.name:
            found = _match_member(local, step, spec, here)
            if found is None:
                return None
            here = found
            continue
        if number:
            array = target[here]
            if array.kind is not Kind.ARRAY:
                return None
            if not _is_flexible(spec, array.nelems) and step.index >= array.nelems:
                return None
            here = target.skip(array.type)
        if len(spec.raw) == MAX_SPEC:
            raise _bad(E2BIG)
        spec.steps.append(Accessor(here, step.index))
        spec.raw.append(step.index)
        spec.bit_offset += step.index * _size(target, here) * 8
    return spec


def _match_enumerator(local: Spec, spec: Spec, target_id: int) -> Spec | None:
    t = spec.btf[target_id]
    if t.kind not in ENUMS:
        return None
    wanted = essential_name(local.steps[0].name)
    for index, (name, _) in enumerate(t.values):
        if essential_name(name) == wanted:
            spec.steps.append(Accessor(target_id, index, name))
            spec.raw.append(index)
            return spec
    return None


def _match_member(local: Spec, step: Accessor, spec: Spec, target_id: int, depth: int = 0) -> int | None:
    """Find a named member, in anonymous structs too; the member's type, or None.  bpf_core_match_member()."""
    target_id = spec.btf.skip(target_id)
    t = spec.btf[target_id]
    if t.kind not in COMPOSITES:
        return None
    if depth > MAX_SPEC:
        raise _bad(E2BIG)
    wanted = local.btf[step.type_id].members[step.index]
    for index, member in enumerate(t.members):
        if len(spec.raw) == MAX_SPEC:
            raise _bad(E2BIG)
        spec.bit_offset += member.bit_offset
        spec.raw.append(index)
        if not member.name:
            found = _match_member(local, step, spec, member.type, depth + 1)
            if found is not None:
                return found
        elif member.name == wanted.name:
            if not fields_are_compatible(local.btf, wanted.type, spec.btf, member.type):
                return None
            spec.steps.append(Accessor(target_id, index, member.name))
            return member.type
        spec.bit_offset -= member.bit_offset
        spec.raw.pop()
    return None


def _same_kind(a: Kind, b: Kind) -> bool:
    return a is b or (a in ENUMS and b in ENUMS)


def fields_are_compatible(local: Btf, local_id: int, target: Btf, target_id: int) -> bool:
    """May one field stand for the other?  bpf_core_fields_are_compat()."""
    for _ in range(MAX_SPEC):
        a, b = local.resolved(local_id), target.resolved(target_id)
        if a.kind in COMPOSITES and b.kind in COMPOSITES:
            return True
        if not _same_kind(a.kind, b.kind):
            return False
        match a.kind:
            case Kind.PTR | Kind.FLOAT:
                return True
            case Kind.FWD | Kind.ENUM | Kind.ENUM64:
                return not a.name or not b.name or essential_name(a.name) == essential_name(b.name)
            case Kind.INT:
                return a.bit_offset == 0 and b.bit_offset == 0
            case Kind.ARRAY:
                local_id, target_id = a.type, b.type
            case _:
                return False
    return False


def types_are_compatible(local: Btf, local_id: int, target: Btf, target_id: int, level: int = MAX_LEVEL) -> bool:
    """May one type stand for the other?  Names were compared by the caller.  bpf_core_types_are_compat()."""
    if not _same_kind(local[local_id].kind, target[target_id].kind):
        return False
    for _ in range(MAX_LEVEL * 2):
        a, b = local.resolved(local_id), target.resolved(target_id)
        if not _same_kind(a.kind, b.kind):
            return False
        match a.kind:
            case Kind.VOID | Kind.STRUCT | Kind.UNION | Kind.ENUM | Kind.FWD | Kind.ENUM64:
                return True
            case Kind.INT:
                return a.bit_offset == 0 and b.bit_offset == 0
            case Kind.PTR | Kind.ARRAY:
                local_id, target_id = a.type, b.type
            case Kind.FUNC_PROTO:
                if len(a.params) != len(b.params):
                    return False
                if level <= 0:
                    raise _bad(EINVAL)
                for p, q in zip(a.params, b.params, strict=True):
                    ids = (local.skip(p.type), target.skip(q.type))
                    if not types_are_compatible(local, ids[0], target, ids[1], level - 1):
                        return False
                local_id, target_id = a.type, b.type
            case _:
                return False
    raise _bad(EINVAL)


def types_match(local: Btf, local_id: int, target: Btf, target_id: int, behind: bool = False, level: int = 32) -> bool:
    """The stricter comparison of TYPE_MATCHES, member by member.  __bpf_core_types_match()."""
    if level <= 0:
        raise _bad(EINVAL)
    for _ in range(32):
        a, b = local.resolved(local_id), target.resolved(target_id)
        if essential_name(a.name) != essential_name(b.name):
            return False
        match a.kind:
            case Kind.VOID:
                return b.kind is Kind.VOID
            case Kind.FWD:
                if b.kind is Kind.FWD:
                    return a.kflag == b.kflag
                return behind and b.kind is (Kind.UNION if a.kflag else Kind.STRUCT)
            case Kind.ENUM | Kind.ENUM64:
                return b.kind in ENUMS and _enums_match(a.values, a.size, b.values, b.size)
            case Kind.STRUCT | Kind.UNION:
                if behind:
                    forward = b.kind is Kind.FWD and b.kflag == (a.kind is Kind.UNION)
                    return a.kind is b.kind or forward
                if a.kind is not b.kind or len(a.members) > len(b.members):
                    return False
                return all(
                    any(
                        essential_name(m.name) == essential_name(n.name)
                        and types_match(local, m.type, target, n.type, behind, level - 1)
                        for n in b.members
                    )
                    for m in a.members
                )
            case Kind.INT:
                if b.kind is not Kind.INT:
                    return False
                same_sign = (a.encoding & INT_SIGNED) == (b.encoding & INT_SIGNED)
                return a.size == b.size and same_sign
            case Kind.PTR:
                if b.kind is not Kind.PTR:
                    return False
                behind, local_id, target_id = True, a.type, b.type
            case Kind.ARRAY:
                if b.kind is not Kind.ARRAY or a.nelems != b.nelems:
                    return False
                local_id, target_id = a.type, b.type
            case Kind.FUNC_PROTO:
                if b.kind is not Kind.FUNC_PROTO or len(a.params) != len(b.params):
                    return False
                if not all(
                    types_match(local, p.type, target, q.type, behind, level - 1)
                    for p, q in zip(a.params, b.params, strict=True)
                ):
                    return False
                local_id, target_id = a.type, b.type
            case _:
                return False
    raise _bad(EINVAL)


def _enums_match(a: list[tuple[str, int]], a_size: int, b: list[tuple[str, int]], b_size: int) -> bool:
    if a_size != b_size or len(a) > len(b):
        return False
    names = {essential_name(name) for name, _ in b}
    return all(essential_name(name) in names for name, _ in a)


# -------------------------------------------------------------------------------------------------- values


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
        raise _bad(EOPNOTSUPP)
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
            return Value(_size(spec.btf, spec.root))
        case _:
            raise _bad(EOPNOTSUPP)


def _field_value(spec: Spec, kind: int) -> Value:
    btf, last = spec.btf, spec.steps[-1]
    if not last.name:
        size = _size(btf, last.type_id)
        if kind == CoreKind.FIELD_BYTE_OFFSET:
            return Value(spec.bit_offset // 8, size, last.type_id)
        if kind == CoreKind.FIELD_BYTE_SIZE:
            return Value(size)
        raise _bad(EINVAL)
    member = btf[last.type_id].members[last.index]
    field_id = btf.skip(member.type)
    t = btf[field_id]
    if member.bit_size:
        start, size, width = _bitfield_window(spec.bit_offset, member.bit_size, t.size)
    else:
        size = _size(btf, field_id)
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
            raise _bad(E2BIG)
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


# ------------------------------------------------------------------------------------------------ relocating


class Relocator:
    """All CO-RE relocations of one object against one kernel."""

    def __init__(self, local: Btf, targets: list[Btf], messages: list[str] | None = None) -> None:
        self.local = local
        self.targets = targets
        self.messages = messages if messages is not None else []
        self._candidates: dict[int, list[tuple[Btf, int]]] = {}

    def candidates(self, type_id: int) -> list[tuple[Btf, int]]:
        """Types of the kernel with the same essential name and kind."""
        found = self._candidates.get(type_id)
        if found is None:
            t = self.local[type_id]
            name = essential_name(t.name)
            found = [
                (btf, i)
                for btf in self.targets
                for i in btf.essential_names().get(name, ())
                if _same_kind(btf[i].kind, t.kind)
            ]
            self._candidates[type_id] = found
        return found

    def resolve(self, program: str, number: int, relo: CoreRelo) -> Result:
        """What one relocation comes to; LoadError with libbpf's words where libbpf gives up."""
        head = f"prog '{program}': relo #{number}"
        try:
            t = self.local[relo.type_id]
        except BtfError as error:
            raise LoadError(f"{head}: {error}") from None
        try:
            local = parse_spec(self.local, relo)
        except (SpecError, BtfError) as error:
            errno = error.errno if isinstance(error, SpecError) else EINVAL
            what = f"[{relo.type_id}] {_KIND_TEXT[t.kind]} {t.name or '<anon>'} + {relo.access}"
            raise LoadError(f"{head}: parsing {what} failed: {-errno}") from None
        if relo.kind == CoreKind.TYPE_ID_LOCAL:
            return Result(local.root, local.root, validate=False)
        if not t.name:
            text = f"<{kind_name(relo.kind)}> ({relo.kind}) relocation doesn't support anonymous types"
            raise LoadError(f"{head}: {text}", EOPNOTSUPP)
        try:
            return self._choose(head, local, relo)
        except SpecError as error:
            if error.errno == EOPNOTSUPP:
                what = f"{kind_name(relo.kind)} ({relo.kind}) at insn #{relo.insn_off // 8}"
                raise LoadError(f"{head}: unrecognized CO-RE relocation {what}", EOPNOTSUPP) from None
            raise LoadError(f"{head}: failed to relocate: {-error.errno}", error.errno) from None
        except BtfError as error:
            raise LoadError(f"{head}: {error}") from None

    def _choose(self, head: str, local: Spec, relo: CoreRelo) -> Result:
        matching: list[tuple[Btf, int]] = []
        chosen: tuple[Spec, Result] | None = None
        for btf, type_id in self.candidates(relo.type_id):
            spec = match_spec(local, btf, type_id)
            if spec is None:
                continue
            result = result_of(local, spec, relo.kind)
            matching.append((btf, type_id))
            if chosen is None:
                chosen = spec, result
            elif spec.bit_offset != chosen[0].bit_offset:
                text = f"field offset ambiguity: {spec.bit_offset} != {chosen[0].bit_offset}"
                raise LoadError(f"{head}: {text}")
            elif (result.poison, result.new) != (chosen[1].poison, chosen[1].new):
                words = ["failure" if r.poison else "success" for r in (result, chosen[1])]
                text = f"{words[0]} {result.new} != {words[1]} {chosen[1].new}"
                raise LoadError(f"{head}: relocation decision ambiguity: {text}")
        if chosen is not None:
            self._candidates[relo.type_id] = matching
            return chosen[1]
        self.messages.append(f"{head}: no matching targets found for {local}")
        return result_of(local, None, relo.kind)

    def apply(self, insns: list[Insn], program: str, number: int, relo: CoreRelo, index: int) -> None:
        """Resolve one relocation and patch the instruction at `index`."""
        if not 0 <= index < len(insns):
            raise LoadError(f"prog '{program}': relo #{number}: bad insn_off {relo.insn_off}")
        result = self.resolve(program, number, relo)
        patch(insns, index, result, program, number, self.messages)


def poison(insns: list[Insn], index: int) -> None:
    """Make an instruction one that the verifier refuses if it is ever reached."""
    for at in range(index, index + (2 if insns[index].code == BPF_LD_IMM64 else 1)):
        insns[at] = Insn(BPF_JMP | BPF_CALL, 0, 0, 0, BAD_RELO)


def patch(insns: list[Insn], index: int, r: Result, program: str, number: int, messages: list[str]) -> None:
    """Put the value where the instruction has it.  bpf_core_patch_insn()."""
    insn = insns[index]
    head = f"prog '{program}': relo #{number}"
    kind = insn.cls
    if kind in (BPF_ALU, BPF_ALU64) and insn.src_kind == BPF_K:
        if r.poison:
            return poison(insns, index)
        if r.validate and insn.imm != signed32(r.original):
            raise _unexpected(head, index, "ALU/ALU64", insn.imm & 0xFFFFFFFF, r)
        insns[index] = insn.replace(imm=signed32(r.new))
    elif kind in (BPF_LDX, BPF_ST, BPF_STX):
        if r.poison:
            return poison(insns, index)
        if r.validate and insn.off != r.original:
            raise _unexpected(head, index, "LDX/ST/STX", insn.off & 0xFFFFFFFF, r)
        if r.new > 0x7FFF:
            raise LoadError(f"{head}: insn #{index} (LDX/ST/STX) value too big: {r.new}", ERANGE)
        if r.wrong_size:
            messages.append(
                f"{head}: insn #{index} (LDX/ST/STX) accesses field incorrectly. Make sure you are accessing "
                "pointers, unsigned integers, or fields of matching type and size."
            )
            return poison(insns, index)
        insns[index] = _resized(insn, index, r, head).replace(off=r.new)
    elif kind == BPF_LD:
        _patch_imm64(insns, index, r, head)
    else:
        text = f"code:{insn.code:#x}, src:{insn.src_reg:#x}, dst:{insn.dst_reg:#x}, off:{insn.off & 0xFFFF:#x}"
        text += f", imm:{insn.imm & 0xFFFFFFFF:#x}"
        raise LoadError(f"{head}: trying to relocate unrecognized insn #{index}, {text}")
    return None


def _resized(insn: Insn, index: int, r: Result, head: str) -> Insn:
    if r.original_size == r.new_size:
        return insn
    has = SIZE_BYTES[insn.size]
    if has != r.original_size:
        text = f"unexpected mem size: got {has}, exp {r.original_size}"
        raise LoadError(f"{head}: insn #{index} (LDX/ST/STX) {text}")
    if r.new_size not in _SIZE_FIELD:
        raise LoadError(f"{head}: insn #{index} (LDX/ST/STX) invalid new mem size: {r.new_size}")
    return insn.replace(code=insn.mode | _SIZE_FIELD[r.new_size] | insn.cls)


def _patch_imm64(insns: list[Insn], index: int, r: Result, head: str) -> None:
    low = insns[index]
    high = insns[index + 1] if index + 1 < len(insns) else Insn(0xFF)
    if low.code != BPF_LD_IMM64 or low.src_reg or low.off or (high.code, high.dst_reg, high.src_reg, high.off) != (
        0, 0, 0, 0,
    ):  # fmt: skip
        raise LoadError(f"{head}: insn #{index} (LDIMM64) has unexpected form")
    if r.poison:
        return poison(insns, index)
    has = (low.imm & 0xFFFFFFFF) | (high.imm & 0xFFFFFFFF) << 32
    if r.validate and has != r.original:
        raise _unexpected(head, index, "LDIMM64", has, r)
    insns[index] = low.replace(imm=signed32(r.new))
    insns[index + 1] = high.replace(imm=signed32(r.new >> 32))
    return None


def _unexpected(head: str, index: int, form: str, got: int, r: Result) -> LoadError:
    return LoadError(f"{head}: unexpected insn #{index} ({form}) value: got {got}, exp {r.original} -> {r.new}")
