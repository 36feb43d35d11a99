"""What requests may say when their socket checks strictly (NETLINK_GET_STRICT_CHK, since 4.20).

net/core/{rtnetlink,neighbour,fib_rules}.c, net/ipv4/{devinet,fib_frontend,route}.c, net/ipv6/{addrconf,route}.c.
"""

from __future__ import annotations

from arch.abi import rtnetlink as rt
from arch.abi.errno import EINVAL
from arch.records import dataclass
from simkernel.net.core.extack import Refusal
from simkernel.net.netlink.message import LEFTOVER, Request, Wire


@dataclass(frozen=True, slots=True)
class Form:
    """One kind of request: how long its fixed part is, what must be 0 there, which attributes it may have."""

    what: str  # as it is called where its values are wrong
    size: int
    zero: tuple[int, ...]  # bytes of the fixed part
    attributes: tuple[int, ...]
    last: int = 0  # the last attribute that there is
    header: str = ""  # how it is called where it is too short; empty: as above
    others: str = ""  # and where an attribute is not one of these
    prefix: str = ""
    bare: bool = False  # nothing may stand behind the fixed part
    always: bool = False  # also without strict checking

    def check(self, wire: Wire, request: Request) -> None:
        """EINVAL."""
        if not (request.strict or self.always):
            return
        if len(request.body) < self.size:
            raise Refusal(EINVAL, f"{self.prefix}Invalid header for {self.header or self.what}")
        if any(request.body[at] for at in self.zero):
            raise Refusal(EINVAL, f"{self.prefix}Invalid values in header for {self.what}")
        behind = request.body[self.size :]
        if self.bare and behind:
            raise Refusal(EINVAL, f"Invalid data after header in {self.what}")

    def check_lengths(self, request: Request, bits: int) -> None:
        """EINVAL: a way is asked for to a whole address."""
        if request.strict and any(length not in (0, bits) for length in request.body[1:3]):
            raise Refusal(EINVAL, f"{self.prefix}Invalid values in header for {self.what}")

    def check_flags(self, wire: Wire, request: Request, known: int, refused: str) -> None:
        """EINVAL: rtm_flags that a request for a way does not have."""
        if request.strict and wire.number(request.body[8:12]) & ~known:
            raise Refusal(EINVAL, f"{self.prefix}{refused} for {self.what}")

    def check_attributes(self, wire: Wire, request: Request) -> None:
        """EINVAL, behind what a request checks of its flags."""
        if not (request.strict or self.always):
            return
        for kind, _, _ in wire.walk(request.body[self.size :]):
            if kind > self.last:
                raise Refusal(EINVAL, "Unknown attribute type")
            if kind not in self.attributes:
                raise Refusal(EINVAL, f"{self.prefix}Unsupported attribute in {self.others or self.what}")
        if wire.leftover(request.body[self.size :]):
            raise Refusal(EINVAL, LEFTOVER)


IFLA_LAST, IFA_LAST, RTA_LAST, NDA_LAST = 61, 11, 30, 17  # of 6.1
_LINK_ZERO = (1, 2, 3, *range(8, 16))

LINK_DUMP = Form(
    "link dump request", 16, _LINK_ZERO, (rt.IFLA_TARGET_NETNSID, rt.IFLA_EXT_MASK, rt.IFLA_MASTER, rt.IFLA_LINKINFO), IFLA_LAST,
    header="link dump",
)  # fmt: skip
LINK_GET = Form(
    "get link request", 16, _LINK_ZERO, (rt.IFLA_IFNAME, rt.IFLA_ALT_IFNAME, rt.IFLA_EXT_MASK, rt.IFLA_TARGET_NETNSID), IFLA_LAST,
    header="get link",
)  # fmt: skip
ADDR4_DUMP = Form(
    "address dump request", 8, (1, 2, 3), (rt.IFA_TARGET_NETNSID,), IFA_LAST, others="dump request", prefix="ipv4: "
)
ADDR6_DUMP = Form(
    "address dump request", 8, (1, 2, 3), (rt.IFA_TARGET_NETNSID,), IFA_LAST, others="dump request", prefix="ipv6: "
)
ROUTE4_GET = Form(
    "route get request", 12, (4, 5, 6, 7),
    (rt.RTA_IIF, rt.RTA_OIF, rt.RTA_SRC, rt.RTA_DST, rt.RTA_IP_PROTO, rt.RTA_SPORT, rt.RTA_DPORT, rt.RTA_MARK, rt.RTA_UID), RTA_LAST,
    prefix="ipv4: ",
)  # fmt: skip
ROUTE6_GET = Form(
    "get route request", 12, (4, 5, 6, 7),
    (rt.RTA_SRC, rt.RTA_DST, rt.RTA_IIF, rt.RTA_OIF, rt.RTA_MARK, rt.RTA_UID, rt.RTA_SPORT, rt.RTA_DPORT, rt.RTA_IP_PROTO),
    RTA_LAST, prefix="ipv6: ",
)  # fmt: skip
ROUTE_DUMP = Form("FIB dump request", 12, (1, 2, 3, 6), (rt.RTA_TABLE, rt.RTA_OIF), RTA_LAST, others="dump request")
RULE_DUMP = Form("fib rule dump request", 12, tuple(range(1, 12)), (), bare=True)
NEIGH_DUMP = Form(
    "neighbor dump request", 12, (1, 2, 3, 4, 5, 6, 7, 8, 9, 11), (rt.NDA_IFINDEX, rt.NDA_MASTER), NDA_LAST
)
NEIGH_GET = Form("neighbor get request", 12, (1, 2, 3, 8, 9, 11), (rt.NDA_DST,), NDA_LAST, always=True)
