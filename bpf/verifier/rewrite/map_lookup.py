"""Map lookups written out in the program.  The map_gen_lookup() members of struct bpf_map_ops:
kernel/bpf/arraymap.c, kernel/bpf/hashtab.c, net/xdp/xskmap.c of Linux 6.1.
"""

from __future__ import annotations

from collections.abc import Callable

from bpf import uapi
from bpf.isa.callees import CALLEE_NUMBERS
from bpf.isa.insn import BPF_ADD, BPF_AND, BPF_JEQ, BPF_JGE, BPF_JNE, BPF_LSH, BPF_MUL, Insn
from bpf.maps.base import XSK_BEFORE
from bpf.verifier.api import MapInfo
from bpf.verifier.rewrite import emit

BPF_F_INNER_MAP = uapi.BPF_F_INNER_MAP

# Where bpf/maps keeps elements, on every architecture as on x86-64.
_ELEM_KEY = 48  # struct htab_elem
_LRU_REF = 35  # lru_node.ref of it


def index_mask(map_: MapInfo) -> int:
    """All ones up to the highest index: what a speculated index is masked with.  array_map_alloc()."""
    return (1 << max(map_.max_entries - 1, 0).bit_length()) - 1


def _element(map_: MapInfo, elem_size: int, skip: int) -> list[Insn]:
    """r0 = address of the element that *r2 is the index of; jumps `skip` beyond the address if there is none."""
    insns = [emit.add_imm(1, map_.array_size), emit.ldx(4, 0, 2, 0)]
    if map_.bypass_spec_v1:
        insns.append(emit.jmp_imm(BPF_JGE, 0, map_.max_entries, 2 + skip))
    else:
        insns.append(emit.jmp_imm(BPF_JGE, 0, map_.max_entries, 3 + skip))
        insns.append(emit.alu32_imm(BPF_AND, 0, index_mask(map_)))
    if elem_size & (elem_size - 1):
        insns.append(emit.alu64_imm(BPF_MUL, 0, elem_size))
    else:
        insns.append(emit.alu64_imm(BPF_LSH, 0, elem_size.bit_length() - 1))
    return [*insns, emit.alu64(BPF_ADD, 0, 1)]


def _array(map_: MapInfo) -> list[Insn] | None:
    if map_.map_flags & BPF_F_INNER_MAP:
        return None  # the size is not known before run time
    elem_size = -(-map_.value_size // 8) * 8
    return [*_element(map_, elem_size, 1), emit.ja(1), emit.mov64_imm(0, 0)]


def _array_of_maps(map_: MapInfo) -> list[Insn]:
    return [
        *_element(map_, 8, 3),
        emit.ldx(8, 0, 0, 0),
        emit.jmp_imm(BPF_JEQ, 0, 0, 1),
        emit.ja(1),
        emit.mov64_imm(0, 0),
    ]


def _value(map_: MapInfo) -> Insn:
    """From a hash element to its value."""
    return emit.add_imm(0, _ELEM_KEY + -(-map_.key_size // 8) * 8)


_FIND = emit.call(CALLEE_NUMBERS["__htab_map_lookup_elem"])


def _hash(map_: MapInfo) -> list[Insn]:
    return [_FIND, emit.jmp_imm(BPF_JEQ, 0, 0, 1), _value(map_)]


def _lru_hash(map_: MapInfo) -> list[Insn]:
    return [
        _FIND,
        emit.jmp_imm(BPF_JEQ, 0, 0, 4),
        emit.ldx(1, 1, 0, _LRU_REF),
        emit.jmp_imm(BPF_JNE, 1, 0, 1),
        emit.st(1, 0, _LRU_REF, 1),
        _value(map_),
    ]


def _hash_of_maps(map_: MapInfo) -> list[Insn]:
    return [_FIND, emit.jmp_imm(BPF_JEQ, 0, 0, 2), _value(map_), emit.ldx(8, 0, 0, 0)]


def _xskmap(map_: MapInfo) -> list[Insn]:
    return [
        emit.ldx(4, 0, 2, 0),
        emit.jmp32_imm(BPF_JGE, 0, map_.max_entries, 5),
        emit.alu64_imm(BPF_LSH, 0, 3),
        emit.add_imm(1, map_.array_size - XSK_BEFORE),
        emit.alu64(BPF_ADD, 0, 1),
        emit.ldx(8, 0, 0, 0),
        emit.ja(1),
        emit.mov64_imm(0, 0),
    ]


_GENERATORS: dict[int, Callable[[MapInfo], list[Insn] | None]] = {
    uapi.BPF_MAP_TYPE_ARRAY: _array,
    uapi.BPF_MAP_TYPE_HASH: _hash,
    uapi.BPF_MAP_TYPE_LRU_HASH: _lru_hash,
    uapi.BPF_MAP_TYPE_ARRAY_OF_MAPS: _array_of_maps,
    uapi.BPF_MAP_TYPE_HASH_OF_MAPS: _hash_of_maps,
    uapi.BPF_MAP_TYPE_XSKMAP: _xskmap,
}


def map_gen_lookup(map_: MapInfo) -> list[Insn] | None:
    """The lookup as instructions; None: this map is looked up by a call."""
    generate = _GENERATORS.get(map_.map_type)
    return generate(map_) if generate else None
