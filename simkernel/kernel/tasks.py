"""All tasks: found by number and by address, published, renumbered, forgotten.  kernel/{fork,exit,pid,kthread}.c."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EAGAIN, ESRCH
from arch.architecture import Architecture
from arch.errors import KernelError
from simkernel.kernel.clock import Clock
from simkernel.kernel.mirror import Mirror
from simkernel.kernel.pid_namespace import PID_MAX, RESERVED_PIDS, PidNamespace
from simkernel.kernel.task import EXIT_DEAD, Autogroup, CloneArgs, CurrentTask, Task
from simkernel.kernel.usage import RUSAGE_BOTH, RUSAGE_CHILDREN, RUSAGE_SELF, RUSAGE_THREAD, Counts, Usage

FIRST_USER_PID = 100


def counts_of(task: Task) -> Counts:
    """Of one thread."""
    return Counts(task.min_flt, task.maj_flt, task.nvcsw, task.nivcsw)


class Tasks:
    """`k.tasks`."""

    idle: Task  # of the first CPU; set at boot, as is init
    init: Task

    def __init__(
        self,
        board: CurrentTask,
        arch: Architecture,
        clock: Clock,
        mirror: Mirror,
        max_threads: int,
    ) -> None:
        self.board, self.arch, self.clock, self.mirror = board, arch, clock, mirror
        self.nested = False  # there is more than the initial pid namespace
        self.max_threads = max_threads
        self.by_pid: dict[int, Task] = {}
        self.by_address: dict[int, Task] = {}
        self.last_pid = 0
        self.nr_forks = 0
        self.last_session_id = 0  # of who logs in: kernel/auditsc.c
        self.last_autogroup = 0
        self.rt_runtime_us, self.rt_period_us = 950_000, 1_000_000  # kernel.sched_rt_runtime_us, sched_rt_period_us
        self.oom_kill_allocating_task = 0  # vm.oom_kill_allocating_task
        self.suid_dumpable = 0  # fs.suid_dumpable: of a program that changed who it is
        self.nr_open = 1 << 20  # fs.nr_open: descriptors of a process
        self.autogroup_next_ns = 0  # when one may be changed again
        self.may_fork: list[Callable[[Task, CloneArgs], int]] = []  # asked about a new task: 0 or -errno
        self.freezer_hooks: list[Callable[[Task], None]] = []  # told when a task is frozen, and when no more
        self.accounting = False  # somebody wants a record of each process that ends: acct(2)
        self.cgroup_exit: Callable[[Task], None] = lambda task: None  # a task's control group lets it go
        self.perf_exit: Callable[[Task], None] = lambda task: None  # perf_event_exit_task(): its memory is still there
        self.exit_hooks: list[
            Callable[[Task], None]
        ] = []  # who has something of a task that is gone: its return probes, say

    def next_session_id(self) -> int:
        """/proc/PID/sessionid of the next that logs in."""
        self.last_session_id += 1
        return self.last_session_id

    def new_autogroup(self) -> Autogroup:
        """autogroup_create()."""
        self.last_autogroup += 1
        return Autogroup(self.last_autogroup)

    # -- finding -------------------------------------------------------------------------------------------------

    def at(self, addr: int) -> Task:
        """The Task whose struct task_struct is at this address; KernelError(ESRCH)."""
        task = self.by_address.get(addr)
        if task is None:
            raise KernelError(ESRCH)
        return task

    def find(self, pid: int) -> Task | None:
        """A thread by the number that the current task knows it by (find_task_by_vpid)."""
        return self.by_pid.get(self.real(pid) if self.nested else pid)

    def real(self, number: int) -> int:
        """A number that the current task said, as the initial namespace has it; -1 for nobody."""
        space = self.board.current.pid_ns if self.nested else None
        return number if space is None or number <= 0 else space.real.get(number, -1)

    def vnr(self, pid: int) -> int:
        """pid_vnr(): the number by which the current task knows a task or group; 0 for one outside its namespace."""
        return self.number_in(self.board.current.pid_ns, pid) if self.nested else pid

    def number_in(self, space: PidNamespace | None, pid: int) -> int:
        """pid_nr_ns()."""
        return pid if space is None else space.number.get(pid, 0)

    def pid_struct(self, pid: int) -> int:
        """find_vpid(): address of the struct pid of a number; 0 when nobody has it."""
        task = self.by_pid.get(pid)
        return task.pid_addr if task is not None else 0

    def reaper_of(self, task: Task) -> Task:
        """find_new_reaper(): the nearest child subreaper, or init."""
        parent = task.real_parent
        while parent is not None and parent.pid > 1 and parent.pid_ns is task.pid_ns:
            if parent.child_subreaper and not parent.exit_state:
                return parent
            parent = parent.real_parent
        space = task.pid_ns
        return self.by_pid[1] if space is None else self.by_pid.get(space.reaper, self.by_pid[1])

    # -- making --------------------------------------------------------------------------------------------------

    def next_pid(self) -> int:
        """alloc_pid(): the next number, wrapping at PID_MAX; KernelError(EAGAIN)."""
        for _ in range(PID_MAX):
            self.last_pid = self.last_pid + 1 if self.last_pid < PID_MAX - 1 else RESERVED_PIDS
            if self.last_pid not in self.by_pid:
                return self.last_pid
        raise KernelError(EAGAIN)

    def new(self, pid: int, comm: str) -> Task:
        """A task with its struct task_struct and kernel stack, not yet visible to others."""
        task = Task(pid, comm)
        task.start_time_ns = self.clock._now
        self.mirror.alloc_task_memory(task)
        self.by_address[task.addr] = task
        return task

    def publish(self, task: Task) -> None:
        """Make a finished task findable."""
        self.by_pid[task.pid] = task
        self.nr_forks += 1
        task.signal.live += 1
        self.mirror.store_task(task)

    def take_identity(self, task: Task, leader: Task) -> None:
        """de_thread(): an exec'ing thread gets the leader's pid."""
        old = task.pid
        self.by_pid.pop(old, None)
        parent = leader.parent
        if leader in parent.children:
            parent.children[parent.children.index(leader)] = task
        task.signal.threads.remove(leader)
        task.children, leader.children = leader.children + task.children, []
        for child in task.children:
            child.parent = child.real_parent = task
            self.mirror.disown(child)
        self.mirror.unlink_task(leader)
        leader.exit_state = EXIT_DEAD
        task.pid, leader.pid = leader.pid, old
        if task.pid_ns is not None:
            task.pid_ns.forget(old)
        task.parent = task.real_parent = parent
        task.group_leader = leader.group_leader = task
        task.exit_signal = leader.exit_signal
        self.by_pid[task.pid] = task
        self.mirror.store_task(task)
        for child in task.children:
            self.mirror.adopt(child)

    def forget(self, task: Task) -> None:
        """release_task(): nobody can find it any more."""
        self.by_pid.pop(task.pid, None)
        if task.pid_ns is not None:
            task.pid_ns.forget(task.pid)
        self.mirror.unlink_task(task)

    def usage(self, task: Task, who: int) -> Usage:
        """kernel/sys.c:getrusage(): of a thread, its process (RUSAGE_SELF), the children it waited for, or both."""
        signal = task.signal
        counts, maxrss, utime, stime = Counts(), 0, 0, 0
        if who in (RUSAGE_CHILDREN, RUSAGE_BOTH):
            counts, maxrss = signal.of_children, signal.cmaxrss
            utime, stime = signal.cutime_ns, signal.cstime_ns
        if who in (RUSAGE_SELF, RUSAGE_BOTH):
            counts, utime, stime = counts.plus(signal.gone), utime + signal.utime_ns, stime + signal.stime_ns
        if who == RUSAGE_CHILDREN:
            return Usage(utime, stime, maxrss, counts)
        for thread in (task,) if who == RUSAGE_THREAD else signal.threads:
            counts, utime, stime = counts.plus(counts_of(thread)), utime + thread.utime_ns, stime + thread.stime_ns
        maxrss = max(maxrss, signal.maxrss)
        if task.mm is not None:
            maxrss = max(maxrss, task.mm.rss_peak, len(task.mm.pages))
        return Usage(utime, stime, maxrss, counts)

    def rusage(self, used: Usage) -> bytes:
        """struct rusage."""
        word, order = self.arch.word, self.arch.byteorder
        counts = used.counts
        values = [used.utime_ns // 10**9, used.utime_ns % 10**9 // 1000]
        values += [used.stime_ns // 10**9, used.stime_ns % 10**9 // 1000, used.maxrss * 4, 0, 0, 0]
        values += [counts.min_flt, counts.maj_flt, 0, 0, 0, 0, 0, 0, counts.nvcsw, counts.nivcsw]
        return b"".join(v.to_bytes(word, order) for v in values)
