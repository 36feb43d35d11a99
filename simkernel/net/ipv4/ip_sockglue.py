"""Options and control messages of IPPROTO_IP.  net/ipv4/ip_sockglue.c."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.capability import CAP_NET_ADMIN, CAP_NET_RAW
from arch.abi.errno import (
    EADDRNOTAVAIL,
    EINVAL,
    EMSGSIZE,
    ENOPROTOOPT,
    ENOTCONN,
    EPERM,
)
from arch.abi.inet import (
    INADDR_ANY,
    IP_BIND_ADDRESS_NO_PORT,
    IP_CHECKSUM,
    IP_FREEBIND,
    IP_HDRINCL,
    IP_IPSEC_POLICY,
    IP_LOCAL_PORT_RANGE,
    IP_MINTTL,
    IP_MSFILTER,
    IP_MTU,
    IP_MTU_DISCOVER,
    IP_MULTICAST_ALL,
    IP_MULTICAST_IF,
    IP_MULTICAST_LOOP,
    IP_MULTICAST_TTL,
    IP_NODEFRAG,
    IP_OPTIONS,
    IP_ORIGDSTADDR,
    IP_PASSSEC,
    IP_PKTINFO,
    IP_PKTOPTIONS,
    IP_PROTOCOL,
    IP_RECVERR,
    IP_RECVERR_RFC4884,
    IP_RECVFRAGSIZE,
    IP_RECVOPTS,
    IP_RECVTOS,
    IP_RECVTTL,
    IP_RETOPTS,
    IP_ROUTER_ALERT,
    IP_TOS,
    IP_TRANSPARENT,
    IP_TTL,
    IP_UNICAST_IF,
    IP_XFRM_POLICY,
    MCAST_MSFILTER,
    TCP_ESTABLISHED,
)
from arch.abi.socket import AF_INET, SOCK_RAW, SOCK_STREAM, SOL_IP, SOL_SOCKET
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.net.core.control import receive_control, sock_cmsg_send
from simkernel.net.core.message import Message, sockaddr_in
from simkernel.net.core.skb import Skb
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.devinet import by_address
from simkernel.net.ipv4.ip_groups import GROUP_SETTERS, IP_MSFILTER_SIZE, get_filter
from simkernel.net.ipv4.route import simple_output
from simkernel.net.ipv4.udp_offload import tell_segments

IPOPT_NOOP = 1
FLAGS = (
    IP_PKTINFO, IP_RECVTTL, IP_RECVOPTS, IP_RECVTOS, IP_RETOPTS, IP_PASSSEC, IP_ORIGDSTADDR, IP_CHECKSUM, IP_RECVFRAGSIZE,
    IP_BIND_ADDRESS_NO_PORT, IP_MULTICAST_ALL, IP_ROUTER_ALERT, IP_NODEFRAG, IP_RECVERR_RFC4884,
)  # fmt: skip


@dataclass(slots=True)
class Extra:
    """struct ipcm_cookie: what the control messages of a sender ask for."""

    source: bytes = b""
    ifindex: int = 0
    ttl: int = 0
    tos: int = 0


def ip_cmsg_send(k: NetKernel, sk: Sock, message: Message) -> Extra:
    """EINVAL."""
    extra, order = Extra(), k.mem.byteorder
    for level, kind, data in message.controls():
        if level == SOL_SOCKET:
            sock_cmsg_send(k, sk, kind, data)
        if level != SOL_IP:
            continue
        if kind == IP_PKTINFO and len(data) == 12:
            extra.ifindex = int.from_bytes(data[:4], order) or extra.ifindex
            extra.source = data[4:8] if data[4:8] != INADDR_ANY else b""
        elif kind == IP_TTL and len(data) == 4:
            extra.ttl = int.from_bytes(data, order, signed=True)
            if not 1 <= extra.ttl <= 255:
                raise KernelError(EINVAL)
        elif kind == IP_TOS and len(data) in (1, 4):
            extra.tos = int.from_bytes(data, order, signed=True)
            if not 0 <= extra.tos <= 255:
                raise KernelError(EINVAL)
        elif kind != IP_RETOPTS:
            raise KernelError(EINVAL)
    return extra


def ip_cmsg_recv(k: NetKernel, message: Message, sk: Sock, packet: Skb) -> None:
    """What a receiver wants to know of a packet."""
    receive_control(k, message, sk, packet)
    tell_segments(k, message, sk, packet)
    if not sk.cmsg_flags:
        return
    order = k.mem.byteorder
    head = packet.mem.read(packet.network_header(), 20)
    flags = sk.cmsg_flags
    if IP_PKTINFO in flags:
        own = packet.dst.source if packet.dst is not None and not packet.dst.input else head[16:20]
        local = own if packet.dst is None or packet.dst.kind == 2 else sk.laddr
        info = packet.iif.to_bytes(4, order) + (local if len(local) == 4 else head[16:20]) + head[16:20]
        message.put_control(SOL_IP, IP_PKTINFO, info)
    if IP_RECVTTL in flags:
        message.put_control(SOL_IP, IP_TTL, head[8].to_bytes(4, order))
    if IP_RECVTOS in flags:
        message.put_control(SOL_IP, IP_TOS, head[1:2])
    if IP_ORIGDSTADDR in flags:
        at = packet.get("head") + packet.get("transport_header")
        port = int.from_bytes(packet.mem.read(at + 2, 2), "big")
        message.put_control(SOL_IP, IP_ORIGDSTADDR, sockaddr_in(k, head[16:20], port))
    if IP_RECVFRAGSIZE in flags and packet.fragment_size:
        message.put_control(SOL_IP, IP_RECVFRAGSIZE, packet.fragment_size.to_bytes(4, order))


# -- options -----------------------------------------------------------------------------------------------------------


def _value(k: NetKernel, data: bytes) -> int:
    """An int, or one byte."""
    if len(data) >= 4:
        return int.from_bytes(data[:4], k.mem.byteorder, signed=True)
    return data[0] if data else 0


def knows_ip_option(name: int) -> bool:
    """One of the options that can be set."""
    return name in SETTERS or name in FLAGS


def set_ip_option(k: NetKernel, sk: Sock, name: int, data: bytes) -> int:
    """do_ip_setsockopt().  ENOPROTOOPT, EINVAL and those of each."""
    setter = SETTERS.get(name)
    if setter is not None:
        return setter(k, sk, data)
    if name in FLAGS:
        value = int(bool(_value(k, data)))
        if name in (IP_MULTICAST_ALL, IP_RECVERR_RFC4884) and _value(k, data) not in (0, 1):
            return -EINVAL
        if name == IP_MULTICAST_ALL and not data:
            return -EINVAL
        if name == IP_NODEFRAG and sk.type != SOCK_RAW:
            return -ENOPROTOOPT
        if (name == IP_ROUTER_ALERT and sk.type != SOCK_RAW) or (name == IP_RECVFRAGSIZE and sk.type == SOCK_STREAM):
            return -EINVAL
        sk.options[SOL_IP, name] = value
        if name in RECEIVED:
            (sk.cmsg_flags.add if value else sk.cmsg_flags.discard)(name)
        return 0
    return -ENOPROTOOPT


RECEIVED = (IP_PKTINFO, IP_RECVTTL, IP_RECVTOS, IP_ORIGDSTADDR, IP_RECVFRAGSIZE, IP_RECVOPTS, IP_RETOPTS, IP_CHECKSUM)


def _set_tos(k: NetKernel, sk: Sock, data: bytes) -> int:
    value = _value(k, data) & 0xFF
    if sk.type == SOCK_STREAM:
        value = value & ~3 | sk.tos & 3
    sk.tos = value
    return 0


def _show(sk: Sock, member: str, value: int) -> None:
    """In struct inet_sock, where programs read it."""
    if sk.inet is not None and sk.k.types.has_member("struct inet_sock", member):
        sk.inet[member] = value


def _set_ttl(k: NetKernel, sk: Sock, data: bytes) -> int:
    if not data:
        return -EINVAL
    value = _value(k, data)
    if value != -1 and not 1 <= value <= 255:
        return -EINVAL
    sk.uc_ttl = value
    _show(sk, "uc_ttl", value)
    return 0


def _set_hdrincl(k: NetKernel, sk: Sock, data: bytes) -> int:
    if sk.type != SOCK_RAW:
        return -ENOPROTOOPT
    sk.hdrincl = bool(_value(k, data))
    return 0


def _set_discover(k: NetKernel, sk: Sock, data: bytes) -> int:
    value = _value(k, data)
    if not 0 <= value <= 5:
        return -EINVAL
    sk.pmtudisc = value
    _show(sk, "pmtudisc", value)
    return 0


def _set_recverr(k: NetKernel, sk: Sock, data: bytes) -> int:
    sk.recverr = bool(_value(k, data))
    if not sk.recverr:
        sk.drop_errors(k)
    return 0


def _set_mc_ttl(k: NetKernel, sk: Sock, data: bytes) -> int:
    if sk.type == SOCK_STREAM or not data:
        return -EINVAL
    value = _value(k, data)
    value = 1 if value == -1 else value
    if not 0 <= value <= 255:
        return -EINVAL
    sk.mc_ttl = value
    _show(sk, "mc_ttl", value)
    return 0


def _set_mc_loop(k: NetKernel, sk: Sock, data: bytes) -> int:
    if not data:
        return -EINVAL
    sk.mc_loop = bool(_value(k, data))
    return 0


def _set_mc_if(k: NetKernel, sk: Sock, data: bytes) -> int:
    if sk.type == SOCK_STREAM or len(data) < 4:
        return -EINVAL
    address, ifindex = data[:4], 0
    if len(data) >= 12:
        address, ifindex = data[4:8], int.from_bytes(data[8:12], k.mem.byteorder)
    elif len(data) >= 8:
        address = data[4:8]
    if not ifindex:
        if address == INADDR_ANY:
            sk.mc_index, sk.mc_addr = 0, INADDR_ANY
            return 0
        dev = by_address(sk.net, address)
    else:
        dev = sk.net.devices.get(ifindex)
    if dev is None:
        return -EADDRNOTAVAIL
    sk.mc_index, sk.mc_addr = dev.ifindex, address
    return 0


def _set_unicast_if(k: NetKernel, sk: Sock, data: bytes) -> int:
    if len(data) != 4:
        return -EINVAL
    index = int.from_bytes(data, "big")
    if index and index not in sk.net.devices:
        return -EADDRNOTAVAIL
    sk.uc_index = index
    return 0


def _set_freebind(k: NetKernel, sk: Sock, data: bytes) -> int:
    if not data:
        return -EINVAL
    sk.freebind = bool(_value(k, data))
    return 0


def _set_transparent(k: NetKernel, sk: Sock, data: bytes) -> int:
    value = bool(_value(k, data))
    if value and not (sk.capable(k, CAP_NET_RAW) or sk.capable(k, CAP_NET_ADMIN)):
        return -EPERM
    if not data:
        return -EINVAL
    sk.transparent = value
    return 0


def _set_minttl(k: NetKernel, sk: Sock, data: bytes) -> int:
    value = _value(k, data)
    if not data or not 0 <= value <= 255:
        return -EINVAL
    sk.options[SOL_IP, IP_MINTTL] = value
    return 0


def _set_options(k: NetKernel, sk: Sock, data: bytes) -> int:
    """IP_OPTIONS: only their taking away is done, and options that do nothing (IPOPT_END, IPOPT_NOOP)."""
    if len(data) > 40:
        return -EINVAL
    if any(byte > IPOPT_NOOP for byte in data):
        return -EINVAL
    end = data.find(0)
    data = data if end < 0 else data[:end].ljust(len(data), b"\0")
    sk.structs[SOL_IP, IP_OPTIONS] = data.ljust((len(data) + 3) & ~3, b"\0")
    return 0


def _set_port_range(k: NetKernel, sk: Sock, data: bytes) -> int:
    if k.version.before("6.1"):  # 6.3's, which Debian's 6.1 has
        return -ENOPROTOOPT
    if len(data) != 4:
        return -EINVAL
    value = int.from_bytes(data, k.mem.byteorder)
    low, high = value & 0xFFFF, value >> 16
    if low and high and low > high:
        return -EINVAL
    sk.options[SOL_IP, IP_LOCAL_PORT_RANGE] = value
    return 0


def set_ipsec_policy(k: NetKernel, sk: Sock, data: bytes) -> int:
    """xfrm_user_policy(): there is no IPsec here.  EMSGSIZE, EPERM, EINVAL."""
    if not sk.capable(k, CAP_NET_ADMIN):
        return -EPERM
    return -EINVAL if data else -EMSGSIZE


Setter = Callable[[NetKernel, Sock, bytes], int]
SETTERS: dict[int, Setter] = {
    IP_TOS: _set_tos, IP_TTL: _set_ttl, IP_HDRINCL: _set_hdrincl, IP_MTU_DISCOVER: _set_discover, IP_RECVERR: _set_recverr,
    IP_MULTICAST_TTL: _set_mc_ttl, IP_MULTICAST_LOOP: _set_mc_loop, IP_MULTICAST_IF: _set_mc_if, IP_UNICAST_IF: _set_unicast_if,
    IP_FREEBIND: _set_freebind, IP_TRANSPARENT: _set_transparent, IP_MINTTL: _set_minttl, IP_OPTIONS: _set_options,
    IP_LOCAL_PORT_RANGE: _set_port_range, IP_IPSEC_POLICY: set_ipsec_policy, IP_XFRM_POLICY: set_ipsec_policy,
    **GROUP_SETTERS,
}  # fmt: skip


def get_ip_option(k: NetKernel, sk: Sock, name: int, asked: bytes = b"") -> bytes | int:
    """do_ip_getsockopt(): the value, or -errno; `asked`: what the program's buffer holds."""
    values: dict[int, Callable[[], int]] = {
        IP_TOS: lambda: sk.tos,
        IP_TTL: lambda: sk.uc_ttl if sk.uc_ttl >= 0 else int(sk.net.sysctl["ipv4.ip_default_ttl"]),
        IP_HDRINCL: lambda: int(sk.hdrincl),
        IP_MTU_DISCOVER: lambda: sk.pmtudisc,
        IP_RECVERR: lambda: int(sk.recverr),
        IP_MULTICAST_TTL: lambda: sk.mc_ttl,
        IP_MULTICAST_LOOP: lambda: int(sk.mc_loop),
        IP_FREEBIND: lambda: int(sk.freebind or sk.transparent),
        IP_TRANSPARENT: lambda: int(sk.transparent),
        IP_MULTICAST_ALL: lambda: sk.options.get((SOL_IP, IP_MULTICAST_ALL), int(sk.family == AF_INET)),
        IP_MINTTL: lambda: sk.options.get((SOL_IP, IP_MINTTL), 0),
    }
    order = k.mem.byteorder
    if name == IP_MULTICAST_IF:
        return sk.mc_addr
    if name == IP_UNICAST_IF:
        return sk.uc_index.to_bytes(4, "big")
    if name in (IP_OPTIONS, IP_PKTOPTIONS):
        return sk.structs.get((SOL_IP, name), b"") if name == IP_OPTIONS or sk.type == SOCK_STREAM else -ENOPROTOOPT
    if name in (IP_MSFILTER, MCAST_MSFILTER):
        return -EINVAL if len(asked) < IP_MSFILTER_SIZE else get_filter(k, sk, name, asked)
    if name == IP_MTU:
        if sk.state != TCP_ESTABLISHED and not sk.rport:
            return -ENOTCONN
        return simple_output(k, sk.net, sk.raddr, sk.laddr, sk.bound_ifindex).mtu_capped.to_bytes(4, order)
    if name == IP_LOCAL_PORT_RANGE and k.version.at_least("6.1"):
        return sk.options.get((SOL_IP, name), 0).to_bytes(4, order)
    if name in values:
        return (values[name]() & 0xFFFFFFFF).to_bytes(4, order)
    if name == IP_PROTOCOL:
        return (sk.protocol if sk.type == SOCK_RAW else sk.lport).to_bytes(4, order)  # inet_num
    if name in FLAGS and (name != IP_ROUTER_ALERT or sk.type == SOCK_RAW):
        return sk.options.get((SOL_IP, name), 0).to_bytes(4, order)
    return -ENOPROTOOPT
