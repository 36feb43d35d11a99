"""Programs of socket maps on the data of sockets: parsers, verdicts, messages.  net/core/skmsg.c, net/ipv4/tcp_bpf.c of Linux 6.1.

What a socket receives is cut into messages by its parser, if it has one, and each goes where the verdict says: to the
socket's own reader, into another's queue, out of another, or nowhere.  What it is given to send is judged the same way.
"""

from __future__ import annotations

from contextlib import ExitStack

from arch.abi.errno import EACCES, EPIPE
from arch.abi.inet import TCP_CLOSE_WAIT, TCP_ESTABLISHED
from arch.abi.socket import MSG_DONTWAIT, MSG_MORE, MSG_NOSIGNAL
from bpf import uapi
from bpf.board import Bpf
from bpf.helpers import signed
from bpf.maps.psock import VERDICTS, Psock, SentMessage
from bpf.packet.message import SkMsg
from simkernel.kernel.face import Steps
from simkernel.net.calls.transfer import on_its_way, send
from simkernel.net.core.message import Message
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import drop, new_skb
from simkernel.net.core.sock import SEND_SHUTDOWN, Sock
from simkernel.net.ipv4.tcp_output import push
from simkernel.net.ipv4.tcp_sock import TcpSock, tcp_sk
from simkernel.observe.face import WatchedKernel

PAGE_FRAG = 32768  # bytes of what is sent that lie together


class SocketJudges:
    """Running them.

    The bytes of a stream lie in pages, where a program sees them only after bpf_skb_pull_data(): data_len says so while
    programs run.

    A parser and its verdict see the packet in which a message begins from its first byte on, wherever the message begins.
    """

    def __init__(self, k: WatchedKernel, bpf: Bpf) -> None:
        self.k, self.bpf = k, bpf

    # ---- what arrives ----

    def judge(self, sk: Sock, skb: Skb) -> Steps[None]:
        """sk_psock_verdict_data_ready(), or with a parser __strp_recv(): a message may be several packets, or part of one."""
        psock = self.bpf.psocks[sk.addr]
        if not isinstance(sk, TcpSock):
            yield from self._verdict(psock, sk, skb)
            return
        if not psock.parsing:
            skb.set("data_len", skb.len)
            yield from self._verdict(psock, sk, skb)
            return
        psock.packets.append(bytes(skb.packet()))
        yield self.k.call("consume_skb", skb.addr)
        while psock.parsing and psock.packets:
            whole = yield from self._packet(b"".join(psock.packets), sk)
            whole.set("data_len", whole.len)
            size = signed(psock.progs[uapi.BPF_SK_SKB_STREAM_PARSER].run(whole.addr), 32)
            if not 0 < size <= whole.len - psock.offset:
                yield self.k.call("consume_skb", whole.addr)
                if size < 0:  # strp_abort_strp(): nothing more is parsed
                    psock.parsing, sk.err = False, -size
                    yield self.k.call("sk_error_report", sk.addr)
                return
            start, psock.offset = psock.offset, psock.offset + size
            while psock.packets and psock.offset >= len(psock.packets[0]):
                psock.offset -= len(psock.packets.pop(0))
            yield from self._verdict(psock, sk, whole, start, size)

    def judge_bytes(self, sk: Sock, data: bytes) -> Steps[None]:
        """unix_read_skb()."""
        packet = yield from self._packet(data, sk)
        packet.set_protocol(0)
        yield from self._verdict(self.bpf.psocks[sk.addr], sk, packet)

    def _packet(self, data: bytes | bytearray, sk: Sock) -> Steps[Skb]:
        skb = yield from new_skb(self.k, len(data), sk)
        skb.put_data(bytes(data))
        return skb

    def _verdict(self, psock: Psock, sk: Sock, skb: Skb, start: int = 0, size: int = -1) -> Steps[None]:
        """sk_psock_verdict_recv(), sk_psock_verdict_apply(), of so many bytes from `start` on."""
        prog = next(psock.progs[kind] for kind in VERDICTS if kind in psock.progs)
        skb.set_owner(sk)
        redirect, word_size = skb.redirect_at(), skb.kernel.word
        skb.mem.write_uint(redirect, word_size, 0)
        answer = prog.run(skb.addr)
        apart = skb.len - skb.get("data_len")  # what lies in pages is sent by itself
        skb.set("data_len", 0)
        word = skb.mem.read_uint(redirect, word_size)
        skb.mem.write_uint(redirect, word_size, 0)
        if size >= 0:
            skb.pull(start)
            skb.trim(size)
        target = self.k.net.socks.get(word & ~uapi.BPF_F_INGRESS)
        if answer != uapi.SK_PASS or (word and target is None):
            yield drop(self.k, skb)
        elif target is None:
            yield from self._hear(sk, skb)
        elif word & uapi.BPF_F_INGRESS:
            yield from self._redirect(target, skb)
        else:
            data = bytes(skb.packet())
            yield self.k.call("consume_skb", skb.addr)
            for part in (data[:apart], data[apart:]) if size < 0 else (data,):
                if part:
                    yield from self._send(target, part)

    def _hear(self, sk: Sock, skb: Skb) -> Steps[None]:
        """sk_psock_skb_ingress(): into a socket's queue."""
        if isinstance(sk, TcpSock):
            sk.queue(skb)
        else:
            sk.judged.append(bytes(skb.packet()))
            yield self.k.call("consume_skb", skb.addr)
        yield self.k.call("sock_def_readable", sk.addr)

    def _redirect(self, sk: Sock, skb: Skb) -> Steps[None]:
        """Into another's queue, which has to be in a map."""
        if sk.addr in self.bpf.psocks:
            yield from self._hear(sk, skb)
        else:
            yield drop(self.k, skb)

    def _send(self, sk: Sock, data: bytes) -> Steps[None]:
        """skb_send_sock(): out of a socket, as if its owner had sent it."""
        if isinstance(sk, TcpSock):
            if sk.state in (TCP_ESTABLISHED, TCP_CLOSE_WAIT) and not sk.shutdown & SEND_SHUTDOWN:
                sk.unsent += data
                yield from push(self.k, sk)
        elif sk.socket is not None:
            yield from send(self.k, sk.socket, data, b"", MSG_DONTWAIT | MSG_NOSIGNAL)

    # ---- what is sent ----

    def judge_sent(self, sk: Sock, data: bytes, flags: int) -> Steps[int]:
        """tcp_bpf_sendmsg(): bytes taken, or -errno."""
        psock = self.bpf.psocks[sk.addr]
        if psock.cork is None:
            message = SentMessage([data[at : at + PAGE_FRAG] for at in range(0, len(data), PAGE_FRAG)])
        else:
            message = psock.cork
            if message.pieces and message.grows:
                message.pieces[-1] += data
            else:
                message.pieces.append(data)
                message.grows = True
        if psock.cork_bytes:
            psock.cork_bytes = max(psock.cork_bytes - len(data), 0)
            if psock.cork_bytes:
                return len(data)
            psock.verdict = None
        sock = tcp_sk(self.k, sk.addr)
        before = sock.snd_nxt
        ret = yield from self._judge_message(psock, sk, message, len(data), flags)
        if sock.snd_nxt != before and not sock.sent:  # release_sock(): it was acknowledged meanwhile
            yield from push(self.k, sock)
        return ret

    def _judge_message(self, psock: Psock, sk: Sock, message: SentMessage, copied: int, flags: int) -> Steps[int]:
        """tcp_bpf_send_verdict(): a program may make a message longer or shorter, which is not told to who sent it."""
        added = 0
        while True:
            if psock.verdict is None:
                before = message.size
                self._ask(psock, sk, message)
                added = before - message.size
            if message.said["cork_bytes"] > message.size:
                psock.cork_bytes, psock.cork = message.said["cork_bytes"] - message.size, message
                return copied
            size = min(message.size, psock.apply_bytes or message.size)
            assert psock.verdict is not None
            answer, redirect, where = psock.verdict
            if answer != uapi.SK_PASS:  # once dropped, always dropped: nobody is asked again
                psock.apply_bytes = max(psock.apply_bytes - size, 0)
                if message is psock.cork:
                    psock.cork = SentMessage()
                copied -= size + added
                return copied if copied > 0 else -EACCES
            corked = bool(redirect) and psock.cork is not None
            if corked:
                psock.cork = None
            error = yield from self._carry(sk, message.take(size), flags, redirect, where)
            if not error or redirect:
                psock.apply_bytes = max(psock.apply_bytes - size, 0)
            if error and not corked:
                copied -= size + message.size
                return copied if copied > 0 else error
            if not psock.apply_bytes:
                psock.verdict = None
            if corked or not message.pieces:
                return copied

    def _ask(self, psock: Psock, sk: Sock, message: SentMessage) -> None:
        """sk_psock_msg_verdict(): the program sees, and may change, the bytes, or waits for so many before it judges."""
        kernel, mem = self.bpf.host.structs, self.bpf.mem
        with ExitStack() as memory, self.bpf.scratch(kernel.sizeof(SkMsg.struct)) as address:
            ctx = SkMsg(self.bpf.host, address, self.bpf.message_pages)
            laid = []
            for piece in message.pieces:
                laid.append((memory.enter_context(self.bpf.scratch(len(piece))), len(piece)))
                mem.write(laid[-1][0], piece)
            ctx.lay(laid)
            ctx.set("sk", sk.addr)
            for name, value in message.said.items():
                ctx.set(name, value)
            try:
                answer = psock.progs[uapi.BPF_SK_MSG_VERDICT].run(address)
                pieces = ctx.pieces()
                message.pieces = [ctx.bytes_of([piece]) for piece in pieces]
                message.grows &= bool(laid and pieces) and sum(pieces[-1]) == sum(laid[-1])
            finally:
                for page in self.bpf.message_pages:
                    mem.free(page)
                self.bpf.message_pages.clear()
            message.said = {name: ctx.get(name) for name in message.said}
            psock.verdict = answer, message.said["sk_redir"], message.said["flags"]
            psock.apply_bytes = message.said["apply_bytes"]

    def _carry(self, sk: Sock, taken: tuple[list[bytes], bool], flags: int, redirect: int, where: int) -> Steps[int]:
        """To its peer or another socket; 0 or -errno.  EPIPE: the other socket is gone."""
        pieces, part_of_last = taken
        target = self.k.net.socks.get(redirect) if redirect else sk
        if target is None or (redirect and redirect not in self.bpf.psocks):
            return -EPIPE
        if redirect and where & uapi.BPF_F_INGRESS:
            skb = yield from self._packet(b"".join(pieces), target)
            yield from self._redirect(target, skb)
            return 0
        for number, piece in enumerate(pieces, 1):
            more = MSG_MORE if part_of_last and number == len(pieces) else 0
            message = Message(self.k, piece, b"", flags | more)
            with on_its_way(self.k, message):
                ret = yield self.k.call("tcp_sendmsg_locked", target.addr, message.addr, len(piece))
            if ret < 0:
                return ret
        return 0
