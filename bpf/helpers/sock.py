"""What programs on sockets call.  net/core/filter.c, net/core/sock_map.c, kernel/bpf/cgroup.c of Linux 6.1.

Cookies, casts and maps of sockets.
"""

from __future__ import annotations

from arch.abi.errno import EEXIST, EINVAL, ENETUNREACH, ENOENT, EOPNOTSUPP, ESOCKTNOSUPPORT
from arch.abi.inet import IPPROTO_TCP, IPPROTO_UDP, TCP_NEW_SYN_RECV, TCP_TIME_WAIT
from arch.abi.socket import AF_INET6, AF_UNIX, SOCK_DGRAM, SOCK_STREAM, UNIX_PATH_MAX
from bpf import uapi
from bpf.helpers import Runtime, kernel_name, prototype
from bpf.maps.sock_map import SockMap
from bpf.packet.skbuff import NetDevice, SkBuff, Sock

SUN_PATH = 2  # where sockaddr_un.sun_path begins
BEGINNINGS = (4, 5, 11)  # BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB, _PASSIVE_ESTABLISHED_CB, _TCP_LISTEN_CB


def _field(rt: Runtime, path: str, base: int) -> int:
    return Sock(rt.host, base).read(base, path)


def _state(rt: Runtime, sk: int) -> int:
    return Sock(rt.host, sk).read(sk, "sock_common.skc_state")


def _is_full(rt: Runtime, sk: int) -> bool:
    return _state(rt, sk) not in (TCP_TIME_WAIT, TCP_NEW_SYN_RECV)


# -- cookies -------------------------------------------------------------------------------------------


def sock_gen_cookie(rt: Runtime, sk: int) -> int:
    """A number of its own for each socket, from 1 in the order they are asked for."""
    return rt.bpf.cookie_of(sk) if sk else 0


@prototype(
    "get_socket_cookie",
    46,
    "4.12",
    args="PTR_TO_CTX",
    given="sk_filter tc_cls_act sk_skb",
)
def bpf_get_socket_cookie(rt: Runtime, skb: int) -> int:
    """Of the packet's socket; 0 without one."""
    return sock_gen_cookie(rt, SkBuff(rt.host, skb).get("sk"))


@prototype(
    "get_socket_cookie",
    args="PTR_TO_CTX",
    func="bpf_get_socket_cookie_sock",
    proto="bpf_get_socket_cookie_sock_proto",
    given="sock_filter",
)
@prototype(
    "get_socket_cookie",
    args="PTR_TO_BTF_ID_SOCK_COMMON",
    func="bpf_get_socket_ptr_cookie",
    proto="bpf_get_socket_ptr_cookie_proto",
    given="tracing_prog sk_reuseport",
)
def bpf_get_socket_cookie_sock(rt: Runtime, sk: int) -> int:
    """Of this socket."""
    return sock_gen_cookie(rt, sk)


@prototype(
    "get_socket_cookie",
    args="PTR_TO_CTX",
    func="bpf_get_socket_cookie_sock_addr",
    proto="bpf_get_socket_cookie_sock_addr_proto",
    given="sock_addr",
)
def bpf_get_socket_cookie_sock_addr(rt: Runtime, ctx: int) -> int:
    """Of the socket whose address is set or asked for."""
    return sock_gen_cookie(rt, _field(rt, "bpf_sock_addr_kern.sk", ctx))


@kernel_name("bpf_sock_addr_set_sun_path")
def bpf_sock_addr_set_sun_path(rt: Runtime, sa_kern: int, sun_path: int, size: int) -> int:
    """Another path of a Unix socket's address, of so many bytes: never none.  EINVAL."""
    at = Sock(rt.host, sa_kern)
    if at.read(at.read(sa_kern, "bpf_sock_addr_kern.sk"), "sock_common.skc_family") != AF_UNIX:
        return -EINVAL
    if not 0 < size <= UNIX_PATH_MAX:
        return -EINVAL
    rt.mem.write(at.read(sa_kern, "bpf_sock_addr_kern.uaddr") + SUN_PATH, bytes(rt.mem.read(sun_path, size)))
    at.write(sa_kern, "bpf_sock_addr_kern.uaddrlen", SUN_PATH + size)
    return 0


@prototype(
    "get_socket_cookie",
    args="PTR_TO_CTX",
    func="bpf_get_socket_cookie_sock_ops",
    proto="bpf_get_socket_cookie_sock_ops_proto",
    given="sock_ops",
)
def bpf_get_socket_cookie_sock_ops(rt: Runtime, ctx: int) -> int:
    """Of the socket that something happens to."""
    return sock_gen_cookie(rt, _field(rt, "bpf_sock_ops_kern.sk", ctx))


# -- casts ---------------------------------------------------------------------------------------------


def _is_protocol(rt: Runtime, sk: int, protocol: int, kind: int) -> bool:
    return (
        bool(sk)
        and _is_full(rt, sk)
        and _field(rt, "sock.sk_protocol", sk) == protocol
        and _field(rt, "sock.sk_type", sk) == kind
    )


@prototype(
    "skc_to_tcp_sock",
    137,
    "5.9",
    returns="PTR_TO_BTF_ID_OR_NULL:tcp_sock",
    args="PTR_TO_BTF_ID_SOCK_COMMON",
    given="tracing_prog bpf_sk_base",
)
def bpf_skc_to_tcp_sock(rt: Runtime, sk: int) -> int:
    """The socket if it is TCP's."""
    return sk if _is_protocol(rt, sk, IPPROTO_TCP, SOCK_STREAM) else 0


@prototype(
    "skc_to_tcp6_sock",
    136,
    "5.9",
    returns="PTR_TO_BTF_ID_OR_NULL:tcp6_sock",
    args="PTR_TO_BTF_ID_SOCK_COMMON",
    given="tracing_prog bpf_sk_base",
)
def bpf_skc_to_tcp6_sock(rt: Runtime, sk: int) -> int:
    """The socket if it is TCP's over IPv6."""
    is_tcp = _is_protocol(rt, sk, IPPROTO_TCP, SOCK_STREAM)
    return sk if is_tcp and _field(rt, "sock.sk_family", sk) == AF_INET6 else 0


@prototype(
    "skc_to_udp6_sock",
    140,
    "5.9",
    returns="PTR_TO_BTF_ID_OR_NULL:udp6_sock",
    args="PTR_TO_BTF_ID_SOCK_COMMON",
    given="tracing_prog bpf_sk_base",
)
def bpf_skc_to_udp6_sock(rt: Runtime, sk: int) -> int:
    """The socket if it is UDP's over IPv6."""
    is_udp = _is_protocol(rt, sk, IPPROTO_UDP, SOCK_DGRAM)
    return sk if is_udp and _field(rt, "sock.sk_family", sk) == AF_INET6 else 0


@prototype(
    "skc_to_unix_sock",
    178,
    "5.16",
    returns="PTR_TO_BTF_ID_OR_NULL:unix_sock",
    args="PTR_TO_BTF_ID_SOCK_COMMON",
    given="tracing_prog bpf_sk_base",
)
def bpf_skc_to_unix_sock(rt: Runtime, sk: int) -> int:
    """The socket if it is a Unix one."""
    return sk if sk and _is_full(rt, sk) and _field(rt, "sock.sk_family", sk) == AF_UNIX else 0


@prototype(
    "skc_to_tcp_timewait_sock",
    138,
    "5.9",
    returns="PTR_TO_BTF_ID_OR_NULL:tcp_timewait_sock",
    args="PTR_TO_BTF_ID_SOCK_COMMON",
    given="tracing_prog bpf_sk_base",
    missing="such sockets",
)
@prototype(
    "skc_to_tcp_request_sock",
    139,
    "5.9",
    returns="PTR_TO_BTF_ID_OR_NULL:tcp_request_sock",
    args="PTR_TO_BTF_ID_SOCK_COMMON",
    given="tracing_prog bpf_sk_base",
    missing="such sockets",
)
@prototype(
    "skc_to_mptcp_sock",
    196,
    "5.19",
    returns="PTR_TO_BTF_ID_OR_NULL:mptcp_sock",
    args="PTR_TO_SOCK_COMMON",
    given="tracing_prog bpf_sk_base",
    missing="such sockets",
)
def no_such_sock(rt: Runtime) -> int:
    """No socket is any of these."""
    return 0


# -- maps ----------------------------------------------------------------------------


@prototype(
    "sock_map_update",
    53,
    "4.14",
    args="PTR_TO_CTX CONST_MAP_PTR PTR_TO_MAP_KEY ANYTHING",
    flags="pkt_access",
    given="sock_ops",
    maps="SOCKMAP",
)
@prototype(
    "sock_hash_update",
    70,
    "4.18",
    args="PTR_TO_CTX CONST_MAP_PTR PTR_TO_MAP_KEY ANYTHING",
    flags="pkt_access",
    given="sock_ops",
    maps="SOCKHASH",
)
def sock_map_update(rt: Runtime, ctx: int, map_ptr: int, key: int, flags: int) -> int:
    """Put the connection that begins, or the listener, into a map."""
    kern = Sock(rt.host, ctx)
    found = rt.map_of(map_ptr, SockMap)
    if kern.read(ctx, "bpf_sock_ops_kern.op") not in BEGINNINGS:
        return -EOPNOTSUPP
    found.update_common(bytes(rt.mem.read(key, found.key_size)), kern.read(ctx, "bpf_sock_ops_kern.sk"), flags)
    return 0


@prototype(
    "sk_select_reuseport",
    82,
    "4.19",
    args="PTR_TO_CTX CONST_MAP_PTR PTR_TO_MAP_KEY ANYTHING",
    func="sk_select_reuseport",
    proto="sk_select_reuseport_proto",
    given="sk_reuseport",
    maps="SOCKMAP SOCKHASH REUSEPORT_SOCKARRAY",
)
def sk_select_reuseport(rt: Runtime, ctx: int, map_ptr: int, key: int, flags: int) -> int:
    """Choose a socket of the group by its place in a map.  EINVAL, ENOENT, EPROTOTYPE, EAFNOSUPPORT, EBADFD."""
    if flags:
        return -EINVAL
    found, sockets = rt.bpf.map_at[map_ptr], rt.host.sockets
    chosen = found.lookup(bytes(rt.mem.read(key, found.key_size)))
    if not chosen or sockets is None:
        return -ENOENT
    kern = Sock(rt.host, ctx)
    sockarray = found.map_type == uapi.BPF_MAP_TYPE_REUSEPORT_SOCKARRAY
    error = sockets.select_reuseport(kern.read(ctx, "sk_reuseport_kern.sk"), chosen, sockarray)
    if error:
        return -error
    kern.write(ctx, "sk_reuseport_kern.selected_sk", chosen)
    return 0


@prototype(
    "sk_assign",
    124,
    "5.7",
    args="PTR_TO_CTX PTR_TO_BTF_ID_SOCK_COMMON ANYTHING",
    given="tc_cls_act",
)
def bpf_sk_assign(rt: Runtime, skb: int, sk: int, flags: int) -> int:
    """Give a packet that comes in a socket: none that shares its port.  EINVAL, EOPNOTSUPP, ENETUNREACH, ESOCKTNOSUPPORT."""
    packet, sockets = SkBuff(rt.host, skb), rt.host.sockets
    if flags or not sk:
        return -EINVAL
    if not packet.at_ingress():
        return -EOPNOTSUPP
    if NetDevice(rt.host, packet.get("dev")).get("nd_net") != Sock(rt.host, sk).read(sk, "sock_common.skc_net"):
        return -ENETUNREACH
    if sockets is None or sockets.in_group(sk):
        return -ESOCKTNOSUPPORT
    packet.set("sk", sk)
    return 0


@prototype(
    "sk_assign",
    args="PTR_TO_CTX PTR_TO_SOCKET_OR_NULL ANYTHING",
    func="bpf_sk_lookup_assign",
    proto="bpf_sk_lookup_assign_proto",
    given="sk_lookup",
)
def bpf_sk_lookup_assign(rt: Runtime, ctx: int, sk: int, flags: int) -> int:
    """Choose the socket of a lookup; NULL takes a choice back.  ESOCKTNOSUPPORT, EPROTOTYPE, EAFNOSUPPORT, EEXIST."""
    if flags & ~(uapi.BPF_SK_LOOKUP_F_REPLACE | uapi.BPF_SK_LOOKUP_F_NO_REUSEPORT):
        return -EINVAL
    kern, sockets = Sock(rt.host, ctx), rt.host.sockets
    if sk and sockets is not None:
        family, protocol = (kern.read(ctx, f"bpf_sk_lookup_kern.{name}") for name in ("family", "protocol"))
        error = sockets.assign_error(sk, family, protocol)
        if error:
            return -error
    if kern.read(ctx, "bpf_sk_lookup_kern.selected_sk") and not flags & uapi.BPF_SK_LOOKUP_F_REPLACE:
        return -EEXIST
    kern.write(ctx, "bpf_sk_lookup_kern.selected_sk", sk)
    kern.write(ctx, "bpf_sk_lookup_kern.no_reuseport", int(bool(flags & uapi.BPF_SK_LOOKUP_F_NO_REUSEPORT)))
    return 0


@prototype(
    "tcp_send_ack",
    116,
    "5.6",
    args="PTR_TO_BTF_ID:tcp_sock ANYTHING",
    given="bpf_tcp_ca_get",
    missing="what it works on",
)
@prototype(
    "rc_repeat",
    77,
    "4.18",
    args="PTR_TO_CTX",
    flags="gpl_only",
    proto="rc_repeat_proto",
    given="lirc_mode2",
    missing="what it works on",
)
@prototype(
    "rc_keydown",
    78,
    "4.18",
    args="PTR_TO_CTX ANYTHING ANYTHING ANYTHING",
    flags="gpl_only",
    proto="rc_keydown_proto",
    given="lirc_mode2",
    missing="what it works on",
)
@prototype(
    "rc_pointer_rel",
    92,
    "5.0",
    args="PTR_TO_CTX ANYTHING ANYTHING",
    flags="gpl_only",
    proto="rc_pointer_rel_proto",
    given="lirc_mode2",
    missing="what it works on",
)
def not_simulated(rt: Runtime) -> int:
    """What this works on does not exist here."""
    return -EINVAL


@prototype(
    "sock_ops_cb_flags_set",
    59,
    "4.16",
    args="PTR_TO_CTX ANYTHING",
    given="sock_ops",
)
def bpf_sock_ops_cb_flags_set(rt: Runtime, ctx: int, flags: int) -> int:
    """What else the program wants to hear of; the flags that are not known."""
    sk = _field(rt, "bpf_sock_ops_kern.sk", ctx)
    if not _field(rt, "bpf_sock_ops_kern.is_fullsock", ctx):
        return -EINVAL
    value = flags & uapi.BPF_SOCK_OPS_ALL_CB_FLAGS
    Sock(rt.host, sk).write(sk, "tcp_sock.bpf_sock_ops_cb_flags", value)
    return flags & ~uapi.BPF_SOCK_OPS_ALL_CB_FLAGS & 0xFFFFFFFF
