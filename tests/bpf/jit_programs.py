"""Programs that make the JIT compiler use each of its forms, and the C program that asks a real kernel for their machine code.

    python -m tests.bpf.jit_programs ask.c && gcc -O1 -static -o ask ask.c
    BOOT_COMMAND -f ask /ask > answers        (x86-64, Linux 6.1)
    python -m tests.bpf.jit_programs --keep answers

Kept in tests/data/jit_x86_64_6_1.txt.gz: a line of hexadecimal for each program.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path

from bpf.isa import insn as isa
from bpf.isa.insn import Insn, encode, ld_imm64

ANSWERS = Path(__file__).parents[1] / "data/jit_x86_64_6_1.txt.gz"
MOVE = isa.BPF_ALU64 | isa.BPF_MOV
EXIT = Insn(isa.BPF_JMP | isa.BPF_EXIT)
CONSTANTS = (0, 1, -1, 127, -128, 128, 0x7FFFFFFF, -(1 << 31), 5)
PAIRS = ((0, 0), (0, 1), (1, 0), (2, 3), (3, 2), (3, 4), (4, 3), (4, 5), (5, 4), (6, 7), (7, 8), (9, 6), (0, 9), (8, 2))
OPERATIONS = (isa.BPF_ADD, isa.BPF_SUB, isa.BPF_MUL, isa.BPF_DIV, isa.BPF_OR, isa.BPF_AND, isa.BPF_LSH, isa.BPF_RSH,
              isa.BPF_MOD, isa.BPF_XOR, isa.BPF_MOV, isa.BPF_ARSH)  # fmt: skip
JUMPS = (isa.BPF_JEQ, isa.BPF_JGT, isa.BPF_JGE, isa.BPF_JSET, isa.BPF_JNE, isa.BPF_JSGT, isa.BPF_JSGE, isa.BPF_JLT,
         isa.BPF_JLE, isa.BPF_JSLT, isa.BPF_JSLE)  # fmt: skip
SIZES = (isa.BPF_B, isa.BPF_H, isa.BPF_W, isa.BPF_DW)
SHIFTS = (isa.BPF_LSH, isa.BPF_RSH, isa.BPF_ARSH)


def known(count: int = 10) -> list[Insn]:
    """Every register holds a small number that is not 0."""
    return [Insn(MOVE, reg, imm=reg + 1) for reg in range(count)]


def done() -> list[Insn]:
    return [Insn(MOVE, 0, imm=0), EXIT]


def arithmetic() -> Iterator[list[Insn]]:
    for cls in (isa.BPF_ALU, isa.BPF_ALU64):
        for op in OPERATIONS:
            pairs = [Insn(cls | op | isa.BPF_X, dst, src) for dst, src in PAIRS]
            yield [*known(), *pairs, *done()]
            limit = 31 if op in SHIFTS else 1 << 40
            values = [value for value in CONSTANTS if (0 <= value <= limit or op not in SHIFTS)]
            values = [value for value in values if value or op not in (isa.BPF_DIV, isa.BPF_MOD)]
            yield [
                *known(),
                *(Insn(cls | op, dst, imm=value) for dst in (0, 1, 3, 4, 5, 7) for value in values),
                *done(),
            ]
        yield [*known(), *(Insn(cls | isa.BPF_NEG, reg) for reg in range(10)), *done()]
    for way in (isa.BPF_TO_LE, isa.BPF_TO_BE):
        body = [Insn(isa.BPF_ALU | isa.BPF_END | way, reg, imm=bits) for reg in (0, 5, 6, 9) for bits in (16, 32, 64)]
        yield [*known(), *body, *done()]
    for value in (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 32, (1 << 64) - 1, 0xFFFFFFFF80000000):
        yield [*ld_imm64(0, value), *ld_imm64(5, value), *ld_imm64(9, value), *done()]


def memory() -> Iterator[list[Insn]]:
    frame = [*known(), Insn(MOVE | isa.BPF_X, 8, 10), Insn(MOVE | isa.BPF_X, 2, 10)]
    for size in SIZES:
        width = isa.SIZE_BYTES[size]
        for base in (10, 8, 2):
            for off in (-width, -128, -136, -512):
                stores = [Insn(isa.BPF_STX | isa.BPF_MEM | size, base, src, off) for src in (0, 1, 3, 5, 6, 7, 9)]
                stores += [Insn(isa.BPF_ST | isa.BPF_MEM | size, base, 0, off, value) for value in (0, 1, -1)]
                loads = [Insn(isa.BPF_LDX | isa.BPF_MEM | size, dst, base, off) for dst in (0, 1, 5, 6, 7)]
                yield [*frame, *stores, *loads, *done()]
    for size in (isa.BPF_W, isa.BPF_DW):
        for base in (10, 8, 2):
            for what in (isa.BPF_ADD, isa.BPF_AND, isa.BPF_OR, isa.BPF_XOR):
                for fetch in (0, isa.BPF_FETCH):
                    body = [
                        Insn(isa.BPF_STX | isa.BPF_ATOMIC | size, base, src, -8, what | fetch) for src in (0, 1, 5, 7)
                    ]
                    yield [*frame, Insn(isa.BPF_ST | isa.BPF_MEM | isa.BPF_DW, 10, 0, -8, 7), *body, *done()]
            for what in (isa.BPF_XCHG, isa.BPF_CMPXCHG):
                body = [Insn(isa.BPF_STX | isa.BPF_ATOMIC | size, base, src, -8, what) for src in (1, 5, 7)]
                yield [*frame, Insn(isa.BPF_ST | isa.BPF_MEM | isa.BPF_DW, 10, 0, -8, 7), *body, *done()]


def jumps() -> Iterator[list[Insn]]:
    unknown = [Insn(isa.BPF_JMP | isa.BPF_CALL, imm=7), *(Insn(MOVE | isa.BPF_X, reg, 0) for reg in range(1, 10))]
    for cls in (isa.BPF_JMP, isa.BPF_JMP32):
        for op in JUMPS:
            body = []
            for dst, src in PAIRS[1:]:
                body += [Insn(cls | op | isa.BPF_X, dst, src, 1), Insn(MOVE, 0, imm=1)]
            for value in CONSTANTS:
                for dst in (0, 1, 5, 9):
                    body += [Insn(cls | op, dst, 0, 1, value), Insn(MOVE, 0, imm=1)]
            yield [*unknown, *body, *done()]
    for far in range(10, 40, 3):  # around what a short jump reaches, and exits in the middle
        filler = [Insn(isa.BPF_ALU64 | isa.BPF_ADD, 6, imm=1)] * far
        yield [*unknown, Insn(isa.BPF_JMP | isa.BPF_JEQ, 6, 0, far + 1, 7), *filler, Insn(isa.BPF_JMP | isa.BPF_JA, off=far + 2),
               *done(), *filler, *done(), *filler, *done()]  # fmt: skip
        yield [*unknown, Insn(isa.BPF_JMP | isa.BPF_JA, off=0), *filler, *done()]
        yield [*unknown, Insn(isa.BPF_JMP | isa.BPF_JEQ, 6, 0, far * 2, 7), *filler * 2, *done()]
    yield [*unknown, Insn(isa.BPF_ST | isa.BPF_MEM | isa.BPF_DW, 10, 0, -24, 0), Insn(isa.BPF_JMP | isa.BPF_CALL, imm=5),
           *done()]  # fmt: skip
    call = Insn(isa.BPF_JMP | isa.BPF_CALL, 0, isa.BPF_PSEUDO_CALL, 0, 2)
    yield [*known(), call, *done(), Insn(MOVE | isa.BPF_X, 6, 1), Insn(isa.BPF_STX | isa.BPF_MEM | isa.BPF_DW, 10, 6, -40),
           *done()]  # fmt: skip


def programs() -> list[bytes]:
    """The bytes of each, for a socket filter."""
    return [encode(body, "little") for part in (arithmetic, memory, jumps) for body in part()]


def asking() -> str:
    """The C program."""
    rows = [f"static const unsigned char p{n}[] = {{{','.join(map(str, body))}}};" for n, body in enumerate(programs())]
    table = ",".join(f"{{p{n}, sizeof(p{n})}}" for n in range(len(rows)))
    return "\n".join(rows) + MAIN.replace("TABLE", table)


MAIN = r"""
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static const struct { const unsigned char *insns; unsigned size; } programs[] = {TABLE};
int main(void)
{
	static unsigned char code[1 << 16];
	for (unsigned n = 0; n < sizeof(programs) / sizeof(programs[0]); n++) {
		union bpf_attr attr = {0};
		struct bpf_prog_info info = {0};
		attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
		attr.insns = (unsigned long)programs[n].insns;
		attr.insn_cnt = programs[n].size / 8;
		attr.license = (unsigned long)"GPL";
		int fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
		if (fd < 0) {
			printf("refused\n");
			continue;
		}
		info.jited_prog_insns = (unsigned long)code;
		info.jited_prog_len = sizeof(code);
		memset(&attr, 0, sizeof(attr));
		attr.info.bpf_fd = fd;
		attr.info.info = (unsigned long)&info;
		attr.info.info_len = sizeof(info);
		syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr));
		for (unsigned i = 0; i < info.jited_prog_len; i++)
			printf("%02x", code[i]);
		printf("\n");
		close(fd);
	}
	return 0;
}
"""


def main() -> None:
    if sys.argv[1] == "--keep":
        ANSWERS.write_bytes(gzip.compress(Path(sys.argv[2]).read_bytes(), 9, mtime=0))
    else:
        Path(sys.argv[1]).write_text(asking())


if __name__ == "__main__":
    main()
