"""One machine's BPF: its maps, programs, links and BTFs by id, and what outlives a single run of a program.

kernel/bpf/syscall.c keeps the same in map_idr, prog_idr, link_idr and btf_idr.  Objects hold references to each other
as in the kernel (a descriptor holds a program, a program its maps); what is freed while a program runs stays readable
until no program runs any more, which is the part of RCU that a program can notice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from arch.abi.errno import EBADF, EINVAL, ENOSPC, ENOTSUPP
from arch.errors import KernelError
from bpf.maps import create_map
from bpf.maps.base import BpfMap, MapAttr

# Commands, types and helpers up to 4.8 are checked by the classic verifier; struct layouts before ids existed (4.13).
CLASSIC_UNTIL = (4, 9)
STACK_LEFTOVER = 0xFFFFC900003AFB98


class IdTable:
    """An idr: cyclic allocation from 1.  kernel/bpf/syscall.c:bpf_map_alloc_id()."""

    def __init__(self) -> None:
        self.objects: dict[int, Any] = {}
        self._next = 1

    def add(self, obj: Any) -> int:
        """The next id; never one that was used before, as long as numbers last."""
        if self._next > 0x7FFFFFFF:
            raise KernelError(ENOSPC)
        number, self._next = self._next, self._next + 1
        self.objects[number] = obj
        return number

    def remove(self, number: int) -> None:
        """The object is gone."""
        self.objects.pop(number, None)

    def after(self, number: int) -> int | None:
        """The smallest id in use that is larger."""
        return min((n for n in self.objects if n > number), default=None)


class Bpf:
    """The BPF subsystem of one machine."""

    def __init__(self, host: Any) -> None:
        self.host = host
        self.mem = host.mem
        self.version: tuple[int, int] = tuple(host.version)[:2]
        self.maps, self.progs, self.links, self.btfs = IdTable(), IdTable(), IdTable(), IdTable()
        self.memory_limit = int(getattr(host, "ram_bytes", 1 << 30))  # of one map, in bytes
        self.running = 0  # programs on their way, on all CPUs
        self.active: dict[int, int] = {}  # bpf_prog_active by CPU: programs of kprobes do not nest
        self.stats_enabled = 0
        self.attached: dict[tuple[int, int], list[Any]] = {}  # by cgroup and attach type, without links
        self.timers: dict[int, Any] = {}  # struct bpf_timer address -> timer
        self.prog_class: Any = None  # another BpfProg, for runs with every check on
        self.unprivileged_bpf_disabled = 2  # sysctl kernel.unprivileged_bpf_disabled; Debian's default
        self.jit_enable = 1
        self.map_at: dict[int, BpfMap] = {}  # address of struct bpf_map -> map
        self.functions: dict[int, tuple[Any, int]] = {}  # address of a program's function -> (program, instruction)
        self._deferred: list[Callable[[], None]] = []
        self._stacks: list[int] = []
        self._text = 0xFFFFFFFFC0000000

    # ---- who may ----

    def capable(self, capability: str) -> bool:
        """bpf_capable(), perfmon_capable(): CAP_SYS_ADMIN stands in for the newer ones."""
        if self.host.capable(capability):
            return True
        return capability in ("bpf", "perfmon", "net_admin_or_sys") and bool(self.host.capable("sys_admin"))

    # ---- running programs ----

    def enter(self) -> None:
        """A program begins: what is freed from now on waits."""
        self.running += 1

    def leave(self) -> None:
        """A program ended; the last one lets go of what was freed meanwhile."""
        self.running -= 1
        if not self.running and self._deferred:
            waiting, self._deferred = self._deferred, []
            for free in waiting:
                free()

    def defer(self, free: Callable[[], None]) -> None:
        """call_rcu()."""
        if self.running:
            self._deferred.append(free)
        else:
            free()

    def defer_free(self, mem: Any, address: int) -> None:
        """kfree_rcu()."""
        if self.running:
            self._deferred.append(lambda: mem.free(address))
        else:
            mem.free(address)

    def take_stack(self, size: int) -> int:
        """Address one past the top of a stack for one run.

        It is not cleared, as in the kernel; a new one holds what a kernel stack is full of, addresses.
        """
        if self._stacks:
            return self._stacks.pop()
        address = int(self.mem.alloc(size, 64))
        self.mem.write(address, STACK_LEFTOVER.to_bytes(8, self.mem.byteorder) * (size // 8))
        return address + size

    def give_stack(self, top: int) -> None:
        """The run is over."""
        self._stacks.append(top)

    def take_text(self, size: int) -> int:
        """Where a program of so many bytes is said to be."""
        address, self._text = self._text, self._text + (size + 64 + 63) // 64 * 64
        return address

    @contextmanager
    def scratch(self, size: int) -> Iterator[int]:
        """Kernel memory for the length of a block: keys and contexts handed to programs."""
        address = self.mem.alloc(max(size, 8))
        try:
            yield address
        finally:
            self.mem.free(address)

    def cancel_timer(self, address: int) -> None:
        """The value that holds this struct bpf_timer goes."""
        timer = self.timers.pop(address, None)
        if timer is not None:
            timer.cancel()

    def release_kptr(self, kptr: Any, address: int) -> None:
        """A value with a kernel pointer goes: the object is not counted here, the pointer is cleared."""
        self.mem.write_uint(address, 8, 0)

    # ---- maps ----

    def new_map(self, attr: MapAttr) -> BpfMap:
        """A map without id or descriptor: kernel-internal, or the first half of BPF_MAP_CREATE."""
        new = create_map(self, attr)
        self.map_at[new.address] = new
        return new

    def publish_map(self, new: BpfMap) -> None:
        """bpf_map_alloc_id()."""
        new.id = self.maps.add(new)
        new.describe()

    def forget_map(self, old: BpfMap) -> None:
        """bpf_map_free_id()."""
        self.maps.remove(old.id)
        address = old.address
        self.defer(lambda: self._unmap(address))

    def _unmap(self, address: int) -> None:
        self.map_at.pop(address, None)

    def map_of_fd(self, fd: int) -> BpfMap:
        """__bpf_map_get(): EBADF if not open, EINVAL if not a map."""
        found = self.host.fd_get(fd)
        if not isinstance(found, BpfMap):
            raise KernelError(EINVAL)
        return found

    def prog_of_fd(self, fd: int) -> Any:
        """bpf_prog_get(): EBADF if not open, EINVAL if not a program."""
        from bpf.core.program import BpfProg

        found = self.host.fd_get(fd)
        if not isinstance(found, BpfProg):
            raise KernelError(EINVAL)
        return found

    def inner_map_model(self, fd: int) -> BpfMap:
        """bpf_map_meta_alloc(): the map that says what can be put into a map of maps."""
        model = self.map_of_fd(fd)
        if model.inner is not None:
            raise KernelError(EINVAL)
        if not model.can_be_inner or model.has_spin_lock():
            raise KernelError(ENOTSUPP)
        return model

    def inner_map_of_fd(self, outer: BpfMap, fd: int) -> BpfMap:
        """bpf_map_fd_get_ptr(): a map like the model; the reference is the outer map's."""
        inner = self.map_of_fd(fd)
        assert outer.inner_map_meta is not None
        if not outer.inner_map_meta.meta_equal(inner):
            raise KernelError(EINVAL)
        inner.get()
        return inner

    # ---- BTF of keys ----

    def check_array_btf(self, checked: BpfMap, btf: Any, key_type_id: int) -> None:
        """array_map_check_btf(): a 32-bit integer as key, or (one element only) none."""
        from bpf.maps import btf as map_btf  # knows maps, so it is imported late

        map_btf.check_int_key(checked, btf, key_type_id)

    def check_struct_key_btf(self, btf: Any, key_type_id: int) -> None:
        """trie_check_btf()."""
        from bpf.maps import btf as map_btf  # knows maps, so it is imported late

        map_btf.check_struct_key(btf, key_type_id)

    def check_cgroup_key_btf(self, checked: BpfMap, btf: Any, key_type_id: int) -> None:
        """cgroup_storage_check_btf()."""
        from bpf.maps import btf as map_btf  # knows maps, so it is imported late

        map_btf.check_cgroup_key(checked, btf, key_type_id)

    # ---- what kernel BTF knows ----

    def kfunc_name(self, btf_id: int, off: int) -> str:
        """The kernel function a call of a BTF id means."""
        btf = getattr(self.host, "vmlinux_btf", None)
        return str(btf.name_of(btf_id)) if btf is not None and btf_id < len(btf) else f"kfunc#{btf_id}"

    def seq_write(self, seq: int, data: bytes) -> None:
        """Text of an iterator: into the struct seq_file the host knows."""
        write = getattr(self.host, "seq_write", None)
        if write is None:
            raise KernelError(EINVAL)
        write(seq, data)

    def no_such_fd(self) -> KernelError:
        """For hosts without descriptors."""
        return KernelError(EBADF)
