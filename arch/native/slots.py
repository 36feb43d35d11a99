"""Python objects as native code sees them."""

from __future__ import annotations

import ctypes
import sys
from types import MemberDescriptorType


class _MemberDef(ctypes.Structure):
    """PyMemberDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_MEMBER_AT = object.__basicsize__ + 3 * ctypes.sizeof(ctypes.c_void_p)  # PyMemberDescrObject.d_member


def slot_address(owner: object, name: str) -> int:
    """Host address of the reference that a slot of an object holds; good as long as the object lives.

    So native code reads what Python code changes as fast as ever, and there is no copy to keep in step.
    """
    return id(owner) + slot_offset(type(owner), name)


LENGTH = object.__basicsize__  # where lists and dicts hold how many elements they have
ITEMS = LENGTH + ctypes.sizeof(ctypes.c_ssize_t)  # where a list holds the address of its elements
OBJECT_KIND = LENGTH - ctypes.sizeof(ctypes.c_ssize_t)  # where an object holds what it is
# Sets hold there how many elements they have had, at least as many as they have.
if any(
    ctypes.c_ssize_t.from_address(id(sample) + LENGTH).value != 3
    for sample in ([1, 2, 3], {1: 1, 2: 2, 3: 3}, {1, 2, 3})
):
    raise RuntimeError("this Python keeps lengths in another place")


NUMBER_TAG = LENGTH  # where an int says how many digits it has, times DIGIT_UNIT
DIGITS = ITEMS  # and where they are: 4 bytes each, the lowest first
DIGIT_BITS = sys.int_info.bits_per_digit
REFERENCES = LENGTH - 2 * ctypes.sizeof(ctypes.c_ssize_t)  # where an object holds how often it is referred to


def _digit_unit() -> int:
    """1, or 8 since Python 3.12; 0 where this Python keeps ints in another form, so that C functions are asked."""

    def tag(number: int) -> int:
        return ctypes.c_size_t.from_address(id(number) + NUMBER_TAG).value

    sample = (5 << DIGIT_BITS) + 7
    digits = [ctypes.c_uint32.from_address(id(sample) + DIGITS + 4 * i).value for i in range(2)]
    unit = tag(1)
    tags = [tag(1 << DIGIT_BITS * i) for i in range(3)]
    plain = tags == [unit, 2 * unit, 3 * unit] and digits == [7, 5] and DIGIT_BITS == 30 and tag(-1) not in tags
    fresh = [object()]
    counted = ctypes.c_size_t.from_address(id(fresh[0]) + REFERENCES).value == 1
    return unit if plain and counted and sys.int_info.sizeof_digit == 4 else 0


DIGIT_UNIT = _digit_unit()
ZERO_TAG = ctypes.c_size_t.from_address(id(0) + NUMBER_TAG).value
SHARED_BELOW = 1 << 16  # of smaller ones Python may have one for all


def slot_offset(kind: type, name: str) -> int:
    """Where the objects of a class, or of a class derived from it, hold that reference."""
    descriptor = next(vars(base)[name] for base in kind.__mro__ if name in vars(base))
    assert isinstance(descriptor, MemberDescriptorType)
    pointer = ctypes.c_void_p.from_address(id(descriptor) + _MEMBER_AT).value
    assert pointer is not None
    found = _MemberDef.from_address(pointer)
    if found.name != name.encode():
        raise RuntimeError("this Python keeps its slots in another form")
    return int(found.offset)
