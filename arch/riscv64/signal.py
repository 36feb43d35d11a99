"""riscv64 signal frames.  arch/riscv/kernel/signal.c, arch/riscv/include/uapi/asm/{sigcontext,ucontext}.h.  Bytes.

struct rt_sigframe { siginfo 128; ucontext { flags 8, link 8, stack_t 24, sigset_t 8, pad 120, (align 16)
                     sigcontext { user_regs_struct 256, fp state 528 } } }
"""

from __future__ import annotations

from arch.abi.signal import SA_ONSTACK
from arch.riscv64.registers import ABI_NAMES
from arch.sigframe import Action, FrameHost, SignalInfo, choose_stack, restore_altstack
from arch.sigframe import return_fault as return_fault

HAS_RESTORER = False
UC, STACK, SIGMASK, MCONTEXT = 128, 128 + 16, 128 + 40, 128 + 176
FP = MCONTEXT + 256
FRAME_SIZE = FP + 528
FIELDS = ("epc", *ABI_NAMES)


def setup_rt_frame(k: FrameHost, regs: int, info: SignalInfo, action: Action, blocked: int) -> None:
    """Write the frame below the user's stack pointer and aim the registers at the handler.  EFAULT."""
    get, put = k.regs_get, k.regs_set
    sp = choose_stack(k.stack, get(regs, "sp"), bool(action.flags & SA_ONSTACK))
    frame = sp - FRAME_SIZE & ~15
    data = bytearray(FRAME_SIZE)
    data[:128] = k.siginfo()
    data[STACK : STACK + 24] = k.altstack_bytes()
    data[SIGMASK : SIGMASK + 8] = blocked.to_bytes(8, "little")
    for i, name in enumerate(FIELDS):
        data[MCONTEXT + 8 * i : MCONTEXT + 8 * i + 8] = get(regs, name).to_bytes(8, "little")
    k.copy_to_user(frame, bytes(data))
    k.save_fp(frame + FP)
    put(regs, "ra", k.vdso_address())
    put(regs, "epc", action.handler)
    put(regs, "sp", frame)
    put(regs, "a0", info.sig)
    put(regs, "a1", frame)
    put(regs, "a2", frame + UC)


def rt_sigreturn(k: FrameHost, regs: int) -> int:
    """Load the registers from the frame; the mask of blocked signals.  EFAULT."""
    frame = k.regs_get(regs, "sp")
    raw = k.copy_from_user(frame, FP)
    for i, name in enumerate(FIELDS):
        k.regs_set(regs, name, int.from_bytes(raw[MCONTEXT + 8 * i : MCONTEXT + 8 * i + 8], "little"))
    k.restore_fp(frame + FP)
    restore_altstack(k, raw[STACK : STACK + 24])
    return int.from_bytes(raw[SIGMASK : SIGMASK + 8], "little")
