"""What the log says of signals that nobody takes.  arch/riscv/kernel/{traps,process}.c: do_trap(), __show_regs(), dump_instr()."""

from __future__ import annotations

from arch.abi.signal import SIGILL, SIGTRAP
from arch.cpu import FAULT_EXEC, FAULT_WRITE
from arch.exceptions import Complaint, Unhandled
from arch.riscv64.registers import CRASH

EXC_INST_ILLEGAL, EXC_INST_PAGE_FAULT, EXC_LOAD_PAGE_FAULT, EXC_STORE_PAGE_FAULT = 2, 12, 13, 15  # asm/csr.h
IN_LINE = 3  # registers
BEFORE, BEHIND = 10, 1  # half-words shown around the one that epc is at


def trap_of(told: Unhandled) -> tuple[int, int]:
    """stval and scause."""
    if told.sig == SIGILL:
        low = int.from_bytes(told.opcodes(told.ip, 2) or b"", "little")
        size = 4 if low & 3 == 3 else 2  # compressed instructions have two bytes
        return int.from_bytes(told.opcodes(told.ip, size) or b"", "little"), EXC_INST_ILLEGAL
    if told.error & FAULT_EXEC:
        return told.at, EXC_INST_PAGE_FAULT
    return told.at, EXC_STORE_PAGE_FAULT if told.error & FAULT_WRITE else EXC_LOAD_PAGE_FAULT


def register_lines(told: Unhandled) -> tuple[str, ...]:
    """__show_regs(), with what show_regs_print_info() says first."""
    shown = [f"{name:<3} : {told.get(field):016x}" if name == "epc" else f"{name:<3}: {told.get(field):016x}" for name, field in CRASH[:-3]]  # fmt: skip
    lines = [" ".join(shown[at : at + IN_LINE]) for at in range(0, len(shown), IN_LINE)]
    badaddr, cause = trap_of(told)
    trap = f"status: {told.get('status'):016x} badaddr: {badaddr:016x} cause: {cause:016x}"
    return (*told.machine, lines[0], *(f" {line}" for line in lines[1:]), trap)


def code_line(told: Unhandled) -> str:
    """dump_instr(): up to the first half-word that cannot be read."""
    words = []
    for index in range(-BEFORE, BEHIND + 1):
        address = told.ip + 2 * index & (1 << 64) - 1
        raw = told.opcodes(address, 2)
        if raw is None:
            return f"Code: Unable to access instruction at {address:#018x}."
        word = f"{int.from_bytes(raw, 'little'):04x}"
        words.append(f"({word}) " if not index else f"{word} ")
    return f"Code: {''.join(words)}"


def complain(told: Unhandled) -> Complaint | None:
    """Of breakpoints nothing is said."""
    if told.sig == SIGTRAP:
        return None
    line = f"{told.comm}[{told.pid}]: unhandled signal {told.sig} code {told.code:#x} at {told.at:#018x}{told.place}"
    return Complaint("do_trap", (line, code_line(told)), register_lines(told))
