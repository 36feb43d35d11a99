"""What programs print: bpf_trace_printk() as an event, in Python and for compiled programs.  kernel/trace/bpf_trace.{c,h}.

The native form knows plain conversions of numbers, which are what most programs print; it declines all others before it has
changed anything.
"""

from __future__ import annotations

import ctypes
from functools import cache

from arch.abi.limits import U32_MAX
from arch.native.block import Word
from arch.native.library import Library
from arch.native.state import word_at
from arch.native.subset import Errno, Words, decline, load8, native, peek8, poke8, poke32, shared
from arch.native.walk import in_direct_map
from tracing.board import Board
from tracing.buffer.trace import A_SPECIAL, A_WAITERS
from tracing.face import TRACE_FLAG_IRQS_OFF
from tracing.probes.programs import HELD
from tracing.record.compiled import E_ARRAY, E_RECORDER, EventWords, commit, put_header
from tracing.record.fields import COMMON_SIZE
from tracing.record.recorder import Recorder, holds

MIGRATION_OFF = 0x10  # of trace_entry.preempt_count
TEXT_AT = COMMON_SIZE + 4  # in the record, behind the __data_loc
TEXT_MOST = 900  # characters; the helper cuts longer ones
PRINTED_MOST = 3
# Words: those of the event in its array (0: Python does it), where what places hold is kept, what the helper holds itself: flags
# and depth, bits of the depth that are set and those that are shown.
P_EVENT, P_HELD, P_FLAGS, P_DEPTH, P_SET, P_MASK, PRINTK_WORDS = range(7)
TAB, RETURN, BLANK, PERCENT, MINUS, ZERO, DELETE = 9, 13, 32, 37, 45, 48, 127
LOWER_X, UPPER_X, LOWER_D, LOWER_I, LOWER_L, LOWER_U = 120, 88, 100, 105, 108, 117
LOWER_A, UPPER_A = 97, 65


@native
def put_digits(to: int, value: int, base: int, letters: int) -> int:
    """A number; how many digits it has."""
    count = 1
    rest = value // base
    while rest:
        count += 1
        rest //= base
    for i in range(count):
        digit = value % base
        poke8(to + count - 1 - i, digit + (ZERO if digit < 10 else letters - 10))
        value //= base
    return count


@native
def put_number(to: int, letter: int, longs: int, value: int) -> int:
    """One conversion; how many characters."""
    if not longs:
        value &= U32_MAX
    if letter == LOWER_X:
        return put_digits(to, value, 16, LOWER_A)
    if letter == UPPER_X:
        return put_digits(to, value, 16, UPPER_A)
    if letter == LOWER_U:
        return put_digits(to, value, 10, 0)
    if letter != LOWER_D and letter != LOWER_I:
        decline()
    if value >> (63 if longs else 31):
        poke8(to, MINUS)
        return 1 + put_digits(to + 1, 0 - value if longs else 0 - value & U32_MAX, 10, 0)
    return put_digits(to, value, 10, 0)


@native
def put_text(to: int, fmt: int, size: int, a: int, b: int, c: int) -> int:
    """The whole text with its NUL; its length without."""
    length = 0
    given = 0
    i = 0
    while i < size:
        letter = load8(fmt + i)
        i += 1
        if not letter:
            poke8(to + length, 0)
            return length
        if length > TEXT_MOST or letter >= DELETE or (letter < BLANK and (letter < TAB or letter > RETURN)):
            decline()
        if letter != PERCENT:
            poke8(to + length, letter)
            length += 1
            continue
        longs = 0
        while i < size and longs < 2 and load8(fmt + i) == LOWER_L:
            longs += 1
            i += 1
        if i == size:
            decline()
        letter = load8(fmt + i)
        i += 1
        if letter == PERCENT and not longs:
            poke8(to + length, PERCENT)
            length += 1
            continue
        if given == PRINTED_MOST:
            decline()
        length += put_number(to + length, letter, longs, a if given == 0 else b if given == 1 else c)
        given += 1
    decline()
    return 0


@native
def place_holds(p: Words) -> int:
    """printk_context(): what whoever runs the program holds."""
    held = word_at(p[P_HELD], shared[Word.CPU])
    if not held and shared[Word.FIRING]:
        held = word_at(shared[Word.FIRING], HELD)
    return held


@native
def trace_printk(p: Words, fmt: int, size: int, a: int, b: int, c: int) -> Errno:
    size &= U32_MAX
    event = p[P_EVENT]
    if not event or not in_direct_map(fmt, size):
        decline()
    record = put_header(word_at(event, E_RECORDER), event)
    length = put_text(record + TEXT_AT, fmt, size, a, b, c)
    held = place_holds(p)
    poke8(record + 2, peek8(record + 2) | held >> 8 | p[P_FLAGS])
    poke8(record + 3, ((held & 255) + p[P_DEPTH] | p[P_SET]) & p[P_MASK])
    poke32(record + COMMON_SIZE, length + 1 << 16 | TEXT_AT)
    commit(event, TEXT_AT + length + 1)
    return length


@native
def printing_wakes(p: Words, number: int) -> int:
    """A line may wake a reader of the trace, or is Python's to write."""
    if not p[P_EVENT]:
        return 1
    array = word_at(p[P_EVENT], E_ARRAY)
    return word_at(array, A_WAITERS) | word_at(array, A_SPECIAL)


@cache
def library(big_endian: bool) -> Library:
    """Compiled when the first program that prints is."""
    return Library((trace_printk, printing_wakes), big_endian)


class NativePrintk:
    """The helper of one machine, for compiled programs."""

    def __init__(self, recorder: Recorder) -> None:
        board = recorder.board
        flags, depth, set_bits = helper_holds(board)
        code = library(board.byteorder == "big")
        self.function, self.guard = code.address["trace_printk"], code.address["printing_wakes"]
        self._words = (ctypes.c_uint64 * PRINTK_WORDS)(
            0, ctypes.addressof(recorder.running.held), flags, depth, set_bits, board.depth_mask
        )
        self.words = ctypes.addressof(self._words)
        self._event: EventWords | None = None

    def aim(self, event: EventWords | None) -> None:
        """Where lines go."""
        self._event = event
        self._words[P_EVENT] = 0 if event is None else event.address


def helper_holds(board: Board) -> tuple[int, int, int]:
    """Flags, depth, and bits of the depth that the helper itself adds."""
    features, flags, depth = board.features, 0, 0
    if features.bpf_trace_event:
        depth += 1  # the helper's buffers
        if not features.printk_lock_gone:
            flags, depth = flags | TRACE_FLAG_IRQS_OFF, depth + 1
    return flags, depth, MIGRATION_OFF if features.migrate_disable_column else 0


def printk_context(recorder: Recorder) -> tuple[int, int]:
    """Flags and preempt count of bpf_trace_printk's line, from who runs the program and what the helper takes."""
    event = recorder.running.firing(recorder.host.cpu_id())
    held = 0 if event is None else holds(event)
    flags, depth, bits = helper_holds(recorder.board)
    return flags | held >> 8, (held & 255) + depth | bits
