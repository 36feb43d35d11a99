"""Objects by the kernel address of their structure."""

from __future__ import annotations

from typing import NoReturn, TypeVar

from arch.errors import CorruptMemory

V = TypeVar("V")


class ByAddress(dict[int, V]):
    """Bodies of kernel functions get addresses from registers and memory, which a broken program can write: an address that
    nothing is at is memory destroyed, not a slip of ours.
    """

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what

    def __missing__(self, address: int) -> NoReturn:
        raise CorruptMemory(f"no {self.what} at {address:#x}")
