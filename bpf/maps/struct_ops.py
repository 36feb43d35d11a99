"""Structs of functions that programs supply: BPF_MAP_TYPE_STRUCT_OPS.  kernel/bpf/bpf_struct_ops.c.

The map's one value is the struct with a state in front of it.  Written, it names programs by descriptor; the kernel makes
functions of them and registers the struct: congestion control for TCP (net/ipv4/bpf_tcp_ca.c), or nothing for the struct
that exists for tests (net/bpf/bpf_dummy_struct_ops.c).  Deleting the value takes the struct back.
"""

from __future__ import annotations

from arch.abi.errno import E2BIG, EBUSY, EEXIST, EINPROGRESS, EINVAL, ENOENT, ENOTSUPP, EOPNOTSUPP, EPERM
from bpf import uapi
from bpf.btf.codec import BtfType, Kind
from bpf.face import Prog
from bpf.maps.base import Board, BpfMap, MapAttr, refuse
from bpf.maps.rows import Probe, map_type

STATE_INIT, STATE_INUSE, STATE_TOBEFREE = range(3)  # enum bpf_struct_ops_state
VALUE_PREFIX = "bpf_struct_ops_"
TCP_CA, DUMMY = "tcp_congestion_ops", "bpf_dummy_ops"
TCP_CONG_MASK = 0x3  # TCP_CONG_NON_RESTRICTED, TCP_CONG_NEEDS_ECN
BPF_MODULE_OWNER = 0xEB9F
BUILT_IN_CONTROLS = (b"reno", b"cubic")  # of this kernel
WORD = 8  # of a program's context, an array of u64
NAME_CHARACTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")


@map_type(
    26,
    "STRUCT_OPS",
    since="5.6",
    commit="85d33df357b6",
    struct="bpf_struct_ops_map",
    probe=Probe(needs="vmlinux_type", errno=ENOTSUPP),
    text="value",
)
class StructOpsMap(BpfMap):
    """BPF_MAP_TYPE_STRUCT_OPS."""

    can_be_inner = False

    @classmethod
    def alloc_check(cls, bpf: Board, attr: MapAttr) -> None:
        """bpf_struct_ops_map_alloc_check()."""
        if attr.key_size != 4 or attr.max_entries != 1 or attr.map_flags or not attr.btf_vmlinux_value_type_id:
            raise refuse(EINVAL)

    def alloc(self) -> None:
        """bpf_struct_ops_map_alloc(): which struct it is follows from the type of the value."""
        if not self.bpf.capable("bpf"):
            raise refuse(EPERM)
        kernel, wanted = self.host.vmlinux_btf, self.btf_vmlinux_value_type_id
        value = kernel.types[wanted] if kernel is not None and wanted < len(kernel) else None
        name = value.name.removeprefix(VALUE_PREFIX) if value is not None and value.kind is Kind.STRUCT else ""
        if kernel is None or value is None or value.name == name or name not in (TCP_CA, DUMMY):
            raise refuse(ENOTSUPP, "no such struct of functions")
        if self.value_size != value.size:
            raise refuse(EINVAL)
        self.btf_of_kernel = kernel
        self.struct_name = name
        self.struct_id = kernel.find(name, Kind.STRUCT)
        self.struct: BtfType = kernel.types[self.struct_id]
        places = {member.name: member.bit_offset // 8 for member in value.members}
        if "common" in places:  # since 6.8, at the start
            common = kernel.resolved(value.members[0].type)
            places |= {member.name: member.bit_offset // 8 for member in common.members}
        self.refcnt_at, self.state_at, self.data_at = places["refcnt"], places["state"], places["data"]
        super().alloc()
        self.kernel_value = self.allocate(value.size, 64)
        self.user_value = bytes(value.size)
        self.state = STATE_INIT
        self.progs: list[Prog] = []
        self.members: dict[str, Prog] = {}

    def free_elements(self) -> None:
        self._put_progs()
        self.mem.free(self.kernel_value)

    def _put_progs(self) -> None:
        for prog in self.progs:
            prog.put()
        self.progs, self.members = [], {}

    # ---- the value ----

    def lookup(self, key: bytes) -> int:
        raise refuse(EINVAL, "programs do not see it")

    def user_lookup(self, key: bytes, flags: int) -> bytes:
        """bpf_struct_ops_map_sys_lookup_elem(): with the ids of the programs, and how many others hold it."""
        if any(key):
            raise refuse(ENOENT)
        value = bytearray(self.user_value)
        if self.state != STATE_INIT:
            order = self.mem.byteorder
            value[self.state_at : self.state_at + 4] = self.state.to_bytes(4, order)
            value[self.refcnt_at : self.refcnt_at + 4] = max(self.refs - self.users, 0).to_bytes(4, order)
        return bytes(value)

    def next_key(self, key: bytes | None) -> bytes:
        if key is not None and not any(key):
            raise refuse(ENOENT)
        return bytes(4)

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        """bpf_struct_ops_map_update_elem()."""
        if flags:
            raise refuse(EINVAL)
        if any(key):
            raise refuse(E2BIG)
        self._check_holes(value)
        if self.state != STATE_INIT:
            raise refuse(EBUSY)
        kernel, user = bytearray(len(value)), bytearray(value)
        own = False
        try:
            for number, member in enumerate(self.struct.members):
                at = self.data_at + member.bit_offset // 8
                own = self._init_member(number, member.name, member.type, at, user, kernel, own)
            name = self._register(user)
        except Exception:
            self._put_progs()
            raise
        self.mem.write(self.kernel_value, bytes(kernel))
        self.user_value, self.state, self.registered = bytes(user), STATE_INUSE, name
        self.get()

    def _check_holes(self, value: bytes) -> None:
        """check_zero_holes(): of the value and of the struct; nobody sets state and count."""
        rest = bytearray(value)
        for member in self.struct.members:
            at = self.data_at + member.bit_offset // 8
            size = self.btf_of_kernel.size_of(member.type)
            rest[at : at + size] = bytes(size)
        if any(rest):
            raise refuse(EINVAL)

    def _init_member(
        self, number: int, name: str, type_id: int, at: int, user: bytearray, kernel: bytearray, before: bool
    ) -> bool:
        """Whether the struct's own init_member() has dealt with it, as `before` with the member in front of it."""
        btf, order, word = self.btf_of_kernel, self.mem.byteorder, self.host.structs.word
        size = btf.size_of(type_id)
        given = int.from_bytes(user[at : at + size], order)
        kind = btf.resolved(type_id)
        target = btf.resolved(kind.type) if kind.kind is Kind.PTR and kind.type else None
        if target is not None and target.name == "module":
            if given:  # no error is set: bpf(2) answers what the member before it did
                raise refuse(-int(before))
            kernel[at : at + size] = BPF_MODULE_OWNER.to_bytes(size, order)
        elif self._own_member(name, at, size, user, kernel):
            return True
        elif target is None or target.kind is not Kind.FUNC_PROTO:
            if given:
                raise refuse(EINVAL, f"{name} cannot be set")
        elif given & 0xFFFFFFFF:
            prog = self.host.fd_get(given & 0xFFFFFFFF)
            if not isinstance(prog, Prog):
                raise refuse(EINVAL)
            if (prog.type, prog.attach_btf_id, prog.expected_attach_type) != (
                uapi.BPF_PROG_TYPE_STRUCT_OPS, self.struct_id, number,
            ):  # fmt: skip
                raise refuse(EINVAL, f"not a program for {name}")
            prog.get()
            self.progs.append(prog)
            self.members[name] = prog
            kernel[at : at + word] = prog.text.to_bytes(word, order)
            user[at : at + word] = prog.id.to_bytes(word, order)
        return False

    def _own_member(self, name: str, at: int, size: int, user: bytearray, kernel: bytearray) -> bool:
        """init_member() of the struct: True if it has dealt with this one."""
        if self.struct_name == DUMMY:
            raise refuse(EOPNOTSUPP)
        if name == "flags":
            if int.from_bytes(user[at : at + size], self.mem.byteorder) & ~TCP_CONG_MASK:
                raise refuse(EINVAL)
        elif name == "name":
            text = bytes(user[at : at + size]).split(b"\0")[0]
            if not text or len(text) == size or not NAME_CHARACTERS.issuperset(text):
                raise refuse(EINVAL)
            if text in BUILT_IN_CONTROLS or text.decode() in self.bpf.congestion_controls:
                raise refuse(EEXIST)
        else:
            return False
        kernel[at : at + size] = user[at : at + size]
        return True

    def _register(self, user: bytearray) -> str:
        """bpf_tcp_ca_reg(): tcp_register_congestion_control() wants ssthresh, undo_cwnd, and one of two to control."""
        places = {member.name: self.data_at + member.bit_offset // 8 for member in self.struct.members}
        given = {name: any(user[at : at + self.host.structs.word]) for name, at in places.items()}
        if not (given["ssthresh"] and given["undo_cwnd"] and (given["cong_avoid"] or given["cong_control"])):
            raise refuse(EINVAL)
        name = bytes(user[places["name"] : places["name"] + 16]).split(b"\0")[0].decode()
        self.bpf.congestion_controls[name] = self
        return name

    def number(self, member: str) -> int:
        """A member of the registered struct that is a number."""
        found = next(each for each in self.struct.members if each.name == member)
        at, size = self.data_at + found.bit_offset // 8, self.btf_of_kernel.size_of(found.type)
        return int.from_bytes(self.user_value[at : at + size], self.mem.byteorder)

    def delete(self, key: bytes) -> None:
        """bpf_struct_ops_map_delete_elem()."""
        if self.state != STATE_INUSE:
            raise refuse(EINPROGRESS if self.state == STATE_TOBEFREE else ENOENT)
        self.state = STATE_TOBEFREE
        self.bpf.congestion_controls.pop(self.registered, None)
        self.put()
