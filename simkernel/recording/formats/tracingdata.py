"""The part of perf.data and trace.dat that describes the events: tools/perf/util/trace-event-info.c, libtraceevent.

Header texts, the format file of each event, the addresses of kernel functions and the names of tasks, each behind its size.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from arch.abi.limits import PAGE_SIZE
from simkernel.recording.model import Recording
from tracing.files.formats import HEADER_EVENT

TRACING_MAGIC, TRACING_VERSION = b"\x17\x08\x44tracing", b"0.6"
# u64 timestamp, local_t commit, then the data.
HEADER_PAGE = (
    "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
    "\tfield: local_t commit;\toffset:8;\tsize:{word};\tsigned:1;\n"
    "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
    "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n"
)


def kernel_symbols(recording: Recording) -> dict[int, str]:
    """The kernel functions that stand on a recorded stack, by address."""
    out: dict[int, str] = {}
    for sample in recording.samples:
        out.update((frame.ip - frame.offset, frame.symbol) for frame in sample.kernel if frame.symbol)
    for event in recording.events:
        out.update((frame.ip - frame.offset, frame.symbol) for frame in event.kernel_stack if frame.symbol)
    return dict(sorted(out.items()))


def kallsyms(recording: Recording) -> str:
    """In the format of /proc/kallsyms."""
    width = 2 * recording.meta.word
    rows = {recording.meta.kernel_text[0]: "_text", **kernel_symbols(recording)}
    return "".join(f"{address:0{width}x} T {name}\n" for address, name in sorted(rows.items()))


def symbols(recording: Recording) -> Iterator[bytes]:
    """As a file, for tools that take one (perf report --kallsyms)."""
    yield kallsyms(recording).encode()


def tracing_data(recording: Recording) -> bytes:
    """All of it."""
    meta = recording.meta
    order = "<" if meta.byteorder == "little" else ">"

    def sized(text: str, size: str = "Q") -> bytes:
        data = text.encode()
        return struct.pack(order + size, len(data)) + data

    head = (
        TRACING_MAGIC
        + TRACING_VERSION
        + b"\0"
        + bytes([meta.byteorder == "big", meta.word])
        + struct.pack(order + "I", PAGE_SIZE)
    )
    head += b"header_page\0" + sized(HEADER_PAGE.format(word=meta.word)) + b"header_event\0" + sized(HEADER_EVENT)
    systems: dict[str, list[str]] = {}
    for name, event in sorted(recording.formats.items()):
        systems.setdefault(name.partition(":")[0], []).append(event.text)
    ftrace = systems.pop("ftrace", [])
    out = head + struct.pack(order + "I", len(ftrace)) + b"".join(map(sized, ftrace))
    out += struct.pack(order + "I", len(systems))
    for system, formats in systems.items():
        out += system.encode() + b"\0" + struct.pack(order + "I", len(formats)) + b"".join(map(sized, formats))
    names = "".join(f"{task.pid} {task.comm}\n" for task in recording.tasks)
    return out + sized(kallsyms(recording), "I") + sized("", "I") + sized(names)
