"""Options of UDP and UDP-Lite, at either's level.  net/ipv4/udp.c."""

from __future__ import annotations

from arch.abi.errno import EINVAL, ENOPROTOOPT
from arch.abi.inet import IPPROTO_UDPLITE
from arch.abi.socket import (
    SOL_UDP,
    SOL_UDPLITE,
    UDP_CORK,
    UDP_ENCAP,
    UDP_GRO,
    UDP_NO_CHECK6_RX,
    UDP_NO_CHECK6_TX,
    UDP_SEGMENT,
    UDPLITE_RECV_CSCOV,
    UDPLITE_SEND_CSCOV,
)
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.udp_coverage import covered

UDP_LEVELS = (SOL_UDP, SOL_UDPLITE)
UDP_ENCAP_L2TPINUDP = 3  # the last kind of it that is known
COVERAGE = (UDPLITE_SEND_CSCOV, UDPLITE_RECV_CSCOV)
OPTIONS = (UDP_CORK, UDP_ENCAP, UDP_NO_CHECK6_TX, UDP_NO_CHECK6_RX, UDP_SEGMENT, UDP_GRO)


def set_udp_option(k: NetKernel, sk: Sock, optname: int, data: bytes) -> int:
    """udp_lib_setsockopt().  ENOPROTOOPT, EINVAL."""
    if len(data) < 4:
        return -EINVAL
    value = int.from_bytes(data[:4], k.mem.byteorder, signed=True)
    if optname == UDP_SEGMENT and not 0 <= value <= 0xFFFF:
        return -EINVAL
    if optname in COVERAGE and sk.protocol == IPPROTO_UDPLITE:
        sk.options[SOL_UDP, optname] = covered(value)
        return 0
    if optname not in OPTIONS or (optname == UDP_ENCAP and not 0 <= value <= UDP_ENCAP_L2TPINUDP):
        return -ENOPROTOOPT
    sk.options[SOL_UDP, optname] = value if optname in (UDP_SEGMENT, UDP_ENCAP) else int(bool(value))
    return 0


def uncorks(sk: Sock, optname: int) -> bool:
    """What an option that was set lets go."""
    return optname == UDP_CORK and sk.corked is not None and not sk.options.get((SOL_UDP, UDP_CORK))


def get_udp_option(k: NetKernel, sk: Sock, optname: int) -> bytes | int:
    """udp_lib_getsockopt(): UDP has a coverage, too, which nobody can set.  ENOPROTOOPT."""
    known = optname in OPTIONS or optname in COVERAGE
    return sk.options.get((SOL_UDP, optname), 0).to_bytes(4, k.mem.byteorder) if known else -ENOPROTOOPT
