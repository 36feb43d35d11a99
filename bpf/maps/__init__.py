"""Map types.  Mirrors kernel/bpf/{arraymap,hashtab,lpm_trie,queue_stack_maps,bloom_filter,ringbuf,stackmap,...}.c.

`MAP_TYPES` is the kernel's bpf_map_types table; `create_map` is find_and_alloc_map().  Which kernel version has which
type is asked of bpf/versions/features.py by the caller.
"""

from __future__ import annotations

from typing import Any

from arch.abi.errno import EINVAL
from arch.errors import KernelError
from bpf import uapi
from bpf.maps.array import ArrayMap, ArrayOfMaps, CgroupArrayMap, PercpuArrayMap, PerfEventArrayMap, ProgArrayMap
from bpf.maps.base import BpfMap, MapAttr
from bpf.maps.hash import HashMap, HashOfMaps, LruHashMap, LruPercpuHashMap, PercpuHashMap
from bpf.maps.lpm import LpmTrieMap
from bpf.maps.net import CpuMap, DevMap, ReuseportArray, SockHash, SockMap, StructOpsMap, XskMap
from bpf.maps.queue import BloomFilterMap, QueueMap, StackMap
from bpf.maps.ringbuf import RingBufferMap, UserRingBufferMap
from bpf.maps.stackmap import StackTraceMap
from bpf.maps.storage import CgroupStorageMap, InodeStorageMap, SkStorageMap, TaskStorageMap

MAP_TYPES: dict[int, type[BpfMap]] = {
    uapi.BPF_MAP_TYPE_HASH: HashMap,
    uapi.BPF_MAP_TYPE_ARRAY: ArrayMap,
    uapi.BPF_MAP_TYPE_PROG_ARRAY: ProgArrayMap,
    uapi.BPF_MAP_TYPE_PERF_EVENT_ARRAY: PerfEventArrayMap,
    uapi.BPF_MAP_TYPE_PERCPU_HASH: PercpuHashMap,
    uapi.BPF_MAP_TYPE_PERCPU_ARRAY: PercpuArrayMap,
    uapi.BPF_MAP_TYPE_STACK_TRACE: StackTraceMap,
    uapi.BPF_MAP_TYPE_CGROUP_ARRAY: CgroupArrayMap,
    uapi.BPF_MAP_TYPE_LRU_HASH: LruHashMap,
    uapi.BPF_MAP_TYPE_LRU_PERCPU_HASH: LruPercpuHashMap,
    uapi.BPF_MAP_TYPE_LPM_TRIE: LpmTrieMap,
    uapi.BPF_MAP_TYPE_ARRAY_OF_MAPS: ArrayOfMaps,
    uapi.BPF_MAP_TYPE_HASH_OF_MAPS: HashOfMaps,
    uapi.BPF_MAP_TYPE_DEVMAP: DevMap,
    uapi.BPF_MAP_TYPE_SOCKMAP: SockMap,
    uapi.BPF_MAP_TYPE_CPUMAP: CpuMap,
    uapi.BPF_MAP_TYPE_XSKMAP: XskMap,
    uapi.BPF_MAP_TYPE_SOCKHASH: SockHash,
    uapi.BPF_MAP_TYPE_CGROUP_STORAGE: CgroupStorageMap,
    uapi.BPF_MAP_TYPE_REUSEPORT_SOCKARRAY: ReuseportArray,
    uapi.BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE: CgroupStorageMap,
    uapi.BPF_MAP_TYPE_QUEUE: QueueMap,
    uapi.BPF_MAP_TYPE_STACK: StackMap,
    uapi.BPF_MAP_TYPE_SK_STORAGE: SkStorageMap,
    uapi.BPF_MAP_TYPE_DEVMAP_HASH: DevMap,
    uapi.BPF_MAP_TYPE_STRUCT_OPS: StructOpsMap,
    uapi.BPF_MAP_TYPE_RINGBUF: RingBufferMap,
    uapi.BPF_MAP_TYPE_INODE_STORAGE: InodeStorageMap,
    uapi.BPF_MAP_TYPE_TASK_STORAGE: TaskStorageMap,
    uapi.BPF_MAP_TYPE_BLOOM_FILTER: BloomFilterMap,
    uapi.BPF_MAP_TYPE_USER_RINGBUF: UserRingBufferMap,
}


def create_map(bpf: Any, attr: MapAttr) -> BpfMap:
    """A new map in the machine's memory; KernelError as the type's checks say."""
    kind = MAP_TYPES.get(attr.map_type)
    if kind is None:
        raise KernelError(EINVAL, f"no map type {attr.map_type}")
    kind.alloc_check(bpf, attr)
    new = kind(bpf, attr)
    new.alloc()
    return new
