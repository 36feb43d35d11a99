"""perf events: perf_event_open(2), counting, sampling, and the buffers that user space maps.  kernel/events/.

attr.py parses and checks struct perf_event_attr, in the kernel's order; core.py opens; event.py is one event and its
life; pmu.py its kind. What happens reaches it from tracepoints (sources.py) or from probes; sample.py writes the
record, ring.py the buffer.
"""
