"""One value of /proc/sys/net, and how its handler reads what is written.  kernel/sysctl.c, net/core/neighbour.c.

What each file takes was asked of 5.10, 6.1, 6.12 and 7.2 with 64 texts; where a row's kernel is between two of them, it is that of the
first one that was seen to have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from arch.abi.errno import EINVAL
from arch.abi.limits import S32_MAX, U32_MAX
from arch.abi.time import HZ, USER_HZ
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.fs.sysctl_rows import SECONDS, Value, number, parse, taken

WIDE = -(1 << 40), (1 << 40)  # a long whose size is looked at as something smaller
MS_PER_JIFFY = 1000 // HZ


class Kind(Enum):
    """A handler."""

    INT = "proc_dointvec"  # and its like: numbers, and whoever wrote hears how much was one
    WHOLE = "proc_dou8vec_minmax"  # and proc_douintvec: what stands behind the number is taken with it
    LONG = "proc_doulongvec_minmax"
    LONG_PAST = "long"  # that before 5.15: negative numbers are passed over
    MS = "proc_dointvec_ms_jiffies"  # kept in jiffies: what is read is rounded up to one
    TICKS = "proc_dointvec_userhz_jiffies"  # the same in hundredths of a second, rounded down
    MS_INT, TICKS_INT = "ms", "ticks"  # those before 7.2: sizes wrap, and signs are lost
    TEXT = "proc_dostring"
    BITMAP = "proc_do_large_bitmap"  # 1-3,7


class Home(Enum):
    """Whose a value is."""

    NET = "a network namespace's"
    MACHINE = "the machine's, and only its first namespace has the file"
    SHOWN = "the machine's, and other namespaces may read it"


@dataclass(frozen=True, slots=True)
class Row:
    """A file below /proc/sys/net: dotted name, first value, mode, range of each number, and the kernels that have it so."""

    name: str
    value: Value
    mode: int = 0o644
    low: int = -1 - S32_MAX
    high: int = S32_MAX
    kind: Kind = Kind.INT
    home: Home = Home.NET
    since: str | None = None
    until: str | None = None

    @property
    def is_text(self) -> bool:
        """Read piece by piece; of numbers only the first read has something (`*ppos && !write`)."""
        return self.kind is Kind.TEXT

    def take(self, data: bytes, old: Value) -> tuple[Value, int]:
        """What is kept of what was written, and how many bytes of it were taken.  EINVAL."""
        text = data.decode("latin-1")
        if self.kind is Kind.TEXT:
            return text.split("\0")[0].strip(), len(text)
        if self.kind is Kind.BITMAP:
            return bitmap_text(text.rstrip(), self.high), len(text)
        value = parse(text, old, self.low, self.high)
        if not isinstance(value, int):
            return value, len(text)
        if self.kind is Kind.LONG_PAST and value < 0:
            return old, len(text)
        return KEPT.get(self.kind, int)(value), len(text) if self.kind is Kind.WHOLE else taken(text)


def _ms(ms: int) -> int:
    return -(-ms // MS_PER_JIFFY) * MS_PER_JIFFY


def _signed_ms(ms: int) -> int:
    return -_ms_int(-ms) if ms < 0 else _ms_int(ms)


def _ms_int(ms: int) -> int:
    """msecs_to_jiffies() of an unsigned int.  EINVAL."""
    if ms & U32_MAX > S32_MAX:
        raise KernelError(EINVAL, "more than jiffies say")
    return _ms(ms & U32_MAX)


def _ticks(ticks: int) -> int:
    size = abs(ticks) * HZ // USER_HZ * USER_HZ // HZ
    return size if ticks >= 0 else -size


def _ticks_int(ticks: int) -> int:
    """clock_t_to_jiffies(), into an int."""
    jiffies = (max(ticks, 0) * HZ // USER_HZ + 1 + S32_MAX & U32_MAX) - 1 - S32_MAX
    return jiffies * USER_HZ // HZ


KEPT: dict[Kind, Callable[[int], int]] = {
    Kind.MS: _signed_ms, Kind.MS_INT: _ms_int, Kind.TICKS: _ticks, Kind.TICKS_INT: _ticks_int
}  # fmt: skip


def u8(name: str, value: int, low: int = 0, high: int = 255, since: str | None = None, until: str | None = None) -> Row:
    """A row of proc_dou8vec_minmax()."""
    return Row(name, value, low=low, high=high, kind=Kind.WHOLE, since=since, until=until)


def flag(
    name: str, value: int, home: Home = Home.NET, high: int = 1, since: str | None = None, until: str | None = None
) -> Row:
    """A row of 0 or 1 (or few more)."""
    return Row(name, value, low=0, high=high, home=home, since=since, until=until)


def seconds(name: str, value: int, home: Home = Home.NET, since: str | None = None, until: str | None = None) -> Row:
    """A row of proc_dointvec_jiffies()."""
    return Row(name, value, low=-SECONDS, high=SECONDS, home=home, since=since, until=until)


def bitmap_text(text: str, most: int) -> str:
    """Numbers and ranges with commas, as bitmap_print_to_pagebuf() shows them.  EINVAL."""
    bits: set[int] = set()
    for piece in filter(None, text.split(",")):
        first, dash, last = piece.partition("-")
        low = number(first)
        high = number(last) if dash else low
        if not 0 <= low <= high <= most:
            raise KernelError(EINVAL, "out of range")
        bits.update(range(low, high + 1))
    return ",".join(_ranges(sorted(bits)))


def _ranges(bits: Iterable[int]) -> list[str]:
    runs: list[list[int]] = []
    for bit in bits:
        if runs and bit == runs[-1][1] + 1:
            runs[-1][1] = bit
        else:
            runs.append([bit, bit])
    return [str(a) if a == b else f"{a}-{b}" for a, b in runs]
