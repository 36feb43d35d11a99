"""The object's BTF as the kernel takes it: externs get a place and a type, hidden functions become static.

tools/lib/bpf/libbpf.c: bpf_object__collect_externs(), bpf_object__sanitize_and_load_btf().
"""

from __future__ import annotations

from bpf.btf import Btf, BtfType, Kind, Secinfo
from bpf.btf.codec import EXTERN, GLOBAL, STATIC
from bpf.loader.externs import Extern
from bpf.loader.program import Code


def finished_btf(btf: Btf, codes: list[Code], places: dict[str, Extern]) -> Btf:
    """Externs made acceptable to the kernel: bpf_object__collect_externs()."""
    _hide_functions(btf, codes)
    dummy = 0
    for section in (".kconfig", ".ksyms"):
        found = btf.find(section, Kind.DATASEC)
        if not found:
            continue
        datasec = btf[found]
        if section == ".ksyms" and not dummy:
            integer = btf.find("int", Kind.INT) or btf.append(BtfType(Kind.INT, "int", 4, encoding=1, bits=32))
            dummy = btf.append(BtfType(Kind.VAR, "dummy_ksym", type=integer, linkage=GLOBAL))
        for at, row in enumerate(datasec.secinfos):
            _finish_extern(btf, places, row, section, at, dummy)
        datasec.secinfos.sort(key=lambda r: r.offset)
        datasec.size = max((r.offset + r.size for r in datasec.secinfos), default=0)
    return btf


def _hide_functions(btf: Btf, codes: list[Code]) -> None:
    """Hidden functions are static to the verifier: checked where they are called, not on their own."""
    hidden = {code.name for code in codes if not code.is_global}
    for t in btf.functions():
        if t.name in hidden and t.linkage == GLOBAL:
            t.linkage = STATIC


def _finish_extern(btf: Btf, places: dict[str, Extern], row: Secinfo, section: str, at: int, dummy: int) -> None:
    t = btf[row.type]
    if section == ".kconfig":
        e = places.get(t.name)
        if e is not None:
            t.linkage, row.offset, row.size = GLOBAL, e.offset, e.size
        return
    if t.kind is Kind.FUNC:
        t.linkage = GLOBAL
        for p in btf[t.type].params:
            if not p.name and p.type:
                p.name = "dummy_ksym"
        row.type = dummy
    elif t.linkage == EXTERN:
        t.linkage, t.type = GLOBAL, btf[dummy].type
    row.offset, row.size = 4 * at, 4
