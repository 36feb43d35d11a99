"""One machine's BPF: its maps, programs, links and BTFs by id, and what outlives a single run of a program.

kernel/bpf/syscall.c keeps the same in map_idr, prog_idr, link_idr and btf_idr.  Objects hold references to each other
as in the kernel (a descriptor holds a program, a program its maps); what is freed while a program runs stays readable
until no program runs any more, which is the part of RCU that a program can notice.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from arch.abi.errno import ENOSPC
from arch.errors import KernelError
from arch.native import Word
from arch.native.handler import chosen_tier
from arch.records import dataclass
from bpf.btf import Btf
from bpf.cgroup import CgroupPrograms
from bpf.face import BpfHost, Detach, FdObject, Link, Prog
from bpf.frames import FrameHost, RouteHost
from bpf.maps.base import BpfMap, MapAttr, StructOps, map_of_fd
from bpf.maps.info import KptrField
from bpf.maps.psock import Psock
from bpf.maps.ring import Rings
from bpf.maps.types import create_map
from bpf.mprog import DevicePrograms
from bpf.netns import NetnsPrograms
from bpf.owned import OwnedObjects
from bpf.perf_face import PerfEvent
from bpf.rstat import UpdatedGroups
from bpf.versions.config import configured
from tracing.face import KernelMem

# Commands, types and helpers up to 4.8 are checked by the classic verifier; struct layouts before ids existed (4.13).
CLASSIC_UNTIL = "4.9"
ABOVE_STACK = 64  # bytes that belong to nobody: what a program reads there is not another object's
STACK_LEFTOVER = 0xFFFFC900003AFB98
Object = TypeVar("Object")


class IdTable(Generic[Object]):
    """An idr: cyclic allocation from 1.  kernel/bpf/syscall.c:bpf_map_alloc_id()."""

    def __init__(self) -> None:
        self.objects: dict[int, Object] = {}
        self._next = 1

    def add(self, obj: Object) -> int:
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


KERNEL_BTF_ID = 1  # the kernel's own types are the first
BTF_KEPT = 8  # bytes for each byte of BTF: it, its types, what they resolve to


class BtfObject(FdObject):
    """struct btf as an object: loaded by a task, or the kernel's own."""

    anon_name = "btf"

    def __init__(self, bpf: Bpf, btf: Btf, data: bytes, *, is_kernel: bool = False, name: str = "") -> None:
        self.bpf, self.btf, self.is_kernel, self.name = bpf, btf, is_kernel, name
        self._data = data
        self.id = 0
        self.refs = 0

    @property
    def data(self) -> bytes:
        """The bytes of the BTF; the kernel's are made when somebody asks."""
        if not self._data and self.is_kernel:
            self._data = self.btf.encode()
        return self._data

    def get(self) -> None:
        """One more reference: a descriptor, a map, a program."""
        self.refs += 1

    def put(self) -> None:
        """One less."""
        self.refs -= 1
        if self.refs == 0 and not self.is_kernel:
            self.bpf.btfs.remove(self.id)
            self.bpf.mem.charge(-BTF_KEPT * len(self._data))

    def release(self) -> None:
        self.put()

    def fdinfo(self) -> str:
        """bpf_btf_show_fdinfo()."""
        return f"btf_id:\t{self.id}\n"


HelperCall = Callable[[list[int]], int]  # registers of the program -> R0


@dataclass(frozen=True, slots=True)
class Redirect:
    """struct bpf_redirect_info: where a program wants its frame to go; without a map the index is a device's."""

    index: int
    map: BpfMap | None = None
    flags: int = 0
    more: bytes = b""  # struct bpf_redir_neigh, or the frame of a copy


class ValueTimer(Protocol):
    """A timer in a map value: struct bpf_hrtimer."""

    def cancel(self) -> None:
        """bpf_timer_cancel_and_free()."""


class Bpf:
    """The BPF subsystem of one machine."""

    def __init__(self, host: BpfHost) -> None:
        self.host = host
        self.mem = host.mem
        self.version = host.version
        self.classic = host.version.before(CLASSIC_UNTIL)  # asked at every probe hit
        self.maps: IdTable[BpfMap] = IdTable()
        self.progs: IdTable[Prog] = IdTable()
        self.links: IdTable[Link] = IdTable()
        self.btfs: IdTable[BtfObject] = IdTable()
        self.memory_limit = host.ram_bytes  # of one map, in bytes
        self.running = 0  # programs on their way, on all CPUs
        self.active = (ctypes.c_uint64 * host.nr_cpus)()  # bpf_prog_active: programs of kprobes do not nest
        self.tier = chosen_tier()
        self.cgroups = CgroupPrograms()
        self.netns = NetnsPrograms()
        self.devices = DevicePrograms()
        self.flow_of: Callable[[int], bytes | None] | None = None  # of the packet at an address, for its hash
        self.routes: RouteHost | None = None  # None: this machine has no network
        self.frames: FrameHost | None = None  # None: this machine has no network
        self.redirect: Redirect | None = None  # of the program that ran last
        self.sysctl_names: dict[
            int, str
        ] = {}  # struct bpf_sysctl_kern -> "net.ipv4.ip_forward", while programs look at it
        self.walks: dict[
            int, Iterator[int]
        ] = {}  # iterators that programs have open, by their places -> what is still to come
        self.timers: dict[int, ValueTimer] = {}  # struct bpf_timer address -> timer
        self.prog_class: type[Prog] | None = None  # another BpfProg, for runs with every check on
        # For who walks the verifier's path: bpf/verifier/api.py.
        self.on_prune: Callable[[int, list[tuple[list[str], str, str]]], object] | None = None
        self.unprivileged_bpf_disabled = 2  # sysctl kernel.unprivileged_bpf_disabled; Debian's default
        # sysctl net.core.bpf_jit_enable
        self.jit_enable = int(self.built_with("BPF_JIT") and self.built_with("BPF_JIT_DEFAULT_ON"))
        self.jit_harden = 0  # sysctl net.core.bpf_jit_harden
        self._counts_always = False
        self.rings = Rings()
        self.congestion_controls: dict[str, StructOps] = {}  # that programs supply: tcp_cong_list
        # For tests of programs: gets the names of a helper that a program calls, and the call; gives what is called instead.
        self.intercept: Callable[[Sequence[str], HelperCall], HelperCall] | None = None
        self.counting = False  # the same: counts of instructions are kept for programs loaded from now on
        self.on_loaded: list[Callable[[Prog], None]] = []
        self.map_at: dict[int, BpfMap] = {}  # address of struct bpf_map -> map
        self.functions: dict[int, tuple[Prog, int]] = {}  # address of a program's function -> (program, instruction)
        self.last_cookie = 0
        self.cookies: dict[int, int] = {}  # socket -> its cookie, from 1 in the order they are asked for
        self.mapped_socks: dict[int, set[BpfMap]] = {}  # address of a struct sock -> the maps that it is in
        self.psocks: dict[int, Psock] = {}  # and the programs that it has from them
        self.message_pages: list[int] = []  # taken by the program that edits a message now
        self.lsm_shims: dict[
            int, tuple[int, Detach]
        ] = {}  # place of a hook -> how many programs of groups, and the end
        self.keyrings: set[tuple[int, int]] = set()  # KEY_SPEC_ and the thread or process that has made it
        self.updated_groups = UpdatedGroups()
        self.owned = OwnedObjects()
        self.test_struct = 0  # address of the struct prog_test_ref_kfunc of the test kernel functions
        self._stats_enabled = 0
        self.copies: list[Redirect] | None = (
            None  # what a classifier that runs now sends elsewhere (bpf_clone_redirect)
        )
        self.perf_events: dict[int, PerfEvent] = {}  # whose programs run now, by their contexts
        self.tunnel = 0  # struct metadata_dst of programs, once one has set a tunnel
        # bpf_trace_printk() for compiled programs: function, words, guard; None: it is Python's.
        self.printk: Callable[[], tuple[int, int, int] | None] = lambda: None
        self.task_words: ctypes.Array[ctypes.c_uint64] | None = None  # for native helpers: offsets of members
        self._deferred: list[Callable[[], None]] = []
        self._stacks: list[int] = []
        self._text = 0xFFFFFFFFC0000000

    @property
    def stats_enabled(self) -> int:
        """How many want run_cnt and run_time_ns counted; meanwhile all hits go through Python."""
        return self._stats_enabled

    @stats_enabled.setter
    def stats_enabled(self, users: int) -> None:
        self._stats_enabled = users
        self.host.block.words[Word.FALLBACK] = users

    def count_always(self, wanted: bool) -> None:
        """kernel.bpf_stats_enabled was written: bpf_stats_handler()."""
        self.stats_enabled += wanted - self._counts_always
        self._counts_always = wanted

    def built_with(self, option: str) -> bool:
        """Is the kernel built with CONFIG_`option`?"""
        return configured(self.host.version, self.host.config, option, self.host.arch)

    def blinds(self) -> bool:
        """bpf_jit_blinding_enabled(), for who loads a program now."""
        return bool(self.jit_enable and (self.jit_harden == 2 or (self.jit_harden and not self.capable("bpf"))))

    # ---- who may ----

    def capable(self, capability: str) -> bool:
        """bpf_capable(), perfmon_capable(): CAP_SYS_ADMIN stands in for the newer ones."""
        if self.host.capable(capability):
            return True
        return capability in ("bpf", "perfmon", "net_admin_or_sys") and self.host.capable("sys_admin")

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

    def defer_free(self, mem: KernelMem, address: int) -> None:
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
        address = self.mem.alloc(size + ABOVE_STACK, 64)
        self.mem.write(address, STACK_LEFTOVER.to_bytes(8, self.mem.byteorder) * (size // 8))
        return address + size

    def give_stack(self, top: int) -> None:
        """The run is over."""
        self._stacks.append(top)

    def idle_stack(self, size: int) -> int:
        """The stack that take_stack() would give, for a run in which nothing else takes one."""
        if not self._stacks:
            self._stacks.append(self.take_stack(size))
        return self._stacks[-1]

    @property
    def idle_stacks(self) -> list[int]:
        """Tops of the stacks that no program uses."""
        return self._stacks

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

    @contextmanager
    def instrumentation_off(self) -> Iterator[None]:
        """bpf_disable_instrumentation(): programs of probes and tracepoints do not run on this CPU meanwhile."""
        cpu = self.host.cpu_id()
        self.active[cpu] += 1
        try:
            yield
        finally:
            self.active[cpu] -= 1

    def cancel_timer(self, address: int) -> None:
        """The value that holds this struct bpf_timer goes."""
        timer = self.timers.pop(address, None)
        if timer is not None:
            timer.cancel()

    def release_kptr(self, kptr: KptrField, address: int) -> None:
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
        return map_of_fd(self.host, fd)

    def cookie_of(self, sk: int) -> int:
        """sock_gen_cookie()."""
        if sk not in self.cookies:
            self.last_cookie += 1
            self.cookies[sk] = self.last_cookie
        return self.cookies[sk]

    def owner_gone(self, address: int) -> None:
        """A task, an inode or a socket is freed: bpf_task_storage_free() and its like."""
        self.mapped_socks.pop(address, None)
        self.cookies.pop(address, None)
        for owner in list(self.maps.objects.values()):
            owner.owner_gone(address)

    # ---- what kernel BTF knows ----

    def kfunc_name(self, btf_id: int, off: int) -> str:
        """The kernel function a call of a BTF id means."""
        btf = self.host.vmlinux_btf
        return str(btf.name_of(btf_id)) if btf is not None and btf_id < len(btf) else f"kfunc#{btf_id}"
