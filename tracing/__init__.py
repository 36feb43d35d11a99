"""Tracing as in Linux: ftrace's events and files, kprobes, uprobes, perf events.  kernel/trace/, kernel/events/.

    face.py       what tracing needs of the kernel (TraceHost, UserSpaces) and what programs look like from here
    features.py   what differs by kernel version
    text/         strings, numbers, addresses as the kernel writes them
    board.py      what all parts know of their machine
    buffer/       the trace buffer, and the text of `trace`
    record/       records: fields, assignment, print formats, filters, events
    events/       the tracepoints, a row each, and system calls
    probes/       kprobes, uprobes, and events defined on them
    triggers/  tracers/  perf/
    files/        tracefs
    system.py     `Tracing`: all of it for one machine, put together

Each part imports only from those above it in this list.  What lives here runs callbacks at addresses and tracepoints and
keeps records; it knows no BPF, no tasks and no file system.  Times are nanoseconds of virtual time, addresses plain ints.
"""

__part_of__ = "simkernel"  # simkernel/own_floors.py looks for this line
