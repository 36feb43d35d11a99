"""Programs of routes: a packet's struct sk_buff, from its network header on, is their context.  net/core/lwt_bpf.c of Linux 6.1."""

from __future__ import annotations

from arch.abi.errno import EINVAL
from arch.abi.inet import IN6ADDR_ANY
from arch.abi.lwtunnel import LWT_BPF_IN, LWT_BPF_OUT, LWT_BPF_XMIT
from arch.errors import KernelError
from bpf import uapi
from bpf.board import Bpf
from bpf.core.program import BpfProg, prog_of_fd
from bpf.frames import RouteHost
from bpf.helpers import signed
from bpf.packet.skbuff import SkBuff
from simkernel.net.ipv6.header import IPV6_HEADER
from simkernel.net.ipv6.route import route_input, source_for
from simkernel.observe.face import WatchedKernel

ROUTE_TYPES = {
    LWT_BPF_IN: uapi.BPF_PROG_TYPE_LWT_IN,
    LWT_BPF_OUT: uapi.BPF_PROG_TYPE_LWT_OUT,
    LWT_BPF_XMIT: uapi.BPF_PROG_TYPE_LWT_XMIT,
}
CB_DATA_BYTES = 20  # bytes of qdisc_skb_cb.data, which programs have for themselves


class Routes(RouteHost):
    """What programs do with the ways of packets."""

    def __init__(self, k: WatchedKernel) -> None:
        self.k = k

    def has(self, skb: int) -> bool:
        return skb in self.k.net.skbs and self.k.net.skbs[skb].dst is not None

    def tunnel_source(self, skb: int, to: bytes) -> bytes:
        way = self.k.net.skbs[skb].dst
        assert way is not None
        try:
            return source_for(way.dev.net, way.dev, to)
        except KernelError:
            return IN6ADDR_ANY

    def route_in(self, skb: int) -> int:
        packet = self.k.net.skbs[skb]
        head = bytes(packet.mem.read(packet.network_header(), IPV6_HEADER))
        try:
            packet.dst = route_input(self.k, packet.device, head[24:40], head[8:24], packet.get("mark"))
        except KernelError as error:
            return error.errno
        return 0


class RouteProgram:
    """One program of a route."""

    def __init__(self, prog: BpfProg) -> None:
        prog.get()
        self.prog = prog

    def run(self, skb: SkBuff) -> int:
        """run_lwt_bpf(): what it answers."""
        skb.compute_data_pointers()
        at = skb.cb_at("qdisc_skb_cb.data")
        kept = bytes(skb.mem.read(at, CB_DATA_BYTES))
        skb.mem.write(at, bytes(CB_DATA_BYTES))
        self.prog.bpf.redirect = None
        try:
            return signed(self.prog.run(skb.addr), 32)
        finally:
            skb.mem.write(at, kept)

    def release(self) -> None:
        """The route goes."""
        self.prog.put()


def route_program(bpf: Bpf, fd: int, kind: int) -> RouteProgram:
    """bpf_prog_get_type().  EBADF, EINVAL."""
    prog = prog_of_fd(bpf, signed(fd, 32))
    if prog.type != ROUTE_TYPES[kind]:
        raise KernelError(EINVAL, "another type of program")
    return RouteProgram(prog)
