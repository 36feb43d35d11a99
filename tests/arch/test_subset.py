"""Native functions written in Python: what they compute, what they may touch, and what is refused."""

import ctypes
import random

import pytest

from arch.errors import Fault
from arch.memory import FlatMemory
from arch.native import Block, Native, Word
from arch.native.library import Library
from arch.native.slots import DIGIT_UNIT, slot_address
from arch.native.subset import (
    Bytes,
    Errno,
    NativeFunction,
    Words,
    as_uint,
    copy,
    decline,
    load8,
    load16,
    load32,
    load32le,
    load64,
    native,
    put,
    set_uint,
    shared,
    store32,
    zero,
)

ODD = 3


@native
def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        if n & 1:
            n = ODD * n + 1
        else:
            n //= 2
        steps += 1
        if steps > 1000 or (n == 0 and steps):
            break
    return steps if steps < 1000 else 0


@native
def total(m: Words, at: int, count: int) -> Errno:
    sum = m[0]
    for i in range(count):
        if i == 2:
            continue
        sum += load32(at + 4 * i)
    m[1] = sum
    return -sum


@native
def widths(at: int) -> int:
    return load8(at) ^ load16(at) ^ load32(at) ^ load64(at) ^ load32le(at)


@native
def outer(at: int) -> int:
    value = load32(at)
    store32(at, 7)
    return value + widths(at + 4)


@native
def move(to: int, source: int, size: int) -> int:
    copy(to, source, size)
    return size


@native
def fill(to: int, data: Bytes, size: int) -> int:
    zero(to, 16)
    put(to, data, size)
    return 0


@native
def who() -> int:
    if not shared[Word.CPU]:
        decline()
    return shared[Word.CPU]


FUNCTIONS = (collatz, total, outer, move, fill, who)


@pytest.fixture(params=["little", "big"])
def native_machine(request):
    mem = FlatMemory(size=1 << 16, byteorder=request.param)
    block = Block(mem.host_address, mem.base, mem.size)
    library = Library(FUNCTIONS, request.param == "big")
    return mem, block, {function.name: library.builtin(function.name, block) for function in FUNCTIONS}


def test_numbers(native_machine):
    def python(n):
        steps = 0
        while n != 1:
            n = 3 * n + 1 if n & 1 else n // 2
            steps += 1
        return steps

    _, _, call = native_machine
    assert [call["collatz"](n) for n in range(1, 60)] == [python(n) for n in range(1, 60)]
    assert call["collatz"](0) == 1


def test_memory_is_read_in_the_machines_order(native_machine):
    mem, _, call = native_machine
    at = mem.alloc(64)
    data = random.Random(1).randbytes(16)
    mem.write(at, data)
    order = mem.byteorder
    numbers = [int.from_bytes(data[4 : 4 + n], order) for n in (1, 2, 4, 8)]
    expected = numbers[0] ^ numbers[1] ^ numbers[2] ^ numbers[3] ^ int.from_bytes(data[4:8], "little")
    assert call["outer"](at) == (int.from_bytes(data[:4], order) + expected) % (1 << 64)
    assert mem.read_uint(at, 4) == 7
    words = (ctypes.c_uint64 * 2)(5)
    for i in range(4):
        mem.write_uint(at + 4 * i, 4, i + 1)
    assert call["total"](ctypes.addressof(words), at, 4) == -(5 + 1 + 2 + 4)
    assert words[1] == 12


def test_nothing_outside_of_memory_is_touched(native_machine):
    mem, block, call = native_machine
    end = mem.base + mem.size
    for address in (0, mem.base - 1, mem.base - 4, end - 3, end, (1 << 64) - 1, (1 << 64) - 4):
        with pytest.raises(Fault) as fault:
            call["outer"](address)
        assert fault.value.address == address
        assert block.words[Word.NATIVE_STATUS] == Native.DONE
    with pytest.raises(Fault):
        call["outer"](end - 4)  # what it calls reads behind the end
    assert mem.read_uint(end - 4, 4) == 7
    inside = mem.alloc(64)
    for to, source, size in (
        (inside, end - 8, 9), (end - 8, inside, 9), (inside, inside, mem.size + 1), (inside, inside, (1 << 64) - 1),
        (inside, mem.base - 1, 2), (inside, inside, 1 << 63),
    ):  # fmt: skip
        with pytest.raises(Fault):
            call["move"](to, source, size)
    assert call["move"](inside, end - 8, 8) == 8


def test_bytes_of_python(native_machine):
    mem, _, call = native_machine
    at = mem.alloc(16)
    call["fill"](at, b"hello", 5)
    assert mem.read(at, 8) == b"hello\0\0\0"
    with pytest.raises(Fault):
        call["fill"](at, b"short", 6)


def test_what_it_cannot_do_it_declines(native_machine):
    _, block, call = native_machine
    block.words[Word.CPU] = 3
    assert call["who"]() == 3


def refused(function):
    with pytest.raises(SyntaxError) as error:
        Library([NativeFunction(function)], False)
    assert error.value.filename == __file__
    return error.value.msg


def test_what_is_outside_of_the_subset_is_an_error_at_its_line():
    def strings(n: int) -> int:
        return len(n)

    def chained(n: int) -> int:
        return 1 if 0 < n < 5 else 0

    def unknown(n: int) -> int:
        return n + NOWHERE  # noqa: F821

    def indexed(n: int) -> int:
        return n[0]

    def caught(n: int) -> int:
        try:
            return n
        except ValueError:
            return 0

    assert "no such native function" in refused(strings)
    assert "one comparison at a time" in refused(chained)
    assert "neither a local name nor a global number: NOWHERE" in refused(unknown)
    assert "only Words have elements" in refused(indexed)
    assert "not in the native subset" in refused(caught)


class Holder:
    """An object with a slot for an int."""

    __slots__ = ("number",)
    number: int


@native
def exchange(place: Words, value: int) -> int:
    old = as_uint(place[0])
    set_uint(place, value)
    return old


def test_ints_of_python_get_other_digits_only_while_nobody_else_has_them():
    assert DIGIT_UNIT, "this Python keeps ints in another form: they are read by its functions"
    edges = [0, 1, 255, 257, 1 << 16, 1 << 30, 1 << 60, 1 << 63, 1 << 64]
    numbers = sorted({n for edge in edges for n in (edge - 1, edge, edge + 1) if 0 <= n < 1 << 64})
    swap = Library([exchange], False).builtin("exchange", Block(0, 0, 0))
    holder = Holder()
    place = slot_address(holder, "number")
    for before in numbers:
        for after in numbers:
            for shared_with in (0, 1):
                holder.number = int(str(before))
                others = [holder.number] * shared_with
                assert swap(place, after) == before
                assert holder.number == after and hash(holder.number) == hash(after)
                assert others == [before] * shared_with
    assert [int(str(n)) for n in range(300)] == list(range(300))
