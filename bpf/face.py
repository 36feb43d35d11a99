"""What BPF needs from the floors above: a TraceHost, and these.

The kernel implements `BpfHost`; tests and case files use the small one of `bpf/testing/host.py`.  Addresses are plain
ints, times are nanoseconds of virtual time, errors are KernelError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from tracing.face import TraceHost

Detach = Callable[[], None]


class BpfHost(TraceHost, Protocol):
    """The kernel as seen by BPF.  `bpf` is where `bpf.core.system.Bpf(host)` is kept, one for each machine."""

    bpf: Any

    # ---- descriptors of the current task ----
    def fd_install(self, obj: Any, name: str, flags: int) -> int:
        """Lowest free descriptor for a new anonymous inode `name` ("bpf-map"); `flags`: access mode | O_CLOEXEC.

        The file keeps `obj`; when its last descriptor or mapping goes it calls `obj.release()`.  What else files
        can do comes from optional methods of `obj`: `read(file, size)`, `poll()`, `mmap_pages(...)`, `fdinfo()`.
        KernelError(EMFILE or ENFILE).
        """

    def fd_get(self, fd: int) -> Any:
        """The object of an open descriptor: what fd_install() was given, or the upper floor's own file object."""

    def fd_flags(self, fd: int) -> int:
        """Access mode of an open descriptor: O_RDONLY, O_WRONLY or O_RDWR."""

    # ---- bpffs ----
    def bpffs_pin(self, path: int, obj: Any, name: str) -> None:
        """BPF_OBJ_PIN: make a file of this object at the path at user address `path`; the file keeps a reference."""

    def bpffs_get(self, path: int, flags: int) -> Any:
        """BPF_OBJ_GET: the object behind a file in bpffs; EACCES if the file may not be opened like that."""

    # ---- numbers ----
    def random_u32(self) -> int:
        """From the machine's seed."""

    def clock_ns(self, clock: str) -> int:
        """One of "monotonic", "boottime", "monotonic_coarse", "tai", "realtime"."""

    def jiffies64(self) -> int: ...
    def numa_node_id(self) -> int: ...

    # ---- the current task ----
    def current_task_address(self) -> int:
        """Kernel address of its struct task_struct."""

    def task_address(self, pid: int) -> int | None:
        """Of the thread with this pid."""

    def current_gid(self) -> int: ...
    def current_cgroup_id(self, ancestor_level: int | None = None) -> int: ...
    def ns_pid_tgid(self, dev: int, ino: int) -> tuple[int, int] | None:
        """(pid, tgid) in the pid namespace with this device and inode; None: not the task's."""

    def send_signal(self, signal: int, whole_process: bool) -> int:
        """To the current task; 0 or -errno."""

    def in_nmi(self) -> bool: ...
    def user_mode(self, regs: int) -> bool:
        """The struct pt_regs at this address was taken in user mode."""

    # ---- stacks and registers ----
    def callchain(self, regs: int, *, user: bool, max_depth: int) -> list[int] | None:
        """Return addresses, innermost first, as perf_callchain_kernel() or _user() give them."""

    def task_callchain(self, task: int, max_depth: int) -> list[int] | None:
        """Kernel stack of another task."""

    def task_pt_regs(self, task: int) -> int:
        """Address of the struct pt_regs at the bottom of its kernel stack."""

    def read_task_user(self, task: int, addr: int, size: int) -> bytes:
        """access_process_vm(); Fault."""

    def override_return(self, regs: int, value: int) -> None:
        """The probed function is not executed, and returns `value`."""

    def find_vma(self, task: int, addr: int) -> int:
        """Address of the struct vm_area_struct around a user address; 0 if there is none."""

    def d_path(self, path: int) -> bytes:
        """Text of the struct path at this address; KernelError."""

    # ---- output ----
    def trace_printk(self, text: str) -> None:
        """Text into the trace buffer; by version as an entry of its own or as the tracepoint bpf_trace_printk."""

    def perf_event_output(self, event: Any, regs: int, data: bytes) -> None:
        """A raw sample into the buffer of a perf event."""

    def perf_event_read(self, event: Any) -> tuple[int, int, int]:
        """Counter, time enabled, time running."""

    def dump_stack(self) -> None:
        """A kernel stack record in the trace buffer (3.20-rfc)."""

    # ---- attaching ----
    def attach(self, kind: str, prog: Any, options: Mapping[str, Any]) -> Detach:
        """Make `prog.run(ctx)` happen at an event, until the answer is called.

        Kinds: "raw_tracepoint" {name}, "tracing" {attach_type, btf_id, symbol, cookie}, "kprobe_multi"
        {addresses, cookies, is_return}, "perf_event" {event, cookie}, "iter" {target, info}, "cgroup"
        {cgroup, attach_type, flags}, "netns", "xdp".  KernelError when that is not possible.
        """

    def bpf_symbols_changed(self) -> None:
        """The programs to list in /proc/kallsyms are others now."""


class MapCreateHost(Protocol):
    """The part of a host that map types use; every BpfHost is one."""

    version: tuple[int, int]
    mem: Any
    nr_cpus: int
    types: Any

    def cpu_id(self) -> int: ...
    def capable(self, capability: str) -> bool: ...
    def random_u32(self) -> int: ...
    def fd_get(self, fd: int) -> Any: ...
    def wake(self, key: Any) -> None: ...
    def add_timer(self, delay_ns: int, callback: Callable[[], None]) -> Any: ...


Symbols = Sequence[tuple[int, str]]
