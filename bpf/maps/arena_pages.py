"""Which pages an arena has, for Python and for compiled programs."""

from __future__ import annotations

import ctypes
import mmap

from arch.abi.limits import PAGE_SHIFT, U32_MAX

NUMBERS = U32_MAX + 1 >> PAGE_SHIFT  # pages of 32 bits of addresses
UPPER_HALF = NUMBERS  # the word behind them: of the arena's addresses in user space


class ArenaPages(dict[int, int]):
    """Low half of an address, in pages -> the page's address in the kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.start = 0  # of the arena in user space
        self._words: ctypes.Array[ctypes.c_uint64] | None = None

    @property
    def table(self) -> int:
        """Host address of the same as words, 0 where no page is, and the upper half of user space's addresses; made when first asked for."""
        if self._words is None:
            room = mmap.mmap(
                -1, 8 * (NUMBERS + 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
            )  # pages nobody writes cost nothing
            self._words = (ctypes.c_uint64 * (NUMBERS + 1)).from_buffer(room)
            for number, page in self.items():
                self._words[number] = page
            self._words[UPPER_HALF] = self.start & ~U32_MAX
        return ctypes.addressof(self._words)

    def begin_at(self, start: int) -> None:
        """Where user space has the arena."""
        self.start = start
        if self._words is not None:
            self._words[UPPER_HALF] = start & ~U32_MAX

    def __setitem__(self, number: int, page: int) -> None:
        super().__setitem__(number, page)
        if self._words is not None:
            self._words[number] = page

    def take(self, number: int) -> int | None:
        """It is an arena's page no more; None: it was none."""
        page = super().pop(number, None)
        if page is not None and self._words is not None:
            self._words[number] = 0
        return page
