"""BTF as text, one record per type: the form in which `bpftool btf dump` shows it.  tools/bpf/bpftool/btf.c."""

from __future__ import annotations

from bpf.btf.codec import Btf, BtfType, Kind

INT_ENCODING = {0: "(none)", 1: "SIGNED", 2: "CHAR", 4: "BOOL"}
LINKAGE = {0: "static", 1: "global", 2: "extern"}


def quoted(name: str) -> str:
    """`'name'`, or `'(anon)'`."""
    return f"'{name or '(anon)'}'"


def dump_raw(btf: Btf) -> str:
    """Every type of a BTF, in the order of ids."""
    return "".join(record(number, t) for number, t in enumerate(btf.types) if number)


def record(number: int, t: BtfType) -> str:
    """One type: its line, and a line for each member, value or parameter."""
    lines = [f"[{number}] {t.kind.name} {quoted(t.name)}{details(t)}"]
    for member in t.members:
        size = f" bitfield_size={member.bit_size}" if t.kflag and member.bit_size else ""
        lines.append(f"\t{quoted(member.name)} type_id={member.type} bits_offset={member.bit_offset}{size}")
    lines += [f"\t{quoted(name)} val={value}" for name, value in t.values]
    lines += [f"\t{quoted(param.name)} type_id={param.type}" for param in t.params]
    lines += [f"\ttype_id={row.type} offset={row.offset} size={row.size}" for row in t.secinfos]
    return "\n".join(lines) + "\n"


def details(t: BtfType) -> str:
    """What stands behind the name, by kind."""
    match t.kind:
        case Kind.INT:
            encoding = INT_ENCODING.get(t.encoding, "UNKN")
            return f" size={t.size} bits_offset={t.bit_offset} nr_bits={t.bits} encoding={encoding}"
        case Kind.ARRAY:
            return f" type_id={t.type} index_type_id={t.index_type} nr_elems={t.nelems}"
        case Kind.STRUCT | Kind.UNION:
            return f" size={t.size} vlen={len(t.members)}"
        case Kind.ENUM | Kind.ENUM64:
            encoding = "SIGNED" if t.kflag else "UNSIGNED"
            return f" encoding={encoding} size={t.size} vlen={len(t.values)}"
        case Kind.FWD:
            return f" fwd_kind={'union' if t.kflag else 'struct'}"
        case Kind.FUNC:
            return f" type_id={t.type} linkage={LINKAGE.get(t.linkage, '(unknown)')}"
        case Kind.FUNC_PROTO:
            return f" ret_type_id={t.type} vlen={len(t.params)}"
        case Kind.VAR:
            return f" type_id={t.type}, linkage={LINKAGE.get(t.linkage, '(unknown)')}"
        case Kind.DATASEC:
            return f" size={t.size} vlen={len(t.secinfos)}"
        case Kind.FLOAT:
            return f" size={t.size}"
        case Kind.DECL_TAG:
            return f" type_id={t.type} component_idx={t.component_idx}"
        case _:
            return f" type_id={t.type}"
