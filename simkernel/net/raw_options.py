"""Options of raw sockets at their own levels.  net/ipv4/raw.c: raw_setsockopt(); net/ipv6/raw.c: rawv6_setsockopt()."""

from __future__ import annotations

from arch.abi.errno import EINVAL, ENOPROTOOPT, EOPNOTSUPP
from arch.abi.in6 import ICMPV6_FILTER, IPV6_CHECKSUM, IPV6_HDRINCL
from arch.abi.inet import ICMP_FILTER, IPPROTO_ICMP, IPPROTO_ICMPV6
from arch.abi.socket import SOL_ICMPV6
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel

ICMP_WORDS, ICMPV6_WORDS = 1, 8  # of 32 bits: a bit for each type that is not wanted


def set_raw_option(k: NetKernel, sk: Sock, level: int, name: int, data: bytes) -> int:
    """SOL_RAW, SOL_ICMPV6.  ENOPROTOOPT, EOPNOTSUPP (it is not ICMP's), EINVAL."""
    if level == SOL_ICMPV6 or sk.ip6 is None:
        refused = _filtered(sk, level, name)
        if not refused:
            _keep(k, sk, data)
        return refused
    if len(data) < 4:
        return -EINVAL
    value = int.from_bytes(data[:4], k.mem.byteorder, signed=True)
    if name == IPV6_HDRINCL:
        sk.hdrincl = bool(value)
        return 0
    if name != IPV6_CHECKSUM:
        return -ENOPROTOOPT
    if value > 0 and value & 1:
        return -EINVAL
    sk.np.checksum_at = max(value, -1)
    return 0


def get_raw_option(k: NetKernel, sk: Sock, level: int, name: int) -> bytes | int:
    """The value, or -errno."""
    if level == SOL_ICMPV6 or sk.ip6 is None:
        refused = _filtered(sk, level, name)
        if refused:
            return refused
        words = ICMP_WORDS if sk.ip6 is None else ICMPV6_WORDS
        kept = sk.icmp_filter if sk.ip6 is None else sk.np.icmp_filter
        return b"".join((kept >> 32 * i & 0xFFFFFFFF).to_bytes(4, k.mem.byteorder) for i in range(words))
    if name == IPV6_HDRINCL:
        return int(sk.hdrincl).to_bytes(4, k.mem.byteorder)
    if name == IPV6_CHECKSUM:
        return (sk.np.checksum_at & 0xFFFFFFFF).to_bytes(4, k.mem.byteorder)
    return -ENOPROTOOPT


def _filtered(sk: Sock, level: int, name: int) -> int:
    """0 where this is the filter of its protocol's types."""
    mine, wanted = (IPPROTO_ICMPV6, ICMPV6_FILTER) if level == SOL_ICMPV6 else (IPPROTO_ICMP, ICMP_FILTER)
    if level == SOL_ICMPV6:
        return -EOPNOTSUPP if sk.protocol != mine else 0 if name == wanted else -ENOPROTOOPT
    return -ENOPROTOOPT if name != wanted else 0 if sk.protocol == mine else -EOPNOTSUPP


def _keep(k: NetKernel, sk: Sock, data: bytes) -> None:
    """What is given; the rest of the filter stays."""
    words = ICMP_WORDS if sk.ip6 is None else ICMPV6_WORDS
    old = sk.icmp_filter if sk.ip6 is None else sk.np.icmp_filter
    raw = b"".join((old >> 32 * i & 0xFFFFFFFF).to_bytes(4, k.mem.byteorder) for i in range(words))
    data = data[: len(raw)] + raw[len(data) :]
    value = sum(int.from_bytes(data[4 * i : 4 * i + 4], k.mem.byteorder) << 32 * i for i in range(words))
    if sk.ip6 is None:
        sk.icmp_filter = value
    else:
        sk.np.icmp_filter = value
