"""Sets of registers as ptrace(2) and core dumps show them: struct user_regs_struct and its kin.  arch/*/include/uapi/asm/ptrace.h,
arch/*/kernel/ptrace.c.

Which registers, in which order: `user_regs` of arch/callfacts.py.
"""

from __future__ import annotations

from arch.abi.errno import EIO
from arch.errors import KernelError
from simkernel.kernel.calls.ldt import loadable, set_user_register, user_register
from simkernel.kernel.face import KernelFace
from simkernel.kernel.ptrace.debugregs import ptrace_get_debugreg, ptrace_set_debugreg
from simkernel.kernel.task import Task


def _one(k: KernelFace, task: Task, name: str) -> int:
    if name in BESIDE:
        return user_register(k, task, name) if name not in k.cpu.layout.fields else k.regs.get(task.regs, name)
    if name in ("0", "access"):
        return 0
    return k.regs.get(task.regs, name)


def general(k: KernelFace, task: Task) -> bytes:
    """NT_PRSTATUS: the general registers of a stopped task."""
    word, order = k.arch.word, k.mem.byteorder
    return b"".join(_one(k, task, name).to_bytes(word, order) for name in k.arch.calls.user_regs)


def set_general(k: KernelFace, task: Task, data: bytes, at: int = 0) -> None:
    """Change some, from the byte `at` on.  EIO for what a program may not have."""
    word, order = k.arch.word, k.mem.byteorder
    names = k.arch.calls.user_regs
    for i in range(0, len(data) - word + 1, word):
        name = names[(at + i) // word]
        value = int.from_bytes(data[i : i + word], order)
        if name in BESIDE and name not in k.cpu.layout.fields:
            if user_register(k, task, name) != value:
                set_user_register(k, task, name, value if name.endswith("base") else value & 0xFFFF)
        elif name in BESIDE:
            k.regs.set(task.regs, name, value & 0xFFFF if loadable(k, task, value & 0xFFFF) else 0)
        elif name in ("cs", "ss", "psw.mask", "pstate"):
            continue  # privileges stay what they are
        elif name == "flags":
            k.regs.set(task.regs, name, k.regs.get(task.regs, name) & ~USER_FLAGS | value & USER_FLAGS)
        elif name not in ("0", "access"):
            k.regs.set(task.regs, name, value)


# What x86-64 does not keep in struct pt_regs.
BESIDE = ("ds", "es", "fs", "gs", "fs_base", "gs_base")
SELECTORS = ("cs", "ss", "ds", "es", "fs", "gs")
USER_FLAGS = 0x50DD5  # FLAG_MASK of arch/x86/kernel/ptrace.c: what a tracer may change


def peek_user(k: KernelFace, task: Task, at: int) -> int:
    """PTRACE_PEEKUSR: a word of struct user; beyond the registers there is nothing.  EIO."""
    raw, word = general(k, task), k.arch.word
    if at & (word - 1) or at < 0 or at >= k.arch.calls.user_size:
        raise KernelError(EIO)
    number = _debug_register(k, at)
    if number is not None:
        return ptrace_get_debugreg(k, task, number)
    return int.from_bytes(raw[at : at + word], k.mem.byteorder) if at < len(raw) else 0


def poke_user(k: KernelFace, task: Task, at: int, value: int) -> None:
    """PTRACE_POKEUSR.  EIO."""
    raw, word = general(k, task), k.arch.word
    if at & (word - 1) or at < 0 or at >= k.arch.calls.user_size:
        raise KernelError(EIO)
    number = _debug_register(k, at)
    if number is not None:
        ptrace_set_debugreg(k, task, number, value & (1 << 8 * word) - 1)
    elif at < len(raw):
        name = k.arch.calls.user_regs[at // word]
        value &= 0xFFFF if name in SELECTORS else -1
        if name in SELECTORS and (value & 3 != 3 and (value or name in ("cs", "ss"))):
            raise KernelError(EIO, "invalid_selector()")
        if name in ("fs_base", "gs_base") and value & (1 << 64) - 1 >= k.mm.layout.task_size:
            raise KernelError(EIO)
        set_general(k, task, (value & (1 << 8 * word) - 1).to_bytes(word, k.mem.byteorder), at)


def _debug_register(k: KernelFace, at: int) -> int | None:
    """Which of the eight debug registers stands at this place of struct user."""
    first, word = k.arch.calls.user_debugregs, k.arch.word
    return (at - first) // word if first is not None and first <= at < first + 8 * word else None


def floating(k: KernelFace, task: Task) -> bytes:
    """NT_PRFPREG: the FP and vector registers of a stopped task, as a signal frame has them."""
    k.cpu.save_user(k.current.context)
    k.cpu.load_user(task.context)
    data = k.cpu.fp_state()
    k.cpu.load_user(k.current.context)
    return data


def set_floating(k: KernelFace, task: Task, data: bytes) -> None:
    """And back."""
    k.cpu.save_user(k.current.context)
    k.cpu.load_user(task.context)
    old = k.cpu.fp_state()
    k.cpu.set_fp_state(data + old[len(data) :])
    k.cpu.save_user(task.context)
    k.cpu.load_user(k.current.context)
