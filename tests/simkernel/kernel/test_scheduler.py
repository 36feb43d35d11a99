"""Wake-ups in odd places, and what the scheduler's structures say."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import pytest

import simkernel
from arch.abi.sched import SCHED_FIFO
from simkernel.fs import rootfs
from simkernel.kernel.runqueue import RunQueue
from simkernel.machine import Machine

BUSYBOX = shutil.which("busybox")
pytestmark = pytest.mark.skipif(BUSYBOX is None, reason="needs a static busybox on this host")


def shell(m: Machine, script: str) -> str:
    """What a script prints."""
    assert BUSYBOX is not None
    with open(BUSYBOX, "rb") as program:
        rootfs.add_bytes_lazily(m.kernel.vfs, "/bin/busybox", program.read())
    return m.run(["/bin/busybox", "sh", "-c", script], timeout_host_s=60).text


@pytest.mark.parametrize("cpus", [1, 2])
def test_a_task_that_sched_switch_wakes_while_it_goes_runs_again(cpus: int) -> None:
    """It left its queue already, and is still what the CPU runs: try_to_wake_up() asks on_rq, so it is queued again."""
    m = simkernel.boot(cpus=cpus)
    k = m.kernel
    woken: list[str] = []

    def switch(mode: int, prev: int, following: int, state: int) -> None:
        task = k.tasks.at(prev)
        if task.comm == "sleep" and state and not woken and k.cpus.activate(task, 0):
            woken.append(task.comm)
            assert task.on_rq
            assert k.mirror.get_field(prev, "task_struct", "on_rq") == 1

    k.tracepoints.points["sched_switch"].add(switch)
    assert shell(m, "sleep 1; echo done") == "done\n"
    assert woken == ["sleep"]


def test_who_had_least_runs_first_and_who_came_first_of_equals():
    rq = RunQueue(0, SimpleNamespace(name="idle", policy=0, prio_class=1), None)
    assert rq.pick().name == "idle"
    for name, policy, vruntime in (("a", 0, 30), ("b", 0, 10), ("c", 0, 30), ("d", 0, 10), ("rt", SCHED_FIFO, 99)):
        prio_class = int(policy == 0)
        rq.add(
            SimpleNamespace(name=name, policy=policy, prio=99 + prio_class, prio_class=prio_class, vruntime=vruntime)
        )
    assert [task.name for task in rq.tasks] == ["rt", "b", "d", "a", "c"] and rq.pick().name == "rt"
    changed = rq.tasks[0]
    changed.policy, changed.prio_class = 0, 1  # sched_setscheduler() of a task that waits
    rq.rank_anew(changed, False, 0, 1, 1)
    assert [task.name for task in rq.tasks] == ["b", "d", "a", "c", "rt"]
