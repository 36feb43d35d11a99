"""Calls under way whose returns are probed: struct kretprobe_instance, as words that Python and native code share.

One stack for all tasks, newest last; each row is the task's struct task_struct, the return probe's words and the real return
address, and the arguments of the call where the probe notes them.  What else an entry handler leaves for the return is a Python
object, kept beside the row by a serial number.

A return probe's words: its instances, whether it is registered, and its compiled programs.  Instances are words as well, how many
are free and how many calls were missed, which the functions of a struct fprobe share.  Entry and return in native code do what Kprobes does in Python; what they do not know they decline: an
entry handler, several probes that chain on one frame, a handler that is not compiled.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from arch.architecture import Architecture, Layout, Row
from arch.errors import Fault
from arch.native import Block, Native, Word
from arch.native.handler import READ_ONLY, NativeHandler, Tier, chosen_tier
from arch.native.library import Library
from arch.native.subset import Words, attempt, decline, load32, load64, native, shared, store32, store64

CAPACITY = 1 << 13  # calls under way in all tasks; more are missed

# Words of a return probe.
RP_INSTANCES, RP_REGISTERED, RP_FUNCTION, RP_DATA = range(4)
RP_WORDS = 4
# Words of instances.
FREE, MISSED = range(2)
# Words of the stack: how many rows, the probe and the address of the return handled last, the next serial number; rows.
ROWS, LAST_RP, LAST_RET, LAST_ROW, SERIAL, FIRST = range(6)
TASK, RP, RET, NUMBER, ARGUMENTS = range(5)
NOTED = 8  # arguments at most
ROW = ARGUMENTS + NOTED
# Words of the two handlers: the probe's words, the stack, the trampoline, where in pt_regs the return address is (or, if
# ON_STACK, the stack pointer) and the instruction pointer, how wide these are, whether handlers see the real address, and how
# many arguments are noted and where in pt_regs they are.
D_RP, D_STACK, D_TRAMPOLINE, D_PLACE, D_ON_STACK, D_IP, D_WIDTH, D_IP_FIRST, D_COUNT, D_ARGUMENTS = range(10)


@native
def read_wide(at: int, width: int) -> int:
    return load64(at) if width == 8 else load32(at)


@native
def write_wide(at: int, width: int, value: int) -> int:
    if width == 8:
        store64(at, value)
    else:
        store32(at, value)
    return 0


@native
def word_of(m: Words, index: int) -> int:
    return m[index]


@native
def take_instance(instances: Words) -> int:
    """Is there a free one?  Else the call is missed."""
    if instances[FREE] == 0:
        instances[MISSED] += 1
        return 0
    instances[FREE] -= 1
    return 1


@native
def push(stack: Words, rp: int, ret: int) -> int:
    row = FIRST + ROW * stack[ROWS]
    stack[row + TASK] = shared[Word.CURRENT]
    stack[row + RP] = rp
    stack[row + RET] = ret
    stack[row + NUMBER] = stack[SERIAL]
    stack[SERIAL] += 1
    stack[ROWS] += 1
    return row


@native
def note(stack: Words, at: int, value: int) -> int:
    stack[at] = value
    return 0


@native
def room(stack: Words) -> int:
    return stack[ROWS] < CAPACITY


@native
def kretprobe_entry(d: Words, regs: int) -> int:
    """pre_handler_kretprobe() of a probe without an entry handler, or with one that notes the arguments."""
    place = regs + d[D_PLACE]
    if d[D_ON_STACK]:
        place = read_wide(place, d[D_WIDTH])
    ret = read_wide(place, d[D_WIDTH])
    if not room(d[D_STACK]):
        decline()
    if not take_instance(word_of(d[D_RP], RP_INSTANCES)):
        return 0
    write_wide(place, d[D_WIDTH], d[D_TRAMPOLINE])
    row = push(d[D_STACK], d[D_RP], ret)
    for i in range(d[D_COUNT]):
        note(d[D_STACK], row + ARGUMENTS + i, read_wide(regs + d[D_ARGUMENTS + i], d[D_WIDTH]))
    return 0


@native
def newest(stack: Words) -> int:
    """The current task's newest row, or 0."""
    at = stack[ROWS]
    while at:
        at -= 1
        row = FIRST + ROW * at
        if stack[row + TASK] == shared[Word.CURRENT]:
            return row
    return 0


@native
def drop(stack: Words, row: int) -> int:
    """Take a row out; younger ones of other tasks move up."""
    end = FIRST + ROW * (stack[ROWS] - 1)
    while row < end:
        stack[row] = stack[row + ROW]
        row += 1
    stack[ROWS] -= 1
    return 0


@native
def give_instance(instances: Words) -> int:
    instances[FREE] += 1
    return 0


@native
def note_last(stack: Words, row: int, rp: int, ret: int) -> int:
    stack[LAST_ROW] = row
    stack[LAST_RP] = rp
    stack[LAST_RET] = ret
    return 0


@native
def kretprobe_return(d: Words, regs: int) -> int:
    """A function returned through the trampoline."""
    row = newest(d[D_STACK])
    if not row:
        decline()
    ret = word_of(d[D_STACK], row + RET)
    rp = word_of(d[D_STACK], row + RP)
    if ret == d[D_TRAMPOLINE] or not word_of(rp, RP_FUNCTION) or not word_of(rp, RP_REGISTERED):
        decline()
    note_last(d[D_STACK], row, rp, ret)
    ip = regs + d[D_IP]
    if d[D_IP_FIRST]:
        write_wide(ip, d[D_WIDTH], ret)
    answer = attempt(word_of(rp, RP_FUNCTION), word_of(rp, RP_DATA), regs)
    if shared[Word.NATIVE_STATUS] == Native.DECLINED:
        return 0
    drop(d[D_STACK], row)
    give_instance(word_of(rp, RP_INSTANCES))
    write_wide(ip, d[D_WIDTH], ret)
    return answer


FUNCTIONS = (kretprobe_entry, kretprobe_return, newest, drop)


@cache
def library(big_endian: bool) -> Library:
    """Compiled when the first return probe is registered."""
    return Library(FUNCTIONS, big_endian)


class Instances:
    """So many calls may be under way at once, of one function or of all that share it: struct rethook."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.words = (ctypes.c_uint64 * 2)(size, 0)
        self.leaving: list[int] = []  # words of return probes that are unregistered

    @property
    def address(self) -> int:
        """Of the words, in the host."""
        return ctypes.addressof(self.words)

    @property
    def free(self) -> int:
        """Those not in use."""
        return self.words[FREE]

    @property
    def missed(self) -> int:
        """Calls not caught because all were in use."""
        return self.words[MISSED]

    def take(self, room: bool) -> bool:
        """One less is free; with none left, or no `room` for the call, it is missed."""
        if not self.words[FREE] or not room:
            self.words[MISSED] += 1
            return False
        self.words[FREE] -= 1
        return True

    def give(self) -> None:
        """A call has returned."""
        self.words[FREE] += 1


class Rows:
    """A stack of calls under way; a row's probe is known by the address of its words."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.words = (ctypes.c_uint64 * (FIRST + ROW * capacity))()
        self.data: dict[int, object] = {}  # what entry handlers left, by serial number

    @property
    def address(self) -> int:
        """Of the words, in the host."""
        return ctypes.addressof(self.words)

    def __len__(self) -> int:
        return self.words[ROWS]

    @property
    def full(self) -> bool:
        """No call more can be caught."""
        return self.words[ROWS] >= self.capacity

    def push(self, task: int, rp: int, ret: int, data: object, arguments: tuple[int, ...] = ()) -> None:
        """A call is under way."""
        words = self.words
        row = FIRST + ROW * words[ROWS]
        words[row : row + ARGUMENTS] = [task, rp, ret, words[SERIAL]]
        words[row + ARGUMENTS : row + ARGUMENTS + len(arguments)] = list(arguments)
        if data is not None:
            self.data[words[SERIAL]] = data
        words[SERIAL] += 1
        words[ROWS] += 1

    def of(self, task: int) -> list[int]:
        """Rows of a task, newest first."""
        words = self.words
        rows = range(FIRST, FIRST + ROW * words[ROWS], ROW)
        return [row for row in reversed(rows) if words[row + TASK] == task]

    def all(self) -> list[int]:
        """Rows of all tasks, newest first."""
        return list(range(FIRST + ROW * (self.words[ROWS] - 1), FIRST - 1, -ROW))

    def read(self, row: int) -> tuple[int, int, int, object]:
        """(serial number, words of the probe, real return address, what the entry handler left) of a row."""
        serial, words = self.words[row + NUMBER], self.words
        return serial, words[row + RP], words[row + RET], self.data.get(serial)

    def arguments(self, row: int, count: int) -> tuple[int, ...]:
        """The first ones of the call, noted at its entry."""
        return tuple(self.words[row + ARGUMENTS : row + ARGUMENTS + count])

    def forget(self, serial: int) -> None:
        """A row goes."""
        words = self.words
        end = FIRST + ROW * words[ROWS]
        row = next(row for row in range(end - ROW, FIRST - 1, -ROW) if words[row + NUMBER] == serial)
        for at in range(row, end - ROW):
            words[at] = words[at + ROW]
        words[ROWS] -= 1
        self.data.pop(serial, None)


class Returns(Rows):
    """The stack of a machine."""

    def __init__(self, arch: Architecture, layout: Layout, block: Block, trampoline: int, ip_first: bool) -> None:
        super().__init__(CAPACITY)
        self.arch, self.layout, self.block = arch, layout, block
        self.trampoline, self.ip_first = trampoline, ip_first
        self.is_native = chosen_tier() is not Tier.PYTHON

    def entry_handler(self, rp: ctypes.Array[ctypes.c_uint64], noted: int = 0) -> NativeHandler:
        """The compiled form of a return probe's entry, which notes so many arguments: at most can_note()."""
        flags = READ_ONLY if self.arch.link_register is None else 0  # else the return address is in a register
        made = self._handler("kretprobe_entry", ctypes.addressof(rp), self._fault, flags, noted)
        fields = [self.layout.fields[name] for name in self.arch.function_args[:noted]]
        return replace(made, sight=frozenset((row.offset, row.size) for row in fields), returns=True)

    def return_handler(self, after: Callable[[int], object]) -> NativeHandler:
        """The compiled form of what runs at the trampoline."""
        return self._handler("kretprobe_return", 0, after, 0)

    def can_note(self) -> int:
        """How many arguments are in registers of the width of the others, and have room in a row."""
        same = all(self.layout.fields[name].size == self._ip.size for name in self.arch.function_args)
        return min(len(self.arch.function_args), NOTED) if same else 0

    def _handler(self, name: str, rp: int, after: Callable[[int], object], flags: int, noted: int = 0) -> NativeHandler:
        data = self._data(rp, noted)
        function = library(self.arch.byteorder == "big").address[name]
        return NativeHandler(function, ctypes.addressof(data), after, data, flags)

    def _fault(self, regs: int) -> None:
        """A stack pointer that leads out of memory."""
        self.block.words[Word.NATIVE_STATUS] = Native.DONE
        raise Fault(self.block.words[Word.NATIVE_FAULT])

    @property
    def _ip(self) -> Row:
        return self.layout.fields[self.arch.instruction_pointer]

    def _data(self, rp: int, noted: int) -> ctypes.Array[ctypes.c_uint64]:
        layout, arch = self.layout, self.arch
        on_stack = arch.link_register is None
        place = layout.fields[arch.stack_pointer if on_stack else arch.link_register or ""]
        ip, places = self._ip, [layout.fields[name].offset for name in arch.function_args[:noted]]
        return (ctypes.c_uint64 * (D_ARGUMENTS + noted))(
            rp, ctypes.addressof(self.words), self.trampoline, place.offset, on_stack, ip.offset, ip.size, self.ip_first,
            noted, *places,
        )  # fmt: skip
