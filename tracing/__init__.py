"""Probes and events: kprobes, uprobes, tracepoints, perf events, ring buffers, trace text, event filters.

Runs callbacks at events; does not know that BPF exists.  Mirrors kernel/trace/, kernel/kprobes.c and
kernel/events/.
"""

__part_of__ = "simkernel"  # simkernel/own_floors.py looks for this line
