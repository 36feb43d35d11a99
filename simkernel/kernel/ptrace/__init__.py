"""ptrace: one task watches and changes another.  kernel/ptrace.c, kernel/signal.c (ptrace_stop), arch/*/kernel/ptrace.c.

stops.py is the traced side (where it stops, and what its tracer is told), requests.py is ptrace(2), registers.py the sets
of registers by CPU.
"""
