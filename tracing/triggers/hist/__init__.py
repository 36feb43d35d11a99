"""The hist trigger: what an event's records count up to, by keys.  kernel/trace/trace_events_hist.c, tracing_map.c.

errors.py    the messages of error_log, and where their carets stand
attrs.py     a line taken apart: keys, values, variables, sort, clock, size, actions
fields.py    keys, values, variables and expressions as things that have a value for a record
parse.py     from text to fields
actions.py   onmatch, onmax, onchange with trace, save and snapshot
table.py     the table of sums and variables, and the order in which it prints
data.py      one histogram: made from its line, fed with records
show.py      the files `trigger` and `hist`
trigger.py   the trigger itself: new ones, pause, continue, clear, names that are shared
"""
