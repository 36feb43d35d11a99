"""Perf events.  kernel/trace/bpf_trace.c: bpf_perf_event_output(), bpf_perf_event_read()."""

from __future__ import annotations

from arch.abi.errno import E2BIG, EINVAL, ENOENT, EOPNOTSUPP
from arch.abi.perf_event import PERF_COUNT_SW_BPF_OUTPUT, PERF_TYPE_SOFTWARE
from arch.errors import KernelError
from bpf import uapi
from bpf.face import PerfEvent
from bpf.helpers import Runtime, helper
from bpf.maps.array import PerfEventArrayMap


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


@helper(
    "bpf_perf_event_output",
    "bpf_perf_event_output_tp",
    "bpf_perf_event_output_raw_tp",
    "bpf_event_output_data",
    "bpf_skb_event_output",
    "bpf_xdp_event_output",
)
def perf_event_output(rt: Runtime, ctx: int, map_ptr: int, flags: int, data: int, size: int) -> int:
    """A raw sample; network contexts may add a piece of the packet (bits 32 to 51 of flags), which is not done here."""
    allowed = uapi.BPF_F_INDEX_MASK
    if rt.prog.type in (uapi.BPF_PROG_TYPE_XDP, uapi.BPF_PROG_TYPE_SCHED_CLS, uapi.BPF_PROG_TYPE_SCHED_ACT):
        allowed |= uapi.BPF_F_CTXLEN_MASK
    if flags & ~allowed:
        return -EINVAL
    event = _event(rt, map_ptr, flags)
    if event.attr.type != PERF_TYPE_SOFTWARE or event.attr.config != PERF_COUNT_SW_BPF_OUTPUT:
        return -EINVAL
    if event.cpu != rt.host.cpu_id():
        return -EOPNOTSUPP
    rt.host.perf_event_output(event, ctx, bytes(rt.mem.read(data, size)))
    return 0


@helper("bpf_perf_event_read")
def perf_event_read(rt: Runtime, map_ptr: int, flags: int) -> int:
    """The counter; errors and counters cannot be told apart, which is why there is the next one."""
    if flags & ~uapi.BPF_F_INDEX_MASK:
        return -EINVAL
    return int(rt.host.perf_event_read(_event(rt, map_ptr, flags))[0])


@helper("bpf_perf_event_read_value")
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
    for i, value in enumerate(values):
        rt.mem.write_uint(buf + 8 * i, 8, value)
    return 0


@helper("bpf_read_branch_records", "bpf_get_branch_snapshot")
def no_branch_records(rt: Runtime) -> int:
    """The simulated CPUs keep none: as a CPU without them."""
    return -ENOENT
