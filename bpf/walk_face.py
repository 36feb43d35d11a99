"""What BPF asks of the machine for iterators that programs open: addresses of kernel objects, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol


class Walks(Protocol):
    """Objects in the kernel's order; KernelError for what cannot be walked."""

    def tasks(self, task: int, flags: int) -> Iterator[int]:
        """BPF_TASK_ITER_*: the processes, all threads, or those of a process from one on.  EINVAL."""

    def areas(self, task: int, start: int) -> Iterator[int]:
        """The areas of a task's memory, from an address on.  ENOENT."""

    def caches(self) -> Iterator[int]:
        """The slab's caches."""

    def cache_of(self, address: int) -> int:
        """The cache that an object at an address is of; 0: none that is known."""

    def groups(self, css: int, order: int) -> Iterator[int]:
        """BPF_CGROUP_ITER_*: the states of control groups.  EINVAL."""

    def tasks_of(self, css: int, flags: int) -> Iterator[int]:
        """CSS_TASK_ITER_*: who is in a control group.  EINVAL."""

    def group(self, number: int) -> int:
        """The control group with this id; 0 without."""

    def ancestor(self, group: int, level: int) -> int:
        """The group above one at this level; 0 without."""
