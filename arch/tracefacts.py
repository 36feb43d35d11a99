"""What traces show of how the kernel of a CPU is built, as Debian builds it: stacks of events, preemption counts, sibling calls.

An event's stack is, from the top: the functions of tracing that wrote it, the tracepoint's own, and the place that fires it.
The kernel leaves out a fixed number of frames from the top, which were meant to be its own; compilers decide what they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from arch.abi.errno import EILSEQ
from arch.abi.version import KernelVersion
from arch.records import dataclass, field

Names = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class EventFrames:
    """Functions on the stack above what fired an event, innermost first, and how many each reader leaves out."""

    commit: Names = ("trace_event_buffer_commit",)
    syscall_commit: Names = ("trace_event_buffer_commit",)
    iterator: str = "several"  # when __traceiter_NAME() is on the stack: "several" callbacks, "always", "never"
    here: frozenset[str] = (
        frozenset()
    )  # systems whose iterators are inlined, because they are compiled with their callers
    syscall_enter: Names = ()  # between ftrace_syscall_enter() and the entry code
    syscall_exit: Names = ()
    syscall_inside: Names = ()  # functions of the entry code that are not yet or no longer on the stack
    kprobe: Names = ("kprobe_trace_func", "kprobe_dispatcher")
    kprobe_trap: Names = ()  # what leads from the probed instruction to the kprobe
    kretprobe: Names = ("kretprobe_trace_func", "kretprobe_dispatcher")
    fprobe: Names = ()  # where fprobes are function_graph's
    uprobe: Names = ()
    uretprobe: Names = ()
    function: Names = ()  # above a traced function: of the function tracer alone
    function_list: Names = ()  # and where others are called at that place, too
    # enabled_functions, behind the flags: struct ftrace_ops by its function -> the line's end where it is alone at a
    # place, through a trampoline of its own; "" -> where there are several.  Empty: that CPU has no such trampolines.
    users: Mapping[str, str] = field(default_factory=dict)
    trigger: int = 0  # left out by the stacktrace trigger
    counted: int = 0  # and by one with a count: so many fewer, for the functions that count
    option: int = 0  # by the option
    hist: int = 0  # by a histogram's key


@dataclass(frozen=True, kw_only=True)
class TraceFacts:
    """One CPU's column."""

    # (first version, CONFIG_PREEMPT_COUNT), newest first.  4.1's own samples were made with it, Debian's kernels came without.
    preempt_count: tuple[tuple[str | None, bool], ...] = (("4.9", False), (None, True))
    own_clocks: Names = ()  # ARCH_TRACE_CLOCKS
    traces_mmio: bool = False  # has the tracer mmiotrace
    folded_resched: bool = False  # a wish to be rescheduled is part of the preemption count, too (`N`, not `n`)
    # (mult, shift) with which perf's control page makes ns of what user code may read as a counter; None: it tells of none
    user_clock: tuple[int, int] | None = None
    zero_flags_irqs_on: bool = (
        False  # irqs_disabled_flags(0): the flag says that interrupts are off, not that they are on
    )
    # Moving an int into a register clears the register's upper half, as compilers pass and return one; else its sign fills it.
    clears_upper_half: bool = False
    # First version whose calls at the end of a function are jumps; None: frame pointers are kept, and with them the calls.
    sibling_calls: str | None = None
    frames: tuple[tuple[str | None, EventFrames], ...] = ()  # (first version, frames), newest first
    # System calls whose wrapper jumps to a function __do_sys_NAME() that cannot be traced; its name is on the stack.
    sys_bodies: frozenset[str] = frozenset()
    inside_instruction: int = EILSEQ  # the error of a kprobe that is not at the beginning of an instruction
    ftrace_site: int = 0  # where in a function ftrace's instruction is; behind the first, no kprobe may be there
    kprobe_traps: bool = False  # kprobes, unlike return probes, are handled with interrupts off
    entry_hides_caller: bool = False  # a stack that begins at a function's first instruction misses the link register
    searches_lowest: bool = (
        False  # room for mmap(2) is looked for down to the second page, whatever vm.mmap_min_addr is
    )
    # What stands above a function's calls in its place, innermost first; "" is the function itself.
    inside: Mapping[str, Names] = field(default_factory=dict)
    # The same by (callee, caller), where it depends on both; callee `*`: any.  As one recorded version has it.
    callers: Mapping[tuple[str, str], Names] = field(default_factory=dict)
    # Functions that can be traced, and that compilers made part of those who call them here: nobody arrives there.
    inlined: frozenset[str] = frozenset()
    recorded_in: tuple[str, str] = ("", "")  # these two: from this version up to that

    def recorded(self, version: KernelVersion) -> bool:
        """Do `callers` and `inlined` tell of that version?"""
        first, end = self.recorded_in
        return bool(first) and version.at_least(first) and version.before(end)

    def counts_preemption(self, version: KernelVersion) -> bool:
        """CONFIG_PREEMPT_COUNT."""
        return next(count for first, count in self.preempt_count if version.at_least(first))

    def jumps(self, version: KernelVersion) -> bool:
        """Are calls at the end of functions jumps?"""
        return self.sibling_calls is not None and version.at_least(self.sibling_calls)

    def frames_for(self, version: KernelVersion) -> EventFrames | None:
        """Of a version; None: stacks begin where the event fired."""
        return next((frames for first, frames in self.frames if version.at_least(first)), None)
