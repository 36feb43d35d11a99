"""Programs of socket maps on the data of sockets: parsers, verdicts, messages.  net/core/skmsg.c, net/ipv4/tcp_bpf.c of Linux 6.1.

What a socket receives is cut into messages by its parser, if it has one, and each goes where the verdict says: to the
socket's own reader, into another's queue, out of another, or nowhere.  What it is given to send is judged the same way.
"""

from __future__ import annotations

from arch.abi.errno import EACCES, EPIPE
from arch.abi.inet import TCP_CLOSE_WAIT, TCP_ESTABLISHED
from arch.abi.socket import MSG_DONTWAIT, MSG_NOSIGNAL
from bpf import uapi
from bpf.board import Bpf
from bpf.helpers import signed
from bpf.maps.psock import VERDICTS, Psock
from bpf.packet.skbuff import KernelStruct
from simkernel.kernel.face import Steps
from simkernel.net.calls.transfer import on_its_way, send
from simkernel.net.core.message import Message
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import drop, new_skb
from simkernel.net.core.sock import SEND_SHUTDOWN, Sock
from simkernel.net.ipv4.tcp_output import push
from simkernel.net.ipv4.tcp_sock import TcpSock
from simkernel.observe.face import WatchedKernel

MESSAGE = "sk_msg"


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
            yield from self._send(target, data)

    def _hear(self, sk: Sock, skb: Skb) -> Steps[None]:
        """sk_psock_skb_ingress(): into a socket's queue."""
        sk.queue(skb)
        yield self.k.call("sock_def_readable", sk.addr)

    def _redirect(self, sk: Sock, skb: Skb) -> Steps[None]:
        """Into another's queue, which has to be a stream of TCP in a map."""
        if isinstance(sk, TcpSock) and sk.addr in self.bpf.psocks:
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
        """tcp_bpf_sendmsg(), tcp_bpf_send_verdict(): bytes taken, or -errno."""
        psock = self.bpf.psocks[sk.addr]
        left, psock.corked = psock.corked + data, bytearray()
        corked = bool(psock.cork_wish)
        psock.cork_bytes = max(psock.cork_bytes - len(data), 0)
        if psock.cork_bytes:
            psock.corked = left
            return len(data)
        while left:
            if psock.verdict is None:
                self._ask(psock, sk, left)
                if psock.cork_wish > len(left):
                    psock.corked, psock.cork_bytes, psock.verdict = left, psock.cork_wish - len(left), None
                    return len(data)
            size = min(len(left), psock.apply_bytes or len(left))
            part = bytes(left[:size])
            del left[:size]
            assert psock.verdict is not None
            verdict = psock.verdict
            psock.apply_bytes = max(psock.apply_bytes - size, 0)
            error = yield from self._carry(sk, part, flags, *verdict)
            if error == -EACCES:  # once dropped, always dropped: nobody is asked again
                return max(len(data) - size, 0) or error
            if not psock.apply_bytes:
                psock.verdict = None
            if error:
                return max(len(data) - len(left) - size, 0) or error
            if verdict[1] or not corked:
                psock.cork_wish = 0
        return len(data)

    def _ask(self, psock: Psock, sk: Sock, data: bytearray) -> None:
        """sk_psock_msg_verdict(): the program sees, and may change, the bytes, or waits for so many before it judges."""
        kernel, mem = self.bpf.host.structs, self.bpf.mem
        with self.bpf.scratch(kernel.sizeof(MESSAGE)) as address, self.bpf.scratch(len(data)) as buffer:
            mem.write(buffer, bytes(data))
            ctx = KernelStruct(self.bpf.host, address)
            ctx.struct = MESSAGE
            values = {"data": buffer, "data_end": buffer + len(data), "sk": sk.addr, "sg.size": len(data), "sg.end": 1,
                      "cork_bytes": psock.cork_wish}  # fmt: skip
            for name, value in values.items():
                ctx.set(name, value)
            ctx.write(ctx.at("sg.data"), "scatterlist.dma_address", buffer)
            answer = psock.progs[uapi.BPF_SK_MSG_VERDICT].run(address)
            data[:] = mem.read(buffer, len(data))
            psock.verdict = answer, ctx.get("sk_redir"), ctx.get("flags")
            psock.apply_bytes = ctx.get("apply_bytes")
            psock.cork_wish = ctx.get("cork_bytes")

    def _carry(self, sk: Sock, part: bytes, flags: int, answer: int, redirect: int, where: int) -> Steps[int]:
        """As the verdict says; 0 or -errno.  EACCES: dropped; EPIPE: the other socket is gone."""
        if answer != uapi.SK_PASS:
            return -EACCES
        if not redirect:
            message = Message(self.k, part, b"", flags)
            with on_its_way(self.k, message):
                ret = yield self.k.call("tcp_sendmsg_locked", sk.addr, message.addr, len(part))
            return min(ret, 0)
        target = self.k.net.socks.get(redirect)
        if target is None or redirect not in self.bpf.psocks:
            return -EPIPE
        if where & uapi.BPF_F_INGRESS:
            skb = yield from self._packet(part, target)
            yield from self._redirect(target, skb)
        else:
            yield from self._send(target, part)
        return 0
