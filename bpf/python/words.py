"""The names that programs import.  A program is compiled, never run: these are for readers, editors and type checkers.

Besides them every helper of the kernel is a word (`bpf.ktime_get_ns()`), and every constant of its headers (`bpf.BPF_ANY`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

u8 = u16 = u32 = u64 = s8 = s16 = s32 = s64 = char = int


def struct(cls: type[T]) -> type[T]:
    """A class whose members `name: type` are a C struct; called, it makes one on the stack, zero but for what is given."""
    return cls


class ptr:
    """`ptr("task_struct")`: to a struct of the kernel; `ptr[Event]`: of the program; `ptr[u8]`: bytes."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __class_getitem__(cls, target: object) -> Any:
        return Any


class const:
    """`limit: const[u64] = 5`: a global variable that only the loader may change."""

    def __class_getitem__(cls, kind: object) -> Any:
        return Any


def array(elem: object, count: int) -> Any:
    """A member of `count` elements."""
    return Any


class Map:
    """A map: lookup(key) is a pointer to the value or None; update(key, value, flags=BPF_ANY), delete(key).

    RingBuf: reserve(Type) is a pointer or None, submit(record), discard(record), output(value).
    PerfEventArray: output(ctx, value).  Others go to helpers.
    """

    def __init__(self, *types: object, max_entries: int = 0, flags: int = 0) -> None:
        self.types = types
        self.max_entries = max_entries
        self.flags = flags

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("a BPF program is compiled, not run: simkernel build")


Hash = Array = PercpuHash = PercpuArray = LruHash = LruPercpuHash = LpmTrie = Map
StackTrace = RingBuf = PerfEventArray = ProgArray = Map


def _program(*where: str) -> Callable[[F], F]:
    return lambda function: function


kprobe = kretprobe = uprobe = uretprobe = usdt = tracepoint = raw_tracepoint = tp_btf = fentry = fexit = section = (
    _program
)


def xdp(function: F) -> F:
    """A program for packets that arrive."""
    return function


def __getattr__(name: str) -> Any:
    """Helpers and constants."""
    if name.startswith("__"):
        raise AttributeError(name)

    def helper(*arguments: object) -> NoReturn:
        raise RuntimeError("a BPF program is compiled, not run: simkernel build")

    return helper
