"""What becomes of user code whose instruction traps: exceptions that are no page faults.  arch/*/kernel/traps.c."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from arch.abi.hw_breakpoint import DR_TRAP_BITS, HW_BREAKPOINT_X
from arch.abi.signal import (
    FPE_FLTSUB,
    SI_KERNEL,
    SIGBUS,
    SIGFPE,
    SIGILL,
    SIGSEGV,
    SIGTRAP,
    TRAP_BRKPT,
    TRAP_HWBKPT,
    TRAP_TRACE,
)
from arch.abi.traps import X86_TRAP_GP
from arch.effective import touched
from arch.errors import Fault
from arch.exceptions import Refusal
from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.ports import fixed_up
from simkernel.kernel.unhandled import complain


def trap(sig: int, code: int) -> Callable[[KernelFace, int, int], Body]:
    """The body of a role whose traps mean that signal, with that si_code unless the kernel looks closer."""

    def body(k: KernelFace, regs: int, trapnr: int) -> Body:
        k.cpus.charge_user()
        task = k.current
        if task.driver is not None and sig in (SIGTRAP, SIGILL):
            yield from task.driver.trapped(regs)
        else:
            trapped(k, trapnr)
            facts, pc = k.arch.exceptions, k.arch.instruction_pointer
            if facts.software is not None and trapnr >= facts.software:  # a fault: it would be done again
                k.regs.set(regs, pc, k.regs.get(regs, pc) - facts.software_length)
            refuse(k, regs, Refusal(sig, code))
        if task.work or k.clock._now >= k.cpus.deadline:
            yield k.call("exit_to_user_mode_loop", regs, 0)
        return 0

    return body


def trapped(k: KernelFace, trapnr: int) -> None:
    """What a signal frame tells of the last trap."""
    task, software = k.current, k.arch.exceptions.software
    if software is not None and trapnr >= software:
        task.trap_nr, task.trap_error = X86_TRAP_GP, trapnr << 3 | IN_DESCRIPTOR_TABLE
    else:
        task.trap_nr, task.trap_error = trapnr, k.cpu.trap_error


def refuse(k: KernelFace, regs: int, told: Refusal) -> None:
    """The signal for an instruction that the CPU did not do: what the trap tells, or the kernel where that is not enough."""
    task, facts, pc = k.current, k.arch.exceptions, k.arch.instruction_pointer

    def get(field: str) -> int:
        return k.regs.get(regs, field)

    address, read = get(pc), k.usercopy.user.read
    where, judged = address, None
    if facts.judge is not None:
        with suppress(Fault):  # somebody took the page away
            judged = facts.judge(get, read, address, task.ptracer is not None)
    if judged is not None:
        told = judged
        k.regs.set(regs, pc, address + told.length)
    elif told.sig == SIGBUS and facts.alignment_of_data:
        where = next(touched(k.arch, get, read), address)
    complain(k, regs, told.sig, told.code, where)
    k.signals.force(task, told.sig, told.code, where)


def undefined(k: KernelFace, regs: int, trapnr: int) -> Body:
    """An instruction that is none, or that only the kernel may use."""
    return (yield from trap(SIGILL, k.arch.exceptions.undefined)(k, regs, trapnr))


def breakpoint_trap(k: KernelFace, regs: int, trapnr: int) -> Body:
    """A breakpoint instruction that nobody in the kernel has put there."""
    return (yield from trap(SIGTRAP, k.arch.exceptions.breakpoint)(k, regs, trapnr))


PROTECTION_TRAP = trap(SIGSEGV, SI_KERNEL)
ABSENT_TRAP = trap(SIGBUS, SI_KERNEL)
IN_DESCRIPTOR_TABLE = 2  # of an error code: the entry is one of interrupts


def protection(k: KernelFace, regs: int, trapnr: int) -> Body:
    """exc_general_protection(): SIGSEGV, unless it was an instruction on a port that the task may use."""
    if trapnr in k.arch.exceptions.absent_segments:  # exc_segment_not_present(), exc_stack_segment()
        return (yield from ABSENT_TRAP(k, regs, trapnr))
    if not fixed_up(k, regs):
        return (yield from PROTECTION_TRAP(k, regs, trapnr))
    k.cpus.charge_user()
    if k.current.work or k.clock._now >= k.cpus.deadline:
        yield k.call("exit_to_user_mode_loop", regs, 0)
    return 0


def fp_error(k: KernelFace, regs: int, trapnr: int) -> Body:
    """math_error(): SIGFPE with the exception that the FP unit tells, where it tells one."""
    image = k.arch.support.fp
    code = image.exception(k.cpu.fp_state()) if image is not None and image.exception is not None else FPE_FLTSUB
    return (yield from trap(SIGFPE, code or FPE_FLTSUB)(k, regs, trapnr))


def debug(k: KernelFace, regs: int, trapnr: int) -> Body:
    """exc_debug(): a single step, a hardware breakpoint, or x86's instruction that only traps."""
    k.cpus.charge_user()
    task = k.current
    if task.driver is not None:
        yield from task.driver.trapped(regs)
    else:
        resume, step = k.arch.calls.resume_flag, k.arch.calls.step_flag
        stepped = step is None or bool(k.regs.get(regs, step[0]) & step[1])
        hits = k.hw_breakpoints.hits(stepped, regs)
        if resume is not None and any(hit.kind == HW_BREAKPOINT_X for hit in hits):
            k.regs.set(regs, "flags", k.regs.get(regs, "flags") | resume[1])
        thread = k.hw_breakpoints.threads.get(task)
        trapped(k, trapnr)
        if stepped or not hits or (thread is not None and thread.dr6 & DR_TRAP_BITS):
            code = TRAP_TRACE if stepped else TRAP_HWBKPT if hits else TRAP_BRKPT
            k.signals.force(task, SIGTRAP, code, k.regs.get(regs, k.arch.instruction_pointer))
    if task.work or k.clock._now >= k.cpus.deadline:
        yield k.call("exit_to_user_mode_loop", regs, 0)
    return 0
