"""Every field of every context: a program reads it, and finds what the kernel has behind it.

The kernel's structures are filled with known bytes, member by member; a program of each type reads each field of its
context in each size the verifier lets it, through verifier, rewriting, interpreter and compiled code, on every
architecture.  tests/simkernel/test_contexts.py does the same with contexts that a booted machine makes.
"""

from itertools import count

import pytest

from arch.abi.inet import IPPROTO_TCP
from arch.abi.socket import SOCK_STREAM
from arch.abi.version import NEWEST
from bpf import uapi
from bpf.core.program import BpfProg
from bpf.isa.asm import assemble
from bpf.maps.base import MapAttr
from bpf.packet.skbuff import KernelStruct
from bpf.testing.host import TestHost
from bpf.verifier.api import VerifyRequest
from bpf.verifier.context import ctx_layout as layouts
from bpf.verifier.modern import verify
from bpf.verifier.protos.attach_rules import EXPECTED_ATTACH_TYPES

ARCHES = ("x86_64", "arm64", "riscv64", "s390x", "i386", "arm")
# one of each word size and byte order; the others lay out their structures as one of these does
SHAPES = [
    name if name in ("x86_64", "s390x", "i386") else pytest.param(name, marks=pytest.mark.slow) for name in ARCHES
]

# Where a field's value is: the struct that the context really is, pointers to follow, and the member at the end.
# "cb" and "shinfo" stand for what is laid over a packet's private area and what lies behind its buffer.
_SK = "sk_buff.sk"
SKB = {
    "len": "sk_buff.len",
    "pkt_type": "sk_buff.pkt_type",
    "mark": "sk_buff.mark",
    "queue_mapping": "sk_buff.queue_mapping",
    "protocol": "sk_buff.protocol",
    "vlan_present": "sk_buff.vlan_present",
    "vlan_tci": "sk_buff.vlan_tci",
    "vlan_proto": "sk_buff.vlan_proto",
    "priority": "sk_buff.priority",
    "ingress_ifindex": "sk_buff.skb_iif",
    "ifindex": "sk_buff.dev net_device.ifindex",
    "tc_index": "sk_buff.tc_index",
    "cb": "cb qdisc_skb_cb.data",
    "hash": "sk_buff.hash",
    "tc_classid": "cb qdisc_skb_cb.tc_classid",
    "data": "sk_buff.data",
    "data_end": "cb bpf_skb_data_end.data_end",
    "napi_id": "sk_buff.napi_id",
    "family": f"{_SK} sock_common.skc_family",
    "remote_ip4": f"{_SK} sock_common.skc_daddr",
    "local_ip4": f"{_SK} sock_common.skc_rcv_saddr",
    "remote_ip6": f"{_SK} sock_common.skc_v6_daddr",
    "local_ip6": f"{_SK} sock_common.skc_v6_rcv_saddr",
    "remote_port": f"{_SK} sock_common.skc_dport port",
    "local_port": f"{_SK} sock_common.skc_num",
    "data_meta": "cb bpf_skb_data_end.data_meta",
    "tstamp": "sk_buff.tstamp",
    "wire_len": "cb qdisc_skb_cb.pkt_len",
    "gso_segs": "shinfo skb_shared_info.gso_segs",
    "sk": "sk_buff.sk",
    "gso_size": "shinfo skb_shared_info.gso_size",
    "tstamp_type": "sk_buff.mono_delivery_time",
    "hwtstamp": "shinfo skb_shared_info.hwtstamps",
}
SKB_STREAM = {**SKB, "cb": "cb sk_skb_cb.data", "data_end": "sk_buff.data end"}
XDP = {
    "data": "xdp_buff.data",
    "data_end": "xdp_buff.data_end",
    "data_meta": "xdp_buff.data_meta",
    "ingress_ifindex": "xdp_buff.rxq xdp_rxq_info.dev net_device.ifindex",
    "rx_queue_index": "xdp_buff.rxq xdp_rxq_info.queue_index",
    "egress_ifindex": "xdp_buff.txq xdp_txq_info.dev net_device.ifindex",
}
SOCK = {
    "bound_dev_if": "sock_common.skc_bound_dev_if",
    "family": "sock_common.skc_family",
    "type": "sock.sk_type",
    "protocol": "sock.sk_protocol",
    "mark": "sock.sk_mark",
    "priority": "sock.sk_priority",
    "src_ip4": "sock_common.skc_rcv_saddr",
    "src_ip6": "sock_common.skc_v6_rcv_saddr",
    "src_port": "sock_common.skc_num",
    "dst_port": "sock_common.skc_dport",
    "dst_ip4": "sock_common.skc_daddr",
    "dst_ip6": "sock_common.skc_v6_daddr",
    "state": "sock_common.skc_state",
    "rx_queue_mapping": "sock_common.skc_rx_queue_mapping word",
}
_ADDR = "bpf_sock_addr_kern"
SOCK_ADDR = {
    "user_family": f"{_ADDR}.uaddr sockaddr.sa_family",
    "user_ip4": f"{_ADDR}.uaddr sockaddr_in.sin_addr",
    "user_ip6": f"{_ADDR}.uaddr sockaddr_in6.sin6_addr",
    "user_port": f"{_ADDR}.uaddr sockaddr_in6.sin6_port",
    "family": f"{_ADDR}.sk sock_common.skc_family",
    "type": f"{_ADDR}.sk sock.sk_type",
    "protocol": f"{_ADDR}.sk sock.sk_protocol",
    "msg_src_ip4": f"{_ADDR}.t_ctx in_addr.s_addr",
    "msg_src_ip6": f"{_ADDR}.t_ctx in6_addr.s6_addr32",
    "sk": f"{_ADDR}.sk",
}
_OPS = "bpf_sock_ops_kern"
SOCK_OPS = {
    **{name: f"{_OPS}.sk tcp_sock.{name}" for name in layouts.BPF_SOCK_OPS.span("snd_cwnd", "bytes_acked")},
    "op": f"{_OPS}.op",
    "args": f"{_OPS}.replylong",
    "family": f"{_OPS}.sk sock_common.skc_family",
    "remote_ip4": f"{_OPS}.sk sock_common.skc_daddr",
    "local_ip4": f"{_OPS}.sk sock_common.skc_rcv_saddr",
    "remote_ip6": f"{_OPS}.sk sock_common.skc_v6_daddr",
    "local_ip6": f"{_OPS}.sk sock_common.skc_v6_rcv_saddr",
    "remote_port": f"{_OPS}.sk sock_common.skc_dport port",
    "local_port": f"{_OPS}.sk sock_common.skc_num",
    "is_fullsock": f"{_OPS}.is_fullsock",
    "state": f"{_OPS}.sk sock_common.skc_state",
    "rtt_min": f"{_OPS}.sk tcp_sock.rtt_min.s[0].v",
    "sk_txhash": f"{_OPS}.sk sock.sk_txhash",
    "sk": f"{_OPS}.sk",
    "skb_data": f"{_OPS}.skb sk_buff.data",
    "skb_data_end": f"{_OPS}.skb_data_end",
    "skb_len": f"{_OPS}.skb sk_buff.len",
    "skb_tcp_flags": f"{_OPS}.skb cb tcp_skb_cb.tcp_flags",
}
SK_MSG = {
    "data": "sk_msg.data",
    "data_end": "sk_msg.data_end",
    "family": "sk_msg.sk sock_common.skc_family",
    "remote_ip4": "sk_msg.sk sock_common.skc_daddr",
    "local_ip4": "sk_msg.sk sock_common.skc_rcv_saddr",
    "remote_ip6": "sk_msg.sk sock_common.skc_v6_daddr",
    "local_ip6": "sk_msg.sk sock_common.skc_v6_rcv_saddr",
    "remote_port": "sk_msg.sk sock_common.skc_dport port",
    "local_port": "sk_msg.sk sock_common.skc_num",
    "size": "sk_msg.sg.size",
    "sk": "sk_msg.sk",
}
_REUSE = "sk_reuseport_kern"
SK_REUSEPORT = {
    "data": f"{_REUSE}.skb sk_buff.data",
    "data_end": f"{_REUSE}.data_end",
    "len": f"{_REUSE}.skb sk_buff.len",
    "eth_protocol": f"{_REUSE}.skb sk_buff.protocol",
    "ip_protocol": f"{_REUSE}.sk sock.sk_protocol",
    "bind_inany": f"{_REUSE}.bind_inany",
    "hash": f"{_REUSE}.hash",
    "sk": f"{_REUSE}.sk",
    "migrating_sk": f"{_REUSE}.migrating_sk",
}
_LOOKUP = "bpf_sk_lookup_kern"
SK_LOOKUP = {
    "sk": f"{_LOOKUP}.selected_sk",
    "family": f"{_LOOKUP}.family",
    "protocol": f"{_LOOKUP}.protocol",
    "remote_ip4": f"{_LOOKUP}.v4.saddr",
    "remote_ip6": f"{_LOOKUP}.v6.saddr in6_addr.s6_addr32",
    "remote_port": f"{_LOOKUP}.sport",
    "local_ip4": f"{_LOOKUP}.v4.daddr",
    "local_ip6": f"{_LOOKUP}.v6.daddr in6_addr.s6_addr32",
    "local_port": f"{_LOOKUP}.dport",
    "ingress_ifindex": f"{_LOOKUP}.ingress_ifindex",
}
SYSCTL = {"write": "bpf_sysctl_kern.write", "file_pos": "bpf_sysctl_kern.ppos low_of_8"}
_SOCKOPT = "bpf_sockopt_kern"
SOCKOPT = {
    **{name: f"{_SOCKOPT}.{name}" for name in ("sk", "optval", "optval_end", "level", "optname", "optlen")},
    "retval": f"{_SOCKOPT}.current_task task_struct.bpf_ctx bpf_cg_run_ctx.retval",
}
FLOW_DISSECTOR = {name: f"bpf_flow_dissector.{name}" for name in ("data", "data_end", "flow_keys")}
CGROUP_DEV = {name: f"bpf_cgroup_dev_ctx.{name}" for name in ("access_type", "major", "minor")}

_TC_ONLY = "tc_classid wire_len tstamp_type flow_keys"
_SOCKET = "family remote_ip4 local_ip4 remote_ip6 local_ip6 remote_port local_port"
_ALL_PACKET = "data data_meta data_end"
#   type               layout, fields, and those that no program of the type may read
CONTEXTS = {
    "SOCKET_FILTER": (layouts.SK_BUFF, SKB, f"{_TC_ONLY} {_ALL_PACKET} {_SOCKET} tstamp hwtstamp"),
    "SCHED_CLS": (layouts.SK_BUFF, SKB, f"{_SOCKET} flow_keys"),
    "SCHED_ACT": (layouts.SK_BUFF, SKB, f"{_SOCKET} flow_keys"),
    "XDP": (layouts.XDP_MD, XDP, ""),
    "CGROUP_SKB": (layouts.SK_BUFF, SKB, f"{_TC_ONLY} data_meta"),
    "CGROUP_SOCK": (layouts.BPF_SOCK, SOCK, ""),
    "LWT_IN": (layouts.SK_BUFF, SKB, f"{_TC_ONLY} {_SOCKET} data_meta tstamp hwtstamp"),
    "LWT_OUT": (layouts.SK_BUFF, SKB, f"{_TC_ONLY} {_SOCKET} data_meta tstamp hwtstamp"),
    "LWT_XMIT": (layouts.SK_BUFF, SKB, f"{_TC_ONLY} {_SOCKET} data_meta tstamp hwtstamp"),
    "LWT_SEG6LOCAL": (layouts.SK_BUFF, SKB, f"{_TC_ONLY} {_SOCKET} data_meta tstamp hwtstamp"),
    "SOCK_OPS": (layouts.BPF_SOCK_OPS, SOCK_OPS, ""),
    "SK_SKB": (layouts.SK_BUFF, SKB_STREAM, f"{_TC_ONLY} data_meta tstamp hwtstamp mark"),
    "CGROUP_DEVICE": (layouts.BPF_CGROUP_DEV_CTX, CGROUP_DEV, ""),
    "SK_MSG": (layouts.SK_MSG_MD, SK_MSG, ""),
    "CGROUP_SOCK_ADDR": (layouts.BPF_SOCK_ADDR, SOCK_ADDR, ""),
    "SK_REUSEPORT": (layouts.SK_REUSEPORT_MD, SK_REUSEPORT, ""),
    "FLOW_DISSECTOR": (
        layouts.SK_BUFF,
        FLOW_DISSECTOR,
        " ".join(field.name for field in layouts.SK_BUFF.fields if field.name not in FLOW_DISSECTOR),
    ),
    "CGROUP_SYSCTL": (layouts.BPF_SYSCTL, SYSCTL, ""),
    "CGROUP_SOCKOPT": (layouts.BPF_SOCKOPT, SOCKOPT, ""),
    "SK_LOOKUP": (layouts.BPF_SK_LOOKUP, SK_LOOKUP, ""),
}
# Contexts that no field table describes: registers, arguments, records, what user space hands over.
OTHER = {
    "KPROBE", "TRACEPOINT", "PERF_EVENT", "RAW_TRACEPOINT", "RAW_TRACEPOINT_WRITABLE", "TRACING", "LSM", "EXT",
    "STRUCT_OPS", "LIRC_MODE2", "SYSCALL", "NETFILTER", "UNSPEC",
}  # fmt: skip


def test_no_program_type_is_forgotten():
    names = {name.removeprefix("BPF_PROG_TYPE_") for name in vars(uapi) if name.startswith("BPF_PROG_TYPE_")}
    assert names == set(CONTEXTS) | OTHER


def attach_types(prog_type):
    extra = {uapi.BPF_PROG_TYPE_XDP: (0, uapi.BPF_XDP_DEVMAP)}
    return extra.get(prog_type) or EXPECTED_ATTACH_TYPES.get(prog_type) or (0,)


class Kernel(KernelStruct):
    """The structures behind one context, each made when a path first leads there."""

    def __init__(self, host, struct):
        self.struct = struct
        super().__init__(host, host.mem.alloc(1 << 14, 64))
        self.made = {}
        self.numbers = count(0x51)
        if struct == "sk_buff" or struct.startswith(("sk_reuseport", "bpf_sock_ops")):
            self.room = host.mem.alloc(4096, 64)

    def pattern(self, size):
        """Bytes that tell their place, and differ from field to field."""
        first = next(self.numbers) * 0x0B & 0x7F | 1
        return bytes((first + 0x1D * n) & 0xFF for n in range(size))

    def behind(self, base, path):
        """Where a pointer member leads."""
        at = self.made.get((base, path))
        if at is None:
            at = self.made[base, path] = self.host.mem.alloc(1 << 13, 64)
            self.write(base, path, at)
        return at

    def find(self, source):
        """(address, path of the last member, how it is shown)"""
        words, base, shown = source.split(), self.addr, ""
        if words[-1] in ("port", "word", "low_of_8", "end"):
            shown = words.pop()
        for word in words[:-1]:
            if word == "cb":
                base += self.kernel.offset("sk_buff.cb")
            elif word == "shinfo":
                self.write(base, "sk_buff.head", self.room)
                self.write(base, "sk_buff.end", 256 if self.kernel.word == 8 else self.room + 256)
                base = self.room + 256
            else:
                base = self.behind(base, word)
        if shown == "low_of_8":
            base = self.behind(base, words[-1])
        return base, words[-1], shown

    def place(self, source):
        """Put a value behind a field; what the field shows as bytes of a number, in memory order."""
        base, path, shown = self.find(source)
        order = self.kernel.byteorder
        if shown == "end":
            self.write(base, path, self.room)
            self.write(base, "sk_buff.len", 100)
            self.write(base, "sk_buff.data_len", 30)
            return (self.room + 70).to_bytes(self.kernel.word, order)
        if shown == "low_of_8":
            raw = self.pattern(8)
            self.mem.write(base, raw)
            return raw[:4] if order == "little" else raw[4:]
        where = self.kernel.place(path)
        if where.mask:
            self.write(base, path, 5)
            return self.read(base, path).to_bytes(1, order)
        if (base, path) in self.made:
            return self.made[base, path].to_bytes(where.size, order)
        if path == "bpf_sock_ops_kern.is_fullsock":
            raw = b"\1"
        else:
            raw = self.pattern(where.size)
        self.mem.write(base + where.offset, raw)
        if shown == "port":
            value = int.from_bytes(raw, order) << (16 if order == "little" else 0)
            return value.to_bytes(4, order)
        return raw


def expected(shown, behind, order, field, at, size):
    """What a load of `size` bytes at byte `at` of the field gives: bytes of the number that the field shows.

    A load no narrower than what is `behind` the field (bytes) gives all of it, wherever in the field it is.
    """
    if behind <= size or (field.count == 1 and len(shown) > field.unit):  # the second: a packet pointer
        return int.from_bytes(shown, order)
    if len(shown) < field.unit:
        shown = int.from_bytes(shown, order).to_bytes(field.unit, order)
    return int.from_bytes(shown[at : at + size], order)


class Loader:
    """Programs that store one load of their context into a map."""

    def __init__(self, arch):
        self.host = TestHost(arch=arch, memory_size=1 << 22)
        self.out = self.host.bpf.new_map(MapAttr(uapi.BPF_MAP_TYPE_ARRAY, 4, 8, 1))

    def request(self, prog_type, attach, off, size, flags=0):
        letter = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}[size]
        ret = 0 if prog_type in (uapi.BPF_PROG_TYPE_TRACING, uapi.BPF_PROG_TYPE_LSM) else 1
        text = f"r7 = *({letter} *)(r1 +{off})\nr2 = map[out]+0\n*(u64 *)(r2 +0) = r7\nr0 = {ret}\nexit"
        arch = self.host.arch
        return VerifyRequest(
            assemble(text, {"out": 3}),
            prog_type,
            attach,
            flags,
            resolve_map=lambda fd: self.out.info(),
            byteorder=arch.byteorder,
            word_size=arch.word,
            ctx_size=arch.pt_regs_for(NEWEST).size,
            user_regs_size=arch.user_pt_regs_size,
            layout=self.host.structs,
        )

    def load(self, *args, fast=True):
        """A program; None if the verifier refuses it."""
        request = self.request(*args)
        verdict = verify(request)
        return BpfProg(self.host.bpf, request, verdict, fast=fast) if verdict.ret == 0 else None

    def value(self):
        return self.host.mem.read_uint(self.out.direct_value_address(0), 8)

    def reads(self, args, ctx):
        """What the interpreter and compiled code read; None if the verifier refuses."""
        found = []
        for fast in (False, True):
            prog = self.load(*args, fast=fast)
            if prog is None:
                return None
            self.host.mem.write_uint(self.out.direct_value_address(0), 8, 0xAA55AA55AA55AA55)
            prog.run64(ctx)
            found.append(self.value())
        assert found[0] == found[1]
        return found[0]


@pytest.mark.parametrize("arch", SHAPES)
@pytest.mark.parametrize("name", CONTEXTS)
def test_fields(name, arch):
    layout, sources, hidden = CONTEXTS[name]
    prog_type = getattr(uapi, f"BPF_PROG_TYPE_{name}")
    loader = Loader(arch)
    order = loader.host.arch.byteorder
    unread = set()
    for field in layout.fields:
        if field.name not in sources:
            unread.add(field.name)
            continue
        kernel = Kernel(loader.host, sources[next(iter(sources))].split(".")[0])
        if name == "SOCK_OPS":
            kernel.write(kernel.addr, "bpf_sock_ops_kern.is_fullsock", 1)
        shown = kernel.place(sources[field.name])
        behind = {"port": 2, "word": 4}.get(sources[field.name].split()[-1], len(shown))
        seen = 0
        for size in (8, 4, 2, 1):
            for at in range(0, field.unit * field.count, size):
                for attach in attach_types(prog_type):
                    got = loader.reads((prog_type, attach, field.offset + at, size), kernel.addr)
                    if got is not None:
                        where = (field.name, at, size, shown.hex())
                        assert got == expected(shown, behind, order, field, at, size), where
                        seen += 1
                        break
        if not seen:
            unread.add(field.name)
    assert unread == set(hidden.split())


# ---- contexts that are memory as it is ----

TCP_SOURCES = {
    "rtt_min": "tcp_sock.rtt_min.s[0].v",
    "icsk_retransmits": "inet_connection_sock.icsk_retransmits",
}


def flat(loader, name, size, first, sizes, flags=0):
    """Each byte of a context that no rewriting touches: what is read, against what is there."""
    ctx = loader.host.mem.alloc(size, 64)
    raw = bytes((7 * n + 3) & 0xFF for n in range(size))
    loader.host.mem.write(ctx, raw)
    order = loader.host.arch.byteorder
    for width in sizes:
        for off in range(first, size, width):
            got = loader.reads((getattr(uapi, f"BPF_PROG_TYPE_{name}"), 0, off, width, flags), ctx)
            assert got == int.from_bytes(raw[off : off + width], order), (name, off, width)


@pytest.mark.parametrize("arch", ARCHES)
def test_registers_of_kprobes(arch):
    loader = Loader(arch)
    layout = loader.host.arch.pt_regs_for(NEWEST)
    ctx = loader.host.mem.alloc(layout.size, 64)
    for number, row in enumerate(layout.rows):
        value = (0x1122334455667788 * (number + 1)) & ((1 << row.size * 8) - 1)
        layout.set(loader.host.mem, ctx, row.field, value)
        if row.size in (1, 2, 4, 8) and row.offset % row.size == 0:
            got = loader.reads((uapi.BPF_PROG_TYPE_KPROBE, 0, row.offset, row.size), ctx)
            assert got == value, row.field
    word = loader.host.arch.word
    assert loader.reads((uapi.BPF_PROG_TYPE_KPROBE, 0, layout.size - layout.size % word, word), ctx) is None


@pytest.mark.parametrize("arch", ARCHES)
def test_records_and_arguments(arch):
    loader = Loader(arch)
    flat(loader, "TRACEPOINT", 64, 8, (1, 2, 4, 8))
    flat(loader, "RAW_TRACEPOINT", 96, 0, (8,))
    flat(loader, "RAW_TRACEPOINT_WRITABLE", 96, 8, (8,))
    flat(loader, "LIRC_MODE2", 4, 0, (4,))
    flat(loader, "SYSCALL", 64, 0, (1, 2, 4, 8), uapi.BPF_F_SLEEPABLE)
    assert loader.reads((uapi.BPF_PROG_TYPE_TRACEPOINT, 0, 0, 8), 0) is None
    assert loader.reads((uapi.BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 96, 8), 0) is None


@pytest.mark.parametrize("arch", ARCHES)
def test_fields_of_perf_event_data(arch):
    """struct bpf_perf_event_data: user registers, then sample_period and addr."""
    loader = Loader(arch)
    host, perf = loader.host, uapi.BPF_PROG_TYPE_PERF_EVENT
    word, order, size = host.arch.word, host.arch.byteorder, host.arch.user_pt_regs_size
    kernel = Kernel(host, "bpf_perf_event_data_kern")
    regs = kernel.behind(kernel.addr, "bpf_perf_event_data_kern.regs")
    raw = bytes((5 * n + 9) & 0xFF for n in range(size))
    host.mem.write(regs, raw)
    for off in range(0, size, word):
        assert loader.reads((perf, 0, off, word), kernel.addr) == int.from_bytes(raw[off : off + word], order), off
    for start, member in ((size, "period"), (size + 8, "addr")):
        shown = kernel.place(f"bpf_perf_event_data_kern.data perf_sample_data.{member}")
        for width in (8, 4, 2, 1):
            for at in range(0, 8, width):
                if (start + at) % width and not (word == 4 and width == 8):
                    continue
                got = loader.reads((perf, 0, start + at, width), kernel.addr)
                assert got == int.from_bytes(shown[at : at + width], order), (member, at, width)
    assert loader.reads((perf, 0, size + 16, word), kernel.addr) is None


SOCKETS = {
    "bpf_tcp_sock": (layouts.BPF_TCP_SOCK, uapi.BPF_FUNC_tcp_sock, "tcp_sock."),
    "bpf_sock": (layouts.BPF_SOCK, uapi.BPF_FUNC_sk_fullsock, ""),
}


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("name", SOCKETS)
def test_fields_behind_sockets(name, arch):
    """struct bpf_sock and bpf_tcp_sock, to which helpers give pointers."""
    layout, helper, prefix = SOCKETS[name]
    loader = Loader(arch)
    host, order = loader.host, loader.host.arch.byteorder
    for field in layout.fields:
        source = SOCK[field.name].split()[0] if not prefix else TCP_SOURCES.get(field.name, prefix + field.name)
        kernel = Kernel(host, "sk_buff")
        sk = kernel.behind(kernel.addr, "sk_buff.sk")
        kernel.write(sk, "sock.sk_protocol", IPPROTO_TCP)
        kernel.write(sk, "sock.sk_type", SOCK_STREAM)
        shown = {"protocol": IPPROTO_TCP, "type": SOCK_STREAM}.get(field.name)
        raw = kernel.place(f"sk_buff.sk {source}") if shown is None else shown.to_bytes(2, order)
        letter = {4: "u32", 8: "u64", 2: "u16"}[field.unit]
        text = f"""
            r1 = *(u64 *)(r1 +{layouts.SK_BUFF.offsetof("sk")})
            if r1 == 0 goto out
            call {helper}
            if r0 == 0 goto out
            r7 = *({letter} *)(r0 +{field.offset})
            r2 = map[out]+0
            *(u64 *)(r2 +0) = r7
          out:
            r0 = 0
            exit
        """
        for fast in (False, True):
            request = loader.request(uapi.BPF_PROG_TYPE_SCHED_CLS, 0, 0, 4)
            request.insns = assemble(text, {"out": 3})
            verdict = verify(request)
            assert verdict.ret == 0, verdict.log
            host.mem.write_uint(loader.out.direct_value_address(0), 8, 0xAA55AA55AA55AA55)
            BpfProg(host.bpf, request, verdict, fast=fast).run64(kernel.addr)
            assert loader.value() == expected(raw, len(raw), order, field, 0, field.unit), (field.name, fast)
