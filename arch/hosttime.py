"""The host's time: one word that whoever works long looks at.

    from arch.hosttime import HOST_WORD, check

    for each in many:
        if HOST_WORD[0]:        # 25 ns; or check(), where a call does not matter
            raise HostStop()

`HOST.limit(seconds)` says how long the work inside it may take, and Ctrl-C that it shall end now.  Either way the word is
set to a `Why`.  A loop over much looks at it and ends: with an error or a short result where Linux would be ended by a
fatal signal, else by raising `HostStop`, a BaseException, so that no boundary for errors takes it for one.  Compiled code
comes back to Python every few milliseconds for the same question.  Machines that run are poked (`HOST.runs`), so that
they stop between two kernel functions; they need not look.

Whoever does not look within `HARD_S` of CPU time gets HostStop raised wherever it is, again and again until somebody says
`HOST.seen()`: an exception that a callback or a destructor swallowed is not lost.

A thread watches; it sleeps until the first limit is over, and costs nothing until then.  The word is one for the
process: machines in several threads end together.  No simulated result depends on any of this, but that a run was ended.
"""

from __future__ import annotations

import _signal  # the module signal itself turns every number into an enum and back: ten times the time
import contextlib
import ctypes
import enum
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType

from arch.abi.signal import SIGINT

HARD_S = 0.08  # of CPU time, until what does not look at the word is interrupted
AGAIN_S = 0.005  # until an interrupt that was swallowed is sent again
LONGEST_S = 1e9  # more is no limit
POKE_S = 0.02  # between two pokes
WALL_FACTOR = 8  # a grace is over after so many times its CPU time: somebody blocks


class Why(enum.IntEnum):
    """What the word says."""

    NOTHING = 0
    TIME = 1  # a limit is over
    INTERRUPT = 2  # a person or the system asks: SIGINT, SIGTERM, SIGHUP
    MEMORY = 3  # the process has grown by more than it may (arch/hostmemory.py), or the host gives no more


class HostStop(BaseException):
    """The host wants this work to end.  What was under way is given up."""

    def __str__(self) -> str:
        return "the host's memory is up" if HOST_WORD[0] == Why.MEMORY else "the host's time is up"


_storage = (ctypes.c_uint64 * 1)()
HOST_WORD = memoryview(_storage).cast("B").cast("Q")
_set_async_exc = ctypes.pythonapi.PyThreadState_SetAsyncExc
_set_async_exc.argtypes = (ctypes.c_ulong, ctypes.py_object)


def check() -> None:
    """Raise HostStop when the word is set."""
    if HOST_WORD[0]:
        raise HostStop()


def stop_behind(error: BaseException) -> bool:
    """Is it what the interpreter made of a HostStop?  __set_name__() that is interrupted is a RuntimeError (CPython 3.11)."""
    return HOST_WORD[0] != 0 and isinstance(error, RuntimeError) and isinstance(error.__cause__, HostStop)


class Limit:
    """A piece of work that has to end in time: `with HOST.limit(2.5): ...`."""

    def __init__(self, host: HostTime, wall_s: float, cpu_s: float | None) -> None:
        self.host = host
        self.wall_s, self.cpu_s = wall_s, cpu_s
        self.until = self.cpu_until = float("inf")
        self.shields = cpu_s is not None  # what lies further out does not count in here

    def __enter__(self) -> Limit:
        self.until = time.monotonic() + self.wall_s
        if self.cpu_s is not None:
            self.cpu_until = time.process_time() + self.cpu_s
        self.host.push(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        while True:  # the exception of the watching thread may come in the middle of leaving
            try:
                self.host.pop(self)
                return
            except HostStop:
                continue

    @property
    def left_s(self) -> float:
        """Seconds of real time that are left."""
        return max(self.until - time.monotonic(), 0.0)

    @property
    def over(self) -> bool:
        """Its time is up."""
        return time.monotonic() >= self.until or time.process_time() >= self.cpu_until


class HostTime:
    """`HOST`: limits, what a person asks for, and the thread that watches."""

    def __init__(self) -> None:
        self.runs: list[Callable[[], None]] = []  # what stops the machines that run, innermost last
        self.asked = 0  # the signal that asked for an end; 0: none
        self.keeps_signals = False  # SIGINT and its like are ours for good: take_signals()
        self._limits: list[Limit] = []
        self._full = False  # no_memory(); until the outermost work begins anew
        self._seen = False
        self._thrown = False  # an exception was sent that has perhaps not come yet
        self._torn = False  # an exception was sent to where nobody looks
        self._swallowed = False  # a KeyboardInterrupt that was raised in a destructor or a hook went no further
        self._since: float | None = None  # CPU time when the word was set
        self._owner = 0  # thread that works
        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._old_handler: object = None
        self._hears: Callable[[sys.UnraisableHookArgs], object] | None = None  # our sys.unraisablehook

    # -- for those who work ------------------------------------------------------------------------------------------

    def limit(self, seconds: float | None) -> Limit:
        """So much real time for what is done inside; None: as long as it takes.  ValueError for what is no number."""
        if seconds is not None and seconds != seconds:
            raise ValueError("a limit in seconds is a number")
        return Limit(self, float("inf") if seconds is None or seconds > LONGEST_S else seconds, None)

    def grace(self, cpu_s: float) -> Limit:
        """A little CPU time to put things in order after a stop: what stopped the work before does not count."""
        return Limit(self, cpu_s * WALL_FACTOR, cpu_s)

    @property
    def why(self) -> Why:
        """What the word says."""
        return Why(HOST_WORD[0])

    def seen(self) -> None:
        """Somebody is ending the work: no more exceptions."""
        while True:
            try:
                with self._lock:
                    self._seen = True
                    self._forget_exception()
                return
            except HostStop:
                continue

    def no_memory(self) -> None:
        """What runs has taken more of the host's memory than it may, or than there is."""
        self._full = True
        self._renew()

    def enter(self, poke: Callable[[], None]) -> None:
        """A machine begins to run."""
        if self._full and not self.runs and not self._limits:
            self._full = False
            self._renew()
        self.runs.append(poke)
        if len(self.runs) == 1 and not self.keeps_signals:
            self._borrow_sigint()

    def leave(self, poke: Callable[[], None]) -> None:
        """It has stopped."""
        self.runs.remove(poke)
        if not self.runs and self._old_handler is not None:
            handler, self._old_handler = self._old_handler, None
            _signal.signal(SIGINT, handler)

    def raise_if_asked(self) -> None:
        """After a run: the Ctrl-C that ended it is the caller's again, unless the whole process is ours."""
        if self.asked and not self.keeps_signals and not self.runs:
            self.asked = 0
            self._renew()
            raise KeyboardInterrupt

    def take_signals(self, numbers: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)) -> None:
        """This process is a command: the first such signal ends its work, the second the process."""
        self.keeps_signals = True
        self._hear_unraisable()
        for number in numbers:
            if signal.getsignal(number) != signal.SIG_IGN:  # nohup stays nohup
                signal.signal(number, self._on_signal)

    def _hear_unraisable(self) -> None:
        """What destructors and hooks swallow is not printed if it is ours, and comes again."""
        if self._hears is not None and sys.unraisablehook is self._hears:
            return
        print_unraisable = sys.unraisablehook

        def unraisable(info: sys.UnraisableHookArgs) -> None:
            if info.exc_type is KeyboardInterrupt and self.asked:
                self._swallowed = True
                self._watch()
                self._wake.put(None)
            elif info.exc_type is AttributeError and self._torn:
                pass  # the destructor of what an exception of ours left half made
            elif info.exc_type is not HostStop:  # it comes again
                print_unraisable(info)

        self._hears = sys.unraisablehook = unraisable

    # -- limits ------------------------------------------------------------------------------------------------------

    def push(self, limit: Limit) -> None:
        """Limit.__enter__()."""
        with self._lock:
            self._full = self._full and bool(self.runs or self._limits)
            self._limits.append(limit)
            self._owner = threading.get_ident()
        self._renew()
        if limit.until != float("inf"):
            self._watch()

    def pop(self, limit: Limit) -> None:
        """Limit.__exit__()."""
        with self._lock:
            if limit in self._limits:
                self._limits.remove(limit)
            self._forget_exception()
        self._renew()

    def _renew(self) -> None:
        with self._lock:
            self._seen, self._since = False, None
            HOST_WORD[0] = self._compute()

    def _compute(self) -> Why:
        for limit in reversed(self._limits):
            if limit.over:
                return Why.TIME
            if limit.shields:
                return Why.NOTHING
        if self.asked:
            return Why.INTERRUPT
        return Why.MEMORY if self._full else Why.NOTHING

    # -- signals -----------------------------------------------------------------------------------------------------

    def _borrow_sigint(self) -> None:
        """While a machine of a library's user runs, Ctrl-C stops it between two kernel functions, and then is the user's."""
        if threading.current_thread() is not threading.main_thread():
            return
        old = _signal.getsignal(SIGINT)
        if old is _signal.default_int_handler:
            self._old_handler = old
            _signal.signal(SIGINT, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        """Runs between two instructions of Python, anywhere: sets, and tells the thread; takes no lock."""
        if self.asked or not (self.runs or self._limits):  # again, or nothing runs that could be brought to a stop
            self.asked = number
            raise KeyboardInterrupt
        self.asked = number
        self._owner = threading.get_ident()
        for limit in reversed(self._limits):
            if limit.shields:  # what is put in order now ends too
                limit.until = 0.0
                break
        HOST_WORD[0] = Why.INTERRUPT
        self._watch()
        self._wake.put(None)

    # -- the thread --------------------------------------------------------------------------------------------------

    def forked(self) -> None:
        """A child has no thread that watches, and perhaps a lock that the thread held."""
        self._lock, self._wake, self._thread = threading.Lock(), queue.SimpleQueue(), None
        if self._limits:
            self._owner = threading.get_ident()
            self._watch()

    def _watch(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop, name="simkernel-hosttime", daemon=True)
            self._thread.start()
        else:
            self._wake.put(None)

    def _loop(self) -> None:
        while True:
            pause = self._tick()
            with contextlib.suppress(queue.Empty):
                self._wake.get(timeout=pause)

    def _tick(self) -> float | None:
        """Set the word; poke and interrupt those who do not look.  Seconds until the next time, None: when woken."""
        if self._swallowed:
            self._swallowed = False
            time.sleep(AGAIN_S)  # the hook is left by then; if not, it comes here again
            signal.pthread_kill(threading.main_thread().ident or 0, self.asked)  # a call that sleeps ends, too
        with self._lock:
            why = HOST_WORD[0] = self._compute()
            now = time.process_time()
            if not why:
                self._since = None
                first = min((limit.until for limit in self._limits), default=float("inf"))
                if any(limit.shields for limit in self._limits):
                    return POKE_S
                return None if first == float("inf") else max(first - time.monotonic(), 0.0)
            if self._since is None:
                self._since = now
            for poke in self.runs[-1:]:
                poke()
            if not self._seen and now - self._since > HARD_S and (self.runs or self._limits):
                self._since = now - HARD_S + 2 * POKE_S
                self._thrown = self._torn = True
                self._hear_unraisable()
                _set_async_exc(self._owner, HostStop)
            return POKE_S

    def _forget_exception(self) -> None:
        """Take back one that has perhaps not come yet: let it come here.

        Setting none instead would leave the interpreter's mark that one is waiting, with which it stands still under a
        debugger, a profiler or a coverage tool (CPython 3.11).
        """
        if self._thrown and self._owner == threading.get_ident():
            self._thrown = False
            try:
                _set_async_exc(self._owner, HostStop)
                for _ in range(100):  # it comes at a jump back
                    pass
            except HostStop:
                pass


HOST = HostTime()
os.register_at_fork(after_in_child=HOST.forked)
