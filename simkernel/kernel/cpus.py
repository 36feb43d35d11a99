"""The simulated CPUs: run queues, wake-ups and preemption, the loop that gives each its turn, and the switch of tasks.

kernel/sched/{core,fair,wait}.c.  Deterministic: among the runnable tasks of a CPU the one with the smallest virtual
runtime goes next, then the one that waits longest.  All simulated CPUs share one clock and one emulated CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from arch.abi.errno import ERESTARTSYS, ETIME
from arch.cpu import Cpu, Stop
from arch.hostmemory import HOST_MEMORY
from arch.hosttime import HOST, HOST_WORD, HostStop, stop_behind
from arch.memory import Memory
from arch.native import Word
from arch.native.slots import slot_address
from simkernel.kernel.body import Call
from simkernel.kernel.clock import BOOT_REALTIME_NS, Clock
from simkernel.kernel.hostcode import is_host_code
from simkernel.kernel.hrtimers import HrTimers
from simkernel.kernel.jiffies import Jiffies
from simkernel.kernel.jitter import PLACEMENT_NS, TIMER_SLACK_NS, Jitter
from simkernel.kernel.mirror import Mirror
from simkernel.kernel.page_events import TLB_FLUSH_ALL, TLB_ON_TASK_SWITCH
from simkernel.kernel.runqueue import RunQueue, outranks
from simkernel.kernel.task import (
    PF_IDLE,
    TASK_DEAD,
    TASK_INTERRUPTIBLE,
    TASK_RUNNING,
    TASK_STOPPED,
    TASK_UNINTERRUPTIBLE,
    CurrentTask,
    Frame,
    Task,
    WaitQueue,
    fatal_pending,
    has_signal,
)
from simkernel.kernel.tracepoints import Tracepoints
from simkernel.kernel.usercopy import UserCopy
from simkernel.kernel.wait import wake_sleepers
from simkernel.kernel.weights import WEIGHTS

WORK, WORK_SEEN, CPU, CURRENT = int(Word.WORK), int(Word.WORK_SEEN), int(Word.CPU), int(Word.CURRENT)
WORK_SHARE, BUSY_CPUS, TASK, USER_ROOT = int(Word.WORK_SHARE), int(Word.BUSY_CPUS), int(Word.TASK), int(Word.USER_ROOT)
NS_PER_WORK = 1  # cost model: one unit of Cpu.work, about one instruction of user code
QUANTUM_NS = 200_000  # how long one CPU runs while others are busy too
MAX_QUANTUM_NS = 4_000_000  # and when it is alone: a timer tick
SLICE_NS = 3_000_000  # how long a task runs while others wait
WAKEUP_CREDIT_NS = 3_000_000  # half of sched_latency (GENTLE_FAIR_SLEEPERS): what a sleeper may lag behind


class GroupScheduler(Protocol):
    """What control groups want of the run queues (simkernel/fs/cgroup_cpu.py)."""

    def weight(self, task: Task, rq: RunQueue) -> int:
        """A task's weight beside all that runs on this CPU."""

    def charge(self, task: Task, rq: RunQueue, delta_ns: int) -> None:
        """Time that it used."""

    def park(self, task: Task) -> bool:
        """It may not run now; it will be enqueued later."""

    def slice_end(self, task: Task, now_ns: int) -> int | None:
        """Until when it may run."""


def unhandled(error: Exception) -> Exception:
    """Before there is a kernel that could print an oops."""
    raise error


def stopped(error: HostStop) -> None:
    """The same for an end of the host's patience."""
    raise error


class Deadline:
    """What native code reads, too."""

    __slots__ = ("deadline",)

    deadline: int  # when the running CPU has to look around, ns


class Cpus(Deadline):
    """`k.cpus`."""

    rq: RunQueue  # of the simulated CPU that runs; set at boot
    hrtimers: HrTimers

    def __init__(
        self,
        board: CurrentTask,
        cpu: Cpu,
        clock: Clock,
        mirror: Mirror,
        usercopy: UserCopy,
        tracepoints: Tracepoints,
        jiffies: Jiffies,
        no_user: Memory,  # what a kernel thread sees of user addresses: nothing
    ) -> None:
        self.board, self.cpu, self.clock, self.mirror, self.usercopy = board, cpu, clock, mirror, usercopy
        self.trace, self.jiffies, self.no_user = tracepoints.trace, jiffies, no_user
        self.rqs: list[RunQueue] = []
        self.rr_timeslice_ns = 100_000_000  # kernel.sched_rr_timeslice_ms
        self.child_runs_first = False  # kernel.sched_child_runs_first
        self.frames: list[Frame] = []  # running bodies of the current task, outermost first
        self.schedule_address = self.wake_up_address = 0  # of schedule() and __wake_up()
        self.switch_address = 0  # of the code that switches stacks
        self.waking: WaitQueue | None = None  # the queue that __wake_up() is called for
        self.last_cpu = -1
        self.jitter: Jitter | None = None  # None: always the same schedule (seed 0)
        self.order: tuple[int, ...] = ()  # CPUs that go first, while they have something to do
        self.irq_regs = 0  # struct pt_regs of the user code that a timer interrupted, while it runs
        self.busy_cpus = 1
        self.kernel_works = cpu.mem.map.text_base < cpu.mem.map.user_end  # kernel text counts as work, too (s390x)
        self.deadline = self.quantum_end = 0
        self.words = cpu.block.words  # native code reads here who runs, where, and since when
        self.words[Word.CLOCK] = slot_address(clock, "_now")
        self.words[Word.BOOT_TIME] = BOOT_REALTIME_NS
        self.nr_switches = 0
        self.powered_off = False
        self.on_bug: Callable[[Exception], Exception] = unhandled  # what becomes of an exception: Oopses.caught
        self.on_stop: Callable[[HostStop], None] = stopped  # what becomes of the task: Oopses.stopped
        self.panicked: BaseException | None = None  # the kernel cannot go on
        self.bugs, self._running = 0, False  # bugs: exceptions that were ours, as oops_count tells
        self._closing: Callable[[], object] | None = None  # the machine is closed: gives back what it is made of
        self.groups: GroupScheduler | None = None  # there while some control group has the cpu controller
        self.cut: RunQueue | None = None  # the CPU that the host stopped between two kernel functions: it goes on first
        self._poked = False

    def id(self) -> int:
        """smp_processor_id()."""
        return self.rq.cpu

    # -- queues and accounting -----------------------------------------------------------------------------------

    def account(self) -> None:
        """update_curr(): charge the running task with the time since the last call."""
        rq = self.rq
        now = self.clock._now
        delta = now - rq.last_ns
        rq.last_ns = now
        task = rq.current
        if delta <= 0 or task.flags & PF_IDLE:
            return
        task.sum_exec_ns += delta
        user = task.utime_ns - task.utime_seen_ns
        task.utime_seen_ns = task.utime_ns
        if delta > user:  # the rest was the kernel's
            task.stime_ns += delta - user
        weight = WEIGHTS[task.static_prio - 100] if 100 <= task.static_prio < 140 else 1024
        if self.groups is not None:
            weight = self.groups.weight(task, rq)
        task.vruntime += delta * 1024 // weight
        rq.update_min_vruntime(task.vruntime)
        if self.groups is not None:
            self.groups.charge(task, rq, delta)
        if task.signal.cpu_events:
            self._run_cpu_events(task)
        if rq.ran is not None:
            rq.ran(task, now)
        self.trace("sched_stat_runtime", task.addr, delta, task.vruntime)

    def _run_cpu_events(self, task: Task) -> None:
        """run_posix_cpu_timers(): those whose time is used up."""
        events = task.signal.cpu_events
        for event in [e for e in events if e.used() >= e.expires]:
            events.remove(event)
            event.fire()

    def enqueue(self, task: Task, rq: RunQueue) -> None:
        """enqueue_task()."""
        task.on_rq = True
        self.mirror.store_on_rq(task)
        task.cpu = rq.cpu
        if self.groups is not None and self.groups.park(task):
            return
        rq.add(task)
        rq.check_preempt(task, self.clock._now, SLICE_NS, self.rr_timeslice_ns)
        if rq is self.rq:
            self.deadline = 0

    def rank_anew(self, task: Task, in_front: bool) -> None:
        """check_class_changed(), prio_changed(): its policy or priority is another one, and who runs may be, too."""
        rq = self.rqs[task.cpu]
        rq.rank_anew(task, in_front, self.clock._now, SLICE_NS, self.rr_timeslice_ns)
        if rq is self.rq:
            self.deadline = 0

    def select_rq(self, task: Task) -> RunQueue:
        """select_task_rq(): where it ran before if that CPU idles, another idle one, else the shortest queue."""
        home = self.rqs[task.cpu]
        if home.halted and not home.tasks and task.prio_class and (not task.affinity or task.affinity >> home.cpu & 1):
            return home  # the usual case of what follows
        allowed = [rq for rq in self.rqs if not task.affinity or task.affinity >> rq.cpu & 1] or self.rqs
        if not task.prio_class:  # select_task_rq_rt(): where something less urgent runs
            allowed = [rq for rq in allowed if rq.current is rq.idle or outranks(task, rq.current)] or allowed
        if home in allowed and home.halted and not home.tasks:
            return home
        idle = [rq for rq in allowed if rq.halted and not rq.tasks]
        if idle:
            return idle[0] if self.jitter is None else self.jitter.choose(idle)
        load = {rq.cpu: len(rq.tasks) + (not rq.halted) for rq in allowed}
        least = min(load.values())
        if home in allowed and load[home.cpu] <= least + 1:
            return home
        return next(rq for rq in allowed if load[rq.cpu] == least)

    # -- waking --------------------------------------------------------------------------------------------------

    def activate(self, task: Task, wait_result: int, sync: bool = False) -> bool:
        """The core of try_to_wake_up(): make a sleeper runnable, with `sync` one that does not preempt; False when it was not asleep."""
        if task.state == TASK_RUNNING or task.state == TASK_DEAD:
            return False
        task.wait_result = wait_result
        self.trace("sched_waking", task.addr)
        task.state = TASK_RUNNING
        self.mirror.store_state(task)
        if task.on_rq:
            self.trace("sched_wakeup", task.addr)
            return True
        home = self.rqs[task.cpu]
        rq = home if home.current is task else self.select_rq(task)  # between leaving the queue and the switch: stays
        if rq.cpu != task.cpu:
            self.trace("sched_migrate_task", task.addr, rq.cpu)
            task.cpu = rq.cpu
            self.mirror.store_cpu(task)
        rq.update_min_vruntime(rq.current.vruntime)  # who runs has moved on while this one slept
        task.vruntime = max(task.vruntime, rq.min_vruntime - WAKEUP_CREDIT_NS)
        if self.jitter is not None:
            task.vruntime += self.jitter.up_to(PLACEMENT_NS)
        self.enqueue(task, rq)
        self.trace("sched_wakeup", task.addr)
        if not sync and rq.check_preempt_wakeup(task):
            self.deadline = 0
        return True

    def wake_task(self, task: Task) -> None:
        """wake_up_process()."""
        self.activate(task, 0)

    def wake_new(self, task: Task) -> None:
        """wake_up_new_task() from the host's side."""
        rq = self.select_rq(task)
        task.cpu = rq.cpu
        self.enqueue(task, rq)
        self.trace("sched_wakeup_new", task.addr)

    def wake_signal(self, task: Task, fatal: bool) -> None:
        """signal_wake_up(): interrupt a sleep; also kicks a task that runs in user mode."""
        task.work = task.signal_woken = True
        if self.rqs[task.cpu].current is task:
            self.deadline = 0
        interruptible = task.state == TASK_INTERRUPTIBLE and task.wait_interruptible
        if interruptible or (fatal and (task.wait_killable or task.state in (TASK_STOPPED, TASK_INTERRUPTIBLE))):
            self.activate(task, -ERESTARTSYS)

    def wake_up(self, queue: WaitQueue, nr_exclusive: int = 1) -> int:
        """Wake all non-exclusive sleepers and at most `nr_exclusive` exclusive ones (0: all); how many."""
        return wake_sleepers(queue, nr_exclusive, self.activate)

    def wake(self, queue: WaitQueue) -> Call:
        """The same as a call of __wake_up(), to be yielded; none when nobody sleeps."""
        if not queue.waiters and not queue.on_wake:
            return 0
        self.waking = queue
        return (self.wake_up_address, queue.addr, 3, 1, 0)

    # -- sleeping ------------------------------------------------------------------------------------------------

    def wait(
        self,
        queue: WaitQueue | tuple[WaitQueue, ...] | None,
        interruptible: bool = True,
        timeout_ns: int | None = None,
        exclusive: bool = False,
        killable: bool = False,
    ) -> Call:
        """A sleep, to be yielded: see KernelFace.wait()."""
        current = self.board.current
        if (interruptible and has_signal(current)) or (killable and fatal_pending(current)):
            current.sleeper = None
            current.work = current.signal_woken = True  # a call to restart, should another thread take the signal
            return -ERESTARTSYS
        if timeout_ns is not None and timeout_ns <= 0:
            current.sleeper = None
            return -ETIME
        queues = () if queue is None else queue if isinstance(queue, tuple) else (queue,)
        self.begin_wait(queues, interruptible, timeout_ns, exclusive, killable)
        return (self.schedule_address,)

    def begin_wait(
        self, queues: tuple[WaitQueue, ...], interruptible: bool, timeout_ns: int | None, exclusive: bool,
        killable: bool,
    ) -> None:  # fmt: skip
        """prepare_to_wait(), and the timer of schedule_timeout()."""
        task = self.board.current
        task.wait_result = 0
        task.wait_queues = queues
        task.wait_interruptible = interruptible
        task.wait_killable = killable or interruptible
        for queue in queues:
            queue.add(task, exclusive)
        task.state = TASK_INTERRUPTIBLE if interruptible else TASK_UNINTERRUPTIBLE
        self.mirror.store_state(task)
        if timeout_ns is not None:
            slack = 0 if self.jitter is None else self.jitter.up_to(TIMER_SLACK_NS)
            end_ns = self.clock._now + max(timeout_ns, 0) + slack
            task.wait_timer = self.clock.add(end_ns, lambda: self._timed_out(task))
            self.hrtimers.sleeps(task, end_ns)

    def _timed_out(self, task: Task) -> None:
        with self.hrtimers.expiring(task.sleeper, self.clock._now):
            self.activate(task, -ETIME)

    def finish_wait(self, result: int) -> int:
        """finish_wait(): what `yield k.wait()` gives; the result of schedule() is not it."""
        task = self.board.current
        for queue in task.wait_queues:
            queue.remove(task)
        task.wait_queues = ()
        if task.wait_timer is not None:
            self.clock.cancel(task.wait_timer)
            task.wait_timer = None
            self.hrtimers.wakes(task)
        task.state = TASK_RUNNING
        result = task.wait_result
        task.wait_result = 0
        return result

    # -- running -------------------------------------------------------------------------------------------------

    def charge_user(self) -> None:
        """Move the clock by the user code executed since the last time."""
        words = self.words
        work = words[WORK]
        delta = work - words[WORK_SEEN]
        if delta:
            words[WORK_SEEN] = work
            ns = delta * NS_PER_WORK
            self.clock._now += ns // self.busy_cpus
            self.board.current.utime_ns += ns

    def set_deadline(self) -> None:
        """When the running CPU has to look at timers, its slice or its turn again."""
        self.deadline = min(self.clock.next_event_ns, self.rq.slice_end_ns, self.quantum_end)
        now = self.clock._now
        if now >= self.jiffies.next_ns:
            self.jiffies.tick(now)
        if now >= self.quantum_end or HOST_WORD[0]:
            self.cpu.stop()
            self.deadline = now + QUANTUM_NS

    @property
    def busy(self) -> bool:
        """Some CPU has something to run."""
        return any(rq.busy for rq in self.rqs)

    def run(self, until: Callable[[], object], timeout_ns: int | None = None) -> bool:
        """Run the machine until `until()`; False when virtual time or the host's (arch/hosttime.py) runs out, or nothing
        can ever happen again.

        A bug of ours on the way ends the task that met it; the last one is raised at the end, as Oops.
        """
        if self.panicked is not None:
            raise self.panicked
        if self._running:
            raise RuntimeError("this machine runs already: what its run calls, or another thread, cannot run it, too")
        self._running = True  # no call in between: neither a thread nor a signal's exception comes here
        try:
            return self._run(until, timeout_ns)
        finally:
            self._running = False
            self._finish_closing()

    def close(self, error: Exception, give_back: Callable[[], object]) -> None:
        """It runs no more: `error` says so to who tries.  What it is made of is given back when the run that is under way has ended."""
        self.panicked = error
        self._closing = give_back
        if self._running:
            self._poke()
        self._finish_closing()

    def _finish_closing(self) -> None:
        if self._closing is not None and not self._running:
            give_back, self._closing = self._closing, None
            give_back()

    def _run(self, until: Callable[[], object], timeout_ns: int | None) -> bool:
        caught: Exception | None = None
        reached = True
        HOST.enter(self._poke)
        if len(HOST.runs) == 1:
            HOST_MEMORY.begin()
        try:
            while not until():
                if self._closing is not None:
                    break
                if HOST_MEMORY.due():
                    HOST_MEMORY.look(self.cpu.mem.phys.size)
                if (timeout_ns is not None and self.clock._now >= timeout_ns) or HOST_WORD[0]:
                    reached = False
                    break
                try:
                    going = self._turn(timeout_ns)
                except Exception as error:  # the one boundary behind which an exception is a bug of ours: oops.py
                    if isinstance(error, MemoryError) and not is_host_code(error):
                        HOST.no_memory()
                        self.on_stop(HostStop())
                    elif stop_behind(error):
                        HOST.seen()
                        self.on_stop(HostStop())
                    else:
                        caught = self.on_bug(error)
                    continue
                except HostStop as stop:
                    try:
                        HOST.seen()
                    except HostStop:  # sent while the first one went up: it comes with a call
                        HOST.seen()
                    self.on_stop(stop)
                    continue
                if not going:
                    reached = False
                    break
        finally:
            HOST.leave(self._poke)
        if self._closing is not None and self.panicked is not None:
            raise self.panicked
        if caught is not None:
            raise caught
        return reached

    def _poke(self) -> None:
        """The watching thread: the running CPU shall stop soon.  Between two kernel functions is soon enough."""
        self._poked, self.deadline = True, 0
        self.cpu.poke()

    def _turn(self, timeout_ns: int | None) -> bool:
        """Let one CPU run, or time pass; False when nothing can ever happen again."""
        rq = self._next_cpu()
        if rq is None:
            return self.clock.skip_to_next(timeout_ns)
        self._run_cpu(rq, timeout_ns)
        return True

    def _next_cpu(self) -> RunQueue | None:
        """Round robin over the CPUs that have something to do."""
        if self.cut is not None:
            rq, self.cut = self.cut, None
            return rq
        busy = [rq for rq in self.rqs if rq.busy]
        self.busy_cpus = self.words[BUSY_CPUS] = max(len(busy), 1)
        self.words[WORK_SHARE] = NS_PER_WORK if self.busy_cpus == 1 and not self.kernel_works else 0
        if not busy:
            return None
        if self.order:
            first = [rq for number in self.order for rq in busy if rq.cpu == number]
            if first:
                return first[0]
        if self.jitter is not None:
            return self.jitter.choose(busy)
        for rq in busy:
            if rq.cpu > self.last_cpu:
                return rq
        return busy[0]

    def _run_cpu(self, rq: RunQueue, timeout_ns: int | None) -> None:
        clock = self.clock
        self._enter_cpu(rq)
        quantum = MAX_QUANTUM_NS
        if self.busy_cpus > 1:
            quantum = QUANTUM_NS if self.jitter is None else self.jitter.quantum_ns(QUANTUM_NS)
        self.quantum_end = clock._now + quantum
        self.jiffies.tick(clock._now)
        if timeout_ns is not None:
            self.quantum_end = min(self.quantum_end, timeout_ns)
        self.deadline = min(clock.next_event_ns, rq.slice_end_ns, self.quantum_end)
        self.words[WORK_SEEN] = self.words[WORK]
        while True:
            budget = max((self.deadline - clock._now) * self.busy_cpus // NS_PER_WORK, 16)
            stop = self.cpu.run(budget)
            if stop is Stop.STOPPED:
                break
            self.charge_user()
            self.cpu.enter_timer()
            if clock._now >= self.quantum_end:
                self.quantum_end = clock._now  # the timer handler stops after its work
        self.last_cpu = rq.cpu
        self.account()
        if self._poked:
            self._poked, self.cut = False, rq

    # -- switching -----------------------------------------------------------------------------------------------

    def start(self, idle: list[Task], do_idle: int) -> None:
        """At boot: a run queue for each simulated CPU, its idle task at the start of do_idle(); the first one runs."""
        cpu = self.cpu
        self.rqs = [RunQueue(number, task, cpu.new_context()) for number, task in enumerate(idle)]
        for rq in self.rqs:
            top = self.stack_top(rq.idle)
            cpu.kernel_stack = top
            cpu.start(do_idle, top - 256)
            cpu.save_context(rq.context)
        self.rq = self.rqs[0]
        cpu.load_context(self.rq.context)
        cpu.kernel_stack = self.stack_top(self.rq.idle)
        self.board.current = self.rq.idle
        self._tell_native(self.rq.idle)
        self.frames = self.rq.idle.frames
        cpu.on_switch = self.switch

    def _tell_native(self, task: Task) -> None:
        self.words[CPU], self.words[CURRENT], self.words[TASK] = self.rq.cpu, task.addr, id(task)

    def say_where(self) -> None:
        """Tell native code which CPU and task run, after something other than a switch changed them."""
        self._tell_native(self.board.current)

    @contextmanager
    def standing_in(self, number: int) -> Iterator[None]:
        """smp_call_function_single(), which waits: Python of the block runs as on that CPU, above the task that is there."""
        own, task = self.rq, self.board.current
        try:
            self.rq = self.rqs[number]
            self._become(self.rq.current)
            yield
        finally:
            self.rq = own
            self._become(task)

    def _become(self, task: Task) -> None:
        self.board.current, self.frames = task, task.frames
        mm = task.mm
        self.usercopy.user = mm.user if mm is not None else self.no_user
        self.words[USER_ROOT] = mm.space.root if mm is not None else 0
        self._tell_native(task)

    def slice_ns(self) -> int:
        """How long a task runs while others wait."""
        return SLICE_NS if self.jitter is None else self.jitter.slice_ns(SLICE_NS)

    def stack_top(self, task: Task) -> int:
        """The end of a task's kernel stack."""
        return task.stack + self.mirror.stack_size

    def _enter_cpu(self, rq: RunQueue) -> None:
        """Make a simulated CPU the one that the emulator runs."""
        old = self.rq
        if old is not rq:
            self.cpu.save_context(old.context)
            self.rq = rq
            task = rq.current
            self.board.current, self.frames = task, task.frames
            self._tell_native(task)
            self.cpu.load_context(rq.context)
            self.cpu.kernel_stack = self.stack_top(task)
            self._set_space(task)
        rq.last_ns = self.clock._now

    def _set_space(self, task: Task) -> None:
        mm = task.mm
        if mm is not None:
            self.usercopy.user = mm.user
            if self.cpu.address_space is not mm.space or not self.words[USER_ROOT]:
                self.cpu.set_address_space(mm.space)
        else:
            self.usercopy.user = self.no_user
            self.words[USER_ROOT] = 0

    def switch(self) -> None:
        """What the stack-switch routine asks for: from rq.prev to rq.next."""
        rq = self.rq
        prev, following = rq.prev, rq.next
        cpu = self.cpu
        prev.ksp = cpu.switch_stack(following.ksp)
        if prev.mm is not None and prev.state != TASK_DEAD:
            cpu.save_user(prev.context)
        if following.mm is not None:
            cpu.load_user(following.context)
        self.board.current = rq.current = following
        self.words[CURRENT], self.words[TASK] = following.addr, id(following)
        self.frames = following.frames
        cpu.kernel_stack = following.stack + self.mirror.stack_size
        if following.mm is not None and cpu.address_space is not following.mm.space:
            self.trace("tlb_flush", TLB_ON_TASK_SWITCH, TLB_FLUSH_ALL)
        self._set_space(following)
        following.prev = prev
        if following.rseq:
            following.work = True
        self.mirror.store_current(prev, following)
