"""Array maps, and arrays of programs, perf events, cgroups and maps.  kernel/bpf/arraymap.c.

The values lie behind struct bpf_array in one piece, as in the kernel: rewritten programs compute
addresses from that.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import ClassVar, Generic, TypeVar

from arch.abi.errno import E2BIG, EEXIST, EINVAL, ENOENT, ENOMEM, ENOSPC, ENOTSUPP, EOPNOTSUPP
from arch.abi.limits import INT_MAX, PAGE_SIZE, U32_MAX
from bpf import uapi
from bpf.btf import Btf
from bpf.face import Cgroup, Prog
from bpf.maps import indexed, perf_output
from bpf.maps.base import (
    BPF_F_ACCESS_MASK,
    PCPU_MIN_UNIT_SIZE,
    Board,
    BpfMap,
    MapAttr,
    flags_access_ok,
    inner_map_model,
    inner_map_of_fd,
    refuse,
)
from bpf.maps.btf import check_int_key
from bpf.maps.rows import Probe, map_type
from bpf.maps.sizes import round_up, roundup_pow_of_two
from bpf.perf_face import PerfEvent

ELEM_SIZE_BEFORE, INDEX_MASK_BEFORE = 16, 12  # bytes before the values
Element = TypeVar("Element")

ARRAY_CREATE_FLAGS = (
    uapi.BPF_F_NUMA_NODE | uapi.BPF_F_MMAPABLE | BPF_F_ACCESS_MASK | uapi.BPF_F_PRESERVE_ELEMS | uapi.BPF_F_INNER_MAP
)


def array_alloc_check(bpf: Board, attr: MapAttr) -> None:
    """array_map_alloc_check()."""
    if bpf.version.before("4.9"):
        if attr.max_entries == 0 or attr.key_size != 4 or attr.value_size == 0 or attr.map_flags:
            raise refuse(EINVAL)
        return
    flags = attr.map_flags
    percpu = attr.map_type == uapi.BPF_MAP_TYPE_PERCPU_ARRAY
    if (
        attr.max_entries == 0
        or attr.key_size != 4
        or attr.value_size == 0
        or flags & ~ARRAY_CREATE_FLAGS
        or not flags_access_ok(flags)
        or (percpu and flags & uapi.BPF_F_NUMA_NODE)
    ):
        raise refuse(EINVAL)
    if attr.map_type != uapi.BPF_MAP_TYPE_ARRAY and flags & (uapi.BPF_F_MMAPABLE | uapi.BPF_F_INNER_MAP):
        raise refuse(EINVAL)
    if attr.map_type != uapi.BPF_MAP_TYPE_PERF_EVENT_ARRAY and flags & uapi.BPF_F_PRESERVE_ELEMS:
        raise refuse(EINVAL)
    if attr.value_size > INT_MAX:
        raise refuse(E2BIG)
    if percpu and round_up(attr.value_size, 8) > PCPU_MIN_UNIT_SIZE:
        raise refuse(E2BIG)


class Indexed(BpfMap):
    """What all arrays share: a u32 index as key."""

    can_be_inner = True

    def index(self, key: bytes) -> int:
        """The key as a number of the machine."""
        return int.from_bytes(key[:4], self.mem.byteorder)

    def key_of(self, index: int) -> bytes:
        """The other way round."""
        return index.to_bytes(4, self.mem.byteorder)

    def next_key(self, key: bytes | None) -> bytes:
        """array_map_get_next_key(): an index that is not there gives 0."""
        index = U32_MAX if key is None else self.index(key)
        if index >= self.max_entries:
            return self.key_of(0)
        if index == self.max_entries - 1:
            raise refuse(ENOENT)
        return self.key_of(index + 1)

    def index_mask(self) -> int:
        """Speculation may not reach beyond the next power of two."""
        return roundup_pow_of_two(self.max_entries) - 1

    def alloc_array(self, elem_size: int) -> None:
        """struct bpf_array with its elements."""
        if self.bpf.version.before("4.9") and (
            elem_size == 0 or (U32_MAX - self.array_size) // elem_size < self.max_entries
        ):
            raise refuse(ENOMEM)
        self.elem_size = elem_size
        self.address = self.allocate(self.array_size + self.max_entries * elem_size, 64)
        self.describe_array()

    def describe_array(self) -> None:
        self.mem.write_uint(self.address + self.array_size - ELEM_SIZE_BEFORE, 4, self.elem_size)
        self.mem.write_uint(self.address + self.array_size - INDEX_MASK_BEFORE, 4, self.index_mask())


class _ValueArray(Indexed):
    """Arrays whose values lie in them."""

    values: int  # address of the first value
    elem_size: int
    cpu_size = 0  # bytes from one CPU's values to the next's
    words: ctypes.Array[ctypes.c_uint64] | None = None

    @property
    def native_words(self) -> int:
        if self.words is None:
            self.words = (ctypes.c_uint64 * indexed.INDEXED_WORDS)(
                self.values, self.elem_size, self.value_size, self.max_entries, self.cpu_size
            )
        return ctypes.addressof(self.words)

    def native_operation(self, operation: str) -> int:
        name = "" if operation == "update" and self.special else self.natives.get(operation, "")
        return indexed.library(self.mem.byteorder == "big").address.get(name, 0)

    def native_command(self, command: str) -> int:
        name = "" if self.special else self.commands.get(command, "")
        return indexed.library(self.mem.byteorder == "big").address[name] if name else 0


@map_type(
    2,
    "ARRAY",
    since="3.19",
    commit="28fbcfa08d8e",
    struct="bpf_array",
    for_each=True,
    sleepable="5.12",
    lock=True,
    timer=True,
    kptr=True,
    btf="keyless",
    text="index",
)
class ArrayMap(_ValueArray):
    """BPF_MAP_TYPE_ARRAY."""

    can_mmap = True
    natives: ClassVar[dict[str, str]] = {"lookup": "array_lookup", "update": "array_update"}
    commands = natives

    has_direct_value = True

    @classmethod
    def alloc_check(cls, bpf: Board, attr: MapAttr) -> None:
        array_alloc_check(bpf, attr)

    def alloc(self) -> None:
        elem_size = round_up(self.value_size, 8) & U32_MAX
        self._pages = 0
        if self.map_flags & uapi.BPF_F_MMAPABLE:
            self.elem_size = elem_size
            size = PAGE_SIZE + round_up(self.max_entries * elem_size, PAGE_SIZE)
            self._pages = self.allocate(size, PAGE_SIZE)
            self.address = self._pages + PAGE_SIZE - self.array_size
            self.describe_array()
        else:
            self.alloc_array(elem_size)
        self.values = self.address + self.array_size

    def free_struct(self) -> None:
        self.mem.free(self._pages or self.address)

    def lookup(self, key: bytes) -> int:
        index = int.from_bytes(key[:4], self.mem.byteorder)
        return self.values + index * self.elem_size if index < self.max_entries else 0

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        """array_map_update_elem()."""
        if flags:
            modern = self.bpf.version.at_least("5.1")  # BPF_F_LOCK came with 5.1
            if (flags & ~uapi.BPF_F_LOCK if modern else flags) > uapi.BPF_EXIST:
                raise refuse(EINVAL)
        index = int.from_bytes(key[:4], self.mem.byteorder)
        if index >= self.max_entries:
            raise refuse(E2BIG)
        if flags & uapi.BPF_NOEXIST:
            raise refuse(EEXIST)
        if flags & uapi.BPF_F_LOCK and not self.has_spin_lock():
            raise refuse(EINVAL)
        address = self.values + index * self.elem_size
        self.copy_value(address, value)
        if self.special:
            self.clear_special(address)

    def delete(self, key: bytes) -> None:
        raise refuse(EINVAL)

    def release_users(self) -> None:
        """array_map_free_timers()."""
        if self.timer_off >= 0:
            for index in range(self.max_entries):
                self.bpf.cancel_timer(self.values + index * self.elem_size + self.timer_off)

    def free_elements(self) -> None:
        if self.kptrs or self.timer_off >= 0:
            for index in range(self.max_entries):
                self.clear_special(self.values + index * self.elem_size)

    def direct_value_address(self, offset: int) -> int:
        """array_map_direct_value_addr(): only with one element."""
        if self.max_entries != 1:
            raise refuse(ENOTSUPP)
        if offset >= self.value_size:
            raise refuse(EINVAL)
        return self.values + offset

    def meta_equal(self, other: BpfMap) -> bool:
        """array_map_meta_equal(): the number of elements counts too, unless BPF_F_INNER_MAP."""
        if not super().meta_equal(other):
            return False
        return bool(self.map_flags & uapi.BPF_F_INNER_MAP) or self.max_entries == other.max_entries

    def for_each(self, callback: Callable[[int, int], int]) -> int:
        """bpf_for_each_array_elem()."""
        with self.bpf.scratch(4) as key:
            for index in range(self.max_entries):
                self.mem.write_uint(key, 4, index)
                if callback(key, self.values + index * self.elem_size):
                    return index + 1
        return self.max_entries

    def check_btf(self, btf: Btf, key_type_id: int, value_type_id: int) -> None:
        check_int_key(self, btf, key_type_id)

    def direct_batch(self) -> Iterable[str]:
        return ("lookup", "update")

    def mmap_pages(self, offset: int, pages: int, writable: bool) -> list[int]:
        """array_map_mmap(): the values, page by page; only of maps made for it."""
        if not self.map_flags & uapi.BPF_F_MMAPABLE:
            raise refuse(EINVAL)
        if offset + pages * PAGE_SIZE > round_up(self.max_entries * self.elem_size, PAGE_SIZE):
            raise refuse(EINVAL)
        return [self.values + offset + at * PAGE_SIZE for at in range(pages)]


@map_type(
    6,
    "PERCPU_ARRAY",
    since="4.6",
    commit="a10423b87a7e",
    struct="bpf_array",
    for_each=True,
    sleepable="5.12",
    kptr=True,
    btf="keyless",
    per_cpu=True,
    text="index",
)
class PercpuArrayMap(_ValueArray):
    """BPF_MAP_TYPE_PERCPU_ARRAY: for each CPU a whole array, one behind the other."""

    natives: ClassVar[dict[str, str]] = {"lookup": "array_lookup", "update": "array_update"}

    @classmethod
    def alloc_check(cls, bpf: Board, attr: MapAttr) -> None:
        array_alloc_check(bpf, attr)

    def alloc(self) -> None:
        self.elem_size = round_up(self.value_size, 8)
        self.cpu_size = self.max_entries * self.elem_size
        self.address = self.allocate(self.array_size + self.max_entries * 8, 64)
        self.describe_array()
        self.values = self.allocate(self.cpu_size * self.host.nr_cpus)

    @property
    def user_value_size(self) -> int:
        return int(self.elem_size * self.host.nr_cpus)

    def lookup(self, key: bytes) -> int:
        return self.lookup_percpu(key, self.host.cpu_id())

    def lookup_percpu(self, key: bytes, cpu: int) -> int:
        index = int.from_bytes(key[:4], self.mem.byteorder)
        if index >= self.max_entries or cpu >= self.host.nr_cpus:
            return 0
        return self.values + cpu * self.cpu_size + index * self.elem_size

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        """array_map_update_elem() on this CPU."""
        if flags & ~uapi.BPF_F_LOCK > uapi.BPF_EXIST:
            raise refuse(EINVAL)
        address = self.lookup(key)
        if not address:
            raise refuse(E2BIG)
        if flags & uapi.BPF_NOEXIST:
            raise refuse(EEXIST)
        if flags & uapi.BPF_F_LOCK:
            raise refuse(EINVAL)
        self.copy_value(address, value)

    def delete(self, key: bytes) -> None:
        raise refuse(EINVAL)

    def user_lookup(self, key: bytes, flags: int) -> bytes:
        """bpf_percpu_array_copy(): every CPU's value, each rounded up to 8 bytes."""
        if self.index(key) >= self.max_entries:
            raise refuse(ENOENT)
        cpus = range(self.host.nr_cpus)
        return b"".join(bytes(self.mem.read(self.lookup_percpu(key, cpu), self.elem_size)) for cpu in cpus)

    def user_update(self, key: bytes, value: bytes, flags: int) -> None:
        """bpf_percpu_array_update()."""
        if flags > uapi.BPF_EXIST:
            raise refuse(EINVAL)
        if self.index(key) >= self.max_entries:
            raise refuse(E2BIG)
        if flags == uapi.BPF_NOEXIST:
            raise refuse(EEXIST)
        for cpu in range(self.host.nr_cpus):
            address = self.lookup_percpu(key, cpu)
            piece = value[cpu * self.elem_size : (cpu + 1) * self.elem_size]
            if self.special:
                self.copy_value(address, piece[: self.value_size])
            else:
                self.mem.write(address, piece)

    def for_each(self, callback: Callable[[int, int], int]) -> int:
        with self.bpf.scratch(4) as key:
            for index in range(self.max_entries):
                self.mem.write_uint(key, 4, index)
                if callback(key, self.lookup(self.key_of(index))):
                    return index + 1
        return self.max_entries

    def free_elements(self) -> None:
        self.mem.free(self.values)

    def check_btf(self, btf: Btf, key_type_id: int, value_type_id: int) -> None:
        check_int_key(self, btf, key_type_id)

    def direct_batch(self) -> Iterable[str]:
        return ("lookup", "update")


class FdArrayMap(Indexed, Generic[Element]):
    """Arrays whose elements are pointers to kernel objects, given by descriptor."""

    holds_fds = True

    @classmethod
    def alloc_check(cls, bpf: Board, attr: MapAttr) -> None:
        """fd_array_map_alloc_check()."""
        if attr.value_size != 4:
            raise refuse(EINVAL)
        if attr.map_flags & (uapi.BPF_F_RDONLY_PROG | uapi.BPF_F_WRONLY_PROG):
            raise refuse(EINVAL)
        array_alloc_check(bpf, attr)

    def alloc(self) -> None:
        self.alloc_array(8)
        self.values = self.address + self.array_size
        self.objects: dict[int, Element] = {}

    def element_changed(self, index: int) -> None:
        """There is another object at this index, or none."""

    def pointer(self, obj: Element) -> int:
        """What is stored in memory for an object: its address, where it is an object of simulated memory."""
        return 0

    def get_object(self, fd: int) -> Element:
        """map_fd_get_ptr(): the object of a descriptor, referenced; KernelError."""
        raise NotImplementedError

    def put_object(self, obj: Element) -> None:
        """map_fd_put_ptr()."""
        raise NotImplementedError

    def object_id(self, obj: Element) -> int:
        """map_fd_sys_lookup_elem(): what user space reads."""
        raise refuse(EOPNOTSUPP)

    def lookup(self, key: bytes) -> int:
        raise refuse(EOPNOTSUPP)

    def get_element(self, index: int) -> Element | None:
        """The object at this index, or None."""
        return self.objects.get(index)

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        raise refuse(EOPNOTSUPP)

    def user_lookup(self, key: bytes, flags: int) -> bytes:
        """bpf_fd_array_map_lookup_elem()."""
        obj = self.objects.get(self.index(key)) if self.index(key) < self.max_entries else None
        if type(self).object_id is FdArrayMap.object_id:
            raise refuse(ENOTSUPP)
        if obj is None:
            raise refuse(ENOENT)
        return int(self.object_id(obj)).to_bytes(4, self.mem.byteorder)

    def user_update(self, key: bytes, value: bytes, flags: int) -> None:
        """bpf_fd_array_map_update_elem()."""
        if flags != uapi.BPF_ANY:
            raise refuse(EINVAL)
        index = self.index(key)
        if index >= self.max_entries:
            raise refuse(E2BIG)
        obj = self.get_object(int.from_bytes(value[:4], self.mem.byteorder, signed=True))
        old = self.objects.get(index)
        self.objects[index] = obj
        self.mem.write_uint(self.values + index * 8, 8, self.pointer(obj))
        self.element_changed(index)
        if old is not None:
            self.put_object(old)

    def delete(self, key: bytes) -> None:
        """fd_array_map_delete_elem()."""
        index = self.index(key)
        if index >= self.max_entries:
            raise refuse(E2BIG)
        old = self.objects.pop(index, None)
        if old is None:
            raise refuse(ENOENT)
        self.mem.write_uint(self.values + index * 8, 8, 0)
        self.element_changed(index)
        self.put_object(old)

    def clear(self) -> None:
        """bpf_fd_array_map_clear()."""
        for index in list(self.objects):
            self.delete(self.key_of(index))

    def free_elements(self) -> None:
        self.clear()


@map_type(
    3,
    "PROG_ARRAY",
    since="4.2",
    commit="04fd61ab36ec",
    struct="bpf_array",
    helpers="tail_call",
    sleepable="7.1",
)
class ProgArrayMap(FdArrayMap[Prog]):
    """BPF_MAP_TYPE_PROG_ARRAY: where tail calls go.  Emptied when user space lets go of it."""

    can_be_inner = False  # map_meta_equal is there, but bpf_map_meta_alloc() refuses: see `can_be_model`

    def get_object(self, fd: int) -> Prog:
        """prog_fd_array_get_ptr(): the first program decides which may follow."""
        prog = self.host.fd_get(fd)
        if not isinstance(prog, Prog) or not prog.compatible_with(self):
            raise refuse(EINVAL)
        prog.get()
        return prog

    def put_object(self, obj: Prog) -> None:
        obj.put()

    def object_id(self, obj: Prog) -> int:
        return obj.id

    def release_users(self) -> None:
        self.clear()


@map_type(
    4,
    "PERF_EVENT_ARRAY",
    since="4.3",
    commit="ea317b267e9d",
    struct="bpf_array",
    helpers="perf_event_read perf_event_output skb_output perf_event_read_value xdp_output",
    btf="none",
    loader_btf=False,
)
class PerfEventArrayMap(FdArrayMap[PerfEvent]):
    """BPF_MAP_TYPE_PERF_EVENT_ARRAY: an element goes when the file it was set through is closed."""

    natives: ClassVar[dict[str, str]] = {name: name for name in perf_output.OPERATIONS}

    def alloc(self) -> None:
        super().alloc()
        no_room = -ENOSPC if self.bpf.version.at_least("5.1") else 0  # a7177b94aff4: it is told to the program
        self.rows = perf_output.words(min(self.max_entries, perf_output.EVENTS_AT_MOST), no_room)

    @property
    def native_words(self) -> int:
        return ctypes.addressof(self.rows)

    def native_operation(self, operation: str) -> int:
        if self.max_entries > perf_output.EVENTS_AT_MOST or self.host.block is None or operation not in self.natives:
            return 0
        return perf_output.library(self.mem.byteorder == "big").address[operation]

    def element_changed(self, index: int) -> None:
        if index < perf_output.EVENTS_AT_MOST:
            found = self.objects.get(index)
            self.rows[perf_output.ROWS + index] = (
                0 if found is None else found.native_words or perf_output.PYTHONS_EVENT
            )

    def get_object(self, fd: int) -> PerfEvent:
        """perf_event_fd_array_get_ptr()."""
        return self.host.fd_perf_event(fd)

    def put_object(self, obj: PerfEvent) -> None:
        """The event's file is kept alive by whoever has it open."""

    def user_lookup(self, key: bytes, flags: int) -> bytes:
        raise refuse(ENOTSUPP)

    def release_users(self) -> None:
        if not self.map_flags & uapi.BPF_F_PRESERVE_ELEMS:
            self.clear()


@map_type(
    8,
    "CGROUP_ARRAY",
    since="4.8",
    commit="4ed8ec521ed5",
    struct="bpf_array",
    helpers="skb_under_cgroup current_task_under_cgroup",
    btf="none",
    loader_btf=False,
    missing="cgroups by descriptor",
)
class CgroupArrayMap(FdArrayMap[Cgroup]):
    """BPF_MAP_TYPE_CGROUP_ARRAY."""

    def get_object(self, fd: int) -> Cgroup:
        """cgroup_get_from_fd()."""
        return self.host.fd_cgroup(fd)

    def put_object(self, obj: Cgroup) -> None:
        """Cgroups are kept by their directory."""

    def user_lookup(self, key: bytes, flags: int) -> bytes:
        raise refuse(ENOTSUPP)

    def release_users(self) -> None:
        self.clear()


@map_type(
    12,
    "ARRAY_OF_MAPS",
    since="4.12",
    commit="56f668dfe00d",
    struct="bpf_array",
    helpers="map_lookup_elem",
    sleepable="5.12",
    btf="none",
    map_in_map=True,
    loader_btf=False,
    probe=Probe(needs="inner"),
)
class ArrayOfMaps(FdArrayMap[BpfMap]):
    """BPF_MAP_TYPE_ARRAY_OF_MAPS."""

    can_be_inner = False

    def alloc(self) -> None:
        self.inner_map_meta = inner_map_model(self.host, self.attr.inner_map_fd)
        self.inner = self.inner_map_meta.meta() if self.inner_map_meta else None
        super().alloc()

    def get_object(self, fd: int) -> BpfMap:
        return inner_map_of_fd(self, fd)

    def put_object(self, obj: BpfMap) -> None:
        obj.put()

    def pointer(self, obj: BpfMap) -> int:
        return obj.address

    def object_id(self, obj: BpfMap) -> int:
        return obj.id

    def lookup(self, key: bytes) -> int:
        """array_of_map_lookup_elem(): the pointer itself."""
        index = self.index(key)
        obj = self.objects.get(index) if index < self.max_entries else None
        return int(obj.address) if obj is not None else 0

    def direct_batch(self) -> Iterable[str]:
        return ("lookup", "update")
