"""/proc/PID: what procfs shows of one task.  fs/proc/base.c, fs/proc/array.c, fs/proc/fd.c, fs/proc/task_mmu.c."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from arch.abi.errno import EACCES, EINVAL, EIO, ENOENT
from arch.abi.limits import PAGE_SHIFT, TASK_COMM_LEN
from arch.abi.poll import DEFAULT_POLLMASK
from arch.errors import Fault, KernelError
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import files_if_any, fs_of
from simkernel.fs.inode import File, FileOperations, Path
from simkernel.fs.namespace import show_mountinfo, show_mounts, show_mountstats
from simkernel.fs.nodes import Dir, Link, Node, OpenNode, PseudoFile
from simkernel.fs.proc_ns import identity_files, timens_file
from simkernel.fs.proc_task_mmu import MemoryNode, PageMap, clear_refs_write, numa_maps, smaps_rollup_text, smaps_text
from simkernel.fs.proc_text import (
    cmdline,
    comm_text,
    fdinfo_text,
    limits_text,
    read_mm,
    sched_text,
    stat_line,
    state_letter,
    statm_line,
    status_text,
    threads_of,
)
from simkernel.fs.pseudo import node_fops
from simkernel.kernel.areas import Vma
from simkernel.kernel.body import Steps
from simkernel.kernel.calls.kcmp import ptrace_may_access
from simkernel.kernel.namespaces import KINDS, Namespace
from simkernel.kernel.pid_namespace import PidNamespace
from simkernel.kernel.ptrace.memory import read_memory
from simkernel.kernel.task import Task

MOUNTS_FOPS = node_fops("proc_mounts_operations", splice=True)
CMDLINE_FOPS = node_fops("proc_pid_cmdline_ops", read="proc_pid_cmdline_read")
ENVIRON_FOPS = node_fops("proc_environ_operations", read="environ_read")
AUXV_FOPS = node_fops("proc_auxv_operations", read="auxv_read")
COMM_FOPS = node_fops("proc_pid_set_comm_operations", read="seq_read", write="comm_write")
OOM_FOPS = node_fops("proc_oom_score_adj_operations", read="oom_score_adj_read", write="oom_score_adj_write")
MEM_FOPS = node_fops("proc_mem_operations", read="mem_read", write="mem_write")

# include/linux/proc_ns.h: PROC_*_INIT_INO
# links of /proc/PID/ns -> the kind
_NAMESPACES = {kind: kind for kind in KINDS} | {
    "pid_for_children": "pid_for_children",
    "time_for_children": "time_for_children",
}


class FdDir(Node):
    """/proc/PID/fd and fdinfo: one entry per descriptor, in numeric order."""

    is_dir = True
    dynamic = True
    ordered = True

    def __init__(
        self, k: FsKernel, task: Task, make: Callable[[FsKernel, Task, int, File], Node], mode: int, ino: int
    ) -> None:
        self.k = k
        self.task = task
        self.make = make
        self.mode = mode
        self.ino = ino
        self.uid, self.gid = task.cred.euid, task.cred.egid
        self.known: dict[int, tuple[File, Node]] = {}

    def entries(self) -> dict[str, Node]:
        """All of them."""
        files = files_if_any(self.task)
        if files is None:
            return {}
        out = {}
        for fd in sorted(files.fds):
            node = self.lookup(str(fd))
            if node is not None:
                out[str(fd)] = node
        return out

    def lookup(self, name: str) -> Node | None:
        """One descriptor."""
        files = files_if_any(self.task)
        if files is None or not name.isdigit() or name != str(int(name)):
            return None
        fd = int(name)
        file = files.fds.get(fd)
        if file is None:
            self.known.pop(fd, None)
            return None
        known = self.known.get(fd)
        if known is None or known[0] is not file:
            known = self.known[fd] = (file, self.make(self.k, self.task, fd, file))
            known[1].ino = self.ino + 1 + fd
        return known[1]


class FdLink(Link):
    """One entry of /proc/PID/fd: following it goes to the open file itself."""

    def __init__(self, k: FsKernel, task: Task, fd: int, file: File) -> None:
        mode = 0
        if file.f_mode & c.FMODE_READ:
            mode |= 0o500
        if file.f_mode & c.FMODE_WRITE:
            mode |= 0o300
        super().__init__(lambda: file.f_path, lambda: k.vfs.d_path(file.f_path), mode)
        self.size = 64
        self.uid, self.gid = task.cred.euid, task.cred.egid
        self.ino = 0


def _fdinfo_node(k: FsKernel, task: Task, fd: int, file: File) -> PseudoFile:
    node = PseudoFile(lambda: fdinfo_text(k, task, fd), mode=0o444 if k.vfs.names.fdinfo_for_all else 0o400)
    node.uid, node.gid = task.cred.euid, task.cred.egid
    return node


class TaskFile(PseudoFile):
    """A file about a task's memory: opened only by who may look into it (proc_mem_open())."""

    def __init__(
        self, k: FsKernel, task: Task, read: Callable[[], str | bytes], mode: int, fops: FileOperations | None
    ) -> None:
        super().__init__(read, None, mode, fops=fops)
        self.k, self.task = k, task

    def open(self, flags: int) -> OpenNode:
        if self.task.mm is not None and not ptrace_may_access(self.k, self.task):
            raise KernelError(EACCES, "another's memory")
        return super().open(flags)


class MemFile(MemoryNode):
    """/proc/PID/mem."""

    mode = 0o600
    fops = MEM_FOPS

    def open(self, flags: int) -> MemFile:
        """The node is its own handle.  EACCES."""
        self.ask()
        return self

    def read(self, size: int, pos: int) -> bytes:
        """Bytes at a user address; EIO where nothing is."""
        mm = self.task.mm
        if mm is None:
            return b""
        try:
            return read_memory(self.task, pos, size)
        except (Fault, KernelError):
            raise KernelError(EIO, "no such memory") from None

    def write(self, data: bytes, pos: int) -> int:
        """Store at a user address."""
        if self.task.mm is None:
            return 0
        try:
            self.task.mm.poke(pos, data)
        except (Fault, KernelError):
            raise KernelError(EIO, "no such memory") from None
        return len(data)

    def poll(self) -> int:
        """Always ready."""
        return DEFAULT_POLLMASK

    def release(self) -> None:
        """Nothing."""


def _magic(k: FsKernel, task: Task, where: Callable[[], Path | None]) -> Link:
    def target() -> Path:
        path = where()
        if path is None:
            raise KernelError(ENOENT, "nothing there")
        return path

    return Link(target, lambda: k.vfs.d_path(target()))


def _comm_write(k: FsKernel, task: Task, data: bytes) -> Steps[int]:
    if task.tgid != k.current.tgid:
        raise KernelError(EINVAL, "another process")
    name = data[: TASK_COMM_LEN - 1].ljust(TASK_COMM_LEN, b"\0")
    yield k.call("__set_task_comm", task.addr, k.mirror.scratch_string(name), 0)
    return len(data)


def _oom_score_adj(task: Task) -> int:
    """signal->oom_score_adj: inherited by children (copy_fs() sees to it)."""
    return task.signal.oom_score_adj


def _store_oom(k: FsKernel, task: Task, low: int, high: int, scale: Callable[[int], int]) -> Callable[[bytes], None]:
    def store(data: bytes) -> None:
        try:
            value = int(data.split(b"\0")[0].strip() or b"x", 0)
        except ValueError:
            raise KernelError(EINVAL, "not a number") from None
        if not low <= value <= high:
            raise KernelError(EINVAL, "out of range")
        task.signal.oom_score_adj = scale(value)
        k.mirror.store_oom_score_adj(task)
        k.trace("oom_score_adj_update", task.addr)

    return store


def _refuse_write(data: bytes) -> None:
    raise KernelError(EACCES, "not simulated")


def _stack_text(k: FsKernel, task: Task) -> str:
    return "".join(f"[<0>] {line}\n" for line in k.text.stack_of(task))


def _wchan(k: FsKernel, task: Task) -> str:
    if state_letter(task) == "R":
        return "0"
    skip = ("schedule", "__schedule", "schedule_timeout")
    names = [line.partition("+")[0] for line in k.text.stack_of(task)]
    return next((n for n in names if n not in skip), "0")


def _syscall_text(k: FsKernel, task: Task) -> str:
    if state_letter(task) == "R" and task is not k.current:
        return "running\n"
    number = task.syscall_nr
    abi, regs = k.abi, task.regs
    if not regs:
        return f"{number}\n"
    values = [k.regs.get(regs, name) for name in (*abi.args[:6], k.arch.stack_pointer, k.arch.instruction_pointer)]
    return f"{number} " + " ".join(f"{v:#x}" for v in values) + "\n"


def _environ(task: Task) -> bytes:
    mm = task.mm
    return read_mm(mm, mm.env_start, mm.env_end) if mm is not None else b""


def _exe(task: Task) -> Path | None:
    file = task.mm.exe_file if task.mm is not None else None
    return file.f_path if isinstance(file, File) else None


def _attr_dir() -> Dir:
    """/proc/PID/attr without a security module: EINVAL for all."""

    def none() -> str:
        raise KernelError(EINVAL, "no security module")

    names = ("current", "exec", "fscreate", "keycreate", "prev", "sockcreate")
    return Dir({n: PseudoFile(none, _refuse_write, 0o444 if n == "prev" else 0o666) for n in names})


class MapFiles(Node):
    """/proc/PID/map_files: one link per file mapping, named by its addresses."""

    is_dir = True
    dynamic = True
    ordered = True
    mode = 0o500

    def __init__(self, k: FsKernel, task: Task, ino: int) -> None:
        self.k = k
        self.task = task
        self.ino = ino
        self.uid, self.gid = task.cred.euid, task.cred.egid

    def entries(self) -> dict[str, Node]:
        """All of them."""
        mm = self.task.mm
        vmas = [v for v in mm.vmas if v.file is not None] if mm is not None else []
        return {f"{v.start:x}-{v.end:x}": self._node(v) for v in vmas}

    def lookup(self, name: str) -> Node | None:
        """One mapping."""
        return self.entries().get(name)

    def _node(self, vma: Vma) -> Link:
        file = vma.file
        assert isinstance(file, File)
        path = file.f_path
        mode = (0o500 if vma.prot & 5 else 0) | (0o300 if vma.prot & 2 and vma.shared else 0)
        node = Link(lambda: path, lambda: self.k.vfs.d_path(path), mode & 0o600 | 0o400)
        node.size = 64
        node.ino = self.ino + 1 + (vma.start >> PAGE_SHIFT & 0xFFF)
        return node


def _namespace_link(k: FsKernel, task: Task, kind: str) -> Link:
    """A magic link to the inode on nsfs of the namespace that the task is in."""

    plain = kind.removesuffix("_for_children")

    def of() -> Namespace:
        proxy = task.namespaces
        if kind == "pid":  # the one that it is in, which is not its children's after unshare(2)
            found = task.pid_ns.holder if task.pid_ns is not None else None
        else:
            found = proxy.get("pid" if kind == "pid_for_children" else kind)
        return found or Namespace(plain, KINDS[plain][1])

    return Link(lambda: k.vfs.namespaces.path(of()), lambda: f"{plain}:[{of().ino}]")


class TaskNet(Node):
    """/proc/PID/net: what the task's network namespace shows."""

    is_dir = True
    dynamic = True
    mode = 0o555

    def __init__(self, k: FsKernel, task: Task) -> None:
        self.k, self.task = k, task

    def entries(self) -> Mapping[str, Node]:
        """Of the namespace in which the task is now."""
        return self.k.vfs.proc_net_of(self.task).entries()


class PidDir(Dir):
    """/proc/PID, or /proc/PID/task/TID (whole False)."""

    def __init__(
        self, k: FsKernel, task: Task, whole: bool, net: Dir | None = None, space: PidNamespace | None = None
    ) -> None:
        super().__init__(mode=0o555, provider=None)
        self.k = k
        self.task = task
        self.whole, self.space = whole, space
        self.ordered = True
        self.ino = 0x100000 + task.pid * 0x4000 + (0 if whole else 0x2000)
        self._fill(net)
        for index, node in enumerate(self.children.values()):
            node.ino = self.ino + 1 + index
        self.owner_changes = True
        self.revalidate()

    def revalidate(self) -> None:
        """pid_update_inode(): the owner is who the process is now; root's where nobody may look at it."""
        task = self.task
        ids = (task.cred.euid, task.cred.egid) if task.mm is not None else (0, 0)
        self.uid, self.gid = ids
        owner = ids if task.dumpable == 1 or task.mm is None else (0, 0)
        for node in self.children.values():
            if not isinstance(node, Dir):
                node.uid, node.gid = owner

    def _fill(self, net: Dir | None) -> None:
        k, task, vfs = self.k, self.task, self.k.vfs
        add = self.add

        def text(
            name: str,
            show: Callable[[], str | bytes],
            mode: int = 0o444,
            store: Callable[[bytes], int | Steps[int] | None] | None = None,
            fops: FileOperations | None = None,
        ) -> None:
            node = PseudoFile(show, store, mode, fops=fops)
            add(name, node)

        if self.whole:
            add("task", TaskDir(k, task, self.ino + 0x1000, self.space))
        add("fd", FdDir(k, task, FdLink, 0o500, self.ino + 0x400))
        if self.whole:
            add("map_files", MapFiles(k, task, self.ino + 0x3000))
        add("fdinfo", FdDir(k, task, _fdinfo_node, 0o555 if k.vfs.names.fdinfo_for_all else 0o500, self.ino + 0xC00))
        namespaces = {name: _namespace_link(k, task, kind) for name, kind in sorted(_NAMESPACES.items())}
        add("ns", Dir(namespaces, mode=0o511))
        if net is not None:
            add("net", TaskNet(k, task))

        def root() -> Path:
            here: Path = fs_of(task).root if task.fs is not None else vfs.mounts.root
            return here

        def memory(
            name: str, show: Callable[[], str | bytes], mode: int = 0o444, fops: FileOperations | None = None
        ) -> None:
            add(name, TaskFile(k, task, show, mode, fops))

        memory("environ", lambda: _environ(task), 0o400, ENVIRON_FOPS)
        memory("auxv", lambda: task.mm.auxv if task.mm is not None else b"", 0o400, AUXV_FOPS)
        text("status", lambda: status_text(k, task, self.space))
        text("personality", lambda: f"{task.personality:08x}\n", 0o400)
        text("limits", lambda: limits_text(task))
        text("sched", lambda: sched_text(task), 0o644, lambda data: None)
        text("comm", lambda: comm_text(task) + "\n", 0o644, lambda data: _comm_write(k, task, data), COMM_FOPS)
        text("syscall", lambda: _syscall_text(k, task), 0o400)
        text("cmdline", lambda: cmdline(task), fops=CMDLINE_FOPS)
        text("stat", lambda: stat_line(k, task, self.whole, self.space))
        text("statm", lambda: statm_line(task))
        memory("maps", lambda: "".join(task.mm.maps()) if task.mm is not None else "")
        add("mem", MemFile(k, task))
        add("cwd", _magic(k, task, lambda: fs_of(task).pwd if task.fs is not None else None))
        add("root", _magic(k, task, lambda: fs_of(task).root if task.fs is not None else None))
        add("exe", _magic(k, task, lambda: _exe(task)))
        text("mounts", lambda: show_mounts(vfs, root()), fops=MOUNTS_FOPS)
        text("mountinfo", lambda: show_mountinfo(vfs, root()), fops=MOUNTS_FOPS)
        if self.whole:
            text("mountstats", lambda: show_mountstats(vfs, root()), 0o400, fops=MOUNTS_FOPS)
        text("clear_refs", lambda: "", 0o200, lambda data: clear_refs_write(task, data))
        memory("smaps", lambda: smaps_text(k, task))
        memory("smaps_rollup", lambda: smaps_rollup_text(task))
        text("wchan", lambda: _wchan(self.k, task))
        text("stack", lambda: _stack_text(k, task), 0o400)
        text("schedstat", lambda: f"{task.sum_exec_ns} 0 {task.nvcsw + task.nivcsw}\n")
        text("cpuset", lambda: "/\n")
        text("cpu_resctrl_groups", lambda: "res:\nmon:\n")
        text("autogroup", lambda: f"/autogroup-1 nice {task.nice}\n", 0o644, lambda data: None)
        memory("numa_maps", lambda: numa_maps(task))
        add("pagemap", PageMap(k, task))
        text("patch_state", lambda: "-1\n", 0o400)
        text("ksm_merging_pages", lambda: "0\n", 0o400)
        text("ksm_stat", lambda: "ksm_rmap_items 0\n", 0o400)
        add("attr", _attr_dir())
        if self.whole:
            add("timens_offsets", timens_file(k, task))
            text("timers", lambda: "")
        text("cgroup", lambda: f"0::{_cgroup_path(k, task)}\n")
        text("oom_score", lambda: "0\n")
        text(
            "oom_adj", lambda: f"{_oom_score_adj(task) * 17 // 1000}\n", 0o644,
            _store_oom(k, task, -17, 15, lambda v: 1000 if v == 15 else v * 1000 // 17),
        )  # fmt: skip
        text(
            "oom_score_adj", lambda: f"{_oom_score_adj(task)}\n", 0o644, _store_oom(k, task, -1000, 1000, lambda v: v),
            OOM_FOPS,
        )  # fmt: skip
        text("loginuid", lambda: "4294967295", 0o644, lambda data: None)
        text("sessionid", lambda: "4294967295")
        if self.whole:
            text("coredump_filter", lambda: "00000033\n", 0o644, lambda data: None)
        text("io", lambda: _io_text(threads_of(task) if self.whole else [task]), 0o400)
        for name, node in identity_files(k, task).items():
            add(name, node)
        if self.whole:
            text("timerslack_ns", lambda: f"{task.timer_slack_ns}\n", 0o666, lambda data: None)

    @property
    def gone(self) -> bool:
        """The task was reaped."""
        tasks = self.k.tasks.by_pid
        return tasks.get(self.task.pid) is not self.task


def _cgroup_path(k: FsKernel, task: Task) -> str:
    path: str = k.vfs.cgroups.of(task).path
    return path


def _io_text(tasks: list[Task]) -> str:
    """do_io_accounting(): of one thread, or of all that live; what went to the disk is not accounted to tasks."""
    rows = (
        ("rchar", sum(task.io.rchar for task in tasks)), ("wchar", sum(task.io.wchar for task in tasks)),
        ("syscr", sum(task.io.syscr for task in tasks)), ("syscw", sum(task.io.syscw for task in tasks)),
        ("read_bytes", 0), ("write_bytes", 0), ("cancelled_write_bytes", 0),
    )  # fmt: skip
    return "".join(f"{name}: {value}\n" for name, value in rows)


class TaskDir(Node):
    """/proc/PID/task."""

    is_dir = True
    dynamic = True
    ordered = True
    mode = 0o555

    def __init__(self, k: FsKernel, task: Task, ino: int, space: PidNamespace | None) -> None:
        self.k = k
        self.task = task
        self.ino, self.space = ino, space
        self.known: dict[int, PidDir] = {}

    def links(self) -> int:
        """2 and one per thread."""
        return 2 + len(threads_of(self.task))

    def entries(self) -> dict[str, Node]:
        """All threads."""
        return {self._name(t): self._node(t) for t in sorted(threads_of(self.task), key=lambda t: t.pid)}

    def _name(self, task: Task) -> str:
        return str(self.k.tasks.number_in(self.space, task.pid))

    def lookup(self, name: str) -> Node | None:
        """One thread."""
        return next((self._node(t) for t in threads_of(self.task) if self._name(t) == name), None)

    def _node(self, task: Task) -> PidDir:
        node = self.known.get(task.pid)
        if node is None or node.task is not task:
            node = self.known[task.pid] = PidDir(self.k, task, False, None, self.space)
        return node


def real_number(space: PidNamespace | None, number: int) -> int:
    """The pid behind a directory's name, in a /proc that was mounted in a pid namespace."""
    return number if space is None else space.real.get(number, -1)


def find_process(
    k: FsKernel, name: str, cache: dict[int, PidDir], net: Dir, space: PidNamespace | None = None
) -> PidDir | None:
    """The directory of a pid; any thread's number works, as on Linux."""
    if not name.isdigit() or name != str(int(name)):
        return None
    task = k.tasks.by_pid.get(real_number(space, int(name)))
    if task is None or task.pid == 0:
        return None
    node = cache.get(task.pid)
    if node is None or node.task is not task:
        for pid in [p for p, n in cache.items() if n.gone]:
            del cache[pid]
            k.vfs.forget_tree(k.vfs.singletons["proc"].s_root, str(pid))
        node = cache[task.pid] = PidDir(k, task, True, net, space)
    node.revalidate()
    return node


def self_pid(k: FsKernel, space: PidNamespace | None) -> str:
    """/proc/self: the number in the namespace of this instance.  ENOENT where the task has none."""
    number = k.tasks.number_in(space, k.current.tgid)
    if not number:
        raise KernelError(ENOENT)
    return str(number)


def thread_self(k: FsKernel, space: PidNamespace | None) -> str:
    """/proc/thread-self."""
    return f"{self_pid(k, space)}/task/{k.tasks.number_in(space, k.current.pid)}"
