"""The traced side: where a task stops for its tracer, what the tracer is told, and what it is let go with."""

from __future__ import annotations

from arch.abi.ptrace import (
    PTRACE_EVENT_CLONE,
    PTRACE_EVENT_FORK,
    PTRACE_EVENT_STOP,
    PTRACE_EVENT_VFORK,
    PTRACE_EVENTMSG_SYSCALL_ENTRY,
    PTRACE_EVENTMSG_SYSCALL_EXIT,
    PTRACE_O_EXITKILL,
    PTRACE_O_TRACESYSGOOD,
)
from arch.abi.sched import CLONE_PTRACE, CLONE_UNTRACED, CLONE_VFORK
from arch.abi.signal import CLD_TRAPPED, SA_NOCLDSTOP, SI_KERNEL, SI_USER, SIG_IGN, SIGCHLD, SIGKILL, SIGSTOP, SIGTRAP
from simkernel.kernel.body import Steps
from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.sigpending import SigInfo, bit
from simkernel.kernel.task import EXIT_ZOMBIE, TASK_TRACED, CloneArgs, Task

WORK_TRACE, WORK_EMU = 1 << 2, 1 << 3  # SYSCALL_WORK_SYSCALL_TRACE, SYSCALL_WORK_SYSCALL_EMU


def notify_tracer(k: KernelFace, task: Task, status: int) -> None:
    """do_notify_parent_cldstop() to the tracer: SIGCHLD if it wants it, and whoever waits there wakes."""
    tracer = task.ptracer
    if tracer is None:
        return
    action = tracer.signal.actions[SIGCHLD]
    if action.handler != SIG_IGN and not action.flags & SA_NOCLDSTOP:
        k.signals.send(tracer, SIGCHLD, CLD_TRAPPED, pid=task.pid, uid=task.cred.uid, status=status & 0x7F)
    k.wake_up(tracer.signal.wait_chldexit, 0)


@kernel_function(
    "int ptrace_stop(int exit_code, int why, unsigned long message, struct kernel_siginfo *info)",
    source="kernel/signal.c",
)
def ptrace_stop(k: KernelFace, code: int, why: int, message: int, info: int) -> Body:
    """Stay until the tracer lets go; the signal that it gives."""
    task = k.current
    if task.ptracer is None or task.pending.has(SIGKILL) or task.signal.pending.has(SIGKILL):
        return 0
    task.ptrace_code, task.ptrace_message, task.ptrace_resume = code, message, 0
    task.state = TASK_TRACED
    task.wait_interruptible, task.wait_killable, task.wait_queues = False, True, ()
    k.mirror.store_state(task)
    notify_tracer(k, task, code)
    yield k.call("schedule")
    task.ptrace_code, task.ptrace_listening = 0, False
    return task.ptrace_resume


def disable_step(k: KernelFace, task: Task) -> bool:
    """user_disable_single_step(): nobody shall see the flag in the registers; whether the tracer had set it."""
    flag = k.arch.calls.step_flag
    if not task.ptrace_step or flag is None:
        return False
    task.ptrace_step = False
    k.regs.set(task.regs, flag[0], k.regs.get(task.regs, flag[0]) & ~flag[1])
    return True


def stop(k: KernelFace, code: int, info: SigInfo | None, message: int = 0) -> Steps[int]:
    """ptrace_stop() with the siginfo that PTRACE_GETSIGINFO shows; the signal to go on with."""
    task = k.current
    task.ptrace_info = info
    disable_step(k, task)  # how it goes on says who lets it go
    ret = yield k.call("ptrace_stop", code, CLD_TRAPPED, message, 0)
    task.ptrace_info = None
    k.signals.recalc(task)
    return ret


def notify(k: KernelFace, code: int, message: int = 0) -> Steps[int]:
    """ptrace_notify(): a stop whose siginfo is SIGTRAP with that code."""
    info = SigInfo(SIGTRAP, code, k.current.pid, k.current.cred.uid)
    return (yield from stop(k, code, info, message))


def event_enabled(task: Task, event: int) -> bool:
    """ptrace_event_enabled()."""
    return task.ptracer is not None and bool(task.ptrace_options >> event & 1)


def report_event(k: KernelFace, event: int, message: int) -> Steps[None]:
    """ptrace_event()."""
    if event_enabled(k.current, event):
        yield from notify(k, SIGTRAP | event << 8, message)


def report_exec(k: KernelFace, event: int, old_pid: int) -> Steps[None]:
    """After an exec: the event, or for who asked for none and was not seized a SIGTRAP."""
    task = k.current
    if event_enabled(task, event):
        yield from report_event(k, event, old_pid)
    elif task.ptracer is not None and not task.ptrace_seized:
        k.signals.send_thread(task, SIGTRAP, SI_USER, pid=task.pid, uid=task.cred.uid)


def report_syscall(k: KernelFace, entry: bool) -> Steps[None]:
    """ptrace_report_syscall()."""
    task = k.current
    if task.ptracer is None:
        return
    code = SIGTRAP | (0x80 if task.ptrace_options & PTRACE_O_TRACESYSGOOD else 0)
    message = PTRACE_EVENTMSG_SYSCALL_ENTRY if entry else PTRACE_EVENTMSG_SYSCALL_EXIT
    signal = yield from notify(k, code, message)
    if signal:
        k.signals.send_thread(task, signal, SI_KERNEL)


def traced_signal(k: KernelFace, info: SigInfo) -> Steps[SigInfo | None]:
    """ptrace_signal(): the tracer may drop it, or put another in its place."""
    task = k.current
    signal = yield from stop(k, info.sig, info)
    if not signal:
        return None
    if signal != info.sig:
        info = SigInfo(signal, SI_USER, task.ptracer.tgid if task.ptracer is not None else 0)
    if task.blocked & bit(signal):
        k.signals.send_thread(task, signal, info.code, pid=info.pid, uid=info.uid)
        return None
    return info


def trap_stop(k: KernelFace) -> Steps[None]:
    """do_jobctl_trap(): the stop of PTRACE_INTERRUPT, of a seized child, and of a group that stops."""
    task, signal = k.current, k.current.signal
    task.ptrace_trap = False
    if task.ptrace_seized:
        number = signal.stop_code if signal.stopped else SIGTRAP
        info = SigInfo(number, number | PTRACE_EVENT_STOP << 8, task.pid, task.cred.uid)
        task.stop_ignored = signal.stopped
        yield from stop(k, number | PTRACE_EVENT_STOP << 8, info)
    elif signal.stopped:
        task.stop_ignored = True
        yield from stop(k, signal.stop_code, None)


# -- who traces whom -----------------------------------------------------------------------------------------------


def link(task: Task, tracer: Task, seized: bool, options: int) -> None:
    """__ptrace_link()."""
    task.ptracer, task.ptrace_seized, task.ptrace_options = tracer, seized, options
    tracer.ptraced.insert(0, task)  # list_add(): wait() finds the newest first


def unlink(k: KernelFace, task: Task) -> None:
    """__ptrace_unlink(): nobody traces it; a stop of its group applies to it again."""
    tracer, task.ptracer = task.ptracer, None
    if tracer is not None and task in tracer.ptraced:
        tracer.ptraced.remove(task)
    task.ptrace_options, task.ptrace_seized, task.ptrace_trap, task.stop_ignored = 0, False, False, False
    task.syscall_work &= ~(WORK_TRACE | WORK_EMU)
    if task.signal.stopped:
        task.work = True


def resume(k: KernelFace, task: Task, signal: int) -> None:
    """ptrace_resume(): out of its stop, with a signal."""
    task.ptrace_resume = signal
    task.ptrace_code = 0
    if task.state == TASK_TRACED:
        k.cpus.activate(task, 0)


def clone_event(k: KernelFace, args: CloneArgs) -> int:
    """Which event the clone that is under way will report; 0: none."""
    task, flags = k.current, args.flags
    if flags & CLONE_UNTRACED or task.ptracer is None:
        return 0
    event = PTRACE_EVENT_FORK if args.exit_signal == SIGCHLD else PTRACE_EVENT_CLONE
    event = PTRACE_EVENT_VFORK if flags & CLONE_VFORK else event
    return event if event_enabled(task, event) else 0


def init_task(k: KernelFace, child: Task, flags: int, event: int) -> None:
    """ptrace_init_task(): a child that is traced too begins with a stop."""
    parent = k.current
    if parent.ptracer is None or not (event or flags & CLONE_PTRACE):
        return
    link(child, parent.ptracer, parent.ptrace_seized, parent.ptrace_options)
    if parent.ptrace_seized:
        child.ptrace_trap = True
    else:
        child.pending.append(SigInfo(SIGSTOP, SI_USER))
    child.work = True


def exit_tracer(k: KernelFace, tracer: Task) -> None:
    """exit_ptrace(): whom this task traced goes on untraced, or dies."""
    for task in list(tracer.ptraced):
        kill = task.ptrace_options & PTRACE_O_EXITKILL
        unlink(k, task)
        if kill:
            k.signals.send(task, SIGKILL)
        if task.exit_state == EXIT_ZOMBIE:
            k.wake_up(task.parent.signal.wait_chldexit, 0)
        resume(k, task, 0)
