"""/proc/cpuinfo."""

from __future__ import annotations

from arch.cpuinfo import CpuInfo

CPUINFO = CpuInfo(rows=(
    ("processor\t", "{cpu}"), ("BogoMIPS\t", "125.00"), ("Features\t", "fp asimd evtstrm cpuid"),
    ("CPU implementer\t", "0x41"), ("CPU architecture", "8"), ("CPU variant\t", "0x0"), ("CPU part\t", "0xd07"),
    ("CPU revision\t", "0"),
))  # fmt: skip
