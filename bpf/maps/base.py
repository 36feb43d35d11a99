"""What all maps have in common.  struct bpf_map and bpf_map_ops, include/linux/bpf.h.

A map is a Python object and a piece of simulated kernel memory: `address` is where its struct bpf_map is, and every
value pointer a program gets is a kernel address too.  Keys and values travel as bytes; what the kernel refuses is
a KernelError.  `lookup` is what a program does (an address, 0 for NULL), `user_lookup` what bpf(2) does (a copy).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import ClassVar, Protocol

from arch.abi.errno import E2BIG, EACCES, EINVAL, ENOENT, ENOMEM, ENOTSUPP, EOPNOTSUPP, EPERM
from arch.abi.internal import NUMA_NO_NODE
from arch.abi.limits import KMALLOC_MAX_SIZE
from arch.abi.version import KernelVersion, newest
from arch.errors import KernelError
from arch.records import dataclass
from bpf import uapi
from bpf.btf import Btf
from bpf.btf.record import Record
from bpf.face import BpfHost, FdObject, Prog, ProgArrayOwner
from bpf.frames import FrameHost
from bpf.maps.footprint import footprint
from bpf.maps.info import ARRAY_SIZES, KptrField, MapInfo
from bpf.maps.psock import Psock
from bpf.maps.ring import Rings
from bpf.maps.rows import MAP_TYPES
from bpf.maps.sizes import round_up as round_up
from tracing.face import KernelMem

PCPU_MIN_UNIT_SIZE = 32 << 10
BPF_F_ACCESS_MASK = uapi.BPF_F_RDONLY | uapi.BPF_F_RDONLY_PROG | uapi.BPF_F_WRONLY | uapi.BPF_F_WRONLY_PROG
SPIN_LOCK_SIZE = 4  # struct bpf_spin_lock
TIMER_SIZE = 16  # struct bpf_timer
KPTR_SIZE = 8
LOCKED_INNER_SINCE = "6.2"  # d7f5ef653c3d: values of inner maps may have a lock

# struct bpf_map of 6.1 on a 64-bit machine: offset and size of the fields programs may read.  include/linux/bpf.h.
STRUCT_BPF_MAP_SIZE = 256
XSK_BEFORE = 8  # bytes by which the elements of a struct xsk_map begin before those of a struct bpf_array would
_FIELDS = (  # of struct bpf_map, where this kernel's has them
    "map_type", "key_size", "value_size", "max_entries", "map_extra", "map_flags", "spin_lock_off", "timer_off", "id",
    "btf_key_type_id", "btf_value_type_id", "btf_vmlinux_value_type_id",
)  # fmt: skip


COMMANDS = ("lookup", "update", "delete", "next_key")  # of bpf(2), as far as native code has them
BODIES = {
    "lookup": "lookup", "element": "lookup_element", "update": "update", "delete": "delete", "reserve": "reserve",
    "output": "output", "query": "query", "guard": "guard", "events_of_regs": "output",
    "events_of_tracepoint": "output", "events_of_kernel": "output", "events_guard": "output",
}  # fmt: skip


@dataclass(frozen=True)
class MapAttr:
    """The part of union bpf_attr that BPF_MAP_CREATE reads."""

    map_type: int
    key_size: int = 0
    value_size: int = 0
    max_entries: int = 0
    map_flags: int = 0
    inner_map_fd: int = 0
    numa_node: int = 0
    map_name: bytes = b""
    map_ifindex: int = 0
    btf_fd: int = 0
    btf_key_type_id: int = 0
    btf_value_type_id: int = 0
    btf_vmlinux_value_type_id: int = 0
    map_extra: int = 0


def refuse(errno: int, why: str = "") -> KernelError:
    """For `raise refuse(...)`; one short name for what every operation here does."""
    return KernelError(errno, why)


def flags_access_ok(flags: int) -> bool:
    """bpf_map_flags_access_ok(): programs may not be denied both."""
    both = uapi.BPF_F_RDONLY_PROG | uapi.BPF_F_WRONLY_PROG
    return flags & both != both


class StructOps(Protocol):
    """A struct of functions that programs supply, while others use it: StructOpsMap."""

    members: dict[str, Prog]  # by the struct's member

    def number(self, member: str) -> int:
        """Another member."""

    def get(self) -> None: ...
    def put(self) -> None: ...


class Board(Protocol):
    """What a map needs of the machine's BPF: bpf.board.Bpf."""

    host: BpfHost
    version: KernelVersion
    memory_limit: int  # bytes that one map may take
    congestion_controls: dict[str, StructOps]
    rings: Rings
    frames: FrameHost | None  # who takes frames of XDP
    mapped_socks: dict[int, set[BpfMap]]  # address of a struct sock -> the maps that it is in
    psocks: dict[int, Psock]  # and the programs that it has from them

    def cookie_of(self, sk: int) -> int:
        """sock_gen_cookie()."""

    def capable(self, capability: str) -> bool:
        """bpf_capable() and its like."""

    def defer(self, free: Callable[[], None]) -> None:
        """call_rcu()."""

    def defer_free(self, mem: KernelMem, address: int) -> None:
        """kfree_rcu()."""

    def scratch(self, size: int) -> AbstractContextManager[int]:
        """Kernel memory for the length of a block."""

    def cancel_timer(self, address: int) -> None:
        """The value that holds this struct bpf_timer goes."""

    def release_kptr(self, kptr: KptrField, address: int) -> None:
        """The value that holds this kernel pointer goes."""

    def forget_map(self, old: BpfMap) -> None:
        """bpf_map_free_id()."""


class Counted(Protocol):
    """An object that others hold references to, and that has an id."""

    id: int

    def get(self) -> None: ...
    def put(self) -> None: ...


class BpfMap(FdObject):
    """One map.  Subclasses are the rows of bpf_map_types: alloc_check, and the operations a type has."""

    __slots__ = ("offered",)  # where native code finds the host address of what offer() says, or 0

    anon_name = "bpf-map"
    can_be_inner: ClassVar[bool] = True  # map_meta_equal
    can_mmap: ClassVar[bool] = False  # map_mmap
    holds_fds: ClassVar[bool] = False  # values are descriptors for user space, pointers inside
    lookup_from_syscall: ClassVar[bool] = True
    has_direct_value: ClassVar[bool] = False
    # Operations of compiled programs (BODIES) -> names of native functions.
    natives: ClassVar[dict[str, str]] = {}
    # COMMANDS -> names of native functions, of this type alone.
    commands: ClassVar[dict[str, str]] = {}
    takes_sock = False  # programs store sockets that they hold

    def __init_subclass__(cls) -> None:
        """A type with an operation of its own in Python has it in compiled programs, too, unless it says otherwise."""
        super().__init_subclass__()
        if "commands" not in vars(cls):
            cls.commands = {}
        if "natives" not in vars(cls):
            cls.natives = {name: found for name, found in cls.natives.items() if BODIES[name] not in vars(cls)}

    def __init__(self, bpf: Board, attr: MapAttr) -> None:
        self.bpf = bpf
        self.host = bpf.host
        self.mem = bpf.host.mem
        self.attr = attr
        self.map_type = attr.map_type
        self.key_size = attr.key_size
        self.value_size = attr.value_size
        self.max_entries = attr.max_entries
        # bpf_map_flags_retain_permanent(): what the first descriptor may do is no matter of the map
        self.map_flags = attr.map_flags & ~(uapi.BPF_F_RDONLY | uapi.BPF_F_WRONLY)
        self.map_extra = attr.map_extra
        self.numa_node = attr.numa_node if attr.map_flags & uapi.BPF_F_NUMA_NODE else NUMA_NO_NODE
        self.name = attr.map_name.rstrip(b"\0").decode("latin-1")
        self.id = 0
        self.inner: MapInfo | None = None
        self.inner_map_meta: BpfMap | None = None
        self.btf: Btf | None = None
        self.btf_object: Counted | None = None
        self.btf_key_type_id = attr.btf_key_type_id
        self.btf_value_type_id = attr.btf_value_type_id
        self.btf_vmlinux_value_type_id = attr.btf_vmlinux_value_type_id
        self.spin_lock_off = -EINVAL
        self.timer_off = -EINVAL
        self.kptrs: tuple[KptrField, ...] = ()
        self.closed: tuple[tuple[str, int, int], ...] = ()
        self.record: Record | None = None
        self.special: list[tuple[int, int]] = []  # (offset, size) of what copies leave alone
        self.frozen = False
        self.writecnt = 0
        self.refs = 0  # all references; descriptors and pins are counted in `users` too
        self.users = 0
        self.bypass_spec_v1 = bpf.capable("perfmon")  # its maker may speculate
        self.owner: ProgArrayOwner | None = None  # of program arrays
        self.address = 0
        self.freed = False
        self.offered = 0

    # ---- making ----

    @classmethod
    def alloc_check(cls, bpf: Board, attr: MapAttr) -> None:
        """map_alloc_check(): is this a map of this type at all?"""

    def alloc(self) -> None:
        """map_alloc(): take memory.  Here: only the map's own struct, which begins with struct bpf_map."""
        struct = MAP_TYPES[self.map_type].struct
        size = self.host.structs.sizeof(struct) if self.host.structs.has(f"{struct}.map") else 0
        self.address = self.allocate(max(size, STRUCT_BPF_MAP_SIZE), 64)

    def member_at(self, member: str) -> int:
        """Address of a member of the map's own struct, 0 where this kernel's struct has no such member."""
        path = f"{MAP_TYPES[self.map_type].struct}.{member}"
        return self.address + self.host.structs.offset(path) if self.host.structs.has(path) else 0

    def allocate(self, size: int, align: int = 8) -> int:
        """Kernel memory of this map; ENOMEM if there is not that much."""
        if size > self.bpf.memory_limit:
            raise refuse(ENOMEM, "more than the machine has")
        return self.mem.alloc(size, align)

    def describe(self) -> None:
        """Fill in the fields of struct bpf_map that a program may read through a map pointer."""
        if not self.address:
            return
        structs = self.host.structs
        for field in _FIELDS:
            if structs.has(f"bpf_map.{field}"):
                offset, size, *_ = structs.place(f"bpf_map.{field}")
                self.mem.write_uint(self.address + offset, size, getattr(self, field))
        if self.inner_map_meta is not None:
            place = structs.place("bpf_map.inner_map_meta")
            self.mem.write_uint(self.address + place.offset, place.size, self.inner_map_meta.address)
        if structs.has("bpf_map.name"):
            name = self.name.encode("latin-1")[:15].ljust(16, b"\0")
            self.mem.write(self.address + structs.offset("bpf_map.name"), name)

    @property
    def array_size(self) -> int:
        """sizeof(struct bpf_array)."""
        return newest(ARRAY_SIZES, self.bpf.version)

    def info(self) -> MapInfo:
        """What a verifier looks at."""
        return MapInfo(
            map_type=self.map_type,
            key_size=self.key_size,
            value_size=self.value_size,
            max_entries=self.max_entries,
            map_flags=self.map_flags,
            address=self.address,
            id=self.id,
            name=self.name,
            inner=self.inner,
            btf=self.btf,
            btf_key_type_id=self.btf_key_type_id,
            btf_value_type_id=self.btf_value_type_id,
            btf_vmlinux_value_type_id=self.btf_vmlinux_value_type_id,
            spin_lock_off=self.spin_lock_off, timer_off=self.timer_off, kptrs=self.kptrs, closed=self.closed,
            record=self.record, frozen=self.frozen, writecnt=self.writecnt,
            value_address=self.direct_value_address if self.has_direct_value else None,
            value_read=self._direct_read if self.has_direct_value else None,
            map_extra=self.map_extra, bypass_spec_v1=self.bypass_spec_v1, array_size=self.array_size,
            owner=self,
        )  # fmt: skip

    def direct_value_address(self, offset: int) -> int:
        """map_direct_value_addr(): address of a byte of the only value."""
        raise refuse(ENOTSUPP)

    def _direct_read(self, offset: int, size: int) -> int:
        return int(self.mem.read_uint(self.direct_value_address(offset), size))

    def check_btf(self, btf: Btf, key_type_id: int, value_type_id: int) -> None:
        """map_check_btf() of the type; here as for types that have none: a key type is needed."""
        if not key_type_id:
            raise refuse(EINVAL)

    def meta(self) -> MapInfo:
        """What an outer map remembers of this one as its model."""
        return replace(self.info(), id=0, name="", owner=None)

    def meta_equal(self, other: BpfMap) -> bool:
        """bpf_map_meta_equal(): may `other` be put where this one was the model?"""
        return (
            self.map_type == other.map_type
            and self.key_size == other.key_size
            and self.value_size == other.value_size
            and self.map_flags == other.map_flags
            and self.timer_off == other.timer_off
            and self.kptrs == other.kptrs
            and _places(self.record) == _places(other.record)
        )

    # ---- lifetime ----

    def get(self) -> None:
        """One more reference: a program's, or another map's."""
        self.refs += 1

    def put(self) -> None:
        """One reference less; the last one frees the map."""
        self.refs -= 1
        if self.refs == 0:
            self.bpf.forget_map(self)
            self.bpf.defer(self.free)

    def get_user(self) -> None:
        """One more descriptor or pin."""
        self.refs += 1
        self.users += 1

    def put_user(self) -> None:
        """One descriptor or pin less."""
        self.users -= 1
        if self.users == 0:
            self.release_users()
        self.put()

    def release(self) -> None:
        self.put_user()

    def release_users(self) -> None:
        """map_release_uref(): nobody in user space can see the map any more."""

    def free(self) -> None:
        """map_free(): give the memory back."""
        self.freed = True
        self.free_elements()
        self.inner_map_meta = None
        if self.btf_object is not None:
            self.btf_object.put()
        if self.address:
            self.free_struct()
            self.address = 0

    def free_struct(self) -> None:
        """Give back struct bpf_map itself."""
        self.mem.free(self.address)

    def free_elements(self) -> None:
        """Drop all elements, before the map itself goes."""

    # ---- values ----

    def copy_value(self, address: int, value: bytes) -> None:
        """copy_map_value(): all but locks, timers and kernel pointers."""
        if not self.special:
            self.mem.write(address, value)
            return
        at = 0
        for offset, size in self.special:
            if at < offset:
                self.mem.write(address + at, value[at:offset])
            at = offset + size
        if at < len(value):
            self.mem.write(address + at, value[at:])

    def read_value(self, address: int) -> bytes:
        """A copy for user space, with zeros where copies leave something out."""
        value = self.mem.read(address, self.value_size)
        if self.special:
            data = bytearray(value)
            for offset, size in self.special:
                data[offset : offset + size] = bytes(size)
            value = bytes(data)
        return bytes(value)

    def clear_special(self, address: int) -> None:
        """check_and_free_fields(): stop the timer, release the kernel pointers of a value that goes."""
        if self.timer_off >= 0:
            self.bpf.cancel_timer(address + self.timer_off)
        for kptr in self.kptrs:
            self.bpf.release_kptr(kptr, address + kptr.offset)

    def set_special(self) -> None:
        """Note where the lock, the timer and the kernel pointers of a value are, once BTF has told."""
        places = [(self.spin_lock_off, SPIN_LOCK_SIZE), (self.timer_off, TIMER_SIZE)]
        places += [(kptr.offset, KPTR_SIZE) for kptr in self.kptrs]
        places += [(offset, size) for _, offset, size in self.closed]
        self.special = sorted(place for place in places if place[0] >= 0)

    @property
    def user_value_size(self) -> int:
        """bpf_map_value_size(): bytes of a value in bpf(2)."""
        return self.value_size

    def has_spin_lock(self) -> bool:
        """A struct bpf_spin_lock is in every value."""
        return self.spin_lock_off >= 0

    # ---- operations: of programs ----

    def lookup(self, key: bytes) -> int:
        """Address of the value, 0 if there is none."""
        raise refuse(EOPNOTSUPP)

    def lookup_percpu(self, key: bytes, cpu: int) -> int:
        """Address of one CPU's value."""
        raise refuse(EOPNOTSUPP)

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        """Store a value."""
        raise refuse(EOPNOTSUPP)

    def update_sock(self, key: bytes, sk: int, flags: int) -> None:
        """Store a socket that a program holds."""
        raise refuse(EOPNOTSUPP)

    def delete(self, key: bytes) -> None:
        """Remove an element."""
        raise refuse(EOPNOTSUPP)

    def push(self, value: bytes, flags: int) -> None:
        """Queue, stack and bloom filter."""
        raise refuse(EOPNOTSUPP)

    def pop(self) -> bytes:
        """Queue and stack."""
        raise refuse(EOPNOTSUPP)

    def peek(self, value: bytes | None = None) -> bytes:
        """Queue, stack and (of a given value) bloom filter."""
        raise refuse(EOPNOTSUPP)

    def for_each(self, callback: Callable[[int, int], int]) -> int:
        """Call with (address of key, address of value) until it answers 1; how many elements were visited."""
        raise refuse(EOPNOTSUPP)

    # ---- operations: of compiled programs ----

    def native_operation(self, operation: str) -> int:
        """Host address of the native function for one of BODIES, which gets the words at
        `native_words` and R2 to R5; 0: Python does it.  It declines what it cannot do.
        """
        return 0

    @property
    def native_words(self) -> int:
        """Host address of the words that native functions work with; they live as long as the map."""
        return 0

    def native_command(self, command: str) -> int:
        """The same for bpf(2): "lookup" and "next_key" (key) give an address or 0, "update" (key, value, flags) and "delete" (key) 0 or
        -errno.  A key of 0 asks for the first one.
        """
        return 0

    @property
    def command_scratch(self) -> tuple[int, int]:
        """Kernel memory for a key and a value that do not lie in one page of the caller's; 0: there is none."""
        return 0, 0

    def offer(self) -> None:
        """Tell native code what it may do of bpf(2) (bpf/syscall/native.py)."""
        addresses = {command: self.native_command(command) for command in COMMANDS}
        if self.frozen:
            addresses["update"] = addresses["delete"] = 0
        words = (*addresses.values(), self.native_words, self.key_size, self.value_size, *self.command_scratch)
        self.command_words = (ctypes.c_uint64 * len(words))(*words)
        self.offered = ctypes.addressof(self.command_words) if any(addresses.values()) else 0

    # ---- operations: of bpf(2) ----

    def next_key(self, key: bytes | None) -> bytes:
        """The key after this one; ENOENT after the last."""
        raise refuse(EOPNOTSUPP)

    def user_lookup(self, key: bytes, flags: int) -> bytes:
        """bpf_map_copy_value(): a copy of the value."""
        address = self.lookup(key)
        if not address:
            raise refuse(ENOENT)
        return self.read_value(address)

    def user_update(self, key: bytes, value: bytes, flags: int) -> None:
        """bpf_map_update_value()."""
        self.update(key, value, flags)

    def user_delete(self, key: bytes) -> None:
        """As `delete`; types with other rules for user space override it."""
        self.delete(key)

    def lookup_and_delete(self, key: bytes, flags: int) -> bytes:
        """BPF_MAP_LOOKUP_AND_DELETE_ELEM of hash maps."""
        raise refuse(EOPNOTSUPP)

    def direct_batch(self) -> Iterable[str]:
        """Which batch commands the type has: "lookup", "lookup_and_delete", "update", "delete"."""
        return ()

    def owner_gone(self, owner: int) -> None:
        """What local storage hangs on is freed: its struct's address."""

    def owner_cloned(self, parent: int, child: int) -> None:
        """A socket is made from another one."""

    # ---- files ----

    def check_mmap(self, shared: bool, writable: bool) -> None:
        """bpf_map_mmap(): what a program cannot write nobody may write behind the verifier's back."""
        if not self.can_mmap or self.has_spin_lock() or self.timer_off >= 0 or self.kptrs:
            raise refuse(ENOTSUPP)
        if not shared:
            raise refuse(EINVAL)
        if writable and self.frozen:
            raise refuse(EPERM)
        if writable and self.map_flags & uapi.BPF_F_RDONLY_PROG:
            raise refuse(EACCES)

    def writers(self, more: int) -> None:
        """bpf_map_write_active_inc() and _dec()."""
        self.writecnt += more

    def fdinfo(self) -> str:
        """bpf_map_show_fdinfo()."""
        text = (
            f"map_type:\t{self.map_type}\nkey_size:\t{self.key_size}\nvalue_size:\t{self.value_size}\n"
            f"max_entries:\t{self.max_entries}\nmap_flags:\t{self.map_flags:#x}\nmap_extra:\t{self.map_extra:#x}\n"
            f"memlock:\t{self.memory()}\nmap_id:\t{self.id}\nfrozen:\t{int(self.frozen)}\n"
        )
        if self.owner is not None:
            text += f"owner_prog_type:\t{self.owner.type}\nowner_jited:\t{int(self.owner.jited)}\n"
        return text

    def memory(self) -> int:
        """Bytes that the map is said to take."""
        return footprint(self)

    def elements_there(self) -> int:
        """How many elements there are, of types whose memory that is."""
        return 0

    def bits_there(self) -> int:
        """Of a filter."""
        return 0


def map_of_fd(host: BpfHost, fd: int) -> BpfMap:
    """__bpf_map_get(): EBADF if not open, EINVAL if not a map."""
    found = host.fd_get(fd)
    if not isinstance(found, BpfMap):
        raise refuse(EINVAL)
    return found


def _places(record: Record | None) -> list[tuple[str, int]]:
    """What is special and where: what btf_record_equal() compares of types of one program."""
    return [(one.kind, one.offset) for one in record.fields] if record is not None else []


def inner_map_model(host: BpfHost, fd: int) -> BpfMap:
    """bpf_map_meta_alloc(): the map that says what can be put into a map of maps."""
    model = map_of_fd(host, fd)
    if model.inner is not None:
        raise refuse(EINVAL)
    if not model.can_be_inner or (model.has_spin_lock() and host.version.before(LOCKED_INNER_SINCE)):
        raise refuse(ENOTSUPP)
    return model


def inner_map_of_fd(outer: BpfMap, fd: int) -> BpfMap:
    """bpf_map_fd_get_ptr(): a map like the model; the reference is the outer map's."""
    inner = map_of_fd(outer.host, fd)
    assert outer.inner_map_meta is not None
    if not outer.inner_map_meta.meta_equal(inner):
        raise refuse(EINVAL)
    inner.get()
    return inner


def check_update_flags(flags: int) -> None:
    """Of maps that know neither BPF_F_LOCK nor anything newer."""
    if flags > uapi.BPF_EXIST:
        raise refuse(EINVAL)


def check_value_size(value_size: int) -> None:
    """A value user space can still get at through kmalloc()."""
    if value_size > KMALLOC_MAX_SIZE:
        raise refuse(E2BIG)
