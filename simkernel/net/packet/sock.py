"""struct packet_sock.  net/packet/internal.h."""

from __future__ import annotations

from arch.abi.limits import U16_MAX
from arch.abi.packet import PACKET_LOSS, PACKET_RESERVE, PACKET_VERSION
from arch.abi.socket import AF_PACKET, SOL_PACKET
from simkernel.net.core.netns import Net
from simkernel.net.core.sock import Sock, SockKernel
from simkernel.net.core.taps import Tap
from simkernel.net.packet.blocks import Blocks
from simkernel.net.packet.fanout_group import Fanout, Rollover
from simkernel.net.packet.ring import Ring


class PacketSock(Tap):
    """One packet socket."""

    group: Fanout | None = None

    def __init__(self, k: SockKernel, net: Net, type_: int, protocol: int) -> None:
        """`protocol`: as socket(2) is given it, in network order."""
        super().__init__(k, net, AF_PACKET, type_, 0)
        self.protocol = int.from_bytes((protocol & U16_MAX).to_bytes(2, k.mem.byteorder), "big")
        self.packets_seen = 0  # since PACKET_STATISTICS was asked
        self.drops_told = 0  # how many of `drops` that has told
        self.ring_drops = 0  # what found no room in the ring since then
        self.memberships_of_devices: list[tuple[int, int, bytes]] = []  # device, kind, address
        self.rx: Ring | Blocks | None = None
        self.tx: Ring | None = None
        self.mapped = 0  # areas that show the rings
        self.vnet = False  # PACKET_VNET_HDR
        self.copies: set[int] = set()  # packets that are in the ring, too, and tell less of where they come from
        self.rollover: Rollover | None = None
        self.pressure = False
        self.retire_timer = 0  # address of the struct timer_list of a ring of blocks

    @property
    def has_ring(self) -> bool:
        """For one direction at least."""
        return self.rx is not None or self.tx is not None

    def number(self, option: int) -> int:
        """An option that is one."""
        return self.options.get((SOL_PACKET, option), 0)

    @property
    def version(self) -> int:
        """TPACKET_V1 is 0."""
        return self.number(PACKET_VERSION)

    @property
    def reserve(self) -> int:
        """Bytes in front of a frame."""
        return self.number(PACKET_RESERVE)

    @property
    def loss(self) -> bool:
        """Frames that cannot be sent are passed over."""
        return bool(self.number(PACKET_LOSS))

    @property
    def lost(self) -> int:
        """tp_drops: since PACKET_STATISTICS was asked."""
        return self.drops - self.drops_told + self.ring_drops


def packet_sk(sk: Sock) -> PacketSock:
    """pkt_sk()."""
    assert isinstance(sk, PacketSock)
    return sk
