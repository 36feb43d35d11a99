"""Numbers inside the kernel that more than one floor knows: what events print, and what rewritten programs pass.

include/linux/gfp.h (as of 6.1), include/linux/blk_types.h.
"""

from __future__ import annotations

GFP_NOWAIT, GFP_NOWARN = 0x800, 0x2000
GFP_ATOMIC, GFP_NOFS, GFP_KERNEL, GFP_ZERO, GFP_KERNEL_ACCOUNT = 0xA20, 0xC40, 0xCC0, 0x100, 0x400CC0
NUMA_NO_NODE = -1  # include/linux/numa.h
GFP_HIGHUSER_MOVABLE = 0x100CCA
VMEMMAP_BASE = 0xFFFFEA0000000000  # arch/x86/include/asm/pgtable_64_types.h: where the struct pages are

REQ_OP_READ, REQ_OP_WRITE = 0, 1
REQ_SYNC, REQ_META, REQ_FUA, REQ_PREFLUSH, REQ_RAHEAD = 1 << 11, 1 << 12, 1 << 17, 1 << 18, 1 << 19

READ, WRITE = 0, 1  # include/linux/kernel.h: which way data goes
