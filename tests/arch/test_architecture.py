"""The tables of every architecture: struct pt_regs beside the layouts that compilers gave, system calls, names."""

from __future__ import annotations

import pytest

from arch import architecture
from arch.abi.version import KernelVersion
from arch.architecture import Architecture, Layout, Row
from arch.memory import FlatMemory
from arch.text import disassemble, user_code_page

# (field, offset) as clang laid out the kernel's struct pt_regs; total size; see arch/*/include/asm/ptrace.h
LAYOUTS = {
    ("x86_64", "6.1"): (168, {"r15": 0, "bp": 32, "ax": 80, "di": 112, "orig_ax": 120, "ip": 128, "sp": 152, "ss": 160}),
    ("i386", "6.1"): (68, {"bx": 0, "ax": 24, "gs": 40, "orig_ax": 44, "ip": 48, "sp": 60, "ss": 64}),
    ("arm", "6.1"): (72, {"uregs[0]": 0, "uregs[11]": 44, "uregs[13]": 52, "uregs[15]": 60, "uregs[17]": 68}),
    ("arm64", "4.1"): (288, {"regs[29]": 232, "sp": 248, "pc": 256, "pstate": 264, "orig_x0": 272, "syscallno": 280}),
    ("arm64", "6.1"): (336, {"regs[30]": 240, "pc": 256, "orig_x0": 272, "syscallno": 280, "pmr_save": 296, "exit_rcu": 328}),
    ("riscv64", "6.1"): (288, {"epc": 0, "ra": 8, "sp": 16, "a0": 80, "a7": 136, "t6": 248, "status": 256, "orig_a0": 280}),
    ("s390x", "4.1"): (184, {"psw.mask": 8, "psw.addr": 16, "gprs[2]": 40, "gprs[15]": 144, "orig_gpr2": 152, "flags": 176}),
    ("s390x", "6.1"): (200, {"gprs[14]": 136, "int_code": 160, "int_parm_long": 168, "cr1": 184, "last_break": 192}),
}  # fmt: skip

# read, write, openat, execve, perf_event_open, bpf
NUMBERS = {
    "x86_64": (0, 1, 257, 59, 298, 321),
    "i386": (3, 4, 295, 11, 336, 357),
    "arm": (3, 4, 322, 11, 364, 386),
    "arm64": (63, 64, 56, 221, 241, 280),
    "riscv64": (63, 64, 56, 221, 241, 280),
    "s390x": (3, 4, 288, 11, 331, 351),
}


@pytest.fixture(params=architecture.names())
def arch(request: pytest.FixtureRequest) -> Architecture:
    return architecture.get(request.param)


@pytest.mark.parametrize(("name", "version"), LAYOUTS)
def test_pt_regs_layout(name: str, version: tuple[int, int]) -> None:
    size, offsets = LAYOUTS[name, version]
    layout = architecture.get(name).pt_regs_for(KernelVersion.parse(version))
    assert layout.size == size
    assert {field: layout.offset(field) for field in offsets} == offsets


def test_system_call_numbers(arch: Architecture) -> None:
    names = ("read", "write", "openat", "execve", "perf_event_open", "bpf")
    assert tuple(arch.syscalls[name] for name in names) == NUMBERS[arch.name]
    assert len(arch.syscalls) > 290
    assert arch.syscall_abis[0].names[arch.syscalls["futex"]] == "futex"


def test_every_named_field_exists(arch: Architecture) -> None:
    for _, layout in arch.pt_regs_by_version:
        fields = set(layout.fields)
        named = {*arch.function_args, *arch.kprobe_registers.values(), *(f for _, f in arch.crash_registers)}
        named |= {arch.return_value, arch.stack_pointer, arch.instruction_pointer, arch.frame_pointer}
        named |= {arch.link_register or arch.stack_pointer, *(f for f in arch.trap_fields.values() if f)}
        for abi in arch.syscall_abis:
            named |= {abi.number, abi.result, *abi.args}
        named |= set(arch.support.user_mode_fields)
        assert named <= fields


def test_entry_roles_match(arch: Architecture) -> None:
    assert set(arch.entry.stubs) == set(arch.entry.handlers)
    assert {"syscall", "page_fault", "timer", "interrupt", "undefined", "protection", "fork"} <= set(arch.entry.stubs)
    handlers = list(arch.entry.handlers.values())
    assert len(handlers) == len(set(handlers)), "each role has a handler of its own"


@pytest.mark.parametrize("version", [KernelVersion.parse(text) for text in ("3.20-rfc", "4.1", "4.14", "5.10", "6.1")])
def test_entry_names_of_versions_are_distinct(arch: Architecture, version: tuple[int, int]) -> None:
    entry = arch.entry_for(version)
    names = [*entry.handlers.values(), *dict.fromkeys(entry.stubs.values())]
    assert len(set(names) - {"ret_from_fork"}) == len([n for n in names if n != "ret_from_fork"])


def test_entry_names_follow_the_version() -> None:
    arch = architecture.get("x86_64")
    assert arch.entry_for(KernelVersion.parse("4.1")).handlers["syscall"] == "system_call_fastpath"
    assert arch.entry_for(KernelVersion.parse("4.1")).stubs["syscall"] == "system_call"
    assert arch.entry_for(KernelVersion.parse("5.7")).handlers["page_fault"] == "do_page_fault"
    assert arch.entry_for(KernelVersion.parse("5.7")).stubs["interrupt"] == "common_interrupt"
    assert arch.entry_for(KernelVersion.parse("6.1")) == arch.entry
    assert arch.symbol_name("arch_rethook_trampoline", KernelVersion.parse("4.1")) == "kretprobe_trampoline"
    assert arch.symbol_name("arch_rethook_trampoline", KernelVersion.parse("5.16")) == "__kretprobe_trampoline"


def test_addresses_are_sane(arch: Architecture) -> None:
    map = arch.map
    assert map.user_end <= (1 << 8 * arch.word)
    assert arch.user_stack_top <= map.user_end
    assert arch.mmap_base < arch.user_stack_top
    assert map.text_base % 16 == 0
    assert map.vmalloc_start < map.vmalloc_end
    assert map.text_base < 1 << 8 * arch.word


def test_function_template_disassembles_completely(arch: Architecture) -> None:
    for index in (0, 1, 4000):
        code = arch.support.text.function(index)
        insns = disassemble(arch, code, arch.map.text_base)
        assert sum(insn.size for insn in insns) == len(code)


def test_signal_return_code(arch: Architecture) -> None:
    """The vdso's code makes the rt_sigreturn system call (x86-64 programs bring their own)."""
    code = user_code_page(arch)
    if arch.name == "x86_64":
        assert code == b""
        return
    insns = disassemble(arch, code, 0)
    assert insns[-1].mnemonic in ("int", "svc", "ecall")
    number = arch.syscalls["rt_sigreturn"]
    assert str(number) in insns[0].op_str or f"{number:#x}" in insns[0].op_str


def test_arguments_in_registers_and_on_the_stack(arch: Architecture) -> None:
    mem = FlatMemory(base=0x10000, byteorder=arch.byteorder)
    regs, stack = mem.alloc(512), mem.alloc(512)
    layout = arch.pt_regs
    for i, field in enumerate(arch.function_args):
        layout.set(mem, regs, field, 100 + i)
    layout.set(mem, regs, arch.stack_pointer, stack)
    count = len(arch.function_args)
    for i in range(3):
        mem.write_uint(stack + arch.stack_args_offset + arch.word * i, arch.word, 100 + count + i)
    assert [arch.argument(mem, regs, i) for i in range(count + 3)] == list(range(100, 103 + count))


def test_return_address(arch: Architecture) -> None:
    mem = FlatMemory(base=0x10000, byteorder=arch.byteorder)
    regs, stack = mem.alloc(512), mem.alloc(64)
    arch.pt_regs.set(mem, regs, arch.stack_pointer, stack)
    arch.set_return_address(mem, regs, 0x1234)
    assert arch.return_address(mem, regs) == 0x1234


def test_unknown_architecture() -> None:
    with pytest.raises(ValueError, match="unknown architecture 'vax'"):
        architecture.get("vax")


def test_overlapping_rows_do_not_load() -> None:
    with pytest.raises(ValueError, match="overlaps"):
        Layout("bad", 16, (Row(0, "a"), Row(4, "b")))
    with pytest.raises(ValueError, match="longer"):
        Layout("bad", 8, (Row(0, "a"), Row(8, "b")))
