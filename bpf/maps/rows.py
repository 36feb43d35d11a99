"""The row of a map type: everything about it that is not code.  BPF_MAP_TYPE() lines of include/linux/bpf_types.h.

A row stands above the class that implements the type; one class may have several rows.  What reads rows:
bpf(2) and `create_map` (since), the verifier (helpers, struct, for_each, sleepable), types of values (lock, timer, kptr,
btf), the loader (keyless, per_cpu, map_in_map, loader_btf), feature probing (probe) and docs/bpf-tables.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

from arch.records import dataclass, field
from bpf import uapi


@dataclass(frozen=True, slots=True)
class Probe:
    """What libbpf_probe_bpf_map_type() makes a map with: sizes, flags, and what else the type needs."""

    key_size: int = 4
    value_size: int = 4
    max_entries: int = 1
    map_flags: int = 0
    needs: Literal["", "inner", "storage_btf", "vmlinux_type"] = ""
    errno: int = 0  # the answer that shows the type is there, where making one cannot succeed


@dataclass(frozen=True, slots=True)
class MapType:
    """One row."""

    number: int
    name: str  # "HASH" of BPF_MAP_TYPE_HASH
    cls: type
    since: str
    commit: str
    struct: str  # of the kernel's BTF, that programs may look into: map_btf_id
    helpers: frozenset[str] | None = None  # the only helpers that take it; None: the general ones
    for_each: bool = False  # map_for_each_callback
    sleepable: str = ""  # the version since which sleepable programs may use it; none: they may not
    lock: bool = False  # its values may hold a struct bpf_spin_lock,
    timer: bool = False  # a struct bpf_timer,
    kptr: bool = False  # kernel pointers
    # map_check_btf: "key" types of both are needed; "keyless" a rule of its own; "none" BTF is refused
    btf: Literal["key", "keyless", "none"] = "key"
    lookup_and_delete: str | None = None  # BPF_MAP_LOOKUP_AND_DELETE_ELEM, since
    map_extra: bool = False  # that member of union bpf_attr means something
    per_cpu: bool = False
    keyless: bool = False  # key_size is 0
    map_in_map: bool = False
    text: Literal["", "value", "index", "type"] = ""  # map_seq_show_elem: whether and how a pinned map shows its keys
    loader_btf: bool = True  # libbpf gives types of key and value at creation
    probe: Probe = field(default_factory=Probe)
    missing: str = ""  # what of it is not simulated

    @property
    def kernel_name(self) -> str:
        return f"BPF_MAP_TYPE_{self.name}"


MAP_TYPES: dict[int, MapType] = {}
Class = TypeVar("Class", bound=type)


def map_type(
    number: int, name: str, since: str, commit: str, struct: str, helpers: str | None = None, **rules: object
) -> Callable[[Class], Class]:
    """The row of the class below: number, name and version; `rules` are the members of MapType by name."""
    only = None if helpers is None else frozenset(helpers.split())

    def declare(cls: Class) -> Class:
        assert number not in MAP_TYPES, f"two map types {number}"
        assert uapi.MAP_TYPE_NAMES.get(number) == name, f"include/bpf.h does not call map type {number} {name}"
        MAP_TYPES[number] = MapType(
            number,
            name,
            cls,
            since,
            commit,
            struct,
            only,
            **rules,  # type: ignore[arg-type]
        )
        return cls

    return declare
