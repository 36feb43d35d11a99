"""Hits of probe events that go from the CPU into the trace without Python: arguments are fetched by rows of words.

What compile_fetch() (fetch.py) makes of an argument, fetch_argument() does by its row: a register, the stack or a constant, some
steps through memory, a number or a string.  Memory that cannot be read as it lies (not present, or no direct map's) is
Python's: native code declines before it has changed anything.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache

from arch.abi.limits import PAGE_SIZE, TASK_COMM_LEN, U32_MAX, U64_MAX
from arch.architecture import Architecture, Layout
from arch.native.block import Word
from arch.native.handler import NO_FRAME, NO_GUARDS, READ_ONLY, Guards, NativeHandler, Sight
from arch.native.library import Library
from arch.native.state import current_task, load_sized, poke_sized, word_at
from arch.native.subset import (
    Words,
    decline,
    load8,
    native,
    poke8,
    poke32,
    shared,
)
from arch.native.walk import in_direct_map, user_readable
from arch.records import dataclass
from tracing.probes.args import ProbeArg
from tracing.probes.programs import ACTIVE, run_programs
from tracing.record.compiled import E_RECORDER, MAX_NATIVE_RECORD, R_COMM, EventWords, commit, put_header
from tracing.record.fields import COMMON_SIZE

# Words of a hit: the event's, where the counter of hits is; bytes of a long; the probe's address, or where in struct pt_regs it
# is and how wide; of a return, where the real return address is (0: it is none); is it kernel memory that is read, and
# the bits of an address; bytes of the fixed part; how many arguments, where their rows are, and their steps; words of the programs.
(
    H_EVENT, H_COUNTER, H_LONG, H_PLACE, H_PLACE_WIDTH, H_RETURN, H_KERNEL, H_ADDRESSES, H_FIXED, H_ARGUMENTS, H_ROWS, H_STEPS,
    H_PROGRAMS, HIT_WORDS,
) = range(14)  # fmt: skip
# An argument's row: its beginning (kind, where, how wide), its steps (first, how many), what is stored (kind, offset, user
# memory, bytes of one, how many, shifts of a bit field), and where in the record.
(
    F_BASE, F_WHERE, F_WIDTH, F_FIRST, F_STEPS, F_KIND, F_OFFSET, F_USER, F_BYTES, F_COUNT, F_LEFT, F_RIGHT, F_AT, FETCH_ROW,
) = range(14)  # fmt: skip
REGISTER, CONSTANT = range(2)
RAW, MEMORY, STRING, COMM = range(4)
STEP_ROW = 2  # offset, user memory
BASES = {"reg": REGISTER, "retval": REGISTER, "stackp": REGISTER, "stack": REGISTER, "imm": CONSTANT, "arg": REGISTER}
STORES = {"raw": RAW, "mem": MEMORY, "string": STRING}


@native
def readable(d: Words, address: int, size: int, user: int) -> int:
    """Where bytes of the kernel's or the program's memory are in the direct map; they are in one page."""
    if d[H_KERNEL] and not user:
        if in_direct_map(address, size):
            return address
        if address >= shared[Word.USER_END] or shared[Word.TEXT_BASE] < shared[Word.USER_END]:
            decline()  # kernel text, or nothing; else it can only be the program's
    if (address & (PAGE_SIZE - 1)) + size > PAGE_SIZE:
        decline()
    place = user_readable(address)
    if not place:
        decline()
    return place


@native
def fetch_word(d: Words, address: int, user: int) -> int:
    """A long."""
    return load_sized(readable(d, address & d[H_ADDRESSES], d[H_LONG], user), d[H_LONG])


@native
def fetch_base(row: Words, regs: int) -> int:
    """The first value."""
    if row[F_BASE] == CONSTANT:
        return row[F_WHERE]
    return load_sized(regs + row[F_WHERE], row[F_WIDTH])


@native
def follow(d: Words, row: Words, value: int) -> int:
    """The steps through memory."""
    step = d[H_STEPS] + 8 * STEP_ROW * row[F_FIRST]
    for _ in range(row[F_STEPS]):
        value = fetch_word(d, value + word_at(step, 0), word_at(step, 1))
        step += 8 * STEP_ROW
    return value


@native
def window(row: Words, value: int) -> int:
    """As wide as it is stored, or a bit field of it."""
    mask = U64_MAX if row[F_BYTES] == 8 else (1 << 8 * row[F_BYTES]) - 1
    if row[F_RIGHT] or row[F_LEFT]:
        return (value << row[F_LEFT] & mask) >> row[F_RIGHT]
    return value & mask


@native
def fetch_string(d: Words, row: Words, address: int, to: int, room: int) -> int:
    """The string with its NUL; its length."""
    length = 0
    while length < room:
        here = address + length & d[H_ADDRESSES]
        place = readable(d, here, 1, row[F_USER])
        left = PAGE_SIZE - (here & (PAGE_SIZE - 1))
        while left and length < room:
            byte = load8(place)
            poke8(to + length, byte)
            length += 1
            if not byte:
                return length
            place += 1
            left -= 1
    decline()  # Python knows how long a string may be
    return 0


@native
def fetch_comm(d: Words, to: int) -> int:
    """current->comm with its NUL; its length."""
    at = current_task() + word_at(word_at(d[H_EVENT], E_RECORDER), R_COMM)
    for i in range(TASK_COMM_LEN - 1):
        byte = load8(at + i)
        poke8(to + i, byte)
        if not byte:
            return i + 1
    poke8(to + TASK_COMM_LEN - 1, 0)
    return TASK_COMM_LEN


@native
def fetch_argument(d: Words, row: Words, regs: int, record: int, end: int) -> int:
    """Into the record, whose end may move."""
    kind = row[F_KIND]
    at = record + row[F_AT]
    if kind == COMM:
        if end + TASK_COMM_LEN > MAX_NATIVE_RECORD:
            decline()
        length = fetch_comm(d, record + end)
        poke32(at, length << 16 | end)
        return end + length
    value = follow(d, row, fetch_base(row, regs))
    if kind == RAW:
        poke_sized(at, row[F_BYTES], window(row, value))
    elif kind == STRING:
        length = fetch_string(d, row, value + row[F_OFFSET], record + end, MAX_NATIVE_RECORD - end)
        poke32(at, length << 16 | end)
        return end + length
    else:
        value += row[F_OFFSET]
        for i in range(row[F_COUNT]):
            place = readable(d, value + i * row[F_BYTES] & d[H_ADDRESSES], row[F_BYTES], row[F_USER])
            poke_sized(at + i * row[F_BYTES], row[F_BYTES], window(row, load_sized(place, row[F_BYTES])))
    return end


@native
def make_record(d: Words, regs: int) -> int:
    """The event's record, put together; its length."""
    record = put_header(word_at(d[H_EVENT], E_RECORDER), d[H_EVENT])
    place = d[H_PLACE]
    if d[H_PLACE_WIDTH]:
        place = load_sized(regs + place, d[H_PLACE_WIDTH])
    poke_sized(record + COMMON_SIZE, d[H_LONG], place)
    if d[H_RETURN]:
        poke_sized(record + COMMON_SIZE + d[H_LONG], d[H_LONG], word_at(d[H_RETURN], 0))
    end = d[H_FIXED]
    for i in range(d[H_ARGUMENTS]):
        end = fetch_argument(d, d[H_ROWS] + 8 * FETCH_ROW * i, regs, record, end)
    return end


@native
def count_hit(counter: Words) -> int:
    counter[0] += 1
    return 0


@native
def record_hit(d: Words, regs: int) -> int:
    """A hit that goes into the trace."""
    commit(d[H_EVENT], make_record(d, regs))
    count_hit(d[H_COUNTER])
    return 0


@native
def record_and_run(d: Words, regs: int) -> int:
    """The same, and then to programs, which count it."""
    if word_at(word_at(d[H_PROGRAMS], ACTIVE), shared[Word.CPU]):
        decline()
    commit(d[H_EVENT], make_record(d, regs))
    return run_programs(d[H_PROGRAMS], regs)


@cache
def library(big_endian: bool) -> Library:
    """Compiled when the first probe event is often hit."""
    return Library((record_hit, record_and_run), big_endian)


@dataclass(frozen=True)
class Place:
    """A probe as its records show it."""

    address: int  # in the record's head; 0: the instruction pointer of the hit
    return_at: int  # host address of the return address; 0: the probe is none of a return
    kernel: bool
    long: int  # bytes
    fixed: int  # bytes of the record's fixed part, with head


def argument_row(
    arg: ProbeArg, head: int, arch: Architecture, layout: Layout, steps: list[tuple[int, bool]]
) -> tuple[int, ...] | None:
    """An argument's row; its steps are added to `steps`.  None: it is Python's to fetch."""
    ops = [op for op in arg.ops if op.op != "sym"]
    at = head + arg.offset
    if ops[0].op == "comm":
        return (0, 0, 0, 0, 0, COMM, 0, 0, 4, 1, 0, 0, at)
    op, kind = ops[0], STORES.get(arg.store)
    if op.op not in BASES or kind is None or (kind == STRING and arg.count) or (kind == RAW and arg.count):
        return None
    base = BASES[op.op]
    name = {"reg": op.name, "retval": arch.return_value}.get(op.op, arch.stack_pointer)
    if op.op == "arg":
        if op.param >= len(arch.function_args):
            return None
        name = arch.function_args[op.param]
    field = layout.fields[name]
    where, width = (op.param, 0) if base == CONSTANT else (field.offset, field.size)
    first = len(steps)
    if op.op == "stack":
        steps.append((op.param * arch.word, False))
    steps += [(step.offset, step.user) for step in ops[1:]]
    left, right = arg.bits or (0, 0)
    return (
        base, where, width, first, len(steps) - first, kind, arg.store_offset, arg.store_user,
        arg.type.size, arg.count or 1, left, right, at,
    )  # fmt: skip


def _flat(rows: Sequence[Sequence[int]]) -> ctypes.Array[ctypes.c_uint64]:
    words = [int(word) & U64_MAX for row in rows for word in row]
    return (ctypes.c_uint64 * len(words))(*words)


def handler(
    event: EventWords,
    place: Place,
    args: Sequence[ProbeArg],
    arch: Architecture,
    layout: Layout,
    counter: ctypes.Array[ctypes.c_uint64],
    programs: NativeHandler | None,
    after: Callable[[int], object],
    guards: Guards,
    big_endian: bool,
) -> NativeHandler | None:
    """The compiled form of a hit that is recorded and then given to programs; None where Python has to fetch an argument."""
    steps: list[tuple[int, bool]] = []
    head = COMMON_SIZE + place.long * (2 if place.return_at else 1)
    rows = [argument_row(arg, head, arch, layout, steps) for arg in args]
    known = [row for row in rows if row is not None]
    if len(known) != len(rows) or place.fixed > MAX_NATIVE_RECORD:
        return None
    fetch, follow_by = _flat(known), _flat(steps)
    ip = layout.fields[arch.instruction_pointer]
    where = (place.address, 0) if place.address else (ip.offset, ip.size)
    words = (ctypes.c_uint64 * HIT_WORDS)(
        event.address, ctypes.addressof(counter), place.long, *where, place.return_at, place.kernel,
        U64_MAX if place.long == 8 else U32_MAX, place.fixed, len(known), ctypes.addressof(fetch), ctypes.addressof(follow_by),
        0 if programs is None else programs.data,
    )  # fmt: skip
    blind = bool(place.address) and all(row[F_KIND] == COMM or row[F_BASE] == CONSTANT for row in known)
    flags = READ_ONLY | (NO_FRAME if blind and (programs is None or programs.flags & NO_FRAME) else 0)
    function = library(big_endian).address["record_hit" if programs is None else "record_and_run"]
    keep = (words, fetch, follow_by, event, counter, programs)
    sight = _sight(place, known, steps) if programs is None else None
    returns = bool(place.return_at)  # what is left to Python there cannot be declined any more
    return NativeHandler(
        function, ctypes.addressof(words), after, keep, flags, sight, shows_caller=returns, guards=guards if returns else NO_GUARDS,
    )  # fmt: skip


def _sight(place: Place, rows: Sequence[tuple[int, ...]], steps: Sequence[tuple[int, bool]]) -> Sight:
    """Registers that are stored as they are; what is behind one, if that is the program's memory."""
    if not place.address or not all(user for _, user in steps):
        return None
    if any(row[F_KIND] in (MEMORY, STRING) and not row[F_USER] for row in rows):
        return None
    return frozenset((row[F_WHERE], row[F_WIDTH]) for row in rows if row[F_BASE] == REGISTER and row[F_KIND] != COMM)
