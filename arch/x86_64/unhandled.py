"""What the log says of signals that nobody takes.  arch/x86/mm/fault.c:show_signal_msg(), arch/x86/kernel/{traps,dumpstack}.c."""

from __future__ import annotations

from arch.abi.traps import X86_TRAP_GP, X86_TRAP_PF
from arch.exceptions import Complaint, Unhandled

# How messages call an exception, by its number
TRAPS = {
    0: "trap divide error", 3: "trap int3", 4: "trap overflow", 5: "trap bounds", 6: "trap invalid opcode",
    9: "trap coprocessor segment overrun", 10: "trap invalid TSS", 11: "trap segment not present", 12: "trap stack segment",
    13: "general protection fault", 17: "trap alignment check",
}  # fmt: skip

PROLOGUE, OPCODES = 42, 64  # bytes: before the instruction, and in all
CODE_SINCE = "4.18"  # of processes, too
FAULT_IN_NAME = "5.6"  # "general protection fault"
NO_RIP = "6.1"  # an address that cannot be read is no longer called RIP
LIKELY_CPU = "6.1"


def code_line(told: Unhandled) -> str:
    """show_opcodes()."""
    start = told.ip - PROLOGUE & (1 << 64) - 1
    data = told.opcodes(start, OPCODES)
    if data is None:
        rip = "RIP " if told.version.before(NO_RIP) else ""
        return f"Code: Unable to access opcode bytes at {rip}{start:#x}."
    words = [f"<{byte:02x}>" if at == PROLOGUE else f"{byte:02x}" for at, byte in enumerate(data)]
    return f"Code: {' '.join(words)}"


def complain(told: Unhandled, digits: int = 16) -> Complaint | None:
    """A line of a page fault and the bytes around the instruction; one line of another exception."""
    who = f"{told.comm}[{told.pid}]"
    if told.trap != X86_TRAP_PF:
        name = TRAPS.get(told.trap)
        if name is None:
            return None
        if told.trap == X86_TRAP_GP and told.version.before(FAULT_IN_NAME):
            name = name.removesuffix(" fault")
        line = f"traps: {who} {name} ip:{told.ip:x} sp:{told.sp:x} error:{told.error:x}{told.place}"
        return Complaint("show_signal", (line,))
    registers = f"ip {told.ip:0{digits}x} sp {told.sp:0{digits}x}"
    line = f"{who}: segfault at {told.address:x} {registers} error {told.error:x}{told.place}"
    if not told.version.before(LIKELY_CPU):
        line += f" likely on CPU {told.cpu} (core {told.cpu}, socket 0)"
    return Complaint("show_signal_msg", (line,) if told.version.before(CODE_SINCE) else (line, code_line(told)))
