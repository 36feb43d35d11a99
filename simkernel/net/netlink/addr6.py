"""IPv6 addresses over NETLINK_ROUTE.  net/ipv6/addrconf.c: inet6_rtm_newaddr() and its like."""

from __future__ import annotations

from collections.abc import Iterator

from arch.abi.errno import EADDRNOTAVAIL, EEXIST, EINVAL, ENODEV
from arch.abi.inet import IN6ADDR_ANY
from arch.abi.netlink import NLM_F_EXCL, NLM_F_REPLACE
from arch.abi.rtnetlink import (
    IFA_ADDRESS,
    IFA_CACHEINFO,
    IFA_F_DEPRECATED,
    IFA_F_HOMEADDRESS,
    IFA_F_MANAGETEMPADDR,
    IFA_F_MCAUTOJOIN,
    IFA_F_NODAD,
    IFA_F_NOPREFIXROUTE,
    IFA_F_OPTIMISTIC,
    IFA_FLAGS,
    IFA_LOCAL,
    IFA_PROTO,
    IFA_RT_PRIORITY,
    RT_SCOPE_UNIVERSE,
)
from arch.abi.socket import AF_INET6
from arch.errors import KernelError
from simkernel.net.core.extack import Refusal
from simkernel.net.core.netns import Ifaddr
from simkernel.net.face import NetKernel
from simkernel.net.ipv6 import addrconf
from simkernel.net.netlink import addr, policy, strict
from simkernel.net.netlink.addr import IFADDRMSG, IFADDRMSG_SIZE, cacheinfo, set_lifetime, wanted_devices
from simkernel.net.netlink.message import Request, Wire, address

SETTABLE = (
    IFA_F_NODAD | IFA_F_HOMEADDRESS | IFA_F_MANAGETEMPADDR | IFA_F_NOPREFIXROUTE | IFA_F_MCAUTOJOIN | IFA_F_OPTIMISTIC
)


def fill(k: NetKernel, wire: Wire, a: Ifaddr) -> bytes:
    """inet6_fill_ifaddr()."""
    out = wire.pack(IFADDRMSG, AF_INET6, a.prefix, a.flags & 0xFF, a.scope, a.dev.ifindex)
    if a.address != a.local:
        out += wire.attribute(IFA_LOCAL, a.local)
    out += wire.attribute(IFA_ADDRESS, a.address)
    out += wire.u32(IFA_RT_PRIORITY, a.metric) if a.metric else b""
    out += cacheinfo(k, wire, a) + wire.u32(IFA_FLAGS, a.flags)
    return out + (wire.u8(IFA_PROTO, a.proto) if a.proto else b"")


def _dump(k: NetKernel, wire: Wire, request: Request) -> Iterator[bytes]:
    """inet6_dump_ifaddr()."""
    for dev in wanted_devices(wire, request, strict.ADDR6_DUMP):
        for a in dev.addresses6:
            yield fill(k, wire, a)


def _new(k: NetKernel, wire: Wire, request: Request) -> None:
    """inet6_rtm_newaddr().  EINVAL, ENODEV, EEXIST and those of the address."""
    given = policy.parse(k, wire, request.body, IFADDRMSG_SIZE, policy.IFA_IPV6)
    prefix, flags = request.body[1], request.body[2]
    local, peer = _names(given)
    if local is None or prefix > 128:
        raise KernelError(EINVAL)
    dev = request.net.devices.get(wire.number(request.body[4:8]))
    if dev is None:
        raise Refusal(ENODEV, "Unable to find the interface" if k.version.at_least("6.8") else "")
    if not dev.has_ipv6:
        raise KernelError(EADDRNOTAVAIL)
    flags = wire.number(given.get(IFA_FLAGS), default=flags) & SETTABLE
    made = Ifaddr(dev, local, prefix, peer or local, RT_SCOPE_UNIVERSE, flags)
    made.metric = wire.number(given.get(IFA_RT_PRIORITY))
    made.proto = wire.number(given.get(IFA_PROTO), 1)
    if IFA_CACHEINFO in given:
        made.preferred, made.valid = wire.number(given[IFA_CACHEINFO][:4]), wire.number(given[IFA_CACHEINFO][4:8])
        if not made.valid or made.preferred > made.valid:
            raise KernelError(EINVAL)
    old = next((a for a in dev.addresses6 if a.local == local), None)
    if old is None:
        set_lifetime(made, made.valid, made.preferred)
        addrconf.configure(k, made)
        return
    if request.flags & NLM_F_EXCL or not request.flags & NLM_F_REPLACE:
        raise Refusal(EEXIST, "address already assigned" if k.version.at_least("6.8") else "")
    _modify(k, old, made)


def _modify(k: NetKernel, old: Ifaddr, made: Ifaddr) -> None:
    """inet6_addr_modify()."""
    old.flags = old.flags & ~SETTABLE | made.flags
    set_lifetime(old, made.valid, made.preferred)
    old.flags &= ~IFA_F_DEPRECATED if made.preferred else -1
    old.updated_ns = k.clock.now_ns
    if old.address != made.address and old.address != old.local:
        raise KernelError(EINVAL)
    addrconf.arm_lifetime(k, old)
    k.net.announce.address(old.dev.net, old)
    old.dev.net.ipv6.changed()


def _names(given: dict[int, bytes]) -> tuple[bytes | None, bytes | None]:
    """extract_addr(): (its own, the other end's)."""
    local = address(given.get(IFA_ADDRESS), 16)
    if IFA_LOCAL not in given:
        return local, None
    own = address(given.get(IFA_LOCAL), 16)
    return own, local if local not in (None, own, IN6ADDR_ANY) else None


def _delete(k: NetKernel, wire: Wire, request: Request) -> None:
    """inet6_rtm_deladdr().  EINVAL, ENODEV, EADDRNOTAVAIL."""
    local, _ = _names(policy.parse(k, wire, request.body, IFADDRMSG_SIZE, policy.IFA_IPV6))
    prefix = request.body[1]
    if local is None or prefix > 128:
        raise KernelError(EINVAL)
    dev = request.net.devices.get(wire.number(request.body[4:8]))
    if dev is None:
        raise Refusal(ENODEV, "Unable to find the interface" if k.version.at_least("6.8") else "")
    found = next((a for a in dev.addresses6 if a.local == local and a.prefix == prefix), None)
    if found is None:
        raise Refusal(EADDRNOTAVAIL, "address not found" if k.version.at_least("6.8") else "")
    addrconf.delete_address(k, found)


def _one(k: NetKernel, wire: Wire, request: Request) -> list[bytes]:
    """inet6_rtm_getaddr(): one address.  EINVAL, EADDRNOTAVAIL."""
    local, _ = _names(policy.parse(k, wire, request.body, IFADDRMSG_SIZE, policy.IFA_IPV6))
    if local is None:
        raise KernelError(EINVAL)
    index = wire.number(request.body[4:8])
    for _, dev in sorted(request.net.devices.items()):
        for a in dev.addresses6:
            if a.local == local and index in (0, dev.ifindex):
                return [fill(k, wire, a)]
    raise KernelError(EADDRNOTAVAIL)


addr.DUMPS[AF_INET6], addr.FILL[16], addr.ONE[AF_INET6] = _dump, fill, _one
addr.NEW[AF_INET6], addr.DELETE[AF_INET6] = _new, _delete
