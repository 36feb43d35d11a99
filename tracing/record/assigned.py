"""Records of tracepoints that native code makes from their arguments, for the trace and for programs.

What compile_record() (assign.py) makes of TP_fast_assign, put_fields() does by rows: an argument, loads from memory, small arithmetic,
and where in the record the value goes.  A number that takes more is Python's, which hands it on as one argument more; an event
with other bytes is Python's as a whole.  Memory that cannot be read, and a string without an end, native code declines before
anything has changed.
"""

from __future__ import annotations

import ast
import ctypes
from collections.abc import Callable, Sequence
from functools import cache

from arch.abi.limits import U64_MAX
from arch.errors import Fault
from arch.native import Word
from arch.native.handler import NO_GUARDS, NativeHandler
from arch.native.library import Library
from arch.native.state import current_task, load_sized, poke_sized, word_at
from arch.native.subset import (
    Words,
    decline,
    load8,
    load32,
    native,
    peek64,
    poke8,
    poke32,
    poke64,
    shared,
    store64,
)
from tracing.face import TraceHost
from tracing.probes.programs import NO_ANSWER, Runner, run_for_python
from tracing.record.assign import compile_sources, split_proto
from tracing.record.compiled import (
    MAX_NATIVE_RECORD,
    R_COMM,
    R_SCRATCH,
    EventWords,
    NativeRecords,
    RecordFile,
    commit,
    put_header,
)
from tracing.record.fields import COMMON_SIZE, Field
from tracing.record.reader import TASK_IDLE, TASK_REPORT, TASK_REPORT_IDLE, TASK_REPORT_MAX, Reader
from tracing.record.recorder import Recorder

POINT_ARGUMENTS = 10
LONGEST_STRING = 512  # bytes that Reader.cstr() looks at
# Words of an event: those of its array (or where a record is put together), where its fixed fields end, its rows and how many; the
# words of its programs; its arguments.
D_EVENT, D_RECORDER, D_FIXED, D_COUNT, D_ROWS, D_PROGRAMS, D_ARGUMENTS = range(7)
# A row: what to do with the value, and with what.
ARGUMENT, LOAD, STORE, ADD, SIGN, NUMBER, AND, RIGHT, SWAP, COMM, BYTES, TEXT, TAIL, TAIL_BYTES, STATE = range(15)
ROW_SIZE = 16  # bytes
SIZE_BITS = 16  # of an operand that is a place and a size
SIZE_MASK = (1 << SIZE_BITS) - 1


@native
def sign_extended(value: int, size: int) -> int:
    if size < 8:
        value &= (1 << 8 * size) - 1
        if value >> 8 * size - 1:
            value |= 0 - (1 << 8 * size)
    return value


@native
def switch_state(preempt: int, state: int, exit_state: int) -> int:
    """__trace_sched_switch_state() of 4.14 and later, with the place of the task's exit_state."""
    if preempt:
        return TASK_REPORT_MAX
    left = (state | load32(exit_state)) & TASK_REPORT
    if state & TASK_IDLE == TASK_IDLE:
        left = TASK_REPORT_IDLE
    bit = 0
    while left:
        bit = bit << 1 if bit else 1
        left >>= 1
    return bit


@native
def put_bytes(to: int, source: int, size: int) -> int:
    for i in range(size):
        poke8(to + i, load8(source + i))
    return 0


@native
def put_text(to: int, source: int, room: int) -> int:
    """A C string without its NUL, as far as there is room; its length."""
    for i in range(room):
        byte = load8(source + i)
        if not byte:
            return i
        poke8(to + i, byte)
    return room


@native
def put_tail(record: int, at: int, end: int, source: int, room: int) -> int:
    """A dynamic string with its NUL; where the record ends then."""
    if end + room + 1 > MAX_NATIVE_RECORD:
        decline()
    length = put_text(record + end, source, room) + 1
    poke8(record + end + length - 1, 0)
    poke32(record + at, length << 16 | end)
    return end + length


@native
def put_fields(d: Words, record: int) -> int:
    """All behind the header; the record's length."""
    end = d[D_FIXED]
    for i in range(end - COMMON_SIZE + 7 >> 3):
        poke64(record + COMMON_SIZE + 8 * i, 0)
    row = d[D_ROWS]
    value = 0
    for _ in range(d[D_COUNT]):
        op = word_at(row, 0)
        operand = word_at(row, 1)
        row += ROW_SIZE
        if op == ARGUMENT:
            value = d[D_ARGUMENTS + operand]
        elif op == LOAD:
            value = load_sized(value, operand)
        elif op == STORE:
            poke_sized(record + (operand >> SIZE_BITS), operand & SIZE_MASK, value)
        elif op == ADD:
            value += operand
        elif op == SIGN:
            value = sign_extended(value, operand)
        elif op == NUMBER:
            value = operand
        elif op == AND:
            value &= operand
        elif op == RIGHT:
            value = value >> operand
        elif op == SWAP:
            value = value >> 8 & 255 | (value & 255) << 8
        elif op == STATE:
            value = switch_state(d[D_ARGUMENTS + (operand & 255)], d[D_ARGUMENTS + (operand >> 8 & 255)],
                                 d[D_ARGUMENTS + (operand >> 16 & 255)] + (operand >> 24))  # fmt: skip
        elif op == COMM:
            value = current_task() + word_at(d[D_RECORDER], R_COMM)
        elif op == BYTES:
            put_bytes(record + (operand >> SIZE_BITS), value, operand & SIZE_MASK)
        elif op == TEXT:
            if not value:
                decline()
            put_text(record + (operand >> SIZE_BITS), value, operand & SIZE_MASK)
        elif op == TAIL:
            if not value:
                decline()
            before = end
            end = put_tail(record, operand, end, value, LONGEST_STRING)
            if end - before > LONGEST_STRING:
                decline()
        elif op == TAIL_BYTES:
            end = put_tail(record, operand >> SIZE_BITS, end, value, operand & SIZE_MASK)
    return end


@native
def take_arguments(d: Words, a: int, b: int, c: int, e: int, f: int, g: int, h: int, i: int, j: int, k: int) -> int:
    d[D_ARGUMENTS] = a
    d[D_ARGUMENTS + 1] = b
    d[D_ARGUMENTS + 2] = c
    d[D_ARGUMENTS + 3] = e
    d[D_ARGUMENTS + 4] = f
    d[D_ARGUMENTS + 5] = g
    d[D_ARGUMENTS + 6] = h
    d[D_ARGUMENTS + 7] = i
    d[D_ARGUMENTS + 8] = j
    d[D_ARGUMENTS + 9] = k
    return 0


@native
def record_arguments(d: Words, a: int, b: int, c: int, e: int, f: int, g: int, h: int, i: int, j: int, k: int) -> int:
    """Into the trace."""
    take_arguments(d, a, b, c, e, f, g, h, i, j, k)
    record = put_header(d[D_RECORDER], d[D_EVENT])
    return commit(d[D_EVENT], put_fields(d, record))


@native
def put_context(
    d: Words, context: int, regs: int, a: int, b: int, c: int, e: int, f: int, g: int, h: int, i: int, j: int, k: int
) -> int:  # fmt: skip
    """What programs see: the record behind the address of the registers; its length."""
    take_arguments(d, a, b, c, e, f, g, h, i, j, k)
    record = word_at(d[D_RECORDER], R_SCRATCH)
    length = put_fields(d, record)
    while length & 7:
        poke8(record + length, 0)
        length += 1
    store64(context, regs)
    for n in range((length >> 3) - 1):
        store64(context + 8 + 8 * n, peek64(record + 8 + 8 * n))
    return length


@native
def run_arguments(
    d: Words, context: int, regs: int, a: int, b: int, c: int, e: int, f: int, g: int, h: int, i: int, j: int, k: int
) -> int:  # fmt: skip
    """To programs."""
    if shared[Word.FALLBACK]:
        decline()
    put_context(d, context, regs, a, b, c, e, f, g, h, i, j, k)
    return run_for_python(d[D_PROGRAMS], context)


@native
def record_point(d: Words, v: Words) -> int:
    return record_arguments(d[0], v[0], v[1], 0, 0, 0, 0, 0, 0, 0, 0)


@native
def run_point(d: Words, v: Words) -> int:
    return run_arguments(d[0], d[1], d[2], v[0], v[1], 0, 0, 0, 0, 0, 0, 0, 0)


@cache
def library(big_endian: bool) -> Library:
    """Compiled when the first such event is often hit."""
    return Library((record_arguments, run_arguments, record_point, run_point), big_endian)


class Unknown(Exception):
    """An expression that rows cannot say."""


class Rows:
    """The rows of an event, and the numbers that Python computes for them."""

    def __init__(self, names: Sequence[str], reader: Reader) -> None:
        self.names = [f"a_{name}" for name in names]
        self.reader = reader
        self.extras: list[str] = []
        self.flat: list[tuple[int, int]] = []

    def field(self, field: Field, source: str) -> None:
        """One field.  Unknown."""
        node = ast.parse(source, mode="eval").body
        at = field.offset << SIZE_BITS
        if field.is_data_loc:
            self.tail(field, node)
        elif not field.array_length:
            self.flat += [*self.number(node, source), (STORE, at | field.size)]
        elif field.size == field.array_length:
            self.characters(field, node, at)
        elif _called(node) == "k.syscall_args":
            size = field.size // field.array_length
            start = self.number(_arguments(node)[0])
            for index, row in enumerate(self.reader.arguments):
                place = field.offset + index * size << SIZE_BITS
                self.flat += [*start, (ADD, row.offset), (LOAD, row.size), (STORE, place | size)]
        else:
            raise Unknown(source)

    def characters(self, field: Field, node: ast.expr, at: int) -> None:
        """A char array: as many bytes of memory, or a string with its NUL."""
        if _called(node) == "rb":
            start, size = _arguments(node)
            self.flat += [*self.number(start), (BYTES, at | min(field.size, _constant(size)))]
        elif _called(node) == "k.host.current_comm().encode" and "char" in field.type:
            self.flat += [(COMM, 0), (TEXT, at | field.size - 1)]
        elif "char" in field.type:
            self.flat += [*self.number(node), (TEXT, at | field.size - 1)]
        else:
            raise Unknown(ast.unparse(node))

    def tail(self, field: Field, node: ast.expr) -> None:
        """A dynamic string."""
        if _called(node) == "rb":
            start, size = _arguments(node)
            self.flat += [*self.number(start), (TAIL_BYTES, field.offset << SIZE_BITS | _constant(size))]
        elif isinstance(node, ast.Constant) and node.value == "":
            self.flat.append((TAIL_BYTES, field.offset << SIZE_BITS))
        else:
            self.flat += [*self.number(node), (TAIL, field.offset)]

    def number(self, node: ast.expr, source: str = "") -> list[tuple[int, int]]:
        """Rows after which the value is this number; where `source` is given, Python may compute it."""
        try:
            return self.simple(node)
        except Unknown:
            if not source:
                raise
            self.extras.append(source)
            return [(ARGUMENT, len(self.names) + len(self.extras) - 1)]

    def simple(self, node: ast.expr) -> list[tuple[int, int]]:
        """The same without Python.  Unknown."""
        match node:
            case ast.Name(name) if name in self.names:
                return [(ARGUMENT, self.names.index(name))]
            case ast.Constant(int(value)):
                return [(NUMBER, value)]
            case ast.UnaryOp(ast.USub(), ast.Constant(int(value))):
                return [(NUMBER, -value)]
            case ast.BinOp(left, ast.Add(), ast.Constant(int(value))):
                return [*self.simple(left), (ADD, value)]
            case ast.BinOp(left, ast.BitAnd(), ast.Constant(int(value))) if value >= 0:
                return [*self.simple(left), (AND, value)]
            case ast.BinOp(left, ast.RShift(), ast.Constant(int(value))):
                rows = self.simple(left)
                if rows[-1][0] not in (LOAD, AND):
                    raise Unknown("its sign is not known")
                return [*rows, (RIGHT, value)]
            case ast.Call(ast.Name("ru"), [start, size]):
                return [*self.simple(start), (LOAD, _constant(size))]
            case ast.Call(ast.Name("as_signed"), [inner, size]):
                return [*self.simple(inner), (SIGN, _constant(size))]
            case ast.Call(ast.Attribute(ast.Name("k"), "ntohs"), [inner]):
                rows = [*self.simple(inner), (AND, 0xFFFF)]
                return rows if self.reader.mem.byteorder == "big" else [*rows, (SWAP, 0)]
            case ast.Call(
                ast.Attribute(ast.Name("k"), "sched_switch_state"), [ast.Name(preempt), ast.Name(state), ast.Name(prev)]
            ):
                at = self.reader.types.offsetof("struct task_struct", "exit_state") << 24
                preempt_at, state_at, prev_at = (self.names.index(name) for name in (preempt, state, prev))
                return [(STATE, at | prev_at << 16 | state_at << 8 | preempt_at)]
            case ast.Call(ast.Attribute(ast.Name("k"), name), [inner]):
                place = self.reader.place(name)
                if place is None:
                    raise Unknown(name)
                return [*self.simple(inner), (ADD, place.offset), (LOAD, place.size), (AND, place.mask)]
        raise Unknown(ast.unparse(node))


def _called(node: ast.expr) -> str:
    """What a call calls; "" for anything else."""
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def _arguments(node: ast.expr) -> list[ast.expr]:
    assert isinstance(node, ast.Call)
    return node.args


def _constant(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    raise Unknown(ast.unparse(node))


Extras = Callable[..., tuple[int, ...]]


class Assignment:
    """An event's rows, and what gives the numbers that Python computes."""

    def __init__(self, entry: Sequence[tuple[Field, str]], proto: str, host: TraceHost) -> None:
        """Unknown."""
        names = [name for _, name in split_proto(proto)]
        expressions, parameters, namespace = compile_sources([source for _, source in entry], proto, host)
        rows = Rows(names, Reader(host))
        for (field, _), expression in zip(entry, expressions):
            rows.field(field, expression)
        if len(names) + len(rows.extras) > POINT_ARGUMENTS:
            raise Unknown("too many arguments")
        self.padding = (0,) * (POINT_ARGUMENTS - len(names) - len(rows.extras))
        self.fixed = max([COMMON_SIZE, *(field.offset + field.size for field, _ in entry)])
        flat = [word & U64_MAX for row in rows.flat for word in row]
        self.rows = (ctypes.c_uint64 * len(flat))(*flat)
        self.count = len(rows.flat)
        self.extras: Extras | None = None
        if rows.extras:
            body = f"lambda {parameters}: ({''.join(extra + ', ' for extra in rows.extras)})"
            self.extras = eval(compile(body, "<extras>", "eval"), namespace)

    def words(self, event: EventWords | None, recorder: int, programs: int) -> ctypes.Array[ctypes.c_uint64]:
        """The words of native functions."""
        at = 0 if event is None else event.address
        rows = ctypes.addressof(self.rows)
        return (ctypes.c_uint64 * (D_ARGUMENTS + POINT_ARGUMENTS))(at, recorder, self.fixed, self.count, rows, programs)

    def arguments(self, args: tuple[int, ...]) -> tuple[int, ...]:
        """As native functions take them."""
        if self.extras is None:
            return args + self.padding
        return args + self.extras(*args) + self.padding


def tracer(
    assignment: Assignment, records: NativeRecords, file: RecordFile, number: int, held: int, preempt: int
) -> Callable[[tuple[int, ...]], bool] | None:
    """What brings an event of these arguments into the trace, or says False: Python has to.  None: it always has to."""
    event = records.event(file, number, held, preempt)
    if event is None:
        return None
    words = assignment.words(event, ctypes.addressof(records.words()), 0)
    keep = (event, words)
    at, call = (
        ctypes.addressof(words),
        library(records.big_endian).builtin("record_arguments", records.board.host.block),
    )
    arguments = assignment.arguments

    def trace(args: tuple[int, ...]) -> bool:
        try:
            return call(at, *arguments(args)) is not None and keep is not None
        except Fault:
            return False  # Python finds it, too

    return trace


def starter(assignment: Assignment, recorder: Recorder, programs: Runner) -> Callable[[tuple[int, ...]], int | None]:
    """What runs programs on an event of these arguments, or says None: Python has to."""
    records = recorder.native
    words = assignment.words(None, ctypes.addressof(records.words()), programs.data)
    at, call = ctypes.addressof(words), library(records.big_endian).builtin("run_arguments", records.board.host.block)
    arguments, caller_regs, closed = assignment.arguments, recorder.host.caller_regs, programs.closed

    def run(args: tuple[int, ...]) -> int | None:
        regs, given = caller_regs(closed), arguments(args)
        try:
            answer = call(at, recorder.take_context(), regs, *given)
        except Fault:
            answer = None
        finally:
            recorder.drop_context()
        if answer == NO_ANSWER and words is not None:
            programs.failed()
        return answer

    return run


def point_tracer(
    assignment: Assignment, records: NativeRecords, file: RecordFile, number: int, held: int, preempt: int
) -> NativeHandler | None:
    """The same as tracer() for native callers, see Tracepoint.set_native()."""
    event = records.event(file, number, held, preempt)
    if event is None:
        return None
    words = assignment.words(event, ctypes.addressof(records.words()), 0)
    data = (ctypes.c_uint64 * 3)(ctypes.addressof(words))
    function = library(records.big_endian).address["record_point"]
    return NativeHandler(function, ctypes.addressof(data), nothing_left, (event, words, data))


def point_starter(
    assignment: Assignment, recorder: Recorder, programs: Runner, after: Callable[[int], object]
) -> NativeHandler:
    """The same as starter()."""
    records = recorder.native
    words = assignment.words(None, ctypes.addressof(records.words()), programs.data)
    context, regs = recorder.first_context(), recorder.host.caller_regs(True)
    data = (ctypes.c_uint64 * 3)(ctypes.addressof(words), context, regs)
    function = library(records.big_endian).address["run_point"]
    return NativeHandler(
        function, ctypes.addressof(data), after, (words, data, programs), guards=programs.guards or NO_GUARDS
    )


def nothing_left(values: int) -> None:
    """After a record."""


def point_values(at: int) -> tuple[int, ...]:
    """Registers, number or result, number of a system call, as native callers hand them on."""
    return tuple((ctypes.c_uint64 * 3).from_address(at))
