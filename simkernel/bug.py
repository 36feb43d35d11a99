"""The exception that a bug of simkernel itself becomes (simkernel/kernel/oops.py raises it)."""

from __future__ import annotations


class Oops(Exception):
    """A bug of simkernel, met while the machine ran; `__cause__` is the exception itself.

    `text` is what the kernel's log got, `machine` what is needed to have the same machine again.
    """

    def __init__(self, text: str, machine: dict[str, str | int], fatal: bool) -> None:
        super().__init__(text)
        self.text = text
        self.machine = machine
        self.fatal = fatal  # the machine panicked: it does not run any more
