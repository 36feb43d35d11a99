"""System-call entry and exit, all numbers.  include/trace/events/syscalls.h."""

from __future__ import annotations

from tracing.events.declare import TraceEventDecl

sys_enter = TraceEventDecl(
    "raw_syscalls", "sys_enter",
    proto="struct pt_regs *regs, long id",
    entry=(
        ("long id", "id"),
        ("unsigned long args[6]", "syscall_args(regs)"),
    ),
    print=(
        '"NR %ld (%lx, %lx, %lx, %lx, %lx, %lx)", REC->id, REC->args[0], REC->args[1], REC->args[2], REC->args[3], '
        "REC->args[4], REC->args[5]"
    ),
)  # fmt: skip
sys_exit = TraceEventDecl(
    "raw_syscalls", "sys_exit",
    proto="struct pt_regs *regs, long ret",
    entry=(
        ("long id", "syscall_nr(regs)"),
        ("long ret", "ret"),
    ),
    print='"NR %ld = %ld", REC->id, REC->ret',
)  # fmt: skip
