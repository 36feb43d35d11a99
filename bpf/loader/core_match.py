"""Whether the kernel has what a CO-RE relocation names, and where: types compared by name and shape.

tools/lib/bpf/relo_core.c: bpf_core_spec_match(), bpf_core_types_are_compat(), bpf_core_types_match().
"""

from __future__ import annotations

from arch.abi.errno import E2BIG, EINVAL
from bpf.btf import Btf, Kind
from bpf.btf.codec import COMPOSITES, ENUMS, INT_SIGNED, essential_name
from bpf.btf.ext import CoreKind
from bpf.loader.core_spec import ENUM_KINDS, MAX_SPEC, TYPE_KINDS, Accessor, Spec, bad_spec, is_flexible, size_of

MAX_LEVEL = 16


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
            if not is_flexible(spec, array.nelems) and step.index >= array.nelems:
                return None
            here = target.skip(array.type)
        if len(spec.raw) == MAX_SPEC:
            raise bad_spec(E2BIG)
        spec.steps.append(Accessor(here, step.index))
        spec.raw.append(step.index)
        spec.bit_offset += step.index * size_of(target, here) * 8
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
        raise bad_spec(E2BIG)
    wanted = local.btf[step.type_id].members[step.index]
    for index, member in enumerate(t.members):
        if len(spec.raw) == MAX_SPEC:
            raise bad_spec(E2BIG)
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


def same_kind(a: Kind, b: Kind) -> bool:
    return a is b or (a in ENUMS and b in ENUMS)


def fields_are_compatible(local: Btf, local_id: int, target: Btf, target_id: int) -> bool:
    """May one field stand for the other?  bpf_core_fields_are_compat()."""
    for _ in range(MAX_SPEC):
        a, b = local.resolved(local_id), target.resolved(target_id)
        if a.kind in COMPOSITES and b.kind in COMPOSITES:
            return True
        if not same_kind(a.kind, b.kind):
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
    if not same_kind(local[local_id].kind, target[target_id].kind):
        return False
    for _ in range(MAX_LEVEL * 2):
        a, b = local.resolved(local_id), target.resolved(target_id)
        if not same_kind(a.kind, b.kind):
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
                    raise bad_spec(EINVAL)
                for p, q in zip(a.params, b.params, strict=True):
                    ids = (local.skip(p.type), target.skip(q.type))
                    if not types_are_compatible(local, ids[0], target, ids[1], level - 1):
                        return False
                local_id, target_id = a.type, b.type
            case _:
                return False
    raise bad_spec(EINVAL)


def types_match(local: Btf, local_id: int, target: Btf, target_id: int, behind: bool = False, level: int = 32) -> bool:
    """The stricter comparison of TYPE_MATCHES, member by member.  __bpf_core_types_match()."""
    if level <= 0:
        raise bad_spec(EINVAL)
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
    raise bad_spec(EINVAL)


def _enums_match(a: list[tuple[str, int]], a_size: int, b: list[tuple[str, int]], b_size: int) -> bool:
    if a_size != b_size or len(a) > len(b):
        return False
    names = {essential_name(name) for name, _ in b}
    return all(essential_name(name) in names for name, _ in a)
