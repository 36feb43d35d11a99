"""Write simkernel/include/recorded/*.layout from the recorded types of real kernels:  python -m docs.layouts

For each struct and union that our headers define, and that the kernel has, too.  arch/layouts.py reads them.
"""

from __future__ import annotations

from arch.abi.version import KernelVersion
from arch.architecture import get
from arch.ctype import StructType
from arch.layouts import FOLDER, layout_file, paths
from arch.typetable import TypeTable
from bpf.btf import Btf, Kind
from bpf.btf.codec import COMPOSITES, QUALIFIERS
from bpf.btf.recorded import FOLDER as RECORDED
from bpf.btf.recorded import recorded_btf


def bits(btf: Btf, type_id: int, base: int = 0, prefix: str = "") -> dict[str, int]:
    """The first bit of each member by path, those of structs without a tag included."""
    found: dict[str, int] = {}
    for member in btf[type_id].members:
        at, inner = base + member.bit_offset, btf[btf.skip(member.type, QUALIFIERS)]
        if inner.kind in COMPOSITES and not inner.name:
            found.update(bits(btf, inner.id, at, f"{prefix}{member.name}." if member.name else prefix))
        if member.name:
            found[prefix + member.name] = at
    return found


def row(struct: StructType, btf: Btf) -> list[str]:
    """The lines of one struct; none where the kernel has no such struct."""
    type_id = btf.find(struct.name, Kind.UNION if struct.is_union else Kind.STRUCT)
    if not type_id:
        return []
    places = bits(btf, type_id)
    missing = [path for path in paths(struct) if path not in places]
    if missing:
        raise SystemExit(f"{struct.kind} {struct.name} of the recorded kernel has no {', '.join(missing)}")
    lines = [f"{struct.kind} {struct.name} {btf[type_id].size}"]
    for path in dict.fromkeys(paths(struct)):
        byte, bit = divmod(places[path], 8)
        lines.append(f" {path} {byte}" + (f":{bit}" if bit else ""))
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
    kernels = [(arch, KernelVersion.parse(version)) for arch, _, version in (name.rpartition("-") for name in names)]
    return [(arch, version) for arch, version in kernels if layout_file(arch, version).exists()]


def main() -> None:
    for arch, version in recorded():
        (FOLDER / f"{arch}-{version.major}.{version.minor}.layout").write_text(layout(arch, version))


if __name__ == "__main__":
    main()
