"""cgroup2: groups of processes as directories.  kernel/cgroup/cgroup.c.

No controller is simulated; what a cgroup does is to name a set of processes: for /proc/PID/cgroup, for the helpers that
ask for the current cgroup, and as the place where BPF programs for sockets are attached.  `Cgroups` is the hierarchy of
one machine (`k.vfs.cgroups`); a task that was never moved is in the root.  The C structures that lead from
task->cgroups->dfl_cgrp to kn->id are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

from arch.abi.errno import EBUSY, EEXIST, EINVAL, EOPNOTSUPP, ESRCH
from arch.abi.signal import SIGKILL
from arch.errors import KernelError
from simkernel.fs.inode import SuperBlock
from simkernel.fs.mirror import Mirror
from simkernel.fs.nodes import Dir, PseudoFile
from simkernel.kernel.face import KernelFace
from simkernel.kernel.task import Task


class Cgroup(Dir):
    """struct cgroup: a directory, and the processes that were put into it."""

    def __init__(self, groups: Cgroups, name: str, parent: Cgroup | None) -> None:
        super().__init__(mode=0o555 if parent is None else 0o755)
        self.groups = groups
        self.name = name
        self.parent = parent
        self.level: int = 0 if parent is None else parent.level + 1
        self.ino = 0  # its id; the super block numbers the root 1
        self.subgroups: dict[str, Cgroup] = {}
        self.max_depth = self.max_descendants = "max"
        self.addr = self.css_set = 0
        self._fill()

    # --- the tree ---
    @property
    def path(self) -> str:
        """As /proc/PID/cgroup shows it."""
        if self.parent is None:
            return "/"
        above = self.parent.path
        return above + ("" if above == "/" else "/") + self.name

    @property
    def id(self) -> int:
        """cgroup_id(): the number of its directory's inode."""
        return self.ino

    def ancestor(self, level: int) -> Cgroup | None:
        """The cgroup above at that level; None below its own."""
        here: Cgroup | None = self
        while here is not None and here.level > level:
            here = here.parent
        return here if here is not None and here.level == level else None

    def is_below(self, other: Cgroup) -> bool:
        """cgroup_is_descendant(): itself counts."""
        return self.ancestor(other.level) is other

    def mkdir(self, name: str) -> None:
        """A new cgroup; EINVAL for a newline in the name."""
        if "\n" in name:
            raise KernelError(EINVAL, "newline in the name")
        if name in self.children:
            raise KernelError(EEXIST, "exists")
        child = Cgroup(self.groups, name, self)
        child.ino = self.groups.new_id()
        self.groups.publish(child)
        self.subgroups[name] = child
        self.add(name, child)
        self.groups.tell("cgroup_mkdir", child)

    def rmdir(self, name: str) -> None:
        """EBUSY while it has processes or children."""
        child = self.subgroups.get(name)
        if child is None or child.subgroups or child.tasks():
            raise KernelError(EBUSY, "in use")
        self.groups.tell("cgroup_rmdir", child)
        del self.subgroups[name], self.children[name]
        for tell in self.groups.removed:
            tell(child)

    def contains_current(self) -> bool:
        """task_under_cgroup_hierarchy() of the running task."""
        return self.groups.of(self.groups.k.current).is_below(self)

    # --- processes ---
    def tasks(self) -> list[Task]:
        """Living threads in it, by pid."""
        k = self.groups.k
        found = [t for t in k.tasks.by_pid.values() if t.pid and not t.exit_state]
        return sorted((t for t in found if self.groups.of(t) is self), key=lambda t: int(t.pid))

    def populated(self) -> bool:
        """A process is in it or below."""
        return bool(self.tasks()) or any(child.populated() for child in self.subgroups.values())

    def descendants(self) -> int:
        """How many cgroups are below."""
        return sum(1 + child.descendants() for child in self.subgroups.values())

    def _fill(self) -> None:
        def text(name: str, show: Callable[[], str] | None, store: Callable[[bytes], None] | None = None) -> None:
            self.add(name, PseudoFile(show, store, (0o444 if show else 0) | (0o200 if store else 0)))

        text("cgroup.controllers", lambda: "")
        if self.parent is not None:
            text("cgroup.events", lambda: f"populated {self.populated():d}\nfrozen 0\n")
            text("cgroup.freeze", lambda: "0\n", _freeze)
            text("cgroup.kill", None, self._kill)
            text("cgroup.type", lambda: "domain\n", lambda data: None)
        text("cgroup.max.depth", lambda: f"{self.max_depth}\n", self._limit("max_depth"))
        text("cgroup.max.descendants", lambda: f"{self.max_descendants}\n", self._limit("max_descendants"))
        leaders = lambda: "".join(f"{t.pid}\n" for t in self.tasks() if t.pid == t.tgid)  # noqa: E731
        text("cgroup.procs", leaders, lambda data: self._move(data, True))
        text("cgroup.stat", lambda: f"nr_descendants {self.descendants()}\nnr_dying_descendants 0\n")
        text("cgroup.subtree_control", lambda: "", _no_controller)
        threads = lambda: "".join(f"{t.pid}\n" for t in self.tasks())  # noqa: E731
        text("cgroup.threads", threads, lambda data: self._move(data, False))
        text("cpu.stat", self._cpu_stat)

    def _limit(self, attribute: str) -> Callable[[bytes], None]:
        def store(data: bytes) -> None:
            value = data.decode("latin-1").strip()
            if value != "max" and not value.isdigit():
                raise KernelError(EINVAL, "a number or max")
            setattr(self, attribute, value)

        return store

    def _move(self, data: bytes, whole: bool) -> None:
        """Put a process (0: the writer) into this cgroup."""
        k = self.groups.k
        try:
            pid = int(data.split(b"\0")[0].strip())
        except ValueError:
            raise KernelError(EINVAL, "not a pid") from None
        if pid < 0:
            raise KernelError(EINVAL, "not a pid")
        task = k.current if pid == 0 else k.tasks.find(pid)
        if task is None:
            raise KernelError(ESRCH, "no such process")
        if not whole:
            raise KernelError(EOPNOTSUPP, "threads cannot move alone in a domain")
        groups, old = self.groups, self.groups.of(task)
        was_populated = self.populated()
        threads = task.threads or [task]
        for thread in threads:
            groups.put(thread, self)
        if not was_populated:
            groups.tell("cgroup_notify_populated", self, 1)
        if not old.populated():
            groups.tell("cgroup_notify_populated", old, 0)
        for thread in threads:
            groups.tell("cgroup_attach_task", self, thread.addr, True)

    def _kill(self, data: bytes) -> None:
        if data.strip() != b"1":
            raise KernelError(EINVAL, "1 only")
        for task in self.tasks():
            if task.pid == task.tgid:
                self.groups.k.signals.send(task, SIGKILL)
        for child in self.subgroups.values():
            child._kill(data)

    def _cpu_stat(self) -> str:
        tasks = self.tasks()
        user = sum(t.utime_ns for t in tasks) // 1000
        system = sum(t.stime_ns for t in tasks) // 1000
        return f"usage_usec {user + system}\nuser_usec {user}\nsystem_usec {system}\n"


def _freeze(data: bytes) -> None:
    if data.strip() != b"0":
        raise KernelError(EOPNOTSUPP, "freezing is not simulated")


def _no_controller(data: bytes) -> None:
    if data.strip():
        raise KernelError(EINVAL, "no controllers")


class Cgroups:
    """The hierarchy of one machine."""

    def __init__(self, k: KernelFace, mirror: Mirror) -> None:
        self.k = k
        self.mirror = mirror
        self.root_addr = 0  # struct cgroup_root
        self.sb: SuperBlock | None = None  # set when the file system is made
        self.removed: list[Callable[[Cgroup], None]] = []  # told of each group that goes
        self.members: WeakKeyDictionary[Task, Cgroup] = WeakKeyDictionary()  # who is elsewhere than in the root
        self.root = Cgroup(self, "", None)
        self.root.ino = 1

    def tell(self, event: str, group: Cgroup, *more: int) -> None:
        """TRACE_CGROUP_PATH()."""
        point = self.k.tracepoints.points.get(event)
        if point is not None and point.active:
            self.publish(group)
            path = self.mirror.string(group.path.encode("utf-8", "surrogateescape"))
            point.fire(group.addr, path, *more)
            self.k.mem.free(path)

    def new_id(self) -> int:
        """Cgroup ids are inode numbers."""
        return self.sb.new_ino() if self.sb is not None else 1

    def of(self, task: Task) -> Cgroup:
        """The cgroup of a task."""
        return self.members.get(task, self.root)

    def put(self, task: Task, group: Cgroup) -> None:
        """Move one thread."""
        self.members[task] = group
        self.publish(group)
        if task.addr:
            self.mirror.struct("struct task_struct").set(task.addr, "cgroups", group.css_set)

    def exited(self, task: Task) -> None:
        """cgroup_exit(): the last task of a group tells."""
        group = self.of(task)
        while group.parent is not None and not group.populated():
            self.tell("cgroup_notify_populated", group, 0)
            group = group.parent

    def inherit(self, child: Task, parent: Task) -> None:
        """cgroup_fork()."""
        self.put(child, self.of(parent))

    def id_of(self, task: Task, level: int | None = None) -> int:
        """bpf_get_current_cgroup_id() and its ancestor form; 0 when there is none at that level."""
        group: Cgroup | None = self.of(task)
        if level is not None and group is not None:
            group = group.ancestor(level)
        return group.ino if group is not None else 0

    def publish(self, group: Cgroup) -> None:
        """struct cgroup, its kernfs_node and a css_set in kernel memory."""
        if group.addr:
            return
        if group.parent is not None:
            self.publish(group.parent)
        mirror = self.mirror
        name = mirror.string(group.name.encode("utf-8", "surrogateescape") or b"/")
        node = mirror.struct("struct kernfs_node").new({"name": name, "id": group.ino, "mode": 0o40000 | group.mode})
        if group.parent is None:
            self.root_addr = mirror.struct("struct cgroup_root").new({})
        group.addr = mirror.struct("struct cgroup").new(
            {"level": group.level, "kn": node, "max_depth": 0x7FFFFFFF, "root": self.root_addr}
        )
        group.css_set = mirror.struct("struct css_set").new({"dfl_cgrp": group.addr, "nr_tasks": 1})
