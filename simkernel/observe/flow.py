"""Flow dissectors of network namespaces, asked by packets.  net/core/flow_dissector.c of Linux 6.1: bpf_flow_dissect()."""

from __future__ import annotations

from arch.abi.inet import ETH_P_IP, ETH_P_IPV6
from arch.abi.limits import U16_MAX
from bpf import uapi
from bpf.board import Bpf
from bpf.core.program import BpfProg
from bpf.face import Prog
from bpf.packet.skbuff import KernelStruct
from bpf.verifier.context.ctx_layout import BPF_FLOW_KEYS
from simkernel.net.core.netns import Net
from simkernel.net.core.programs import FlowKeys
from simkernel.net.core.skb import Skb
from simkernel.observe.face import WatchedKernel

IS_FRAG_AT, IS_FIRST_FRAG_AT = 6, 7  # where struct bpf_flow_keys has is_frag and is_first_frag


class FlowDissectors:
    """Running them."""

    def __init__(self, k: WatchedKernel, bpf: Bpf) -> None:
        self.k, self.bpf = k, bpf

    def _prog(self, net: Net) -> Prog | None:
        """That of the first namespace is for all."""
        for space in (self.k.net.init, net):
            hook = self.bpf.netns.hooks.get((space, uapi.BPF_FLOW_DISSECTOR))
            if hook is not None and hook.progs:
                return hook.progs[0]
        return None

    def dissect(self, net: Net, skb: Skb, offset: int, flags: int) -> FlowKeys | None:
        """None: there is no program, or it leaves the packet to the kernel."""
        prog = self._prog(net)
        if prog is None:
            return None
        assert isinstance(prog, BpfProg)
        mem, kernel, order = self.k.mem, self.bpf.host.structs, self.k.mem.byteorder
        begin = bytearray(BPF_FLOW_KEYS.size)
        for name in ("nhoff", "thoff"):
            field = BPF_FLOW_KEYS[name]
            begin[field.offset : field.end] = (offset & U16_MAX).to_bytes(2, order)
        proto, wishes = BPF_FLOW_KEYS["n_proto"], BPF_FLOW_KEYS["flags"]
        begin[proto.offset : proto.end] = skb.protocol().to_bytes(2, "big")
        begin[wishes.offset : wishes.end] = flags.to_bytes(4, order)
        with (
            self.bpf.scratch(kernel.sizeof("bpf_flow_dissector")) as address,
            self.bpf.scratch(BPF_FLOW_KEYS.size) as keys_at,
        ):
            ctx = KernelStruct(self.bpf.host, address)
            for member, value in (("flow_keys", keys_at), ("skb", skb.addr), ("data", skb.data), ("data_end", skb.data + skb.headlen)):  # fmt: skip
                ctx.write(address, f"bpf_flow_dissector.{member}", value)
            mem.write(keys_at, bytes(begin))
            answer = prog.run(address)
            raw = bytes(mem.read(keys_at, BPF_FLOW_KEYS.size))
        return None if answer == uapi.BPF_FLOW_DISSECTOR_CONTINUE else self._keys(raw, offset & U16_MAX, skb, answer)

    def _keys(self, raw: bytes, nhoff: int, skb: Skb, answer: int) -> FlowKeys:
        """__skb_flow_bpf_to_target(): offsets stay within the packet."""
        order, limit = self.k.mem.byteorder, skb.headlen & U16_MAX

        def number(name: str) -> int:
            field = BPF_FLOW_KEYS[name]
            return int.from_bytes(raw[field.offset : field.end], order)

        begin = min(max(number("nhoff"), nhoff), limit)
        thoff = min(max(number("thoff"), begin), limit)
        size = {ETH_P_IP: 8, ETH_P_IPV6: 32}.get(number("addr_proto"), 0)
        flow = raw[BPF_FLOW_KEYS["ip_proto"].offset : BPF_FLOW_KEYS["ip_src"].offset + size]
        return FlowKeys(
            answer == uapi.BPF_OK, thoff, number("ip_proto"), bool(raw[IS_FRAG_AT]) and not raw[IS_FIRST_FRAG_AT], flow
        )  # fmt: skip
