"""kprobes, uprobes and the events that are defined by writing a line.  kernel/kprobes.c, kernel/events/uprobes.c, kernel/trace/trace_*probe.c."""
