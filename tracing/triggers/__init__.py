"""Triggers: what an event's `trigger` file makes happen when it fires.  kernel/trace/trace_events_trigger.c, trace_events_hist.c.

trigger.py     what all triggers have, and the file: which command a line is for
simple.py      traceon, traceoff, snapshot, stacktrace, enable_event, disable_event
synthetic.py   synthetic events, which histograms fire
hist/          the hist trigger
"""
