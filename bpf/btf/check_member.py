"""Members of BTF structs and unions: do they lie where their types may lie, and inside?

kernel/bpf/btf.c: the check_member and check_kflag_member of each kind.
"""

from __future__ import annotations

from arch.abi.limits import U32_MAX
from bpf.btf.check_env import MODIFIER, BtfEnv, Raw, is_regular
from bpf.btf.codec import Kind


def check_member(env: BtfEnv, t: Raw, m: tuple[int, ...], inner: Raw) -> None:
    """Does a member fit, given what its type came to?"""
    if inner.kind in MODIFIER:
        found = env.id_size(m[1])
        if found is None:
            raise env.refuse_member(t, m, "Invalid member")
        m, inner = (m[0], found[0], m[2]), found[1]
        if inner.kind in MODIFIER:
            raise env.refuse_member(t, m, "Invalid member")
    bits = m[2] >> 24 if t.kflag else 0
    match inner.kind:
        case Kind.INT:
            (_int_kflag_member if t.kflag else _int_member)(env, t, m, inner)
        case Kind.ENUM | Kind.ENUM64 if t.kflag:
            _enum_kflag_member(env, t, m)
        case Kind.FWD | Kind.FUNC | Kind.FUNC_PROTO | Kind.VAR | Kind.DATASEC | Kind.DECL_TAG:
            kind = "check_kflag_member" if t.kflag else "check_member"
            raise env.refuse(t, f"Unsupported {kind}", details=False)
        case _:
            if bits:
                raise env.refuse_member(t, m, "Invalid member bitfield_size")
            _plain_member(env, t, m, inner)


def _plain_member(env: BtfEnv, t: Raw, m: tuple[int, ...], inner: Raw) -> None:
    offset = m[2]
    if inner.kind is Kind.FLOAT:
        if offset % (8 * min(env.pointer_size, inner.size)):
            raise env.refuse_member(t, m, "Member is not properly aligned")
        if offset // 8 + inner.size > t.size:
            raise env.refuse_member(t, m, "Member exceeds struct_size")
        return
    if offset & 7:
        raise env.refuse_member(t, m, "Member is not byte aligned")
    if inner.kind is Kind.PTR:
        size = env.pointer_size
    elif inner.kind is Kind.ARRAY:
        size = env.sizes[m[1]]
    else:
        size = inner.size
    if (t.size - (offset >> 3)) & U32_MAX < size:
        raise env.refuse_member(t, m, "Member exceeds struct_size")


def _int_member(env: BtfEnv, t: Raw, m: tuple[int, ...], inner: Raw) -> None:
    offset, shift = m[2], inner.word >> 16 & 0xFF
    if U32_MAX - offset < shift:
        raise env.refuse_member(t, m, "bits_offset exceeds U32_MAX")
    offset += shift
    _bits_fit(env, t, m, offset, inner.word & 0xFF)


def _bits_fit(env: BtfEnv, t: Raw, m: tuple[int, ...], offset: int, bits: int) -> None:
    copied = bits + (offset & 7)
    if copied > 128:
        raise env.refuse_member(t, m, "nr_copy_bits exceeds 128")
    if t.size < offset >> 3 or t.size - (offset >> 3) < (copied + 7) // 8:
        raise env.refuse_member(t, m, "Member exceeds struct_size")


def _int_kflag_member(env: BtfEnv, t: Raw, m: tuple[int, ...], inner: Raw) -> None:
    if not is_regular(inner):
        raise env.refuse_member(t, m, "Invalid member base type")
    bits, offset, natural = m[2] >> 24, m[2] & 0xFFFFFF, inner.word & 0xFF
    if not bits:
        if offset & 7:
            raise env.refuse_member(t, m, "Invalid member offset")
        bits = natural
    elif bits > natural:
        raise env.refuse_member(t, m, "Invalid member bitfield_size")
    _bits_fit(env, t, m, offset, bits)


def _enum_kflag_member(env: BtfEnv, t: Raw, m: tuple[int, ...]) -> None:
    bits, offset = m[2] >> 24, m[2] & 0xFFFFFF
    if not bits:
        if offset & 7:
            raise env.refuse_member(t, m, "Member is not byte aligned")
        bits = 32
    elif bits > 32:
        raise env.refuse_member(t, m, "Invalid member bitfield_size")
    if t.size < (offset + bits + 7) // 8:
        raise env.refuse_member(t, m, "Member exceeds struct_size")
