"""What a verifier looks at of a map: sizes, flags, types of key and value, and where its special members are."""

from __future__ import annotations

from collections.abc import Callable

from arch.records import dataclass
from bpf.btf import Btf


@dataclass(frozen=True, slots=True)
class KptrField:
    """A kernel pointer kept in a map value: struct btf_field of kind kptr (bpf_map_value_off_desc in 6.1)."""

    offset: int  # bytes from the start of the value
    btf_id: int  # of the pointed-to struct, in the kernel's BTF
    referenced: bool  # kptr_ref: may be exchanged and must be released; else kptr: may only be read
    name: str = ""
    dtor_func_id: int = 0
    btf: Btf | None = None  # of the struct, where it is an object of the program's own
    percpu: bool = False


@dataclass
class MapInfo:
    """The part of a map that a verifier looks at: struct bpf_map."""

    map_type: int
    key_size: int
    value_size: int
    max_entries: int
    map_flags: int = 0
    address: int = 0  # kernel address of struct bpf_map
    id: int = 0
    name: str = ""
    inner: MapInfo | None = None  # inner_map_meta of an array or hash of maps
    # BTF of key and value
    btf: Btf | None = None
    btf_key_type_id: int = 0
    btf_value_type_id: int = 0
    btf_vmlinux_value_type_id: int = 0
    spin_lock_off: int = -1  # offset of a struct bpf_spin_lock in the value, or -EINVAL-like negative: none
    timer_off: int = -1
    kptrs: tuple[KptrField, ...] = ()
    closed: tuple[tuple[str, int, int], ...] = ()  # other special members: name, offset, bytes
    # access
    frozen: bool = False
    writecnt: int = 0  # user-space writers that could still change a read-only map
    value_address: Callable[[int], int] | None = None  # map_direct_value_addr: offset -> kernel address; KernelError
    value_read: Callable[[int, int], int] | None = None  # (offset, size) of a frozen read-only map -> value
    bypass_spec_v1: bool = True
    map_extra: int = 0
    owner: object = None  # the map itself, for whoever made the request
