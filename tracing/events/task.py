"""Task life, console, power, page faults, work queues.  include/trace/events/{task,printk,power,oom,workqueue}.h."""

from __future__ import annotations

from tracing.events.declare import IRQS, NEVER, TraceEventDecl

task_newtask = TraceEventDecl(
    "task", "task_newtask",
    proto="struct task_struct *task, unsigned long clone_flags",
    entry=(
        ("pid_t pid", "task->pid"),
        ("char comm[16]", "task->comm"),
        ("unsigned long clone_flags", "clone_flags"),
        ("short oom_score_adj", "task->signal->oom_score_adj"),
    ),
    print=(
        '"pid=%d comm=%s clone_flags=%lx oom_score_adj=%hd", REC->pid, REC->comm, REC->clone_flags, '
        "REC->oom_score_adj"
    ),
)  # fmt: skip
task_rename = TraceEventDecl(
    "task", "task_rename",
    held=(0, 1),
    proto="struct task_struct *task, const char *comm",
    entry=(
        ("pid_t pid", "task->pid"),
        ("char oldcomm[16]", "task->comm"),
        ("char newcomm[16]", "comm"),
        ("short oom_score_adj", "task->signal->oom_score_adj"),
    ),
    print='"pid=%d oldcomm=%s newcomm=%s oom_score_adj=%hd", REC->pid, REC->oldcomm, REC->newcomm, REC->oom_score_adj',
)  # fmt: skip
task_prctl_unknown = TraceEventDecl(
    "task", "task_prctl_unknown",
    since="7.2",
    proto="int option, unsigned long arg2, unsigned long arg3, unsigned long arg4, unsigned long arg5",
    entry=(
        ("int option", "option"),
        ("unsigned long arg2", "arg2"),
        ("unsigned long arg3", "arg3"),
        ("unsigned long arg4", "arg4"),
        ("unsigned long arg5", "arg5"),
    ),
    print=(
        '"option=%d arg2=%ld arg3=%ld arg4=%ld arg5=%ld", REC->option, REC->arg2, REC->arg3, REC->arg4, REC->arg5'
    ),
)  # fmt: skip
console = TraceEventDecl(
    "printk", "console",
    held=(IRQS, 0),
    proto="const char *text, size_t len",
    entry=(
        ("__data_loc char[] msg", "console_text(text, len)"),
    ),
    print='"%s", __get_str(msg)',
)  # fmt: skip
cpu_idle = TraceEventDecl(
    "power", "cpu_idle",
    held=(IRQS, 1),
    proto="unsigned int state, unsigned int cpu_id",
    entry=(
        ("u32 state", "state"),
        ("u32 cpu_id", "cpu_id"),
    ),
    print='"state=%lu cpu_id=%lu", (unsigned long)REC->state, (unsigned long)REC->cpu_id',
)  # fmt: skip
cpu_frequency = cpu_idle.like(
    "cpu_frequency", "unsigned int frequency, unsigned int cpu_id",
    entry=(("u32 state", "frequency"), ("u32 cpu_id", "cpu_id")),
    missing=NEVER,
)  # fmt: skip
suspend_resume = TraceEventDecl(
    "power", "suspend_resume",
    missing=NEVER,
    proto="const char *action, int val, bool start",
    entry=(
        ("const char * action", "action"),
        ("int val", "val"),
        ("bool start", "start"),
    ),
    print='"%s[%u] %s", REC->action, (unsigned int)REC->val, (REC->start)?"begin":"end"',
)  # fmt: skip
page_fault_user = TraceEventDecl(
    "exceptions", "page_fault_user",
    held=(IRQS, 0),
    proto="unsigned long address, struct pt_regs *regs, unsigned long error_code",
    entry=(
        ("unsigned long address", "address"),
        ("unsigned long ip", "instruction_pointer(regs)"),
        ("unsigned long error_code", "error_code"),
    ),
    print='"address=%ps ip=%ps error_code=0x%lx", (void *)REC->address, (void *)REC->ip, REC->error_code',
)  # fmt: skip
page_fault_kernel = page_fault_user.like("page_fault_kernel", held=(IRQS, 0))
oom_score_adj_update = TraceEventDecl(
    "oom", "oom_score_adj_update",
    proto="struct task_struct *task",
    entry=(
        ("pid_t pid", "task->pid"),
        ("char comm[16]", "task->comm"),
        ("short oom_score_adj", "task->signal->oom_score_adj"),
    ),
    print='"pid=%d comm=%s oom_score_adj=%hd", REC->pid, REC->comm, REC->oom_score_adj',
)  # fmt: skip
mark_victim = TraceEventDecl(
    "oom", "mark_victim",
    since="5.10",  # and as a number alone since 4.14
    held=(0, 1),
    proto="struct task_struct *task, uid_t uid",
    entry=(
        ("int pid", "task->pid"),
        ("__data_loc char[] comm", "task->comm"),
        ("unsigned long total_vm", "task->mm->total_vm << 2"),
        ("unsigned long anon_rss", "get_mm_counter(task->mm, 1) << 2"),
        ("unsigned long file_rss", "get_mm_counter(task->mm, 0) << 2"),
        ("unsigned long shmem_rss", "get_mm_counter(task->mm, 3) << 2"),
        ("uid_t uid", "uid"),
        ("unsigned long pgtables", "task->mm->pgtables_bytes.counter >> 10"),
        ("short oom_score_adj", "task->signal->oom_score_adj"),
    ),
    print=(
        '"pid=%d comm=%s total-vm=%lukB anon-rss=%lukB file-rss:%lukB shmem-rss:%lukB uid=%u pgtables=%lukB oom_score_adj=%hd", '
        "REC->pid, __get_str(comm), REC->total_vm, REC->anon_rss, REC->file_rss, REC->shmem_rss, REC->uid, REC->pgtables, "
        "REC->oom_score_adj"
    ),
)  # fmt: skip
workqueue_queue_work = TraceEventDecl(
    "workqueue", "workqueue_queue_work",
    missing=NEVER,
    held=(IRQS, 1),
    proto="int req_cpu, struct pool_workqueue *pwq, struct work_struct *work",
    entry=(
        ("void * work", "work"),
        ("void * function", "work->func"),
        ("__data_loc char[] workqueue", "pwq->wq->name"),
        ("int req_cpu", "req_cpu"),
        ("int cpu", "pwq->pool->cpu"),
    ),
    print=(
        '"work struct=%p function=%ps workqueue=%s req_cpu=%d cpu=%d", REC->work, REC->function, '
        "__get_str(workqueue), REC->req_cpu, REC->cpu"
    ),
)  # fmt: skip
workqueue_activate_work = TraceEventDecl(
    "workqueue", "workqueue_activate_work",
    missing=NEVER,
    held=(IRQS, 1),
    proto="struct work_struct *work",
    entry=(
        ("void * work", "work"),
    ),
    print='"work struct %p", REC->work',
)  # fmt: skip
workqueue_execute_start = TraceEventDecl(
    "workqueue", "workqueue_execute_start",
    missing=NEVER,
    proto="struct work_struct *work",
    entry=(
        ("void * work", "work"),
        ("void * function", "work->func"),
    ),
    print='"work struct %p: function %ps", REC->work, REC->function',
)  # fmt: skip
workqueue_execute_end = TraceEventDecl(
    "workqueue", "workqueue_execute_end",
    missing=NEVER,
    proto="struct work_struct *work, work_func_t function",
    entry=(
        ("void * work", "work"),
        ("void * function", "function"),
    ),
    print='"work struct %p: function %ps", REC->work, REC->function',
)  # fmt: skip
