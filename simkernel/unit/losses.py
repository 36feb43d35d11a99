"""What was missed, dropped or lost, of every kind, where the kernel counts it.

    losses = m.losses()
    losses["recursion_misses"]["on_switch"]

Each kind is a row of KINDS, named as the kernel names it.  Only counters that are not 0 are there; asking for another is 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from bpf.core.program import BpfProg
from bpf.maps.ringbuf import RingBufferMap
from simkernel.kernel.kernel import Kernel

Counted = Iterator[tuple[str, int]]


def kprobe_nmissed(k: Kernel) -> Counted:
    for probes in k.observer.tracing.kprobes.sites.values():
        for kp in probes:
            found = k.symbols.lookup(kp.addr)
            name = f"{kp.addr:#x}" if found is None else found[0] + (f"+{found[1]:#x}" if found[1] else "")
            yield name, kp.nmissed


def kretprobe_nmissed(k: Kernel) -> Counted:
    for rp in k.observer.tracing.kprobes.return_probes.values():
        found = k.symbols.lookup(rp.kp.addr)
        yield (f"{rp.kp.addr:#x}" if found is None else found[0]), rp.nmissed


def recursion_misses(k: Kernel) -> Counted:
    for prog in k.observer.bpf.progs.objects.values():
        if isinstance(prog, BpfProg):
            yield prog.function_names(len(prog.verdict.subprog_starts or (0,)))[0] or prog.name, prog.recursion_misses


def nested_programs(k: Kernel) -> Counted:
    yield "all programs", k.observer.tracing.recorder.running.misses


def perf_lost(k: Kernel) -> Counted:
    for event in k.observer.tracing.perf.events.values():
        yield f"event {event.id} on cpu {event.cpu}", event.lost_samples


def trace_overrun(k: Kernel) -> Counted:
    for cpu, buffer in enumerate(k.observer.tracing.trace_array.buffer.cpus):
        yield f"cpu {cpu}", buffer.overrun


def trace_dropped(k: Kernel) -> Counted:
    for cpu, buffer in enumerate(k.observer.tracing.trace_array.buffer.cpus):
        yield f"cpu {cpu}", buffer.dropped


def ringbuf_refused(k: Kernel) -> Counted:
    for bpf_map in k.observer.bpf.maps.objects.values():
        if isinstance(bpf_map, RingBufferMap):
            yield bpf_map.name, bpf_map.refused


KINDS: dict[str, tuple[Callable[[Kernel], Counted], str]] = {
    "nmissed": (kprobe_nmissed, "hits of a kprobe while another was handled on that CPU; kprobe_profile's last column"),
    "kretprobe_nmissed": (kretprobe_nmissed, "calls of a function with all maxactive instances in use"),
    "recursion_misses": (recursion_misses, "runs of a program refused as it, or another, ran on that CPU; bpf_prog_info"),
    "bpf_prog_active": (nested_programs, "hits of a probe or tracepoint while a program ran on that CPU: Linux counts them since 6.7 only"),
    "perf_lost": (perf_lost, "records without room in a perf ring; PERF_RECORD_LOST, PERF_FORMAT_LOST"),
    "overrun": (trace_overrun, "trace events overwritten before they were read; per_cpu/cpuN/stats"),
    "dropped_events": (trace_dropped, "trace events refused with the overwrite option off; per_cpu/cpuN/stats"),
    "ringbuf_refused": (ringbuf_refused, "reservations that a BPF ring buffer had no room for: Linux tells only the program"),
}  # fmt: skip


class Losses(dict[str, Counter[str]]):
    """By kind, then by what lost it."""

    def total(self, kind: str = "") -> int:
        """Of one kind, or of all."""
        return sum(sum(self[each].values()) for each in ([kind] if kind else KINDS))

    def text(self) -> str:
        """A line for each."""
        return "".join(
            f"{kind:<18} {name:<32} {count}\n" for kind in self for name, count in sorted(self[kind].items())
        )


def losses(k: Kernel) -> Losses:
    """All of them, now."""
    out = Losses()
    for kind, (counters, _) in KINDS.items():
        out[kind] = Counter()
        for name, count in counters(k):
            if count:
                out[kind][name] += count
    return out
