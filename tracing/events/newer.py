"""Rows of kernels after 6.1, where the arguments, fields or text of an event that fires differ from 6.1's.

Fields and texts are those of Debian's 6.12 and 7.2; a change between them whose release is not known stands at 7.2.  `args`
gives the newer arguments from those that the kernel's functions fire with.  What nothing fires has no row here: its row of
6.1 ends where it changed, and from there on it is as recorded.
"""

from __future__ import annotations

from dataclasses import replace

from tracing.events import block, filelock, inet, kmem, mm, mmap_lock, net, sched, task, timer, writeback
from tracing.events.declare import TraceEventDecl


def _dynamic(row: TraceEventDecl, since: str, *names: str) -> TraceEventDecl:
    """With strings of their own length in place of arrays of 16 characters."""
    entry, text = row.entry, row.print
    for name in names or ("comm",):
        array, string = f"char {name}[16]", f"__data_loc char[] {name}"
        entry = tuple((string if declaration == array else declaration, source) for declaration, source in entry)
        text = text.replace(f"REC->{name}", f"__get_str({name})")
    return replace(row, entry=entry, print=text, since=since)


task_rename_7_2 = replace(task.task_rename, held=(0, 0), since="7.2")  # names are set without task_lock()
task_newtask_6_18 = replace(
    task.task_newtask,
    proto="struct task_struct *task, u64 clone_flags",
    entry=tuple(
        ("u64 clone_flags" if "clone_flags" in declaration else declaration, source)
        for declaration, source in task.task_newtask.entry
    ),
    print=task.task_newtask.print.replace("%lx", "%llx"),
    since="6.18",
)

# Scheduler: no virtual run time since 6.8; names of their own length in 7.2, but where they were copied before.
sched_stat_runtime_6_8 = replace(
    sched.sched_stat_runtime,
    proto="struct task_struct *tsk, u64 runtime",
    entry=sched.sched_stat_runtime.entry[:3],
    print='"comm=%s pid=%d runtime=%Lu [ns]", REC->comm, REC->pid, (unsigned long long)REC->runtime',
    since="6.8",
    until="7.2",
)
sched_stat_runtime_7_2 = replace(_dynamic(sched_stat_runtime_6_8, "7.2"), until=None)
sched_kthread_stop_7_2 = _dynamic(sched.sched_kthread_stop, "7.2")
sched_migrate_task_7_2 = _dynamic(sched.sched_migrate_task, "7.2")
sched_process_free_7_2 = _dynamic(sched.sched_process_free, "7.2")
sched_wait_task_7_2 = _dynamic(sched.sched_wait_task, "7.2")
sched_process_wait_7_2 = _dynamic(sched.sched_process_wait, "7.2")
sched_process_fork_7_2 = _dynamic(sched.sched_process_fork, "7.2", "parent_comm", "child_comm")
sched_stat_wait_7_2 = _dynamic(sched.sched_stat_wait, "7.2")
sched_stat_sleep_7_2 = _dynamic(sched.sched_stat_sleep, "7.2")
sched_stat_iowait_7_2 = _dynamic(sched.sched_stat_iowait, "7.2")
sched_stat_blocked_7_2 = _dynamic(sched.sched_stat_blocked, "7.2")
sched_pi_setprio_7_2 = _dynamic(sched.sched_pi_setprio, "7.2")
sched_process_hang_7_2 = _dynamic(sched.sched_process_hang, "7.2")
sched_process_exit_6_16 = replace(
    sched.sched_process_exit,
    proto="struct task_struct *p, bool group_dead",
    entry=(*sched.sched_process_exit.entry, ("bool group_dead", "group_dead")),
    print=(
        '"comm=%s pid=%d prio=%d group_dead=%s", REC->comm, REC->pid, REC->prio, REC->group_dead ? "true" : "false"'
    ),
    since="6.16",
)

workqueue_activate_work_6_12 = replace(
    task.workqueue_activate_work,
    entry=(("void * work", "work"), ("void * function", "work->func")),
    print='"work struct %p function=%ps ", REC->work, REC->function',
    since="6.12",
)

vm_unmapped_area_6_12 = replace(mm.vm_unmapped_area, print=mm.vm_unmapped_area.print.replace("\n", ""), since="6.12")

# Timers: the wheel's bucket since 6.8, which the timer knows the rest of.
timer_start_6_8 = replace(
    timer.timer_start,
    proto="struct timer_list *timer, unsigned long bucket_expiry",
    args="timer, expires",
    entry=(
        ("void * timer", "timer"),
        ("void * function", "timer->function"),
        ("unsigned long expires", "timer->expires"),
        ("unsigned long bucket_expiry", "bucket_expiry"),
        ("unsigned long now", "jiffies"),
        ("unsigned int flags", "timer->flags"),
    ),
    print=timer.timer_start.print.replace("[timeout=%ld]", "[timeout=%ld] bucket_expiry=%lu").replace(
        "REC->expires - REC->now,", "REC->expires - REC->now, REC->bucket_expiry,"
    ),
    since="6.8",
)

hrtimer_expire_entry_7_2 = replace(
    timer.hrtimer_expire_entry,
    proto="struct hrtimer *hrtimer, ktime_t now",
    args="hrtimer, *now",
    entry=tuple(
        (declaration, "now" if source == "*now" else source) for declaration, source in timer.hrtimer_expire_entry.entry
    ),
    since="7.2",
)

kmem_cache_alloc_7_2 = replace(
    kmem.kmem_cache_alloc,
    entry=(*kmem.kmem_cache_alloc.entry[:2], ("__data_loc char[] name", "s->name"), *kmem.kmem_cache_alloc.entry[2:]),
    print=kmem.kmem_cache_alloc.print.replace("ptr=%p", "ptr=%p name=%s").replace(
        "REC->ptr,", "REC->ptr, __get_str(name),"
    ),
    since="7.2",
)

# Block: the priority since 6.11, more room for the letters since 6.19.
_PRIORITY = ("unsigned short ioprio", "req_get_ioprio(rq)")
_PRIORITY_TEXT = (
    ' __print_symbolic((((REC->ioprio) >> 13) & (8 - 1)), { 0, "none" }, { 1, "rt" }, { 2, "be" }, '
    '{ 3, "idle" }, { 7, "invalid"}), (((REC->ioprio) >> 3) & ((1 << 10) - 1)), ((REC->ioprio) & ((1 << 3) - 1)),'
)


def _prioritized(row: TraceEventDecl, since: str, until: str | None = None) -> TraceEventDecl:
    """With the request's priority before its letters."""
    entry: list[tuple[str, str]] = []
    for declaration, source in row.entry:
        if declaration.endswith("rwbs[8]"):
            entry.append(_PRIORITY)
            declaration = declaration if until else declaration.replace("[8]", "[10]")
        entry.append((declaration, source))
    text = row.print.replace("%u [", "%u %s,%u,%u [").replace("REC->nr_sector,", f"REC->nr_sector,{_PRIORITY_TEXT}")
    return replace(row, entry=tuple(entry), print=text, since=since, until=until)


block_rq_requeue_6_11 = _prioritized(block.block_rq_requeue, "6.11", "6.19")
block_rq_complete_6_11 = _prioritized(block.block_rq_complete, "6.11", "6.19")
block_rq_error_6_11 = _prioritized(block.block_rq_error, "6.11", "6.19")
block_rq_insert_6_11 = _prioritized(block.block_rq_insert, "6.11", "6.19")
block_rq_issue_6_11 = _prioritized(block.block_rq_issue, "6.11", "6.19")
block_rq_merge_6_11 = _prioritized(block.block_rq_merge, "6.11", "6.19")
block_io_start_6_11 = _prioritized(block.block_io_start, "6.11", "6.19")
block_io_done_6_11 = _prioritized(block.block_io_done, "6.11", "6.19")
block_rq_requeue_6_19 = _prioritized(block.block_rq_requeue, "6.19")
block_rq_complete_6_19 = _prioritized(block.block_rq_complete, "6.19")
block_rq_error_6_19 = _prioritized(block.block_rq_error, "6.19")
block_rq_insert_6_19 = _prioritized(block.block_rq_insert, "6.19")
block_rq_issue_6_19 = _prioritized(block.block_rq_issue, "6.19")
block_rq_merge_6_19 = _prioritized(block.block_rq_merge, "6.19")
block_io_start_6_19 = _prioritized(block.block_io_start, "6.19")
block_io_done_6_19 = _prioritized(block.block_io_done, "6.19")


def _lettered(row: TraceEventDecl) -> TraceEventDecl:
    """A bio's event with room for ten letters."""
    entry = tuple((declaration.replace("rwbs[8]", "rwbs[10]"), source) for declaration, source in row.entry)
    return replace(row, entry=entry, since="6.19")


block_bio_complete_6_19 = _lettered(block.block_bio_complete)
block_bio_backmerge_6_19 = _lettered(block.block_bio_backmerge)
block_bio_frontmerge_6_19 = _lettered(block.block_bio_frontmerge)
block_bio_queue_6_19 = _lettered(block.block_bio_queue)
block_getrq_6_19 = _lettered(block.block_getrq)
block_split_6_19 = _lettered(block.block_split)
block_bio_remap_6_19 = _lettered(block.block_bio_remap)
block_rq_remap_6_19 = _lettered(block.block_rq_remap)


def _with_net(row: TraceEventDecl, dev: str) -> TraceEventDecl:
    """With the cookie of the network namespace of a device."""
    head, arguments = row.print.split('", ', 1)
    return replace(
        row,
        entry=(*row.entry, ("u64 net_cookie", f"{dev}->nd_net.net->net_cookie")),
        print=f'{head} net_cookie=%llu", {arguments}, REC->net_cookie',
        since="7.2",
    )


net_dev_start_xmit_7_2 = _with_net(net.net_dev_start_xmit, "dev")
net_dev_xmit_7_2 = _with_net(net.net_dev_xmit, "dev")
net_dev_queue_7_2 = _with_net(net.net_dev_queue, "skb->dev")
netif_receive_skb_7_2 = _with_net(net.netif_receive_skb, "skb->dev")
netif_rx_7_2 = _with_net(net.netif_rx, "skb->dev")
napi_gro_receive_entry_7_2 = _with_net(net.napi_gro_receive_entry, "skb->dev")
netif_receive_skb_entry_7_2 = _with_net(net.netif_receive_skb_entry, "skb->dev")
netif_rx_entry_7_2 = _with_net(net.netif_rx_entry, "skb->dev")

_RX_SK = f"{net.kfree_skb.proto}, struct sock *rx_sk"
kfree_skb_6_11 = replace(
    net.kfree_skb,
    proto=_RX_SK,
    fired="",
    entry=(*net.kfree_skb.entry[:2], ("void * rx_sk", "rx_sk"), *net.kfree_skb.entry[2:]),
    print=net.kfree_skb.print.replace("skbaddr=%p", "skbaddr=%p rx_sk=%p").replace(
        "REC->skbaddr,", "REC->skbaddr, REC->rx_sk,"
    ),
    since="6.11",
    until="7.2",
)
kfree_skb_7_2 = replace(
    kfree_skb_6_11,
    proto=_RX_SK.replace("struct sock", "const struct sock"),
    args="skb, location, reason, rx_sk",
    entry=tuple((d.replace("void * rx_sk", "const void * rx_sk"), s) for d, s in kfree_skb_6_11.entry),
    since="7.2",
    until=None,
)
consume_skb_6_3 = replace(
    net.consume_skb,
    proto="struct sk_buff *skb, void *location",
    entry=(*net.consume_skb.entry, ("void * location", "location")),
    print='"skbaddr=%p location=%pS", REC->skbaddr, REC->location',
    since="6.3",
)

tcp_retransmit_skb_6_17 = replace(
    inet.tcp_retransmit_skb,
    proto="const struct sock *sk, const struct sk_buff *skb, int err",
    fired="",
    entry=(*inet.tcp_retransmit_skb.entry, ("int err", "err")),
    print=(
        '"skbaddr=%p skaddr=%p family=%s sport=%hu dport=%hu saddr=%pI4 daddr=%pI4 saddrv6=%pI6c daddrv6=%pI6c '
        'state=%s err=%d", REC->skbaddr, REC->skaddr, show_family_name(REC->family), REC->sport, REC->dport, '
        "REC->saddr, REC->daddr, REC->saddr_v6, REC->daddr_v6, show_tcp_state_enum(REC->state), REC->err"
    ),
    since="6.17",
)
tcp_probe_6_10 = replace(
    inet.tcp_probe,
    entry=(*inet.tcp_probe.entry, ("const void * skbaddr", "skb"), ("const void * skaddr", "sk")),
    print=inet.tcp_probe.print.replace("sock_cookie=%llx", "sock_cookie=%llx skbaddr=%p skaddr=%p")
    + ", REC->skbaddr, REC->skaddr",
    since="6.10",
)

# mmap_lock: the number of the memory's control group in place of its path.
_MMAP_ENTRY = (("struct mm_struct * mm", "mm"), ("u64 memcg_id", "1"), ("bool write", "write"))
mmap_lock_start_locking_6_14 = replace(
    mmap_lock.mmap_lock_start_locking,
    proto="struct mm_struct *mm, bool write",
    entry=_MMAP_ENTRY,
    print='"mm=%p memcg_id=%llu write=%s", REC->mm, REC->memcg_id, REC->write ? "true" : "false"',
    since="6.14",
)
mmap_lock_released_6_14 = mmap_lock_start_locking_6_14.like("mmap_lock_released", since="6.14")
mmap_lock_acquire_returned_6_14 = replace(
    mmap_lock.mmap_lock_acquire_returned,
    proto="struct mm_struct *mm, bool write, bool success",
    entry=(*_MMAP_ENTRY, ("bool success", "success")),
    print=(
        '"mm=%p memcg_id=%llu write=%s success=%s", REC->mm, REC->memcg_id, REC->write ? "true" : "false", '
        'REC->success ? "true" : "false"'
    ),
    since="6.14",
)


def _wide(row: TraceEventDecl, since: str = "7.2") -> TraceEventDecl:
    """With an inode number of 64 bits on every CPU."""
    widths = {"unsigned long i_ino": "u64 i_ino", "ino_t ino": "u64 ino"}
    entry = tuple((widths.get(declaration, declaration), source) for declaration, source in row.entry)
    text = (
        row.print.replace("ino=0x%lx", "ino=0x%llx")
        .replace("ino %lx", "ino %llx")
        .replace("ino=%lx", "ino=%llx")
        .replace("ino=%lu", "ino=%llu")
    )
    return replace(row, entry=entry, print=text.replace("(unsigned long)REC->ino", "REC->ino"), since=since, until=None)


# Locks on files: what locks and leases have in common is a struct of its own since 6.9.
def _of_core(row: TraceEventDecl, until: str | None = "7.2") -> TraceEventDecl:
    """With the fields' names of 6.9."""
    entry, text = row.entry, row.print
    for name in ("owner", "pid", "flags", "type"):
        entry = tuple((declaration.replace(f" fl_{name}", f" {name}"), source) for declaration, source in entry)
        text = text.replace(f"REC->fl_{name}", f"REC->{name}")
    blocker = ("struct file_lock * fl_blocker", "struct file_lock_core * blocker")
    entry = tuple((declaration.replace(*blocker), source) for declaration, source in entry)
    return replace(row, entry=entry, print=text.replace("REC->fl_blocker", "REC->blocker"), since="6.9", until=until)


locks_get_lock_context_7_2 = _wide(filelock.locks_get_lock_context)
posix_lock_inode_6_9 = _of_core(filelock.posix_lock_inode)
posix_lock_inode_7_2 = _wide(posix_lock_inode_6_9)
fcntl_setlk_6_9 = _of_core(filelock.fcntl_setlk)
fcntl_setlk_7_2 = _wide(fcntl_setlk_6_9)
locks_remove_posix_6_9 = _of_core(filelock.locks_remove_posix)
locks_remove_posix_7_2 = _wide(locks_remove_posix_6_9)
flock_lock_inode_6_9 = _of_core(filelock.flock_lock_inode)
flock_lock_inode_7_2 = _wide(flock_lock_inode_6_9)

# Why a connection is reset, since 6.10; then also where no socket is concerned.
_REASONS = (
    "NOT_SPECIFIED NO_SOCKET TCP_INVALID_ACK_SEQUENCE TCP_RFC7323_PAWS TCP_TOO_OLD_ACK TCP_ACK_UNSENT_DATA TCP_FLAGS TCP_OLD_ACK "
    "TCP_ABORT_ON_DATA TCP_TIMEWAIT_SOCKET INVALID_SYN TCP_ABORT_ON_CLOSE TCP_ABORT_ON_LINGER TCP_ABORT_ON_MEMORY TCP_STATE "
    "TCP_KEEPALIVE_TIMEOUT TCP_DISCONNECT_WITH_DATA MPTCP_RST_EUNSPEC MPTCP_RST_EMPTCP MPTCP_RST_ERESOURCE MPTCP_RST_EPROHIBIT "
    "MPTCP_RST_EWQ2BIG MPTCP_RST_EBADPERF MPTCP_RST_EMIDDLEBOX ERROR MAX"
)
tcp_send_reset_6_10 = replace(
    inet.tcp_send_reset,
    proto=f"{inet.tcp_send_reset.proto}, {inet.tcp_send_reset.fired}",
    fired="",
    entry=(
        ("const void * skbaddr", "skb"),
        ("const void * skaddr", "sk"),
        ("int state", "sk ? sk->sk_state : 0"),
        ("enum sk_rst_reason reason", "reason"),
        ("__u8 saddr[28]", "reset_sockaddr(sk, skb, 1)"),
        ("__u8 daddr[28]", "reset_sockaddr(sk, skb, 0)"),
    ),
    print=(
        '"skbaddr=%p skaddr=%p src=%pISpc dest=%pISpc state=%s reason=%s", REC->skbaddr, REC->skaddr, REC->saddr, REC->daddr, '
        'REC->state ? show_tcp_state_enum(REC->state) : "UNKNOWN", __print_symbolic(REC->reason, '
        + ", ".join(f'{{ {number}, "{name}" }}' for number, name in enumerate(_REASONS.split()))
        + ")"
    ),
    since="6.10",
)
udp_fail_queue_rcv_skb_6_10 = replace(
    inet.udp_fail_queue_rcv_skb,
    proto=inet.udp_fail_queue_rcv_skb.fired_proto,
    fired="",
    entry=(
        ("int rc", "rc"),
        ("__u16 sport", "skb_port(skb, 1)"),
        ("__u16 dport", "skb_port(skb, 0)"),
        ("__u16 family", "sk->sk_family"),
        ("__u8 saddr[28]", "skb_sockaddr(skb, 1)"),
        ("__u8 daddr[28]", "skb_sockaddr(skb, 0)"),
    ),
    print='"rc=%d family=%s src=%pISpc dest=%pISpc", REC->rc, show_family_name(REC->family), REC->saddr, REC->daddr',
    since="6.10",
)

# Dirty inodes: other numbers of the states since 6.11.
_STATES = (
    (3, "I_DIRTY_SYNC"), (4, "I_DIRTY_DATASYNC"), (5, "I_DIRTY_PAGES"), (0, "I_NEW"), (6, "I_WILL_FREE"), (7, "I_FREEING"),
    (8, "I_CLEAR"), (1, "I_SYNC"), (11, "I_DIRTY_TIME"), (9, "I_REFERENCED"), (10, "I_LINKABLE"), (12, "I_WB_SWITCH"),
    (13, "I_OVL_INUSE"), (14, "I_CREATING"), (15, "I_DONTCACHE"), (16, "I_SYNC_QUEUED"), (17, "I_PINNING_NETFS_WB"),
    (2, "I_LRU_ISOLATING"),
)  # fmt: skip


def _renumbered(row: TraceEventDecl, until: str | None = "7.2") -> TraceEventDecl:
    states = ", ".join(f'{{(1 << {bit}), "{name}"}}' for bit, name in _STATES)
    text = row.print
    for field in ("state", "flags"):
        text = text.replace(f"show_inode_state(REC->{field})", f'__print_flags(REC->{field}, "|", {states} )')
    return replace(row, print=text, since="6.11", until=until)


writeback_mark_inode_dirty_6_11 = _renumbered(writeback.writeback_mark_inode_dirty)
writeback_mark_inode_dirty_7_2 = _wide(writeback_mark_inode_dirty_6_11)
writeback_dirty_inode_start_6_11 = _renumbered(writeback.writeback_dirty_inode_start)
writeback_dirty_inode_start_7_2 = _wide(writeback_dirty_inode_start_6_11)
writeback_dirty_inode_6_11 = _renumbered(writeback.writeback_dirty_inode)
writeback_dirty_inode_7_2 = _wide(writeback_dirty_inode_6_11)

# Restartable sequences: also the node, and the number among the CPUs that the address space is on: here there is one of each.
rseq_update_6_3 = replace(
    mm.rseq_update,
    entry=(*mm.rseq_update.entry, ("s32 node_id", "0"), ("s32 mm_cid", "0")),
    print='"cpu_id=%d node_id=%d mm_cid=%d", REC->cpu_id, REC->node_id, REC->mm_cid',
    since="6.3",
)

mm_filemap_add_to_page_cache_7_2 = _wide(mm.mm_filemap_add_to_page_cache)
mm_filemap_delete_from_page_cache_7_2 = _wide(mm.mm_filemap_delete_from_page_cache)
mm_filemap_map_pages_7_2 = _wide(mm.mm_filemap_map_pages)
mm_filemap_fault_7_2 = _wide(mm.mm_filemap_fault)
