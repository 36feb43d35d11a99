"""Signal events.  include/trace/events/signal.h."""

from __future__ import annotations

from tracing.events.declare import IRQS, TraceEventDecl

signal_generate = TraceEventDecl(
    "signal", "signal_generate",
    held=(IRQS, 1),  # siglock
    proto="int sig, struct kernel_siginfo *info, struct task_struct *task, int group, int result",
    entry=(
        ("int sig", "sig"),
        ("int errno", "siginfo_errno(info)"),
        ("int code", "siginfo_code(info)"),
        ("char comm[16]", "task->comm"),
        ("pid_t pid", "task->pid"),
        ("int group", "group"),
        ("int result", "result"),
    ),
    print=(
        '"sig=%d errno=%d code=%d comm=%s pid=%d grp=%d res=%d", REC->sig, REC->errno, REC->code, REC->comm, '
        "REC->pid, REC->group, REC->result"
    ),
)  # fmt: skip
signal_deliver = TraceEventDecl(
    "signal", "signal_deliver",
    held=(IRQS, 1),
    proto="int sig, struct kernel_siginfo *info, struct k_sigaction *ka",
    entry=(
        ("int sig", "sig"),
        ("int errno", "siginfo_errno(info)"),
        ("int code", "siginfo_code(info)"),
        ("unsigned long sa_handler", "ka->sa.sa_handler"),
        ("unsigned long sa_flags", "ka->sa.sa_flags"),
    ),
    print=(
        '"sig=%d errno=%d code=%d sa_handler=%lx sa_flags=%lx", REC->sig, REC->errno, REC->code, REC->sa_handler, '
        "REC->sa_flags"
    ),
)  # fmt: skip
