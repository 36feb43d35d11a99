"""The debug registers as a tracer of x86 sees them: words of struct user.  arch/x86/kernel/ptrace.c.

They are rows of what a tracer wants, each backed by a breakpoint of the thread (hw_breakpoint.py), which tells of a hit in DR6.
"""

from __future__ import annotations

from arch.abi.errno import EINVAL, EIO
from arch.abi.hw_breakpoint import (
    DR6_RESERVED,
    DR_CONTROL,
    DR_CONTROL_RESERVED,
    DR_COUNT,
    DR_EXECUTE,
    DR_LENGTHS,
    DR_READ_WRITE,
    DR_STATUS,
    DR_WRITE,
    HW_BREAKPOINT_RW,
    HW_BREAKPOINT_W,
    HW_BREAKPOINT_X,
)
from arch.errors import KernelError
from simkernel.kernel.face import KernelFace
from simkernel.kernel.hw_breakpoint import Breakpoint
from simkernel.kernel.task import Task

KINDS = {DR_EXECUTE: HW_BREAKPOINT_X, DR_WRITE: HW_BREAKPOINT_W, DR_READ_WRITE: HW_BREAKPOINT_RW}


def ptrace_get_debugreg(k: KernelFace, task: Task, number: int) -> int:
    """What one of the eight holds."""
    thread = k.hw_breakpoints.threads.get(task)
    if number < DR_COUNT:
        known = thread.breakpoints[number] if thread is not None else None
        return known.address if known is not None else 0
    if number == DR_STATUS:
        return (thread.dr6 if thread is not None else 0) ^ DR6_RESERVED
    return thread.dr7 if thread is not None and number == DR_CONTROL else 0


def ptrace_set_debugreg(k: KernelFace, task: Task, number: int, value: int) -> None:
    """Set one.  EIO for a register that is none; EINVAL, ENOSPC."""
    if number < DR_COUNT:
        _set_address(k, task, number, value)
    elif number == DR_STATUS:
        k.hw_breakpoints.thread(task).dr6 = value ^ DR6_RESERVED
    elif number == DR_CONTROL:
        _write_dr7(k, task, value)
        k.hw_breakpoints.thread(task).dr7 = value
    else:
        raise KernelError(EIO, "no such register")


def _register(k: KernelFace, task: Task, number: int, wanted: Breakpoint) -> None:
    k.hw_breakpoints.check(wanted.address, wanted.length, wanted.kind)
    k.hw_breakpoints.register(wanted)
    k.hw_breakpoints.thread(task).breakpoints[number] = wanted


def _made(k: KernelFace, task: Task, number: int, address: int, length: int, kind: int, disabled: bool) -> None:
    def ptrace_triggered(hit: Breakpoint, regs: int) -> None:
        k.hw_breakpoints.thread(task).dr6 |= 1 << number

    _register(k, task, number, Breakpoint((task,), address, length, kind, disabled, ptrace_triggered))


def _set_address(k: KernelFace, task: Task, number: int, address: int) -> None:
    """ptrace_set_breakpoint_addr(): until DR7 says more it is one byte, written, and disabled."""
    known = k.hw_breakpoints.thread(task).breakpoints[number]
    if known is None:
        _made(k, task, number, address, 1, HW_BREAKPOINT_W, True)
    else:
        k.hw_breakpoints.modify(known, address, known.length, known.kind, known.disabled)


def _decode(dr7: int, number: int) -> tuple[bool, int, int]:
    """(enabled, bits of the kind, bits of the length) of one register in DR7."""
    info = dr7 >> 16 + 4 * number
    return bool(dr7 >> 2 * number & 3), info & 3, info >> 2 & 3


def _write_dr7(k: KernelFace, task: Task, dr7: int) -> None:
    """ptrace_write_dr7(): all of them, or none."""
    thread = k.hw_breakpoints.thread(task)
    before = [(b.address, b.length, b.kind, b.disabled) if b is not None else None for b in thread.breakpoints]
    try:
        for number in range(DR_COUNT):
            _write_one(k, task, number, *_decode(dr7 & ~DR_CONTROL_RESERVED, number))
    except KernelError:
        for known, old in zip(thread.breakpoints, before, strict=True):
            if known is not None:
                address, length, kind, disabled = old or (known.address, known.length, known.kind, True)
                k.hw_breakpoints.modify(known, address, length, kind, disabled)
        raise


def _write_one(k: KernelFace, task: Task, number: int, enabled: bool, kind_bits: int, length_bits: int) -> None:
    known = k.hw_breakpoints.thread(task).breakpoints[number]
    if known is None and not enabled:
        return
    kind, length = KINDS.get(kind_bits), DR_LENGTHS[length_bits]
    if kind is None or (kind == HW_BREAKPOINT_X and length != 1):  # arch_bp_generic_fields()
        raise KernelError(EINVAL, "what x86 does not have, or the kernel not")
    length = k.arch.word if kind == HW_BREAKPOINT_X else length
    if known is None:
        _made(k, task, number, 0, length, kind, False)
    else:
        k.hw_breakpoints.modify(known, known.address, length, kind, not enabled)
