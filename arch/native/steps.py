"""A hook on every instruction: it counts, and calls Python where somebody waits for that count, address or time; and hooks on data.

Only debuggers and debug registers want them.  A machine without either has no such hook, and pays nothing.
"""

from __future__ import annotations

import enum
from functools import cache
from pathlib import Path

from arch.cache import digest
from arch.native.block import Reason, Word
from arch.native.ir import C_DECLARATIONS, C_FUNCTIONS, Function, c_symbols
from arch.native.objects import Code, machine_code

FILTER_SIZE = 1 << 16  # bytes, one for each value of an address's low bits


class Step(enum.IntEnum):
    """Words of the hook's data."""

    BLOCK = 0  # host address of the CPU's block
    HANDLER = enum.auto()  # PyObject *
    COUNT = enum.auto()  # instructions so far, the one about to be executed included
    STOP_AT = enum.auto()  # call Python at this count and at every later one
    FILTER = enum.auto()  # host address of FILTER_SIZE bytes: not 0 where the address has to be looked at
    LAST = enum.auto()  # COUNT at the last instruction of the CPU
    BEFORE_LAST = enum.auto()  # and at the one before it
    TIME_AT = enum.auto()  # call Python from this time of the clock on
    # Bit n: data watch n may have been touched; Python is then called before the next instruction.
    TOUCHED = enum.auto()
    TOTAL = enum.auto()


class Data(enum.IntEnum):
    """Words of a data watch.  The emulator tells physical addresses, so only the place in the page is compared here."""

    STEP = 0  # host address of the instruction hook's words
    BIT = enum.auto()  # of TOUCHED
    OFFSET = enum.auto()  # of the first byte in its page
    END = enum.auto()  # OFFSET and the length
    ADDRESS = enum.auto()  # physical, of the last access that may have touched it
    TOTAL = enum.auto()


def _text() -> str:
    """uc_cb_hookcode_t.  An instruction whose probe has stopped the emulation comes twice, and is counted once."""
    c = C_FUNCTIONS
    f = Function("void @each(ptr %uc, i64 %addr, i32 %size, i64 %data)")
    blk = f.word("%data", Step.BLOCK)
    again = f.let(f"icmp eq i64 {f.word(blk, Word.SKIP_PROBE)}, %addr")
    f.branch(again, "done", "count")
    f.label("count")
    f.set_word("%data", Step.BEFORE_LAST, f.word("%data", Step.LAST))
    count = f.let(f"add i64 {f.word('%data', Step.COUNT)}, 1")
    f.set_word("%data", Step.COUNT, count)
    f.set_word("%data", Step.LAST, count)
    due = f.let(f"icmp uge i64 {count}, {f.word('%data', Step.STOP_AT)}")
    low = f.let(f"and i64 %addr, {FILTER_SIZE - 1}")
    mark = f.load(f.let(f"add i64 {f.word('%data', Step.FILTER)}, {low}"), "i8")
    due = f.let(f"or i1 {due}, {f.let(f'icmp ne i8 {mark}, 0')}")
    f.branch(due, "python", "time")
    f.label("time")
    time_at = f.word("%data", Step.TIME_AT)
    f.branch(f.let(f"icmp eq i64 {time_at}, -1"), "done", "clock")
    f.label("clock")
    number = f.let(f"inttoptr i64 {f.load(f.word(blk, Word.CLOCK))} to ptr")
    now = f.call(c["PyLong_AsUnsignedLongLongMask"], "i64", f"ptr {number}")
    work = f.let(f"sub i64 {f.word(blk, Word.WORK)}, {f.word(blk, Word.WORK_SEEN)}")
    now = f.let(f"add i64 {now}, {f.let(f'mul i64 {work}, {f.word(blk, Word.WORK_SHARE)}')}")
    f.branch(f.let(f"icmp uge i64 {now}, {time_at}"), "python", "done")
    f.label("python")
    handler = f.let(f"inttoptr i64 {f.word('%data', Step.HANDLER)} to ptr")
    f.do("%args = alloca ptr")
    address = f.call(c["PyLong_FromUnsignedLongLong"], "ptr", "i64 %addr")
    f.do(f"store ptr {address}, ptr %args")
    result = f.call(c["PyObject_Vectorcall"], "ptr", f"ptr {handler}, ptr %args, i64 1, ptr null")
    f.call(c["Py_DecRef"], "void", f"ptr {address}")
    f.branch(f.let(f"icmp eq ptr {result}, null"), "failed", "release")
    f.label("release")
    f.call(c["Py_DecRef"], "void", f"ptr {result}")
    f.do("ret void")
    f.label("failed")
    f.set_word(blk, Word.REASON, str(int(Reason.EXCEPTION)))
    f.call(c["uc_emu_stop"], "i32", "ptr %uc")
    f.do("ret void")
    f.label("done")
    f.do("ret void")
    return C_DECLARATIONS + f.text() + _memory()


def _memory() -> str:
    """uc_cb_hookmem_t."""
    f = Function("void @memory(ptr %uc, i32 %type, i64 %addr, i32 %size, i64 %value, i64 %data)")
    wide = f.let("zext i32 %size to i64")
    low = f.let("and i64 %addr, 4095")
    begins = f.let(f"icmp ult i64 {low}, {f.word('%data', Data.END)}")
    ends = f.let(f"icmp ugt i64 {f.let(f'add i64 {low}, {wide}')}, {f.word('%data', Data.OFFSET)}")
    f.branch(f.let(f"and i1 {begins}, {ends}"), "touched", "done")
    f.label("touched")
    step = f.word("%data", Data.STEP)
    f.set_word("%data", Data.ADDRESS, "%addr")
    f.set_word(step, Step.TOUCHED, f.let(f"or i64 {f.word(step, Step.TOUCHED)}, {f.word('%data', Data.BIT)}"))
    f.set_word(step, Step.STOP_AT, "0")
    f.goto("done")
    f.label("done")
    f.do("ret void")
    return f.text()


@cache
def step_code() -> Code:
    """The compiled hooks, `each` and `memory`; the same for every CPU."""
    words = [list(enum_.__members__.items()) for enum_ in (Word, Step, Data, Reason)]
    name = digest([Path(__file__), Path(__file__).with_name("ir.py"), repr(words)])
    return machine_code("steps", name, _text, c_symbols())
