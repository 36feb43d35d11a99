"""Which functions serve which file of tracefs.  kernel/trace/trace.c, trace_events.c, trace_kprobe.c, trace_uprobe.c."""

from __future__ import annotations

from simkernel.fs.face import FsKernel
from simkernel.fs.inode import File, FileOperations
from simkernel.fs.nodes import Node
from simkernel.fs.pseudo import node_fops
from tracing.files.raw_pages import PagedFile


def flush_pages(k: FsKernel, file: File) -> int:
    """A descriptor is closed: who waits for pages is told."""
    handle: PagedFile = file.private_data
    handle.flush()
    return 0


_TRACEFS_FUNCTIONS = {
    "trace_pipe": ("tracing_read_pipe", None),
    "trace_marker": ("seq_read", "tracing_mark_write"),
    "kprobe_events": ("seq_read", "probes_write"),
    "uprobe_events": ("seq_read", "probes_write"),
    "tracing_on": ("rb_simple_read", "rb_simple_write"),
    "id": ("event_id_read", None),
    "error_log": ("seq_read", "tracing_write_stub"),
    "enable": ("event_enable_read", "event_enable_write"),
    "filter": ("event_filter_read", "event_filter_write"),
    "set_event": ("seq_read", "ftrace_event_write"),
    "trace": ("seq_read", "tracing_write_stub"),
    "current_tracer": ("tracing_set_trace_read", "simple_attr_write"),
    "trace_pipe_raw": ("tracing_buffers_read", None),
    "snapshot_raw": ("tracing_buffers_read", None),
}
# files that are only read: no operation takes a write, whatever the mode
_TRACEFS_READ_ONLY = (
    "README", "available_events", "available_filter_functions", "available_filter_functions_addrs", "available_tracers",
    "buffer_total_size_kb", "dyn_ftrace_total_info", "enabled_functions", "format", "header_event", "header_page", "hist", "kprobe_profile",
    "printk_formats", "saved_cmdlines", "saved_tgids", "stack_trace", "stats", "timestamp_mode", "touched_functions",
    "uprobe_profile",
)  # fmt: skip
_TRACEFS_SPLICE = ("trace", "trace_pipe", "trace_pipe_raw", "snapshot_raw")  # these have a splice_read
_TRACEFS_FOPS = {
    name: node_fops(
        f"{name}_fops",
        read,
        write,
        splice=True if name in _TRACEFS_SPLICE else None,
        flush=flush_pages if read == "tracing_buffers_read" else None,
    )
    for name, (read, write) in _TRACEFS_FUNCTIONS.items()
}
_TRACEFS_FOPS |= {name: node_fops(f"{name}_fops", "seq_read", None) for name in _TRACEFS_READ_ONLY}
TRACEFS_DEFAULT_FOPS = node_fops("tracefs_file_operations", "seq_read", "simple_attr_write")


def tracefs_fops(node: Node, name: str) -> FileOperations:
    """By file name."""
    return _TRACEFS_FOPS.get(name, TRACEFS_DEFAULT_FOPS)
