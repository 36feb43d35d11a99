"""From a tracepoint's arguments to a record, and from a record to text.  kernel/trace/trace_events.c, trace_output.c.

    fields.py      fields of a record: types, offsets, the `format` file
    reader.py      the inline functions of the kernel's headers, over simulated memory
    assign.py      compiles TP_fast_assign: arguments -> record
    print_fmt.py   compiles TP_printk: record -> text
    recorder.py    what the events of a machine share: buffer, pids, running programs
    event.py       an event: identity, users (ftrace, perf, programs), commit; the registry by name and number
    filter.py      the filter language

C text is compiled once, at the first hit, to Python that reads simulated memory; so a row in tracing/events/ is all there is
of an event.
"""
