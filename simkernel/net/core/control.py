"""Control messages that sockets of all families give with what they receive.  net/socket.c: __sock_recv_timestamp() and its like."""

from __future__ import annotations

import struct

from arch.abi.capability import CAP_NET_ADMIN, CAP_NET_RAW
from arch.abi.errno import EINVAL, EPERM
from arch.abi.socket import (
    SCM_CREDENTIALS,
    SCM_RIGHTS,
    SCM_TIMESTAMPING,
    SO_MARK,
    SO_RCVMARK,
    SO_RXQ_OVFL,
    SO_TIMESTAMP,
    SO_TIMESTAMP_NEW,
    SO_TIMESTAMPING,
    SO_TIMESTAMPING_NEW,
    SO_TIMESTAMPNS,
    SO_TIMESTAMPNS_NEW,
    SO_TXTIME,
    SOF_TIMESTAMPING_RX_SOFTWARE,
    SOF_TIMESTAMPING_SOFTWARE,
    SOF_TIMESTAMPING_TX_RECORD_MASK,
    SOL_SOCKET,
)
from arch.abi.time import NSEC_PER_SEC
from arch.errors import KernelError
from simkernel.net.core.message import Message
from simkernel.net.core.skb import Skb
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel

STAMPS = (SO_TIMESTAMP, SO_TIMESTAMPNS, SO_TIMESTAMP_NEW, SO_TIMESTAMPNS_NEW)
WATCHED = (*STAMPS, SO_TIMESTAMPING, SO_TIMESTAMPING_NEW, SO_RXQ_OVFL, SO_RCVMARK)


def sock_cmsg_send(k: NetKernel, sk: Sock, kind: int, data: bytes) -> None:
    """__sock_cmsg_send(): what of SOL_SOCKET may be said with one packet.  EINVAL, EPERM."""
    if kind in (SCM_RIGHTS, SCM_CREDENTIALS):
        return  # of unix sockets
    if kind == SO_MARK and not k.capable(CAP_NET_RAW) and not k.capable(CAP_NET_ADMIN):
        raise KernelError(EPERM)
    if kind == SO_TIMESTAMPING and len(data) == 4:
        if not int.from_bytes(data, k.mem.byteorder) & ~SOF_TIMESTAMPING_TX_RECORD_MASK:
            return
    elif (kind == SO_MARK and len(data) == 4) or (
        kind == SO_TXTIME and len(data) == 8 and sk.options.get((SOL_SOCKET, SO_TXTIME))
    ):
        return
    raise KernelError(EINVAL)


def keep_stamping(k: NetKernel, sk: Sock) -> None:
    """sock_enable_timestamp(): a sock that has once asked for the last packet's time wants them stamped."""
    sk.stamping = True
    watch_stamps(k, sk)


def watch_stamps(k: NetKernel, sk: Sock) -> None:
    """netstamp_needed: packets are stamped as they come while somebody wants to know."""
    (k.net.stampers.add if sk.stamping or _wants_stamps(sk) else k.net.stampers.discard)(sk.addr)


def _wants_stamps(sk: Sock) -> bool:
    """SOCK_TIMESTAMP, SOCK_TIMESTAMPING_RX_SOFTWARE."""
    given = sk.options.get((SOL_SOCKET, SO_TIMESTAMPING), 0) | sk.options.get((SOL_SOCKET, SO_TIMESTAMPING_NEW), 0)
    return bool(given & SOF_TIMESTAMPING_RX_SOFTWARE) or any(sk.options.get((SOL_SOCKET, o)) for o in STAMPS)


def receive_control(k: NetKernel, message: Message, sk: Sock, packet: Skb) -> None:
    """sock_recv_cmsgs()."""
    if sk.stamping or sk.last_stamp_ns is None:
        sk.last_stamp_ns = packet.stamp_ns if sk.stamping else 0  # 0: whoever asks hears of now
    if not sk.controls:
        return
    order = "<" if k.mem.byteorder == "little" else ">"
    stamp = packet.stamp_ns or k.clock.realtime_ns
    seconds, ns = divmod(stamp, NSEC_PER_SEC)
    word = "q" if k.arch.model.word == 8 else "i"
    for option, form, part in (
        (SO_TIMESTAMP, word, ns // 1000), (SO_TIMESTAMPNS, word, ns), (SO_TIMESTAMP_NEW, "q", ns // 1000),
        (SO_TIMESTAMPNS_NEW, "q", ns),
    ):  # fmt: skip
        if sk.options.get((SOL_SOCKET, option)):
            message.put_control(SOL_SOCKET, option, struct.pack(f"{order}2{form}", seconds, part))
    for option in (SO_TIMESTAMPING, SO_TIMESTAMPING_NEW):
        given = sk.options.get((SOL_SOCKET, option), 0)
        if given & SOF_TIMESTAMPING_SOFTWARE and given & SOF_TIMESTAMPING_RX_SOFTWARE and packet.stamp_ns:
            form = word if option == SO_TIMESTAMPING else "q"
            kind = SCM_TIMESTAMPING if option == SO_TIMESTAMPING else SO_TIMESTAMPING_NEW
            message.put_control(SOL_SOCKET, kind, struct.pack(f"{order}6{form}", seconds, ns, 0, 0, 0, 0))
    if sk.options.get((SOL_SOCKET, SO_RXQ_OVFL)) and packet.drops_seen:
        message.put_control(SOL_SOCKET, SO_RXQ_OVFL, packet.drops_seen.to_bytes(4, k.mem.byteorder))
    if sk.options.get((SOL_SOCKET, SO_RCVMARK)):
        message.put_control(SOL_SOCKET, SO_MARK, packet.get("mark").to_bytes(4, k.mem.byteorder))
