"""What can be asked of an interface, and changed, by ioctl().  net/core/dev_ioctl.c, net/ipv4/devinet.c: devinet_ioctl()."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.capability import CAP_NET_ADMIN
from arch.abi.errno import EADDRNOTAVAIL, EINVAL, ENODEV, ENOTTY, EPERM
from arch.abi.inet import IFF_BROADCAST, IFF_UP, IFNAMSIZ, INADDR_ANY
from arch.abi.ioctl import (
    SIOCDIFADDR,
    SIOCETHTOOL,
    SIOCGIFADDR,
    SIOCGIFBRDADDR,
    SIOCGIFCONF,
    SIOCGIFDSTADDR,
    SIOCGIFFLAGS,
    SIOCGIFHWADDR,
    SIOCGIFINDEX,
    SIOCGIFMAP,
    SIOCGIFMETRIC,
    SIOCGIFMTU,
    SIOCGIFNAME,
    SIOCGIFNETMASK,
    SIOCGIFTXQLEN,
    SIOCSIFADDR,
    SIOCSIFBRDADDR,
    SIOCSIFDSTADDR,
    SIOCSIFFLAGS,
    SIOCSIFHWADDR,
    SIOCSIFMTU,
    SIOCSIFNAME,
    SIOCSIFNETMASK,
    SIOCSIFTXQLEN,
)
from arch.abi.rtnetlink import IFA_F_PERMANENT
from arch.cstring import c_string
from arch.errors import KernelError
from simkernel.kernel.user_namespace import may_in
from simkernel.net.core.ethtool import dev_ethtool
from simkernel.net.core.message import sockaddr_in
from simkernel.net.core.netns import Ifaddr, Net, NetDevice
from simkernel.net.core.registry import (
    dev_change_flags,
    dev_change_name,
    dev_change_tx_queue_len,
    dev_get_flags,
    dev_set_mac_address,
    dev_set_mtu,
    run_linkwatch,
)
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.devinet import delete_address, insert_address, scope_of

IFREQ_FLAGS = 0xFFFF  # what fits in a short

SOCKET_IOCTLS = 0x89  # the type of requests that are of sockets: is_socket_ioctl_cmd()


def ifreq_size(k: NetKernel) -> int:
    """sizeof(struct ifreq)."""
    return 40 if k.arch.model.word == 8 else 32


def interface_list(k: NetKernel, net: Net, arg: int) -> int:
    """dev_ifconf(): struct ifconf; a null buffer asks for the length."""
    word, size = k.arch.model.word, ifreq_size(k)
    room, buffer = k.usercopy.get_user(arg, 4, signed=True), k.usercopy.get_user(arg + word, word)
    rows = [
        ((a.label or d.name).encode().ljust(IFNAMSIZ, b"\0") + sockaddr_in(k, a.local, 0)).ljust(size, b"\0")
        for _, d in sorted(net.devices.items()) for a in d.addresses
    ]  # fmt: skip
    if buffer:
        rows = rows[: max(0, room) // size]
        k.usercopy.copy_to_user(buffer, b"".join(rows))
    k.usercopy.put_user(arg, 4, size * len(rows))
    return 0


def _mask(prefix: int) -> bytes:
    return (0xFFFFFFFF << (32 - prefix) & 0xFFFFFFFF).to_bytes(4, "big")


Query = Callable[[NetKernel, NetDevice], bytes]
QUERIES: dict[int, Query] = {
    SIOCGIFFLAGS: lambda k, d: (dev_get_flags(d) & IFREQ_FLAGS).to_bytes(2, k.mem.byteorder),
    SIOCGIFMTU: lambda k, d: d.mtu.to_bytes(4, k.mem.byteorder),
    SIOCGIFHWADDR: lambda k, d: d.hardware_type.to_bytes(2, k.mem.byteorder) + d.mac.ljust(14, b"\0"),
    SIOCGIFINDEX: lambda k, d: d.ifindex.to_bytes(4, k.mem.byteorder),
    SIOCGIFMETRIC: lambda k, d: bytes(4),
    SIOCGIFTXQLEN: lambda k, d: d.tx_queue_len.to_bytes(4, k.mem.byteorder),
    SIOCGIFMAP: lambda k, d: bytes(24 if k.arch.model.word == 8 else 16),
}  # fmt: skip
ADDRESS_QUERIES: dict[int, Callable[[Ifaddr], bytes]] = {
    SIOCGIFADDR: lambda a: a.local, SIOCGIFBRDADDR: lambda a: a.broadcast or INADDR_ANY, SIOCGIFDSTADDR: lambda a: a.address,
    SIOCGIFNETMASK: lambda a: _mask(a.prefix),
}  # fmt: skip


def interface_ioctl(k: NetKernel, net: Net, cmd: int, arg: int) -> int:
    """ENOTTY for what is no request of interfaces; ENODEV, EPERM, EADDRNOTAVAIL, EINVAL."""
    if cmd == SIOCGIFCONF:
        return interface_list(k, net, arg)
    if cmd == SIOCETHTOOL:
        return dev_ethtool(k, net, arg)
    if cmd == SIOCGIFNAME:
        dev = net.devices.get(k.usercopy.get_user(arg + IFNAMSIZ, 4))
        if dev is None:
            raise KernelError(ENODEV, "no such interface")
        k.usercopy.copy_to_user(arg, dev.name.encode().ljust(IFNAMSIZ, b"\0"))
        return 0
    known = cmd in QUERIES or cmd in ADDRESS_QUERIES
    if not known and cmd not in CHANGES and cmd not in ADDRESS_CHANGES:
        if cmd >> 8 & 0xFF == SOCKET_IOCTLS:
            k.usercopy.copy_from_user(arg, 16 + 3 * k.arch.word)  # get_user_ifreq()
        raise KernelError(ENOTTY, f"socket ioctl {cmd:#x}")
    label = c_string(k.usercopy.copy_from_user(arg, IFNAMSIZ))
    if not known and not may_in(k, net.namespace.owner, CAP_NET_ADMIN):
        raise KernelError(EPERM, "changing an interface")
    dev = net.named(label.partition(":")[0])
    if dev is None:
        raise KernelError(ENODEV, f"no interface {label!r}")
    if cmd in QUERIES:
        k.usercopy.copy_to_user(arg + IFNAMSIZ, QUERIES[cmd](k, dev))
    elif cmd in CHANGES:
        CHANGES[cmd](k, dev, arg + IFNAMSIZ)
        run_linkwatch(k)
    else:
        _address(k, dev, label, cmd, arg + IFNAMSIZ)
        run_linkwatch(k)
    return 0


# -- changes -----------------------------------------------------------------------------------------------------------


def _set_flags(k: NetKernel, dev: NetDevice, at: int) -> None:
    wanted = k.usercopy.get_user(at, 2)
    dev_change_flags(k, dev, dev_get_flags(dev) & ~IFREQ_FLAGS | wanted)


def _set_mac(k: NetKernel, dev: NetDevice, at: int) -> None:
    raw = k.usercopy.copy_from_user(at, 8)
    if int.from_bytes(raw[:2], k.mem.byteorder) != dev.hardware_type:
        raise KernelError(EINVAL)
    if raw[2] & 1 or not any(raw[2:8]):
        raise KernelError(EADDRNOTAVAIL)
    dev_set_mac_address(k, dev, bytes(raw[2:8]))


def _set_queue(k: NetKernel, dev: NetDevice, at: int) -> None:
    length = k.usercopy.get_user(at, 4, signed=True)
    if length < 0:
        raise KernelError(EINVAL)
    dev_change_tx_queue_len(k, dev, length)


CHANGES: dict[int, Callable[[NetKernel, NetDevice, int], None]] = {
    SIOCSIFFLAGS: _set_flags,
    SIOCSIFMTU: lambda k, dev, at: dev_set_mtu(k, dev, k.usercopy.get_user(at, 4, signed=True)),
    SIOCSIFHWADDR: _set_mac,
    SIOCSIFTXQLEN: _set_queue,
    SIOCSIFNAME: lambda k, dev, at: dev_change_name(k, dev, c_string(k.usercopy.copy_from_user(at, IFNAMSIZ))),
}
ADDRESS_CHANGES = (SIOCSIFADDR, SIOCSIFBRDADDR, SIOCSIFDSTADDR, SIOCSIFNETMASK, SIOCDIFADDR)


def _class_prefix(address: bytes) -> int:
    """inet_abc_len()."""
    if not address[0]:
        return 0
    return 8 if address[0] < 128 else 16 if address[0] < 192 else 24 if address[0] < 224 else 32


def _address(k: NetKernel, dev: NetDevice, label: str, cmd: int, at: int) -> None:
    """devinet_ioctl(): of the address with this label."""
    found = next((a for a in dev.addresses if a.label == label), None)
    if cmd in ADDRESS_QUERIES:
        if found is None:
            raise KernelError(EADDRNOTAVAIL)
        k.usercopy.copy_to_user(at, sockaddr_in(k, ADDRESS_QUERIES[cmd](found), 0))
        return
    if cmd == SIOCDIFADDR:
        if found is None:
            raise KernelError(EADDRNOTAVAIL)
        delete_address(k, found)
        return
    raw = bytes(k.usercopy.copy_from_user(at, 16))
    given = raw[4:8]
    if found is None and cmd != SIOCSIFADDR:
        raise KernelError(EADDRNOTAVAIL)
    if cmd == SIOCSIFADDR:
        if given[0] >= 224:
            raise KernelError(EINVAL)
        prefix = _class_prefix(given)
        new = Ifaddr(dev, given, prefix, given, scope_of(given), IFA_F_PERMANENT, label=label)
        if dev.flags & IFF_BROADCAST and prefix < 31:
            new.broadcast = _last(given, prefix)
        _replace(k, found, new)
    elif found is not None:
        new = Ifaddr(
            dev, found.local, found.prefix, found.address, found.scope, IFA_F_PERMANENT, found.broadcast, label
        )
        if cmd == SIOCSIFNETMASK:
            bits = int.from_bytes(given, "big")
            if bits | bits >> 1 != bits and ~bits & (~bits + 1) & 0xFFFFFFFF:
                raise KernelError(EINVAL, "holes in the mask")
            new.prefix = bits.bit_count()
            if dev.flags & IFF_BROADCAST and new.prefix < 31:
                new.broadcast = _last(found.local, new.prefix)
        elif cmd == SIOCSIFBRDADDR:
            new.broadcast = given
        else:
            new.address = given
        _replace(k, found, new)


def _last(address: bytes, prefix: int) -> bytes:
    return (int.from_bytes(address, "big") | (1 << 32 - prefix) - 1).to_bytes(4, "big")


def _replace(k: NetKernel, old: Ifaddr | None, new: Ifaddr) -> None:
    if old is not None:
        delete_address(k, old)
    if new.local != INADDR_ANY:
        insert_address(k, new)
    if not new.dev.flags & IFF_UP and old is None and ":" not in new.label:
        dev_change_flags(k, new.dev, dev_get_flags(new.dev) | IFF_UP)
