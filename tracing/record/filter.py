"""The event filter language of the `filter` files.  kernel/trace/trace_events_filter.c (the parser of 4.17 and later).

`prev_comm ~ "ba*" && (prev_pid > 10 || !(cpu == 0))` becomes a list of predicates with branch targets, as in the
kernel; errors carry the kernel's number, text and column, and are what the file reads back.

Older kernels parsed the same language with another algorithm; here they share this one, with EINVAL for every error.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from arch.abi.errno import EINVAL, ENODEV
from arch.abi.limits import PAGE_SIZE, TASK_COMM_LEN
from arch.cstring import c_string, kstrto
from arch.errors import Fault, KernelError
from arch.records import dataclass
from tracing.record.event import EventFile, TraceEvent
from tracing.record.fields import (
    FILTER_COMM,
    FILTER_CPU,
    FILTER_CPUMASK,
    FILTER_DYN_STRING,
    FILTER_OTHER,
    FILTER_PTR_STRING,
    FILTER_STATIC_STRING,
    Field,
)
from tracing.record.glob import build_glob, cut, full_match
from tracing.record.numbers import CpuTest, NumberTest, mask_bits, parse_cpulist
from tracing.record.registry import EventRegistry

MAX_FILTER_STR_VAL = 256
MAX_NUMBER = 24
USTRING_BUF_SIZE = 1024
OPS = ("~", "!=", "==", "<=", "<", ">=", ">", "&")  # in the order the parser tries them
INVERT, PROCESS_AND, PROCESS_OR = 1, 2, 4

# enum filt_err, in the kernel's order
INVALID_OP = "Invalid operator"
TOO_MANY_OPEN = "Too many '('"
TOO_MANY_CLOSE = "Too few '('"
MISSING_QUOTE = "Missing matching quote"
NO_BRACE_OPEN = "Missing '{'"
NO_BRACE_CLOSE = "Missing '}'"
OPERAND_TOO_LONG = "Operand too long"
EXPECT_STRING = "Expecting string field"
EXPECT_DIGIT = "Expecting numeric field"
ILLEGAL_FIELD_OP = "Illegal operation for field type"
FIELD_NOT_FOUND = "Field not found"
ILLEGAL_INTVAL = "Illegal integer value"
BAD_SUBSYS_FILTER = "Couldn't find or set field in one of a subsystem's events"
TOO_MANY_PREDS = "Too many terms in predicate expression"
INVALID_FILTER = "Meaningless filter expression"
INVALID_CPULIST = "Invalid cpulist"
INVALID_VALUE = "Invalid value (did you forget quotes)?"
ERRNO = "Error"
NO_FILTER = "No filter found"
NO_FUNCTION = "Function not found"

DEFAULT_SYS_FILTER_MESSAGE = (
    "### global filter ###\n"
    "# Use this to set filters for multiple events.\n"
    "# Only events with the given fields will be affected.\n"
    "# If no events are modified, an error message will be displayed here"
)

Test = Callable[[bytes], bool]


class FilterError(KernelError):
    """A filter is refused.  `message` None: the kernel gives a bare error number."""

    def __init__(self, errno: int, message: str | None = None, position: int = 0) -> None:
        super().__init__(errno, message or "")
        self.message = message
        self.position = position


@dataclass(slots=True)
class Entry:
    """struct prog_entry: branch to after `target` when the test says `when_to_branch`."""

    test: Test | None
    target: int
    when_to_branch: bool = False


class EventFilter:
    """A compiled filter."""

    def __init__(self, text: str, program: list[Entry]) -> None:
        self.text = text
        self.program = program

    def rows(self) -> list[tuple[Test | None, int, bool]]:
        """For native code."""
        return [(entry.test, entry.target, entry.when_to_branch) for entry in self.program]

    def match(self, record: bytes) -> bool:
        """filter_match_preds()."""
        program = self.program
        index = 0
        while True:
            entry = program[index]
            if entry.test is None:
                return bool(entry.target)
            if entry.test(record) == entry.when_to_branch:
                index = entry.target
            index += 1


def is_space(char: str) -> bool:
    """isspace() of lib/ctype.c, where 0xa0 is one."""
    return char in " \t\n\v\f\r\xa0"


# First look: parentheses and quotes


def calc_stack(text: str) -> tuple[int, int]:
    """(depth of parentheses, number of predicates).  The errors' numbers are the kernel's own small ones: 1, 2, 3."""
    is_pred, preds, opened, max_open, last_quote = False, 0, 1, 1, 0
    quote = ""
    for i, char in enumerate(text):
        if is_space(char):
            continue
        if quote:
            if char == quote:
                quote = ""
            continue
        if char in "'\"":
            quote, last_quote = char, i
        elif char in "|&" and text[i + 1 : i + 2] == char:
            is_pred = False
            continue
        elif char == "(":
            is_pred = False
            opened += 1
            max_open = max(max_open, opened)
            continue
        elif char == ")":
            is_pred = False
            if opened == 1:
                raise FilterError(1, TOO_MANY_CLOSE, i)
            opened -= 1
            continue
        if not is_pred:
            preds += 1
            is_pred = True
    if quote:
        raise FilterError(3, MISSING_QUOTE, last_quote)
    if opened != 1:
        raise FilterError(2, TOO_MANY_OPEN, find_bad_open(text, opened))
    return max_open, preds


def find_bad_open(text: str, opened: int) -> int:
    """The parenthesis that is not closed, seen from the end."""
    level, quote = opened, ""
    for i in range(len(text) - 1, 0, -1):
        char = text[i]
        if quote:
            quote = "" if char == quote else quote
        elif char == "(":
            if level == opened:
                return i
            level -= 1
        elif char == ")":
            level += 1
        elif char in "'\"":
            quote = char
    return 0


# The program


class FilterParser:
    """predicate_parse() and parse_pred() for one event."""

    def __init__(self, event: TraceEvent) -> None:
        self.host = event.host
        self.byteorder = event.board.byteorder
        self.features = event.board.features
        self.reader = event.recorder.reader
        self.event = event

    def parse(self, text: str) -> EventFilter:
        """The whole text.  FilterError."""
        nr_parens, nr_preds = calc_stack(text)
        if not nr_preds:
            raise FilterError(EINVAL)
        return EventFilter(text, self.program(text, nr_parens, nr_preds + 2))

    def program(self, text: str, nr_parens: int, nr_preds: int) -> list[Entry]:
        """The three passes that are explained at length in the kernel's source."""
        program: list[Entry] = []
        inverts: list[bool] = []
        stack = [0]
        invert = False
        ptr, end = 0, len(text)
        done = False
        while ptr < end and not done:
            next_ = ptr
            ptr += 1
            char = text[next_]
            if is_space(char):
                continue
            if char == "(":
                if len(stack) - 1 > nr_parens:
                    raise FilterError(EINVAL)
                stack.append(INVERT if invert else 0)
                continue
            if char == "!" and text[next_ + 1 : next_ + 2] not in ("=", "~"):
                invert = not invert
                continue
            if len(program) >= nr_preds:
                raise FilterError(12, TOO_MANY_PREDS, next_)
            inverts.append(invert)
            length, test = self.predicate(text[next_:], ptr)
            program.append(Entry(test, len(program) - 1))
            ptr = next_ + length
            ptr, invert, done = self.after_predicate(text, ptr, program, stack)
        if program and not done:
            raise FilterError(EINVAL, INVALID_FILTER, ptr)
        if len(stack) > 1:
            raise FilterError(1, TOO_MANY_OPEN, ptr)
        if not program:
            raise FilterError(EINVAL, NO_FILTER, ptr)
        return finish(program, inverts)

    def after_predicate(self, text: str, ptr: int, program: list[Entry], stack: list[int]) -> tuple[int, bool, bool]:
        """Operators and closing parentheses up to the next predicate: (position, inverted, end reached)."""
        while True:
            next_ = ptr
            ptr += 1
            char = text[next_] if next_ < len(text) else ""
            if char and is_space(char):
                continue
            if char not in (")", ""):
                if char not in ("&", "|") or text[next_ + 1 : next_ + 2] != char:
                    raise FilterError(1, TOO_MANY_PREDS, next_)
                ptr += 1
            invert = bool(stack[-1] & INVERT)
            if stack[-1] & PROCESS_AND:
                update_preds(program, len(program) - 1, invert)
                stack[-1] &= ~PROCESS_AND
            if char == "&":
                stack[-1] |= PROCESS_AND
                return ptr, invert, False
            if stack[-1] & PROCESS_OR:
                update_preds(program, len(program) - 1, not invert)
                stack[-1] &= ~PROCESS_OR
            if char == "|":
                stack[-1] |= PROCESS_OR
                return ptr, invert, False
            if not char:
                return ptr, invert, True
            if len(stack) == 1:
                raise FilterError(1, TOO_MANY_CLOSE, ptr)
            stack.pop()

    # One predicate

    def predicate(self, text: str, pos: int) -> tuple[int, Test]:
        """parse_pred(): (length used, test); `pos` is the column of text[1:]."""
        match = re.match(r"[\s\xa0]*([A-Za-z0-9_]*)", text)
        name = match[1] if match else ""
        i = match.end() if match else 0
        if not name:
            raise FilterError(1)
        field = self.event.find_field(name)
        if field is None:
            raise FilterError(EINVAL, FIELD_NOT_FOUND, pos + i)
        user = text.startswith(".ustring", i)
        i += 8 if user else 0
        function = self.features.filter_functions and text.startswith(".function", i)
        i += 9 if function else 0
        i = skip_spaces(text, i)
        op = next((op for op in OPS if text.startswith(op, i)), None)
        if op is None:
            raise FilterError(EINVAL, INVALID_OP, pos + i)
        i = skip_spaces(text, i + len(op))
        if function:
            return self.function_predicate(text, i, pos, field, op)
        if self.features.filter_cpus and text.startswith("CPUS", i):
            return self.cpus_predicate(text, i, pos, field, op)
        first = text[i : i + 1]
        if first and first in "'\"":
            return self.string_predicate(text, i, pos, field, op, user)
        if first.isdigit() or first == "-":
            return self.number_predicate(text, i, pos, field, op)
        raise FilterError(EINVAL, INVALID_VALUE, pos + i)

    def string_predicate(self, text: str, i: int, pos: int, field: Field, op: str, user: bool) -> tuple[int, Test]:
        """From the quote on: the position behind the value, and its test."""
        if op not in ("!=", "~", "=="):
            raise FilterError(EINVAL, ILLEGAL_FIELD_OP, pos + i)
        if not field.is_string:
            raise FilterError(EINVAL, EXPECT_DIGIT, pos + i)
        close = text.find(text[i], i + 1)
        if close < 0:
            raise FilterError(EINVAL, MISSING_QUOTE, pos + len(text))
        value = text[i + 1 : close]
        if len(value) >= MAX_FILTER_STR_VAL:
            raise FilterError(EINVAL, OPERAND_TOO_LONG, pos + close)
        inverted = op == "!="
        matches: Callable[[bytes, int], bool]
        if op == "~":
            inverted, matches = build_glob(value)
        else:
            matches = full_match(value.encode("latin-1"))
        return close + 1, self.string_test(field, matches, inverted, user)

    def string_test(self, field: Field, matches: Callable[[bytes, int], bool], inverted: bool, user: bool) -> Test:
        """The test for the place where the field's text is."""
        offset, size, order = field.offset, field.size, self.byteorder
        host, reader = self.host, self.reader
        if field.filter_type == FILTER_COMM:
            return lambda record: matches(host.current_comm().encode("latin-1"), TASK_COMM_LEN) != inverted
        if field.filter_type == FILTER_STATIC_STRING and not size:  # to the end of the record
            return lambda record: matches(cut(record[offset:]), len(record)) != inverted
        if field.filter_type == FILTER_STATIC_STRING:
            return lambda record: matches(cut(record[offset : offset + size]), size) != inverted
        if field.filter_type == FILTER_DYN_STRING:

            def dynamic(record: bytes) -> bool:
                loc = int.from_bytes(record[offset : offset + 4], order)
                start, length = loc & 0xFFFF, loc >> 16
                return matches(cut(record[start : start + length]), length) != inverted

            return dynamic
        assert field.filter_type == FILTER_PTR_STRING

        def pointer(record: bytes) -> bool:
            address = int.from_bytes(record[offset : offset + size], order)
            data = self.user_string(address) if user else self.kernel_string(address, reader.cstr)
            return data is not None and matches(data, len(data) + 1) != inverted

        return pointer

    def kernel_string(self, address: int, cstr: Callable[[int, int], bytes]) -> bytes | None:
        """Text at a kernel address; None where that faults."""
        try:
            self.host.mem.read(address, 1)
        except Fault:
            return None
        return cstr(address, USTRING_BUF_SIZE)

    def user_string(self, address: int) -> bytes | None:
        """Text at an address of the current task, at most 1024 bytes; None where that faults."""
        memory = self.host.user_mem()
        data = bytearray()
        try:
            while memory is not None and len(data) < USTRING_BUF_SIZE:
                byte = memory.read(address + len(data), 1)
                if byte == b"\0":
                    return bytes(data)
                data += byte
        except Fault:
            return None
        return bytes(data) if memory is not None else None

    def number_predicate(self, text: str, i: int, pos: int, field: Field, op: str) -> tuple[int, Test]:
        """From the number on: the position behind it, and its test."""
        start = i
        if field.is_string:
            raise FilterError(EINVAL, EXPECT_STRING, pos + i)
        if op == "~":
            raise FilterError(EINVAL, ILLEGAL_FIELD_OP, pos + i)
        i += text[i] == "-"
        while text[i : i + 1].isalnum() and text[i].isascii():
            i += 1
        if i - start >= MAX_NUMBER:
            raise FilterError(EINVAL, OPERAND_TOO_LONG, pos + i)
        try:
            value = kstrto(text[start:i], 0, 64, field.signed)
        except KernelError:
            raise FilterError(EINVAL, ILLEGAL_INTVAL, pos + start) from None
        return i, self.number_test(field, op, value)

    def function_predicate(self, text: str, i: int, pos: int, field: Field, op: str) -> tuple[int, Test]:
        """A function by name or address: is the field's address in it?"""
        symbols, word = self.host.symbols, self.event.board.word
        if field.size != word:
            raise FilterError(EINVAL, ILLEGAL_FIELD_OP, pos + i)
        if op not in ("==", "!="):
            raise FilterError(EINVAL, INVALID_OP, pos + i)
        start, is_number = i, text[i : i + 1].isdigit()
        while text[i : i + 1] and (text[i].isalnum() if is_number else not is_space(text[i])):
            i += 1
        name, address = text[start:i], None
        if not is_number:
            address = symbols.address(name)
        elif len(name) >= MAX_NUMBER:
            raise FilterError(EINVAL, OPERAND_TOO_LONG, pos + i)
        else:
            try:
                address = kstrto(name, 0, 8 * word, False)
            except KernelError:
                raise FilterError(EINVAL, INVALID_VALUE, pos + i) from None
        found = None if address is None else symbols.lookup(address)
        if address is None or found is None:
            raise FilterError(EINVAL, NO_FUNCTION, pos + i)
        low, inverted, offset, order = address - found[1], op == "!=", field.offset, self.byteorder
        end = low + found[2]
        return i, lambda record: (low <= int.from_bytes(record[offset : offset + word], order) < end) != inverted

    def cpus_predicate(self, text: str, i: int, pos: int, field: Field, op: str) -> tuple[int, Test]:
        """`CPUS{LIST}`: a set of CPUs against a set, the CPU that runs, or a number."""
        if field.filter_type not in (FILTER_CPUMASK, FILTER_CPU, FILTER_OTHER) or op not in ("==", "!=", "&"):
            raise FilterError(EINVAL, ILLEGAL_FIELD_OP, pos + i)
        i += len("CPUS")
        if text[i : i + 1] != "{":
            raise FilterError(EINVAL, NO_BRACE_OPEN, pos + i + 1)
        i += 1
        end = text.find("}", i)
        if end < 0:
            raise FilterError(EINVAL, NO_BRACE_CLOSE, pos + len(text))
        try:
            wanted = parse_cpulist(text[i:end], self.host.nr_cpus) if end > i else None
        except KernelError:
            wanted = None
        if wanted is None:
            raise FilterError(EINVAL, INVALID_CPULIST, pos + end)
        return end + 1, self.cpus_test(field, op, frozenset(wanted))

    def cpus_test(self, field: Field, op: str, wanted: frozenset[int]) -> Test:
        """do_filter_cpumask(), do_filter_scalar_cpumask(): one CPU alone is a number."""
        if field.filter_type == FILTER_CPUMASK:
            offset, order = field.offset, self.byteorder

            def mask(record: bytes) -> bool:
                loc = int.from_bytes(record[offset : offset + 4], order)
                bits = mask_bits(record[loc & 0xFFFF :][: loc >> 16], self.event.board.word, order)
                return bool(bits & wanted) if op == "&" else (bits == wanted) == (op == "==")

            return mask
        if len(wanted) == 1:
            return self.number_test(replace(field, signed=False), "==" if op == "&" else op, min(wanted))
        if op != "&":
            return lambda record: op == "!="
        if field.filter_type == FILTER_CPU:
            return lambda record: self.host.cpu_id() in wanted
        start, end, byteorder = field.offset, field.offset + field.size, self.byteorder
        return lambda record: int.from_bytes(record[start:end], byteorder) in wanted

    def number_test(self, field: Field, op: str, value: int) -> Test:
        """select_comparison_fn(): equality by width, order by width and sign; other widths never match."""
        if field.filter_type == FILTER_CPU:
            return CpuTest(self.host.cpu_id, op, sign_extend(value, 32)) if op != "&" else (lambda record: False)
        size, signed = field.size, field.signed
        if size not in (1, 2, 4, 8):
            return lambda record: False
        mask = (1 << 8 * size) - 1
        wanted = sign_extend(value & mask, 8 * size) if signed else value & mask
        return NumberTest(field.offset, size, signed, self.byteorder, op, wanted)


def sign_extend(value: int, bits: int) -> int:
    """A two's complement number of that many bits."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def skip_spaces(text: str, i: int) -> int:
    """The position of the next character that is no space."""
    while i < len(text) and is_space(text[i]):
        i += 1
    return i


def update_preds(program: list[Entry], n: int, invert: bool) -> None:
    """Let the branches to entry `n` go where that one goes."""
    target = program[n].target
    previous = program[target].target
    program[target].when_to_branch = invert
    program[target].target = n
    program[n].target = previous


def finish(program: list[Entry], inverts: list[bool]) -> list[Entry]:
    """The second and third pass: shorten chains of branches, fold the inversions in."""
    count = len(program)
    program.append(Entry(None, 1))
    program.append(Entry(None, 0))
    program[count - 1].target = count
    program[count - 1].when_to_branch = False
    for i in range(count - 2, -1, -1):
        target = program[i].target
        if program[i].when_to_branch == program[target].when_to_branch:
            program[i].target = program[target].target
    for i in range(count):
        program[i].when_to_branch ^= inverts[i]
    return program


# The files


def error_text(error: FilterError, text: str) -> str:
    """append_filter_err(): what the file reads back."""
    if error.message is None:
        return f"{text}\nError: (0)\n"
    position = min(error.position, len(text))
    position += 1 if position else 0
    return f"{text}\n{'^':>{position}}\nparse_error: {error.message}\n"


def log_filter_error(file: EventFile, error: FilterError, text: str) -> None:
    """The caret in error_log."""
    message = error.message if error.message is not None else ERRNO
    file.array.errors.add("event filter parse error", text, message, error.position if error.message else 0)


def create_filter(event: TraceEvent, text: str) -> EventFilter:
    """A filter for an event; FilterError."""
    try:
        return FilterParser(event).parse(text)
    except FilterError as error:
        if not event.board.features.filter_parser_4_17:
            error.errno = EINVAL
        raise


def written_text(data: bytes) -> str:
    """The bytes of a write as the kernel's C string, trailing blanks gone.  EINVAL for a page or more."""
    if len(data) >= PAGE_SIZE:
        raise KernelError(EINVAL, "a filter is shorter than a page")
    text = c_string(data)
    return text.rstrip(" \t\n\v\f\r\xa0")


def apply_event_filter(events: EventRegistry, file: EventFile, text: str) -> None:
    """events/*/*/filter: `0` removes; an error replaces the filter by its message."""
    event = file.event
    if events.get(event.system, event.name) is not event:
        raise KernelError(ENODEV, "the event is gone")
    if text.strip(" \t\n\v\f\r\xa0") == "0":
        file.filter, file.filter_text = None, None
        return
    try:
        file.filter = create_filter(event, text)
        file.filter_text = text
    except FilterError as error:
        file.filter, file.filter_text = None, error_text(error, text)
        log_filter_error(file, error, text)
        raise


def apply_subsystem_filter(files: list[EventFile], text: str) -> None:
    """events/GROUP/filter: every event gets it or, where it does not fit, an error text; never an error itself."""
    if not files:
        raise KernelError(ENODEV, "the system has no events")
    removing = text.strip(" \t\n\v\f\r\xa0") == "0"
    for file in files:
        if removing:
            file.filter, file.filter_text = None, None
            continue
        try:
            file.filter = create_filter(file.event, text)
            file.filter_text = text
        except FilterError:
            shown = FilterError(EINVAL, BAD_SUBSYS_FILTER, 0)
            file.filter, file.filter_text = None, error_text(shown, text)
            log_filter_error(file, shown, text)
