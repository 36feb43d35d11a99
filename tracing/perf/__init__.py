"""perf events.  kernel/events/core.c, include/uapi/linux/perf_event.h.

    attr.py       struct perf_event_attr: parsing, and what each version allows
    ring.py       the buffer that user space maps
    sample.py     the bytes of records
    event.py      one perf event: where it counts, when it samples, its life
    pmu.py        kinds of events: software, tracepoint, breakpoint, kprobe, uprobe
    programs.py   PERF_EVENT_IOC_SET_BPF and its rules by version;  ioctl.py: the other requests
    sources.py    what perf learns from tracepoints: counters, forks, names, mappings
    core.py       perf_event_open(2), and all events of a machine

From bottom to top in that order.  An event asks its machine through two small protocols (`event.Owner`, `ioctl.Machine`) that
`PerfCore` satisfies.  Times are ns of virtual time; counts and addresses are 64-bit.
"""
