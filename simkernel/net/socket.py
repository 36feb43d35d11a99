"""Sockets as files and system calls.  net/socket.c, net/ipv4/af_inet.c.

A system call finds the struct socket behind its descriptor and calls through the protocol's operations, by the names
that Linux gives them: sendto -> __sys_sendto -> sock_sendmsg -> inet_sendmsg -> udp_sendmsg.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from arch.abi.errno import EAFNOSUPPORT, EAGAIN, EDESTADDRREQ, EINVAL, ENODEV, ENOTSOCK, ENOTTY
from arch.abi.fcntl import O_NONBLOCK, O_RDWR
from arch.abi.inet import (
    IFNAMSIZ,
    INADDR_ANY,
    IPPROTO_ICMP,
    IPPROTO_IP,
    IPPROTO_TCP,
    IPPROTO_UDP,
    TCP_CLOSE,
    TCP_ESTABLISHED,
    TCP_LISTEN,
    TCP_SYN_SENT,
)
from arch.abi.ioctl import (
    FIONREAD,
    SIOCGIFADDR,
    SIOCGIFBRDADDR,
    SIOCGIFCONF,
    SIOCGIFDSTADDR,
    SIOCGIFFLAGS,
    SIOCGIFHWADDR,
    SIOCGIFINDEX,
    SIOCGIFMAP,
    SIOCGIFMETRIC,
    SIOCGIFMTU,
    SIOCGIFNAME,
    SIOCGIFNETMASK,
    SIOCGIFTXQLEN,
)
from arch.abi.limits import U32_MAX
from arch.abi.poll import POLLERR, POLLHUP, POLLIN, POLLOUT, POLLRDHUP, POLLRDNORM, POLLWRNORM
from arch.abi.socket import (
    AF_INET,
    AF_PACKET,
    AF_UNIX,
    AF_UNSPEC,
    MSG_DONTWAIT,
    MSG_PEEK,
    MSG_TRUNC,
    SOCK_CLOEXEC,
    SOCK_DGRAM,
    SOCK_NONBLOCK,
    SOCK_RAW,
    SOCK_STREAM,
    SOCKADDR_IN_SIZE,
)
from arch.abi.stat import S_IFSOCK
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.inode import Dentry, FileOperations, Inode, Path
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.skb import Skb
from simkernel.net.sock import Sock, unbind
from simkernel.net.state import RCV_SHUTDOWN, SEND_SHUTDOWN, SHUTDOWN_MASK


@dataclass(frozen=True)
class ProtoOps:
    """struct proto_ops and struct proto of one kind of socket: kernel function names."""

    name: str
    sendmsg: str  # proto_ops.sendmsg
    recvmsg: str
    prot_sendmsg: str = ""  # proto.sendmsg, called by inet_sendmsg
    prot_recvmsg: str = ""


INET_STREAM = ProtoOps("inet_stream_ops", "inet_sendmsg", "inet_recvmsg", "tcp_sendmsg", "tcp_recvmsg")
INET_DGRAM = ProtoOps("inet_dgram_ops", "inet_sendmsg", "inet_recvmsg", "udp_sendmsg", "udp_recvmsg")
INET_RAW = ProtoOps("inet_sockraw_ops", "inet_sendmsg", "inet_recvmsg", "raw_sendmsg", "raw_recvmsg")
PACKET = ProtoOps("packet_ops", "packet_sendmsg", "packet_recvmsg")

#         (type, protocol) -> (protocol used, operations).  net/ipv4/af_inet.c: inetsw_array
INETSW = (
    (SOCK_STREAM, IPPROTO_TCP, INET_STREAM),
    (SOCK_DGRAM, IPPROTO_UDP, INET_DGRAM),
    (SOCK_DGRAM, IPPROTO_ICMP, INET_RAW),
    (SOCK_RAW, IPPROTO_IP, INET_RAW),
)


class Socket:
    """A struct socket: what a descriptor refers to."""

    def __init__(self, k: Any, family: int, type_: int, ops: ProtoOps, sk: Sock) -> None:
        self.k = k
        self.family, self.type, self.ops, self.sk = family, type_, ops, sk
        view = k.new("struct socket")
        self.addr = view.addr
        view.type = type_
        view.sk = sk.addr
        sk.socket = self
        sk.view.sk_socket = view.addr
        self.file: Any = None
        k.net.sockets[self.addr] = self


class Message:
    """A struct msghdr on its way through the layers: data, address, flags."""

    def __init__(self, k: Any, data: bytes = b"", name: bytes = b"", flags: int = 0, segments: Any = ()) -> None:
        self.k = k
        self.addr = k.new("struct msghdr").addr
        self.data, self.name, self.flags = data, name, flags
        self.segments = list(segments)  # (user address, length) to receive into
        self.source = b""
        self.out_flags = 0
        self.control = b""  # what a sender passes along (SCM_RIGHTS)
        self.control_room = 0  # bytes the receiver has for the same
        self.control_out = b""
        k.net.messages[self.addr] = self

    def free(self) -> None:
        """The call is over."""
        del self.k.net.messages[self.addr]
        self.k.mem.free(self.addr)

    def destination(self, sk: Sock) -> tuple[bytes, int]:
        """Where to send: the message's address, or the connected one; EDESTADDRREQ, EINVAL, EAFNOSUPPORT."""
        if not self.name:
            if sk.state != TCP_ESTABLISHED:
                raise KernelError(EDESTADDRREQ, "not connected and no address")
            return sk.raddr, sk.rport
        address, port = parse_sockaddr_in(self.k, self.name)
        if sk.protocol == IPPROTO_UDP and port == 0:
            raise KernelError(EINVAL, "port 0")
        return (bytes((127, 0, 0, 1)) if address == INADDR_ANY else address), port

    def ifindex(self, sk: Sock) -> int:
        """The interface of a packet socket's message."""
        index = int.from_bytes(self.name[4:8], self.k.mem.byteorder) if len(self.name) >= 8 else sk.bound_ifindex
        if index not in self.k.net.devices:
            raise KernelError(ENODEV, f"no interface {index}")
        return index

    def set_source(self, address: bytes, port: int) -> None:
        """Where the packet came from, as recvfrom() tells."""
        self.source = sockaddr_in(self.k, address, port)

    def set_link_source(self, packet: Skb) -> None:
        """struct sockaddr_ll of a received frame."""
        order = self.k.mem.byteorder
        dev = packet.dev
        self.source = (
            AF_PACKET.to_bytes(2, order)
            + packet.proto.to_bytes(2, "big")
            + (dev.ifindex if dev else 0).to_bytes(4, order)
            + (772 if dev and dev.ifindex == 1 else 1).to_bytes(2, order)
            + bytes((packet.view.pkt_type, 6))
            + packet.read(packet.mac + 6, 6)
            + b"\0\0"
        )

    def stage(self, chunk: bytes) -> int:
        """Give tcp_write_xmit a piece of the data: a key into `net.staged`."""
        staged = self.k.net.staged
        key = max(staged, default=0) + 1
        staged[key] = chunk
        return key

    def scatter(self, data: bytes) -> None:
        """Copy received bytes to the caller's buffers; KernelError(EFAULT)."""
        for address, length in self.segments:
            part, data = data[:length], data[length:]
            if part:
                self.k.copy_to_user(address, part)
            if not data:
                break

    def take_packet(self, k: Any, sk: Sock, packet: Skb, body: bytes, length: int, flags: int) -> Any:
        """Finish receiving one datagram: copy, free (unless peeking), and its length (`yield from`)."""
        copied = body[:length]
        if len(body) > length:
            self.out_flags |= MSG_TRUNC
        if not flags & MSG_PEEK:
            sk.receive_queue.popleft()
            sk.charge(-packet.truesize)
            yield k.call("consume_skb", packet.addr)
        self.scatter(copied)
        return len(body) if flags & MSG_TRUNC else len(copied)


def wait_for_packet(k: Any, sk: Sock, flags: int) -> Any:
    """__skb_recv_datagram(): the first queued packet, or -errno; sleeps unless MSG_DONTWAIT (`yield from`)."""
    while not sk.receive_queue:
        if sk.err:
            return -sk.take_error()
        if sk.shutdown & RCV_SHUTDOWN:
            return 0
        if flags & MSG_DONTWAIT:
            return -EAGAIN
        ret = yield k.wait(sk.wq, exclusive=True)
        if ret < 0:
            return ret
    return sk.receive_queue[0]


def sockaddr_in(k: Any, address: bytes, port: int) -> bytes:
    """struct sockaddr_in."""
    return AF_INET.to_bytes(2, k.mem.byteorder) + port.to_bytes(2, "big") + address + bytes(8)


def parse_sockaddr_in(k: Any, raw: bytes) -> tuple[bytes, int]:
    """(address, port); EINVAL when short, EAFNOSUPPORT for another family."""
    if len(raw) < SOCKADDR_IN_SIZE:
        raise KernelError(EINVAL, "address too short")
    family = int.from_bytes(raw[:2], k.mem.byteorder)
    if family not in (AF_INET, AF_UNSPEC):
        raise KernelError(EAFNOSUPPORT, f"address family {family}")
    return raw[4:8], int.from_bytes(raw[2:4], "big")


# -------------------------------------------------------------------------------------------------------- socket files


def sock_poll(k: Any, file: Any, queues: list[Any] | None) -> int:
    """sock_poll(), tcp_poll(), datagram_poll()."""
    sk = file.private_data.sk
    if sk.family == AF_UNIX:
        from simkernel.net import unix

        return unix.poll(k, sk, queues)
    if queues is not None:
        queues.append(sk.wq)
    mask = POLLERR if sk.err else 0
    if sk.type == SOCK_STREAM:
        if sk.state == TCP_LISTEN:
            return POLLIN | POLLRDNORM if sk.accept_queue else 0
        if sk.shutdown == SHUTDOWN_MASK or sk.state == TCP_CLOSE:
            mask |= POLLHUP
        if sk.shutdown & RCV_SHUTDOWN:
            mask |= POLLIN | POLLRDNORM | POLLRDHUP
        if sk.state != TCP_SYN_SENT:
            if sk.receive_queue:
                mask |= POLLIN | POLLRDNORM
            if sk.shutdown & SEND_SHUTDOWN or sk.snd_wnd > (sk.snd_nxt - sk.snd_una) & U32_MAX:
                mask |= POLLOUT | POLLWRNORM
        return mask
    if sk.shutdown & RCV_SHUTDOWN:
        mask |= POLLRDHUP | POLLIN | POLLRDNORM
    if sk.receive_queue:
        mask |= POLLIN | POLLRDNORM
    return mask | POLLOUT | POLLWRNORM


def sock_ioctl(k: Any, file: Any, cmd: int, arg: int) -> int:
    """Interface queries and the number of readable bytes."""
    sk = file.private_data.sk
    order = k.mem.byteorder
    if cmd == FIONREAD and sk.family == AF_UNIX:
        from simkernel.net import unix

        k.put_user(arg, 4, unix.readable_bytes(sk))
        return 0
    if cmd == FIONREAD:
        packets = list(sk.receive_queue)
        readable = sum(p.len for p in packets) if sk.type == SOCK_STREAM else (packets[0].len if packets else 0)
        k.put_user(arg, 4, readable - 8 if packets and sk.protocol == IPPROTO_UDP else readable)
        return 0
    if cmd == SIOCGIFCONF:
        return interface_list(k, arg)
    if cmd == SIOCGIFNAME:
        dev = k.net.devices.get(k.get_user(arg + IFNAMSIZ, 4))
        if dev is None:
            raise KernelError(ENODEV, "no such interface")
        k.copy_to_user(arg, dev.name.encode().ljust(IFNAMSIZ, b"\0"))
        return 0
    queries: dict[int, Callable[[Any], bytes]] = {
        SIOCGIFFLAGS: lambda d: d.flags.to_bytes(2, order),
        SIOCGIFADDR: lambda d: sockaddr_in(k, d.address, 0),
        SIOCGIFNETMASK: lambda d: sockaddr_in(k, (0xFFFFFFFF << (32 - d.prefix) & 0xFFFFFFFF).to_bytes(4, "big"), 0),
        SIOCGIFMTU: lambda d: d.mtu.to_bytes(4, order),
        SIOCGIFHWADDR: lambda d: (772 if d.ifindex == 1 else 1).to_bytes(2, order) + d.mac + bytes(8),
        SIOCGIFINDEX: lambda d: d.ifindex.to_bytes(4, order),
        SIOCGIFBRDADDR: lambda d: sockaddr_in(k, broadcast_address(d), 0),
        SIOCGIFDSTADDR: lambda d: sockaddr_in(k, d.address, 0),
        SIOCGIFMETRIC: lambda d: bytes(4),
        SIOCGIFTXQLEN: lambda d: (1000).to_bytes(4, order),
        SIOCGIFMAP: lambda d: bytes(24 if k.arch.model.word == 8 else 16),
    }
    if cmd not in queries:
        raise KernelError(ENOTTY, f"socket ioctl {cmd:#x}")
    name = k.copy_from_user(arg, IFNAMSIZ).split(b"\0")[0].decode("latin-1")
    dev = next((d for d in k.net.devices.values() if d.name == name), None)
    if dev is None:
        raise KernelError(ENODEV, f"no interface {name!r}")
    k.copy_to_user(arg + IFNAMSIZ, queries[cmd](dev))
    return 0


def broadcast_address(dev: Any) -> bytes:
    """The last address of the interface's network; none on the loopback."""
    if dev.ifindex == 1:
        return INADDR_ANY
    host = (1 << 32 - dev.prefix) - 1
    last: int = int.from_bytes(dev.address, "big") | host
    return last.to_bytes(4, "big")


def interface_list(k: Any, arg: int) -> int:
    """dev_ifconf(): struct ifconf; a null buffer asks for the length."""
    word = k.arch.model.word
    size = 40 if word == 8 else 32  # struct ifreq
    room, buffer = k.get_user(arg, 4, signed=True), k.get_user(arg + word, word)
    rows = [
        (d.name.encode().ljust(IFNAMSIZ, b"\0") + sockaddr_in(k, d.address, 0)).ljust(size, b"\0")
        for _, d in sorted(k.net.devices.items())
    ]
    if buffer:
        rows = rows[: max(0, room) // size]
        k.copy_to_user(buffer, b"".join(rows))
    k.put_user(arg, 4, size * len(rows))
    return 0


def sock_release(k: Any, file: Any) -> Any:
    """sock_close(): the last descriptor is gone."""
    socket = file.private_data
    yield k.call("__sock_release", socket.addr, 0)


RELEASE = {AF_INET: "inet_release", AF_PACKET: "packet_release", AF_UNIX: "unix_release"}

SOCKET_FILE_OPS = FileOperations(
    "socket_file_ops",
    read_iter="sock_read_iter",
    write_iter="sock_write_iter",
    llseek="no_llseek",
    poll=sock_poll,
    ioctl=sock_ioctl,
    release=sock_release,
    stream=True,
)


@kernel_function("void __sock_release(struct socket *sock, struct inode *inode)", source="net/socket.c")
def __sock_release(k: Any, sock: int, inode: int) -> Any:
    """Release by protocol, then the struct socket."""
    socket = k.net.sockets[sock]
    yield k.call(RELEASE[socket.family], sock)
    del k.net.sockets[sock]
    k.mem.free(sock)
    return 0


@kernel_function("int inet_release(struct socket *sock)", source="net/ipv4/af_inet.c")
def inet_release(k: Any, sock: int) -> Any:
    """Close an IPv4 socket."""
    sk = k.net.sockets[sock].sk
    sk.socket = None
    if sk.type == SOCK_STREAM:
        yield k.call("tcp_close", sk.addr, 0)
        return 0
    unbind(k.net.udp, sk)
    if sk in k.net.raw:
        k.net.raw.remove(sk)
    yield from drain_and_free(k, sk)
    return 0


@kernel_function("int packet_release(struct socket *sock)", source="net/packet/af_packet.c")
def packet_release(k: Any, sock: int) -> Any:
    """Close a packet socket."""
    sk = k.net.sockets[sock].sk
    if sk in k.net.packet:
        k.net.packet.remove(sk)
    yield from drain_and_free(k, sk)
    return 0


def drain_and_free(k: Any, sk: Sock) -> Any:
    """Throw away what was not read, then the sock."""
    while sk.receive_queue:
        yield k.call("consume_skb", sk.receive_queue.popleft().addr)
    sk.free()


def socket_of(k: Any, fd: int) -> Socket:
    """sockfd_lookup(): EBADF, ENOTSOCK."""
    file = k.vfs.fget(fd)
    if not isinstance(file.private_data, Socket):
        raise KernelError(ENOTSOCK, f"descriptor {fd} is not a socket")
    return file.private_data


def socket_file(k: Any, socket: Socket, flags: int) -> Any:
    """sock_alloc_file(): an open file on sockfs, shown as `socket:[INO]`."""
    mount = k.vfs.sock_mnt
    inode = Inode(mount.mnt_sb, S_IFSOCK | 0o777)
    dentry = Dentry("", None, inode)
    dentry.private = _socket_name
    file = k.vfs.new_file(Path(mount, dentry), flags, SOCKET_FILE_OPS)
    file.f_mode |= c.FMODE_CAN_READ | c.FMODE_CAN_WRITE | c.FMODE_OPENED | c.FMODE_STREAM
    file.private_data = socket
    k.vfs.mirror.file_flags(file)
    return file


def _socket_name(dentry: Dentry) -> str:
    return f"socket:[{dentry.inode.i_ino}]"


def new_socket_fd(k: Any, socket: Socket, flags: int) -> int:
    """sock_map_fd(): a descriptor for a socket."""
    file_flags = O_RDWR | (O_NONBLOCK if flags & SOCK_NONBLOCK else 0)
    files = k.current.files
    fd = files.get_unused_fd(bool(flags & SOCK_CLOEXEC))
    socket.file = socket_file(k, socket, file_flags)
    files.install(fd, socket.file)
    k.view(socket.addr, "struct socket").file = socket.file.addr
    return int(fd)


def read_address(k: Any, address: int, length: int) -> bytes:
    """move_addr_to_kernel(): EINVAL, EFAULT."""
    if length < 0 or length > 128:
        raise KernelError(EINVAL, "address length")
    return bytes(k.copy_from_user(address, length)) if length else b""


def write_address(k: Any, raw: bytes, address: int, length_at: int) -> None:
    """move_addr_to_user(): cut to the caller's buffer, tell the true length."""
    if not address:
        return
    room = k.get_user(length_at, 4, signed=True)
    if room < 0:
        raise KernelError(EINVAL, "negative address length")
    k.copy_to_user(address, raw[:room])
    k.put_user(length_at, 4, len(raw))


def autobind(k: Any, sk: Sock) -> None:
    """inet_autobind(): a datagram socket gets a port when it first needs one."""
    if sk.protocol == IPPROTO_UDP and not sk.lport:
        sk.lport = k.net.ephemeral_port(k.net.udp)
        k.net.udp.setdefault(sk.lport, []).append(sk)
        sk.sync_addresses()
