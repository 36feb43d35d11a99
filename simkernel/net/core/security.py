"""The security hooks of networking: with packets and socks.  security/security.c."""

from __future__ import annotations

from arch.errors import KernelError
from simkernel.kernel.security import ask
from simkernel.net.core.skb import Skb
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel

REQUEST_BYTES = 320  # struct request_sock: a connection request is a sock here, nothing of it is filled in
FLOW_BYTES = 64  # struct flowi_common


def unwanted(k: NetKernel, sock: Sock, packet: Skb) -> bool:
    """The first half of sk_filter_trim_cap(): the control group's programs, then the security hook."""
    if k.net.programs.ingress(sock, packet):
        return True
    return "socket_sock_rcv_skb" in k.security_hooks.watched and not allowed(
        k, "socket_sock_rcv_skb", sock.addr, packet.addr
    )


def allowed(k: NetKernel, hook: str, *args: int) -> bool:
    """Where a refusal means that a packet is thrown away."""
    try:
        ask(k, hook, *args)
    except KernelError:
        return False
    return True


def about_data(k: NetKernel, hook: str, sk: Sock, data: bytes) -> None:
    """A hook about bytes that are in no packet here (AF_UNIX, netlink).  KernelError."""
    if hook not in k.security_hooks.watched:
        return
    packet = Skb.alloc(k, len(data))
    try:
        packet.set_owner(sk)
        packet.put_data(data)
        ask(k, hook, sk.addr, packet.addr)
    finally:
        packet.release()


def classify_flow(k: NetKernel, sk: Sock) -> None:
    """security_sk_classify_flow(): before a way is looked for."""
    if "sk_getsecid" in k.security_hooks.watched:
        flow = k.mem.alloc(FLOW_BYTES)
        ask(k, "sk_getsecid", sk.addr, flow)
        k.mem.free(flow)


def connection_asked(k: NetKernel, listener: Sock, packet: Skb) -> None:
    """security_inet_conn_request(), and security_req_classify_flow() of the answer's way.  KernelError."""
    if not k.security_hooks.watched:
        return
    request = k.mem.alloc(REQUEST_BYTES + FLOW_BYTES)
    try:
        ask(k, "inet_conn_request", listener.addr, packet.addr, request)
        ask(k, "req_classify_flow", request, request + REQUEST_BYTES)
    finally:
        k.mem.free(request)


def connection_made(k: NetKernel, listener: Sock, child: Sock, over_ipv6: bool) -> None:
    """sk_clone_lock(), inet_csk_clone_lock(), and the way of the new connection."""
    if not k.security_hooks.watched:
        return
    request = k.mem.alloc(REQUEST_BYTES + FLOW_BYTES)
    flow = request + REQUEST_BYTES
    if over_ipv6:
        ask(k, "req_classify_flow", request, flow)  # tcp_v6_syn_recv_sock(): the way comes first
    ask(k, "sk_clone_security", listener.addr, child.addr)
    ask(k, "inet_csk_clone", child.addr, request)
    if not over_ipv6:
        ask(k, "req_classify_flow", request, flow)  # inet_csk_route_child_sock()
    k.mem.free(request)
