"""Python's ints in compiled code: what is short is read and written where it lies, for all else Python's own functions are asked."""

from __future__ import annotations

from arch.native.ir import Function
from arch.native.slots import DIGIT_BITS, DIGIT_UNIT, DIGITS, NUMBER_TAG, REFERENCES, SHARED_BELOW, ZERO_TAG


def numbers() -> str:
    """as_uint() and set_uint(): what is short is done here, and what is not, or unknown, by Python's own functions.

    An int that nobody else refers to is not seen by anybody while it gets other digits.
    """
    read = Function("internal i64 @as_uint(i64 %number)")
    write = Function("internal void @set_uint(i64 %place, i64 %value)")
    if DIGIT_UNIT:
        tag = read.load(read.let(f"add i64 %number, {NUMBER_TAG}"))
        cases = " ".join(f"i64 {count * DIGIT_UNIT}, label %digits{count}" for count in (1, 2, 3))
        read.do(f"switch i64 {tag}, label %other [i64 {ZERO_TAG}, label %zero {cases}]")
        read.label("zero")
        read.do("ret i64 0")
        for count in (1, 2, 3):
            read.label(f"digits{count}")
            value = _digit(read, "%number", 0)
            for i in range(1, count):
                high = read.let(f"shl i64 {_digit(read, '%number', i)}, {i * DIGIT_BITS}")
                value = read.let(f"or i64 {high}, {value}")
            read.do(f"ret i64 {value}")
        old = write.load("%place")
        tag = write.load(write.let(f"add i64 {old}, {NUMBER_TAG}"))
        references = write.load(write.let(f"add i64 {old}, {REFERENCES}"))
        write.branch(write.let(f"icmp eq i64 {references}, 1"), "own", "other")
        write.label("own")
        cases = " ".join(f"i64 {count * DIGIT_UNIT}, label %digits{count}" for count in (1, 2))
        write.do(f"switch i64 {tag}, label %other [{cases}]")
        for count, least in ((1, SHARED_BELOW), (2, 1 << DIGIT_BITS)):
            write.label(f"digits{count}")
            above = write.let(f"sub i64 %value, {least}")
            fits = write.let(f"icmp ult i64 {above}, {(1 << count * DIGIT_BITS) - least}")
            write.branch(fits, f"put{count}", "other")
            write.label(f"put{count}")
            for i in range(count):
                part = write.let(f"lshr i64 %value, {i * DIGIT_BITS}")
                part = write.let(f"and i64 {part}, {(1 << DIGIT_BITS) - 1}")
                at = write.let(f"add i64 {old}, {DIGITS + 4 * i}")
                write.store(at, write.let(f"trunc i64 {part} to i32"), "i32")
            write.do("ret void")
        read.label("other")
        write.label("other")
    read.do(f"ret i64 {read.let('call i64 @PyLong_AsUnsignedLongLongMask(i64 %number)')}")
    replaced = write.load("%place", "ptr")
    write.store("%place", write.let("call ptr @PyLong_FromUnsignedLongLong(i64 %value)"), "ptr")
    write.do(f"call void @Py_DecRef(ptr {replaced})")
    write.do("ret void")
    return read.text() + write.text()


def _digit(f: Function, number: str, index: int) -> str:
    value = f.load(f.let(f"add i64 {number}, {DIGITS + 4 * index}"), "i32")
    return f.let(f"zext i32 {value} to i64")
