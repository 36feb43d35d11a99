"""Stack traces.  kernel/bpf/stackmap.c: bpf_get_stackid(), bpf_get_stack(), bpf_get_task_stack()."""

from __future__ import annotations

from functools import partial

from arch.abi.errno import EFAULT, EINVAL, EOPNOTSUPP
from arch.abi.perf_event import PERF_MAX_STACK_DEPTH
from arch.errors import KernelError
from bpf import uapi
from bpf.helpers import Runtime, kernel_name, prototype
from bpf.maps.stackmap import BUILD_ID_ENTRY, StackTraceMap, build_ids

_STACKID_FLAGS = (
    uapi.BPF_F_SKIP_FIELD_MASK | uapi.BPF_F_USER_STACK | uapi.BPF_F_FAST_STACK_CMP | uapi.BPF_F_REUSE_STACKID
)
_STACK_FLAGS = uapi.BPF_F_SKIP_FIELD_MASK | uapi.BPF_F_USER_STACK | uapi.BPF_F_USER_BUILD_ID


def saved_regs(rt: Runtime, ctx: int) -> int:
    """Tracepoint programs find the struct pt_regs in their context, and so do programs of perf events.

    Raw tracepoints have the host take the registers.
    """
    if rt.prog.type == uapi.BPF_PROG_TYPE_TRACEPOINT:
        return int(rt.mem.read_uint(ctx, 8))
    if rt.prog.type == uapi.BPF_PROG_TYPE_PERF_EVENT:
        place = rt.host.structs.place("bpf_perf_event_data_kern.regs")
        return rt.mem.read_uint(ctx + place.offset, place.size)
    if rt.prog.type == uapi.BPF_PROG_TYPE_KPROBE:
        return ctx
    return 0


@prototype(
    "get_stackid",
    27,
    "4.6",
    args="PTR_TO_CTX CONST_MAP_PTR ANYTHING",
    flags="gpl_only",
    given="kprobe_prog",
    maps="STACK_TRACE",
)
@prototype(
    "get_stackid",
    args="PTR_TO_CTX CONST_MAP_PTR ANYTHING",
    flags="gpl_only",
    func="bpf_get_stackid_tp",
    proto="bpf_get_stackid_proto_tp",
    given="tp_prog",
)
@prototype(
    "get_stackid",
    args="PTR_TO_CTX CONST_MAP_PTR ANYTHING",
    func="bpf_get_stackid_pe",
    proto="bpf_get_stackid_proto_pe",
    given="pe_prog",
)
@prototype(
    "get_stackid",
    args="PTR_TO_CTX CONST_MAP_PTR ANYTHING",
    flags="gpl_only",
    func="bpf_get_stackid_raw_tp",
    proto="bpf_get_stackid_proto_raw_tp",
    given="raw_tp_prog",
)
def get_stackid(rt: Runtime, ctx: int, map_ptr: int, flags: int) -> int:
    if flags & ~_STACKID_FLAGS:
        return -EINVAL
    found = rt.map_of(map_ptr, StackTraceMap)
    user = bool(flags & uapi.BPF_F_USER_STACK)
    depth = min(found.value_size // found.entry_size + (flags & uapi.BPF_F_SKIP_FIELD_MASK), PERF_MAX_STACK_DEPTH)
    trace = rt.host.callchain(saved_regs(rt, ctx), user=user, max_depth=depth)
    if trace is None:
        return -EFAULT
    number = found.store(trace, flags)
    if found.memo is not None and not user and rt.prog.type == uapi.BPF_PROG_TYPE_KPROBE:
        found.memo.remember(ctx, flags, number, partial(_name_of, rt))
    return number


def _name_of(rt: Runtime, address: int) -> str:
    found = rt.host.symbols.lookup(address)
    return "" if found is None else found[0]


def _get_stack(rt: Runtime, buf: int, size: int, flags: int, regs: int, task: int = 0) -> int:
    """__bpf_get_stack(): bytes written; on an error the buffer is cleared."""
    try:
        data = _stack_bytes(rt, size, flags, regs, task)
    except KernelError:
        rt.mem.write(buf, bytes(size))
        raise
    rt.mem.write(buf, data.ljust(size, b"\0"))
    return len(data)


def _stack_bytes(rt: Runtime, size: int, flags: int, regs: int, task: int) -> bytes:
    user, build_id = bool(flags & uapi.BPF_F_USER_STACK), bool(flags & uapi.BPF_F_USER_BUILD_ID)
    entry = BUILD_ID_ENTRY if user and build_id else 8
    if flags & ~_STACK_FLAGS or (build_id and not user) or size % entry:
        raise KernelError(EINVAL)
    skip = flags & uapi.BPF_F_SKIP_FIELD_MASK
    depth = min(size // entry + skip, PERF_MAX_STACK_DEPTH)
    if task and user and not rt.host.is_user_task(task):
        raise KernelError(EFAULT)
    if task and user and task != rt.host.current_task_address():
        raise KernelError(EOPNOTSUPP)
    if task and not user:
        trace = rt.host.task_callchain(task, depth)
    else:
        trace = rt.host.callchain(regs, user=user, max_depth=depth)
    if trace is None or len(trace) < skip:
        raise KernelError(EFAULT)
    order = rt.mem.byteorder
    ips = trace[skip : skip + size // entry]
    if entry == 8:
        return b"".join(ip.to_bytes(8, order) for ip in ips)
    return build_ids(rt.host, ips)


@prototype(
    "get_stack",
    67,
    "4.18",
    args="PTR_TO_CTX PTR_TO_UNINIT_MEM CONST_SIZE_OR_ZERO ANYTHING",
    flags="gpl_only",
    given="kprobe_prog",
)
@prototype(
    "get_stack",
    args="PTR_TO_CTX PTR_TO_UNINIT_MEM CONST_SIZE_OR_ZERO ANYTHING",
    flags="gpl_only",
    func="bpf_get_stack_tp",
    proto="bpf_get_stack_proto_tp",
    given="tp_prog",
)
@prototype(
    "get_stack",
    args="PTR_TO_CTX PTR_TO_UNINIT_MEM CONST_SIZE_OR_ZERO ANYTHING",
    flags="gpl_only",
    func="bpf_get_stack_pe",
    proto="bpf_get_stack_proto_pe",
    given="pe_prog",
)
@prototype(
    "get_stack",
    args="PTR_TO_CTX PTR_TO_MEM|MEM_RDONLY CONST_SIZE_OR_ZERO ANYTHING",
    flags="gpl_only",
    func="bpf_get_stack_raw_tp",
    proto="bpf_get_stack_proto_raw_tp",
    given="raw_tp_prog",
)
@kernel_name("bpf_get_stack_sleepable")
def get_stack(rt: Runtime, ctx: int, buf: int, size: int, flags: int) -> int:
    return _get_stack(rt, buf, size & 0xFFFFFFFF, flags, saved_regs(rt, ctx))


@prototype(
    "get_task_stack",
    141,
    "5.9",
    args="PTR_TO_BTF_ID:task_struct PTR_TO_UNINIT_MEM CONST_SIZE_OR_ZERO ANYTHING",
    given="bpf_tracing",
)
@kernel_name("bpf_get_task_stack_sleepable")
def get_task_stack(rt: Runtime, task: int, buf: int, size: int, flags: int) -> int:
    regs = rt.host.task_pt_regs(task)
    return _get_stack(rt, buf, size & 0xFFFFFFFF, flags, regs, task)
