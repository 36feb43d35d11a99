"""i386 signal frames.  arch/x86/include/asm/sigframe.h, arch/x86/kernel/signal.c.  Offsets and sizes in bytes.

Without SA_SIGINFO:  struct sigframe    { pretcode 4, sig 4, sigcontext 88, fpstate_unused 624, extramask 4, retcode 8 }
With SA_SIGINFO:     struct rt_sigframe { pretcode 4, sig 4, pinfo 4, puc 4, siginfo 128, ucontext { flags 4, link 4,
                                          stack_t 12, sigcontext 88, sigset_t 8 }, retcode 8 }
The FP image follows above either.
"""

from __future__ import annotations

from arch.abi.ldt import CODE_SEGMENT, DPL, NO_DESCRIPTOR, PRESENT, READ_WRITE, RPL, SEGMENT, is_data
from arch.abi.signal import ILL_BADSTK, SA_ONSTACK, SA_SIGINFO, SIGILL
from arch.i386.registers import USER_CS, USER_DS
from arch.sigframe import Action, FrameHost, SignalInfo, choose_stack, restore_altstack, restorer
from arch.x86_64.fp import INITIAL

HAS_RESTORER = True
SC, EXTRAMASK, FRAME_SIZE = 8, 8 + 88 + 624, 8 + 88 + 624 + 12
RT_INFO, RT_UC = 16, 144
RT_STACK, RT_SC, RT_MASK = RT_UC + 8, RT_UC + 20, RT_UC + 108
RT_FRAME_SIZE = RT_MASK + 16
# struct sigcontext_32: 4 bytes each in this order; None: not a register.
SIGCONTEXT = ("gs", "fs", "es", "ds", "di", "si", "bp", "sp", "bx", "dx", "cx", "ax", None, None, "ip", "cs", "flags",
              None, "ss")  # fmt: skip
TRAPNO, SP_AT_SIGNAL, FPSTATE, OLDMASK, CR2 = 48, 68, 76, 80, 84
FIX_EFLAGS = 0x50DD5


def _words(*values: int) -> bytes:
    return b"".join((v & 0xFFFFFFFF).to_bytes(4, "little") for v in values)


def _context(k: FrameHost, regs: int, info: SignalInfo, blocked: int, fp: int) -> bytes:
    data = bytearray(88)
    for i, name in enumerate(SIGCONTEXT):
        if name is not None:
            data[4 * i : 4 * i + 4] = _words(k.regs_get(regs, name))
    data[SP_AT_SIGNAL : SP_AT_SIGNAL + 4] = _words(k.regs_get(regs, "sp"))
    number, error, address = k.trap
    data[TRAPNO : TRAPNO + 8] = _words(number, error)
    data[FPSTATE : FPSTATE + 12] = _words(fp, blocked, address)
    return bytes(data)


def setup_rt_frame(k: FrameHost, regs: int, info: SignalInfo, action: Action, blocked: int) -> None:
    """Write the frame below the user's stack pointer and aim the registers at the handler.  EFAULT."""
    get, put = k.regs_get, k.regs_set
    rt = bool(action.flags & SA_SIGINFO)
    sp = choose_stack(k.stack, get(regs, "sp"), bool(action.flags & SA_ONSTACK))
    fp = (sp - 512) & ~63
    frame = ((fp - (RT_FRAME_SIZE if rt else FRAME_SIZE) + 4) & ~15) - 4
    context = _context(k, regs, info, blocked, fp)
    back = restorer(k, action)
    if rt:
        head = _words(back, info.sig, frame + RT_INFO, frame + RT_UC) + k.siginfo()
        body = _words(0, 0) + k.altstack_bytes() + context + blocked.to_bytes(8, "little")
        k.copy_to_user(frame, head + body)
    else:
        k.copy_to_user(frame, _words(back, info.sig) + context)
        k.copy_to_user(frame + EXTRAMASK, _words(blocked >> 32))
    k.save_fp(fp)
    k.cpu.set_fp_state(INITIAL)
    put(regs, "sp", frame)
    put(regs, "ip", action.handler)
    put(regs, "ax", info.sig)
    put(regs, "dx", frame + RT_INFO if rt else 0)
    put(regs, "cx", frame + RT_UC if rt else 0)
    for name, value in (("ds", USER_DS), ("es", USER_DS), ("ss", USER_DS), ("cs", USER_CS)):
        put(regs, name, value)
    put(regs, "flags", get(regs, "flags") & ~0x10500)
    put(regs, "orig_ax", -1)


def _restore(k: FrameHost, regs: int, address: int) -> None:
    raw = k.copy_from_user(address, 88)
    for i, name in enumerate(SIGCONTEXT):
        if name is None:
            continue
        value = int.from_bytes(raw[4 * i : 4 * i + 4], "little")
        if name in ("gs", "fs", "es", "ds", "cs", "ss"):
            value = value & 0xFFFF | (3 if name in ("cs", "ss") else 0)
            if name not in ("cs", "ss") and not _loadable(k, value):
                value = 0  # the fixup of a segment register that cannot be loaded
        elif name == "flags":
            value = (k.regs_get(regs, "flags") & ~FIX_EFLAGS) | (value & FIX_EFLAGS)
        k.regs_set(regs, name, value)
    k.regs_set(regs, "orig_ax", -1)
    fp = int.from_bytes(raw[FPSTATE : FPSTATE + 4], "little")
    if fp:
        k.restore_fp(fp)


def _descriptor(k: FrameHost, selector: int) -> bytes:
    """What the selector names; nothing: a descriptor that nobody can load."""
    found = k.cpu.descriptor(selector, k.cpu.thread_descriptors, k.cpu.address_space)
    return found if found is not None else NO_DESCRIPTOR


def _loadable(k: FrameHost, selector: int) -> bool:
    """Whether ds, es, fs and gs take it; null ones they do."""
    return selector <= RPL or is_data(_descriptor(k, selector))


def return_fault(k: FrameHost, regs: int) -> tuple[int, int] | None:
    """What iret refuses, asm_iret_error() turns into SIGILL.  arch/x86/kernel/traps.c:iret_error"""
    code = _descriptor(k, k.regs_get(regs, "cs") & 0xFFFF)[5]
    stack = _descriptor(k, k.regs_get(regs, "ss") & 0xFFFF)[5]
    runs = code & (PRESENT | SEGMENT | DPL | CODE_SEGMENT) == PRESENT | SEGMENT | DPL | CODE_SEGMENT
    if runs and stack & (PRESENT | SEGMENT | DPL | CODE_SEGMENT | READ_WRITE) == PRESENT | SEGMENT | DPL | READ_WRITE:
        return None
    return SIGILL, ILL_BADSTK


def rt_sigreturn(k: FrameHost, regs: int) -> int:
    """Load the registers from the frame; the mask of blocked signals.  EFAULT."""
    frame = k.regs_get(regs, "sp") - 4
    raw = k.copy_from_user(frame, RT_FRAME_SIZE)
    _restore(k, regs, frame + RT_SC)
    restore_altstack(k, raw[RT_STACK : RT_STACK + 12])
    return int.from_bytes(raw[RT_MASK : RT_MASK + 8], "little")


def sigreturn(k: FrameHost, regs: int) -> int:
    """The same for a frame without siginfo.  Its restorer has popped the signal number."""
    frame = k.regs_get(regs, "sp") - 8
    low = int.from_bytes(k.copy_from_user(frame + SC + OLDMASK, 4), "little")
    high = int.from_bytes(k.copy_from_user(frame + EXTRAMASK, 4), "little")
    _restore(k, regs, frame + SC)
    return low | high << 32
