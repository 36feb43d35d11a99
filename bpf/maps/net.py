"""Map types of the network: devices and CPUs that XDP redirects to; the others are made and checked, but stay empty.

kernel/bpf/devmap.c, cpumap.c, bpf_struct_ops.c, net/xdp/xskmap.c.  Creation
has the kernel's rules; an element that would need a device or a queue answers as if there were none.
"""

from __future__ import annotations

from arch.abi.errno import E2BIG, EEXIST, EINVAL, ENODEV, ENOENT, ENOMEM, ENOTSOCK, EOPNOTSUPP, EOVERFLOW, EPERM
from arch.abi.limits import U32_MAX
from arch.errors import KernelError
from bpf import uapi
from bpf.face import Prog
from bpf.frames import CpuFrames, FrameSocket
from bpf.maps.base import XSK_BEFORE, BpfMap, refuse
from bpf.maps.rows import map_type
from bpf.maps.sizes import roundup_pow_of_two

MAX_QUEUE = 16384  # of a CPU map, in frames
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


class _Entries(_EmptyArray):
    """Entries of one or two numbers, the second a program's id."""

    def alloc(self) -> None:
        super().alloc()
        self.entries: dict[bytes, tuple[int, Prog | None]] = {}  # key -> (address of the value, its program)

    def elements_there(self) -> int:
        return len(self.entries)

    def number(self, key: bytes, place: int) -> int:
        """One of an entry's numbers."""
        return self.mem.read_uint(self.entries[key][0] + 4 * place, 4)

    def _put(self, key: bytes, numbers: tuple[int, int], prog: Prog | None) -> None:
        self._drop(key)
        address = self.allocate(8)
        for place, number in enumerate(numbers):
            self.mem.write_uint(address + 4 * place, 4, number)
        self.entries[key] = address, prog
        if prog is not None:
            prog.get()

    def _drop(self, key: bytes) -> None:
        address, prog = self.entries.pop(key, (0, None))
        if address:
            self.bpf.defer_free(self.mem, address)
        if prog is not None:
            prog.put()

    def free_elements(self) -> None:
        for key in list(self.entries):
            self._drop(key)

    def lookup(self, key: bytes) -> int:
        return self.entries.get(key, (0, None))[0]

    def user_lookup(self, key: bytes, flags: int) -> bytes:
        address = self.lookup(key)
        if not address:
            raise refuse(ENOENT)
        return bytes(self.mem.read(address, self.value_size))


def entry_prog(owner: BpfMap, fd: int, attach_type: int) -> Prog | None:
    """The XDP program of an entry, loaded for entries of that map.  EINVAL."""
    if fd <= 0:
        return None
    found = owner.host.fd_get(fd)
    if not isinstance(found, Prog) or found.type != uapi.BPF_PROG_TYPE_XDP or found.expected_attach_type != attach_type:
        raise refuse(EINVAL, "not a program for such an entry")
    if not found.compatible_with(owner):
        raise refuse(EINVAL, "the programs of a map are alike")
    return found


@map_type(
    14,
    "DEVMAP",
    since="4.14",
    commit="546ac1ffb70d",
    struct="bpf_dtab",
    helpers="redirect_map map_lookup_elem",
    btf="none",
    loader_btf=False,
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
)
class DevMap(_Entries):
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

    # ---- entries: a device, and a program for what goes there ----

    def _prog(self, fd: int) -> Prog | None:
        return entry_prog(self, fd, uapi.BPF_XDP_DEVMAP)

    def _entry(self, ifindex: int, prog_fd: int) -> tuple[int, Prog | None]:
        """__dev_map_alloc_node()."""
        if not self.host.net_device(ifindex):
            raise refuse(EINVAL, "no such device")
        return ifindex, self._prog(prog_fd)

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        """dev_map_update_elem(), dev_map_hash_update_elem()."""
        hashed = self.map_type == uapi.BPF_MAP_TYPE_DEVMAP_HASH
        order = self.mem.byteorder
        ifindex = int.from_bytes(value[:4], order)
        prog_fd = int.from_bytes(value[4:8], order, signed=True) if len(value) >= 8 else 0
        if not hashed:
            self._check_update(key, flags)
            if not ifindex:
                if prog_fd > 0:
                    raise refuse(EINVAL)
                self._drop(key)
                return
        elif flags > uapi.BPF_EXIST or not ifindex:
            raise refuse(EINVAL)
        elif key in self.entries and flags & uapi.BPF_NOEXIST:
            raise refuse(EEXIST)
        device, prog = self._entry(ifindex, prog_fd)
        if hashed and key not in self.entries and len(self.entries) >= self.max_entries:
            raise refuse(E2BIG)
        self._put(key, (device, prog.id if prog is not None else 0), prog)

    def delete(self, key: bytes) -> None:
        if self.map_type != uapi.BPF_MAP_TYPE_DEVMAP_HASH:
            super().delete(key)
        elif key not in self.entries:
            raise refuse(ENOENT)
        self._drop(key)

    def next_key(self, key: bytes | None) -> bytes:
        if self.map_type != uapi.BPF_MAP_TYPE_DEVMAP_HASH:
            return super().next_key(key)
        keys = sorted(self.entries, key=lambda k: int.from_bytes(k, self.mem.byteorder) % self.buckets)
        position = keys.index(key) + 1 if key in self.entries else 0
        if position >= len(keys):
            raise refuse(ENOENT)
        return keys[position]

    @property
    def buckets(self) -> int:
        """n_buckets."""
        return roundup_pow_of_two(self.max_entries)

    def targets(self, index: int, flags: int, ingress: int) -> list[tuple[int, Prog | None]]:
        """Where a redirected frame goes: (device, program of the entry); all entries if it is broadcast."""
        order = self.mem.byteorder
        chosen = sorted(self.entries) if flags & uapi.BPF_F_BROADCAST else [index.to_bytes(4, order)]
        found = [(self.number(key, 0), self.entries[key][1]) for key in chosen if key in self.entries]
        skip = ingress if flags & uapi.BPF_F_EXCLUDE_INGRESS else 0
        return [entry for entry in found if entry[0] != skip]


@map_type(
    16,
    "CPUMAP",
    since="4.15",
    commit="6710e1126934",
    struct="bpf_cpu_map",
    helpers="redirect_map",
    btf="none",
    loader_btf=False,
)
class CpuMap(_Entries):
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
        self.queues: dict[bytes, CpuFrames] = {}

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        """cpu_map_update_elem()."""
        order = self.mem.byteorder
        queue = int.from_bytes(value[:4], order)
        prog_fd = int.from_bytes(value[4:8], order, signed=True) if len(value) >= 8 else 0
        self._check_update(key, flags)
        if queue > MAX_QUEUE:
            raise refuse(EOVERFLOW)
        if int.from_bytes(key[:4], order) >= self.host.nr_cpus:
            raise refuse(ENODEV)
        if not queue:
            self._drop(key)
            return
        try:
            prog = entry_prog(self, prog_fd, uapi.BPF_XDP_CPUMAP)
        except KernelError:
            raise refuse(ENOMEM, "an entry is made or not, whatever the reason") from None
        self._put(key, (queue, prog.id if prog is not None else 0), prog)
        if self.bpf.frames is not None:
            self.queues[key] = self.bpf.frames.cpu_queue(self.id, int.from_bytes(key[:4], order), queue, prog)

    def _drop(self, key: bytes) -> None:
        super()._drop(key)
        queue = self.queues.pop(key, None)
        if queue is not None:
            queue.stop()

    def delete(self, key: bytes) -> None:
        super().delete(key)
        self._drop(key)

    def queue_of(self, cpu: int) -> CpuFrames | None:
        """The queue of an entry."""
        return self.queues.get(cpu.to_bytes(4, self.mem.byteorder))


@map_type(
    17,
    "XSKMAP",
    since="4.18",
    commit="fbfc504a24f5",
    struct="xsk_map",
    helpers="redirect_map map_lookup_elem",
    btf="none",
    loader_btf=False,
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
        self.elements = self.array_size - XSK_BEFORE
        self.address = self.allocate(
            self.elements + 8 * self.max_entries, 64
        )  # programs read their elements themselves
        self.sockets: dict[int, FrameSocket] = {}

    def _index(self, key: bytes) -> int:
        return int.from_bytes(key[:4], self.mem.byteorder)

    def _store(self, index: int, address: int) -> None:
        self.mem.write_uint(self.address + self.elements + 8 * index, 8, address)

    def lookup(self, key: bytes) -> int:
        """xsk_map_lookup_elem(): a struct xdp_sock."""
        found = self.sockets.get(self._index(key))
        return found.addr if found is not None else 0

    def user_lookup(self, key: bytes, flags: int) -> bytes:
        """xsk_map_lookup_elem_sys_only()."""
        raise refuse(EOPNOTSUPP)

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        """xsk_map_update_elem(): a socket that need not be bound."""
        index, fd = self._index(key), int.from_bytes(value[:4], self.mem.byteorder, signed=True)
        if flags > uapi.BPF_EXIST:
            raise refuse(EINVAL)
        if index >= self.max_entries:
            raise refuse(E2BIG)
        if self.bpf.frames is None:
            self.host.fd_get(fd)
            raise refuse(ENOTSOCK)
        sock, old = self.bpf.frames.frame_socket(fd), self.sockets.get(index)
        if old is sock:
            return
        if old is not None and flags == uapi.BPF_NOEXIST:
            raise refuse(EEXIST)
        if old is None and flags == uapi.BPF_EXIST:
            raise refuse(ENOENT)
        self.forget(index)
        self.sockets[index] = sock
        sock.places.append((self, index))
        self._store(index, sock.addr)

    def forget(self, index: int) -> None:
        """xsk_map_try_sock_delete()."""
        old = self.sockets.pop(index, None)
        if old is not None:
            old.places.remove((self, index))
            self._store(index, 0)

    def delete(self, key: bytes) -> None:
        super().delete(key)
        self.forget(self._index(key))

    def free_elements(self) -> None:
        for index in list(self.sockets):
            self.forget(index)
