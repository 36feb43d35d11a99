"""Random programs of loops and of arenas; network_programs.py is the command."""

from __future__ import annotations

from network_writer import CONDITIONS, SCHED_CLS, SLEEPABLE, SYSCALL, WIDTHS, XDP, Row, Writer


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
