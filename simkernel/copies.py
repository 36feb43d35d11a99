"""A machine that others begin from: booted once, with programs installed and objects loaded; each child is a copy.

    template = simkernel.template(setup=lambda m: m.load("prog.bpf.o").attach())
    lines = template.run(lambda m: m.run(["/bin/busybox", "true"]) and m.trace_pipe())

A child is a process of the host, made by fork(2): it shares the template's memory until one of them writes there, starts in
a few milliseconds, and whatever it does is gone when it ends.  What comes back is what its function returns, pickled.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Generic, TypeVar

from arch.abi.prctl import PR_SET_PDEATHSIG
from arch.garbage import hold, release
from simkernel.machine import Machine
from simkernel.packed import ChildError, packed, unpacked

T = TypeVar("T")
PIECE = 1 << 20  # bytes of a result that are read at once


class ChildLate(ChildError):
    """A child that was not done in its time: it was killed."""


class Child(Generic[T]):
    """One copy at work.  result() waits for it."""

    def __init__(self, pid: int, source: int) -> None:
        self.pid = pid
        self._source = source

    def result(self, limit_s: float | None = None) -> T:
        """What its function returned, or raised; a child that takes longer than `limit_s` is killed.  ChildError, ChildLate."""
        try:
            data = b"".join(_pieces(self._source, limit_s))
        except BaseException:  # late, or whoever waits is interrupted: nobody will ask for the result
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            raise
        finally:
            os.close(self._source)
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if not data:
            raise ChildError(
                f"the child ended with {f'signal {-code}' if code < 0 else f'status {code}'} and no result"
            )
        result: T = unpacked(data)
        return result


class Template:
    """A machine of which children are copies; itself it does not run any more."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        hold()
        self._holds = True

    def start(self, function: Callable[[Machine], T]) -> Child[T]:
        """A child that works on `function(machine)`; several may work at the same time."""
        sys.stdout.flush()
        sys.stderr.flush()
        source, sink = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(source)
            end_with_parent()
            _work(self.machine, function, sink)
        os.close(sink)
        return Child(pid, source)

    def run(self, function: Callable[[Machine], T], limit_s: float | None = None) -> T:
        """`function(machine)` in a child of its own; what it returns or raises.  ChildLate after so much real time."""
        return self.start(function).result(limit_s)

    def close(self) -> None:
        """Free the template's machine.  Children go on."""
        self.machine.close()
        if self._holds:
            self._holds = False
            release()

    def __enter__(self) -> Template:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _pieces(source: int, limit_s: float | None) -> Iterator[bytes]:
    """What comes through a pipe until its other end is closed.  ChildLate."""
    until = None if limit_s is None else time.monotonic() + limit_s
    while True:
        left = None if until is None else max(until - time.monotonic(), 0.0)
        if not select.select([source], [], [], left)[0]:
            raise ChildLate(f"not done within {limit_s:g} s")
        piece = os.read(source, PIECE)
        if not piece:
            return
        yield piece


def end_with_parent() -> None:
    """A process that works for another does not outlive it, whatever ends that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _work(machine: Machine, function: Callable[[Machine], object], sink: int) -> None:
    """The child's life.  It ends here: nothing that the parent has still to do may run twice."""
    try:
        data = packed(lambda: function(machine))
        sys.stdout.flush()
        sys.stderr.flush()
        with open(sink, "wb") as pipe:
            pipe.write(data)
    finally:
        os._exit(0)
