"""What lies in /proc/PID: its directories, magic links, and files about memory.  fs/proc/base.c, fs/proc/fd.c."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from arch.abi.errno import EINVAL, EIO, ENOENT
from arch.abi.limits import PAGE_SHIFT, TASK_COMM_LEN
from arch.abi.poll import DEFAULT_POLLMASK
from arch.abi.signal import SIGEV_NONE, SIGEV_SIGNAL, SIGEV_THREAD, SIGEV_THREAD_ID
from arch.abi.time import CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID
from arch.abi.version import KernelVersion
from arch.errors import Fault, KernelError
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import files_if_any
from simkernel.fs.inode import File, FileOperations, Path
from simkernel.fs.nodes import Link, Node, OpenNode, PseudoFile, SilentFile
from simkernel.fs.proc_task_mmu import MemoryNode, proc_mem_open
from simkernel.fs.proc_text import (
    fdinfo_text,
    read_mm,
    state_letter,
)
from simkernel.fs.pseudo import node_fops
from simkernel.kernel.areas import Vma
from simkernel.kernel.body import Steps
from simkernel.kernel.calls.kcmp import PTRACE_MODE_ATTACH_FSCREDS
from simkernel.kernel.namespaces import KINDS, Namespace, initial_namespace
from simkernel.kernel.pid_namespace import PidNamespace
from simkernel.kernel.ptrace.memory import read_memory
from simkernel.kernel.task import Task

MEM_FOPS = node_fops("proc_mem_operations", read="mem_read", write="mem_write")

# links of /proc/PID/ns -> the kind
NAMESPACE_LINKS = {kind: kind for kind in KINDS} | {
    "pid_for_children": "pid_for_children",
    "time_for_children": "time_for_children",
}


# CLOCK_PROCESS_CPUTIME_ID and CLOCK_THREAD_CPUTIME_ID as a timer keeps them: of the process or thread 0
CPU_CLOCKS = {CLOCK_PROCESS_CPUTIME_ID: -6, CLOCK_THREAD_CPUTIME_ID: -2}
NOTIFY_NAMES = {SIGEV_SIGNAL: "signal", SIGEV_NONE: "none", SIGEV_THREAD: "thread"}


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


def fdinfo_node(k: FsKernel, task: Task, fd: int, file: File) -> PseudoFile:
    node = SilentFile(lambda: fdinfo_text(k, task, fd), mode=0o444 if k.vfs.names.fdinfo_for_all else 0o400)
    node.uid, node.gid = task.cred.euid, task.cred.egid
    return node


class TaskFile(PseudoFile):
    """A file about a task's memory: opened only by who may look into it."""

    def __init__(
        self, k: FsKernel, task: Task, read: Callable[[], str | bytes], mode: int, fops: FileOperations | None
    ) -> None:
        super().__init__(read, None, mode, fops=fops)
        self.k, self.task = k, task

    def open(self, flags: int) -> OpenNode:
        proc_mem_open(self.k, self.task)
        return super().open(flags)


class MemFile(MemoryNode):
    """/proc/PID/mem."""

    mode = 0o600
    fops = MEM_FOPS

    def open(self, flags: int) -> MemFile:
        """The node is its own handle.  EACCES."""
        proc_mem_open(self.k, self.task, PTRACE_MODE_ATTACH_FSCREDS)
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


def magic(k: FsKernel, task: Task, where: Callable[[], Path | None]) -> Link:
    def target() -> Path:
        path = where()
        if path is None:
            raise KernelError(ENOENT, "nothing there")
        return path

    return Link(target, lambda: k.vfs.d_path(target()))


def comm_write(k: FsKernel, task: Task, data: bytes) -> Steps[int]:
    if task.tgid != k.current.tgid:
        raise KernelError(EINVAL, "another process")
    name = data[: TASK_COMM_LEN - 1].ljust(TASK_COMM_LEN, b"\0")
    yield k.call("__set_task_comm", task.addr, k.mirror.scratch_string(name), 0)
    return len(data)


def stack_text(k: FsKernel, task: Task) -> str:
    return "".join(f"[<0>] {line}\n" for line in k.text.stack_of(task))


def wchan_text(k: FsKernel, task: Task) -> str:
    if state_letter(task) == "R":
        return "0"
    stack = k.text.stack_of(task)
    return stack[0].partition("+")[0] if stack else "0"


def syscall_text(k: FsKernel, task: Task) -> str:
    if state_letter(task) == "R" and task is not k.current:
        return "running\n"
    number = task.syscall_nr
    abi, regs = k.abi, task.regs
    if not regs:
        return f"{number}\n"
    values = [k.regs.get(regs, name) for name in (*abi.args[:6], k.arch.stack_pointer, k.arch.instruction_pointer)]
    return f"{number} " + " ".join(f"{v:#x}" for v in values) + "\n"


def environ(task: Task) -> bytes:
    mm = task.mm
    return read_mm(mm, mm.env_start, mm.env_end) if mm is not None else b""


def exe_of(task: Task) -> Path | None:
    file = task.mm.exe_file if task.mm is not None else None
    return file.f_path if isinstance(file, File) else None


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


def namespace_of_task(version: KernelVersion, task: Task, kind: str) -> Namespace:
    """The namespace that the task is in, or that its children will be in."""
    plain = kind.removesuffix("_for_children")
    if kind == "pid":  # the one that it is in, which is not its children's after unshare(2)
        found = task.pid_ns.holder if task.pid_ns is not None else None
    else:
        found = task.namespaces.get("pid" if kind == "pid_for_children" else kind)
    return found or initial_namespace(version, plain)


def namespace_link(k: FsKernel, task: Task, kind: str) -> Link:
    """A magic link to the inode on nsfs of the namespace that the task is in."""

    plain = kind.removesuffix("_for_children")

    def of() -> Namespace:
        return namespace_of_task(k.version, task, kind)

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


def timers_text(k: FsKernel, task: Task, space: PidNamespace | None) -> str:
    """show_timer(): the POSIX timers of a process, the newest first."""
    out = []
    for number, timer in reversed(task.signal.posix_timers.items()):
        clock = CPU_CLOCKS.get(timer.clock, timer.clock)
        how = NOTIFY_NAMES[timer.notify & ~SIGEV_THREAD_ID]
        whom, pid = ("tid", timer.tid) if timer.notify & SIGEV_THREAD_ID else ("pid", task.tgid)
        out.append(
            f"ID: {number}\nsignal: {timer.sig}/{timer.value:0{2 * k.arch.word}x}\n"
            f"notify: {how}/{whom}.{k.tasks.number_in(space, pid)}\nClockID: {clock}\n"
        )
    return "".join(out)
