"""How long calls of a socket wait (SO_RCVTIMEO, SO_SNDTIMEO), SO_LINGER, and the device it is bound to.  net/core/sock.c."""

from __future__ import annotations

from arch.abi.capability import CAP_NET_RAW
from arch.abi.errno import EDOM, EINVAL, ENODEV, EPERM
from arch.abi.inet import IFNAMSIZ
from arch.abi.socket import SO_LINGER, SO_RCVTIMEO, SO_RCVTIMEO_NEW, SO_SNDTIMEO, SO_SNDTIMEO_NEW
from arch.abi.time import NSEC_PER_SEC, TICK_NSEC
from arch.cstring import c_string
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel

RECEIVING, SENDING = (SO_RCVTIMEO, SO_RCVTIMEO_NEW), (SO_SNDTIMEO, SO_SNDTIMEO_NEW)
PATIENCE = (SO_LINGER, *RECEIVING, *SENDING)
US_LIMIT = 1_000_000


def _field(k: NetKernel, optname: int) -> int:
    """Bytes of a field of struct timeval."""
    return 8 if optname in (SO_RCVTIMEO_NEW, SO_SNDTIMEO_NEW) else k.arch.word


def set_patience(k: NetKernel, sk: Sock, optname: int, data: bytes) -> int:
    """sock_set_timeout(), and SO_LINGER.  EINVAL, EDOM."""
    order, size = k.mem.byteorder, 4 if optname == SO_LINGER else _field(k, optname)
    if len(data) < 2 * size:
        return -EINVAL
    first, second = (int.from_bytes(data[i : i + size], order, signed=True) for i in (0, size))
    if optname == SO_LINGER:
        sk.linger = second if first else None
        return 0
    if not 0 <= second < US_LIMIT:
        return -EDOM
    ns = max(first * NSEC_PER_SEC + second * 1000, 0) if first >= 0 else 0
    patience = -(-ns // TICK_NSEC) * TICK_NSEC if first or second else None
    shown = (1 << 8 * k.arch.word - 1) - 1 if patience is None else patience // TICK_NSEC
    if optname in RECEIVING:
        sk.rcvtimeo, sk.view.sk_rcvtimeo = patience, shown
    else:
        sk.sndtimeo, sk.view.sk_sndtimeo = patience, shown
    return 0


def patience(k: NetKernel, sk: Sock, optname: int) -> bytes:
    """What getsockopt(2) tells of them."""
    order = k.mem.byteorder
    if optname == SO_LINGER:
        return int(sk.linger is not None).to_bytes(4, order) + (sk.linger or 0).to_bytes(4, order)
    ns = (sk.rcvtimeo if optname in RECEIVING else sk.sndtimeo) or 0
    size = _field(k, optname)
    return (ns // NSEC_PER_SEC).to_bytes(size, order) + (ns % NSEC_PER_SEC // 1000).to_bytes(size, order)


def bind_to_device(k: NetKernel, sk: Sock, data: bytes) -> int:
    """sock_setbindtodevice().  ENODEV, EPERM."""
    name = c_string(data[: IFNAMSIZ - 1])
    found = sk.net.named(name) if name else None
    if name and found is None:
        return -ENODEV
    return bind_to_index(k, sk, found.ifindex if found is not None else 0)


def bind_to_index(k: NetKernel, sk: Sock, ifindex: int) -> int:
    """sock_bindtoindex_locked().  EPERM: it is bound; EINVAL."""
    if sk.bound_ifindex and not sk.capable(k, CAP_NET_RAW):
        return -EPERM
    if ifindex < 0:
        return -EINVAL
    sk.bound_ifindex = ifindex
    return 0


def bound_device(sk: Sock, room: int) -> bytes | int:
    """sock_getbindtodevice(): its name.  EINVAL, ENODEV."""
    if not sk.bound_ifindex:
        return b""
    if room < IFNAMSIZ:
        return -EINVAL
    found = sk.net.devices.get(sk.bound_ifindex)
    return found.name.encode("latin-1") + b"\0" if found is not None else -ENODEV
