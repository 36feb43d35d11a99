"""Steering the wall clock: what is set is kept, told, and used up second by second. Tick and frequency change the rate
between CLOCK_MONOTONIC and CLOCK_MONOTONIC_RAW.  kernel/time/{ntp,timekeeping}.c."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.capability import CAP_SYS_TIME
from arch.abi.errno import EINVAL, EOPNOTSUPP, EPERM
from arch.abi.time import CLOCK_REALTIME, NSEC_PER_SEC
from arch.errors import KernelError
from simkernel.kernel.calls.time import clock_now
from simkernel.kernel.clock import RATE, Clock
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import syscall

ADJ_OFFSET, ADJ_FREQUENCY, ADJ_MAXERROR, ADJ_ESTERROR, ADJ_STATUS, ADJ_TIMECONST = 1, 2, 4, 8, 0x10, 0x20
ADJ_TAI, ADJ_SETOFFSET, ADJ_MICRO, ADJ_NANO, ADJ_TICK = 0x80, 0x100, 0x1000, 0x2000, 0x4000
ADJ_ADJTIME, ADJ_OFFSET_SINGLESHOT, ADJ_OFFSET_READONLY = 0x8000, 1, 0x2000
STA_PLL, STA_INS, STA_DEL, STA_UNSYNC, STA_NANO, STA_RONLY = 1, 0x10, 0x20, 0x40, 0x2000, 0xFF00
TIME_OK, TIME_INS, TIME_DEL, TIME_ERROR = 0, 1, 2, 5
MAX_PHASE_NS, SHIFT_PLL, MAX_TC, MAX_TICK_ADJ, DRIFT_US = (
    500_000_000,
    2,
    10,
    500,
    500,
)  # drift of the error: 500 ppm, us in a second
MAX_TAI_OFFSET, PPM_SCALE = 100000, 1000 << 16  # seconds; kernel/time/ntp.c
USER_TICK_US, MAXFREQ, TOLERANCE, MAX_ERROR = 10000, 32768000, 32768000, 16000000
# struct timex: unsigned modes, then longs, struct timeval time, long tick and more
LONGS = ("offset", "freq", "maxerror", "esterror", "status", "constant", "precision", "tolerance")
SIZE = {8: 208, 4: 128}


class Ntp:
    """struct ntp_data."""

    def __init__(self) -> None:
        self.values = {"freq": 0, "maxerror": MAX_ERROR, "esterror": MAX_ERROR, "status": STA_UNSYNC, "constant": 2}
        self.tick, self.adjust = USER_TICK_US, 0  # the latter in us
        self.offset_ns, self.state = 0, TIME_OK
        self.second = 0  # of the wall clock: what is used up by it

    def clear(self) -> None:
        """ntp_clear(): somebody set the clock."""
        self.adjust = self.offset_ns = 0
        self.values["status"] |= STA_UNSYNC
        self.values["maxerror"] = self.values["esterror"] = MAX_ERROR

    def run_to(self, second: int) -> None:
        """second_overflow(), for each second of the wall clock that has begun since."""
        passed, self.second = max(0, second - self.second), second
        if not passed:
            return
        values = self.values
        values["maxerror"] += passed * DRIFT_US
        if values["maxerror"] > MAX_ERROR:
            values["maxerror"] = MAX_ERROR
            values["status"] |= STA_UNSYNC
        kind = values["status"] & (STA_INS | STA_DEL)
        self.state = TIME_OK if not kind else TIME_INS if kind & STA_INS else TIME_DEL
        used = min(abs(self.adjust), passed * MAX_TICK_ADJ)
        self.adjust -= used if self.adjust > 0 else -used
        shift = SHIFT_PLL + values["constant"]
        for _ in range(min(passed, 64 << shift)):
            if not self.offset_ns:
                break
            step = abs(self.offset_ns) >> shift
            self.offset_ns = 0 if not step else self.offset_ns - (step if self.offset_ns > 0 else -step)

    def told_offset(self) -> int:
        """In the unit that the status says."""
        if self.values["status"] & STA_NANO:
            return self.offset_ns
        return int(self.offset_ns / 1000)


def ntp_of(k: KernelFace) -> Ntp:
    """Made when somebody first asks."""
    if k.ntp is None:
        ntp = k.ntp = Ntp()
        ntp.second = clock_now(k, CLOCK_REALTIME) // NSEC_PER_SEC
        k.clock.when_set[lambda jump: ntp.clear()] = None
    assert isinstance(k.ntp, Ntp)
    return k.ntp


def _where(word: int, name: str) -> tuple[int, int]:
    """(offset, size) of a member: `status` is an int among longs."""
    return word * (1 + LONGS.index(name)), 4 if name == "status" else word


def do_adjtimex(k: KernelFace, txc: int, word: int) -> int:
    """The state of the clock, after what was asked for.  EPERM, EINVAL."""
    order, ntp = k.mem.byteorder, ntp_of(k)
    raw = bytearray(k.usercopy.copy_from_user(txc, SIZE[word]))
    modes = int.from_bytes(raw[:4], order)

    def get(at: int, size: int) -> int:
        return int.from_bytes(raw[at : at + size], order, signed=True)

    after = word * (1 + len(LONGS))  # struct timeval time
    tick_at = after + 2 * word
    reading = modes & ADJ_ADJTIME and modes & ADJ_OFFSET_READONLY
    if modes & ADJ_ADJTIME and not modes & ADJ_OFFSET_SINGLESHOT:
        raise KernelError(EINVAL)
    if modes and not reading and not k.capable(CAP_SYS_TIME):
        raise KernelError(EPERM)
    if not modes & ADJ_ADJTIME:
        if modes & ADJ_TICK and not USER_TICK_US * 9 // 10 <= get(tick_at, word) <= USER_TICK_US * 11 // 10:
            raise KernelError(EINVAL)
        if modes & ADJ_FREQUENCY and word == 8 and abs(get(*_where(word, "freq"))) > (1 << 63) // PPM_SCALE:
            raise KernelError(EINVAL)
        if modes & ADJ_SETOFFSET:
            part = get(after + word, word)
            if not 0 <= part < (NSEC_PER_SEC if modes & ADJ_NANO else NSEC_PER_SEC // 1000):
                raise KernelError(EINVAL)
            jump = get(after, word) * NSEC_PER_SEC + part * (1 if modes & ADJ_NANO else 1000)
            k.clock.set_realtime(k.clock.realtime_ns + jump)
    ntp.run_to(clock_now(k, CLOCK_REALTIME) // NSEC_PER_SEC)
    offset = _adjust(k.clock, ntp, modes, lambda name: get(*_where(word, name)), get(tick_at, word))
    values = {**ntp.values, "precision": 1, "tolerance": TOLERANCE, "offset": offset}
    for name in LONGS:
        at, size = _where(word, name)
        raw[at : at + size] = (values[name] & (1 << 8 * size) - 1).to_bytes(size, order)
    seconds, ns = divmod(clock_now(k, CLOCK_REALTIME), NSEC_PER_SEC)
    nano = ntp.values["status"] & STA_NANO
    for index, value in enumerate((seconds, ns if nano else ns // 1000, ntp.tick)):
        raw[after + index * word : after + (index + 1) * word] = (value & (1 << 8 * word) - 1).to_bytes(word, order)
    pps = tick_at + word  # two longs, an int, five longs of the pulse per second; then the int `tai`
    raw[pps : pps + 8 * word] = bytes(8 * word)
    raw[pps + 8 * word : pps + 8 * word + 4] = k.clock.tai_offset.to_bytes(4, order, signed=True)
    if word == 4:  # put_old_timex32()
        raw[pps + 8 * word + 4 :] = bytes(len(raw) - pps - 8 * word - 4)
    k.usercopy.copy_to_user(txc, bytes(raw))
    return TIME_ERROR if ntp.values["status"] & STA_UNSYNC else ntp.state


def _adjust(clock: Clock, ntp: Ntp, modes: int, get: Callable[[str], int], tick: int) -> int:
    """process_adjtimex_modes(): what is kept; gives the offset to be told."""
    values = ntp.values
    if modes & ADJ_ADJTIME:
        old = ntp.adjust
        if not modes & ADJ_OFFSET_READONLY:
            ntp.adjust = get("offset")
        return old
    if modes & ADJ_STATUS:
        if values["status"] & STA_PLL and not get("status") & STA_PLL:
            ntp.state, values["status"] = TIME_OK, values["status"] & STA_RONLY | STA_UNSYNC
        values["status"] = values["status"] & STA_RONLY | get("status") & ~STA_RONLY
    if modes & ADJ_NANO:
        values["status"] |= STA_NANO
    if modes & ADJ_MICRO:
        values["status"] &= ~STA_NANO
    if modes & ADJ_FREQUENCY:
        values["freq"] = max(-MAXFREQ, min(MAXFREQ, get("freq")))
    for flag, name in ((ADJ_MAXERROR, "maxerror"), (ADJ_ESTERROR, "esterror")):
        if modes & flag:
            values[name] = max(0, min(MAX_ERROR, get(name)))
    if modes & ADJ_TIMECONST:
        values["constant"] = min(
            MAX_TC, max(0, min(MAX_TC, get("constant"))) + (0 if values["status"] & STA_NANO else 4)
        )
    if modes & ADJ_TICK:
        ntp.tick = tick
    if modes & (ADJ_TICK | ADJ_FREQUENCY):
        clock.steer(ntp.tick * (RATE // USER_TICK_US) + values["freq"])
    if modes & ADJ_TAI and 0 <= get("constant") <= MAX_TAI_OFFSET:
        clock.tai_offset = get("constant")
    if modes & ADJ_OFFSET and values["status"] & STA_PLL:  # ntp_update_offset()
        unit = 1 if values["status"] & STA_NANO else 1000
        ntp.offset_ns = max(-MAX_PHASE_NS, min(MAX_PHASE_NS, get("offset") * unit))
    return ntp.told_offset()


@syscall("adjtimex", "struct timex *txc_p", source="kernel/time/time.c")
def sys_adjtimex(k: KernelFace, txc: int) -> int:
    """EPERM, EINVAL, EFAULT."""
    return do_adjtimex(k, txc, k.arch.word)


@syscall("clock_adjtime", "clockid_t which_clock, struct timex *utx", source="kernel/time/posix-timers.c")
def sys_clock_adjtime(k: KernelFace, which: int, txc: int) -> int:
    """The same for a clock that can be steered.  EOPNOTSUPP, EINVAL."""
    return clock_adjtime(k, which, txc, k.arch.word)


def clock_adjtime(k: KernelFace, which: int, txc: int, word: int) -> int:
    """The same with words of this size."""
    k.usercopy.copy_from_user(txc, SIZE[word])
    if which >= 0:
        clock_now(k, which)
    if which != CLOCK_REALTIME:
        raise KernelError(EOPNOTSUPP)
    return do_adjtimex(k, txc, word)
