"""/proc/cpuinfo."""

from __future__ import annotations

from arch.cpuinfo import CpuInfo

CPUINFO = CpuInfo(rows=(
    ("processor\t", "{cpu}"), ("hart\t\t", "{cpu}"), ("isa\t\t", "rv64imafdc"), ("mmu\t\t", "sv48"),
    ("mvendorid\t", "0x0"), ("marchid\t\t", "0x0"), ("mimpid\t\t", "0x0"),
))  # fmt: skip
