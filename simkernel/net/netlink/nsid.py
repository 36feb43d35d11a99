"""Numbers by which a namespace knows others: RTM_NEWNSID, RTM_GETNSID.  net/core/net_namespace.c."""

from __future__ import annotations

from collections.abc import Iterable

from arch.abi.errno import EEXIST, EINVAL, ENOENT, ENOSPC, ESRCH
from arch.abi.netlink import NLMSG_HDRLEN
from arch.abi.rtnetlink import (
    NETNSA_CURRENT_NSID,
    NETNSA_FD,
    NETNSA_NSID,
    NETNSA_NSID_NOT_ASSIGNED,
    NETNSA_PID,
    NETNSA_TARGET_NSID,
    RTM_GETNSID,
    RTM_NEWNSID,
)
from arch.errors import KernelError
from simkernel.fs.nsfs import NS_FILE_OPERATIONS, namespace_of
from simkernel.net.core.extack import Refusal
from simkernel.net.core.netns import Net
from simkernel.net.face import NetKernel
from simkernel.net.netlink import policy
from simkernel.net.netlink.message import Request, Wire
from simkernel.net.netlink.rtnetlink import Row, register

RTGENMSG_SIZE = 4  # struct rtgenmsg, padded


def net_of_fd(k: NetKernel, fd: int) -> Net:
    """get_net_ns_by_fd().  EBADF, EINVAL."""
    file = k.vfs.fget(fd)
    if file.f_op is not NS_FILE_OPERATIONS or namespace_of(file.f_inode).kind != "net":
        raise KernelError(EINVAL, "no namespace of networks")
    state = namespace_of(file.f_inode).state
    return state if isinstance(state, Net) else k.net.init


def net_of_pid(k: NetKernel, pid: int) -> Net:
    """get_net_ns_by_pid().  ESRCH."""
    task = k.tasks.find(pid)
    if task is None:
        raise KernelError(ESRCH)
    return k.net.of(task)


def id_of(k: NetKernel, net: Net, peer: Net) -> int:
    """peernet2id_alloc(): how `net` calls `peer`; a number is given where there was none."""
    found = net.peers.get(peer.addr)
    if found is None:
        taken = set(net.peers.values())
        found = net.peers[peer.addr] = next(n for n in range(len(taken) + 1) if n not in taken)
        k.net.announce.namespace_id(net, found)
    return found


def by_id(k: NetKernel, net: Net, number: int) -> Net | None:
    """get_net_ns_by_id()."""
    return next((k.net.spaces[a] for a, n in net.peers.items() if n == number and a in k.net.spaces), None)


def fill(wire: Wire, number: int) -> bytes:
    """rtnl_net_fill()."""
    return wire.pack("Bxxx", 0) + wire.u32(NETNSA_NSID, number)


def _peer(k: NetKernel, wire: Wire, request: Request) -> tuple[Net, dict[int, bytes]]:
    attributes = policy.parse(k, wire, request.body, RTGENMSG_SIZE, policy.NETNSA)
    if NETNSA_PID in attributes:
        return net_of_pid(k, wire.number(attributes[NETNSA_PID])), attributes
    if NETNSA_FD in attributes:
        return net_of_fd(k, wire.number(attributes[NETNSA_FD])), attributes
    if NETNSA_NSID in attributes:
        peer = by_id(k, request.net, wire.number(attributes[NETNSA_NSID]))
        if peer is None:
            raise Refusal(ENOENT, "Peer netns reference is invalid")
        return peer, attributes
    raise Refusal(EINVAL, "Peer netns reference is missing")


def _new(k: NetKernel, wire: Wire, request: Request) -> None:
    """rtnl_net_newid().  EINVAL, EEXIST."""
    attributes = policy.parse(k, wire, request.body, RTGENMSG_SIZE, policy.NETNSA)
    if NETNSA_NSID not in attributes:
        raise Refusal(EINVAL, "nsid is missing")
    number = wire.number(attributes[NETNSA_NSID])
    peer, _ = _peer(k, wire, request)
    where = NLMSG_HDRLEN + RTGENMSG_SIZE + next(at for kind, _, at in wire.walk(request.body[RTGENMSG_SIZE:]) if kind in (NETNSA_PID, NETNSA_FD))  # fmt: skip
    if peer.addr in request.net.peers:
        raise Refusal(EEXIST, "Peer netns already has a nsid assigned", bad=where)
    if number >> 31:
        taken = set(request.net.peers.values())
        number = next(n for n in range(len(taken) + 1) if n not in taken)
    elif number in request.net.peers.values():
        raise Refusal(ENOSPC if k.version.before("4.19") else EEXIST, "The specified nsid is already used", bad=where)
    request.net.peers[peer.addr] = number
    k.net.announce.namespace_id(request.net, number)


def _get(k: NetKernel, wire: Wire, request: Request) -> list[bytes]:
    """rtnl_net_getid().  ENOENT."""
    peer, _ = _peer(k, wire, request)
    return [fill(wire, request.net.peers.get(peer.addr, NETNSA_NSID_NOT_ASSIGNED))]


def _dump(k: NetKernel, wire: Wire, request: Request) -> Iterable[bytes]:
    """rtnl_net_dumpid()."""
    if request.strict:  # rtnl_valid_dump_net_req()
        body = request.body.ljust(RTGENMSG_SIZE, b"\0")
        given = policy.parse_strict(k, wire, body, RTGENMSG_SIZE, policy.NETNSA_DUMP, NETNSA_CURRENT_NSID)
        if given.keys() - {NETNSA_TARGET_NSID}:
            raise Refusal(EINVAL, "Unsupported attribute in dump request")
    return [fill(wire, number) for number in sorted(request.net.peers.values())]


register(RTM_NEWNSID, Row(RTM_NEWNSID, change=_new))
register(RTM_GETNSID, Row(RTM_NEWNSID, dump=_dump, one=_get))
