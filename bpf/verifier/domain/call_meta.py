"""What checking the arguments of a call leaves for checking its result: struct bpf_call_arg_meta."""

from __future__ import annotations

from dataclasses import dataclass

from bpf.btf import Btf
from bpf.verifier.api import KptrField, MapInfo


@dataclass(slots=True)
class CallMeta:
    """Facts about one call of a helper."""

    func_id: int = 0
    pkt_access: bool = False
    map_ptr: MapInfo | None = None
    map_uid: int = 0
    const_map_key: int = -1  # -1: not known
    raw_mode: bool = False  # the memory argument may be uninitialised: the helper fills it
    regno: int = 0  # of that argument
    access_size: int = 0  # and its size
    release_regno: int = 0
    ref_obj_id: int = 0
    mem_size: int = 0
    msize_max_value: int = 0
    ret_btf: Btf | None = None
    ret_btf_id: int = 0
    own_percpu: bool = False  # it is an object of the program's own that every processor has
    subprogno: int = 0
    kptr: KptrField | None = None
    uninit_dynptr_regno: int = 0
    dynptr_id: int = 0  # of the dynptr whose memory is asked for, since 6.3
    changes_packet: bool = False  # slices and pointers of the packet are lost, by what the arguments are
