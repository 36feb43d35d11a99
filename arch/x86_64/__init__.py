"""x86-64.  arch/x86 of Linux, 64-bit half."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from unicorn import unicorn_const as uc
from unicorn import x86_const as x86

from arch.abi.signal import ILL_ILLOPN, SI_KERNEL
from arch.architecture import Architecture, EntryPoints, SyscallAbi
from arch.callfacts import CallFacts
from arch.datamodel import LP64_LE
from arch.exceptions import Exceptions
from arch.memory import KernelMap
from arch.native import EmulatorFacts, Role
from arch.support import FrameFacts, SegmentFacts, Support, TextFacts
from arch.vdso import VdsoFacts
from arch.x86_64 import fp, registers, text
from arch.x86_64.counter import forbid_counter
from arch.x86_64.cpuinfo import CPUINFO
from arch.x86_64.files import FILES
from arch.x86_64.interrupts import INTERRUPT_ROWS, LOCAL_TIMER_ROW
from arch.x86_64.rdrand import RANDOM_NUMBERS
from arch.x86_64.syscalls import NUMBERS
from arch.x86_64.traces import TRACES
from arch.x86_64.unhandled import complain
from arch.x86_64.usdt import USDT

X86_CR4_FSGSBASE = 1 << 16
_NAMES = (*registers.GENERAL, "cs", "ss", "ds", "es", "fs", "gs", "fs_base", "gs_base")
_UC = {name: getattr(x86, "UC_X86_REG_" + name.upper()) for name in _NAMES if name != "eflags"}
_UC["eflags"] = x86.UC_X86_REG_RFLAGS

TRAP_ROLES = {
    0: Role.DIVIDE,
    1: Role.DEBUG,
    3: Role.BREAKPOINT,
    6: Role.UNDEFINED,
    13: Role.PROTECTION,
    16: Role.FP,
    17: Role.ALIGNMENT,
    19: Role.FP,
}

# target/i386/cpu.h of the emulator: CPUX86State, regs[] in the order of their numbers, eip, and of segs[], 24 bytes each, a selector or base.
_IN_ORDER = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{n}" for n in range(8, 16)))
PLACES = {name: (8 * n, 64) for n, name in enumerate(_IN_ORDER)}
PLACES |= {"rip": (128, 64), "cs": (208, 32), "ss": (232, 32), "fs_base": (288, 64), "gs_base": (312, 64)}

EMULATOR = EmulatorFacts(
    uc_arch=uc.UC_ARCH_X86,
    uc_mode=uc.UC_MODE_64,
    cpu_model=None,
    uc_registers=_UC,
    pc="rip",
    sp="rsp",
    privilege="cs",
    privilege_mask=3,
    privilege_user=3,
    user_flag=("eflags", 0x20000),  # the emulator lets user code iret into virtual 8086 mode
    hypercall_register="r10",
    result_register="rax",
    target_register="r11",
    argument_registers=("rdi", "rsi", "rdx", "rcx", "r8", "r9"),
    syscall_intno=-1,
    hypercall_intno=0x81,
    trap_roles=TRAP_ROLES,
    user_context=True,
    context_end="rip",
    marker_register=x86.UC_X86_REG_DR0,
    places=PLACES,
    flag_place=136,
    context_tail=128,  # rip and eflags, lazy flags, cached mode, es, cs and ss: ds, fs and gs stay the user's
    counter_insns=((x86.UC_X86_INS_RDTSC, ("rax", "rdx")), (x86.UC_X86_INS_RDTSCP, ("rax", "rdx", "rcx"))),
    syscall_insn_hook=x86.UC_X86_INS_SYSCALL,
    syscall_insn_size=2,
    syscall_number_register="rax",
    syscall_fill={"orig_ax": "rax", "ax": -38, "cx": "rip", "r11": "eflags"},  # -ENOSYS until told otherwise
    trap_fill={"orig_ax": -1},
    probe_fill={"orig_ax": -1},
    entry_fill={"orig_ax": 0},  # ftrace_regs_caller
    kernel_flags=("eflags", 0x202),  # interrupts are on
    read_only_fields=("cs", "ss"),
    outgoing_slots=text.OUTGOING_SLOTS,
    espfix=text.ESPFIX,
)

TEXT = TextFacts(
    function=text.function,
    jumping_function=text.jumping_function,
    stubs=text.stubs,
    switch_symbol="__switch_to_asm",
    fork_symbol="ret_from_fork",
    kretprobe_symbol="arch_rethook_trampoline",
    padding=b"\xcc",
    frameless=((0, 6, 0), (6, 9, 8), (-1, 0, 0)),  # to push %rbp; to mov %rsp,%rbp; ret
    frame_size=8 + 8 * text.OUTGOING_SLOTS,
    hypercall_at=19,
    returns_at=29,
    switch_frame=(0, 0, 0, "arg", "fn", "fp", "pc"),  # r15 r14 r13 r12 rbx rbp, return address
    capstone_arch="CS_ARCH_X86",
    capstone_modes=("CS_MODE_64",),
    nop=b"\x90",
    shared=VdsoFacts(  # arch/x86/entry/vdso/vdso.lds.S
        soname="linux-vdso.so.1",
        version="LINUX_2.6",
        functions=(
            ("__vdso_clock_gettime", "clock_gettime"),
            ("__vdso_gettimeofday", "gettimeofday"),
            ("__vdso_getcpu", "getcpu"),
            ("__vdso_time", "time"),
            ("__vdso_clock_getres", "clock_getres"),
        ),
        call=text.vdso_call,
        weak=tuple(
            (name, f"__vdso_{name}") for name in ("clock_gettime", "gettimeofday", "getcpu", "time", "clock_getres")
        ),
    ),
)

ENTRY = EntryPoints(
    stubs={
        "syscall": "entry_SYSCALL_64",
        "page_fault": "asm_exc_page_fault",
        "timer": "asm_sysvec_apic_timer_interrupt",
        "undefined": "asm_exc_invalid_op",
        "divide": "asm_exc_divide_error",
        "breakpoint": "asm_exc_int3",
        "debug": "asm_exc_debug",
        "protection": "asm_exc_general_protection",
        "fp": "asm_exc_coprocessor_error",
        "alignment": "asm_exc_alignment_check",
        "interrupt": "asm_common_interrupt",
        "fork": "ret_from_fork",
    },
    handlers={
        "syscall": "do_syscall_64",
        "page_fault": "exc_page_fault",
        "timer": "sysvec_apic_timer_interrupt",
        "undefined": "exc_invalid_op",
        "divide": "exc_divide_error",
        "breakpoint": "exc_int3",
        "debug": "exc_debug",
        "protection": "exc_general_protection",
        "fp": "exc_coprocessor_error",
        "alignment": "exc_alignment_check",
        "interrupt": "common_interrupt",
        "fork": "schedule_tail",
    },
)


# Renamed by the entry rework of 5.8; do_syscall_64() serves all calls since 4.7, entry_SYSCALL_64 is so called since 4.2.
EXCEPTIONS_BEFORE_5_8 = {
    "asm_exc_page_fault": "page_fault",
    "exc_page_fault": "do_page_fault",
    "asm_sysvec_apic_timer_interrupt": "apic_timer_interrupt",
    "sysvec_apic_timer_interrupt": "smp_apic_timer_interrupt",
    "asm_exc_invalid_op": "invalid_op",
    "exc_invalid_op": "do_invalid_op",
    "asm_exc_divide_error": "divide_error",
    "exc_divide_error": "do_divide_error",
    "asm_exc_int3": "int3",
    "exc_int3": "do_int3",
    "asm_exc_debug": "debug",
    "exc_debug": "do_debug",
    "asm_exc_general_protection": "general_protection",
    "exc_general_protection": "do_general_protection",
    "asm_exc_coprocessor_error": "coprocessor_error",
    "exc_coprocessor_error": "do_coprocessor_error",
    "asm_exc_alignment_check": "alignment_check",
    "exc_alignment_check": "do_alignment_check",
    "common_interrupt": "do_IRQ",
    "asm_common_interrupt": "common_interrupt",
}
OLDER_NAMES = (
    ("5.15", {"arch_rethook_trampoline": "kretprobe_trampoline"}),
    ("5.18", {"arch_rethook_trampoline": "__kretprobe_trampoline"}),
    ("5.8", EXCEPTIONS_BEFORE_5_8),
    ("4.15", {text.RETURN_TO_USER: "restore_regs_and_iret"}),
    ("4.9", {"__switch_to_asm": "__switch_to"}),
    ("4.7", {"do_syscall_64": "system_call_fastpath"}),
    ("4.2", {"entry_SYSCALL_64": "system_call"}),
)


def descriptor(flags: int, base: int = 0) -> bytes:
    """A code or data segment descriptor without limit; `flags` are the access byte and the high nibble."""
    access, nibble = flags & 0xFF, (flags >> 8) & 0xF
    value = 0xFFFF | (access << 40) | (0xF << 48) | (nibble << 52)
    return (value | (base & 0xFFFFFF) << 16 | (base >> 24) << 56).to_bytes(8, "little")


def _prepare(cpu: object) -> None:
    """The global descriptor table, in kernel memory.  arch/x86/kernel/cpu/common.c:gdt_page"""
    from arch.cpu import Cpu

    assert isinstance(cpu, Cpu)
    table = [bytes(8)] * 16
    table[1] = descriptor(0xC9B)  # kernel 32-bit code
    table[2] = descriptor(0xA9B)  # kernel 64-bit code
    table[3] = descriptor(0xC93)  # kernel data
    table[4] = descriptor(0xCFB)  # user 32-bit code
    table[5] = descriptor(0xCF3)  # user data
    table[6] = descriptor(0xAFB)  # user 64-bit code
    RANDOM_NUMBERS.take_away(cpu.uc._uch.value)
    cpu.gdt = cpu.mem.alloc_pages(1)
    cpu.mem.write(cpu.gdt, b"".join(table))
    cpu.uc.reg_write(x86.UC_X86_REG_GDTR, (0, cpu.gdt, 127, 0))
    cpu.uc.reg_write(x86.UC_X86_REG_CS, registers.KERNEL_CS)
    cpu.uc.reg_write(x86.UC_X86_REG_SS, registers.KERNEL_DS)
    cpu.uc.reg_write(x86.UC_X86_REG_FPCW, fp.FCW)
    cpu.uc.reg_write(x86.UC_X86_REG_FPTAG, 0xFFFF)
    cpu.uc.reg_write(x86.UC_X86_REG_MXCSR, fp.MXCSR)
    cpu.uc.reg_write(x86.UC_X86_REG_CR4, cpu.uc.reg_read(x86.UC_X86_REG_CR4) | X86_CR4_FSGSBASE)
    cpu.uc.reg_write(x86.UC_X86_REG_CR0, cpu.uc.reg_read(x86.UC_X86_REG_CR0) | fp.X86_CR0_NE)


# What both widths have
EXCEPTIONS = Exceptions(
    undefined=ILL_ILLOPN, breakpoint=SI_KERNEL, absent_segments=(11, 12), software=32, software_length=2
)
ARCHITECTURE = Architecture(
    name="x86_64",
    trampoline_arguments=(6, "6.6"),
    percpu_at_zero_until="6.15",  # 9d7de2aa8b41
    machine="x86_64",
    srcarch="x86",
    calls=CallFacts(
        user_regs=(
            "r15",
            "r14",
            "r13",
            "r12",
            "bp",
            "bx",
            "r11",
            "r10",
            "r9",
            "r8",
            "ax",
            "cx",
            "dx",
            "si",
            "di",
            "orig_ax",
            "ip",
            "cs",
            "flags",
            "sp",
            "ss",
            "fs_base",
            "gs_base",
            "ds",
            "es",
            "fs",
            "gs",
        ),
        audit_arch=0xC000003E,
        has_soft_dirty=True,
        largest_frame=("5.14", 1440),  # fpu__get_fpstate_size(), MAX_FRAME_SIGINFO_UCTXT_SIZE and padding
        generic_entry=True,
        has_tsc=True,
        step_flag=("flags", 0x100),
        resume_flag=("eflags", 0x10000),
        breakpoint_slots=4,
        user_debugregs=848,
        low_mappings=(0x40000000, 0x80000000),
        old_ptrace_requests=True,
        sysemu_since="2.6.14",
        has_pkeys=True,
        sem_times_padded=True,
        has_dies=True,
    ),
    elf_machine=62,  # EM_X86_64
    elf_class=2,
    model=LP64_LE,
    byteorder="little",
    word=8,
    page_size=4096,
    map=KernelMap(  # Documentation/x86/x86_64/mm.rst, without KASLR
        text_base=0xFFFFFFFF81000000,
        text_size=0x400000,
        direct_map=0xFFFF888000000000,
        vmalloc_start=0xFFFFC90000000000,
        vmalloc_end=0xFFFFE90000000000,
        user_end=0x00007FFFFFFFF000,
        stack_size=16384,
        text_phys=0x1000000 >> 4,
    ),
    registers=registers.GENERAL,
    pt_regs_by_version=(("2.6", registers.PT_REGS),),
    function_args=registers.FUNCTION_ARGS,
    perf_regs=registers.PERF_REGS,
    stack_args_offset=8,
    return_value="ax",
    stack_pointer="sp",
    instruction_pointer="ip",
    frame_pointer="bp",
    link_register=None,
    kprobe_registers={row.field: row.field for row in registers.PT_REGS.rows},
    crash_registers=registers.CRASH,
    oops_pc="RIP: 0010:{}",
    syscall_abis=(
        SyscallAbi(
            name="x86_64",
            number="orig_ax",
            args=registers.SYSCALL_ARGS,
            result="ax",
            numbers=NUMBERS,
            insn=bytes.fromhex("0f05"),
            wrapper_prefix="__x64_sys_",
            wrapper_since="4.17",
            bare_handlers=("__do_sys_", ("__ia32_sys_", "__x64_sys_"), "5.7"),
            other_wrappers=("__ia32_sys_", "__ia32_compat_sys_", "__x64_compat_sys_"),
            user_number="rax",
        ),
    ),
    entry=ENTRY,
    kprobe_breakpoint=b"\xcc",
    uprobe_breakpoint=b"\xcc",
    kprobe_ip_offset=1,
    elf_platform="x86_64",
    hwcap=0x0F8BFBFF,  # CPUID 1 edx
    hwcap2=(("5.9", 2), ("4.13", 0)),  # HWCAP2_FSGSBASE
    user_stack_top=0x00007FFFFFFFF000,
    mmap_base=0x00007FFFF7FFF000,
    elf_et_dyn_base=0x0000555555554000,
    files=FILES,
    headers=(Path(__file__).with_name("kernel.h"),),
    exceptions=replace(EXCEPTIONS, hole=(1 << 47, (1 << 64) - (1 << 47)), complain=complain),
    trap_fields={"orig": "orig_ax"},
    kprobes_on_ftrace="3.10",
    bpf_jit=True,
    user_pt_regs_size=168,
    older_names=OLDER_NAMES,
    cpuinfo=CPUINFO,
    nofault_range=True,
    extends_int_results=False,
    interrupt_rows=INTERRUPT_ROWS,
    local_timer_row=LOCAL_TIMER_ROW,
    traces=TRACES,
    usdt=USDT,
    support=Support(
        emulator=EMULATOR,
        text=TEXT,
        frames=FrameFacts(next_frame=0, return_address=8, any_user_frame=True),
        prepare=_prepare,
        tls_register="fs_base",
        segments=SegmentFacts(
            12, (4, 6), (5,), x86.UC_X86_REG_LDTR, bases={"ds": None, "es": None, "fs": "fs_base", "gs": "gs_base"}
        ),
        forbid_counter=forbid_counter,
        fp=fp.image(xmm=16),
        user_mode_fields={"cs": registers.USER_CS, "ss": registers.USER_DS, "flags": 0x202},
    ),
)
