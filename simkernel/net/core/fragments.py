"""A packet of which pieces have come, for both families.  include/net/inet_frag.h."""

from __future__ import annotations

from arch.records import dataclass, field
from simkernel.net.core.netns import Net
from simkernel.net.core.skb import Skb

Key = tuple[Net, bytes, bytes, int, int, int]  # addresses, identifier, protocol, device for what is bound to one


@dataclass(frozen=True)
class Family:
    """struct inet_frags and struct fqdir: what the queues of a family have in common."""

    sysctls: str  # net.SYSCTLS_time, net.SYSCTLS_high_thresh
    expire: str  # the kernel function that runs when the rest is late
    size: int  # bytes of a queue


IPV4 = Family("ipv4.ipfrag", "ip_expire", 200)
IPV6 = Family("ipv6.ip6frag", "ip6_frag_expire", 184)


@dataclass(eq=False)
class Pieces:
    """struct inet_frag_queue: of one packet."""

    family: Family
    key: Key
    timer: int
    parts: dict[int, bytes] = field(default_factory=dict)  # by offset
    first: Skb | None = None  # the packet that began it; it is kept for its header
    total: int = 0  # bytes, when the last piece is there
    memory: int = 0  # bytes that it is charged with

    def whole(self) -> bytes | None:
        """All the bytes, if there are no holes."""
        if not self.total:
            return None
        body = bytearray()
        for at in sorted(self.parts):
            if at != len(body):
                return None
            body += self.parts[at]
        return bytes(body) if len(body) == self.total else None

    def takes(self, at: int, body: bytes) -> bool:
        """Whether this piece lies on none that is there."""
        return not any(at < old + len(part) and old < at + len(body) for old, part in self.parts.items())


class Fragments:
    """All queues of a kernel, and what they hold of a namespace's memory (struct fqdir's mem)."""

    def __init__(self) -> None:
        self.queues: dict[Key, Pieces] = {}
        self.by_timer: dict[int, Pieces] = {}
        self.memory: dict[tuple[Net, Family], int] = {}

    def add(self, queue: Pieces) -> None:
        """One more, with nothing in it."""
        self.queues[queue.key] = self.by_timer[queue.timer] = queue
        self.charge(queue, queue.family.size)

    def remove(self, queue: Pieces) -> None:
        """It gives its memory back."""
        self.queues.pop(queue.key, None)
        if self.by_timer.pop(queue.timer, None) is not None:
            self.charge(queue, -queue.memory)

    def charge(self, queue: Pieces, size: int) -> None:
        """add_frag_mem_limit()."""
        queue.memory += size
        at = queue.key[0], queue.family
        self.memory[at] = self.memory.get(at, 0) + size
        if not self.memory[at]:
            del self.memory[at]

    def count(self, net: Net, family: Family) -> int:
        """How many of a family wait in a namespace."""
        return sum(queue.family is family and queue.key[0] is net for queue in self.queues.values())
