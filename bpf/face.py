"""What BPF needs from the floor above it, and what it shows of itself there.

The kernel implements `BpfHost`; tests and case files use the small one of `bpf/testing/host.py`.  Addresses are plain
ints, times are nanoseconds of virtual time, errors are KernelError.  What a host lacks it answers with None, 0 or an
errno, as the comments say; no member is ever missing.

    FdObject       what lies behind a descriptor that bpf(2) made: maps, programs, links, BTF, iterators
    Prog, Link     a loaded and an attached program, for those who run or show them
    AttachRequest  the kinds of events that programs are attached to
    BpfHost        the machine around it all
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import ClassVar, Protocol

from arch.abi.errno import EINVAL, ENOTSUPP, EOPNOTSUPP
from arch.abi.version import KernelVersion
from arch.architecture import Architecture
from arch.errors import KernelError
from arch.memory import Memory
from arch.native import Block
from arch.records import dataclass
from bpf.btf import Btf
from bpf.device_face import DeviceAttach
from bpf.layout import KernelLayout
from bpf.perf_face import PerfEvent, PerfEventInfo
from bpf.socket_face import SocketHost
from bpf.walk_face import Walks
from tracing.face import KernelMem, SymbolTable

Detach = Callable[[], None]
Registers = list[int]


# ---- what lies behind a descriptor ----


class FdObject:
    """An object of BPF as its file sees it: struct file_operations, with what a file without an operation answers."""

    anon_name: ClassVar[str] = "bpf"  # of the anonymous inode

    @property
    def waiters(self) -> Hashable:
        """What pollers sleep on until BpfHost.wake()."""
        return self

    def poll(self) -> int | None:
        """Poll bits; None: always ready."""
        return None

    def read(self, size: int) -> bytes:
        """The next bytes; EINVAL for what is not read."""
        raise KernelError(EINVAL)

    def check_mmap(self, shared: bool, writable: bool) -> None:
        """KernelError if no such mapping can be made."""
        if not shared:
            raise KernelError(EINVAL, "only shared mappings")

    def mmap_pages(self, offset: int, pages: int, writable: bool) -> list[int]:
        """Kernel addresses of the pages a mapping shows, from a byte offset on; ENOTSUPP."""
        raise KernelError(ENOTSUPP, "this object cannot be mapped")

    def writers(self, more: int) -> None:
        """So many mappings more (or less) through which it can be written."""

    def fdinfo(self) -> str:
        """Lines of its own in /proc/PID/fdinfo."""
        return ""

    def release(self) -> None:
        """The last descriptor of one open file is gone."""


class Runnable(Protocol):
    """The instructions of a program, ready to be run by one of the engines."""

    def execute(self, r: Registers, start: int = 0) -> None:
        """Run from an instruction on until the program's end; R0 is r[0]."""

    def call_back(self, r: Registers, start: int, *args: int) -> int:
        """Call the function that starts at an instruction, in a run on its way."""


class Prog(FdObject, ABC):
    """A loaded program: struct bpf_prog."""

    id: int
    type: int
    expected_attach_type: int
    attach_btf_id: int
    text: int  # address of its first function
    tag: bytes
    name: str
    btf: Btf | None  # its own types
    program: Runnable
    recursion_misses: int

    @abstractmethod
    def get(self) -> None:
        """One more reference."""

    @abstractmethod
    def put(self) -> None:
        """One reference less."""

    @abstractmethod
    def run(self, ctx: int, cookie: int = 0, entry_ip: int = 0) -> int:
        """The low 32 bits of R0 for the context at this address."""

    @abstractmethod
    def run_function(self, address: int, *args: int) -> int:
        """A function of the program by itself: a timer's callback."""

    @abstractmethod
    def compatible_with(self, array: ProgArray) -> bool:
        """bpf_prog_map_compatible(): may it be an element of this program array?"""


@dataclass(frozen=True)
class ProgArrayOwner:
    """What the first program of a program array decides for the others."""

    type: int
    jited: bool
    expected_attach_type: int
    xdp_has_frags: bool
    target: tuple[int, int] | None  # BTF id and program that tracing-like programs attach to


class ProgArray(Protocol):
    """The part of a program array that programs compare themselves with."""

    owner: ProgArrayOwner | None


class Link(FdObject, ABC):
    """An attached program as an object: struct bpf_link."""

    id: int
    type: int
    prog: Prog
    request: AttachRequest

    @abstractmethod
    def get(self) -> None:
        """One more reference."""

    def detach(self) -> None:
        """The event does not run the program any more; EOPNOTSUPP."""
        raise KernelError(EOPNOTSUPP)

    @abstractmethod
    def put(self) -> None:
        """One reference less; the last one detaches."""


# ---- attaching ----


class Cgroup(Protocol):
    """A control group."""

    @property
    def id(self) -> int: ...
    @property
    def addr(self) -> int:
        """Of its struct cgroup; 0: nobody has asked for that yet."""

    @property
    def parent(self) -> Cgroup | None:
        """The group above; None of the root."""

    @property
    def path(self) -> str:
        """As /proc/PID/cgroup shows it."""

    def contains_current(self) -> bool:
        """The current task is in it or below it."""


@dataclass(frozen=True)
class NetNamespace:
    """A network namespace: the upper floor's token of it, and the inode number that names it."""

    token: Hashable
    ino: int
    root: bool = False  # the machine's first


@dataclass(frozen=True)
class RawTracepointAttach:
    """A tracepoint by name; the context is its arguments."""

    name: str
    cookie: int = 0


@dataclass(frozen=True)
class TracingAttach:
    """A trampoline on a kernel function (fentry, fexit, fmod_ret, LSM hooks), or on a function of another program."""

    attach_type: int
    btf_id: int
    symbol: str | None
    cookie: int = 0
    target: Prog | None = None


@dataclass(frozen=True)
class TracingMultiAttach:
    """Trampolines of many kernel functions by one link; `functions`: BTF id, name and cookie of each."""

    attach_type: int
    functions: Sequence[tuple[int, str, int]]


@dataclass(frozen=True)
class KprobeMultiAttach:
    """Many functions with one link; `session`: the program runs at entry and return."""

    addresses: Sequence[int]
    cookies: Sequence[int]
    is_return: bool
    session: bool = False
    named: bool = False  # the addresses are of names


@dataclass(frozen=True)
class FunctionsAttached:
    """A program at many functions; `missed`: how many calls of the kernel's were not caught until now."""

    detach: Detach
    missed: Callable[[], int]


class ProbedFile(Protocol):
    """A file whose functions are probed."""

    def path(self) -> str:
        """As the current task sees it."""


@dataclass(frozen=True)
class UprobeMultiAttach:
    """Many functions of a file; `places`: offset, counter's offset and cookie of each; `process`: only there, None: everywhere."""

    file: ProbedFile
    places: Sequence[tuple[int, int, int]]
    process: int | None
    is_return: bool
    session: bool


@dataclass(frozen=True)
class PerfEventAttach:
    """A perf event that is open already."""

    event: PerfEvent
    cookie: int = 0


@dataclass(frozen=True)
class IterAttach:
    """Objects of a kind; nothing happens before BPF_ITER_CREATE."""

    target: str
    info: bytes  # union bpf_iter_link_info
    map: FdObject | None = None  # whose elements
    cgroup: Cgroup | None = None  # where the walk begins, and its BPF_CGROUP_ITER_
    order: int = 0


@dataclass(frozen=True)
class CgroupAttach:
    """A hook of a control group; `flags`: BPF_F_ALLOW_*; `link`: by a link."""

    cgroup: Cgroup
    attach_type: int
    flags: int
    link: bool


@dataclass(frozen=True)
class NetnsAttach:
    """A hook of a network namespace."""

    netns: NetNamespace
    attach_type: int


@dataclass(frozen=True)
class XdpAttach:
    """A network device's receive path."""

    ifindex: int
    flags: int


FunctionsAttach = KprobeMultiAttach | UprobeMultiAttach
AttachRequest = (
    RawTracepointAttach
    | TracingAttach
    | TracingMultiAttach
    | KprobeMultiAttach
    | UprobeMultiAttach
    | PerfEventAttach
    | IterAttach
    | CgroupAttach
    | NetnsAttach
    | DeviceAttach
    | XdpAttach
)


class Timer(Protocol):
    """An armed timer."""

    def cancel(self) -> None:
        """Forget it; harmless when it has run."""


# ---- the machine ----


class BpfHost(Protocol):
    """The kernel as seen by BPF.  Its `bpf.board.Bpf(host)`, one for each machine, is kept by whoever made the host."""

    # Facts
    @property
    def version(self) -> KernelVersion: ...
    @property
    def version_code(self) -> int:
        """LINUX_VERSION_CODE."""

    @property
    def config(self) -> frozenset[str]:
        """Options that the kernel is built with beyond Debian's: bpf/versions/config.py."""

    @property
    def arch(self) -> Architecture | None:
        """None: programs are checked as on x86_64."""

    @property
    def mem(self) -> KernelMem: ...
    @property
    def block(self) -> Block:
        """What native code shares with Python; it knows where `mem` is."""

    @property
    def symbols(self) -> SymbolTable: ...
    @property
    def nr_cpus(self) -> int: ...
    @property
    def ram_bytes(self) -> int: ...
    @property
    def vmlinux_btf(self) -> Btf | None:
        """The kernel's own BTF; None where it has none."""

    @property
    def structs(self) -> KernelLayout:
        """Where this kernel keeps the members of its structures."""

    # ---- descriptors of the current task ----
    def attach_lsm_cgroup(self, symbol: str, place: int) -> Detach:
        """A hook of LSM asks the programs that groups have at that place.  The answer ends it."""

    def fd_install(self, obj: FdObject, name: str, flags: int) -> int:
        """Lowest free descriptor for a new anonymous inode `name` ("bpf-map"); `flags`: access mode | O_CLOEXEC.

        The file keeps `obj`; when its last descriptor or mapping goes it calls `obj.release()`.
        KernelError(EMFILE or ENFILE).
        """

    def fd_get(self, fd: int) -> object:
        """The object of an open descriptor: what fd_install() was given, or the upper floor's own.  EBADF."""

    def fd_flags(self, fd: int) -> int:
        """Access mode of an open descriptor: O_RDONLY, O_WRONLY or O_RDWR."""

    def fd_perf_event(self, fd: int) -> PerfEvent:
        """The perf event behind a descriptor; EBADF."""

    def fd_cgroup(self, fd: int) -> Cgroup:
        """The control group whose directory it is; EBADF."""

    def cgroup_parent(self, address: int) -> int:
        """Address of the struct cgroup above one; 0 above the root, and above what is none."""

    def cgroup_by_id(self, number: int) -> Cgroup | None:
        """The control group with this id, 0: the root; None where there is none."""

    def pid_of_fd(self, fd: int) -> int:
        """The process of a pidfd; EBADF."""

    def probed_file(self, path: str | None, fd: int) -> ProbedFile:
        """By its path, or a descriptor where that is None; EBADF for what is no regular file."""

    def process_of_pid(self, pid: int) -> int:
        """The current task's number of a process as the machine's own; ESRCH."""

    def pid_of_process(self, process: int) -> int:
        """And back; 0 for one that the current task does not see, or that is gone."""

    def fd_netns(self, fd: int) -> NetNamespace:
        """The network namespace it is; EINVAL."""

    def current_netns(self) -> NetNamespace:
        """The current task's."""

    def fd_owner(self, fd: int, kind: str) -> int:
        """Kernel address of the "task" of a pidfd, the "inode" of a file, the "sock" of a socket; 0 for another file."""

    def close(self, fd: int) -> None:
        """close(2)."""

    def task_fd(self, pid: int, fd: int) -> object:
        """The object behind another task's descriptor; ENOENT, EBADF."""

    # ---- bpffs ----
    def bpffs_pin(self, path: int, obj: FdObject, name: str) -> None:
        """BPF_OBJ_PIN: make a file of this object at the path at user address `path`; the file keeps a reference."""

    def bpffs_get(self, path: int, flags: int) -> object:
        """BPF_OBJ_GET: the object behind a file in bpffs; EACCES if the file may not be opened like that."""

    def token_refused(self, fd: int) -> KernelError:
        """BPF_TOKEN_CREATE: why the current task gets no token of a bpffs's root.  EBADF, EINVAL, EPERM, EOPNOTSUPP."""

    # ---- numbers ----
    def now_ns(self) -> int: ...
    def random_u32(self) -> int:
        """From the machine's seed."""

    def clock_ns(self, clock: str) -> int:
        """One of "monotonic", "boottime", "monotonic_coarse", "tai", "realtime"."""

    def jiffies64(self) -> int: ...
    def cpu_id(self) -> int: ...
    def on_cpu(self, number: int) -> AbstractContextManager[None]:
        """What the block does, it does on that CPU."""

    def numa_node_id(self) -> int: ...
    def per_cpu_offset(self, cpu: int) -> int:
        """Bytes from a per-CPU variable's address to that CPU's own."""

    def task_referenced(self, task: int) -> bool:
        """Is the usage count of the task at this address more than zero?"""

    # ---- the current task ----
    def capable(self, capability: str) -> bool:
        """Has the current task "sys_admin", "perfmon" ...?"""

    def user_mem(self) -> Memory | None:
        """The current task's user memory, None for a kernel thread."""

    def user_mem_nofault(self) -> Memory | None:
        """The same as copy_from_user_nofault() sees it: pages that are not there yet are not brought in."""

    def current_pid(self) -> int: ...
    def current_tgid(self) -> int: ...
    def current_uid(self) -> int: ...
    def current_gid(self) -> int: ...
    def current_comm(self) -> str: ...
    def current_task_address(self) -> int:
        """Kernel address of its struct task_struct."""

    def task_address(self, pid: int) -> int | None:
        """Of the thread with this pid."""

    def current_cgroup_id(self, ancestor_level: int | None = None) -> int: ...
    def ns_pid_tgid(self, dev: int, ino: int) -> tuple[int, int] | None:
        """(pid, tgid) in the pid namespace with this device and inode; None: not the task's."""

    def send_signal(self, signal: int, whole_process: bool) -> int:
        """To the current task; 0 or -errno."""

    def in_nmi(self) -> bool: ...

    # ---- stacks, registers, kernel objects ----
    def callchain(self, regs: int, *, user: bool, max_depth: int) -> list[int] | None:
        """Return addresses, innermost first, as perf_callchain_kernel() or _user() give them."""

    def task_callchain(self, task: int, max_depth: int) -> list[int] | None:
        """Kernel stack of another task."""

    def task_pt_regs(self, task: int) -> int:
        """Address of the struct pt_regs at the bottom of its kernel stack."""

    def is_user_task(self, task: int) -> bool:
        """It has registers of user mode: it is no kernel thread."""

    def read_task_user(self, task: int, addr: int, size: int) -> bytes:
        """access_process_vm(); Fault."""

    def override_return(self, regs: int, value: int) -> None:
        """The probed function is not executed, and returns `value`."""

    def build_id(self, ip: int) -> tuple[bytes, int] | None:
        """20 bytes that name the file which the current task has mapped at an address, and the offset in it."""

    def find_vma(self, task: int, addr: int) -> int:
        """Address of the struct vm_area_struct around a user address; 0 if there is none."""

    def d_path(self, path: int) -> bytes:
        """Text of the struct path at this address; KernelError."""

    def sock_from_file(self, file: int) -> int:
        """Address of the struct socket of a struct file; 0 for a file that is none."""

    def receive_frames(self, device: int, frames: list[bytes]) -> bool:
        """The struct net_device at an address receives frames, as from its wire; True: do_softirq() takes them up the stack."""

    def net_device(self, ifindex: int) -> int | None:
        """Address of a struct net_device, 0 if there is none; None: this machine has no network."""

    @property
    def sockets(self) -> SocketHost | None:
        """None: this machine has no network."""

    @property
    def walks(self) -> Walks | None:
        """None: this machine has no tasks to walk over."""

    def load_packet(self, skb: int, off: int, size: int) -> int:
        """LD_ABS and LD_IND of the classic interpreter: bytes of a packet in network order, -1 beyond its end."""

    # ---- output ----
    def pr(self, level: int, text: str) -> None:
        """printk: one line for the kernel log."""

    def trace_printk(self, text: str) -> None:
        """Text into the trace buffer; by version as an entry of its own or as the tracepoint bpf_trace_printk."""

    def any_watched(self, names: Iterable[str]) -> bool:
        """A probe or a program sits in one of these functions of the kernel."""

    def around(self, name: str, args: tuple[int, ...], body: Callable[[], int]) -> int:
        """What a function returns that the CPU cannot be made to call now: the programs of its trampoline run around `body`."""

    def tracepoint(self, name: str, *args: int) -> None:
        """Fire one of the kernel's tracepoints."""

    def seq_write(self, seq: int, data: bytes) -> None:
        """Text of an iterator: into the struct seq_file at this address; EINVAL if there is none."""

    def perf_event_output(self, event: PerfEvent, regs: int, data: bytes) -> bool:
        """A raw sample into the buffer of a perf event; False when it is lost."""

    def perf_event_read(self, event: PerfEvent) -> tuple[int, int, int]:
        """Counter, time enabled, time running."""

    def perf_event_query(self, obj: object) -> PerfEventInfo | None:
        """bpf_get_perf_event_info(): None for what is no perf event; ENOENT without a program, EOPNOTSUPP for a counter's."""

    def dump_stack(self) -> None:
        """A kernel stack record in the trace buffer (3.20-rfc)."""

    # ---- attaching, waiting ----
    def attach(self, prog: Prog, request: AttachRequest) -> Detach:
        """Make `prog.run(ctx)` happen at an event, until the answer is called.  KernelError when that cannot be."""

    def attach_functions(self, prog: Prog, request: FunctionsAttach) -> FunctionsAttached:
        """At many functions, likewise."""

    def xdp_replace(self, request: XdpAttach, prog: Prog) -> None:
        """A link's program on a device is another one now."""

    def iter_create(self, link: Link) -> FdObject:
        """BPF_ITER_CREATE: a file whose reading runs the link's program; EOPNOTSUPP."""

    def sys_bpf(self, cmd: int, attr: int, size: int) -> int:
        """kern_sys_bpf(): the system call with attributes in kernel memory; a result or -errno."""

    def bpf_symbols_changed(self) -> None:
        """The programs to list in /proc/kallsyms are others now."""

    def wake(self, key: Hashable) -> None:
        """Let the tasks that sleep on `key` run again."""

    def sleepers(self, key: Hashable) -> tuple[int, int]:
        """Host addresses of references to the list of those and to the dict of who else is told; 0, 0: native code cannot look."""

    def forget_sleepers(self, key: Hashable) -> None:
        """Nobody will sleep on `key` any more."""

    def add_timer(self, delay_ns: int, callback: Callable[[], None]) -> Timer:
        """Call back after `delay_ns` of virtual time."""
