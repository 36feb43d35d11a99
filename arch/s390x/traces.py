"""What traces of s390x kernels show of how Debian builds them: with back chains; calls at the end of functions are jumps."""

from __future__ import annotations

from arch.abi.errno import EINVAL
from arch.tracefacts import EventFrames, TraceFacts

_UPROBE = ("uprobe_notify_resume", "exit_to_user_mode_prepare", "irqentry_exit_to_user_mode", "pgm_check_handler")

TRACES = TraceFacts(
    sibling_calls="4.17",
    inside_instruction=EINVAL,
    frames=(
        ("5.17", EventFrames(
            iterator="always",
            here=frozenset(("sched", "raw_syscalls", "signal")),
            syscall_enter=("syscall_trace_enter.constprop.0",),
            syscall_exit=("syscall_exit_work", "syscall_exit_to_user_mode_work"),
            kprobe_trap=("kprobe_ftrace_handler", "ftrace_graph_caller"),
            kretprobe=("kretprobe_trace_func", "kretprobe_dispatcher", "__kretprobe_trampoline_handler",
                       "trampoline_probe_handler", "__kretprobe_trampoline"),
            uprobe=("__uprobe_trace_func", "uprobe_dispatcher", *_UPROBE),
            uretprobe=("__uprobe_trace_func", "uretprobe_dispatcher", *_UPROBE),
            trigger=4, option=3, hist=3,
        )),
    ),
)  # fmt: skip
