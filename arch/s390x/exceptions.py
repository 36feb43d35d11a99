"""Program exceptions of user code, told apart by the instruction: the emulator tells only that there was one.

arch/s390/kernel/traps.c.  Where each table comes from:

- PRIVILEGED, SPECIFICATION, DIVIDES and TRAPS: a real 6.1 was asked with every opcode and four kinds of operands (zeros, 0x11, 0x45,
  0xee; tests/data/arch/s390x has the program and the 7,700 signals), on QEMU's CPU, not on IBM's: where that asks more of the bits
  that nobody reads (`ssm`, `lpsw`) we do not.  What the operands decide (pairs of registers, alignment) is not looked at again:
  that the emulator refused is enough.
- LENGTHS, `opcode()` and what `ex` and `exrl` execute: from the architecture (z/Architecture Principles of Operation).
- Not asked, from the architecture: vector instructions (e6, e7), c8 but its first, e50a to e50f; with operands of 0xee, `ec` behind its
  53 (but for 70 to 73) and `ed`.

The program counter always stands behind the instruction, as all of the signals say.
"""

from __future__ import annotations

from arch.abi.signal import FPE_INTDIV, ILL_ILLOPC, ILL_ILLOPN, ILL_PRVOPC, SIGFPE, SIGILL, SIGTRAP, TRAP_BRKPT
from arch.exceptions import Exceptions, Get, Read, Refusal

BREAKPOINT = b"\x00\x01"
LENGTHS = (2, 4, 4, 6)  # by the two highest bits of the first byte
EX, EXRL = 0x44, 0xC600
# Opcodes: the first byte, or it and the second, or it and the last, or it and four bits.
LAST_BYTE, SECOND_BYTE = (0xE3, 0xEB, 0xEC, 0xED), (0x01, 0xB2, 0xB3, 0xB9, 0xE5)
FOUR_BITS = (0xC6, 0xC8)
PRIVILEGED = frozenset((
    0x0107,
    0x80, 0x82, 0x83, 0xAC, 0xAD, 0xAE, 0xB1, 0xB6, 0xB7, 0xC800, 0xDA, 0xDB,
    0xB202, 0xB204, 0xB206, 0xB207, 0xB208, 0xB209, 0xB20A, 0xB20D, 0xB210, 0xB211, 0xB212, 0xB220, 0xB221, 0xB229, 0xB22A,
    0xB22B, 0xB22C, 0xB230, 0xB231, 0xB232, 0xB233, 0xB234, 0xB235, 0xB236, 0xB237, 0xB238, 0xB239, 0xB23A, 0xB23B, 0xB23C,
    0xB246, 0xB24B, 0xB250, 0xB25F, 0xB274, 0xB276, 0xB27D, 0xB280, 0xB2B1, 0xB2B2,
    0xB905, 0xB925, 0xB98A, 0xB98E, 0xB9A0, 0xB9D0, 0xB9D2, 0xB9D3,
    0xE303, 0xE313, 0xE3D0, 0xE3D4, 0xEB25, 0xEB2F, 0xEBD0, 0xEBD1,
))  # fmt: skip
# Registers that are no pair, functions that are none, addresses that are not aligned.
SPECIFICATION = frozenset((
    0x0E, 0x0F, 0x1C, 0x5C, 0x8C, 0x8D, 0x8E, 0x8F, 0x9A, 0x9B, 0xA8, 0xA9, 0xAF, 0xBA, 0xBB, 0xE1,
    0xE2, 0xE9, 0xEA,
    0x010C, 0x010D,
    0xB241, 0xB254, 0xB255, 0xB25E, 0xB279, 0xB2A5, 0xB2A6, 0xB2A7, 0xB2B0, 0xB2B8,
    0xB305, 0xB306, 0xB307, 0xB316, 0xB340, 0xB341, 0xB342, 0xB343, 0xB344, 0xB345, 0xB346, 0xB347, 0xB348, 0xB349, 0xB34A, 0xB34B,
    0xB34C, 0xB34D, 0xB357, 0xB35F, 0xB365, 0xB376, 0xB384, 0xB385, 0xB390, 0xB391, 0xB392, 0xB394, 0xB395, 0xB396, 0xB398, 0xB399,
    0xB39A, 0xB39C, 0xB39D, 0xB39E, 0xB3A0, 0xB3A1, 0xB3A2, 0xB3A4, 0xB3A5, 0xB3A6, 0xB3A8, 0xB3A9, 0xB3AA, 0xB3AC, 0xB3AD, 0xB3AE,
    0xB91E, 0xB928, 0xB929, 0xB92A, 0xB92B, 0xB92C, 0xB92D, 0xB92E, 0xB92F, 0xB93C, 0xB93E, 0xB93F, 0xB983, 0xB986, 0xB990, 0xB991,
    0xB996, 0xB9B0, 0xB9B1, 0xB9B2, 0xB9B3, 0xB9BE, 0xB9EC,
    0xE35C, 0xE384, 0xE386, 0xE38E, 0xE38F, 0xE396,
    0xEB14, 0xEB30, 0xEB31, 0xEB3E, 0xEB8E, 0xEB8F, 0xEB9A, 0xEB9B, 0xEBE4, 0xEBE6, 0xEBE7, 0xEBE8, 0xEBEA, 0xEBF4, 0xEBF6, 0xEBF7,
    0xEBF8, 0xEBFA,
))  # fmt: skip
# d dr dsgr dsgfr dlgr dlr dsg dsgf dlg dl -> which byte has the register in its upper half
DIVIDES = {0x1D: 1, 0x5D: 1, 0xB90D: 3, 0xB91D: 3, 0xB987: 3, 0xB997: 3, 0xE30D: 1, 0xE31D: 1, 0xE387: 1, 0xE397: 1}
# crt cgrt clrt clgrt, clt clgt, cgit clgit cit clfit: a data exception
TRAPS = frozenset((0xB960, 0xB961, 0xB972, 0xB973, 0xEB23, 0xEB2B, 0xEC70, 0xEC71, 0xEC72, 0xEC73))


def opcode(insn: bytes) -> int:
    """Of the instruction's bytes."""
    first = insn[0]
    if first in SECOND_BYTE:
        return first << 8 | insn[1]
    if first in LAST_BYTE:
        return first << 8 | insn[5]
    return first << 8 | insn[1] & 15 if first in FOUR_BITS else first


def instruction(read: Read, address: int) -> bytes:
    """Its two, four or six bytes.  Fault."""
    first = read(address, 2)
    length = LENGTHS[first[0] >> 6]
    return first if length == 2 else read(address, length)


def executed(get: Get, read: Read, address: int, insn: bytes) -> bytes | None:
    """What `ex` or `exrl` executes, without the bits it puts in; None: another of them, which is an execute exception."""

    def register(number: int) -> int:
        return get(f"gprs[{number}]") if number else 0

    if opcode(insn) == EX:
        target = register(insn[1] & 15) + register(insn[2] >> 4) + (int.from_bytes(insn[2:4], "big") & 0xFFF)
    else:
        target = address + 2 * int.from_bytes(insn[2:6], "big", signed=True)
    target &= (1 << 64) - 1
    found = instruction(read, target) if not target & 1 else None
    return None if found is None or opcode(found) in (EX, EXRL) else found


def judge(get: Get, read: Read, address: int, traced: bool) -> Refusal:
    """What the kernel says to the program exception of the instruction at `address`.  Fault: it cannot be read."""
    insn = instruction(read, address)
    length = len(insn)
    if opcode(insn) in (EX, EXRL):
        target = executed(get, read, address, insn)
        if target is None:
            return Refusal(SIGILL, ILL_ILLOPN, length)
        insn = target
    if insn == BREAKPOINT and traced:
        return Refusal(SIGTRAP, TRAP_BRKPT, length)
    op = opcode(insn)
    if op in PRIVILEGED:
        return Refusal(SIGILL, ILL_PRVOPC, length)
    if op in DIVIDES and not insn[DIVIDES[op]] >> 4 & 1:
        return Refusal(SIGFPE, FPE_INTDIV, length)
    if op in TRAPS:
        return Refusal(SIGFPE, 0, length)
    return Refusal(SIGILL, ILL_ILLOPN if op in SPECIFICATION or op in DIVIDES else ILL_ILLOPC, length)


EXCEPTIONS = Exceptions(fault_mask=-4096, judge=judge)
