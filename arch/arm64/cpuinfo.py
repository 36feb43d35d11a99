"""/proc/cpuinfo."""

from __future__ import annotations

from arch.cpuinfo import CpuInfo

CPUINFO = CpuInfo(rows=(
    ("processor\t", "{cpu}"), ("BogoMIPS\t", "125.00"), ("Features\t", "fp asimd evtstrm aes pmull sha1 sha2 crc32 cpuid"),
    ("CPU implementer\t", "0x41"), ("CPU architecture", "8"), ("CPU variant\t", "0x0"), ("CPU part\t", "0xd08"),
    ("CPU revision\t", "3"),
))  # fmt: skip
