"""Tracers: what `current_tracer` chooses, and what set_ftrace_filter hangs on functions.  kernel/trace/trace_functions.c, ftrace.c.

functions.py   all functions that can be traced, and sets of them as files choose them
function.py    every call of the chosen functions; commands such as `vfs_write:traceoff`
commands.py    those commands
graph.py       calls and returns, as a tree
stack.py       the deepest kernel stack that was seen
others.py      tracers that are there by name: blk, mmiotrace
"""
