"""/sys/kernel and /sys/power: what the kernel says of itself, and its settings of reading, restarting and memory.

kernel/{ksysfs,reboot,panic,kexec_core}.c, kernel/rcu/update.c, mm/{huge_memory,khugepaged,vmscan,swap_state,memory-tiers}.c.

A setting takes what Linux takes of a text, and says what it then says.  There are no huge pages, no swap and no second node,
so what is set of these changes nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from arch.abi.errno import EEXIST, EINVAL, ERANGE
from arch.abi.limits import INT_MAX, INT_MIN, U32_MAX
from arch.abi.version import KernelVersion
from arch.cstring import c_string, kstrto, kstrtobool
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.fs.face import FsKernel
from simkernel.kernel.madvise import HPAGE_PMD_SIZE

THP = "kernel/mm/transparent_hugepage"
THP_ORDERS = range(1, 10)  # of pages smaller than a page table's, in 4 KiB pages
LEAST_ANON_ORDER = 2
JIFFY_MS = 4
MAX_JIFFY_MS = 4294967288  # the longest time that jiffies have, in milliseconds of 32 bits
KHUGEPAGED_PTES = 511
LRU_GEN_CAPS = 0x7


class Setting:
    """A file, and what it says now."""

    def __init__(self, k: FsKernel, row: Row) -> None:
        self.k, self.row, self.value = k, row, row.first if isinstance(row.first, str) else ""

    def show(self) -> str:
        """Its text."""
        return f"{self.value if isinstance(self.row.first, str) else self.row.first(self.k)}\n"

    def store(self, data: bytes) -> None:
        """What was written."""
        if data and self.row.parse is not None:
            self.value = self.row.parse(c_string(data), self)


Parse = Callable[[str, Setting], str]


@dataclass(frozen=True, slots=True)
class Row:
    """A file: what it says (at first, or whenever it is asked), and how it takes a text (None: it cannot be written)."""

    path: str
    first: str | Callable[[FsKernel], str]
    parse: Parse | None = None
    since: str | None = None
    until: str | None = None


# -- how texts are taken ----------------------------------------------------------------------------------------------------


def number(
    base: int = 10, bits: int = 32, low: int = 0, high: int = U32_MAX, signed: bool = False, beyond: int = EINVAL
) -> Parse:
    """kstrtouint() and its kin.  EINVAL: no number, or not from `low` to `high`; `beyond`: one of more bits."""  # fmt: skip

    def parse(text: str, setting: Setting) -> str:
        try:
            value = kstrto(text, base, bits, signed)
        except KernelError as refused:
            raise KernelError(beyond if refused.errno == ERANGE else EINVAL) from None
        if not low <= value <= high:
            raise KernelError(EINVAL)
        return str(value)

    return parse


def choice(*names: str) -> Parse:
    """sysfs_streq(): one of these words, with a newline or without."""

    def parse(text: str, setting: Setting) -> str:
        word = text.removesuffix("\n")
        if word not in names:
            raise KernelError(EINVAL)
        return marked(word, names)

    return parse


def marked(chosen: str, names: tuple[str, ...]) -> str:
    """All of them, the one that holds in brackets."""
    return " ".join(f"[{name}]" if name == chosen else name for name in names)


def beginning(*names: str) -> Parse:
    """strncmp(): what begins with one of these words."""

    def parse(text: str, setting: Setting) -> str:
        for name in names:
            if text.startswith(name):
                return name
        raise KernelError(EINVAL)

    return parse


def boolean(no: str, yes: str) -> Parse:
    """kstrtobool()."""
    return lambda text, setting: yes if kstrtobool(text, setting.k.version) else no


def _word_or_digit(text: str, setting: Setting) -> str:
    """vma_ra_enabled_store() before it asked kstrtobool()."""
    if text.startswith(("true", "1")):
        return "true"
    if text.startswith(("false", "0")):
        return "false"
    raise KernelError(EINVAL)


def _profiling(text: str, setting: Setting) -> str:
    """profiling_store(): it begins once; what number is said does not matter."""
    if setting.value != "0":
        raise KernelError(EEXIST)
    return "1"


def _reboot_cpu(text: str, setting: Setting) -> str:
    """cpu_store().  EINVAL, ERANGE: no such CPU."""
    value = kstrto(text, 0, 32, False)
    if value >= setting.k.nr_cpus:
        raise KernelError(ERANGE)
    return str(value)


def _lru_gen(text: str, setting: Setting) -> str:
    """enabled_store() of mm/vmscan.c: all, none, or a mask of what there is."""
    if text[:1].lower() in ("n", "y"):
        value = 0 if text[:1].lower() == "n" else LRU_GEN_CAPS
    else:
        value = int(number(0)(text, setting)) & LRU_GEN_CAPS
    return f"0x{value:04x}"


def _min_ttl(text: str, setting: Setting) -> str:
    """min_ttl_ms_store(): kept in jiffies."""
    value = int(number(0)(text, setting))
    return str(-(-value // JIFFY_MS) * JIFFY_MS if value <= INT_MAX else MAX_JIFFY_MS)


def _weight(text: str, setting: Setting) -> str:
    """node_store() of mm/mempolicy.c: 0 is the one that was at first."""
    weight = number(0, 8)(text, setting)
    return weight if weight != "0" else "1"


# -- the files ----------------------------------------------------------------------------------------------------------------

WHEN = ("always", "madvise", "never")
DEFRAG = ("always", "defer", "defer+madvise", "madvise", "never")
SHMEM = ("always", "within_size", "advise", "never", "deny", "force")
SIZE_WHEN = ("always", "inherit", "madvise", "never")
SIZE_SHMEM = ("always", "inherit", "within_size", "advise", "never")
YES_NO = boolean("0", "1")
ONE_BIT = number(10, 64, high=1, beyond=ERANGE)
INTEGER = number(0, low=INT_MIN, high=INT_MAX, signed=True)
PTES = number(high=KHUGEPAGED_PTES)

ROWS = (
    Row("kernel/fscaps", "1"),
    Row("kernel/address_bits", lambda k: f"{8 * k.arch.word}", since="6.12"),
    Row("kernel/cpu_byteorder", lambda k: k.mem.byteorder, since="6.12"),
    Row("kernel/oops_count", lambda k: f"{k.cpus.bugs}", since="5.10"), Row("kernel/warn_count", "0", since="5.10"),
    Row("kernel/hardlockup_count", "0", since="7.2"), Row("kernel/softlockup_count", "0", since="7.2"), Row("kernel/rcu_stall_count", "0", since="7.2"),
    Row("kernel/kexec_loaded", "0", until="7.2"), Row("kernel/kexec_crash_loaded", "0", until="7.2"),
    Row("kernel/kexec_crash_size", "0", number(0, high=0), until="7.2"),
    Row("kernel/kexec/loaded", "0", since="7.2"), Row("kernel/kexec/crash_loaded", "0", since="7.2"), Row("kernel/kexec/crash_cma_ranges", "", since="7.2"),
    Row("kernel/kexec/crash_size", "0", number(0, high=0), since="7.2"),
    Row("kernel/profiling", "0", _profiling),
    Row("kernel/rcu_expedited", "0", INTEGER),
    Row("kernel/rcu_normal", "0", INTEGER, since="4.5"),
    Row("kernel/reboot/mode", "cold", beginning("cold", "warm", "hard", "soft", "gpio"), since="5.11"),
    Row("kernel/reboot/cpu", "0", _reboot_cpu, since="5.11"),
    Row("kernel/reboot/hw_protection", "shutdown", beginning("shutdown", "reboot"), since="7.2"),
    Row("kernel/sched_ext/state", "disabled", since="7.2"), Row("kernel/sched_ext/switch_all", "0", since="7.2"),
    Row("kernel/sched_ext/nr_rejected", "0", since="7.2"), Row("kernel/sched_ext/hotplug_seq", "0", since="7.2"),
    Row("kernel/sched_ext/enable_seq", "0", since="7.2"),
    Row("kernel/mm/lru_gen/enabled", "0x0000", _lru_gen, since="6.1", until="6.12"),
    Row("kernel/mm/lru_gen/enabled", "0x0007", _lru_gen, since="6.12"), Row("kernel/mm/lru_gen/min_ttl_ms", "0", _min_ttl, since="6.1"),
    Row("kernel/mm/numa/demotion_enabled", "false", boolean("false", "true"), since="6.1"),
    Row("kernel/mm/swap/vma_ra_enabled", "true", _word_or_digit, since="4.14", until="6.1"),
    Row("kernel/mm/swap/vma_ra_enabled", "true", boolean("false", "true"), since="6.1"),
    Row("kernel/mm/mempolicy/weighted_interleave/node0", "1", _weight, since="6.12", until="7.2"),
    Row("kernel/mm/mempolicy/weighted_interleave/node0", "1", number(0, 8, low=1), since="7.2"),
    Row(f"{THP}/enabled", marked("always", WHEN), choice(*WHEN)),
    Row(f"{THP}/defrag", marked("madvise", DEFRAG), choice(*DEFRAG), since="4.11"),
    Row(f"{THP}/use_zero_page", "1", ONE_BIT), Row(f"{THP}/hpage_pmd_size", f"{HPAGE_PMD_SIZE}", since="4.12"),
    Row(f"{THP}/shmem_enabled", marked("never", SHMEM), choice(*SHMEM), since="4.8"),
    Row(f"{THP}/shrink_underused", "1", YES_NO, since="6.12"),
    Row(f"{THP}/khugepaged/defrag", "1", ONE_BIT),
    Row(f"{THP}/khugepaged/alloc_sleep_millisecs", "60000", number()), Row(f"{THP}/khugepaged/scan_sleep_millisecs", "10000", number()),
    Row(f"{THP}/khugepaged/pages_to_scan", "4096", number(low=1)), Row(f"{THP}/khugepaged/max_ptes_none", "511", PTES),
    Row(f"{THP}/khugepaged/max_ptes_swap", "64", PTES, since="4.8"), Row(f"{THP}/khugepaged/max_ptes_shared", "256", PTES, since="5.8"),
    Row(f"{THP}/khugepaged/full_scans", "0"), Row(f"{THP}/khugepaged/pages_collapsed", "0"),
    Row("power/state", ""),
)  # fmt: skip

# The statistics of each size of huge page, by the first version that is known to have them; of file pages and of anonymous ones.
SIZE_STATISTICS = (
    ("6.12", "shmem_alloc shmem_fallback shmem_fallback_charge split split_failed swpout swpout_fallback"),
    ("7.2", "collapse_alloc collapse_alloc_failed swpin swpin_fallback swpin_fallback_charge zswpout"),
)
ANON_STATISTICS = (
    ("6.12", "anon_fault_alloc anon_fault_fallback anon_fault_fallback_charge nr_anon nr_anon_partially_mapped split_deferred"),
    ("7.2", "collapse_exceed_none_pte collapse_exceed_shared_pte collapse_exceed_swap_pte"),
)  # fmt: skip
SIZES_SINCE = "6.12"

# Files that have moved: where they were is a link.  Path, target, since.
MOVED = (
    ("kernel/kexec_loaded", "kexec/loaded", "7.2"), ("kernel/kexec_crash_loaded", "kexec/crash_loaded", "7.2"),
    ("kernel/kexec_crash_size", "kexec/crash_size", "7.2"), ("kernel/kexec_crash_cma_ranges", "kexec/crash_cma_ranges", "7.2"),
)  # fmt: skip


def _sizes(version: KernelVersion) -> Iterator[Row]:
    """hugepage_init_sysfs(): a folder for each size of huge page."""
    for order in THP_ORDERS:
        folder = f"{THP}/hugepages-{4 << order}kB"
        first = "inherit" if order == THP_ORDERS[-1] else "never"
        tables = [SIZE_STATISTICS]
        if order >= LEAST_ANON_ORDER:
            yield Row(f"{folder}/enabled", marked(first, SIZE_WHEN), choice(*SIZE_WHEN))
            tables.append(ANON_STATISTICS)
        yield Row(f"{folder}/shmem_enabled", marked(first, SIZE_SHMEM), choice(*SIZE_SHMEM))
        for since, names in (row for table in tables for row in table):
            if version.at_least(since):
                for name in names.split():
                    yield Row(f"{folder}/stats/{name}", "0")


def rows(version: KernelVersion) -> Iterator[Row]:
    """Those of a version."""
    for row in ROWS:
        if version.within(row.since, row.until):
            yield row
    if version.at_least(SIZES_SINCE):
        yield from _sizes(version)


def settings(k: FsKernel) -> Iterator[Setting]:
    """The files of this kernel."""
    return (Setting(k, row) for row in rows(k.version))


def links(k: FsKernel) -> Iterator[tuple[str, str]]:
    """Path and target of what has moved."""
    return ((path, target) for path, target, since in MOVED if k.version.at_least(since))
