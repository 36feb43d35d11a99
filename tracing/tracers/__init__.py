"""Tracers: what fills the trace without events.  kernel/trace/trace_functions.c."""
