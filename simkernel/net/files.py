"""Sockets as files.  net/socket.c."""

from __future__ import annotations

from arch.abi.errno import ENFILE, ENODEV, ENOTSOCK, EPERM
from arch.abi.fcntl import O_NONBLOCK, O_RDWR
from arch.abi.inet import TCP_CLOSE, TCP_LISTEN, TCP_SYN_SENT
from arch.abi.mman import PROT_EXEC, PROT_WRITE
from arch.abi.poll import POLLERR, POLLHUP, POLLIN, POLLOUT, POLLPRI, POLLRDHUP, POLLRDNORM, POLLWRBAND, POLLWRNORM
from arch.abi.socket import (
    AF_ALG,
    AF_INET,
    AF_INET6,
    AF_NETLINK,
    AF_PACKET,
    AF_UNIX,
    AF_XDP,
    SOCK_CLOEXEC,
    SOCK_DGRAM,
    SOCK_NONBLOCK,
    SOCK_RAW,
    SOCK_STREAM,
)
from arch.abi.stat import S_IFSOCK
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.fdtable import files_of
from simkernel.fs.inode import Dentry, File, FileOperations, Inode, Path
from simkernel.kernel.areas import Vma
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.task import WaitQueue
from simkernel.net.calls.ioctl import sock_ioctl
from simkernel.net.core.net_namespace import sweep
from simkernel.net.core.sock import RCV_SHUTDOWN, SEND_SHUTDOWN, SHUTDOWN_MASK, Socket
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.tcp_sock import TcpSock
from simkernel.net.ipv4.tcp_urgent import TCP_URG_VALID, readable
from simkernel.net.netlink.sock import NetlinkSock, netlink_poll
from simkernel.net.packet.mapping import packet_mmap
from simkernel.net.packet.receive import polled
from simkernel.net.packet.sock import PacketSock
from simkernel.net.unix.sock import UnixSock, unix_poll
from simkernel.net.xdp.xsk import XdpSock, xsk_drive, xsk_mmap, xsk_poll


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
    if isinstance(sk, XdpSock):
        return xsk_poll(sk, queues)
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
            if isinstance(sk, TcpSock) and readable(sk):
                mask |= POLLIN | POLLRDNORM
            if isinstance(sk, TcpSock) and sk.urg_data & TCP_URG_VALID:
                mask |= POLLPRI
            if sk.shutdown & SEND_SHUTDOWN or (isinstance(sk, TcpSock) and sk.writable):
                mask |= POLLOUT | POLLWRNORM
        elif isinstance(sk, TcpSock) and sk.deferred:  # the SYN waits for data
            mask |= POLLOUT | POLLWRNORM
        return mask
    if sk.shutdown & RCV_SHUTDOWN:
        mask |= POLLRDHUP | POLLIN | POLLRDNORM
    if sk.receive_queue or sk.judged or (isinstance(sk, PacketSock) and polled(sk)):
        mask |= POLLIN | POLLRDNORM
    return mask | POLLOUT | POLLWRNORM | POLLWRBAND


def sock_drive(k: NetKernel, file: File) -> Steps[None] | None:
    """What poll(2) of a socket does before it looks."""
    sk = socket_in(file).sk
    return xsk_drive(k, sk) if isinstance(sk, XdpSock) else None


def sock_release(k: NetKernel, file: File) -> Body:
    """sock_close(): the last descriptor is gone."""
    socket = socket_in(file)
    ret = yield k.call("__sock_release", socket.addr, 0)
    if isinstance(socket.sk, XdpSock) and k.net.sockets.get(socket.addr) is socket:
        socket.sk.close()  # plain code has dropped the last mapping of a ring, and calls nothing
        _forget(k, socket)
    return ret


RELEASE = {
    AF_INET: "inet_release", AF_INET6: "inet6_release", AF_NETLINK: "netlink_release", AF_PACKET: "packet_release", AF_UNIX: "unix_release",
    AF_ALG: "af_alg_release", AF_XDP: "xsk_release",
}  # fmt: skip


def _sock_mmap(k: NetKernel, file: File, vma: Vma) -> None:
    """sock_mmap(): what TCP received may be shown in memory (TCP_ZEROCOPY_RECEIVE), and so may rings."""
    sk = socket_in(file).sk
    if isinstance(sk, XdpSock):
        xsk_mmap(k, sk, vma)
        return
    if sk.family == AF_PACKET:
        packet_mmap(k, sk, vma)
        return
    if sk.family not in (AF_INET, AF_INET6) or sk.type != SOCK_STREAM:
        raise KernelError(ENODEV)
    if vma.prot & (PROT_WRITE | PROT_EXEC):
        raise KernelError(EPERM)
    vma.may &= ~(PROT_WRITE | PROT_EXEC)


SOCKET_FILE_OPS = FileOperations(
    "socket_file_ops",
    mmap=_sock_mmap,
    read_iter="sock_read_iter",
    write_iter="sock_write_iter",
    llseek="no_llseek",
    poll=sock_poll,
    drive=sock_drive,
    ioctl=lambda k, file, cmd, arg: sock_ioctl(k, socket_in(file).sk, file, cmd, arg),
    release=sock_release,
    nowait="6.4",
    fasync=True,
    stream=True,
)


@kernel_function("void __sock_release(struct socket *sock, struct inode *inode)", source="net/socket.c")
def __sock_release(k: NetKernel, sock: int, inode: int) -> Body:
    """Release by protocol, then the struct socket."""
    socket = k.net.sockets[sock]
    yield k.call(RELEASE[socket.family], sock)
    _forget(k, socket)
    return 0


def _forget(k: NetKernel, socket: Socket) -> None:
    """The struct goes, and perhaps the namespace."""
    net = socket.sk.net
    del k.net.sockets[socket.addr]
    net.sockets -= 1
    if not net.sockets and net is not k.net.init:
        sweep(k)
    k.mem.free(socket.addr)


def socket_of(k: NetKernel, fd: int) -> Socket:
    """sockfd_lookup(): EBADF, ENOTSOCK."""
    file = k.vfs.fget(fd)
    if not isinstance(file.private_data, Socket):
        raise KernelError(ENOTSOCK, f"descriptor {fd} is not a socket")
    return file.private_data


def socket_inode(k: NetKernel) -> Inode:
    """sock_alloc_inode(), on sockfs."""
    return Inode(k.vfs.sock_mnt.mnt_sb, S_IFSOCK | 0o777)


def socket_file(k: NetKernel, socket: Socket, flags: int) -> File:
    """sock_alloc_file(): an open file on sockfs, shown as `socket:[INO]`."""
    mount = k.vfs.sock_mnt
    inode = socket.inode or socket_inode(k)
    dentry = Dentry(protocol_name(socket), None, inode)
    dentry.d_dname = _socket_name
    if socket.inode is None:
        k.vfs.security.anonymous(dentry, errno=ENFILE)
    else:
        k.vfs.security.ask("d_instantiate", dentry, inode)
    file: File = k.vfs.new_file(Path(mount, dentry), flags, SOCKET_FILE_OPS)
    file.f_mode |= c.FMODE_CAN_READ | c.FMODE_CAN_WRITE | c.FMODE_OPENED | c.FMODE_STREAM
    file.private_data = socket
    k.vfs.mirror.file_flags(file)
    return file


PROTOCOL_NAMES = {AF_UNIX: "UNIX", AF_NETLINK: "NETLINK", AF_PACKET: "PACKET", AF_XDP: "XDP"}
INET_NAMES = {SOCK_STREAM: "TCP", SOCK_DGRAM: "UDP", SOCK_RAW: "RAW"}


def protocol_name(socket: Socket) -> str:
    """sk->sk_prot_creator->name, which the file of a socket is called."""
    if socket.family == AF_UNIX and socket.type == SOCK_STREAM:
        return "UNIX-STREAM"
    if socket.family in (AF_INET, AF_INET6):
        return INET_NAMES.get(socket.type, "") + ("v6" if socket.family == AF_INET6 else "")
    return PROTOCOL_NAMES.get(socket.family, "")


def _socket_name(dentry: Dentry) -> str:
    return f"socket:[{dentry.inode.i_ino}]"


def new_socket_fd(k: NetKernel, socket: Socket, flags: int) -> int:
    """sock_map_fd(): a descriptor for a socket."""
    file_flags = O_RDWR | (O_NONBLOCK if flags & SOCK_NONBLOCK else 0)
    files = files_of(k.current)
    with files.unused_fd(bool(flags & SOCK_CLOEXEC)) as fd:
        socket.file = socket_file(k, socket, file_flags)
        files.install(fd, socket.file)
    k.view(socket.addr, "struct socket").file = socket.file.addr
    return int(fd)


def sock_map_fd(k: NetKernel, socket: Socket, flags: int) -> Steps[int]:
    """The same; a socket that gets none is released (`yield from`)."""
    try:
        return new_socket_fd(k, socket, flags)
    except KernelError:
        yield k.call("__sock_release", socket.addr, 0)
        raise
