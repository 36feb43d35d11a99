"""struct perf_event_attr: parsing and the checks of perf_copy_attr().  include/uapi/linux/perf_event.h, events/core.c.

The attribute grew with the versions; a caller may give any size from 64 bytes on, and bytes that this kernel does not
know must be zero.  Offsets and sizes in bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from arch.abi.errno import E2BIG, EINVAL
from arch.abi.limits import PAGE_SIZE
from arch.abi.perf_event import (
    PERF_ATTR_SIZE_VER0,
    PERF_SAMPLE_BRANCH_STACK,
    PERF_SAMPLE_REGS_INTR,
    PERF_SAMPLE_REGS_USER,
    PERF_SAMPLE_STACK_USER,
    PERF_SAMPLE_WEIGHT,
    PERF_SAMPLE_WEIGHT_STRUCT,
)
from arch.abi.time import CLOCK_BOOTTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME, CLOCK_TAI
from arch.abi.version import KernelVersion, newest
from arch.errors import KernelError
from arch.records import dataclass

NMI_SAFE_CLOCKS, OTHER_CLOCKS = (CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW), (CLOCK_REALTIME, CLOCK_BOOTTIME, CLOCK_TAI)
SAMPLE_RATE = 100_000  # perf_event_max_sample_rate, samples a second
# (first version, sizeof(struct perf_event_attr))
ATTR_SIZES = (("5.13", 128), ("5.5", 120), ("4.1", 112), ("3.19", 104), ("3.7", 96), (None, 80))

# (first version, PERF_COUNT_SW_MAX)
SW_MAX = (("5.13", 12), ("4.4", 11), (None, 10))

# (first version, PERF_SAMPLE_MAX)
SAMPLE_MAX = (
    ("5.12", 1 << 25), ("5.11", 1 << 24), ("5.7", 1 << 22), ("5.5", 1 << 21), ("4.14", 1 << 20), ("3.19", 1 << 19),
    (None, 1 << 18),
)  # fmt: skip
# (first version, PERF_FORMAT_MAX)
FORMAT_MAX = (("6.0", 1 << 5), (None, 1 << 4))

# The flag bits, in order; a tuple gives the width.
FLAG_BITS = (
    "disabled", "inherit", "pinned", "exclusive", "exclude_user", "exclude_kernel", "exclude_hv", "exclude_idle",
    "mmap", "comm", "freq", "inherit_stat", "enable_on_exec", "task", "watermark", "precise_ip", "precise_ip_high",
    "mmap_data", "sample_id_all", "exclude_host", "exclude_guest", "exclude_callchain_kernel",
    "exclude_callchain_user", "mmap2", "comm_exec", "use_clockid", "context_switch", "write_backward", "namespaces",
    "ksymbol", "bpf_event", "aux_output", "cgroup", "text_poke", "build_id", "inherit_thread", "remove_on_exec",
    "sigtrap",
)  # fmt: skip
# (first version, number of flag bits known)
FLAG_COUNT = (
    ("5.13", 38), ("5.12", 35), ("5.9", 34), ("5.7", 33), ("5.4", 32), ("5.1", 31), ("4.12", 29), ("4.7", 28),
    ("4.3", 27), ("4.1", 26), ("3.16", 25), (None, 24),
)  # fmt: skip


MAX_STACK = 127  # perf_event_max_stack
EXTENDED_REGS = 32  # vector registers of x86 begin at this bit


@dataclass(slots=True)
class PerfAttr:
    """The attribute of one event."""

    type: int = 0
    size: int = 0
    config: int = 0
    sample_period: int = 0  # or sample_freq
    sample_type: int = 0
    read_format: int = 0
    flags: int = 0
    wakeup: int = 0  # wakeup_events or wakeup_watermark
    bp_type: int = 0
    config1: int = 0
    config2: int = 0
    branch_sample_type: int = 0
    sample_regs_user: int = 0
    sample_stack_user: int = 0
    clockid: int = 0
    sample_regs_intr: int = 0
    aux_watermark: int = 0
    sample_max_stack: int = 0
    aux_sample_size: int = 0
    sig_data: int = 0

    def flag(self, name: str) -> bool:
        """A flag bit by its name in FLAG_BITS."""
        return bool(self.flags >> FLAG_BITS.index(name) & 1)

    def set_period(self, period: int) -> None:
        """From now on a period, where it was a frequency."""
        self.sample_period = period
        self.flags &= ~(1 << FLAG_BITS.index("freq"))

    @property
    def disabled(self) -> bool:
        """It counts only once it is enabled."""
        return bool(self.flags & 1)

    @property
    def freq(self) -> bool:
        """sample_period is a frequency in Hz."""
        return self.flag("freq")


_STRUCT = "IIQQQQQIIQQQQIiQIHHIIQ"


def attr_size(version: KernelVersion) -> int:
    """sizeof(struct perf_event_attr) in a version, in bytes."""
    return newest(ATTR_SIZES, version)


def read_size(raw: bytes, version: KernelVersion, byteorder: str = "little") -> int:
    """The size to take from user memory, from the first eight bytes.  E2BIG (and the caller stores attr_size())."""
    size = int.from_bytes(raw[4:8], byteorder) or PERF_ATTR_SIZE_VER0  # type: ignore[arg-type]
    if size < PERF_ATTR_SIZE_VER0 or size > PAGE_SIZE:
        raise KernelError(E2BIG, f"attr.size {size}")
    return size


def has_unknown(read: Callable[[int, int], bytes], address: int, size: int, known: int) -> bool:
    """Whether what this kernel does not know of an attr is not all zero: looked at page by page, and no further than it has to be."""
    at = known
    while at < min(size, PAGE_SIZE):
        ends = min(size, at + (-(address + at) % PAGE_SIZE or PAGE_SIZE))
        if any(read(address + at, ends - at)):
            return True
        at = ends
    return False


def parse_attr(
    raw: bytes, version: KernelVersion, byteorder: str = "little", registers: Sequence[str | None] = ("",) * 64
) -> PerfAttr:
    """perf_copy_attr() on the bytes of user space; `registers` are those that a sample may name.  E2BIG, EINVAL."""
    size = read_size(raw, version, byteorder)
    known = attr_size(version)
    if any(raw[known:size]):
        raise KernelError(E2BIG, "bytes that this kernel does not know are not zero")
    data = raw[: min(size, known)].ljust(128, b"\0")
    order = "<" if byteorder == "little" else ">"
    (
        kind, _, config, period, sample_type, read_format, flags, wakeup, bp_type, config1, config2, branch,
        regs_user, stack_user, clockid, regs_intr, aux_watermark, max_stack, reserved2, aux_sample, reserved3, sig_data,
    ) = struct.unpack(order + _STRUCT, data)  # fmt: skip
    flags = flags if byteorder == "little" else _reverse_bits(flags)
    attr = PerfAttr(
        kind, size, config, period, sample_type, read_format, flags, wakeup, bp_type, config1, config2, branch,
        regs_user, stack_user, clockid, regs_intr, aux_watermark, max_stack, aux_sample, sig_data,
    )  # fmt: skip
    check_attr(attr, bool(reserved2 or reserved3), version, registers)
    return attr


def _reverse_bits(value: int) -> int:
    """C bit-fields fill a big-endian word from its most significant bit."""
    return int(f"{value:064b}"[::-1], 2)


def refused_registers(mask: int, registers: Sequence[str | None]) -> bool:
    """perf_reg_validate(): none at all, or one that there is not; vector registers are refused later."""
    known = {index for index, name in enumerate(registers) if name is not None}
    return not mask or any(mask >> bit & 1 and bit not in known for bit in range(EXTENDED_REGS))


def check_attr(attr: PerfAttr, reserved: bool, version: KernelVersion, registers: Sequence[str | None]) -> None:
    """The checks of perf_copy_attr(), in its order."""
    if reserved or attr.flags >> newest(FLAG_COUNT, version):
        raise KernelError(EINVAL, "reserved bits are set")
    if attr.sample_type & ~(newest(SAMPLE_MAX, version) - 1):
        raise KernelError(EINVAL, "unknown sample_type bits")
    if attr.read_format & ~(newest(FORMAT_MAX, version) - 1):
        raise KernelError(EINVAL, "unknown read_format bits")
    if attr.sample_type & PERF_SAMPLE_BRANCH_STACK:
        if attr.branch_sample_type & ~((1 << 19) - 1) or not attr.branch_sample_type & ~7:
            raise KernelError(EINVAL, "branch_sample_type")
    if attr.sample_type & PERF_SAMPLE_REGS_USER and refused_registers(attr.sample_regs_user, registers):
        raise KernelError(EINVAL, "sample_regs_user")
    if attr.sample_type & PERF_SAMPLE_STACK_USER:
        if attr.sample_stack_user >= 0xFFFF or attr.sample_stack_user % 8:
            raise KernelError(EINVAL, "sample_stack_user")
    if attr.sample_type & PERF_SAMPLE_REGS_INTR and refused_registers(attr.sample_regs_intr, registers):
        raise KernelError(EINVAL, "sample_regs_intr")
    if attr.sample_type & PERF_SAMPLE_WEIGHT and attr.sample_type & PERF_SAMPLE_WEIGHT_STRUCT:
        raise KernelError(EINVAL, "weight twice")
    if attr.flag("inherit_thread") and not attr.flag("inherit"):
        raise KernelError(EINVAL, "inherit_thread without inherit")
    if attr.flag("remove_on_exec") and attr.flag("enable_on_exec"):
        raise KernelError(EINVAL, "remove_on_exec and enable_on_exec")
    if attr.flag("sigtrap") and not attr.flag("remove_on_exec"):
        raise KernelError(EINVAL, "sigtrap without remove_on_exec")
