"""perf.data, as perf itself writes it: tools/perf/Documentation/perf.data-file-format.txt, tools/perf/util/header.c.

In the byte order of the simulated machine; perf reads either.  Every event of the trace becomes a sample of a tracepoint
event with the record in it, and every CPU sample one of cpu-clock, in order of time, with the records about tasks between.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from heapq import merge

from arch.abi.perf_event import (
    PERF_CONTEXT_KERNEL,
    PERF_CONTEXT_USER,
    PERF_COUNT_SW_CPU_CLOCK,
    PERF_RECORD_COMM,
    PERF_RECORD_EXIT,
    PERF_RECORD_FORK,
    PERF_RECORD_KSYMBOL,
    PERF_RECORD_MISC_KERNEL,
    PERF_RECORD_MISC_USER,
    PERF_RECORD_MMAP2,
    PERF_RECORD_SAMPLE,
    PERF_SAMPLE_CALLCHAIN,
    PERF_SAMPLE_CPU,
    PERF_SAMPLE_IDENTIFIER,
    PERF_SAMPLE_IP,
    PERF_SAMPLE_PERIOD,
    PERF_SAMPLE_RAW,
    PERF_SAMPLE_TID,
    PERF_SAMPLE_TIME,
    PERF_TYPE_SOFTWARE,
    PERF_TYPE_TRACEPOINT,
)
from simkernel.recording.formats.text import CLOCK, comm_of, perf_events
from simkernel.recording.formats.tracingdata import kernel_symbols, tracing_data
from simkernel.recording.model import Recording
from simkernel.recording.rows import Event, MappedFile, Sample, Stack, TaskInfo
from tracing.perf.attr import FLAG_BITS

PERF_MAGIC, FILE_HEADER_SIZE, ATTR_SIZE = b"PERFILE2", 104, 112
# enum of tools/perf/util/header.h
(HEADER_TRACING_DATA, HEADER_BUILD_ID, HEADER_HOSTNAME, HEADER_OSRELEASE, HEADER_VERSION, HEADER_ARCH,
 HEADER_NRCPUS) = range(1, 8)  # fmt: skip
HEADER_CMDLINE, HEADER_EVENT_DESC, HEADER_SAMPLE_TIME = 11, 12, 21
NAME_ALIGN = 64
NO_CPU = 0xFFFFFFFF  # a CPU that is not known
KSYMBOL_TYPE_OOL = 2  # code that is no part of the kernel's image: perf needs no kallsyms to name it
BASE = (
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD
)
FLAGS = ("disabled", "mmap", "comm", "task", "sample_id_all", "mmap2", "comm_exec")


class PerfData:
    """One file."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.order = "<" if recording.meta.byteorder == "little" else ">"
        self.tgids = {task.pid: task.tgid for task in recording.tasks}
        self.comms: dict[int, str] = {}
        events = list(perf_events(recording))
        self.stacks = {each.name for each in events if each.kernel_stack or each.user_stack}
        names = sorted({each.name for each in events}, key=lambda name: recording.formats[name].id)
        self.names = [CLOCK] * bool(recording.samples) + names
        if not self.names:
            raise ValueError("neither events nor CPU samples were recorded: --event GROUP:NAME, --sample HZ")
        self.ids = {name: number for number, name in enumerate(self.names, 1)}
        self.events = events

    def pack(self, form: str, *values: int | bytes) -> bytes:
        """In the machine's byte order."""
        return struct.pack(self.order + form, *values)

    # Attributes

    def sample_type(self, name: str) -> int:
        """What the samples of an event have."""
        if name == CLOCK:
            return BASE | PERF_SAMPLE_CALLCHAIN
        return BASE | PERF_SAMPLE_RAW | (PERF_SAMPLE_CALLCHAIN if name in self.stacks else 0)

    def attr(self, name: str) -> bytes:
        """struct perf_event_attr."""
        clock = name == CLOCK
        flags = [*FLAGS, "freq"] if clock else FLAGS
        bits = sum(1 << FLAG_BITS.index(flag) for flag in flags)
        if self.order == ">":  # bit-fields fill from the other end
            bits = int(f"{bits:064b}"[::-1], 2)
        kind = PERF_TYPE_SOFTWARE if clock else PERF_TYPE_TRACEPOINT
        config = PERF_COUNT_SW_CPU_CLOCK if clock else self.recording.formats[name].id
        period = self.recording.meta.sample_hz if clock else 1
        out = self.pack("IIQQQQQ", kind, ATTR_SIZE, config, period, self.sample_type(name), 0, bits)
        return out.ljust(ATTR_SIZE, b"\0")

    # Records

    def record(self, kind: int, misc: int, body: bytes) -> bytes:
        """struct perf_event_header and what follows."""
        return self.pack("IHH", kind, misc, 8 + len(body)) + body

    def about(self, kind: int, body: bytes, ts: int, pid: int, misc: int = 0) -> bytes:
        """A record that is no sample, with the trailer of sample_id_all."""
        trailer = self.pack("IIQIIQ", self.tgids.get(pid, pid), pid, ts, NO_CPU, 0, 1)
        return self.record(kind, misc, body + trailer)

    def text(self, value: str) -> bytes:
        """With its NUL, as a multiple of eight bytes."""
        data = value.encode() + b"\0"
        return data + bytes(-len(data) % 8)

    def named(self, pid: int, comm: str, ts: int) -> bytes:
        """PERF_RECORD_COMM where the name of a task is another than before."""
        if not pid or self.comms.get(pid) == comm:
            return b""
        self.comms[pid] = comm
        return self.about(PERF_RECORD_COMM, self.pack("II", self.tgids.get(pid, pid), pid) + self.text(comm), ts, pid)

    def forked(self, task: TaskInfo, kind: int, ts: int) -> bytes:
        """PERF_RECORD_FORK or EXIT."""
        body = self.pack("IIIIQ", task.tgid, task.ppid, task.pid, task.ppid, ts)
        return self.about(kind, body, ts, task.pid)

    def mapped(self, file: MappedFile) -> bytes:
        """PERF_RECORD_MMAP2."""
        body = self.pack(
            "IIQQQIIQQII", file.pid, file.pid, file.start, file.length, file.offset, file.major, file.minor, file.ino, 0,
            file.prot, file.flags,
        )  # fmt: skip
        return self.about(PERF_RECORD_MMAP2, body + self.text(file.path), file.ts, file.pid, PERF_RECORD_MISC_USER)

    def symbols(self) -> Iterator[bytes]:
        """PERF_RECORD_KSYMBOL of every kernel function that stands on a stack."""
        known = list(kernel_symbols(self.recording).items())
        end = self.recording.meta.kernel_text[1]
        for (address, name), (following, _) in zip(known, [*known[1:], (end, "")]):
            size = max(following - address, 1) if following > address else 1
            body = self.pack("QIHH", address, min(size, 0xFFFFFFFF), KSYMBOL_TYPE_OOL, 0) + self.text(name)
            yield self.about(PERF_RECORD_KSYMBOL, body, 0, 0, PERF_RECORD_MISC_KERNEL)

    def chain(self, kernel: Stack, user: Stack) -> bytes:
        """Count, and addresses behind their marks."""
        ips = [PERF_CONTEXT_KERNEL, *(frame.ip for frame in kernel)] if kernel else []
        ips += [PERF_CONTEXT_USER, *(frame.ip for frame in user)] if user else []
        return self.pack(f"{1 + len(ips)}Q", len(ips), *ips)

    def start(self, name: str, ip: int, pid: int, ts: int, cpu: int, period: int) -> bytes:
        """The members that all samples have."""
        return self.pack("QQIIQIIQ", self.ids[name], ip, self.tgids.get(pid, pid), pid, ts, cpu, 0, period)

    def sampled(self, sample: Sample) -> bytes:
        """A CPU sample."""
        body = self.start(CLOCK, sample.ip, sample.pid, sample.ts, sample.cpu, sample.period)
        misc = PERF_RECORD_MISC_KERNEL if sample.kernel else PERF_RECORD_MISC_USER
        record = self.record(PERF_RECORD_SAMPLE, misc, body + self.chain(sample.kernel, sample.user))
        return self.named(sample.pid, sample.comm, sample.ts) + record

    def fired(self, event: Event) -> bytes:
        """A sample of a tracepoint: the record, behind its size, which makes both a multiple of eight."""
        ip = event.kernel_stack[0].ip if event.kernel_stack else 0
        body = self.start(event.name, ip, event.pid, event.ts, event.cpu, 1)
        if event.name in self.stacks:
            body += self.chain(event.kernel_stack, event.user_stack)
        size = -(-(len(event.raw) + 4) // 8) * 8 - 4
        body += self.pack("I", size) + event.raw.ljust(size, b"\0")
        record = self.record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, body)
        return self.named(event.pid, comm_of(event), event.ts) + record

    def data(self) -> Iterator[bytes]:
        """Every record, in order of time."""
        yield from self.symbols()
        begin = self.recording.meta.begin
        for task in self.recording.tasks:
            if task.begin <= begin:
                yield self.named(task.pid, task.comm, 0)
        forks = ((task.begin, 0, index, task) for index, task in enumerate(self.recording.tasks) if task.begin > begin)
        files = ((file.ts, 1, index, file) for index, file in enumerate(self.recording.files))
        events = ((event.ts, 2, index, event) for index, event in enumerate(self.events))
        samples = ((sample.ts, 3, index, sample) for index, sample in enumerate(self.recording.samples))
        ended = sorted((task.end, task.pid, task) for task in self.recording.tasks if task.end is not None)
        exits = ((end, 4, index, task) for index, (end, _, task) in enumerate(ended))
        for ts, which, _, what in merge(forks, files, events, samples, exits, key=lambda row: row[:3]):
            match what:
                case MappedFile():
                    yield self.mapped(what)
                case Event():
                    yield self.fired(what)
                case Sample():
                    yield self.sampled(what)
                case TaskInfo():
                    yield self.forked(what, PERF_RECORD_EXIT if which == 4 else PERF_RECORD_FORK, ts)

    # The file

    def string(self, value: str) -> bytes:
        """struct perf_header_string."""
        data = value.encode() + b"\0"
        data += bytes(-len(data) % NAME_ALIGN)
        return self.pack("I", len(data)) + data

    def features(self) -> dict[int, bytes]:
        """What perf_header writes behind the data, by bit."""
        meta = self.recording.meta
        described = self.pack("II", len(self.names), ATTR_SIZE)
        for name in self.names:
            described += self.attr(name) + self.pack("I", 1) + self.string(name) + self.pack("Q", self.ids[name])
        words = meta.repeat.split() or ["simkernel"]
        return {
            HEADER_TRACING_DATA: tracing_data(self.recording),
            HEADER_HOSTNAME: self.string(meta.hostname),
            HEADER_OSRELEASE: self.string(meta.release),
            HEADER_VERSION: self.string(f"simkernel {meta.version}"),
            HEADER_ARCH: self.string(meta.machine),
            HEADER_NRCPUS: self.pack("II", meta.cpus, meta.cpus),
            HEADER_CMDLINE: self.pack("I", len(words)) + b"".join(map(self.string, words)),
            HEADER_EVENT_DESC: described,
            HEADER_SAMPLE_TIME: self.pack("QQ", meta.begin, meta.end),
        }

    def file(self) -> bytes:
        """Header, numbers, attributes, data, features."""
        ids = b"".join(self.pack("Q", self.ids[name]) for name in self.names)
        attrs_at = FILE_HEADER_SIZE + len(ids)
        attrs = b"".join(
            self.attr(name) + self.pack("QQ", FILE_HEADER_SIZE + 8 * index, 8) for index, name in enumerate(self.names)
        )
        data_at, data = attrs_at + len(attrs), b"".join(self.data())
        features = self.features()
        at = data_at + len(data) + 16 * len(features)
        table, content = b"", b""
        for _, part in sorted(features.items()):
            table += self.pack("QQ", at + len(content), len(part))
            content += part
        bits = sum(1 << bit for bit in features)
        header = self.pack(
            "8sQQQQQQQQ4Q", PERF_MAGIC if self.order == "<" else PERF_MAGIC[::-1], FILE_HEADER_SIZE, ATTR_SIZE + 16, attrs_at, len(attrs),
            data_at, len(data), 0, 0, bits, 0, 0, 0,
        )  # fmt: skip
        return header + ids + attrs + data + table + content


def perf_data(recording: Recording) -> Iterator[bytes]:
    """The file.  ValueError."""
    yield PerfData(recording).file()
