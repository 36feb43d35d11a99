"""Neighbours over NETLINK_ROUTE.  net/core/neighbour.c: neigh_add() and its like."""

from __future__ import annotations

from collections.abc import Iterator

from arch.abi.errno import EAFNOSUPPORT, EEXIST, EINVAL, ENODEV, ENOENT
from arch.abi.netlink import NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE
from arch.abi.rtnetlink import (
    NDA_CACHEINFO,
    NDA_DST,
    NDA_IFINDEX,
    NDA_LLADDR,
    NDA_MASTER,
    NDA_PROBES,
    NDA_PROTOCOL,
    NTF_EXT_LEARNED,
    NTF_PROXY,
    NTF_ROUTER,
    NTF_USE,
    NUD_FAILED,
    NUD_PERMANENT,
    RTM_DELNEIGH,
    RTM_GETNEIGH,
    RTM_NEWNEIGH,
)
from arch.abi.socket import AF_INET, AF_INET6, AF_UNSPEC
from arch.abi.time import USER_TICK_NSEC
from arch.errors import KernelError
from simkernel.kernel.face import Steps
from simkernel.net.core import neighbour as core
from simkernel.net.core.extack import Refusal
from simkernel.net.core.netns import Neighbour, NetDevice
from simkernel.net.face import NetKernel
from simkernel.net.netlink import policy, strict
from simkernel.net.netlink.message import Request, Wire
from simkernel.net.netlink.rtnetlink import Row, register

NDMSG = "BxxxiHBB"
NDMSG_SIZE = 12  # struct ndmsg
SIZE = {AF_INET: 4, AF_INET6: 16}


def fill(k: NetKernel, wire: Wire, n: Neighbour) -> bytes:
    """neigh_fill_info()."""
    family = core.family(n.key)
    out = wire.pack(NDMSG, family, n.dev.ifindex, n.state, n.flags & 0xFF, n.kind)
    out += wire.attribute(NDA_DST, n.key)
    out += wire.attribute(NDA_LLADDR, n.mac) if n.state & core.NUD_VALID else b""
    ages = [max(k.clock.now_ns - ns, 0) // USER_TICK_NSEC for ns in (n.confirmed_ns, n.used_ns, n.updated_ns)]
    out += wire.attribute(NDA_CACHEINFO, wire.pack("4I", *(a & 0xFFFFFFFF for a in ages), n.refs))
    out += wire.u32(NDA_PROBES, n.probes)
    return out + (wire.u8(NDA_PROTOCOL, n.protocol) if n.protocol else b"")


def _dump(k: NetKernel, wire: Wire, request: Request) -> Iterator[bytes]:
    """neigh_dump_info()."""
    family = request.body[0]
    strict.NEIGH_DUMP.check(wire, request)
    strict.NEIGH_DUMP.check_attributes(wire, request)
    given: dict[int, bytes] = {}
    try:
        given = policy.parse(k, wire, request.body, NDMSG_SIZE, policy.NDA)
    except Refusal as error:  # without strict checking it is only said
        wire.said = error.text
    index, master = wire.number(given.get(NDA_IFINDEX)), wire.number(given.get(NDA_MASTER))
    proxies = len(request.body) >= NDMSG_SIZE and request.body[10] == NTF_PROXY
    if proxies:
        return
    wire.rows_filtered = bool(index or master)
    for bits, each in ((32, AF_INET), (128, AF_INET6)):
        if family not in (AF_UNSPEC, each):
            continue
        for n in list(request.net.inet(bits).neighbours.values()):
            if index not in (0, n.dev.ifindex) or (master and (n.dev.master is None or n.dev.master.ifindex != master)):
                continue
            yield fill(k, wire, n)


def _device(wire: Wire, request: Request) -> NetDevice | None:
    """EINVAL, ENODEV."""
    index = wire.number(request.body[4:8])
    dev = request.net.devices.get(index)
    if index and dev is None:
        raise KernelError(ENODEV)
    return dev


def _key(family: int, given: dict[int, bytes]) -> bytes:
    """EAFNOSUPPORT, EINVAL."""
    if family not in SIZE:
        raise KernelError(EAFNOSUPPORT)
    if len(given[NDA_DST]) < SIZE[family]:
        raise Refusal(EINVAL, "Invalid network address")
    return given[NDA_DST][: SIZE[family]]


def _new(k: NetKernel, wire: Wire, request: Request) -> Steps[None]:
    """neigh_add()."""
    given = policy.parse(k, wire, request.body, NDMSG_SIZE, policy.NDA)
    dev = _device(wire, request)
    if NDA_DST not in given:
        raise Refusal(EINVAL, "Network address not specified")
    state, flags = wire.number(request.body[8:10], 2), request.body[10]
    if dev is not None and NDA_LLADDR in given and len(given[NDA_LLADDR]) < 6:
        raise Refusal(EINVAL, "Invalid link address")
    key = _key(request.body[0], given)
    if dev is None:
        raise Refusal(EINVAL, "Device not specified")
    if not (dev.has_ipv4 if len(key) == 4 else dev.has_ipv6):
        raise KernelError(EINVAL)
    update, found = core.UPDATE_OVERRIDE | core.UPDATE_OVERRIDE_ISROUTER, core.find(dev, key)
    if found is None:
        if not request.flags & NLM_F_CREATE:
            raise KernelError(ENOENT)
        found = core.create(k, dev, key, bool(state & NUD_PERMANENT) or bool(flags & NTF_EXT_LEARNED))
    else:
        if request.flags & NLM_F_EXCL:
            raise KernelError(EEXIST)
        if not request.flags & NLM_F_REPLACE:
            update &= ~(core.UPDATE_OVERRIDE | core.UPDATE_OVERRIDE_ISROUTER)
    if NDA_PROTOCOL in given:
        found.protocol = wire.number(given[NDA_PROTOCOL], 1)
    if flags & NTF_EXT_LEARNED:
        found.flags |= NTF_EXT_LEARNED
    if flags & NTF_ROUTER:
        update |= core.UPDATE_ISROUTER
    if flags & NTF_USE:
        yield from core.event_send(k, found, None)
        return
    mac = given[NDA_LLADDR][:6] if NDA_LLADDR in given else None
    yield from core.update(k, found, mac, state, update | core.UPDATE_ADMIN, request.portid)


def _delete(k: NetKernel, wire: Wire, request: Request) -> Steps[None]:
    """neigh_delete().  ENOENT."""
    if len(request.body) < NDMSG_SIZE:
        raise KernelError(EINVAL)
    given = wire.attributes(request.body[NDMSG_SIZE:])
    if NDA_DST not in given:
        raise Refusal(EINVAL, "Network address not specified")
    dev, key = _device(wire, request), _key(request.body[0], given)
    if dev is None:
        raise KernelError(EINVAL)
    found = core.find(dev, key)
    if found is None:
        raise KernelError(ENOENT)
    yield from core.update(k, found, None, NUD_FAILED, core.UPDATE_OVERRIDE | core.UPDATE_ADMIN, request.portid)
    core.forget(k, found)


def _get(k: NetKernel, wire: Wire, request: Request) -> list[bytes]:
    """neigh_get().  ENOENT."""
    strict.NEIGH_GET.check(wire, request)
    given = policy.parse(k, wire, request.body, NDMSG_SIZE, policy.NDA)
    dev = _device(wire, request)
    if NDA_DST not in given:
        raise Refusal(EINVAL, "Network address not specified")
    key = _key(request.body[0], given)
    if len(given[NDA_DST]) != len(key):
        raise Refusal(EINVAL, "Invalid network address in neighbor get request")
    if dev is None:
        raise Refusal(EINVAL, "No device specified")
    found = core.find(dev, key)
    if found is None:
        raise Refusal(ENOENT, "Neighbour entry not found")
    return [fill(k, wire, found)]


register(RTM_GETNEIGH, Row(RTM_NEWNEIGH, dump=_dump, one=_get))
register(RTM_NEWNEIGH, Row(RTM_NEWNEIGH, change=_new))
register(RTM_DELNEIGH, Row(RTM_NEWNEIGH, change=_delete))
