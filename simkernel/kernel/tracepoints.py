"""Places for tracepoints: the kernel fires them, tracing puts its own objects behind them.  include/linux/tracepoint.h."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from arch.native.handler import NativeHandler


class Tracepoint(Protocol):
    """What the kernel knows of a tracepoint."""

    active: bool

    @property
    def fire(self) -> Callable[..., object]:
        """Call it with the arguments of TP_PROTO."""
        ...


class TracepointSlot:
    """A tracepoint's place: tracing sets `active` and `fire` when it is there, and who listens with what compiled form."""

    __slots__ = ("active", "changed", "fire", "listeners", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.active = False
        self.fire: Callable[..., object] = nobody
        self.listeners: tuple[tuple[Callable[..., object], NativeHandler | None], ...] = ()
        self.changed: Callable[[], None] = nobody  # called when listeners or their compiled forms are others


def nobody(*args: object) -> None:
    """Nobody listens."""


class Tracepoints:
    """`k.tracepoints`: by name."""

    def __init__(self) -> None:
        self.points: dict[str, Tracepoint] = {}

    def slot(self, name: str) -> TracepointSlot:
        """The place of one, before tracing is there."""
        point = self.point(name)
        assert isinstance(point, TracepointSlot)
        return point

    def point(self, name: str) -> Tracepoint:
        """The object with `.active` and `.fire(*args)`, for who fires often."""
        point = self.points.get(name)
        if point is None:
            point = self.points[name] = TracepointSlot(name)
        return point

    def trace(self, name: str, *args: object) -> None:
        """Fire a tracepoint with the arguments of its TP_PROTO; nearly free when nothing listens."""
        point = self.points.get(name)
        if point is not None and point.active:
            point.fire(*args)
