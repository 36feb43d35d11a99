"""perf events: perf_event_open(2), its samples and buffers.  kernel/events/."""
