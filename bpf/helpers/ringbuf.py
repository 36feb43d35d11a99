"""The ring buffer.  kernel/bpf/ringbuf.c: bpf_ringbuf_*(), bpf_user_ringbuf_drain()."""

from __future__ import annotations

from arch.abi.errno import E2BIG, EAGAIN, EINVAL, ENODATA
from arch.errors import KernelError
from bpf import uapi
from bpf.face import Registers
from bpf.helpers import Runtime, prototype
from bpf.helpers.dynptr import DYNPTR_LOCAL, DYNPTR_RINGBUF, clear_dynptr, make_dynptr
from bpf.maps.ringbuf import DYNPTR_MAX_SIZE, MAX_USER_SAMPLES, RingBufferMap, UserRingBufferMap


@prototype(
    "ringbuf_output",
    130,
    "5.8",
    args="CONST_MAP_PTR PTR_TO_MEM|MEM_RDONLY CONST_SIZE_OR_ZERO ANYTHING",
    given="base_anyone bpf_tracing",
    maps="RINGBUF",
)
def ringbuf_output(rt: Runtime, map_ptr: int, data: int, size: int, flags: int) -> int:
    rt.map_of(map_ptr, RingBufferMap).output(bytes(rt.mem.read(data, size)), flags)
    return 0


@prototype(
    "ringbuf_reserve",
    131,
    "5.8",
    returns="PTR_TO_ALLOC_MEM_OR_NULL",
    args="CONST_MAP_PTR CONST_ALLOC_SIZE_OR_ZERO ANYTHING",
    given="base_anyone bpf_tracing",
    maps="RINGBUF",
)
def ringbuf_reserve(rt: Runtime, map_ptr: int, size: int, flags: int) -> int:
    if flags:
        return 0
    return int(rt.map_of(map_ptr, RingBufferMap).reserve(size))


def _owner(rt: Runtime, sample: int) -> RingBufferMap:
    """The ring buffer a record lies in."""
    for found in rt.bpf.map_at.values():
        if isinstance(found, RingBufferMap) and found.data <= sample < found.data + 2 * found.size:
            return found
    raise KernelError(EINVAL, f"{sample:#x} is in no ring buffer")


@prototype(
    "ringbuf_submit",
    132,
    "5.8",
    returns="VOID",
    args="PTR_TO_ALLOC_MEM|OBJ_RELEASE ANYTHING",
    given="base_anyone bpf_tracing",
)
def ringbuf_submit(rt: Runtime, sample: int, flags: int) -> int:
    _owner(rt, sample).commit(sample, flags, False)
    return 0


@prototype(
    "ringbuf_discard",
    133,
    "5.8",
    returns="VOID",
    args="PTR_TO_ALLOC_MEM|OBJ_RELEASE ANYTHING",
    given="base_anyone bpf_tracing",
)
def ringbuf_discard(rt: Runtime, sample: int, flags: int) -> int:
    _owner(rt, sample).commit(sample, flags, True)
    return 0


@prototype(
    "ringbuf_query",
    134,
    "5.8",
    args="CONST_MAP_PTR ANYTHING",
    given="base_anyone bpf_tracing",
    maps="RINGBUF",
)
def ringbuf_query(rt: Runtime, map_ptr: int, flags: int) -> int:
    return int(rt.map_of(map_ptr, RingBufferMap).query(flags))


@prototype(
    "ringbuf_reserve_dynptr",
    198,
    "5.19",
    args="CONST_MAP_PTR ANYTHING ANYTHING PTR_TO_DYNPTR|DYNPTR_TYPE_RINGBUF|MEM_UNINIT|MEM_WRITE",
    given="base_bpf",
    maps="RINGBUF",
)
def ringbuf_reserve_dynptr(rt: Runtime, map_ptr: int, size: int, flags: int, ptr: int) -> int:
    size &= 0xFFFFFFFF
    sample = 0
    if not flags and size <= DYNPTR_MAX_SIZE:
        sample = rt.map_of(map_ptr, RingBufferMap).reserve(size)
    if not sample:
        clear_dynptr(rt.mem, ptr)
        return -E2BIG if size > DYNPTR_MAX_SIZE and not flags else -EINVAL
    make_dynptr(rt.mem, ptr, sample, size, DYNPTR_RINGBUF)
    return 0


def _finish_dynptr(rt: Runtime, ptr: int, flags: int, discard: bool) -> int:
    sample = int(rt.mem.read_uint(ptr, 8))
    if sample:
        _owner(rt, sample).commit(sample, flags, discard)
        clear_dynptr(rt.mem, ptr)
    return 0


@prototype(
    "ringbuf_submit_dynptr",
    199,
    "5.19",
    returns="VOID",
    args="PTR_TO_DYNPTR|DYNPTR_TYPE_RINGBUF|OBJ_RELEASE ANYTHING",
    given="base_bpf",
    maps="RINGBUF",
)
def ringbuf_submit_dynptr(rt: Runtime, ptr: int, flags: int) -> int:
    return _finish_dynptr(rt, ptr, flags, False)


@prototype(
    "ringbuf_discard_dynptr",
    200,
    "5.19",
    returns="VOID",
    args="PTR_TO_DYNPTR|DYNPTR_TYPE_RINGBUF|OBJ_RELEASE ANYTHING",
    given="base_bpf",
    maps="RINGBUF",
)
def ringbuf_discard_dynptr(rt: Runtime, ptr: int, flags: int) -> int:
    return _finish_dynptr(rt, ptr, flags, True)


@prototype(
    "user_ringbuf_drain",
    209,
    "6.1",
    args="CONST_MAP_PTR PTR_TO_FUNC PTR_TO_STACK_OR_NULL ANYTHING",
    given="base_bpf",
    maps="USER_RINGBUF",
    registers=True,
)
def user_ringbuf_drain(rt: Runtime, r: Registers) -> int:
    """Calls back with (dynptr, context) for every sample; how many there were."""
    map_ptr, function, context, flags = r[1:5]
    if flags & ~(uapi.BPF_RB_NO_WAKEUP | uapi.BPF_RB_FORCE_WAKEUP):
        return -EINVAL
    ring = rt.map_of(map_ptr, UserRingBufferMap)
    ring.begin_drain()
    seen = used = 0
    try:
        with rt.bpf.scratch(16) as ptr:
            while seen < MAX_USER_SAMPLES:
                try:
                    sample, size = ring.peek_sample()
                except KernelError as error:
                    if error.errno == ENODATA:
                        break
                    if error.errno != EAGAIN:
                        return -error.errno
                    seen += 1
                    continue
                seen += 1
                used += 1
                make_dynptr(rt.mem, ptr, sample, size, DYNPTR_LOCAL)
                stop = rt.call_back(r, function, ptr, context)
                ring.release_sample(size)
                if stop:
                    break
    finally:
        ring.end_drain()
        if flags & uapi.BPF_RB_FORCE_WAKEUP or (seen and not flags & uapi.BPF_RB_NO_WAKEUP):
            rt.host.wake(ring)
    return used
