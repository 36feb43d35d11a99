"""The scheduler: run queues of simulated CPUs, wake-ups, preemption, and the kernel functions a reader expects there.

kernel/sched/{core,fair,idle}.c.  Deterministic: among the runnable tasks of a CPU the one with the smallest virtual
runtime goes next, then the one that waits longest.  All simulated CPUs share one clock; `Machine` gives each busy CPU
its turn.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from arch.abi.errno import ERESTARTSYS, ETIME
from simkernel.kernel.irq import take_interrupts
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.task import (
    PF_IDLE,
    TASK_DEAD,
    TASK_INTERRUPTIBLE,
    TASK_RUNNING,
    TASK_STOPPED,
    TASK_UNINTERRUPTIBLE,
    Task,
)

if TYPE_CHECKING:
    from simkernel.kernel.kernel import Kernel

Body = Generator[Any, Any, Any]

SLICE_NS = 3_000_000  # how long a task runs while others wait
WAKEUP_CREDIT_NS = 6_000_000  # sched_latency: what a sleeper may lag behind

# Weight of nice -20 .. 19: kernel/sched/core.c, sched_prio_to_weight.
WEIGHTS = (
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121, 2501,
    1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
)  # fmt: skip


class RunQueue:
    """struct rq: one simulated CPU."""

    def __init__(self, cpu: int, idle: Task) -> None:
        self.cpu = cpu
        self.idle = idle
        self.current = idle
        self.tasks: list[Task] = []  # runnable, not running
        self.min_vruntime = 0
        self.context: Any = None
        self.active_space: Any = None
        self.need_resched = False
        self.halted = False  # in the idle loop, nothing to do
        self.prev: Task = idle
        self.next: Task = idle
        self.nr_switches = 0
        self.slice_end_ns = 1 << 63
        self.last_ns = 0
        self.started = False
        self.in_user = False

    @property
    def busy(self) -> bool:
        """Something other than idling to do."""
        return not self.halted or bool(self.tasks)

    def pick(self) -> Task:
        """pick_next_task()."""
        best = None
        for task in self.tasks:
            if best is None or (task.prio_class, task.vruntime) < (best.prio_class, best.vruntime):
                best = task
        return best if best is not None else self.idle


class Scheduler:
    """What is not a kernel function of its own: queues and accounting.  A mixin of Kernel."""

    def account(self: Any) -> None:
        """update_curr(): charge the running task with the time since the last call."""
        rq: RunQueue = self.rq
        now = self.clock._now
        delta = now - rq.last_ns
        rq.last_ns = now
        task = rq.current
        if delta <= 0 or task.flags & PF_IDLE:
            return
        task.sum_exec_ns += delta
        weight = WEIGHTS[task.static_prio - 100] if 100 <= task.static_prio < 140 else 1024
        task.vruntime += delta * 1024 // weight
        if task.vruntime > rq.min_vruntime:
            rq.min_vruntime = task.vruntime
        self.trace("sched_stat_runtime", task.addr, delta, task.vruntime)

    def enqueue(self: Any, task: Task, rq: RunQueue) -> None:
        """enqueue_task()."""
        task.on_rq = True
        task.cpu = rq.cpu
        rq.tasks.append(task)
        rq.slice_end_ns = min(rq.slice_end_ns, max(rq.last_ns + SLICE_NS, self.clock._now))
        if rq is self.rq:
            self.deadline = 0

    def select_rq(self: Any, task: Task) -> RunQueue:
        """select_task_rq(): where it ran before if that CPU idles, another idle one, else the shortest queue."""
        allowed = [rq for rq in self.rqs if not task.affinity or task.affinity >> rq.cpu & 1] or self.rqs
        home = self.rqs[task.cpu]
        if home in allowed and home.halted and not home.tasks:
            return home  # type: ignore[no-any-return]
        for rq in allowed:
            if rq.halted and not rq.tasks:
                return rq  # type: ignore[no-any-return]
        load = {rq.cpu: len(rq.tasks) + (not rq.halted) for rq in allowed}
        least = min(load.values())
        if home in allowed and load[home.cpu] <= least + 1:
            return home  # type: ignore[no-any-return]
        return next(rq for rq in allowed if load[rq.cpu] == least)  # type: ignore[no-any-return]

    def activate(self: Any, task: Task, wait_result: int) -> bool:
        """The core of try_to_wake_up(): make a sleeper runnable; False when it was not asleep."""
        if task.state == TASK_RUNNING or task.state == TASK_DEAD:
            return False
        task.wait_result = wait_result
        self.trace("sched_waking", task.addr)
        task.state = TASK_RUNNING
        self.store_state(task)
        if task.on_rq or self.rqs[task.cpu].current is task:
            self.trace("sched_wakeup", task.addr)
            return True
        rq = self.select_rq(task)
        if rq.cpu != task.cpu:
            self.trace("sched_migrate_task", task.addr, rq.cpu)
            task.cpu = rq.cpu
            self.store_cpu(task)
        task.vruntime = max(task.vruntime, rq.min_vruntime - WAKEUP_CREDIT_NS)
        self.enqueue(task, rq)
        self.trace("sched_wakeup", task.addr)
        current = rq.current
        if current is not rq.idle and task.vruntime + 1_000_000 < current.vruntime:
            rq.need_resched = True
            self.deadline = 0
        return True

    def wake_signal(self: Any, task: Task, fatal: bool) -> None:
        """signal_wake_up(): interrupt a sleep; also kicks a task that runs in user mode."""
        task.work = True
        if self.rqs[task.cpu].current is task:
            self.deadline = 0
        interruptible = task.state == TASK_INTERRUPTIBLE and task.wait_interruptible
        if interruptible or (fatal and (task.wait_killable or task.state in (TASK_STOPPED, TASK_INTERRUPTIBLE))):
            self.activate(task, -ERESTARTSYS)

    def begin_wait(
        self: Any, queues: tuple[Any, ...], interruptible: bool, timeout_ns: int | None, exclusive: bool, killable: bool
    ) -> None:
        """prepare_to_wait(), and the timer of schedule_timeout()."""
        task: Task = self.current
        task.wait_result = 0
        task.wait_queues = queues
        task.wait_interruptible = interruptible
        task.wait_killable = killable or interruptible
        for queue in queues:
            queue.add(task, exclusive)
        task.state = TASK_INTERRUPTIBLE if interruptible else TASK_UNINTERRUPTIBLE
        self.store_state(task)
        if timeout_ns is not None:
            task.wait_timer = self.clock.add(
                self.clock._now + max(timeout_ns, 0), lambda: self.activate(task, -ETIME) and None
            )

    def finish_wait(self: Any, result: int) -> int:
        """finish_wait(): what `yield k.wait()` gives."""
        task: Task = self.current
        for queue in task.wait_queues:
            queue.remove(task)
        task.wait_queues = ()
        if task.wait_timer is not None:
            self.clock.cancel(task.wait_timer)
            task.wait_timer = None
        task.state = TASK_RUNNING
        result = task.wait_result
        task.wait_result = 0
        return result


@kernel_function("void schedule(void)", source="kernel/sched/core.c")
def schedule(k: Kernel) -> Body:
    """Give up the CPU; returns when the task runs again."""
    yield k.call("__schedule", 0)
    return 0


@kernel_function("void __schedule(unsigned int sched_mode)", source="kernel/sched/core.c", notrace=False)
def __schedule(k: Kernel, mode: int) -> Body:
    """Pick the next task and switch to it."""
    rq = k.rq
    prev = k.current
    k.account()
    rq.need_resched = False
    if prev.state == TASK_RUNNING:
        if prev is not rq.idle:
            rq.tasks.append(prev)
            prev.nivcsw += 1
    else:
        prev.on_rq = False
        prev.nvcsw += 1
        k.store_on_rq(prev)
    following = rq.pick()
    if following is not rq.idle:
        rq.tasks.remove(following)
    rq.slice_end_ns = k.clock._now + SLICE_NS if rq.tasks else 1 << 63
    k.deadline = 0
    if following is prev:
        return 0
    rq.nr_switches += 1
    k.nr_context_switches += 1
    state = prev.state
    k.trace("sched_switch", mode, prev.addr, following.addr, state)
    rq.prev, rq.next = prev, following
    rq.halted = False
    yield (k.switch_to_address, prev.addr, following.addr)
    yield k.call("finish_task_switch", k.rq.prev.addr)
    return 0


@kernel_function("struct rq *finish_task_switch(struct task_struct *prev)", source="kernel/sched/core.c")
def finish_task_switch(k: Kernel, prev: int) -> int:
    """After the switch, in the new task: let go of a dead predecessor."""
    k.finish_switch()
    return 0


@kernel_function("void schedule_tail(struct task_struct *prev)", source="kernel/sched/core.c")
def schedule_tail(k: Kernel, prev: int) -> Body:
    """The first thing a new task does."""
    yield k.call("finish_task_switch", prev)
    task = k.current
    if task.set_child_tid and task.mm is not None:
        try:
            k.put_user(task.set_child_tid, 4, task.pid)
        except Exception as error:
            if not hasattr(error, "errno"):
                raise
    if k.strace is not None and task.forked:
        k.strace.forked(task)
    return 0


@kernel_function("int kthread(void *_create)", source="kernel/kthread.c")
def kthread(k: Kernel, create: int) -> Body:
    """The main function of kernel threads; one that became a program (kernel_execve) returns to user mode."""
    task = k.task_at(create)
    yield from task.kthread(k)
    if task.mm is None:
        yield k.call("do_exit", 0)
    return 0


@kernel_function(
    "int try_to_wake_up(struct task_struct *p, unsigned int state, int wake_flags)", source="kernel/sched/core.c"
)
def try_to_wake_up(k: Kernel, p: int, state: int, wake_flags: int) -> int:
    """Make a sleeping task runnable; 1 when it was asleep."""
    return int(k.activate(k.task_at(p), 0))


@kernel_function("int default_wake_function(wait_queue_entry_t *curr, unsigned mode, int wake_flags, void *key)",
                 source="kernel/sched/core.c")  # fmt: skip
def default_wake_function(k: Kernel, curr: int, mode: int, wake_flags: int, key: int) -> Body:
    """Wake the owner of a wait queue entry (here: its task_struct)."""
    return (yield k.call("try_to_wake_up", curr, mode, wake_flags))


@kernel_function(
    "int __wake_up(struct wait_queue_head *wq_head, unsigned int mode, int nr, void *key)", source="kernel/sched/wait.c"
)
def __wake_up(k: Kernel, head: int, mode: int, nr: int, key: int) -> Body:
    """Wake the sleepers of one queue: all that are not exclusive, and `nr` exclusive ones."""
    queue = k.waking
    count = 0
    if queue is None:
        return 0
    for fn in list(queue.on_wake):
        fn()
    for task, exclusive in list(queue.waiters):
        if (yield k.call("try_to_wake_up", task.addr, TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE, 0)):
            count += 1
            if exclusive:
                nr -= 1
                if not nr:
                    break
    return count


@kernel_function("void wake_up_new_task(struct task_struct *p)", source="kernel/sched/core.c")
def wake_up_new_task(k: Kernel, p: int) -> int:
    """Let a new task run for the first time."""
    task = k.task_at(p)
    rq = k.select_rq(task)
    task.state = TASK_RUNNING
    k.store_state(task)
    task.cpu = rq.cpu
    k.store_cpu(task)
    task.vruntime = max(task.vruntime, rq.min_vruntime)
    k.enqueue(task, rq)
    k.trace("sched_wakeup_new", task.addr)
    return 0


@kernel_function("void do_idle(void)", source="kernel/sched/idle.c", names={None: "cpu_idle_loop", "4.12": "do_idle"})
def do_idle(k: Kernel) -> Body:
    """The idle task of a CPU: wait for something to run, run it, for ever."""
    while True:
        while not k.rq.tasks:
            if k.irqs.pending[k.rq.cpu]:
                yield from take_interrupts(k)
            else:
                yield k.call("default_idle_call")
        yield k.call("__schedule", 0)


@kernel_function("void default_idle_call(void)", source="kernel/sched/idle.c")
def default_idle_call(k: Kernel) -> Body:
    """Nothing to do on this CPU: give the host's loop its turn.  (A generator, so that it is always really called.)"""
    k.rq.halted = True
    k.cpu.stop()
    yield 0
    return 0
