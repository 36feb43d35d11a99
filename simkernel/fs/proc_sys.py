"""/proc/sys: the sysctl tree.  kernel/sysctl.c, fs/proc/proc_sysctl.c.

`Sysctl` keeps the values by dotted name; other subsystems read `k.vfs.sysctl["kernel.perf_event_paranoid"]` and may hang
a function on a name that is called with each new value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arch.abi.capability import CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN
from arch.abi.errno import EINVAL, EPERM
from arch.abi.time import NSEC_PER_MSEC, NSEC_PER_SEC
from arch.errors import KernelError
from bpf.versions.config import configured
from simkernel.fs.constants import MAY_WRITE
from simkernel.fs.hooks import FsPrograms
from simkernel.fs.nodes import Dir, OpenNode, OpenText, PseudoFile
from simkernel.fs.sysctl_rows import ENTRIES, PAIRS, Entry, Value, check, parse, taken
from simkernel.kernel.body import Steps
from simkernel.kernel.face import KernelFace
from simkernel.kernel.task import Task


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
            self[entry.name] = entry.value  # a constant of the kernel where it cannot be set
            built = entry.config is None or configured(k.version, k.config, entry.config, k.arch)
            if built and k.version.within(entry.since, entry.until) and entry.srcarch in (None, k.arch.srcarch):
                self.entries[entry.name] = entry

    def show(self, name: str) -> str:
        """The text of the file.  EPERM."""
        if self.entries[name].admin == "all":
            self._ask_admin()
        reader = self.readers.get(name)
        value = reader() if reader is not None else self[name]
        return f"{value}\n"

    def store(self, name: str, data: bytes) -> int | None:
        """proc_dointvec_minmax() and proc_dostring(): how much was taken, if not all."""
        entry = self.entries[name]
        if entry.admin:
            self._ask_admin()
        text = data.decode("utf-8", "surrogateescape")
        if not text or entry.ignored:
            return None
        if entry.words and text[:-1] not in entry.words:
            raise KernelError(EINVAL, "none of its words")
        if isinstance(entry.value, str) and not entry.value[:1].isdigit():
            value: Value = text.split("\0")[0].split("\n")[0]
        else:
            value = parse(text, self.readers.get(name, lambda: self[name])(), entry.low, entry.high)
        self[name] = value = check(name, value, self[name], self)
        for one, other in PAIRS:
            if name in (one, other):
                self[other if name == one else one] = 0
        for hook in self.hooks.get(name, ()):
            hook(value)
        return taken(text) if isinstance(value, int) and not entry.whole else None

    def _ask_admin(self) -> None:
        """proc_dointvec_minmax_sysadmin(), proc_dointvec_minmax_bpf_restricted()."""
        if not self.k.capable(CAP_SYS_ADMIN):
            raise KernelError(EPERM)

    def on_write(self, name: str, hook: Callable[[Any], None]) -> None:
        """Call `hook(value)` after each write of a name."""
        self.hooks.setdefault(name, []).append(hook)


class SysctlFile(PseudoFile):
    """A file of /proc/sys; programs of control groups are asked before it is read and written."""

    strict = True
    in_pieces = True  # proc_dostring(); of numbers only the first read has something: `*ppos && !write`

    def __init__(
        self,
        table: Sysctl,
        name: str,
        read: Callable[[], str] | None,
        write: Callable[[bytes], int | None] | None,
        mode: int,
    ) -> None:
        super().__init__(read, write, mode)
        self.table, self.name = table, name
        self.rooted: Callable[[Task], bool] | None = None  # ctl_table_root.permissions: who has what root has

    def rights(self, mode: int, task: Task) -> int:
        """sysctl_perm()."""
        return mode >> 6 & 7 if self.rooted is not None and self.rooted(task) else super().rights(mode, task)

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


class NumbersFile(SysctlFile):
    """One whose values are kept elsewhere: numbers of a range."""

    in_pieces = False

    def __init__(
        self, table: Sysctl, name: str, read: Callable[[], Value], write: Callable[[Value], None], low: int, high: int,
        mode: int = 0o644,
    ) -> None:  # fmt: skip
        def store(data: bytes) -> int | None:
            text = data.decode("latin-1")
            value = parse(text, read(), low, high)
            write(value)
            return taken(text) if isinstance(value, int) else None

        super().__init__(table, name, lambda: f"{read()}\n", store, mode)


class OpenSysctl(OpenText):
    """An open one: proc_sys_call_handler()."""

    def __init__(self, node: SysctlFile) -> None:
        super().__init__(node)
        self.sysctl = node

    def read(self, size: int, pos: int) -> bytes:
        """As a program says from where."""
        pos = self.sysctl.ask(None, pos)[1]
        return b"" if pos and not self.sysctl.in_pieces else super().read(size, pos)

    def write(self, data: bytes, pos: int) -> int | Steps[int]:
        """What a program makes of it; whoever has it from root may not, for all that.  EPERM."""
        if not self.sysctl.rights(self.sysctl.mode, self.sysctl.table.k.current) & MAY_WRITE:
            raise KernelError(EPERM, "the mode forbids it")
        new, pos = self.sysctl.ask(data, pos)
        if pos and isinstance(self.sysctl.table.get(self.sysctl.name), int):
            return len(data)  # proc_first_pos_non_zero_ignore()
        return super().write(data if new is None else new, pos)


def _uuid(k: KernelFace) -> str:
    """Random bytes in the form of RFC 4122, version 4."""
    raw = bytearray(k.random.randbytes(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


# limits of the initial user namespace with two names
SAME = (
    ("user.max_fanotify_groups", "fs.fanotify.max_user_groups"), ("user.max_fanotify_marks", "fs.fanotify.max_user_marks"),
    ("user.max_inotify_instances", "fs.inotify.max_user_instances"), ("user.max_inotify_watches", "fs.inotify.max_user_watches"),
)  # fmt: skip
MAX_USER_RESERVE_KB = 1 << 17
SetNames = Callable[[str | None, str | None], None]  # node name, domain name; None: as it is


def make_sysctl(
    k: KernelFace, table: Sysctl, uname: Callable[[], list[str]], open_files: Callable[[], int], set_names: SetNames
) -> Dir:
    """The tree of /proc/sys."""
    table.on_write("vm.max_map_count", k.mm.set_max_map_count)
    table.on_write("vm.overcommit_memory", lambda value: setattr(k.mm, "overcommit_memory", value))
    table.on_write("vm.overcommit_ratio", lambda value: setattr(k.mm, "overcommit_ratio", value))
    table.on_write("vm.overcommit_kbytes", lambda value: setattr(k.mm, "overcommit_kbytes", value))
    table.on_write("kernel.ns_last_pid", lambda value: _set_last_pid(k, value))
    table.on_write(
        "kernel.sched_rr_timeslice_ms", lambda value: setattr(k.cpus, "rr_timeslice_ns", value * NSEC_PER_MSEC)
    )
    table.on_write("kernel.sched_child_runs_first", lambda value: setattr(k.cpus, "child_runs_first", bool(value)))
    log = k.log
    table.on_write("kernel.dmesg_restrict", lambda value: setattr(log, "restrict", bool(value)))
    table.on_write("kernel.printk", lambda value: log.set_levels(map(int, value.split())))
    table.on_write("kernel.printk_devkmsg", lambda value: setattr(log, "devkmsg", value))
    table.on_write("kernel.printk_ratelimit", lambda value: setattr(log.ratelimit, "interval", value * NSEC_PER_SEC))
    table.on_write("kernel.printk_ratelimit_burst", lambda value: setattr(log.ratelimit, "burst", value))
    table.on_write("debug.exception-trace", lambda value: setattr(log, "show_unhandled_signals", bool(value)))
    table["debug.exception-trace"] = int(log.show_unhandled_signals)
    table.on_write("kernel.sched_rt_runtime_us", lambda value: setattr(k.tasks, "rt_runtime_us", value))
    table.on_write("kernel.sched_rt_period_us", lambda value: setattr(k.tasks, "rt_period_us", value))
    table.on_write("vm.oom_kill_allocating_task", lambda value: setattr(k.tasks, "oom_kill_allocating_task", value))
    table.on_write("fs.nr_open", lambda value: setattr(k.tasks, "nr_open", value))
    table.on_write("fs.suid_dumpable", lambda value: setattr(k.tasks, "suid_dumpable", value))
    for one, other in SAME:
        for name, same in ((one, other), (other, one)):
            table.on_write(name, lambda value, same=same: table.update({same: value}))  # type: ignore[misc]
    table.readers |= {
        "kernel.printk": lambda: "\t".join(map(str, log.levels)),
        "kernel.osrelease": lambda: uname()[2],
        "kernel.version": lambda: uname()[3],
        "kernel.hostname": lambda: uname()[1],
        "kernel.domainname": lambda: uname()[5],
        "kernel.random.uuid": lambda: _uuid(k),
        "kernel.random.boot_id": lambda: _boot_id(k, table),
        "kernel.arch": lambda: uname()[4],
        "kernel.ns_last_pid": lambda: k.tasks.last_pid,
        "crypto.fips_version": lambda: uname()[2],
        "fs.file-nr": lambda: f"{open_files()}\t0\t{table['fs.file-max']}",
    }
    table["vm.user_reserve_kbytes"] = min(k.mm.total_ram_pages * 4 // 32, MAX_USER_RESERVE_KB)
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
        file = SysctlFile(
            table,
            name,
            (lambda n=name: table.show(n)) if entry.mode & 0o444 else None,  # type: ignore[misc]
            (lambda data, n=name: table.store(n, data)) if entry.mode & 0o222 else None,  # type: ignore[misc]
            entry.mode,
        )
        file.in_pieces = isinstance(entry.value, str) and not entry.value[:1].isdigit()
        where.add(parts[-1], file)
    return root


def _set_last_pid(k: KernelFace, value: int) -> None:
    """pid_ns_ctl_handler().  EPERM."""
    if not k.capable(CAP_SYS_ADMIN) and not k.capable(CAP_CHECKPOINT_RESTORE):
        raise KernelError(EPERM, "chooses pids")
    k.tasks.last_pid = value


def _boot_id(k: KernelFace, table: Sysctl) -> str:
    if not table["kernel.random.boot_id"]:
        table["kernel.random.boot_id"] = _uuid(k)
    return str(table["kernel.random.boot_id"])


def _drop_caches(k: KernelFace) -> None:
    if k.drop_caches is not None:
        k.drop_caches()
