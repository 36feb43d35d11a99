"""TCP over IPv4: what its parts share: segments, states, the tables that connections are found in.  net/ipv4/tcp.c.

Frames are not lost on the simulated links, so there is no retransmission and no congestion window: a segment goes out
when the peer's receive window has room.  States and the functions on the way are Linux's.
"""

from __future__ import annotations

from arch.abi.inet import TCP_CLOSE
from arch.abi.limits import U32_MAX
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.sock import Sock, unbind
from simkernel.net.face import NetKernel

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
TCP_HEADER = 20
MSS = 65483 - 20  # what lo's MTU leaves after IP and TCP headers with timestamps
MSS_ETHERNET = 1460
WINDOW_SCALE = 7
TIME_WAIT_NS = 60 * 10**9


class Segment:
    """The header fields of a received segment, and its data."""

    __slots__ = ("ack", "data", "flags", "seq", "window")

    def __init__(self, body: bytes) -> None:
        self.seq = int.from_bytes(body[4:8], "big")
        self.ack = int.from_bytes(body[8:12], "big")
        self.flags = body[13]
        self.window = int.from_bytes(body[14:16], "big") << WINDOW_SCALE
        self.data = body[(body[12] >> 4) * 4 :]


def header(sk: Sock, flags: int, seq: int) -> bytes:
    """A 20-byte TCP header; the window is advertised scaled by WINDOW_SCALE."""
    window = min(max(sk.rcvbuf - sk.rmem, 0) >> WINDOW_SCALE, 0xFFFF)
    ack = sk.rcv_nxt if flags & ACK else 0
    return (
        sk.lport.to_bytes(2, "big")
        + sk.rport.to_bytes(2, "big")
        + (seq & U32_MAX).to_bytes(4, "big")
        + (ack & U32_MAX).to_bytes(4, "big")
        + bytes((5 << 4, flags))
        + window.to_bytes(2, "big")
        + b"\0\0\0\0"
    )


def key_of(sk: Sock) -> tuple[bytes, int, bytes, int]:
    """The four-tuple of a connection, from its own side."""
    return (sk.laddr, sk.lport, sk.raddr, sk.rport)


@kernel_function("void tcp_set_state(struct sock *sk, int state)", source="net/ipv4/tcp.c")
def tcp_set_state(k: NetKernel, sk: int, state: int) -> int:
    """Change the state, visibly: tracepoint sock:inet_sock_set_state."""
    sock = k.net.socks[sk]
    k.trace("inet_sock_set_state", sk, sock.state, state)
    sock.state = state
    sock.view["__sk_common"].skc_state = state
    if state == TCP_CLOSE and sock.listener is None:
        unhash(k, sock)
    return 0


def unhash(k: NetKernel, sk: Sock) -> None:
    """Take a sock out of the lookup tables."""
    if k.net.tcp_established.get(key_of(sk)) is sk:
        del k.net.tcp_established[key_of(sk)]
    unbind(k.net.tcp_listen, sk)
    unbind(k.net.tcp_bound, sk)
