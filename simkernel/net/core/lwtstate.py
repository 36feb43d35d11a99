"""What a route keeps of its light weight tunnel: programs for packets on the way in, out, and to the device.

include/net/lwtunnel.h: struct lwtunnel_state; net/core/lwt_bpf.c: struct bpf_lwt.  The paths that ask it are lwtunnel.py's.
"""

from __future__ import annotations

from typing import Protocol

from arch.abi.lwtunnel import LWT_BPF_OUT, LWT_BPF_XMIT
from arch.records import dataclass
from bpf.packet.skbuff import SkBuff


class LwtProgram(Protocol):
    """A program of a route."""

    def run(self, skb: SkBuff) -> int:
        """BPF_OK and its like, on a packet from its network header on."""

    def release(self) -> None:
        """The route goes."""


@dataclass(eq=False, slots=True)
class LwtState:
    """struct lwtunnel_state of type LWTUNNEL_ENCAP_BPF."""

    programs: dict[int, LwtProgram]  # by LWT_BPF_IN and its like
    names: dict[int, bytes]  # theirs, as the maker said them
    headroom: int = 0  # bytes that packets leave free
    uses: int = 1

    def same(self, other: LwtState) -> bool:
        """bpf_encap_cmp(): names are compared, not programs."""
        return self.names == other.names

    def room(self, mtu: int) -> int:
        """lwtunnel_headroom()."""
        takes = LWT_BPF_OUT in self.programs or LWT_BPF_XMIT in self.programs
        return self.headroom if takes and self.headroom < mtu else 0

    def put(self) -> None:
        """lwtstate_put()."""
        self.uses -= 1
        if not self.uses:
            for program in self.programs.values():
                program.release()


def same_state(a: LwtState | None, b: LwtState | None) -> bool:
    """lwtunnel_cmp_encap()."""
    return a is b or (a is not None and b is not None and a.same(b))
