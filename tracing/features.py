"""What differs between kernel versions in tracing, as a table.  The one place in tracing/ that compares versions.

Rows name the first version (or Linux commit) with the behaviour; tracing's modules ask for the name.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from arch.abi.version import KernelVersion

SINCE: dict[str, str] = {
    # behaviour                first version
    "several_programs": "4.14",  # e87c6bc3852b: an array of BPF programs per trace event
    "hashed_pointers": "4.15",  # ad67b74d2469: %p prints a hash
    "migrate_disable_column": "5.12",  # 54357f0c9149: a fifth latency character
    "bh_disabled": "5.17",  # 289e7b0f7eb4: 'b' and "irqs-off/BH-disabled"
    "wide_pid": "5.10",  # 795d6379a47b: the pid column is 7 wide
    "preempt_count_corrected": "4.9",  # e947841c0dce: the tracepoint's own preempt_disable is not shown
    "saved_read_events": "3.12",
    "syscall_nr_renamed": "4.6",  # 026842d148b9: field nr -> __syscall_nr
    "dynamic_events": "5.0",  # 5448d44c3855
    "error_log": "5.2",  # 8a062902be72
    "probe_types_x": "4.8",  # 86425625ab3a: x8 ... x64 in probe events
    "maxactive": "4.12",  # 696ced4fb1d7
    "modern_probe_grammar": "5.1",  # the 5.x parser: $argN, \imm, arrays, ustring, errors with a caret
    "tracefs_created_mode_0640": "5.5",
    "filter_parser_4_17": "4.17",  # 80765597bc58: the predicate parser of today
    "hist": "4.7",
    "uprobe_ref_ctr": "4.20",  # 1cc33161a83d
    "probe_pmu": "4.17",  # e12f03d7031a: perf's own kprobe and uprobe types
    "set_bpf_on_tracepoints": "4.7",  # 98b5c2c65c29
    "set_bpf_on_uprobes": "4.3",  # 04a22fae4cbc
    "set_bpf_on_perf": "4.9",  # aa6a5f3cb2b2
    "bpf_output": "4.4",  # a43eec304259
    "bpf_trace_event": "5.9",  # ac5a72ea5c89: bpf_trace_printk is an event
    "event_ids_from_20": "4.17",
    "printk_lock_gone": "6.1",  # e2bb9e01d589, in the stable series of 6.1: bpf_trace_printk takes no lock
    "rethook": "5.18",  # 73f9b911faa7
    "hash_ptr_option": "5.12",
    "irqs_on_in_ftrace_probes": "5.10",  # ftrace-based kprobes no longer turn interrupts off
    "ns_perf_attr": "4.13",
}


@dataclass(frozen=True)
class Features:
    """The answers for one version."""

    version: KernelVersion
    several_programs: bool
    hashed_pointers: bool
    migrate_disable_column: bool
    bh_disabled: bool
    wide_pid: bool
    preempt_count_corrected: bool
    saved_read_events: bool
    syscall_nr_renamed: bool
    dynamic_events: bool
    error_log: bool
    probe_types_x: bool
    maxactive: bool
    modern_probe_grammar: bool
    tracefs_created_mode_0640: bool
    filter_parser_4_17: bool
    hist: bool
    uprobe_ref_ctr: bool
    probe_pmu: bool
    set_bpf_on_tracepoints: bool
    set_bpf_on_uprobes: bool
    set_bpf_on_perf: bool
    bpf_output: bool
    bpf_trace_event: bool
    event_ids_from_20: bool
    printk_lock_gone: bool
    rethook: bool
    hash_ptr_option: bool
    irqs_on_in_ftrace_probes: bool
    ns_perf_attr: bool

    @property
    def one_program_per_event(self) -> bool:
        return not self.several_programs

    @property
    def filter_programs(self) -> bool:
        """`bpf-N` in the filter file: only the patch set of January 2015 has it."""
        return self.version.is_rfc


def features(version: KernelVersion) -> Features:
    """The features of a kernel."""
    known = {row.name for row in fields(Features)}
    return Features(version, **{name: version.at_least(since) for name, since in SINCE.items() if name in known})
