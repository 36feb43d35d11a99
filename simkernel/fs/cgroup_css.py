"""What a controller keeps of one control group, and the words that its files take.  include/linux/cgroup-defs.h."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from arch.abi.errno import EINVAL
from arch.abi.limits import PAGE_SIZE, S64_MAX, U64_MAX
from arch.cstring import c_string, kstrto_within
from arch.errors import KernelError
from simkernel.fs.cgroup_procs import Opener
from simkernel.kernel.face import KernelFace
from simkernel.kernel.task import Task

Show = Callable[[], str]
Store = Callable[[bytes], None]
NO_LIMIT = U64_MAX


class Group(Protocol):
    """The group as its controllers see it."""

    @property
    def k(self) -> KernelFace:
        """The machine's."""

    @property
    def path(self) -> str:
        """As /proc/PID/cgroup shows it."""

    def tasks_below(self) -> list[Task]:
        """Threads of it and of the groups below, also those that are dead and not yet waited for."""

    def notify(self, name: str) -> None:
        """cgroup_file_notify(): one of its files says something new."""


class CgroupFile(NamedTuple):
    """struct cftype."""

    name: str
    show: Show | None
    store: Store | None = None
    store_as: Callable[[bytes, Opener], None] | None = None  # instead: of a file that asks who has opened it


class Css:
    """struct cgroup_subsys_state; `parent` is that of the nearest group above that has one."""

    def __init__(self, group: Group, parent: Css | None) -> None:
        self.group, self.parent = group, parent

    def files(self) -> Iterator[CgroupFile]:
        """Those that the controller puts into the group."""
        return iter(())

    def up(self) -> Iterator[Css]:
        """Itself and those above."""
        here: Css | None = self
        while here is not None:
            yield here
            here = here.parent

    def offline(self) -> None:
        """The group goes, or the controller is taken from it."""


class Controller(NamedTuple):
    """struct cgroup_subsys: its name, what it keeps of a group, and whether threads of a process may be in different groups."""

    name: str
    css: Callable[[Group, Css | None], Css]
    threaded: bool = False


def text_of(data: bytes) -> str:
    """strstrip() of what was written."""
    return c_string(data).strip()


def number_or_max(text: str, high: int, beyond: int) -> int:
    """A count, or `max`.  EINVAL: no number; ERANGE: none of 64 bits; `beyond`: below zero, or too many."""
    if text == "max":
        return NO_LIMIT
    value = kstrto_within(text, low=-S64_MAX - 1, high=S64_MAX)
    if not 0 <= value <= high:
        raise KernelError(beyond, "a number or max")
    return value


def shown(limit: int) -> str:
    """A limit as its file says it."""
    return "max\n" if limit == NO_LIMIT else f"{limit}\n"


PAGE_COUNTER_MAX = S64_MAX // PAGE_SIZE
SUFFIXES = {"k": 10, "m": 20, "g": 30, "t": 40, "p": 50, "e": 60}


def pages(text: str, unlimited: str = "max") -> int:
    """page_counter_memparse(): bytes with a suffix, in whole pages.  EINVAL."""
    if text == unlimited:
        return NO_LIMIT
    match = re.match(r"0[xX]([0-9a-fA-F]+)|0([0-7]*)|([0-9]*)", text)
    assert match is not None
    base = 16 if match[1] is not None else 8 if match[2] is not None else 10
    value, rest = int(match[1] or match[2] or match[3] or "0", base) & U64_MAX, text[match.end() :]
    if rest[:1].lower() in SUFFIXES and rest:
        value, rest = value << SUFFIXES[rest[0].lower()] & U64_MAX, rest[1:]
    if rest or not text:
        raise KernelError(EINVAL, "not a number of bytes")
    return value // PAGE_SIZE if value // PAGE_SIZE < PAGE_COUNTER_MAX else NO_LIMIT


def shown_pages(limit: int) -> str:
    """The same as its file says it."""
    return "max\n" if limit == NO_LIMIT else f"{limit * PAGE_SIZE}\n"
