"""What differs between kernel versions in tracing, as a table: a row is read as `features.NAME`.

A row names the first version with the behaviour, and the Linux commit that brought it.  (What grew number by number stands
beside the numbers: the sizes and bits of struct perf_event_attr in perf/attr.py, tracepoints in their rows.)
"""

from __future__ import annotations

from dataclasses import fields

from arch.abi.version import KernelVersion
from arch.records import dataclass, field


def since(version: str, why: str, option: str = "") -> bool:
    """A row: the first version, what changed, and the option of the kernel's configuration that it takes."""
    row: bool = field(metadata={"since": version, "why": why, "option": option})
    return row


# What Debian's kernel of a version is built without, though others before and behind it are.
WITHOUT = {"5.10": ("HIST_TRIGGERS", "SYNTH_EVENTS")}
# What Debian's kernels of other versions are built without.
ONLY = {"RING_BUFFER_ALLOW_SWAP": ("5.10",)}


# (first version, numbers of TRACE_USER_STACK, TRACE_BPUTS and TRACE_RAW_DATA): 21e92806d39c put a type of the function graph before them
ENTRY_TYPES = (("6.13", (13, 15, 19)), (None, (12, 14, 18)))

# (first version, number of the first event): what has an entry type of its own lies before it (kernel/trace/trace.h)
FIRST_EVENT = (("6.13", 21), ("5.14", 20), ("5.13", 18), ("4.9", 17), (None, 16))


@dataclass(frozen=True, kw_only=True)
class Features:
    """The answers for one version."""

    version: KernelVersion
    snapshots: bool = since("3.10", "debe93a5: the file snapshot, and the trigger")
    one_cpu_snapshots: bool = since("3.10", "f1affcaaa861: snapshots of one CPU", "RING_BUFFER_ALLOW_SWAP")
    set_bpf_on_uprobes: bool = since("4.3", "04a22fae4cbc: programs on uprobes")
    syscall_nr_renamed: bool = since("4.6", "026842d148b9: field nr -> __syscall_nr")
    set_bpf_on_tracepoints: bool = since("4.7", "98b5c2c65c29: programs on tracepoints; PERF_EVENT_IOC_PAUSE_OUTPUT")
    probe_types_x: bool = since("4.8", "86425625ab3a: x8 ... x64 in probe events, u8 ... u64 in decimal")
    preempt_count_corrected: bool = since("4.9", "e947841c0dce: the tracepoint's own preempt_disable is not shown")
    hist_triggers: bool = since("4.7", "7ef224d1d0e3: the hist trigger", "HIST_TRIGGERS")
    set_bpf_on_perf: bool = since("4.9", "aa6a5f3cb2b2: programs of type perf_event")
    raw_markers: bool = since("4.10", "fa32e8557b5d: trace_marker_raw; a text that cannot be read leaves a word")
    maxactive: bool = since("4.12", "696ced4fb1d7: rN in kprobe_events")
    several_programs: bool = since("4.14", "e87c6bc3852b: an array of BPF programs per trace event")
    hashed_pointers: bool = since("4.15", "ad67b74d2469: %p prints a hash")
    filter_parser_4_17: bool = since("4.17", "80765597bc58: the predicate parser of today")
    probe_pmu: bool = since("4.17", "e12f03d7031a: perf's own kprobe and uprobe types")
    marker_triggers: bool = since("4.19", "6fc2171863a6: events/ftrace/print/trigger")
    uprobe_ref_ctr: bool = since("4.20", "1cc33161a83d: reference counters of USDT probes")
    dynamic_events: bool = since("5.0", "5448d44c3855: dynamic_events")
    modern_probe_grammar: bool = since("5.1", "the 5.x parser: $argN, \\imm, arrays, ustring, errors with a caret")
    error_log: bool = since("5.2", "8a062902be72: error_log")
    synthetic_events: bool = since("5.0", "7bbab38d07f3: synthetic_events has a file for all events", "SYNTH_EVENTS")
    notrace_pids: bool = since("5.7", "b3b1e6ededa4: set_ftrace_notrace_pid, set_event_notrace_pid")
    bpf_trace_event: bool = since("5.9", "ac5a72ea5c89: bpf_trace_printk is an event")
    tracefs_directories_0750: bool = since("5.10", "49d67e445742, in its stable series: nor are its directories")
    large_cmdlines: bool = since("5.10", "3b5e5cb1e68c, in its stable series: saved_cmdlines fills its pages")
    wide_pid: bool = since("5.10", "795d6379a47b: the pid column is 7 wide")
    irqs_on_in_ftrace_probes: bool = since("5.10", "ftrace-based kprobes no longer turn interrupts off")
    context_word: bool = since(
        "5.12", "36590c50b2d0: flags and depth of an entry are one word, made where the event is"
    )
    migrate_disable_column: bool = since("5.12", "54357f0c9149: a fifth latency character")
    perf_time_cycles: bool = since("5.12", "struct perf_event_mmap_page grew by time_cycles and time_mask")
    ftrace_without_enable: bool = since("5.12", "events/ftrace has no files enable and filter")
    graph_depth_first: bool = since("5.12", "struct ftrace_graph_ret has its depth behind the function")
    func_no_repeats: bool = since("5.13", "4994891ebbb8: the function tracer's option func-no-repeats")
    event_probes: bool = since("5.15", "7491e2c44278: events e: at other events")
    tracefs_files_0640: bool = since("5.16", "21ccc9cd7211: files of tracefs are not for others")
    gen_ctx_dec_in_uprobes: bool = since(
        "5.17", "5e6cd84e2f8b: uprobe events take one from a preemption depth that nobody raised"
    )
    bh_disabled: bool = since("5.17", "289e7b0f7eb4: 'b' and irqs-off/BH-disabled")
    modify_signal_data: bool = since("5.17", "3c25fc97f559: PERF_EVENT_IOC_MODIFY_ATTRIBUTES takes sig_data")
    clock_tai: bool = since("5.19", "3dc6ffae2da2: the clock tai")
    rethook: bool = since("5.18", "73f9b911faa7: return probes through rethook")
    group_alone: bool = since("6.0", "95c104c378dc: a definition may name a group and no event")
    ten_kretprobe_instances: bool = since(
        "6.1", "seen there: a return probe has ten or more on kernels without preemption, too"
    )
    probe_type_symstr: bool = since("6.1", "seen there: the type symstr in probe events")
    printk_lock_gone: bool = since("6.1", "e2bb9e01d589, in its stable series: bpf_trace_printk takes no lock")
    uprobe_without_symbols: bool = since("6.2", "b26a124cbfa8: the types symbol and symstr are not for uprobes")
    probe_type_char: bool = since("6.4", "8478cca1e3ab: the type char in probe events")
    string_type_message: bool = since("6.7", "8c427cc2fa73: an error in the log for $comm of another type")
    pid_chunks: bool = since("5.16", "6954e415264e: a set of pids is not a bitmap")
    touched_functions: bool = since("6.4", "e11b521a7b69: touched_functions")
    stack_fields: bool = since(
        "6.4", "4b512860bdbd: common_stacktrace, and stacktrace where a field is meant; the modifier stacktrace"
    )
    args_need_entry: bool = since(
        "6.5", "18b1e870a496: $argN elsewhere than at a function's ends has an error of its own"
    )
    clock_pmus: bool = since("6.5", "9551fbb64d09: perf's clocks have types of their own")
    eprobe_fields_by_parser: bool = since(
        "6.5", "1b8b0cd754cd: a field that an event lacks is an error of the $-variable"
    )
    btf_args: bool = since("6.5", "b576e09701c7: arguments of probe events by their names in BTF, and $arg*")
    fprobe_events: bool = since("6.5", "334e5519c375, e2d0d7b2f42d: events f: at functions and t: at tracepoints")
    function_addresses: bool = since("6.5", "83f74441bcb1: available_filter_functions_addrs")
    eventfs: bool = since(
        "6.6", "5790b1fb3d67: directories of events are made when they are looked at, and open to others"
    )
    btf_members: bool = since(
        "6.6", "c440adfbe302: members of structures in arguments of probe events, the type of $retval"
    )
    filter_cpus: bool = since("6.6", "39f7c41c908b: sets of CPUs in filters")
    array_expands_itself: bool = since("6.7", "a1f157c7a3bb: the buffer of an instance has its size from the start")
    long_markers: bool = since("6.8", "8ec90be7f15f: trace_marker takes as much as an entry holds")
    subbuf_size: bool = since("6.8", "2f84b39f4812: buffer_subbuf_size_kb")
    args_at_return: bool = since("6.9", "25f00e40ce79: arguments of a call in events of its return")
    dentry_types: bool = since("6.10", "d9b15224dd8f: the types %pd and %pD")
    graph_in_instances: bool = since("6.11", "c132be2c4fcc: function_graph in instances")
    symbol_checked_by_parser: bool = since(
        "6.12", "9d8616034f16: a symbol that a probe cannot have is an error of its text (EINVAL)"
    )
    hist_hitcount: bool = since("6.12", "seen there: hitcount as a key and with modifiers, and nohitcount")
    filter_functions: bool = since("6.12", "seen there: FIELD.function in filters")
    trigger_filter_errors: bool = since("6.12", "seen there: error_log has the errors of triggers' conditions")
    sorts_pairs: bool = since("6.12", "seen there: sort() takes the two largest from its heap at a time")
    place_is_a_number: bool = since("6.12", "seen there: nothing may follow the place of a function in a list")
    columns_stay_inside: bool = since(
        "6.12", "seen there: an error behind a fetch from memory is said to be as much later"
    )
    tracepoints_to_come: bool = since("6.12", "57a7e6de9e30: a tracepoint that is not there may be a module's")
    lazy_resched: bool = since("6.13", "26baa1f1c4bd: one flag of an entry says that the task is to go later")
    fprobes_on_shadow_stacks: bool = since(
        "6.14",
        "4346ba160409: calls that fprobes catch are kept on the task's shadow stack, not in instances of the fprobe",
    )
    events_of_modules: bool = since("6.14", "b355247df104: sets of events may be for a module to come")
    option_func_args: bool = since("6.15", "533c20b062d7: the options func-args and funcgraph-args")
    unsigned_char: bool = since("6.2", "3bc753c06dd0: the kernel's char is unsigned on every CPU")
    tprobes_share: bool = since(
        "6.16", "2867495dea86: several events t: at one tracepoint, which is called while one is in use"
    )
    show_event_filters: bool = since("7.0", "show_event_filters and show_event_triggers")
    latency_on_demand: bool = since("7.0", "tracing_max_latency only with a tracer of latencies")
    header_page_chars: bool = since("7.0", "header_page calls overwrite a char")
    fprobes_by_graph: bool = since(
        "7.2", "seen there: fprobes are function_graph's, have no rN, and look for their function first"
    )
    synthetic_spaces: bool = since("7.2", "seen there: no commas in the print fmt of synthetic events")
    hist_comm: bool = since("7.2", "seen there: common_comm in histograms")
    hist_cpu_twice: bool = since("7.2", "seen there: a histogram's line says common_cpu, and then the field's name")
    graph_exit_held: bool = since("7.2", "seen there: returns in function_graph count as held once, as entries do")
    lazy_model: bool = since(
        "7.2", "seen there: the latency format says PREEMPT(lazy), which is the model of that kernel"
    )
    fields_show_bytes: bool = since("7.2", "seen there: the option fields shows what is not text in bytes, too")
    fields_name_functions: bool = since("7.2", "seen there: the option fields names functions")
    dynevent_message: bool = since("7.2", "seen there: a definition of no kind is in error_log")
    syscalls_preemptible: bool = since("7.2", "seen there: records of system calls are made with preemption on")
    faultable_programs: bool = since(
        "7.2", "trace_call_bpf_faultable(): programs of system calls' events run whatever runs on the CPU"
    )
    syscall_user_data: bool = since("6.19", "events of system calls have names and data of the program's memory")

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
    rows = {row.name: row.metadata for row in fields(Features) if row.metadata}
    return Features(
        version=version,
        **{name: version.at_least(row["since"]) and built(version, row["option"]) for name, row in rows.items()},
    )


def built(version: KernelVersion, option: str) -> bool:
    """Is Debian's kernel of a version built with an option?"""
    release = f"{version.major}.{version.minor}"
    return option not in WITHOUT.get(release, ()) and release in ONLY.get(option, (release,))
