"""struct bpf_func_proto: what one helper function takes and gives.  include/linux/bpf.h, Linux 6.1."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FuncProto:
    """One prototype; several may share a helper number, each for other program types."""

    proto: str  # the kernel's name of this struct
    func: str  # the kernel function that runs; empty where the verifier always rewrites the call
    ret_type: int
    arg_types: tuple[int, ...]  # five words of types.py
    gpl_only: bool = False
    pkt_access: bool = False
    might_sleep: bool = False
    arg_btf_ids: tuple[str | None, ...] = (None,) * 5  # names of structs of the kernel's BTF
    arg_sizes: tuple[int, ...] = (0,) * 5  # bytes, of MEM_FIXED_SIZE arguments
    ret_btf_id: str | None = None
    allowed: str | None = None  # a rule of protos.helper_allowed()
    changes_pkt_data: bool = False  # bpf_helper_changes_pkt_data(): packet pointers are lost
    func_id: int = 0
    name: str = ""  # as the log prints it, "bpf_map_lookup_elem"


HelperProto = FuncProto
