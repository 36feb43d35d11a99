"""The disk itself: what it holds, and how long it takes.

One request is served at a time.  The time of a request is a seek that grows with the distance (a short settle when the
head does not move), a rotational delay, and the transfer; all from a random generator of its own, seeded once.
Sectors are 512 bytes, times nanoseconds.
"""

from __future__ import annotations

import random

SECTOR = 512
CAPACITY_SECTORS = 131072  # 64 MiB

SETTLE_NS = 20_000
SEEK_NS_PER_SQRT_SECTOR = 9_000  # a full stroke of 64 MiB takes about 3.3 ms
ROTATION_NS = 4_166_666  # half a turn at 7200 per minute, the largest delay that is drawn
TRANSFER_NS_PER_SECTOR = 3_200  # 160 MB/s


class Disk:
    """A spinning disk: contents by sector, head position, and when it will be idle."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.contents: dict[int, bytes] = {}
        self.head = 0
        self.idle_at_ns = 0

    def service_ns(self, sector: int, count: int) -> int:
        """How long a request takes once the disk turns to it; moves the head."""
        distance = abs(sector - self.head)
        self.head = sector + count
        if distance == 0:
            return SETTLE_NS + count * TRANSFER_NS_PER_SECTOR
        seek = SETTLE_NS + int(distance**0.5) * SEEK_NS_PER_SQRT_SECTOR
        return seek + self.random.randrange(ROTATION_NS) + count * TRANSFER_NS_PER_SECTOR

    def schedule(self, now_ns: int, sector: int, count: int) -> int:
        """Queue a request; the time at which it will be complete."""
        self.idle_at_ns = max(now_ns, self.idle_at_ns) + self.service_ns(sector, count)
        return self.idle_at_ns

    def read(self, sector: int, count: int) -> bytes:
        """Bytes of some sectors; what was never written is zero."""
        blank = bytes(SECTOR)
        return b"".join(self.contents.get(s, blank) for s in range(sector, sector + count))

    def write(self, sector: int, data: bytes) -> None:
        """Store whole sectors."""
        for index in range(0, len(data), SECTOR):
            self.contents[sector + index // SECTOR] = data[index : index + SECTOR]
