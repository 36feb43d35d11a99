"""Where something is done in the kernel, and by which name: contexts, functions, events."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from simkernel.kernel.kernel import Kernel
from simkernel.unit.build import Builder, BuildError, Value
from tracing.record.assign import split_proto

Context = Literal["task", "softirq", "hardirq", "nmi"]
CONTEXTS: tuple[Context, ...] = ("task", "softirq", "hardirq", "nmi")


class CallError(Exception):
    """What was asked cannot be called or fired, or did not come back."""


@contextmanager
def inside(k: Kernel, context: Context) -> Iterator[None]:
    """in_nmi(), in_hardirq(), in_serving_softirq() as they would be on the running CPU."""
    if context not in CONTEXTS:
        raise BuildError(f"context {context!r}: {', '.join(CONTEXTS)}")
    depths = {"softirq": k.softirqs.depth, "hardirq": k.irqs.depth, "nmi": k.irqs.nmi}
    depth, cpu = depths.get(context), k.cpus.rq.cpu
    if depth is not None:
        depth[cpu] += 1
    try:
        yield
    finally:
        if depth is not None:
            depth[cpu] -= 1


def near(name: str, names: Iterable[str]) -> str:
    """What the end of a message says of names like one that does not exist."""
    close = difflib.get_close_matches(name, sorted(names), n=3)
    return f"; near: {', '.join(close)}" if close else ""


def function_address(k: Kernel, name: str) -> int:
    """Of a kernel function; CallError."""
    found = k.text.functions.get(k.text.symbol_of.get(name, name))
    if found is None:
        raise CallError(f"no kernel function is named {name}{near(name, k.text.functions)}")
    return k.text.address_of(name)


def event_arguments(k: Kernel, build: Builder, event: str, arguments: Mapping[str, Value]) -> tuple[str, list[int]]:
    """A tracepoint's own name, and its arguments in their order: 0 for what is not given; CallError."""
    name = event.rpartition(":")[2]
    points = k.observer.tracing.tracepoints
    if name not in points:
        raise CallError(f"no tracepoint is named {event}{near(name, points)}")
    known = [param for _, param in split_proto(points[name].fired_with.fired_proto)]
    if strange := [each for each in arguments if each not in known]:
        raise CallError(f"{event} has no argument {strange[0]!r}; it has {', '.join(known)}")
    return name, [build.register(arguments.get(param, 0)) for param in known]
