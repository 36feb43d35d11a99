"""Compiled handlers of probes and compiled programs, as their Python owners hand them on.

Which tier runs is one switch: SIMKERNEL_TIER=python never compiles, =native compiles at the first use, and without it what is
used often is compiled.  Results do not depend on it.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Iterable

from arch.records import dataclass


class Tier(enum.Enum):
    """Values of SIMKERNEL_TIER."""

    AUTO = ""
    PYTHON = "python"
    NATIVE = "native"


def chosen_tier() -> Tier:
    """What the environment asks for.  ValueError for another word."""
    return Tier(os.environ.get("SIMKERNEL_TIER", ""))


# Bytes (offset, how many) that something looks at; None: it looks at more.
Sight = frozenset[tuple[int, int]] | None


def all_sights(sights: Iterable[Sight]) -> Sight:
    """What several look at."""
    found: set[tuple[int, int]] = set()
    for sight in sights:
        if sight is None:
            return None
        found |= sight
    return frozenset(found)


# A native function, the words that it gets and a number: not 0 where what is done next may wake somebody.
Guard = tuple[int, int, int]
Guards = frozenset[Guard]
NO_GUARDS: Guards = frozenset()


def all_guards(found: Iterable[Guards | None]) -> Guards | None:
    """Those of several; None: one of them may do what no guard tells of."""
    out = NO_GUARDS
    for guards in found:
        if guards is None:
            return None
        out |= guards
    return out


# What a compiled handler does with its struct pt_regs.
AT_ENTRY = 2  # of a place: the registers are as ftrace shows them at the entry of a function
NO_FRAME = 1  # it does not look at it: it gets 0, and none is made
READ_ONLY = 2  # it changes nothing in it


@dataclass(frozen=True)
class NativeCode:
    """A compiled program: i64 function(block, data, context).

    Word.NATIVE_STATUS is RAISED after a run that did not end well; `failed()` raises what ended it, if
    it was this program.
    """

    function: int  # host address
    data: int  # host address
    failed: Callable[[], None]
    blind: bool = False  # it does not use its context
    closed: bool = True  # it calls nothing of Python's that could lead to a run of another program
    cookie: int = 0  # of the attachment, and the address of the probed function: for Word.COOKIE and ENTRY_IP
    entry_ip: int = 0
    sight: Sight = None  # of its context, where it is known what it looks at
    elsewhere: bool = False  # it reads memory of the kernel, too
    guards: Guards | None = NO_GUARDS  # while none of them says anything it is as if it were closed; None: it is not


@dataclass(frozen=True)
class NativeHandler:
    """A compiled handler of a probe: i64 function(block, data, pt_regs).

    It does all that the Python handler does; or, where its result is not 0, all but what after(pt_regs) does; or nothing, and
    the status is DECLINED.
    """

    function: int  # host address
    data: int  # host address
    after: Callable[[int], object]
    keep: object = None  # what must live as long
    flags: int = 0
    sight: Sight = None  # of struct pt_regs, where it looks at nothing else of the CPU and its stack
    elsewhere: bool = False  # it (or what runs at the end) reads memory of the kernel
    returns: bool = False  # at the end of the function something runs because of it
    at_return: Sight = None  # what that looks at
    shows_caller: bool = False  # and it shows where the function goes back to
    guards: Guards = (
        NO_GUARDS  # of both: it may be called from the hook of a system call while none of them says anything
    )
    by_python: frozenset[int] = (
        frozenset()
    )  # of system calls' ends: the calls of which Python tells, which may look at the stack
