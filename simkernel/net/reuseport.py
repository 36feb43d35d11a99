"""Groups of socks that share a port (SO_REUSEPORT): which of them gets a packet.  net/core/sock_reuseport.c."""

from __future__ import annotations

from collections.abc import Sequence

from arch.abi.errno import EINVAL, ENOENT
from arch.abi.inet import TCP_ESTABLISHED
from arch.abi.socket import SO_DETACH_REUSEPORT_BPF, SOCK_STREAM
from simkernel.kernel.face import Steps
from simkernel.net.core.programs import Choice
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import new_skb
from simkernel.net.core.sock import PortTable, Sock
from simkernel.net.face import NetKernel

Four = tuple[bytes, int, bytes, int]  # source and its port, destination and its port


def group_of(sk: Sock, socks: Sequence[Sock]) -> list[Sock]:
    """Those of its group: the same address, device and family rules."""
    return [
        other for other in socks
        if other.reuseport and other.laddr == sk.laddr and other.bound_ifindex == sk.bound_ifindex
        and other.v6only == sk.v6only and other.state != TCP_ESTABLISHED
    ]  # fmt: skip


def hash_of(four: Four) -> int:
    """inet_ehashfn(): some number of a connection, the same in every run."""
    source, sport, destination, dport = four
    number = int.from_bytes(source + destination, "big") ^ (sport << 16 | dport) * 0x9E3779B1
    return (number * 0x9E3779B97F4A7C15 >> 32) & 0xFFFFFFFF


def leave_group(sk: Sock, table: PortTable) -> None:
    """reuseport_detach_sock(): the program stays with the others."""
    others = [other for other in group_of(sk, table.get((sk.net, sk.lport), ())) if other is not sk]
    if sk.reuseport_prog is not None and others:
        others[0].reuseport_prog, sk.reuseport_prog = sk.reuseport_prog, None
    sk.drop_reuseport()


def stop_in_group(sk: Sock, table: PortTable) -> None:
    """reuseport_stop_listen_sock(): the others go on with the program; without any it waits for the next listen(2)."""
    sk.group_port = sk.lport
    others = [other for other in group_of(sk, table.get((sk.net, sk.lport), ())) if other is not sk]
    if sk.reuseport_prog is not None and others:
        others[0].reuseport_prog, sk.reuseport_prog = sk.reuseport_prog, None


def in_group(sk: Sock) -> bool:
    """It has a struct sock_reuseport: SO_REUSEPORT, and a port."""
    return sk.reuseport and bool(sk.lport)


def choose(k: NetKernel, choice: Choice, socks: PortTable, four: Four, packet: Skb | None) -> Sock | None:
    """inet_lookup_run_bpf(), udp4_lookup_run_bpf(): the sock of a program, or another of its group."""
    sk = choice.sock
    if sk is None or not choice.group or not in_group(sk) or sk.state == TCP_ESTABLISHED:
        return sk
    return select(k, sk, socks.get((sk.net, sk.lport), ()), four, packet)


def select(k: NetKernel, sk: Sock, socks: Sequence[Sock], four: Four, packet: Skb | None) -> Sock | None:
    """reuseport_select_sock(): as a program says, else by a hash."""
    group = group_of(sk, socks)
    number = hash_of(four)
    chosen = k.net.programs.reuseport(sk, group, packet, number) if packet is not None else None
    if chosen is not None:
        return chosen.sock
    return group[number * len(group) >> 32] if group else sk


def migrate(k: NetKernel, sk: Sock, moving: Sock, packet: Skb | None) -> Steps[Sock | None]:
    """reuseport_migrate_sock(): who of its group takes over a connection of a listener that has stopped (`yield from`).

    A program that may say so is asked (BPF_SK_REUSEPORT_SELECT_OR_MIGRATE), without one net.ipv4.tcp_migrate_req.  None: nobody.
    """
    group = [one for one in group_of(sk, k.net.tcp_listen.get((sk.net, moving.lport), ())) if one is not sk]
    asked_for = int(sk.net.sysctl["ipv4.tcp_migrate_req"])
    if not sk.reuseport or not group:
        sk.net.mib["TCPMigrateReqFailure"] += bool(sk.reuseport and asked_for)
        return None
    number = hash_of((moving.raddr, moving.rport, moving.laddr, moving.lport))
    empty = (yield from new_skb(k, 0)) if packet is None else None
    asked = packet or empty
    assert asked is not None
    chosen = k.net.programs.migrate(sk, [*group, sk], moving, asked, number)
    if empty is not None:
        yield k.call("consume_skb", empty.addr)
    if chosen is not None and not chosen.group:
        sk.net.mib["TCPMigrateReqFailure"] += chosen.sock is None
        return chosen.sock
    if chosen is None and not asked_for:
        return None
    return group[number * len(group) >> 32]


def queue(listener: Sock, child: Sock) -> None:
    """inet_csk_reqsk_queue_add()."""
    listener.accept_queue.append(child)
    listener.view.sk_ack_backlog = len(listener.accept_queue)


def take_over(listener: Sock, child: Sock) -> None:
    """A connection that nobody has accepted waits at another listener now, whose sleepers are not told."""
    child.listener = listener
    listener.net.mib["TCPMigrateReqSuccess"] += 1
    queue(listener, child)


def set_reuseport_program(k: NetKernel, sk: Sock, optname: int, data: bytes) -> int:
    """SO_ATTACH_REUSEPORT_EBPF: reuseport_attach_prog(), for the whole group.  EINVAL, EBADF, ENOENT."""
    table = k.net.tcp_listen if sk.type == SOCK_STREAM else k.net.datagrams(sk.protocol)
    group = group_of(sk, table.get((sk.net, sk.lport), ())) if sk.lport else []
    if sk not in group:
        group.append(sk)
    if optname == SO_DETACH_REUSEPORT_BPF:
        if not any(one.reuseport_prog for one in group):
            return -ENOENT
        for one in group:
            one.drop_reuseport()
        return 0
    if len(data) != 4 or not sk.reuseport:
        return -EINVAL
    fd = int.from_bytes(data, k.mem.byteorder)
    for one, attached in [(one, k.net.programs.reuseport_program(fd)) for one in group]:
        one.drop_reuseport()
        one.reuseport_prog = attached
    return 0
