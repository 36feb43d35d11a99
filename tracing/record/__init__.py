"""What an event record is: its fields, how it is filled, filtered and printed.  kernel/trace/trace_events*.c.

event.py is the middle: what every event has, whatever fires it, and who listens (the ring buffer, perf events, BPF
programs, triggers). fields.py lays a record out, assign.py fills it from a tracepoint's arguments, filter.py is the
language of the `filter` files, print_fmt.py makes text of it.
"""
