"""Return probes of user functions in native code: kernel/events/uprobes.c:prepare_uretprobe(), handle_trampoline().

Calls under way are rows (returns.py), which Python and native code push and pop: beside the words of the uprobe and the real return
address a row has the function's address, the stack pointer at its entry, and whether its caller had been caught already (a jump
into the function).  What is rare is Python's: the first hit in an address space, which maps the trampoline; a stack that is not there
or holds code; returns that pass over frames or end several calls at once.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache

from arch.architecture import Architecture, Layout
from arch.native import Block, Native, Word
from arch.native.handler import NO_FRAME, READ_ONLY, NativeHandler
from arch.native.library import Library
from arch.native.subset import Words, attempt, decline, native, shared
from arch.native.walk import user_writable
from tracing.probes.returns import (
    ARGUMENTS,
    FIRST,
    RET,
    ROW,
    ROWS,
    RP,
    TASK,
    drop,
    newest,
    note,
    note_last,
    push,
    read_wide,
    word_of,
    write_wide,
)

MOST_CALLS = 1 << 15  # calls under way in all tasks; more are not caught
MAX_URETPROBE_DEPTH = 64

# Words of a uprobe: the compiled handler of its returns.
UP_FUNCTION, UP_DATA, UP_WORDS = range(3)
FUNC, STACK, CHAINED, NOTED = range(4)  # what a row notes
# Words of a hit's handler: the compiled handler that runs at the entry, or 0; what was left when native code gave up: CAUGHT, or nothing
# but to catch the return; the address of catch(); the rows and how many there may be; the uprobe's words, the probed address, the trampoline's (0:
# there is none yet); where in pt_regs the stack pointer and the return address are (if ON_STACK, it is on the stack), the
# instruction pointer, and how wide these are; how many counters of hits there are, and where.
(
    D_FUNCTION, D_DATA, D_LEFT, D_CATCH, D_SELF, D_ROWS, D_CAPACITY, D_UPROBE, D_FUNC, D_TRAMPOLINE, D_SP, D_LINK, D_ON_STACK, D_IP,
    D_WIDTH, D_COUNTERS, D_COUNTER,
) = range(17)  # fmt: skip
HANDLER_LEFT, CATCH_LEFT = range(2)


@native
def raise_counter(m: Words) -> int:
    m[0] += 1
    return 0


@native
def older(rows: Words, row: int) -> int:
    """The same task's row before this one, or 0."""
    while row > FIRST:
        row -= ROW
        if rows[row + TASK] == shared[Word.CURRENT]:
            return row
    return 0


@native
def depth(rows: Words) -> int:
    """How many the current task has."""
    count = 0
    row = FIRST
    for _ in range(rows[ROWS]):
        count += rows[row + TASK] == shared[Word.CURRENT]
        row += ROW
    return count


@native
def has_gone(rows: Words, row: int, sp: int, chained: int) -> int:
    """A frame that longjmp() left behind: the stack grows down."""
    if chained:
        return sp > rows[row + ARGUMENTS + STACK]
    return sp >= rows[row + ARGUMENTS + STACK]


@native
def catch(d: Words, regs: int) -> int:
    """prepare_uretprobe()."""
    trampoline = d[D_TRAMPOLINE]
    sp = read_wide(regs + d[D_SP], d[D_WIDTH])
    place = regs + d[D_LINK]
    if d[D_ON_STACK]:
        place = user_writable(sp, d[D_WIDTH])
    if not trampoline or not place:
        decline()
    ret = read_wide(place, d[D_WIDTH])
    chained = ret == trampoline
    row = newest(d[D_ROWS])
    while row and has_gone(d[D_ROWS], row, sp, chained):
        drop(d[D_ROWS], row)
        row = newest(d[D_ROWS])
    if word_of(d[D_ROWS], ROWS) >= d[D_CAPACITY] or depth(d[D_ROWS]) >= MAX_URETPROBE_DEPTH:
        return 0
    if chained:
        if not row:
            return 0
        ret = word_of(d[D_ROWS], row + RET)
    else:
        write_wide(place, d[D_WIDTH], trampoline)
    made = push(d[D_ROWS], d[D_UPROBE], ret)
    note(d[D_ROWS], made + ARGUMENTS + FUNC, d[D_FUNC])
    note(d[D_ROWS], made + ARGUMENTS + STACK, sp)
    note(d[D_ROWS], made + ARGUMENTS + CHAINED, chained)
    return 0


@native
def uretprobe_hit(d: Words, regs: int) -> int:
    """handler_chain(): who wants to know of the call, and then of its return."""
    answer = 0
    d[D_LEFT] = HANDLER_LEFT
    if d[D_FUNCTION]:
        answer = attempt(d[D_FUNCTION], d[D_DATA], regs)
        if shared[Word.NATIVE_STATUS] == Native.DECLINED:
            return 0
    for i in range(d[D_COUNTERS]):
        raise_counter(d[D_COUNTER + i])
    if answer or shared[Word.NATIVE_STATUS]:
        return answer
    attempt(d[D_CATCH], d[D_SELF], regs)
    if shared[Word.NATIVE_STATUS]:
        shared[Word.NATIVE_STATUS] = Native.DONE
        d[D_LEFT] = CATCH_LEFT
        return 1
    return 0


@native
def uretprobe_return(d: Words, regs: int) -> int:
    """handle_trampoline() of a single call, whose caller is the next that returns."""
    rows = d[D_ROWS]
    row = newest(rows)
    if not row or word_of(rows, row + ARGUMENTS + CHAINED):
        decline()
    sp = read_wide(regs + d[D_SP], d[D_WIDTH])
    before = older(rows, row)
    if before and has_gone(rows, before, sp, 0):
        decline()
    uprobe = word_of(rows, row + RP)
    if not word_of(uprobe, UP_FUNCTION):
        decline()
    ret = word_of(rows, row + RET)
    note_last(rows, row, uprobe, word_of(rows, row + ARGUMENTS + FUNC))
    write_wide(regs + d[D_IP], d[D_WIDTH], ret)
    answer = attempt(word_of(uprobe, UP_FUNCTION), word_of(uprobe, UP_DATA), regs)
    if shared[Word.NATIVE_STATUS] == Native.DECLINED:
        return 0
    drop(rows, row)
    return answer


@cache
def library(big_endian: bool) -> Library:
    """Compiled when the first return probe has a compiled handler."""
    return Library((catch, uretprobe_hit, uretprobe_return), big_endian)


class UserReturns:
    """Makes the handlers of a machine."""

    def __init__(self, arch: Architecture, layout: Layout, block: Block, rows: int, big_endian: bool) -> None:
        self.block, self.rows = block, rows
        self.addresses = library(big_endian).address
        on_stack = arch.link_register is None
        sp, ip = layout.fields[arch.stack_pointer], layout.fields[arch.instruction_pointer]
        link = layout.fields[arch.link_register or arch.stack_pointer]
        self.places = (sp.offset, link.offset, on_stack, ip.offset, ip.size)
        self.flags = READ_ONLY if on_stack else 0  # else the return address is in a register

    def hit(
        self,
        uprobe: int,
        func: int,
        trampoline: int,
        handler: NativeHandler | None,
        counters: Sequence[ctypes.Array[ctypes.c_uint64]],
        prepare: Callable[[int], object],
    ) -> tuple[NativeHandler, ctypes.Array[ctypes.c_uint64]]:
        """A hit that runs a handler, counts, and catches the return; `prepare` is the latter in Python.  With its words."""
        data = self._data(uprobe, func, trampoline, handler, counters)

        def after(regs: int) -> object:
            if data[D_LEFT] == HANDLER_LEFT and handler is not None:
                handler.after(regs)
            return prepare(regs)

        flags = self.flags if handler is None else self.flags & handler.flags
        keep = (data, handler, tuple(counters))
        return NativeHandler(
            self.addresses["uretprobe_hit"], ctypes.addressof(data), after, keep, flags & ~NO_FRAME
        ), data

    def returned(self, after: Callable[[int], object]) -> NativeHandler:
        """What runs at the trampoline of every address space."""
        data = self._data(0, 0, 0, None, ())
        return NativeHandler(self.addresses["uretprobe_return"], ctypes.addressof(data), after, data)

    def _data(
        self,
        uprobe: int,
        func: int,
        trampoline: int,
        handler: NativeHandler | None,
        counters: Sequence[ctypes.Array[ctypes.c_uint64]],
    ) -> ctypes.Array[ctypes.c_uint64]:
        run = (0, 0) if handler is None else (handler.function, handler.data)
        places = [ctypes.addressof(counter) for counter in counters]
        data = (ctypes.c_uint64 * (D_COUNTER + len(places)))(
            *run, HANDLER_LEFT, self.addresses["catch"], 0, self.rows, MOST_CALLS, uprobe, func, trampoline, *self.places,
            len(places), *places,
        )  # fmt: skip
        data[D_SELF] = ctypes.addressof(data)
        return data
