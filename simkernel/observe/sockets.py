"""Sockets for programs: options, binding, who owns them.  net/core/filter.c of Linux 6.1: bpf_setsockopt() and its like."""

from __future__ import annotations

from arch.abi.errno import EAFNOSUPPORT, EBADFD, EBUSY, EINVAL, ENOENT, ENOTSUPP, EPROTOTYPE, ESOCKTNOSUPPORT
from arch.abi.in6 import SIN6_LEN_RFC2133
from arch.abi.inet import IPPROTO_TCP, IPPROTO_UDP, TCP_ESTABLISHED, TCP_LISTEN
from arch.abi.limits import OVERFLOWUID
from arch.abi.socket import AF_INET, AF_INET6, AF_UNIX, SOCK_DGRAM, SOCK_STREAM, SOL_TCP, TCP_CONGESTION, TCP_SAVED_SYN
from arch.errors import KernelError
from bpf.helpers.tcp_header import SYN_OPTIONS, TCP_BPF_SYN_IP, TCP_BPF_SYN_MAC
from bpf.socket_face import SynQueue
from simkernel.fs.cgroup import Cgroup
from simkernel.net.calls.sockopt import get_option, set_option
from simkernel.net.core.message import parse_sockaddr_in, parse_sockaddr_in6
from simkernel.net.core.netns import Net
from simkernel.net.core.sock import INET, Sock
from simkernel.net.ipv4.af_inet import BIND_FROM_BPF, bind_inet
from simkernel.net.ipv4.inet_hashtables import lookup_listener
from simkernel.net.ipv4.syncookies import lately_full, requests, was_full
from simkernel.net.ipv4.tcp_bpf_options import SETTERS, set_program_option
from simkernel.net.ipv4.tcp_sock import TcpSock
from simkernel.net.ipv4.udp import lookup
from simkernel.net.ipv6.af_inet6 import bind_inet6
from simkernel.net.reuseport import Four, group_of, in_group
from simkernel.observe.face import WatchedKernel
from simkernel.observe.fib_lookup import FibLookup

CDG = b"cdg"  # keeps a pointer where programs keep numbers


class Sockets:
    """bpf.socket_face.SocketHost: sockets by the addresses of their structs."""

    def __init__(self, k: WatchedKernel) -> None:
        self.k = k

    def _sock(self, address: int) -> Sock:
        found = self.k.net.socks.get(address)
        if found is None:
            raise KernelError(EINVAL, "no socket of the network")
        return found

    def bind(self, sk: int, address: bytes) -> int:
        """__inet_bind() and __inet6_bind() for bpf_bind()."""
        if len(address) >= SIN6_LEN_RFC2133 and int.from_bytes(address[:2], self.k.mem.byteorder) == AF_INET6:
            parse_sockaddr_in6(self.k, address)
            return bind_inet6(self.k, self._sock(sk), address, BIND_FROM_BPF)
        parse_sockaddr_in(self.k, address)
        return bind_inet(self.k, self._sock(sk), address, BIND_FROM_BPF)

    def setsockopt(self, sk: int, level: int, name: int, value: bytes) -> int:
        """0 or -errno."""
        sock = self._sock(sk)
        if (level, name) == (SOL_TCP, TCP_CONGESTION) and isinstance(sock, TcpSock):
            return self._set_congestion(sock, value)
        if level == SOL_TCP and name in SETTERS and isinstance(sock, TcpSock):
            return set_program_option(sock, name, int.from_bytes(value, self.k.mem.byteorder, signed=True))
        return set_option(self.k, sock, level, name, value)

    def _set_congestion(self, sk: TcpSock, value: bytes) -> int:
        """sol_tcp_sockopt_congestion(): a control's init() may ask for another one, whose init() may not."""
        if len(value) >= len(CDG) and value.split(b"\0")[0] == CDG:
            return -ENOTSUPP
        if sk.changing_congestion:
            return -EBUSY
        sk.changing_congestion = True
        try:
            return set_option(self.k, sk, SOL_TCP, TCP_CONGESTION, value)
        finally:
            sk.changing_congestion = False

    def getsockopt(self, sk: int, level: int, name: int) -> bytes | int:
        """The value or -errno; TCP_SAVED_SYN stays for user space."""
        sock = self._sock(sk)
        if level == SOL_TCP and name in SYN_OPTIONS:
            return self._saved_syn(sock, name)
        if (level, name) == (SOL_TCP, TCP_SAVED_SYN) and isinstance(sock, TcpSock):
            return sock.saved_syn or -EINVAL
        return get_option(self.k, self._sock(sk), level, name)

    def _saved_syn(self, sk: Sock, name: int) -> bytes | int:
        """bpf_sock_ops_get_syn(): from TCP's, IP's or the device's header on, if the listener has saved it."""
        saved = sk.saved_syn if isinstance(sk, TcpSock) else None
        if saved is None or not isinstance(sk, TcpSock):
            return -ENOENT
        mac = len(saved) - sk.saved_syn_length
        if name == TCP_BPF_SYN_MAC:
            return saved if mac else -ENOENT
        version = saved[mac] >> 4
        return saved[mac:] if name == TCP_BPF_SYN_IP else saved[mac + ((saved[mac] & 15) * 4 if version == 4 else 40) :]

    def lookup(self, net: int, nsid: int | None, protocol: int, four: Four, ifindex: int) -> int:
        """sk_lookup(): in a namespace by its address, or in that which it knows by a number."""
        space = self.k.net.spaces.get(net)
        if space is not None and nsid is not None:
            peers = {number: address for address, number in space.peers.items()}
            space = self.k.net.spaces.get(peers.get(nsid, 0))
        if space is None:
            return 0
        found = self._udp(space, four, ifindex) if protocol == IPPROTO_UDP else self._tcp(space, four, ifindex)
        return found.addr if found is not None else 0

    def _udp(self, net: Net, four: Four, ifindex: int) -> Sock | None:
        source, sport, destination, dport = four
        return lookup(self.k, net, destination, dport, source, sport, ifindex)

    def _tcp(self, net: Net, four: Four, ifindex: int) -> Sock | None:
        """__inet_lookup()."""
        source, sport, destination, dport = four
        connected = self.k.net.tcp_established.get((net, destination, dport, source, sport))
        return connected if connected is not None else lookup_listener(self.k, net, four, ifindex)

    def listener(self, sk: int) -> int:
        """rsk_listener."""
        found = self._sock(sk).listener
        return found.addr if found is not None else 0

    def syn_queue(self, sk: int, overflows: bool) -> SynQueue:
        """What is about SYN cookies of a listener; `overflows`: tcp_synq_overflow(), it gives one now."""
        sock = self._sock(sk)
        if not isinstance(sock, TcpSock):
            return 0, False, False, False
        if overflows:
            was_full(self.k, sock)
        full = requests(self.k, sock) > sock.backlog
        return int(sock.net.sysctl["ipv4.tcp_syncookies"]), full, lately_full(self.k, sock), bool(sock.v6only)

    def may_be_mapped(self, sk: int) -> bool:
        """TCP with a connection or a listener, UDP with a port, of AF_UNIX all but streams that are not connected."""
        sock = self._sock(sk)
        if isinstance(sock, TcpSock):
            return sock.state in (TCP_ESTABLISHED, TCP_LISTEN)
        if sock.family == AF_UNIX:
            return sock.type != SOCK_STREAM or sock.state == TCP_ESTABLISHED
        return sock.family in INET and sock.protocol == IPPROTO_UDP and bool(sock.lport)

    def may_be_judged(self, sk: int) -> bool:
        """unix_dgram_bpf_update_proto(): no SOCK_SEQPACKET."""
        sock = self._sock(sk)
        return sock.family != AF_UNIX or sock.type in (SOCK_STREAM, SOCK_DGRAM)

    def may_hear(self, sk: int) -> bool:
        """A TCP socket that does not listen, another that is connected or bound."""
        sock = self._sock(sk)
        return sock.state != TCP_LISTEN if isinstance(sock, TcpSock) else sock.state == TCP_ESTABLISHED

    def watch(self, sk: int, received: bool, sent: bool) -> None:
        """sk_data_ready and sk_prot are replaced; what is sent is asked about of TCP's sockets alone."""
        found = self.k.net.socks.get(sk)
        if found is not None:
            found.judges_received, found.judges_sent = received, sent

    def forget_judged(self, sk: int) -> None:
        """__sk_psock_purge_ingress_msg(): what nobody has read goes with the last map."""
        found = self.k.net.socks.get(sk)
        if found is not None:
            found.judged.clear()

    def reuseport_error(self, sk: int) -> int:
        """Only UDP and TCP, no raw socks, in a group."""
        sock = self._sock(sk)
        if sock.family not in INET or sock.protocol not in (IPPROTO_TCP, IPPROTO_UDP):
            return ENOTSUPP
        if sock.type not in (SOCK_STREAM, SOCK_DGRAM):
            return ENOTSUPP
        hears = sock.state == TCP_LISTEN if isinstance(sock, TcpSock) else bool(sock.lport)
        return 0 if hears and in_group(sock) else EINVAL

    def select_reuseport(self, sk: int, chosen: int, sockarray: bool) -> int:
        """Both have to be of the same group."""
        found, other = self._sock(sk), self._sock(chosen)
        if not in_group(other) or other.state == TCP_ESTABLISHED:
            return ENOENT if sockarray else EINVAL
        table = self.k.net.tcp_listen if isinstance(found, TcpSock) else self.k.net.udp
        if other is found or other in group_of(found, table.get((found.net, found.lport or found.group_port), ())):
            return 0
        if found.protocol != other.protocol:
            return EPROTOTYPE
        return EAFNOSUPPORT if found.family != other.family else EBADFD

    def assign_error(self, sk: int, family: int, protocol: int) -> int:
        """A listener or a bound sock without peer, of the protocol, that takes packets of the family."""
        sock = self._sock(sk)
        if sock.state == TCP_ESTABLISHED or (isinstance(sock, TcpSock) and sock.state != TCP_LISTEN):
            return ESOCKTNOSUPPORT
        if sock.protocol != protocol:
            return EPROTOTYPE
        return EAFNOSUPPORT if sock.family != family and (sock.family == AF_INET or sock.v6only) else 0

    def in_group(self, sk: int) -> bool:
        """SO_REUSEPORT."""
        return self._sock(sk).reuseport

    def netns_cookie(self, sk: int) -> int:
        """net_gen_cookie() of sock_net()."""
        known = self.k.net.socks.get(sk)
        return (known.net if known is not None else self.k.net.init).cookie

    def cgroup_id(self, sk: int, ancestor_level: int | None = None) -> int:
        """sock_cgroup_ptr(): 0 where there is no group at that level; a test run's own sock is in the first group."""
        known = self.k.net.socks.get(sk)
        group: Cgroup | None = (known.cgroup if known is not None else None) or self.k.vfs.cgroups.root
        if ancestor_level is not None and group is not None:
            group = group.ancestor(ancestor_level)
        return group.id if group is not None else 0

    def uid(self, sk: int) -> int:
        """sock_net_uid(): of its file, the overflow uid without one; a test run's own sock is root's."""
        if sk not in self.k.net.socks:
            return 0
        socket = self._sock(sk).socket
        file = socket.file if socket is not None else None
        return file.f_inode.i_uid if file is not None else OVERFLOWUID

    def fib_lookup(self, net: int, params: bytes, flags: int) -> tuple[int, bytes]:
        """bpf_ipv4_fib_lookup(), bpf_ipv6_fib_lookup()."""
        look = FibLookup(self.k, self.k.net.spaces.get(net) or self.k.net.init, params, flags)
        return look.answer(), bytes(look.params)
