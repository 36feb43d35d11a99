"""procfs: the files of /proc itself, and the mount.  fs/proc/root.c, fs/proc/*.c.  /proc/PID is in proc_pid.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from arch.abi.poll import POLLIN, POLLRDNORM
from arch.abi.stat import PROC_SUPER_MAGIC
from arch.abi.time import USER_TICK_NSEC
from arch.cpuinfo import CpuInfo
from simkernel.fs.devices import device_nodes
from simkernel.fs.eventpoll import default_max_user_watches
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import FileOperations, SuperBlock
from simkernel.fs.kmsg import KmsgNode
from simkernel.fs.nodes import Dir, Link, Node, PseudoFile
from simkernel.fs.pipe import round_pipe_size
from simkernel.fs.proc_memory import add_memory_files
from simkernel.fs.proc_options import HIDEPID_INVISIBLE, HIDEPID_NOT_PTRACEABLE, ProcOptions
from simkernel.fs.proc_pid import PidDir, find_process, self_pid, thread_self
from simkernel.fs.proc_pressure import make_pressure
from simkernel.fs.proc_sys import make_sysctl
from simkernel.fs.pseudo import (
    PROC_ITER_FOPS,
    PROC_REG_FOPS,
    PROC_SYS_FOPS,
    PROC_SYS_FOPS_5_8,
    SEQ_FOPS,
    PseudoSuper,
)  # fmt: skip
from simkernel.fs.vfs import FsType, Vfs
from simkernel.kernel.banner import COMMAND_LINE, PROC_BANNER
from simkernel.kernel.calls.system import set_uts, uname_fields
from simkernel.kernel.namespaces import time_offsets
from simkernel.kernel.pid_namespace import PidNamespace
from simkernel.kernel.task import Task
from tracing.tracers.recorded import all_letters

PROC_ROOT_INO = 1
PROC_DYNAMIC_FIRST = 0xF0000000


def cpuinfo(k: FsKernel) -> str:
    """/proc/cpuinfo."""
    info: CpuInfo = k.arch.cpuinfo
    return info.text(k.nr_cpus)


def proc_stat(k: FsKernel) -> str:
    """/proc/stat."""
    tasks = list(k.tasks.by_pid.values())
    user = sum(t.utime_ns for t in tasks)
    system = sum(t.stime_ns for t in tasks)
    for task in tasks:
        if task.pid == 1:
            user += task.signal.cutime_ns
            system += task.signal.cstime_ns
    total = k.clock.now_ns * k.nr_cpus
    idle = max(0, total - user - system)
    ticks = [user // USER_TICK_NSEC, 0, system // USER_TICK_NSEC, idle // USER_TICK_NSEC, 0, 0, 0, 0, 0, 0]
    out = ["cpu  " + " ".join(map(str, ticks)) + "\n"]
    for cpu in range(k.nr_cpus):
        out.append(f"cpu{cpu} " + " ".join(str(t // k.nr_cpus) for t in ticks) + "\n")
    running = sum(1 for t in tasks if t.state_letter == "R")
    shift = time_offsets(k.current.namespaces.get("time")).boottime
    boot = (k.clock.realtime_ns - k.clock.now_ns - shift) // 1_000_000_000
    lines = [sum(k.irqs.counts.get(irq, ())) for irq in range(max(k.irqs.counts, default=-1) + 1)]
    taken = sum(lines) + sum(k.hrtimers.interrupts)
    out.append(f"intr {' '.join(map(str, (taken, *lines)))}\nctxt {k.cpus.nr_switches}\nbtime {boot}\n")
    out.append(f"processes {k.tasks.nr_forks}\nprocs_running {max(1, running)}\nprocs_blocked 0\n")
    soft = [sum(counts) for _, counts in sorted(k.softirqs.counts.items())]
    out.append(f"softirq {' '.join(map(str, (sum(soft), *soft)))}\n")
    return "".join(out)


def uptime(k: FsKernel) -> str:
    """/proc/uptime: seconds up, seconds idle over all CPUs."""
    up = k.clock.now_ns + time_offsets(k.current.namespaces.get("time")).boottime
    idle = k.clock.idle_ns * k.nr_cpus
    return f"{up // 10**9}.{up // 10**7 % 100:02d} {idle // 10**9}.{idle // 10**7 % 100:02d}\n"


def loadavg(k: FsKernel) -> str:
    """/proc/loadavg: load itself is not simulated; the last pid is that of the reader's namespace."""
    tasks = list(k.tasks.by_pid.values())
    running = max(1, sum(1 for t in tasks if t.state_letter == "R"))
    space = k.current.pid_ns
    last = space.last if space is not None else k.tasks.last_pid or max((t.pid for t in tasks), default=0)
    return f"0.00 0.00 0.00 {running}/{len(tasks)} {last}\n"


def kallsyms(k: FsKernel) -> str:
    """/proc/kallsyms: every symbol, by address; zeros when kptr_restrict says so."""
    restrict = k.vfs.sysctl["kernel.kptr_restrict"]
    hide = restrict >= 2 or (restrict == 1 and not k.capable(34))
    digits = 2 * k.arch.model.word
    k.vfs.list_symbols()
    letters = all_letters(k.arch.name, k.version)
    rows = [(s.address, s.name, letters.get(s.name, s.kind)[0]) for s in k.symbols]
    rows += [(s.address, s.name, s.kind) for s in k.symbols.kept()]
    text = [f"{0 if hide else address:0{digits}x} {letter} {name}\n" for address, name, letter in sorted(rows)]
    for more in k.vfs.more_symbols:
        text += [f"{0 if hide else address:0{digits}x} t {name}\t[{module}]\n" for address, name, module in more()]
    return "".join(text)


def _devices(k: FsKernel) -> str:
    chars = "".join(
        f"{major:3d} {name}\n" for major, name in ((1, "mem"), (5, "/dev/tty"), (5, "/dev/console"), (MISC, "misc"))
    )
    blocks = "".join(f"{major:3d} {name}\n" for major, name in sorted(k.vfs.block_majors.items()))
    return "Character devices:\n" + chars + "\nBlock devices:\n" + blocks


def _filesystems(vfs: Vfs) -> str:
    return "".join(f"{'nodev' if t.nodev else ''}\t{t.name}\n" for t in vfs.fs_types.values())


def version_text(k: FsKernel, uname: Callable[[], list[str]]) -> str:
    """/proc/version."""
    fields = uname()
    return PROC_BANNER % (fields[0], fields[2], fields[3])


TTY_DRIVERS = """\
/dev/tty             /dev/tty        5       0 system:/dev/tty
/dev/console         /dev/console    5       1 system:console
/dev/ptmx            /dev/ptmx       5       2 system
pty_slave            /dev/pts      136 0-1048575 pty:slave
pty_master           /dev/ptm      128 0-1048575 pty:master
"""
TTY_LDISCS = "n_tty       0\nn_null     27\n"
MISC = 10  # major number of devices that have no more in common
DMA = " 4: cascade\n"


def make_root(k: FsKernel) -> ProcRoot:
    """The nodes of /proc."""
    vfs = k.vfs
    root = ProcRoot(k)
    uname = _uname(k)

    def text(
        name: str,
        show: Callable[[], str | bytes],
        mode: int = 0o444,
        store: Callable[[bytes], int | None] | None = None,
        fops: FileOperations | None = None,
    ) -> None:
        root.add(name, PseudoFile(show, store, mode, fops=fops))

    text("cgroups", lambda: "#subsys_name\thierarchy\tnum_cgroups\tenabled\n")
    text("cmdline", lambda: f"{COMMAND_LINE}\n")
    text("consoles", lambda: "ttyS0                -W- (EC   a)    4:64\n")
    text("cpuinfo", lambda: cpuinfo(k))
    text("crypto", lambda: "")
    text("devices", lambda: _devices(k))
    text("execdomains", lambda: "0-0\tLinux           \t[kernel]\n")
    text("filesystems", lambda: _filesystems(vfs))
    text("iomem", lambda: "00000000-ffffffff : System RAM\n")
    text("ioports", lambda: "")
    text("kallsyms", lambda: kallsyms(k), fops=PROC_REG_FOPS)
    root.add("kmsg", KmsgNode(k))
    text("loadavg", lambda: loadavg(k))
    text(
        "misc",
        lambda: "".join(f"{minor:3d} {name}\n" for name, major, minor, _ in device_nodes(k.vfs.names) if major == MISC),
    )
    text("fb", lambda: "")
    text("dma", lambda: DMA if k.arch.srcarch == "x86" else "")
    text("modules", lambda: "")
    for name, target in (("mounts", "self/mounts"), ("net", "self/net")):
        link = Link(target)
        link.size = len(target)
        root.add(name, link)
    if k.version.at_least("4.20"):
        root.add("pressure", make_pressure(k))
    text("schedstat", lambda: f"version 15\ntimestamp {k.clock.now_ns // 4_000_000}\n")
    text("stat", lambda: proc_stat(k))
    swaps = PseudoFile(lambda: "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n")
    swaps.ready = POLLIN | POLLRDNORM
    root.add("swaps", swaps)
    text("sysrq-trigger", lambda: "", 0o200, lambda data: None)
    text("timer_list", lambda: "", 0o400)
    text("uptime", lambda: uptime(k))
    text("version", lambda: version_text(k, uname))
    text("vmallocinfo", lambda: "", 0o400)
    text("zoneinfo", lambda: "Node 0, zone   Normal\n")
    table = vfs.sysctl
    table["fs.epoll.max_user_watches"] = default_max_user_watches(k.mm.total_ram_pages)
    table.on_write("fs.mount-max", vfs.mounts.set_mount_max)
    table.on_write("fs.pipe-max-size", lambda size: table.update({"fs.pipe-max-size": round_pipe_size(size)}))
    vfs.sysctl.on_write("fs.file-max", lambda value: setattr(vfs.security, "max_files", value))
    sys_dir = make_sysctl(k, vfs.sysctl, uname, lambda: len(vfs.files), partial(set_uts, k))
    _set_fops(sys_dir, PROC_SYS_FOPS if vfs.names.proc_sys_iter else PROC_SYS_FOPS_5_8)
    sys_dir.nlink = 1
    root.add("sys", sys_dir)
    for name in ("bus", "driver", "fs", "irq", "sysvipc", "tty"):
        root.add(name, Dir())
    tty = root.subdir("tty")
    tty.add("drivers", PseudoFile(lambda: TTY_DRIVERS))
    tty.add("ldiscs", PseudoFile(lambda: TTY_LDISCS))
    add_memory_files(k, root)
    root.add("self", root.selves["self"])
    root.add("thread-self", root.selves["thread-self"])
    return root


def _set_fops(directory: Dir, fops: FileOperations) -> None:
    for node in directory.children.values():
        if isinstance(node, Dir):
            _set_fops(node, fops)
        else:
            node.fops = fops
            node.strict = True


def _uname(k: FsKernel) -> Callable[[], list[str]]:
    return lambda: uname_fields(k)


class ProcRoot(Dir):
    """/proc: fixed entries by (length, name), then self, thread-self and the processes."""

    ordered = True

    def __init__(self, k: FsKernel, space: PidNamespace | None = None) -> None:
        super().__init__()
        self.k, self.space, self.options = k, space, ProcOptions(k)
        self.selves: dict[str, Node] = {
            "self": Link(lambda: self_pid(k, space)),
            "thread-self": Link(lambda: thread_self(k, space)),
        }
        self.dynamic = self.owner_changes = True
        self.ino = PROC_ROOT_INO
        self.processes: dict[int, PidDir] = {}

    def links(self) -> int:
        """proc_root_getattr(): the fixed directories and one per process."""
        fixed = sum(1 for node in self._fixed.values() if node.is_dir)
        return 2 + fixed + len(self._leaders())

    @property
    def _fixed(self) -> Mapping[str, Node]:
        return {} if self.options.pids_only else self.children

    def _leaders(self) -> list[Task]:
        tasks = self.k.tasks.by_pid
        leaders = [tasks[pid] for pid in sorted(tasks) if pid and tasks[pid].pid == tasks[pid].tgid]
        return leaders if self.space is None else [task for task in leaders if task.pid in self.space.number]

    def entries(self) -> dict[str, Node]:
        """readdir order of fs/proc/generic.c, then fs/proc/base.c."""
        late = ("self", "thread-self")
        fixed = self._fixed
        names = sorted((n for n in fixed if n not in late), key=lambda n: (len(n), n))
        out: dict[str, Node] = {name: fixed[name] for name in names}
        out |= self.selves
        for task in self._leaders():
            if self.options.hidepid and not self.options.may_see(task, HIDEPID_INVISIBLE):
                continue
            name = str(self.k.tasks.number_in(self.space, task.pid))
            node = self._process(name)
            if node is not None:
                node.cached = True
                out[name] = node
        return out

    def lookup(self, name: str) -> Node | None:
        """A fixed entry or a process."""
        node = self.selves.get(name) or self._fixed.get(name)
        if node is not None:
            return node
        found = self._process(name)
        if found is not None and self.options.hidepid == HIDEPID_NOT_PTRACEABLE and not found.cached:
            found.cached = self.options.may_see(found.task, HIDEPID_NOT_PTRACEABLE)
            return found if found.cached else None
        return found

    def _process(self, name: str) -> PidDir | None:
        return find_process(self.k, name, self.processes, self.options, self.space)


class ProcSuper(PseudoSuper):
    """One mount's super block."""

    def begin(self, root: ProcRoot, data: str) -> ProcSuper:
        """proc_fill_super()."""
        self.proc = root.options
        self.reconfigure(0, data)
        return self

    def reconfigure(self, flags: int, data: str) -> None:
        """proc_reconfigure(), proc_apply_options().  EINVAL."""
        self.proc.parse(data)
        self.options = self.proc.shown()


def register_procfs(k: FsKernel) -> None:
    """The type; each mount is an instance of its own, before 5.8 each pid namespace."""

    def mount(v: Vfs, devname: str, flags: int, data: str) -> SuperBlock:
        sb = v.singletons.get("proc")
        if sb is None:
            root = make_root(k)
            seq_iter = v.names.seq_read_iter
            whole = PROC_ITER_FOPS if seq_iter else PROC_REG_FOPS
            pid_nodes = SEQ_FOPS

            def fops(node: Node, name: str) -> FileOperations:
                return whole if root.children.get(name) is node else pid_nodes

            sb = v.singletons["proc"] = ProcSuper(
                v, "proc", PROC_SUPER_MAGIC, root, fops, missing_is_error=True, first_ino=PROC_DYNAMIC_FIRST,
                blocksize=1024, order=lambda names: sorted(names, key=lambda n: (len(n), n)), link_size=False,
            ).begin(root, data)  # fmt: skip
            v.proc_root = root
            return sb
        space = v.k.current.pid_ns
        if space is None and not v.names.proc_options_named:
            sb.reconfigure(flags, data)
            return sb
        assert isinstance(sb, PseudoSuper)
        inner = ProcRoot(k, space)
        inner.children = v.proc_root.children
        return ProcSuper(
            v, "proc", PROC_SUPER_MAGIC, inner, sb.file_fops, missing_is_error=True, first_ino=PROC_DYNAMIC_FIRST,
            blocksize=1024, order=sb.order, link_size=False,
        ).begin(inner, data)  # fmt: skip

    k.vfs.register(FsType("proc", mount))


def proc_file(vfs: Vfs, path: str, node: Node) -> None:
    """proc_create(): put a node under /proc, e.g. "diskstats" or "net/dev" (per process through self/net).

    The door for every part of the kernel that has something to show there: block/proc.py, net/proc.py, fs/proc_irq.py.
    """
    root = vfs.proc_root
    parts = path.split("/")
    where = root
    if parts[0] == "net":
        where, parts = vfs.proc_net, parts[1:]
    for part in parts[:-1]:
        where = where.subdir(part)
    where.add(parts[-1], node)
