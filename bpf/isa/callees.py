"""Kernel functions that only rewritten programs call.

Linux writes the distance from __bpf_call_base into the call; here a helper keeps its number, and these functions,
which are no helpers, have numbers above all helpers.
"""

from __future__ import annotations

CALLEES: dict[int, str] = {
    0x10000: "__htab_map_lookup_elem",  # kernel/bpf/hashtab.c: (map, key) -> struct htab_elem or NULL
    0x10001: "bpf_skb_load_helper_8_no_cache",  # net/core/filter.c: (skb, offset) -> byte or -EFAULT
    0x10002: "bpf_skb_load_helper_16_no_cache",
    0x10003: "bpf_skb_load_helper_32_no_cache",
    0x10004: "arch_bpf_timed_may_goto",  # arch/x86/net: AX is the offset of its words from R10, and then the new count
}

CALLEE_NUMBERS: dict[str, int] = {name: number for number, name in CALLEES.items()}

TIMED_MAY_GOTO = CALLEE_NUMBERS["arch_bpf_timed_may_goto"]
BPF_MAX_TIMED_LOOPS = 0xFFFF  # turns of a loop until the clock is asked
