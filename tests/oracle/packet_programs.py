"""Random programs that read packets; network_programs.py is the command."""

from __future__ import annotations

from network_writer import CGROUP_SKB, FLOW_DISSECTOR, LWT_IN, LWT_XMIT, SCHED_ACT, SCHED_CLS, SK_SKB, XDP, Row, Writer


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
