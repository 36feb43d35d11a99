"""Records against the standard dataclasses: the same classes, decorated by both, do the same."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from arch import records

Decorator = Callable[..., Any]


def plain(dataclass: Decorator) -> type:
    @dataclass
    class Point:
        """Some."""

        x: int
        y: int = 2
        names: list[str] = dataclasses.field(default_factory=list)
        hidden: int = dataclasses.field(default=7, repr=False, compare=False)
        far: int = dataclasses.field(default=0, kw_only=True, metadata={"unit": "m"})
        count: ClassVar[int] = 5

    return Point


def derived(dataclass: Decorator) -> type:
    @dataclass(frozen=True, slots=True)
    class Base:
        store: int
        make_it: int = 3

        def twice(self) -> int:
            return 2 * self.store

    class Between(Base):
        pass

    @dataclass(frozen=True, slots=True)
    class Point(Between):
        y: str = "y"
        make_it: int = 4

        def __post_init__(self) -> None:
            object.__setattr__(self, "y", self.y * 2)

    return Point


def ordered(dataclass: Decorator) -> type:
    @dataclass(order=True, frozen=True, kw_only=True)
    class Point:
        major: int
        minor: int = 0

    return Point


def own_methods(dataclass: Decorator) -> type:
    class Face(ABC):
        @abstractmethod
        def __repr__(self) -> str: ...

    @dataclass(eq=False, slots=True)
    class Point(Face):
        x: int

        def __repr__(self) -> str:
            return "mine"

    return Point


def keyed(dataclass: Decorator) -> type:
    @dataclass
    class Point:
        x: int

        def __hash__(self) -> int:
            return 5

    return Point


SHAPES: dict[Callable[[Decorator], type], list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    plain: [((1,), {}), ((1, 2, ["a"]), {"far": 3}), ((1,), {"hidden": 3}), ((), {}), ((1, 2, [], 3, 4), {}), ((1,), {"z": 1})],
    derived: [((1,), {}), ((1, 5, "z"), {}), ((), {"store": 2})],
    ordered: [((), {"major": 1}), ((), {"major": 1, "minor": 2}), ((1,), {})],
    own_methods: [((1,), {}), ((1,), {})],
    keyed: [((1,), {}), ((2,), {})],
}  # fmt: skip


def said(work: Callable[[], object]) -> object:
    """What came of it, or the error."""
    try:
        return work()
    except (TypeError, dataclasses.FrozenInstanceError, AttributeError) as error:
        return type(error).__name__, str(error)


def facts(cls: Any, calls: list[tuple[tuple[Any, ...], dict[str, Any]]]) -> list[object]:
    """Everything that can be asked of a class and its objects."""
    found: list[object] = [cls.__match_args__, "Some" in (cls.__doc__ or ""), cls.__name__, cls.__qualname__]
    found.append([(f.name, f.type, f.repr, f.compare, f.kw_only, dict(f.metadata)) for f in dataclasses.fields(cls)])
    made = []
    for args, named in calls:
        got = said(lambda args=args, named=named: cls(*args, **named))  # type: ignore[misc]
        if isinstance(got, tuple):
            found.append(got)
        else:
            made.append(got)
    for one in made:
        found += [repr(one), said(lambda one=one: hash(one)) if type(one).__eq__ is not object.__eq__ else None]  # type: ignore[misc]
        found += [dataclasses.asdict(one), "__dict__" in dir(one)]
        found += [
            repr(copy.copy(one)),
            repr(copy.deepcopy(one)),
            repr(dataclasses.replace(one, **{next(iter(dataclasses.asdict(one))): 9})),
        ]
        found.append(said(lambda one=one: setattr(one, next(iter(dataclasses.asdict(one))), 3)))  # type: ignore[misc]
        found.append(said(lambda one=one: delattr(one, next(iter(dataclasses.asdict(one))))))  # type: ignore[misc]
        if "__slots__" not in type(one).__dict__:
            found.append(said(lambda one=one: setattr(one, "unknown", 3)))  # type: ignore[misc]
    made = [cls(*args, **named) for args, named in calls if not isinstance(said(lambda: cls(*args, **named)), tuple)]  # noqa: B023
    for one in made:
        for other in (*made, 5):
            found += [one == other, one != other, said(lambda one=one, other=other: one < other)]  # type: ignore[misc]
            found.append(said(lambda one=one, other=other: one >= other))  # type: ignore[misc]
    return found


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: str(shape.__name__))
def test_records_do_what_dataclasses_do(shape: Callable[[Decorator], type]) -> None:
    calls = SHAPES[shape]
    assert facts(shape(records.late), calls) == facts(shape(dataclasses.dataclass), calls)


@records.dataclass(frozen=True, slots=True)
class Kept:
    """At the top of a module, where pickle finds it."""

    x: int
    y: list[int] = records.field(default_factory=list)


def test_pickled() -> None:
    assert pickle.loads(pickle.dumps(Kept(1, [2]))) == Kept(1, [2])


def test_an_object_inside_of_itself() -> None:
    one = Kept(1)
    one.y.append(one)  # type: ignore[arg-type]
    assert repr(one) == "Kept(x=1, y=[...])"


def test_methods_are_written_at_the_first_call() -> None:
    @records.late
    class Late:
        x: int

    before = Late.__dict__["__init__"]
    assert Late(1).x == 1  # type: ignore[call-arg, attr-defined, misc, operator]
    assert Late.__dict__["__init__"] is not before
