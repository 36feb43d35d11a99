"""Making processes and threads: fork, vfork, clone, clone3.  kernel/fork.c."""

from __future__ import annotations

import contextlib

from arch.abi.capability import CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN, CAP_SYS_RESOURCE
from arch.abi.errno import E2BIG, EAGAIN, EEXIST, EINVAL, EPERM, ERESTARTSYS
from arch.abi.internal import GFP_KERNEL, GFP_ZERO
from arch.abi.limits import U32_MAX
from arch.abi.ptrace import PTRACE_EVENT_VFORK_DONE
from arch.abi.resource import RLIMIT_NPROC
from arch.abi.sched import (
    CLONE3_FLAGS,
    CLONE_CHILD_CLEARTID,
    CLONE_CHILD_SETTID,
    CLONE_CLEAR_SIGHAND,
    CLONE_DETACHED,
    CLONE_FILES,
    CLONE_FS,
    CLONE_INTO_CGROUP,
    CLONE_IO,
    CLONE_NEWPID,
    CLONE_PARENT,
    CLONE_PARENT_SETTID,
    CLONE_PIDFD,
    CLONE_SETTLS,
    CLONE_SIGHAND,
    CLONE_THREAD,
    CLONE_VFORK,
    CLONE_VM,
    CSIGNAL,
    SCHED_DEADLINE,
    SCHED_FIFO,
    SCHED_NORMAL,
    SCHED_RR,
)
from arch.abi.signal import NSIG
from arch.errors import KernelError
from simkernel.kernel.calls.limits import watch_rt_time
from simkernel.kernel.commit import enough_for_copy
from simkernel.kernel.face import Body, Call, KernelFace, Steps
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.pid_namespace import PID_MAX, PidNamespace
from simkernel.kernel.ptrace.stops import clone_event, init_task, report_event
from simkernel.kernel.seccomp import WORK_SECCOMP
from simkernel.kernel.security import prepare_creds
from simkernel.kernel.sigpending import after_exec
from simkernel.kernel.task import (
    EXIT_DEAD,
    PF_FORKNOEXEC,
    PF_KTHREAD,
    PF_NOFREEZE,
    PF_SUPERPRIV,
    TASK_DEAD,
    CloneArgs,
    SignalStruct,
    Task,
    WaitQueue,
)
from simkernel.kernel.user_namespace import ns_capable
from simkernel.kernel.watching import wait_for

CLONE_ARGS_SIZE, MAX_PID_NS_LEVEL = 88, 32


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
    event = clone_event(k, args)
    address = k.regs.check((yield k.call("copy_process", 0, event, 0, args_addr)))
    child = k.tasks.at(address)
    k.trace("sched_process_fork", k.current.addr, child.addr)
    if args.flags & CLONE_PARENT_SETTID:
        with contextlib.suppress(KernelError):
            k.usercopy.put_user(args.parent_tid, 4, k.tasks.vnr(child.pid))
    number = k.tasks.vnr(child.pid)
    if args.flags & CLONE_VFORK:
        child.vfork_done = WaitQueue("vfork_done")
    yield k.call("wake_up_new_task", child.addr)
    if event:
        yield from report_event(k, event, child.pid)
    if args.flags & CLONE_VFORK:
        while not child.vfork_released:
            k.current.frozen = True  # cgroup_enter_frozen()
            done = yield k.wait(child.vfork_done, killable=True, interruptible=False)
            k.current.frozen = False
            if done == -ERESTARTSYS:
                break
        yield from report_event(k, PTRACE_EVENT_VFORK_DONE, child.pid)
    return number


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
    if flags & CLONE_PIDFD and flags & (CLONE_DETACHED | CLONE_THREAD):
        raise KernelError(EINVAL)
    if args.set_tid:
        _check_set_tid(k, args)
    limit, uid = k.current.rlimits[RLIMIT_NPROC][0], k.current.cred.uid
    if uid and limit >= 0 and not k.capable(CAP_SYS_RESOURCE) and not k.capable(CAP_SYS_ADMIN):
        if sum(t.cred.uid == uid for t in k.tasks.by_pid.values()) >= limit:
            raise KernelError(EAGAIN)
    if len(k.tasks.by_pid) >= k.tasks.max_threads:
        raise KernelError(EAGAIN)
    address = k.regs.check((yield k.call("dup_task_struct", k.current.addr, node)))
    child = k.tasks.at(address)
    parts: tuple[tuple[str, int, int], ...] = (
        ("copy_creds", child.addr, flags),
        ("sched_fork", flags, child.addr),
        *((("security_task_alloc", child.addr, flags),) if k.version.at_least("4.14") else ()),
        *(
            (name, flags, child.addr)
            for name in ("copy_files", "copy_fs", "copy_sighand", "copy_signal", "copy_mm", "copy_namespaces")
        ),
        ("copy_thread", child.addr, args_addr),
    )
    for name, *part in parts:
        refused = yield k.call(name, *part)
        if refused:
            yield from _undo(k, child)
            return refused
    yield k.call("alloc_pid", 0)
    if flags & CLONE_PIDFD:
        try:
            pidfd = k.pidfds.open(k, child, 0, args.pidfd)
        except KernelError:
            yield from _undo(k, child)
            raise
    for asked in k.tasks.may_fork:
        refused = asked(child, args)
        if refused:
            if flags & CLONE_PIDFD:
                k.pidfds.close(k, pidfd)
            yield from _undo(k, child)
            return refused
    if flags & CLONE_CLEAR_SIGHAND:
        child.signal.actions = [after_exec(action) for action in child.signal.actions]
    child.ioprio = k.current.ioprio
    child.iopl = k.current.iopl
    child.trap_nr, child.trap_error, child.trap_address = (
        k.current.trap_nr, k.current.trap_error, k.current.trap_address,
    )  # fmt: skip
    child.io_context = k.current.io_context if flags & CLONE_IO else None
    _link(k, child, args)
    init_task(k, child, flags, trace)
    k.hrtimers.of_new_task(child, not flags & CLONE_THREAD)
    if k.objects.watched:
        _tell_of_objects(k, child, flags)
    k.trace("task_newtask", child.addr, flags)
    return child.addr


def _tell_of_objects(k: KernelFace, child: Task, flags: int) -> None:
    """What was made for a new task, beside its address space."""
    made = k.objects.made
    made("task_struct", child.addr, "copy_process")
    if not flags & CLONE_THREAD:
        made("cred_jar", k.mirror.get_field(child.addr, "task_struct", "cred"), "prepare_creds")
    if not flags & CLONE_FILES:
        made("files_cache", k.mirror.get_field(child.addr, "task_struct", "files"), "dup_fd")
    if not flags & CLONE_FS:
        made("anon_vma_chain", k.mirror.get_field(child.addr, "task_struct", "fs"), "copy_fs_struct")
    if not flags & CLONE_SIGHAND:
        made("sighand_cache", child.signal.sighand_addr, "copy_process")
    if not flags & CLONE_THREAD:
        made("signal_cache", child.signal.addr, "copy_process", GFP_KERNEL | GFP_ZERO)
    made("pid", child.pid_addr, "alloc_pid")


def _undo(k: KernelFace, child: Task) -> Steps[None]:
    """bad_fork_cleanup: what was copied goes again."""
    yield k.call("exit_files", child.addr)
    yield k.call("exit_fs", child.addr)
    if child.mm is not None:
        k.mm.forget_copy(child)
    child.state, child.exit_state = TASK_DEAD, EXIT_DEAD
    k.threads.bury(child)


def _space_level(k: KernelFace, flags: int) -> int:
    """How deep below the initial one the new task's pid namespace is."""
    found = k.current.namespaces.get("pid")
    level = found.state.level if found is not None and isinstance(found.state, PidNamespace) else 0
    return level + bool(flags & CLONE_NEWPID)


def _check_set_tid(k: KernelFace, args: CloneArgs) -> None:
    """clone3's set_tid: numbers of one's own choice, from the innermost namespace outwards.  EPERM, EINVAL, EEXIST."""
    level = _space_level(k, args.flags)
    if len(args.set_tid) > level + 1:
        raise KernelError(EINVAL)
    found = k.current.namespaces.get("pid")
    space = found.state if found is not None and isinstance(found.state, PidNamespace) else None
    wanted = list(args.set_tid)
    if args.flags & CLONE_NEWPID:  # the namespace is yet to be made: its first task is init
        if wanted.pop(0) != 1:
            raise KernelError(EINVAL)
    for tid in wanted:
        owner = space.holder.owner if space is not None and space.holder is not None else None
        reaper = space is None or space.reaper
        if not 0 < tid < PID_MAX or (tid != 1 and not reaper):
            raise KernelError(EINVAL)
        if not ns_capable(k.current, owner, CAP_CHECKPOINT_RESTORE) and not ns_capable(k.current, owner, CAP_SYS_ADMIN):
            raise KernelError(EPERM)
        if tid in (k.tasks.by_pid if space is None else space.real):
            raise KernelError(EEXIST)
        space = space.parent if space is not None else None


def _link(k: KernelFace, child: Task, args: CloneArgs) -> None:
    """The last part of copy_process(): pid, group, parent."""
    parent = k.current
    flags = args.flags
    child.parent_exec_id = child.self_exec_id = parent.self_exec_id
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


@kernel_function(
    "struct task_struct *dup_task_struct(struct task_struct *orig, int node)", source="kernel/fork.c", inlined=True
)
def dup_task_struct(k: KernelFace, orig: int, node: int) -> int:
    """A copy of the parent's task_struct with its own kernel stack.  ENOMEM."""
    parent = k.current
    args = current_clone(k)
    level = _space_level(k, args.flags)
    number = args.set_tid[level] if len(args.set_tid) > level else k.tasks.next_pid()
    child = k.threads.new(number, parent.comm)
    k.mirror.store_comm(child)
    child.flags = (parent.flags | PF_FORKNOEXEC) & ~(PF_KTHREAD | PF_NOFREEZE | PF_SUPERPRIV)
    child.blocked = parent.blocked
    child.cpu = parent.cpu
    child.affinity, child.mempolicy = parent.affinity, parent.mempolicy
    child.no_new_privs = parent.no_new_privs
    child.seccomp_mode, child.seccomp_filter = parent.seccomp_mode, parent.seccomp_filter
    child.seccomp_filters = parent.seccomp_filters
    child.syscall_work = parent.syscall_work & WORK_SECCOMP
    child.personality, child.onexec = parent.personality, parent.onexec
    child.timer_slack_ns = child.default_timer_slack_ns = parent.timer_slack_ns
    child.tsc_mode, child.mce_kill = parent.tsc_mode, parent.mce_kill
    child.loginuid, child.sessionid = parent.loginuid, parent.sessionid
    if parent.driver is not None:
        child.driver = parent.driver.forked(child)
    return child.addr


@kernel_function("int sched_fork(unsigned long clone_flags, struct task_struct *p)", source="kernel/sched/core.c")
def sched_fork(k: KernelFace, flags: int, p: int) -> int:
    """What the child's scheduling begins with: the parent's policy, priority and virtual runtime."""
    parent, child = k.current, k.tasks.at(p)
    child.static_prio = child.prio = child.normal_prio = parent.static_prio
    child.policy, child.rt_priority = parent.policy, parent.rt_priority
    if parent.sched_reset_on_fork:
        if child.policy in (SCHED_FIFO, SCHED_RR, SCHED_DEADLINE):
            child.policy, child.rt_priority, child.static_prio = SCHED_NORMAL, 0, 120
        child.static_prio = child.prio = child.normal_prio = max(child.static_prio, 120)
    elif child.policy == SCHED_DEADLINE:
        raise KernelError(EAGAIN, "a deadline task may not fork")
    elif child.rt_priority:
        child.prio = child.normal_prio = 99 - child.rt_priority
    child.vruntime = parent.vruntime
    watch_rt_time(k, child)
    return 0


@kernel_function("int copy_creds(struct task_struct *p, unsigned long clone_flags)", source="kernel/cred.c")
def copy_creds(k: KernelFace, p: int, flags: int) -> int:
    """The child's credentials; threads share the parent's."""
    child = k.tasks.at(p)
    if not flags & CLONE_THREAD:
        prepare_creds(k)
    child.cred = k.current.cred if flags & CLONE_THREAD else k.current.cred.copy()
    child.process_keyring = k.current.process_keyring if flags & CLONE_THREAD else None
    k.mirror.publish_cred(child)
    return 0


@kernel_function(
    "int copy_sighand(unsigned long clone_flags, struct task_struct *tsk)", source="kernel/fork.c", inlined=True
)
def copy_sighand(k: KernelFace, flags: int, tsk: int) -> int:
    """Signal handlers: shared or copied."""
    child, parent = k.tasks.at(tsk), k.current
    if flags & CLONE_SIGHAND and flags & CLONE_THREAD:
        return 0
    if flags & CLONE_SIGHAND:
        child.signal.actions = parent.signal.actions
    else:
        child.signal.actions = list(parent.signal.actions)
    return 0


@kernel_function(
    "int copy_signal(unsigned long clone_flags, struct task_struct *tsk)", source="kernel/fork.c", inlined=True
)
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
    signal.autogroup = parent.signal.autogroup
    if not flags & CLONE_VM:
        child.sas_sp, child.sas_size, child.sas_flags = parent.sas_sp, parent.sas_size, parent.sas_flags
    return 0


@kernel_function(
    "int copy_mm(unsigned long clone_flags, struct task_struct *tsk)", source="kernel/fork.c", inlined=True
)
def copy_mm(k: KernelFace, flags: int, tsk: int) -> Body:
    """The address space: shared with CLONE_VM, else a copy whose pages are copied on write.  ENOMEM."""
    child, parent = k.tasks.at(tsk), k.current
    if parent.mm is None:
        return 0
    if flags & CLONE_VM:
        parent.mm.users += 1
        k.mm.assign(child, parent.mm)
        k.mirror.store_mm_users(parent.mm)
    else:
        enough_for_copy(k, parent.mm)
        mm = k.mm.dup(parent.mm)
        yield from wait_for(parent.mm.told)
        k.mm.assign(child, mm)
        k.mirror.store_mm(mm)
        k.mirror.store_mm_owner(child)
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


def _start_clone(k: KernelFace, args: CloneArgs) -> Call:
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
    flags &= U32_MAX  # newer ones are clone3's
    args = CloneArgs(flags & ~CSIGNAL, flags & CSIGNAL, stack)
    if flags & CLONE_PIDFD and flags & CLONE_PARENT_SETTID:  # one place for two answers
        raise KernelError(EINVAL)
    args.pidfd = parent_tid
    args.parent_tid, args.child_tid, args.tls = parent_tid, child_tid, tls
    return (yield _start_clone(k, args))


@syscall("clone3", "struct clone_args *uargs, size_t size", source="kernel/fork.c", since="5.3")
def sys_clone3(k: KernelFace, uargs: int, size: int) -> Body:
    """The extensible form.  E2BIG, EINVAL, EFAULT."""
    if size < 64 or size > 4096:
        raise KernelError(EINVAL if size < 64 else E2BIG)
    raw = k.usercopy.copy_struct_from_user(uargs, size, CLONE_ARGS_SIZE)
    word = [int.from_bytes(raw[i : i + 8], k.mem.byteorder) for i in range(0, CLONE_ARGS_SIZE, 8)]
    flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup = word
    if set_tid_size > MAX_PID_NS_LEVEL or bool(set_tid) != bool(set_tid_size):
        raise KernelError(EINVAL)
    if flags & ~CLONE3_FLAGS or (flags & CLONE_CLEAR_SIGHAND and flags & CLONE_SIGHAND):
        raise KernelError(EINVAL)
    if (flags & (CLONE_THREAD | CLONE_PARENT) and exit_signal) or exit_signal > NSIG:
        raise KernelError(EINVAL)
    if bool(stack) != bool(stack_size):
        raise KernelError(EINVAL)
    if flags & CLONE_PIDFD and flags & CLONE_PARENT_SETTID and pidfd == parent_tid:
        raise KernelError(EINVAL)
    args = CloneArgs(flags, exit_signal, stack)
    args.stack_size, args.parent_tid, args.child_tid, args.tls = stack_size, parent_tid, child_tid, tls
    args.pidfd, args.cgroup = pidfd, cgroup
    if flags & CLONE_INTO_CGROUP and (cgroup >> 31 or size < CLONE_ARGS_SIZE):
        raise KernelError(EINVAL)
    args.set_tid = [k.usercopy.get_user(set_tid + 4 * i, 4, signed=True) for i in range(set_tid_size)]
    if any(tid < 1 for tid in args.set_tid):
        raise KernelError(EINVAL)
    return (yield _start_clone(k, args))


@syscall("set_tid_address", "int *tidptr", source="kernel/fork.c")
def sys_set_tid_address(k: KernelFace, tidptr: int) -> int:
    """Where to store 0 and wake a futex at exit; returns the thread id."""
    k.current.clear_child_tid = tidptr
    return k.tasks.vnr(k.current.pid)
