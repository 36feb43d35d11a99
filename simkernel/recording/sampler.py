"""CPU samples as `perf record -a -g` takes them: perf_event_open(2) by the tool's task, one clock for each CPU.

Beside the samples the same rings tell of tasks and of files they map, by which addresses of user code get their names.
"""

from __future__ import annotations

from arch.abi.errno import ENOMEM
from arch.abi.mman import MAP_SHARED, PROT_EXEC, PROT_READ, PROT_WRITE
from arch.abi.perf_event import (
    PERF_CONTEXT_KERNEL,
    PERF_CONTEXT_USER,
    PERF_COUNT_SW_CPU_CLOCK,
    PERF_COUNT_SW_DUMMY,
    PERF_EVENT_IOC_DISABLE,
    PERF_EVENT_IOC_ENABLE,
    PERF_RECORD_COMM,
    PERF_RECORD_FORK,
    PERF_RECORD_LOST,
    PERF_RECORD_MMAP2,
    PERF_RECORD_SAMPLE,
    PERF_SAMPLE_CALLCHAIN,
    PERF_SAMPLE_CPU,
    PERF_SAMPLE_IP,
    PERF_SAMPLE_PERIOD,
    PERF_SAMPLE_TID,
    PERF_SAMPLE_TIME,
    PERF_TYPE_SOFTWARE,
)
from arch.errors import KernelError
from arch.records import dataclass
from bpf.loader.buffers import DATA_HEAD
from bpf.loader.events import perf_attr
from bpf.loader.sys import Task
from simkernel.recording.rows import MappedFile
from tracing.perf.attr import FLAG_BITS

SAMPLE_TYPE = (
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD
)
FLAGS = ("disabled", "exclude_idle", "mmap", "comm", "freq", "task", "sample_id_all", "mmap2", "comm_exec")
RING_PAGES = 512  # 2 MiB for each CPU, as far as all of them together stay under
ALL_RINGS = 4096  # pages


@dataclass(slots=True)
class RawSample:
    """A sample before its addresses have names."""

    ts: int
    cpu: int
    pid: int
    tgid: int
    period: int
    ip: int
    kernel: tuple[int, ...]
    user: tuple[int, ...]


@dataclass(slots=True)
class Ring:
    """One CPU's event and its mapped buffer."""

    cpu: int
    fd: int
    base: int
    size: int  # bytes of the data pages


class Sampler:
    """Samples from its making on, `hz` times a second of virtual time; with 0 it is only told of tasks and files."""

    def __init__(self, task: Task, cpus: int, hz: int) -> None:
        self.task, self.hz = task, hz
        self.samples: list[RawSample] = []
        self.files: list[MappedFile] = []
        self.comms: list[tuple[int, int, str]] = []  # (time, pid, name)
        self.parents: dict[int, tuple[int, int]] = {}  # process -> (its parent, when it began)
        self.lost = 0
        self.pages = RING_PAGES
        while self.pages > 1 and self.pages * cpus > ALL_RINGS:
            self.pages //= 2
        self.rings: list[Ring] = []
        for cpu in range(cpus):
            self.rings.append(self._open(cpu))
        for ring in self.rings:
            task.ioctl(ring.fd, PERF_EVENT_IOC_ENABLE)

    def _open(self, cpu: int) -> Ring:
        task = self.task
        flags = sum(1 << FLAG_BITS.index(name) for name in FLAGS)
        if task.byteorder == "big":  # bit-fields fill from the other end
            flags = int(f"{flags:064b}"[::-1], 2)
        event = PERF_COUNT_SW_CPU_CLOCK if self.hz else PERF_COUNT_SW_DUMMY
        attr = perf_attr(
            task, PERF_TYPE_SOFTWARE, event, sample_period=self.hz, sample_type=SAMPLE_TYPE, flags=flags
        )  # fmt: skip
        fd = task.perf_event_open(attr, -1, cpu)
        while True:
            size = self.pages * task.page_size
            try:
                base = task.mmap(size + task.page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd)
            except KernelError as error:
                if error.errno != ENOMEM or self.pages <= 1:
                    raise
                self.pages //= 2
                continue
            return Ring(cpu, fd, base, size)

    def stop(self) -> None:
        """Read what is there and close."""
        rings, self.rings = self.rings, []
        for ring in rings:
            self.task.ioctl(ring.fd, PERF_EVENT_IOC_DISABLE)
        for ring in rings:
            self._read(ring)
            self.task.munmap(ring.base, ring.size + self.task.page_size)
            self.task.close(ring.fd)
        self.samples.sort(key=lambda sample: (sample.ts, sample.cpu))
        self.files.sort(key=lambda file: file.ts)
        self.comms.sort()

    def _read(self, ring: Ring) -> None:
        """A ring that keeps its oldest: it is read once, from its beginning."""
        task = self.task
        head = task.unpack("Q", task.sys.read(ring.base + DATA_HEAD, 8))[0]
        data = task.sys.read(ring.base + task.page_size, min(head, ring.size))
        at = 0
        while at + 8 <= len(data):
            kind, _, size = task.unpack("IHH", data[at : at + 8])
            if size < 8:
                break
            self._record(kind, data[at + 8 : at + size])
            at += size

    def _record(self, kind: int, body: bytes) -> None:
        unpack = self.task.unpack
        if kind == PERF_RECORD_SAMPLE:
            ip, tgid, pid, ts, cpu, _, period, count = unpack("QIIQIIQQ", body[:48])
            kernel, user = split_chain(unpack(f"{count}Q", body[48 : 48 + 8 * count]))
            self.samples.append(RawSample(ts, cpu, pid, tgid, period, ip, kernel, user))
        elif kind == PERF_RECORD_LOST:
            self.lost += unpack("QQ", body[:16])[1]
        elif kind == PERF_RECORD_COMM:
            pid = unpack("II", body[:8])[1]
            ts = unpack("Q", body[-16:-8])[0]
            self.comms.append((ts, pid, text(body[8:-24])))
        elif kind == PERF_RECORD_FORK:
            tgid, parent, _, _, ts = unpack("IIIIQ", body[:24])
            if tgid != parent:
                self.parents[tgid] = (parent, ts)
        elif kind == PERF_RECORD_MMAP2:
            tgid, _, start, length, offset, major, minor, ino, _, prot, flags = unpack("IIQQQIIQQII", body[:64])
            ts = unpack("Q", body[-16:-8])[0]
            if prot & PROT_EXEC:
                path = text(body[64:-24])
                self.files.append(
                    MappedFile(ts, tgid, start, length, offset, path, prot, flags, major, minor, ino)
                )  # fmt: skip


def split_chain(chain: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(kernel, user) addresses of a callchain, whose parts stand behind marks."""
    parts: dict[int, list[int]] = {PERF_CONTEXT_KERNEL: [], PERF_CONTEXT_USER: []}
    current = parts[PERF_CONTEXT_KERNEL]
    for ip in chain:
        if ip in parts:
            current = parts[ip]
        else:
            current.append(ip)
    return tuple(parts[PERF_CONTEXT_KERNEL]), tuple(parts[PERF_CONTEXT_USER])


def text(data: bytes) -> str:
    """A name that ends with NULs."""
    return data.split(b"\0", 1)[0].decode(errors="backslashreplace")
