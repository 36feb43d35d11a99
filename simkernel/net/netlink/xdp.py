"""IFLA_XDP: the program of a device in RTM_SETLINK and in what is told of links.  net/core/rtnetlink.c of Linux 6.1."""

from __future__ import annotations

import struct

from arch.abi.errno import EINVAL
from arch.abi.if_link import (
    IFLA_XDP_ATTACHED,
    IFLA_XDP_DRV_PROG_ID,
    IFLA_XDP_EXPECTED_FD,
    IFLA_XDP_FD,
    IFLA_XDP_FLAGS,
    IFLA_XDP_PROG_ID,
    IFLA_XDP_SKB_PROG_ID,
    XDP_ATTACHED_DRV,
    XDP_ATTACHED_NONE,
    XDP_ATTACHED_SKB,
    XDP_FLAGS_MASK,
    XDP_FLAGS_MODES,
    XDP_FLAGS_REPLACE,
)
from arch.errors import KernelError
from simkernel.net.core.netns import NetDevice
from simkernel.net.face import NetKernel
from simkernel.net.netlink.message import Wire


def xdp_attributes(k: NetKernel, wire: Wire, dev: NetDevice) -> bytes:
    """rtnl_xdp_fill()."""
    number, native = k.net.programs.xdp_shown(dev)
    if not number:
        return wire.u8(IFLA_XDP_ATTACHED, XDP_ATTACHED_NONE)
    own = wire.u32(IFLA_XDP_DRV_PROG_ID if native else IFLA_XDP_SKB_PROG_ID, number)
    how = XDP_ATTACHED_DRV if native else XDP_ATTACHED_SKB
    return own + wire.u8(IFLA_XDP_ATTACHED, how) + wire.u32(IFLA_XDP_PROG_ID, number)


def change_xdp(k: NetKernel, wire: Wire, dev: NetDevice, nested: bytes) -> None:
    """do_setlink().  EINVAL, and what the device says."""
    given = wire.attributes(nested)
    if IFLA_XDP_ATTACHED in given or IFLA_XDP_PROG_ID in given:
        raise KernelError(EINVAL)

    def number(kind: int) -> int | None:
        return struct.unpack(wire.order + "i", given[kind])[0] if len(given.get(kind, b"")) == 4 else None

    flags = number(IFLA_XDP_FLAGS) or 0
    modes = flags & XDP_FLAGS_MODES
    if flags & ~XDP_FLAGS_MASK or modes & modes - 1:
        raise KernelError(EINVAL)
    fd, expected = number(IFLA_XDP_FD), number(IFLA_XDP_EXPECTED_FD)
    if fd is None:
        return
    if flags & XDP_FLAGS_REPLACE and expected is None:
        raise KernelError(EINVAL)
    k.net.programs.xdp_change(dev, fd, flags, expected if flags & XDP_FLAGS_REPLACE else None)
