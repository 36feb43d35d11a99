"""What differs between kernel versions in tracing, as a table: a row is read as `features.NAME`.

A row names the first version with the behaviour, and the Linux commit that brought it.  (What grew number by number stands
beside the numbers: the sizes and bits of struct perf_event_attr in perf/attr.py, tracepoints in their rows.)
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from arch.abi.version import KernelVersion


def since(version: str, why: str) -> bool:
    """A row: the first version, and what changed."""
    row: bool = field(metadata={"since": version, "why": why})
    return row


# (first version, number of the first event): what has an entry type of its own lies before it (kernel/trace/trace.h)
FIRST_EVENT = (("5.14", 20), ("5.13", 18), ("4.9", 17), (None, 16))


@dataclass(frozen=True, kw_only=True)
class Features:
    """The answers for one version."""

    version: KernelVersion
    snapshots: bool = since("3.10", "debe93a5: the file snapshot, and the trigger")
    set_bpf_on_uprobes: bool = since("4.3", "04a22fae4cbc: programs on uprobes")
    syscall_nr_renamed: bool = since("4.6", "026842d148b9: field nr -> __syscall_nr")
    set_bpf_on_tracepoints: bool = since("4.7", "98b5c2c65c29: programs on tracepoints; PERF_EVENT_IOC_PAUSE_OUTPUT")
    probe_types_x: bool = since("4.8", "86425625ab3a: x8 ... x64 in probe events, u8 ... u64 in decimal")
    preempt_count_corrected: bool = since("4.9", "e947841c0dce: the tracepoint's own preempt_disable is not shown")
    hist_triggers: bool = since("4.7", "7ef224d1d0e3: the hist trigger")
    set_bpf_on_perf: bool = since("4.9", "aa6a5f3cb2b2: programs of type perf_event")
    maxactive: bool = since("4.12", "696ced4fb1d7: rN in kprobe_events")
    several_programs: bool = since("4.14", "e87c6bc3852b: an array of BPF programs per trace event")
    hashed_pointers: bool = since("4.15", "ad67b74d2469: %p prints a hash")
    filter_parser_4_17: bool = since("4.17", "80765597bc58: the predicate parser of today")
    probe_pmu: bool = since("4.17", "e12f03d7031a: perf's own kprobe and uprobe types")
    uprobe_ref_ctr: bool = since("4.20", "1cc33161a83d: reference counters of USDT probes")
    dynamic_events: bool = since("5.0", "5448d44c3855: dynamic_events")
    modern_probe_grammar: bool = since("5.1", "the 5.x parser: $argN, \\imm, arrays, ustring, errors with a caret")
    error_log: bool = since("5.2", "8a062902be72: error_log")
    tracefs_created_mode_0640: bool = since("5.5", "files of tracefs are not for others")
    notrace_pids: bool = since("5.7", "b3b1e6ededa4: set_ftrace_notrace_pid, set_event_notrace_pid")
    bpf_trace_event: bool = since("5.9", "ac5a72ea5c89: bpf_trace_printk is an event")
    wide_pid: bool = since("5.10", "795d6379a47b: the pid column is 7 wide")
    irqs_on_in_ftrace_probes: bool = since("5.10", "ftrace-based kprobes no longer turn interrupts off")
    migrate_disable_column: bool = since("5.12", "54357f0c9149: a fifth latency character")
    hash_ptr_option: bool = since("5.12", "the trace option hash-ptr")
    perf_time_cycles: bool = since("5.12", "struct perf_event_mmap_page grew by time_cycles and time_mask")
    bh_disabled: bool = since("5.17", "289e7b0f7eb4: 'b' and irqs-off/BH-disabled")
    rethook: bool = since("5.18", "73f9b911faa7: return probes through rethook")
    printk_lock_gone: bool = since("6.1", "e2bb9e01d589, in its stable series: bpf_trace_printk takes no lock")

    @property
    def one_program_per_event(self) -> bool:
        """Before several_programs."""
        return not self.several_programs

    @property
    def filter_programs(self) -> bool:
        """`bpf-N` in the filter file: only the patch set of January 2015 has it."""
        return self.version.is_rfc


def features(version: KernelVersion) -> Features:
    """The features of a kernel."""
    rows = {row.name: row.metadata["since"] for row in fields(Features) if row.metadata}
    return Features(version=version, **{name: version.at_least(first) for name, first in rows.items()})
