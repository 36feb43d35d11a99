"""Tracers: what `current_tracer` chooses.  kernel/trace/trace_functions.c.

    function.py   every call of the chosen functions, by a kprobe on each

A tracer puts a start-and-stop function into `TraceArray.tracers` and the line of its entries into `Board.lines`.
"""
