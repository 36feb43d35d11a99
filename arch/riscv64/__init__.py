"""riscv64.  arch/riscv of Linux, 64 bit, sv39 addresses."""

from __future__ import annotations

from pathlib import Path

from unicorn import riscv_const as rv
from unicorn import unicorn_const as uc

from arch.architecture import Architecture, EntryPoints, SyscallAbi
from arch.callfacts import CallFacts
from arch.datamodel import LP64_LE_UNSIGNED_CHAR
from arch.emulatorstate import Ability
from arch.exceptions import Exceptions
from arch.fpstate import FpImage, Piece
from arch.generic.syscalls import NUMBERS as GENERIC_NUMBERS
from arch.memory import KernelMap
from arch.native import CounterScale, EmulatorFacts, Role, SystemRead
from arch.riscv64 import registers, text
from arch.riscv64.cpuinfo import CPUINFO
from arch.riscv64.files import FILES
from arch.riscv64.unhandled import complain
from arch.riscv64.usdt import USDT
from arch.support import FrameFacts, Support, TextFacts
from arch.vdso import VdsoFacts

# arch/riscv/include/uapi/asm/unistd.h; newer than fstatat's renaming: no renameat.
NUMBERS = {name: nr for name, nr in GENERIC_NUMBERS.items() if name not in ("renameat", "getrlimit", "setrlimit")}
NUMBERS["riscv_flush_icache"] = 259

_UC = {name: getattr(rv, f"UC_RISCV_REG_X{i + 1}") for i, name in enumerate(registers.ABI_NAMES)}
_UC["pc"] = rv.UC_RISCV_REG_PC
_UC["priv"] = rv.UC_RISCV_REG_PRIV

EMULATOR = EmulatorFacts(
    uc_arch=uc.UC_ARCH_RISCV,
    uc_mode=uc.UC_MODE_RISCV64,
    cpu_model=None,
    uc_registers=_UC,
    pc="pc",
    sp="sp",
    privilege="priv",
    privilege_mask=3,
    privilege_user=registers.PRIV_USER,
    hypercall_register="t0",
    result_register="a0",
    target_register="t1",
    argument_registers=tuple(f"a{i}" for i in range(8)),
    spare=(0, 16),
    syscall_intno=8,
    hypercall_intno=8,
    trap_roles={
        0: Role.ALIGNMENT,
        2: Role.UNDEFINED,
        3: Role.BREAKPOINT,
        4: Role.ALIGNMENT,
        6: Role.ALIGNMENT,
        9: Role.PROTECTION,
    },
    # The emulator adds 4 to the pc before the hook.
    trap_pc_adjust={0: -4, 2: -4, 3: -4, 4: -4, 6: -4},
    reads=tuple(
        SystemRead(csr << 20 | insn, registers.CSR_READ_MASK, scale, until=until)
        for csr, scale, until in (
            (registers.TIME, CounterScale(ns=registers.TICK_NS), None),
            (registers.CYCLE, CounterScale(), "6.6"),
            (registers.INSTRET, CounterScale(), "6.6"),
        )
        for insn in registers.CSR_READS
    ),
    read_shift=7,
    numbered=("", *registers.ABI_NAMES),
    invalid_role=Role.BREAKPOINT,  # ebreak comes as an invalid instruction
    up_constants=(("priv", registers.PRIV_SUPERVISOR),),
    syscall_number_register="a7",
    syscall_fill={"orig_a0": "a0", "a0": -38, "status": registers.STATUS_USER, "cause": 8, "badaddr": 0},
    trap_fill={"orig_a0": "a0", "status": registers.STATUS_USER, "cause": 0, "badaddr": 0},
    probe_fill={"orig_a0": "a0", "status": registers.STATUS_KERNEL, "cause": 3, "badaddr": 0},
)

TEXT = TextFacts(
    function=text.function,
    stubs=text.stubs,
    switch_symbol="__switch_to",
    fork_symbol="ret_from_fork",
    kretprobe_symbol="__kretprobe_trampoline",
    padding=bytes.fromhex("13000000"),
    frameless=((0, 12, 0), (12, 24, 32), (-8, -4, 32), (-4, 0, 0)),  # to addi sp; to addi s0; addi sp; ret
    frame_size=32,
    hypercall_at=32,
    returns_at=44,
    switch_frame=text.SWITCH_FRAME,
    capstone_arch="CS_ARCH_RISCV",
    capstone_modes=("CS_MODE_RISCV64", "CS_MODE_RISCVC"),
    vdso=text.VDSO,
    shared=VdsoFacts(  # arch/riscv/kernel/vdso/vdso.lds.S
        soname="linux-vdso.so.1",
        version="LINUX_4.15",
        functions=(
            ("__vdso_gettimeofday", "gettimeofday"),
            ("__vdso_clock_gettime", "clock_gettime"),
            ("__vdso_clock_getres", "clock_getres"),
            ("__vdso_getcpu", "getcpu"),
            ("__vdso_flush_icache", "riscv_flush_icache"),
        ),
        call=text.vdso_call,
        trampolines=(("__vdso_rt_sigreturn", 0),),
    ),
    nop=bytes.fromhex("13000000"),
)

_VECTOR = "handle_exception"
ENTRY = EntryPoints(
    stubs={
        "syscall": _VECTOR,
        "page_fault": _VECTOR,
        "undefined": _VECTOR,
        "breakpoint": _VECTOR,
        "debug": _VECTOR,
        "protection": _VECTOR,
        "alignment": _VECTOR,
        "timer": _VECTOR,
        "interrupt": _VECTOR,
        "fork": "ret_from_fork",
    },
    handlers={
        "syscall": "do_trap_ecall_u",
        "page_fault": "do_page_fault",
        "undefined": "do_trap_insn_illegal",
        "breakpoint": "do_trap_break",
        "debug": "do_trap_unknown",
        "protection": "do_trap_insn_fault",
        "alignment": "do_trap_load_misaligned",
        "timer": "riscv_timer_interrupt",
        "interrupt": "riscv_intc_irq",
        "fork": "schedule_tail",
    },
)


# struct __riscv_d_ext_state: f0..f31, fcsr.
FP = FpImage(
    size=264,
    pieces=(
        *(Piece(rv.UC_RISCV_REG_F0 + i, 8 * i, 8) for i in range(32)),
        Piece(rv.UC_RISCV_REG_FCSR, 256, 8),
    ),
)


# RISCVCPUConfig of the emulator, from ext_i to ext_icsr and the two bytes behind it: without ext_counters a read of one traps.
_CONFIG = bytes.fromhex("01000101010101010101000101010000")
_EXT_COUNTERS = 11
COUNTERS = Ability(_CONFIG, _CONFIG[:_EXT_COUNTERS] + bytes(1) + _CONFIG[_EXT_COUNTERS + 1 :])


def _prepare(cpu: object) -> None:
    from arch.cpu import Cpu

    assert isinstance(cpu, Cpu)
    cpu.write_reg("priv", registers.PRIV_SUPERVISOR)
    COUNTERS.take_away(cpu.uc._uch.value)


ARCHITECTURE = Architecture(
    name="riscv64",
    machine="riscv64",
    srcarch="riscv",
    calls=CallFacts(
        user_regs=(
            "epc",
            "ra",
            "sp",
            "gp",
            "tp",
            "t0",
            "t1",
            "t2",
            "s0",
            "s1",
            "a0",
            "a1",
            "a2",
            "a3",
            "a4",
            "a5",
            "a6",
            "a7",
            "s2",
            "s3",
            "s4",
            "s5",
            "s6",
            "s7",
            "s8",
            "s9",
            "s10",
            "s11",
            "t3",
            "t4",
            "t5",
            "t6",
        ),
        audit_arch=0xC00000F3,
    ),
    elf_machine=243,  # EM_RISCV
    elf_class=2,
    model=LP64_LE_UNSIGNED_CHAR,
    byteorder="little",
    word=8,
    page_size=4096,
    map=KernelMap(  # Documentation/riscv/vm-layout.rst, sv39
        text_base=0xFFFFFFFF80000000,
        text_size=0x400000,
        direct_map=0xFFFFFFD800000000,
        vmalloc_start=0xFFFFFFC800000000,
        vmalloc_end=0xFFFFFFD800000000,
        user_end=0x0000004000000000,
        stack_size=16384,
        window=0xFFFFFFC600000000,
    ),
    registers=registers.GENERAL,
    pt_regs_by_version=(("4.15", registers.PT_REGS),),
    function_args=registers.FUNCTION_ARGS,
    perf_regs=registers.PERF_REGS,
    stack_args_offset=0,
    return_value="a0",
    stack_pointer="sp",
    instruction_pointer="epc",
    frame_pointer="s0",
    link_register="ra",
    kprobe_registers={row.field: row.field for row in registers.PT_REGS.rows},
    crash_registers=registers.CRASH,
    oops_pc="epc : {}",
    syscall_abis=(
        SyscallAbi(
            name="riscv64",
            number="a7",
            args=registers.SYSCALL_ARGS,
            result="a0",
            numbers=NUMBERS,
            insn=bytes.fromhex("73000000"),
            wrapper_prefix="__riscv_sys_",
            wrapper_since="6.6",
            user_number="a7",
            clone_order=("flags", "stack", "parent_tid", "tls", "child_tid"),
        ),
    ),
    entry=ENTRY,
    kprobe_breakpoint=(0x00100073).to_bytes(4, "little"),
    uprobe_breakpoint=(0x9002).to_bytes(2, "little"),
    kprobe_ip_offset=0,
    elf_platform=None,
    hwcap=0x112D,  # IMAFDC
    hwcap2=(),
    user_stack_top=0x0000004000000000,
    mmap_base=0x0000003FF7FFF000,
    elf_et_dyn_base=0x0000002AAAAAA000,
    files=FILES,
    headers=(Path(__file__).with_name("kernel.h"),),
    exceptions=Exceptions(complain=complain, complains_of_bus=True),
    own_names={"exit_to_user_mode_loop": "do_notify_resume", "arch_do_signal_or_restart": "do_signal"},
    trap_fields={"orig": "orig_a0", "address": "badaddr", "cause": "cause"},
    kprobes_on_ftrace="5.12",
    user_pt_regs_size=256,
    built_since={"BPF_JIT_DEFAULT_ON": None},
    aligned_only=True,
    older_names=(("5.15", {"__kretprobe_trampoline": "kretprobe_trampoline"}),),
    cpuinfo=CPUINFO,
    usdt=USDT,
    support=Support(
        emulator=EMULATOR,
        text=TEXT,
        frames=FrameFacts(next_frame=-16, return_address=-8),
        kernel_constants=(("priv", registers.PRIV_SUPERVISOR),),
        prepare=_prepare,
        tls_register="tp",
        fp=FP,
        user_mode_fields={"status": registers.STATUS_USER},
    ),
)
