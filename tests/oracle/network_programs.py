"""Random programs of the network's kinds, of arenas and of struct_ops: packets, contexts, sockets, loops that are let go on.

    python tests/oracle/network_programs.py packets 500 --seed 7 >CASES.json

| kind | what it makes |
|---|---|
| `packets` | tc, XDP, lwt and socket programs: bounds of packets by all comparisons, offsets from packets, helpers that move them, static functions |
| `contexts` | programs of control groups, sockets and netfilter: members of their contexts read and written at all widths, what they return |
| `sockets` | sockets looked up, given back, cast, kept beside others, their members, storage |
| `loops` | may_goto, iterators, bpf_loop(), calls up to 18 deep, callbacks, exceptions |
| `arenas` | pages of an arena, casts between address spaces, atomic operations, pointers kept in it |
| `operations` | functions of tcp_congestion_ops: arguments, kernel functions, what they return |
| `network` | one of all |
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from kernel_programs import Text

from tests.oracle.generator_arguments import kind_count_seed

Row = dict[str, Any]
SOCKET_FILTER, SCHED_CLS, SCHED_ACT, XDP, CGROUP_SKB, CGROUP_SOCK = 1, 3, 4, 6, 8, 9
LWT_IN, LWT_OUT, LWT_XMIT, SOCK_OPS, SK_SKB, CGROUP_DEVICE, SK_MSG = 10, 11, 12, 13, 14, 15, 16
SOCK_ADDR, REUSEPORT, FLOW_DISSECTOR, SYSCTL, SOCKOPT, STRUCT_OPS, SK_LOOKUP, SYSCALL, NETFILTER = (
    18,
    21,
    22,
    23,
    25,
    27,
    30,
    31,
    32,
)
STRUCT, SLEEPABLE = 4, 1 << 4
MAPS: dict[str, Row] = {
    "arena": {"type": 33, "key_size": 0, "value_size": 0, "max_entries": 8, "flags": 1 << 10},
    "devices": {"type": 14, "key_size": 4, "value_size": 4, "max_entries": 2},
    "processors": {"type": 16, "key_size": 4, "value_size": 4, "max_entries": 2},
    "values": {"type": 1, "key_size": 4, "value_size": 64, "max_entries": 8},
}
CONDITIONS = ("==", "!=", ">", ">=", "<", "<=", "s>", "s>=", "s<", "s<=")
WIDTHS = (8, 16, 32, 64)


class Writer:
    """What all kinds do."""

    prog_types: tuple[int, ...] = (SCHED_CLS,)

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.text, self.labels = rng, Text(), 0
        self.prog_type = rng.choice(self.prog_types)
        self.functions: list[list[str]] = []

    def add(self, *lines: str) -> None:
        """Instructions as kernel_programs.Text has them, and `FUNC reg label`, the address of a function."""
        for line in lines:
            if line.startswith("FUNC "):
                _, reg, name = line.split()
                self.text.add(f"{reg} = func[{name}]")
                self.text.position += 1
            else:
                self.text.add(line.replace("+-", "-"))

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def width(self) -> str:
        if self.chance(0.15):
            return f"s{self.rng.choice((8, 16, 32))}"
        return f"u{self.rng.choice((8, 16, 32) if self.chance(0.8) else WIDTHS)}"

    def number(self, reg: int) -> None:
        """Some bounded number, or none."""
        rng = self.rng
        self.add(*rng.choice([
            ("call 7", f"r{reg} = r0", f"r{reg} &= {rng.choice((1, 3, 7, 15, 63, 255, 0xFFFF))}"),
            ("call 7", f"w{reg} = w0", f"w{reg} %= {rng.choice((3, 8, 60, 1500))}"),
            ("call 7", f"r{reg} = (s8)r0", f"if r{reg} s< 0 goto out"),
            ("call 7", f"r{reg} = r0", f"if r{reg} > {rng.choice((4, 16, 100, 0x7FFF))} goto out"),
            (f"r{reg} = {rng.choice((0, 1, 2, 8, 14, 20, 64, -1, -8))}",),
            ("call 7", f"w{reg} = w0", f"w{reg} >>= {rng.choice((16, 24, 28))}", f"r{reg} <<= {rng.choice((1, 2, 3))}"),
        ]))  # fmt: skip

    def end(self, returned: str = "r0 = 0", **more: Any) -> Row:
        self.add(returned, "exit", "out:", "r0 = 0", "exit")
        for lines in self.functions:
            self.add(*lines)
        return self.text.row(self.prog_type, **more)


class Packets(Writer):
    """r6 is the context, r7 the packet, r8 its end, r9 a number."""

    prog_types = (SCHED_CLS, SCHED_CLS, XDP, XDP, SCHED_ACT, CGROUP_SKB, LWT_XMIT, LWT_IN, SK_SKB, FLOW_DISSECTOR)

    def write(self) -> Row:
        rng = self.rng
        self.add("r6 = r1")
        self.load()
        self.add("r9 = 0")
        for _ in range(rng.randint(3, 11)):
            rng.choice((self.bound, self.bound, self.bound, self.read, self.read, self.read, self.move, self.move, self.helper, self.helper, self.reload, self.spill,
                        self.member, self.function, self.meta, self.loop, self.end_tricks))()  # fmt: skip
        more: Row = {"runs": [{"data": bytes(range(64)).hex()}]} if self.prog_type in (SCHED_CLS, XDP) else {}
        return self.end(rng.choice(("r0 = 0", "r0 = 1", "r0 = 2", "r0 = r9")), **more)

    def load(self) -> None:
        data, end = (0, 4) if self.prog_type == XDP else (76, 80)
        self.add(f"r7 = *(u32 *)(r6 +{data})", f"r8 = *(u32 *)(r6 +{end})")

    def reload(self) -> None:
        if self.chance(0.5):
            self.load()

    def bound(self) -> None:
        """The packet is at least so long."""
        rng, good = self.rng, self.label()
        size = rng.choice((1, 8, 14, 14, 20, 34, 54, 64, 200, 0))
        self.add("r2 = r7", f"r2 += {size}")
        op = rng.choice((">", ">=", "<", "<="))
        left, right = ("r2", "r8") if self.chance(0.7) else ("r8", "r2")
        if self.chance(0.85):
            fails = op in (">", ">=") if left == "r2" else op in ("<", "<=")
            self.add(f"if {left} {op} {right} goto {'out' if fails else good}")
            if not fails:
                self.add("goto out", f"{good}:")
        else:
            self.add(f"if {left} {op} {right} goto out")

    def read(self) -> None:
        """Something of the packet, mostly within bounds."""
        rng = self.rng
        at = rng.choice((0, 0, 4, 6, 8, 12, 13, 16, 33, 60, -1))
        width = self.width()
        match rng.randrange(6):
            case 0 | 1 | 2:
                self.add(f"r9 = *({width} *)(r7 +{at})")
            case 3:
                self.add(f"*({width.replace('s', 'u')} *)(r7 +{at}) = r9")
            case 4:
                self.add(f"*({width.replace('s', 'u')} *)(r7 +{at}) = {rng.choice((0, 1, -1))}")
            case _:
                self.add(rng.choice((f"lock *(u32 *)(r7 +{at}) += r9", f"r9 = load_acquire((u32 *)(r7 +{at}))",
                                     f"store_release((u32 *)(r7 +{at}), r9)", f"r9 = *(u16 *)(r7 +{at})")))  # fmt: skip

    def move(self) -> None:
        """Further on, by a number of the packet's or another."""
        rng = self.rng
        match rng.randrange(5):
            case 0:
                self.add(f"r7 += {rng.choice((14, 20, 4, 1, -4, 65535))}")
            case 1:
                self.add(f"r9 &= {rng.choice((15, 60, 255))}", "r7 += r9")
            case 2:
                self.number(9)
                self.add("r7 += r9")
            case 3:
                self.add(
                    f"r9 &= {rng.choice((3, 15))}", "r9 <<= 2", f"if r9 < {rng.choice((20, 8))} goto out", "r7 += r9"
                )
            case _:
                self.add(
                    *rng.choice(
                        (
                            ("r7 -= r9",),
                            ("r9 = r8", "r9 -= r7"),
                            ("r3 = r7", "r3 += 4", "r7 = r3"),
                            ("w7 += 4",),
                            ("r8 += 8",),
                            ("r7 &= 7",),
                        )
                    )
                )

    def helper(self) -> None:
        """One that moves or copies packets."""
        rng = self.rng
        xdp = self.prog_type == XDP
        match rng.randrange(9):
            case 0:
                self.add("r1 = r6", f"r2 = {rng.choice((0, 4, -4, 14))}", f"call {44 if xdp else 39}")
            case 1:
                self.add("r1 = r6", f"r2 = {rng.choice((0, 4, 60))}", "r3 = 0", f"call {65 if xdp else 38}")
            case 2:
                self.add(
                    "r1 = r6",
                    f"r2 = {rng.choice((0, 14, -1))}",
                    "r3 = r10",
                    "r3 += -64",
                    f"r4 = {rng.choice((0, 4, 20, 64, 65))}",
                    f"call {189 if xdp else 26}",
                )
                self.add(f"r9 = *(u32 *)(r10 -{rng.choice((64, 60, 4))})")
            case 3:
                self.add(
                    "r1 = r6",
                    "r2 = 0",
                    "r3 = r7",
                    f"r4 = {rng.choice((1, 4, 14))}",
                    "r5 = 0",
                    f"call {190 if xdp else 9}",
                )
            case 4:
                self.add(
                    "r1 = r7",
                    f"r2 = {rng.choice((4, 8, 20, 0))}",
                    "r3 = r7" if self.chance(0.4) else "r3 = 0",
                    f"r4 = {rng.choice((0, 4, 8))}",
                    "r5 = 0",
                    "call 28",
                    "r9 = r0",
                )
            case 5:
                self.add(
                    "MAP r1 values",
                    "r2 = r7",
                    "call 1",
                    "if r0 == 0 goto out",
                    f"r9 = *(u64 *)(r0 +{rng.choice((0, 8, 56, 60))})",
                )
            case 6:
                self.add(
                    f"MAP r1 {rng.choice(('devices', 'processors', 'values'))}",
                    f"r2 = {rng.choice((0, 1, 'r9'))}",
                    f"r3 = {rng.choice((0, 2, 3, 4))}",
                    "call 51",
                )
            case 7:
                self.add("r1 = r6", "r2 = r7", f"r3 = {rng.choice((64, 56, 60))}", "r4 = 0", "call 69")
            case _:
                self.add("r1 = r6", f"r2 = {rng.choice((0, 14, 24))}", "r3 = 1", "r4 = 2", f"r5 = {rng.choice((2, 4, 0x12))}", f"call {rng.choice((10, 11))}")  # fmt: skip
        if self.chance(0.5):
            self.add("if r0 != 0 goto out")
        if self.chance(0.6):
            self.load()

    def spill(self) -> None:
        reg = self.rng.choice((7, 7, 8, 9))
        slot = self.rng.choice((-8, -16))
        self.add(f"*(u64 *)(r10 {slot}) = r{reg}")
        if self.chance(0.3):
            self.bound()
        self.add(f"r{reg} = *(u64 *)(r10 {slot})")

    def member(self) -> None:
        """Of the context."""
        rng = self.rng
        places = (0, 8, 12, 16, 20, 48, 76, 80, 84) if self.prog_type != XDP else (8, 12, 16, 20, 24)
        at = rng.choice((*places, 32, 44, 52, 68, 72, 140, 144, 152, 160, 164, 176, 184))
        if self.chance(0.7):
            self.add(f"r9 = *({self.width()} *)(r6 +{at})")
        else:
            self.add(f"*(u{rng.choice((8, 16, 32, 64))} *)(r6 +{at}) = {rng.choice(('r9', '0', '1'))}")

    def function(self) -> None:
        """A static function that gets packet and end."""
        rng, name, fail = self.rng, f"f{len(self.functions)}", f"f{len(self.functions)}_out"
        size = rng.choice((4, 8, 20))
        lines = [f"{name}:", "r0 = 0", "r3 = r1", f"r3 += {size}", f"if r3 > r2 goto {fail}"]
        lines += [f"r0 = *(u{rng.choice((8, 16, 32))} *)(r1 +{rng.choice((0, 2, 4, size - 1, size))})"]
        if self.chance(0.2):
            lines += ["r0 = r1"]
        lines += [f"{fail}:", "exit"]
        self.functions.append(lines)
        self.add("r1 = r7", "r2 = r8", f"call {name}", "r9 = r0")

    def meta(self) -> None:
        if self.prog_type not in (XDP, SCHED_CLS):
            return
        at = 8 if self.prog_type == XDP else 140
        self.add(f"r3 = *(u32 *)(r6 +{at})", "r4 = r3", f"r4 += {self.rng.choice((4, 8))}")
        self.add(
            f"if r4 {self.rng.choice(('>', '>=', '<='))} r7 goto out", f"r9 = *(u32 *)(r3 +{self.rng.choice((0, 4))})"
        )

    def loop(self) -> None:
        """Over bytes of the packet."""
        top, done = self.label(), self.label()
        self.add(
            "r4 = 0",
            f"{top}:",
            f"if r4 {self.rng.choice(('>=', '==', 's>='))} {self.rng.choice((4, 9))} goto {done}",
            "r3 = r7",
            "r3 += r4",
            "r2 = r3",
            "r2 += 1",
        )
        self.add(
            f"if r2 > r8 goto {done}",
            f"r5 = *(u8 *)(r3 +{0 if self.chance(0.85) else 1})",
            "r9 += r5",
            "r4 += 1",
            f"goto {top}",
            f"{done}:",
        )

    def end_tricks(self) -> None:
        if self.chance(0.35):
            self.add(*self.rng.choice((("if r7 == r8 goto out",), ("if r8 == 0 goto out",), ("r2 = r8", "r2 -= 4", "if r7 > r2 goto out"),
                                       ("r9 = *(u8 *)(r8 -1)",), ("if r7 s> r8 goto out",), ("r2 = r7", "r2 += 8", "if w2 > w8 goto out"))))  # fmt: skip


# program type: attach types, the size of its context, what may be returned
CONTEXTS: dict[int, tuple[tuple[int, ...], int, tuple[int, ...]]] = {
    CGROUP_SOCK: ((2, 12, 13, 34), 80, (0, 1, 2)),
    SOCK_OPS: ((3,), 224, (0, 1, 2)),
    SK_SKB: ((4, 5, 38), 192, (0, 1, -1)),
    CGROUP_DEVICE: ((6,), 12, (0, 1, 2)),
    SK_MSG: ((7,), 80, (0, 1)),
    SOCK_ADDR: ((8, 9, 10, 11, 14, 15, 19, 20, 29, 30, 31, 32), 72, (0, 1, 2, 3)),
    REUSEPORT: ((39, 40, 0), 56, (0, 1)),
    FLOW_DISSECTOR: ((17,), 192, (0, 1, 129)),
    SYSCTL: ((18,), 8, (0, 1, 2)),
    SOCKOPT: ((21, 22), 40, (0, 1, 2)),
    SK_LOOKUP: ((36,), 72, (0, 1, 2)),
    NETFILTER: ((45,), 16, (0, 1, 2)),
    CGROUP_SKB: ((0, 1), 192, (0, 1, 2, 3)),
    LWT_OUT: ((0,), 192, (0, 1)),
}


class Contexts(Writer):
    """r6 is the context, r7 a number, r8 what was read last."""

    prog_types = tuple(CONTEXTS)

    def write(self) -> Row:
        rng = self.rng
        attach, self.size, returned = CONTEXTS[self.prog_type]
        self.add("r6 = r1", "r7 = 1", "r8 = 0")
        for _ in range(rng.randint(2, 7)):
            rng.choice(
                (
                    self.read,
                    self.read,
                    self.read,
                    self.write_member,
                    self.moved,
                    self.pointer,
                    self.helper,
                    self.compare,
                )
            )()
        last = rng.choice([*(f"r0 = {number}" for number in returned), "r0 = r8", "call 7"])
        return self.end(last, attach_type=rng.choice(attach))

    def place(self) -> int:
        at = self.rng.randrange(0, self.size + 8, 4)
        return at if self.chance(0.9) else at + self.rng.choice((1, 2, 3))

    def read(self) -> None:
        self.add(f"r8 = *({self.width()} *)(r6 +{self.place()})")

    def write_member(self) -> None:
        what = self.rng.choice(("r7", "r8", "0", "5"))
        self.add(f"*(u{self.rng.choice((8, 16, 32, 32, 64))} *)(r6 +{self.place()}) = {what}")

    def moved(self) -> None:
        if self.chance(0.3):
            self.number(7)
            self.add(
                "r2 = r6", self.rng.choice(("r2 += r7", "r2 += 4", "r2 += -4")), f"r8 = *(u32 *)(r2 +{self.place()})"
            )

    def pointer(self) -> None:
        """A pointer that the context holds, and a member of what it points to."""
        places = {SOCK_ADDR: (64,), SOCK_OPS: (184, 192, 208), SK_MSG: (0, 8, 72), REUSEPORT: (0, 8, 40, 48), SK_LOOKUP: (0,), SOCKOPT: (0, 8, 16),
                  NETFILTER: (0, 8), CGROUP_SKB: (168,), SK_SKB: (168, 76), FLOW_DISSECTOR: (144,), LWT_OUT: (168,)}  # fmt: skip
        at = self.rng.choice(places.get(self.prog_type, (0, 8)))
        self.add(f"r9 = *(u64 *)(r6 +{at})")
        if self.chance(0.8):
            self.add("if r9 == 0 goto out")
        self.add(f"r8 = *({self.width()} *)(r9 +{self.rng.choice((0, 4, 8, 12, 16, 24, 28, 44, 48, 52, 72, 76))})")

    def helper(self) -> None:
        rng = self.rng
        self.add(*rng.choice([
            ("r1 = r6", f"call {rng.choice((46, 47, 34, 80, 122))}", "r8 = r0"),
            ("call 7", "r8 = r0"),
            ("r1 = r6", "r2 = 1", "r3 = 2", "r4 = r10", "r4 += -8", f"r5 = {rng.choice((4, 8, 0))}", "call 57"),
            ("*(u64 *)(r10 -8) = 0", "r1 = r6", "r2 = 1", "r3 = 2", "r4 = r10", "r4 += -8", "r5 = 4", "call 49"),
            ("r1 = r6", "r2 = r10", "r2 += -16", "r3 = 16", "r4 = 0", "call 101"),
            ("*(u64 *)(r10 -16) = 0", "*(u64 *)(r10 -8) = 0", "r1 = r6", "r2 = r10", "r2 += -16", "r3 = 16", "call 64"),
            ("r1 = 1", "call 187", "r8 = r0"), ("call 186", "r8 = r0"),
            ("MAP r1 fixup_map_reuseport_array", "r2 = r1", "r1 = r6", "*(u32 *)(r10 -4) = 0", "r3 = r10", "r3 += -4", "r4 = 0", "call 82"),
            ("r1 = r6", "r2 = 0", "r3 = 0", "call 124"),
            ("r1 = r6", "r2 = 4", "call 61"), ("r1 = r6", "r2 = 0", "r3 = 4", "r4 = 0", "call 63"),
        ]))  # fmt: skip

    def compare(self) -> None:
        self.add(
            f"if {self.rng.choice('rw')}8 {self.rng.choice(CONDITIONS)} {self.rng.choice((0, 1, 2, 17, -1))} goto out"
        )


class Sockets(Writer):
    """r6 is the context, r7 and r8 sockets, r9 a number."""

    prog_types = (SCHED_CLS, SCHED_CLS, XDP, CGROUP_SKB, SOCK_ADDR, SK_LOOKUP, SOCK_OPS)

    def write(self) -> Row:
        rng = self.rng
        self.held: list[int] = []
        self.known: set[int] = set()
        self.add("r6 = r1", "*(u64 *)(r10 -8) = 0", "*(u64 *)(r10 -16) = 0", "r9 = 0")
        self.look_up()
        for _ in range(rng.randint(2, 9)):
            rng.choice((self.look_up, self.own, self.member, self.member, self.member, self.cast, self.cast, self.cast, self.give_back, self.storage, self.check, self.copy,
                        self.assign))()  # fmt: skip
        for reg in self.held:
            if self.chance(0.92):
                self.add(f"r1 = r{reg}", "call 86")
        attach = {SOCK_ADDR: 10, SK_LOOKUP: 36, SOCK_OPS: 3}.get(self.prog_type, 0)
        return self.end("r0 = 1", attach_type=attach)

    def socket(self) -> int:
        return self.rng.choice(tuple(self.known) or (7, 8)) if self.chance(0.95) else self.rng.choice((7, 8))

    def target(self) -> int:
        free = [reg for reg in (7, 8) if reg not in self.held]
        return self.rng.choice(free or [7, 8])

    def look_up(self) -> None:
        if len(self.held) > 1:
            return
        rng, reg = self.rng, self.target()
        self.add("r1 = r6", "r2 = r10", "r2 += -16", f"r3 = {rng.choice((12, 12, 12, 36, 8))}", f"r4 = {rng.choice(('0', '-1'))}", "r5 = 0",
                 f"call {rng.choice((84, 84, 85, 99))}", f"r{reg} = r0")  # fmt: skip
        self.known.add(reg)
        if self.chance(0.93):
            good = self.label()
            self.add(f"if r{reg} != 0 goto {good}")
            for other in self.held:
                if other != reg:
                    self.add(f"r1 = r{other}", "call 86")
            self.add("goto out", f"{good}:")
        if reg not in self.held:
            self.held.append(reg)

    def own(self) -> None:
        """The socket of the packet or the context."""
        reg = self.target()
        at = {SOCK_ADDR: 64, SK_LOOKUP: 0, SOCK_OPS: 184}.get(self.prog_type, 168)
        self.add(f"r{reg} = *(u64 *)(r6 +{at})")
        self.known.add(reg)
        if not self.held and self.chance(0.9):
            self.add(f"if r{reg} == 0 goto out")

    def member(self) -> None:
        self.add(
            f"r9 = *({self.width()} *)(r{self.socket()} +{self.rng.choice((0, 4, 8, 12, 16, 20, 24, 28, 40, 44, 45, 48, 50, 52, 56, 72, 76, 80))})"
        )

    def cast(self) -> None:
        """Another kind of the same socket."""
        source, reg = self.socket(), self.target()
        done = self.label()
        self.add(f"r1 = r{source}", f"call {self.rng.choice((95, 95, 96, 96, 98, 137, 136, 140, 138))}")
        self.add(f"if r0 == 0 goto {done}")
        if self.chance(0.7):
            self.add(f"r9 = *(u32 *)(r0 +{self.rng.choice((0, 4, 8, 16, 44, 48, 72, 96))})")
        if self.chance(0.15):
            self.add("r1 = r0", "call 86")
        self.add(f"{done}:")
        if self.chance(0.25) and reg not in self.held:
            self.add(f"r{reg} = r0")
            self.known.add(reg)

    def give_back(self) -> None:
        if self.held and self.chance(0.5):
            reg = self.rng.choice(self.held)
            self.add(f"r1 = r{reg}", "call 86")
            self.held.remove(reg)
            if self.chance(0.8):
                self.known.discard(reg)

    def storage(self) -> None:
        done = self.label()
        self.add(f"r2 = r{self.socket()}", "MAP r1 fixup_sk_storage_map", "r3 = 0", f"r4 = {self.rng.choice((0, 1, 2))}", "call 107",
                 f"if r0 == 0 goto {done}", f"r9 = *(u32 *)(r0 +{self.rng.choice((0, 4, 4, 8))})", f"{done}:")  # fmt: skip

    def check(self) -> None:
        reg, done = self.socket(), self.label()
        self.add(
            self.rng.choice(
                (
                    f"if r{reg} == 0 goto {done}",
                    f"if r{reg} != 0 goto {done}",
                    f"if r{reg} == r{15 - reg} goto {done}",
                    f"if r{reg} > r9 goto {done}",
                )
            ),
            f"{done}:",
        )

    def copy(self) -> None:
        source = self.socket()
        self.add(*self.rng.choice(((f"*(u64 *)(r10 -24) = r{source}", f"r{source} = *(u64 *)(r10 -24)"), (f"r1 = r{source}", "r9 = *(u32 *)(r1 +4)"),
                                   (f"*(u64 *)(r6 +0) = r{source}",), (f"r{source} += 4",))[: self.rng.choice((2, 2, 2, 4))]))  # fmt: skip

    def assign(self) -> None:
        if self.prog_type in (SCHED_CLS, SK_LOOKUP):
            self.add("r1 = r6", f"r2 = r{self.socket()}", "r3 = 0", "call 124")


class Loops(Writer):
    """r6 counts, r7 is a number nobody knows, r8 a value of a map."""

    prog_types = (SCHED_CLS, SCHED_CLS, XDP, SYSCALL)

    def write(self) -> Row:
        rng = self.rng
        self.add(
            "*(u32 *)(r10 -4) = 0",
            "r2 = r10",
            "r2 += -4",
            "MAP r1 fixup_map_array_48b",
            "call 1",
            "if r0 == 0 goto out",
            "r8 = r0",
            "r6 = 0",
            "r7 = *(u64 *)(r8 +0)",
        )
        self.add("*(u64 *)(r10 -16) = 0")
        for _ in range(rng.randint(1, 4)):
            rng.choice(
                (self.may_goto, self.may_goto, self.bounded, self.iterator, self.loop_helper, self.calls, self.throw)
            )()
        more: Row = {"prog_flags": SLEEPABLE} if self.prog_type == SYSCALL else {"runs": [{"data": bytes(64).hex()}]}
        return self.end(rng.choice(("r0 = 0", "r0 = 1", "r0 = r6")), **more)

    def body(self) -> None:
        rng = self.rng
        for _ in range(rng.randint(1, 3)):
            self.add(*rng.choice([
                ("r6 += 1",), ("r6 += r7",), ("r1 = *(u64 *)(r10 -16)", "r1 += 1", "*(u64 *)(r10 -16) = r1"), ("r7 &= 31",), ("r7 >>= 1",),
                ("r2 = r8", "r7 &= 7", "r2 += r7", "r3 = *(u8 *)(r2 +0)"), ("r6 &= 15",), ("if r7 > 40 goto out",), ("r1 = r8", "r1 += r6", "r2 = *(u8 *)(r1 +0)"),
                ("if r6 > 40 goto out", "r1 = r8", "r1 += r6", "r2 = *(u8 *)(r1 +0)"), ("*(u64 *)(r10 -24) = r6",), ("r6 = *(u64 *)(r10 -16)",), ("r7 = r6",),
            ]))  # fmt: skip

    def may_goto(self) -> None:
        top, done = self.label(), self.label()
        self.add(f"{top}:", f"may_goto {done}")
        self.body()
        if self.chance(0.4):
            self.add(f"if r6 {self.rng.choice(('>', '>=', '==', 's>'))} {self.rng.choice((4, 100, 5000))} goto {done}")
        self.add(f"goto {top}", f"{done}:")

    def bounded(self) -> None:
        top = self.label()
        self.add("r6 = 0", f"{top}:")
        self.body()
        self.add(
            "r6 += 1", f"if r6 {self.rng.choice(('<', '!=', 's<', '<='))} {self.rng.choice((3, 10, 60))} goto {top}"
        )

    def iterator(self) -> None:
        top, done = self.label(), self.label()
        self.add("r1 = r10", "r1 += -40", "r2 = 0", f"r3 = {self.rng.choice((3, 100))}", "KFUNC bpf_iter_num_new")
        self.add(
            f"{top}:",
            "r1 = r10",
            "r1 += -40",
            "KFUNC bpf_iter_num_next",
            f"if r0 == 0 goto {done}",
            "r7 = *(u32 *)(r0 +0)",
        )
        if self.chance(0.3):
            self.add(f"may_goto {done}")
        self.body()
        self.add(f"goto {top}", f"{done}:", "r1 = r10", "r1 += -40", "KFUNC bpf_iter_num_destroy")

    def loop_helper(self) -> None:
        rng, name = self.rng, f"c{len(self.functions)}"
        lines = [f"{name}:"]
        lines += rng.choice([["r3 = *(u64 *)(r2 +0)", "r3 += 1", "*(u64 *)(r2 +0) = r3"], ["*(u64 *)(r2 +0) = r1"], ["if r1 > 3 goto pc+0"], ["r3 = *(u64 *)(r2 +8)"],
                             ["*(u64 *)(r10 -8) = r1", "r0 = *(u64 *)(r10 -8)", "r0 &= 1"]])  # fmt: skip
        lines += [rng.choice(("r0 = 0", "r0 = 1", "r0 = 0", "r0 = r1")), "exit"]
        self.functions.append(lines)
        self.add(
            f"r1 = {rng.choice((1, 10, 'r7'))}",
            f"FUNC r2 {name}",
            "r3 = r10",
            f"r3 += {rng.choice((-16, -16, -8))}",
            "r4 = 0",
            "call 181",
        )
        self.add("r6 = *(u64 *)(r10 -16)")

    def calls(self) -> None:
        """Functions one below the other."""
        rng, depth, first = self.rng, self.rng.choice((1, 2, 3, 6, 7, 8, 14, 15, 16)), len(self.functions)
        for number in range(depth):
            lines = [f"d{first}_{number}:", "r6 = r1"]
            lines += rng.choice(
                [
                    [],
                    ["*(u64 *)(r10 -8) = r1"],
                    ["*(u64 *)(r10 -8) = r1", "r1 = *(u64 *)(r10 -8)"],
                    ["r1 += 1"],
                    ["r1 &= 15"],
                    ["r2 = *(u8 *)(r2 +0)"],
                ][: 5 + (number == 0)]
            )
            if number + 1 < depth:
                lines += [f"call d{first}_{number + 1}"]
            else:
                lines += ["r0 = r1", f"if r0 > {rng.choice((3, 40))} goto pc+0"]
            lines += rng.choice([[], ["r0 += 1"], ["r0 &= 31"], ["r0 = r6"]])
            lines += ["exit"]
            self.functions.append(lines)
        self.add(f"r1 = {rng.choice(('r7', 'r6', '3'))}", "r2 = r8", f"call d{first}_0", "r6 = r0")
        if self.chance(0.7):
            self.add("if r6 > 40 goto out", "r1 = r8", "r1 += r6", "r2 = *(u8 *)(r1 +0)")

    def throw(self) -> None:
        if self.chance(0.4):
            skip = self.label()
            self.add(
                f"if r7 {self.rng.choice(CONDITIONS)} 9 goto {skip}",
                self.rng.choice(("r1 = 1", "r1 = r7")),
                "KFUNC bpf_throw",
                f"{skip}:",
            )


class Arenas(Writer):
    """r6 is the arena's map, r7 and r8 pointers into it, r9 a number."""

    prog_types = (SYSCALL, SYSCALL, SCHED_CLS)

    def write(self) -> Row:
        rng = self.rng
        self.add("MAP r6 arena", "r9 = 0", "r8 = 0")
        self.allocate(7)
        for _ in range(rng.randint(3, 10)):
            rng.choice((self.access, self.access, self.access, self.cast, self.cast, self.arithmetic, self.arithmetic, self.atomic, self.keep, self.compare, self.loop, self.more,
                        self.strange))()  # fmt: skip
        return self.end("r0 = 0", **({"prog_flags": SLEEPABLE} if self.prog_type == SYSCALL else {}))

    def allocate(self, reg: int) -> None:
        self.add(
            "r1 = r6",
            "r2 = 0",
            f"r3 = {self.rng.choice((1, 2, 'r9'))}",
            "r4 = -1",
            "r5 = 0",
            "KFUNC bpf_arena_alloc_pages",
            f"r{reg} = r0",
        )
        if self.chance(0.6):
            self.add(f"if r{reg} == 0 goto out")
        if self.chance(0.8):
            self.add(f"r{reg} = addr_space_cast(r{reg}, 0, 1)")

    def pointer(self) -> int:
        return self.rng.choice((7, 7, 8))

    def access(self) -> None:
        rng, at = self.rng, self.rng.choice((0, 0, 8, 100, 4096, -8, 32767))
        self.add(*rng.choice([(f"r9 = *({self.width()} *)(r{self.pointer()} +{at})",), (f"*(u{rng.choice(WIDTHS)} *)(r{self.pointer()} +{at}) = r9",),
                              (f"*(u{rng.choice(WIDTHS)} *)(r{self.pointer()} +{at}) = 5",)]))  # fmt: skip

    def cast(self) -> None:
        a, b = self.pointer(), self.pointer()
        self.add(
            f"r{a} = addr_space_cast(r{b}, {self.rng.choice(('0, 1', '0, 1', '1, 0', '0, 0', '1, 1') if self.chance(0.3) else ('0, 1', '1, 0'))})"
        )

    def arithmetic(self) -> None:
        rng, reg = self.rng, self.pointer()
        self.add(*rng.choice([(f"r{reg} += 8",), (f"r{reg} += r9",), (f"r{reg} -= 8",), (f"w{reg} += 8",), (f"r{reg} &= -8",), (f"r{reg} <<= 1",), ("r8 = r7",), ("r8 = r7", "r8 -= r7"),
                              ("r9 += r7",), (f"r{reg} = (s32)r{reg}",), (f"w{reg} = w{reg}",), ("r9 = r7",), (f"r{reg} = -r{reg}",), (f"r{reg} *= 2",), ("r9 &= 255",)]))  # fmt: skip

    def atomic(self) -> None:
        reg, width = self.pointer(), self.rng.choice((32, 64))
        self.add(
            self.rng.choice(
                (
                    f"lock *(u{width} *)(r{reg} +0) += r9",
                    f"r9 = load_acquire((u{width} *)(r{reg} +8))",
                    f"store_release((u{width} *)(r{reg} +8), r9)",
                )
            )
        )

    def keep(self) -> None:
        """Pointers in the arena, on the stack, in a map."""
        self.add(*self.rng.choice([("*(u64 *)(r7 +0) = r8", "r8 = *(u64 *)(r7 +0)"), ("*(u64 *)(r10 -8) = r7", "r7 = *(u64 *)(r10 -8)"), ("*(u64 *)(r10 -8) = r7", "r8 = *(u64 *)(r10 -8)"),
                                   ("*(u32 *)(r10 -8) = r7", "r9 = *(u32 *)(r10 -8)"), ("r8 = *(u64 *)(r7 +16)",)]))  # fmt: skip

    def compare(self) -> None:
        reg = self.pointer()
        self.add(
            f"if {self.rng.choice('rrw')}{reg} {self.rng.choice(CONDITIONS)} {self.rng.choice(('0', 'r8', 'r9', '5')) if self.chance(0.9) else 'r10'} goto out".replace(
                "w7 == r", "w7 == w"
            )
        )

    def loop(self) -> None:
        top, done = self.label(), self.label()
        self.add(
            f"{top}:",
            f"may_goto {done}",
            self.rng.choice(("r7 += 8", "r8 = *(u64 *)(r7 +0)", "r9 += 1", "r7 = *(u64 *)(r7 +0)")),
            f"r9 = *(u32 *)(r7 +{self.rng.choice((0, 4))})",
            f"goto {top}",
            f"{done}:",
        )

    def more(self) -> None:
        if self.chance(0.5):
            self.allocate(8)
        elif self.chance(0.6):
            self.add(
                "r1 = r6", f"r2 = r{self.pointer()}", f"r3 = {self.rng.choice((1, 'r9'))}", "KFUNC bpf_arena_free_pages"
            )

    def strange(self) -> None:
        if self.chance(0.3):
            self.add(*self.rng.choice([("r1 = r6", "r2 = r10", "r2 += -8", "call 1"), ("r1 = r7", "r2 = 8", "r3 = r10", "call 113"), ("r1 = r10", "r1 += -8", "r2 = 8", "r3 = r7", "call 113"),
                                       ("r1 = *(u64 *)(r6 +0)",), ("r6 = addr_space_cast(r6, 0, 1)",), ("r10 = addr_space_cast(r7, 0, 1)",), ("r1 = r10", "r1 = addr_space_cast(r1, 0, 1)", "r9 = *(u8 *)(r1 +0)")]))  # fmt: skip


# a function of tcp_congestion_ops: its number among the members, the offsets of its arguments that are sockets, numbers
OPERATIONS = {
    "ssthresh": (0, (0,), ()),
    "cong_avoid": (1, (0,), (8, 16)),
    "set_state": (2, (0,), (8,)),
    "cwnd_event": (3, (0,), (8,)),
    "in_ack_event": (4, (0,), (8,)),
    "pkts_acked": (5, (0,), (8,)),
    "min_tso_segs": (6, (0,), ()),
    "cong_control": (7, (0,), (8, 16)),
    "undo_cwnd": (8, (0,), ()),
    "sndbuf_expand": (9, (0,), ()),
    "get_info": (10, (0,), (8, 16, 24)),
    "init": (14, (0,), ()),
    "release": (15, (0,), ()),
}


class Operations(Writer):
    """r6 is the context, r7 the socket, r8 a number."""

    prog_types = (STRUCT_OPS,)

    def write(self) -> Row:
        rng = self.rng
        self.member, sockets, self.numbers = OPERATIONS[rng.choice(list(OPERATIONS))]
        self.add("r6 = r1", f"r7 = *(u64 *)(r6 +{rng.choice((*sockets, *sockets, *sockets, 8))})", "r8 = 0")
        for _ in range(rng.randint(2, 8)):
            rng.choice(
                (
                    self.read,
                    self.read,
                    self.follow,
                    self.write_socket,
                    self.helper,
                    self.helper,
                    self.function,
                    self.argument,
                    self.argument,
                )
            )()
        return self.end(
            rng.choice(("r0 = 0", "r0 = 1", "r0 = r8", "r0 = r7")),
            attach_type=self.member if self.chance(0.97) else 40,
            attach=["tcp_congestion_ops", STRUCT],
        )

    def read(self) -> None:
        self.add(
            f"r8 = *({self.width()} *)(r7 +{self.rng.choice((0, 4, 16, 18, 64, 128, 500, 1000, 1400, 2000, 4000))})"
        )

    def follow(self) -> None:
        self.add(
            f"r9 = *(u64 *)(r7 +{self.rng.choice((0, 24, 40, 96, 128, 168, 224))})",
            *(("if r9 == 0 goto out",) if self.chance(0.5) else ()),
            "r8 = *(u32 *)(r9 +0)",
        )

    def write_socket(self) -> None:
        self.add(
            f"*(u{self.rng.choice(WIDTHS)} *)(r7 +{self.rng.choice((0, 8, 300, 1000, 1200, 1360, 1376, 1400, 1500, 1600, 2000))}) = {self.rng.choice(('r8', '0', '1'))}"
        )

    def helper(self) -> None:
        rng = self.rng
        self.add(*rng.choice([
            ("r1 = r7", "r2 = 5", "call 116"), ("call 5", "r8 = r0"), ("r1 = r7", "call 137", "if r0 == 0 goto out", "r8 = *(u32 *)(r0 +96)"),
            ("r1 = r7", "r2 = 6", "r3 = 13", "r4 = r10", "r4 += -8", "r5 = 8", "call 57"),
            ("*(u64 *)(r10 -8) = 0", "r1 = r7", "r2 = 6", "r3 = 13", "r4 = r10", "r4 += -8", "r5 = 8", "call 49"),
            ("r2 = r7", "MAP r1 fixup_sk_storage_map", "r3 = 0", "r4 = 1", "call 107", "if r0 == 0 goto out", "r8 = *(u32 *)(r0 +4)"),
            ("*(u32 *)(r10 -4) = 0", "r2 = r10", "r2 += -4", "MAP r1 values", "call 1", "if r0 == 0 goto out", "r8 = *(u64 *)(r0 +8)"),
        ]))  # fmt: skip

    def function(self) -> None:
        name = self.rng.choice(
            (
                "tcp_reno_ssthresh",
                "tcp_reno_cong_avoid",
                "tcp_reno_undo_cwnd",
                "tcp_slow_start",
                "tcp_cong_avoid_ai",
                "bpf_sock_addr_set_sun_path",
            )
        )
        self.add("r1 = r7", "r2 = 1", "r3 = 1", f"KFUNC {name}", *(("r8 = r0",) if self.chance(0.4) else ()))

    def argument(self) -> None:
        at = self.rng.choice((*self.numbers, *self.numbers, 8, 16, 32, 4))
        self.add(f"r8 = *({self.rng.choice(('u64', 'u64', 'u32', 'u8'))} *)(r6 +{at})")
        if self.chance(0.3):
            self.add("r9 = r8", "r8 = *(u32 *)(r9 +0)")


KINDS = {
    "packets": Packets,
    "contexts": Contexts,
    "sockets": Sockets,
    "loops": Loops,
    "arenas": Arenas,
    "operations": Operations,
}


def programs(kind: str, count: int, seed: int) -> Row:
    """A case file: so many programs of a kind, and the maps that they name beside the suite's."""
    rng = random.Random(seed)
    classes = list(KINDS.values()) if kind == "network" else [KINDS[kind]]
    return {"maps": MAPS, "cases": [{"id": number, **rng.choice(classes)(rng).write()} for number in range(count)]}


def main() -> None:
    json.dump(programs(*kind_count_seed(__doc__, [*KINDS, "network"])), sys.stdout)


if __name__ == "__main__":
    main()
