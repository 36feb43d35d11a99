"""The tables of arch/s390x/exceptions.py are what a real 6.1 says to every opcode (tests/data/arch/s390x/opcodes.c asked)."""

import gzip
from pathlib import Path

from arch.s390x.exceptions import DIVIDES, EX, EXRL, PRIVILEGED, SPECIFICATION, TRAPS, judge, opcode

RECORD = Path(__file__).parents[1] / "data/arch/s390x/opcodes_6_1.txt.gz"
BITS_THAT_NOBODY_READS = (0x80, 0x82)  # QEMU says operation to an ssm or lpsw with these bits


def test_every_refusal_is_the_real_kernels():
    seen, wrong = set(), []
    for line in gzip.decompress(RECORD.read_bytes()).decode().splitlines():
        name, *real = line.split()
        insn = bytes.fromhex(name)
        op = opcode(insn)
        seen.add(op)
        if op in (EX, EXRL) or (op in BITS_THAT_NOBODY_READS and insn[1]):
            continue
        said = judge(lambda name: 0, lambda address, count, insn=insn: insn[address : address + count], 0, traced=False)
        if [said.sig, said.code, said.length] != list(map(int, real)):
            wrong.append((line, said))
    assert not wrong
    assert PRIVILEGED | SPECIFICATION | DIVIDES.keys() | TRAPS <= seen | {0xC800}


def test_exrl_of_zeros_executes_itself():
    said = judge(lambda name: 0, lambda address, count: bytes.fromhex("c60000000000")[:count], 0, traced=False)
    assert (said.code, said.length) == (2, 6)
