"""Stacks that a program has met before: bpf_get_stackid() without Python.

What Python makes of a stack (names that compilers gave away, return probes) depends on nothing but what a walk meets: the instruction
pointer, where the function goes back to, the return addresses of the frames.  So native code walks, and looks for the same walk
among those to which Python has given a number; it declines where it finds none, and Python remembers what came of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

from arch.abi.version import KernelVersion
from arch.architecture import Architecture
from arch.native.block import Block
from arch.native.library import Library
from arch.native.state import load_sized, word_at
from arch.native.subset import Words, decline, native
from arch.native.walk import in_direct_map
from arch.support import Support

KEY_MOST, KEPT_STACKS = 40, 64
SLOT = KEY_MOST + 2  # its length (0: empty), the number, the walk
HASHED_BY = 0x9E3779B97F4A7C15
# Words: where in struct pt_regs the registers are (the last: of the return address; 0 where it is on the stack) and how wide; where
# frames have the next one and their return address, and if that is in the next one; the kernel's text; where the slots are; then the
# walk that was made last.
IP, SP, FP, LINK, WIDTH, NEXT, RETURN, IN_NEXT, TEXT, TEXT_SIZE, TABLE, KEY = range(12)
RETURN_TRAMPOLINES = ("kretprobe_trampoline", "rethook_trampoline")


@native
def stack_word(m: Words, place: int) -> int:
    """Of a stack, which may have been written over."""
    if not in_direct_map(place, m[WIDTH]):
        decline()
    return load_sized(place, m[WIDTH])


@native
def walk_stack(m: Words, regs: int, flags: int) -> int:
    """Make the walk from a struct pt_regs; how many words it is."""
    ip = stack_word(m, regs + m[IP])
    if ip - m[TEXT] >= m[TEXT_SIZE]:
        decline()
    m[KEY] = flags
    m[KEY + 1] = ip
    if m[LINK]:
        m[KEY + 2] = stack_word(m, regs + m[LINK])
        m[KEY + 3] = 0
    else:  # on top of the stack, or behind the frame pointer that was just put there
        sp = stack_word(m, regs + m[SP])
        m[KEY + 2] = stack_word(m, sp)
        m[KEY + 3] = stack_word(m, sp + m[WIDTH])
    count = 4
    frame = stack_word(m, regs + m[FP])
    while frame:
        if count == KEY_MOST:
            decline()
        following = stack_word(m, frame + m[NEXT])
        holder = following if m[IN_NEXT] else frame
        address = 0
        if holder:
            address = stack_word(m, holder + m[RETURN])
        if not address:
            return count
        m[KEY + count] = address
        count += 1
        if following and following <= frame:
            return count
        frame = following
    return count


@native
def slot_of(m: Words, count: int) -> int:
    """Where a walk is kept."""
    mixed = count
    for i in range(count):
        mixed = (mixed ^ m[KEY + i]) * HASHED_BY
        mixed ^= mixed >> 29
    return m[TABLE] + 8 * SLOT * (mixed & (KEPT_STACKS - 1))


@native
def known_stack(m: Words, regs: int, a_map: int, flags: int) -> int:
    """bpf_get_stackid() of the kernel's part."""
    count = walk_stack(m, regs, flags)
    slot = slot_of(m, count)
    if word_at(slot, 0) != count:
        decline()
    for i in range(count):
        if word_at(slot, 2 + i) != m[KEY + i]:
            decline()
    return word_at(slot, 1)


@cache
def library(big_endian: bool) -> Library:
    """Compiled when the first program that asks for stacks is."""
    return Library((known_stack, walk_stack, slot_of), big_endian)


class StackMemo:
    """The walks of one map."""

    def __init__(self, arch: Architecture, version: KernelVersion, block: Block) -> None:
        support, regs = arch.support, arch.pt_regs_for(version).fields
        assert isinstance(support, Support)
        frames, code = support.frames, library(arch.byteorder == "big")
        self.table = (ctypes.c_uint64 * (KEPT_STACKS * SLOT))()
        link = 0 if arch.link_register is None else regs[arch.link_register].offset
        places = [regs[name].offset for name in (arch.instruction_pointer, arch.stack_pointer, arch.frame_pointer)]
        words = (
            *places, link, arch.word, frames.next_frame, frames.return_address, frames.return_in_next, arch.map.text_base,
            arch.map.text_size, ctypes.addressof(self.table), *[0] * KEY_MOST,
        )  # fmt: skip
        self.words = (ctypes.c_uint64 * len(words))(*(word & (1 << 64) - 1 for word in words))
        self.address = code.address[known_stack.name]
        self._walk: Callable[..., int | None] = code.builtin(walk_stack.name, block)
        self._slot: Callable[..., int] = code.builtin(slot_of.name, block)

    @staticmethod
    def serves(arch: Architecture | None) -> bool:
        """The walk does not depend on how far a function has come."""
        return arch is not None and arch.frame_pointer != arch.stack_pointer

    def remember(self, regs: int, flags: int, number: int, name_of: Callable[[int], str]) -> None:
        """Python has given a number; `name_of` an address: a return probe's stands for another one, which differs."""
        words = ctypes.addressof(self.words)
        count = self._walk(words, regs, flags)
        if count is None:
            return
        walk = self.words[KEY : KEY + count]
        if any(name_of(address).endswith(RETURN_TRAMPOLINES) for address in walk[1:]):
            return
        at = (self._slot(words, count) - ctypes.addressof(self.table)) // 8
        self.table[at : at + 2 + count] = [count, number, *walk]

    def forget(self) -> None:
        """Numbers may mean other stacks from now on."""
        ctypes.memset(self.table, 0, ctypes.sizeof(self.table))
