"""Stack walks along frame chains, kernel and user.

Kernel text is ours (arch/text.py), so its frames are exact at every instruction: before the frame is set up and after
it is torn down the return address is taken from where the call left it.  User stacks are walked by frame pointers, as
perf_callchain_user() does.  arch/*/kernel/stacktrace.c, arch/x86/kernel/unwind_*.c
"""

from __future__ import annotations

from collections.abc import Iterator

from arch.abi.perf_event import PERF_MAX_STACK_DEPTH
from arch.architecture import Architecture, Layout
from arch.errors import Fault
from arch.memory import Memory
from arch.support import Support
from arch.symbols import Symbols


def _support(arch: Architecture) -> Support:
    assert isinstance(arch.support, Support)
    return arch.support


def walk_kernel(
    arch: Architecture,
    mem: Memory,
    symbols: Symbols,
    regs: int,
    layout: Layout | None = None,
    limit: int = PERF_MAX_STACK_DEPTH,
) -> Iterator[int]:
    """Program counters from the struct pt_regs at `regs` outwards: the pc itself, then return addresses."""
    layout = layout or arch.pt_regs
    pc = layout.get(mem, regs, arch.instruction_pointer)
    yield pc
    limit -= 1
    frame = layout.get(mem, regs, arch.frame_pointer)
    found = symbols.lookup(pc)
    adjust = None
    if found is not None:
        adjust = frameless(arch, found[1], found[2])
    if adjust is not None and limit > 0:  # no frame of its own here
        sp = layout.get(mem, regs, arch.stack_pointer) + adjust
        if arch.link_register is not None:
            caller = layout.get(mem, regs, arch.link_register)
        else:
            caller = mem.read_uint(sp, arch.word)
        if arch.frame_pointer == arch.stack_pointer:
            frame = sp
        if not symbols.find(caller):
            return
        if not arch.traces.entry_hides_caller:
            yield caller
            limit -= 1
    yield from walk_frames(arch, mem, frame, limit)


def frameless(arch: Architecture, offset: int, size: int) -> int | None:
    """Whether a kernel function has no frame of its own at `offset`: what to add to sp for sp at entry, else None."""
    for start, end, adjust in _support(arch).text.frameless:
        first = start if start >= 0 else size + start
        last = end if end > 0 else size + end
        if first <= offset < last:
            return adjust
    return None


def walk_frames(arch: Architecture, mem: Memory, frame: int, limit: int = PERF_MAX_STACK_DEPTH) -> Iterator[int]:
    """Return addresses along the kernel's frame chain, from frame pointer `frame` on."""
    facts = _support(arch).frames
    word = arch.word
    while frame and limit > 0:
        try:
            following = mem.read_uint(frame + facts.next_frame, word)
            holder = following if facts.return_in_next else frame
            address = mem.read_uint(holder + facts.return_address, word) if holder else 0
        except Fault:
            return
        if not address:
            return
        yield address
        limit -= 1
        if following and following <= frame:  # stacks grow downwards: outer frames lie higher
            return
        frame = following


def walk_user(
    arch: Architecture,
    mem: Memory,
    regs: int,
    user: Memory,
    layout: Layout | None = None,
    limit: int = PERF_MAX_STACK_DEPTH,
) -> Iterator[int]:
    """Program counters of the user code whose registers are saved at kernel address `regs`."""
    layout = layout or arch.pt_regs
    facts = _support(arch).frames
    word = arch.word
    yield layout.get(mem, regs, arch.instruction_pointer)
    frame = layout.get(mem, regs, arch.frame_pointer)
    next_at = facts.next_frame if facts.user_next_frame is None else facts.user_next_frame
    return_at = facts.return_address if facts.user_return_address is None else facts.user_return_address
    anywhere = facts.any_user_frame
    while frame and (anywhere or frame % word == 0) and limit > 1:
        try:
            following = user.read_uint(frame + next_at, word)
            holder = following if facts.return_in_next else frame
            address = user.read_uint(holder + return_at, word)
        except Fault:
            return
        if not address and not anywhere:
            return
        yield address
        limit -= 1
        if following <= frame and not anywhere:
            return
        frame = following
