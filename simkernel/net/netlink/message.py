"""struct nlmsghdr, its attributes and its answers.  include/uapi/linux/{netlink,rtnetlink}.h."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from arch.abi.errno import EINVAL
from arch.abi.netlink import (
    NLA_F_NESTED,
    NLA_TYPE_MASK,
    NLM_F_ACK_TLVS,
    NLM_F_CAPPED,
    NLM_F_DUMP_FILTERED,
    NLM_F_MULTI,
    NLMSG_DONE,
    NLMSG_ERROR,
    NLMSG_HDRLEN,
    NLMSGERR_ATTR_MISS_NEST,
    NLMSGERR_ATTR_MISS_TYPE,
    NLMSGERR_ATTR_MSG,
    NLMSGERR_ATTR_OFFS,
    NLMSGERR_ATTR_POLICY,
)
from arch.cstring import c_string
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.net.core.extack import Refusal
from simkernel.net.core.netns import Net

LEFTOVER = "bytes leftover after parsing attributes"


@dataclass(frozen=True, slots=True)
class Request:
    """One struct nlmsghdr with what is behind it, and the namespace of the socket that it came by."""

    kind: int
    flags: int
    seq: int
    pid: int
    body: bytes
    raw: bytes  # the whole message, for the acknowledgement
    net: Net
    strict: bool = False  # NETLINK_GET_STRICT_CHK
    portid: int = 0
    extended: bool = False  # NETLINK_EXT_ACK


class Wire:
    """Messages in one byte order."""

    def __init__(self, byteorder: str) -> None:
        self.order = "<" if byteorder == "little" else ">"
        self.said = ""  # NL_SET_ERR_MSG() of what refuses nothing
        self.filtered = self.rows_filtered = False  # a dump is told to be of some only: all of it, its rows

    def requests(
        self, data: bytes, net: Net, strict: bool = False, portid: int = 0, extended: bool = False
    ) -> Iterator[Request]:
        """netlink_rcv_skb(): the messages of one send; what is cut off is not looked at."""
        at = 0
        while at + NLMSG_HDRLEN <= len(data):
            size, kind, flags, seq, pid = struct.unpack_from(self.order + "IHHII", data, at)
            if size < NLMSG_HDRLEN or at + size > len(data):
                return
            whole = data[at : at + size]
            self.said = ""
            yield Request(kind, flags, seq, pid, whole[NLMSG_HDRLEN:], whole, net, strict, portid, extended)
            at += (size + 3) & ~3

    def message(self, kind: int, flags: int, seq: int, pid: int, body: bytes) -> bytes:
        """One message, padded."""
        head = struct.pack(self.order + "IHHII", NLMSG_HDRLEN + len(body), kind, flags, seq, pid)
        return (head + body).ljust((NLMSG_HDRLEN + len(body) + 3) & ~3, b"\0")

    def error(self, request: Request, error: KernelError | None, pid: int, extended: bool, capped: bool) -> bytes:
        """netlink_ack(): the request comes back with an error, whole unless NETLINK_CAP_ACK; its header alone without one."""
        errno = error.errno if error is not None else 0
        whole = bool(errno) and not capped
        body = struct.pack(self.order + "i", -errno) + (request.raw if whole else request.raw[:NLMSG_HDRLEN])
        flags, more = 0 if whole else NLM_F_CAPPED, b""
        if extended and isinstance(error, Refusal):
            more = self.words(error)
        if extended and not more and self.said:
            more = self.text(NLMSGERR_ATTR_MSG, self.said)
        if more:
            flags |= NLM_F_ACK_TLVS
            body = body.ljust((len(body) + 3) & ~3, b"\0") + more
        return self.message(NLMSG_ERROR, flags, request.seq, pid, body)

    def done(self, request: Request, pid: int, error: KernelError | None = None, extended: bool = False) -> bytes:
        """The end of a dump: netlink_dump_done(), which says of a refusal its sentence alone."""
        said = (error.text if isinstance(error, Refusal) else "") or self.said
        more = self.text(NLMSGERR_ATTR_MSG, said) if extended and said else b""
        flags = NLM_F_MULTI | (NLM_F_ACK_TLVS if more else 0) | (NLM_F_DUMP_FILTERED if self.filtered else 0)
        errno = error.errno if error is not None else 0
        return self.message(NLMSG_DONE, flags, request.seq, pid, struct.pack(self.order + "i", -errno) + more)

    def words(self, error: Refusal) -> bytes:
        """netlink_ack_tlv_fill(): what is said of a refusal beside its number."""
        more = self.text(NLMSGERR_ATTR_MSG, error.text) if error.text else b""
        more += self.u32(NLMSGERR_ATTR_OFFS, error.bad) if error.bad is not None else b""
        more += self.nested(NLMSGERR_ATTR_POLICY, error.policy) if error.policy else b""
        more += self.u32(NLMSGERR_ATTR_MISS_TYPE, error.missing) if error.missing is not None else b""
        return more + (self.u32(NLMSGERR_ATTR_MISS_NEST, error.nest) if error.nest is not None else b"")

    def attribute(self, kind: int, value: bytes) -> bytes:
        """struct nlattr."""
        size = 4 + len(value)
        return (struct.pack(self.order + "HH", size, kind) + value).ljust((size + 3) & ~3, b"\0")

    def nested(self, kind: int, value: bytes) -> bytes:
        """nla_nest_start(): an attribute of attributes, marked as such."""
        return self.attribute(kind | NLA_F_NESTED, value)

    def u32(self, kind: int, value: int) -> bytes:
        """An attribute of 4 bytes."""
        return self.attribute(kind, struct.pack(self.order + "I", value & 0xFFFFFFFF))

    def u16(self, kind: int, value: int) -> bytes:
        """An attribute of 2 bytes."""
        return self.attribute(kind, struct.pack(self.order + "H", value))

    def u64(self, kind: int, value: int) -> bytes:
        """An attribute of 8 bytes."""
        return self.attribute(kind, struct.pack(self.order + "Q", value))

    def u8(self, kind: int, value: int) -> bytes:
        """An attribute of one byte."""
        return self.attribute(kind, bytes((value & 0xFF,)))

    def text(self, kind: int, value: str) -> bytes:
        """An attribute that is a string with its NUL."""
        return self.attribute(kind, value.encode() + b"\0")

    def pack(self, form: str, *values: object) -> bytes:
        """struct.pack() in this byte order."""
        return struct.pack(self.order + form, *values)

    def attributes(self, data: bytes) -> dict[int, bytes]:
        """What stands behind a message's fixed part."""
        return {kind: value for kind, value, _ in self.walk(data)}

    def walk(self, data: bytes) -> Iterator[tuple[int, bytes, int]]:
        """Each attribute: (type, value, where it begins)."""
        at = 0
        while at + 4 <= len(data):
            size, kind = struct.unpack_from(self.order + "HH", data, at)
            if size < 4 or at + size > len(data):
                return
            yield kind & NLA_TYPE_MASK, data[at + 4 : at + size], at
            at += (size + 3) & ~3

    def leftover(self, data: bytes) -> bool:
        """Does something stand behind the attributes that is none?"""
        return max((at + 4 + len(value) + 3 & ~3 for _, value, at in self.walk(data)), default=0) < len(data)

    def number(self, value: bytes | None, size: int = 4, default: int = 0) -> int:
        """A number of an attribute.  EINVAL when it is too short."""
        if value is None:
            return default
        if len(value) < size:
            raise KernelError(EINVAL, "attribute too short")
        return int.from_bytes(value[:size], "little" if self.order == "<" else "big")


def string(value: bytes | None) -> str:
    """A string attribute; empty: there is none."""
    return "" if value is None else c_string(value)


def address(value: bytes | None, size: int) -> bytes | None:
    """An address attribute.  EINVAL."""
    if value is not None and len(value) < size:
        raise KernelError(EINVAL, "address too short")
    return None if value is None else value[:size]
