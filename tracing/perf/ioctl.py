"""ioctl(2) on a perf event.  kernel/events/core.c:_perf_ioctl()."""

from __future__ import annotations

from typing import Protocol

from arch.abi.errno import EEXIST, EINVAL, ENOTTY
from arch.abi.limits import PAGE_SIZE
from arch.abi.perf_event import (
    PERF_EVENT_IOC_DISABLE,
    PERF_EVENT_IOC_ENABLE,
    PERF_EVENT_IOC_ID,
    PERF_EVENT_IOC_MODIFY_ATTRIBUTES,
    PERF_EVENT_IOC_PAUSE_OUTPUT,
    PERF_EVENT_IOC_PERIOD,
    PERF_EVENT_IOC_QUERY_BPF,
    PERF_EVENT_IOC_REFRESH,
    PERF_EVENT_IOC_RESET,
    PERF_EVENT_IOC_SET_BPF,
    PERF_EVENT_IOC_SET_FILTER,
    PERF_EVENT_IOC_SET_OUTPUT,
    PERF_IOC_FLAG_GROUP,
)
from arch.errors import KernelError
from tracing.perf.attr import SAMPLE_RATE
from tracing.perf.event import PerfEvent
from tracing.perf.programs import SetBpfHook, query_bpf, set_bpf
from tracing.perf.user import UserMemory
from tracing.record.filter import FilterError, create_filter

# the same with 32-bit pointers in _IOW's size
IOC_32 = {
    0x40042406: PERF_EVENT_IOC_SET_FILTER,
    0x80042407: PERF_EVENT_IOC_ID,
    0xC004240A: PERF_EVENT_IOC_QUERY_BPF,
    0x4004240B: PERF_EVENT_IOC_MODIFY_ATTRIBUTES,
}


class Machine(Protocol):
    """What the requests need of the machine's PerfCore."""

    user: UserMemory
    set_bpf_hook: SetBpfHook | None

    def modify(self, event: PerfEvent, address: int) -> int:
        """PERF_EVENT_IOC_MODIFY_ATTRIBUTES."""

    def set_output(self, event: PerfEvent, fd: int) -> int:
        """PERF_EVENT_IOC_SET_OUTPUT."""


def ioctl(core: Machine, event: PerfEvent, request: int, arg: int) -> int:
    """perf_ioctl().  ENOTTY for what the version does not know."""
    features = event.board.features
    request = IOC_32.get(request, request)
    simple = {
        PERF_EVENT_IOC_ENABLE: PerfEvent.enable,
        PERF_EVENT_IOC_DISABLE: PerfEvent.disable,
        PERF_EVENT_IOC_RESET: PerfEvent.reset,
    }
    if request in simple:
        members = [event.leader, *event.leader.siblings] if arg & PERF_IOC_FLAG_GROUP else [event]
        for member in members:
            simple[request](member)
        return 0
    if request == PERF_EVENT_IOC_REFRESH:
        return refresh(event, arg)
    if request == PERF_EVENT_IOC_PERIOD:
        return set_period(event, core.user.read_u64(arg))
    if request == PERF_EVENT_IOC_ID:
        core.user.write(arg, event.id.to_bytes(8, event.board.byteorder))
        return 0
    if request == PERF_EVENT_IOC_SET_OUTPUT:
        return core.set_output(event, -1 if arg == (1 << 8 * event.board.word) - 1 else arg)
    if request == PERF_EVENT_IOC_SET_FILTER:
        return set_filter(event, core.user.string(arg, PAGE_SIZE))
    if request == PERF_EVENT_IOC_SET_BPF:
        return set_bpf(core.set_bpf_hook, event, arg if arg < 1 << 31 else arg - (1 << 32))
    if request == PERF_EVENT_IOC_PAUSE_OUTPUT and features.set_bpf_on_tracepoints:
        if event.buffer is None or not event.buffer.nr_pages:
            raise KernelError(EINVAL, "no buffer")
        event.buffer.paused = bool(arg)
        return 0
    if request == PERF_EVENT_IOC_QUERY_BPF and features.several_programs:
        return query_bpf(event, core.user, arg)
    if request == PERF_EVENT_IOC_MODIFY_ATTRIBUTES and features.probe_pmu:
        return core.modify(event, arg)
    raise KernelError(ENOTTY, f"ioctl {request:#x}")


def refresh(event: PerfEvent, count: int) -> int:
    """PERF_EVENT_IOC_REFRESH: run until `count` more overflows.  EINVAL."""
    if event.attr.flag("inherit") or not event.sampling:
        raise KernelError(EINVAL, "not a sampling event of its own")
    event.event_limit += count
    event.enable()
    return 0


def set_period(event: PerfEvent, value: int) -> int:
    """PERF_EVENT_IOC_PERIOD.  EINVAL."""
    if not event.sampling or not value:
        raise KernelError(EINVAL, "not a sampling event, or no period")
    if (event.attr.freq and value > SAMPLE_RATE) or value >> 63:
        raise KernelError(EINVAL, "period too big")
    event.attr.sample_period = value
    if not event.attr.freq:
        event.period, event.period_left = value, 0
    return 0


def set_filter(event: PerfEvent, text: str) -> int:
    """PERF_EVENT_IOC_SET_FILTER on a trace event: the language of the filter files."""
    if event.trace_event is None:
        raise KernelError(EINVAL, "no filter on this type of event")
    if event.filter is not None:
        raise KernelError(EEXIST, "the event has a filter already")
    try:
        event.filter = create_filter(event.trace_event, text)
    except FilterError as error:
        raise KernelError(error.errno, error.why) from None
    return 0
