"""x86-64 signal frames.  arch/x86/include/uapi/asm/sigcontext.h, arch/x86/kernel/signal.c.  Offsets and sizes in bytes.

struct rt_sigframe { char *pretcode; struct ucontext uc; struct siginfo info; /* fp state follows above */ }
struct ucontext    { flags 8, link 8, stack_t 24, sigcontext 256, sigset_t 8 }
"""

from __future__ import annotations

from arch.abi.errno import EFAULT
from arch.abi.ldt import CODE_SEGMENT, DPL, LOCAL_TABLE, LONG_MODE, PRESENT, READ_WRITE, RPL, SEGMENT
from arch.abi.signal import SA_ONSTACK, SA_RESTORER, SI_KERNEL, SIGBUS, SIGSEGV
from arch.abi.traps import X86_TRAP_GP, X86_TRAP_NP, X86_TRAP_SS
from arch.errors import KernelError
from arch.sigframe import Action, FrameHost, SignalInfo, choose_stack, restore_altstack
from arch.x86_64.fp import INITIAL
from arch.x86_64.registers import USER_CS, USER_DS

HAS_RESTORER = True
UC_OFFSET, MCONTEXT, SIGMASK, INFO = 8, 8 + 40, 8 + 40 + 256, 8 + 40 + 256 + 8
UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS = 2, 4
FRAME_SIZE = INFO + 128
FP_SIZE = 512
REDZONE = 128

# struct sigcontext_64: pt_regs fields in order, 8 bytes each from offset 0.
SIGCONTEXT = ("r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "di", "si", "bp", "bx", "dx", "ax", "cx", "sp",
              "ip", "flags")  # fmt: skip
FIX_EFLAGS = 0x50DD5  # what a handler may change: AC OF DF TF SF ZF AF PF CF RF


def setup_rt_frame(k: FrameHost, regs: int, info: SignalInfo, action: Action, blocked: int) -> None:
    """Write the frame below the user's stack pointer and aim the registers at the handler.  EFAULT."""
    task = k.stack
    get, put = k.regs_get, k.regs_set
    sp = choose_stack(task, get(regs, "sp") - REDZONE, bool(action.flags & SA_ONSTACK))
    if not action.flags & SA_RESTORER:
        raise KernelError(EFAULT, "x86-64 needs SA_RESTORER")
    fp = (sp - FP_SIZE) & ~63
    frame = ((fp - FRAME_SIZE) & ~15) - 8
    context = b"".join(get(regs, name).to_bytes(8, "little") for name in SIGCONTEXT)
    context += get(regs, "cs").to_bytes(2, "little") + bytes(4) + get(regs, "ss").to_bytes(2, "little")
    number, error, address = k.trap
    for value in (error, number, blocked, address & (1 << 64) - 1, fp):  # err, trapno, oldmask, cr2, fpstate
        context += value.to_bytes(8, "little")
    long_mode = _is_long(k, get(regs, "cs"))
    uc = (
        (UC_SIGCONTEXT_SS | (UC_STRICT_RESTORE_SS if long_mode else 0)).to_bytes(8, "little")
        + bytes(8)
        + k.altstack_bytes()
    )
    uc += context.ljust(256, b"\0") + blocked.to_bytes(8, "little")
    k.copy_to_user(frame, action.restorer.to_bytes(8, "little") + uc + k.siginfo())
    k.save_fp(fp)
    k.cpu.set_fp_state(INITIAL)
    put(regs, "di", info.sig)
    put(regs, "ax", 0)
    put(regs, "si", frame + INFO)
    put(regs, "dx", frame + UC_OFFSET)
    put(regs, "ip", action.handler)
    put(regs, "sp", frame)
    put(regs, "cs", USER_CS)
    if _refuses_stack(k, get(regs, "ss")) is not None:
        put(regs, "ss", USER_DS)  # else it stays: who looks at it sees what was interrupted
    put(regs, "flags", get(regs, "flags") & ~0x10500)  # DF, RF, TF
    put(regs, "orig_ax", -1)


def _descriptor(k: FrameHost, selector: int) -> bytes | None:
    return k.cpu.descriptor(selector, k.cpu.thread_descriptors, k.cpu.address_space)


def _is_long(k: FrameHost, cs: int) -> bool:
    """user_64bit_mode()."""
    raw = _descriptor(k, cs)
    return raw is not None and bool(raw[6] & LONG_MODE)


def _refuses_code(k: FrameHost, selector: int) -> int | None:
    """The trap that iret makes of a cs, None: none."""
    raw = _descriptor(k, selector)
    if raw is None or raw[5] & (SEGMENT | DPL | CODE_SEGMENT) != SEGMENT | DPL | CODE_SEGMENT:
        return X86_TRAP_GP
    return None if raw[5] & PRESENT else X86_TRAP_NP


def _refuses_stack(k: FrameHost, selector: int) -> int | None:
    """The trap that iret makes of an ss, None: none."""
    raw = _descriptor(k, selector)
    if raw is None or raw[5] & (SEGMENT | DPL | CODE_SEGMENT | READ_WRITE) != SEGMENT | DPL | READ_WRITE:
        return X86_TRAP_GP
    return None if raw[5] & PRESENT else X86_TRAP_SS


def return_fault(k: FrameHost, regs: int) -> tuple[int, int] | None:
    """What iret refuses is a trap of the program's.  arch/x86/entry/entry_64.S: native_irq_return_iret

    Where the stack is of the local table, the kernel returns from another stack and learns of a double fault only
    (exc_double_fault()): which trap it was, and its error code, are lost.
    """
    local = k.regs_get(regs, "ss") & LOCAL_TABLE
    for name, refuses in (("cs", _refuses_code), ("ss", _refuses_stack)):
        selector = k.regs_get(regs, name) & 0xFFFF
        trap = refuses(k, selector)
        if trap is not None:
            if local:
                trap, selector = X86_TRAP_GP, 0
            k.trapped(trap, selector & ~RPL)
            return (SIGSEGV if trap == X86_TRAP_GP else SIGBUS), SI_KERNEL
    return None


def rt_sigreturn(k: FrameHost, regs: int) -> int:
    """Load the registers from the frame; the mask of blocked signals.  EFAULT."""
    get, put = k.regs_get, k.regs_set
    frame = get(regs, "sp") - 8
    raw = k.copy_from_user(frame, FRAME_SIZE)
    for i, name in enumerate(SIGCONTEXT):
        value = int.from_bytes(raw[MCONTEXT + 8 * i : MCONTEXT + 8 * i + 8], "little")
        if name == "flags":
            value = (get(regs, "flags") & ~FIX_EFLAGS) | (value & FIX_EFLAGS)
        put(regs, name, value)
    cs, ss = (int.from_bytes(raw[MCONTEXT + at : MCONTEXT + at + 2], "little") | RPL for at in (144, 150))
    flags = int.from_bytes(raw[UC_OFFSET : UC_OFFSET + 8], "little")
    if not flags & UC_STRICT_RESTORE_SS and _is_long(k, cs) and _refuses_stack(k, ss) is not None:
        ss = USER_DS  # force_valid_ss()
    put(regs, "cs", cs)
    put(regs, "ss", ss)
    put(regs, "orig_ax", -1)
    fp = int.from_bytes(raw[MCONTEXT + 184 : MCONTEXT + 192], "little")
    if fp:
        k.restore_fp(fp)
    restore_altstack(k, raw[UC_OFFSET + 16 : UC_OFFSET + 40])
    return int.from_bytes(raw[SIGMASK : SIGMASK + 8], "little")
