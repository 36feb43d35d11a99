"""The exact address of a refused access.  The emulator tells only its page; the instruction tells the rest.

The faulting instruction is decoded with capstone, and the memory operand whose address lies in that page is taken.
What is not found so (string instructions, exotic operands) is reported as the start of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from arch.architecture import Architecture
from arch.decode import decoder
from arch.errors import Fault
from arch.memory import PAGE_MASK
from arch.support import Support

MAX_INSN = 16  # bytes


def refine(
    arch: Architecture, get: Callable[[str], int], read: Callable[[int, int], bytes], page: int, fetch: bool
) -> int:
    """The address inside `page` that the instruction at the saved ip touches; `page` itself if that is not clear.

    `get(field)` reads the saved pt_regs, and bases of segments by the register's name, `read(addr, size)` user memory; `fetch`: it was the instruction that could not be read.
    """
    ip = get(arch.instruction_pointer)
    if fetch and ip & PAGE_MASK == page & PAGE_MASK:
        return ip
    for address in touched(arch, get, read):
        if address & PAGE_MASK == page & PAGE_MASK:
            return address
        if page & PAGE_MASK == (address + 63) & PAGE_MASK:
            return page  # the access runs over into this page
    sp = get(arch.stack_pointer) - arch.word
    return sp if sp & PAGE_MASK == page & PAGE_MASK else page


def touched(arch: Architecture, get: Callable[[str], int], read: Callable[[int, int], bytes]) -> Iterator[int]:
    """Addresses that the instruction at the saved ip may touch, the likeliest first."""
    support = arch.support
    assert isinstance(support, Support)
    ip = get(arch.instruction_pointer)
    code = b""
    for size in (MAX_INSN, 4, 2):
        try:
            code = read(ip, size)
            break
        except Fault:
            continue
    insn = next(decoder(support.text, detail=True).disasm(code, ip, 1), None)
    if insn is None:
        return
    fields = {row.register: row.field for row in arch.pt_regs.rows if row.register is not None}
    mask = (1 << 8 * arch.word) - 1
    bases = support.segments.bases if support.segments is not None else {}

    def value(register: int) -> int:
        name = insn.reg_name(register) if register else None
        if name in ("rip", "eip"):
            return int(ip + insn.size)
        name = _ALIASES.get(name or "", name or "")
        if base := bases.get(name):
            return get(base)
        field = fields.get(f"r{name}" if name.isdigit() else name)  # s390x registers are bare numbers
        return get(field) if field is not None else 0

    for address in _addresses(insn, value):
        yield address & mask


# Names that capstone and our register tables spell differently.
_ALIASES = {"fp": "x29", "lr": "x30"}


def member(structure: Any, name: str, absent: Any) -> Any:
    """A member of a capstone structure, which has it for some CPUs only."""
    return getattr(structure, name, absent)


def _addresses(insn: Any, value: Callable[[int], int]) -> Iterator[int]:
    """Effective addresses of the memory operands."""
    import capstone

    for operand in insn.operands:
        if operand.type != capstone.CS_OP_MEM:
            continue
        memory = operand.mem
        index = value(member(memory, "index", 0)) * member(memory, "scale", 1)
        shift = member(member(operand, "shift", None), "value", 0)
        yield value(member(memory, "segment", 0)) + value(memory.base) + (index << shift) + memory.disp
        yield value(memory.base)  # post-indexed forms
    if [operand.type for operand in insn.operands] == [capstone.CS_OP_REG, capstone.CS_OP_IMM, capstone.CS_OP_REG]:
        _, offset, base = insn.operands  # riscv64: how compressed loads and stores look
        yield value(base.reg) + offset.imm
    for operand in insn.operands:
        if operand.type == capstone.CS_OP_IMM:
            yield operand.imm  # s390x: an address without a base register looks like an immediate
