"""Perf events.  kernel/trace/bpf_trace.c: bpf_perf_event_output(), bpf_perf_event_read()."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import E2BIG, EFAULT, EINVAL, ENOENT, ENOSPC, EOPNOTSUPP
from arch.abi.perf_event import PERF_COUNT_SW_BPF_OUTPUT, PERF_TYPE_SOFTWARE
from arch.errors import KernelError
from bpf import uapi
from bpf.helpers import Runtime, prototype
from bpf.helpers.stack import saved_regs
from bpf.helpers.xdp import xdp_pieces
from bpf.maps.array import PerfEventArrayMap
from bpf.packet.skbuff import SkBuff, XdpBuff
from bpf.perf_face import PerfEvent

CTXLEN_SHIFT = 32


def _event(rt: Runtime, map_ptr: int, flags: int) -> PerfEvent:
    """The event at the index in the low half of flags; all ones there mean this CPU's."""
    found = rt.map_of(map_ptr, PerfEventArrayMap)
    index = flags & uapi.BPF_F_INDEX_MASK
    if index == uapi.BPF_F_CURRENT_CPU:
        index = rt.host.cpu_id()
    if index >= found.max_entries:
        raise KernelError(E2BIG)
    event = found.get_element(index)
    if event is None:
        raise KernelError(ENOENT)
    return event


@prototype(
    "perf_event_output",
    25,
    "4.4",
    args="PTR_TO_CTX CONST_MAP_PTR ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE_OR_ZERO",
    flags="gpl_only",
    given="kprobe_prog",
    maps="PERF_EVENT_ARRAY",
)
@prototype(
    "perf_event_output",
    args="PTR_TO_CTX CONST_MAP_PTR ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE_OR_ZERO",
    flags="gpl_only",
    func="bpf_perf_event_output_tp",
    proto="bpf_perf_event_output_proto_tp",
    given="tp_prog pe_prog",
)
@prototype(
    "perf_event_output",
    args="PTR_TO_CTX CONST_MAP_PTR ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE_OR_ZERO",
    flags="gpl_only",
    func="bpf_perf_event_output_raw_tp",
    proto="bpf_perf_event_output_proto_raw_tp",
    given="raw_tp_prog",
)
@prototype(
    "perf_event_output",
    args="PTR_TO_CTX CONST_MAP_PTR ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE_OR_ZERO",
    flags="gpl_only",
    func="bpf_event_output_data",
    proto="bpf_event_output_data_proto",
    given="cgroup_dev sysctl cg_sockopt sock_filter sock_addr sock_ops sk_msg sk_lookup",
)
def perf_event_output(rt: Runtime, ctx: int, map_ptr: int, flags: int, data: int, size: int) -> int:
    """A raw sample."""
    if flags & ~uapi.BPF_F_INDEX_MASK:
        return -EINVAL
    return _output(rt, saved_regs(rt, ctx), map_ptr, flags, bytes(rt.mem.read(data, size)))


def _output(rt: Runtime, regs: int, map_ptr: int, flags: int, sample: bytes) -> int:
    event = _event(rt, map_ptr, flags)
    if event.attr.type != PERF_TYPE_SOFTWARE or event.attr.config != PERF_COUNT_SW_BPF_OUTPUT:
        return -EINVAL
    if event.cpu != rt.host.cpu_id():
        return -EOPNOTSUPP
    written = rt.host.perf_event_output(event, regs, sample)
    # 5.1, a7177b94aff4: what has no room is told to the program
    return 0 if written or rt.bpf.version.before("5.1") else -ENOSPC


@prototype(
    "skb_output",
    111,
    "5.5",
    args="PTR_TO_BTF_ID:sk_buff CONST_MAP_PTR ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE_OR_ZERO",
    flags="gpl_only",
    func="bpf_skb_event_output",
    given="tracing_prog",
    maps="PERF_EVENT_ARRAY",
)
@prototype(
    "perf_event_output",
    args="PTR_TO_CTX CONST_MAP_PTR ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE_OR_ZERO",
    flags="gpl_only",
    func="bpf_skb_event_output",
    proto="bpf_skb_event_output_proto",
    given="sk_filter cg_skb tc_cls_act sk_skb lwt_out",
)
def skb_event_output(rt: Runtime, skb_at: int, map_ptr: int, flags: int, data: int, size: int) -> int:
    """A sample, and behind it as much of the packet as bits 32 to 51 of flags say.  EFAULT for more than there is."""

    def packet(length: int) -> bytes | None:
        skb = SkBuff(rt.host, skb_at)
        return bytes(rt.mem.read(skb.data, length)) if length <= skb.len else None

    return _event_output(rt, map_ptr, flags, bytes(rt.mem.read(data, size)), packet)


def _event_output(rt: Runtime, map_ptr: int, flags: int, data: bytes, packet: Callable[[int], bytes | None]) -> int:
    if flags & ~(uapi.BPF_F_CTXLEN_MASK | uapi.BPF_F_INDEX_MASK):
        return -EINVAL
    length = (flags & uapi.BPF_F_CTXLEN_MASK) >> CTXLEN_SHIFT
    behind = packet(length) if length else b""
    return -EFAULT if behind is None else _output(rt, 0, map_ptr, flags, data + behind)


@prototype(
    "xdp_output",
    121,
    "5.7",
    args="PTR_TO_BTF_ID:xdp_buff CONST_MAP_PTR ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE_OR_ZERO",
    flags="gpl_only",
    func="bpf_xdp_event_output",
    given="tracing_prog",
    maps="PERF_EVENT_ARRAY",
)
@prototype(
    "perf_event_output",
    args="PTR_TO_CTX CONST_MAP_PTR ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE_OR_ZERO",
    flags="gpl_only",
    func="bpf_xdp_event_output",
    proto="bpf_xdp_event_output_proto",
    given="xdp",
)
def xdp_event_output(rt: Runtime, xdp_at: int, map_ptr: int, flags: int, data: int, size: int) -> int:
    """The same of a frame, in all its pieces."""

    def packet(length: int) -> bytes | None:
        pieces = xdp_pieces(XdpBuff(rt.host, xdp_at), 0, length)
        return None if isinstance(pieces, int) else b"".join(bytes(rt.mem.read(at, count)) for at, count in pieces)

    return _event_output(rt, map_ptr, flags, bytes(rt.mem.read(data, size)), packet)


@prototype(
    "perf_event_read",
    22,
    "4.3",
    args="CONST_MAP_PTR ANYTHING",
    flags="gpl_only",
    given="bpf_tracing",
    maps="PERF_EVENT_ARRAY",
)
def perf_event_read(rt: Runtime, map_ptr: int, flags: int) -> int:
    """The counter; errors and counters cannot be told apart, which is why there is the next one."""
    if flags & ~uapi.BPF_F_INDEX_MASK:
        return -EINVAL
    return int(rt.host.perf_event_read(_event(rt, map_ptr, flags))[0])


@prototype(
    "perf_event_read_value",
    55,
    "4.15",
    args="CONST_MAP_PTR ANYTHING PTR_TO_UNINIT_MEM CONST_SIZE",
    flags="gpl_only",
    given="bpf_tracing",
    maps="PERF_EVENT_ARRAY",
)
def perf_event_read_value(rt: Runtime, map_ptr: int, flags: int, buf: int, size: int) -> int:
    """struct bpf_perf_event_value: counter, enabled, running."""
    size &= 0xFFFFFFFF
    try:
        if size != 24 or flags & ~uapi.BPF_F_INDEX_MASK:
            raise KernelError(EINVAL)
        values = rt.host.perf_event_read(_event(rt, map_ptr, flags))
    except KernelError:
        rt.mem.write(buf, bytes(size))
        raise
    return _tell(rt, buf, values)


def _tell(rt: Runtime, buf: int, values: tuple[int, int, int]) -> int:
    for i, value in enumerate(values):
        rt.mem.write_uint(buf + 8 * i, 8, value)
    return 0


@prototype(
    "perf_prog_read_value",
    56,
    "4.15",
    args="PTR_TO_CTX PTR_TO_UNINIT_MEM CONST_SIZE",
    flags="gpl_only",
    given="pe_prog",
)
def perf_prog_read_value(rt: Runtime, ctx: int, buf: int, size: int) -> int:
    """The same of the event whose program this is."""
    size &= 0xFFFFFFFF
    event = rt.bpf.perf_events.get(ctx)
    if size != 24 or event is None:
        rt.mem.write(buf, bytes(size))
        return -EINVAL
    return _tell(rt, buf, rt.host.perf_event_read(event))


@prototype(
    "read_branch_records",
    119,
    "5.7",
    args="PTR_TO_CTX PTR_TO_MEM_OR_NULL CONST_SIZE_OR_ZERO ANYTHING",
    flags="gpl_only",
    given="pe_prog",
    missing="branch records",
)
@prototype(
    "get_branch_snapshot",
    176,
    "5.16",
    args="PTR_TO_UNINIT_MEM CONST_SIZE_OR_ZERO",
    flags="gpl_only",
    given="bpf_tracing",
    missing="branch records",
)
def no_branch_records(rt: Runtime) -> int:
    """The simulated CPUs keep none: as a CPU without them."""
    return -ENOENT
