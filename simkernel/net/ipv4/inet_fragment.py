"""A packet's pieces wait for the ones that lack, for both families.  net/ipv4/inet_fragment.c."""

from __future__ import annotations

from dataclasses import dataclass, field

from arch.abi.time import NSEC_PER_SEC
from simkernel.kernel.face import Steps
from simkernel.net.core.netns import Net
from simkernel.net.core.skb import Skb
from simkernel.net.face import NetKernel

Key = tuple[Net, bytes, bytes, int, int, int]  # addresses, identifier, protocol, device for what is bound to one


@dataclass(eq=False)
class Pieces:
    """struct ipq: of one packet."""

    key: Key
    timer: int
    parts: dict[int, bytes] = field(default_factory=dict)  # by offset
    first: Skb | None = None  # the packet that began it; it is kept for its header
    total: int = 0  # bytes, when the last piece is there

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


def begin(k: NetKernel, key: Key, expire: str, seconds: str) -> Pieces:
    """inet_frag_create(): a queue whose kernel function `expire` runs when the rest is late; `seconds` names a sysctl."""
    timer = k.mem.alloc(k.types.sizeof("struct timer_list"))
    queue = Pieces(key, timer)
    k.net.fragment_timers[timer] = queue
    k.net.fragments[key] = queue
    k.timers.setup(timer, expire, timer)
    k.timers.mod(timer, k.clock.now_ns + int(key[0].sysctl[seconds]) * NSEC_PER_SEC)
    return queue


def end(k: NetKernel, queue: Pieces) -> Steps[None]:
    """inet_frag_kill() (`yield from`)."""
    k.net.fragments.pop(queue.key, None)
    k.net.fragment_timers.pop(queue.timer, None)
    k.timers.forget(queue.timer)
    k.mem.free(queue.timer)
    if queue.first is not None:
        yield k.call("consume_skb", queue.first.addr)
        queue.first = None
