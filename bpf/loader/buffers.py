"""Reading what programs send: perf buffers (a ring per CPU) and BPF ring buffers (one, shared).

tools/lib/bpf/libbpf.c: perf_buffer__*(); ringbuf.c.  Both are mapped memory of the task, read and acknowledged there.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import ENODEV
from arch.abi.mman import MAP_SHARED, PROT_READ, PROT_WRITE
from arch.abi.perf_event import (
    PERF_COUNT_SW_BPF_OUTPUT,
    PERF_EVENT_IOC_ENABLE,
    PERF_RECORD_LOST,
    PERF_RECORD_SAMPLE,
    PERF_SAMPLE_RAW,
    PERF_TYPE_SOFTWARE,
)
from arch.errors import KernelError
from arch.records import dataclass
from bpf import uapi
from bpf.loader.errors import LoadError
from bpf.loader.events import perf_attr
from bpf.loader.maps import Map, cpu_list, possible_cpus
from bpf.loader.sys import Task

# struct perf_event_mmap_page
DATA_HEAD, DATA_TAIL = 1024, 1032
RINGBUF_BUSY, RINGBUF_DISCARD = 1 << 31, 1 << 30
RINGBUF_HEADER = 8

Sample = Callable[[int, bytes], None]
Lost = Callable[[int, int], None]


@dataclass
class _Ring:
    cpu: int
    fd: int
    base: int
    size: int  # of the data pages


class PerfBuffer:
    """A BPF_MAP_TYPE_PERF_EVENT_ARRAY and its rings: `poll` calls `sample(cpu, bytes)` and `lost(cpu, count)`."""

    def __init__(self, map_: Map, sample: Sample, lost: Lost | None = None, pages: int = 8) -> None:
        if map_.type != uapi.BPF_MAP_TYPE_PERF_EVENT_ARRAY:
            raise LoadError(f"map '{map_.name}' should be BPF_MAP_TYPE_PERF_EVENT_ARRAY")
        if pages < 1 or pages & (pages - 1):
            raise LoadError(f"page count should be power of two, but is {pages}")
        assert map_.task is not None
        self.task: Task = map_.task
        self.map = map_
        self.sample = sample
        self.lost = lost
        self.rings: list[_Ring] = []
        limit = map_.definition.max_entries
        for cpu in self._online():
            if cpu < limit:
                self._open(cpu, pages)

    def _online(self) -> list[int]:
        try:
            return cpu_list(self.task.read_file("/sys/devices/system/cpu/online").decode())
        except KernelError:
            return list(range(possible_cpus(self.task)))

    def _open(self, cpu: int, pages: int) -> None:
        task = self.task
        attr = perf_attr(task, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT, sample_period=1,
                         sample_type=PERF_SAMPLE_RAW, wakeup_events=1)  # fmt: skip
        try:
            fd = task.perf_event_open(attr, -1, cpu)
        except KernelError as error:
            if error.errno == ENODEV:
                return  # the CPU went away
            raise LoadError(f"failed to open perf buffer event on cpu #{cpu}: {error}", error.errno) from None
        size = pages * task.page_size
        base = task.mmap(size + task.page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd)
        task.ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)
        self.map.update(task.pack("I", cpu), task.pack("I", fd))
        self.rings.append(_Ring(cpu, fd, base, size))

    def consume(self) -> int:
        """Deliver everything that is there; how many records."""
        return sum(self._drain(ring) for ring in self.rings)

    poll = consume

    def _drain(self, ring: _Ring) -> int:
        task, sys = self.task, self.task.sys
        head = task.unpack("Q", sys.read(ring.base + DATA_HEAD, 8))[0]
        tail = task.unpack("Q", sys.read(ring.base + DATA_TAIL, 8))[0]
        count = 0
        while tail < head:
            kind, _, size = task.unpack("IHH", self._bytes(ring, tail, 8))
            if size < 8 or size > ring.size:
                raise LoadError(f"perf buffer of cpu {ring.cpu}: record of {size} bytes at {tail}")
            record = self._bytes(ring, tail, size)
            tail += size
            count += 1
            if kind == PERF_RECORD_SAMPLE:
                length = task.unpack("I", record[8:12])[0]
                self.sample(ring.cpu, record[12 : 12 + length])
            elif kind == PERF_RECORD_LOST and self.lost is not None:
                self.lost(ring.cpu, task.unpack("QQ", record[8:24])[1])
        sys.write(ring.base + DATA_TAIL, task.pack("Q", tail))
        return count

    def _bytes(self, ring: _Ring, position: int, size: int) -> bytes:
        start = position % ring.size
        data = ring.base + self.task.page_size
        first = self.task.sys.read(data + start, min(size, ring.size - start))
        return first if len(first) == size else first + self.task.sys.read(data, size - len(first))

    def close(self) -> None:
        for ring in self.rings:
            self.task.munmap(ring.base, ring.size + self.task.page_size)
            self.task.close(ring.fd)
        self.rings.clear()


class RingBuffer:
    """A BPF_MAP_TYPE_RINGBUF: `poll` calls `sample(bytes)`."""

    def __init__(self, map_: Map, sample: Callable[[bytes], None]) -> None:
        if map_.type != uapi.BPF_MAP_TYPE_RINGBUF:
            raise LoadError(f"unsupported map type for ringbuf '{map_.name}'")
        assert map_.task is not None
        self.task: Task = map_.task
        self.sample = sample
        self.size = map_.definition.max_entries
        page = self.task.page_size
        self.consumer = self.task.mmap(page, PROT_READ | PROT_WRITE, MAP_SHARED, map_.fd)
        # The producer's page and the data twice over, so that a record never wraps.
        self.producer = self.task.mmap(page + 2 * self.size, PROT_READ, MAP_SHARED, map_.fd, page)
        self.data = self.producer + page

    def _position(self, where: int) -> int:
        word = self.task.word
        found: int = self.task.unpack("Q" if word == 8 else "I", self.task.sys.read(where, word))[0]
        return found

    def consume(self) -> int:
        """Deliver all committed records; how many."""
        sys, count = self.task.sys, 0
        at, end = self._position(self.consumer), self._position(self.producer)
        while at < end:
            header = self.task.unpack("I", sys.read(self.data + at % self.size, 4))[0]
            if header & RINGBUF_BUSY:
                break
            length = header & ~(RINGBUF_BUSY | RINGBUF_DISCARD)
            if not header & RINGBUF_DISCARD:
                self.sample(sys.read(self.data + at % self.size + RINGBUF_HEADER, length))
                count += 1
            at += (length + RINGBUF_HEADER + 7) // 8 * 8
            sys.write(self.consumer, self.task.pack("Q" if self.task.word == 8 else "I", at))
        return count

    poll = consume

    def close(self) -> None:
        self.task.munmap(self.producer, self.task.page_size + 2 * self.size)
        self.task.munmap(self.consumer, self.task.page_size)
