"""Kernel functions that give programs pages of their arena.  kernel/bpf/arena.c, since 6.9."""

from __future__ import annotations

from arch.abi.errno import EINVAL
from arch.abi.limits import U32_MAX
from bpf.helpers import Runtime, kernel_name, signed
from bpf.maps.arena import ArenaMap


@kernel_name("bpf_arena_alloc_pages")
def bpf_arena_alloc_pages(rt: Runtime, address: int, place: int, count: int, node: int, flags: int) -> int:
    """So many zeroed pages, at `place` if that is not 0; their address in user space, 0 if there are none."""
    arena = rt.map(address)
    count &= U32_MAX
    if not isinstance(arena, ArenaMap) or flags or not count:
        return 0
    return arena.alloc_pages(place, count, signed(node, 32))


@kernel_name("bpf_arena_free_pages")
def bpf_arena_free_pages(rt: Runtime, address: int, place: int, count: int) -> int:
    """They are gone, here and in user space."""
    arena = rt.map(address)
    count &= U32_MAX
    if isinstance(arena, ArenaMap) and count and place:
        arena.give_pages(place, count)
    return 0


@kernel_name("bpf_arena_reserve_pages")
def bpf_arena_reserve_pages(rt: Runtime, address: int, place: int, count: int) -> int:
    """No program gets them until they are given back; 0, EINVAL or EBUSY."""
    arena = rt.map(address)
    count &= U32_MAX
    if not isinstance(arena, ArenaMap):
        return -EINVAL
    return arena.reserve_pages(place, count) if count else 0
