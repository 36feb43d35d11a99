"""Making and ending processes: clone, fork, vfork, exit, wait, groups and sessions.  kernel/{fork,exit,pid,sys}.c."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

from arch.abi.errno import EAGAIN, ECHILD, EFAULT, EINVAL, EPERM, ERESTARTSYS, ESRCH
from arch.abi.sched import (
    CLONE_CHILD_CLEARTID,
    CLONE_CHILD_SETTID,
    CLONE_FILES,
    CLONE_FS,
    CLONE_PARENT,
    CLONE_PARENT_SETTID,
    CLONE_PIDFD,
    CLONE_SETTLS,
    CLONE_SIGHAND,
    CLONE_THREAD,
    CLONE_VFORK,
    CLONE_VM,
    CSIGNAL,
)
from arch.abi.signal import (
    CLD_CONTINUED,
    CLD_DUMPED,
    CLD_EXITED,
    CLD_KILLED,
    CLD_STOPPED,
    SA_NOCLDWAIT,
    SIGCHLD,
    SIGKILL,
)
from arch.abi.wait import WALL, WCLONE, WCONTINUED, WEXITED, WNOHANG, WNOTHREAD, WNOWAIT, WSTOPPED, WUNTRACED
from arch.errors import KernelError
from simkernel.kernel.calls.futex import exit_robust_list, key_of, wake
from simkernel.kernel.calls.time import cancel_timers
from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.task import (
    EXIT_DEAD,
    EXIT_ZOMBIE,
    PF_EXITING,
    PF_FORKNOEXEC,
    PF_KTHREAD,
    TASK_DEAD,
    CloneArgs,
    SigAction,
    SignalStruct,
    Task,
    WaitQueue,
    WaitRequest,
)

# -- fork ---------------------------------------------------------------------------------------------------------


@kernel_function(
    "pid_t kernel_clone(struct kernel_clone_args *args)",
    source="kernel/fork.c",
    since="5.3",
    names={"5.3": "_do_fork", "5.10": "kernel_clone"},
)
def kernel_clone(k: KernelFace, args: int) -> Body:
    """The parent's pid of the new task.  EAGAIN, EINVAL, ENOMEM."""
    return (yield from _clone(k, args))


@kernel_function(
    "long kernel_clone(unsigned long clone_flags, unsigned long stack_start, unsigned long stack_size, "
    "int *parent_tidptr, int *child_tidptr, unsigned long tls)",
    source="kernel/fork.c",
    since="4.2",
    until="5.3",
    names={None: "_do_fork"},
)
def _do_fork(k: KernelFace, flags: int, stack: int, size: int, parent_tid: int, child_tid: int, tls: int) -> Body:
    """The form with six arguments.  EAGAIN, EINVAL, ENOMEM."""
    return (yield from _clone(k, 0))


@kernel_function(
    "long kernel_clone(unsigned long clone_flags, unsigned long stack_start, unsigned long stack_size, "
    "int *parent_tidptr, int *child_tidptr)",
    source="kernel/fork.c",
    until="4.2",
    names={None: "do_fork"},
)
def do_fork(k: KernelFace, flags: int, stack: int, size: int, parent_tid: int, child_tid: int) -> Body:
    """The oldest form.  EAGAIN, EINVAL, ENOMEM."""
    return (yield from _clone(k, 0))


def current_clone(k: KernelFace) -> CloneArgs:
    """Arguments of the clone that the current task is making."""
    args = k.current.clone_args
    assert args is not None
    return args


def _clone(k: KernelFace, args_addr: int) -> Body:
    args = current_clone(k)
    address = k.regs.check((yield k.call("copy_process", 0, 0, 0, args_addr)))
    child = k.tasks.at(address)
    k.trace("sched_process_fork", k.current.addr, child.addr)
    if args.flags & CLONE_PARENT_SETTID:
        with contextlib.suppress(KernelError):
            k.usercopy.put_user(args.parent_tid, 4, child.pid)
    if args.flags & CLONE_VFORK:
        child.vfork_done = WaitQueue("vfork_done")
    yield k.call("wake_up_new_task", child.addr)
    if args.flags & CLONE_VFORK:
        while not child.vfork_released:
            if (yield k.wait(child.vfork_done, killable=True, interruptible=False)) == -ERESTARTSYS:
                break
    return child.pid


@kernel_function(
    "struct task_struct *copy_process(struct pid *pid, int trace, int node, struct kernel_clone_args *args)",
    source="kernel/fork.c",
)
def copy_process(k: KernelFace, pid: int, trace: int, node: int, args_addr: int) -> Body:
    """A new task that is not yet running, as an address.  EINVAL for impossible flags, EAGAIN over RLIMIT_NPROC."""
    args = current_clone(k)
    flags = args.flags
    if flags & CLONE_THREAD and not flags & CLONE_SIGHAND:
        raise KernelError(EINVAL)
    if flags & CLONE_SIGHAND and not flags & CLONE_VM:
        raise KernelError(EINVAL)
    if flags & 0x7E020000 & ~0x02000000 or flags & CLONE_PIDFD:  # namespaces and pidfd
        raise KernelError(EINVAL)
    if len(k.tasks.by_pid) >= k.tasks.max_threads:
        raise KernelError(EAGAIN)
    address = k.regs.check((yield k.call("dup_task_struct", k.current.addr, node)))
    child = k.tasks.at(address)
    yield k.call("copy_creds", child.addr, flags)
    yield k.call("copy_files", flags, child.addr)
    yield k.call("copy_fs", flags, child.addr)
    yield k.call("copy_sighand", flags, child.addr)
    yield k.call("copy_signal", flags, child.addr)
    yield k.call("copy_mm", flags, child.addr)
    yield k.call("copy_thread", child.addr, args_addr)
    yield k.call("alloc_pid", 0)
    _link(k, child, args)
    return child.addr


def _link(k: KernelFace, child: Task, args: CloneArgs) -> None:
    """The last part of copy_process(): pid, group, parent."""
    parent = k.current
    flags = args.flags
    child.set_child_tid = args.child_tid if flags & CLONE_CHILD_SETTID else 0
    if not flags & CLONE_VM:
        child.rseq, child.rseq_sig, child.rseq_cpu = parent.rseq, parent.rseq_sig, -1
        child.work = child.work or bool(child.rseq)
    child.clear_child_tid = args.child_tid if flags & CLONE_CHILD_CLEARTID else 0
    if flags & CLONE_THREAD:
        child.tgid = parent.tgid
        child.group_leader = parent.group_leader
        child.exit_signal = -1
        child.parent = child.real_parent = parent.real_parent
    else:
        child.tgid = child.pid
        child.exit_signal = args.exit_signal
        child.parent = child.real_parent = parent.real_parent if flags & CLONE_PARENT else parent.group_leader
        child.parent.children.append(child)
    child.signal.threads.append(child)
    k.tasks.publish(child)


@kernel_function("struct task_struct *dup_task_struct(struct task_struct *orig, int node)", source="kernel/fork.c")
def dup_task_struct(k: KernelFace, orig: int, node: int) -> int:
    """A copy of the parent's task_struct with its own kernel stack.  ENOMEM."""
    parent = k.current
    child = k.threads.new(k.tasks.next_pid(), parent.comm)
    child.flags = (parent.flags | PF_FORKNOEXEC) & ~PF_KTHREAD
    child.blocked = parent.blocked
    child.cpu = parent.cpu
    child.affinity = parent.affinity
    child.static_prio = child.prio = child.normal_prio = parent.static_prio
    child.policy, child.rt_priority = parent.policy, parent.rt_priority
    child.no_new_privs = parent.no_new_privs
    child.personality = parent.personality
    child.vruntime = parent.vruntime
    if parent.driver is not None:
        child.driver = parent.driver.forked(child)
    return child.addr


@kernel_function("int copy_creds(struct task_struct *p, unsigned long clone_flags)", source="kernel/cred.c")
def copy_creds(k: KernelFace, p: int, flags: int) -> int:
    """The child's credentials; threads share the parent's."""
    child = k.tasks.at(p)
    child.cred = k.current.cred if flags & CLONE_THREAD else k.current.cred.copy()
    k.mirror.publish_cred(child)
    return 0


@kernel_function("int copy_sighand(unsigned long clone_flags, struct task_struct *tsk)", source="kernel/fork.c")
def copy_sighand(k: KernelFace, flags: int, tsk: int) -> int:
    """Signal handlers: shared or copied."""
    child, parent = k.tasks.at(tsk), k.current
    if flags & CLONE_SIGHAND and flags & CLONE_THREAD:
        return 0
    if flags & CLONE_SIGHAND:
        child.signal.actions = parent.signal.actions
    else:
        child.signal.actions = [SigAction(a.handler, a.flags, a.mask, a.restorer) for a in parent.signal.actions]
    return 0


@kernel_function("int copy_signal(unsigned long clone_flags, struct task_struct *tsk)", source="kernel/fork.c")
def copy_signal(k: KernelFace, flags: int, tsk: int) -> int:
    """The signal_struct: shared by threads, new (with inherited limits, group and session) otherwise."""
    child, parent = k.tasks.at(tsk), k.current
    if flags & CLONE_THREAD:
        child.signal = parent.signal
        child.sas_sp = child.sas_size = 0
        return 0
    signal: SignalStruct = child.signal
    signal.rlimits = dict(parent.signal.rlimits)
    signal.pgid, signal.session, signal.tty = parent.pgid, parent.session, parent.tty
    if not flags & CLONE_VM:
        child.sas_sp, child.sas_size, child.sas_flags = parent.sas_sp, parent.sas_size, parent.sas_flags
    return 0


@kernel_function("int copy_mm(unsigned long clone_flags, struct task_struct *tsk)", source="kernel/fork.c")
def copy_mm(k: KernelFace, flags: int, tsk: int) -> int:
    """The address space: shared with CLONE_VM, else a copy whose pages are copied on write.  ENOMEM."""
    child, parent = k.tasks.at(tsk), k.current
    if parent.mm is None:
        return 0
    if flags & CLONE_VM:
        parent.mm.users += 1
        k.mm.assign(child, parent.mm)
    else:
        k.mm.assign(child, k.mm.dup(parent.mm))
    return 0


@kernel_function(
    "int copy_thread(struct task_struct *p, const struct kernel_clone_args *args)",
    source="arch/*/kernel/process.c",
)
def copy_thread(k: KernelFace, p: int, args_addr: int) -> int:
    """The child's registers: the parent's, with result 0, its stack and thread pointer."""
    args = current_clone(k)
    child = k.tasks.at(p)
    stack = args.stack + args.stack_size if args.stack else 0
    k.threads.copy_user_context(child, stack, args.tls if args.flags & CLONE_SETTLS else None)
    return 0


@kernel_function("struct pid *alloc_pid(struct pid_namespace *ns)", source="kernel/pid.c")
def alloc_pid(k: KernelFace, ns: int) -> int:
    """The number was taken with the task_struct."""
    return 0


def _start_clone(k: KernelFace, args: CloneArgs) -> Any:
    """The call of kernel_clone with the arguments of this version."""
    k.current.clone_args = args
    if k.version.at_least("5.3"):
        return k.call("kernel_clone", k.mirror.write_clone_args(k.current, args))
    plain = (args.flags | args.exit_signal, args.stack, args.stack_size, args.parent_tid, args.child_tid)
    return k.call("kernel_clone", *plain, *((args.tls,) if k.version.at_least("4.2") else ()))


@syscall("fork", "", source="kernel/fork.c")
def sys_fork(k: KernelFace) -> Body:
    """The child's pid."""
    return (yield _start_clone(k, CloneArgs(0)))


@syscall("vfork", "", source="kernel/fork.c")
def sys_vfork(k: KernelFace) -> Body:
    """As fork; the parent waits until the child execs or exits."""
    return (yield _start_clone(k, CloneArgs(CLONE_VFORK | CLONE_VM)))


@syscall(
    "clone",
    "unsigned long clone_flags, unsigned long newsp, int *parent_tidptr, int *child_tidptr, unsigned long tls",
    source="kernel/fork.c",
)
def sys_clone(k: KernelFace, a: int, b: int, c: int, d: int, e: int) -> Body:
    """The order of arguments is the architecture's (CONFIG_CLONE_BACKWARDS...): arch says which is which."""
    flags, stack, parent_tid, child_tid, tls = k.regs.clone_arguments(a, b, c, d, e)
    args = CloneArgs(flags & ~CSIGNAL, flags & CSIGNAL, stack)
    args.parent_tid, args.child_tid, args.tls = parent_tid, child_tid, tls
    return (yield _start_clone(k, args))


@syscall("clone3", "struct clone_args *uargs, size_t size", source="kernel/fork.c", since="5.3")
def sys_clone3(k: KernelFace, uargs: int, size: int) -> Body:
    """The extensible form.  E2BIG, EINVAL, EFAULT."""
    if size < 64 or size > 4096:
        raise KernelError(EINVAL if size < 64 else 7)
    raw = k.usercopy.copy_from_user(uargs, size)
    word = [int.from_bytes(raw[i : i + 8], k.mem.byteorder) for i in range(0, 64, 8)]
    flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls = word
    if flags & CSIGNAL or exit_signal & ~CSIGNAL or bool(stack) != bool(stack_size):
        raise KernelError(EINVAL)
    args = CloneArgs(flags, exit_signal, stack)
    args.stack_size, args.parent_tid, args.child_tid, args.tls = stack_size, parent_tid, child_tid, tls
    args.pidfd = pidfd
    return (yield _start_clone(k, args))


@syscall("set_tid_address", "int *tidptr", source="kernel/fork.c")
def sys_set_tid_address(k: KernelFace, tidptr: int) -> int:
    """Where to store 0 and wake a futex at exit; returns the thread id."""
    k.current.clear_child_tid = tidptr
    return k.current.pid


# -- exit ---------------------------------------------------------------------------------------------------------


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
    else:
        signal.group_exiting = True
        signal.group_exit_code = exit_code
        k.signals.kill_other_threads(k.current)
    yield k.call("do_exit", exit_code)
    return 0


@kernel_function("void do_exit(long code)", source="kernel/exit.c")
def do_exit(k: KernelFace, code: int) -> Body:
    """The end of a task; never returns."""
    task = k.current
    task.flags |= PF_EXITING
    task.exit_code = code
    k.mirror.set_field(task.addr, "task_struct", "flags", task.flags)
    k.mirror.set_field(task.addr, "task_struct", "exit_code", code)
    last = all(t.flags & PF_EXITING for t in task.signal.threads)
    if last:
        cancel_timers(k, task)
    yield from exit_robust_list(k, task)
    yield k.call("exit_mm")
    k.trace("sched_process_exit", task.addr)
    yield k.call("exit_files", task.addr)
    yield k.call("exit_fs", task.addr)
    yield k.call("exit_notify", task.addr, 1 if last else 0)
    task.state = TASK_DEAD
    k.mirror.store_state(task)
    while True:
        yield k.call("__schedule", 0)


@kernel_function("void exit_mm(void)", source="kernel/exit.c")
def exit_mm(k: KernelFace) -> Body:
    """Give up the address space; tell who waits for clear_child_tid or vfork."""
    task = k.current
    mm = task.mm
    yield k.call("mm_release", task.addr, mm.addr if mm is not None else 0)
    if mm is not None:
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


@kernel_function("void exit_notify(struct task_struct *tsk, int group_dead)", source="kernel/exit.c")
def exit_notify(k: KernelFace, tsk: int, group_dead: int) -> Body:
    """Hand the children to init, become a zombie, tell the parent."""
    task = k.tasks.at(tsk)
    _forget_children(k, task)
    task.exit_state = EXIT_ZOMBIE
    k.mirror.set_field(task.addr, "task_struct", "exit_state", task.exit_state)
    signal = task.signal
    if task is not task.group_leader:
        yield k.call("release_task", task.addr)
        leader = task.group_leader
        if not (leader.exit_state == EXIT_ZOMBIE and len(signal.threads) == 1):
            k.wake_up(signal.wait_chldexit)
            return 0
        task = leader
    elif len(signal.threads) > 1:
        return 0  # a leader waits as a zombie for its threads
    if signal.group_exiting:
        task.exit_code = signal.group_exit_code
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
            task.children = []
        return
    for member in task.signal.threads:
        for child in member.children:
            reaper = k.tasks.reaper_of(member)
            child.parent = child.real_parent = reaper
            reaper.children.append(child)
            k.mirror.set_field(child.addr, "task_struct", "real_parent", reaper.addr)
            k.mirror.set_field(child.addr, "task_struct", "parent", reaper.addr)
            if child.pdeath_signal:
                k.signals.send(child, child.pdeath_signal)
            if child.exit_state == EXIT_ZOMBIE and child is child.group_leader and len(child.signal.threads) == 1:
                k.wake_up(reaper.signal.wait_chldexit)
        member.children = []
    k.signals.orphaned_groups(task)


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
    if sig > 0:
        code, status = decode_exit(task.exit_code)
        k.signals.send(
            parent, sig, code, pid=task.pid, uid=task.cred.uid, status=status,
            utime=task.utime_ns // 10_000_000, stime=task.stime_ns // 10_000_000,
        )  # fmt: skip
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


@kernel_function("void release_task(struct task_struct *p)", source="kernel/exit.c")
def release_task(k: KernelFace, p: int) -> int:
    """The task is gone: unlink it; its memory goes when it has left the CPU."""
    task = k.tasks.at(p)
    signal = task.signal
    k.trace("sched_process_free", task.addr)
    task.exit_state = EXIT_DEAD
    if task in task.parent.children:
        task.parent.children.remove(task)
    signal.threads.remove(task)
    if task is not task.group_leader:
        signal.utime_ns += task.utime_ns
        signal.stime_ns += task.stime_ns
    k.tasks.forget(task)
    k.threads.bury(task)
    return 0


# -- wait ---------------------------------------------------------------------------------------------------------


def _eligible(request: WaitRequest, child: Task) -> bool:
    if request.which == "pid" and child.pid != request.upid:
        return False
    if request.which == "pgid" and child.pgid != request.upid:
        return False
    cloned = child.exit_signal != SIGCHLD
    return bool(request.options & WALL) or cloned == bool(request.options & WCLONE)


@kernel_function("long do_wait(struct wait_opts *wo)", source="kernel/exit.c")
def do_wait(k: KernelFace, wo: int) -> Body:
    """Find a child that has something to report; its pid, 0 with WNOHANG, or ECHILD, -ERESTARTSYS."""
    request = k.current.wait_request
    assert request is not None
    k.trace("sched_process_wait", k.tasks.pid_struct(request.upid) if request.which != "all" else 0)
    while True:
        found = False
        for parent in list(k.current.signal.threads):
            if request.options & WNOTHREAD and parent is not k.current:
                continue
            for child in list(parent.children):
                if not _eligible(request, child):
                    continue
                found = True
                if (yield from _consider(k, request, child)):
                    return request.pid
        if not found:
            raise KernelError(ECHILD)
        if request.options & WNOHANG:
            return 0
        if (yield k.wait(k.current.signal.wait_chldexit)) == -ERESTARTSYS:
            raise KernelError(ERESTARTSYS)


def _consider(k: KernelFace, request: WaitRequest, child: Task) -> Generator[Any, Any, bool]:
    """wait_consider_task(): take the child's report if there is one."""
    signal = child.signal
    if child.exit_state == EXIT_ZOMBIE:
        if len(signal.threads) > 1 or not request.options & WEXITED:
            return False
        request.pid, request.status, request.uid = child.pid, child.exit_code, child.cred.uid
        utime, stime = child.utime_ns + signal.utime_ns, child.stime_ns + signal.stime_ns
        request.usage = (utime + signal.cutime_ns, stime + signal.cstime_ns, max(signal.maxrss, signal.cmaxrss))
        if not request.options & WNOWAIT:
            mine = k.current.signal
            mine.cutime_ns += request.usage[0]
            mine.cstime_ns += request.usage[1]
            mine.cmaxrss = max(mine.cmaxrss, request.usage[2])
            yield k.call("release_task", child.addr)
        return True
    if signal.stopped and not signal.stop_reported and request.options & WSTOPPED:
        request.pid, request.uid = child.pid, child.cred.uid
        request.status = signal.stop_code << 8 | 0x7F
        signal.stop_reported = signal.stop_reported or not request.options & WNOWAIT
        return True
    if signal.continued and request.options & WCONTINUED:
        request.pid, request.uid, request.status = child.pid, child.cred.uid, 0xFFFF
        signal.continued = bool(request.options & WNOWAIT)
        return True
    return False


@syscall("wait4", "pid_t upid, int *stat_addr, int options, struct rusage *ru", source="kernel/exit.c")
def sys_wait4(k: KernelFace, upid: int, stat_addr: int, options: int, ru: int) -> Body:
    """The pid of a child that ended or stopped.  ECHILD, EINVAL, EFAULT, EINTR."""
    if options & ~(WNOHANG | WUNTRACED | WCONTINUED | WNOTHREAD | WCLONE | WALL):
        raise KernelError(EINVAL)
    if upid == -(1 << 31):
        raise KernelError(ESRCH)
    which = ("all", 0) if upid == -1 else ("pgid", -upid) if upid < 0 else ("pgid", k.current.pgid)
    if upid > 0:
        which = ("pid", upid)
    request = WaitRequest(which[0], which[1], options | WEXITED)
    k.current.wait_request = request
    pid: int = yield k.call("do_wait", 0)
    if pid > 0:
        if stat_addr:
            k.usercopy.put_user(stat_addr, 4, request.status)
        if ru:
            k.usercopy.copy_to_user(ru, k.tasks.rusage(*request.usage))
    return pid


@syscall(
    "waitid",
    "int which, pid_t upid, struct siginfo *infop, int options, struct rusage *ru",
    source="kernel/exit.c",
)
def sys_waitid(k: KernelFace, which: int, upid: int, infop: int, options: int, ru: int) -> Body:
    """As wait4, with a siginfo.  ECHILD, EINVAL."""
    if options & ~(WNOHANG | WNOWAIT | WEXITED | WSTOPPED | WCONTINUED | WNOTHREAD | WCLONE | WALL):
        raise KernelError(EINVAL)
    if not options & (WEXITED | WSTOPPED | WCONTINUED) or which not in (0, 1, 2):
        raise KernelError(EINVAL)
    if which in (1, 2) and (upid <= 0 if which == 1 else upid < 0):
        raise KernelError(EINVAL)
    kind = ("all", "pid", "pgid")[which]
    request = WaitRequest(kind, upid or (k.current.pgid if which == 2 else 0), options)
    k.current.wait_request = request
    pid: int = yield k.call("do_wait", 0)
    if pid < 0:
        return pid
    if infop:
        code, status = (0, 0)
        if pid:
            code, status = decode_exit(request.status)
            if request.status & 0xFF == 0x7F:
                code, status = CLD_STOPPED, request.status >> 8
            elif request.status == 0xFFFF:
                code, status = CLD_CONTINUED, 18
        k.usercopy.copy_to_user(infop, k.signals.siginfo_child(SIGCHLD if pid else 0, code, pid, request.uid, status))
    if ru and pid:
        k.usercopy.copy_to_user(ru, k.tasks.rusage(*request.usage))
    return 0


# -- groups and sessions ------------------------------------------------------------------------------------------


@syscall("getpid", "", source="kernel/sys.c")
def sys_getpid(k: KernelFace) -> int:
    """Process id."""
    return k.current.tgid


@syscall("gettid", "", source="kernel/sys.c")
def sys_gettid(k: KernelFace) -> int:
    """Thread id."""
    return k.current.pid


@syscall("getppid", "", source="kernel/sys.c")
def sys_getppid(k: KernelFace) -> int:
    """The parent's process id."""
    return k.current.real_parent.tgid


def _process(k: KernelFace, pid: int) -> Task:
    task = k.current.group_leader if pid == 0 else k.tasks.find(pid)
    if task is None:
        raise KernelError(ESRCH)
    return task


@syscall("getpgid", "pid_t pid", source="kernel/sys.c")
def sys_getpgid(k: KernelFace, pid: int) -> int:
    """Process group of a process.  ESRCH."""
    return _process(k, pid).pgid


@syscall("getpgrp", "", source="kernel/sys.c")
def sys_getpgrp(k: KernelFace) -> int:
    """Own process group."""
    return k.current.pgid


@syscall("getsid", "pid_t pid", source="kernel/sys.c")
def sys_getsid(k: KernelFace, pid: int) -> int:
    """Session of a process.  ESRCH."""
    return _process(k, pid).session


@syscall("setpgid", "pid_t pid, pid_t pgid", source="kernel/sys.c")
def sys_setpgid(k: KernelFace, pid: int, pgid: int) -> int:
    """Move a process to a group.  EINVAL, EPERM, ESRCH, EACCES."""
    me = k.current.group_leader
    task = _process(k, pid)
    pgid = pgid or task.pid
    if pgid < 0:
        raise KernelError(EINVAL)
    if task is not task.group_leader:
        raise KernelError(EINVAL)
    if task.real_parent.tgid == me.tgid:
        if task.session != me.session:
            raise KernelError(EPERM)
        if not task.flags & PF_FORKNOEXEC:
            raise KernelError(13)
    elif task is not me:
        raise KernelError(ESRCH)
    if task.session == task.pid:
        raise KernelError(EPERM)
    if pgid != task.pid and not any(t.pgid == pgid and t.session == me.session for t in k.tasks.by_pid.values()):
        raise KernelError(EPERM)
    task.signal.pgid = pgid
    return 0


@syscall("setsid", "", source="kernel/sys.c")
def sys_setsid(k: KernelFace) -> int:
    """A new session and group.  EPERM for a group leader."""
    leader = k.current.group_leader
    if any(t.pgid == leader.pid for t in k.tasks.by_pid.values()):
        raise KernelError(EPERM)
    leader.signal.session = leader.signal.pgid = leader.pid
    leader.signal.tty = None
    return leader.pid


FLAGS_FOR_THREAD = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD
__all__ = ["EFAULT", "FLAGS_FOR_THREAD", "SIGKILL", "CloneArgs", "WaitRequest", "decode_exit"]
