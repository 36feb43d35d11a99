"""The tracepoints that the kernel declares, and how they fire.  include/trace/events/, kernel/trace/trace_syscalls.c.

    declare.py      what a row says: TRACE_EVENT as data
    sched.py ...    the rows of 6.1, one module per kernel header (small ones share); `format` files equal the real ones
    unreached.py    rows of places that this kernel never comes to
    older.py        other shapes of earlier versions
    newer.py        and of later ones
    tracepoints.py  a tracepoint in a running machine: its callbacks, and the event made from the row
    syscalls.py     sys_enter_* and sys_exit_*, made from the declared system calls; syscall_user.py: what they copy since 6.19

A row is a name at the top level of its module, in the order in which the kernel registers the events; names that begin
with `_` are parts of rows.  docs/events.md is made from the rows; docs/add-tracepoint.md adds one.
"""

from __future__ import annotations

from types import ModuleType

from arch.abi.version import KernelVersion
from tracing.events import (
    block,
    cgroup,
    filelock,
    inet,
    irq,
    kmem,
    late,
    mm,
    mmap_lock,
    neigh,
    net,
    newer,
    older,
    raw_syscalls,
    sched,
    signal,
    task,
    timer,
    unreached,
    writeback,
    xdp,
)
from tracing.events.declare import TraceEventDecl

MODULES = (
    raw_syscalls,
    irq,
    task,
    sched,
    signal,
    timer,
    kmem,
    block,
    net,
    inet,
    unreached,
    mm,
    mmap_lock,
    cgroup,
    filelock,
    writeback,
    xdp,
    neigh,
    late,
)


def rows(module: ModuleType) -> list[TraceEventDecl]:
    """The rows of a module, in their order."""
    found = {name: value for name, value in vars(module).items() if isinstance(value, TraceEventDecl)}
    return [row for name, row in found.items() if not name.startswith("_")]


def newest() -> dict[str, TraceEventDecl]:
    """The row of each event in 6.1, in registration order: with these arguments the kernel's functions fire it."""
    return {row.name: row for module in MODULES for row in rows(module)}


def declarations(version: KernelVersion) -> dict[str, TraceEventDecl]:
    """The row of each event that a kernel of this version has, in registration order."""
    other = {row.name: row for module in (older, newer) for row in rows(module) if row.holds(version)}
    return {name: other.get(name, row) for name, row in newest().items() if version.within(row.since, row.until)}
