"""Arrays of places in a program, which it jumps to.  kernel/bpf/bpf_insn_array.c.

An element is struct bpf_insn_array_value: the instruction it leads to as user space gave it, where that is in the program as it runs,
and where in machine code; then four bytes that mean nothing.  Behind the elements lie the addresses of the instructions, and these are what a
program sees of the map.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arch.abi.errno import E2BIG, EACCES, EBUSY, EEXIST, EINVAL
from arch.abi.limits import U32_MAX
from bpf import uapi
from bpf.btf import Btf
from bpf.isa.insn import BPF_LD_IMM64, Insn
from bpf.maps.array import Indexed
from bpf.maps.base import STRUCT_BPF_MAP_SIZE, Board, MapAttr, refuse
from bpf.maps.info import GONE, JUMP_SIZE, MapInfo
from bpf.maps.rows import Probe, map_type

VALUE_SIZE = 16  # sizeof(struct bpf_insn_array_value)
XLATED, JITTED = 4, 8  # members of it, in bytes


@map_type(
    34, "INSN_ARRAY", since="6.19", commit="b4ce5923e780", struct="bpf_insn_array", helpers="", sleepable="6.19", btf="keyless",
    loader_btf=False, probe=Probe(value_size=VALUE_SIZE),
)  # fmt: skip
class InsnArrayMap(Indexed):
    """BPF_MAP_TYPE_INSN_ARRAY; JumpTable of a verifier."""

    can_be_inner = False
    has_direct_value = True
    places: list[int]
    used = False  # by a program that was loaded, or is being

    @classmethod
    def alloc_check(cls, bpf: Board, attr: MapAttr) -> None:
        """insn_array_alloc_check().  EINVAL."""
        if not attr.max_entries or attr.key_size != 4 or attr.value_size != VALUE_SIZE or attr.map_flags:
            raise refuse(EINVAL)

    def alloc(self) -> None:
        struct = self.host.structs
        name = "bpf_insn_array"
        size = struct.sizeof(name) if struct.has(f"{name}.map") else STRUCT_BPF_MAP_SIZE
        self.address = self.allocate(size + self.max_entries * (VALUE_SIZE + JUMP_SIZE), 64)
        self.values = self.address + size
        self.addresses = self.values + self.max_entries * VALUE_SIZE
        self.map_flags |= uapi.BPF_F_RDONLY_PROG

    def info(self) -> MapInfo:
        found = super().info()
        found.jumps = self
        return found

    def memory(self) -> int:
        """insn_array_mem_usage()."""
        return self.values - self.address + self.max_entries * (VALUE_SIZE + JUMP_SIZE)

    # ---- of user space ----

    def lookup(self, key: bytes) -> int:
        index = self.index(key)
        return self.values + index * VALUE_SIZE if index < self.max_entries else 0

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        """insn_array_update_elem(): only where it leads to may be said.  E2BIG, EEXIST, EINVAL."""
        address = self.lookup(key)
        if flags & ~(uapi.BPF_NOEXIST | uapi.BPF_EXIST):
            raise refuse(EINVAL)
        if not address:
            raise refuse(E2BIG)
        if flags & uapi.BPF_NOEXIST:
            raise refuse(EEXIST)
        if any(value[XLATED : JITTED + 4]):
            raise refuse(EINVAL)
        self.mem.write(address, value[:XLATED])

    def delete(self, key: bytes) -> None:
        raise refuse(EINVAL)

    def check_btf(self, btf: Btf, key_type_id: int, value_type_id: int) -> None:
        """insn_array_check_btf(): eight bytes are wanted, and no value has as few."""
        raise refuse(EINVAL)

    # ---- of a verifier: JumpTable ----

    def direct_value_address(self, offset: int) -> int:
        """insn_array_map_direct_value_addr(): a program sees the addresses."""
        if offset % JUMP_SIZE or offset // JUMP_SIZE >= self.max_entries:
            raise refuse(EACCES)
        return self.addresses + offset

    def begin(self, insns: Sequence[Insn]) -> None:
        """bpf_insn_array_init(): for this program, and no other.  EINVAL, EBUSY."""
        places = [self.mem.read_uint(self.values + i * VALUE_SIZE, 4) for i in range(self.max_entries)]
        if not self.frozen:
            raise refuse(EINVAL)
        for place in places:
            if place >= len(insns) or (place and insns[place - 1].code == BPF_LD_IMM64):
                raise refuse(EINVAL)
        if self.used:
            raise refuse(EBUSY)
        self.used, self.places = True, places

    def give_up(self) -> None:
        """bpf_insn_array_release(): the program is none."""
        self.used = False

    # ---- of a program that was loaded ----

    def settle(self, address: Callable[[int], int], offset: Callable[[int], int]) -> None:
        """bpf_prog_update_insn_ptrs(): where instructions are in the kernel, and how far into their function's machine code."""
        for i, place in enumerate(self.places):
            at = self.values + i * VALUE_SIZE
            self.mem.write_uint(at + XLATED, 4, U32_MAX if place == GONE else place)
            if place != GONE:
                self.mem.write_uint(at + JITTED, 4, offset(place))
                self.mem.write_uint(self.addresses + i * JUMP_SIZE, JUMP_SIZE, address(place))
