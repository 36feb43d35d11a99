"""What helpers answer: fixed results, failures, the n-th call only.

    m.mocks.helper("bpf_ktime_get_ns", each=[10, 25, 70])
    m.mocks.helper("bpf_get_smp_processor_id", returns=3)
    with m.mocks.helper("bpf_probe_read_kernel", fail=EFAULT, on_call=3) as reads: ...

The first mock has to be asked for before a program is loaded: from then on programs are loaded as on a kernel without a JIT, so
that every helper is a call that can be answered (with one, some are inlined).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from types import TracebackType

from arch.abi.errno import errno_name
from bpf.board import Bpf
from bpf.helpers import HELPERS, load_all
from bpf.run.interpreter import Registers

REGISTER_MASK = (1 << 64) - 1
Call = Callable[[Registers], int]


class MockError(ValueError):
    """A mock that cannot be: a sentence for a person."""


class Mock:
    """One helper's answers; `calls` counts how often programs called it.  As a context manager it ends with the block."""

    def __init__(
        self,
        mocks: Mocks,
        name: str,
        returns: int | None,
        fail: int | None,
        each: Sequence[int] | None,
        on_call: int | None,
    ) -> None:
        self.mocks, self.name = mocks, name
        self.returns = -fail if fail is not None else returns
        self.each = None if each is None else list(each)
        self.on_call = on_call
        self.calls = 0

    def answer(self) -> int | None:
        """For the call that is being made; None lets the real helper work."""
        self.calls += 1
        if self.on_call is not None and self.calls != self.on_call:
            return None
        if self.each is not None:
            return self.each[min(self.calls, len(self.each)) - 1]
        return self.returns

    def remove(self) -> None:
        """The helper is itself again."""
        if self.mocks.by_name.get(self.name) is self:
            del self.mocks.by_name[self.name]

    def __enter__(self) -> Mock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.remove()

    def __repr__(self) -> str:
        answer = errno_name(-self.returns) if self.returns is not None and self.returns < 0 else self.returns
        return f"<mock of {self.name}: {self.each or answer}, {self.calls} calls>"


class Mocks:
    """`m.mocks`."""

    def __init__(self, bpf: Bpf) -> None:
        self.bpf = bpf
        self.by_name: dict[str, Mock] = {}

    def enable(self) -> None:
        """From now on loaded programs can be mocked."""
        if self.bpf.intercept is not None:
            return
        if self.bpf.progs.objects:
            raise MockError("ask for the first mock (or m.mocks.enable()) before a BPF object is loaded")
        self.bpf.intercept = self.intercept
        self.bpf.jit_enable = 0

    def helper(
        self,
        name: str,
        *,
        returns: int | None = None,
        fail: int | None = None,
        each: Sequence[int] | None = None,
        on_call: int | None = None,
    ) -> Mock:
        """Answer a helper's calls: `returns` a number, `fail` minus an errno, `each` one after the other (the last stays).

        With `on_call` only that call is answered, counted from 1.  Without any of them calls are only counted.
        """
        load_all()
        if name not in HELPERS:
            near = difflib.get_close_matches(name, HELPERS, n=3)
            raise MockError(f"no helper is named {name!r}" + (f"; near: {', '.join(near)}" if near else ""))
        if sum(each is not None for each in (returns, fail, each)) > 1:
            raise MockError("give one of returns, fail and each")
        if each is not None and not each:
            raise MockError("each: no answer")
        self.enable()
        mock = self.by_name[name] = Mock(self, name, returns, fail, each, on_call)
        return mock

    def intercept(self, names: Sequence[str], call: Call) -> Call:
        """A program's call of a helper, which asks here first."""

        def asked(r: Registers) -> int:
            mock = next((self.by_name[name] for name in names if name in self.by_name), None)
            answer = None if mock is None else mock.answer()
            return call(r) if answer is None else answer & REGISTER_MASK

        return asked
