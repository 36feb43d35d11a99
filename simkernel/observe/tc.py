"""Classifiers that are BPF programs: a packet's struct sk_buff is their context.  net/sched/cls_bpf.c of Linux 6.1."""

from __future__ import annotations

from arch.abi.errno import EINVAL
from arch.errors import KernelError
from bpf import uapi
from bpf.board import Bpf, Redirect
from bpf.core.program import BpfProg, prog_of_fd
from bpf.helpers import signed
from bpf.helpers.redirect import BPF_F_NEIGH, BPF_F_PEER
from simkernel.net.core.programs import Redirected
from simkernel.net.core.skb import Skb


class TcClassifier:
    """The program of a filter, or of a device: who makes it holds the program."""

    def __init__(self, prog: BpfProg) -> None:
        self.prog, self.id, self.tag = prog, prog.id, prog.tag

    def run(self, skb: Skb, ingress: bool) -> int:
        """From the link header on, whichever way the packet goes."""
        offset = skb.data - skb.mac_header()
        skb.set("tc_at_ingress", int(ingress))
        skb.push(offset)
        skb.compute_data_pointers()
        skb.mem.write_uint(skb.cb_at("qdisc_skb_cb.pkt_len"), 4, skb.len)
        self.prog.bpf.redirect, self.prog.bpf.copies = None, []
        try:
            return signed(self.prog.run(skb.addr), 32)
        finally:
            skb.pull(skb.network_header() - skb.data if offset else 0)

    def release(self) -> None:
        """The filter goes."""
        self.prog.put()


def classifier_of_fd(bpf: Bpf, fd: int) -> TcClassifier:
    """cls_bpf_prog_from_efd().  EBADF, EINVAL."""
    prog = prog_of_fd(bpf, fd)
    if prog.type != uapi.BPF_PROG_TYPE_SCHED_CLS:
        raise KernelError(EINVAL, "no classifier")
    prog.get()
    return TcClassifier(prog)


def redirected(way: Redirect) -> Redirected:
    """What bpf_redirect() and its like noted."""
    ingress, neighbour, peer = (bool(way.flags & flag) for flag in (uapi.BPF_F_INGRESS, BPF_F_NEIGH, BPF_F_PEER))
    return Redirected(way.index, ingress, neighbour, peer, way.more)
