"""/proc/net: interfaces, routes, neighbours and sockets as text.

net/core/net-procfs.c, net/ipv4/{fib_trie,arp,tcp_ipv4,udp,raw}.c, net/unix/af_unix.c, net/packet/af_packet.c.
Lines are as long as the kernel makes them: tools cut them by column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from arch.abi.inet import RTF_GATEWAY, RTF_UP, TCP_ESTABLISHED, TCP_LISTEN, TCP_TIME_WAIT
from arch.abi.socket import AF_UNIX, SO_ACCEPTCON, SS_CONNECTED, SS_UNCONNECTED
from simkernel.fs.nodes import PseudoFile
from simkernel.fs.procfs import proc_file
from simkernel.net.core.netdevice import GATEWAY, GATEWAY_MAC
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel
from simkernel.net.unix.sock import UnixSock

UDP_CLOSED, UDP_CONNECTED = 7, 1


def _hex_address(k: NetKernel, address: bytes, port: int) -> str:
    """An IPv4 address as the number it is in memory, and a port."""
    return f"{int.from_bytes(address, k.mem.byteorder):08X}:{port:04X}"


def _inode_of(sk: Sock) -> int:
    file = sk.socket.file if sk.socket is not None else None
    return int(file.f_inode.i_ino) if file is not None else 0


def dev(k: NetKernel) -> str:
    """/proc/net/dev."""
    out = [
        "Inter-|   Receive                                                |  Transmit\n",
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier "
        "compressed\n",
    ]
    for index in sorted(k.net.devices):
        device = k.net.devices[index]
        s = device.stats.get
        out.append(
            f"{device.name:>6}: {s('rx_bytes', 0):7d} {s('rx_packets', 0):7d} {s('rx_errors', 0):4d} "
            f"{s('rx_dropped', 0):4d} {0:4d} {0:5d} {0:10d} {s('multicast', 0):9d} {s('tx_bytes', 0):8d} "
            f"{s('tx_packets', 0):7d} {s('tx_errors', 0):4d} {s('tx_dropped', 0):4d} {0:4d} {0:5d} {0:7d} {0:10d}\n"
        )
    return "".join(out)


def route(k: NetKernel) -> str:
    """/proc/net/route: the default route, then each network but the loopback's (which is a local route)."""
    order = k.mem.byteorder

    def line(name: str, to: bytes, gateway: bytes, flags: int, mask: int) -> str:
        words = [int.from_bytes(to, order), int.from_bytes(gateway, order)]
        mask_word = int.from_bytes(mask.to_bytes(4, "big"), order)
        text = f"{name}\t{words[0]:08X}\t{words[1]:08X}\t{flags:04X}\t0\t0\t0\t{mask_word:08X}\t0\t0\t0"
        return text.ljust(127) + "\n"

    head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"
    out = [head.ljust(127) + "\n"]
    devices = [k.net.devices[i] for i in sorted(k.net.devices) if k.net.devices[i].name != "lo"]
    for device in devices:
        if device.on_link(GATEWAY):
            out.append(line(device.name, bytes(4), GATEWAY, RTF_UP | RTF_GATEWAY, 0))
    for device in devices:
        mask = 0xFFFFFFFF << (32 - device.prefix) & 0xFFFFFFFF
        network = (int.from_bytes(device.address, "big") & mask).to_bytes(4, "big")
        out.append(line(device.name, network, bytes(4), RTF_UP, mask))
    return "".join(out)


def arp(k: NetKernel) -> str:
    """/proc/net/arp: the one neighbour."""
    head = "IP address       HW type     Flags       HW address            Mask     Device\n"
    address = ".".join(map(str, GATEWAY))
    mac = ":".join(f"{byte:02x}" for byte in GATEWAY_MAC)
    return head + f"{address:<16} 0x{1:<10x}0x{2:<10x}{mac:<17}     *        eth0\n"


def _inet_line(k: NetKernel, number: int, sk: Sock, state: int, receive: int, tail: str) -> str:
    local, remote = _hex_address(k, sk.laddr, sk.lport), _hex_address(k, sk.raddr, sk.rport)
    return (
        f"{number:4d}: {local} {remote} {state:02X} {0:08X}:{receive:08X} 00:{0:08X} {0:08X} {0:5d} {0:8d} "
        f"{_inode_of(sk)} {tail}"
    )


def tcp(k: NetKernel) -> str:
    """/proc/net/tcp: listening sockets, then connections, then the dying."""
    head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"
    out = [head.ljust(149) + "\n"]
    listening = [sk for port in sorted(k.net.tcp_listen) for sk in k.net.tcp_listen[port]]
    connected = [k.net.tcp_established[key] for key in sorted(k.net.tcp_established)]
    for sk in (*listening, *connected):
        waiting = len(sk.accept_queue) if sk.state == TCP_LISTEN else sum(p.len for p in sk.receive_queue)
        tail = f"1 {sk.addr:x} 100 0 0 10 {0 if sk.state == TCP_LISTEN else -1}"
        out.append(_inet_line(k, len(out) - 1, sk, sk.state, waiting, tail).ljust(149) + "\n")
    for laddr, lport, raddr, rport in sorted(k.net.time_wait):
        text = (
            f"{len(out) - 1:4d}: {_hex_address(k, laddr, lport)} {_hex_address(k, raddr, rport)} {TCP_TIME_WAIT:02X} "
            f"{0:08X}:{0:08X} 03:{0:08X} {0:08X} {0:5d} {0:8d} 0 3 0"
        )
        out.append(text.ljust(149) + "\n")
    return "".join(out)


def _datagram_table(k: NetKernel, socks: Iterable[Sock]) -> str:
    head = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops"
    out = [head.ljust(127) + "\n"]
    for sk in socks:
        state = UDP_CONNECTED if sk.state == TCP_ESTABLISHED else UDP_CLOSED
        number = sk.lport & 0xFFFF
        out.append((" " + _inet_line(k, number, sk, state, sk.rmem, f"2 {sk.addr:x} {sk.drops}")).ljust(127) + "\n")
    return "".join(out)


def udp(k: NetKernel) -> str:
    """/proc/net/udp."""
    return _datagram_table(k, [sk for port in sorted(k.net.udp) for sk in k.net.udp[port]])


def raw(k: NetKernel) -> str:
    """/proc/net/raw."""
    return _datagram_table(k, k.net.raw).replace("   sl", "  sl", 1)


def unix(k: NetKernel) -> str:
    """/proc/net/unix: bound or connected, in the order in which they were made."""
    out = ["Num       RefCount Protocol Flags    Type St Inode Path\n"]
    for sk in k.net.socks.values():
        if not isinstance(sk, UnixSock):
            continue
        flags = SO_ACCEPTCON if sk.state == TCP_LISTEN else 0
        state = SS_CONNECTED if sk.state == TCP_ESTABLISHED else SS_UNCONNECTED
        name = sk.name.rstrip(b"\0") if sk.name[:1] != b"\0" else b"@" + sk.name[1:]
        text = name.decode("utf-8", "surrogateescape")
        row = f"{sk.addr:016x}: {2 + (sk.peer is not None):08X} {0:08X} {flags:08X} {sk.type:04X} {state:02X} {_inode_of(sk):5d}"
        out.append(row + (f" {text}" if text else "") + "\n")
    return "".join(out)


def packet(k: NetKernel) -> str:
    """/proc/net/packet."""
    out = ["sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n"]
    for sk in k.net.packet:
        out.append(
            f"{sk.addr:016x} 3      {sk.type:<4d} {sk.protocol:04x}   {sk.bound_ifindex:<5d} 1 {sk.rmem:<6d} 0      {_inode_of(sk)}\n"
        )
    return "".join(out)


def sockstat(k: NetKernel) -> str:
    """/proc/net/sockstat."""
    inet = [sk for sk in k.net.socks.values() if sk.family != AF_UNIX]
    streams = sum(1 for sk in inet if sk.type == 1)
    datagrams = sum(len(v) for v in k.net.udp.values())
    return (
        f"sockets: used {len(k.net.sockets)}\nTCP: inuse {streams} orphan 0 tw {len(k.net.time_wait)} alloc {streams} "
        f"mem 0\nUDP: inuse {datagrams} mem 0\nUDPLITE: inuse 0\nRAW: inuse {len(k.net.raw)}\nFRAG: inuse 0 memory 0\n"
    )


FILES: tuple[tuple[str, Callable[[NetKernel], str]], ...] = (
    ("arp", arp), ("dev", dev), ("packet", packet), ("raw", raw), ("route", route), ("sockstat", sockstat), ("tcp", tcp),
    ("udp", udp), ("unix", unix),
)  # fmt: skip


def install(k: NetKernel) -> None:
    """Put the files under /proc/net; needs the mounted procfs."""
    for name, show in FILES:
        proc_file(k.vfs, f"net/{name}", PseudoFile(lambda show=show: show(k)))  # type: ignore[misc]
