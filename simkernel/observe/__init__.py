"""Where the kernel is watched from: tracing and BPF wired into one machine.

    host.py      the kernel as tracing and BPF see it (tracing.face.TraceHost, bpf.face.BpfHost)
    spaces.py    user address spaces as uprobes see them (tracing.face.UserSpaces)
    tracefs.py   tracing's tree of files in the virtual file system
    perf.py      perf_event_open(2) and the files it makes
    bpf.py       bpf(2), its files, pinning, and where programs get attached
    btf.py       the kernel's own BTF

tracing/ and bpf/ know nothing of tasks, files or the CPU; this package is the only place that knows both sides.
"""

from __future__ import annotations

from typing import Any

from simkernel.observe import bpf as bpf_calls
from simkernel.observe import perf as perf_calls
from simkernel.observe.host import Host

__all__ = ["Host", "bpf_calls", "install", "perf_calls"]


def install(k: Any) -> None:
    """Put tracing and BPF into a booting kernel (after its file systems)."""
    from simkernel.observe import sockfilter, tracefs
    from simkernel.observe.spaces import Spaces
    from tracing.system import Tracing

    host = Host(k)
    k.observer = host
    spaces = Spaces(k)
    k.observer.tracing = host.tracing = Tracing(host, spaces)
    k.mm.hooks = k.observer.tracing.uprobes
    host.link_tracepoints()
    host.declare_syscalls()
    k.tasks.exit_hooks.append(host.task_exit)
    tracefs.install(k)
    bpf_calls.install(k)
    sockfilter.install(k)
