"""Rows of older kernels, where an event's arguments, fields or text differ from 6.1's.

Written from knowledge of those kernels' headers, newest case first; only 6.1 and what these rows share with it has been
compared with a real kernel.  `args` gives the old arguments from the ones the kernel's functions fire with (6.1's).
"""

from __future__ import annotations

from dataclasses import replace

from tracing.events import block, irq, kmem, net, sched, task, timer

_BLOCK_DEV = ("dev_t dev", "rq_dev(rq)")
_SCHED_ARGS = "prev, next"

# sched_switch: (prev, next) before 4.4, (preempt, prev, next) before 5.18; new state letters in 4.14.
_SWITCH_PROTO = "bool preempt, struct task_struct *prev, struct task_struct *next"
sched_switch_5_10 = replace(
    sched.sched_switch,
    proto=_SWITCH_PROTO,
    args="preempt, prev, next",
    entry=tuple(
        (decl, "sched_switch_state(preempt, prev->state, prev)" if "prev_state" in decl else source)
        for decl, source in sched.sched_switch.entry
    ),
    print=sched.sched_switch.print.replace("TASK_REPORT_MAX", "TASK_REPORT_MAX_5").replace("0x000000", "0x00"),
    since="4.14",
    until="5.14",
)
sched_switch_5_15 = replace(
    sched_switch_5_10,
    entry=tuple((decl, source.replace("prev->state", "prev->__state")) for decl, source in sched_switch_5_10.entry),
    since="5.14",
    until="5.18",
)
_SWITCH_4_1_PRINT = (
    '"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d next_prio=%d", '
    "REC->prev_comm, REC->prev_pid, REC->prev_prio, REC->prev_state & (1024-1) ? "
    '__print_flags(REC->prev_state & (1024-1), "|", { 1, "S"} , { 2, "D" }, { 4, "T" }, { 8, "t" }, { 16, "Z" }, '
    '{ 32, "X" }, { 64, "x" }, { 128, "K"}, { 256, "W" }, { 512, "P" }) : "R", REC->prev_state & 1024 ? "+" : "", '
    "REC->next_comm, REC->next_pid, REC->next_prio"
)
sched_switch_4_4 = replace(
    sched_switch_5_10,
    entry=tuple(
        (decl, "sched_switch_state_4_1(preempt, prev->state, prev)" if "prev_state" in decl else source)
        for decl, source in sched.sched_switch.entry
    ),
    print=_SWITCH_4_1_PRINT,
    since="4.4",
    until="4.14",
)
# Before 4.4 the tracepoint does not say whether it is a preemption; the record still shows it (preempt_count()).
sched_switch_4_1 = replace(
    sched_switch_4_4,
    proto="struct task_struct *prev, struct task_struct *next",
    args=_SCHED_ARGS,
    entry=tuple((decl, source.replace("preempt, ", "0, ")) for decl, source in sched_switch_4_4.entry),
    since=None,
    until="4.4",
)

# sched_wakeup: a `success` argument before 4.3; its field was left behind, and always 1, until 5.14.
_SUCCESS = (
    ("char comm[16]", "p->comm"), ("pid_t pid", "p->pid"), ("int prio", "p->prio"), ("int success", "1"),
    ("int target_cpu", "task_cpu(p)"),
)  # fmt: skip
sched_wakeup_4_1 = sched.sched_wakeup.like(
    "sched_wakeup",
    "struct task_struct *p, int success",
    entry=_SUCCESS,
    args="p, 1",
    until="4.3",
    held=sched.sched_wakeup.held,
)
sched_waking_5_10 = sched.sched_waking.like(
    "sched_waking", entry=_SUCCESS, since="4.3", until="5.14", held=sched.sched_waking.held
)
sched_wakeup_5_10 = sched_waking_5_10.like("sched_wakeup", since="4.3", until="5.14", held=sched.sched_wakeup.held)
sched_wakeup_new_5_10 = sched_waking_5_10.like(
    "sched_wakeup_new", since="4.3", until="5.14", held=sched.sched_wakeup_new.held
)
sched_wakeup_new_4_1 = sched_wakeup_4_1.like(
    "sched_wakeup_new", args="p, 1", until="4.3", held=sched.sched_wakeup_new.held
)
sched_pi_setprio_4_1 = replace(
    sched.sched_pi_setprio,
    proto="struct task_struct *tsk, int newprio",
    args="tsk, pi_task ? min(tsk->normal_prio, pi_task->prio) : tsk->normal_prio",
    entry=(*sched.sched_pi_setprio.entry[:3], ("int newprio", "newprio")),
    until="4.12",
)

# Block: the queue as first argument before 5.11; errors by number of retries before 4.13; no rq->disk before 5.17.
_RQ_OLD = "struct request_queue *q, struct request *rq"
block_rq_issue_4_1 = block.block_rq_issue.like("block_rq_issue", _RQ_OLD, args="rq->q, rq", until="5.11")
block_rq_insert_4_1 = block.block_rq_insert.like("block_rq_insert", _RQ_OLD, args="rq->q, rq", until="5.11")
block_rq_requeue_5_10 = block.block_rq_requeue.like("block_rq_requeue", _RQ_OLD, args="rq->q, rq", until="5.11")
block_rq_complete_5_10 = block.block_rq_complete.like(
    "block_rq_complete", "struct request *rq, int error, unsigned int nr_bytes",
    args="rq, blk_status_to_errno(error), nr_bytes", since="4.13", until="5.16",
    entry=tuple((d, "error" if d == "int error" else s) for d, s in block.block_rq_complete.entry),
)  # fmt: skip
block_rq_complete_4_1 = replace(
    block.block_rq_complete,
    proto="struct request_queue *q, struct request *rq, unsigned int nr_bytes",
    args="rq->q, rq, nr_bytes",
    entry=(
        _BLOCK_DEV, ("sector_t sector", "blk_rq_pos(rq)"), ("unsigned int nr_sector", "nr_bytes >> 9"),
        ("int errors", "0"), ("char rwbs[8]", "blk_fill_rwbs(rq->cmd_flags)"), ("__data_loc char[] cmd", '""'),
    ),
    print=block.block_rq_complete.print.replace("REC->error", "REC->errors"),
    until="4.13",
)  # fmt: skip
_BIO_OLD = "struct request_queue *q, struct bio *bio"
block_bio_bounce_4_1 = block.block_bio_bounce.like("block_bio_bounce", _BIO_OLD, args="0, bio", until="5.11")
block_bio_backmerge_4_1 = block_bio_bounce_4_1.like("block_bio_backmerge", args="0, bio", until="5.11")
block_bio_frontmerge_4_1 = block_bio_bounce_4_1.like("block_bio_frontmerge", args="0, bio", until="5.11")
block_bio_queue_4_1 = block_bio_bounce_4_1.like("block_bio_queue", args="0, bio", until="5.11")

# kfree_skb: the reason came with 5.17.
kfree_skb_4_1 = replace(
    net.kfree_skb,
    proto="struct sk_buff *skb, void *location",
    entry=net.kfree_skb.entry[:3],
    print='"skbaddr=%p protocol=%u location=%p", REC->skbaddr, REC->protocol, REC->location',
    until="5.17",
)
napi_poll_4_1 = replace(
    net.napi_poll,
    proto="struct napi_struct *napi",
    entry=net.napi_poll.entry[:2],
    print='"napi poll on napi struct %p for device %s", REC->napi, __get_str(dev_name)',
    until="4.9",
)

softirq_entry_4_1 = replace(
    irq.softirq_entry,
    print=irq.softirq_entry.print.replace("show_softirq_name", "show_softirq_name_4_1"),
    until="4.5",
)
softirq_exit_4_1 = softirq_entry_4_1.like("softirq_exit", until="4.5")
softirq_raise_4_1 = softirq_entry_4_1.like("softirq_raise", until="4.5", held=irq.softirq_raise.held)

# Timers: flags in 4.2, %ps instead of %pf in 5.2, baseclk in 5.2, hrtimer mode in 4.16, was_armed with 6.1's backport.
timer_start_4_1 = replace(
    timer.timer_start,
    proto="struct timer_list *timer, unsigned long expires",
    entry=timer.timer_start.entry[:4],
    print=(
        '"timer=%p function=%pf expires=%lu [timeout=%ld]", REC->timer, REC->function, REC->expires, '
        "(long)REC->expires - REC->now"
    ),
    until="4.2",
)
timer_expire_entry_4_1 = replace(
    timer.timer_expire_entry,
    proto="struct timer_list *timer",
    entry=timer.timer_expire_entry.entry[:3],
    print='"timer=%p function=%pf now=%lu", REC->timer, REC->function, REC->now',
    until="5.2",
)
hrtimer_start_4_1 = replace(
    timer.hrtimer_start,
    proto="struct hrtimer *hrtimer",
    entry=timer.hrtimer_start.entry[:4],
    print=(
        '"hrtimer=%p function=%pf expires=%llu softexpires=%llu", REC->hrtimer, REC->function, '
        "(unsigned long long)REC->expires, (unsigned long long)REC->softexpires"
    ),
    until="4.16",
)

# kmem: kmem_cache_free's name came in 5.13; kmem_cache_alloc gave sizes before 6.0.
_KMALLOC_4_1_PRINT = (
    '"call_site=%lx ptr=%p bytes_req=%zu bytes_alloc=%zu gfp_flags=%s", REC->call_site, REC->ptr, REC->bytes_req, '
    "REC->bytes_alloc, show_gfp_flags_4_1(REC->gfp_flags)"
)
kmalloc_4_1 = replace(
    kmem.kmalloc,
    proto="unsigned long call_site, const void *ptr, size_t bytes_req, size_t bytes_alloc, gfp_t gfp_flags",
    entry=(*kmem.kmalloc.entry[:4], ("gfp_t gfp_flags", "gfp_flags")),
    print=_KMALLOC_4_1_PRINT,
    until="6.0",
)
kmem_cache_alloc_4_1 = kmalloc_4_1.like(
    "kmem_cache_alloc", args="call_site, ptr, s->object_size, s->size, gfp_flags", until="6.0"
)
kfree_4_1 = replace(kmem.kfree, print='"call_site=%lx ptr=%p", REC->call_site, REC->ptr', until="5.9")
kmem_cache_free_4_1 = replace(
    kfree_4_1, name="kmem_cache_free", proto="unsigned long call_site, const void *ptr", until="5.13"
)

page_fault_user_4_1 = replace(task.page_fault_user, print=task.page_fault_user.print.replace("%ps", "%pf"), until="5.2")
page_fault_kernel_4_1 = page_fault_user_4_1.like("page_fault_kernel", until="5.2", held=task.page_fault_kernel.held)

workqueue_queue_work_5_10 = replace(
    task.workqueue_queue_work,
    proto="unsigned int req_cpu, struct pool_workqueue *pwq, struct work_struct *work",
    entry=(
        ("void * work", "work"),
        ("void * function", "work->func"),
        ("void * workqueue", "pwq->wq"),
        ("unsigned int req_cpu", "req_cpu"),
        ("unsigned int cpu", "pwq->pool->cpu"),
    ),
    print=(
        '"work struct=%p function=%ps workqueue=%p req_cpu=%u cpu=%u", REC->work, REC->function, '
        "REC->workqueue, REC->req_cpu, REC->cpu"
    ),
    until="5.12",
)
