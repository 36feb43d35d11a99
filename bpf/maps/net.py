"""Map types of the network: made and checked as by the kernel, but nothing here can be put into them yet.

kernel/bpf/devmap.c, cpumap.c, reuseport_array.c, bpf_struct_ops.c, net/xdp/xskmap.c, net/core/sock_map.c.  Creation
has the kernel's rules; an element that would need a device, a socket or a queue answers as if there were none.
"""

from __future__ import annotations

from arch.abi.errno import E2BIG, EEXIST, EINVAL, ENODEV, ENOENT, ENOSPC, ENOTSOCK, EOPNOTSUPP, EPERM
from arch.abi.limits import INT_MAX, U32_MAX
from bpf import uapi
from bpf.maps.array import array_alloc_check
from bpf.maps.base import Board, BpfMap, MapAttr, refuse, roundup_pow_of_two
from bpf.maps.rows import map_type

NR_CPUS = 8192  # CONFIG_NR_CPUS
DEV_CREATE_FLAGS = uapi.BPF_F_NUMA_NODE | uapi.BPF_F_RDONLY | uapi.BPF_F_WRONLY


class _EmptyArray(BpfMap):
    """An array with u32 keys that stays empty."""

    def lookup(self, key: bytes) -> int:
        return 0

    def user_lookup(self, key: bytes, flags: int) -> bytes:
        raise refuse(ENOENT)

    def delete(self, key: bytes) -> None:
        if int.from_bytes(key[:4], self.mem.byteorder) >= self.max_entries:
            raise refuse(EINVAL)

    def next_key(self, key: bytes | None) -> bytes:
        """As array maps: every index, whether filled or not."""
        index = U32_MAX if key is None else int.from_bytes(key[:4], self.mem.byteorder)
        if index >= self.max_entries:
            return (0).to_bytes(4, self.mem.byteorder)
        if index == self.max_entries - 1:
            raise refuse(ENOENT)
        return (index + 1).to_bytes(4, self.mem.byteorder)

    def _check_update(self, key: bytes, flags: int) -> None:
        if flags > uapi.BPF_EXIST:
            raise refuse(EINVAL)
        if int.from_bytes(key[:4], self.mem.byteorder) >= self.max_entries:
            raise refuse(E2BIG)
        if flags == uapi.BPF_NOEXIST:
            raise refuse(EEXIST)


@map_type(
    14,
    "DEVMAP",
    since="4.14",
    commit="546ac1ffb70d",
    struct="bpf_dtab",
    helpers="redirect_map map_lookup_elem",
    btf="none",
    loader_btf=False,
    missing="elements",
)
@map_type(
    25,
    "DEVMAP_HASH",
    since="5.4",
    commit="6f9d451ab1a3",
    struct="bpf_dtab",
    helpers="redirect_map map_lookup_elem",
    btf="none",
    loader_btf=False,
    missing="elements",
)
class DevMap(_EmptyArray):
    """BPF_MAP_TYPE_DEVMAP and DEVMAP_HASH."""

    def alloc(self) -> None:
        """dev_map_alloc()."""
        attr = self.attr
        if not self.bpf.capable("net_admin"):
            raise refuse(EPERM)
        if attr.max_entries == 0 or attr.key_size != 4 or attr.value_size not in (4, 8):
            raise refuse(EINVAL)
        if attr.map_flags & ~DEV_CREATE_FLAGS:
            raise refuse(EINVAL)
        if self.map_type == uapi.BPF_MAP_TYPE_DEVMAP_HASH and attr.max_entries > 1 << 31:
            raise refuse(EINVAL)
        self.map_flags |= uapi.BPF_F_RDONLY_PROG
        super().alloc()

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        self._check_update(key, flags)
        ifindex = int.from_bytes(value[:4], self.mem.byteorder)
        prog_fd = int.from_bytes(value[4:8], self.mem.byteorder, signed=True) if len(value) >= 8 else 0
        if not ifindex:
            if prog_fd > 0:
                raise refuse(EINVAL)
            return
        raise refuse(EINVAL, "no such device can be put into a device map")


@map_type(
    16,
    "CPUMAP",
    since="4.15",
    commit="6710e1126934",
    struct="bpf_cpu_map",
    helpers="redirect_map",
    btf="none",
    loader_btf=False,
    missing="redirecting packets to other CPUs",
)
class CpuMap(_EmptyArray):
    """BPF_MAP_TYPE_CPUMAP."""

    def alloc(self) -> None:
        """cpu_map_alloc()."""
        attr = self.attr
        if not self.bpf.capable("bpf"):
            raise refuse(EPERM)
        if attr.max_entries == 0 or attr.key_size != 4 or attr.value_size not in (4, 8):
            raise refuse(EINVAL)
        if attr.map_flags & ~uapi.BPF_F_NUMA_NODE:
            raise refuse(EINVAL)
        if attr.max_entries > NR_CPUS:
            raise refuse(E2BIG)
        super().alloc()

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        self._check_update(key, flags)
        if int.from_bytes(key[:4], self.mem.byteorder) >= self.host.nr_cpus:
            raise refuse(ENODEV)
        if int.from_bytes(value[:4], self.mem.byteorder):
            raise refuse(EOPNOTSUPP, "no packets are redirected between CPUs")


@map_type(
    17,
    "XSKMAP",
    since="4.18",
    commit="fbfc504a24f5",
    struct="xsk_map",
    helpers="redirect_map map_lookup_elem",
    btf="none",
    loader_btf=False,
    missing="elements",
)
class XskMap(_EmptyArray):
    """BPF_MAP_TYPE_XSKMAP."""

    def alloc(self) -> None:
        """xsk_map_alloc()."""
        attr = self.attr
        if not self.bpf.capable("net_admin"):
            raise refuse(EPERM)
        if attr.max_entries == 0 or attr.key_size != 4 or attr.value_size != 4:
            raise refuse(EINVAL)
        if attr.map_flags & ~DEV_CREATE_FLAGS:
            raise refuse(EINVAL)
        super().alloc()

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        if flags > uapi.BPF_EXIST:
            raise refuse(EINVAL)
        if int.from_bytes(key[:4], self.mem.byteorder) >= self.max_entries:
            raise refuse(E2BIG)
        self.host.fd_get(int.from_bytes(value[:4], self.mem.byteorder, signed=True))
        raise refuse(ENOTSOCK)


@map_type(
    15,
    "SOCKMAP",
    since="4.14",
    commit="174a79ff9515",
    struct="bpf_stab",
    helpers="msg_redirect_map sk_redirect_map sk_select_reuseport map_lookup_elem sock_map_update",
    btf="none",
    loader_btf=False,
    missing="elements",
)
class SockMap(_EmptyArray):
    """BPF_MAP_TYPE_SOCKMAP."""

    def alloc(self) -> None:
        """sock_map_alloc()."""
        attr = self.attr
        if not self.bpf.capable("net_admin"):
            raise refuse(EPERM)
        if attr.max_entries == 0 or attr.max_entries > INT_MAX or attr.key_size != 4:
            raise refuse(EINVAL)
        if attr.value_size not in (4, 8) or attr.map_flags & ~DEV_CREATE_FLAGS:
            raise refuse(EINVAL)
        super().alloc()

    def user_lookup(self, key: bytes, flags: int) -> bytes:
        """sock_map_lookup_sys(): cookies, so 8-byte values only."""
        if self.value_size != 8:
            raise refuse(ENOSPC)
        raise refuse(ENOENT)

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        fd = int.from_bytes(value, self.mem.byteorder)
        if fd > INT_MAX:
            raise refuse(EINVAL)
        if not self.host.fd_owner(fd, "sock"):
            raise refuse(ENOTSOCK)
        raise refuse(EOPNOTSUPP)

    def delete(self, key: bytes) -> None:
        """__sock_map_delete(): no socket is there."""
        raise refuse(EINVAL)


@map_type(
    18,
    "SOCKHASH",
    since="4.18",
    commit="81110384441a",
    struct="bpf_shtab",
    helpers="msg_redirect_hash sk_redirect_hash sk_select_reuseport map_lookup_elem sock_hash_update",
    btf="none",
    loader_btf=False,
    missing="elements",
)
class SockHash(SockMap):
    """BPF_MAP_TYPE_SOCKHASH."""

    def alloc(self) -> None:
        """sock_hash_alloc()."""
        attr = self.attr
        if not self.bpf.capable("net_admin"):
            raise refuse(EPERM)
        if attr.max_entries == 0 or attr.key_size == 0 or attr.value_size not in (4, 8):
            raise refuse(EINVAL)
        if attr.map_flags & ~DEV_CREATE_FLAGS:
            raise refuse(EINVAL)
        if attr.key_size > 512:
            raise refuse(E2BIG)
        if roundup_pow_of_two(attr.max_entries) > U32_MAX // 16:
            raise refuse(EINVAL)
        BpfMap.alloc(self)

    def next_key(self, key: bytes | None) -> bytes:
        raise refuse(ENOENT)

    def delete(self, key: bytes) -> None:
        raise refuse(ENOENT)


@map_type(
    20,
    "REUSEPORT_SOCKARRAY",
    since="4.19",
    commit="5dc4c4b7d4e8",
    struct="reuseport_array",
    helpers="sk_select_reuseport",
    missing="elements",
)
class ReuseportArray(_EmptyArray):
    """BPF_MAP_TYPE_REUSEPORT_SOCKARRAY."""

    @classmethod
    def alloc_check(cls, bpf: Board, attr: MapAttr) -> None:
        """reuseport_array_alloc_check()."""
        if attr.value_size not in (4, 8):
            raise refuse(EINVAL)
        array_alloc_check(bpf, attr)

    def alloc(self) -> None:
        if not self.bpf.capable("bpf"):
            raise refuse(EPERM)
        super().alloc()

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        """bpf_fd_reuseport_array_update_elem()."""
        if flags > uapi.BPF_EXIST:
            raise refuse(EINVAL)
        if int.from_bytes(key[:4], self.mem.byteorder) >= self.max_entries:
            raise refuse(E2BIG)
        fd = int.from_bytes(value, self.mem.byteorder)
        if fd > INT_MAX:
            raise refuse(EINVAL)
        self.host.fd_get(fd)
        raise refuse(ENOTSOCK)

    def delete(self, key: bytes) -> None:
        if int.from_bytes(key[:4], self.mem.byteorder) >= self.max_entries:
            raise refuse(E2BIG)
        raise refuse(ENOENT)
