"""The files of tracefs.  kernel/trace/trace.c, trace_events.c."""
