"""Values that hang on a task, an inode, a socket or a cgroup.

kernel/bpf/bpf_local_storage.c, bpf_task_storage.c, bpf_inode_storage.c, bpf_cgrp_storage.c,
local_storage.c, net/core/bpf_sk_storage.c.
The owner is named by the kernel address of its struct; from user space by a descriptor (a pidfd, an open file).
"""

from __future__ import annotations

from arch.abi.errno import E2BIG, EBADF, EEXIST, EINVAL, ENOENT, ENOTSOCK, ENOTSUPP, EPERM
from arch.abi.limits import KMALLOC_MAX_SIZE
from bpf import uapi
from bpf.btf import Btf
from bpf.maps.base import BPF_F_ACCESS_MASK, PCPU_MIN_UNIT_SIZE, Board, BpfMap, MapAttr, flags_access_ok, refuse
from bpf.maps.btf import check_cgroup_key, check_int_key
from bpf.maps.rows import Probe, map_type
from bpf.maps.sizes import round_up

LOCAL_STORAGE_CREATE_FLAGS = uapi.BPF_F_NO_PREALLOC | uapi.BPF_F_CLONE
STORAGE_ELEM = 64  # sizeof(struct bpf_local_storage_elem)
MAX_VALUE_SIZE = min(KMALLOC_MAX_SIZE - 512 - STORAGE_ELEM, 0xFFFF - STORAGE_ELEM)


# What a descriptor of something else says: sockfd_lookup(), pid_task() of a process that has ended
NO_OWNER = {"sock": ENOTSOCK, "task": ENOENT}


class LocalStorageMap(BpfMap):
    """What the four have in common; `owners` maps an owner's address to its value's address."""

    owner_kind = "task"  # of BpfHost.fd_owner()

    @classmethod
    def alloc_check(cls, bpf: Board, attr: MapAttr) -> None:
        """bpf_local_storage_map_alloc_check()."""
        if (
            attr.map_flags & ~LOCAL_STORAGE_CREATE_FLAGS
            or not attr.map_flags & uapi.BPF_F_NO_PREALLOC
            or attr.max_entries
            or attr.key_size != 4
            or not attr.value_size
            or not attr.btf_key_type_id
            or not attr.btf_value_type_id
        ):
            raise refuse(EINVAL)
        if not bpf.capable("bpf"):
            raise refuse(EPERM)
        if attr.value_size > MAX_VALUE_SIZE:
            raise refuse(E2BIG)

    def alloc(self) -> None:
        super().alloc()
        self.owners: dict[int, int] = {}

    def free_elements(self) -> None:
        for address in self.owners.values():
            self.clear_special(address)
            self.mem.free(address)
        self.owners = {}

    # ---- from programs: by owner ----

    def storage_get(self, owner: int, value: bytes | None, flags: int) -> int:
        """bpf_task_storage_get() and its like: the value's address, made from `value` if asked for; 0 if not there."""
        if flags & ~uapi.BPF_LOCAL_STORAGE_GET_F_CREATE or not owner:
            return 0
        address = self.owners.get(owner, 0)
        if not address and flags and self.may_own(owner):
            address = self.allocate(self.value_size)
            if value is not None:
                self.copy_value(address, value)
            self.owners[owner] = address
        return address

    def may_own(self, owner: int) -> bool:
        """May it still get a value?"""
        return True

    def storage_delete(self, owner: int) -> None:
        """bpf_task_storage_delete() and its like."""
        address = self.owners.pop(owner, 0)
        if not address:
            raise refuse(ENOENT)
        self.clear_special(address)
        self.bpf.defer_free(self.mem, address)

    def owner_gone(self, owner: int) -> None:
        """The task exits, the inode or socket is freed."""
        if owner in self.owners:
            self.storage_delete(owner)

    # ---- from user space: by descriptor ----

    def _owner_of(self, key: bytes) -> int:
        fd = int.from_bytes(key[:4], self.mem.byteorder, signed=True)
        address = self.host.fd_owner(fd, self.owner_kind)
        if not address:
            raise refuse(NO_OWNER.get(self.owner_kind, EBADF))
        return address

    def user_lookup(self, key: bytes, flags: int) -> bytes:
        address = self.owners.get(self._owner_of(key), 0)
        if not address:
            raise refuse(ENOENT)
        return self.read_value(address)

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        """bpf_local_storage_update()."""
        owner = self._owner_of(key)
        lock = flags & uapi.BPF_F_LOCK
        if flags & ~uapi.BPF_F_LOCK > uapi.BPF_EXIST or (lock and not self.has_spin_lock()):
            raise refuse(EINVAL)
        wanted = flags & ~uapi.BPF_F_LOCK
        old = self.owners.get(owner, 0)
        if old and wanted == uapi.BPF_NOEXIST:
            raise refuse(EEXIST)
        if not old and wanted == uapi.BPF_EXIST:
            raise refuse(ENOENT)
        if old and lock:
            self.copy_value(old, value)
            return
        new = self.allocate(self.value_size)
        self.copy_value(new, value)
        self.owners[owner] = new
        if old:
            self.clear_special(old)
            self.bpf.defer_free(self.mem, old)

    def delete(self, key: bytes) -> None:
        self.storage_delete(self._owner_of(key))

    def lookup(self, key: bytes) -> int:
        raise refuse(EINVAL)

    def next_key(self, key: bytes | None) -> bytes:
        raise refuse(ENOTSUPP)

    def check_btf(self, btf: Btf, key_type_id: int, value_type_id: int) -> None:
        """bpf_local_storage_map_check_btf(): a 32-bit integer."""
        check_int_key(self, btf, key_type_id)


@map_type(
    29,
    "TASK_STORAGE",
    since="5.11",
    commit="4cf1bc1f1045",
    struct="bpf_local_storage_map",
    helpers="task_storage_get task_storage_delete kptr_xchg",
    sleepable="5.12",
    lock=True,
    btf="keyless",
    probe=Probe(4, 8, 0, uapi.BPF_F_NO_PREALLOC, "storage_btf"),
)
class TaskStorageMap(LocalStorageMap):
    """BPF_MAP_TYPE_TASK_STORAGE; user space names a task by a pidfd."""

    owner_kind = "task"

    def may_own(self, owner: int) -> bool:
        return self.host.task_referenced(owner)


@map_type(
    32,
    "CGRP_STORAGE",
    since="6.2",
    commit="c4bcfb38a95e",
    struct="bpf_local_storage_map",
    helpers="cgrp_storage_get cgrp_storage_delete kptr_xchg",
    sleepable="6.2",
    lock=True,
    btf="keyless",
    probe=Probe(4, 8, 0, uapi.BPF_F_NO_PREALLOC, "storage_btf"),
)
class CgrpStorageMap(LocalStorageMap):
    """BPF_MAP_TYPE_CGRP_STORAGE; user space names a control group by a descriptor of its directory."""

    owner_kind = "cgroup"


@map_type(
    28,
    "INODE_STORAGE",
    since="5.10",
    commit="8ea636848aca",
    struct="bpf_local_storage_map",
    helpers="inode_storage_get inode_storage_delete kptr_xchg",
    sleepable="5.12",
    lock=True,
    btf="keyless",
    probe=Probe(4, 8, 0, uapi.BPF_F_NO_PREALLOC, "storage_btf"),
)
class InodeStorageMap(LocalStorageMap):
    """BPF_MAP_TYPE_INODE_STORAGE; user space names an inode by any open file of it."""

    owner_kind = "inode"


@map_type(
    24,
    "SK_STORAGE",
    since="5.2",
    commit="6ac99e8f23d4",
    struct="bpf_local_storage_map",
    helpers="sk_storage_get sk_storage_delete kptr_xchg",
    sleepable="5.12",
    lock=True,
    btf="keyless",
    probe=Probe(4, 8, 0, uapi.BPF_F_NO_PREALLOC, "storage_btf"),
)
class SkStorageMap(LocalStorageMap):
    """BPF_MAP_TYPE_SK_STORAGE; user space names a socket by its descriptor."""

    owner_kind = "sock"

    def owner_cloned(self, parent: int, child: int) -> None:
        """bpf_sk_storage_clone(): of maps made with BPF_F_CLONE."""
        address = self.owners.get(parent)
        if address is not None and self.map_flags & uapi.BPF_F_CLONE:
            self.owners[child] = self.allocate(self.value_size)
            self.copy_value(self.owners[child], bytes(self.mem.read(address, self.value_size)))


@map_type(
    19,
    "CGROUP_STORAGE",
    since="4.19",
    commit="de9cbbaadba5",
    struct="bpf_cgroup_storage_map",
    helpers="get_local_storage",
    lock=True,
    btf="keyless",
    probe=Probe(16, 8, 0),
    text="type",
)
@map_type(
    21,
    "PERCPU_CGROUP_STORAGE",
    since="4.20",
    commit="b741f1630346",
    struct="bpf_cgroup_storage_map",
    helpers="get_local_storage",
    btf="keyless",
    per_cpu=True,
    probe=Probe(16, 8, 0),
    text="type",
)
class CgroupStorageMap(BpfMap):
    """BPF_MAP_TYPE_CGROUP_STORAGE and its per-CPU form; elements come with attached programs."""

    @classmethod
    def alloc_check(cls, bpf: Board, attr: MapAttr) -> None:
        """cgroup_storage_map_alloc()."""
        percpu = attr.map_type == uapi.BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE
        limit = min(MAX_VALUE_SIZE, PCPU_MIN_UNIT_SIZE) if percpu else MAX_VALUE_SIZE
        if attr.key_size not in (16, 8) or attr.value_size == 0:
            raise refuse(EINVAL)
        if attr.value_size > limit:
            raise refuse(E2BIG)
        if attr.map_flags & ~(uapi.BPF_F_NUMA_NODE | BPF_F_ACCESS_MASK) or not flags_access_ok(attr.map_flags):
            raise refuse(EINVAL)
        if attr.max_entries:
            raise refuse(EINVAL)

    can_be_inner = False

    def alloc(self) -> None:
        super().alloc()
        self.elements: dict[tuple[int, ...], int] = {}  # (cgroup id, attach type where they count) -> address
        self.per_cpu = self.map_type == uapi.BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE
        self.element_size = round_up(self.value_size, 8) * self.host.nr_cpus if self.per_cpu else self.value_size

    def element(self, cgroup_id: int, attach_type: int) -> int:
        """The value of a group, and of an attach type if the key has it; made when it is not there."""
        key = (cgroup_id, attach_type) if self.key_size == 16 else (cgroup_id,)
        address = self.elements.get(key)
        if address is None:
            address = self.elements[key] = self.allocate(self.element_size)
        return address

    def of_this_cpu(self, address: int) -> int:
        """bpf_get_local_storage(): what programs see of a value."""
        return address + self.host.cpu_id() * round_up(self.value_size, 8) if self.per_cpu else address

    def group_gone(self, cgroup_id: int) -> None:
        """bpf_cgroup_storage_unlink() of all that the group has."""
        for key in [key for key in self.elements if key[0] == cgroup_id]:
            self.bpf.defer_free(self.mem, self.elements.pop(key))

    def free_elements(self) -> None:
        for address in self.elements.values():
            self.mem.free(address)
        self.elements = {}

    def check_btf(self, btf: Btf, key_type_id: int, value_type_id: int) -> None:
        check_cgroup_key(self, btf, key_type_id)

    def _find(self, key: bytes) -> int:
        """cgroup_storage_lookup(): ENOENT."""
        order = self.mem.byteorder
        place: tuple[int, ...] = (int.from_bytes(key[:8], order),)
        if self.key_size == 16:
            place = (*place, int.from_bytes(key[8:12], order))
        if place not in self.elements:
            raise refuse(ENOENT)
        return self.elements[place]

    @property
    def user_value_size(self) -> int:
        """Every CPU's value, each rounded up to 8 bytes."""
        return self.element_size

    def lookup(self, key: bytes) -> int:
        return 0

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        """cgroup_storage_update_elem()."""
        lock = flags & uapi.BPF_F_LOCK
        if flags & ~(uapi.BPF_F_LOCK | uapi.BPF_EXIST) or (lock and (self.per_cpu or not self.has_spin_lock())):
            raise refuse(EINVAL)
        address = self._find(key)
        if self.per_cpu:
            self.mem.write(address, value)
        else:
            self.copy_value(address, value)

    def delete(self, key: bytes) -> None:
        raise refuse(EINVAL)

    def next_key(self, key: bytes | None) -> bytes:
        """The newest first."""
        keys = list(reversed(self.elements))
        if key is not None:
            address = self._find(key)
            keys = keys[1 + next(n for n, place in enumerate(keys) if self.elements[place] == address) :]
        if not keys:
            raise refuse(ENOENT)
        order, (cgroup_id, *rest) = self.mem.byteorder, keys[0]
        return (cgroup_id.to_bytes(8, order) + b"".join(n.to_bytes(4, order) for n in rest)).ljust(self.key_size, b"\0")

    def user_lookup(self, key: bytes, flags: int) -> bytes:
        address = self._find(key)
        return bytes(self.mem.read(address, self.element_size)) if self.per_cpu else self.read_value(address)
