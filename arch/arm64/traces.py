"""What traces of arm64 kernels show of how Debian builds them: with frame pointers, without preemption counts."""

from __future__ import annotations

from arch.abi.errno import EINVAL
from arch.tracefacts import EventFrames, TraceFacts

_TRAP = (
    "kprobe_breakpoint_handler", "call_break_hook", "brk_handler", "do_debug_exception", "el1_dbg", "el1h_64_sync_handler",
    "el1h_64_sync",
)  # fmt: skip
_UPROBE = ("uprobe_notify_resume", "do_notify_resume", "el0_dbg", "el0t_64_sync_handler", "el0t_64_sync")

TRACES = TraceFacts(
    clears_upper_half=True,
    folded_resched=True,
    zero_flags_irqs_on=True,
    entry_hides_caller=True,
    inside_instruction=EINVAL,
    ftrace_site=4,
    kprobe_traps=True,
    inside={"el0_svc": ("", "el0t_64_sync_handler")},
    frames=(
        ("5.17", EventFrames(
            iterator="always",
            here=frozenset(("sched", "raw_syscalls", "signal")),
            syscall_enter=("syscall_trace_enter",),
            syscall_exit=("syscall_trace_exit",),
            syscall_inside=("invoke_syscall",),
            kprobe_trap=_TRAP,
            kretprobe=("kretprobe_trace_func", "kretprobe_dispatcher", "__kretprobe_trampoline_handler",
                       "trampoline_probe_handler", "__kretprobe_trampoline"),
            uprobe=("__uprobe_trace_func", "uprobe_dispatcher", *_UPROBE),
            uretprobe=("__uprobe_trace_func", "uretprobe_dispatcher", *_UPROBE),
            trigger=1, counted=1, option=2, hist=3,
        )),
    ),
)  # fmt: skip
