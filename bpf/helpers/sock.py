"""What programs on sockets call.  net/core/filter.c, net/core/sock_map.c, kernel/bpf/cgroup.c of Linux 6.1.

A program meets a socket only as the context or as its packet's socket.  Cookies and casts are answered from the
socket; options, socket maps and TCP headers, which no simulated socket has, are answered with the kernel's errno.
"""

from __future__ import annotations

from arch.abi.errno import EINVAL, ENOENT, ENOPROTOOPT, EOPNOTSUPP, EPERM, ESOCKTNOSUPPORT
from arch.abi.inet import IPPROTO_TCP, IPPROTO_UDP, TCP_NEW_SYN_RECV, TCP_TIME_WAIT
from arch.abi.socket import AF_INET6, AF_UNIX, SOCK_DGRAM, SOCK_STREAM
from bpf.helpers import Runtime, helper
from bpf.packet.skbuff import SkBuff, Sock

SK_DROP = 0


def _field(rt: Runtime, path: str, base: int) -> int:
    return Sock(rt.host, base).read(base, path)


def _state(rt: Runtime, sk: int) -> int:
    return Sock(rt.host, sk).read(sk, "sock_common.skc_state")


def _is_full(rt: Runtime, sk: int) -> bool:
    return _state(rt, sk) not in (TCP_TIME_WAIT, TCP_NEW_SYN_RECV)


# -- cookies -------------------------------------------------------------------------------------------


def sock_gen_cookie(rt: Runtime, sk: int) -> int:
    """A number of its own for each socket, from 1 in the order they are asked for."""
    if not sk:
        return 0
    cookies = rt.bpf.cookies
    return cookies.setdefault(sk, len(cookies) + 1)


@helper("bpf_get_socket_cookie")
def bpf_get_socket_cookie(rt: Runtime, skb: int) -> int:
    """Of the packet's socket; 0 without one."""
    return sock_gen_cookie(rt, SkBuff(rt.host, skb).get("sk"))


@helper("bpf_get_socket_cookie_sock", "bpf_get_socket_ptr_cookie")
def bpf_get_socket_cookie_sock(rt: Runtime, sk: int) -> int:
    """Of this socket."""
    return sock_gen_cookie(rt, sk)


@helper("bpf_get_socket_cookie_sock_addr")
def bpf_get_socket_cookie_sock_addr(rt: Runtime, ctx: int) -> int:
    """Of the socket whose address is set or asked for."""
    return sock_gen_cookie(rt, _field(rt, "bpf_sock_addr_kern.sk", ctx))


@helper("bpf_get_socket_cookie_sock_ops")
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


@helper("bpf_skc_to_tcp_sock")
def bpf_skc_to_tcp_sock(rt: Runtime, sk: int) -> int:
    """The socket if it is TCP's."""
    return sk if _is_protocol(rt, sk, IPPROTO_TCP, SOCK_STREAM) else 0


@helper("bpf_skc_to_tcp6_sock")
def bpf_skc_to_tcp6_sock(rt: Runtime, sk: int) -> int:
    """The socket if it is TCP's over IPv6."""
    is_tcp = _is_protocol(rt, sk, IPPROTO_TCP, SOCK_STREAM)
    return sk if is_tcp and _field(rt, "sock.sk_family", sk) == AF_INET6 else 0


@helper("bpf_skc_to_udp6_sock")
def bpf_skc_to_udp6_sock(rt: Runtime, sk: int) -> int:
    """The socket if it is UDP's over IPv6."""
    is_udp = _is_protocol(rt, sk, IPPROTO_UDP, SOCK_DGRAM)
    return sk if is_udp and _field(rt, "sock.sk_family", sk) == AF_INET6 else 0


@helper("bpf_skc_to_unix_sock")
def bpf_skc_to_unix_sock(rt: Runtime, sk: int) -> int:
    """The socket if it is a Unix one."""
    return sk if sk and _is_full(rt, sk) and _field(rt, "sock.sk_family", sk) == AF_UNIX else 0


@helper("bpf_skc_to_tcp_timewait_sock", "bpf_skc_to_tcp_request_sock", "bpf_skc_to_mptcp_sock")
def no_such_sock(rt: Runtime) -> int:
    """No socket is any of these."""
    return 0


# -- options, maps, headers ----------------------------------------------------------------------------


@helper(
    "bpf_sk_setsockopt",
    "bpf_unlocked_sk_setsockopt",
    "bpf_sock_addr_setsockopt",
    "bpf_sock_ops_setsockopt",
)
def setsockopt(rt: Runtime) -> int:
    """No option can be set."""
    return -ENOPROTOOPT


@helper("bpf_sk_getsockopt", "bpf_unlocked_sk_getsockopt", "bpf_sock_addr_getsockopt", "bpf_sock_ops_getsockopt")
def getsockopt(rt: Runtime, ctx: int, level: int, name: int, value: int, size: int) -> int:
    """No option can be read; the buffer is cleared."""
    length = size & 0xFFFFFFFF
    if length:
        rt.mem.write(value, bytes(length))
    return -ENOPROTOOPT


@helper("bpf_sk_redirect_map", "bpf_sk_redirect_hash", "bpf_msg_redirect_map", "bpf_msg_redirect_hash")
def redirect_to_empty_map(rt: Runtime) -> int:
    """Socket maps are empty, so the data is dropped."""
    return SK_DROP


@helper("bpf_sock_map_update", "bpf_sock_hash_update", "bpf_sock_ops_reserve_hdr_opt", "bpf_sock_ops_cb_flags_set")
def not_a_tcp_socket(rt: Runtime) -> int:
    """The socket is none that this works on."""
    return -EINVAL


@helper("bpf_sock_ops_load_hdr_opt", "bpf_sock_ops_store_hdr_opt")
def no_header(rt: Runtime) -> int:
    """There is no TCP header at hand."""
    return -EPERM


@helper("bpf_msg_apply_bytes", "bpf_msg_cork_bytes")
def message_bytes(rt: Runtime) -> int:
    """The verdict holds for so many bytes; all are taken at once here."""
    return 0


@helper("bpf_msg_pull_data", "bpf_msg_push_data", "bpf_msg_pop_data")
def message_edit(rt: Runtime) -> int:
    """Messages cannot be edited."""
    return -EINVAL


@helper("sk_select_reuseport")
def sk_select_reuseport(rt: Runtime) -> int:
    """No socket is in the map."""
    return -ENOENT


@helper("bpf_sk_assign")
def bpf_sk_assign(rt: Runtime, skb: int, sk: int, flags: int) -> int:
    """Give the packet a socket: only at ingress, and none is there to be given."""
    if flags:
        return -EINVAL
    return -ESOCKTNOSUPPORT if SkBuff(rt.host, skb).at_ingress() else -EOPNOTSUPP


@helper("bpf_sk_lookup_assign")
def bpf_sk_lookup_assign(rt: Runtime, ctx: int, sk: int, flags: int) -> int:
    """Choose the socket of a lookup; NULL takes a choice back."""
    if flags & ~3:
        return -EINVAL
    Sock(rt.host, sk).write(ctx, "bpf_sk_lookup_kern.selected_sk", sk)
    return 0


@helper(
    "bpf_tcp_raw_gen_syncookie_ipv4",
    "bpf_tcp_raw_gen_syncookie_ipv6",
    "bpf_tcp_raw_check_syncookie_ipv4",
    "bpf_tcp_raw_check_syncookie_ipv6",
    "bpf_tcp_send_ack",
    "bpf_sysctl_get_name",
    "bpf_sysctl_get_current_value",
    "bpf_sysctl_get_new_value",
    "bpf_sysctl_set_new_value",
    "bpf_rc_repeat",
    "bpf_rc_keydown",
    "bpf_rc_pointer_rel",
)
def not_simulated(rt: Runtime) -> int:
    """What this works on does not exist here."""
    return -EINVAL
