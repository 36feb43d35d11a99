"""Calls of a map's own functions: what do_misc_fixups() makes of a helper that takes a map known to the verifier.

The members of struct bpf_map_ops: kernel/bpf/arraymap.c, hashtab.c, lpm_trie.c, queue_stack_maps.c, bloom_filter.c, devmap.c,
cpumap.c, net/xdp/xskmap.c of Linux 6.1.
"""

from __future__ import annotations

from bpf import uapi
from bpf.isa.insn import BPF_CALL, BPF_JMP
from bpf.verifier.api import MapInfo
from bpf.verifier.env import Env

LOOKUP, UPDATE, DELETE = uapi.BPF_FUNC_map_lookup_elem, uapi.BPF_FUNC_map_update_elem, uapi.BPF_FUNC_map_delete_elem
PUSH, POP, PEEK = uapi.BPF_FUNC_map_push_elem, uapi.BPF_FUNC_map_pop_elem, uapi.BPF_FUNC_map_peek_elem
EACH, PERCPU, REDIRECT = (
    uapi.BPF_FUNC_for_each_map_elem,
    uapi.BPF_FUNC_map_lookup_percpu_elem,
    uapi.BPF_FUNC_redirect_map,
)

INT_CALLS = frozenset((UPDATE, DELETE, PUSH, POP, PEEK, EACH, REDIRECT))  # their functions return an int until 6.4

# Map type -> helper -> the function that is called instead.
MAP_CALLS: dict[int, dict[int, str]] = {
    uapi.BPF_MAP_TYPE_ARRAY: {
        LOOKUP: "array_map_lookup_elem",  # of an inner map: others are looked up without a call
        UPDATE: "array_map_update_elem",
        DELETE: "array_map_delete_elem",
        EACH: "bpf_for_each_array_elem",
    },
    uapi.BPF_MAP_TYPE_PERCPU_ARRAY: {
        LOOKUP: "percpu_array_map_lookup_elem",
        UPDATE: "array_map_update_elem",
        DELETE: "array_map_delete_elem",
        EACH: "bpf_for_each_array_elem",
        PERCPU: "percpu_array_map_lookup_percpu_elem",
    },
    uapi.BPF_MAP_TYPE_HASH: {
        UPDATE: "htab_map_update_elem",
        DELETE: "htab_map_delete_elem",
        EACH: "bpf_for_each_hash_elem",
    },
    uapi.BPF_MAP_TYPE_LRU_HASH: {
        UPDATE: "htab_lru_map_update_elem",
        DELETE: "htab_lru_map_delete_elem",
        EACH: "bpf_for_each_hash_elem",
    },
    uapi.BPF_MAP_TYPE_PERCPU_HASH: {
        LOOKUP: "htab_percpu_map_lookup_elem",
        UPDATE: "htab_percpu_map_update_elem",
        DELETE: "htab_map_delete_elem",
        EACH: "bpf_for_each_hash_elem",
        PERCPU: "htab_percpu_map_lookup_percpu_elem",
    },
    uapi.BPF_MAP_TYPE_LRU_PERCPU_HASH: {
        LOOKUP: "htab_lru_percpu_map_lookup_elem",
        UPDATE: "htab_lru_percpu_map_update_elem",
        DELETE: "htab_lru_map_delete_elem",
        EACH: "bpf_for_each_hash_elem",
        PERCPU: "htab_lru_percpu_map_lookup_percpu_elem",
    },
    uapi.BPF_MAP_TYPE_LPM_TRIE: {LOOKUP: "trie_lookup_elem", UPDATE: "trie_update_elem", DELETE: "trie_delete_elem"},
    uapi.BPF_MAP_TYPE_QUEUE: {
        PUSH: "queue_stack_map_push_elem",
        POP: "queue_map_pop_elem",
        PEEK: "queue_map_peek_elem",
    },
    uapi.BPF_MAP_TYPE_STACK: {
        PUSH: "queue_stack_map_push_elem",
        POP: "stack_map_pop_elem",
        PEEK: "stack_map_peek_elem",
    },
    uapi.BPF_MAP_TYPE_BLOOM_FILTER: {PUSH: "bloom_map_push_elem", PEEK: "bloom_map_peek_elem"},
    uapi.BPF_MAP_TYPE_DEVMAP: {REDIRECT: "dev_map_redirect", LOOKUP: "dev_map_lookup_elem"},
    uapi.BPF_MAP_TYPE_DEVMAP_HASH: {REDIRECT: "dev_hash_map_redirect", LOOKUP: "dev_map_hash_lookup_elem"},
    uapi.BPF_MAP_TYPE_XSKMAP: {REDIRECT: "xsk_map_redirect"},
}


def map_calls(env: Env) -> dict[int, str]:
    """Instructions of the rewritten program -> the map's function that each calls."""
    if not env.request.jit_requested:
        return {}
    found = {}
    for i, insn in enumerate(env.insns):
        if insn.code == BPF_JMP | BPF_CALL and not insn.src_reg:
            map_ = env.aux[i].map_ptr
            if isinstance(map_, MapInfo) and (name := MAP_CALLS.get(map_.map_type, {}).get(insn.imm)):
                found[i] = name
    return found


def int_calls(env: Env, calls: dict[int, str]) -> frozenset[int]:
    """Those whose function returns an int; since 6.4 none does (d7ba4cc900bf)."""
    if env.version.at_least("6.4"):
        return frozenset()
    return frozenset(i for i in calls if env.insns[i].imm in INT_CALLS)
