"""Probes on the way of a system call that is answered in the hook (shortcuts.py): their compiled handlers are called there, too.

The CPU stays in user mode, so such a handler gets a struct pt_regs of its own, in which only the arguments of the function stand, or at its
end the result.  So it may look at nothing else of the CPU and the stack (NativeHandler.sight); then nobody can tell whether the
kernel's text has run.  The clock shows what it would show there.  Before the first handler has run the call can still be
declined; what a later one declines is done by its Python form.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial

from arch.abi.limits import U32_MAX
from arch.architecture import Row
from arch.cpu import Cpu
from arch.native.block import Native, Word
from arch.native.handler import NO_GUARDS, NativeHandler, Sight
from arch.native.slots import slot_offset
from arch.native.state import word_at
from arch.native.subset import (
    Words,
    as_uint,
    attempt,
    call_python,
    decline,
    invoke,
    load32,
    load64,
    native,
    set_uint,
    shared,
    store32,
    store64,
)
from arch.records import dataclass
from simkernel.kernel.cpus import NS_PER_WORK
from simkernel.kernel.syscalls import NR_SYSCALLS
from simkernel.kernel.task import Task
from simkernel.kernel.text import Text

UTIME = slot_offset(Task, "utime_ns")
MOST_FUNCTIONS = 24  # who is visited on a way
SHOWN_MOST = 6  # that are shown
FRAME_ROOM = 512  # bytes between the user's registers on the stack and those that handlers see

# Values that functions of a way get: of the call its registers, its number, three arguments, the first one as an unsigned int, ...
REGS, NUMBER, A, A32, B, C, X, Y, LIMIT, ZERO, VALUES = range(11)
# Words: their own address; how many are visited, how far below the top of the kernel stack the user's registers and the handlers' are, how
# wide registers are; where in struct pt_regs the result is, where the return address (or, if ON_STACK, the stack pointer); what a
# return address of a probed return is, and the handler at that place: function, data, Python; how many guards there are, and where; how many calls there were; where the instruction pointer is; the values; where arguments are.
(
    SELF, COUNT, REGS_BELOW, FRAME_BELOW, WIDTH, RESULT, LINK, ON_STACK, TRAMPOLINE, RET_FUNCTION, RET_DATA, RET_AFTER,
    RET_PYTHON, GUARDS, GUARD_LIST, VISITS, IP, VALUE,
) = range(18)  # fmt: skip
PLACE = VALUE + VALUES
POINT = PLACE + SHOWN_MOST
FIRST = POINT + 3
# Of a function: its handler, as above; ns from the call's beginning to its entry and its end; how many arguments, and which values
# they are; does something run at its end, and was this call caught for that; its address, and where it goes back to.
FUNCTION, DATA, AFTER, PYTHON, BEGINS, ENDS, SHOWN, ARGUMENT = range(8)
RETURNS, CAUGHT, KIND, ADDRESS, GOES_BACK, ROW = range(ARGUMENT + SHOWN_MOST, ARGUMENT + SHOWN_MOST + 6)
FUNCTION_KIND, ENTER_KIND, EXIT_KIND = range(3)  # the latter two: who listens to sys_enter and sys_exit
# What those get: the user's registers, the number or the result, the number.
POINT_REGS, POINT_SECOND, POINT_NUMBER, POINT_VALUES = range(4)


@native
def value_at(m: Words) -> int:
    return m[0]


@native
def put_wide(w: Words, place: int, value: int) -> int:
    if w[WIDTH] == 8:
        store64(place, value)
    else:
        store32(place, value)
    return 0


@native
def get_wide(w: Words, place: int) -> int:
    return load64(place) if w[WIDTH] == 8 else load32(place)


@native
def link_place(w: Words, frame: int) -> int:
    """Where a handler finds the return address."""
    return frame - 8 if w[ON_STACK] else frame + w[LINK]


@native
def show_arguments(w: Words, row: int, frame: int) -> int:
    for i in range(w[row + SHOWN]):
        put_wide(w, frame + w[PLACE + i], w[VALUE + w[row + ARGUMENT + i]])
    put_wide(w, frame + w[IP], w[row + ADDRESS])
    if w[row + RETURNS]:
        if w[ON_STACK]:
            put_wide(w, frame + w[LINK], frame - 8)
        put_wide(w, link_place(w, frame), w[row + GOES_BACK])
    return 0


@native
def charge(pending: int) -> int:
    """charge_user(), or take it back."""
    shared[Word.WORK_SEEN] += pending
    place = shared[Word.TASK] + UTIME
    set_uint(place, as_uint(value_at(place)) + pending * NS_PER_WORK)
    return 0


@native
def rest_in_python(python: int, after: int, frame: int) -> int:
    """What a handler left."""
    if shared[Word.NATIVE_STATUS] == Native.DECLINED:
        shared[Word.NATIVE_STATUS] = Native.DONE
        call_python(python, frame)
    else:
        call_python(after, frame)
    shared[Word.NATIVE_STATUS] = Native.DONE
    return 0


@native
def somebody_waits(count: int, guards: int) -> int:
    """For what handlers may do: that is no matter for the hook."""
    for i in range(count):
        if invoke(word_at(guards, 3 * i), word_at(guards, 3 * i + 1), word_at(guards, 3 * i + 2)):
            return 1
    return 0


@native
def visit_entries(w: Words, now: int) -> int:
    """On the way in."""
    if shared[Word.FALLBACK] or somebody_waits(w[GUARDS], w[GUARD_LIST]):
        decline()
    top = shared[Word.KERNEL_STACK]
    frame = top - w[FRAME_BELOW]
    w[VALUE + REGS] = top - w[REGS_BELOW]
    clock = shared[Word.CLOCK]
    before = as_uint(value_at(clock))
    pending = shared[Word.WORK] - shared[Word.WORK_SEEN]
    charge(pending)
    shared[Word.VISITED] = 1
    w[VISITS] += 1
    w[POINT + POINT_REGS] = w[VALUE + REGS]
    w[POINT + POINT_SECOND] = w[VALUE + NUMBER]
    w[POINT + POINT_NUMBER] = w[VALUE + NUMBER]
    visited = 0
    row = FIRST
    for _ in range(w[COUNT]):
        if w[row + KIND] != EXIT_KIND:
            set_uint(clock, now + w[row + BEGINS])
            context = frame
            if w[row + KIND] == FUNCTION_KIND:
                show_arguments(w, row, frame)
            else:
                context = w[SELF] + 8 * POINT
            answer = attempt(w[row + FUNCTION], w[row + DATA], context)
            if answer or shared[Word.NATIVE_STATUS]:
                if not visited and shared[Word.NATIVE_STATUS] == Native.DECLINED:
                    shared[Word.NATIVE_STATUS] = Native.DONE
                    set_uint(clock, before)
                    charge(0 - pending)
                    shared[Word.VISITED] = 0
                    decline()
                rest_in_python(w[row + PYTHON], w[row + AFTER], context)
            visited = 1
            if w[row + RETURNS]:
                w[row + CAUGHT] = get_wide(w, link_place(w, frame)) == w[TRAMPOLINE]
        row += ROW
    return 0


@native
def visit_ends(w: Words, now: int, result: int) -> int:
    """On the way back."""
    frame = shared[Word.KERNEL_STACK] - w[FRAME_BELOW]
    row = FIRST + ROW * w[COUNT]
    while row > FIRST:
        row -= ROW
        if w[row + KIND] == EXIT_KIND:
            set_uint(shared[Word.CLOCK], now + w[row + ENDS])
            w[POINT + POINT_SECOND] = result
            put_wide(w, w[VALUE + REGS] + w[RESULT], result)
            answer = attempt(w[row + FUNCTION], w[row + DATA], w[SELF] + 8 * POINT)
            if answer or shared[Word.NATIVE_STATUS]:
                rest_in_python(w[row + PYTHON], w[row + AFTER], w[SELF] + 8 * POINT)
        elif w[row + RETURNS] and w[row + CAUGHT]:
            set_uint(shared[Word.CLOCK], now + w[row + ENDS])
            put_wide(w, frame + w[RESULT], result)
            answer = attempt(w[RET_FUNCTION], w[RET_DATA], frame)
            if answer or shared[Word.NATIVE_STATUS]:
                rest_in_python(w[RET_PYTHON], w[RET_AFTER], frame)
    return 0


@native
def note_values(w: Words, nr: int, a: int, b: int, c: int, x: int, y: int) -> int:
    w[VALUE + NUMBER] = nr
    w[VALUE + A] = a
    w[VALUE + A32] = a & U32_MAX
    w[VALUE + B] = b
    w[VALUE + C] = c
    w[VALUE + X] = x
    w[VALUE + Y] = y
    return 0


@native
def arrive(walk: int, now: int, nr: int, a: int, b: int, c: int, x: int, y: int) -> int:
    """Behind all checks of a row, before it changes anything: whoever is on the way in.  x, y: values of the row's own."""
    if walk:
        note_values(walk, nr, a, b, c, x, y)
        visit_entries(walk, now)
    return 0


@native
def depart(walk: int, now: int, result: int) -> int:
    """Behind all that a row does: whoever is on the way out."""
    if walk:
        visit_ends(walk, now, result)
    return 0


@dataclass(frozen=True)
class Step:
    """A function of a way: its symbol, which values it gets (None: not known), and when it begins and ends, ns."""

    symbol: str
    arguments: tuple[int, ...] | None
    begins: int
    ends: int
    caller: str  # who has called it; "": the entry code
    as_it_was: bool  # memory of the kernel is as before the call, but for the user's registers on the stack


@dataclass(frozen=True)
class Listener:
    """Who listens to sys_enter or sys_exit, and when that is, ns from the call's beginning."""

    callback: Callable[..., object]
    native: NativeHandler | None
    at_exit: bool
    when: int


class Walk:
    """The words of one way."""

    def __init__(self, cpu: Cpu, text: Text) -> None:
        arch, layout = cpu.arch, cpu.layout
        self.cpu, self.text = cpu, text
        self.shows = False  # who is visited may look at the user's registers
        self.python: dict[Callable[..., object], Callable[[int], None]] = {}  # listeners, as native code calls them
        self.fields: list[Row] = [layout.fields[name] for name in arch.function_args[:SHOWN_MOST]]
        self.result: Row = layout.fields[arch.return_value]
        self.words = (ctypes.c_uint64 * (FIRST + ROW * MOST_FUNCTIONS))()
        link = layout.fields[arch.link_register or arch.stack_pointer]
        below = layout.size + cpu.facts.frame_reserve
        self.words[REGS_BELOW : RET_FUNCTION] = [
            below, below + FRAME_ROOM + layout.size, self.result.size, self.result.offset, link.offset,
            arch.link_register is None, text.image.kretprobe_trampoline,
        ]  # fmt: skip
        self.words[IP] = layout.fields[arch.instruction_pointer].offset
        self.guards = (ctypes.c_uint64 * 0)()
        self.words[SELF] = ctypes.addressof(self.words)
        self.words[VALUE + LIMIT] = NR_SYSCALLS
        self.words[PLACE : PLACE + len(self.fields)] = [field.offset for field in self.fields]

    @property
    def visits(self) -> int:
        """Calls that were answered so, and a few that were declined in the end."""
        return self.words[VISITS]

    def aim(self, steps: Sequence[Step], points: Sequence[Listener], behind: int) -> int | None:
        """Visit the probes of these functions from now on, and behind so many of them the listeners: the words' address, or 0 if
        there are none; None: it cannot be done.
        """
        rows: list[list[int] | None] = []
        self.shows = False
        for i, step in enumerate(steps):
            rows += [self._point(listener) for listener in points] if i == behind else []
            rows += self._rows(step) if self.text.probed.get(step.symbol) else []
        known = [row for row in rows if row is not None]
        if len(known) != len(rows) or len(known) > MOST_FUNCTIONS:
            return None
        if any(row[RETURNS] for row in known) and not self._aim_return():
            return None
        for i, word in enumerate(word for row in known for word in row):
            self.words[FIRST + i] = word
        self.words[COUNT] = len(known)
        self._guard(steps, points)
        return ctypes.addressof(self.words) if known else 0

    def _guard(self, steps: Sequence[Step], points: Sequence[Listener]) -> None:
        """A call at which they might wake somebody goes its whole way."""
        natives = [native for step in steps for _, _, native in self._probes(step)]
        natives += [listener.native for listener in points if listener.native is not None]
        guards = sorted(NO_GUARDS.union(*(native.guards for native in natives)))
        self.guards = (ctypes.c_uint64 * (3 * len(guards)))(*(word for guard in guards for word in guard))
        self.words[GUARDS], self.words[GUARD_LIST] = len(guards), ctypes.addressof(self.guards)

    def _aim_return(self) -> bool:
        python, native = self.cpu.at_probe(self.words[TRAMPOLINE])
        if native is None:
            return False
        self.words[RET_FUNCTION:GUARDS] = [native.function, native.data, id(native.after), id(python)]
        return True

    def _probes(self, step: Step) -> list[tuple[int, Callable[[int], object], NativeHandler]]:
        """Where a function has probes before its body, with their handlers; those that have a compiled one."""
        if not self.text.probed.get(step.symbol):
            return []
        found = [(address, *self.cpu.at_probe(address)) for address in self.text.image.beginning(step.symbol)]
        return [(address, python, native) for address, python, native in found if native is not None]

    def _rows(self, step: Step) -> list[list[int] | None]:
        """Those of a function, in the order in which they are hit."""
        found = self._probes(step)
        if len(found) != self.text.probed[step.symbol]:
            return [None]  # there are others
        return [self._row(step, *probe) for probe in found]

    def _row(
        self, step: Step, address: int, python: Callable[[int], object], native: NativeHandler
    ) -> list[int] | None:
        entry = self.text.image.address(step.symbol)
        if native.elsewhere and not step.as_it_was:
            return None
        if native.returns and address != entry:
            return None
        self.shows |= native.elsewhere
        arguments = (step.arguments or ())[: len(self.fields)]
        if not _within(native.sight, self.fields[: len(arguments)]):
            return None
        # a function that returns nothing leaves something in the register that only its text knows
        result = [self.result] if self.text.functions[step.symbol].prototype.ret.ctype != "void" else []
        if native.returns and not _within(native.at_return, result):
            return None
        if native.shows_caller and not step.caller:
            return None
        goes_back = self.text.image.after_call(step.caller) if step.caller else 0
        return [
            native.function, native.data, id(native.after), id(python), step.begins, step.ends, len(arguments),
            *arguments, *[0] * (SHOWN_MOST - len(arguments)), native.returns, 0, FUNCTION_KIND, address, goes_back,
        ]  # fmt: skip

    def _point(self, listener: Listener) -> list[int] | None:
        native = listener.native
        if native is None:
            return None
        rest = self.python.get(listener.callback)
        if rest is None:
            rest = self.python[listener.callback] = partial(_fired, listener.callback)
        kind = EXIT_KIND if listener.at_exit else ENTER_KIND
        return [
            native.function, native.data, id(native.after), id(rest), listener.when, listener.when, *[0] * (1 + SHOWN_MOST), 0, 0, kind, 0, 0,
        ]  # fmt: skip


def _fired(callback: Callable[..., object], values: int) -> None:
    """A listener in Python, from the hook."""
    regs, second, _ = (ctypes.c_uint64 * POINT_VALUES).from_address(values)
    callback(regs, second - (1 << 64) if second >> 63 else second)


def _within(sight: Sight, fields: Sequence[Row]) -> bool:
    """Is it nothing but these?"""
    return sight is not None and all(
        any(field.offset <= at and at + size <= field.offset + field.size for field in fields) for at, size in sight
    )
