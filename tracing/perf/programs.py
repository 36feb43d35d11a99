"""Programs on perf events.  kernel/events/core.c:perf_event_set_bpf_prog(), kernel/trace/bpf_trace.c.

BPF stays above: a `SetBpfHook` turns a program's descriptor into an `AttachedProgram`.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import E2BIG, EEXIST, EINVAL, ENOSPC, EPERM
from arch.abi.perf_event import PERF_TYPE_TRACEPOINT
from arch.errors import KernelError
from tracing.face import AttachedProgram
from tracing.perf.event import PerfEvent
from tracing.perf.user import UserMemory

BPF_MAX_PROGS = 64

# (event, program descriptor, PerfEvent.program_kind) -> program
SetBpfHook = Callable[[PerfEvent, int, str], AttachedProgram]


def set_bpf(hook: SetBpfHook | None, event: PerfEvent, fd: int) -> int:
    """PERF_EVENT_IOC_SET_BPF; the order of checks changed with the versions."""
    features = event.board.features
    found = event.trace_event
    if hook is None:
        raise KernelError(EINVAL, "no programs on this machine")
    if not features.several_programs:
        return set_bpf_4_1(hook, event, fd)
    program = hook(event, fd, event.program_kind)
    try:
        if event.program is not None:
            raise KernelError(EEXIST, "the event has a program")
        if found is not None and len(found.bpf_programs) >= BPF_MAX_PROGS:
            raise KernelError(E2BIG, "too many programs")
        if found is not None:
            found.add_bpf(program)
    except KernelError:
        program.release()
        raise
    event.program = program
    return 0


def set_bpf_4_1(hook: SetBpfHook, event: PerfEvent, fd: int) -> int:
    """Before 4.14: one program per trace event, shared by all its perf events."""
    features = event.board.features
    found = event.trace_event
    if event.attr.type != PERF_TYPE_TRACEPOINT or found is None:
        if not features.set_bpf_on_perf:
            raise KernelError(EINVAL, "not a trace event")
    elif found.bpf_programs:
        raise KernelError(EEXIST, "the trace event has a program")
    kind = event.program_kind
    allowed = {
        "kprobe": True,
        "uprobe": features.set_bpf_on_uprobes,
        "tracepoint": features.set_bpf_on_tracepoints,
        "syscall": features.set_bpf_on_tracepoints,
        "perf_event": features.set_bpf_on_perf,
    }
    if not allowed[kind]:
        raise KernelError(EINVAL, f"no programs on {kind} events in this version")
    program = hook(event, fd, kind)
    if found is not None:
        found.add_bpf(program)
        found.shared_program = program
    event.program = program
    return 0


def drop_program(event: PerfEvent) -> None:
    """Before 4.14 freeing any perf event of a trace event removes the program; since, its own one."""
    found = event.trace_event
    if not event.board.features.several_programs and found is not None:
        shared, found.shared_program = found.shared_program, None
        if shared is not None:
            found.remove_bpf(shared)
            shared.release()
            for other in found.perf_events:
                other.program = None
        event.program = None
        return
    program, event.program = event.program, None
    if program is not None:
        if found is not None:
            found.remove_bpf(program)
        program.release()


def query_bpf(event: PerfEvent, user: UserMemory, arg: int) -> int:
    """PERF_EVENT_IOC_QUERY_BPF: struct perf_event_query_bpf {u32 ids_len, prog_cnt, ids[]}."""
    if not (event.host.capable("perfmon") or event.host.capable("sys_admin")):
        raise KernelError(EPERM)
    if event.trace_event is None or event.attr.type != PERF_TYPE_TRACEPOINT:
        raise KernelError(EINVAL, "not a trace event")
    order = event.board.byteorder
    length = int.from_bytes(user.read(arg, 4), order)
    if length > BPF_MAX_PROGS:
        raise KernelError(E2BIG)
    programs = [other.program.id for other in event.trace_event.perf_events if other.program is not None]
    user.write(arg + 4, len(programs).to_bytes(4, order))
    for index, number in enumerate(programs[:length]):
        user.write(arg + 8 + 4 * index, number.to_bytes(4, order))
    if length and len(programs) > length:
        raise KernelError(ENOSPC)
    return 0
