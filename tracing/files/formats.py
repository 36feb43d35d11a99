"""events/header_event, header_page, and events/ftrace: what has a format but is no event.  kernel/trace/trace_entries.h."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from arch.abi.version import KernelVersion
from tracing.board import Board
from tracing.events.known import KnownEvents
from tracing.record.event import LazyEvent
from tracing.record.fields import Field, FieldLayout, filter_assign_type
from tracing.record.recorder import Recorder

HEADER_EVENT = """# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\ttime_stamp : type == 31
\tdata max type_len  == 28
"""

# events/ftrace: entries that are no events but have a format.  trace_entries.h.
_IP, _STACK_PRINT = "unsigned long ip", '"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n" "\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n" '
_STACK_PRINT += '"\\t=> %ps\\n\\t=> %ps\\n", ' + ", ".join(f"(void *)REC->caller[{index}]" for index in range(8))
_SWITCH = (
    "unsigned int prev_pid", "unsigned int next_pid", "unsigned int next_cpu", "unsigned char prev_prio",
    "unsigned char prev_state", "unsigned char next_prio", "unsigned char next_state",
)  # fmt: skip
_SWITCH_VALUES = (
    "REC->prev_pid, REC->prev_prio, REC->prev_state, REC->next_pid, REC->next_prio, REC->next_state, REC->next_cpu"
)
_SIZES = {"resource_size_t": 8}
# enum trace_type: (name, the first version with it); what is not listed in events/ counts, too
NUMBERED: tuple[tuple[str, str | None], ...] = (
    ("function", None), ("context_switch", None), ("wakeup", None), ("kernel_stack", None), ("print", None),
    ("bprint", None), ("mmiotrace_rw", None), ("mmiotrace_map", None), ("branch", None), ("funcgraph_exit", None),
    ("funcgraph_entry", None), ("fgraph_retaddr_entry", "6.13"), ("user_stack", None), ("blk", None), ("bputs", None),
    ("hwlat", "4.9"), ("osnoise", "5.14"), ("timerlat", "5.14"), ("raw_data", None), ("func_repeats", "5.13"),
)  # fmt: skip


def entry_number(name: str, version: KernelVersion) -> int:
    """Its id, from 1."""
    return [one for one, since in NUMBERED if version.at_least(since)].index(name) + 1


# name, fields (an array without length ends the entry), print fmt, the first version with it
Row = tuple[str, tuple[str, ...], str, str | None]
FTRACE_ENTRIES: tuple[Row, ...] = (
    ("function", (_IP, "unsigned long parent_ip"), '" %ps <-- %ps", (void *)REC->ip, (void *)REC->parent_ip', None),
    ("funcgraph_entry", ("unsigned long func", "int depth"), '"--> %ps (%d)", (void *)REC->func, REC->depth', None),
    ("funcgraph_exit", ("unsigned long func", "int depth", "unsigned int overrun", "unsigned long long calltime",
                            "unsigned long long rettime"),
     '"<-- %ps (%d) (start: %llx  end: %llx) over: %d", (void *)REC->func, REC->depth, REC->calltime, REC->rettime, '
     "REC->depth", None),
    ("context_switch", _SWITCH, f'"%u:%u:%u  ==> %u:%u:%u [%03u]", {_SWITCH_VALUES}', None),
    ("wakeup", _SWITCH, f'"%u:%u:%u  ==+ %u:%u:%u [%03u]", {_SWITCH_VALUES}', None),
    ("kernel_stack", ("int size", "unsigned long caller[8]"), _STACK_PRINT, None),
    ("user_stack", ("unsigned int tgid", "unsigned long caller[8]"), _STACK_PRINT, None),
    ("bprint", (_IP, "const char * fmt", "u32 buf[]"), '"%ps: %s", (void *)REC->ip, REC->fmt', None),
    ("print", (_IP, "char buf[]"), '"%ps: %s", (void *)REC->ip, REC->buf', None),
    ("raw_data", ("unsigned int id", "char buf[]"), '"id:%04x %08x", REC->id, (int)REC->buf[0]', None),
    ("bputs", (_IP, "const char * str"), '"%ps: %s", (void *)REC->ip, REC->str', None),
    ("mmiotrace_rw", ("resource_size_t phys", "unsigned long value", "unsigned long pc", "int map_id",
                         "unsigned char opcode", "unsigned char width"),
     '"%lx %lx %lx %d %x %x", (unsigned long)REC->phys, REC->value, REC->pc, REC->map_id, REC->opcode, REC->width', None),
    ("mmiotrace_map", ("resource_size_t phys", "unsigned long virt", "unsigned long len", "int map_id",
                          "unsigned char opcode"),
     '"%lx %lx %lx %d %x", (unsigned long)REC->phys, REC->virt, REC->len, REC->map_id, REC->opcode', None),
    ("branch", ("unsigned int line", "char func[31]", "char file[21]", "char correct", "char constant"),
     '"%u:%s:%s (%u)%s", REC->line, REC->func, REC->file, REC->correct, REC->constant ? " CONSTANT" : ""', "4.19"),
    ("hwlat", ("u64 duration", "u64 outer_duration", "u64 nmi_total_ts", "s64 tv_sec", "long tv_nsec",
                   "unsigned int nmi_count", "unsigned int seqnum", "unsigned int count"),
     '"cnt:%u\\tts:%010llu.%010lu\\tinner:%llu\\touter:%llu\\tcount:%d\\tnmi-ts:%llu\\tnmi-count:%u\\n", REC->seqnum, '
     "REC->tv_sec, REC->tv_nsec, REC->duration, REC->outer_duration, REC->count, REC->nmi_total_ts, REC->nmi_count", "4.9"),
    ("func_repeats", (_IP, "unsigned long parent_ip", "u16 count", "u16 top_delta_ts", "u32 bottom_delta_ts"),
     '" %ps <-%ps\\t(repeats:%u  delta: -%llu)", (void *)REC->ip, (void *)REC->parent_ip, REC->count, '
     "(((u64)(REC)->top_delta_ts << 32) | (REC)->bottom_delta_ts)", "5.13"),
    ("osnoise", ("u64 noise", "u64 runtime", "u64 max_sample", "unsigned int hw_count", "unsigned int nmi_count",
                     "unsigned int irq_count", "unsigned int softirq_count", "unsigned int thread_count"),
     '"noise:%llu\\tmax_sample:%llu\\thw:%u\\tnmi:%u\\tirq:%u\\tsoftirq:%u\\tthread:%u\\n", REC->noise, REC->max_sample, '
     "REC->hw_count, REC->nmi_count, REC->irq_count, REC->softirq_count, REC->thread_count", "5.14"),
    ("timerlat", ("unsigned int seqnum", "int context", "u64 timer_latency"),
     '"seq:%u\\tcontext:%d\\ttimer_latency:%llu\\n", REC->seqnum, REC->context, REC->timer_latency', "5.14"),
)  # fmt: skip

WITH_NUMBER = ("function", "print")  # perf may open them


class FtraceEntry(LazyEvent):
    """One of them: it has a format, is never enabled, and in `print` may have triggers."""

    def __init__(self, recorder: Recorder, row: Row) -> None:
        super().__init__(recorder, "ftrace", row[0])
        self.row = row
        self.id = entry_number(row[0], recorder.host.version)
        self.perf_may_count = row[0] in WITH_NUMBER
        self.on_perf: Callable[[bool], None] = lambda on: None  # who writes it begins to count, or ends

    def reg(self, kind: str) -> None:
        """The first perf event."""
        self.on_perf(True)

    def unreg(self, kind: str) -> None:
        """The last is gone."""
        self.on_perf(False)

    def lay_out(self) -> tuple[list[Field], str]:
        """As this very kernel was recorded, or placed as the C struct has them."""
        recorded = KnownEvents(self.host).recorded(self.system, self.name)
        if recorded is not None:
            return recorded
        _, declarations, print_fmt, _ = self.row
        layout = FieldLayout(self.host.arch.model, self.board.char_signed)
        fields = []
        for declaration in declarations:
            size = _SIZES.get(declaration.split()[0], 0)
            if declaration.endswith("[]"):
                element = layout.add(declaration[:-2])
                kind = filter_assign_type(f"{element.type}[]")
                fields.append(replace(element, type=f"{element.type}[]", size=0, filter_type=kind))
            else:
                fields.append(layout.add(declaration, size, size, False if size else None))
        return fields, print_fmt


def header_page(board: Board, size: int) -> str:
    """The header of a page of trace_pipe_raw."""
    overwrite = f"char overwrite;\toffset:8;\tsize:1;\tsigned:{int(board.char_signed)}"
    if not board.features.header_page_chars:
        overwrite = "int overwrite;\toffset:8;\tsize:1;\tsigned:1"
    return (
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
        f"\tfield: local_t commit;\toffset:8;\tsize:{board.word};\tsigned:1;\n"
        f"\tfield: {overwrite};\n"
        f"\tfield: char data;\toffset:16;\tsize:{size - 16};\tsigned:{int(board.char_signed)};\n"
    )
