"""What user space sees: tracefs and debugfs kprobes/ as plain objects.  kernel/trace/trace.c, trace_events.c.

    nodes.py     directories and files in general, and what an open one does
    opened.py    open files with a state of their own: trace_pipe, filters, free_buffer
    tracefs.py   which files there are, what they read and what a write to them does
    formats.py   header_page, header_event, events/ftrace
    readme.py    the file README
    recorded/    it, and the strings of printk_formats, as real kernels gave them

Nothing here knows inodes or tasks: the file system of the floor above turns nodes into inodes, and `WouldBlock` into sleep.
This room is the top of tracing but for system.py: it may use all others, and none uses it.
"""
