"""Dataclasses whose methods are written when they are first called.

    from arch.records import dataclass, field

For a type checker these are the standard ones, and they do the same.  The standard decorator compiles the text of up to eight
methods for every class when its module is imported: a seventh of the time of a short run, and half of it for classes that
the run makes no object of.  Here a class gets placeholders; the first call of one compiles the method and puts it in its place.
`fields()`, `replace()`, `asdict()` and `match` find what they look for when they ask for it.

What nobody here uses is left out: InitVar, KW_ONLY, field(init=False), field(hash=...), unsafe_hash, weakref_slot.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, Field, FrozenInstanceError, field
from reprlib import recursive_repr
from types import SimpleNamespace
from typing import TYPE_CHECKING

__all__ = ["dataclass", "field"]

Method = Callable[..., object]
Spec = tuple["Field[object]", bool]  # a field, and whether only its name brings it

ORDER = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}
PARAMS = {
    frozen: SimpleNamespace(frozen=frozen) for frozen in (False, True)
}  # what the standard decorator asks of a base
ABSENT = object()  # the argument that was not given


class Record:
    """What is known of one class before its methods are."""

    def __init__(self, cls: type, frozen: bool, kw_only: bool) -> None:
        self.cls = cls
        self.frozen = frozen
        self.kw_only = kw_only
        namespace = cls.__dict__
        self.annotations = {
            name: text
            for name, text in namespace.get("__annotations__", {}).items()
            if not str(text).startswith(("ClassVar", "typing.ClassVar"))
        }
        self.defaults = {name: namespace[name] for name in self.annotations if name in namespace}
        self.bases = [base for base in cls.__mro__[-2:0:-1] if "__dataclass_fields__" in base.__dict__]
        self.names = dict.fromkeys([name for base in self.bases for name in names_of(base)] + list(self.annotations))
        self._fields: dict[str, Field[object]] | None = None

    def specs(self) -> dict[str, Spec]:
        """All fields in their order, those of the bases first."""
        found: dict[str, Spec] = {}
        for base in self.bases:
            record = base.__dict__.get("__record__")
            if isinstance(record, Record):
                found.update(record.specs())
            else:
                found.update({each.name: (each, bool(each.kw_only)) for each in dataclasses.fields(base)})
        for name in self.annotations:
            default = self.defaults.get(name, MISSING)
            each: Field[object] = default if isinstance(default, Field) else field(default=default)
            assert each.init, f"{self.cls.__qualname__}.{name}: init=False is not supported"
            found[name] = each, self.kw_only if each.kw_only is MISSING else bool(each.kw_only)
        return found

    def fields(self) -> dict[str, Field[object]]:
        """As dataclasses.fields() wants them, which the standard decorator makes."""
        if self._fields is None:
            own = {**self.defaults, "__annotations__": self.annotations, "__module__": self.cls.__module__}
            plain: type = type(self.cls.__name__, (), own)
            dataclasses.dataclass(init=False, repr=False, eq=False, match_args=False, kw_only=self.kw_only)(plain)
            found = [each for cls in (*self.bases, plain) for each in dataclasses.fields(cls)]
            self._fields = {each.name: each for each in found}
        return self._fields

    def write(self, name: str) -> Method:
        """The method, in its place from now on."""
        method = WRITERS[name](self, name)
        method.__qualname__ = f"{self.cls.__qualname__}.{name}"
        setattr(self.cls, name, method)
        return method

    def init(self, name: str) -> Method:
        """The constructor: parameters without a default, with one, and those by name only."""
        given: dict[str, object] = {"__absent__": ABSENT, "__store__": object.__setattr__}
        params: list[str] = []
        by_name: list[str] = []
        body: list[str] = []
        for each, (spec, only_name) in self.specs().items():
            value = each
            param = each
            if spec.default is not MISSING:
                given[f"__default_{each}__"] = spec.default
                param = f"{each}=__default_{each}__"
            elif spec.default_factory is not MISSING:
                given[f"__make_{each}__"] = spec.default_factory
                param = f"{each}=__absent__"
                value = f"__make_{each}__() if {each} is __absent__ else {each}"
            (by_name if only_name else params).append(param)
            body.append(f"__store__(self, {each!r}, {value})" if self.frozen else f"self.{each} = {value}")
        if any("__post_init__" in base.__dict__ for base in self.cls.__mro__):
            body.append("self.__post_init__()")
        return compiled(name, ["self", *params, *(["*", *by_name] if by_name else [])], body, given)

    def represent(self, name: str) -> Method:
        """`Name(field=value, ...)`."""
        shown = ", ".join(f"{each}={{self.{each}!r}}" for each, (spec, _) in self.specs().items() if spec.repr)
        text = "return self.__class__.__qualname__ + f" + repr(f"({shown})")
        return shortened(compiled(name, ["self"], [text], {}))

    def compare(self, name: str) -> Method:
        """Two objects of the same class, as the tuples of their fields."""
        mine, others = self._tuple("self"), self._tuple("other")
        body = [
            "if other.__class__ is self.__class__:",
            f"    return {mine} {ORDER.get(name, '==')} {others}",
            "return NotImplemented",
        ]
        return compiled(name, ["self", "other"], body, {})

    def hashed(self, name: str) -> Method:
        """The hash of the tuple that is compared."""
        return compiled(name, ["self"], [f"return hash({self._tuple('self')})"], {})

    def _tuple(self, what: str) -> str:
        return "(" + "".join(f"{what}.{each}, " for each, (spec, _) in self.specs().items() if spec.compare) + ")"


def shortened(represent: Method) -> Method:
    """`...` for an object inside of itself."""

    @recursive_repr("...")
    def text(self: object) -> str:
        return str(represent(self))

    return text


WRITERS: dict[str, Callable[[Record, str], Method]] = {
    "__init__": Record.init,
    "__repr__": Record.represent,
    "__eq__": Record.compare,
    "__hash__": Record.hashed,
    **dict.fromkeys(ORDER, Record.compare),
}


def compiled(name: str, params: list[str], body: list[str], given: dict[str, object]) -> Method:
    """The function of this text, with these names around it."""
    lines = "".join(f"    {line}\n" for line in body or ["pass"])
    exec(f"def {name}({', '.join(params)}):\n{lines}", given)
    method = given[name]
    assert callable(method)
    return method


def names_of(cls: type) -> Iterator[str]:
    """The fields of a record, or of a standard dataclass."""
    record = cls.__dict__.get("__record__")
    if isinstance(record, Record):
        yield from record.names
    else:
        yield from (each.name for each in dataclasses.fields(cls))


class OfRecord:
    """An attribute of a class that is computed from its record when somebody asks."""

    def __init__(self, compute: Callable[[Record], object]) -> None:
        self.compute = compute

    def __get__(self, obj: object, cls: type) -> object:
        return self.compute(record_of(cls))


def record_of(cls: type) -> Record:
    """The record of a class, or the nearest of its bases'."""
    return next(found for base in cls.__mro__ if isinstance(found := base.__dict__.get("__record__"), Record))


FIELDS = OfRecord(Record.fields)
MATCH_ARGS = OfRecord(lambda record: tuple(name for name, (_, only_name) in record.specs().items() if not only_name))


def placeholder(record: Record, name: str) -> Method:
    """Stands for a method until it is called."""

    def method(*args: object, **kwargs: object) -> object:
        return record.write(name)(*args, **kwargs)

    method.__name__ = name
    return method


def freeze(record: Record) -> None:
    """Fields cannot be set or deleted."""

    def __setattr__(self: object, name: str, value: object) -> None:
        if type(self) is record.cls or name in record.names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    def __delattr__(self: object, name: str) -> None:
        if type(self) is record.cls or name in record.names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        object.__delattr__(self, name)

    for method in (__setattr__, __delattr__):
        setattr(record.cls, method.__name__, method)


def slots_of(cls: type) -> Iterator[str]:
    """The slots that a class has of its own."""
    slots = cls.__dict__.get("__slots__", ())
    yield from (slots,) if isinstance(slots, str) else slots


def with_slots(record: Record) -> type:
    """The class anew, with a slot for each field: slots are part of how a class is made."""
    cls = record.cls
    namespace = {
        name: value
        for name, value in cls.__dict__.items()
        if name not in record.names and name not in ("__dict__", "__weakref__")
    }
    there = {slot for base in cls.__mro__[1:-1] for slot in slots_of(base)}
    namespace["__slots__"] = tuple(name for name in record.names if name not in there)
    if record.frozen:
        namespace.setdefault("__getstate__", get_state)
        namespace.setdefault("__setstate__", set_state)
    made = type(cls)(cls.__name__, cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    return made


def get_state(self: object) -> list[object]:
    """For pickle and copy, which could not set the fields of a frozen object."""
    return [object.__getattribute__(self, name) for name in record_of(type(self)).names]


def set_state(self: object, state: Iterable[object]) -> None:
    """The other end."""
    for name, value in zip(record_of(type(self)).names, state, strict=True):
        object.__setattr__(self, name, value)


def late(
    cls: type | None = None,
    /,
    *,
    repr: bool = True,
    eq: bool = True,
    order: bool = False,
    frozen: bool = False,
    kw_only: bool = False,
    slots: bool = False,
) -> type | Callable[[type], type]:
    """dataclasses.dataclass() with these of its options."""
    if cls is None:
        return lambda cls: made(cls, repr, eq, order, frozen, kw_only, slots)
    return made(cls, repr, eq, order, frozen, kw_only, slots)


def made(cls: type, repr: bool, eq: bool, order: bool, frozen: bool, kw_only: bool, slots: bool) -> type:
    """The class with its placeholders."""
    record = Record(cls, frozen, kw_only)
    for name, default in record.defaults.items():
        if not isinstance(default, Field):
            continue
        if default.default is MISSING:
            delattr(cls, name)
        else:
            setattr(cls, name, default.default)
    own = cls.__dict__
    hashable = "__hash__" in own and not (own["__hash__"] is None and "__eq__" in own)
    if slots:
        cls = record.cls = with_slots(record)
        own = cls.__dict__
    methods = ["__init__", *(["__repr__"] if repr else []), *(["__eq__"] if eq else []), *(ORDER if order else ())]
    for name in methods:
        if name not in own:
            setattr(cls, name, placeholder(record, name))
    if eq and not hashable:
        setattr(cls, "__hash__", placeholder(record, "__hash__") if frozen else None)  # noqa: B010
    for name, value in (
        ("__record__", record),
        ("__dataclass_fields__", FIELDS),
        ("__dataclass_params__", PARAMS[frozen]),
    ):
        setattr(cls, name, value)
    if "__match_args__" not in own:
        setattr(cls, "__match_args__", MATCH_ARGS)  # noqa: B010
    if frozen:
        freeze(record)
    abc.update_abstractmethods(cls)
    return cls


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = late
