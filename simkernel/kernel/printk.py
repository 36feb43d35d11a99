"""The kernel's log: records in a ring that forgets the oldest, who has read how far, and how loud the console is.

kernel/printk/printk.c, kernel/printk/printk_ringbuffer.c.  Sequence numbers count records from 0; times are in ns.  A line that user
space wrote without a newline is not finished until the next record comes, and nobody reads it before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from arch.abi.kern_levels import KERN_WARNING, LOG_KERN
from arch.records import dataclass
from simkernel.kernel.ratelimit import RatelimitState
from simkernel.kernel.task import WaitQueue

LOG_BUF_LEN = 1 << 17  # CONFIG_LOG_BUF_SHIFT is 17 in Debian's kernels
PRB_AVGBITS = 5  # a descriptor for so many bytes, as a power of two
BLOCK = 8  # an unsigned long: the number before a record's text, and what its size is a multiple of

CONSOLE_EVENT_ALWAYS = "6.1"  # printk:console tells each record; before, what the console shows (5.10 does)
MINIMUM_CONSOLE_LOGLEVEL, DEFAULT_CONSOLE_LOGLEVEL = 1, 7


@dataclass(slots=True)
class Record:
    """struct printk_record."""

    seq: int
    ns: int
    facility: int
    level: int
    raw: bytes
    finished: bool = True

    @property
    def text(self) -> str:
        """What it says, its bytes as file names have them."""
        return self.raw.decode("utf-8", "surrogateescape")

    @property
    def priority(self) -> int:
        """Facility and level in the number of syslog(3)."""
        return self.facility << 3 | self.level

    @property
    def size(self) -> int:
        """Bytes of the ring: the block's number, the text with its NUL."""
        return BLOCK + -(-(len(self.raw) + 1) // BLOCK) * BLOCK

    def stamp(self) -> bytes:
        """print_time(), with the blank behind it."""
        seconds, rest = divmod(self.ns, 10**9)
        return b"[%5d.%06d] " % (seconds, rest // 1000)

    def printed(self) -> bytes:
        """record_print_text(): each line with the number and the time before it."""
        prefix = b"<%d>%s" % (self.priority, self.stamp())
        return b"".join(prefix + line + b"\n" for line in self.raw.split(b"\n"))


class KernelLog:
    """struct printk_ringbuffer, and the readers' places that all share."""

    def __init__(self) -> None:
        self.records: deque[Record] = deque()
        self.bytes = 0
        self.next_seq = 0
        self.clear_seq = 0  # what dmesg shows begins here
        self.syslog_seq = 0  # /proc/kmsg and syslog(2) have read until here,
        self.syslog_partial = 0  # and so many bytes of this record
        self.wait = WaitQueue("log_wait")
        self.restrict = True  # dmesg_restrict: only CAP_SYSLOG reads it (Debian's default)
        self.devkmsg = "ratelimit"  # what /dev/kmsg takes: "on", "off", or ten lines in five seconds
        # console_loglevel, default_message_loglevel, minimum_console_loglevel, default_console_loglevel
        self.levels = [DEFAULT_CONSOLE_LOGLEVEL, KERN_WARNING, MINIMUM_CONSOLE_LOGLEVEL, DEFAULT_CONSOLE_LOGLEVEL]
        self.saved_level: int | None = None  # of the console, while it is off
        self.show_unhandled_signals = True  # debug.exception-trace
        self.ratelimit = RatelimitState()  # printk_ratelimit(): kernel.printk_ratelimit, kernel.printk_ratelimit_burst

    # -- writing -------------------------------------------------------------------------------------------------

    def add(self, ns: int, text: bytes, level: int, facility: int = LOG_KERN, finished: bool = True) -> Record:
        """vprintk_store(): one more record; the oldest go where the ring is full."""
        if self.records:
            self.records[-1].finished = True
        record = Record(self.next_seq, ns, facility, level, text, finished)
        self.records.append(record)
        self.next_seq += 1
        self.bytes += record.size
        while self.bytes > LOG_BUF_LEN or len(self.records) > LOG_BUF_LEN >> PRB_AVGBITS:
            self.bytes -= self.records.popleft().size
        return record

    # -- reading -------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    @property
    def texts(self) -> list[str]:
        """What each record says."""
        return [record.text for record in self.records]

    @property
    def first_seq(self) -> int:
        """The oldest that is still there."""
        return self.next_seq - len(self.records)

    @property
    def end_seq(self) -> int:
        """prb_next_seq(): behind the last that can be read."""
        return self.next_seq - (bool(self.records) and not self.records[-1].finished)

    def read_valid(self, seq: int) -> Record | None:
        """prb_read_valid(): that record, or the oldest where it is gone; None while there is none."""
        seq = max(seq, self.first_seq)
        return self.records[seq - self.first_seq] if seq < self.end_seq else None

    def since(self, seq: int) -> list[Record]:
        """All that can be read, from there on."""
        first = self.first_seq
        return [self.records[at - first] for at in range(max(seq, first), self.end_seq)]

    def syslog_print(self, size: int) -> bytes:
        """syslog_print(): the next whole records; part of one where not even the first has room."""
        out = b""
        while len(out) < size and (record := self.read_valid(self.syslog_seq)) is not None:
            if record.seq != self.syslog_seq:  # the one before was overwritten
                self.syslog_seq, self.syslog_partial = record.seq, 0
            text = record.printed()[self.syslog_partial :]
            if len(text) <= size - len(out):
                self.syslog_seq, self.syslog_partial = record.seq + 1, 0
            elif not out:
                text = text[:size]
                self.syslog_partial += size
            else:
                break
            out += text
        return out

    def unread(self) -> int:
        """SYSLOG_ACTION_SIZE_UNREAD: bytes that syslog_print() has."""
        records = self.since(self.syslog_seq)
        if not records or records[0].seq != self.syslog_seq:
            self.syslog_partial = 0
        return sum(len(record.printed()) for record in records) - self.syslog_partial

    def print_all(self, size: int, clear: bool) -> bytes:
        """syslog_print_all(): the newest records since the log was cleared that have room."""
        records = self.since(self.clear_seq)
        texts: deque[bytes] = deque()
        for record in reversed(records):
            text = record.printed()
            size -= len(text)
            if size < 0:
                break
            texts.appendleft(text)
        if clear:
            self.clear()
        return b"".join(texts)

    def clear(self) -> None:
        """What dmesg shows begins here; the records stay."""
        self.clear_seq = self.end_seq

    # -- the console ---------------------------------------------------------------------------------------------

    @property
    def console_loglevel(self) -> int:
        """Lines of lower levels are for the console."""
        return self.levels[0]

    def set_console_loglevel(self, level: int) -> None:
        """SYSLOG_ACTION_CONSOLE_LEVEL."""
        self.levels[0] = max(level, self.levels[2])
        self.saved_level = None

    def set_levels(self, levels: Iterable[int]) -> None:
        """kernel.printk."""
        self.levels[:] = levels

    def console_off(self) -> None:
        """SYSLOG_ACTION_CONSOLE_OFF: only what is lost for ever."""
        if self.saved_level is None:
            self.saved_level = self.levels[0]
        self.levels[0] = self.levels[2]

    def console_on(self) -> None:
        """SYSLOG_ACTION_CONSOLE_ON: as it was before it was off."""
        if self.saved_level is not None:
            self.levels[0], self.saved_level = self.saved_level, None

    def for_console(self, record: Record) -> bool:
        """suppress_message_printing(), the other way round."""
        return record.level < self.levels[0]
