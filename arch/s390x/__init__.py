"""s390x.  arch/s390 of Linux, 64 bit.  Kernel and user space have separate address spaces that share the numbers."""

from __future__ import annotations

from pathlib import Path

from unicorn import s390x_const as s390
from unicorn import unicorn_const as uc

from arch.architecture import Architecture, EntryPoints, SyscallAbi
from arch.callfacts import CallFacts
from arch.datamodel import LP64_BE
from arch.fpstate import FpImage, Piece
from arch.memory import KernelMap
from arch.native import CounterScale, EmulatorFacts, Role
from arch.s390x import registers, text
from arch.s390x.cpuinfo import CPUINFO
from arch.s390x.exceptions import EXCEPTIONS
from arch.s390x.files import FILES
from arch.s390x.syscalls import NUMBERS
from arch.s390x.traces import TRACES
from arch.s390x.usdt import USDT
from arch.support import FrameFacts, Support, TextFacts
from arch.vdso import VdsoFacts

_UC = {f"r{i}": getattr(s390, f"UC_S390X_REG_R{i}") for i in range(16)}
_UC["pc"] = s390.UC_S390X_REG_PC
_UC["pswm"] = s390.UC_S390X_REG_PSWM
_UC["a0"] = s390.UC_S390X_REG_A0
_UC["cr0"] = s390.UC_S390X_REG_CR0
_UC["a1"] = s390.UC_S390X_REG_A1

EMULATOR = EmulatorFacts(
    uc_arch=uc.UC_ARCH_S390X,
    uc_mode=uc.UC_MODE_BIG_ENDIAN,
    cpu_model=None,
    uc_registers=_UC,
    pc="pc",
    sp="r15",
    privilege="pswm",
    privilege_mask=registers.PSW_PROBLEM_STATE,
    privilege_user=registers.PSW_PROBLEM_STATE,
    hypercall_register="r1",
    result_register="r2",
    target_register="r0",
    argument_registers=("r2", "r3", "r4", "r5", "r6"),
    syscall_intno=2,
    hypercall_intno=2,
    trap_roles={3: Role.UNDEFINED},
    trap_opcodes=tuple(
        (mask, value, role)
        for role, mask, values in (
            (Role.BREAKPOINT, 0xFFFF, (0x0001,)),
            (Role.DIVIDE, 0xFF00, (0x1D00, 0x5D00)),  # dr d
            (Role.DIVIDE, 0xFFFF, (0xB90D, 0xB91D, 0xB987, 0xB997)),  # dsgr dsgfr dlgr dlr
            (Role.DIVIDE, 0xFFFF, (0xE30D, 0xE31D, 0xE387, 0xE397)),  # dsg dsgf dlg dl
            (Role.FP, 0xFF00, (0xB300, 0xED00)),
        )
        for value in values
    ),
    up_constants=(("pswm", registers.PSW_KERNEL),),
    up_sp_offset=-text.OVERHEAD,
    syscall_insn_size=2,
    syscall_pc_after=False,
    svc_number_in_insn=True,
    syscall_number_register="r1",
    syscall_fill={"orig_gpr2": "r2", "gprs[2]": -38, "args[0]": 0, "int_parm": 0, "int_parm_long": 0, "flags": 1},
    trap_fill={"orig_gpr2": "r2", "args[0]": 0, "int_code": 0x20001, "int_parm": 0, "int_parm_long": 0, "flags": 0},
    probe_fill={"orig_gpr2": 0, "args[0]": 0, "int_code": 0x20001, "int_parm": 0, "int_parm_long": 0, "flags": 0},
    read_only_fields=("psw.mask",),
    numbered=("", *(f"r{i}" for i in range(1, 16))),  # as a base, 0 is none
    stored_counter=CounterScale(units=512, ns=125, first=registers.TOD_UNIX_EPOCH, from_epoch=True),
    condition_mask=registers.PSW_CONDITION,
    outgoing_offset=text.OVERHEAD,
    outgoing_slots=text.OUTGOING_SLOTS,
)

TEXT = TextFacts(
    function=text.function,
    jumping_function=text.jumping_function,
    stubs=text.stubs,
    switch_symbol="__switch_to_asm",
    fork_symbol="ret_from_fork",
    kretprobe_symbol="__kretprobe_trampoline",
    padding=bytes.fromhex("0700"),
    frameless=((0, 20, 0), (20, 26, text.FRAME), (-2, 0, 0)),  # to aghi %r15; to stg; br %r14
    frame_size=text.FRAME,
    hypercall_at=32,
    returns_at=48,
    switch_frame=text.SWITCH_FRAME,
    capstone_arch="CS_ARCH_SYSZ",
    capstone_modes=("CS_MODE_BIG_ENDIAN",),
    vdso=text.VDSO,
    shared=VdsoFacts(  # arch/s390/kernel/vdso64/vdso64.lds.S
        soname="linux-vdso64.so.1",
        version="LINUX_2.6.29",
        functions=(
            ("__kernel_gettimeofday", "gettimeofday"),
            ("__kernel_clock_gettime", "clock_gettime"),
            ("__kernel_clock_getres", "clock_getres"),
            ("__kernel_getcpu", "getcpu"),
        ),
        call=text.vdso_call,
        trampolines=(("__kernel_rt_sigreturn", 0), ("__kernel_sigreturn", text.VDSO_SIGRETURN)),
        hash_word=8,
    ),
    nop=bytes.fromhex("0700"),
)

ENTRY = EntryPoints(
    stubs={
        "syscall": "system_call",
        "page_fault": "pgm_check_handler",
        "undefined": "pgm_check_handler",
        "divide": "pgm_check_handler",
        "breakpoint": "pgm_check_handler",
        "protection": "pgm_check_handler",
        "fp": "pgm_check_handler",
        "alignment": "pgm_check_handler",
        "timer": "ext_int_handler",
        "interrupt": "io_int_handler",
        "fork": "ret_from_fork",
    },
    handlers={
        "syscall": "__do_syscall",
        "page_fault": "do_dat_exception",
        "undefined": "illegal_op",
        "divide": "divide_exception",
        "breakpoint": "do_per_trap",
        "protection": "privileged_op",
        "fp": "data_exception",
        "alignment": "specification_exception",
        "timer": "do_ext_irq",
        "interrupt": "do_io_irq",
        "fork": "schedule_tail",
    },
)


# _s390_fp_regs: fpc, pad, fprs[16].  arch/s390/include/uapi/asm/sigcontext.h
FP = FpImage(
    size=136,
    pieces=(
        Piece(s390.UC_S390X_REG_FPC, 0, 4),
        *(Piece(s390.UC_S390X_REG_F0 + i, 8 + 8 * i, 8) for i in range(16)),
    ),
    big_endian=True,
)


OLDER_NAMES = (
    ("5.15", {"__kretprobe_trampoline": "kretprobe_trampoline"}),
    ("5.12", {"__do_syscall": "sysc_do_svc", "do_ext_irq": "do_IRQ", "__ret_to_user": "sysc_done"}),  # entry in C
    ("4.18", {"__switch_to_asm": "__switch_to"}),
)


def _prepare(cpu: object) -> None:
    from arch.cpu import Cpu

    assert isinstance(cpu, Cpu)
    cpu.write_reg("pswm", registers.PSW_KERNEL)
    cpu.write_reg("cr0", 0x60000)  # AFP registers and vector instructions


ARCHITECTURE = Architecture(
    name="s390x",
    machine="s390x",
    srcarch="s390",
    calls=CallFacts(
        user_regs=("psw.mask", "psw.addr", *(f"gprs[{i}]" for i in range(16)), *["access"] * 8, "orig_gpr2"),
        audit_arch=0x80000016,
        sysemu_since="5.12",
        has_soft_dirty=True,
        generic_entry=True,
        result_before="number",
        child_ends_call=False,
        ipc_third_is_timeout=True,
        ipc_mode_is_wide=True,
        has_numa=False,
        has_sysfs_call=False,
        syncs_cores=False,
    ),
    elf_machine=22,  # EM_S390
    elf_class=2,
    model=LP64_BE,
    byteorder="big",
    word=8,
    page_size=4096,
    map=KernelMap(  # the direct map is the identity; text where the real kernel's is without KASLR
        text_base=0x100000,
        text_size=0x400000,
        direct_map=0,
        vmalloc_start=0x0000038000000000,
        vmalloc_end=0x000003FF80000000,
        user_end=0x0000040000000000,
        stack_size=16384,
        window=0x0010000000000000,
    ),
    registers=registers.GENERAL,
    pt_regs_by_version=(("5.12", registers.PT_REGS), ("2.6", registers.PT_REGS_4_1)),
    function_args=registers.FUNCTION_ARGS,
    perf_regs=registers.PERF_REGS,
    stack_args_offset=160,
    return_value="gprs[2]",
    stack_pointer="gprs[15]",
    instruction_pointer="psw.addr",
    frame_pointer="gprs[15]",
    link_register="gprs[14]",
    kprobe_registers={f"r{i}": f"gprs[{i}]" for i in range(16)},
    crash_registers=registers.CRASH,
    oops_pc="Krnl PSW : {}",
    syscall_abis=(
        SyscallAbi(
            name="s390x",
            number="int_code",
            args=registers.SYSCALL_ARGS,
            result="gprs[2]",
            numbers=NUMBERS,
            insn=bytes.fromhex("0a00"),
            wrapper_prefix="__s390x_sys_",
            bare_handlers=("__s390_sys_", ("__s390x_sys_",), "5.1"),
            other_wrappers=("__s390_sys_",),
            wrapper_since="5.1",
            user_number="r1",
            number_bits=16,  # the rest of int_code is the length of the svc instruction
            clone_order=("stack", "flags", "parent_tid", "child_tid", "tls"),
            mmap_takes_block=True,
        ),
    ),
    entry=ENTRY,
    kprobe_breakpoint=bytes.fromhex("0002"),
    uprobe_breakpoint=bytes.fromhex("0002"),
    kprobe_ip_offset=2,
    elf_platform="z900",
    hwcap=0x37,  # ESAN3 | ZARCH | STFLE | LDISP | EIMM
    hwcap2=(),
    user_stack_top=0x0000040000000000,
    mmap_base=0x000003FFF7FFF000,
    elf_et_dyn_base=0x000002AA00000000,
    files=FILES,
    headers=(Path(__file__).with_name("kernel.h"),),
    exceptions=EXCEPTIONS,
    trap_fields={"orig": "orig_gpr2", "int_code": "int_code", "address": "int_parm_long"},
    built_since={"BPF_JIT": None, "DEBUG_INFO_BTF": "6.12"},
    kprobes_on_ftrace="5.6",
    ftrace_ip_offset=0,
    user_pt_regs_size=152,
    older_names=OLDER_NAMES,
    cpuinfo=CPUINFO,
    traces=TRACES,
    usdt=USDT,
    support=Support(
        emulator=EMULATOR,
        text=TEXT,
        frames=FrameFacts(next_frame=0, return_address=112, return_in_next=True),
        kernel_constants=(("pswm", registers.PSW_KERNEL),),
        prepare=_prepare,
        tls_register="a1",
        tls_high_register="a0",
        fp=FP,
        user_mode_fields={"psw.mask": registers.PSW_USER},
    ),
)
