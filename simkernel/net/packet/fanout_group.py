"""Groups of packet sockets.  net/packet/internal.h: struct packet_fanout, struct packet_rollover."""

from __future__ import annotations

from simkernel.net.core.netns import Net
from simkernel.net.core.sock import Filter
from simkernel.net.core.taps import Tap, TapGroup

ROLLOVER_HLEN = 16


class Rollover:
    """What a socket knows of frames that went to another: how many, and of which flows."""

    def __init__(self) -> None:
        self.sock = 0  # where to look first
        self.num = self.huge = self.failed = 0
        self.history = [0] * ROLLOVER_HLEN


class Fanout(TapGroup):
    """Socks of which one gets each frame; `type`: by which rule."""

    def __init__(self, addr: int, net: Net, id_: int, type_: int, flags: int, most: int, hook: tuple[int, int]) -> None:
        self.addr, self.net, self.id, self.type, self.flags, self.most = addr, net, id_, type_, flags, most
        self.hook = hook  # protocol and device of its first member
        self.ignores_outgoing = False
        self.members: list[Tap] = []
        self.turn = 0  # rr_cur
        self.program: Filter | None = None
