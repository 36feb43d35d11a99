"""Hardware breakpoints: who watches which bytes of which task.  kernel/events/hw_breakpoint.c, arch/x86/kernel/hw_breakpoint.c.

The emulated CPU has no debug registers.  In their place stand a hook on every instruction and hooks on accesses to memory
(arch/steps.py), which are there only while somebody watches something.  They see all tasks; whose breakpoint it is, and
whether the access was to its page, is asked here.  As on x86, an execution breaks before the instruction and data behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable

from arch.abi.errno import EINVAL, ENOSPC, EOPNOTSUPP
from arch.abi.hw_breakpoint import DR_COUNT, DR_STEP, HW_BREAKPOINT_RW, HW_BREAKPOINT_W, HW_BREAKPOINT_X
from arch.abi.limits import PAGE_SIZE
from arch.architecture import Architecture
from arch.cpu import Cpu
from arch.errors import KernelError
from arch.native.steps import Step
from arch.records import dataclass, field
from arch.steps import NO_TICK, InstructionWatch
from simkernel.kernel.task import CurrentTask, Task

DEBUG_TRAP = 1  # X86_TRAP_DB


def check_length(length: int, word: int) -> None:
    """arch_build_bp_info(): a power of two that is no debug register's could be a mask of a CPU that has such.  EINVAL, EOPNOTSUPP."""
    if length in (1, 2, 4, 8) and length <= word:
        return
    power = length > 0 and not length & (length - 1)
    raise KernelError(EOPNOTSUPP if power else EINVAL, "length")


@dataclass(eq=False)
class Breakpoint:
    """struct perf_event of a breakpoint, as far as the debug registers know it."""

    tasks: Collection[Hashable] | None  # whose; None for all
    address: int
    length: int  # bytes; of HW_BREAKPOINT_X that of a long
    kind: int  # HW_BREAKPOINT_*
    disabled: bool
    triggered: Callable[[Breakpoint, int], None]  # (itself, struct pt_regs of the trap)
    watches: list[int] = field(default_factory=list)  # numbers of its data watches

    def of(self, task: Task) -> bool:
        """Does it watch this task?"""
        return self.tasks is None or task in self.tasks

    def beside(self, other: Breakpoint) -> bool:
        """Do they need debug registers at the same time?"""
        if self.tasks is None or other.tasks is None:
            return True
        return not set(self.tasks).isdisjoint(other.tasks)


@dataclass
class ThreadDebug:
    """What ptrace(2) keeps of a thread: the debug registers that its tracer has set."""

    breakpoints: list[Breakpoint | None]
    dr6: int = 0  # virtual_dr6: which of them were hit
    dr7: int = 0


class HwBreakpoints:
    """`k.hw_breakpoints`."""

    def __init__(self, board: CurrentTask, arch: Architecture, cpu: Cpu) -> None:
        self.board, self.arch, self.cpu = board, arch, cpu
        self.slots = arch.calls.breakpoint_slots
        self.threads: dict[Task, ThreadDebug] = {}
        self._all: list[Breakpoint] = []
        self._watch: InstructionWatch | None = None
        self._hit: list[tuple[Breakpoint, Task]] = []  # and the task has not yet been told

    # -- what there is -------------------------------------------------------------------------------------------------

    def check(self, address: int, length: int, kind: int) -> None:
        """hw_breakpoint_arch_parse(), for user addresses.  EINVAL."""
        if kind == HW_BREAKPOINT_X:
            if length != self.arch.word:
                raise KernelError(EINVAL, "an instruction's breakpoint is as long as a long")
        elif kind not in (HW_BREAKPOINT_W, HW_BREAKPOINT_RW):
            raise KernelError(EINVAL, "what it is to watch")
        else:
            check_length(length, self.arch.word)
            if address & (length - 1):
                raise KernelError(EINVAL, "alignment")
        if address >= self.arch.map.user_end:
            raise KernelError(EINVAL, "an address of the kernel")

    def register(self, wanted: Breakpoint) -> None:
        """register_user_hw_breakpoint().  ENOSPC when the task has all of the CPU's, disabled or not."""
        if sum(each.beside(wanted) for each in self._all) >= self.slots:
            raise KernelError(ENOSPC, "no debug register is left")
        self._all.append(wanted)
        self._arm(wanted)

    def unregister(self, known: Breakpoint) -> None:
        """unregister_hw_breakpoint()."""
        self._disarm(known)
        self._all.remove(known)
        self._hit = [hit for hit in self._hit if hit[0] is not known]
        self._settle()

    def watch(
        self, tasks: Collection[Hashable] | None, address: int, length: int, kind: int, hit: Callable[[int], None]
    ) -> Callable[[], None]:
        """For perf events: `hit` is called with the trap's pt_regs; what ends it.  ENOSPC.

        One of an address of the kernel has its register and is never hit: the kernel's accesses are not the emulator's.
        """
        if not self.slots:
            raise KernelError(ENOSPC, "no debug register for it")
        unseen = address >= self.arch.map.user_end
        wanted = Breakpoint(tasks, address, length, kind, unseen, lambda known, regs: hit(regs))
        self.register(wanted)
        return lambda: self.unregister(wanted)

    def modify(self, known: Breakpoint, address: int, length: int, kind: int, disabled: bool) -> None:
        """modify_user_hw_breakpoint().  EINVAL."""
        self.check(address, length, kind)
        self._disarm(known)
        known.address, known.length, known.kind, known.disabled = address, length, kind, disabled
        self._arm(known)
        self._settle()

    def flush(self, task: Task) -> None:
        """flush_ptrace_hw_breakpoint(): the thread has another program, or ends."""
        thread = self.threads.pop(task, None)
        if thread is not None:
            for each in thread.breakpoints:
                if each is not None:
                    self.unregister(each)

    def _arm(self, wanted: Breakpoint) -> None:
        if wanted.disabled:
            return
        if self._watch is None:
            self._watch = InstructionWatch(self.cpu, self._instruction)
        if wanted.kind == HW_BREAKPOINT_X:
            self._aim()
            return
        used = {number for each in self._all for number in each.watches}
        number = next(n for n in range(64) if n not in used)
        self._watch.watch_data(number, wanted.address, wanted.length, wanted.kind == HW_BREAKPOINT_RW)
        wanted.watches = [number]

    def _disarm(self, known: Breakpoint) -> None:
        if self._watch is None or known.disabled:
            return
        known.disabled = True
        for number in known.watches:
            self._watch.forget_data(number)
        known.watches = []
        self._aim()

    def _aim(self) -> None:
        if self._watch is not None:
            self._watch.watch(e.address for e in self._all if e.kind == HW_BREAKPOINT_X and not e.disabled)

    def _settle(self) -> None:
        """The instruction hook goes with the last of them."""
        if self._watch is not None and all(each.disabled for each in self._all):
            self._watch.close()
            self._watch = None

    # -- hits ----------------------------------------------------------------------------------------------------------

    def _instruction(self, pc: int) -> None:
        """Before an instruction: the one before it may have touched data, or somebody may wait for this one."""
        watch = self._watch
        if watch is None:
            return
        task = self.board.current
        touched = dict(watch.touched())
        for each in self._all if touched else ():
            if each.of(task) and any(self._at(each, task, touched.get(number)) for number in each.watches):
                self._note(each, task)
        if self.cpu.in_kernel:  # an interrupt came behind the instruction: the task is told when it is back
            watch.words[Step.STOP_AT] = 0 if self._hit else NO_TICK
            return
        if not self._resumes():
            for each in self._all:
                if each.of(task) and not each.disabled and each.kind == HW_BREAKPOINT_X and each.address == pc:
                    self._note(each, task)
        here = any(whose is task for _, whose in self._hit)
        told = here and self.cpu.trap_instead("debug", DEBUG_TRAP)
        watch.words[Step.STOP_AT] = 0 if self._hit and not told else NO_TICK

    def _note(self, each: Breakpoint, task: Task) -> None:
        if (each, task) not in self._hit:
            self._hit.append((each, task))

    def _at(self, watched: Breakpoint, task: Task, physical: int | None) -> bool:
        """Whether the access was to the page that the task has there."""
        mm = task.mm
        if physical is None or mm is None:
            return False
        return mm.space.entry(watched.address) // PAGE_SIZE == physical // PAGE_SIZE

    def _resumes(self) -> bool:
        """The resume flag: this instruction's breakpoint has been told of."""
        flag = self.arch.calls.resume_flag
        return flag is not None and bool(self.cpu.read_reg(flag[0]) & flag[1])

    def thread(self, task: Task) -> ThreadDebug:
        """What ptrace(2) keeps of it; from now on."""
        return self.threads.setdefault(task, ThreadDebug([None] * DR_COUNT))

    def hits(self, stepped: bool, regs: int) -> list[Breakpoint]:
        """hw_breakpoint_handler(): those of the current task that were hit; each has been told.  `stepped`: a single step, too."""
        task = self.board.current
        found = [each for each, whose in self._hit if whose is task]
        self._hit = [hit for hit in self._hit if hit[1] is not task]
        if stepped or task in self.threads:
            self.thread(task).dr6 = DR_STEP if stepped else 0
        for each in found:
            each.triggered(each, regs)
        return found
