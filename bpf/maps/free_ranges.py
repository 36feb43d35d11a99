"""Which pages of an arena are free: two ways to choose among them, one for each way the kernel has kept them."""

from __future__ import annotations


class FirstFit:
    """The lowest gap that is large enough: a maple tree of what is taken, 6.9 to 6.12."""

    def __init__(self, count: int) -> None:
        self.ranges: list[tuple[int, int]] = [(0, count - 1)]  # first and last page of each free one, by address

    def take(self, count: int, limit: int) -> int | None:
        """So many pages in a row below `limit`; the first one's number."""
        for first, last in self.ranges:
            if first + count - 1 <= min(last, limit - 1):
                self._cut(first, first + count - 1)
                return first
        return None

    def take_at(self, first: int, count: int) -> bool:
        """These; False: not all of them are free."""
        last = first + count - 1
        if not any(a <= first and last <= b for a, b in self.ranges):
            return False
        self._cut(first, last)
        return True

    def give(self, first: int, count: int) -> None:
        """They are free, whether they were taken or not."""
        last = first + count - 1
        self._cut(first, last)
        touching = [each for each in self.ranges if each[1] == first - 1 or each[0] == last + 1]
        for each in touching:
            self.ranges.remove(each)
            first, last = min(first, each[0]), max(last, each[1])
        self._add(first, last)
        self.ranges.sort()

    def _cut(self, first: int, last: int) -> None:
        kept = []
        for a, b in [each for each in self.ranges if each[0] <= last and each[1] >= first]:
            self.ranges.remove((a, b))
            kept += [part for part in ((a, first - 1), (last + 1, b)) if part[0] <= part[1]]
        for part in kept:
            self._add(*part)
        self.ranges.sort()

    def _add(self, first: int, last: int) -> None:
        self.ranges.append((first, last))


class BestFit(FirstFit):
    """The smallest that is large enough, of several the one that became free last: a range tree, since 6.13."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.made: dict[tuple[int, int], int] = {}
        self.steps = 0

    def _add(self, first: int, last: int) -> None:
        super()._add(first, last)
        self.steps += 1
        self.made[first, last] = self.steps

    def take(self, count: int, limit: int) -> int | None:
        large = [each for each in self.ranges if each[1] - each[0] + 1 >= count]
        if not large:
            return None
        first, _ = min(large, key=lambda each: (each[1] - each[0], -self.made.get(each, 0)))
        self._cut(first, first + count - 1)
        return first
