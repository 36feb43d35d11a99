"""Random programs for the figures of agreement: arithmetic, cases of the suite with something changed, and what tracers write.

    python tests/oracle/mixed_programs.py mixed 6000 --seed 7 >CASES.json

| kind | what it makes |
|---|---|
| `arithmetic` | numbers known and unknown, forward jumps, stack slots |
| `changed` | one of the small cases of the kernel's suite of 6.1, one to three of its instructions changed |
| `tracing` | kprobe, tracepoint, perf event and raw tracepoint programs: contexts, keys on the stack, maps, memory that is read, output |
| `mixed` | one in four `tracing`, the others `arithmetic` and `changed` |

The same kind, number and seed are the same programs, so that figures can be repeated: docs/differences.md names the seeds.
"""

from __future__ import annotations

import json
import random
import struct
import sys
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


from bpf.isa.asm import assemble
from bpf.isa.insn import encode
from tests.oracle import reask
from tests.oracle.generator_arguments import kind_count_seed

Row = dict[str, Any]
SUITE = Path(__file__).parents[1] / "data/verifier_6_1_given.json.gz"
SOCKET_FILTER = 1
NUMBERS = (0, 1, 2, 7, 8, 31, 32, 63, 255, 256, 4095, 0xFF00, 0x7FFFFFFF, -1, -2, -8, -4096, -(1 << 31))
OPERATIONS = ("+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", "%=", "^=", "=", "s>>=")
CONDITIONS = ("==", ">", ">=", "!=", "s>", "s>=", "&", "<", "<=", "s<", "s<=")
WIDTHS = (8, 16, 32, 64)


class Text:
    """Lines of a program, and which of them load a map's address."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.maps: dict[str, list[int]] = {}

    def add(self, *lines: str) -> None:
        """A line `rN = map[NAME]` names a map that the case file knows."""
        for line in lines:
            if " = map[" in line:
                register, _, name = line.partition(" = map[")
                self.maps.setdefault(name.rstrip("]"), []).append(self.position)
                line = f"{register} = map[0]"
            self.lines.append(line)

    @property
    def position(self) -> int:
        return sum(2 if "map[0]" in line else not line.endswith(":") for line in self.lines)

    def case(self, prog_type: int, **more: Any) -> Row:
        """The row."""
        row: Row = {"prog_type": prog_type, "insns": encode(assemble("\n".join(self.lines))).hex(), **more}
        return {**row, "maps": self.maps} if self.maps else row


# ---- arithmetic ----


def arithmetic(rng: random.Random) -> Row:
    """What a verifier has to know of numbers: bounds, bits, spilled and filled, compared."""
    text, registers = Text(), (0, 2, 3, 4, 5, 7, 8, 9)
    text.add("r6 = r1", *(f"r{register} = {rng.choice(NUMBERS)}" for register in registers))
    if rng.random() < 0.5:
        name = rng.choice(("fixup_map_array_48b", "fixup_map_hash_48b"))  # of the two the array alone has an element
        text.add("*(u64 *)(r10 -8) = 0", "r2 = r10", "r2 += -8", f"r1 = map[{name}]", "call 1")
        text.add("if r0 != 0 goto pc+1", "exit", f"r7 = *(u64 *)(r0 +{rng.choice((0, 8, 24, 40, 41, 48))})")
        text.add("r0 = 0", *(f"r{register} = {rng.choice(NUMBERS)}" for register in (1, 2, 3, 4, 5)))
    length = rng.randint(4, 30)
    for number in range(length):
        text.add(_any_instruction(rng, registers, length - number - 1))
    text.add("exit")
    return text.case(SOCKET_FILTER, runs=[{"data": bytes(64).hex()}])


def _any_instruction(rng: random.Random, registers: tuple[int, ...], left: int) -> str:
    """One line; a jump goes no further than `left` lines ahead."""
    dst, src, width, number = rng.choice(registers), rng.choice(registers), rng.choice("rw"), rng.choice(NUMBERS)
    slot = -8 * rng.randint(1, 4)
    match rng.choices(("alu", "jump", "spill", "fill", "context", "chance"), (55, 20, 10, 10, 4, 1))[0]:
        case "alu":
            operation = rng.choice(OPERATIONS)
            if rng.random() < 0.5:
                return f"{width}{dst} {operation} {width}{src}"
            if operation in ("<<=", ">>=", "s>>="):
                number = rng.randint(0, 31 if width == "w" else 63)
            elif operation in ("/=", "%=") and number == 0:
                number = 3
            return f"{width}{dst} {operation} {number}"
        case "jump":
            operand = f"{width}{src}" if rng.random() < 0.5 else str(number)
            return f"if {width}{dst} {rng.choice(CONDITIONS)} {operand} goto pc+{rng.randint(0, left)}"
        case "spill":
            return f"*(u64 *)(r10 {slot}) = r{src}"
        case "fill":
            return f"r{dst} = *(u{rng.choice((8, 32, 64))} *)(r10 {slot})"
        case "context":
            return f"r{dst} = *(u32 *)(r6 +{rng.choice((0, 4, 8, 16, 24, 52, 60, 76, 200))})"
        case _:
            return "call 7"


# ---- cases of the suite with something changed ----

LDX, ST, STX, ALU, JMP, JMP32, ALU64 = 1, 2, 3, 4, 5, 6, 7
MEMORY, ARITHMETIC, JUMPS = (LDX, ST, STX), (ALU, ALU64), (JMP, JMP32)
CALL, EXIT, JA, LD_IMM64, NEG, LAST_ALU, LAST_JUMP = 0x85, 0x95, 0x05, 0x18, 0x80, 0xC0, 0xD0
KEPT = ("prog_type", "attach_type", "prog_flags", "maps", "func_info", "btf", "runs")


@cache
def suite() -> list[Row]:
    """The cases that are worth changing: small ones, which end soon and name nothing of the kernel's."""
    rows, _ = reask.load(SUITE)
    return [
        row
        for row in rows
        if len(row["insns"]) <= 1024 and not row.keys() & {"attach", "kfuncs"} and row["file"] != "loops1.c"
    ]


def changed(rng: random.Random) -> Row:
    """A case of the suite with one to three instructions that are others."""
    original = rng.choice(suite())
    code = bytearray.fromhex(original["insns"])
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
        places = [at for at in range(0, len(code), 8) if code[at] & 7 and code[at] not in (CALL, EXIT, JA)]
        if places and rng.random() < 0.9:
            _change_use(rng, code, rng.choice(places))
        else:
            _change_field(rng, code, rng.randrange(len(code) // 8) * 8)
    row = {key: original[key] for key in KEPT if key in original}
    maps = {
        name: left
        for name, indexes in row.pop("maps", {}).items()
        if (left := [i for i in indexes if code[8 * i] == LD_IMM64 and code[8 * i + 1] >> 4 in (1, 2)])
    }
    row |= {"maps": maps} if maps else {}
    return {**row, "insns": code.hex(), "from": f"{original['file']}: {original['descr']}"}


def _add(code: bytearray, at: int, form: str, delta: int) -> None:
    """To a field of so many bits, round its end."""
    (value,) = struct.unpack_from(f"<{form}", code, at)
    bits = 8 * struct.calcsize(form)
    struct.pack_into(f"<{form}", code, at, (value + delta) % (1 << bits))


def _change_field(rng: random.Random, code: bytearray, at: int) -> None:
    """Any field: most often no instruction is left."""
    match rng.randrange(5):
        case 0:
            code[at + 1] = code[at + 1] & 0xF0 | rng.randrange(11)
        case 1:
            code[at + 1] = code[at + 1] & 0x0F | rng.randrange(11) << 4
        case 2:
            _add(code, at + 2, "H", rng.choice((-8, -4, -1, 1, 4, 8)))
        case 3:
            struct.pack_into("<i", code, at + 4, rng.choice(NUMBERS))
        case _:
            code[at] = rng.choice((0xB7, 0x07, 0x0F, 0xBF, 0x57, 0x77, 0x67, 0x79, 0x7B, 0x15, 0x55, 0xB4, 0x1F, 0xC7))


def _change_use(rng: random.Random, code: bytearray, at: int) -> None:
    """A field that the instruction uses: a register, a size, an offset, a number, the operation."""
    kind, by_register = code[at] & 7, code[at] & 8
    written = code[rng.randrange(0, at + 1, 8) + 1] & 0x0F  # a register written before, most likely
    chance = rng.random()
    if chance < 0.08 and kind != ST:
        code[at + 1] = code[at + 1] & 0xF0 | written
    elif kind in MEMORY:
        if chance < 0.2 and kind != ST:
            code[at + 1] = code[at + 1] & 0x0F | written << 4
        elif chance < 0.5:
            code[at] = code[at] & ~0x18 | rng.choice((0x00, 0x08, 0x10, 0x18))
        elif chance < 0.6 and kind == ST:
            struct.pack_into("<i", code, at + 4, rng.choice(NUMBERS))
        else:
            _add(code, at + 2, "H", rng.choice((-8, -4, -2, -1, 1, 2, 4, 8)))
    elif kind in ARITHMETIC and code[at] & 0xF0 == NEG:
        code[at] ^= ALU ^ ALU64
    elif chance < 0.35:
        code[at] = code[at] & 0x0F | rng.randrange(0, (LAST_ALU if kind in ARITHMETIC else LAST_JUMP) + 1, 0x10)
    elif chance < 0.5:
        code[at] ^= ALU ^ ALU64 if kind in ARITHMETIC else JMP ^ JMP32
    elif chance < 0.7 and kind in JUMPS:
        _add(code, at + 2, "H", rng.choice((-2, -1, 1, 1, 2, 3)))
    elif by_register:
        code[at + 1] = code[at + 1] & 0x0F | written << 4
    elif rng.random() < 0.6:
        _add(code, at + 4, "I", rng.choice((-8, -4, -2, -1, 1, 2, 4, 8)))
    else:
        struct.pack_into("<i", code, at + 4, rng.choice(NUMBERS))


# ---- what tracers write ----

KPROBE, TRACEPOINT, PERF_EVENT, RAW_TRACEPOINT, RAW_WRITABLE = 2, 5, 7, 17, 24
# (program type, how far its context can be read)
TRACERS = ((KPROBE, 168), (KPROBE, 168), (TRACEPOINT, 64), (PERF_EVENT, 184), (RAW_TRACEPOINT, 96), (RAW_WRITABLE, 96))
# name -> (bytes of key, bytes of value)
TRACING_MAPS: dict[str, Row] = {
    "counts": {"type": 1, "key_size": 8, "value_size": 8, "max_entries": 64},
    "infos": {"type": 1, "key_size": 16, "value_size": 48, "max_entries": 64},
    "slots": {"type": 2, "key_size": 4, "value_size": 64, "max_entries": 4},
    "scratch": {"type": 6, "key_size": 4, "value_size": 256, "max_entries": 1},
    "recent": {"type": 9, "key_size": 4, "value_size": 24, "max_entries": 64},
    "grows": {"type": 1, "key_size": 8, "value_size": 16, "max_entries": 64, "flags": 1},
    "events": {"type": 4, "key_size": 4, "value_size": 4, "max_entries": 1},
    "stacks": {"type": 7, "key_size": 4, "value_size": 127 * 8, "max_entries": 16},
    "ring": {"type": 27, "key_size": 0, "value_size": 0, "max_entries": 4096},
}
KEYED = tuple(name for name, row in TRACING_MAPS.items() if row["key_size"] and row["type"] not in (4, 7))
PROBE_READ, KTIME, PRANDOM, CPU, PID_TGID, UID_GID, COMM, EVENT_OUTPUT, STACKID = 4, 5, 7, 8, 14, 15, 16, 25, 27
PROBE_READ_STR, READ_USER, READ_KERNEL, READ_USER_STR, READ_KERNEL_STR = 45, 112, 113, 114, 115
RING_OUTPUT, RING_RESERVE, RING_SUBMIT, RING_DISCARD, GET_STACK, CURRENT_TASK = 130, 131, 132, 133, 67, 35
KEY, BUFFER = -16, -96  # places on the stack: sixteen bytes of a key, eighty of anything


class Tracer(Text):
    """One program; r6 is its context, r7 a value of a map or 0, r8 and r9 are numbers."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__()
        self.rng = rng
        self.prog_type, self.readable = rng.choice(TRACERS)
        self.value: int | None = None  # how large what r7 points to is

    def slip(self, chance: float = 0.06) -> bool:
        """Here the author makes a mistake."""
        return self.rng.random() < chance

    def write(self) -> Row:
        """The case."""
        rng = self.rng
        self.add("r6 = r1", "r7 = 0", f"r8 = {rng.choice(NUMBERS)}", "r9 = 0")
        steps = (self.context, self.ask, self.ask, self.key_and_value, self.key_and_value, self.count, self.read_memory,
                 self.read_memory, self.fill, self.output, self.ring, self.stack, self.bound, self.compare, self.loop,
                 self.walk_value)  # fmt: skip
        for _ in range(rng.randint(2, 7)):
            rng.choice(steps)()
        self.add(*(() if self.slip(0.03) else ("r0 = 0",)), "exit")
        runs = {"runs": [{"ctx": bytes(96).hex()}]} if self.prog_type in (RAW_TRACEPOINT, RAW_WRITABLE) else {}
        return self.case(self.prog_type, **runs)

    def context(self) -> None:
        """A number out of the context, or one byte too far."""
        size = self.rng.choice((8, 8, 8, 4, 4, 2, 1)) if self.prog_type != RAW_TRACEPOINT else 8
        at = self.rng.randrange(8 if self.prog_type == TRACEPOINT else 0, self.readable, size)
        if self.slip():
            at += self.rng.choice((1, 4, 128))
        self.add(f"r{self.rng.choice((8, 9))} = *(u{8 * size} *)(r6 +{at})")

    def ask(self) -> None:
        """What every tracer asks."""
        helper = self.rng.choice((KTIME, PRANDOM, CPU, PID_TGID, UID_GID, CURRENT_TASK))
        self.add(f"call {helper}", f"r{self.rng.choice((8, 9))} = r0")
        if self.rng.random() < 0.3:
            self.add(f"r8 {self.rng.choice(('>>=', '<<='))} 32")

    def key(self, size: int) -> None:
        """The bytes of a key; sometimes not all of them."""
        for at in range(0, size, 8):
            width = min(8, size - at)
            if not self.slip(0.05):
                self.add(f"*(u{8 * width} *)(r10 {KEY + at}) = {self.rng.choice(('r8', 'r9', 'r8', '0', '1'))}")
            elif self.rng.random() < 0.5:
                self.add(f"*(u{4 * width} *)(r10 {KEY + at}) = r8")
        self.add("r2 = r10", f"r2 += {KEY if not self.slip(0.03) else KEY + self.rng.choice((-1, 1, 4, 12))}")

    def key_and_value(self) -> None:
        """Look a value up; make it where it is not there."""
        name = self.rng.choice(KEYED)
        row = TRACING_MAPS[name]
        self.key(row["key_size"])
        self.add(f"r1 = map[{name}]", "call 1")
        match self.rng.randrange(4):
            case 0 if row["value_size"] <= 80:
                self.add("if r0 != 0 goto pc+9")
                self.fill_from(row["value_size"])  # one line
                self.add("r2 = r10", f"r2 += {KEY}", "r3 = r10", f"r3 += {BUFFER}", f"r1 = map[{name}]")
                self.add(f"r4 = {self.rng.choice((0, 0, 1, 2, 3))}", "call 2")
                self.value = None
                self.add("r0 = 0")
            case 1 if self.slip(0.5):
                self.add("r7 = r0")
                self.value = row["value_size"]
            case _:
                self.add("if r0 != 0 goto pc+2", "r0 = 0", "exit", "r7 = r0")
                self.value = row["value_size"]

    def fill_from(self, size: int) -> None:
        """One store into the buffer."""
        self.add(f"*(u64 *)(r10 {BUFFER + self.rng.randrange(0, max(size, 8), 8)}) = {self.rng.choice(('r8', 'r9'))}")

    def count(self) -> None:
        """Add to a value that was found."""
        if self.value is None:
            return
        size = self.rng.choice((8, 8, 4))
        at = self.rng.randrange(0, self.value, size)
        if self.slip():
            at += self.rng.choice((size, 1, self.value))
        if self.rng.random() < 0.5:
            self.add("r1 = 1", f"lock *(u{8 * size} *)(r7 +{at}) += r1")
        else:
            self.add(f"r1 = *(u{8 * size} *)(r7 +{at})", f"r1 += {self.rng.choice(('1', 'r8', 'r9'))}")
            self.add(f"*(u{8 * size} *)(r7 +{at}) = r1")

    def place(self) -> tuple[list[str], int]:
        """Lines that put an address of memory into r1, and how large that is."""
        if self.value is not None and self.rng.random() < 0.4:
            at = self.rng.randrange(0, self.value, 8)
            return ["r1 = r7", *([f"r1 += {at}"] if at else [])], self.value - at
        at = self.rng.choice((0, 0, 8, 16, 64))
        return ["r1 = r10", f"r1 += {BUFFER + at}"], 80 - at

    def length(self, most: int, register: int) -> list[str]:
        """Lines that put a number of bytes into a register: known, or unknown and bounded, well or not so well."""
        rng = self.rng
        match rng.randrange(5):
            case 0:
                return [f"r{register} = r8", f"r{register} &= {rng.choice((most - 1, 7, 15, 63, 127))}"]
            case 1:
                limit = rng.choice((most, most - 1, 16, most + 1))
                return [f"r{register} = r9", f"if r{register} {rng.choice(('>', '>', 's>', '>='))} {limit} goto pc-1"
                        if self.slip(0.02) else f"if r{register} {rng.choice(('<', '<=', 's<='))} {limit} goto pc+1",
                        f"r{register} = {rng.choice((1, most, 8))}"]  # fmt: skip
            case 2 if self.slip():
                return [f"r{register} = {rng.choice((0, -1, most + 1, 1 << 20))}"]
            case _:
                return [f"r{register} = {rng.choice((1, 4, 8, min(16, most), most))}"]

    def read_memory(self) -> None:
        """Bytes of the kernel or of a process into the buffer or a value."""
        helper = self.rng.choice((PROBE_READ, PROBE_READ_STR, READ_USER, READ_KERNEL, READ_USER_STR, READ_KERNEL_STR))
        lines, most = self.place()
        self.add(
            *lines, *self.length(most, 2), f"r3 = {self.rng.choice(('r8', 'r9', 'r9', 'r6', '0'))}", f"call {helper}"
        )
        if self.rng.random() < 0.5:
            self.add("r9 = r0")
            if self.rng.random() < 0.3:
                self.add("if r9 s> 0 goto pc+2", "r0 = 0", "exit")

    def fill(self) -> None:
        """The buffer, with zeroes or a name."""
        if self.rng.random() < 0.4:
            lines, most = self.place()
            self.add(*lines, f"r2 = {min(16, most) if not self.slip() else 81}", f"call {COMM}")
            return
        value = self.rng.choice(("0", "r8", "r9"))
        some = self.rng.choice((80, 80, 64, 24))
        self.add(*(f"*(u64 *)(r10 {BUFFER + at}) = {value}" for at in range(0, some, 8)))

    def output(self) -> None:
        """A record to user space."""
        lines, most = self.place()
        self.add(*(line.replace("r1", "r4", 1) for line in lines), *self.length(most, 5), "r1 = r6")
        self.add(f"r2 = map[{'events' if not self.slip(0.03) else 'counts'}]")
        if self.rng.random() < 0.7:
            self.add("w3 = -1", f"call {EVENT_OUTPUT}")
        else:
            self.add("r3 = 0", f"call {EVENT_OUTPUT}")

    def ring(self) -> None:
        """A record in the ring buffer: reserved, written, and given back but for mistakes."""
        if self.rng.random() < 0.3:
            lines, most = self.place()
            self.add(*(line.replace("r1", "r2", 1) for line in lines), *self.length(most, 3))
            self.add("r4 = 0", "r1 = map[ring]", f"call {RING_OUTPUT}")
            return
        size = self.rng.choice((8, 16, 24, 64))
        self.add("r1 = map[ring]", f"r2 = {size if not self.slip() else 'r8'}", "r3 = 0", f"call {RING_RESERVE}")
        if not self.slip():
            self.add("if r0 != 0 goto pc+2", "r0 = 0", "exit")
        self.add(f"*(u64 *)(r0 +{self.rng.randrange(0, size, 8) + (size if self.slip() else 0)}) = r8")
        if self.rng.random() < 0.2:
            self.add(f"*(u{self.rng.choice(WIDTHS)} *)(r0 +0) = 1")
        if not self.slip():
            self.add(
                "r1 = r0", f"r2 = {self.rng.choice((0, 1))}", f"call {self.rng.choice((RING_SUBMIT, RING_DISCARD))}"
            )

    def stack(self) -> None:
        """Where the program was called from."""
        if self.rng.random() < 0.6:
            self.add(
                "r1 = r6", "r2 = map[stacks]", f"r3 = {self.rng.choice((0, 256, 512, 3 << 10))}", f"call {STACKID}"
            )
            self.add("r9 = r0")
            return
        lines, most = self.place()
        self.add(*(line.replace("r1", "r2", 1) for line in lines), *self.length(most, 3), "r1 = r6", "r4 = 0")
        self.add(f"call {GET_STACK}", "r9 = r0")

    def bound(self) -> None:
        """A number between bounds."""
        register = self.rng.choice((8, 9))
        match self.rng.randrange(4):
            case 0:
                self.add(f"r{register} &= {self.rng.choice((1, 7, 15, 63, 255))}")
            case 1:
                self.add(f"r{register} %= {self.rng.choice((3, 8, 64))}")
            case 2:
                self.add(f"w{register} >>= {self.rng.choice((1, 24, 28))}")
            case _:
                limit = self.rng.choice((7, 16, 63, 64))
                self.add(f"if r{register} {self.rng.choice(('<', '<=', 's<'))} {limit} goto pc+2", "r0 = 0", "exit")

    def compare(self) -> None:
        """A filter: this process, that number, or nothing."""
        register, width = self.rng.choice((8, 9)), self.rng.choice("rrw")
        operand = self.rng.choice((*(str(number) for number in NUMBERS), f"{width}{17 - register}"))
        self.add(f"if {width}{register} {self.rng.choice(CONDITIONS)} {operand} goto pc+2", "r0 = 0", "exit")

    def loop(self) -> None:
        """A few rounds over the buffer."""
        turns = self.rng.choice((2, 4, 8))
        self.add("r1 = 0", "r2 = r10", f"r2 += {BUFFER}", "r3 = r2", "r4 = r1")
        self.add("r4 <<= 3" if not self.slip(0.1) else "r4 <<= 5", "r3 += r4", "*(u64 *)(r3 +0) = r8", "r1 += 1")
        self.add(f"if r1 {self.rng.choice(('!=', '<', 's<'))} {turns} goto pc-7")

    def walk_value(self) -> None:
        """A value at a place that a number says."""
        if self.value is None:
            return
        mask = self.rng.choice((7, 15, 31, 63))
        if mask >= self.value and not self.slip(0.1):
            return
        self.add("r1 = r8", f"r1 &= {mask}", "r2 = r7", "r2 += r1")
        self.add(f"r3 = *(u{self.rng.choice((8, 8, 8, 32))} *)(r2 +{self.rng.choice((0, 0, 0, 1))})", "r9 = r3")


def tracing(rng: random.Random) -> Row:
    """A program that a tracer would write, with its mistakes."""
    return Tracer(rng).write()


def mixed(rng: random.Random) -> Row:
    """One of all kinds."""
    return rng.choice((tracing, arithmetic, changed, changed if rng.random() < 0.5 else arithmetic))(rng)


KINDS = {"arithmetic": arithmetic, "changed": changed, "tracing": tracing, "mixed": mixed}


def programs(kind: str, count: int, seed: int) -> Row:
    """A case file: so many programs of a kind, and the maps that they name beside the suite's."""
    rng = random.Random(seed)
    return {"maps": TRACING_MAPS, "cases": [{"id": number, **KINDS[kind](rng)} for number in range(count)]}


def main() -> None:
    json.dump(programs(*kind_count_seed(__doc__, list(KINDS))), sys.stdout)


if __name__ == "__main__":
    main()
