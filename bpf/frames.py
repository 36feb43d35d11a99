"""What the upper floor does with frames of XDP that no packet is made of yet, and with the ways of packets.  kernel/bpf/cpumap.c, net/core/filter.c."""

from __future__ import annotations

from typing import Protocol

from bpf.face import Prog


class CpuFrames(Protocol):
    """The queue of an entry of a CPUMAP."""

    def stop(self) -> None:
        """The entry goes."""


class FrameWay(Protocol):
    """Where a program wants its frame to go (board.py's Redirect)."""

    @property
    def index(self) -> int: ...
    @property
    def flags(self) -> int: ...


class RouteHost(Protocol):
    """The ways of the network's packets, by their addresses."""

    def has(self, skb: int) -> bool:
        """It is one of the network's."""

    def tunnel_source(self, skb: int, to: bytes) -> bytes:
        """The address that a header to `to` around it comes from: set_tun_src()."""

    def route_in(self, skb: int) -> int:
        """seg6_lookup_nexthop(): the way that its header says now; 0 or the errno."""


class SocketMap(Protocol):
    """An XSKMAP, as its sockets know it."""

    def forget(self, index: int) -> None:
        """The socket of an element goes."""


class FrameSocket(Protocol):
    """A socket of AF_XDP."""

    addr: int  # of struct xdp_sock

    @property
    def places(self) -> list[tuple[SocketMap, int]]:
        """The maps that it is in, and where."""

    def receive(self, dev: int, frame: bytes, meta: bytes) -> int:
        """xsk_rcv(): a frame that came by a device, with the metadata before it: 0 or the errno."""


class FrameHost(Protocol):
    """Devices and CPUs that take frames."""

    def cpu_queue(self, map_id: int, cpu: int, size: int, prog: Prog | None) -> CpuFrames:
        """Frames of an entry of a CPUMAP go up the stack from there."""

    def frame_socket(self, fd: int) -> FrameSocket:
        """A socket of AF_XDP.  KernelError(EBADF, ENOTSOCK, EOPNOTSUPP)."""

    def redirect_frame(self, device: int, prog: Prog, frame: bytes, way: FrameWay) -> None:
        """xdp_do_redirect(): a frame of a test run, by the device at an address, goes elsewhere, or is dropped."""

    def flush(self) -> None:
        """xdp_do_flush(): those of a batch are on their way."""
