"""/proc/sys: the sysctl tree.  kernel/sysctl.c, fs/proc/proc_sysctl.c.

`Sysctl` keeps the values by dotted name; other subsystems read `k.vfs.sysctl["kernel.perf_event_paranoid"]` and may hang
a function on a name that is called with each new value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from arch.abi.errno import EINVAL, EPERM
from arch.errors import KernelError
from simkernel.fs.hooks import FsPrograms
from simkernel.fs.nodes import Dir, OpenNode, OpenText, PseudoFile
from simkernel.kernel.address_spaces import DEFAULT_MAX_MAP_COUNT
from simkernel.kernel.body import Steps
from simkernel.kernel.face import KernelFace


@dataclass(frozen=True, slots=True)
class Entry:
    """One sysctl: dotted name, first value, mode, and the range of an integer."""

    name: str
    value: Any
    mode: int = 0o644
    low: int = -(1 << 31)
    high: int = (1 << 31) - 1
    since: str | None = None
    until: str | None = None


# (name, initial value, mode, range) in alphabetical order per directory, as /proc/sys lists them
ENTRIES = (
    Entry("debug.kprobes-optimization", 1, low=0, high=1),
    Entry("fs.aio-max-nr", 65536, low=0),
    Entry("fs.aio-nr", 0, 0o444),
    Entry("fs.epoll.max_user_watches", 0, low=0, high=(1 << 63) - 1),  # of memory: set at boot
    Entry("fs.file-max", 9223372036854775807, high=(1 << 63) - 1, low=0),
    Entry("fs.file-nr", "0\t0\t9223372036854775807", 0o444),
    Entry("fs.inode-nr", "0\t0", 0o444),
    Entry("fs.leases-enable", 1),
    Entry("fs.lease-break-time", 45),
    Entry("fs.mount-max", 100_000, low=1, since="4.9"),
    Entry("fs.nr_open", 1048576, low=64),
    Entry("fs.pipe-max-size", 1048576, low=0),
    Entry("fs.pipe-user-pages-hard", 0, low=0, since="4.5"),
    Entry("fs.pipe-user-pages-soft", 16384, low=0, since="4.5"),
    Entry("fs.protected_hardlinks", 0, 0o600, 0, 1),
    Entry("fs.protected_symlinks", 0, 0o600, 0, 1),
    Entry("kernel.bpf_stats_enabled", 0, 0o644, 0, 1, since="5.1"),
    Entry("kernel.cap_last_cap", 40, 0o444),
    Entry("kernel.core_pattern", "core"),
    Entry("kernel.core_pipe_limit", 0, low=0),
    Entry("kernel.core_uses_pid", 0),
    Entry("kernel.dmesg_restrict", 1, low=0, high=1),
    Entry("kernel.domainname", "(none)"),
    Entry("kernel.ftrace_dump_on_oops", 0),
    Entry("kernel.ftrace_enabled", 1, low=0, high=1),
    Entry("kernel.kptr_restrict", 0, low=0, high=2),
    Entry("kernel.max_lock_depth", 1024),
    Entry("kernel.ngroups_max", 65536, 0o444),
    Entry("kernel.osrelease", "", 0o444),
    Entry("kernel.ostype", "Linux", 0o444),
    Entry("kernel.overflowgid", 65534, low=0, high=65535),
    Entry("kernel.overflowuid", 65534, low=0, high=65535),
    Entry("kernel.panic", 0),
    Entry("kernel.panic_on_oops", 0),
    Entry("kernel.perf_cpu_time_max_percent", 25, low=0, high=100),
    Entry("kernel.perf_event_max_contexts_per_stack", 8, low=0, high=1000, since="4.8"),
    Entry("kernel.perf_event_max_sample_rate", 100000, low=1),
    Entry("kernel.perf_event_max_stack", 127, low=0, high=640 * 1024, since="4.7"),
    Entry("kernel.perf_event_mlock_kb", 516),
    Entry("kernel.perf_event_paranoid", 3),  # Debian's
    Entry("kernel.pid_max", 32768, low=301, high=4194304),
    Entry("kernel.printk", "7\t4\t1\t7"),
    Entry("kernel.random.boot_id", "", 0o444),
    Entry("kernel.random.entropy_avail", 256, 0o444),
    Entry("kernel.random.poolsize", 256, 0o444),
    Entry("kernel.random.uuid", "", 0o444),
    Entry("kernel.randomize_va_space", 0, low=0, high=2),
    Entry("kernel.sched_child_runs_first", 0),
    Entry("kernel.sched_rt_period_us", 1000000, low=1),
    Entry("kernel.sched_rt_runtime_us", 950000, low=-1),
    Entry("kernel.stack_tracer_enabled", 0),
    Entry("kernel.sysrq", 0),
    Entry("kernel.tainted", 0),
    Entry("kernel.threads-max", 2048, low=20),
    Entry("kernel.traceoff_on_warning", 0),
    Entry("kernel.tracepoint_printk", 0, since="4.10"),
    Entry("kernel.unprivileged_bpf_disabled", 2, 0o644, 0, 2, since="4.4"),
    Entry("kernel.version", "", 0o444),
    Entry("net.core.bpf_jit_enable", 1, 0o600, 0, 2),
    Entry("net.core.bpf_jit_harden", 0, 0o600, 0, 2, since="4.7"),
    Entry("net.core.bpf_jit_kallsyms", 1, 0o600, 0, 1, since="4.11"),
    Entry("net.core.bpf_jit_limit", 528482304, 0o600, since="4.19"),
    Entry("vm.drop_caches", 0, 0o200, 1, 4),
    Entry("vm.max_map_count", DEFAULT_MAX_MAP_COUNT, low=0),
    Entry("vm.min_free_kbytes", 1024, low=0),
    Entry("vm.mmap_min_addr", 65536, low=0),
    Entry("vm.overcommit_memory", 0, low=0, high=2),
    Entry("vm.overcommit_ratio", 50, low=0),
    Entry("vm.panic_on_oom", 0, low=0, high=2),
    Entry("vm.swappiness", 60, low=0, high=200),
    Entry("vm.unprivileged_userfaultfd", 0, low=0, high=1),
)


class Sysctl(dict[str, Any]):
    """Values by dotted name."""

    def __init__(self, k: KernelFace) -> None:
        super().__init__()
        self.k = k
        self.readers: dict[str, Callable[[], Any]] = {}
        self.programs = FsPrograms()
        self.hooks: dict[str, list[Callable[[Any], None]]] = {}
        self.entries: dict[str, Entry] = {}
        for entry in ENTRIES:
            if k.version.at_least(entry.since) and k.version.before(entry.until):
                self.entries[entry.name] = entry
                self[entry.name] = entry.value

    def show(self, name: str) -> str:
        """The text of the file."""
        reader = self.readers.get(name)
        value = reader() if reader is not None else self[name]
        return f"{value}\n"

    def store(self, name: str, data: bytes) -> None:
        """proc_dointvec_minmax() and proc_dostring()."""
        entry = self.entries[name]
        text = data.decode("utf-8", "surrogateescape").split("\0")[0].rstrip("\n")
        value: Any = text
        if isinstance(entry.value, int):
            words = text.split()
            try:
                value = int(words[0], 0) if words[0][:1] != "0" or words[0] == "0" else int(words[0], 8)
            except (ValueError, IndexError):
                raise KernelError(EINVAL, "not a number") from None
            if not entry.low <= value <= entry.high:
                raise KernelError(EINVAL, "out of range")
        self._check(name, value)
        self[name] = value
        for hook in self.hooks.get(name, ()):
            hook(value)

    def _check(self, name: str, value: Any) -> None:
        """bpf_unpriv_handler(): 1 is for ever."""
        if name == "kernel.unprivileged_bpf_disabled" and self[name] == 1 and value != 1:
            raise KernelError(EPERM, "locked")

    def on_write(self, name: str, hook: Callable[[Any], None]) -> None:
        """Call `hook(value)` after each write of a name."""
        self.hooks.setdefault(name, []).append(hook)


class SysctlFile(PseudoFile):
    """A file of /proc/sys; programs of control groups are asked before it is read and written."""

    def __init__(
        self, table: Sysctl, name: str, read: Callable[[], str] | None, write: Callable[[bytes], None] | None, mode: int
    ) -> None:
        super().__init__(read, write, mode)
        self.table, self.name = table, name

    def open(self, flags: int) -> OpenNode:
        return OpenSysctl(self)

    def ask(self, new: bytes | None, position: int) -> tuple[bytes | None, int]:
        """BPF_CGROUP_RUN_PROG_SYSCTL(): what is to be written, and where.  EPERM, or what a program says."""
        try:
            current = self.show() if self.show is not None else ""
        except KernelError:  # programs hear of no value; whoever reads hears the error
            current = ""
        text = current.encode("utf-8", "surrogateescape") if isinstance(current, str) else current
        error, new, position = self.table.programs.sysctl(self.name, text, new, position)
        if error:
            raise KernelError(-error, "a program of the control group forbids it")
        return new, position


class OpenSysctl(OpenText):
    """An open one: proc_sys_call_handler()."""

    def __init__(self, node: SysctlFile) -> None:
        super().__init__(node)
        self.sysctl = node

    def read(self, size: int, pos: int) -> bytes:
        """As a program says from where."""
        return super().read(size, self.sysctl.ask(None, pos)[1])

    def write(self, data: bytes, pos: int) -> int | Steps[int]:
        """What a program makes of it."""
        new, pos = self.sysctl.ask(data, pos)
        return super().write(data if new is None else new, pos)


def _uuid(k: KernelFace) -> str:
    """Random bytes in the form of RFC 4122, version 4."""
    raw = bytearray(k.random.randbytes(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


SetNames = Callable[[str | None, str | None], None]  # node name, domain name; None: as it is


def make_sysctl(
    k: KernelFace, table: Sysctl, uname: Callable[[], list[str]], open_files: Callable[[], int], set_names: SetNames
) -> Dir:
    """The tree of /proc/sys."""
    table.on_write("vm.max_map_count", k.mm.set_max_map_count)
    table.readers |= {
        "kernel.osrelease": lambda: uname()[2],
        "kernel.version": lambda: uname()[3],
        "kernel.hostname": lambda: uname()[1],
        "kernel.domainname": lambda: uname()[5],
        "kernel.random.uuid": lambda: _uuid(k),
        "kernel.random.boot_id": lambda: _boot_id(k, table),
        "fs.file-nr": lambda: f"{open_files()}\t0\t{table['fs.file-max']}",
    }
    table.entries["kernel.hostname"] = Entry("kernel.hostname", "")
    table["kernel.hostname"] = k.hostname
    table.on_write("kernel.hostname", lambda value: set_names(value[:64], None))
    table.on_write("kernel.domainname", lambda value: set_names(None, value[:64]))
    table.on_write("vm.drop_caches", lambda value: _drop_caches(k))
    root = Dir()
    for name in sorted(table.entries):
        parts = name.split(".")
        where = root
        for part in parts[:-1]:
            where = where.subdir(part)
        entry = table.entries[name]
        where.add(
            parts[-1],
            SysctlFile(
                table,
                name,
                (lambda n=name: table.show(n)) if entry.mode & 0o444 else None,  # type: ignore[misc]
                (lambda data, n=name: table.store(n, data)) if entry.mode & 0o222 else None,  # type: ignore[misc]
                entry.mode,
            ),
        )
    return root


def _boot_id(k: KernelFace, table: Sysctl) -> str:
    if not table["kernel.random.boot_id"]:
        table["kernel.random.boot_id"] = _uuid(k)
    return str(table["kernel.random.boot_id"])


def _drop_caches(k: KernelFace) -> None:
    if k.drop_caches is not None:
        k.drop_caches()
