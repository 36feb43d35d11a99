"""What a packet has beside its bytes where it came by a tunnel or is to go through one: struct ip_tunnel_info in a struct metadata_dst.

include/net/{ip_tunnels,dst_metadata}.h.  `skb->_skb_refdst` points to it; programs set and read it by helpers alone.
"""

from __future__ import annotations

import struct
from typing import Protocol

from arch.records import dataclass

# Bits of ip_tunnel_key.tun_flags, big-endian there.
TUNNEL_CSUM, TUNNEL_KEY, TUNNEL_SEQ, TUNNEL_DONT_FRAGMENT, TUNNEL_OAM, TUNNEL_CRIT_OPT = (
    0x1,
    0x4,
    0x8,
    0x100,
    0x200,
    0x400,
)
TUNNEL_GENEVE_OPT, TUNNEL_VXLAN_OPT, TUNNEL_NOCACHE, TUNNEL_ERSPAN_OPT, TUNNEL_GTP_OPT = (
    0x800,
    0x1000,
    0x2000,
    0x4000,
    0x8000,
)
TUNNEL_OPTIONS_PRESENT = TUNNEL_GENEVE_OPT | TUNNEL_VXLAN_OPT | TUNNEL_ERSPAN_OPT | TUNNEL_GTP_OPT
IP_TUNNEL_INFO_TX, IP_TUNNEL_INFO_IPV6 = 0x1, 0x2  # ip_tunnel_info.mode
IP_TUNNEL_OPTS_MAX = 255
SKB_DST_NOREF = 1

_FORMAT = struct.Struct("<BBBBHxxII16s16s")  # family, mode, tos, ttl, flags, number, label, addresses; ours alone
_OPTIONS_AT = _FORMAT.size
ROOM = _OPTIONS_AT + 1 + IP_TUNNEL_OPTS_MAX


class Memory(Protocol):
    """The machine's memory, as far as it is needed here."""

    def read(self, address: int, size: int) -> bytes | bytearray: ...
    def write(self, address: int, data: bytes) -> None: ...


@dataclass(slots=True)
class TunnelInfo:
    """struct ip_tunnel_info: addresses in network order, 4 or 16 bytes of them."""

    source: bytes
    destination: bytes
    number: int = 0  # tun_id
    tos: int = 0
    ttl: int = 0
    label: int = 0
    flags: int = 0  # TUNNEL_
    mode: int = 0
    options: bytes = b""

    @property
    def six(self) -> bool:
        """ip_tunnel_info_af() is AF_INET6."""
        return len(self.source) == 16

    def store(self, memory: Memory, at: int) -> None:
        """Into a struct metadata_dst."""
        head = _FORMAT.pack(
            len(self.source), self.mode, self.tos, self.ttl, self.flags, self.number, self.label, self.source, self.destination,
        )  # fmt: skip
        memory.write(at, head + bytes((len(self.options),)) + self.options)


def load(memory: Memory, at: int) -> TunnelInfo:
    """Out of one."""
    size, mode, tos, ttl, flags, number, label, source, destination = _FORMAT.unpack(memory.read(at, _FORMAT.size))
    count = memory.read(at + _OPTIONS_AT, 1)[0]
    options = bytes(memory.read(at + _OPTIONS_AT + 1, count))
    return TunnelInfo(source[:size], destination[:size], number, tos, ttl, label, flags, mode, options)
