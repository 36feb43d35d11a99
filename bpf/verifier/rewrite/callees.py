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
}

CALLEE_NUMBERS: dict[str, int] = {name: number for number, name in CALLEES.items()}
