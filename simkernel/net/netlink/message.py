"""struct nlmsghdr, its attributes and its answers.  include/uapi/linux/{netlink,rtnetlink}.h."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

NLMSG_NOOP, NLMSG_ERROR, NLMSG_DONE = 1, 2, 3
NLMSG_MIN_TYPE, NLMSG_HDRLEN = 0x10, 16
NLM_F_REQUEST, NLM_F_MULTI, NLM_F_ACK, NLM_F_DUMP = 1, 2, 4, 0x300
NLM_F_CAPPED, NLM_F_DUMP_FILTERED = 0x100, 0x20


@dataclass(frozen=True, slots=True)
class Request:
    """One struct nlmsghdr with what is behind it."""

    kind: int
    flags: int
    seq: int
    pid: int
    body: bytes
    raw: bytes  # the whole message, for the acknowledgement


class Wire:
    """Messages in one byte order."""

    def __init__(self, byteorder: str) -> None:
        self.order = "<" if byteorder == "little" else ">"

    def requests(self, data: bytes) -> Iterator[Request]:
        """netlink_rcv_skb(): the messages of one send; what is cut off is not looked at."""
        at = 0
        while at + NLMSG_HDRLEN <= len(data):
            size, kind, flags, seq, pid = struct.unpack_from(self.order + "IHHII", data, at)
            if size < NLMSG_HDRLEN or at + size > len(data):
                return
            yield Request(kind, flags, seq, pid, data[at + NLMSG_HDRLEN : at + size], data[at : at + size])
            at += (size + 3) & ~3

    def message(self, kind: int, flags: int, seq: int, pid: int, body: bytes) -> bytes:
        """One message, padded."""
        head = struct.pack(self.order + "IHHII", NLMSG_HDRLEN + len(body), kind, flags, seq, pid)
        return (head + body).ljust((NLMSG_HDRLEN + len(body) + 3) & ~3, b"\0")

    def error(self, request: Request, errno: int, pid: int) -> bytes:
        """netlink_ack(): the request comes back whole with an error, its header alone without one."""
        body = struct.pack(self.order + "i", -errno) + (request.raw if errno else request.raw[:NLMSG_HDRLEN])
        return self.message(NLMSG_ERROR, 0 if errno else NLM_F_CAPPED, request.seq, pid, body)

    def done(self, request: Request, pid: int) -> bytes:
        """The end of a dump."""
        return self.message(NLMSG_DONE, NLM_F_MULTI, request.seq, pid, bytes(4))

    def attribute(self, kind: int, value: bytes) -> bytes:
        """struct nlattr."""
        size = 4 + len(value)
        return (struct.pack(self.order + "HH", size, kind) + value).ljust((size + 3) & ~3, b"\0")

    def u32(self, kind: int, value: int) -> bytes:
        """An attribute of 4 bytes."""
        return self.attribute(kind, struct.pack(self.order + "I", value))

    def u8(self, kind: int, value: int) -> bytes:
        """An attribute of one byte."""
        return self.attribute(kind, bytes((value,)))

    def text(self, kind: int, value: str) -> bytes:
        """An attribute that is a string with its NUL."""
        return self.attribute(kind, value.encode() + b"\0")

    def attributes(self, data: bytes) -> dict[int, bytes]:
        """What stands behind a message's fixed part."""
        found, at = {}, 0
        while at + 4 <= len(data):
            size, kind = struct.unpack_from(self.order + "HH", data, at)
            if size < 4 or at + size > len(data):
                break
            found[kind & 0x3FFF] = data[at + 4 : at + size]
            at += (size + 3) & ~3
        return found
