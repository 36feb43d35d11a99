"""ptrace(2): what a tracer asks.  kernel/ptrace.c:ptrace_request(), arch/*/kernel/ptrace.c:arch_ptrace()."""

from __future__ import annotations

import struct
from collections.abc import Callable

from arch.abi import ptrace as p
from arch.abi.capability import CAP_SYS_ADMIN
from arch.abi.errno import EFAULT, EINVAL, EIO, EPERM, ESRCH
from arch.abi.signal import NSIG, SI_KERNEL, SIGKILL, SIGSTOP, SIGTRAP
from arch.errors import Fault, KernelError
from simkernel.kernel.calls.kcmp import PTRACE_MODE_ATTACH_REALCREDS, ptrace_may_access
from simkernel.kernel.calls.ldt import get_area, set_area
from simkernel.kernel.calls.prctl import do_arch_prctl_64
from simkernel.kernel.calls.rseq import RSEQ_SIZE
from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.landlock import domain_scope_le
from simkernel.kernel.ptrace.memory import read_memory, write_memory
from simkernel.kernel.ptrace.registers import (
    floating,
    general,
    peek_user,
    poke_user,
    set_floating,
    set_general,
)
from simkernel.kernel.ptrace.stops import WORK_EMU, WORK_TRACE, link, resume, unlink
from simkernel.kernel.seccomp import seccomp_get_filter, seccomp_get_metadata
from simkernel.kernel.security import ask
from simkernel.kernel.task import TASK_INTERRUPTIBLE, TASK_STOPPED, TASK_TRACED, UNBLOCKABLE, Task

Request = Callable[[KernelFace, Task, int, int], int]


# -- memory ----------------------------------------


def _peek(k: KernelFace, task: Task, addr: int, data: int) -> int:
    k.usercopy.copy_to_user(data, read_memory(task, addr, k.arch.word))
    return 0


def _poke(k: KernelFace, task: Task, addr: int, data: int) -> int:
    write_memory(task, addr, (data & (1 << 8 * k.arch.word) - 1).to_bytes(k.arch.word, k.mem.byteorder))
    return 0


# -- registers -------------------------------------------------------------------------------------------------------


def _peek_user(k: KernelFace, task: Task, addr: int, data: int) -> int:
    k.usercopy.put_user(data, k.arch.word, peek_user(k, task, addr))
    return 0


def _poke_user(k: KernelFace, task: Task, addr: int, data: int) -> int:
    poke_user(k, task, addr, data)
    return 0


def _get_regs(k: KernelFace, task: Task, addr: int, data: int) -> int:
    k.usercopy.copy_to_user(data, general(k, task))
    return 0


def _set_regs(k: KernelFace, task: Task, addr: int, data: int) -> int:
    set_general(k, task, k.usercopy.copy_from_user(data, len(general(k, task))))
    return 0


def _get_fpregs(k: KernelFace, task: Task, addr: int, data: int) -> int:
    k.usercopy.copy_to_user(data, floating(k, task))
    return 0


def _set_fpregs(k: KernelFace, task: Task, addr: int, data: int) -> int:
    set_floating(k, task, k.usercopy.copy_from_user(data, len(floating(k, task))))
    return 0


def _regset(k: KernelFace, task: Task, note: int, iovec: int, store: bool) -> int:
    """PTRACE_GETREGSET and PTRACE_SETREGSET: as much as fits, and how much that was.  EINVAL, EFAULT."""
    word = k.arch.word
    base, size = (k.usercopy.get_user(iovec + i * word, word) for i in (0, 1))
    if note not in (p.NT_PRSTATUS, p.NT_PRFPREG):
        raise KernelError(EINVAL)
    raw = general(k, task) if note == p.NT_PRSTATUS else floating(k, task)
    if size % word:
        raise KernelError(EINVAL)
    size = min(size, len(raw))
    if store:
        (set_general if note == p.NT_PRSTATUS else set_floating)(k, task, k.usercopy.copy_from_user(base, size))
    else:
        k.usercopy.copy_to_user(base, raw[:size])
    k.usercopy.put_user(iovec + word, word, size)
    return 0


# -- signals, events -------------------------------------------------------------------------------------------------


def _get_siginfo(k: KernelFace, task: Task, addr: int, data: int) -> int:
    if task.ptrace_info is None:
        raise KernelError(EINVAL)
    k.usercopy.copy_to_user(data, k.signals.siginfo(task.ptrace_info))
    return 0


def _set_siginfo(k: KernelFace, task: Task, addr: int, data: int) -> int:
    info, order = task.ptrace_info, k.mem.byteorder
    if info is None:
        raise KernelError(EINVAL)
    raw = k.usercopy.copy_from_user(data, 128)
    at = 16 if k.arch.word == 8 else 12
    info.sig, info.code = int.from_bytes(raw[:4], order), int.from_bytes(raw[8:12], order, signed=True)
    info.pid, info.uid = int.from_bytes(raw[at : at + 4], order), int.from_bytes(raw[at + 4 : at + 8], order)
    return 0


def _peek_siginfo(k: KernelFace, task: Task, addr: int, data: int) -> int:
    """PTRACE_PEEKSIGINFO: pending signals, without taking them; how many."""
    raw, order = k.usercopy.copy_from_user(addr, 16), k.mem.byteorder
    off, flags, count = (
        int.from_bytes(raw[:8], order), int.from_bytes(raw[8:12], order), int.from_bytes(raw[12:], order, signed=True),
    )  # fmt: skip
    if flags & ~p.PTRACE_PEEKSIGINFO_SHARED or count < 0:
        raise KernelError(EINVAL)
    queue = task.signal.pending if flags & p.PTRACE_PEEKSIGINFO_SHARED else task.pending
    shown = list(queue)[off : off + count]
    for i, info in enumerate(shown):
        try:
            k.usercopy.copy_to_user(data + 128 * i, k.signals.siginfo(info))
        except KernelError:
            if i:
                return i
            raise
    return len(shown)


def _get_sigmask(k: KernelFace, task: Task, addr: int, data: int) -> int:
    if addr != 8:
        raise KernelError(EINVAL)
    mask = task.blocked if task.saved_blocked is None else task.saved_blocked
    word = k.arch.word
    for i in range(0, 8, word):
        k.usercopy.put_user(data + i, word, mask >> 8 * i)
    return 0


def _set_sigmask(k: KernelFace, task: Task, addr: int, data: int) -> int:
    if addr != 8:
        raise KernelError(EINVAL)
    word = k.arch.word
    task.blocked = sum(k.usercopy.get_user(data + i, word) << 8 * i for i in range(0, 8, word)) & ~UNBLOCKABLE
    k.signals.recalc(task)
    return 0


def _check_options(k: KernelFace, data: int) -> None:
    """check_ptrace_options().  EINVAL, EPERM."""
    if data & ~p.PTRACE_O_MASK:
        raise KernelError(EINVAL)
    suspended = k.current.seccomp_mode or k.current.ptrace_options & p.PTRACE_O_SUSPEND_SECCOMP
    if data & p.PTRACE_O_SUSPEND_SECCOMP and (not k.capable(CAP_SYS_ADMIN) or suspended):
        raise KernelError(EPERM)


def _set_options(k: KernelFace, task: Task, addr: int, data: int) -> int:
    _check_options(k, data)
    task.ptrace_options = data
    return 0


def _get_message(k: KernelFace, task: Task, addr: int, data: int) -> int:
    k.usercopy.put_user(data, k.arch.word, task.ptrace_message)
    return 0


def _syscall_info(k: KernelFace, task: Task, addr: int, data: int) -> int:
    """PTRACE_GET_SYSCALL_INFO: struct ptrace_syscall_info, cut to the caller's size; its whole size."""
    order = "<" if k.mem.byteorder == "little" else ">"
    op, regs, info = p.PTRACE_SYSCALL_INFO_NONE, task.regs, task.ptrace_info
    get, mask = k.regs.get, (1 << 8 * k.arch.word) - 1
    tail = b""
    entry = struct.pack(
        order + "7Q", task.syscall_nr & (1 << 64) - 1, *(get(regs, field) & mask for field in k.abi.args)
    )
    if info is not None and info.code == SIGTRAP | p.PTRACE_EVENT_SECCOMP << 8:
        op, tail = p.PTRACE_SYSCALL_INFO_SECCOMP, entry + struct.pack(order + "I", task.ptrace_message)
    elif info is not None and info.code == SIGTRAP | 0x80:
        if task.ptrace_message == p.PTRACE_EVENTMSG_SYSCALL_ENTRY:
            op, tail = p.PTRACE_SYSCALL_INFO_ENTRY, entry
        elif task.ptrace_message == p.PTRACE_EVENTMSG_SYSCALL_EXIT:
            op = p.PTRACE_SYSCALL_INFO_EXIT
            value = k.regs.signed_word(get(regs, k.abi.result))
            tail = struct.pack(order + "qB", value, -4096 < value < 0)
    ip, sp = get(regs, k.arch.instruction_pointer), get(regs, k.arch.stack_pointer)
    raw = struct.pack(order + "B3xIQQ", op, k.arch.calls.audit_arch, ip, sp) + tail
    k.usercopy.copy_to_user(data, raw[:addr])
    return len(raw)


def _rseq_configuration(k: KernelFace, task: Task, addr: int, data: int) -> int:
    """PTRACE_GET_RSEQ_CONFIGURATION: struct ptrace_rseq_configuration, cut to the caller's size; its whole size."""
    order = "<" if k.mem.byteorder == "little" else ">"
    raw = struct.pack(order + "QIIII", task.rseq, RSEQ_SIZE, task.rseq_sig, 0, 0)
    k.usercopy.copy_to_user(data, raw[:addr])
    return len(raw)


# -- going on --------------------------------------------------------------------------------------------------------


def _go(k: KernelFace, task: Task, signal: int, work: int = 0, step: bool = False) -> int:
    """ptrace_resume().  EIO for a signal that is none, or a step where the CPU has none."""
    if not 0 <= signal <= NSIG:
        raise KernelError(EIO)
    task.syscall_work = task.syscall_work & ~(WORK_TRACE | WORK_EMU) | work
    if k.arch.calls.step_flag is not None:
        name, bit = k.arch.calls.step_flag
        flags = k.regs.get(task.regs, name)
        k.regs.set(task.regs, name, flags | bit if step else flags & ~bit)
        task.ptrace_step = step
    elif step:
        raise KernelError(EIO)
    resume(k, task, signal)
    return 0


def _kill(k: KernelFace, task: Task, addr: int, data: int) -> int:
    k.signals.send(task, SIGKILL)
    return 0


def _detach(k: KernelFace, task: Task, addr: int, data: int) -> int:
    if not 0 <= data <= NSIG:
        raise KernelError(EIO)
    unlink(k, task)
    return _go(k, task, data)


def _interrupt(k: KernelFace, task: Task, addr: int, data: int) -> int:
    """PTRACE_INTERRUPT: a seized task stops as soon as it can.  EIO."""
    if not task.ptrace_seized:
        raise KernelError(EIO)
    task.ptrace_trap = True
    kick(k, task)
    return 0


def kick(k: KernelFace, task: Task) -> None:
    """signal_wake_up_state(): out of a sleep or a group's stop, to look at what there is to do."""
    task.work = True
    if task.state == TASK_STOPPED or (task.state == TASK_TRACED and task.ptrace_listening):
        k.cpus.activate(task, 0)
    elif task.state == TASK_INTERRUPTIBLE:
        k.cpus.wake_signal(task, False)
    else:
        k.cpus.deadline = 0


def _listen(k: KernelFace, task: Task, addr: int, data: int) -> int:
    """PTRACE_LISTEN: stay stopped with the group, and say when that ends.  EIO."""
    info = task.ptrace_info
    if not task.ptrace_seized or info is None or info.code >> 8 != p.PTRACE_EVENT_STOP:
        raise KernelError(EIO)
    task.ptrace_listening, task.ptrace_code = True, 0
    if task.ptrace_trap or not task.signal.stopped:
        task.ptrace_trap = True
        kick(k, task)
    return 0


# -- segments (x86) --------------------------------------------------------------------------------------------------


def _get_area(k: KernelFace, task: Task, addr: int, data: int) -> int:
    return get_area(k, task, _area_number(addr), data)


def _set_area(k: KernelFace, task: Task, addr: int, data: int) -> int:
    return set_area(k, task, _area_number(addr), data, False)


def _area_number(addr: int) -> int:
    """The number as an int.  EIO: below 0."""
    if addr & 1 << 31:
        raise KernelError(EIO)
    return addr & 0x7FFFFFFF


def _arch_prctl(k: KernelFace, task: Task, addr: int, data: int) -> int:
    return do_arch_prctl_64(k, task, data & 0xFFFFFFFF, addr)


SEGMENT_REQUESTS: dict[int, Request] = {
    p.PTRACE_GET_THREAD_AREA: _get_area, p.PTRACE_SET_THREAD_AREA: _set_area,
}  # fmt: skip


REQUESTS: dict[int, Request] = {
    p.PTRACE_PEEKTEXT: _peek, p.PTRACE_PEEKDATA: _peek, p.PTRACE_POKETEXT: _poke, p.PTRACE_POKEDATA: _poke,
    p.PTRACE_PEEKUSR: _peek_user, p.PTRACE_POKEUSR: _poke_user,
    p.PTRACE_GETREGSET: lambda k, task, addr, data: _regset(k, task, addr, data, False),
    p.PTRACE_SETREGSET: lambda k, task, addr, data: _regset(k, task, addr, data, True),
    p.PTRACE_GETSIGINFO: _get_siginfo, p.PTRACE_SETSIGINFO: _set_siginfo, p.PTRACE_PEEKSIGINFO: _peek_siginfo,
    p.PTRACE_GETSIGMASK: _get_sigmask, p.PTRACE_SETSIGMASK: _set_sigmask,
    p.PTRACE_SETOPTIONS: _set_options, p.PTRACE_GETEVENTMSG: _get_message, p.PTRACE_GET_SYSCALL_INFO: _syscall_info,
    p.PTRACE_GET_RSEQ_CONFIGURATION: _rseq_configuration,
    p.PTRACE_SECCOMP_GET_FILTER: seccomp_get_filter, p.PTRACE_SECCOMP_GET_METADATA: seccomp_get_metadata,
    p.PTRACE_CONT: lambda k, task, addr, data: _go(k, task, data),
    p.PTRACE_SYSCALL: lambda k, task, addr, data: _go(k, task, data, WORK_TRACE),
    p.PTRACE_SINGLESTEP: lambda k, task, addr, data: _go(k, task, data, 0, True),
    p.PTRACE_KILL: _kill, p.PTRACE_DETACH: _detach, p.PTRACE_INTERRUPT: _interrupt, p.PTRACE_LISTEN: _listen,
}  # fmt: skip
SINCE = {p.PTRACE_GET_RSEQ_CONFIGURATION: "5.13"}  # requests that older kernels do not know
# Calls that are the tracer's to make, where the CPU has that.
EMULATION: dict[int, Request] = {
    p.PTRACE_SYSEMU: lambda k, task, addr, data: _go(k, task, data, WORK_EMU),
    p.PTRACE_SYSEMU_SINGLESTEP: lambda k, task, addr, data: _go(k, task, data, WORK_EMU, True),
}
# Requests of architectures whose registers came before the sets of registers.
OLD_REQUESTS: dict[int, Request] = {
    p.PTRACE_GETREGS: _get_regs, p.PTRACE_SETREGS: _set_regs, p.PTRACE_GETFPREGS: _get_fpregs,
    p.PTRACE_SETFPREGS: _set_fpregs,
}  # fmt: skip


@kernel_function(
    "int ptrace_request(struct task_struct *child, long request, unsigned long addr, unsigned long data)",
    source="kernel/ptrace.c",
)
def ptrace_request(k: KernelFace, child: int, request: int, addr: int, data: int) -> int:
    """One request to a stopped task.  EIO for one that does not exist."""
    todo = REQUESTS.get(request)
    if not k.version.at_least(SINCE.get(request, "2.6")):
        todo = None
    if todo is None and k.arch.calls.old_ptrace_requests:
        todo = OLD_REQUESTS.get(request)
    facts = k.arch.support.segments
    if todo is None and facts is not None:
        todo = _arch_prctl if request == p.PTRACE_ARCH_PRCTL and facts.bases else SEGMENT_REQUESTS.get(request)
    since = k.arch.calls.sysemu_since
    if todo is None and since is not None and k.version.at_least(since):
        todo = EMULATION.get(request)
    if todo is None:
        raise KernelError(EIO)
    try:
        return todo(k, k.tasks.at(child), addr, data)
    except Fault:
        raise KernelError(EFAULT) from None


@kernel_function(
    "int ptrace_attach(struct task_struct *task, long request, unsigned long addr, unsigned long flags)",
    source="kernel/ptrace.c",
)
def ptrace_attach(k: KernelFace, p_task: int, request: int, addr: int, flags: int) -> Body:
    """Begin to trace; a task that has stopped is in a stop of the tracer's when this returns.  EPERM, EIO."""
    task, me = k.tasks.at(p_task), k.current
    seize = request == p.PTRACE_SEIZE
    if seize:
        if addr or flags & ~p.PTRACE_O_MASK:
            raise KernelError(EIO)
        _check_options(k, flags)
    if task.is_kernel or task.tgid == me.tgid or task.exit_state or task.ptracer is not None:
        raise KernelError(EPERM)
    if not ptrace_may_access(k, task, PTRACE_MODE_ATTACH_REALCREDS):
        raise KernelError(EPERM)
    link(task, me, seize, flags if seize else 0)
    if not seize:
        k.signals.send_thread(task, SIGSTOP, SI_KERNEL)
    if task.state == TASK_STOPPED:
        task.ptrace_trap = True
        kick(k, task)
        while task.state != TASK_TRACED and not task.exit_state:
            yield k.wait(me.signal.wait_chldexit, interruptible=False)  # JOBCTL_TRAPPING
    return 0


@kernel_function("int ptrace_traceme(void)", source="kernel/ptrace.c")
def ptrace_traceme(k: KernelFace) -> int:
    """Be traced by one's parent.  EPERM."""
    me = k.current
    if me.ptracer is not None or not domain_scope_le(me.real_parent.cred.domain, me.cred.domain):
        raise KernelError(EPERM)
    ask(k, "ptrace_traceme", me.real_parent.addr)
    link(me, me.real_parent, False, 0)
    return 0


@syscall("ptrace", "long request, long pid, unsigned long addr, unsigned long data", source="kernel/ptrace.c")
def sys_ptrace(k: KernelFace, request: int, pid: int, addr: int, data: int) -> Body:
    """EPERM, ESRCH, EIO, EFAULT, EINVAL."""
    if request == p.PTRACE_TRACEME:
        return (yield k.call("ptrace_traceme"))
    task = k.tasks.find(pid)
    if task is None:
        raise KernelError(ESRCH)
    if request in (p.PTRACE_ATTACH, p.PTRACE_SEIZE):
        return (yield k.call("ptrace_attach", task.addr, request, addr, data))
    if task.ptracer is not k.current:  # ptrace_check_attach()
        raise KernelError(ESRCH)
    if request not in (p.PTRACE_KILL, p.PTRACE_INTERRUPT):
        listening = task.ptrace_listening and request != p.PTRACE_LISTEN
        if task.state != TASK_TRACED or listening:
            raise KernelError(ESRCH)
    return (yield k.call("ptrace_request", task.addr, request, addr, data))
