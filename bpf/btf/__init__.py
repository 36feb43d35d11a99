"""BPF Type Format: what kernel/bpf/btf.c and tools/lib/bpf/btf.c know.

codec.py   bytes <-> `Btf`, both byte orders, all 19 kinds of Linux 6.1
ext.py     .BTF.ext: function, line and CO-RE relocation records
build.py   a `Btf` from the kernel's C types (arch/ctype.py) and function prototypes
dump.py    a `Btf` as C text (vmlinux.h)
record.py  special members of structs that programs share with the kernel, since 6.2
recorded/   the BTF of real kernels, and lazy.py, which reads of it what is asked for
check.py   what BPF_BTF_LOAD refuses, with the kernel's log: header and sections
  check_env.py, check_meta.py, check_resolve.py, check_member.py   the state and log; each type; the graph; members
"""

from bpf.btf.codec import Btf, BtfError, BtfType, Kind, Member, Param, Secinfo

__all__ = ["Btf", "BtfError", "BtfType", "Kind", "Member", "Param", "Secinfo"]
