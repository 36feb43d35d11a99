"""The multicast groups of a socket, and the sources it hears there.  net/ipv4/ip_sockglue.c, igmp.c: ip_mc_*()."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EADDRINUSE, EADDRNOTAVAIL, EINVAL, ENOBUFS, ENODEV, EPROTO
from arch.abi.inet import (
    INADDR_ANY,
    IP_ADD_MEMBERSHIP,
    IP_ADD_SOURCE_MEMBERSHIP,
    IP_BLOCK_SOURCE,
    IP_DROP_MEMBERSHIP,
    IP_DROP_SOURCE_MEMBERSHIP,
    IP_MSFILTER,
    IP_UNBLOCK_SOURCE,
    MCAST_BLOCK_SOURCE,
    MCAST_EXCLUDE,
    MCAST_INCLUDE,
    MCAST_JOIN_GROUP,
    MCAST_JOIN_SOURCE_GROUP,
    MCAST_LEAVE_GROUP,
    MCAST_LEAVE_SOURCE_GROUP,
    MCAST_MSFILTER,
    MCAST_UNBLOCK_SOURCE,
)  # fmt: skip
from arch.abi.socket import AF_INET, SOCK_STREAM, SOCKADDR_STORAGE
from arch.errors import KernelError
from simkernel.net.core.group_filter import family, group_filter, storages
from simkernel.net.core.memberships import Membership
from simkernel.net.core.netns import Net, NetDevice
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel
from simkernel.net.ipv4 import igmp
from simkernel.net.ipv4.devinet import by_address
from simkernel.net.ipv4.fib import is_multicast
from simkernel.net.ipv4.route import simple_output

IP_MSFILTER_SIZE = 16  # bytes of struct ip_msfilter before its sources


def find_device(k: NetKernel, net: Net, group: bytes, address: bytes, ifindex: int) -> NetDevice | None:
    """ip_mc_find_dev(): by number, by its address, or where packets to the group go."""
    if ifindex:
        return net.devices.get(ifindex)
    if address != INADDR_ANY:
        return by_address(net, address)
    try:
        return simple_output(k, net, group).dev
    except KernelError:
        return None


def _request(k: NetKernel, data: bytes) -> tuple[bytes, bytes, int]:
    """struct ip_mreqn or ip_mreq: (group, address, ifindex).  EINVAL."""
    if len(data) < 8:
        raise KernelError(EINVAL)
    return data[:4], data[4:8], int.from_bytes(data[8:12], k.mem.byteorder) if len(data) >= 12 else 0


def join_group(k: NetKernel, sk: Sock, group: bytes, dev: NetDevice | None, include: bool = False) -> Membership:
    """__ip_mc_join_group().  EINVAL, ENODEV, EADDRINUSE, ENOBUFS."""
    if not is_multicast(group):
        raise KernelError(EINVAL)
    if dev is None:
        raise KernelError(ENODEV)
    if any(m.group == group and m.dev is dev for m in sk.memberships):
        raise KernelError(EADDRINUSE)
    if len([m for m in sk.memberships if len(m.group) == 4]) >= int(sk.net.sysctl["ipv4.igmp_max_memberships"]):
        raise KernelError(ENOBUFS)
    made = Membership(dev, group, include)
    sk.memberships.insert(0, made)
    igmp.join(k, dev, group)
    return made


def _join(k: NetKernel, sk: Sock, data: bytes) -> int:
    if sk.type == SOCK_STREAM:
        return -EPROTO
    group, address, ifindex = _request(k, data)
    if not is_multicast(group):
        return -EINVAL
    join_group(k, sk, group, find_device(k, sk.net, group, address, ifindex))
    return 0


def leave_group(k: NetKernel, sk: Sock, left: Membership) -> None:
    """ip_mc_leave_src(), ip_mc_dec_group()."""
    sk.memberships.remove(left)
    if left.dev.registered:
        igmp.leave(k, left.dev, left.group)


def _leave(k: NetKernel, sk: Sock, data: bytes) -> int:
    if sk.type == SOCK_STREAM:
        return -EPROTO
    return _leave_from(k, sk, *_request(k, data))


def _leave_from(k: NetKernel, sk: Sock, group: bytes, address: bytes, ifindex: int) -> int:
    """ip_mc_leave_group().  ENODEV, EADDRNOTAVAIL."""
    dev = find_device(k, sk.net, group, address, ifindex)
    if dev is None and not ifindex and address == INADDR_ANY:
        return -ENODEV
    for found in sk.memberships:
        if found.group == group and found.dev is dev:
            leave_group(k, sk, found)
            return 0
    return -EADDRNOTAVAIL


def _source_request(k: NetKernel, sk: Sock, name: int, data: bytes) -> int:
    """ip_mc_source(): struct ip_mreq_source."""
    if len(data) != 12:
        return -EINVAL
    return _change_source(k, sk, name, data[:4], data[8:12], data[4:8], 0)


def _change_source(k: NetKernel, sk: Sock, name: int, group: bytes, source: bytes, address: bytes, ifindex: int) -> int:
    if not is_multicast(group):
        return -EINVAL
    dev = find_device(k, sk.net, group, address, ifindex)
    if dev is None:
        return -ENODEV
    adds = name in (IP_ADD_SOURCE_MEMBERSHIP, IP_BLOCK_SOURCE)
    include = name in (IP_ADD_SOURCE_MEMBERSHIP, IP_DROP_SOURCE_MEMBERSHIP)
    found = next((m for m in sk.memberships if m.group == group and m.dev is dev), None)
    if found is None:
        if name != IP_ADD_SOURCE_MEMBERSHIP:
            return -EINVAL
        found = join_group(k, sk, group, dev, True)
    if found.include != include:
        if found.sources or not include:
            return -EINVAL
        found.include = include
    if adds:
        if source in found.sources:
            return -EADDRNOTAVAIL
        found.sources.append(source)
        found.sources.sort()
        return 0
    if source not in found.sources:
        return -EADDRNOTAVAIL
    found.sources.remove(source)
    if include and not found.sources:
        leave_group(k, sk, found)
    return 0


def leave_all(k: NetKernel, sk: Sock) -> None:
    """ip_mc_drop_socket()."""
    for left in [m for m in sk.memberships if len(m.group) == 4]:
        leave_group(k, sk, left)


def _filter(k: NetKernel, sk: Sock, data: bytes) -> int:
    """IP_MSFILTER: struct ip_msfilter.  EINVAL, ENOBUFS, and those of ip_mc_msfilter()."""
    if len(data) < IP_MSFILTER_SIZE:
        return -EINVAL
    order = k.mem.byteorder
    mode, count = int.from_bytes(data[8:12], order), int.from_bytes(data[12:16], order)
    if count > int(sk.net.sysctl["ipv4.igmp_max_msf"]):
        return -ENOBUFS
    if IP_MSFILTER_SIZE + 4 * count > len(data):
        return -EINVAL
    sources = [data[at : at + 4] for at in range(IP_MSFILTER_SIZE, IP_MSFILTER_SIZE + 4 * count, 4)]
    return _set_filter(k, sk, data[:4], data[4:8], 0, mode, sources)


def _set_filter(
    k: NetKernel, sk: Sock, group: bytes, address: bytes, ifindex: int, mode: int, sources: list[bytes]
) -> int:
    """ip_mc_msfilter().  EINVAL, ENODEV."""
    if not is_multicast(group) or mode not in (MCAST_EXCLUDE, MCAST_INCLUDE):
        return -EINVAL
    dev = find_device(k, sk.net, group, address, ifindex)
    if dev is None:
        return -ENODEV
    if mode == MCAST_INCLUDE and not sources:
        return _leave_from(k, sk, group, address, ifindex)
    found = next((m for m in sk.memberships if m.group == group and m.dev is dev), None)
    if found is None:
        return -EINVAL
    found.include, found.sources = mode == MCAST_INCLUDE, sources
    return 0


def _storage(k: NetKernel, data: bytes, count: int) -> tuple[int, list[bytes | None]]:
    """struct group_req, group_source_req: the interface and IPv4 addresses; None: one of another family.  EINVAL."""
    raws = storages(data, k.arch.word, count)
    return int.from_bytes(data[:4], k.mem.byteorder), [raw[4:8] if family(k, raw) == AF_INET else None for raw in raws]


def _join_storage(k: NetKernel, sk: Sock, data: bytes) -> int:
    """MCAST_JOIN_GROUP."""
    ifindex, (group,) = _storage(k, data, 1)
    if group is None or not is_multicast(group):
        return -EINVAL
    join_group(k, sk, group, find_device(k, sk.net, group, INADDR_ANY, ifindex))
    return 0


def _leave_storage(k: NetKernel, sk: Sock, data: bytes) -> int:
    """MCAST_LEAVE_GROUP."""
    ifindex, (group,) = _storage(k, data, 1)
    if group is None:
        return -EINVAL
    return _leave_from(k, sk, group, INADDR_ANY, ifindex)


def _source_storage(k: NetKernel, sk: Sock, name: int, data: bytes) -> int:
    """MCAST_JOIN_SOURCE_GROUP and its like."""
    ifindex, (group, source) = _storage(k, data, 2)
    if group is None or source is None:
        return -EADDRNOTAVAIL
    return _change_source(k, sk, name, group, source, INADDR_ANY, ifindex)


def _filter_storage(k: NetKernel, sk: Sock, data: bytes) -> int:
    """MCAST_MSFILTER."""
    asked = group_filter(k, data, int(sk.net.sysctl["ipv4.igmp_max_msf"]))
    if any(family(k, raw) != AF_INET for raw in asked.addresses):
        return -EADDRNOTAVAIL
    group, *sources = (raw[4:8] for raw in asked.addresses)
    return _set_filter(k, sk, group, INADDR_ANY, asked.ifindex, asked.mode, sources)


Setter = Callable[[NetKernel, Sock, bytes], int]


def _plain(name: int) -> Setter:
    """An option with struct ip_mreq_source."""
    return lambda k, sk, data: _source_request(k, sk, name, data)


def _by_storage(name: int) -> Setter:
    """An option with struct group_source_req, as the older one of IPv4 alone."""
    return lambda k, sk, data: _source_storage(k, sk, name, data)


GROUP_SETTERS: dict[int, Setter] = {
    IP_ADD_MEMBERSHIP: _join, IP_DROP_MEMBERSHIP: _leave, IP_ADD_SOURCE_MEMBERSHIP: _plain(IP_ADD_SOURCE_MEMBERSHIP),
    IP_DROP_SOURCE_MEMBERSHIP: _plain(IP_DROP_SOURCE_MEMBERSHIP), IP_BLOCK_SOURCE: _plain(IP_BLOCK_SOURCE),
    IP_UNBLOCK_SOURCE: _plain(IP_UNBLOCK_SOURCE), IP_MSFILTER: _filter,
    MCAST_JOIN_GROUP: _join_storage, MCAST_LEAVE_GROUP: _leave_storage, MCAST_JOIN_SOURCE_GROUP: _by_storage(IP_ADD_SOURCE_MEMBERSHIP),
    MCAST_LEAVE_SOURCE_GROUP: _by_storage(IP_DROP_SOURCE_MEMBERSHIP), MCAST_BLOCK_SOURCE: _by_storage(IP_BLOCK_SOURCE),
    MCAST_UNBLOCK_SOURCE: _by_storage(IP_UNBLOCK_SOURCE), MCAST_MSFILTER: _filter_storage,
}  # fmt: skip


def get_filter(k: NetKernel, sk: Sock, name: int, asked: bytes) -> bytes | int:
    """ip_mc_msfget(), ip_mc_gsfget(): the sources, as many as there is room for.  EINVAL, ENODEV, EADDRNOTAVAIL."""
    order, plain = k.mem.byteorder, name == IP_MSFILTER
    at = 8 if plain else k.arch.word + SOCKADDR_STORAGE
    if len(asked) < at + 8:
        return -EINVAL
    group, address, index = asked[:4], asked[4:8], 0
    if not plain:
        raw = asked[k.arch.word :]
        if int.from_bytes(raw[:2], order) != AF_INET:
            return -EINVAL
        group, address, index = raw[4:8], INADDR_ANY, int.from_bytes(asked[:4], order)
    if not is_multicast(group):
        return -EINVAL
    dev = find_device(k, sk.net, group, address, index)
    if plain and dev is None:
        return -ENODEV
    held = (m for m in sk.memberships if m.group == group and (m.dev is dev or (not plain and not index)))
    found = next(held, None)
    if found is None:
        return -EADDRNOTAVAIL
    told = int.from_bytes(asked[at + 4 : at + 8], order)
    mode = MCAST_INCLUDE if found.include else MCAST_EXCLUDE
    out = asked[:at] + mode.to_bytes(4, order) + len(found.sources).to_bytes(4, order)
    for source in found.sources[:told]:
        out += source if plain else (AF_INET.to_bytes(2, order) + bytes(2) + source).ljust(SOCKADDR_STORAGE, b"\0")
    return out
