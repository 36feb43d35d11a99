"""i386.  arch/x86 of Linux, 32-bit half, without PAE and without high memory."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from unicorn import unicorn_const as uc
from unicorn import x86_const as x86

from arch.architecture import Architecture, EntryPoints, SyscallAbi
from arch.callfacts import CallFacts
from arch.datamodel import ILP32_LE_I386
from arch.i386 import registers, text
from arch.i386.files import FILES
from arch.i386.syscalls import NUMBERS
from arch.i386.usdt import USDT
from arch.memory import KernelMap
from arch.native import EmulatorFacts
from arch.support import FrameFacts, SegmentFacts, Support, TextFacts
from arch.tracefacts import TraceFacts
from arch.x86_64 import ENTRY as ENTRY_64
from arch.x86_64 import EXCEPTIONS, EXCEPTIONS_BEFORE_5_8, TRAP_ROLES, descriptor, fp
from arch.x86_64.counter import forbid_counter
from arch.x86_64.interrupts import INTERRUPT_ROWS, LOCAL_TIMER_ROW
from arch.x86_64.rdrand import RANDOM_NUMBERS
from arch.x86_64.unhandled import complain

_UC = {
    name: getattr(x86, "UC_X86_REG_" + name.upper())
    for name in (*registers.GENERAL, "cs", "ss", "ds", "es", "fs", "gs")
}

EMULATOR = EmulatorFacts(
    uc_arch=uc.UC_ARCH_X86,
    uc_mode=uc.UC_MODE_32,
    cpu_model=None,
    uc_registers=_UC,
    pc="eip",
    sp="esp",
    privilege="cs",
    privilege_mask=3,
    privilege_user=3,
    user_flag=("eflags", 0x20000),  # the emulator lets user code iret into virtual 8086 mode
    hypercall_register="ebx",
    result_register="eax",
    target_register="esi",
    argument_registers=("eax", "edx", "ecx"),
    syscall_intno=0x80,
    counter_insns=((x86.UC_X86_INS_RDTSC, ("eax", "edx")), (x86.UC_X86_INS_RDTSCP, ("eax", "edx", "ecx"))),
    hypercall_intno=0x81,
    trap_roles=TRAP_ROLES,
    user_context=True,
    context_end="eip",
    marker_register=x86.UC_X86_REG_DR0,
    context_tail=200,  # eip and eflags, lazy flags, cached mode, six segment registers
    syscall_number_register="eax",
    syscall_fill={"orig_ax": "eax", "ax": -38},
    trap_fill={"orig_ax": -1},
    probe_fill={"orig_ax": -1},
    read_only_fields=("cs", "ss", "ds", "es", "fs", "gs"),
    frame_reserve=8,  # TOP_OF_KERNEL_STACK_PADDING
    outgoing_slots=text.OUTGOING_SLOTS,
)

TEXT = TextFacts(
    function=text.function,
    stubs=text.stubs,
    switch_symbol="__switch_to_asm",
    fork_symbol="ret_from_fork",
    kretprobe_symbol="arch_rethook_trampoline",
    padding=b"\xcc",
    # to push %ebp; to mov %esp,%ebp; ret
    frameless=((0, 6, 0), (6, 8, 4), (-1, 0, 0)),
    frame_size=text.FRAME,
    hypercall_at=18,
    returns_at=26,
    switch_frame=text.SWITCH_FRAME,
    capstone_arch="CS_ARCH_X86",
    capstone_modes=("CS_MODE_32",),
    vdso=text.VDSO,
    nop=b"\x90",
)

ENTRY = EntryPoints(
    stubs={**ENTRY_64.stubs, "syscall": "entry_INT80_32"},
    handlers={**ENTRY_64.handlers, "syscall": "do_int80_syscall_32"},
)


OLDER_NAMES = (
    ("5.15", {"arch_rethook_trampoline": "kretprobe_trampoline"}),
    ("5.18", {"arch_rethook_trampoline": "__kretprobe_trampoline"}),
    ("5.8", EXCEPTIONS_BEFORE_5_8),
    ("4.9", {"__switch_to_asm": "__switch_to"}),
    ("4.4", {"do_int80_syscall_32": "syscall_call"}),
    ("4.2", {"entry_INT80_32": "system_call", text.RETURN_TO_USER: "restore_all"}),
)


def _prepare(cpu: object) -> None:
    """The global descriptor table, in kernel memory.  arch/x86/kernel/cpu/common.c:gdt_page"""
    from arch.cpu import Cpu

    assert isinstance(cpu, Cpu)
    table = [bytes(8)] * 32
    table[12] = descriptor(0xC9B)  # kernel code
    table[13] = descriptor(0xC93)  # kernel data
    table[14] = descriptor(0xCFB)  # user code
    table[15] = descriptor(0xCF3)  # user data
    RANDOM_NUMBERS.take_away(cpu.uc._uch.value)
    cpu.gdt = cpu.mem.alloc_pages(1)
    cpu.mem.write(cpu.gdt, b"".join(table))
    cpu.uc.reg_write(x86.UC_X86_REG_GDTR, (0, cpu.gdt, 255, 0))
    cpu.uc.reg_write(x86.UC_X86_REG_CS, registers.KERNEL_CS)
    for name in ("ss", "ds", "es"):
        cpu.write_reg(name, registers.KERNEL_DS)
    cpu.uc.reg_write(x86.UC_X86_REG_FPCW, fp.FCW)
    cpu.uc.reg_write(x86.UC_X86_REG_FPTAG, 0xFFFF)
    cpu.uc.reg_write(x86.UC_X86_REG_MXCSR, fp.MXCSR)
    cpu.uc.reg_write(x86.UC_X86_REG_CR0, cpu.uc.reg_read(x86.UC_X86_REG_CR0) | fp.X86_CR0_NE)


ARCHITECTURE = Architecture(
    name="i386",
    machine="i686",
    srcarch="x86",
    calls=CallFacts(
        has_numa=False,
        user_regs=(
            "bx",
            "cx",
            "dx",
            "si",
            "di",
            "bp",
            "ax",
            "ds",
            "es",
            "fs",
            "gs",
            "orig_ax",
            "ip",
            "cs",
            "flags",
            "sp",
            "ss",
        ),
        audit_arch=0x40000003,
        generic_entry=True,
        has_tsc=True,
        vdso_sigreturn=True,
        step_flag=("flags", 0x100),
        resume_flag=("eflags", 0x10000),
        breakpoint_slots=4,
        user_debugregs=252,
        user_size=284,
        old_ptrace_requests=True,
        sysemu_since="2.6.14",
        has_dies=True,
    ),
    elf_machine=3,  # EM_386
    elf_class=1,
    model=ILP32_LE_I386,
    byteorder="little",
    word=4,
    page_size=4096,
    map=KernelMap(  # 3 GiB for user space; arch/x86/mm/init_32.c prints the rest
        text_base=0xC1000000,
        text_size=0x400000,
        direct_map=0xC0000000,
        vmalloc_start=0xF8000000,
        vmalloc_end=0xFF800000,
        user_end=0xC0000000,
        stack_size=8192,
        text_phys=0x1000000,
        window=0xFFF00000,
    ),
    registers=registers.GENERAL,
    pt_regs_by_version=(("2.6", registers.PT_REGS),),
    function_args=registers.FUNCTION_ARGS,
    perf_regs=registers.PERF_REGS,
    stack_args_offset=4,
    return_value="ax",
    stack_pointer="sp",
    instruction_pointer="ip",
    frame_pointer="bp",
    link_register=None,
    kprobe_registers={row.field: row.field for row in registers.PT_REGS.rows},
    crash_registers=registers.CRASH,
    oops_pc="EIP: {}",
    syscall_abis=(
        SyscallAbi(
            name="i386",
            number="orig_ax",
            args=registers.SYSCALL_ARGS,
            result="ax",
            numbers=NUMBERS,
            insn=bytes.fromhex("cd80"),
            wrapper_prefix="__ia32_sys_",
            bare_handlers=("__do_sys_", ("__ia32_sys_",), "5.7"),
            wrapper_since="4.17",
            user_number="eax",
            clone_order=("flags", "stack", "parent_tid", "tls", "child_tid"),
            mmap_takes_block=True,
        ),
    ),
    entry=ENTRY,
    kprobe_breakpoint=b"\xcc",
    uprobe_breakpoint=b"\xcc",
    kprobe_ip_offset=1,
    elf_platform="i686",
    hwcap=0x0F8BFBFF,
    hwcap2=(("4.13", 0),),
    user_stack_top=0xC0000000,
    mmap_base=0xB7FFF000,
    elf_et_dyn_base=0x56555000,
    files=FILES,
    headers=(Path(__file__).with_name("kernel.h"),),
    exceptions=replace(EXCEPTIONS, complain=partial(complain, digits=8)),
    trap_fields={"orig": "orig_ax"},
    kprobes_on_ftrace="3.10",
    user_pt_regs_size=68,
    older_names=OLDER_NAMES,
    nofault_range=True,
    interrupt_rows=INTERRUPT_ROWS,
    local_timer_row=LOCAL_TIMER_ROW,
    traces=TraceFacts(
        preempt_count=(("5.17", True), ("4.9", False), (None, True)),
        own_clocks=("x86-tsc",),
        traces_mmio=True,
        folded_resched=True,
    ),
    usdt=USDT,
    support=Support(
        emulator=EMULATOR,
        text=TEXT,
        frames=FrameFacts(next_frame=0, return_address=4, any_user_frame=True),
        prepare=_prepare,
        segments=SegmentFacts(6, (14,), (15,), x86.UC_X86_REG_LDTR, thread_pointer=True),
        forbid_counter=forbid_counter,
        fp=fp.image(xmm=8),
        user_mode_fields={
            "cs": registers.USER_CS,
            "ss": registers.USER_DS,
            "ds": registers.USER_DS,
            "es": registers.USER_DS,
            "flags": 0x202,
        },
    ),
)
