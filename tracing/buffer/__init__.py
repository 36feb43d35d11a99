"""The trace buffer and what reads it.  kernel/trace/ring_buffer.c, trace.c.

    ringbuffer.py   a buffer per CPU, in pages: what fits, what is overwritten, what is lost, as on the kernel's pages
    trace.py        the one trace array: recording, options that matter for printing, the text of `trace` and `trace_pipe`

A record comes in as bytes that begin with struct trace_entry, and goes out as a line: the columns are made here, the rest by
whoever registered the entry's type (`Board.lines`).  Recording knows neither events nor filters; those decide before.
"""
