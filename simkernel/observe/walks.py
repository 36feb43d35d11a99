"""What iterators that programs open walk over: bpf.walk_face.Walks.  kernel/bpf/task_iter.c, cgroup_iter.c."""

from __future__ import annotations

from collections.abc import Iterator

from arch.abi.errno import EINVAL, ENOENT
from arch.errors import KernelError
from bpf import uapi
from simkernel.fs.cgroup import Cgroup
from simkernel.kernel.task import Task
from simkernel.observe.caches import all_caches, cache_of
from simkernel.observe.face import WatchedKernel

ALL_PROCS, ALL_THREADS, PROC_THREADS = 0, 1, 2  # BPF_TASK_ITER_*
PROCS, THREADED = 1, 2  # CSS_TASK_ITER_*
CHILDREN, CHILDREN_SINCE = 5, "7.2"  # BPF_CGROUP_ITER_CHILDREN


class KernelWalks:
    """Of one machine."""

    def __init__(self, k: WatchedKernel) -> None:
        self.k = k

    # ---- tasks ----

    def tasks(self, task: int, flags: int) -> Iterator[int]:
        """Only the threads of one process begin at the task that is given."""
        if flags > PROC_THREADS or (flags == PROC_THREADS and not task):
            raise KernelError(EINVAL)
        if flags == PROC_THREADS:
            first = self.k.tasks.at(task)
            threads = first.threads
            return iter([each.addr for each in threads[threads.index(first) :]])
        leaders = [each for _, each in sorted(self.k.tasks.by_pid.items()) if each.tgid == each.pid]
        if flags == ALL_PROCS:
            return iter([each.addr for each in leaders])
        return iter([each.addr for leader in leaders for each in leader.threads])

    def areas(self, task: int, start: int) -> Iterator[int]:
        """From the one on that does not end before the address."""
        mm = self.k.tasks.at(task).mm
        if mm is None:
            raise KernelError(ENOENT)
        return iter([self.k.mirror.vma_struct(mm, vma) for vma in mm.vmas if vma.end > start])

    # ---- memory ----

    def caches(self) -> Iterator[int]:
        """The slab's caches."""
        return iter(all_caches(self.k))

    def cache_of(self, address: int) -> int:
        """The cache that an object is of."""
        return cache_of(self.k, address)

    # ---- control groups ----

    def _group(self, css: int) -> Cgroup:
        """Whose cgroup_subsys_state it is."""
        group = self.k.vfs.cgroups.at.get(css - self.k.types.offsetof("struct cgroup", "self"))
        if group is None:
            raise KernelError(EINVAL, "the state of a controller")
        return group

    def _address(self, group: Cgroup) -> int:
        self.k.vfs.cgroups.publish(group)
        return group.addr

    def groups(self, css: int, order: int) -> Iterator[int]:
        """A group and those below it, or above it."""
        start, own = self._group(css), self.k.types.offsetof("struct cgroup", "self")
        if order == uapi.BPF_CGROUP_ITER_DESCENDANTS_PRE:
            found = list(_before(start))
        elif order == uapi.BPF_CGROUP_ITER_DESCENDANTS_POST:
            found = list(_behind(start))
        elif order == uapi.BPF_CGROUP_ITER_ANCESTORS_UP:
            found = list(start.up())
        elif order == CHILDREN and self.k.version.at_least(CHILDREN_SINCE):
            found = list(start.subgroups.values())
        else:
            raise KernelError(EINVAL)
        return iter([self._address(group) + own for group in found])

    def tasks_of(self, css: int, flags: int) -> Iterator[int]:
        """In the order in which they came; THREADED: also those in groups of threads below."""
        if flags not in (0, PROCS, PROCS | THREADED):
            raise KernelError(EINVAL)
        groups = [self._group(css)]
        if flags & THREADED:
            groups += [group for group in _before(groups[0]) if group.threaded and group is not groups[0]]
        tasks = [task for group in groups for task in self._in(group)]
        return iter([task.addr for task in tasks if not flags & PROCS or task.tgid == task.pid])

    def _in(self, group: Cgroup) -> list[Task]:
        living, cgroups = group.tasks(), self.k.vfs.cgroups
        came = {task: i for i, task in enumerate(cgroups.members)}
        return sorted(living, key=lambda task: came.get(task, -1))

    def group(self, number: int) -> int:
        """cgroup_get_from_id()."""
        found = next((group for group in _before(self.k.vfs.cgroups.root) if group.id == number), None)
        return 0 if found is None else self._address(found)

    def ancestor(self, group: int, level: int) -> int:
        """cgroup_ancestor()."""
        found = self.k.vfs.cgroups.at.get(group)
        above = [] if found is None else list(found.up())[::-1]
        return self._address(above[level]) if 0 <= level < len(above) else 0


def _before(group: Cgroup) -> Iterator[Cgroup]:
    yield group
    for child in list(group.subgroups.values()):
        yield from _before(child)


def _behind(group: Cgroup) -> Iterator[Cgroup]:
    for child in list(group.subgroups.values()):
        yield from _behind(child)
    yield group
