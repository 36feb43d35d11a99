"""The perf ring buffer that user space maps.  kernel/events/ring_buffer.c, struct perf_event_mmap_page.

One control page and 2^n data pages, real pages of simulated kernel memory: the floor above maps them into the task.
Head and tail are free running byte counts; records wrap byte-wise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from arch.abi.errno import EINVAL, EOPNOTSUPP
from arch.abi.limits import PAGE_SIZE
from arch.abi.poll import EPOLLIN
from arch.errors import KernelError

if TYPE_CHECKING:
    from tracing.face import KernelMem


# struct perf_event_mmap_page, offsets
OFF_VERSION, OFF_LOCK, OFF_INDEX, OFF_OFFSET = 0, 8, 12, 16
OFF_TIME_ENABLED, OFF_TIME_RUNNING, OFF_CAPABILITIES = 24, 32, 40
OFF_PMC_WIDTH, OFF_TIME_SHIFT, OFF_TIME_MULT, OFF_TIME_OFFSET, OFF_TIME_ZERO, OFF_SIZE = 48, 50, 52, 56, 64, 72
OFF_DATA_HEAD, OFF_DATA_TAIL, OFF_DATA_OFFSET, OFF_DATA_SIZE = 1024, 1032, 1040, 1048
OFF_AUX_OFFSET, OFF_AUX_SIZE = 1072, 1080
HEADER_SIZE = 76  # offset of the reserved area before 5.12 added time_cycles and time_mask
HEADER_SIZE_5_12 = 96

CAP_USER_TIME, CAP_USER_TIME_ZERO = 1 << 3, 1 << 4


class PerfBuffer:
    """struct perf_buffer (ring_buffer in older kernels).  Native code reads its slots (native_output.py)."""

    __slots__ = (
        "backward", "base", "data", "events", "head", "lost", "mapped", "mem", "nr_pages", "on_wakeup", "overwrite", "paused",
        "poll", "size", "wakeup_mark", "watermark",
    )  # fmt: skip

    def __init__(self, mem: KernelMem, nr_pages: int, watermark: int, overwrite: bool, header_size: int) -> None:
        self.mem = mem
        self.nr_pages = nr_pages
        self.size = nr_pages * PAGE_SIZE
        self.base = mem.alloc((1 + nr_pages) * PAGE_SIZE, PAGE_SIZE)  # contiguous: control page, then data
        self.data = self.base + PAGE_SIZE
        self.overwrite = overwrite
        self.paused = not nr_pages
        self.backward = False
        self.head = 0
        self.lost = 0  # records since the last that fitted
        self.wakeup_mark = 0
        self.watermark = min(self.size, watermark) if watermark else 0
        self.watermark = self.watermark or self.size // 2
        self.events = 0
        self.poll = 0
        self.mapped = 1
        self.on_wakeup: list[Callable[[], None]] = []
        mem.write_uint(self.base + OFF_CAPABILITIES, 8, 1 << 1 if mem.byteorder == "little" else 1 << 62)
        mem.write_uint(self.base + OFF_SIZE, 4, header_size)
        mem.write_uint(self.base + OFF_DATA_OFFSET, 8, PAGE_SIZE)
        mem.write_uint(self.base + OFF_DATA_SIZE, 8, self.size)

    def check_aux(self, offset: int, length: int) -> None:
        """perf_mmap() of the AUX area that the control page asks for: of a source that has one.  EINVAL, EOPNOTSUPP."""
        wanted, size = (self.mem.read_uint(self.base + at, 8) for at in (OFF_AUX_OFFSET, OFF_AUX_SIZE))
        pages = length // PAGE_SIZE
        if (
            wanted < PAGE_SIZE + self.size
            or wanted != offset
            or size != length
            or length % PAGE_SIZE
            or pages & (pages - 1)
        ):
            raise KernelError(EINVAL, "the AUX area is elsewhere")
        raise KernelError(EOPNOTSUPP, "no AUX area")

    def pages(self) -> list[int]:
        """Kernel addresses of the pages to map, in order."""
        return [self.base + index * PAGE_SIZE for index in range(1 + self.nr_pages)]

    @property
    def tail(self) -> int:
        """How far user space has read (data_tail), in bytes since the beginning."""
        return self.mem.read_uint(self.base + OFF_DATA_TAIL, 8)

    def room(self) -> int:
        """CIRC_SPACE()."""
        if self.backward:
            return (self.head - self.tail - 1) & (self.size - 1)
        return (self.tail - self.head - 1) & (self.size - 1)

    def write(self, record: bytes, lost_record: Callable[[int], bytes]) -> bool:
        """perf_output_begin() to _end(): the record, preceded by PERF_RECORD_LOST if records were lost before."""
        if self.paused:
            self.lost += bool(self.nr_pages)
            return False
        prefix = lost_record(self.lost) if self.lost else b""
        need = len(record) + len(prefix)
        if need > self.size or (not self.overwrite and need > self.room()):
            self.lost += 1
            return False
        self.lost = 0
        if self.backward:
            self.head = (self.head - need) & 0xFFFFFFFFFFFFFFFF
            self._copy(self.head, prefix + record)
        else:
            self._copy(self.head, prefix + record)
            self.head += need
        mark = self.wakeup_mark
        if self.head - self.wakeup_mark > self.watermark and not self.backward:
            self.wakeup_mark += self.watermark
        self.mem.write_uint(self.base + OFF_DATA_HEAD, 8, self.head)
        if self.wakeup_mark != mark:
            self.wakeup()
        return True

    def _copy(self, position: int, data: bytes) -> None:
        start = position & (self.size - 1)
        first = min(len(data), self.size - start)
        self.mem.write(self.data + start, data[:first])
        if first < len(data):
            self.mem.write(self.data, data[first:])

    def count_event(self, wakeup_events: int) -> None:
        """A sample was written and wakeups go by number of samples."""
        self.events += 1
        if self.events >= wakeup_events:
            self.events -= wakeup_events
            self.wakeup()

    def wakeup(self) -> None:
        """perf_output_wakeup()."""
        self.poll = EPOLLIN
        for callback in tuple(self.on_wakeup):
            callback()

    def tell_clock(self, clock: tuple[int, int], now: int, others: bool) -> None:
        """arch_perf_update_userpage(): how a counter of the user's becomes ns since the events' beginning, and perf's time.

        `others`: the event has a clock of its own, and the page does not tell of it.
        """
        mem, base, (mult, shift) = self.mem, self.base, clock
        told = CAP_USER_TIME if others else CAP_USER_TIME | CAP_USER_TIME_ZERO
        mem.write_uint(base + OFF_CAPABILITIES, 8, mem.read_uint(base + OFF_CAPABILITIES, 8) | told)
        mem.write_uint(base + OFF_TIME_MULT, 4, mult)
        mem.write_uint(base + OFF_TIME_SHIFT, 2, shift)
        mem.write_uint(base + OFF_TIME_OFFSET, 8, -now & 0xFFFFFFFFFFFFFFFF)  # the counter is 0 when the time is

    def set_header(self, count: int, enabled: int, running: int) -> None:
        """perf_event_update_userpage()."""
        mem, base = self.mem, self.base
        sequence = mem.read_uint(base + OFF_LOCK, 4)
        mem.write_uint(base + OFF_OFFSET, 8, count & 0xFFFFFFFFFFFFFFFF)
        mem.write_uint(base + OFF_TIME_ENABLED, 8, enabled)
        mem.write_uint(base + OFF_TIME_RUNNING, 8, running)
        mem.write_uint(base + OFF_LOCK, 4, (sequence + 2) & 0xFFFFFFFF)

    def free(self) -> None:
        """The last mapping is gone."""
        self.mem.free(self.base)
