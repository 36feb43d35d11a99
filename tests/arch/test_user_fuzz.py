"""User code of random bytes: whatever it does becomes a trap, a fault, a system call or the end of its budget.

Kernel memory stays as it is, the emulation never ends otherwise, and the same bytes do the same thing twice.
"""

from __future__ import annotations

import random
from typing import Any

from arch.cpu import Stop

CODE, DATA = 0x400000, 0x500000
PROGRAMS = 250
BUDGET = 5000
# Fields that user code can not choose.
FIXED = {"cs", "ss", "ds", "es", "fs", "gs", "orig_ax"}

# Bytes that once broke out: an illegal instruction at the start of a page, EXECUTE of an illegal instruction, iret into
# virtual 8086 mode, one exception after another, a breakpoint that the emulator reports as an error.
KNOWN = {
    "x86_64": ("077083ff", "56cf0a641dd9408d1d7fed4686e47415", "cffa", "f4", "0f0b"),
    "i386": ("c7eb7256", "9652a985b68452cfa1556932073a4185", "f4", "0f0b"),
    "s390x": ("446d928f2a91b019a55a66c9be29c068", "00000000", "b2b20000", "0001"),
    "arm64": ("00000000", "000020d4", "e0039fd6"),
    "riscv64": ("00000000", "73001000", "0290", "73002010"),
    "arm": ("f000f0e7", "700020e1", "00f021e3", "0ef0b0e1"),
}


def run_all(tiny: Any) -> list[tuple[Any, ...]]:
    log: list[tuple[Any, ...]] = []
    ip = tiny.arch.instruction_pointer

    def handler(role: str) -> Any:
        def body(regs: int, *args: int) -> int:
            log.append((role, tiny.reg(regs, ip), args[0] if args else 0))
            tiny.cpu.stop()
            return 0

        return body

    tiny.build(**{name: handler(role) for role, name in tiny.arch.entry.handlers.items() if role != "fork"})
    tiny.bodies["schedule_tail"] = lambda *a: 0
    space = tiny.user(b"")
    page = space.entry(CODE) >> 12
    tiny.data_page(space)
    rng = random.Random(tiny.arch.name)
    programs = [bytes.fromhex(text) for text in KNOWN[tiny.arch.name]]
    programs += [rng.randbytes(rng.choice((8, 32, 128))) for _ in range(PROGRAMS)]
    fields = [row.field for row in tiny.layout.rows if row.register and row.size == tiny.arch.word]
    fields = [f for f in fields if f not in tiny.arch.support.user_mode_fields and f not in FIXED]
    word = (1 << 8 * tiny.arch.word) - 1
    map = tiny.mem.map
    choices = (0, DATA + 8, DATA + 4088, CODE, map.direct_map, map.text_base, map.vmalloc_start, word)
    for program in programs:
        tiny.phys.write(page << 12, program + bytes(4096 - len(program)))
        tiny.cpu.code_page_changed(page << 12, 4096)
        values = {field: rng.choice((*choices, rng.getrandbits(64) & word)) for field in fields}
        values |= {tiny.arch.stack_pointer: DATA + 2048, ip: CODE}
        tiny.set_user(tiny.cpu.user_regs, CODE, values)
        tiny.enter_user()
        if tiny.cpu.run(BUDGET) is Stop.BUDGET:
            assert not tiny.cpu.in_kernel
            log.append(("budget", tiny.cpu.pc, tiny.cpu.work))
    return log


def test_random_programs_stay_in_user_mode(tiny: Any) -> None:
    secret = tiny.mem.alloc(4096)
    tiny.mem.write(secret, bytes(range(256)) * 16)
    log = run_all(tiny)
    assert len(log) == PROGRAMS + len(KNOWN[tiny.arch.name])
    assert tiny.mem.read(secret, 4096) == bytes(range(256)) * 16
    again = type(tiny)(tiny.arch.name)
    for name in again.text.names:
        assert again.mem.read(again.symbols[name].address, 16) == tiny.mem.read(again.symbols[name].address, 16)
    again.mem.alloc(4096)
    assert run_all(again) == log
    start, size = tiny.mem.map.text_base, tiny.text.end - tiny.mem.map.text_base
    assert again.mem.read(start, size) == tiny.mem.read(start, size)
    again.cpu.close()
