"""The functions of a struct tcp_congestion_ops that a map of programs supplies.  kernel/bpf/bpf_struct_ops.c."""

from __future__ import annotations

from arch.abi.limits import U32_MAX
from bpf.board import Bpf
from bpf.maps.base import StructOps
from bpf.maps.struct_ops import WORD
from simkernel.net.core.programs import CongestionOps

TCP_CONG_NON_RESTRICTED = 1


class MapOps(CongestionOps):
    """Those of one map, which it keeps: bpf_try_module_get()."""

    def __init__(self, bpf: Bpf, name: str, supplied: StructOps) -> None:
        supplied.get()
        self.bpf, self.supplied = bpf, supplied
        self.name, self.restricted = name, not supplied.number("flags") & TCP_CONG_NON_RESTRICTED

    def has(self, member: str) -> bool:
        return member in self.supplied.members

    def call(self, sk: int, member: str, *args: int) -> int:
        words = (sk, *args)
        order = self.bpf.mem.byteorder
        with self.bpf.scratch(WORD * len(words)) as context:
            self.bpf.mem.write(context, b"".join((word & (1 << 64) - 1).to_bytes(WORD, order) for word in words))
            return self.supplied.members[member].run(context) & U32_MAX

    def drop(self) -> None:
        self.supplied.put()
