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
    return "".join(record(btf, number, t) for number, t in enumerate(btf.types) if number)


def record(btf: Btf, number: int, t: BtfType) -> str:
    """One type: its line, and a line for each member, value or parameter."""
    lines = [f"[{number}] {t.kind.name} {quoted(t.name)}{details(t)}"]
    for member in t.members:
        size = f" bitfield_size={member.bit_size}" if member.bit_size else ""
        lines.append(f"\t{quoted(member.name)} type_id={member.type} bits_offset={member.bit_offset}{size}")
    end = ("LL" if t.kflag else "ULL") if t.kind is Kind.ENUM64 else ""
    lines += [f"\t{quoted(name)} val={value}{end}" for name, value in t.values]
    lines += [f"\t{quoted(param.name)} type_id={param.type}" for param in t.params]
    for row in t.secinfos:
        meant = btf.types[row.type]
        lines.append(
            f"\ttype_id={row.type} offset={row.offset} size={row.size} ({meant.kind.name} {quoted(meant.name)})"
        )
    return "\n".join(lines) + "\n"


def details(t: BtfType) -> str:
    """What stands behind the name."""
    between = ", " if t.kind is Kind.VAR else " "
    return " " + between.join(f"{name}={value}" for name, value in details_of(t).items())


def details_of(t: BtfType) -> dict[str, object]:
    """The facts of a type, by kind."""
    match t.kind:
        case Kind.INT:
            encoding = INT_ENCODING.get(t.encoding, "UNKN")
            return {"size": t.size, "bits_offset": t.bit_offset, "nr_bits": t.bits, "encoding": encoding}
        case Kind.ARRAY:
            return {"type_id": t.type, "index_type_id": t.index_type, "nr_elems": t.nelems}
        case Kind.STRUCT | Kind.UNION:
            return {"size": t.size, "vlen": len(t.members)}
        case Kind.ENUM | Kind.ENUM64:
            encoding = "SIGNED" if t.kflag else "UNSIGNED"
            return {"encoding": encoding, "size": t.size, "vlen": len(t.values)}
        case Kind.FWD:
            return {"fwd_kind": "union" if t.kflag else "struct"}
        case Kind.FUNC:
            return {"type_id": t.type, "linkage": LINKAGE.get(t.linkage, "(unknown)")}
        case Kind.FUNC_PROTO:
            return {"ret_type_id": t.type, "vlen": len(t.params)}
        case Kind.VAR:
            return {"type_id": t.type, "linkage": LINKAGE.get(t.linkage, "(unknown)")}
        case Kind.DATASEC:
            return {"size": t.size, "vlen": len(t.secinfos)}
        case Kind.FLOAT:
            return {"size": t.size}
        case Kind.DECL_TAG:
            return {"type_id": t.type, "component_idx": t.component_idx}
        case _:
            return {"type_id": t.type}


def records(btf: Btf) -> list[dict[str, object]]:
    """The same as objects, with the keys of `bpftool --json btf dump`."""
    return [record_of(number, t) for number, t in enumerate(btf.types) if number]


def record_of(number: int, t: BtfType) -> dict[str, object]:
    """One type."""
    out: dict[str, object] = {"id": number, "kind": t.kind.name, "name": t.name or "(anon)", **details_of(t)}
    if t.kind in (Kind.STRUCT, Kind.UNION):
        out["members"] = [
            {"name": each.name or "(anon)", "type_id": each.type, "bits_offset": each.bit_offset}
            | ({"bitfield_size": each.bit_size} if each.bit_size else {})
            for each in t.members
        ]
    elif t.kind in (Kind.ENUM, Kind.ENUM64):
        out["values"] = [{"name": name, "val": value} for name, value in t.values]
    elif t.kind is Kind.FUNC_PROTO:
        out["params"] = [{"name": each.name or "(anon)", "type_id": each.type} for each in t.params]
    elif t.kind is Kind.DATASEC:
        out["vars"] = [{"type_id": each.type, "offset": each.offset, "size": each.size} for each in t.secinfos]
    return out
