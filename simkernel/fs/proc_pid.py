"""/proc/PID and /proc/PID/task/TID: the directories, and whose they are.  fs/proc/base.c.

What lies in them is the table of proc_pid_entries.py.
"""

from __future__ import annotations

from arch.abi.errno import ENOENT
from arch.errors import KernelError
from simkernel.fs.constants import S_IMMUTABLE
from simkernel.fs.face import FsKernel
from simkernel.fs.nodes import Dir, Node
from simkernel.fs.proc_options import ProcOptions
from simkernel.fs.proc_pid_entries import entry_names
from simkernel.fs.proc_text import threads_of
from simkernel.kernel.pid_namespace import PidNamespace
from simkernel.kernel.task import Task

POLLED = ("mounts", "mountinfo")  # the only ones with a poll of their own


class PidDir(Node):
    """/proc/PID, or /proc/PID/task/TID (whole False).  A node is made when it is asked for: most are asked for one."""

    is_dir = True
    i_flags = S_IMMUTABLE
    dynamic = True
    ordered = True
    owner_changes = True
    mode = 0o555

    def __init__(
        self, k: FsKernel, task: Task, whole: bool, options: ProcOptions, space: PidNamespace | None = None
    ) -> None:
        self.k, self.task, self.shows, self.options = k, task, task, options
        self.whole, self.space = whole, space
        self.ino = 0x100000 + task.pid * 0x4000 + (0 if whole else 0x2000)
        self.made: dict[str, Node] = {}
        self.cached = False  # somebody who may see it has found it: there is a dentry, and nobody looks it up again
        self.revalidate()

    def revalidate(self) -> None:
        """pid_update_inode(): the owner is who the process is now; root's where nobody may look at it."""
        task = self.task
        self.uid, self.gid = (task.cred.euid, task.cred.egid) if task.mm is not None else (0, 0)
        for node in self.made.values():
            self._own(node)

    def enter(self) -> None:
        """A thread's own directory asks nobody: one comes there through its process's."""
        if self.whole:
            self.options.enter(self.task)

    def look(self) -> None:
        """The mount's options say who may."""
        self.options.look(self.task)

    def _own(self, node: Node) -> None:
        if not isinstance(node, Dir):
            guarded = self.task.dumpable != 1 and self.task.mm is not None
            node.uid, node.gid = (0, 0) if guarded else (self.uid, self.gid)

    def lookup(self, name: str) -> Node | None:
        """One file or directory, made the first time."""
        node = self.made.get(name)
        if node is None:
            names = entry_names(self.k.arch.srcarch, self.k.version, self.whole)
            entry = names.get(name)
            if entry is None:
                return None
            node = self.made[name] = entry.make(self)
            node.polls = name in POLLED
            node.ino = self.ino + 1 + entry.number
            self._own(node)
        return node

    def entries(self) -> dict[str, Node]:
        """All, in the order of their table."""
        names = entry_names(self.k.arch.srcarch, self.k.version, self.whole)
        found = ((name, self.lookup(name)) for name in names)
        return {name: node for name, node in found if node is not None}

    def threads(self) -> Node:
        """/proc/PID/task."""
        return TaskDir(self.k, self.task, self.ino + 0x1000, self.options, self.space)

    def links(self) -> int:
        """2, and one per directory."""
        names = entry_names(self.k.arch.srcarch, self.k.version, self.whole)
        return 2 + sum(entry.is_dir for entry in names.values())

    @property
    def gone(self) -> bool:
        """The task was reaped."""
        tasks = self.k.tasks.by_pid
        return tasks.get(self.task.pid) is not self.task


class TaskDir(Node):
    """/proc/PID/task."""

    is_dir = True
    dynamic = True
    ordered = True
    mode = 0o555

    def __init__(self, k: FsKernel, task: Task, ino: int, options: ProcOptions, space: PidNamespace | None) -> None:
        self.k, self.options = k, options
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
            node = self.known[task.pid] = PidDir(self.k, task, False, self.options, self.space)
        return node


def real_number(space: PidNamespace | None, number: int) -> int:
    """The pid behind a directory's name, in a /proc that was mounted in a pid namespace."""
    return number if space is None else space.real.get(number, -1)


def find_process(
    k: FsKernel, name: str, cache: dict[int, PidDir], options: ProcOptions, space: PidNamespace | None = None
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
        node = cache[task.pid] = PidDir(k, task, True, options, space)
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
