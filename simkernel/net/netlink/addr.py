"""IPv4 addresses over NETLINK_ROUTE.  net/ipv4/devinet.c: inet_rtm_newaddr() and its like."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from arch.abi.errno import EADDRNOTAVAIL, EEXIST, EINVAL, ENOBUFS, ENODEV
from arch.abi.inet import INADDR_ANY
from arch.abi.netlink import NLM_F_EXCL, NLM_F_REPLACE
from arch.abi.rtnetlink import (
    IFA_ADDRESS,
    IFA_BROADCAST,
    IFA_CACHEINFO,
    IFA_F_DEPRECATED,
    IFA_F_PERMANENT,
    IFA_FLAGS,
    IFA_LABEL,
    IFA_LOCAL,
    IFA_PROTO,
    IFA_RT_PRIORITY,
    RTM_DELADDR,
    RTM_GETADDR,
    RTM_NEWADDR,
)
from arch.abi.socket import AF_INET
from arch.abi.time import NSEC_PER_SEC, USER_TICK_NSEC
from arch.errors import KernelError
from simkernel.net.core.extack import Refusal
from simkernel.net.core.lifetime import INFINITY_LIFE_TIME
from simkernel.net.core.netns import Ifaddr, NetDevice, in_prefix
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.devinet import arm_lifetime, delete_address, insert_address
from simkernel.net.netlink import policy, strict
from simkernel.net.netlink.message import Request, Wire, address, string
from simkernel.net.netlink.rtnetlink import (
    Change,
    Dump,
    One,
    Row,
    change_of_family,
    dump_families,
    one_of_family,
    register,
)

IFADDRMSG = "BBBBI"
IFADDRMSG_SIZE = 8
IPV4_ONLY = 32


def lifetimes(k: NetKernel, a: Ifaddr) -> tuple[int, int]:
    """(preferred, valid) seconds that are left."""
    preferred, valid = a.preferred, a.valid
    if a.flags & IFA_F_PERMANENT:
        return INFINITY_LIFE_TIME, INFINITY_LIFE_TIME
    age = (k.clock.now_ns - a.updated_ns) // NSEC_PER_SEC
    if preferred != INFINITY_LIFE_TIME:
        preferred = max(preferred - age, 0)
        valid = valid if valid == INFINITY_LIFE_TIME else max(valid - age, 0)
    return preferred, valid


def cacheinfo(k: NetKernel, wire: Wire, a: Ifaddr) -> bytes:
    """struct ifa_cacheinfo."""
    stamps = (a.created_ns // USER_TICK_NSEC, a.updated_ns // USER_TICK_NSEC)
    return wire.attribute(IFA_CACHEINFO, wire.pack("4I", *lifetimes(k, a), *stamps))


def fill(k: NetKernel, wire: Wire, a: Ifaddr) -> bytes:
    """inet_fill_ifaddr()."""
    out = wire.pack(IFADDRMSG, AF_INET, a.prefix, a.flags & 0xFF, a.scope, a.dev.ifindex)
    if a.address != INADDR_ANY:
        out += wire.attribute(IFA_ADDRESS, a.address)
    out += wire.attribute(IFA_LOCAL, a.local)
    out += wire.attribute(IFA_BROADCAST, a.broadcast) if a.broadcast else b""
    out += wire.text(IFA_LABEL, a.label) if a.label else b""
    out += wire.u8(IFA_PROTO, a.proto) if a.proto else b""
    out += wire.u32(IFA_FLAGS, a.flags)
    out += wire.u32(IFA_RT_PRIORITY, a.metric) if a.metric else b""
    return out + cacheinfo(k, wire, a)


def wanted_devices(wire: Wire, request: Request, form: strict.Form) -> list[NetDevice]:
    """Whose addresses a dump is to show: of a strict one those of the interface that it names.  EINVAL, ENODEV."""
    form.check(wire, request)
    form.check_attributes(wire, request)
    index = wire.number(request.body[4:8]) if request.strict else 0
    wire.filtered = bool(index)
    if index and index not in request.net.devices:
        raise KernelError(ENODEV)
    return [dev for number, dev in sorted(request.net.devices.items()) if index in (0, number)]


def _dump4(k: NetKernel, wire: Wire, request: Request) -> Iterator[bytes]:
    """inet_dump_ifaddr()."""
    for dev in wanted_devices(wire, request, strict.ADDR4_DUMP):
        for a in dev.addresses:
            yield fill(k, wire, a)


DUMPS: dict[int, Dump] = {AF_INET: _dump4}
FILL: dict[int, Callable[[NetKernel, Wire, Ifaddr], bytes]] = {4: fill}  # by the length of an address
ONE: dict[int, One] = {}
NEW: dict[int, Change] = {}
DELETE: dict[int, Change] = {}


def _parse(k: NetKernel, wire: Wire, request: Request) -> tuple[Ifaddr, dict[int, bytes]]:
    """rtm_to_ifaddr().  EINVAL, ENODEV."""
    given = policy.parse(k, wire, request.body, IFADDRMSG_SIZE, policy.IFA_IPV4)
    _, prefix, flags, scope = request.body[:4]
    local = address(given.get(IFA_LOCAL), 4)
    if prefix > IPV4_ONLY or local is None:
        raise KernelError(EINVAL)
    dev = request.net.devices.get(wire.number(request.body[4:8]))
    if dev is None:
        raise KernelError(ENODEV)
    if not dev.has_ipv4:
        raise KernelError(ENOBUFS)
    peer = address(given.get(IFA_ADDRESS), 4) or local
    made = Ifaddr(dev, local, prefix, peer, scope, wire.number(given.get(IFA_FLAGS), default=flags))
    made.broadcast = address(given.get(IFA_BROADCAST), 4)
    made.label = string(given.get(IFA_LABEL)) or dev.name
    made.metric = wire.number(given.get(IFA_RT_PRIORITY))
    made.proto = wire.number(given.get(IFA_PROTO), 1)
    if IFA_CACHEINFO in given:
        made.preferred, made.valid = wire.number(given[IFA_CACHEINFO][:4]), wire.number(given[IFA_CACHEINFO][4:8])
        if not made.valid or made.preferred > made.valid:
            raise KernelError(EINVAL)
    return made, given


def set_lifetime(a: Ifaddr, valid: int, preferred: int) -> None:
    """set_ifa_lifetime()."""
    a.valid, a.preferred = valid, preferred
    a.flags &= ~(IFA_F_PERMANENT | IFA_F_DEPRECATED)
    if valid == INFINITY_LIFE_TIME:
        a.flags |= IFA_F_PERMANENT
    if not preferred:
        a.flags |= IFA_F_DEPRECATED


def _new4(k: NetKernel, wire: Wire, request: Request) -> None:
    """inet_rtm_newaddr().  EEXIST and those of rtm_to_ifaddr()."""
    made, _ = _parse(k, wire, request)
    old = next((a for a in made.dev.addresses if _same(a, made)), None)
    if old is None:
        set_lifetime(made, made.valid, made.preferred)
        insert_address(k, made)
        return
    if request.flags & NLM_F_EXCL or not request.flags & NLM_F_REPLACE:
        raise Refusal(EEXIST, "ipv4: Address already assigned" if k.version.at_least("6.8") else "")
    old.metric, old.proto = made.metric or old.metric, made.proto or old.proto
    set_lifetime(old, made.valid, made.preferred)
    old.updated_ns = k.clock.now_ns
    arm_lifetime(k, old)
    k.net.announce.address(request.net, old)


def _same(a: Ifaddr, b: Ifaddr) -> bool:
    """find_matching_ifa()."""
    return a.prefix == b.prefix and a.local == b.local and in_prefix(a.address, b.address, a.prefix)


def _del4(k: NetKernel, wire: Wire, request: Request) -> None:
    """inet_rtm_deladdr().  ENODEV, EADDRNOTAVAIL."""
    given = policy.parse(k, wire, request.body, IFADDRMSG_SIZE, policy.IFA_IPV4)
    dev = request.net.devices.get(wire.number(request.body[4:8]))
    if dev is None:
        raise Refusal(ENODEV, "ipv4: Device not found" if k.version.at_least("6.8") else "")
    found = _find(dev, request.body[1], given)
    if found is None:
        raise Refusal(EADDRNOTAVAIL, "ipv4: Address not found" if k.version.at_least("6.8") else "")
    delete_address(k, found)


def _find(dev: NetDevice, prefix: int, given: dict[int, bytes]) -> Ifaddr | None:
    local, label, peer = given.get(IFA_LOCAL), given.get(IFA_LABEL), given.get(IFA_ADDRESS)
    for a in dev.addresses:
        if local is not None and local != a.local:
            continue
        if label is not None and string(label) != a.label:
            continue
        if peer is not None and (prefix != a.prefix or not in_prefix(peer, a.address, a.prefix)):
            continue
        return a
    return None


NEW[AF_INET], DELETE[AF_INET] = _new4, _del4
register(RTM_GETADDR, Row(RTM_NEWADDR, dump=dump_families(DUMPS), one=one_of_family(ONE)))
register(RTM_NEWADDR, Row(RTM_NEWADDR, change=change_of_family(NEW)))
register(RTM_DELADDR, Row(RTM_NEWADDR, change=change_of_family(DELETE)))
