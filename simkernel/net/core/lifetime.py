"""How long an address of a device is preferred and valid, for both families.  net/ipv4/devinet.c, net/ipv6/addrconf.c."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.rtnetlink import IFA_F_DEPRECATED, IFA_F_PERMANENT
from arch.abi.time import NSEC_PER_SEC
from simkernel.net.core.netns import Ifaddr
from simkernel.net.face import NetKernel

INFINITY_LIFE_TIME = 0xFFFFFFFF


def arm(k: NetKernel, address: Ifaddr, function: str, when_ns: int) -> None:
    """The kernel function `function` runs for this address at `when_ns`, and nothing that waited before."""
    forget(k, address)
    address.timer = k.mem.alloc(k.types.sizeof("struct timer_list"))
    k.net.lifetimes[address.timer] = address
    k.timers.setup(address.timer, function, address.timer)
    k.timers.mod(address.timer, when_ns)


def arm_next(k: NetKernel, address: Ifaddr, function: str) -> None:
    """`function` runs when the next of its two times ends, if one does."""
    ends = [s for s in (address.valid, address.preferred) if s != INFINITY_LIFE_TIME]
    left = [s for s in ends if address.updated_ns + s * NSEC_PER_SEC > k.clock.now_ns]
    if left and not address.flags & IFA_F_PERMANENT:
        arm(k, address, function, address.updated_ns + min(left) * NSEC_PER_SEC)


def forget(k: NetKernel, address: Ifaddr) -> None:
    """It waits for nothing any more."""
    if address.timer:
        k.timers.forget(address.timer)
        k.net.lifetimes.pop(address.timer, None)
        k.mem.free(address.timer)
        address.timer = 0


def ended(k: NetKernel, timer: int, delete: Callable[[NetKernel, Ifaddr], None]) -> Ifaddr | None:
    """An address is deprecated, or `delete` takes it away; the one that goes on is returned."""
    address = k.net.lifetimes.get(timer)
    if address is None:
        return None
    age = (k.clock.now_ns - address.updated_ns) // NSEC_PER_SEC
    if address.valid != INFINITY_LIFE_TIME and age >= address.valid:
        delete(k, address)
        return None
    if address.preferred != INFINITY_LIFE_TIME and age >= address.preferred and not address.flags & IFA_F_DEPRECATED:
        address.flags |= IFA_F_DEPRECATED
        k.net.announce.address(address.dev.net, address)
    return address
