"""BPF_PROG_TEST_RUN: run a program on a packet or a context from user space.  net/bpf/test_run.c of Linux 6.1.

The system call hands over a TestRequest and gets a TestResult; what it copies where follows from the result.
Raw tracepoints, packets, XDP, flow dissection, socket lookup, tracing and system-call programs have test runs; all
other types answer ENOTSUPP.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager

from arch.abi.errno import (
    E2BIG,
    EAFNOSUPPORT,
    EBADMSG,
    EFAULT,
    EINTR,
    EINVAL,
    ENODEV,
    ENOMEM,
    ENOSPC,
    ENOTSUPP,
    ENXIO,
    EOPNOTSUPP,
    ERANGE,
)
from arch.abi.inet import ETH_HLEN, ETH_P_IP, ETH_P_IPV6
from arch.abi.limits import PAGE_SIZE
from arch.abi.socket import AF_INET, AF_INET6
from arch.errors import KernelError
from arch.hosttime import HOST_WORD
from arch.memory import ByteOrder
from bpf import uapi
from bpf.board import Bpf
from bpf.core.program import BpfProg
from bpf.face import BpfHost
from bpf.packet.checksum import csum_fold, csum_partial
from bpf.packet.skbuff import (
    CHECKSUM_COMPLETE,
    MAX_SKB_FRAGS,
    NET_SKB_PAD,
    XDP_FRAME_SIZE,
    KernelStruct,
    NetDevice,
    SkBuff,
    Sock,
    XdpBuff,
    check_header,
    shinfo_room,
)
from bpf.syscall.test_functions import FENTRY_CALLS, KernelCall, Step, TimePassed, drive
from bpf.syscall.test_live import run_live
from bpf.syscall.test_request import TestRequest, TestResult
from bpf.verifier.context.ctx_layout import BPF_FLOW_KEYS, BPF_SK_LOOKUP, SK_BUFF, XDP_MD, CtxLayout
from bpf.versions.program_types import program_types

GSO_LEGACY_MAX_SIZE = 65536
GSO_MAX_SEGS = 65535
TEST_XDP_MAX_BATCH = 256
LOOPBACK_IFINDEX = 1
SKB_DROP_REASON_NOT_SPECIFIED = 1  # include/net/dropreason.h
LOOPBACK_MTU = 65536
RESCHED_NS = 1_000_000  # of running, until it is looked who else wants the CPU


Running = Generator[Step, int, TestResult]


def test_run(bpf: Bpf, prog: BpfProg, request: TestRequest) -> TestResult:
    """bpf_prog_test_run(): KernelError, or the result.  No time passes, and no signal comes."""
    return drive(test_run_steps(bpf, prog, request), bpf.mem)


def test_run_steps(bpf: Bpf, prog: BpfProg, request: TestRequest) -> Running:
    """The same for a kernel in which time passes."""
    run = _RUNS.get(prog.type)
    if run is None:
        raise KernelError(ENOTSUPP, "program type has no test run")
    runner = _Runner(bpf.host, prog, request)
    with runner.cleanup:
        return (yield from run(runner))


test_run.__test__ = False  # type: ignore[attr-defined]


class _Runner:
    """One test run under way."""

    def __init__(self, host: BpfHost, prog: BpfProg, request: TestRequest) -> None:
        self.host, self.prog, self.request = host, prog, request
        self.mem = host.mem
        self.kernel = host.structs
        self.result = TestResult()
        self.cleanup = ExitStack()
        self.max_ctx_offset = prog.max_ctx_offset

    @contextmanager
    def memory(self, data: bytes, size: int = 0) -> Iterator[int]:
        """Kernel memory that holds `data`, for the length of the block."""
        address = self.mem.alloc(max(size, len(data), 8), 64)
        try:
            if data:
                self.mem.write(address, data)
            yield address
        finally:
            self.mem.free(address)

    def reject_options(self, flags: int = 0) -> None:
        """EINVAL for flags other than these, for a CPU and for batches."""
        request = self.request
        if request.flags & ~flags or request.cpu or request.batch_size:
            raise KernelError(EINVAL, "option not known for this program type")

    def packet_in(self, size: int, headroom: int, tailroom: int) -> bytes:
        """The packet from user space.  bpf_test_init()."""
        if size > PAGE_SIZE - headroom - tailroom:
            raise KernelError(EINVAL, "packet does not fit into a page")
        return (self.request.data_in or b"")[:size].ljust(size, b"\0")

    def context_in(self, layout: CtxLayout) -> bytes | None:
        """The context from user space, filled up with zeros; None if there is none.  bpf_ctx_init()."""
        request = self.request
        if request.ctx_in is None:
            return bytes(layout.size) if request.has_ctx_out else None
        raw = request.ctx_in
        if any(raw[layout.size :]):
            raise KernelError(E2BIG, "context is larger than ours")
        return raw[: layout.size].ljust(layout.size, b"\0")

    def run(self, ctx: int, before_each: Callable[[], None] = lambda: None) -> Generator[Step, int, None]:
        """Run `repeat` times and note result and mean time.  bpf_test_run(), bpf_test_timer_continue() (`yield from`)."""
        repeat, start = self.request.repeat or 1, self.host.now_ns()
        spent, cost = 0, len(self.prog.insns) if repeat > 1 else 0  # a nanosecond an instruction
        for _ in range(repeat):
            before_each()
            self.result.retval = self.prog.run(ctx) & 0xFFFFFFFF
            if HOST_WORD[0]:
                raise KernelError(EINTR, "the host's time is up")
            spent += cost
            if spent >= RESCHED_NS:
                if (yield TimePassed(spent)):
                    raise KernelError(EINTR, "a signal ends the test run")
                spent = 0
        if spent:
            yield TimePassed(spent)
        self.result.duration = min((self.host.now_ns() - start) // repeat, 0xFFFFFFFF)

    def finish(self, data: bytes, ctx: bytes | None) -> TestResult:
        """What is copied out.  bpf_test_finish(), bpf_ctx_finish()."""
        request, result = self.request, self.result
        size, result.data_size = len(data), len(data)
        if request.data_size_out and size > request.data_size_out:
            size, result.error = request.data_size_out, ENOSPC
        result.data = data[:size] if request.has_data_out else None
        if result.error or ctx is None or not request.has_ctx_out:
            return result
        size, result.ctx_size = len(ctx), len(ctx)
        if size > request.ctx_size_out:
            size, result.error = request.ctx_size_out, ENOSPC
        result.ctx = ctx[:size]
        return result

    def device(self, ifindex: int) -> NetDevice:
        """A network device by number; the loopback device unless the host has more.  ENODEV."""
        address = self.host.net_device(ifindex)
        if address is not None:
            if not address:
                raise KernelError(ENODEV, "no such device")
            return NetDevice(self.host, address)
        if ifindex != LOOPBACK_IFINDEX:
            raise KernelError(ENODEV, "no such device")
        loopback = NetDevice.new(self.host)
        self.cleanup.callback(loopback.free)
        loopback.set("ifindex", LOOPBACK_IFINDEX)
        loopback.set("mtu", LOOPBACK_MTU)
        return loopback


# -- fields of a context from user space ----------------------------------------------------------------


class _Fields:
    """A context's bytes by field name."""

    def __init__(self, layout: CtxLayout, raw: bytes, byteorder: ByteOrder) -> None:
        self.layout, self.raw, self.byteorder = layout, bytearray(raw), byteorder

    def get(self, name: str) -> int:
        field = self.layout[name]
        return int.from_bytes(self.raw[field.offset : field.end], self.byteorder)

    def set(self, name: str, value: int) -> None:
        field = self.layout[name]
        self.raw[field.offset : field.end] = value.to_bytes(field.end - field.offset, self.byteorder)

    def bytes_of(self, name: str) -> bytes:
        field = self.layout[name]
        return bytes(self.raw[field.offset : field.end])

    def only(self, allowed: str) -> None:
        """EINVAL if anything outside these fields is not zero."""
        rest = bytearray(self.raw)
        for name in allowed.split():
            field = self.layout[name]
            rest[field.offset : field.end] = bytes(field.end - field.offset)
        if any(rest):
            raise KernelError(EINVAL, "context field cannot be set")


# -- packets -------------------------------------------------------------------------------------------

_L2 = (uapi.BPF_PROG_TYPE_SCHED_CLS, uapi.BPF_PROG_TYPE_SCHED_ACT)
_DIRECT = (*_L2, uapi.BPF_PROG_TYPE_LWT_IN, uapi.BPF_PROG_TYPE_LWT_OUT, uapi.BPF_PROG_TYPE_LWT_XMIT)
_SKB_CTX_FIELDS = "mark priority ingress_ifindex ifindex cb tstamp wire_len gso_segs gso_size hwtstamp"


def _run_skb(runner: _Runner) -> Running:
    """bpf_prog_test_run_skb()."""
    runner.reject_options(uapi.BPF_F_TEST_SKB_CHECKSUM_COMPLETE)
    request = runner.request
    if request.data_size_in < ETH_HLEN:
        raise KernelError(EINVAL, "packet is shorter than an Ethernet header")
    packet = runner.packet_in(request.data_size_in, NET_SKB_PAD, shinfo_room(runner.kernel))
    raw = runner.context_in(SK_BUFF)
    ctx = _Fields(SK_BUFF, raw, runner.mem.byteorder) if raw is not None else None
    with ExitStack() as cleanup:
        sk = Sock.dummy(runner.host)
        cleanup.callback(sk.free)
        skb = SkBuff.build(runner.host, packet)
        cleanup.callback(skb.release)
        skb.set("sk", sk.addr)
        ifindex = ctx.get("ifindex") if ctx else 0
        _eth_type_trans(runner.host, skb, runner.device(ifindex if ifindex > 1 else LOOPBACK_IFINDEX))
        skb.reset_network_header()
        _socket_addresses(skb, sk)
        try:
            return (yield from _run_built_skb(runner, skb, ctx))
        finally:
            location = runner.host.symbols.address("bpf_prog_test_run_skb") or 0
            runner.host.tracepoint("kfree_skb", skb.addr, location, SKB_DROP_REASON_NOT_SPECIFIED, 0)


def _eth_type_trans(host: BpfHost, skb: SkBuff, device: NetDevice) -> None:
    """With the programs that are attached to it."""

    def body() -> int:
        skb.eth_type_trans(device)
        return skb.get("protocol")

    host.around("eth_type_trans", (skb.addr, device.addr), body)


def _socket_addresses(skb: SkBuff, sk: Sock) -> None:
    """The socket takes its addresses from the packet."""
    if skb.protocol() == ETH_P_IP:
        check_header(skb, 20)
        header = bytes(skb.mem.read(skb.data, 20))
        sk.common_set("skc_family", AF_INET)
        skb.mem.write(sk.common_at("skc_rcv_saddr"), header[12:16])
        skb.mem.write(sk.common_at("skc_daddr"), header[16:20])
    elif skb.protocol() == ETH_P_IPV6:
        check_header(skb, 40)
        header = bytes(skb.mem.read(skb.data, 40))
        sk.common_set("skc_family", AF_INET6)
        skb.mem.write(sk.common_at("skc_v6_rcv_saddr"), header[8:24])
        skb.mem.write(sk.common_at("skc_v6_daddr"), header[24:40])


def _run_built_skb(runner: _Runner, skb: SkBuff, ctx: _Fields | None) -> Running:
    prog_type = runner.prog.type
    is_l2 = prog_type in _L2
    if is_l2:
        skb.push(ETH_HLEN)
    if prog_type in _DIRECT:
        skb.compute_data_pointers()
    if ctx:
        _skb_from_context(skb, ctx)
    complete = runner.request.flags & uapi.BPF_F_TEST_SKB_CHECKSUM_COMPLETE
    if complete:
        skb.set("csum", _payload_csum(skb))
        skb.set_ip_summed(CHECKSUM_COMPLETE)
    yield from runner.run(skb.addr)
    if not is_l2:
        if skb.headroom < ETH_HLEN:
            skb.expand_head(-(-(ETH_HLEN - skb.headroom) // 16) * 16, 0)
        skb.push(ETH_HLEN)
        skb.mem.write(skb.data, bytes(ETH_HLEN))
    if complete and csum_fold(skb.get("csum")) != csum_fold(_payload_csum(skb)):
        raise KernelError(EBADMSG, "the program left a wrong checksum")
    if ctx:
        _skb_to_context(skb, ctx)
    return runner.finish(skb.packet(), bytes(ctx.raw) if ctx else None)


def _payload_csum(skb: SkBuff) -> int:
    offset = skb.network_header() - skb.data
    return csum_partial(skb.packet()[offset:], 0)


def _skb_from_context(skb: SkBuff, ctx: _Fields) -> None:
    """convert___skb_to_skb()."""
    ctx.only(_SKB_CTX_FIELDS)
    skb.set("mark", ctx.get("mark"))
    skb.set("priority", ctx.get("priority"))
    skb.set("skb_iif", ctx.get("ingress_ifindex"))
    skb.set("tstamp", ctx.get("tstamp"))
    skb.mem.write(skb.cb_at("qdisc_skb_cb.data"), ctx.bytes_of("cb"))
    wire_len = ctx.get("wire_len") or skb.len
    if not skb.len <= wire_len <= GSO_LEGACY_MAX_SIZE and ctx.get("wire_len"):
        raise KernelError(EINVAL, "wire_len is out of range")
    skb.mem.write_uint(skb.cb_at("qdisc_skb_cb.pkt_len"), 4, wire_len)
    if ctx.get("gso_segs") > GSO_MAX_SEGS:
        raise KernelError(EINVAL, "gso_segs is out of range")
    for name, member in (("gso_segs", "gso_segs"), ("gso_size", "gso_size"), ("hwtstamp", "hwtstamps")):
        skb.set_shared(member, ctx.get(name))


def _skb_to_context(skb: SkBuff, ctx: _Fields) -> None:
    """convert_skb_to___skb()."""
    mem = skb.mem
    ctx.set("mark", skb.get("mark"))
    ctx.set("priority", skb.get("priority"))
    ctx.set("ingress_ifindex", skb.get("skb_iif"))
    ctx.set("ifindex", NetDevice(skb.host, skb.get("dev")).get("ifindex"))
    ctx.set("tstamp", skb.get("tstamp"))
    cb = ctx.layout["cb"]
    ctx.raw[cb.offset : cb.end] = bytes(mem.read(skb.cb_at("qdisc_skb_cb.data"), cb.end - cb.offset))
    ctx.set("wire_len", mem.read_uint(skb.cb_at("qdisc_skb_cb.pkt_len"), 4))
    for name, member in (("gso_segs", "gso_segs"), ("hwtstamp", "hwtstamps")):
        ctx.set(name, skb.shared(member))


# -- XDP -----------------------------------------------------------------------------------------------


def _xdp_context(runner: _Runner) -> tuple[_Fields | None, int, int]:
    """The context, the bytes of metadata, and how many bytes come from user space."""
    request = runner.request
    raw = runner.context_in(XDP_MD)
    if raw is None:
        return None, 0, request.data_size_in
    ctx = _Fields(XDP_MD, raw, runner.mem.byteorder)
    meta, end = ctx.get("data"), ctx.get("data_end")
    if ctx.get("data_meta") or end > request.data_size_in or meta > end:
        raise KernelError(EINVAL, "xdp_md does not describe the packet")
    if _is_live(request) and (request.has_data_out or request.has_ctx_out):
        raise KernelError(EINVAL, "nothing comes back of live frames with a context")
    if meta & 3 or meta > 32 or meta > uapi.XDP_PACKET_HEADROOM - XDP_FRAME_SIZE:
        raise KernelError(EINVAL, "metadata has a bad size")
    return ctx, meta, end


def _run_xdp(runner: _Runner) -> Running:
    """bpf_prog_test_run_xdp()."""
    request = runner.request
    if runner.prog.expected_attach_type in (uapi.BPF_XDP_DEVMAP, uapi.BPF_XDP_CPUMAP):
        raise KernelError(EINVAL, "cannot be tested by itself")
    if request.flags & ~uapi.BPF_F_TEST_XDP_LIVE_FRAMES:
        raise KernelError(EINVAL, "unknown flag")
    live = _is_live(request)
    if request.batch_size > (TEST_XDP_MAX_BATCH if live else 0):
        raise KernelError(E2BIG if live else EINVAL, "too many frames at once")
    ctx, meta, linear = _xdp_context(runner)
    headroom, tailroom = uapi.XDP_PACKET_HEADROOM - meta, shinfo_room(runner.kernel)
    if live:
        headroom += _page_head(runner)
        if request.data_size_in > PAGE_SIZE - headroom - tailroom:
            raise KernelError(EINVAL, "live frames are of one page")
    if request.data_size_in - meta < ETH_HLEN:
        raise KernelError(EINVAL, "packet is shorter than an Ethernet header")
    packet = runner.packet_in(min(linear, PAGE_SIZE - headroom - tailroom), headroom, tailroom)
    with runner.memory(bytes(headroom) + packet, PAGE_SIZE) as start:
        return (yield from _run_xdp_buff(runner, ctx, start, headroom, meta, len(packet)))


def _is_live(request: TestRequest) -> bool:
    return bool(request.flags & uapi.BPF_F_TEST_XDP_LIVE_FRAMES)


def _page_head(runner: _Runner) -> int:
    """sizeof(struct xdp_page_head), which stands before a live frame."""
    return 2 * runner.kernel.sizeof("xdp_buff") + XDP_FRAME_SIZE


def _add_fragments(runner: _Runner, xdp: XdpBuff, rest: bytes) -> None:
    """What did not fit into the first page, a page each."""
    pages = [rest[i : i + PAGE_SIZE] for i in range(0, len(rest), PAGE_SIZE)]
    if len(pages) > MAX_SKB_FRAGS:
        raise KernelError(ENOMEM, "packet needs too many pages")
    for index, page in enumerate(pages):
        xdp.set_frag(index, runner.cleanup.enter_context(runner.memory(page, PAGE_SIZE)), len(page))
    xdp.set_frags(len(pages), len(rest))


def _run_xdp_buff(runner: _Runner, ctx: _Fields | None, start: int, headroom: int, meta: int, length: int) -> Running:
    mem = runner.mem
    if ctx and ctx.get("egress_ifindex"):
        raise KernelError(EINVAL, "egress_ifindex cannot be set")
    ifindex, queue = (ctx.get("ingress_ifindex"), ctx.get("rx_queue_index")) if ctx else (0, 0)
    if queue:
        raise KernelError(EINVAL, "no such queue")
    device = runner.device(ifindex or LOOPBACK_IFINDEX)
    with (
        runner.memory(b"", runner.kernel.sizeof("xdp_rxq_info")) as rxq,
        runner.memory(b"", runner.kernel.sizeof("xdp_buff")) as address,
    ):
        xdp = XdpBuff(runner.host, address)
        xdp.write(rxq, "xdp_rxq_info.dev", device.addr)
        before = _page_head(runner) if _is_live(runner.request) else 0
        xdp.set("data_hard_start", start + before)
        xdp.set("data", start + headroom + meta)
        xdp.set("data_meta", start + headroom)
        xdp.set("data_end", start + headroom + length)
        xdp.set("rxq", rxq)
        xdp.set("frame_sz", PAGE_SIZE - before)
        if rest := (runner.request.data_in or b"")[length:]:
            _add_fragments(runner, xdp, rest)
        yield from run_live(runner.prog, runner.request, xdp, device) if before else runner.run(address)
        if ctx:
            ctx.set("data", xdp.get("data") - xdp.get("data_meta"))
            ctx.set("data_end", xdp.get("data_end") - xdp.get("data_meta"))
        data = bytes(mem.read(xdp.get("data_meta"), xdp.get("data_end") - xdp.get("data_meta")))
        data += b"".join(bytes(mem.read(at, size)) for at, size in xdp.parts()[1:])
    return runner.finish(data, bytes(ctx.raw) if ctx else None)


# -- flow dissector ------------------------------------------------------------------------------------


def _run_flow_dissector(runner: _Runner) -> Running:
    """bpf_prog_test_run_flow_dissector()."""
    runner.reject_options()
    size = runner.request.data_size_in
    if size < ETH_HLEN:
        raise KernelError(EINVAL, "packet is shorter than an Ethernet header")
    packet = runner.packet_in(size, 0, 0)
    raw = runner.context_in(BPF_FLOW_KEYS)
    ctx = _Fields(BPF_FLOW_KEYS, raw, runner.mem.byteorder) if raw is not None else None
    if ctx:
        ctx.only("flags")
    flags = ctx.get("flags") if ctx else 0
    mem = runner.mem
    with (
        runner.memory(packet) as data,
        runner.memory(b"", BPF_FLOW_KEYS.size) as keys_at,
        runner.memory(b"", runner.kernel.sizeof("bpf_flow_dissector")) as address,
    ):
        for member, value in (("flow_keys", keys_at), ("data", data), ("data_end", data + size)):
            KernelStruct(runner.host, address).write(address, f"bpf_flow_dissector.{member}", value)
        keys = _Fields(BPF_FLOW_KEYS, bytes(BPF_FLOW_KEYS.size), mem.byteorder)
        n_proto = BPF_FLOW_KEYS["n_proto"]
        keys.raw[n_proto.offset : n_proto.end] = packet[12:14]
        keys.set("nhoff", ETH_HLEN)
        keys.set("thoff", ETH_HLEN)
        keys.set("flags", flags)
        fresh = bytes(keys.raw)
        yield from runner.run(address, lambda: mem.write(keys_at, fresh))
        keys.raw = bytearray(mem.read(keys_at, BPF_FLOW_KEYS.size))
    limit = min(size, 0xFFFF)
    nhoff = min(max(keys.get("nhoff"), ETH_HLEN), limit)
    keys.set("nhoff", nhoff)
    keys.set("thoff", min(max(keys.get("thoff"), nhoff), limit))
    return runner.finish(bytes(keys.raw), bytes(ctx.raw) if ctx else None)


# -- socket lookup -------------------------------------------------------------------------------------


def _run_sk_lookup(runner: _Runner) -> Running:
    """bpf_prog_test_run_sk_lookup()."""
    runner.reject_options()
    request = runner.request
    if request.data_in is not None or request.has_data_out or request.data_size_out:
        raise KernelError(EINVAL, "socket lookup has no packet")
    raw = runner.context_in(BPF_SK_LOOKUP)
    if raw is None:
        raise KernelError(EINVAL, "socket lookup needs a context")
    ctx = _Fields(BPF_SK_LOOKUP, raw, runner.mem.byteorder)
    if ctx.get("sk") or any(raw[BPF_SK_LOOKUP["local_port"].end :]):
        raise KernelError(EINVAL, "context field cannot be set")
    if ctx.get("local_port") > 0xFFFF:
        raise KernelError(ERANGE, "local_port is no port")
    family = ctx.get("family") & 0xFFFF
    if family not in (AF_INET, AF_INET6):
        raise KernelError(EAFNOSUPPORT, "no such address family")
    mem = runner.mem
    addresses = ctx.bytes_of("local_ip6") + ctx.bytes_of("remote_ip6")
    with runner.memory(addresses) as ip6, runner.memory(b"", runner.kernel.sizeof("bpf_sk_lookup_kern")) as address:

        def put(member: str, data: bytes) -> None:
            mem.write(address + runner.kernel.offset(f"bpf_sk_lookup_kern.{member}"), data)

        order = mem.byteorder
        put("family", family.to_bytes(2, order))
        put("protocol", (ctx.get("protocol") & 0xFFFF).to_bytes(2, order))
        put("dport", ctx.get("local_port").to_bytes(2, order))
        put("sport", ctx.bytes_of("remote_port"))
        if family == AF_INET:
            put("v4.daddr", ctx.bytes_of("local_ip4"))
            put("v4.saddr", ctx.bytes_of("remote_ip4"))
        else:
            put("v6.daddr", ip6.to_bytes(runner.kernel.word, order))
            put("v6.saddr", (ip6 + 16).to_bytes(runner.kernel.word, order))
        yield from runner.run(address)
        # a program that neither drops nor selects lets the lookup go on: BPF_PROG_SK_LOOKUP_RUN_ARRAY()
        runner.result.retval = uapi.SK_PASS if runner.result.retval == uapi.SK_PASS else 0
        ctx.set("sk", 0)
        kern = Sock(runner.host, address)
        chosen = kern.read(address, "bpf_sk_lookup_kern.selected_sk") if runner.result.retval == uapi.SK_PASS else 0
        sockets = runner.host.sockets
        if chosen and sockets is not None:
            if sockets.in_group(chosen) and not kern.read(address, "bpf_sk_lookup_kern.no_reuseport"):
                raise KernelError(EOPNOTSUPP, "which of the group would need a packet")
            ctx.set("sk", runner.prog.runtime.bpf.cookie_of(chosen))
    return runner.finish(b"", bytes(ctx.raw))


# -- tracing and system calls --------------------------------------------------------------------------


def _run_raw_tp(runner: _Runner) -> Running:
    """bpf_prog_test_run_raw_tp()."""
    request = runner.request
    extras = (request.data_in is not None, request.has_data_out, request.has_ctx_out, request.duration, request.repeat)
    if any(extras) or request.batch_size:
        raise KernelError(EINVAL, "raw tracepoints take only a context")
    if not runner.max_ctx_offset <= request.ctx_size_in <= 12 * 8:
        raise KernelError(EINVAL, "context has a bad size")
    if not request.flags & uapi.BPF_F_TEST_RUN_ON_CPU and request.cpu:
        raise KernelError(EINVAL, "cpu without uapi.BPF_F_TEST_RUN_ON_CPU")
    data = request.ctx_in or b""
    if request.flags & uapi.BPF_F_TEST_RUN_ON_CPU and request.cpu >= runner.host.nr_cpus:
        raise KernelError(ENXIO, "no such CPU")
    number = request.cpu if request.flags & uapi.BPF_F_TEST_RUN_ON_CPU else runner.host.cpu_id()
    with runner.memory(data) as ctx, runner.host.on_cpu(number):
        yield from runner.run(ctx if data else 0)
    runner.result.duration = 0
    return runner.result


def _run_syscall(runner: _Runner) -> Running:
    """bpf_prog_test_run_syscall(): the context goes back to where it came from."""
    request = runner.request
    extras = (request.data_in is not None, request.has_data_out, request.has_ctx_out, request.duration, request.repeat)
    if any(extras) or request.flags or request.batch_size:
        raise KernelError(EINVAL, "system-call programs take only a context")
    if not runner.max_ctx_offset <= request.ctx_size_in <= 0xFFFF:
        raise KernelError(EINVAL, "context has a bad size")
    data = request.ctx_in or b""
    with runner.memory(data) as ctx:
        yield from runner.run(ctx if data else 0)
        runner.result.ctx = bytes(runner.mem.read(ctx, len(data))) if data else None
    runner.result.duration = 0
    return runner.result


def tracing_steps(bpf: Bpf, prog: BpfProg, request: TestRequest) -> Running:
    """bpf_prog_test_run_tracing(): call the functions that exist to be traced, with whatever is attached to them."""
    runner = _Runner(bpf.host, prog, request)
    runner.reject_options()
    attach = prog.expected_attach_type
    if attach in (uapi.BPF_TRACE_FENTRY, uapi.BPF_TRACE_FEXIT):
        with runner.memory(bytes(8)) as empty:
            for name, args, expected in FENTRY_CALLS:
                if (yield KernelCall(name, (empty,) if name == "bpf_fentry_test8" else args)) != expected:
                    raise KernelError(EFAULT, f"{name} answered something else")
    elif attach == uapi.BPF_MODIFY_RETURN:
        with runner.memory((2).to_bytes(4, runner.mem.byteorder)) as b:
            ret = yield KernelCall("bpf_modify_return_test", (1, b))
            side_effect = runner.mem.read_uint(b, 4) != 2
        runner.result.retval = side_effect << 16 | ret & 0xFFFF
    else:
        raise KernelError(EFAULT, "iterators and raw tracepoints have no test functions")
    return runner.result


def run_once(bpf: Bpf, prog: BpfProg, request: TestRequest) -> TestResult:
    """A test run where no kernel is around: the functions that exist to be traced answer as if nothing were attached."""
    if prog.type == uapi.BPF_PROG_TYPE_TRACING:
        return drive(tracing_steps(bpf, prog, request), bpf.host.mem)
    return test_run(bpf, prog, request)


_RUNNERS: dict[str, Callable[[_Runner], Running]] = {
    "skb": _run_skb,
    "xdp": _run_xdp,
    "flow_dissector": _run_flow_dissector,
    "sk_lookup": _run_sk_lookup,
    "raw_tp": _run_raw_tp,
    "syscall": _run_syscall,
}
TEST_RUNS = frozenset((*_RUNNERS, "tracing"))  # what a row of program types may name; tracing: tracing_steps()
_RUNS = {row.number: _RUNNERS[row.test_run] for row in program_types() if row.test_run in _RUNNERS}
