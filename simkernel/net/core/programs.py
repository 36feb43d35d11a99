"""Where programs stand in the network's paths: of control groups, on packets, addresses, sockets and their options.

net/ asks these at the kernel's places; who answers is told at boot (simkernel/observe/cgroups.py), and a machine without
BPF has this class, which lets everything pass.  An answer is 0, or -errno that ends the call.
"""

from __future__ import annotations

from typing import Protocol

from arch.abi.errno import ENOENT, EOPNOTSUPP
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.kernel.body import Steps
from simkernel.net.core.clsact import Classifier
from simkernel.net.core.lwtstate import LwtProgram
from simkernel.net.core.netns import Net, NetDevice
from simkernel.net.core.skb import Skb
from simkernel.net.core.sock import Filter, Sock


@dataclass(slots=True)
class FlowKeys:
    """struct flow_keys."""

    known: bool = False  # else the packet is none that could be dissected
    thoff: int = 0
    protocol: int = 0  # of the transport header
    later_fragment: bool = False
    flow: bytes = b""  # addresses and ports, of which a hash is made


@dataclass(frozen=True)
class Choice:
    """The sock that a program chose; None: the packet finds nobody."""

    sock: Sock | None
    group: bool = False  # the one of its group that the usual rules say


@dataclass(frozen=True)
class XdpAnswer:
    """What a program makes of a frame: it goes on, somebody has taken it, its bytes are copied (`used`), or it goes out of these devices; else it is dropped."""

    passes: bool = False
    taken: bool = False
    used: bool = False
    targets: tuple[NetDevice, ...] = ()


@dataclass(frozen=True)
class Redirected:
    """Where a packet is to go: out of a device, in by it, to a neighbour there, or to the other end of a veth pair."""

    ifindex: int
    ingress: bool = False
    neighbour: bool = False
    peer: bool = False
    more: bytes = b""  # struct bpf_redir_neigh, or the frame of a copy


@dataclass(frozen=True)
class HeaderCall:
    """What programs are asked about a segment of TCP: struct bpf_sock_ops_kern."""

    operation: int
    packet: Skb | None
    end: int  # of what they see, from where the packet begins
    room: int = 0  # bytes for their options
    why: int = 0
    request: Sock | None = None  # whose segment it is, if the connection is none yet
    syn: Skb | None = None  # that it answers


# include/uapi/linux/bpf.h: what is happening to a TCP socket (struct bpf_sock_ops.op)
BPF_SOCK_OPS_TIMEOUT_INIT, BPF_SOCK_OPS_RWND_INIT, BPF_SOCK_OPS_NEEDS_ECN = 1, 2, 6
BPF_SOCK_OPS_TCP_CONNECT_CB, BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB, BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB = 3, 4, 5
BPF_SOCK_OPS_STATE_CB, BPF_SOCK_OPS_TCP_LISTEN_CB, BPF_SOCK_OPS_RTT_CB = 10, 11, 12
NET_XMIT_SUCCESS, NET_XMIT_DROP, NET_XMIT_CN = 0, 1, 2


class CongestionOps(Protocol):
    """A struct tcp_congestion_ops of programs, held for one sock."""

    name: str
    restricted: bool

    def has(self, member: str) -> bool:
        """Is there a program for this function?"""

    def call(self, sk: int, member: str, *args: int) -> int:
        """The low 32 bits of what it returns, for the sock at an address."""

    def drop(self) -> None:
        """It is not needed any more."""


class NetPrograms:
    """No program anywhere."""

    def cookie(self, sk: Sock) -> int:
        """sock_gen_cookie(): a number of its own for each sock that somebody asks for."""
        return sk.tables.cookies.setdefault(sk.addr, len(sk.tables.cookies) + 1)

    def judge(self, sk: Sock, skb: Skb) -> Steps[None]:
        """sk_psock_verdict_data_ready(): what arrived at a socket that is in a map with programs (`yield from`)."""
        yield from ()

    def judge_bytes(self, sk: Sock, data: bytes) -> Steps[None]:
        """The same of what comes without a packet (`yield from`)."""
        yield from ()

    def judge_sent(self, sk: Sock, data: bytes, flags: int) -> Steps[int]:
        """tcp_bpf_sendmsg(): bytes taken or -errno (`yield from`)."""
        yield from ()
        return 0

    @property
    def watches_frames(self) -> bool:
        """Some device has an XDP program."""
        return False

    def xdp(self, dev: NetDevice, skb: Skb) -> XdpAnswer | None:
        """bpf_prog_run_generic_xdp(); None: no program is on the device."""
        return None

    def xdp_change(self, dev: NetDevice, fd: int, flags: int, expected_fd: int | None) -> None:
        """dev_change_xdp_fd().  KernelError."""
        raise KernelError(EOPNOTSUPP, "no programs on this machine")

    def device_gone(self, dev: NetDevice) -> None:
        """dev_xdp_uninstall(): its program goes, a link of it has no device any more."""

    def xdp_shown(self, dev: NetDevice) -> tuple[int, bool]:
        """The number of the device's program, 0: none, and whether the driver runs it."""
        return 0, False

    def classifier(self, fd: int) -> Classifier:
        """The program of a filter.  KernelError."""
        raise KernelError(EOPNOTSUPP, "no programs on this machine")

    def dissect(self, net: Net, skb: Skb, offset: int, flags: int) -> FlowKeys | None:
        """bpf_flow_dissect(): what the namespace's program says of the packet whose headers begin there; None: nothing."""
        return None

    def lwt_program(self, fd: int, kind: int) -> LwtProgram:
        """The program of a route, for LWT_BPF_IN and its like.  KernelError."""
        raise KernelError(EOPNOTSUPP, "no programs on this machine")

    def take_redirect(self) -> Redirected:
        """Where the program that ran last wants its packet to go."""
        return Redirected(0)

    def take_copies(self) -> list[Redirected]:
        """What it has sent elsewhere."""
        return []

    def sock(self, sk: Sock, attach_type: int) -> int:
        """BPF_CGROUP_RUN_SK_PROG()."""
        return 0

    def sock_addr(self, sk: Sock, address: bytes, attach_type: int) -> tuple[int, bytes, int]:
        """BPF_CGROUP_RUN_SA_PROG(): the answer, the address as programs left it, and their flags."""
        return 0, address, 0

    def sendmsg(self, sk: Sock, address: bytes, source: bytes, attach_type: int) -> tuple[int, bytes, bytes]:
        """The same of a datagram, whose source programs may choose."""
        return 0, address, source

    def ingress(self, sk: Sock, skb: Skb) -> int:
        """BPF_CGROUP_RUN_PROG_INET_INGRESS()."""
        return 0

    def egress(self, sk: Sock, skb: Skb) -> int:
        """BPF_CGROUP_RUN_PROG_INET_EGRESS(): NET_XMIT_SUCCESS and _CN send the packet."""
        return NET_XMIT_SUCCESS

    def sock_ops(self, sk: Sock, operation: int, *args: int, fullsock: bool = True) -> int:
        """tcp_call_bpf(): what programs reply, -1 if there is none or it refuses.  A request is no full sock."""
        return -1

    def wants_headers(self, sk: Sock, flag: int) -> bool:
        """A program has asked for this with bpf_sock_ops_cb_flags_set()."""
        return False

    def header(self, sk: Sock, call: HeaderCall) -> int:
        """bpf_skops_*(): the room that is left when programs have seen a segment."""
        return call.room

    def sk_lookup(
        self, net: Net, protocol: int, source: bytes, sport: int, destination: bytes, dport: int, iif: int
    ) -> Choice | None:
        """bpf_sk_lookup_run_v4(), _v6(): what programs of the namespace say.  None: the usual look-up."""
        return None

    def reuseport(self, sk: Sock, group: list[Sock], skb: Skb, number: int) -> Choice | None:
        """bpf_run_sk_reuseport(), run_bpf_filter(): what the group's program says.  None: there is none, or no answer."""
        return None

    def migrate(self, sk: Sock, group: list[Sock], moving: Sock, skb: Skb, number: int) -> Choice | None:
        """The same about a connection whose listener has stopped.  None: no program that is asked that."""
        return None

    def reuseport_program(self, fd: int) -> Filter:
        """SO_ATTACH_REUSEPORT_EBPF.  KernelError."""
        raise KernelError(EOPNOTSUPP, "no programs on this machine")

    def sock_closed(self, sk: Sock) -> None:
        """The sock leaves the maps that it is in."""

    def congestion_controls(self) -> frozenset[str]:
        """Names of congestion control that programs supply."""
        return frozenset()

    def congestion(self, name: str) -> CongestionOps:
        """One of these for one sock.  ENOENT."""
        raise KernelError(ENOENT, "no such congestion control")

    def sock_cloned(self, parent: Sock, child: Sock) -> None:
        """bpf_sk_storage_clone(): a connection begins with what its listener has in maps made for that."""

    def watches_options(self, sk: Sock) -> bool:
        """Programs look at what is given to setsockopt()."""
        return False

    def watches_answers(self, sk: Sock) -> bool:
        """Programs look at what getsockopt() answers, also where the kernel has no such option."""
        return False

    def setsockopt(self, sk: Sock, level: int, name: int, data: bytes) -> tuple[int, int, int, bytes]:
        """BPF_CGROUP_RUN_PROG_SETSOCKOPT(): the answer (1: it is done), level, name and value."""
        return 0, level, name, data

    def getsockopt(self, sk: Sock, level: int, name: int, room: int, answer: int, data: bytes) -> tuple[int, bytes]:
        """BPF_CGROUP_RUN_PROG_GETSOCKOPT(): the kernel's answer and value, and what programs make of them."""
        return answer, data


def rewrite_address(programs: NetPrograms, sk: Sock, uaddr: int, length: int, attach_type: int) -> tuple[int, int]:
    """sock_addr() on an address in kernel memory: the answer, and the programs' flags."""
    mem = sk.k.mem
    before = bytes(mem.read(uaddr, max(length, 0)))
    answer, after, flags = programs.sock_addr(sk, before, attach_type)
    if after != before:
        mem.write(uaddr, after)
    return answer, flags
