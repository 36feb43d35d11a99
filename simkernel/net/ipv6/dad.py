"""Duplicate address detection: an address is asked for before it is used.  net/ipv6/addrconf.c, RFC 4862."""

from __future__ import annotations

from arch.abi.rtnetlink import IFA_F_DADFAILED, IFA_F_OPTIMISTIC, IFA_F_TENTATIVE
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core import lifetime
from simkernel.net.face import NetKernel
from simkernel.net.ipv6 import addrconf
from simkernel.net.ipv6.ndisc import asks_for


@kernel_function("void addrconf_dad_work(struct work_struct *w)", source="net/ipv6/addrconf.c", since="3.16")
def addrconf_dad_work(k: NetKernel, w: int) -> Body:
    """Ask who has the address, or take it: nobody has answered."""
    address = k.net.lifetimes.get(w)
    if address is None or not address.flags & IFA_F_TENTATIVE:
        return 0
    dev = address.dev
    if address.probes:
        address.probes -= 1
        wait_ms = dev.neigh_conf["ipv6"]["retrans_time_ms"]
        k.timers.mod(address.timer, k.clock.now_ns + wait_ms * 1_000_000)
        yield from asks_for(k, dev, address.local)
        return 0
    lifetime.forget(k, address)
    address.flags &= ~(IFA_F_TENTATIVE | IFA_F_OPTIMISTIC | IFA_F_DADFAILED)
    addrconf.completed(k, address)
    return 0
