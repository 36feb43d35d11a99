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

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from loop_programs import Arenas, Loops
from network_writer import (
    CGROUP_DEVICE,
    CGROUP_SKB,
    CGROUP_SOCK,
    CONDITIONS,
    FLOW_DISSECTOR,
    LWT_OUT,
    MAPS,
    NETFILTER,
    REUSEPORT,
    SCHED_CLS,
    SK_LOOKUP,
    SK_MSG,
    SK_SKB,
    SOCK_ADDR,
    SOCK_OPS,
    SOCKOPT,
    STRUCT,
    STRUCT_OPS,
    SYSCTL,
    WIDTHS,
    XDP,
    Row,
    Writer,
)
from packet_programs import Packets

from tests.oracle.generator_arguments import kind_count_seed

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
