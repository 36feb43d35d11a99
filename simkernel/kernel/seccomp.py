"""seccomp: which system calls a task may make.  kernel/seccomp.c.  The filters' language is seccomp_filter.py's."""

from __future__ import annotations

import struct

from arch.abi.capability import CAP_SYS_ADMIN
from arch.abi.errno import EACCES, EBUSY, EINVAL, ENOENT, ENOMEM, ENOSYS, EOPNOTSUPP, ESRCH, MAX_ERRNO
from arch.abi.limits import U32_MAX
from arch.abi.ptrace import PTRACE_EVENT_SECCOMP, PTRACE_O_SUSPEND_SECCOMP
from arch.abi.signal import SIGKILL, SIGSYS
from arch.errors import KernelError
from bpf.uapi import BPF_MAXINSNS
from simkernel.kernel.classic_bpf import Insn, check_classic, read_program
from simkernel.kernel.face import Body, KernelFace, Steps
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.ptrace.stops import event_enabled, report_event
from simkernel.kernel.seccomp_filter import DATA_SIZE, Filter, known_to_seccomp
from simkernel.kernel.sigpending import SigInfo
from simkernel.kernel.task import Task
from simkernel.kernel.user_namespace import ns_capable, user_ns

# include/uapi/linux/seccomp.h
SECCOMP_MODE_STRICT, SECCOMP_MODE_FILTER = 1, 2
SECCOMP_SET_MODE_STRICT, SECCOMP_SET_MODE_FILTER, SECCOMP_GET_ACTION_AVAIL, SECCOMP_GET_NOTIF_SIZES = range(4)
FLAG_TSYNC, FLAG_LOG, FLAG_SPEC_ALLOW, FLAG_NEW_LISTENER, FLAG_TSYNC_ESRCH, FLAG_WAIT_KILLABLE = (
    1 << n for n in range(6)
)
RET_KILL_PROCESS, RET_KILL_THREAD, RET_TRAP, RET_ERRNO = 0x80000000, 0, 0x00030000, 0x00050000
RET_USER_NOTIF, RET_TRACE, RET_LOG, RET_ALLOW = 0x7FC00000, 0x7FF00000, 0x7FFC0000, 0x7FFF0000
ACTIONS = (RET_KILL_PROCESS, RET_KILL_THREAD, RET_TRAP, RET_ERRNO, RET_USER_NOTIF, RET_TRACE, RET_LOG, RET_ALLOW)
NOTIF, NOTIF_RESP = 80, 24  # sizes of what a listener reads and writes
MAX_INSNS_PER_PATH = 32768
WORK_SECCOMP = 1  # SYSCALL_WORK_SECCOMP
SYS_SECCOMP = 1
STRICT_CALLS = ("read", "write", "exit", "rt_sigreturn", "sigreturn")


def _read_filter(k: KernelFace, address: int) -> list[Insn]:
    """struct sock_fprog and its instructions.  EFAULT, EINVAL."""
    word, order = k.arch.word, k.mem.byteorder
    count, where = k.usercopy.get_user(address, 2), k.usercopy.get_user(address + word, word)
    if not 0 < count <= BPF_MAXINSNS:
        raise KernelError(EINVAL)
    return read_program(bytes(k.usercopy.copy_from_user(where, 8 * count)), order)


def seccomp_data(k: KernelFace, regs: int, nr: int) -> bytes:
    """struct seccomp_data of the call that is being made."""
    order = "<" if k.mem.byteorder == "little" else ">"
    args = [k.regs.get(regs, field) for field in k.abi.args]
    ip = k.regs.get(regs, k.arch.instruction_pointer)
    return struct.pack(order + "iIQ6Q", nr, k.arch.calls.audit_arch, ip, *args)


def run_filters(k: KernelFace, task: Task, data: bytes) -> tuple[int, Filter | None]:
    """seccomp_run_filters(): the most severe of what all programs say, and whose word it is."""
    order = "<" if k.mem.byteorder == "little" else ">"
    worst, severity, match = RET_ALLOW, _severity(RET_ALLOW), None
    found = task.seccomp_filter
    while found is not None:
        value = found.run(data, order)
        if _severity(value) < severity:
            worst, severity, match = value, _severity(value), found
        found = found.prev
    return worst, match


def _severity(value: int) -> int:
    """The action as a signed number: the smaller, the more severe."""
    action = value & 0xFFFF0000
    return action - (1 << 32) if action >> 31 else action


@kernel_function("int __seccomp_filter(int this_syscall, const struct seccomp_data *sd, const bool recheck)",
                 source="kernel/seccomp.c")  # fmt: skip
def __seccomp_filter(k: KernelFace, nr: int, sd: int, recheck: int) -> Body:
    """0: the call is made; -1: it is not, and its result register says what it gives."""
    task, regs = k.current, k.current.regs
    sent = seccomp_data(k, regs, nr)
    value, match = run_filters(k, task, sent)
    action, data = value & 0xFFFF0000, value & 0xFFFF
    if action in (RET_ALLOW, RET_LOG):
        return 0
    if action == RET_ERRNO:
        k.regs.set(regs, k.abi.result, -min(data, MAX_ERRNO))
        return -1
    if action == RET_TRAP:
        k.regs.set(regs, k.abi.result, k.regs.get(regs, k.regs.orig_field))  # syscall_rollback()
        info = SigInfo(SIGSYS, SYS_SECCOMP)
        info.addr, info.errno, info.call = (
            k.regs.get(regs, k.arch.instruction_pointer),
            data,
            (nr, k.arch.calls.audit_arch),
        )
        k.signals.force_info(task, info)
        return -1
    if action == RET_TRACE:
        if recheck:
            return 0
        if not event_enabled(task, PTRACE_EVENT_SECCOMP):
            k.regs.set(regs, k.abi.result, -ENOSYS)
            return -1
        yield from report_event(k, PTRACE_EVENT_SECCOMP, data)
        if k.abi.number == k.regs.orig_field:  # where a tracer can put another
            number = k.regs.get(regs, k.regs.orig_field) & U32_MAX
            if number >> 31:
                return -1
            task.syscall_nr = number
        return (yield k.call("__seccomp_filter", task.syscall_nr, 0, 1))
    if action == RET_USER_NOTIF and k.version.at_least("5.0"):
        assert match is not None
        k.seccomp_listeners.ask(match, sent)
        return (yield k.call("seccomp_do_user_notification", nr, 0, sd))
    alone = action != RET_KILL_THREAD or len(task.signal.threads) == 1
    yield k.call("do_group_exit" if alone else "do_exit", SIGSYS)
    return -1


@kernel_function("int __secure_computing(const struct seccomp_data *sd)", source="kernel/seccomp.c", since="4.8")
def __secure_computing(k: KernelFace, sd: int) -> Body:
    """0: go on; -1: the call is not made."""
    task = k.current
    if task.seccomp_mode == SECCOMP_MODE_STRICT:
        if k.syscalls.names.get(task.syscall_nr) not in STRICT_CALLS:
            yield k.call("do_exit", SIGKILL)
        return 0
    return (yield k.call("__seccomp_filter", task.syscall_nr, 0, 0))


def secure_computing(k: KernelFace) -> Steps[bool]:
    """At every system call of a task that has a mode: may it be made?"""
    if k.current.ptracer is not None and k.current.ptrace_options & PTRACE_O_SUSPEND_SECCOMP:
        return True
    if k.version.at_least("4.8"):
        return (yield k.call("__secure_computing", 0)) == 0
    return (yield from __secure_computing(k, 0)) == 0


# -- setting -----------------------------------------------------------------------------------------------------------


def _enter(task: Task, mode: int) -> None:
    task.seccomp_mode = mode
    task.syscall_work |= WORK_SECCOMP


def _strict(k: KernelFace) -> int:
    if k.current.seccomp_mode not in (0, SECCOMP_MODE_STRICT):
        raise KernelError(EINVAL)
    _enter(k.current, SECCOMP_MODE_STRICT)
    return 0


def _filter(k: KernelFace, flags: int, address: int) -> int:
    """seccomp_set_mode_filter().  EINVAL, EACCES, EFAULT, ENOMEM, ESRCH."""
    task = k.current
    known = FLAG_TSYNC | FLAG_LOG | FLAG_SPEC_ALLOW | FLAG_NEW_LISTENER | FLAG_TSYNC_ESRCH | FLAG_WAIT_KILLABLE
    if flags & ~known or (flags & FLAG_TSYNC and flags & FLAG_NEW_LISTENER and not flags & FLAG_TSYNC_ESRCH):
        raise KernelError(EINVAL)
    if flags & FLAG_WAIT_KILLABLE and not flags & FLAG_NEW_LISTENER:
        raise KernelError(EINVAL)
    insns = _read_filter(k, address)
    if not task.no_new_privs and not ns_capable(task, user_ns(task), CAP_SYS_ADMIN):
        raise KernelError(EACCES)
    check_classic(insns, known_to_seccomp)
    if task.seccomp_mode == SECCOMP_MODE_STRICT:
        raise KernelError(EINVAL)
    prev = task.seccomp_filter
    if len(insns) + (prev.total + 4 if prev is not None else 0) > MAX_INSNS_PER_PATH:
        raise KernelError(ENOMEM)
    new = Filter(insns, prev, bool(flags & FLAG_LOG), bool(flags & FLAG_WAIT_KILLABLE))
    for thread in list(task.signal.threads) if flags & FLAG_TSYNC else [task]:
        if thread is not task and not _is_ancestor(thread.seccomp_filter, prev):  # one that went its own way
            return -ESRCH if flags & FLAG_TSYNC_ESRCH else k.tasks.vnr(thread.pid)
    fd = 0
    if flags & FLAG_NEW_LISTENER:
        step = prev
        while step is not None:
            if step.listener is not None:
                raise KernelError(EBUSY, "one listener for all")
            step = step.prev
        fd = k.seccomp_listeners.open(new)
    for thread in list(task.signal.threads) if flags & FLAG_TSYNC else [task]:
        thread.seccomp_filter = new
        thread.seccomp_filters += 1
        thread.no_new_privs = thread.no_new_privs or task.no_new_privs
        _enter(thread, SECCOMP_MODE_FILTER)
    return fd


def _is_ancestor(parent: Filter | None, child: Filter | None) -> bool:
    """is_ancestor(): no filter at all is everybody's."""
    if parent is None:
        return True
    step = child
    while step is not None:
        if step is parent:
            return True
        step = step.prev
    return False


def do_seccomp(k: KernelFace, op: int, flags: int, address: int) -> int:
    """seccomp(2) and prctl(PR_SET_SECCOMP).  EINVAL, EFAULT, EOPNOTSUPP."""
    if op == SECCOMP_SET_MODE_STRICT:
        if flags or address:
            raise KernelError(EINVAL)
        return _strict(k)
    if op == SECCOMP_SET_MODE_FILTER:
        return _filter(k, flags, address)
    if op == SECCOMP_GET_ACTION_AVAIL:
        if flags:
            raise KernelError(EINVAL)
        if k.usercopy.get_user(address, 4) not in ACTIONS:
            raise KernelError(EOPNOTSUPP)
        return 0
    if op == SECCOMP_GET_NOTIF_SIZES:
        if flags:
            raise KernelError(EINVAL)
        order = "<" if k.mem.byteorder == "little" else ">"
        k.usercopy.copy_to_user(address, struct.pack(order + "HHH", NOTIF, NOTIF_RESP, DATA_SIZE))
        return 0
    raise KernelError(EINVAL)


@syscall("seccomp", "unsigned int op, unsigned int flags, void *uargs", source="kernel/seccomp.c", since="3.17")
def sys_seccomp(k: KernelFace, op: int, flags: int, uargs: int) -> int:
    """By operation."""
    return do_seccomp(k, op, flags, uargs)


def prctl_set_seccomp(k: KernelFace, mode: int, address: int) -> int:
    """PR_SET_SECCOMP.  EINVAL."""
    if mode == SECCOMP_MODE_STRICT:
        return do_seccomp(k, SECCOMP_SET_MODE_STRICT, 0, 0)
    if mode == SECCOMP_MODE_FILTER:
        return do_seccomp(k, SECCOMP_SET_MODE_FILTER, 0, address)
    raise KernelError(EINVAL)


# -- what a tracer may ask ---------------------------------------------------------------------------------------------


def _nth_filter(task: Task, off: int) -> Filter:
    """get_nth_filter(): number 0 is the oldest.  EINVAL, ENOENT."""
    chain: list[Filter] = []
    step = task.seccomp_filter
    while step is not None:
        chain.append(step)
        step = step.prev
    if task.seccomp_mode != SECCOMP_MODE_FILTER:
        raise KernelError(EINVAL)
    if off >= len(chain):
        raise KernelError(ENOENT)
    return chain[len(chain) - 1 - off]


def _may_look(k: KernelFace) -> None:
    if not k.capable(CAP_SYS_ADMIN) or k.current.seccomp_mode:
        raise KernelError(EACCES)


def seccomp_get_filter(k: KernelFace, task: Task, off: int, data: int) -> int:
    """PTRACE_SECCOMP_GET_FILTER: how many instructions, and they themselves if there is a place for them."""
    _may_look(k)
    found = _nth_filter(task, off)
    if data:
        order = "<" if k.mem.byteorder == "little" else ">"
        raw = b"".join(struct.pack(order + "HBBI", i.code, i.jt, i.jf, i.k) for i in found.insns)
        k.usercopy.copy_to_user(data, raw)
    return len(found.insns)


def seccomp_get_metadata(k: KernelFace, task: Task, size: int, data: int) -> int:
    """PTRACE_SECCOMP_GET_METADATA: the flags of a filter.  EACCES, EINVAL, EFAULT."""
    _may_look(k)
    size = min(size, 16)
    if size < 8:
        raise KernelError(EINVAL)
    flags = FLAG_LOG if _nth_filter(task, k.usercopy.get_user(data, 8)).log else 0
    order = "<" if k.mem.byteorder == "little" else ">"
    k.usercopy.copy_to_user(data + 8, struct.pack(order + "Q", flags)[: size - 8])
    return size
