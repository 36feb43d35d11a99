"""kprobes, uprobes, and the events that are defined by writing a line.

kprobes.py and uprobes.py are the probes themselves: an address, a handler, and for returns the trampoline.
kernel/kprobes.c, kernel/events/uprobes.c.  The rest is kernel/trace/trace_*probe.c: a line written to kprobe_events
(probe_events.py) is split (command.py), understood by its grammar (kprobe_grammar.py, uprobe_grammar.py,
grammar_4_1.py), its arguments are parsed (fetch_parser.py) to what fetches them at a hit (fetch.py), and it becomes
an event with a probe behind it (event.py, trace_kprobe.py, trace_uprobe.py).  What is wrong with a line is told in
the kernel's words (errors.py).
"""
