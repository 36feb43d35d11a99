"""kprobes, uprobes, and the events that users define on them.  kernel/kprobes.c, kernel/events/uprobes.c, kernel/trace/.

    kprobes.py         probes and return probes in kernel text: registration, hits, misses
    uprobes.py         the same in files that programs map, in each address space of interest
    args.py            an argument of a probe event: type and fetch instructions
    fetch_parser.py    parses `a=+8(%di):u32`;  errors.py: the messages of error_log
    fetch.py           compiles it to a function of pt_regs
    event.py           a probe event and its probes;  trace_kprobe.py, trace_uprobe.py: what is particular about each kind
    table.py           all of a machine's
    command.py         one line, and where its errors are shown;  kprobe_grammar.py, uprobe_grammar.py: lines since 5.1
    grammar_4_1.py     lines before 5.1
    probe_events.py    the files, and perf's own probes

The first two know nothing of events: the function tracer, perf and BPF use them directly.
"""
