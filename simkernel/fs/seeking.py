"""Which llseek a generated file has: most are written by seq_file, which takes no SEEK_END and no pwrite(2).

fs/proc/*.c, fs/kernfs/file.c, kernel/trace/*.c (the file_operations of each).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from simkernel.fs import constants as c
from simkernel.fs.inode import File, FileOperations

# files of /proc that are no seq_file
PROC = dict.fromkeys(
    ("kmsg", "kcore", "auxv", "cmdline", "coredump_filter", "environ", "loginuid", "sessionid", "oom_adj", "oom_score_adj", "apparmor",
     "current", "exec", "fscreate", "keycreate", "prev", "sockcreate"), "default_llseek",
) | dict.fromkeys(("clear_refs", "sysrq-trigger"), "noop_llseek") | dict.fromkeys(
    ("mem", "pagemap", "kpagecgroup", "kpagecount", "kpageflags"), "mem_lseek",
)  # fmt: skip
# files of tracefs that are none, that have no position, and those that have one only when they are read
TRACE = dict.fromkeys(
    ("enable", "filter", "buffer_percent", "header_event", "header_page", "id", "inject", "stack_max_size", "tracing_on"), "default_llseek",
) | dict.fromkeys(
    ("README", "buffer_size_kb", "buffer_total_size_kb", "current_tracer", "dyn_ftrace_total_info", "max_graph_depth",
     "stats", "tracing_cpumask", "tracing_max_latency", "tracing_thresh"), "generic_file_llseek",
) | dict.fromkeys(
    ("free_buffer", "saved_cmdlines_size", "trace_marker", "trace_marker_raw", "trace_pipe", "trace_pipe_raw", "snapshot_raw"), "no_llseek",
) | dict.fromkeys(
    ("error_log", "trigger", "set_ftrace_filter", "set_ftrace_notrace", "set_graph_function",
     "set_graph_notrace", "snapshot", "stack_trace_filter", "trace"), "tracing_lseek",
) | dict.fromkeys(("set_ftrace_notrace_pid", "set_ftrace_pid"), "tracing_lseek_seq")  # fmt: skip
NONSEEKABLE = frozenset(("trace_marker", "trace_marker_raw", "trace_pipe"))  # stream_open()
POSITIONED = ("trace_pipe_raw_fops", "snapshot_raw_fops")  # nonseekable_open(): splice asks where it is


def placed(ops: FileOperations, fs_name: str, parent: str, name: str) -> FileOperations:
    """The operations of a file of this name, with the llseek that it has on Linux."""
    if ops.llseek != "default_llseek" or ops.name == "proc_sys_file_operations":
        return ops
    if fs_name == "proc":
        return _with(ops, PROC.get(name, "seq_lseek"))
    if ops.name == "kernfs_file_fops":
        return _with(ops, "generic_file_llseek")
    if fs_name == "tracefs":
        return _with(
            ops, "generic_file_llseek" if parent == "options" else TRACE.get(name, "seq_lseek"), name in NONSEEKABLE
        )
    return ops


@cache
def _with(ops: FileOperations, llseek: str, stream: bool = False) -> FileOperations:
    return replace(ops, llseek=llseek, stream=ops.stream or stream)


def opened(file: File) -> None:
    """seq_open(): pwrite(2) is not for such files; kernfs gives it back to who may write."""
    kind = file.f_op.llseek
    kernfs = file.f_op.name == "kernfs_file_fops" and not file.f_mode & c.FMODE_WRITE
    if kernfs or kind in ("seq_lseek", "tracing_lseek_seq") or (kind == "tracing_lseek" and file.f_mode & c.FMODE_READ):
        file.f_mode &= ~c.FMODE_PWRITE
    if file.f_op.name in POSITIONED:
        file.f_mode &= ~(c.FMODE_PREAD | c.FMODE_PWRITE)
