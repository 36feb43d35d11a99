"""Freezing control groups: their tasks stay in the kernel until the group is thawed.  kernel/cgroup/freezer.c."""

from __future__ import annotations

from typing import Protocol

from simkernel.kernel.face import KernelFace
from simkernel.kernel.task import TASK_STOPPED, Task


class Freezable(Protocol):
    """A group and what freezes it."""

    frozen_told: bool  # what cgroup.events said last

    @property
    def frozen_wanted(self) -> bool:
        """Its own cgroup.freeze or that of a group above."""

    def tasks_below(self) -> list[Task]:
        """Threads of it and below."""

    def tell_frozen(self, now: bool) -> None:
        """cgroup_notify_frozen."""

    def notify(self, name: str) -> None:
        """A file of it says something new."""


def is_frozen(group: Freezable) -> bool:
    """All tasks are where they cannot run user code."""
    living = (task for task in group.tasks_below() if not task.exit_state)
    return group.frozen_wanted and all(task.frozen or task.state == TASK_STOPPED for task in living)


def tell(group: Freezable) -> None:
    """cgroup_update_frozen(): cgroup.events says what is new."""
    now = is_frozen(group)
    if now != group.frozen_told:
        group.frozen_told = now
        group.tell_frozen(now)
        group.notify("cgroup.events")


def set_freezing(k: KernelFace, task: Task, on: bool) -> None:
    """cgroup_freeze_task()."""
    if task.freezing == on:
        return
    task.freezing = on
    if on:
        k.cpus.wake_signal(task, False)
    elif task.frozen:
        k.cpus.activate(task, 0)
