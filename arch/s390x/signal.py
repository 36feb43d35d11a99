"""s390x signal frames.  arch/s390/kernel/signal.c, arch/s390/include/uapi/asm/{sigcontext,ucontext}.h.  Bytes.

    struct rt_sigframe { callee-used stack 160; svc instruction 2; siginfo 128 (at 168); ucontext { flags 8, link 8,
                         stack_t 24, sigregs { psw 16, gprs 128, access registers 64, fpc 4, pad 4, fprs 128 },
                         sigset_t 8, pad 120 } }
Without SA_SIGINFO: struct sigframe { callee-used stack 160; sigcontext { oldmask 8, sregs pointer 8 }; sigregs 344;
                         signo 4 }, and sigreturn().
The machine is one without vector registers.
"""

from __future__ import annotations

from arch.abi.signal import SA_ONSTACK, SA_RESTORER, SA_SIGINFO
from arch.s390x.text import VDSO_SIGRETURN
from arch.sigframe import Action, FrameHost, SignalInfo, choose_stack, restore_altstack, restorer
from arch.sigframe import return_fault as return_fault

HAS_RESTORER = True
SVC, INFO, UC = 160, 168, 296
STACK, MCONTEXT = UC + 16, UC + 40
FP = MCONTEXT + 208
SIGMASK = MCONTEXT + 344
FRAME_SIZE = SIGMASK + 128
OLD_SC, OLD_SREGS, OLD_FRAME_SIZE = 160, 176, 176 + 344 + 8
FIELDS = ("psw.mask", "psw.addr", *(f"gprs[{i}]" for i in range(16)))
PSW_MASK_USER = 0x0000FF0180000000  # condition code and program mask, and what a program may choose


def _sigregs(k: FrameHost, regs: int) -> bytes:
    """_sigregs without its FP part, which save_fp() writes."""
    data = bytearray(344)
    for i, name in enumerate(FIELDS):
        data[8 * i : 8 * i + 8] = k.regs_get(regs, name).to_bytes(8, "big")
    data[144:152] = k.cpu.tls.to_bytes(8, "big")  # access registers 0 and 1 hold the thread pointer
    return bytes(data)


def setup_rt_frame(k: FrameHost, regs: int, info: SignalInfo, action: Action, blocked: int) -> None:
    """Write the frame below the user's stack pointer and aim the registers at the handler.  EFAULT."""
    get, put = k.regs_get, k.regs_set
    rt = bool(action.flags & SA_SIGINFO)
    sp = choose_stack(k.stack, get(regs, "gprs[15]"), bool(action.flags & SA_ONSTACK))
    frame = sp - (FRAME_SIZE if rt else OLD_FRAME_SIZE) & ~7
    data = bytearray(FRAME_SIZE if rt else OLD_FRAME_SIZE)
    data[:8] = get(regs, "gprs[15]").to_bytes(8, "big")  # back chain
    if rt:
        data[SVC : SVC + 2] = bytes((0x0A, 173))
        data[INFO : INFO + 128] = k.siginfo()
        data[STACK : STACK + 24] = k.altstack_bytes()
        data[MCONTEXT : MCONTEXT + 344] = _sigregs(k, regs)
        data[SIGMASK : SIGMASK + 8] = blocked.to_bytes(8, "big")
    else:
        data[OLD_SC : OLD_SC + 16] = blocked.to_bytes(8, "big") + (frame + OLD_SREGS).to_bytes(8, "big")
        data[OLD_SREGS : OLD_SREGS + 344] = _sigregs(k, regs)
        data[OLD_SREGS + 344 : OLD_SREGS + 348] = info.sig.to_bytes(4, "big")
    k.copy_to_user(frame, bytes(data))
    k.save_fp(frame + (FP if rt else OLD_SREGS + 208))
    back = restorer(k, action)
    if not rt and not action.flags & SA_RESTORER:
        back += VDSO_SIGRETURN
    put(regs, "gprs[14]", back)
    put(regs, "gprs[15]", frame)
    put(regs, "psw.addr", action.handler)
    put(regs, "gprs[2]", info.sig)
    put(regs, "gprs[3]", frame + (INFO if rt else OLD_SC))
    if rt:
        put(regs, "gprs[4]", frame + UC)


def _restore(k: FrameHost, regs: int, address: int) -> None:
    raw = k.copy_from_user(address, 208)
    mask = k.regs_get(regs, "psw.mask")
    for i, name in enumerate(FIELDS):
        value = int.from_bytes(raw[8 * i : 8 * i + 8], "big")
        if name == "psw.mask":
            value = (mask & ~PSW_MASK_USER) | (value & PSW_MASK_USER)
        k.regs_set(regs, name, value)
    k.cpu.tls = int.from_bytes(raw[144:152], "big")
    k.restore_fp(address + 208)


def rt_sigreturn(k: FrameHost, regs: int) -> int:
    """Load the registers from the frame; the mask of blocked signals.  EFAULT."""
    frame = k.regs_get(regs, "gprs[15]")
    raw = k.copy_from_user(frame, FRAME_SIZE)
    _restore(k, regs, frame + MCONTEXT)
    restore_altstack(k, raw[STACK : STACK + 24])
    return int.from_bytes(raw[SIGMASK : SIGMASK + 8], "big")


def sigreturn(k: FrameHost, regs: int) -> int:
    """The same for a frame without siginfo."""
    frame = k.regs_get(regs, "gprs[15]")
    mask = int.from_bytes(k.copy_from_user(frame + OLD_SC, 8), "big")
    _restore(k, regs, frame + OLD_SREGS)
    return mask


__all__ = ["HAS_RESTORER", "return_fault", "rt_sigreturn", "setup_rt_frame", "sigreturn"]
