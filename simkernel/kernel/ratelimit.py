"""How often something may be said.  lib/ratelimit.c."""

from __future__ import annotations

DEFAULT_RATELIMIT_INTERVAL = 5_000_000_000  # ns
DEFAULT_RATELIMIT_BURST = 10


class RatelimitState:
    """struct ratelimit_state: `burst` times in `interval` ns; 0 ns: always."""

    __slots__ = ("begin", "burst", "interval", "missed", "printed")

    def __init__(self, interval: int = DEFAULT_RATELIMIT_INTERVAL, burst: int = DEFAULT_RATELIMIT_BURST) -> None:
        self.interval, self.burst = interval, burst
        self.begin: int | None = None
        self.printed = self.missed = 0

    def over(self, now: int) -> bool:
        """The interval is over, and a new one begins."""
        if self.begin is None:
            self.begin = now
        if now <= self.begin + self.interval:
            return False
        self.begin, self.printed = now, 0
        return True

    def take_missed(self) -> int:
        """How many were not said, to be told now."""
        missed, self.missed = self.missed, 0
        return missed

    def allowed(self) -> bool:
        """Once more in this interval; what is not allowed is counted."""
        if not self.interval:
            return True
        if self.printed < self.burst:
            self.printed += 1
            return True
        self.missed += 1
        return False
