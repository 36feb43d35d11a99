"""The ftrace ring buffer, byte for byte (ringbuffer.py), and the trace that is read from it as text (trace.py):
options, clocks, latency columns, `trace` and `trace_pipe`.  kernel/trace/ring_buffer.c, trace.c, trace_output.c.
"""
