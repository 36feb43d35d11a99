"""The ftrace ring buffer and the trace read from it.  kernel/trace/ring_buffer.c, trace.c."""
