"""/proc/cpuinfo."""

from __future__ import annotations

from arch.cpuinfo import Cache, CpuInfo

CACHES = (
    Cache(1, "Data", 64, 2), Cache(1, "Instruction", 64, 2), Cache(2, "Unified", 512, 16), Cache(3, "Unified", 16384, 16, shared=True),
)  # fmt: skip

CPUINFO = CpuInfo(rows=(
    ("processor\t", "{cpu}"), ("vendor_id\t", "GenuineIntel"), ("cpu family\t", "6"), ("model\t\t", "6"),
    ("model name\t", "simkernel virtual CPU"), ("stepping\t", "3"), ("cpu MHz\t\t", "1000.000"),
    ("cache size\t", "512 KB"), ("physical id\t", "0"), ("siblings\t", "{cpus}"), ("core id\t\t", "{cpu}"),
    ("cpu cores\t", "{cpus}"), ("apicid\t\t", "{cpu}"), ("initial apicid\t", "{cpu}"), ("fpu\t\t", "yes"),
    ("fpu_exception\t", "yes"), ("cpuid level\t", "13"), ("wp\t\t", "yes"),
    ("flags\t\t", "fpu de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 "
     "ht syscall nx lm constant_tsc nopl pni cx16"),
    ("bugs\t\t", ""), ("bogomips\t", "2000.00"), ("clflush size\t", "64"), ("cache_alignment\t", "64"),
    ("address sizes\t", "40 bits physical, 48 bits virtual"), ("power management", ""),
), caches=CACHES, tells_vulnerabilities=True)  # fmt: skip
