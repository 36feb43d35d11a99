"""Programs that choose a socket: of namespaces (sk_lookup) and of groups that share a port (SO_REUSEPORT).

net/core/filter.c and include/linux/filter.h of Linux 6.1: BPF_PROG_SK_LOOKUP_RUN_ARRAY(), bpf_run_sk_reuseport().
"""

from __future__ import annotations

from arch.abi.errno import EINVAL
from arch.abi.inet import IN6_ADDR_SIZE, TCP_NEW_SYN_RECV
from arch.abi.socket import AF_INET, AF_INET6
from arch.errors import KernelError
from bpf import uapi
from bpf.board import Bpf
from bpf.core.program import BpfProg, prog_of_fd
from bpf.packet.skbuff import KernelStruct
from simkernel.net.core.netns import Net
from simkernel.net.core.programs import Choice
from simkernel.net.core.skb import Skb
from simkernel.net.core.sock import Sock
from simkernel.net.ipv4.tcp_sock import TcpSock
from simkernel.net.reuseport import Four
from simkernel.observe.face import WatchedKernel
from simkernel.observe.sockfilter import SocketFilter

LOOKUP, REUSEPORT = "bpf_sk_lookup_kern", "sk_reuseport_kern"


class ReuseportProgram(SocketFilter):
    """Of a group: BPF_PROG_TYPE_SK_REUSEPORT names a socket of a map, a socket filter answers with a place in the group."""


def reuseport_program(bpf: Bpf, fd: int) -> ReuseportProgram:
    """sk_reuseport_attach_bpf().  EBADF; EINVAL for another type."""
    prog = prog_of_fd(bpf, fd - (1 << 32) if fd >> 31 else fd)
    if prog.type not in (uapi.BPF_PROG_TYPE_SOCKET_FILTER, uapi.BPF_PROG_TYPE_SK_REUSEPORT):
        raise KernelError(EINVAL, "no program that chooses a socket")
    return ReuseportProgram(prog)


class Choosers:
    """Running them."""

    def __init__(self, k: WatchedKernel, bpf: Bpf) -> None:
        self.k, self.bpf = k, bpf

    def _sock(self, address: int) -> Sock | None:
        return self.k.net.socks.get(address)

    # ---- look-ups ----

    def look_up(self, net: Net, protocol: int, four: Four, iif: int) -> Choice | None:
        """None where there is no program, and where all of them let the look-up go on."""
        hook = self.bpf.netns.hooks.get((net, uapi.BPF_SK_LOOKUP))
        if hook is None or not hook.progs:
            return None
        source, sport, destination, dport = four
        six = len(destination) == IN6_ADDR_SIZE
        kernel, mem = self.bpf.host.structs, self.bpf.mem
        with self.bpf.scratch(kernel.sizeof(LOOKUP)) as address, self.bpf.scratch(2 * IN6_ADDR_SIZE) as addresses:
            ctx = KernelStruct(self.bpf.host, address)
            ctx.struct = LOOKUP
            mem.write(addresses, source.ljust(IN6_ADDR_SIZE, b"\0") + destination.ljust(IN6_ADDR_SIZE, b"\0"))
            ctx.set("family", AF_INET6 if six else AF_INET)
            ctx.set("protocol", protocol)
            ctx.set("dport", dport)
            ctx.set("ingress_ifindex", iif)
            mem.write(ctx.at("sport"), sport.to_bytes(2, "big"))
            if six:
                ctx.set("v6.saddr", addresses)
                ctx.set("v6.daddr", addresses + IN6_ADDR_SIZE)
            else:
                mem.write(ctx.at("v4.saddr"), source)
                mem.write(ctx.at("v4.daddr"), destination)
            return self._run_all(ctx, [prog for prog in hook.progs if isinstance(prog, BpfProg)])

    def _run_all(self, ctx: KernelStruct, progs: list[BpfProg]) -> Choice | None:
        """The last choice counts; one that drops counts unless another chose."""
        chosen, group, all_pass = 0, False, True
        for prog in progs:
            ctx.set("selected_sk", 0)
            ctx.set("no_reuseport", 0)
            answer = prog.run(ctx.addr)
            if answer == uapi.SK_PASS and ctx.get("selected_sk"):
                chosen, group = ctx.get("selected_sk"), not ctx.get("no_reuseport")
            elif answer != uapi.SK_PASS:
                all_pass = False
        if chosen:
            return Choice(self._sock(chosen), group)
        return None if all_pass else Choice(None)

    # ---- groups ----

    def reuseport(self, sk: Sock, group: list[Sock], skb: Skb, number: int) -> Choice | None:
        """reuseport_select_sock() with a program."""
        attached = next((one.reuseport_prog for one in group if one.reuseport_prog is not None), None)
        if not isinstance(attached, ReuseportProgram):
            return None
        prog = attached.prog
        if prog.type == uapi.BPF_PROG_TYPE_SOCKET_FILTER:
            place = prog.run(skb.addr)
            return Choice(group[place]) if place < len(group) else None
        answer, chosen = self._run_reuseport(prog, sk, skb, number, 0)
        if answer != uapi.SK_PASS:
            return Choice(None)
        return Choice(self._sock(chosen)) if chosen else None

    def migrate(self, sk: Sock, group: list[Sock], moving: Sock, skb: Skb, number: int) -> Choice | None:
        """reuseport_migrate_sock() with a program; where it names nobody, the group decides."""
        attached = next((one.reuseport_prog for one in group if one.reuseport_prog is not None), None)
        if not isinstance(attached, ReuseportProgram):
            return None
        prog = attached.prog
        if prog.expected_attach_type != uapi.BPF_SK_REUSEPORT_SELECT_OR_MIGRATE:
            return None
        common = moving.view["__sk_common"]
        state = common.skc_state
        if isinstance(moving, TcpSock) and moving.is_request:
            common.skc_state = TCP_NEW_SYN_RECV
        try:
            answer, chosen = self._run_reuseport(prog, sk, skb, number, moving.addr)
        finally:
            common.skc_state = state
        if answer != uapi.SK_PASS:
            return Choice(None)
        return Choice(self._sock(chosen)) if chosen else Choice(None, group=True)

    def _run_reuseport(self, prog: BpfProg, sk: Sock, skb: Skb, number: int, moving: int) -> tuple[int, int]:
        """bpf_run_sk_reuseport(): what it answers, and the sock that it names."""
        kernel, owner = self.bpf.host.structs, skb.get("sk")
        with self.bpf.scratch(kernel.sizeof(REUSEPORT)) as address:
            ctx = KernelStruct(self.bpf.host, address)
            ctx.struct = REUSEPORT
            any_address = not any(sk.laddr)
            values = {"skb": skb.addr, "sk": sk.addr, "hash": number, "bind_inany": int(any_address),
                      "data_end": skb.data + skb.get("len") - skb.get("data_len")}  # fmt: skip
            if kernel.has(f"{REUSEPORT}.migrating_sk"):  # since 5.14
                values["migrating_sk"] = moving
            for name, value in values.items():
                ctx.set(name, value)
            try:
                return prog.run(ctx.addr), ctx.get("selected_sk")
            finally:
                skb.set("sk", owner)
