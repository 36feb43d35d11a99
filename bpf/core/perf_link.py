"""Links of programs to perf events: struct bpf_perf_link of kernel/bpf/syscall.c."""

from __future__ import annotations

from bpf import uapi
from bpf.core.link import BpfLink
from bpf.face import PerfEventAttach
from bpf.perf_face import PerfEventInfo

COUNTERS_TOLD = "6.16"  # 823153334042: where in a file the counter of a user probe lies
EVENT_SHOWN = "6.17"  # 97ebac5886de: fdinfo tells of the event

# BPF_FD_TYPE_*: (BPF_PERF_EVENT_*, its name)
PROBE_KINDS = {
    uapi.BPF_FD_TYPE_TRACEPOINT: (uapi.BPF_PERF_EVENT_TRACEPOINT, "tracepoint"),
    uapi.BPF_FD_TYPE_KPROBE: (uapi.BPF_PERF_EVENT_KPROBE, "kprobe"),
    uapi.BPF_FD_TYPE_KRETPROBE: (uapi.BPF_PERF_EVENT_KRETPROBE, "kretprobe"),
    uapi.BPF_FD_TYPE_UPROBE: (uapi.BPF_PERF_EVENT_UPROBE, "uprobe"),
    uapi.BPF_FD_TYPE_URETPROBE: (uapi.BPF_PERF_EVENT_URETPROBE, "uretprobe"),
}
UPROBES = (uapi.BPF_FD_TYPE_UPROBE, uapi.BPF_FD_TYPE_URETPROBE)


class PerfLink(BpfLink):
    """Tells of the event behind it."""

    @property
    def attached(self) -> PerfEventAttach:
        """The event and the cookie."""
        assert isinstance(self.request, PerfEventAttach)
        return self.request

    def event_info(self) -> PerfEventInfo | None:
        """Of a probe or a tracepoint; None of a counter."""
        if self.prog.type == uapi.BPF_PROG_TYPE_PERF_EVENT:
            return None
        return self.bpf.host.perf_event_query(self.attached.event)

    def fdinfo(self) -> str:
        """bpf_perf_link_show_fdinfo()."""
        text = super().fdinfo()
        if self.bpf.version.before(EVENT_SHOWN):
            return text
        told, event = self.event_info(), self.attached.event
        if told is None:
            kind, text = "event", f"{text}type:\t{event.type_told}\nconfig:\t{event.attr.config}\n"
        else:
            kind, text = PROBE_KINDS[told.kind][1], text + _place(told)
        return f"{text}event_type:\t{kind}\ncookie:\t{self.attached.cookie}\n"


def _place(told: PerfEventInfo) -> str:
    if told.kind == uapi.BPF_FD_TYPE_TRACEPOINT:
        return f"tp_name:\t{told.name}\n"
    text = f"name:\t{told.name or '(null)'}\noffset:\t{told.offset:#x}\n"
    if told.kind in UPROBES:
        return f"{text}ref_ctr_offset:\t{told.ref_ctr_offset:#x}\n"
    return f"{text}missed:\t{told.missed}\naddr:\t{told.address:#x}\n"
