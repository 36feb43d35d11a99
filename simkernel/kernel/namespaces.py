"""What a namespace is: its kind, its number on nsfs, and what it keeps.  kernel/nsproxy.c, include/linux/ns_common.h.

`task.namespaces` maps a kind to the namespace that the task is in; a kind that is not there is the initial namespace, whose state
is the kernel's own.  The mapping is shared by a task's children and replaced, never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from arch.abi.sched import (
    CLONE_NEWCGROUP,
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWTIME,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
)
from arch.abi.time import CLOCK_BOOTTIME, CLOCK_BOOTTIME_ALARM, CLOCK_MONOTONIC
from arch.abi.version import KernelVersion
from arch.records import dataclass

# kind -> flag of clone(2)
KINDS = {
    "cgroup": CLONE_NEWCGROUP, "ipc": CLONE_NEWIPC, "mnt": CLONE_NEWNS, "net": CLONE_NEWNET, "pid": CLONE_NEWPID,
    "time": CLONE_NEWTIME, "user": CLONE_NEWUSER, "uts": CLONE_NEWUTS,
}  # fmt: skip
# Inode numbers of the initial ones: include/linux/proc_ns.h; since 6.18 include/uapi/linux/nsfs.h names all.
_FIXED = {
    "cgroup": 0xEFFFFFFB,
    "ipc": 0xEFFFFFFF,
    "pid": 0xEFFFFFFC,
    "time": 0xEFFFFFFA,
    "user": 0xEFFFFFFD,
    "uts": 0xEFFFFFFE,
}
# Before, those of mounts and networks came out of proc_alloc_inum(): in the order in which boot made them, networks after the
# first files of proc (so many on Debian's 5.10) until "net: initialize init_net earlier".
_INITIAL_INOS = (
    ("6.18", _FIXED | {"mnt": 0xEFFFFFF8, "net": 0xEFFFFFF9}),
    ("5.18", _FIXED | {"mnt": 0xF0000001, "net": 0xF0000000}),
    ("3.8", _FIXED | {"mnt": 0xF0000000, "net": 0xF0000098}),
)
FIRST_INO = 0xF0000100  # of those that are made later
# include/uapi/linux/nsfs.h, since 6.19: numbers that are never used again; two more mount namespaces come before the first of a program
INITIAL_IDS = {"ipc": 1, "uts": 2, "user": 3, "pid": 4, "cgroup": 5, "time": 6, "net": 7, "mnt": 8}
FIRST_ID = 11


@dataclass(eq=False, slots=True)
class Namespace:
    """struct ns_common."""

    kind: str
    ino: int
    state: object = None  # what it keeps: UtsNamespace, IpcNamespace, the top mount; None in an initial one
    parent: Namespace | None = None  # of a user or pid namespace; None is the initial one
    owner: Namespace | None = None  # the user namespace that it belongs to; None is the initial one

    @property
    def initial(self) -> bool:
        """It was made by boot."""
        return self.ino < FIRST_INO

    @property
    def ns_id(self) -> int:
        """ns_common.ns_id: in the order in which they were made."""
        return INITIAL_IDS[self.kind] if self.initial else FIRST_ID + self.ino - FIRST_INO


@dataclass(slots=True)
class UtsNamespace:
    """struct uts_namespace: the names that can be changed."""

    nodename: str
    domainname: str


@dataclass(slots=True)
class TimeNamespace:
    """struct time_namespace: how far its clocks are from the machine's, ns; fixed when the first task has entered."""

    monotonic: int = 0
    boottime: int = 0
    frozen: bool = False


_NO_OFFSETS = TimeNamespace()


def time_offsets(namespace: Namespace | None) -> TimeNamespace:
    """The offsets of a time namespace, or none."""
    return namespace.state if namespace is not None and isinstance(namespace.state, TimeNamespace) else _NO_OFFSETS


def timens_ktime_to_host(namespace: Namespace | None, which: int, ns: int) -> int:
    """An absolute time of a clock in a time namespace, ns, as the machine has it; 0 for what was before the clock began."""
    offsets = time_offsets(namespace)
    if which == CLOCK_MONOTONIC:
        return max(ns - offsets.monotonic, 0)
    return max(ns - offsets.boottime, 0) if which in (CLOCK_BOOTTIME, CLOCK_BOOTTIME_ALARM) else ns


Proxy = Mapping[str, Namespace]  # struct nsproxy


class Numbers:
    """proc_alloc_inum(): the next number on nsfs."""

    def __init__(self) -> None:
        self._next = count(FIRST_INO)

    def new(self, kind: str, state: object, owner: Namespace | None = None) -> Namespace:
        """A namespace with a number of its own."""
        return Namespace(kind, next(self._next), state, None, owner)


def initial_namespace(version: KernelVersion, kind: str) -> Namespace:
    """The one of a kind that boot made: its number is the version's."""
    return Namespace(kind, next(inos[kind] for since, inos in _INITIAL_INOS if version.at_least(since)))
