"""arm64 signal frames.  arch/arm64/kernel/signal.c, arch/arm64/include/uapi/asm/{sigcontext,ucontext}.h.  Bytes.

struct rt_sigframe { siginfo 128; ucontext { flags 8, link 8, stack_t 24, sigset_t 8, pad 120, (align 16)
                     sigcontext { fault_address 8, regs[31] 248, sp 8, pc 8, pstate 8, (align 16) records 4096 } } }
followed by a frame record { fp, lr } that the handler's x29 points to.
"""

from __future__ import annotations

from arch.abi.signal import SA_ONSTACK, SA_SIGINFO
from arch.sigframe import Action, FrameHost, SignalInfo, choose_stack, restore_altstack, restorer
from arch.sigframe import return_fault as return_fault

HAS_RESTORER = True
UC, STACK, SIGMASK, MCONTEXT = 128, 128 + 16, 128 + 40, 128 + 176
RECORDS = MCONTEXT + 288
FRAME_SIZE = RECORDS + 4096
FPSIMD_MAGIC, FPSIMD_SIZE = 0x46508001, 528
FIELDS = (*(f"regs[{i}]" for i in range(31)), "sp", "pc", "pstate")
PSTATE_FLAGS = 0xF0000000  # N, Z, C, V


def setup_rt_frame(k: FrameHost, regs: int, info: SignalInfo, action: Action, blocked: int) -> None:
    """Write the frame below the user's stack pointer and aim the registers at the handler.  EFAULT."""
    get, put = k.regs_get, k.regs_set
    sp = choose_stack(k.stack, get(regs, "sp"), bool(action.flags & SA_ONSTACK))
    record = (sp & ~15) - 16
    frame = record - FRAME_SIZE & ~15
    data = bytearray(FRAME_SIZE)
    data[:128] = k.siginfo()
    data[STACK : STACK + 24] = k.altstack_bytes()
    data[SIGMASK : SIGMASK + 8] = blocked.to_bytes(8, "little")
    data[MCONTEXT : MCONTEXT + 8] = info.addr.to_bytes(8, "little")
    for i, name in enumerate(FIELDS):
        data[MCONTEXT + 8 + 8 * i : MCONTEXT + 16 + 8 * i] = get(regs, name).to_bytes(8, "little")
    data[RECORDS : RECORDS + 8] = FPSIMD_MAGIC.to_bytes(4, "little") + FPSIMD_SIZE.to_bytes(4, "little")
    k.copy_to_user(frame, bytes(data))
    k.save_fp(frame + RECORDS + 8)
    k.copy_to_user(record, get(regs, "regs[29]").to_bytes(8, "little") + get(regs, "regs[30]").to_bytes(8, "little"))
    put(regs, "regs[0]", info.sig)
    if action.flags & SA_SIGINFO:
        put(regs, "regs[1]", frame)
        put(regs, "regs[2]", frame + UC)
    put(regs, "regs[29]", record)
    put(regs, "regs[30]", restorer(k, action))
    put(regs, "sp", frame)
    put(regs, "pc", action.handler)


def rt_sigreturn(k: FrameHost, regs: int) -> int:
    """Load the registers from the frame; the mask of blocked signals.  EFAULT."""
    get, put = k.regs_get, k.regs_set
    frame = get(regs, "sp")
    raw = k.copy_from_user(frame, RECORDS)
    for i, name in enumerate(FIELDS):
        value = int.from_bytes(raw[MCONTEXT + 8 + 8 * i : MCONTEXT + 16 + 8 * i], "little")
        if name == "pstate":
            value = (get(regs, name) & ~PSTATE_FLAGS) | (value & PSTATE_FLAGS)
        put(regs, name, value)
    k.restore_fp(frame + RECORDS + 8)
    restore_altstack(k, raw[STACK : STACK + 24])
    return int.from_bytes(raw[SIGMASK : SIGMASK + 8], "little")
