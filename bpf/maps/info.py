"""What a verifier looks at of a map: sizes, flags, types of key and value, and where its special members are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from arch.records import dataclass
from bpf.btf import Btf
from bpf.btf.codec import Kind
from bpf.btf.record import KPTR_PERCPU, KPTR_UNREF, Field, Record
from bpf.isa.insn import Insn

JUMP_SIZE: Final = 8  # bytes of the address of an instruction, as programs see one
GONE: Final = -1  # a place in a program that is not there any more: INSN_DELETED


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


def kptr_field(one: Field, btf: Btf, vmlinux: Btf | None) -> KptrField:
    """A kernel pointer among the special members of a value or an object, whose types are those of `btf`."""
    assert one.btf is not None
    own = one.btf is btf and btf is not vmlinux
    dtor = vmlinux.find(one.dtor, Kind.FUNC) if vmlinux is not None and one.dtor else 0
    name = one.btf.name_of(one.btf_id)
    percpu = one.kind == KPTR_PERCPU
    return KptrField(one.offset, one.btf_id, one.kind != KPTR_UNREF, name, dtor, one.btf if own else None, percpu)


# sizeof(struct bpf_array), behind which the values are: it begins with struct bpf_map, which 6.12 and 7.2 have in other sizes
ARRAY_SIZES = (("7.2", 304), ("6.12", 264), (None, 272))


class JumpTable(Protocol):
    """Places that a program jumps to: a map of type INSN_ARRAY."""

    places: list[int]  # instructions of the program as it is by now, or GONE

    def begin(self, insns: Sequence[Insn]) -> None:
        """A program is verified that uses it.  KernelError: it may not."""

    def give_up(self) -> None:
        """The program was refused."""


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
    record: Record | None = None  # all special members, since 6.2
    # access
    frozen: bool = False
    writecnt: int = 0  # user-space writers that could still change a read-only map
    value_address: Callable[[int], int] | None = None  # map_direct_value_addr: offset -> kernel address; KernelError
    value_read: Callable[[int, int], int] | None = None  # (offset, size) of a frozen read-only map -> value
    bypass_spec_v1: bool = True
    array_size: int = ARRAY_SIZES[-1][1]  # sizeof(struct bpf_array)
    map_extra: int = 0
    area: Callable[[], tuple[int, int]] | None = (
        None  # of an arena: its first address in user space, and the one behind its last
    )
    jumps: JumpTable | None = None  # of a map of places in the program
    owner: object = None  # the map itself, for whoever made the request
