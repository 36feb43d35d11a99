"""Scheduler events.  include/trace/events/sched.h."""

from __future__ import annotations

from dataclasses import replace

from tracing.events.declare import IRQS, NEVER, TraceEventDecl

sched_kthread_stop = TraceEventDecl(
    "sched", "sched_kthread_stop",
    missing=NEVER,
    proto="struct task_struct *t",
    entry=(
        ("char comm[16]", "t->comm"),
        ("pid_t pid", "t->pid"),
    ),
    print='"comm=%s pid=%d", REC->comm, REC->pid',
)  # fmt: skip
sched_kthread_stop_ret = TraceEventDecl(
    "sched", "sched_kthread_stop_ret",
    missing=NEVER,
    proto="int ret",
    entry=(
        ("int ret", "ret"),
    ),
    print='"ret=%d", REC->ret',
)  # fmt: skip
sched_waking = TraceEventDecl(
    "sched", "sched_waking",
    since="4.3", held=(IRQS, 2),  # wait queue lock, pi_lock
    proto="struct task_struct *p",
    entry=(
        ("char comm[16]", "p->comm"),
        ("pid_t pid", "p->pid"),
        ("int prio", "p->prio"),
        ("int target_cpu", "task_cpu(p)"),
    ),
    print='"comm=%s pid=%d prio=%d target_cpu=%03d", REC->comm, REC->pid, REC->prio, REC->target_cpu',
)  # fmt: skip
sched_wakeup = sched_waking.like("sched_wakeup", held=(IRQS, 3))  # and rq lock
sched_wakeup_new = sched_waking.like("sched_wakeup_new", held=(IRQS, 2))
sched_switch = TraceEventDecl(
    "sched", "sched_switch",
    held=(IRQS, 2),  # rq lock, and __schedule's own
    proto="bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state",
    entry=(
        ("char prev_comm[16]", "prev->comm"),
        ("pid_t prev_pid", "prev->pid"),
        ("int prev_prio", "prev->prio"),
        ("long prev_state", "sched_switch_state(preempt, prev_state, prev)"),
        ("char next_comm[16]", "next->comm"),
        ("pid_t next_pid", "next->pid"),
        ("int next_prio", "next->prio"),
    ),
    print=(
        '"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d next_prio=%d", '
        "REC->prev_comm, REC->prev_pid, REC->prev_prio, (REC->prev_state & (TASK_REPORT_MAX - 1)) ? "
        '__print_flags(REC->prev_state & (TASK_REPORT_MAX - 1), "|", { 0x00000001, "S" }, { 0x00000002, "D" }, { '
        '0x00000004, "T" }, { 0x00000008, "t" }, { 0x00000010, "X" }, { 0x00000020, "Z" }, { 0x00000040, "P" }, { '
        '0x00000080, "I" }) : "R", REC->prev_state & TASK_REPORT_MAX ? "+" : "", REC->next_comm, REC->next_pid, '
        "REC->next_prio"
    ),
)  # fmt: skip
sched_migrate_task = TraceEventDecl(
    "sched", "sched_migrate_task",
    held=(IRQS, 2),
    proto="struct task_struct *p, int dest_cpu",
    entry=(
        ("char comm[16]", "p->comm"),
        ("pid_t pid", "p->pid"),
        ("int prio", "p->prio"),
        ("int orig_cpu", "task_cpu(p)"),
        ("int dest_cpu", "dest_cpu"),
    ),
    print=(
        '"comm=%s pid=%d prio=%d orig_cpu=%d dest_cpu=%d", REC->comm, REC->pid, REC->prio, REC->orig_cpu, '
        "REC->dest_cpu"
    ),
)  # fmt: skip
sched_process_free = TraceEventDecl(
    "sched", "sched_process_free",
    proto="struct task_struct *p",
    entry=(
        ("char comm[16]", "p->comm"),
        ("pid_t pid", "p->pid"),
        ("int prio", "p->prio"),
    ),
    print='"comm=%s pid=%d prio=%d", REC->comm, REC->pid, REC->prio',
)  # fmt: skip
sched_process_exit = replace(sched_process_free, name="sched_process_exit", fired="bool group_dead")
sched_wait_task = sched_process_free.like("sched_wait_task", missing=NEVER)
sched_process_wait = TraceEventDecl(
    "sched", "sched_process_wait",
    proto="struct pid *pid",
    entry=(
        ("char comm[16]", "current->comm"),
        ("pid_t pid", "pid_nr(pid)"),
        ("int prio", "current->prio"),
    ),
    print='"comm=%s pid=%d prio=%d", REC->comm, REC->pid, REC->prio',
)  # fmt: skip
sched_process_fork = TraceEventDecl(
    "sched", "sched_process_fork",
    proto="struct task_struct *parent, struct task_struct *child",
    entry=(
        ("char parent_comm[16]", "parent->comm"),
        ("pid_t parent_pid", "parent->pid"),
        ("char child_comm[16]", "child->comm"),
        ("pid_t child_pid", "child->pid"),
    ),
    print=(
        '"comm=%s pid=%d child_comm=%s child_pid=%d", REC->parent_comm, REC->parent_pid, REC->child_comm, '
        "REC->child_pid"
    ),
)  # fmt: skip
sched_process_exec = TraceEventDecl(
    "sched", "sched_process_exec",
    proto="struct task_struct *p, pid_t old_pid, struct linux_binprm *bprm",
    entry=(
        ("__data_loc char[] filename", "bprm->filename"),
        ("pid_t pid", "p->pid"),
        ("pid_t old_pid", "old_pid"),
    ),
    print='"filename=%s pid=%d old_pid=%d", __get_str(filename), REC->pid, REC->old_pid',
)  # fmt: skip
sched_prepare_exec = TraceEventDecl(
    "sched", "sched_prepare_exec",
    since="6.10",
    proto="struct task_struct *task, struct linux_binprm *bprm",
    entry=(
        ("__data_loc char[] interp", "bprm->interp"),
        ("__data_loc char[] filename", "bprm->filename"),
        ("pid_t pid", "task->pid"),
        ("__data_loc char[] comm", "task->comm"),
    ),
    print=(
        '"interp=%s filename=%s pid=%d comm=%s", __get_str(interp), __get_str(filename), REC->pid, __get_str(comm)'
    ),
)  # fmt: skip
sched_stat_wait = TraceEventDecl(
    "sched", "sched_stat_wait",
    missing=NEVER,
    proto="struct task_struct *tsk, u64 delay",
    entry=(
        ("char comm[16]", "tsk->comm"),
        ("pid_t pid", "tsk->pid"),
        ("u64 delay", "delay"),
    ),
    print='"comm=%s pid=%d delay=%Lu [ns]", REC->comm, REC->pid, (unsigned long long)REC->delay',
)  # fmt: skip
sched_stat_sleep = sched_stat_wait.like("sched_stat_sleep", missing=NEVER)
sched_stat_iowait = sched_stat_wait.like("sched_stat_iowait", missing=NEVER)
sched_stat_blocked = sched_stat_wait.like("sched_stat_blocked", missing=NEVER)
sched_stat_runtime = TraceEventDecl(
    "sched", "sched_stat_runtime",
    held=(IRQS, 2),
    proto="struct task_struct *tsk, u64 runtime, u64 vruntime",
    entry=(
        ("char comm[16]", "tsk->comm"),
        ("pid_t pid", "tsk->pid"),
        ("u64 runtime", "runtime"),
        ("u64 vruntime", "vruntime"),
    ),
    print=(
        '"comm=%s pid=%d runtime=%Lu [ns] vruntime=%Lu [ns]", REC->comm, REC->pid, (unsigned long '
        "long)REC->runtime, (unsigned long long)REC->vruntime"
    ),
)  # fmt: skip
sched_pi_setprio = TraceEventDecl(
    "sched", "sched_pi_setprio",
    missing=NEVER,
    proto="struct task_struct *tsk, struct task_struct *pi_task",
    entry=(
        ("char comm[16]", "tsk->comm"),
        ("pid_t pid", "tsk->pid"),
        ("int oldprio", "tsk->prio"),
        ("int newprio", "pi_task ? min(tsk->normal_prio, pi_task->prio) : tsk->normal_prio"),
    ),
    print='"comm=%s pid=%d oldprio=%d newprio=%d", REC->comm, REC->pid, REC->oldprio, REC->newprio',
)  # fmt: skip
sched_process_hang = TraceEventDecl(
    "sched", "sched_process_hang",
    missing=NEVER,
    proto="struct task_struct *tsk",
    entry=(
        ("char comm[16]", "tsk->comm"),
        ("pid_t pid", "tsk->pid"),
    ),
    print='"comm=%s pid=%d", REC->comm, REC->pid',
)  # fmt: skip
