"""Programs on sockets: SO_ATTACH_BPF.  net/core/filter.c:sk_attach_bpf().

The context is the packet's real struct sk_buff in kernel memory: the verifier has rewritten loads from struct __sk_buff
into loads of its members.
"""

from __future__ import annotations

from arch.abi.errno import EINVAL
from arch.errors import KernelError
from bpf import uapi
from bpf.board import Bpf
from bpf.core.program import BpfProg, prog_of_fd
from simkernel.net.core.skb import Skb
from simkernel.observe.host import ObservedKernel


class SocketFilter:
    """A program that says how many bytes of each packet a socket keeps; 0 drops the packet."""

    def __init__(self, prog: BpfProg) -> None:
        prog.get()
        self.prog = prog

    def __call__(self, skb: Skb) -> int:
        """Run on a packet."""
        return self.prog.run(skb.addr)

    def share(self) -> SocketFilter:
        """The program is held twice."""
        return SocketFilter(self.prog)

    def release(self) -> None:
        """Replaced, detached, or the socket is gone."""
        self.prog.put()


def attach_socket_filter(bpf: Bpf, fd: int) -> SocketFilter:
    """The program behind a descriptor.  EBADF; EINVAL for another object or type."""
    prog = prog_of_fd(bpf, fd - (1 << 32) if fd >> 31 else fd)
    if prog.type != uapi.BPF_PROG_TYPE_SOCKET_FILTER:
        raise KernelError(EINVAL, "not a socket filter")
    return SocketFilter(prog)


def install(k: ObservedKernel) -> None:
    """At boot."""
    k.net.attach_filter = lambda fd: attach_socket_filter(k.observer.bpf, fd)
