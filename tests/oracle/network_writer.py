"""What generators of network programs share: numbers of program types, maps, and how a program is written."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from kernel_programs import Text

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
