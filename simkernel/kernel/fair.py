"""Fair tasks: how long a turn is, and where a new task is put among the others.  kernel/sched/fair.c.

A new task owes a turn before it has run (START_DEBIT), so its parent runs on, and of several the last one is the first to run.
Since 6.6 (EEVDF) it owes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from arch.abi.sched import SCHED_BATCH, SCHED_IDLE, SCHED_NORMAL
from arch.abi.version import newest
from simkernel.kernel.face import KernelFace
from simkernel.kernel.runqueue import RunQueue
from simkernel.kernel.task import Task
from simkernel.kernel.weights import NICE_0_LOAD, weight_of

NICED = (SCHED_NORMAL, SCHED_BATCH)  # fair_policy(): an idle task keeps the nice value it had
FAIR = (*NICED, SCHED_IDLE)
LATENCY_NS, LATENCY_CPUS, NR_LATENCY = (
    6_000_000,
    8,
    8,
)  # of one CPU; more have more, up to so many; shared by so many tasks


@dataclass(frozen=True)
class FairRules:
    """What a version does with fair tasks."""

    debit: bool  # START_DEBIT: a new task owes a turn
    skips: bool  # who yields keeps its virtual time, and only the next one goes before it


RULES = (
    ("6.6", FairRules(debit=False, skips=False)),  # 147f3efaa241: EEVDF
    (None, FairRules(debit=True, skips=True)),
)


def sched_slice(rq: RunQueue, task: Task, nr_cpus: int) -> int:
    """Its part of the period in which everybody runs once, by weight, with those that run or wait here, ns; 0 where nothing does."""
    fair = [t for t in (rq.current, *rq.tasks) if t.policy in FAIR and t is not rq.idle]
    if not fair:
        return 0
    if task not in fair:
        fair.append(task)
    weights = sum(weight_of(t.policy, t.static_prio) for t in fair)
    period = LATENCY_NS * max(len(fair), NR_LATENCY) // NR_LATENCY * min(nr_cpus, LATENCY_CPUS).bit_length()
    return period * weight_of(task.policy, task.static_prio) // weights


def sched_vslice(rq: RunQueue, task: Task, nr_cpus: int) -> int:
    """The same as virtual time."""
    return sched_slice(rq, task, nr_cpus) * NICE_0_LOAD // weight_of(task.policy, task.static_prio)


def task_fork_fair(k: KernelFace, task: Task, rq: RunQueue) -> None:
    """Put a new task that will run on `rq` behind its parent, or before it if children run first."""
    here, parent = k.cpus.rq, k.current
    k.cpus.account()
    debt = sched_vslice(here, task, k.nr_cpus) if newest(RULES, k.version).debit else 0
    task.vruntime = max(task.vruntime, here.min_vruntime + debt)
    if k.cpus.child_runs_first and parent.vruntime < task.vruntime:
        parent.vruntime, task.vruntime = task.vruntime, parent.vruntime
        here.need_resched = True
        k.cpus.deadline = 0
    task.vruntime -= here.min_vruntime
    here.update_min_vruntime(parent.vruntime)  # enqueue_entity(): a parent that has let its child go first has moved on
    task.vruntime += rq.min_vruntime


def yield_task_fair(k: KernelFace) -> None:
    """Others first: who is next if it is hardly behind (the skip buddy), since EEVDF all that wait."""
    rq, task = k.cpus.rq, k.current
    if newest(RULES, k.version).skips:
        rq.skip = task
    else:
        task.vruntime = max(task.vruntime, max(t.vruntime for t in rq.tasks) + 1)
