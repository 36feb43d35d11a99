"""cgroup2: groups of processes as directories.  kernel/cgroup/cgroup.c.

A cgroup names a set of processes: for /proc/PID/cgroup, for the helpers that ask for the current cgroup, as the place where BPF
programs for sockets are attached, and for what its controllers do (cgroup_cpu.py, cgroup_memory.py, cgroup_pids.py; cgroup_freezer.py
is every group's).  `Cgroups` is the hierarchy of one machine (`k.vfs.cgroups`); a task that was never moved is in the root.  The C
structures that lead from task->cgroups->dfl_cgrp to kn->id are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

from arch.abi.errno import EAGAIN, EBUSY, EEXIST, EINVAL, ENOENT, EOPNOTSUPP, ERANGE, ESRCH
from arch.abi.limits import INT_MAX
from arch.abi.sched import CLONE_INTO_CGROUP
from arch.abi.signal import SIGKILL
from arch.abi.time import NSEC_PER_USEC
from arch.cstring import kstrto_within
from arch.errors import KernelError
from simkernel.fs.cgroup_cpu import CPU, CpuCss, GroupScheduling
from simkernel.fs.cgroup_css import NO_LIMIT, CgroupFile, Controller, Css, number_or_max, shown, text_of
from simkernel.fs.cgroup_freezer import is_frozen, set_freezing, tell
from simkernel.fs.cgroup_memory import Charges, MemoryCss, memory
from simkernel.fs.cgroup_nodes import CgroupNode
from simkernel.fs.cgroup_pids import PIDS, PidsCss
from simkernel.fs.cgroup_procs import Opener, may_attach, may_fork_into
from simkernel.fs.inode import SuperBlock
from simkernel.fs.mirror import Mirror
from simkernel.fs.nodes import Dir, Node
from simkernel.kernel.face import KernelFace
from simkernel.kernel.task import CloneArgs, Task

CGROUP_SIZE = 12288  # bytes of memory: struct cgroup, the nodes of its files, what its controllers keep
SINCE = {"memory": "4.5", "pids": "4.5", "cpu": "4.15"}  # as part of cgroup2


def _retire(node: Node) -> None:
    """kernfs_remove(): who has it open is told."""
    if isinstance(node, CgroupNode):
        node.gone = True


class Cgroup(Dir):
    """struct cgroup: a directory, and the processes that were put into it."""

    def __init__(self, groups: Cgroups, name: str, parent: Cgroup | None) -> None:
        super().__init__(mode=0o555 if parent is None else 0o755)
        self.groups, self.k = groups, groups.k
        self.name = name
        self.parent = parent
        self.level: int = 0 if parent is None else parent.level + 1
        self.ino = 0  # its id; the super block numbers the root 1
        self.subgroups: dict[str, Cgroup] = {}
        self.max_depth = self.max_descendants = NO_LIMIT
        self.nr_descendants = 0
        self.addr = self.css_set = 0
        self.threaded = self.removed = False
        self.freeze = self.frozen_told = False
        self.enabled: set[str] = set()  # cgroup.subtree_control
        # The controller perf_event, which no file names: a group has it once cgroup.subtree_control of one above was changed.
        self.has_perf: bool = parent is None or parent.gives_perf
        self.gives_perf: bool = parent is not None and self.has_perf
        self.css: dict[str, Css] = {}
        self.time_ns = [0, 0]  # of tasks that were here or below: all of it, in user mode
        for file in self._files():
            self._add_file(file)

    # --- the tree ---
    @property
    def path(self) -> str:
        """As /proc/PID/cgroup shows it."""
        names = [group.name for group in self.up() if group.parent is not None]
        return "/" + "/".join(reversed(names))

    @property
    def id(self) -> int:
        """cgroup_id(): the number of its directory's inode."""
        return self.ino

    def up(self) -> Iterator[Cgroup]:
        """Itself and those above."""
        here: Cgroup | None = self
        while here is not None:
            yield here
            here = here.parent

    def ancestor(self, level: int) -> Cgroup | None:
        """The cgroup above at that level; None below its own."""
        return next((group for group in self.up() if group.level == level), None)

    def is_below(self, other: Cgroup) -> bool:
        """cgroup_is_descendant(): itself counts."""
        return self.ancestor(other.level) is other

    def below(self) -> Iterator[Cgroup]:
        """Itself and all below it."""
        stack = [self]
        while stack:
            group = stack.pop()
            yield group
            stack += reversed(group.subgroups.values())

    def mkdir(self, name: str) -> None:
        """A new cgroup.  EINVAL for a newline in the name, EAGAIN beyond cgroup.max.*, ENOMEM."""
        if "\n" in name:
            raise KernelError(EINVAL, "newline in the name")
        if name in self.children:
            raise KernelError(EEXIST, "exists")
        for group in self.up():
            if group.descendants() >= group.max_descendants or self.level + 1 - group.level > group.max_depth:
                raise KernelError(EAGAIN, "cgroup.max")
        self.k.mm.charge(CGROUP_SIZE)
        child = Cgroup(self.groups, name, self)
        child.uid, child.gid = self._maker()
        child.ino = self.groups.new_id()
        self.groups.publish(child)
        self.subgroups[name] = child
        for group in self.up():
            group.nr_descendants += 1
        self.add(name, child)
        for controller in self.groups.controllers.values():
            if controller.name in self.enabled:
                child.put_css(controller)
        self.groups.tell("cgroup_mkdir", child)

    def rmdir(self, name: str) -> None:
        """EBUSY while it has processes or children."""
        child = self.subgroups.get(name)
        if child is None or child.subgroups or child.tasks():
            raise KernelError(EBUSY, "in use")
        self.groups.tell("cgroup_rmdir", child)
        self.k.mm.charge(-CGROUP_SIZE)
        for word in list(child.css):
            child.drop_css(word)
        del self.subgroups[name], self.own[name]
        for group in self.up():
            group.nr_descendants -= 1
        child.removed = True
        for node in child.own.values():
            _retire(node)
        for told in self.groups.removed:
            told(child)

    def contains_current(self) -> bool:
        """task_under_cgroup_hierarchy() of the running task."""
        return self.groups.of(self.k.current).is_below(self)

    def _maker(self) -> tuple[int, int]:
        """cgroup_kn_set_ugid(): who makes a group or a file has it."""
        cred = self.k.current.cred
        return cred.fsuid, cred.fsgid

    def _add_file(self, file: CgroupFile) -> None:
        node = CgroupNode(self.k, file)
        if self.parent is not None:
            node.uid, node.gid = self._maker()
        self.add(file.name, node)

    # --- controllers ---
    def put_css(self, controller: Controller) -> None:
        """css_create() and css_populate_dir()."""
        above = None if self.parent is None else self.parent.effective(controller.name)
        css = self.css[controller.name] = controller.css(self, above)
        if self.parent is not None:
            for file in css.files():
                self._add_file(file)

    def drop_css(self, word: str) -> None:
        """kill_css()."""
        css = self.css.pop(word)
        for file in css.files():
            _retire(self.own.pop(file.name))
        css.offline()

    def effective(self, word: str) -> Css:
        """cgroup_e_css(): that of the nearest group which has one."""
        return next(group.css[word] for group in self.up() if word in group.css)

    def available(self) -> set[str]:
        """cgroup_control(): what the group above gives."""
        all_of_them = self.groups.controllers
        words = set(all_of_them) if self.parent is None else self.parent.enabled
        return {word for word in words if not self.threaded or all_of_them[word].threaded}

    def _names(self, words: set[str]) -> str:
        return " ".join(word for word in self.groups.controllers if word in words) + "\n" if words else ""

    def _control(self, data: bytes) -> None:
        """cgroup_subtree_control_write().  EINVAL, ENOENT, EBUSY, EOPNOTSUPP."""
        wanted: dict[str, bool] = {}
        for word in text_of(data).split(" "):
            if word and (word[0] not in "+-" or word[1:] not in self.groups.controllers):
                raise KernelError(EINVAL, "no such controller")
            if word:
                wanted[word[1:]] = word[0] == "+"
        enable = {word for word, on in wanted.items() if on and word not in self.enabled}
        disable = {word for word, on in wanted.items() if not on and word in self.enabled}
        if enable - self.available():
            raise KernelError(ENOENT, "not given by the group above")
        if any(child.enabled & disable for child in self.subgroups.values()):
            raise KernelError(EBUSY, "in use below")
        if enable:
            self._vet_enable(enable)
        self.enabled = (self.enabled | enable) - disable
        if self.has_perf and (enable or disable):  # cgroup_propagate_control()
            for group in self.below():
                group.has_perf = group.gives_perf = True
        for group in self.subgroups.values():
            for controller in self.groups.controllers.values():
                if controller.name in enable and controller.name in group.available():
                    group.put_css(controller)
            for word in disable & group.css.keys():
                group.drop_css(word)
        self.groups.controllers_changed()

    def _vet_enable(self, enable: set[str]) -> None:
        """cgroup_vet_subtree_control_enable()."""
        if not self.domain.is_valid_domain:
            raise KernelError(EOPNOTSUPP, "no valid domain")
        if self.parent is None:
            return
        if any(not self.groups.controllers[word].threaded for word in enable):
            if self.is_thread_root or self.threaded:
                raise KernelError(EOPNOTSUPP, "a controller of domains among threads")
        elif self.can_be_thread_root or self.threaded:
            return
        if self.tasks():
            raise KernelError(EBUSY, "has processes")

    # --- domains and threads ---
    @property
    def domain(self) -> Cgroup:
        """dom_cgrp."""
        return next(group for group in self.up() if not group.threaded)

    def _has_domain_controllers(self) -> bool:
        return any(not self.groups.controllers[word].threaded for word in self.enabled)

    @property
    def is_thread_root(self) -> bool:
        """cgroup_is_thread_root()."""
        if self.threaded:
            return False
        threads = any(child.threaded for child in self.subgroups.values())
        return threads or (bool(self.tasks()) and any(self.groups.controllers[w].threaded for w in self.enabled))

    @property
    def can_be_thread_root(self) -> bool:
        """cgroup_can_be_thread_root()."""
        if self.parent is None:
            return True
        domains = any(child.populated() and not child.threaded for child in self.subgroups.values())
        return not self.threaded and not domains and not self._has_domain_controllers()

    @property
    def is_valid_domain(self) -> bool:
        """cgroup_is_valid_domain()."""
        if self.threaded:
            return False
        above = list(self.up())[1:]
        return not any(group.threaded or (group.parent is not None and group.is_thread_root) for group in above)

    def _type(self) -> str:
        if self.threaded:
            return "threaded\n"
        if not self.is_valid_domain:
            return "domain invalid\n"
        return "domain threaded\n" if self.is_thread_root else "domain\n"

    def _set_type(self, data: bytes) -> None:
        """cgroup_enable_threaded().  EINVAL, EOPNOTSUPP."""
        if text_of(data) != "threaded":
            raise KernelError(EINVAL, "only threaded")
        if self.threaded:
            return
        assert self.parent is not None
        domain = self.parent.domain
        if self.populated() or self._has_domain_controllers():
            raise KernelError(EOPNOTSUPP, "in use")
        if not domain.is_valid_domain or not domain.can_be_thread_root:
            raise KernelError(EOPNOTSUPP, "the group above")
        self.threaded = True
        for word in [word for word in self.css if not self.groups.controllers[word].threaded]:
            self.drop_css(word)

    # --- processes ---
    def tasks(self) -> list[Task]:
        """Living threads in it, in the order in which they came."""
        members, known = self.groups.members, self.k.tasks.by_pid
        found = [t for _, t in sorted(known.items()) if t not in members] if self.parent is None else []
        found += [task for task, group in members.items() if group is self and known.get(task.pid) is task]
        return [t for t in found if t.pid and not t.exit_state]

    def tasks_below(self) -> list[Task]:
        """All of it and of the groups below, dead ones too while nobody waited for them."""
        return [t for t in self.k.tasks.by_pid.values() if t.pid and self.groups.of(t).is_below(self)]

    def populated(self) -> bool:
        """A process is in it or below."""
        gone = self.groups.gone
        return any(not task.exit_state and task not in gone for task in self.tasks_below())

    def descendants(self) -> int:
        """How many cgroups are below."""
        return self.nr_descendants

    def notify(self, name: str) -> None:
        """cgroup_file_notify()."""
        node = self.children.get(name)
        if isinstance(node, CgroupNode):
            node.events += 1
            self.groups.on_event(self, name, node)

    def _files(self) -> Iterator[CgroupFile]:
        """cgroup_base_files[]."""
        yield CgroupFile("cgroup.controllers", lambda: self._names(self.available()))
        if self.parent is not None:
            yield CgroupFile("cgroup.events", self._events)
            yield CgroupFile("cgroup.freeze", lambda: f"{self.freeze:d}\n", self._freeze)
            if self.k.version.at_least("5.14"):
                yield CgroupFile("cgroup.kill", None, self._kill)
            yield CgroupFile("cgroup.type", self._type, self._set_type)
        yield CgroupFile("cgroup.max.depth", lambda: shown(self.max_depth), self._set_depth)
        yield CgroupFile("cgroup.max.descendants", lambda: shown(self.max_descendants), self._set_descendants)
        yield CgroupFile("cgroup.procs", self._procs, None, lambda data, opener: self._move(data, True, opener))
        yield CgroupFile("cgroup.stat", lambda: f"nr_descendants {self.descendants()}\nnr_dying_descendants 0\n")
        yield CgroupFile("cgroup.subtree_control", lambda: self._names(self.enabled), self._control)
        threads = lambda: "".join(f"{self._number(t)}\n" for t in self.tasks())  # noqa: E731
        yield CgroupFile("cgroup.threads", threads, None, lambda data, opener: self._move(data, False, opener))
        yield CgroupFile("cpu.stat", self._cpu_stat)

    def _set_depth(self, data: bytes) -> None:
        self.max_depth = number_or_max(text_of(data), INT_MAX, ERANGE)

    def _set_descendants(self, data: bytes) -> None:
        self.max_descendants = number_or_max(text_of(data), INT_MAX, ERANGE)

    def _number(self, task: Task) -> int:
        return self.k.tasks.vnr(task.pid)

    def _procs(self) -> str:
        if self.threaded:
            raise KernelError(EOPNOTSUPP, "threaded")
        found = [task for group in self.below() if group.domain is self for task in group.tasks()]
        return "".join(f"{number}\n" for number in dict.fromkeys(self._number(t.group_leader) for t in found))

    def _events(self) -> str:
        return f"populated {self.populated():d}\nfrozen {is_frozen(self):d}\n"

    def _move(self, data: bytes, whole: bool, opener: Opener) -> None:
        """Put a process or a thread (0: the writer) into this cgroup.  EINVAL, ESRCH, EACCES, EOPNOTSUPP, EBUSY."""
        k = self.k
        try:
            pid = kstrto_within(text_of(data), 0, 0, INT_MAX)
        except KernelError:
            raise KernelError(EINVAL, "not a pid") from None
        task = k.current if pid == 0 else k.tasks.find(pid)
        if task is None:
            raise KernelError(ESRCH, "no such process")
        groups, old = self.groups, self.groups.of(task)
        may_attach(groups.sb, old, self, opener)
        if not whole and old.domain is not self.domain:
            raise KernelError(EOPNOTSUPP, "threads stay in their domain")
        self.vet()
        threads = (task.threads or [task]) if whole else [task]

        def move() -> int:
            before = {group: group.populated() for group in (*self.up(), *old.up())}
            for thread in threads:
                if groups.of(thread) is not self:
                    groups.put(thread, self)
            groups.tell_populated(before)
            for thread in threads:
                groups.tell("cgroup_attach_task", self, thread.addr, True)
            return 0

        groups.attach(self, threads[0], whole, move)

    def vet(self) -> None:
        """cgroup_migrate_vet_dst().  EOPNOTSUPP, EBUSY."""
        if not self.domain.is_valid_domain:
            raise KernelError(EOPNOTSUPP, "no valid domain")
        if self.enabled and not self.can_be_thread_root and not self.threaded:
            raise KernelError(EBUSY, "has controllers for groups below")

    # --- what is every group's ---
    @property
    def frozen_wanted(self) -> bool:
        """Of it or of a group above."""
        return any(group.freeze for group in self.up())

    def tell_frozen(self, now: bool) -> None:
        """cgroup_notify_frozen."""
        self.groups.tell("cgroup_notify_frozen", self, int(now))

    def _freeze(self, data: bytes) -> None:
        value = kstrto_within(text_of(data), 0, -INT_MAX, INT_MAX)
        if value not in (0, 1):
            raise KernelError(ERANGE, "0 or 1")
        before = [(group, group.frozen_wanted) for group in self.below()]
        self.freeze = bool(value)
        for group, was in before:
            if group.frozen_wanted != was:
                self.groups.tell("cgroup_unfreeze" if was else "cgroup_freeze", group)
        for task in self.tasks_below():
            if not task.exit_state:
                set_freezing(self.k, task, self.groups.of(task).frozen_wanted)
        for group in list(self.below()):
            tell(group)

    def _kill(self, data: bytes) -> None:
        if kstrto_within(text_of(data), 0, -INT_MAX, INT_MAX) != 1:
            raise KernelError(ERANGE, "1 only")
        if self.threaded:
            raise KernelError(EOPNOTSUPP, "threaded")
        for task in self.tasks_below():
            if task is task.group_leader and not task.exit_state:
                self.k.signals.send(task, SIGKILL)

    def _cpu_stat(self) -> str:
        for task in self.tasks_below():
            self.groups.settle(task)
        total, user = (ns // NSEC_PER_USEC for ns in self.time_ns)
        text = f"usage_usec {total}\nuser_usec {user}\nsystem_usec {total - user}\n"
        cpu = self.css.get("cpu")
        return text + cpu.stat() if isinstance(cpu, CpuCss) and self.parent is not None else text


class Cgroups:
    """The hierarchy of one machine."""

    def __init__(self, k: KernelFace, mirror: Mirror) -> None:
        self.k = k
        self.mirror = mirror
        self.root_addr = 0  # struct cgroup_root
        self.at: WeakValueDictionary[int, Cgroup] = WeakValueDictionary()  # by address of the struct cgroup
        # cgroup_attach_task(): moves a process or thread; observers may be around it
        self.attach: Callable[[Cgroup, Task, bool, Callable[[], int]], int] = lambda group, task, whole, move: move()
        self.sb: SuperBlock | None = None  # set when the file system is made
        self.removed: list[Callable[[Cgroup], None]] = []  # told of each group that goes
        self.members: WeakKeyDictionary[Task, Cgroup] = WeakKeyDictionary()  # who is elsewhere than in the root
        # told by vfs.py's boot
        self.on_event: Callable[[Cgroup, str, CgroupNode], None] = lambda group, name, node: None
        self.of_fd: Callable[[int], Cgroup] = lambda fd: self.root  # the same: cgroup_get_from_file()
        self.gone: WeakSet[Task] = WeakSet()  # past cgroup_exit(), and still to be waited for
        self.settled: WeakKeyDictionary[Task, tuple[int, int]] = WeakKeyDictionary()
        self.book = Charges(k, self._memory_of)
        rows = (CPU, memory(self.book), PIDS)
        self.controllers = {row.name: row for row in rows if k.version.at_least(SINCE[row.name])}
        self.root = Cgroup(self, "", None)
        self.root.ino = 1
        for row in self.controllers.values():
            self.root.put_css(row)

    def _memory_of(self, task: Task) -> MemoryCss:
        css = self.of(task).effective("memory")
        assert isinstance(css, MemoryCss)
        return css

    def _cpu_of(self, task: Task) -> CpuCss:
        css = self.of(task).effective("cpu")
        assert isinstance(css, CpuCss)
        return css

    def controllers_changed(self) -> None:
        """Run queues and pages ask for groups only while there is one that has the controller."""
        if "cpu" in self.root.enabled and self.k.cpus.groups is None:
            self.k.cpus.groups = GroupScheduling(self._cpu_of)
        if "memory" in self.root.enabled and self.k.mm.frames.charger is None:
            self.k.mm.frames.charger = self.book

    def may_fork(self, child: Task, args: CloneArgs) -> int:
        """cgroup_can_fork(); with CLONE_INTO_CGROUP the group is another than the parent's.  EBADF, ENODEV, EACCES, EBUSY, EOPNOTSUPP, EAGAIN."""
        if args.flags & CLONE_INTO_CGROUP:
            try:
                group = self.of_fd(args.cgroup)
                may_fork_into(self.sb, self.of(self.k.current), group, self.k)
                group.vet()
            except KernelError as error:
                return -error.errno
            before = {above: above.populated() for above in group.up()}
            self.inherit_group(child, group)
            self.tell_populated(before)
        if "pids" not in self.root.enabled:
            return 0
        css = self.of(child).effective("pids")
        assert isinstance(css, PidsCss)
        return css.may_fork()

    def settle(self, task: Task) -> None:
        """A task's time since the last look, to its group and those above."""
        now = (max(task.sum_exec_ns, task.utime_ns), task.utime_ns)
        seen = self.settled.get(task, (0, 0))
        self.settled[task] = now
        for group in self.of(task).up():
            group.time_ns[0] += now[0] - seen[0]
            group.time_ns[1] += now[1] - seen[1]

    def freezer_changed(self, task: Task) -> None:
        """A task was frozen, or is no more."""
        for group in self.of(task).up():
            tell(group)

    def tell_populated(self, before: dict[Cgroup, bool]) -> None:
        """cgroup_update_populated(): of those groups that were, or are, empty."""
        for group, was in before.items():
            now = group.populated()
            if now != was and group.parent is not None:
                self.tell("cgroup_notify_populated", group, int(now))
                group.notify("cgroup.events")
            tell(group)

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
        self.settle(task)
        self.members.pop(task, None)  # it is the last of those who came
        self.members[task] = group
        set_freezing(self.k, task, group.frozen_wanted)
        self.publish(group)
        if task.addr:
            self.mirror.struct("struct task_struct").set(task.addr, "cgroups", group.css_set)

    def exited(self, task: Task) -> None:
        """cgroup_exit(): the last task of a group tells."""
        group = self.of(task)
        self.settle(task)
        self.gone.add(task)
        while group.parent is not None and not group.populated():
            self.tell("cgroup_notify_populated", group, 0)
            group.notify("cgroup.events")
            group = group.parent
        for above in self.of(task).up():
            if above.frozen_wanted:
                tell(above)

    def inherit(self, child: Task, parent: Task) -> None:
        """cgroup_fork()."""
        self.inherit_group(child, self.of(parent))

    def inherit_group(self, child: Task, group: Cgroup) -> None:
        """A new task begins its life there."""
        self.members[child] = group
        self.publish(group)
        if child.addr:
            self.mirror.struct("struct task_struct").set(child.addr, "cgroups", group.css_set)
        if group.frozen_wanted:
            child.freezing = child.work = True

    def id_of(self, task: Task, level: int | None = None) -> int:
        """bpf_get_current_cgroup_id() and its ancestor form; 0 when there is none at that level."""
        group: Cgroup | None = self.of(task)
        if level is not None and group is not None:
            group = group.ancestor(level)
        return group.ino if group is not None else 0

    def publish(self, group: Cgroup) -> None:
        """struct cgroup, its kernfs_node and a css_set in kernel memory."""
        for each in reversed([above for above in group.up() if not above.addr]):
            self._publish(each)

    def _publish(self, group: Cgroup) -> None:
        mirror = self.mirror
        name = mirror.string(group.name.encode("utf-8", "surrogateescape"))
        node = mirror.struct("struct kernfs_node").new({"name": name, "id": group.ino, "mode": 0o40000 | group.mode})
        if group.parent is None:
            self.root_addr = mirror.struct("struct cgroup_root").new({})
            group.addr = self.root_addr + mirror.struct("struct cgroup_root").offset("cgrp")
        else:
            group.addr = mirror.struct("struct cgroup").new({})
        for member, value in (
            ("level", group.level), ("kn", node), ("max_depth", INT_MAX), ("max_descendants", INT_MAX), ("root", self.root_addr),
            ("dom_cgrp", group.addr), ("self.cgroup", group.addr),
        ):  # fmt: skip
            mirror.struct("struct cgroup").set(group.addr, member, value)
        mirror.struct("struct kernfs_node").set(node, "priv", group.addr)
        if group.parent is not None:
            mirror.struct("struct cgroup").set(group.addr, "self.parent", group.parent.addr)  # the state lies first
        self.at[group.addr] = group
        group.css_set = mirror.struct("struct css_set").new(
            {"dfl_cgrp": group.addr, "nr_tasks": 1, "refcount.refs.counter": 1}
        )
        mirror.struct("struct css_set").set(group.css_set, "dom_cset", group.css_set)
