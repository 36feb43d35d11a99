"""Ending a task, and telling its parent.  kernel/exit.c, kernel/signal.c:do_notify_parent()."""

from __future__ import annotations

from arch.abi.kern_levels import KERN_ALERT
from arch.abi.ptrace import PTRACE_EVENT_EXIT
from arch.abi.signal import (
    CLD_DUMPED,
    CLD_EXITED,
    CLD_KILLED,
    NSIG,
    SA_NOCLDWAIT,
    SIG_IGN,
    SIGCHLD,
    SIGCONT,
    SIGHUP,
    SIGKILL,
)
from arch.errors import KernelError
from simkernel.kernel.calls.futex import exit_robust_list
from simkernel.kernel.calls.futex_pi import exit_pi_state_list
from simkernel.kernel.calls.posix_timers import cancel_timers
from simkernel.kernel.face import Body, KernelFace, Steps
from simkernel.kernel.futexes import key_of, wake
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.ptrace.stops import exit_tracer, notify_tracer, report_event, unlink
from simkernel.kernel.sched import cond_resched
from simkernel.kernel.security import security_task_free
from simkernel.kernel.task import (
    EXIT_DEAD,
    EXIT_ZOMBIE,
    PF_EXITING,
    PF_NOFREEZE,
    PF_POSTCOREDUMP,
    TASK_DEAD,
    Task,
)
from simkernel.kernel.tasks import counts_of


@syscall("exit", "int error_code", source="kernel/exit.c")
def sys_exit(k: KernelFace, error_code: int) -> Body:
    """End this thread."""
    yield k.call("do_exit", (error_code & 0xFF) << 8)
    return 0


@syscall("exit_group", "int error_code", source="kernel/exit.c")
def sys_exit_group(k: KernelFace, error_code: int) -> Body:
    """End all threads of the process."""
    yield k.call("do_group_exit", (error_code & 0xFF) << 8)
    return 0


@kernel_function("void do_group_exit(int exit_code)", source="kernel/exit.c")
def do_group_exit(k: KernelFace, exit_code: int) -> Body:
    """Kill the other threads, then end this one with the group's code."""
    signal = k.current.signal
    if signal.group_exiting:
        exit_code = signal.group_exit_code
    elif signal.group_exec_task is not None:  # this thread ends, the process goes on as another program
        exit_code = 0
    else:
        signal.group_exiting = True
        signal.group_exit_code = exit_code
        k.signals.kill_other_threads(k.current)
    yield k.call("do_exit", exit_code)
    return 0


@kernel_function("void make_task_dead(int signr)", source="kernel/exit.c", since="5.17")
def make_task_dead(k: KernelFace, signr: int) -> Body:
    """What is left of a task after an oops, on an empty kernel stack; never returns."""
    yield k.call("do_exit", signr)
    return 0


def _stay_dead(k: KernelFace) -> Body:
    """An oops inside do_exit(): nothing more can be given back, and nobody is told."""
    k.printk("Fixing recursive fault but reboot is needed!", KERN_ALERT)
    task = k.current
    task.state = TASK_DEAD
    k.mirror.store_state(task)
    while True:
        yield k.call("__schedule", 0)


def _zap_pid_ns_processes(k: KernelFace, task: Task) -> Steps[None]:
    """The init of a pid namespace ends: everybody in it is killed, and it waits for them to be gone."""
    space = task.pid_ns
    assert space is not None
    space.dead = True
    actions = task.signal.actions
    actions[SIGCHLD] = actions[SIGCHLD].handled_by(SIG_IGN)
    for other in [t for t in k.tasks.by_pid.values() if t.pid in space.number and t.signal is not task.signal]:
        k.signals.send(other, SIGKILL)
    while True:
        for child in [c for c in task.children if c.exit_state == EXIT_ZOMBIE and len(c.signal.threads) == 1]:
            yield k.call("release_task", child.addr)
        alive = [t for t in k.tasks.by_pid.values() if t.pid in space.number and t.signal is not task.signal]
        if not [t for t in alive if not t.exit_state or t.real_parent.signal is task.signal]:
            break
        yield k.wait(task.signal.wait_chldexit, interruptible=False)


def disassociate_ctty(k: KernelFace, task: Task) -> None:
    """The leader of a session ends: the foreground group of its terminal is told, also of one that hung up already."""
    signal = task.signal
    if signal.tty is not None:
        signal.tty.disassociate(task, True)
    elif signal.tty_old_pgrp:
        for other in list(k.tasks.by_pid.values()):
            if other is other.group_leader and other.pgid == signal.tty_old_pgrp:
                k.signals.send(other, SIGHUP)
                k.signals.send(other, SIGCONT)


@kernel_function("void do_exit(long code)", source="kernel/exit.c")
def do_exit(k: KernelFace, code: int) -> Body:
    """The end of a task; never returns."""
    task = k.current
    if task.flags & PF_EXITING:
        yield from _stay_dead(k)
    core, task.past_core = task.signal.core, True
    if core is not None and task is not core.dumper:  # coredump_task_exit()
        k.wake_up(core.arrived, 0)
        while task.signal.core is core:
            yield k.wait(core.done, interruptible=False)
        code = task.signal.group_exit_code
    yield from report_event(k, PTRACE_EVENT_EXIT, code)
    k.mirror.change_flags(task, PF_EXITING | (PF_POSTCOREDUMP if k.version.at_least("5.16") else 0))
    task.signal.live -= 1
    k.mirror.store_threads(task.signal)
    task.exit_code = code
    k.mirror.set_field(task.addr, "task_struct", "exit_code", code)
    last = not task.signal.live
    if last:
        cancel_timers(k, task)
    yield from exit_robust_list(k, task)
    if k.pi_locks:
        exit_pi_state_list(k, task)
    early = k.version.at_least("6.16")  # its memory is still there
    if early:
        k.trace("sched_process_exit", task.addr, last)
    if k.tasks.accounting:
        yield k.call("acct_collect", code, int(last))
    k.tasks.perf_exit(task)
    yield k.call("exit_mm")
    if last and k.tasks.accounting:
        yield k.call("acct_process")
    if not early:
        k.trace("sched_process_exit", task.addr, last)
    yield k.call("exit_sem", task.addr)
    yield k.call("exit_shm", task.addr)
    yield k.call("exit_files", task.addr)
    yield k.call("exit_fs", task.addr)
    if task.task_works:
        yield k.call("task_work_run")
    task.past_works = True
    if last and task.pid_ns is not None and task.pid_ns.reaper == task.tgid:
        yield from _zap_pid_ns_processes(k, task)
    if last and task.session == task.tgid:
        disassociate_ctty(k, task)
    k.tasks.cgroup_exit(task)
    yield k.call("exit_notify", task.addr, 1 if last else 0)
    for hook in k.tasks.exit_hooks:
        hook(task)
    k.mirror.change_flags(task, PF_NOFREEZE)  # do_task_dead()
    task.state = TASK_DEAD
    k.mirror.store_state(task)
    while True:
        yield k.call("__schedule", 0)


@kernel_function("void exit_mm(void)", source="kernel/exit.c", inlined=True)
def exit_mm(k: KernelFace) -> Body:
    """Give up the address space; tell who waits for clear_child_tid or vfork."""
    task = k.current
    mm = task.mm
    yield k.call("mm_release", task.addr, mm.addr if mm is not None else 0)
    if mm is not None:
        yield from cond_resched(k)  # down_read(&mm->mmap_lock): who waited for vfork or the thread runs on
        k.mm.drop(task)
    return 0


@kernel_function(
    "void mm_release(struct task_struct *tsk, struct mm_struct *mm)",
    source="kernel/fork.c",
    names={None: "mm_release", "5.5": "exit_mm_release"},
)
def mm_release(k: KernelFace, tsk: int, mm: int) -> Body:
    """pthread_join() and vfork() wait for this."""
    task = k.tasks.at(tsk)
    if task.clear_child_tid and task.mm is not None:
        if task.mm.users > 1:
            try:
                k.usercopy.put_user(task.clear_child_tid, 4, 0)
                wake(k, key_of(k, task.clear_child_tid), 1)
            except KernelError:
                pass
        task.clear_child_tid = 0
    if task.vfork_done is not None and not task.vfork_released:
        task.vfork_released = True
        yield k.wake(task.vfork_done)
    return 0


@kernel_function("void exit_notify(struct task_struct *tsk, int group_dead)", source="kernel/exit.c", inlined=True)
def exit_notify(k: KernelFace, tsk: int, group_dead: int) -> Body:
    """Hand the children to init, become a zombie, tell the parent."""
    task = k.tasks.at(tsk)
    exit_tracer(k, task)
    _forget_children(k, task)
    task.exit_state = EXIT_ZOMBIE
    k.mirror.set_field(task.addr, "task_struct", "exit_state", task.exit_state)
    signal = task.signal
    if task is not task.group_leader:
        if task.ptracer is not None:  # a zombie until its tracer has waited for it
            notify_tracer(k, task, task.exit_code)
            return 0
        yield k.call("release_task", task.addr)
        leader = task.group_leader
        if not (leader.exit_state == EXIT_ZOMBIE and len(signal.threads) == 1):
            k.wake_up(signal.wait_chldexit)
            return 0
        task = leader
    elif len(signal.threads) > 1:  # a leader waits as a zombie for its threads; one of them may wait for it, to exec
        k.wake_up(signal.wait_chldexit, 0)
        return 0
    if signal.group_exiting:
        task.exit_code = signal.group_exit_code
    if task.ptracer is not None and task.ptracer.signal is not task.parent.signal:  # the parent learns of it later
        code, status = decode_exit(task.exit_code)
        k.signals.send(task.ptracer, SIGCHLD, code, pid=task.pid, uid=task.cred.uid, status=status)
        k.wake_up(task.ptracer.signal.wait_chldexit, 0)
        return 0
    autoreap = bool((yield k.call("do_notify_parent", task.addr, task.exit_signal)))
    if autoreap:
        yield k.call("release_task", task.addr)
    return 0


def _forget_children(k: KernelFace, task: Task) -> None:
    """forget_original_parent(): another thread, a subreaper or init adopts the children."""
    others = [t for t in task.signal.threads if t is not task and not t.exit_state]
    if others:
        if task.children and task is not task.group_leader:
            for child in task.children:
                child.parent = child.real_parent = task.group_leader
                task.group_leader.children.append(child)
                k.mirror.adopt(child)
            task.children = []
        return
    groups = {child.pgid for member in task.signal.threads for child in member.children}
    for member in task.signal.threads:
        for child in member.children:
            reaper = k.tasks.reaper_of(member)
            child.parent = child.real_parent = reaper
            reaper.children.append(child)
            k.mirror.adopt(child)
            if child.pdeath_signal:
                k.signals.send(child, child.pdeath_signal)
            if child.exit_state == EXIT_ZOMBIE and child is child.group_leader and len(child.signal.threads) == 1:
                k.wake_up(reaper.signal.wait_chldexit)
        member.children = []
    k.signals.orphaned_groups(task, groups)


@kernel_function("bool do_notify_parent(struct task_struct *tsk, int sig)", source="kernel/signal.c")
def do_notify_parent(k: KernelFace, tsk: int, sig: int) -> Body:
    """SIGCHLD (or the clone's signal) and a wake-up for wait(); true when nobody will wait."""
    task = k.tasks.at(tsk)
    parent = task.parent
    autoreap = False
    if sig == SIGCHLD:
        action = parent.signal.actions[SIGCHLD]
        autoreap = action.handler == 1 or bool(action.flags & SA_NOCLDWAIT)
        if action.handler == 1:
            sig = 0
    if 0 < sig <= NSIG:  # clone(2), unlike clone3(2), takes any number
        code, status = decode_exit(task.exit_code)
        k.signals.send(
            parent, sig, code, pid=task.pid, uid=task.cred.uid, status=status,
            utime=task.utime_ns // 10_000_000, stime=task.stime_ns // 10_000_000,
        )  # fmt: skip
    k.wake_up(task.signal.pidfd_wait, 0)
    if autoreap:
        task.exit_state = EXIT_DEAD
    yield k.wake(parent.signal.wait_chldexit)
    return int(autoreap)


def decode_exit(code: int) -> tuple[int, int]:
    """wait status -> (si_code, si_status)."""
    if code & 0x80:
        return CLD_DUMPED, code & 0x7F
    if code & 0x7F:
        return CLD_KILLED, code & 0x7F
    return CLD_EXITED, (code >> 8) & 0xFF


@kernel_function("void exit_creds(struct task_struct *tsk)", source="kernel/cred.c")
def exit_creds(k: KernelFace, tsk: int) -> int:
    """Nobody has a reference to the task any more: its credentials go with it."""
    return 0


@kernel_function("void release_task(struct task_struct *p)", source="kernel/exit.c")
def release_task(k: KernelFace, p: int) -> Body:
    """The task is gone: unlink it; its memory goes when it has left the CPU."""
    task = k.tasks.at(p)
    signal = task.signal
    if k.text.is_probed("exit_creds"):
        k.mirror.last_put(task)
        yield k.call("exit_creds", p)
    k.trace("sched_process_free", task.addr)
    security_task_free(k, p)
    task.exit_state = EXIT_DEAD
    if task in task.parent.children:
        task.parent.children.remove(task)
    signal.threads.remove(task)
    k.mirror.store_threads(signal)
    task.pending.flush(-1)
    if not signal.threads:
        signal.pending.flush(-1)
    if task.ptracer is not None:
        unlink(k, task)
    if task is not task.group_leader:
        signal.utime_ns += task.utime_ns
        signal.stime_ns += task.stime_ns
        signal.gone = signal.gone.plus(counts_of(task))
    k.tasks.forget(task)
    if task.seccomp_filter is not None:
        k.seccomp_listeners.released(task)
    if k.objects.watched:
        gone, alone = k.objects.gone, not signal.threads
        if alone:
            gone("sighand_cache", signal.sighand_addr, "release_task")
            gone("signal_cache", signal.addr, "__put_task_struct")
        gone("pid", task.pid_addr, "put_pid.part.0")
        gone("task_struct", task.addr, "rcu_do_batch")
    k.threads.bury(task)
    return 0
