"""A line on a terminal's stderr about work that takes longer than two seconds; gone when something else is printed."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING

from arch.abi.time import NSEC_PER_SEC
from simkernel.terminal import drawn

if TYPE_CHECKING:
    from rich.live import Live

    from simkernel.machine import Machine

PATIENCE_S = 2.0
PER_SECOND = 4  # how often the line is drawn anew


class Progress:
    """`with Progress(machine, quiet) as line:` around a run; whoever prints to the terminal calls `line.clear()` first."""

    def __init__(self, machine: Machine, quiet: bool) -> None:
        self.machine = machine
        self.wanted = not quiet and sys.stderr.isatty()
        self.begin = time.monotonic()
        self.begin_ns = machine.kernel.clock.now_ns
        self._timer: threading.Timer | None = None
        self._live: Live | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Progress:
        self._arm()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.wanted = False
        self.clear()

    def clear(self) -> None:
        """Take the line away; it comes back after two seconds without output."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._live is not None:
                self._live.stop()
                self._live = None
        self._arm()

    def text(self) -> str:
        """What the machine has done so far, and how fast."""
        k = self.machine.kernel
        passed = max(time.monotonic() - self.begin, 1e-3)
        calls = sum(k.syscalls.counts.values())
        events = k.observer.tracing.trace_array.buffer.written
        virtual = (k.clock.now_ns - self.begin_ns) / NSEC_PER_SEC
        traced = f", {events:,} events ({events / passed:,.0f}/s)" if events else ""
        return (
            f"{passed:.0f} s: {virtual:.3f} s of virtual time, {calls:,} system calls ({calls / passed:,.0f}/s){traced}"
        )

    def _arm(self) -> None:
        with self._lock:
            if self.wanted and self._timer is None:
                self._timer = threading.Timer(PATIENCE_S, self._show)
                self._timer.daemon = True
                self._timer.start()

    def _show(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        with self._lock:
            if not self.wanted or self._live is not None or self._timer is None:
                return
            console = Console(file=drawn(sys.stderr))
            self._live = Live(
                get_renderable=lambda: Text(self.text(), style="dim"), console=console, refresh_per_second=PER_SECOND,
                transient=True, redirect_stdout=False, redirect_stderr=False,
            )  # fmt: skip
            self._live.start()
