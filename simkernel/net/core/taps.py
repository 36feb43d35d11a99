"""Socks that hear frames before any protocol, alone or as a group of which one gets each frame.  struct packet_type, net/core/dev.c."""

from __future__ import annotations

from simkernel.net.core.sock import Sock


class TapGroup:
    """struct packet_fanout as those see it who have a frame for it: `addr` stands for its packet_type."""

    addr: int
    ignores_outgoing: bool


class Tap(Sock):
    """A sock with a packet_type: `hears` is the kernel function that gets a copy of a frame."""

    hears = "packet_rcv"
    group: TapGroup | None = None

    @property
    def running(self) -> bool:
        """It has a protocol, and hears what is of that."""
        return bool(self.protocol)
