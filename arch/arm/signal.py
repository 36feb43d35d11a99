"""32-bit ARM signal frames.  arch/arm/kernel/signal.c, arch/arm/include/asm/ucontext.h.  Offsets and sizes in bytes.

struct sigframe    { ucontext { flags 4, link 4, stack_t 12, sigcontext 84, sigset_t 8, pad 120, (align 8)
                     regspace 512 }, retcode 16 }
struct rt_sigframe { siginfo 128, sigframe }          with SA_SIGINFO
struct sigcontext  { trap_no, error_code, oldmask, r0..r10, fp, ip, sp, lr, pc, cpsr, fault_address }
"""

from __future__ import annotations

from arch.abi.signal import SA_ONSTACK, SA_SIGINFO
from arch.sigframe import Action, FrameHost, SignalInfo, choose_stack, restore_altstack, restorer
from arch.sigframe import return_fault as return_fault

HAS_RESTORER = True
STACK, SC, MASK, REGSPACE = 8, 20, 104, 232
FRAME_SIZE = REGSPACE + 512 + 16
INFO_SIZE = 128
VFP_MAGIC = 0x56465001
FIELDS = tuple(f"uregs[{i}]" for i in range(17))  # r0..r10, fp, ip, sp, lr, pc, cpsr
CPSR = "uregs[16]"
PSR_T, PSR_USER_BITS = 0x20, 0xF80F0020 | 0x0600FC00  # Thumb; what a program may set


def _words(*values: int) -> bytes:
    return b"".join((v & 0xFFFFFFFF).to_bytes(4, "little") for v in values)


def setup_rt_frame(k: FrameHost, regs: int, info: SignalInfo, action: Action, blocked: int) -> None:
    """Write the frame below the user's stack pointer and aim the registers at the handler.  EFAULT."""
    get, put = k.regs_get, k.regs_set
    rt = bool(action.flags & SA_SIGINFO)
    sp = choose_stack(k.stack, get(regs, "uregs[13]"), bool(action.flags & SA_ONSTACK))
    frame = (sp - FRAME_SIZE - (INFO_SIZE if rt else 0)) & ~7
    uc = frame + (INFO_SIZE if rt else 0)
    data = bytearray(FRAME_SIZE)
    data[:4] = _words(0 if rt else 0x5AC3C35A)
    data[STACK : STACK + 12] = k.altstack_bytes()
    data[SC : SC + 84] = _words(0, 0, blocked, *(get(regs, name) for name in FIELDS), info.addr)
    data[MASK : MASK + 8] = blocked.to_bytes(8, "little")
    data[REGSPACE : REGSPACE + 8] = _words(VFP_MAGIC, 288)
    k.copy_to_user(uc, bytes(data))
    k.save_fp(uc + REGSPACE + 8)
    if rt:
        k.copy_to_user(frame, k.siginfo())
    put(regs, "uregs[0]", info.sig)
    if rt:
        put(regs, "uregs[1]", frame)
        put(regs, "uregs[2]", uc)
    put(regs, "uregs[13]", frame)
    put(regs, "uregs[14]", restorer(k, action))
    put(regs, "uregs[15]", action.handler & ~1)
    put(regs, CPSR, (get(regs, CPSR) & ~(PSR_T | 0x0600FC00)) | (PSR_T if action.handler & 1 else 0))


def _restore(k: FrameHost, regs: int, uc: int) -> int:
    raw = k.copy_from_user(uc, REGSPACE + 8)
    for i, name in enumerate(FIELDS):
        value = int.from_bytes(raw[SC + 12 + 4 * i : SC + 16 + 4 * i], "little")
        if name == CPSR:
            value = (k.regs_get(regs, name) & ~PSR_USER_BITS) | (value & PSR_USER_BITS)
        k.regs_set(regs, name, value)
    if int.from_bytes(raw[REGSPACE : REGSPACE + 4], "little") == VFP_MAGIC:
        k.restore_fp(uc + REGSPACE + 8)
    restore_altstack(k, raw[STACK : STACK + 12])
    return int.from_bytes(raw[MASK : MASK + 8], "little")


def rt_sigreturn(k: FrameHost, regs: int) -> int:
    """Load the registers from the frame; the mask of blocked signals.  EFAULT."""
    return _restore(k, regs, k.regs_get(regs, "uregs[13]") + INFO_SIZE)


def sigreturn(k: FrameHost, regs: int) -> int:
    """The same for a frame without siginfo."""
    return _restore(k, regs, k.regs_get(regs, "uregs[13]"))
