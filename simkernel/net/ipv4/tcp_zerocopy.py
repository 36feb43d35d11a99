"""getsockopt(TCP_ZEROCOPY_RECEIVE): pages of a stream mapped into the reader's memory.  net/ipv4/tcp.c:tcp_zerocopy_receive().

A TCP socket cannot be mapped here, so no address is one of its mappings: what is told is how much there is to read, and
what fits into the caller's copy buffer is copied there, as Linux does with less than a page.
"""

from __future__ import annotations

import struct

from arch.abi.errno import EFAULT, EINVAL, EIO, ENOTCONN
from arch.abi.inet import TCP_LISTEN
from arch.abi.limits import PAGE_SIZE
from arch.errors import KernelError
from simkernel.kernel.face import Steps
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.tcp_sock import TcpSock
from simkernel.net.ipv4.tcp_urgent import readable_bytes

TCP_ZEROCOPY_RECEIVE = 35  # include/uapi/linux/tcp.h
TCP_CMSG_TS = 2
# struct tcp_zerocopy_receive: address, length, recv_skip_hint, inq, err, copybuf_address, copybuf_len, flags, msg_control,
# msg_controllen, msg_flags, reserved
LAYOUT = "QIIIiQiIQQII"
ZEROCOPY_SIZE, LEAST, INQ_END, ERR_END = 64, 12, 20, 24  # bytes of all of it; up to length, inq and err


def zerocopy_receive(k: NetKernel, sk: TcpSock, optval: int, optlen: int, room: int) -> Steps[bytes | int]:
    """`yield from`: what goes back to the caller, or -errno."""
    if room < LEAST:
        return -EINVAL
    if room > ZEROCOPY_SIZE:
        if any(k.usercopy.copy_from_user(optval + ZEROCOPY_SIZE, room - ZEROCOPY_SIZE)):
            return -EINVAL
        room = ZEROCOPY_SIZE
        k.usercopy.put_user(optlen, 4, room)
    layout = struct.Struct(("<" if k.mem.byteorder == "little" else ">") + LAYOUT)
    raw = bytes(k.usercopy.copy_from_user(optval, room))
    values = layout.unpack(raw.ljust(ZEROCOPY_SIZE, b"\0"))
    address, copy_to, copy_room, flags, reserved = values[0], values[5], values[6], values[10], values[11]
    if reserved or flags & ~TCP_CMSG_TS or address % PAGE_SIZE:
        return -EINVAL
    if sk.state == TCP_LISTEN:
        return -ENOTCONN
    there, copied, skip = readable_bytes(sk), 0, 0
    if there and there <= copy_room:
        copied = yield from _copy(k, sk, copy_to, there)
        if copied < 0:
            return copied
    elif there < PAGE_SIZE:
        skip = there
        if not there and sk.fin_queued:
            return -EIO
    else:
        return -EINVAL
    error = -sk.take_error() if room >= ERR_END else values[4]
    left = readable_bytes(sk) + sk.fin_queued if room >= INQ_END else values[3]
    made = (address, 0, skip, left, error, copy_to, copied, *values[7:10], 0, 0)
    return layout.pack(*made)[:room]


def _copy(k: NetKernel, sk: TcpSock, address: int, count: int) -> Steps[int]:
    """receive_fallback_to_copy(): how many bytes."""
    from simkernel.net.ipv4.tcp import take_bytes

    data = bytearray()
    yield from take_bytes(k, sk, data, count)
    try:
        k.usercopy.copy_to_user(address, bytes(data))
    except KernelError:
        return -EFAULT
    return len(data)
