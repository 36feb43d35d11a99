"""Sockets as files.  net/socket.c."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.capability import CAP_NET_ADMIN
from arch.abi.errno import ENODEV, ENOTSOCK, ENOTTY, EPERM
from arch.abi.fcntl import O_NONBLOCK, O_RDWR
from arch.abi.inet import IFF_UP, IFNAMSIZ, IPPROTO_UDP, TCP_CLOSE, TCP_LISTEN, TCP_SYN_SENT
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
    SIOCSIFFLAGS,
    SIOCSIFMTU,
)
from arch.abi.poll import POLLERR, POLLHUP, POLLIN, POLLOUT, POLLRDHUP, POLLRDNORM, POLLWRNORM
from arch.abi.socket import AF_INET, AF_NETLINK, AF_PACKET, AF_UNIX, SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_STREAM
from arch.abi.stat import S_IFSOCK
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.inode import Dentry, File, FileOperations, Inode, Path
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.task import WaitQueue
from simkernel.net.core.message import sockaddr_in
from simkernel.net.core.netdevice import NetDevice
from simkernel.net.core.sock import RCV_SHUTDOWN, SEND_SHUTDOWN, SHUTDOWN_MASK, Socket
from simkernel.net.face import NetKernel
from simkernel.net.interfaces import broadcast_address, interface_list
from simkernel.net.ipv4.tcp_sock import TcpSock
from simkernel.net.netlink.sock import NetlinkSock, netlink_poll
from simkernel.net.unix.sock import UnixSock, readable_bytes, unix_poll


def socket_in(file: File) -> Socket:
    """The socket that an open file is."""
    assert isinstance(file.private_data, Socket)
    return file.private_data


def sock_poll(k: NetKernel, file: File, queues: list[WaitQueue] | None) -> int:
    """sock_poll(), tcp_poll(), datagram_poll()."""
    sk = socket_in(file).sk
    if isinstance(sk, UnixSock):
        return unix_poll(k, sk, queues)
    if isinstance(sk, NetlinkSock):
        return netlink_poll(sk, queues)
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
            if sk.shutdown & SEND_SHUTDOWN or (isinstance(sk, TcpSock) and sk.writable):
                mask |= POLLOUT | POLLWRNORM
        return mask
    if sk.shutdown & RCV_SHUTDOWN:
        mask |= POLLRDHUP | POLLIN | POLLRDNORM
    if sk.receive_queue:
        mask |= POLLIN | POLLRDNORM
    return mask | POLLOUT | POLLWRNORM


def sock_ioctl(k: NetKernel, file: File, cmd: int, arg: int) -> int:
    """Interface queries and the number of readable bytes."""
    sk = socket_in(file).sk
    order = k.mem.byteorder
    if cmd == FIONREAD and isinstance(sk, UnixSock):
        k.usercopy.put_user(arg, 4, readable_bytes(sk))
        return 0
    if cmd == FIONREAD:
        packets = list(sk.receive_queue)
        readable = sum(p.len for p in packets) if sk.type == SOCK_STREAM else (packets[0].len if packets else 0)
        k.usercopy.put_user(arg, 4, readable - 8 if packets and sk.protocol == IPPROTO_UDP else readable)
        return 0
    if cmd == SIOCGIFCONF:
        return interface_list(k, arg)
    if cmd == SIOCGIFNAME:
        dev = k.net.devices.get(k.usercopy.get_user(arg + IFNAMSIZ, 4))
        if dev is None:
            raise KernelError(ENODEV, "no such interface")
        k.usercopy.copy_to_user(arg, dev.name.encode().ljust(IFNAMSIZ, b"\0"))
        return 0
    queries: dict[int, Callable[[NetDevice], bytes]] = {
        SIOCGIFFLAGS: lambda d: d.flags.to_bytes(2, order),
        SIOCGIFADDR: lambda d: sockaddr_in(k, d.address, 0),
        SIOCGIFNETMASK: lambda d: sockaddr_in(k, (0xFFFFFFFF << (32 - d.prefix) & 0xFFFFFFFF).to_bytes(4, "big"), 0),
        SIOCGIFMTU: lambda d: d.mtu.to_bytes(4, order),
        SIOCGIFHWADDR: lambda d: d.hardware_type.to_bytes(2, order) + d.mac + bytes(8),
        SIOCGIFINDEX: lambda d: d.ifindex.to_bytes(4, order),
        SIOCGIFBRDADDR: lambda d: sockaddr_in(k, broadcast_address(d), 0),
        SIOCGIFDSTADDR: lambda d: sockaddr_in(k, d.address, 0),
        SIOCGIFMETRIC: lambda d: bytes(4),
        SIOCGIFTXQLEN: lambda d: (1000).to_bytes(4, order),
        SIOCGIFMAP: lambda d: bytes(24 if k.arch.model.word == 8 else 16),
    }
    if cmd not in queries and cmd not in (SIOCSIFFLAGS, SIOCSIFMTU):
        raise KernelError(ENOTTY, f"socket ioctl {cmd:#x}")
    if cmd not in queries and not k.capable(CAP_NET_ADMIN):
        raise KernelError(EPERM, "changing an interface")
    name = k.usercopy.copy_from_user(arg, IFNAMSIZ).split(b"\0")[0].decode("latin-1")
    dev = next((d for d in k.net.devices.values() if d.name == name), None)
    if dev is None:
        raise KernelError(ENODEV, f"no interface {name!r}")
    if cmd in queries:
        k.usercopy.copy_to_user(arg + IFNAMSIZ, queries[cmd](dev))
    elif cmd == SIOCSIFFLAGS:
        wanted = k.usercopy.get_user(arg + IFNAMSIZ, 2)
        dev.flags = dev.flags & ~IFF_UP | wanted & IFF_UP
        k.view(dev.addr, "struct net_device").flags = dev.flags
    else:
        dev.mtu = k.usercopy.get_user(arg + IFNAMSIZ, 4)
        k.view(dev.addr, "struct net_device").mtu = dev.mtu
    return 0


def sock_release(k: NetKernel, file: File) -> Body:
    """sock_close(): the last descriptor is gone."""
    return (yield k.call("__sock_release", socket_in(file).addr, 0))


RELEASE = {AF_INET: "inet_release", AF_NETLINK: "netlink_release", AF_PACKET: "packet_release", AF_UNIX: "unix_release"}
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
def __sock_release(k: NetKernel, sock: int, inode: int) -> Body:
    """Release by protocol, then the struct socket."""
    socket = k.net.sockets[sock]
    yield k.call(RELEASE[socket.family], sock)
    del k.net.sockets[sock]
    k.mem.free(sock)
    return 0


def socket_of(k: NetKernel, fd: int) -> Socket:
    """sockfd_lookup(): EBADF, ENOTSOCK."""
    file = k.vfs.fget(fd)
    if not isinstance(file.private_data, Socket):
        raise KernelError(ENOTSOCK, f"descriptor {fd} is not a socket")
    return file.private_data


def socket_file(k: NetKernel, socket: Socket, flags: int) -> File:
    """sock_alloc_file(): an open file on sockfs, shown as `socket:[INO]`."""
    mount = k.vfs.sock_mnt
    inode = Inode(mount.mnt_sb, S_IFSOCK | 0o777)
    dentry = Dentry("", None, inode)
    dentry.d_dname = _socket_name
    file: File = k.vfs.new_file(Path(mount, dentry), flags, SOCKET_FILE_OPS)
    file.f_mode |= c.FMODE_CAN_READ | c.FMODE_CAN_WRITE | c.FMODE_OPENED | c.FMODE_STREAM
    file.private_data = socket
    k.vfs.mirror.file_flags(file)
    return file


def _socket_name(dentry: Dentry) -> str:
    return f"socket:[{dentry.inode.i_ino}]"


def new_socket_fd(k: NetKernel, socket: Socket, flags: int) -> int:
    """sock_map_fd(): a descriptor for a socket."""
    file_flags = O_RDWR | (O_NONBLOCK if flags & SOCK_NONBLOCK else 0)
    files = k.current.files
    fd = files.get_unused_fd(bool(flags & SOCK_CLOEXEC))
    socket.file = socket_file(k, socket, file_flags)
    files.install(fd, socket.file)
    k.view(socket.addr, "struct socket").file = socket.file.addr
    return int(fd)
