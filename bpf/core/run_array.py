"""Programs of one event, run one after the other.  kernel/trace/bpf_trace.c."""

from __future__ import annotations

from collections.abc import Iterable

from bpf.board import Bpf
from bpf.core.program import BpfProg


def trace_call_bpf(bpf: Bpf, progs: Iterable[BpfProg], ctx: int, cookie: int = 0, entry_ip: int = 0) -> int:
    """Programs of a probe or tracepoint: 0 if the event is to be dropped.  kernel/trace/bpf_trace.c.

    In an NMI of Linux 4.1 nothing runs and the event is kept; while another program runs on this CPU nothing runs
    and it is dropped.  With several programs (4.15) all run, and each must agree.
    """
    if bpf.classic and bpf.host.in_nmi():
        return 1
    cpu = bpf.host.cpu_id()
    if bpf.active[cpu]:
        for prog in progs:
            prog.missed()
        return 0
    bpf.active[cpu] += 1
    try:
        answer = 1
        for number, prog in enumerate(progs):
            value = prog.run(ctx, cookie, entry_ip)
            answer = value if number == 0 else answer & value
        return answer
    finally:
        bpf.active[cpu] -= 1
