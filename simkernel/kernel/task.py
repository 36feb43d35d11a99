"""Tasks: the host-side twins of struct task_struct, signal_struct, cred, and where their members lie in kernel memory.

include/linux/sched.h, kernel/fork.c.  What bodies need quickly is a Python attribute; what others can look at (BPF
programs, crash dumps) is in kernel memory and is updated whenever it changes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from arch.abi.capability import CAP_FULL_SET
from arch.abi.limits import U32_MAX
from arch.abi.signal import NSIG, SI_TIMER, SIGCHLD, SIGKILL, SIGSTOP
from arch.abi.time import CLOCK_MONOTONIC
from arch.context import Context
from arch.memory import Memory
from arch.records import dataclass
from simkernel.kernel.areas import NO_POLICY, MemPolicy
from simkernel.kernel.body import Body, Steps
from simkernel.kernel.clock import HRTIMER_MODE_REL, Event, HrTimer
from simkernel.kernel.jitter import TIMER_SLACK_NS
from simkernel.kernel.mm import Mm
from simkernel.kernel.namespaces import Namespace, Proxy
from simkernel.kernel.pid_namespace import PidNamespace
from simkernel.kernel.process_timers import CpuEvent, IntervalTimer
from simkernel.kernel.seccomp_filter import Filter
from simkernel.kernel.sigpending import DEFAULT_ACTION, SigAction, SigInfo, SigPending
from simkernel.kernel.usage import Counts, Usage
from simkernel.kernel.user import User

# task_struct.__state (include/linux/sched.h)
TASK_RUNNING, TASK_INTERRUPTIBLE, TASK_UNINTERRUPTIBLE, TASK_STOPPED, TASK_TRACED = 0, 1, 2, 4, 8
EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD = 0x10, 0x20, 0x80  # in 4.1: 16, 32, 64
# task_struct.flags.  PF_IO_FLUSHER is PF_MEMALLOC_NOIO | PF_LOCAL_THROTTLE.
PF_IDLE, PF_EXITING, PF_POSTCOREDUMP, PF_FORKNOEXEC, PF_SUPERPRIV, PF_DUMPCORE = 0x2, 0x4, 0x8, 0x40, 0x100, 0x200
PF_SIGNALED, PF_NOFREEZE, PF_IO_FLUSHER, PF_KTHREAD, PF_NO_SETAFFINITY = 0x400, 0x8000, 0x180000, 0x200000, 0x4000000
UNBLOCKABLE = 1 << (SIGKILL - 1) | 1 << (SIGSTOP - 1)

RLIMITS = {  # RLIMIT_*: (soft, hard); include/asm-generic/resource.h, INIT_RLIMITS
    0: (-1, -1), 1: (-1, -1), 2: (-1, -1), 3: (8 << 20, -1), 4: (0, -1), 5: (-1, -1), 6: (4096, 4096),
    7: (1024, 4096), 8: (8 << 20, 8 << 20), 9: (-1, -1), 10: (-1, -1), 11: (4096, 4096), 12: (819200, 819200),
    13: (0, 0), 14: (0, 0), 15: (-1, -1),
}  # fmt: skip

# A running body: [send, conversion of the pending call's result, generator, function name].  engine.py
Frame = list[Any]


INITIAL: dict[str, Namespace] = {}  # the namespaces of a machine as it boots


class WaitQueue:
    """A wait_queue_head: sleepers in the order in which they came.  include/linux/wait.h, kernel/sched/wait.c.

    A body sleeps with `yield k.wait(queue)` and is woken by `k.wake_up(queue)`, or by a real call of the kernel function
    `__wake_up` (what a coroutine should use, so that probes see it: `yield k.wake(queue)`).
    """

    __slots__ = ("addr", "name", "on_wake", "sync", "waiters")

    def __init__(self, name: str = "", addr: int = 0) -> None:
        self.name = name
        self.sync = False  # wake_up_interruptible_sync_poll(): who wakes its sleepers now will sleep soon
        self.addr = addr  # kernel address of the wait_queue_head_t, 0 when it has none
        self.waiters: list[tuple[Task, bool]] = []  # (sleeper, exclusive)
        self.on_wake: dict[Callable[[], object], bool] = {}  # told in turn (epoll and the like); True: exclusive

    def add(self, task: Task, exclusive: bool = False) -> None:
        """Exclusive waiters go to the end, others to the front, as add_wait_queue() does."""
        if exclusive:
            self.waiters.append((task, True))
        else:
            self.waiters.insert(0, (task, False))

    def remove(self, task: Task) -> None:
        """finish_wait(): forget this sleeper; not an error when it is not there."""
        self.waiters = [w for w in self.waiters if w[0] is not task]

    def __bool__(self) -> bool:
        return bool(self.waiters)


class ControllingTerminal(Protocol):
    """What a session knows of its terminal (simkernel/fs/tty/tty.py)."""

    pgrp: int  # the group in the foreground

    @property
    def dev(self) -> int:
        """Its device number."""
        ...

    def disassociate(self, task: Task, on_exit: bool) -> None:
        """disassociate_ctty()."""


class OpenFiles(Protocol):
    """What the core knows of a task's descriptors (simkernel/fs/fdtable.py: FilesStruct)."""

    close_on_exec: set[int]


class PosixTimer:
    """struct k_itimer: one of timer_create(2)."""

    def __init__(self, clock: int, sig: int, value: int, tid: int, notify: int) -> None:
        self.clock, self.sig, self.value, self.tid, self.notify = clock, sig, value, tid, notify
        self.interval_ns = self.expires = 0
        self.set = False  # it was given a time
        self.event: Event | None = None
        self.cpu_event: CpuEvent | None = None  # of a timer by CPU time
        self.counts: Task | None = None  # whose time that is
        self.hrtimer: HrTimer | None = None  # of one by a clock
        self.jumped: Callable[[int], None] | None = None  # what hears of the wall clock's being set
        self.overrun = 0  # it_overrun_last: of the signal that was taken last
        self.count = -1  # it_overrun: expirations since the one that the signal tells of
        self.requeue: Callable[[SigInfo], None] | None = None  # it goes on when its signal is taken
        self.sigqueue = SigInfo(sig, SI_TIMER)  # the last one sent
        self.user: User | None = None  # in whose count it is, for RLIMIT_SIGPENDING


@dataclass(eq=False, slots=True)
class Autogroup:
    """struct autogroup: one for each setsid(2)."""

    number: int
    nice: int = 0


class SignalStruct:
    """signal_struct and sighand_struct: what the threads of a group share."""

    def __init__(self) -> None:
        self.threads: list[Task] = []
        self.live = 0  # threads that are not on their way out
        self.actions: list[SigAction] = [DEFAULT_ACTION] * (NSIG + 1)
        self.sighand_users = 1
        self.pending = SigPending()
        self.wait_chldexit = WaitQueue("wait_chldexit")
        self.signalfd_wait = WaitQueue("signalfd")
        self.pidfd_wait = WaitQueue("wait_pidfd")
        self.group_exit_code = 0
        self.group_exiting = False
        self.group_exec_task: Task | None = None  # the thread that execs, while it ends the others
        self.core: CoreState | None = None
        self.fatal = False  # a signal that ends the group is pending: SIGNAL_GROUP_EXIT as complete_signal() sets it
        self.stopped = False
        self.stop_reported = True
        self.stop_code = 0
        self.continued = False
        self.rlimits = dict(RLIMITS)
        self.cpu_limit_generation = 0  # of the timer that watches RLIMIT_CPU
        self.pgid = 0
        self.session = 0
        self.tty: ControllingTerminal | None = None
        self.tty_old_pgrp = 0  # the foreground group of a terminal that hung up
        self.leader_exited = False
        self.ns_init = False  # init of a pid namespace
        self.unkillable = self.oom_victim = (
            False  # SIGNAL_UNKILLABLE: no other task's signal ends it; killed for memory
        )
        self.oom_score_adj = self.oom_score_adj_min = 0  # below the least only with CAP_SYS_RESOURCE
        self.autogroup: Autogroup | None = None  # None: init's, which has no name
        self.itimers: list[IntervalTimer | None] = [None, None, None]  # ITIMER_REAL, VIRTUAL, PROF
        self.posix_timers, self.posix_timer_id = dict[int, PosixTimer](), 0  # and the number of the next one
        self.real_timer = HrTimer(0, "it_real_fn", CLOCK_MONOTONIC, HRTIMER_MODE_REL)  # its place: mirror
        self.cpu_events: list[CpuEvent] = []  # timers by CPU time
        self.cutime_ns = self.cstime_ns = 0
        self.utime_ns = self.stime_ns = 0  # of threads that are gone
        self.gone, self.of_children = Counts(), Counts()  # of threads that are gone, of children that were waited for
        self.maxrss = self.cmaxrss = 0
        self.group_exec: Task | None = None
        self.addr = self.sighand_addr = 0


class Cred:
    """struct cred."""

    __slots__ = (
        "addr", "cap_ambient", "cap_bset", "cap_effective", "cap_inheritable", "cap_permitted", "domain", "egid", "euid",
        "files", "fsgid", "fsuid", "gid", "group_info", "groups", "jit_keyring", "securebits", "session_keyring", "sgid", "shown_user",
        "suid", "uid", "usage",
    )  # fmt: skip

    def __init__(self) -> None:
        self.uid = self.euid = self.suid = self.fsuid = 0
        self.gid = self.egid = self.sgid = self.fsgid = 0
        self.groups: list[int] = []
        self.cap_inheritable = self.cap_ambient = 0
        self.securebits = 0  # SECBIT_*
        self.domain: object = None  # landlock.py: Domain
        self.session_keyring: object = None  # keys/key.py: Key
        self.jit_keyring = 0  # KEY_REQKEY_DEFL_*
        self.cap_permitted = self.cap_effective = self.cap_bset = CAP_FULL_SET
        self.addr = 0
        self.usage = self.files = 0  # tasks whose task->cred points to it, and open files whose f_cred does
        self.group_info = 0  # in kernel memory
        self.shown_user: tuple[int, tuple[int, int]] | None = None  # whose structs it points to: user_structs.py

    def copy(self) -> Cred:
        """prepare_creds()."""
        new = Cred()
        for name in Cred.__slots__:
            setattr(new, name, getattr(self, name))
        new.groups = list(self.groups)
        new.addr = new.usage = new.files = new.group_info = 0
        new.shown_user = None
        return new


class TaskIo:
    """struct task_io_accounting: what /proc/PID/io shows; bytes, and numbers of calls."""

    __slots__ = ("rchar", "syscr", "syscw", "wchar")

    def __init__(self) -> None:
        self.rchar = self.wchar = 0
        self.syscr = self.syscw = 0


class CloneArgs:
    """struct kernel_clone_args, the host-side twin."""

    __slots__ = (
        "cgroup",
        "child_tid",
        "exit_signal",
        "flags",
        "parent_tid",
        "pidfd",
        "set_tid",
        "stack",
        "stack_size",
        "tls",
    )

    def __init__(self, flags: int, exit_signal: int = SIGCHLD, stack: int = 0) -> None:
        self.flags = flags
        self.exit_signal = exit_signal
        self.stack = stack
        self.stack_size = 0
        self.parent_tid = self.child_tid = self.tls = self.pidfd = self.cgroup = 0
        self.set_tid: list[int] = []  # the numbers to have: in the innermost pid namespace, the one around it, ...


class CoreState:
    """struct core_state: a process that is being dumped; its other threads wait until that is done."""

    def __init__(self, dumper: Task) -> None:
        self.dumper = dumper
        self.arrived, self.done = WaitQueue("core_startup"), WaitQueue("core_done")


class WaitRequest:
    """struct wait_opts."""

    def __init__(self, which: str, upid: int, options: int) -> None:
        self.which = which  # "all", "pid", "pgid"
        self.upid = upid
        self.options = options
        self.pid = 0
        self.status = 0
        self.code = 0
        self.uid = 0
        self.trapped = False  # CLD_TRAPPED: a stop for the tracer
        self.usage = Usage()


class Crash:
    """What is known of a user program that died of a signal."""

    def __init__(self, task: Task, info: SigInfo, registers: list[tuple[str, int]]) -> None:
        self.pid, self.comm = task.pid, task.comm
        self.signal = info.sig
        self.code = info.code
        self.address = info.addr
        self.registers = registers  # (name, value) in the order in which they are printed


class Driver(Protocol):
    """Who drives a task from Python (simkernel/usertask.py)."""

    def forked(self, child: Task) -> Driver | None:
        """Who drives a child of this task, made by fork(2) or clone(2)."""
        ...

    def trapped(self, regs: int) -> Steps[None]:
        """A breakpoint or an undefined instruction in driven code."""
        ...

    def returning(self, regs: int) -> Steps[None]:
        """On the way back to user mode."""
        ...


class TaskSlots:
    """What native code reads of a task, too (shortcuts.py)."""

    __slots__ = (
        "cred",
        "files",
        "io",
        "min_flt",
        "mm",
        "pid",
        "ptracer",
        "real_parent",
        "state",
        "syscall_nr",
        "syscall_work",
        "tgid",
        "utime_ns",
        "vruntime",
        "work",
    )


class Task(TaskSlots):
    """struct task_struct."""

    context: Context  # FP, vector and thread registers while it does not run; a HostKernel's tasks have none

    def __init__(self, pid: int, comm: str) -> None:
        self.pid = pid
        self.tgid = pid
        self.comm = comm
        self.addr = 0
        self.security = 0  # what security modules keep of the task
        self.pid_addr = 0  # its struct pid
        self.stack = 0  # lowest address of the kernel stack
        self.regs = 0  # kernel address of its user struct pt_regs, at the top of the stack
        self.mm: Mm | None = None
        self.user: Memory | None = None
        self.files: OpenFiles | None = None
        self.fs: object = None  # simkernel/fs/fdtable.py: FsStruct
        self.signal: SignalStruct = SignalStruct()
        self.cred = Cred()
        self.shown_cred: Cred | None = None  # what task->cred points to: publish_cred()
        self.group_leader: Task = self
        self.parent: Task = self
        self.real_parent: Task = self
        self.children: list[Task] = []
        self.flags = 0
        self.state = TASK_RUNNING
        self.exit_state = 0
        self.exit_code = 0
        self.exit_signal = 17
        self.start_time_ns = 0
        self.utime_ns = self.stime_ns = self.utime_seen_ns = 0  # the last: utime_ns when sum_exec_ns was last added to
        self.nvcsw = self.nivcsw = 0
        self.min_flt = self.maj_flt = 0
        self.io = TaskIo()
        self.io_context: object = None  # shared by CLONE_IO
        self.ioprio = 0
        # scheduling
        self.cpu = 0
        self.on_rq = False
        self.on_cpu = False
        self.prio, self.static_prio, self.normal_prio = 120, 120, 120
        self.policy = 0
        self.rt_priority = 0
        self.deadline, self.dl_flags = (0, 0, 0), 0  # of SCHED_DEADLINE: runtime, deadline, period in ns; flags
        self.sched_reset_on_fork = self.rt_watched = False
        self.trap_nr = self.trap_error = self.trap_address = 0  # x86: thread.trap_nr, error_code, cr2
        self.unreturnable = False  # its registers are such that the CPU would refuse to load them, or were
        self.iopl = 0  # x86: ports that it may use, 3: all
        self.vruntime = 0
        self.turn = 0  # of real-time tasks, among those of the same priority on a CPU's queue
        self.slice_start_ns = 0
        self.sum_exec_ns = 0
        self.affinity = 0
        self.need_resched = False
        # execution
        self.frames: list[Frame] = []
        self.wait_queues: tuple[WaitQueue, ...] = ()
        self.wait_result = 0
        self.wait_timer: Event | None = None
        self.sleeper: HrTimer | None = None  # stands for wait_timer, where that is one
        self.wait_interruptible = False
        self.wait_killable = False
        self.kthread: Callable[[], Steps[object]] | None = None  # what a kernel thread does
        self.syscall_nr = -1
        self.in_syscall = False
        # signals
        self.pending = SigPending()
        self.blocked = 0
        self.spared = 0  # signals that go to a worker, which takes none, while the task stands for one (io_uring)
        self.saved_blocked: int | None = None  # restore after sigsuspend and the like
        self.sas_sp = self.sas_size = self.sas_flags = 0
        self.restart: Callable[[], Body] | None = None  # for restart_syscall
        self.task_works: deque[Callable[[], Steps[None]]] = deque()  # left to do on its way back to user mode
        self.work = self.past_works = False  # something to do before user mode; exit_task_work() was
        self.starving = False  # the kernel had no memory for it: the OOM killer comes
        self.signal_woken = False  # TIF_SIGPENDING: woken for a signal, which another thread may have taken since
        # thread bits
        self.set_child_tid = 0
        self.clear_child_tid = 0
        self.robust_list = 0
        self.vfork_done: WaitQueue | None = None
        self.vfork_released = False
        self.pdeath_signal = 0
        self.loginuid = self.sessionid = U32_MAX  # not logged in
        self.thread_keyring: object = None  # keys/key.py: Key
        self.registered_rings: object = None  # io_uring/register.py: RingFds
        self.process_keyring: object = None
        self.no_new_privs = False
        self.onexec = ""  # the label that the next exec gives: /proc/PID/attr/exec
        self.child_subreaper = False
        self.personality = 0
        self.timer_slack_ns = self.default_timer_slack_ns = TIMER_SLACK_NS
        self.mempolicy: MemPolicy = NO_POLICY  # calls/mempolicy.py
        self.tsc_mode = 1  # PR_TSC_ENABLE
        self.mce_kill = 2  # PR_MCE_KILL_DEFAULT
        self.user_dispatch: object = None  # syscall_user_dispatch.py: UserDispatch
        self.rseq = 0  # user address of its struct rseq
        self.rseq_sig = 0
        self.rseq_cpu = -1
        self.self_exec_id = self.parent_exec_id = (
            0  # how often it was another program before, and its parent when it was made
        )
        self.tls = 0
        self.crash: Crash | None = None
        self.killed = False
        self.clone_args: CloneArgs | None = None  # CloneArgs of the clone in progress
        self.wait_request: WaitRequest | None = None
        self.sleeps_until = 0  # ns, of nanosleep(2)
        self.sleep_clock = 0
        self.sleep_request = (0, 0)  # the time as it was given, and its HRTIMER_MODE_
        self.driver: Driver | None = None  # who drives this task from Python (simkernel/usertask.py)
        self.held_locks: list[tuple[str, int]] = []  # (kind, address): locks.py
        self.forked = False  # made by clone(): strace says so
        self.real_blocked = 0  # what rt_sigtimedwait leaves out of `blocked` while it sleeps
        self.returned_from_signal = False
        self.prev: Task | None = None
        self.watched = False  # the host waits for it: init does not reap
        self.clone_args_addr = 0
        self.exec_error = 0  # why a program that the host started could not be executed
        self.namespaces: Proxy = INITIAL
        self.nsproxy_addr = 0  # struct nsproxy
        # being traced (ptrace/stops.py), and tracing
        self.ptracer: Task | None = None
        self.ptraced: list[Task] = []
        self.ptrace_seized = False
        self.ptrace_options = 0  # PTRACE_O_*: bit n is event n
        self.ptrace_code = 0  # of the stop that nobody has waited for yet
        self.ptrace_message = 0
        self.ptrace_resume = 0  # the signal that the tracer lets it go with
        self.ptrace_info: SigInfo | None = None
        self.ptrace_trap = False  # JOBCTL_TRAP_STOP
        self.ptrace_listening = False  # JOBCTL_LISTENING
        self.ptrace_step: bool = False  # TIF_SINGLESTEP: its tracer lets it go for one instruction
        self.stop_ignored = False  # let go by its tracer although its group is stopped
        self.pid_ns: PidNamespace | None = None  # the one that it is in; its children's is in `namespaces`
        self.seccomp_mode = 0
        self.seccomp_question: object = None  # simkernel/fs/seccomp_notify.py: Question
        self.seccomp_filters = 0  # how many programs are one behind the other
        self.seccomp_filter: Filter | None = None  # the newest
        self.syscall_work = 0  # SYSCALL_WORK_*: what else happens at system calls
        self.past_core = False  # PF_POSTCOREDUMP: it ends, and nobody who dumps the process waits for it
        self.freezing = self.frozen = False  # its control group is to be frozen; it cannot run user code
        self.ksp = 0  # kernel stack pointer while it does not run

    # Members that live in shared objects, by the names other subsystems use.
    @property
    def threads(self) -> list[Task]:
        """All threads of the group."""
        return self.signal.threads

    @property
    def dumpable(self) -> int:
        """SUID_DUMP_*: of its memory; 1 without."""
        return self.mm.dumpable if self.mm is not None else 1

    @dumpable.setter
    def dumpable(self, value: int) -> None:
        if self.mm is not None:
            self.mm.dumpable = value

    @property
    def pgid(self) -> int:
        """Process group."""
        return self.signal.pgid

    @property
    def session(self) -> int:
        """Session id."""
        return self.signal.session

    @property
    def tty(self) -> ControllingTerminal | None:
        """Controlling terminal."""
        return self.signal.tty

    @tty.setter
    def tty(self, value: ControllingTerminal | None) -> None:
        self.signal.tty = value

    @property
    def is_kernel(self) -> bool:
        """A kernel thread."""
        return bool(self.flags & PF_KTHREAD)

    @property
    def prio_class(self) -> int:
        """0 for real time, 1 for the rest."""
        return 0 if self.policy in (1, 2, 6) else 1

    @property
    def nice(self) -> int:
        """-20 .. 19."""
        return self.static_prio - 120

    @property
    def rlimits(self) -> dict[int, tuple[int, int]]:
        """RLIMIT_* -> (soft, hard), -1 for infinity."""
        return self.signal.rlimits

    @property
    def sigpending(self) -> int:
        """Signal mask of what is pending for this thread."""
        return self.pending.mask

    @property
    def shared_pending(self) -> int:
        """Signal mask of what is pending for the whole group."""
        return self.signal.pending.mask

    @property
    def ignored(self) -> int:
        """SigIgn of /proc/PID/status."""
        return sum(1 << (n - 1) for n, a in enumerate(self.signal.actions) if n and a.handler == 1)

    @property
    def caught(self) -> int:
        """SigCgt of /proc/PID/status."""
        return sum(1 << (n - 1) for n, a in enumerate(self.signal.actions) if n and a.handler > 1)

    @property
    def state_letter(self) -> str:
        """R, S, D, T, Z as ps shows it."""
        if self.exit_state:
            return "Z" if self.exit_state == EXIT_ZOMBIE else "X"
        if self.state == TASK_TRACED:
            return "t"
        return {TASK_RUNNING: "R", TASK_INTERRUPTIBLE: "S", TASK_UNINTERRUPTIBLE: "D", TASK_STOPPED: "T"}.get(
            self.state, "S"
        )

    def descendants(self) -> Iterator[Task]:
        """All children, and theirs."""
        stack = self.children[::-1]
        while stack:
            yield (child := stack.pop())
            stack += child.children[::-1]

    def __repr__(self) -> str:
        return f"<Task {self.pid} {self.comm!r} {self.state_letter}>"


def has_signal(task: Task) -> bool:
    """TIF_SIGPENDING: something unblocked is pending."""
    signal = task.signal
    if task.ptrace_trap or task.freezing:
        return True
    if not task.pending and not signal.pending and not (signal.stopped or signal.group_exiting):
        return False
    if (signal.stopped and not task.stop_ignored) or (signal.group_exiting and not task.flags & PF_EXITING):
        return True
    return bool((task.pending.mask | signal.pending.mask) & ~(task.blocked & ~UNBLOCKABLE))


def fatal_pending(task: Task) -> bool:
    """fatal_signal_pending()."""
    return (
        task.signal.group_exiting or task.signal.fatal or task.pending.has(SIGKILL) or task.signal.pending.has(SIGKILL)
    )


class CurrentTask(Protocol):
    """The board as its parts see it: who runs."""

    current: Task
