"""32-bit ARM (EABI, ARMv7, little endian).  arch/arm of Linux, without high memory."""

from __future__ import annotations

from pathlib import Path

from unicorn import arm_const as arm
from unicorn import unicorn_const as uc

from arch.architecture import Architecture, EntryPoints, SyscallAbi
from arch.arm import registers, text
from arch.arm.files import FILES
from arch.arm.syscalls import NUMBERS
from arch.arm.usdt import USDT
from arch.callfacts import CallFacts
from arch.datamodel import ILP32_LE_ARM
from arch.fpstate import FpImage, Piece
from arch.memory import KernelMap
from arch.native import EmulatorFacts, Role
from arch.support import FrameFacts, Support, TextFacts
from arch.tracefacts import TraceFacts

_UC = {name: getattr(arm, f"UC_ARM_REG_R{i}") for i, name in enumerate(registers.NAMES[:16])}
_UC["cpsr"] = arm.UC_ARM_REG_CPSR
_UC["tpidruro"] = arm.UC_ARM_REG_C13_C0_3

EMULATOR = EmulatorFacts(
    uc_arch=uc.UC_ARCH_ARM,
    uc_mode=uc.UC_MODE_ARM,
    cpu_model=None,
    page_size=4096,
    uc_registers=_UC,
    pc="pc",
    sp="sp",
    privilege="cpsr",
    privilege_mask=0x1F,
    privilege_user=registers.MODE_USER,
    hypercall_register="ip",
    result_register="r0",
    target_register="ip",
    argument_registers=("r0", "r1", "r2", "r3"),
    syscall_intno=2,
    hypercall_intno=2,
    trap_roles={1: Role.UNDEFINED, 7: Role.BREAKPOINT},
    up_constants=(("cpsr", registers.PSR_KERNEL),),
    syscall_insn_size=4,
    syscall_number_register="r7",
    syscall_fill={"uregs[17]": "r0"},
    trap_fill={"uregs[17]": -1},
    probe_fill={"uregs[17]": -1},
    read_only_fields=("uregs[16]",),
    thumb_flag=0x20,
    frame_reserve=8,  # THREAD_START_SP
    outgoing_slots=text.OUTGOING_SLOTS,
)

TEXT = TextFacts(
    function=text.function,
    stubs=text.stubs,
    switch_symbol="__switch_to",
    fork_symbol="ret_from_fork",
    kretprobe_symbol="__kretprobe_trampoline",
    padding=bytes.fromhex("00f020e3"),
    # to push {fp, lr}; to add fp; pop {fp, pc} still has its frame
    frameless=((0, 8, 0), (8, 12, 8)),
    frame_size=8 + 4 * text.OUTGOING_SLOTS,
    hypercall_at=20,
    returns_at=36,
    switch_frame=text.SWITCH_FRAME,
    capstone_arch="CS_ARCH_ARM",
    capstone_modes=("CS_MODE_ARM",),
    vdso=text.VDSO,
    nop=bytes.fromhex("00f020e3"),
)

ENTRY = EntryPoints(
    stubs={
        "syscall": "vector_swi",
        "page_fault": "__dabt_usr",
        "undefined": "__und_usr",
        "breakpoint": "__pabt_usr",
        "debug": "__pabt_usr",
        "protection": "__und_usr",
        "fp": "__und_usr",
        "alignment": "__dabt_usr",
        "timer": "__irq_usr",
        "interrupt": "__irq_usr",
        "fork": "ret_from_fork",
    },
    handlers={
        "syscall": "invoke_syscall",
        "page_fault": "do_DataAbort",
        "undefined": "do_undefinstr",
        "breakpoint": "ptrace_break",
        "debug": "hw_breakpoint_pending",
        "protection": "bad_mode",
        "fp": "VFP_bounce",
        "alignment": "do_alignment",
        "timer": "arch_timer_handler_virt",
        "interrupt": "generic_handle_arch_irq",
        "fork": "schedule_tail",
    },
)

# struct user_vfp: fpregs[32] (double), fpscr.  arch/arm/include/asm/user.h
FP = FpImage(
    size=260,
    pieces=(
        *(Piece(arm.UC_ARM_REG_D0 + i, 8 * i, 8) for i in range(32)),
        Piece(arm.UC_ARM_REG_FPSCR, 256, 4),
    ),
)


def _prepare(cpu: object) -> None:
    """VFP and NEON for user code, then supervisor mode."""
    from arch.cpu import Cpu

    assert isinstance(cpu, Cpu)
    cpu.uc.reg_write(arm.UC_ARM_REG_C1_C0_2, 0xF << 20)
    cpu.uc.reg_write(arm.UC_ARM_REG_FPEXC, 1 << 30)
    cpu.write_reg("cpsr", registers.PSR_KERNEL)


ARCHITECTURE = Architecture(
    name="arm",
    machine="armv7l",
    srcarch="arm",
    calls=CallFacts(
        has_numa=False,
        user_regs=tuple(f"uregs[{i}]" for i in range(18)),
        audit_arch=0x40000028,
        old_ptrace_requests=True,
        ipc_version=True,
        child_ends_call=False,
        pads_statfs64=True,
    ),
    elf_machine=40,  # EM_ARM
    elf_class=1,
    model=ILP32_LE_ARM,
    byteorder="little",
    word=4,
    page_size=4096,
    map=KernelMap(  # Documentation/arm/memory.rst; 3 GiB for user space
        text_base=0xC0008000,
        text_size=0x400000,
        direct_map=0xC0000000,
        vmalloc_start=0xF0800000,
        vmalloc_end=0xFF800000,
        user_end=0xBF000000,
        stack_size=8192,
        text_phys=0x8000,
        window=0xFFE00000,
    ),
    registers=registers.GENERAL,
    pt_regs_by_version=(("2.6", registers.PT_REGS),),
    function_args=registers.FUNCTION_ARGS,
    perf_regs=registers.PERF_REGS,
    stack_args_offset=0,
    return_value="uregs[0]",
    stack_pointer="uregs[13]",
    instruction_pointer="uregs[15]",
    frame_pointer="uregs[11]",
    link_register="uregs[14]",
    kprobe_registers={**{name: f"uregs[{i}]" for i, name in enumerate(registers.NAMES)}, "ORIG_r0": "uregs[17]"},
    crash_registers=registers.CRASH,
    oops_pc="PC is at {}",
    entry_mode=("uregs[16]", 0x20),  # Thumb
    syscall_abis=(
        SyscallAbi(
            name="arm",
            number="uregs[7]",
            args=registers.SYSCALL_ARGS,
            result="uregs[0]",
            # arch/arm/include/uapi/asm/unistd.h: the private calls, above __ARM_NR_BASE
            numbers={**NUMBERS, "cacheflush": 0xF0002, "set_tls": 0xF0005, "get_tls": 0xF0006},
            insn=bytes.fromhex("000000ef"),
            wrapper_prefix="sys_",
            user_number="r7",
            aligned_pairs=True,
            clone_order=("flags", "stack", "parent_tid", "tls", "child_tid"),
        ),
    ),
    entry=ENTRY,
    kprobe_breakpoint=(0xE7F001F8).to_bytes(4, "little"),
    uprobe_breakpoint=(0xE7F001F9).to_bytes(4, "little"),
    kprobe_ip_offset=0,
    elf_platform="v7l",
    hwcap=0x7B0D7,  # SWP HALF THUMB FAST_MULT VFP EDSP NEON VFPv3 TLS VFPv4 IDIVA IDIVT VFPD32, as a Cortex-A15
    hwcap2=(("3.15", 0),),
    user_stack_top=0xBF000000,
    mmap_base=0xB6FFF000,
    elf_et_dyn_base=0x00400000,
    files=FILES,
    headers=(Path(__file__).with_name("kernel.h"),),
    own_names={"exit_to_user_mode_loop": "do_work_pending", "arch_do_signal_or_restart": "do_signal"},
    trap_fields={"orig": "uregs[17]"},
    user_pt_regs_size=72,
    older_names=(("5.15", {"__kretprobe_trampoline": "kretprobe_trampoline"}),),
    traces=TraceFacts(zero_flags_irqs_on=True),
    usdt=USDT,
    support=Support(
        emulator=EMULATOR,
        text=TEXT,
        frames=FrameFacts(next_frame=-4, return_address=0, user_next_frame=-12, user_return_address=-4),
        kernel_constants=(("cpsr", registers.PSR_KERNEL),),
        prepare=_prepare,
        tls_register="tpidruro",
        fp=FP,
        user_mode_fields={"uregs[16]": registers.MODE_USER},
    ),
)
