"""Options of sockets, binding, and who owns a socket.  net/core/filter.c of Linux 6.1."""

from __future__ import annotations

from arch.abi.errno import EAFNOSUPPORT, EINVAL, ENOPROTOOPT, ENOSPC
from arch.abi.in6 import IPV6_AUTOFLOWLABEL, IPV6_TCLASS, SIN6_LEN_RFC2133
from arch.abi.inet import TCP_NEW_SYN_RECV, TCP_TIME_WAIT
from arch.abi.limits import OVERFLOWUID, U32_MAX
from arch.abi.socket import (
    AF_INET,
    AF_INET6,
    SO_BINDTODEVICE,
    SO_BINDTOIFINDEX,
    SO_KEEPALIVE,
    SO_MARK,
    SO_MAX_PACING_RATE,
    SO_PRIORITY,
    SO_RCVBUF,
    SO_RCVLOWAT,
    SO_REUSEADDR,
    SO_REUSEPORT,
    SO_SNDBUF,
    SO_TXREHASH,
    SOCKADDR_IN_SIZE,
    SOL_IP,
    SOL_IPV6,
    SOL_SOCKET,
    SOL_TCP,
    TCP_CONGESTION,
    TCP_SAVED_SYN,
)
from bpf.helpers import Runtime, prototype, signed
from bpf.helpers.tcp_header import (
    SYN_OPTIONS,
    TCP_BPF_DELACK_MAX,
    TCP_BPF_IW,
    TCP_BPF_RTO_MIN,
    TCP_BPF_SNDCWND_CLAMP,
    syn_headers,
)
from bpf.packet.skbuff import SkBuff, Sock

INT = 4  # bytes
IP_TOS = 1
# options of TCP that only programs set, and since when
TCP_BPF_OPTIONS = {
    TCP_BPF_IW: "4.13",
    TCP_BPF_SNDCWND_CLAMP: "4.13",
    TCP_BPF_DELACK_MAX: "5.10",
    TCP_BPF_RTO_MIN: "5.10",
}
SOCKADDR_SIZES = {AF_INET: SOCKADDR_IN_SIZE, AF_INET6: SIN6_LEN_RFC2133}  # the least that bpf_bind() takes
SOCKET_OPTIONS = frozenset((
    SO_REUSEADDR, SO_SNDBUF, SO_RCVBUF, SO_KEEPALIVE, SO_PRIORITY, SO_REUSEPORT, SO_RCVLOWAT, SO_MARK, SO_MAX_PACING_RATE,
    SO_BINDTOIFINDEX, SO_TXREHASH,
))  # fmt: skip
# include/uapi/linux/tcp.h: NODELAY, MAXSEG, KEEPIDLE, KEEPINTVL, KEEPCNT, SYNCNT, WINDOW_CLAMP, THIN_LINEAR_TIMEOUTS,
# USER_TIMEOUT, NOTSENT_LOWAT, SAVE_SYN
TCP_OPTIONS = frozenset((1, 2, 4, 5, 6, 7, 10, 16, 18, 25, 27))


def _field(rt: Runtime, path: str, base: int) -> int:
    return Sock(rt.host, base).read(base, path)


def _full(rt: Runtime, sk: int) -> bool:
    """sk_fullsock()."""
    return bool(sk) and _field(rt, "sock_common.skc_state", sk) not in (TCP_TIME_WAIT, TCP_NEW_SYN_RECV)


def _known(rt: Runtime, level: int, name: int, size: int, setting: bool) -> int:
    """Which options programs may ask for, and how long their values are: 0 or -errno."""
    if level == SOL_SOCKET:
        if name == SO_BINDTODEVICE:
            return 0 if setting else -EINVAL
        return 0 if name in SOCKET_OPTIONS and size == INT else -EINVAL
    if level == SOL_IP:
        return 0 if name == IP_TOS and size == INT else -EINVAL
    if level == SOL_IPV6:
        return 0 if name in (IPV6_TCLASS, IPV6_AUTOFLOWLABEL) and size == INT else -EINVAL
    if level == SOL_TCP:
        if name == TCP_CONGESTION:
            return 0 if size >= 2 else -EINVAL
        if name == TCP_SAVED_SYN:
            return 0 if size >= 1 and not setting else -EINVAL
        own = setting and name in TCP_BPF_OPTIONS and rt.host.version.at_least(TCP_BPF_OPTIONS[name])
        return 0 if (own or name in TCP_OPTIONS) and size == INT else -EINVAL
    return -EINVAL


def _set(rt: Runtime, sk: int, level: int, name: int, value: int, size: int) -> int:
    """__bpf_setsockopt()."""
    level, name, size = signed(level, 32), signed(name, 32), signed(size, 32)
    sockets = rt.host.sockets
    if sockets is None:
        return -ENOPROTOOPT
    if not _full(rt, sk):
        return -EINVAL
    error = _known(rt, level, name, size, True)
    return error or sockets.setsockopt(sk, level, name, bytes(rt.mem.read(value, size)))


def _get(rt: Runtime, sk: int, level: int, name: int, value: int, size: int) -> int:
    """_bpf_getsockopt(): what cannot be told leaves zeros."""
    level, name, size = signed(level, 32), signed(name, 32), signed(size, 32)
    sockets = rt.host.sockets
    found: bytes | int = -ENOPROTOOPT
    if sockets is not None:
        error = _known(rt, level, name, size, False) if _full(rt, sk) else -EINVAL
        found = error or sockets.getsockopt(sk, level, name)
        if name == TCP_SAVED_SYN and isinstance(found, bytes) and size > len(found):
            found = -EINVAL
    rt.mem.write(value, found[:size].ljust(size, b"\0") if isinstance(found, bytes) else bytes(max(size, 0)))
    return found if isinstance(found, int) else 0


@prototype(
    "setsockopt",
    49,
    "4.13",
    args="PTR_TO_BTF_ID_SOCK_COMMON ANYTHING ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE",
    func="bpf_sk_setsockopt",
    proto="bpf_sk_setsockopt_proto",
    given="bpf_iter_unix_get bpf_iter_tcp_get",
)
@prototype(
    "setsockopt",
    args="PTR_TO_BTF_ID_SOCK_COMMON ANYTHING ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE",
    func="bpf_unlocked_sk_setsockopt",
    proto="bpf_unlocked_sk_setsockopt_proto",
)
@prototype(
    "setsockopt",
    args="PTR_TO_CTX ANYTHING ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE",
    func="bpf_sock_create_setsockopt",
    proto="bpf_sock_create_setsockopt_proto",
)
def bpf_sk_setsockopt(rt: Runtime, sk: int, level: int, name: int, value: int, size: int) -> int:
    """Of this socket."""
    return _set(rt, sk, level, name, value, size)


@prototype(
    "setsockopt",
    args="PTR_TO_CTX ANYTHING ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE",
    func="bpf_sock_addr_setsockopt",
    proto="bpf_sock_addr_setsockopt_proto",
)
def bpf_sock_addr_setsockopt(rt: Runtime, ctx: int, level: int, name: int, value: int, size: int) -> int:
    """Of the socket whose address is set or asked for."""
    return _set(rt, _field(rt, "bpf_sock_addr_kern.sk", ctx), level, name, value, size)


@prototype(
    "setsockopt",
    args="PTR_TO_CTX ANYTHING ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE",
    func="bpf_sock_ops_setsockopt",
    proto="bpf_sock_ops_setsockopt_proto",
    given="sock_ops",
)
def bpf_sock_ops_setsockopt(rt: Runtime, ctx: int, level: int, name: int, value: int, size: int) -> int:
    """Of the socket that something happens to."""
    return _set(rt, _field(rt, "bpf_sock_ops_kern.sk", ctx), level, name, value, size)


def _get_syn(rt: Runtime, ctx: int, name: int, value: int, size: int) -> int:
    found = syn_headers(rt, ctx, name)
    raw = found if isinstance(found, bytes) else b""
    rt.mem.write(value, raw[:size].ljust(size, b"\0"))
    if isinstance(found, int):
        return found
    return len(raw) if size >= len(raw) else -ENOSPC


@prototype(
    "getsockopt",
    57,
    "4.15",
    args="PTR_TO_BTF_ID_SOCK_COMMON ANYTHING ANYTHING PTR_TO_UNINIT_MEM CONST_SIZE",
    func="bpf_sk_getsockopt",
    proto="bpf_sk_getsockopt_proto",
    given="bpf_iter_unix_get bpf_iter_tcp_get",
)
@prototype(
    "getsockopt",
    args="PTR_TO_BTF_ID_SOCK_COMMON ANYTHING ANYTHING PTR_TO_UNINIT_MEM CONST_SIZE",
    func="bpf_unlocked_sk_getsockopt",
    proto="bpf_unlocked_sk_getsockopt_proto",
)
@prototype(
    "getsockopt",
    args="PTR_TO_CTX ANYTHING ANYTHING PTR_TO_UNINIT_MEM CONST_SIZE",
    func="bpf_sock_create_getsockopt",
    proto="bpf_sock_create_getsockopt_proto",
)
def bpf_sk_getsockopt(rt: Runtime, sk: int, level: int, name: int, value: int, size: int) -> int:
    """Of this socket."""
    return _get(rt, sk, level, name, value, size)


@prototype(
    "getsockopt",
    args="PTR_TO_CTX ANYTHING ANYTHING PTR_TO_UNINIT_MEM CONST_SIZE",
    func="bpf_sock_addr_getsockopt",
    proto="bpf_sock_addr_getsockopt_proto",
)
def bpf_sock_addr_getsockopt(rt: Runtime, ctx: int, level: int, name: int, value: int, size: int) -> int:
    """Of the socket whose address is set or asked for."""
    return _get(rt, _field(rt, "bpf_sock_addr_kern.sk", ctx), level, name, value, size)


@prototype(
    "getsockopt",
    args="PTR_TO_CTX ANYTHING ANYTHING PTR_TO_UNINIT_MEM CONST_SIZE",
    func="bpf_sock_ops_getsockopt",
    proto="bpf_sock_ops_getsockopt_proto",
    given="sock_ops",
)
def bpf_sock_ops_getsockopt(rt: Runtime, ctx: int, level: int, name: int, value: int, size: int) -> int:
    """Of the socket that something happens to; the headers of the SYN that a connection began with, or that is answered now."""
    if signed(level, 32) == SOL_TCP and name & U32_MAX in SYN_OPTIONS:
        return _get_syn(rt, ctx, name & U32_MAX, value, signed(size, 32))
    return _get(rt, _field(rt, "bpf_sock_ops_kern.sk", ctx), level, name, value, size)


@prototype(
    "bind",
    64,
    "4.17",
    args="PTR_TO_CTX PTR_TO_MEM|MEM_RDONLY CONST_SIZE",
)
def bpf_bind(rt: Runtime, ctx: int, address: int, size: int) -> int:
    """Bind to an address of this machine before connect()."""
    size = signed(size, 32)
    if size < 2:
        return -EINVAL
    raw, sockets = bytes(rt.mem.read(address, size)), rt.host.sockets
    least = SOCKADDR_SIZES.get(int.from_bytes(raw[:2], rt.mem.byteorder))
    if least is None or sockets is None:
        return -EAFNOSUPPORT
    return sockets.bind(_field(rt, "bpf_sock_addr_kern.sk", ctx), raw) if size >= least else -EINVAL


# -- owners --------------------------------------------------------------------------------------------


def _group(rt: Runtime, sk: int, level: int | None) -> int:
    sockets = rt.host.sockets
    return sockets.cgroup_id(sk, level) if sockets is not None and _full(rt, sk) else 0


@prototype(
    "skb_cgroup_id",
    79,
    "4.18",
    args="PTR_TO_CTX",
    given="cg_skb tc_cls_act",
)
def bpf_skb_cgroup_id(rt: Runtime, skb: int) -> int:
    """Of the packet's socket; 0 without one."""
    return _group(rt, SkBuff(rt.host, skb).get("sk"), None)


@prototype(
    "skb_ancestor_cgroup_id",
    83,
    "4.19",
    args="PTR_TO_CTX ANYTHING",
    given="cg_skb tc_cls_act",
)
def bpf_skb_ancestor_cgroup_id(rt: Runtime, skb: int, level: int) -> int:
    """The same of the group above at that level."""
    return _group(rt, SkBuff(rt.host, skb).get("sk"), signed(level, 32))


@prototype(
    "sk_cgroup_id",
    128,
    "5.8",
    args="PTR_TO_BTF_ID_SOCK_COMMON",
    given="cg_skb",
)
def bpf_sk_cgroup_id(rt: Runtime, sk: int) -> int:
    """Of the group in which the socket was made."""
    return _group(rt, sk, None)


@prototype(
    "sk_ancestor_cgroup_id",
    129,
    "5.8",
    args="PTR_TO_BTF_ID_SOCK_COMMON ANYTHING",
    given="cg_skb",
)
def bpf_sk_ancestor_cgroup_id(rt: Runtime, sk: int, level: int) -> int:
    """The same of the group above at that level."""
    return _group(rt, sk, signed(level, 32))


@prototype(
    "get_socket_uid",
    47,
    "4.12",
    args="PTR_TO_CTX",
    given="sk_filter tc_cls_act sk_skb",
)
def bpf_get_socket_uid(rt: Runtime, skb: int) -> int:
    """Of the owner of the packet's socket; the overflow uid without one."""
    sk, sockets = SkBuff(rt.host, skb).get("sk"), rt.host.sockets
    if not _full(rt, sk):
        return OVERFLOWUID
    return 0 if sockets is None else sockets.uid(sk)  # without a network it is a test run's own, and root's
