"""A rewritten program as user space sees it.  kernel/bpf/syscall.c:bpf_insn_prepare_dump()."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bpf.isa.insn import (
    BPF_CALL,
    BPF_JMP,
    BPF_LD_IMM64,
    BPF_LDX,
    BPF_MEM,
    BPF_PROBE_MEM,
    BPF_PROBE_MEM32,
    BPF_PSEUDO_CALL,
    BPF_PSEUDO_FUNC,
    BPF_PSEUDO_MAP_FD,
    BPF_PSEUDO_MAP_VALUE,
    BPF_REG_AX,
    BPF_ST,
    BPF_STX,
    BPF_TAIL_CALL,
    Insn,
)
from bpf.verifier.api import MapInfo
from bpf.verifier.rewrite.emit import s16, s32

BPF_FUNC_TAIL_CALL = 12
# The number of the register that only rewritten programs have, as user space sees it: since 7.2 R11 is a function's arguments on the stack.
AX_SHOWN = (("7.2", BPF_REG_AX + 1), (None, BPF_REG_AX))


def _map_value_offset(map_: MapInfo, address: int) -> int | None:
    """The offset of `address` in the map's directly addressable values; None: it is not there."""
    if map_.value_address is None or map_.max_entries != 1:
        return None
    start = map_.value_address(0)
    size = map_.value_size * map_.max_entries
    return address - start if start <= address < start + max(size, 1) else None


def _find_map(maps: Sequence[MapInfo], address: int) -> tuple[MapInfo, int, int] | None:
    """The map an address belongs to, the offset in its values, and the pseudo source register."""
    for map_ in maps:
        if map_.address == address:
            return map_, 0, BPF_PSEUDO_MAP_FD
    for map_ in maps:
        offset = _map_value_offset(map_, address)
        if offset is not None:
            return map_, offset, BPF_PSEUDO_MAP_VALUE
    return None


def _dump_call(insn: Insn, index: int, subprogs: Mapping[int, int], raw_ok: bool) -> Insn:
    """A call of a function of the program shows the function's number and, compiled, the distance in `off`."""
    if insn.src_reg == BPF_PSEUDO_CALL and subprogs:
        insn = insn.replace(off=s16(insn.imm), imm=subprogs.get(index + insn.imm + 1, 0))
    return insn if raw_ok else insn.replace(imm=0)


def dump(
    insns: Sequence[Insn],
    used_maps: Sequence[MapInfo] = (),
    raw_ok: bool = True,
    subprog_starts: Sequence[int] = (),
    ax: int = BPF_REG_AX,
) -> list[Insn]:
    """What BPF_OBJ_GET_INFO_BY_FD gives as xlated_prog_insns.

    `raw_ok`: the caller may see kernel addresses (kptr_restrict); else calls show 0.  `ax`: of AX_SHOWN.
    """
    subprogs = {start: number for number, start in enumerate(subprog_starts)} if len(subprog_starts) > 1 else {}
    out = list(insns)
    i = 0
    while i < len(out):
        insn = out[i]
        code = insn.code
        if code == BPF_JMP | BPF_TAIL_CALL:
            out[i] = insn.replace(code=BPF_JMP | BPF_CALL, imm=BPF_FUNC_TAIL_CALL if raw_ok else 0)
        elif code == BPF_JMP | BPF_CALL:
            out[i] = _dump_call(insn, i, subprogs, raw_ok)
        elif insn.cls == BPF_LDX and insn.mode == BPF_PROBE_MEM:
            out[i] = insn.replace(code=BPF_LDX | BPF_MEM | insn.size)
        elif insn.cls in (BPF_LDX, BPF_ST, BPF_STX) and insn.mode == BPF_PROBE_MEM32:
            out[i] = insn.replace(code=insn.cls | BPF_MEM | insn.size)
        elif code == BPF_LD_IMM64:
            if insn.src_reg == BPF_PSEUDO_FUNC:
                out[i + 1] = out[i + 1].replace(imm=subprogs.get(i + insn.imm + 1, 0))
            else:
                address = (out[i + 1].imm & 0xFFFFFFFF) << 32 | insn.imm & 0xFFFFFFFF
                found = _find_map(used_maps, address)
                if found is not None:
                    map_, offset, src = found
                    out[i] = insn.replace(src_reg=src, imm=map_.id)
                    out[i + 1] = out[i + 1].replace(imm=s32(offset))
            i += 1
        i += 1
    return out if ax == BPF_REG_AX else [_renumbered(insn, ax) for insn in out]


def _renumbered(insn: Insn, ax: int) -> Insn:
    """With another number for the register of rewritten programs."""
    if BPF_REG_AX not in (insn.dst_reg, insn.src_reg):
        return insn
    dst, src = (ax if reg == BPF_REG_AX else reg for reg in (insn.dst_reg, insn.src_reg))
    return insn.replace(dst_reg=dst, src_reg=src)
