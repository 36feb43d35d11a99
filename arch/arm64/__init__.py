"""arm64.  arch/arm64 of Linux, little endian, 4 KiB pages, 48-bit addresses."""

from __future__ import annotations

import struct
from pathlib import Path

from unicorn import arm64_const as a64
from unicorn import unicorn_const as uc

from arch.architecture import Architecture, EntryPoints, SyscallAbi
from arch.arm64 import registers, text
from arch.arm64.cpuinfo import CPUINFO
from arch.arm64.exceptions import EXCEPTIONS
from arch.arm64.files import FILES
from arch.arm64.traces import TRACES
from arch.arm64.usdt import USDT
from arch.callfacts import CallFacts
from arch.datamodel import LP64_LE_UNSIGNED_CHAR
from arch.fpstate import FpImage, Piece
from arch.generic.syscalls import NUMBERS
from arch.memory import KernelMap
from arch.native import CounterScale, EmulatorFacts, Role, SystemRead
from arch.support import FrameFacts, Support, TextFacts
from arch.vdso import VdsoFacts

_UC = {name: getattr(a64, "UC_ARM64_REG_" + name.upper()) for name in registers.GENERAL}
_UC["tpidr_el0"] = a64.UC_ARM64_REG_TPIDR_EL0
_UC["cpacr_el1"] = a64.UC_ARM64_REG_CPACR_EL1
_UC["cp_sync"] = a64.UC_ARM64_REG_CP_REG

# Writing PSTATE alone leaves the emulator's cached mode behind; writing any system register refreshes it.
# struct uc_arm64_cp_reg: crn, crm, op0, op1, op2, value: TPIDR_EL1 = 0.
_REFRESH = struct.pack("<5I4xQ", 13, 0, 3, 0, 4, 0)

EMULATOR = EmulatorFacts(
    uc_arch=uc.UC_ARCH_ARM64,
    uc_mode=uc.UC_MODE_ARM,
    cpu_model=None,
    page_size=4096,
    uc_registers=_UC,
    pc="pc",
    sp="sp",
    privilege="pstate",
    privilege_mask=0xC,
    privilege_user=0,
    hypercall_register="x16",
    result_register="x0",
    target_register="x17",
    argument_registers=tuple(f"x{i}" for i in range(8)),
    spare=(16, 16),
    syscall_intno=2,
    hypercall_intno=2,
    trap_roles={1: Role.UNDEFINED, 4: Role.ALIGNMENT, 7: Role.BREAKPOINT},
    up_constants=(("pstate", registers.PSTATE_KERNEL), ("cp_sync", 0)),
    up_blobs={"cp_sync": _REFRESH},
    syscall_insn_size=4,
    syscall_number_register="x8",
    syscall_fill={"orig_x0": "x0", "syscallno": "x8", "stackframe[0]": 0, "stackframe[1]": 0},
    trap_fill={"orig_x0": "x0", "syscallno": -1, "stackframe[0]": 0, "stackframe[1]": 0},
    probe_fill={"orig_x0": 0, "syscallno": -1},
    read_only_fields=("pstate",),
    reads=(
        SystemRead(registers.CNTVCT_EL0, registers.MRS_MASK, CounterScale(ns=1_000_000_000 // registers.COUNTER_HZ)),
        SystemRead(registers.CNTFRQ_EL0, registers.MRS_MASK, registers.COUNTER_HZ),
        *(SystemRead(*row, since="4.11") for row in registers.ID_REGISTERS),
        *(SystemRead(*row, since="6.1") for row in registers.ID_REGISTERS_32),
    ),
    numbered=tuple(f"x{i}" for i in range(31)),
)

TEXT = TextFacts(
    function=text.function,
    stubs=text.stubs,
    switch_symbol="cpu_switch_to",
    fork_symbol="ret_from_fork",
    kretprobe_symbol="__kretprobe_trampoline",
    padding=bytes.fromhex("1f2003d5"),
    frameless=((0, 12, 0), (12, 16, 32), (-4, 0, 0)),  # to stp; to mov x29, sp; ret
    frame_size=32,
    hypercall_at=20,
    returns_at=32,
    switch_frame=text.SWITCH_FRAME,
    capstone_arch="CS_ARCH_ARM64",
    capstone_modes=("CS_MODE_ARM",),
    vdso=text.VDSO,
    shared=VdsoFacts(  # arch/arm64/kernel/vdso/vdso.lds.S
        soname="linux-vdso.so.1",
        version="LINUX_2.6.39",
        functions=(
            ("__kernel_gettimeofday", "gettimeofday"),
            ("__kernel_clock_gettime", "clock_gettime"),
            ("__kernel_clock_getres", "clock_getres"),
        ),
        call=text.vdso_call,
        trampolines=(("__kernel_rt_sigreturn", 0),),
    ),
    nop=bytes.fromhex("1f2003d5"),
)

ENTRY = EntryPoints(
    stubs={
        "syscall": "el0t_64_sync",
        "page_fault": "el0t_64_sync",
        "undefined": "el0t_64_sync",
        "breakpoint": "el0t_64_sync",
        "debug": "el0t_64_sync",
        "protection": "el0t_64_sync",
        "fp": "el0t_64_sync",
        "alignment": "el0t_64_sync",
        "timer": "el0t_64_irq",
        "interrupt": "el0t_64_irq",
        "fork": "ret_from_fork",
    },
    handlers={
        "syscall": "el0_svc",
        "page_fault": "el0_da",
        "undefined": "el0_undef",
        "breakpoint": "brk_handler",
        "debug": "single_step_handler",
        "protection": "el0_inv",
        "fp": "el0_fpsimd_exc",
        "alignment": "el0_pc",
        "timer": "arch_timer_handler_virt",
        "interrupt": "el0t_64_irq_handler",
        "fork": "schedule_tail",
    },
)


# struct user_fpsimd_state behind its header in struct fpsimd_context: fpsr, fpcr, v0..v31.
FP = FpImage(
    size=8 + 32 * 16,
    pieces=(
        Piece(a64.UC_ARM64_REG_FPSR, 0, 4),
        Piece(a64.UC_ARM64_REG_FPCR, 4, 4),
        *(Piece(a64.UC_ARM64_REG_Q0 + i, 8 + 16 * i, 16) for i in range(32)),
    ),
)


OLDER_NAMES = (
    ("5.15", {"__kretprobe_trampoline": "kretprobe_trampoline"}),
    ("5.14", {"el0t_64_sync": "el0_sync", "el0t_64_irq": "el0_irq", "el0t_64_irq_handler": "gic_handle_irq"}),
    (
        "5.5",  # arch/arm64/kernel/entry-common.c is new
        {
            "el0_svc": "el0_svc_naked",
            "el0_da": "do_mem_abort",
            "el0_undef": "do_undefinstr",
            "el0_inv": "bad_mode",
            "el0_fpsimd_exc": "do_fpsimd_exc",
            "el0_pc": "do_sp_pc_abort",
        },
    ),
)


def _prepare(cpu: object) -> None:
    """FP and SIMD for user code, then kernel mode."""
    from arch.cpu import Cpu

    assert isinstance(cpu, Cpu)
    cpu.write_reg("cpacr_el1", 3 << 20)
    cpu.write_reg("pstate", registers.PSTATE_KERNEL)
    sctlr = cpu.uc.reg_read(a64.UC_ARM64_REG_CP_REG, registers.SCTLR_EL1)
    cpu.uc.reg_write(a64.UC_ARM64_REG_CP_REG, (*registers.SCTLR_EL1, sctlr | registers.SCTLR_USER))
    cpu.write_reg("cp_sync", 0)


ARCHITECTURE = Architecture(
    name="arm64",
    trampoline_arguments=(8, "6.16"),
    machine="aarch64",
    srcarch="arm64",
    calls=CallFacts(
        user_regs=(*(f"regs[{i}]" for i in range(31)), "sp", "pc", "pstate"),
        audit_arch=0xC00000B7,
        sysemu_since="5.3",
        result_before="argument",
        child_ends_call=False,
    ),
    elf_machine=183,  # EM_AARCH64
    elf_class=2,
    model=LP64_LE_UNSIGNED_CHAR,
    byteorder="little",
    word=8,
    page_size=4096,
    map=KernelMap(  # Documentation/arm64/memory.rst, 48-bit addresses
        text_base=0xFFFF800008000000,
        text_size=0x400000,
        direct_map=0xFFFF000000000000,
        vmalloc_start=0xFFFF80000A000000,
        vmalloc_end=0xFFFFFBFFF0000000,
        user_end=0x0001000000000000,
        stack_size=16384,
        window=0xFFFFFE0000000000,
    ),
    registers=registers.GENERAL,
    pt_regs_by_version=(("4.14", registers.PT_REGS), ("3.7", registers.PT_REGS_4_1)),
    function_args=registers.FUNCTION_ARGS,
    perf_regs=registers.PERF_REGS,
    stack_args_offset=0,
    return_value="regs[0]",
    stack_pointer="sp",
    instruction_pointer="pc",
    frame_pointer="regs[29]",
    link_register="regs[30]",
    kprobe_registers={
        **{f"x{i}": f"regs[{i}]" for i in range(31)},
        "lr": "regs[30]",
        "sp": "sp",
        "pc": "pc",
        "pstate": "pstate",
    },
    crash_registers=registers.CRASH,
    oops_pc="pc : {}",
    syscall_abis=(
        SyscallAbi(
            name="arm64",
            number="syscallno",
            args=registers.SYSCALL_ARGS,
            result="regs[0]",
            numbers=NUMBERS,
            insn=bytes.fromhex("010000d4"),
            wrapper_prefix="__arm64_sys_",
            wrapper_since="4.19",
            user_number="x8",
            clone_order=("flags", "stack", "parent_tid", "tls", "child_tid"),
        ),
    ),
    entry=ENTRY,
    kprobe_breakpoint=(0xD4200080).to_bytes(4, "little"),
    uprobe_breakpoint=(0xD42000A0).to_bytes(4, "little"),
    kprobe_ip_offset=0,
    elf_platform="aarch64",
    hwcap=0x8FF,  # FP ASIMD EVTSTRM AES PMULL SHA1 SHA2 CRC32 CPUID
    hwcap2=(("5.2", 0),),
    extends_int_results=False,
    user_stack_top=0x0001000000000000,
    mmap_base=0x0000FFFFF7FFF000,
    elf_et_dyn_base=0x0000AAAAAAAA0000,
    files=FILES,
    headers=(Path(__file__).with_name("kernel.h"),),
    own_names={
        "el0_svc_common": "el0_svc_common.constprop.0",
        "exit_to_user_mode_loop": "do_notify_resume",
        "arch_do_signal_or_restart": "do_signal",
    },
    syscall_chain=(  # arch/arm64/kernel/syscall.c
        ("void do_el0_svc(struct pt_regs *regs)", "5.5"),
        ("void el0_svc_common(struct pt_regs *regs, int scno, int sc_nr, const syscall_fn_t *syscall_table)", "4.19"),
        (
            "void invoke_syscall(struct pt_regs *regs, unsigned int scno, unsigned int sc_nr, const syscall_fn_t *table)",
            "4.19",
        ),
    ),
    exceptions=EXCEPTIONS,
    trap_fields={"orig": "orig_x0"},
    user_pt_regs_size=272,
    older_names=OLDER_NAMES,
    cpuinfo=CPUINFO,
    traces=TRACES,
    usdt=USDT,
    support=Support(
        emulator=EMULATOR,
        text=TEXT,
        frames=FrameFacts(next_frame=0, return_address=8),
        kernel_constants=(("pstate", registers.PSTATE_KERNEL), ("cp_sync", 0)),
        prepare=_prepare,
        tls_register="tpidr_el0",
        fp=FP,
        user_mode_fields={"pstate": registers.PSTATE_USER},
    ),
)
