"""TCP as system calls see it: connect, accept, send, receive, shut down, close.  net/ipv4/{tcp,tcp_ipv4,inet_connection_sock}.c."""

from __future__ import annotations

from arch.abi.errno import (
    EAGAIN,
    EALREADY,
    ECONNABORTED,
    ECONNRESET,
    EINPROGRESS,
    EINVAL,
    EISCONN,
    ENOTCONN,
    EOPNOTSUPP,
    EPIPE,
)
from arch.abi.in6 import IPV6_RECVERR
from arch.abi.inet import (
    INADDR_ANY,
    IP_RECVERR,
    TCP_CLOSE,
    TCP_CLOSE_WAIT,
    TCP_ESTABLISHED,
    TCP_FIN_WAIT1,
    TCP_FIN_WAIT2,
    TCP_LAST_ACK,
    TCP_LISTEN,
    TCP_SYN_RECV,
    TCP_SYN_SENT,
)
from arch.abi.socket import (
    AF_INET,
    AF_INET6,
    AF_UNSPEC,
    MSG_DONTWAIT,
    MSG_ERRQUEUE,
    MSG_FASTOPEN,
    MSG_MORE,
    MSG_OOB,
    MSG_PEEK,
    MSG_WAITALL,
    SOL_IP,
    SOL_IPV6,
)
from arch.errors import KernelError
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.errqueue import receive_error
from simkernel.net.core.message import Message
from simkernel.net.core.security import classify_flow
from simkernel.net.core.sock import RCV_SHUTDOWN, SEND_SHUTDOWN, SHUTDOWN_MASK, Sock, hash_port, sleep, until
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.ip_output import source_for
from simkernel.net.ipv4.tcp_fastopen import CLIENT_ENABLE, data_of_syn, switches, waits_for_data
from simkernel.net.ipv4.tcp_input import purge
from simkernel.net.ipv4.tcp_output import RstReason, push, send_active_reset
from simkernel.net.ipv4.tcp_sock import TcpSock, before, key_of, tcp_sk, unhash
from simkernel.net.ipv4.tcp_timewait import fin_time_ns, time_wait
from simkernel.net.ipv4.tcp_urgent import (
    copied_seq,
    is_inline,
    mark_urgent,
    pass_over,
    receive_urgent,
    show_copied,
    to_the_mark,
)
from simkernel.net.ipv4.tcp_window import space_adjust, wants_update
from simkernel.net.ipv4.tcp_wire import timestamp_offset
from simkernel.net.reuseport import migrate, stop_in_group, take_over


@kernel_function(
    "int tcp_v4_connect(struct sock *sk, struct sockaddr *uaddr, int addr_len)", source="net/ipv4/tcp_ipv4.c"
)
def tcp_v4_connect(k: NetKernel, sk: int, uaddr: int, addr_len: int) -> Body:
    """Choose addresses and ports, send the SYN."""
    sock = tcp_sk(k, sk)
    raw = k.mem.read(uaddr, 8)
    sock.rport, sock.raddr = int.from_bytes(raw[2:4], "big"), bytes(raw[4:8])
    if sock.raddr == INADDR_ANY:
        sock.raddr = bytes((127, 0, 0, 1))
    if sock.laddr == INADDR_ANY:
        sock.laddr = source_for(k, sock.net, sock.raddr, sock.bound_ifindex)
    classify_flow(k, sock)  # ip_route_connect()
    if not sock.lport:
        classify_flow(k, sock)  # ip_route_newports(): once more with the port that it gets
    return (yield from start_connect(k, sock))


def start_connect(k: NetKernel, sock: TcpSock) -> Body:
    """The addresses are known: the state, a port, the SYN (`yield from`).  EADDRNOTAVAIL."""
    sock.sync_addresses()
    sock.tsoffset = timestamp_offset(sock.laddr, sock.raddr)
    yield k.call("tcp_set_state", sock.addr, TCP_SYN_SENT)
    if not sock.lport:  # inet_hash_connect(): whoever saw the state change saw no port
        try:
            sock.lport = k.net.ephemeral_port(sock.net, k.net.tcp_bound)
        except KernelError:
            yield k.call("tcp_set_state", sock.addr, TCP_CLOSE)
            raise
        hash_port(k.net.tcp_bound, sock)
        sock.sync_addresses()
    k.net.tcp_established[key_of(sock)] = sock
    sock.iss = sock.snd_nxt = sock.snd_una = sock.snd_sml = k.random.getrandbits(32)
    sock.deferred = waits_for_data(sock)
    if sock.deferred:
        return 0
    return (yield k.call("tcp_connect", sock.addr))


def connect_and_wait(k: NetKernel, sk: Sock, uaddr: int, addr_len: int, nonblocking: bool) -> Body:
    """__inet_stream_connect(): connect and, unless told otherwise, wait for the answer (`yield from`)."""
    if addr_len >= 2 and int.from_bytes(k.mem.read(uaddr, 2), k.mem.byteorder) == AF_UNSPEC:
        return (yield k.call("tcp_disconnect", sk.addr, 0))
    if sk.connecting:
        if sk.state == TCP_SYN_SENT and nonblocking:
            return -EALREADY
    elif sk.state == TCP_CLOSE:
        sk.held = []
        try:
            ret = yield k.call("tcp_v4_connect" if sk.family == AF_INET else "tcp_v6_connect", sk.addr, uaddr, addr_len)
            sk.connecting = ret >= 0
            if sk.held:
                yield k.call("__release_sock", sk.addr)
        finally:
            sk.held = None
        if ret < 0:
            return ret
        if isinstance(sk, TcpSock) and sk.deferred:
            return 0
        if nonblocking:  # whatever the answer: Linux looks at it when the caller lets go of the socket
            return -EINPROGRESS
    else:
        return -EISCONN
    ret = yield from _wait_connected(k, sk)
    if ret < 0:
        return ret
    sk.connecting = False
    if sk.state == TCP_CLOSE:
        ret = -sk.take_error() if sk.err else -ECONNABORTED
        yield k.call("tcp_disconnect", sk.addr, 0)  # so that it can be connected again
        return ret
    if sk.socket is not None:
        sk.socket.connected()
    return -sk.take_error() if sk.err else 0


@kernel_function("void __release_sock(struct sock *sk)", source="net/core/sock.c")
def __release_sock(k: NetKernel, sk: int) -> Body:
    """Its owner lets go of a socket: what came meanwhile is heard."""
    sock = k.net.socks[sk]
    while sock.held:
        do_rcv, packet = sock.held.pop(0)
        yield k.call(do_rcv, sk, packet)
    return 0


def _wait_connected(k: NetKernel, sk: Sock) -> Steps[int]:
    """inet_wait_for_connect()."""
    end = until(sk, sending=True)
    while sk.state == TCP_SYN_SENT:
        ret = yield from sleep(k, sk.wq, end)
        if ret < 0:
            return -EINPROGRESS if ret == -EAGAIN else ret
    return 0


@kernel_function(
    "struct sock *inet_csk_accept(struct sock *sk, int flags, int *err, bool kern)",
    source="net/ipv4/inet_connection_sock.c",
)
def inet_csk_accept(k: NetKernel, sk: int, flags: int, err: int, kern: int) -> Body:
    """The next connection of a listener; sleeps for it."""
    sock = k.net.socks[sk]
    end = until(sock)
    while not sock.accept_queue:
        if sock.state != TCP_LISTEN:
            return -EINVAL
        if flags & MSG_DONTWAIT:
            return -EAGAIN
        ret = yield from sleep(k, sock.wq, end, exclusive=True)
        if ret < 0:
            return ret
    child = sock.accept_queue.popleft()
    sock.view.sk_ack_backlog = len(sock.accept_queue)
    child.listener = None
    return child.addr


@kernel_function("int tcp_sendmsg(struct sock *sk, struct msghdr *msg, size_t size)", source="net/ipv4/tcp.c")
def tcp_sendmsg(k: NetKernel, sk: int, msg: int, size: int) -> Body:
    """Send a stream of bytes; sleeps while the peer's window is full."""
    sock = k.net.socks[sk]
    if sock.judges_sent and sock.state == TCP_ESTABLISHED:
        message = k.net.messages[msg]
        return (yield from k.net.programs.judge_sent(sock, message.data, message.flags))
    return (yield k.call("tcp_sendmsg_locked", sk, msg, size))


MOST_QUEUED = 4 << 20  # tcp_wmem[2]: bytes that are no packets yet, whatever SO_SNDBUFFORCE says
LEAST_ADDRESS = {AF_INET: 16, AF_INET6: 24}  # bytes: sizeof(struct sockaddr_in), SIN6_LEN_RFC2133


def _connect_first(k: NetKernel, sock: TcpSock, message: Message) -> Steps[int]:
    """tcp_sendmsg_fastopen(): bytes that went with the SYN; none to those that would ask for a cookie, which nobody has here."""
    sock.syn_data = data_of_syn(sock, message.data)
    try:
        if sock.deferred:
            sock.deferred = False
            yield k.call("tcp_connect", sock.addr)
            ret = -EINPROGRESS if message.flags & MSG_DONTWAIT else (yield from _wait_connected(k, sock))
            ret = ret or (-sock.take_error() if sock.err else 0)
            sock.connecting = sock.state == TCP_SYN_SENT
        else:
            ret = yield from _connect(k, sock, message)
        return len(sock.syn_data) if ret == 0 or (ret == -EINPROGRESS and sock.syn_data) else ret
    finally:
        sock.syn_data = b""


def _connect(k: NetKernel, sock: TcpSock, message: Message) -> Steps[int]:
    """To whom the message is for."""
    family = int.from_bytes(message.name[:2], k.mem.byteorder) if len(message.name) >= 2 else AF_INET
    if not switches(sock) & CLIENT_ENABLE or family == AF_UNSPEC:
        return -EOPNOTSUPP
    if sock.state == TCP_CLOSE and len(message.name) < LEAST_ADDRESS[sock.family]:
        return -EINVAL
    address = k.mem.alloc(max(len(message.name), 1))
    k.mem.write(address, message.name)
    try:
        return int(
            (yield from connect_and_wait(k, sock, address, len(message.name), bool(message.flags & MSG_DONTWAIT)))
        )
    finally:
        k.mem.free(address)


@kernel_function("int tcp_sendmsg_locked(struct sock *sk, struct msghdr *msg, size_t size)", source="net/ipv4/tcp.c")
def tcp_sendmsg_locked(k: NetKernel, sk: int, msg: int, size: int) -> Body:
    """The work of tcp_sendmsg with the sock locked."""
    sock, message = tcp_sk(k, sk), k.net.messages[msg]
    sent = 0
    if message.flags & MSG_FASTOPEN or sock.deferred:
        sent = yield from _connect_first(k, sock, message)
        if sent < 0:
            return sent
        if sock.state == TCP_SYN_SENT:
            return sent
    end = until(sock, sending=True)
    while sent < size:
        if sock.err:
            return sent or -sock.take_error()
        if sock.shutdown & SEND_SHUTDOWN:
            return sent or -EPIPE
        if sock.state not in (TCP_ESTABLISHED, TCP_CLOSE_WAIT) and not sock.fast_opened:
            return sent or (-EPIPE if sock.state != TCP_SYN_SENT else -EAGAIN)
        room = min(sock.sndbuf, MOST_QUEUED) - sock.queued
        if room <= 0:
            if message.flags & MSG_DONTWAIT:
                return sent or -EAGAIN
            ret = yield from sleep(k, sock.wq, end)  # sk_stream_wait_memory()
            if ret < 0:
                return sent or ret
            continue
        chunk = message.data[sent : sent + min(room, sock.mss)]
        sock.unsent += chunk
        sent += len(chunk)
        if message.flags & MSG_OOB and sent == size:
            mark_urgent(sock)
        yield from push(k, sock, bool(message.flags & MSG_MORE))
    return sent


@kernel_function(
    "int tcp_recvmsg(struct sock *sk, struct msghdr *msg, size_t len, int flags, int *addr_len)",
    source="net/ipv4/tcp.c",
)
def tcp_recvmsg(k: NetKernel, sk: int, msg: int, length: int, flags: int, addr_len: int) -> Body:
    """Bytes of the stream: at least one (all with MSG_WAITALL), 0 at its end."""
    sock, message = tcp_sk(k, sk), k.net.messages[msg]
    if flags & MSG_ERRQUEUE:
        level, option = (SOL_IP, IP_RECVERR) if sock.family == AF_INET else (SOL_IPV6, IPV6_RECVERR)
        return (yield from receive_error(k, sock, message, length, level, option))
    if sock.state == TCP_LISTEN:
        return -ENOTCONN
    if flags & MSG_OOB:
        return receive_urgent(sock, message, length, flags)
    wanted = length if flags & MSG_WAITALL else min(length, 1)
    copied = bytearray()
    end = until(sock)
    while True:
        mark = to_the_mark(sock)
        if mark == 0 and copied:
            break
        if flags & MSG_PEEK:
            there = b"".join(p.packet() for p in sock.receive_queue)
            hidden = mark == 0 and not is_inline(sock)
            copied = bytearray(there[hidden : (mark or len(there)) + hidden][:length])
        else:
            if mark == 0 and sock.receive_queue and not is_inline(sock):
                yield from pass_over(k, sock)
            yield from take_bytes(k, sock, copied, min(length, len(copied) + mark) if mark else length)
            if sock.urg_data and before(sock.urg_seq, copied_seq(sock)):
                sock.urg_data = 0
                sock.store()
            if mark and copied and to_the_mark(sock) == 0:
                break
        if len(copied) >= wanted:
            break
        if sock.err and not copied:
            return -sock.take_error()
        if sock.shutdown & RCV_SHUTDOWN or sock.fin_queued:
            break
        if sock.state == TCP_CLOSE:
            if not copied and not sock.rport:
                return -ENOTCONN
            break
        if flags & MSG_DONTWAIT:
            if not copied:
                return -EAGAIN
            break
        ret = yield from sleep(k, sock.wq, end)
        if ret < 0:
            if copied:
                break
            return ret
    message.scatter(bytes(copied))
    if not copied and not flags & MSG_PEEK:
        sock.fin_truesize = 0
    if sock.fin_unread and not flags & MSG_PEEK and not sock.receive_queue:
        sock.fin_unread = len(copied) == length and not sock.fin_had_data
    if copied and not flags & MSG_PEEK:
        k.trace("tcp_rcv_space_adjust", sk)
        space_adjust(sock, len(copied), k.clock.now_ns)
        yield k.call("tcp_cleanup_rbuf", sk, len(copied))
    return len(copied)


def take_bytes(k: NetKernel, sk: Sock, into: bytearray, limit: int) -> Steps[None]:
    """Move bytes from the receive queue, freeing the packets that are used up."""
    while sk.receive_queue and len(into) < limit:
        packet = sk.receive_queue[0]
        part = packet.packet()[: limit - len(into)]
        into += part
        k.trace("skb_copy_datagram_iovec", packet.addr, len(part))
        packet.pull(len(part))
        if not packet.len:
            sk.receive_queue.popleft()
            sk.charge(-packet.truesize)
            yield k.call("consume_skb", packet.addr)
    show_copied(k, sk)


@kernel_function("void tcp_cleanup_rbuf(struct sock *sk, int copied)", source="net/ipv4/tcp.c")
def tcp_cleanup_rbuf(k: NetKernel, sk: int, copied: int) -> Body:
    """After reading: tell the peer about the room, if it was short of it."""
    sock = tcp_sk(k, sk)
    connected = sock.state in (TCP_ESTABLISHED, TCP_FIN_WAIT1, TCP_FIN_WAIT2)
    if connected and copied > 0 and wants_update(sock):
        yield k.call("__tcp_send_ack", sk, sock.rcv_nxt)
    return 0


@kernel_function("void tcp_shutdown(struct sock *sk, int how)", source="net/ipv4/tcp.c")
def tcp_shutdown(k: NetKernel, sk: int, how: int) -> Body:
    """shutdown(SHUT_WR): send the FIN."""
    if how & SEND_SHUTDOWN:
        yield from send_fin(k, k.net.socks[sk])
    return 0


def send_fin(k: NetKernel, sk: Sock) -> Steps[None]:
    """tcp_close_state() and tcp_send_fin()."""
    following = {TCP_ESTABLISHED: TCP_FIN_WAIT1, TCP_SYN_RECV: TCP_FIN_WAIT1, TCP_CLOSE_WAIT: TCP_LAST_ACK}
    if sk.state in following:
        yield k.call("tcp_set_state", sk.addr, following[sk.state])
        yield k.call("tcp_send_fin", sk.addr)
    elif sk.state in (TCP_SYN_SENT, TCP_LISTEN):
        yield k.call("tcp_set_state", sk.addr, TCP_CLOSE)


def stop_listening(k: NetKernel, sock: TcpSock) -> Steps[None]:
    """inet_csk_listen_stop(): who was not accepted is told so."""
    for child in list(sock.accept_queue):
        other = yield from migrate(k, sock, child, None)
        if other is not None:
            take_over(other, child)
            continue
        child.listener = None
        child.dead = True
        yield from _reset(k, tcp_sk(k, child.addr), RstReason.TCP_STATE)
    sock.accept_queue.clear()


def destroy(k: NetKernel, sock: TcpSock) -> Steps[None]:
    """inet_csk_destroy_sock() of one that nobody has open (`yield from`)."""
    yield from purge(k, sock)
    sock.free()


def _reset(k: NetKernel, sock: TcpSock, reason: RstReason) -> Steps[None]:
    """Nobody has it open any more, and the peer is told that nobody reads what it sent (`yield from`)."""
    sock.unsent.clear()
    yield k.call("tcp_set_state", sock.addr, TCP_CLOSE)
    yield from send_active_reset(k, sock, reason)
    yield from destroy(k, sock)


@kernel_function("int tcp_disconnect(struct sock *sk, int flags)", source="net/ipv4/tcp.c")
def tcp_disconnect(k: NetKernel, sk: int, flags: int) -> Body:
    """connect(2) to nobody: the connection is over, the socket can be connected again."""
    sock = tcp_sk(k, sk)
    listened = sock.state == TCP_LISTEN
    if listened:
        yield k.call("tcp_set_state", sk, TCP_CLOSE)
        yield from stop_listening(k, sock)
        stop_in_group(sock, k.net.tcp_listen)
    elif sock.state in (TCP_ESTABLISHED, TCP_CLOSE_WAIT):
        sock.unsent.clear()
        yield k.call("tcp_set_state", sk, TCP_CLOSE)
        yield from send_active_reset(k, sock, RstReason.TCP_STATE)
    elif sock.state == TCP_SYN_SENT:
        sock.err = ECONNRESET
    while sock.receive_queue:
        packet = sock.receive_queue.popleft()
        sock.charge(-packet.truesize)
        yield k.call("consume_skb", packet.addr)
    sock.connecting = False
    if sock.state != TCP_CLOSE:
        yield k.call("tcp_set_state", sk, TCP_CLOSE)
    if listened and sock.port_locked:
        hash_port(k.net.tcp_bound, sock)  # the port that bind(2) named stays its own
    elif listened:
        sock.lport = 0  # inet_put_port()
    sock.raddr, sock.rport = sock.any_address, 0
    if not sock.address_locked:
        sock.laddr = sock.any_address
    sock.shutdown = 0
    sock.set_shutdown(0)
    sock.sync_addresses()
    return 0


@kernel_function("void tcp_close(struct sock *sk, long timeout)", source="net/ipv4/tcp.c")
def tcp_close(k: NetKernel, sk: int, timeout: int) -> Body:
    """The last descriptor is closed: FIN, or a reset when data was left unread."""
    sock = tcp_sk(k, sk)
    sock.set_shutdown(SHUTDOWN_MASK)
    unread = bool(sock.receive_queue)
    while sock.receive_queue:
        packet = sock.receive_queue.popleft()
        sock.charge(-packet.truesize)
        yield k.call("consume_skb", packet.addr)
    if sock.state == TCP_LISTEN:
        yield k.call("tcp_set_state", sk, TCP_CLOSE)
        yield from stop_listening(k, sock)
    sock.dead = True
    if unread and sock.state in (TCP_ESTABLISHED, TCP_CLOSE_WAIT):
        yield from _reset(k, sock, RstReason.TCP_ABORT_ON_CLOSE)
        return 0
    if sock.linger == 0 and sock.state != TCP_CLOSE:
        yield k.call("tcp_disconnect", sk, 0)
        yield from destroy(k, sock)
        return 0
    yield from send_fin(k, sock)
    if sock.addr in k.net.socks and sock.state == TCP_FIN_WAIT2:  # shutdown() had sent the FIN before
        if fin_time_ns(sock) < 0:
            yield from _reset(k, sock, RstReason.TCP_ABORT_ON_LINGER)
            return 0
        yield from time_wait(k, sock, TCP_FIN_WAIT2)
    elif sock.addr in k.net.socks and sock.state == TCP_CLOSE:
        unhash(k, sock)
        sock.free()
    return 0
