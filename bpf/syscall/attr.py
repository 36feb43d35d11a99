"""union bpf_attr: where each command's members are, and how far each kernel version knows them.

include/uapi/linux/bpf.h; kernel/bpf/syscall.c:CHECK_ATTR() and the *_LAST_FIELD macros.  A member is `name:offset` or
`name:offset/size`, size 4 unless given; bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache

from arch.abi.errno import E2BIG, EFAULT, EINVAL
from arch.abi.fcntl import O_CLOEXEC, O_RDONLY, O_RDWR, O_WRONLY
from arch.abi.limits import PAGE_SIZE, U32_MAX
from arch.abi.version import KernelVersion, newest
from arch.errors import Fault, KernelError
from arch.memory import ByteOrder, Memory
from arch.records import dataclass, field
from bpf import uapi
from bpf.board import Bpf, BtfObject
from bpf.face import BpfHost, Prog
from bpf.maps.base import BpfMap
from bpf.syscall.test_functions import Steps
from bpf.versions import features

# sizeof(union bpf_attr) by version.
ATTR_SIZES: tuple[tuple[str, int], ...] = (
    #  since    bytes
    ("6.18", 168),
    ("6.9", 152),
    ("5.17", 144),
    ("5.14", 128),
    ("5.0", 120),
    ("4.17", 72),
    ("4.15", 72),
    ("4.14", 64),
    ("3.18", 48),
)
RFC_ATTR_SIZE = 40

_MAP_CREATE = """map_type:0 key_size:4 value_size:8 max_entries:12 map_flags:16 inner_map_fd:20 numa_node:24
    map_name:28/16 map_ifindex:44 btf_fd:48 btf_key_type_id:52 btf_value_type_id:56 btf_vmlinux_value_type_id:60
    map_extra:64/8 value_type_btf_obj_fd:72 map_token_fd:76"""
_ELEM = "map_fd:0 key:8/8 value:16/8 next_key:16/8 flags:24/8"
_BATCH = "in_batch:0/8 out_batch:8/8 keys:16/8 values:24/8 count:32 map_fd:36 elem_flags:40/8 flags:48/8"
_PROG_LOAD = """prog_type:0 insn_cnt:4 insns:8/8 license:16/8 log_level:24 log_size:28 log_buf:32/8 kern_version:40
    prog_flags:44 prog_name:48/16 prog_ifindex:64 expected_attach_type:68 prog_btf_fd:72 func_info_rec_size:76
    func_info:80/8 func_info_cnt:88 line_info_rec_size:92 line_info:96/8 line_info_cnt:104 attach_btf_id:108
    attach_prog_fd:112 core_relo_cnt:116 fd_array:120/8 core_relos:128/8 core_relo_rec_size:136
    log_true_size:140 prog_token_fd:144"""
_OBJ = "pathname:0/8 bpf_fd:8 file_flags:12"
_ATTACH = (
    "target_fd:0 attach_bpf_fd:4 attach_type:8 attach_flags:12 replace_bpf_fd:16 relative_fd:20 expected_revision:24/8"
)
_TEST = """prog_fd:0 retval:4 data_size_in:8 data_size_out:12 data_in:16/8 data_out:24/8 repeat:32 duration:36
    ctx_size_in:40 ctx_size_out:44 ctx_in:48/8 ctx_out:56/8 flags:64 cpu:68 batch_size:72"""
_ID = "start_id:0 next_id:4 open_flags:8"
_OBJ_INFO = "bpf_fd:0 info_len:4 info:8/8"
_QUERY = """target_fd:0 attach_type:4 query_flags:8 attach_flags:12 prog_ids:16/8 prog_cnt:24
    prog_attach_flags:32/8 link_ids:40/8 link_attach_flags:48/8 revision:56/8"""
_RAW_TP = "name:0/8 prog_fd:8 raw_cookie:16/8"
_BTF_LOAD = (
    "btf:0/8 btf_log_buf:8/8 btf_size:16 btf_log_size:20 btf_log_level:24 log_true_size:28 btf_flags:32 btf_token_fd:36"
)
_TASK_FD = "pid:0 fd:4 flags:8 buf_len:12 buf:16/8 prog_id:24 fd_type:28 probe_offset:32/8 probe_addr:40/8"
_LINK = """prog_fd:0 target_fd:4 attach_type:8 flags:12 target_btf_id:16 iter_info:16/8 iter_info_len:24
    bpf_cookie:16/8 kprobe_flags:16 cnt:20 syms:24/8 addrs:32/8 cookies:40/8 tracing_cookie:24/8
    path:16/8 offsets:24/8 ref_ctr_offsets:32/8 uprobe_cookies:40/8 uprobe_cnt:48 uprobe_flags:52 uprobe_pid:56 path_fd:60
    multi_ids:16/8 multi_cookies:24/8 multi_cnt:32 link_relative_fd:16 link_revision:24/8"""
_LINK_UPDATE = "link_fd:0 new_prog_fd:4 flags:8 old_prog_fd:12"
_LINK_FD = "link_fd:0 flags:4"
_STATS = "type:0"
_BIND = "prog_fd:0 map_fd:4 flags:8"
_TOKEN = "flags:0 bpffs_fd:4"


_LETTERS = {4: "I", 8: "Q"}  # of struct


def _fields(text: str) -> dict[str, tuple[int, int]]:
    out = {}
    for word in text.split():
        name, place = word.split(":")
        offset, _, size = place.partition("/")
        out[name] = (int(offset), int(size or 4))
    return out


@dataclass(frozen=True)
class Layout:
    """One command's members, and by version the end of the last one that counts (newest first)."""

    fields: dict[str, tuple[int, int]]
    ends: tuple[tuple[str, int], ...]
    readers: dict[ByteOrder, Numbers] = field(default_factory=dict)
    known_ends: dict[KernelVersion, int] = field(default_factory=dict)

    def numbers(self, raw: bytes, byteorder: ByteOrder) -> dict[str, int]:
        """The members that are numbers."""
        reader = self.readers.get(byteorder)
        if reader is None:
            reader = self.readers[byteorder] = Numbers(self, byteorder)
        return reader.of(raw)

    def end(self, version: KernelVersion) -> int:
        """All behind this must be zero."""
        end = self.known_ends.get(version)
        if end is None:
            end = next((end for since, end in self.ends if version.at_least(since)), self.ends[-1][1])
            self.known_ends[version] = end
        return end


class Numbers:
    """All numbers of a layout's members, read at once.  Members of several forms of a command share bytes: each group has none that do."""

    def __init__(self, layout: Layout, byteorder: ByteOrder) -> None:
        groups: list[dict[int, tuple[int, str]]] = []  # by offset: size and name
        ends: list[int] = []
        for name, (offset, size) in sorted(layout.fields.items(), key=lambda item: item[1][0]):
            if size not in _LETTERS:
                continue
            fits = next((i for i, end in enumerate(ends) if end <= offset), len(groups))
            if fits == len(groups):
                groups.append({})
                ends.append(0)
            groups[fits][offset] = size, name
            ends[fits] = offset + size
        self._groups = [(tuple(name for _, name in group.values()), _struct_of(group, byteorder)) for group in groups]
        self._size = max(ends)

    def of(self, raw: bytes) -> dict[str, int]:
        """By name; what the version has no room for is zero."""
        raw = raw.ljust(self._size, b"\0")
        found: dict[str, int] = {}
        for names, form in self._groups:
            found.update(zip(names, form.unpack_from(raw)))
        return found


def _struct_of(group: dict[int, tuple[int, str]], byteorder: ByteOrder) -> struct.Struct:
    text, at = "<" if byteorder == "little" else ">", 0
    for offset, (size, _) in group.items():
        text += f"{offset - at}x{_LETTERS[size]}"
        at = offset + size
    return struct.Struct(text)


def _layout(text: str, *ends: tuple[str, int]) -> Layout:
    return Layout(_fields(text), ends)


LAYOUTS: dict[int, Layout] = {
    0: _layout(
        _MAP_CREATE,
        ("6.9", 80),
        ("5.16", 72),
        ("5.6", 64),
        ("4.18", 60),
        ("4.16", 48),
        ("4.15", 44),
        ("4.14", 28),
        ("4.12", 24),
        ("4.6", 20),
        ("3.18", 16),
    ),
    1: _layout(_ELEM, ("5.1", 32), ("3.18", 24)),
    2: _layout(_ELEM, ("3.18", 32)),
    3: _layout(_ELEM, ("3.18", 16)),
    4: _layout(_ELEM, ("3.18", 24)),
    5: _layout(
        _PROG_LOAD,
        ("6.9", 148),
        ("6.4", 144),
        ("5.17", 140),
        ("5.14", 128),
        ("5.5", 116),
        ("5.0", 108),
        ("4.17", 72),
        ("4.16", 68),
        ("4.15", 64),
        ("4.12", 48),
        ("4.1", 44),
        ("3.18", 40),
    ),
    6: _layout(_OBJ, ("4.15", 16), ("4.4", 12)),
    7: _layout(_OBJ, ("4.15", 16), ("4.4", 12)),
    8: _layout(_ATTACH, ("6.6", 32), ("5.6", 20), ("4.10", 16)),
    9: _layout(_ATTACH, ("6.6", 32), ("4.10", 12)),
    10: _layout(_TEST, ("5.18", 76), ("5.10", 72), ("5.2", 64), ("4.12", 40)),
    11: _layout(_ID, ("4.13", 8)),
    12: _layout(_ID, ("4.13", 8)),
    13: _layout(_ID, ("4.13", 4)),
    14: _layout(_ID, ("4.15", 12), ("4.13", 4)),
    15: _layout(_OBJ_INFO, ("4.13", 16)),
    16: _layout(_QUERY, ("6.6", 64), ("6.0", 40), ("4.15", 28)),
    17: _layout(_RAW_TP, ("6.10", 24), ("4.17", 12)),
    18: _layout(_BTF_LOAD, ("6.9", 40), ("6.4", 32), ("4.18", 28)),
    19: _layout(_ID, ("4.18", 4)),
    20: _layout(_TASK_FD, ("4.18", 48)),
    21: _layout(_ELEM, ("5.14", 32), ("4.20", 24)),
    22: _layout(_ELEM, ("5.2", 4)),
    23: _layout(_ID, ("5.4", 8)),
    24: _layout(_BATCH, ("5.6", 56)),
    25: _layout(_BATCH, ("5.6", 56)),
    26: _layout(_BATCH, ("5.6", 56)),
    27: _layout(_BATCH, ("5.6", 56)),
    28: _layout(_LINK, ("7.2", 64), ("6.6", 60), ("5.18", 48), ("5.8", 28), ("5.7", 16)),
    29: _layout(_LINK_UPDATE, ("5.7", 16)),
    30: _layout(_ID, ("5.8", 4)),
    31: _layout(_ID, ("5.8", 8)),
    32: _layout(_STATS, ("5.8", 4)),
    33: _layout(_LINK_FD, ("5.8", 8)),
    34: _layout(_LINK_FD, ("5.9", 4)),
    35: _layout(_BIND, ("5.10", 12)),
    36: _layout(_TOKEN, ("6.9", 8)),
}


@cache
def attr_size(version: KernelVersion) -> int:
    """sizeof(union bpf_attr); as large as what the version's commands need."""
    if version.is_rfc:
        return RFC_ATTR_SIZE
    return newest(ATTR_SIZES, version)


class User:
    """Memory of the calling task: every fault is EFAULT."""

    def __init__(self, mem: Memory | None, byteorder: ByteOrder) -> None:
        self.mem = mem
        self.byteorder = byteorder

    def read(self, address: int, size: int) -> bytes:
        """copy_from_user()."""
        if size == 0:
            return b""
        if self.mem is None:
            raise KernelError(EFAULT)
        try:
            return bytes(self.mem.read(address, size))
        except Fault:
            raise KernelError(EFAULT) from None

    def write(self, address: int, data: bytes) -> None:
        """copy_to_user()."""
        if not data:
            return
        if self.mem is None:
            raise KernelError(EFAULT)
        try:
            self.mem.write(address, data)
        except Fault:
            raise KernelError(EFAULT) from None

    def put(self, address: int, size: int, value: int) -> None:
        """put_user()."""
        self.write(address, (value & (1 << 8 * size) - 1).to_bytes(size, self.byteorder))

    def get(self, address: int, size: int) -> int:
        """get_user()."""
        return int.from_bytes(self.read(address, size), self.byteorder)

    def string(self, address: int, limit: int) -> bytes:
        """strncpy_from_user(): up to the NUL, at most `limit` bytes, no further than needed."""
        out = bytearray()
        while len(out) < limit:
            step = min(limit - len(out), 64 - (address + len(out)) % 64)
            piece = self.read(address + len(out), step)
            end = piece.find(0)
            if end >= 0:
                return bytes(out + piece[:end])
            out += piece
        return bytes(out)

    def check_tail_zero(self, address: int, expected: int, size: int) -> None:
        """bpf_check_uarg_tail_zero(): what user space knows and we do not must be zero."""
        if size > PAGE_SIZE:
            raise KernelError(E2BIG)
        at, end = address + expected, address + size
        while at < end:  # page by page: what is not zero is found before what cannot be read
            upto = min(end, (at | (PAGE_SIZE - 1)) + 1)
            if any(self.read(at, upto - at)):
                raise KernelError(E2BIG)
            at = upto


class Attr:
    """The attributes of one call: members by name, the rest zero."""

    def __init__(self, raw: bytes, layout: Layout, byteorder: ByteOrder, address: int, given: int) -> None:
        self.__dict__.update(layout.numbers(raw, byteorder))  # commands ask for most of them
        self.raw = raw
        self.given = given  # bytes that the caller has of it
        self.layout = layout
        self.byteorder = byteorder
        self.address = address  # of the user's copy, for members that are written back

    def __getattr__(self, name: str) -> int:
        if name not in self.layout.fields:
            raise AttributeError(name)
        return self.number(name)

    def number(self, name: str) -> int:
        """A member by its name."""
        offset, size = self.layout.fields[name]
        return int.from_bytes(self.raw[offset : offset + size], self.byteorder)

    def bytes_of(self, name: str) -> bytes:
        """A member that is not a number."""
        offset, size = self.layout.fields[name]
        return self.raw[offset : offset + size]

    def signed(self, name: str) -> int:
        """A descriptor."""
        value = self.number(name)
        return value - (1 << 32) if value >> 31 else value

    def place(self, name: str) -> int:
        """User address of a member."""
        return self.address + self.layout.fields[name][0]

    def has(self, name: str, version: KernelVersion) -> bool:
        """May the member be written back: does this version know it, and the caller have room for it?"""
        end = sum(self.layout.fields[name])
        return end <= self.given and end <= self.layout.end(version)

    def check(self, version: KernelVersion) -> None:
        """CHECK_ATTR()."""
        if any(self.raw[self.layout.end(version) :]):
            raise KernelError(EINVAL)


@dataclass
class Call:
    """One bpf(2) on its way."""

    bpf: Bpf
    cmd: int
    attr: Attr
    user: User

    @property
    def host(self) -> BpfHost:
        return self.bpf.host

    @property
    def version(self) -> KernelVersion:
        return self.bpf.version

    @property
    def log_user(self) -> User:
        """Where logs go: always to the task, also when a program makes the call with attributes in kernel memory."""
        return User(self.host.user_mem(), self.host.mem.byteorder)

    def check(self) -> None:
        """The zero rule, first of all in each command."""
        self.attr.check(self.version)


Command = Callable[[Call], int | Steps]  # steps: calls of the kernel's functions on the way


def btf_of_fd(call: Call, fd: int) -> BtfObject:
    """btf_get_by_fd(): EBADF, EINVAL."""
    found = call.host.fd_get(fd)
    if not isinstance(found, BtfObject):
        raise KernelError(EINVAL)
    return found


def check_token(call: Call, flags: str, fd: str) -> None:
    """bpf_token_get_from_fd(), where the flags ask for it: nobody makes tokens here.  EBADF; EINVAL: no token."""
    value, known = call.attr.number(flags), features.known_flags(call.version, flags)
    if value & ~known:
        raise KernelError(EINVAL)
    if value & uapi.BPF_F_TOKEN_FD:
        call.host.fd_get(call.attr.signed(fd))
        raise KernelError(EINVAL, "no token")


def file_mode(flags: int) -> int:
    """bpf_get_file_flag(): the access mode a map's descriptor gets; EINVAL for both restrictions."""
    read_only, write_only = flags & uapi.BPF_F_RDONLY, flags & uapi.BPF_F_WRONLY
    if read_only and write_only:
        raise KernelError(EINVAL)
    return O_RDONLY if read_only else O_WRONLY if write_only else O_RDWR


def ask(call: Call, hook: str, *args: int) -> None:
    """A security hook.  KernelError if a program refuses."""
    name = f"bpf_lsm_{hook}"
    if call.host.any_watched((name, f"security_{hook.removesuffix('_security')}")):
        answer = call.host.around(name, args, lambda: 0)
        if answer & 1 << 31:
            raise KernelError(-answer & U32_MAX)


def new_map_fd(call: Call, target: BpfMap, mode: int) -> int:
    """bpf_map_new_fd(); without a descriptor the reference is given back."""
    try:
        ask(call, "bpf_map", target.address, mode + 1 & 3)
        return call.host.fd_install(target, "bpf-map", mode | O_CLOEXEC)
    except KernelError:
        target.put_user()
        raise


def prog_fd(call: Call, prog: Prog) -> int:
    """One more descriptor of a program; the reference is the file's."""
    try:
        ask(call, "bpf_prog", 0)
        return call.host.fd_install(prog, "bpf-prog", O_RDWR | O_CLOEXEC)
    except KernelError:
        prog.put()
        raise
