"""Where the kernel is watched from: tracing and BPF wired into one machine.

    face.py        the kernel that is watched
    host.py        the kernel as tracing and BPF see it (tracing.face.TraceHost, bpf.face.BpfHost)
    bpf_side.py    the part of it that is BPF's: descriptors, pinning, tasks, programs on perf events
    spaces.py      user address spaces as uprobes see them (tracing.face.UserSpaces)
    attach.py      programs at raw tracepoints, functions, in filter files
    iterators.py   BPF iterators over tasks, files, areas, maps, symbols
    calls.py       bpf(2) and perf_event_open(2); test_functions.py: what tracing programs are tested on; map_functions.py: what maps' operations are; bpf_files.py and perf_files.py: the files that they make
    tracefs.py     tracing's tree of files in the virtual file system
    sockfilter.py  SO_ATTACH_BPF
    lwt.py         programs of routes; flow.py: dissectors of packets
    cpumap.py      frames that go up the stack on another CPU
    cgroups.py     programs of control groups on packets, sockets, devices, sysctls
    declared.py    functions that are there to be found and traced: security hooks, kernel functions for programs
    lsm.py         who watches the security hooks; soft_calls.py: functions that plain bodies call
    percpu.py      variables that every CPU has its own of
    btf.py         the kernel's own BTF

tracing/ and bpf/ know nothing of tasks, files or the CPU, and the kernel nothing of them: it fires its tracepoints, and
asks nobody.  This package is the only place that knows both sides.  A walk through it: `install()` makes a `Host` of the
kernel, a `Tracing` over the host, and tells each of the other (`Host.connect`).
"""

from __future__ import annotations

from simkernel.observe import calls, cgroups, declared, lsm, map_functions, sockfilter, test_functions, tracefs
from simkernel.observe.host import Host, ObservedKernel
from simkernel.observe.soft_calls import SoftCalls
from simkernel.observe.spaces import Spaces
from tracing.system import Tracing

__all__ = ["Host", "calls", "install", "map_functions", "test_functions"]


def install(k: ObservedKernel) -> None:
    """Put tracing and BPF into a booting kernel (after its file systems)."""
    host = k.observer = Host(k)
    declared.install(k, host.percpu)
    k.vfs.list_symbols = lambda: declared.add_all(k, host.percpu)
    tracing = Tracing(host, Spaces(k))
    host.connect(tracing)
    k.vfs.kernel_enum = host.kernel_btf.enum
    lsm.install(k, SoftCalls(k, tracing.kprobes, host.return_trampoline))
    k.mm.hooks = tracing.uprobes
    k.tasks.perf_exit = host.perf_exit
    k.tasks.exit_hooks.append(host.task_exit)
    tracefs.install(k)
    sockfilter.install(k)
    cgroups.install(k, host.bpf, host.xdp)
    k.net.departure_chain.append(host.bpf.netns.gone)
