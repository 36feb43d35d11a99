"""What can be asked of an interface by ioctl().  net/core/dev_ioctl.c."""

from __future__ import annotations

from arch.abi.inet import IFNAMSIZ, INADDR_ANY
from simkernel.net.core.message import sockaddr_in
from simkernel.net.core.netdevice import NetDevice
from simkernel.net.face import NetKernel


def broadcast_address(dev: NetDevice) -> bytes:
    """The last address of the interface's network; none on the loopback."""
    if dev.ifindex == 1:
        return INADDR_ANY
    host = (1 << 32 - dev.prefix) - 1
    last: int = int.from_bytes(dev.address, "big") | host
    return last.to_bytes(4, "big")


def interface_list(k: NetKernel, arg: int) -> int:
    """dev_ifconf(): struct ifconf; a null buffer asks for the length."""
    word = k.arch.model.word
    size = 40 if word == 8 else 32  # struct ifreq
    room, buffer = k.usercopy.get_user(arg, 4, signed=True), k.usercopy.get_user(arg + word, word)
    rows = [
        (d.name.encode().ljust(IFNAMSIZ, b"\0") + sockaddr_in(k, d.address, 0)).ljust(size, b"\0")
        for _, d in sorted(k.net.devices.items())
    ]
    if buffer:
        rows = rows[: max(0, room) // size]
        k.usercopy.copy_to_user(buffer, b"".join(rows))
    k.usercopy.put_user(arg, 4, size * len(rows))
    return 0
