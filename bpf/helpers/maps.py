"""Map access.  kernel/bpf/helpers.c: bpf_map_*(), bpf_spin_lock(); kernel/bpf/hashtab.c: __htab_map_lookup_elem()."""

from __future__ import annotations

from arch.abi.errno import EINVAL
from arch.errors import KernelError
from bpf.face import Registers
from bpf.helpers import Runtime, kernel_name, prototype
from bpf.maps.functions import delete_around, update_around
from bpf.maps.hash import HashMap
from bpf.maps.queue import QueueMap
from bpf.maps.storage import CgroupStorageMap


@prototype(
    "map_lookup_elem",
    1,
    "3.19",
    returns="PTR_TO_MAP_VALUE_OR_NULL",
    args="CONST_MAP_PTR PTR_TO_MAP_KEY",
    flags="pkt_access",
    given="base_anyone bpf_tracing lirc_mode2",
)
def map_lookup_elem(rt: Runtime, map_ptr: int, key: int) -> int:
    """Address of the value, or NULL."""
    found = rt.bpf.map_at[map_ptr]
    return found.lookup(rt.mem.read(key, found.key_size))


@kernel_name("__htab_map_lookup_elem")
def htab_lookup_element(rt: Runtime, map_ptr: int, key: int) -> int:
    """Address of the struct htab_elem, for programs whose lookup was written out."""
    found = rt.bpf.map_at[map_ptr]
    assert isinstance(found, HashMap)
    return found.lookup_element(rt.mem.read(key, found.key_size))


@prototype(
    "map_update_elem",
    2,
    "3.19",
    args="CONST_MAP_PTR PTR_TO_MAP_KEY PTR_TO_MAP_VALUE ANYTHING",
    flags="pkt_access",
    given="base_anyone bpf_tracing lirc_mode2",
)
def map_update_elem(rt: Runtime, map_ptr: int, key: int, value: int, flags: int) -> int:
    found = rt.bpf.map_at[map_ptr]
    if found.takes_sock:
        found.update_sock(bytes(rt.mem.read(key, found.key_size)), value, flags)
        return 0
    update_around(rt.bpf.host, found, key, value, flags)
    return 0


@prototype(
    "map_delete_elem",
    3,
    "3.19",
    args="CONST_MAP_PTR PTR_TO_MAP_KEY",
    flags="pkt_access",
    given="base_anyone bpf_tracing lirc_mode2",
)
def map_delete_elem(rt: Runtime, map_ptr: int, key: int) -> int:
    found = rt.bpf.map_at[map_ptr]
    delete_around(rt.bpf.host, found, key)
    return 0


@prototype(
    "map_push_elem",
    87,
    "4.20",
    args="CONST_MAP_PTR PTR_TO_MAP_VALUE ANYTHING",
    flags="pkt_access",
    given="base_anyone bpf_tracing lirc_mode2",
    maps="QUEUE STACK BLOOM_FILTER",
)
def map_push_elem(rt: Runtime, map_ptr: int, value: int, flags: int) -> int:
    found = rt.map(map_ptr)
    found.push(rt.mem.read(value, found.value_size), flags)
    return 0


def _take(rt: Runtime, map_ptr: int, value: int, pop: bool) -> int:
    """What an empty queue leaves in the program's memory is zeros."""
    found = rt.map(map_ptr)
    try:
        data = found.pop() if pop else found.peek(rt.mem.read(value, found.value_size))
    except KernelError:
        if isinstance(found, QueueMap):
            rt.mem.write(value, bytes(found.value_size))
        raise
    rt.mem.write(value, data)
    return 0


@prototype(
    "map_pop_elem",
    88,
    "4.20",
    args="CONST_MAP_PTR PTR_TO_MAP_VALUE|MEM_UNINIT|MEM_WRITE",
    given="base_anyone bpf_tracing lirc_mode2",
    maps="QUEUE STACK",
)
def map_pop_elem(rt: Runtime, map_ptr: int, value: int) -> int:
    return _take(rt, map_ptr, value, True)


@prototype(
    "map_peek_elem",
    89,
    "4.20",
    args="CONST_MAP_PTR PTR_TO_MAP_VALUE|MEM_UNINIT|MEM_WRITE",
    given="base_anyone bpf_tracing lirc_mode2",
    maps="QUEUE STACK BLOOM_FILTER",
)
def map_peek_elem(rt: Runtime, map_ptr: int, value: int) -> int:
    return _take(rt, map_ptr, value, False)


@prototype(
    "map_lookup_percpu_elem",
    195,
    "5.19",
    returns="PTR_TO_MAP_VALUE_OR_NULL",
    args="CONST_MAP_PTR PTR_TO_MAP_KEY ANYTHING",
    flags="pkt_access",
    given="base_anyone bpf_tracing",
    maps="PERCPU_HASH PERCPU_ARRAY LRU_PERCPU_HASH",
)
def map_lookup_percpu_elem(rt: Runtime, map_ptr: int, key: int, cpu: int) -> int:
    found = rt.map(map_ptr)
    return int(found.lookup_percpu(rt.mem.read(key, found.key_size), cpu & 0xFFFFFFFF))


@prototype(
    "for_each_map_elem",
    164,
    "5.13",
    args="CONST_MAP_PTR PTR_TO_FUNC PTR_TO_STACK_OR_NULL ANYTHING",
    given="base_bpf bpf_tracing",
    registers=True,
)
def for_each_map_elem(rt: Runtime, r: Registers) -> int:
    """Calls the function with (map, key, value, context) until it answers 1; how many elements it saw."""
    map_ptr, function, context, flags = r[1], r[2], r[3], r[4]
    if flags:
        return -EINVAL
    found = rt.map(map_ptr)
    return int(found.for_each(lambda key, value: rt.call_back(r, function, map_ptr, key, value, context)))


@prototype(
    "get_local_storage",
    81,
    "4.19",
    returns="PTR_TO_MAP_VALUE",
    args="CONST_MAP_PTR ANYTHING",
    given="cgroup_common",
    maps="CGROUP_STORAGE PERCPU_CGROUP_STORAGE",
)
def get_local_storage(rt: Runtime, map_ptr: int, flags: int) -> int:
    """The cgroup storage of this run."""
    found = rt.map_of(map_ptr, CgroupStorageMap)
    return found.of_this_cpu(rt.cgroup_run[1].get(map_ptr, 0) or found.element(0, 0))  # a test run has no group


@prototype(
    "spin_lock",
    93,
    "5.1",
    returns="VOID",
    args="PTR_TO_SPIN_LOCK",
    given="base_bpf bpf_lsm",
)
def spin_lock(rt: Runtime, lock: int) -> int:
    """Nothing runs in between, so the lock only shows that it is held."""
    rt.mem.write_uint(lock, 4, 1)
    return 0


@prototype(
    "spin_unlock",
    94,
    "5.1",
    returns="VOID",
    args="PTR_TO_SPIN_LOCK",
    given="base_bpf bpf_lsm",
)
def spin_unlock(rt: Runtime, lock: int) -> int:
    rt.mem.write_uint(lock, 4, 0)
    return 0


@prototype(
    "kptr_xchg",
    194,
    "5.19",
    returns="PTR_TO_BTF_ID_OR_NULL:BPF_PTR_POISON",
    args="PTR_TO_KPTR PTR_TO_BTF_ID_OR_NULL|OBJ_RELEASE:BPF_PTR_POISON",
    given="base_bpf",
)
def kptr_xchg(rt: Runtime, place: int, pointer: int) -> int:
    old = int(rt.mem.read_uint(place, 8))
    rt.mem.write_uint(place, 8, pointer)
    return old
