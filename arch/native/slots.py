"""Python objects as native code sees them."""

from __future__ import annotations

import ctypes
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
