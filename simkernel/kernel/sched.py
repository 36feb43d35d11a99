"""The scheduler: run queues of simulated CPUs, wake-ups, preemption, and the kernel functions a reader expects there.

kernel/sched/{core,fair,idle}.c.  Deterministic: among the runnable tasks of a CPU the one with the smallest virtual
runtime goes next, then the one that waits longest.  All simulated CPUs share one clock; `Machine` gives each busy CPU
its turn.
"""

from __future__ import annotations

import contextlib

from arch.abi.time import TICK_NSEC
from arch.errors import KernelError
from simkernel.kernel.face import Body, KernelFace, Steps
from simkernel.kernel.fair import task_fork_fair
from simkernel.kernel.irq import take_interrupts
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.runqueue import END_OF_TIME_NS
from simkernel.kernel.task import (
    TASK_INTERRUPTIBLE,
    TASK_RUNNING,
    TASK_UNINTERRUPTIBLE,
)
from simkernel.kernel.wait import tell

WF_SYNC = 0x10  # kernel/sched/sched.h
SM_PREEMPT = 1  # __schedule(): it would run on, as sched_switch shows


def rcu_does(k: KernelFace, what: str) -> None:
    """TPS(): RCU looks at a tick or a switch, of which there is nothing to be done here.  kernel/rcu/tree.c"""
    for edge in ("Start", "End"):
        k.trace("rcu_utilization", k.mirror.constant_string(f"{edge} {what}"))


def cond_resched(k: KernelFace) -> Steps[None]:
    """In the middle of long work: what the interrupts would have done meanwhile, and others who may run (`yield from`)."""
    clock = k.clock
    if clock._now >= clock.next_event_ns:
        clock.run_due()
    if k.irqs.pending[k.cpus.rq.cpu]:
        yield from take_interrupts(k)
    rq = k.cpus.rq
    if rq.need_resched or (rq.tasks and clock._now >= rq.slice_end_ns):
        yield k.call("__schedule", SM_PREEMPT)


@kernel_function("void schedule(void)", source="kernel/sched/core.c")
def schedule(k: KernelFace) -> Body:
    """Give up the CPU; returns when the task runs again."""
    yield k.call("__schedule", 0)
    return 0


@kernel_function("void __schedule(unsigned int sched_mode)", source="kernel/sched/core.c", notrace=False)
def __schedule(k: KernelFace, mode: int) -> Body:
    """Pick the next task and switch to it."""
    cpus = k.cpus
    rq = cpus.rq
    prev = k.current
    cpus.account()
    if not rq.need_resched and k.clock._now >= rq.slice_end_ns:
        rq.behind = True
    rq.need_resched = False
    if prev.state == TASK_RUNNING:
        if prev is not rq.idle:
            if cpus.groups is None or not cpus.groups.park(prev):
                rq.add(prev, in_front=not rq.behind and not prev.prio_class)
            prev.nivcsw += 1
    else:
        prev.on_rq = False
        prev.nvcsw += 1
        k.mirror.store_on_rq(prev)
    following = rq.pick()
    if following is not rq.idle:
        rq.tasks.remove(following)
    rq.prev, rq.next = prev, following
    if k.tracepoints.point("rcu_utilization").active:
        rcu_does(k, "context switch")
    rq.behind = False
    length = rq.slice_of(following, cpus.slice_ns(), k.cpus.rr_timeslice_ns) if rq.tasks else None
    rq.slice_end_ns = END_OF_TIME_NS if length is None else k.clock._now + length
    if cpus.groups is not None and (end := cpus.groups.slice_end(following, k.clock.now_ns)) is not None:
        rq.slice_end_ns = min(rq.slice_end_ns, end)
    cpus.deadline = 0
    if following is prev:
        return 0
    if rq.told is not None:
        rq.told(rq, following)
    rq.nr_switches += 1
    cpus.nr_switches += 1
    state = prev.state
    k.trace("sched_switch", mode, prev.addr, following.addr, state)
    rq.halted = False
    yield (cpus.switch_address, prev.addr, following.addr)
    yield k.call("finish_task_switch", cpus.rq.prev.addr)
    return 0


@kernel_function(
    "struct rq *finish_task_switch(struct task_struct *prev)",
    source="kernel/sched/core.c",
    names={None: "finish_task_switch", "5.11": "finish_task_switch.isra.0"},
)
def finish_task_switch(k: KernelFace, prev: int) -> int:
    """After the switch, in the new task: let go of a dead predecessor."""
    k.threads.finish_switch()
    return 0


@kernel_function("void schedule_tail(struct task_struct *prev)", source="kernel/sched/core.c")
def schedule_tail(k: KernelFace, prev: int) -> Body:
    """The first thing a new task does."""
    yield k.call("finish_task_switch", prev)
    task, forked = k.current, k.current.forked
    if task.set_child_tid and task.mm is not None:
        with contextlib.suppress(KernelError):
            k.usercopy.put_user(task.set_child_tid, 4, k.tasks.vnr(task.pid))
    if k.syscalls.strace is not None and task.forked:
        k.syscalls.strace.forked(task)
    if forked and k.arch.calls.child_ends_call:
        k.trace("sys_exit", task.regs, 0)
    # A traced child stops before its first instruction.
    if task.ptracer is not None and task.mm is not None and task.work:
        yield k.call("exit_to_user_mode_loop", task.regs, 0)
    return 0


@kernel_function("int kthread(void *_create)", source="kernel/kthread.c")
def kthread(k: KernelFace, create: int) -> Body:
    """The main function of kernel threads; one that became a program (kernel_execve) returns to user mode."""
    task = k.tasks.at(create)
    assert task.kthread is not None
    yield from task.kthread()
    if task.mm is None:
        yield k.call("do_exit", 0)
    return 0


@kernel_function(
    "int try_to_wake_up(struct task_struct *p, unsigned int state, int wake_flags)", source="kernel/sched/core.c"
)
def try_to_wake_up(k: KernelFace, p: int, state: int, wake_flags: int) -> int:
    """Make a sleeping task runnable; 1 when it was asleep."""
    return int(k.cpus.activate(k.tasks.at(p), 0, bool(wake_flags & WF_SYNC)))


@kernel_function("int default_wake_function(wait_queue_entry_t *curr, unsigned mode, int wake_flags, void *key)",
                 source="kernel/sched/core.c", jumps=True)  # fmt: skip
def default_wake_function(k: KernelFace, curr: int, mode: int, wake_flags: int, key: int) -> Body:
    """Wake the owner of a wait queue entry (here: its task_struct)."""
    return (yield k.call("try_to_wake_up", curr, mode, wake_flags))


@kernel_function(
    "int __wake_up(struct wait_queue_head *wq_head, unsigned int mode, int nr, void *key)", source="kernel/sched/wait.c"
)
def __wake_up(k: KernelFace, head: int, mode: int, nr: int, key: int) -> Body:
    """Wake the sleepers of one queue: all that are not exclusive, and `nr` exclusive ones."""
    queue = k.cpus.waking
    count = 0
    if queue is None:
        return 0
    nr, flags = tell(queue, nr), WF_SYNC if queue.sync else 0
    for task, exclusive in list(queue.waiters):
        if exclusive and nr < 0:
            continue
        if (yield k.call("try_to_wake_up", task.addr, TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE, flags)):
            count += 1
            if exclusive:
                if nr == 1:
                    break
                nr = max(nr - 1, 0)
    return count


@kernel_function("void wake_up_new_task(struct task_struct *p)", source="kernel/sched/core.c")
def wake_up_new_task(k: KernelFace, p: int) -> int:
    """Let a new task run for the first time."""
    task = k.tasks.at(p)
    rq = k.cpus.select_rq(task)
    task.state = TASK_RUNNING
    k.mirror.store_state(task)
    task.cpu = rq.cpu
    k.mirror.store_cpu(task)
    if task.prio_class:
        task_fork_fair(k, task, rq)
    k.cpus.enqueue(task, rq)
    k.trace("sched_wakeup_new", task.addr)
    if rq.check_preempt_wakeup(task):
        k.cpus.deadline = 0
    return 0


@kernel_function("void do_idle(void)", source="kernel/sched/idle.c", names={None: "cpu_idle_loop", "4.12": "do_idle"})
def do_idle(k: KernelFace) -> Body:
    """The idle task of a CPU: wait for something to run, run it, for ever."""
    while True:
        stopped = False  # the tick: nothing is to be done before the next one
        while not k.cpus.rq.tasks:
            if k.irqs.pending[k.cpus.rq.cpu]:
                yield from take_interrupts(k)
            else:
                if not stopped and k.clock.next_event_ns - k.clock.now_ns > TICK_NSEC:
                    stopped = True
                    k.trace("tick_stop", 1, TICK_DEP_NONE)
                yield k.call("default_idle_call")
        yield k.call("__schedule", 0)


TICK_DEP_NONE = 0  # include/linux/tick.h: nothing needs the tick
PWR_EVENT_EXIT = 0xFFFFFFFF  # include/trace/events/power.h: the idle state is left


@kernel_function("void default_idle_call(void)", source="kernel/sched/idle.c")
def default_idle_call(k: KernelFace) -> Body:
    """Nothing to do on this CPU: give the host's loop its turn.  (A generator, so that it is always really called.)"""
    cpu = k.cpus.rq.cpu
    k.trace("cpu_idle", 1, cpu)
    k.cpus.rq.halted = True
    k.cpu.stop()
    yield 0
    k.trace("cpu_idle", PWR_EVENT_EXIT, cpu)
    return 0
