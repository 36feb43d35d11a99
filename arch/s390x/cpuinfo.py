"""/proc/cpuinfo."""

from __future__ import annotations

from arch.cpuinfo import CpuInfo

CPUINFO = CpuInfo(
    head="vendor_id       : IBM/S390\n# processors    : {cpus}\nbogomips per cpu: 13370.00\nmax thread id   : 0\n"
    "features\t: esan3 zarch stfle msa ldisp eimm etf3eh highgprs \n"
    "facilities      : 0 1 2 3 4 7 9 16 17 18 19 20 21 22 24 25 27 30 31 32 33 34 35\n",
    rows=(),
    line="processor {cpu}: version = 00,  identification = {cpu:06X},  machine = 2964\n",
)
