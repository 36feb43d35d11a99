"""struct msghdr on its way through the layers, and socket addresses.  include/linux/socket.h, net/socket.c."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from arch.abi.errno import EAFNOSUPPORT, EDESTADDRREQ, EINVAL
from arch.abi.in6 import SIN6_LEN_RFC2133
from arch.abi.inet import ARPHRD_ETHER, INADDR_ANY, TCP_ESTABLISHED
from arch.abi.socket import AF_INET, AF_INET6, AF_PACKET, AF_UNSPEC, MSG_CTRUNC, MSG_PEEK, MSG_TRUNC, SOCKADDR_IN_SIZE
from arch.errors import KernelError
from arch.typetable import TypeTable
from simkernel.fs.uio import ITER_IOVEC, ITER_KVEC, ITER_UBUF
from simkernel.kernel.face import Body, KernelFace
from simkernel.net.core.skb import Skb
from simkernel.net.core.sock import Sock, mapped, unmapped


def sockaddr_in(k: KernelFace, address: bytes, port: int) -> bytes:
    """struct sockaddr_in."""
    return AF_INET.to_bytes(2, k.mem.byteorder) + port.to_bytes(2, "big") + address + bytes(8)


def parse_sockaddr_in(k: KernelFace, raw: bytes) -> tuple[bytes, int]:
    """(address, port); EINVAL when short, EAFNOSUPPORT for another family."""
    if len(raw) < SOCKADDR_IN_SIZE:
        raise KernelError(EINVAL, "address too short")
    family = int.from_bytes(raw[:2], k.mem.byteorder)
    if family not in (AF_INET, AF_UNSPEC):
        raise KernelError(EAFNOSUPPORT, f"address family {family}")
    return raw[4:8], int.from_bytes(raw[2:4], "big")


def sockaddr_in6(k: KernelFace, address: bytes, port: int, scope_id: int = 0, flowinfo: bytes = bytes(4)) -> bytes:
    """struct sockaddr_in6; IPv4's addresses in their mapped form."""
    order = k.mem.byteorder
    head = AF_INET6.to_bytes(2, order) + port.to_bytes(2, "big") + flowinfo
    return head + mapped(address) + scope_id.to_bytes(4, order)


def scope_of(address: bytes, ifindex: int) -> int:
    """ipv6_iface_scope_id(): only link-local addresses and groups belong to a device."""
    local = len(address) == 16 and (
        (address[0] == 0xFE and address[1] & 0xC0 == 0x80) or (address[0] == 0xFF and address[1] & 0xF in (1, 2))
    )
    return ifindex if local else 0


def sockaddr(k: KernelFace, sk: Sock, address: bytes, port: int, ifindex: int = 0) -> bytes:
    """An address as a sock's family shows it."""
    if sk.family != AF_INET6:
        return sockaddr_in(k, address, port)
    return sockaddr_in6(k, address, port, scope_of(mapped(address), ifindex))


def parse_sockaddr_in6(k: KernelFace, raw: bytes) -> tuple[bytes, int, int]:
    """(address, port, scope); a mapped address is IPv4's.  EINVAL when short, EAFNOSUPPORT for another family."""
    order = k.mem.byteorder
    if len(raw) < SIN6_LEN_RFC2133:
        raise KernelError(EINVAL, "address too short")
    family = int.from_bytes(raw[:2], order)
    if family != AF_INET6:
        raise KernelError(EAFNOSUPPORT, f"address family {family}")
    return unmapped(raw[8:24]), int.from_bytes(raw[2:4], "big"), int.from_bytes(raw[24:28], order)


def read_address(k: KernelFace, address: int, length: int) -> bytes:
    """move_addr_to_kernel(): EINVAL, EFAULT."""
    if length < 0 or length > 128:
        raise KernelError(EINVAL, "address length")
    return bytes(k.usercopy.copy_from_user(address, length)) if length else b""


def write_address(k: KernelFace, raw: bytes, address: int, length_at: int) -> None:
    """move_addr_to_user(): cut to the caller's buffer, tell the true length.  EINVAL, EFAULT."""
    room = k.usercopy.get_user(length_at, 4, signed=True)
    if room < 0:
        raise KernelError(EINVAL, "negative address length")
    if raw[:room]:
        k.usercopy.copy_to_user(address, raw[:room])
    k.usercopy.put_user(length_at, 4, len(raw))


IOV_SHOWN = 16  # segments that programs find
SHOWN = (
    "msg_name", "msg_namelen", "msg_flags", "msg_iter.iter_type", "msg_iter.iov", "msg_iter.nr_segs", "msg_iter.count",
    "msg_iter.user_backed", "msg_iter.data_source",
)  # fmt: skip


@cache
def _places(types: TypeTable) -> tuple[tuple[int, int], ...]:
    """Offset and size of each of SHOWN; (0, 0) of what this version has not."""
    found = []
    for name in SHOWN:
        place = types.resolve("struct msghdr", name) if types.has_member("struct msghdr", name) else None
        found.append((0, 0) if place is None else (place.offset, place.type.size))
    return tuple(found)


class Message:
    """A struct msghdr on its way through the layers: data, address, flags."""

    def __init__(
        self,
        k: KernelFace,
        data: bytes = b"",
        name: bytes = b"",
        flags: int = 0,
        segments: Sequence[tuple[int, int]] = (),
        source: Sequence[tuple[int, int]] | None = None,
        kind: int = ITER_IOVEC,
    ) -> None:
        self.k = k
        size, word = k.mirror.size_of("struct msghdr"), k.arch.word
        shown = list(segments if source is None else source)[:IOV_SHOWN]
        self.addr = k.mem.alloc(size + len(name) + 2 * word * (len(shown) + 1))
        self.data, self.name, self.flags = data, name, flags
        self.segments = list(segments)  # (user address, length) to receive into
        self.source = b""
        self.out_flags = 0
        self.control = b""  # what a sender passes along (SCM_RIGHTS)
        self.control_room = 0  # bytes the receiver has for the same
        self.control_out = b""
        self._show(size, word, shown, ITER_KVEC if source is None and not segments else kind, source is not None)

    def _show(self, size: int, word: int, shown: list[tuple[int, int]], kind: int, is_source: bool) -> None:
        """What programs read of it: the address, and where in user memory the bytes are."""
        k, name = self.k, self.name
        name_at = self.addr + size
        vec_at = name_at + (len(name) + word - 1 & -word)
        plain = kind == ITER_UBUF and len(shown) == 1
        where = shown[0][0] if plain else vec_at if shown else 0
        values = (
            name_at if name else 0, len(name), self.flags, ITER_IOVEC if kind == ITER_UBUF and not plain else kind, where,
            0 if plain else len(shown), len(self.data) or sum(length for _, length in shown), bool(shown), is_source,
        )  # fmt: skip
        order, head = k.mem.byteorder, bytearray(size)
        for (at, wide), value in zip(_places(k.types), values):
            head[at : at + wide] = (value & (1 << 8 * wide) - 1).to_bytes(wide, order)
        vec = b"".join(number.to_bytes(word, order) for pair in shown for number in pair)
        k.mem.write(self.addr, bytes(head) + name.ljust(vec_at - name_at, b"\0") + vec)

    def free(self) -> None:
        """The call is over."""
        self.k.mem.free(self.addr)

    def destination(self, sk: Sock) -> tuple[bytes, int]:
        """Where to send: the message's address, or the connected one; EDESTADDRREQ, EINVAL, EAFNOSUPPORT."""
        if not self.name:
            if sk.state != TCP_ESTABLISHED:
                raise KernelError(EDESTADDRREQ, "not connected and no address")
            return sk.raddr, sk.rport
        address, port = parse_sockaddr_in(self.k, self.name)
        if sk.is_udp and port == 0:
            raise KernelError(EINVAL, "port 0")
        return (bytes((127, 0, 0, 1)) if address == INADDR_ANY else address), port

    def set_source(self, sk: Sock, address: bytes, port: int, ifindex: int = 0) -> None:
        """Where the packet came from, as recvfrom() tells."""
        self.source = sockaddr(self.k, sk, address, port, ifindex)

    def set_link_source(self, packet: Skb) -> None:
        """Where a frame came from."""
        self.source = link_address(self.k, packet)

    def controls(self) -> Iterator[tuple[int, int, bytes]]:
        """The control messages of a sender: (level, type, data).  EINVAL."""
        word, order, at = self.k.arch.model.word, self.k.mem.byteorder, 0
        head = word + 8
        while at + head <= len(self.control):
            length = int.from_bytes(self.control[at : at + word], order)
            level = int.from_bytes(self.control[at + word : at + word + 4], order, signed=True)
            kind = int.from_bytes(self.control[at + word + 4 : at + head], order, signed=True)
            if length < head or at + length > len(self.control):
                raise KernelError(EINVAL, "control message length")
            yield level, kind, self.control[at + head : at + length]
            at += (length + word - 1) & -word

    def put_control(self, level: int, kind: int, body: bytes) -> None:
        """put_cmsg(): one more for the receiver, cut to the room there is."""
        word, order = self.k.arch.model.word, self.k.mem.byteorder
        length = word + 8 + len(body)
        room = self.control_room - len(self.control_out)
        if room < word + 8:
            self.out_flags |= MSG_CTRUNC
            return
        if room < length:
            self.out_flags |= MSG_CTRUNC
            length = room
        head = length.to_bytes(word, order) + level.to_bytes(4, order) + kind.to_bytes(4, order)
        self.control_out += (head + body)[:length].ljust(min((length + word - 1) & -word, room), b"\0")

    def scatter(self, data: bytes) -> None:
        """Copy received bytes to the caller's buffers; KernelError(EFAULT)."""
        for address, length in self.segments:
            part, data = data[:length], data[length:]
            if part:
                self.k.usercopy.copy_to_user(address, part)
            if not data:
                break

    def take_packet(self, sk: Sock, packet: Skb, body: bytes, length: int, flags: int) -> Body:
        """Finish receiving one datagram: copy, free (unless peeking), and its length (`yield from`)."""
        copied = body[:length]
        if len(body) > length:
            self.out_flags |= MSG_TRUNC
        self.k.trace("skb_copy_datagram_iovec", packet.addr, len(copied))
        if not flags & MSG_PEEK:
            sk.receive_queue.popleft()
            sk.charge(-packet.truesize)
            yield self.k.call("consume_skb", packet.addr)
        self.scatter(copied)
        return len(body) if flags & MSG_TRUNC else len(copied)


def link_address(k: KernelFace, packet: Skb) -> bytes:
    """struct sockaddr_ll of a received frame."""
    order, dev = k.mem.byteorder, packet.dev
    return (
        AF_PACKET.to_bytes(2, order)
        + packet.protocol().to_bytes(2, "big")
        + (dev.ifindex if dev else 0).to_bytes(4, order)
        + (dev.hardware_type if dev else ARPHRD_ETHER).to_bytes(2, order)
        + (_ethernet_source(packet) if dev is None or dev.ethernet else bytes((packet.pkt_type(),)) + bytes(9))
    )


def _ethernet_source(packet: Skb) -> bytes:
    """The end of a struct sockaddr_ll: eth_header_parse()."""
    return bytes((packet.pkt_type(), 6)) + bytes(packet.mem.read(packet.mac_header() + 6, 6)) + b"\0\0"
