"""Write simkernel/include/recorded/*.layout from the recorded types of real kernels:  python -m docs.layouts

For each struct and union that our headers define, and that the kernel has, too.  arch/layouts.py reads them.
"""

from __future__ import annotations

from typing import NamedTuple

from arch.abi.version import KernelVersion
from arch.architecture import get
from arch.ctype import ArrayType, Member, PointerType, StructType
from arch.layouts import ABSENT, FOLDER, places
from arch.typetable import TypeTable
from bpf.btf import Btf, Kind
from bpf.btf.codec import COMPOSITES, QUALIFIERS, BtfType
from bpf.btf.recorded import FOLDER as RECORDED
from bpf.btf.recorded import recorded_btf


class Real(NamedTuple):
    """A member of the kernel's struct."""

    bit: int  # from the struct's start
    type: BtfType  # without qualifiers and typedefs
    size: int  # in bytes
    bit_size: int  # of a bit-field


# What 6.1 and our headers call otherwise than newer kernels do: by struct, member -> the path there.
RENAMED = {
    "dentry": {"d_iname": "d_shortname.string"},
    "file_lock": {
        f"fl_{name}": f"c.flc_{name}" for name in ("owner", "flags", "type", "pid", "link_cpu", "wait", "file")
    },
    "inet_connection_sock": {"icsk_retransmit_timer": "icsk_inet.sk.tcp_retransmit_timer"},
    "inode": {"i_state": "i_state.__state"},
    "iov_iter": {"iov": "__iov"},
    "kernfs_node": {"parent": "__parent"},
    "ns_common": {"count": "__ns_ref"},
    "sk_buff": {"mono_delivery_time": "tstamp_type", "headers.mono_delivery_time": "headers.tstamp_type"},
}
SCALARS = (Kind.INT, Kind.ENUM, Kind.ENUM64, Kind.PTR)


def real_members(btf: Btf, type_id: int, base: int = 0, prefix: str = "") -> dict[str, Real]:
    """The kernel's members by path, those of structs without a tag included."""
    found: dict[str, Real] = {}
    for member in btf[type_id].members:
        at, inner = base + member.bit_offset, btf[btf.skip(member.type, QUALIFIERS)]
        if inner.kind in COMPOSITES and not (inner.name and member.name):
            found.update(real_members(btf, inner.id, at, f"{prefix}{member.name}." if member.name else prefix))
        if member.name:
            found[prefix + member.name] = Real(at, btf.resolved(member.type), btf.size_of(member.type), member.bit_size)
    return found


def real_member(btf: Btf, type_id: int, path: str) -> Real | None:
    """The member at the end of a path, through structs of any kind."""
    known = real_members(btf, type_id)
    if path in known:
        return known[path]
    head, _, rest = path.partition(".")
    outer = known.get(head)
    if outer is None or outer.type.kind not in COMPOSITES:
        return None
    inner = real_member(btf, outer.type.id, rest)
    return None if inner is None else inner._replace(bit=outer.bit + inner.bit)


def place_of(path: str, member: Member, real: Real | None) -> str:
    """The line of a member; it is absent where the kernel has none or a thing of another kind under that name."""
    ours = member.type.strip
    if real is None:
        return f" {path} {ABSENT}"
    byte, bit = divmod(real.bit, 8)
    place = f" {path} {byte}" + (f":{bit}" if bit else "")
    if real.type.kind in COMPOSITES and not isinstance(ours, StructType):
        same = ours.size == real.size  # a struct that our header has no members of
    elif isinstance(ours, StructType):
        same = real.type.kind in COMPOSITES and (not ours.name or real.type.name in ("", ours.name))
    elif isinstance(ours, ArrayType):
        same = real.type.kind is Kind.ARRAY
        if same and ours.count and ours.size != real.size:
            same = real.size > 0 and real.size % ours.elem.size == 0
            place += f"/{8 * real.size}"
    else:
        same = real.type.kind in SCALARS and real.size in (1, 2, 4, 8, 16)
        width = real.bit_size or 8 * real.size
        if isinstance(ours, PointerType) or real.type.kind is Kind.PTR:
            same = same and width == 8 * ours.size
        elif width != (member.bit_size or 8 * ours.size):
            place += f"/{width}"
    return place if same else f" {path} {ABSENT}"


def row(struct: StructType, btf: Btf) -> list[str]:
    """The lines of one struct; none where the kernel has no such struct."""
    type_id = btf.find(struct.name, Kind.UNION if struct.is_union else Kind.STRUCT)
    if not type_id:
        return []
    there = real_members(btf, type_id)
    for ours, theirs in RENAMED.get(struct.name, {}).items():
        if (found := real_member(btf, type_id, theirs)) is not None:
            there[ours] = found
    lines = [f"{struct.kind} {struct.name} {btf[type_id].size}"]
    lines += [place_of(path, member, there.get(path)) for path, member in places(struct).items()]
    return lines


def layout(arch: str, version: KernelVersion) -> str:
    """The whole table of one kernel."""
    btf = recorded_btf(arch, version)
    assert btf is not None
    cpu = get(arch)
    table = TypeTable(cpu.model, version)
    table.load_headers(*cpu.headers)
    table.parse_all()
    structs = sorted(table.names.structs.values(), key=lambda each: (each.name, each.is_union))
    lines = [f"# Linux {version.major}.{version.minor} on {arch}, by docs/layouts.py; arch/layouts.py reads it"]
    for struct in structs:
        if struct.is_complete:
            lines += row(struct, btf)
    return "\n".join(lines) + "\n"


def recorded() -> list[tuple[str, KernelVersion]]:
    """The kernels whose machines are laid out by recorded types."""
    names = sorted(path.name.removesuffix(".btf.xz") for path in RECORDED.glob("*.btf.xz"))
    return [(arch, KernelVersion.parse(version)) for arch, _, version in (name.rpartition("-") for name in names)]


def main() -> None:
    for arch, version in recorded():
        (FOLDER / f"{arch}-{version.major}.{version.minor}.layout").write_text(layout(arch, version))


if __name__ == "__main__":
    main()
