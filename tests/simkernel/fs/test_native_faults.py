"""Page faults in compiled code: nobody can tell, not even by which page is where."""

import pytest

from arch.native.handler import Tier
from simkernel.fs import native_faults
from simkernel.kernel.faults import FaultsInPlace
from tests.simkernel.fs.test_stat_shortcuts import told
from tests.simkernel.kernel.test_shortcuts import PROGRAMS

CALLS = PROGRAMS.parents[2] / "calls/programs/bin"
FORKS = """
for i in 1 2 3 4; do busybox true; (echo $i; cat /proc/self/smaps /proc/self/stat | md5sum) | tee /tmp/$i; done
busybox sh -c 'busybox sh -c "busybox cat /proc/self/statm"; echo $$'; grep -E 'pgfault|nr_free' /proc/vmstat; cat /tmp/? | sort | uniq | wc -l
dd if=/dev/zero of=/tmp/many bs=64k count=6 2>/dev/null; sort /tmp/many | md5sum; head -c 40000 /bin/busybox | gzip | gunzip | md5sum
awk 'BEGIN { while (i < 6000) { a[i++] = i; }; print length(a) }' & busybox true; wait; free; cat /proc/buddyinfo
"""


def both(monkeypatch, arch, kernel, cpus, program, argv, prepare=lambda machine: None):
    """Asserts that both tiers tell the same; that of which, and the faults in all and those that Python took."""
    seen, taken, take = [], [], FaultsInPlace.take
    monkeypatch.setattr(FaultsInPlace, "take", lambda *args: taken.append(1) or take(*args))
    for tier in ("python", "native"):
        del taken[:]
        found, _ = told(monkeypatch, tier, arch, kernel, cpus, program, prepare, argv)
        seen.append(found)
    assert seen[0] == seen[1]
    return seen[0], seen[0]["faults"], len(taken)


@pytest.mark.parametrize(("kernel", "cpus"), [("6.1", 1), ("6.1", 2), ("5.10", 3), ("4.1", 1), ("7.2", 1)])
def test_many_programs(monkeypatch, busybox, kernel, cpus):
    found, faults, python = both(monkeypatch, "x86_64", kernel, cpus, busybox, ("sh", "-c", FORKS))
    assert len(found["output"]) > 500 and faults > 5000
    assert python < 0.3 * faults


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "riscv64", "s390x", "i386", "arm"])
@pytest.mark.parametrize("program", ["life", "calls"])
def test_every_cpu(monkeypatch, arch, program):
    """Forks, threads, memory maps, signals of memory that is not there."""
    _, faults, python = both(
        monkeypatch, arch, "6.1", 2, PROGRAMS / arch / program, ("3", "300") if program == "calls" else ()
    )
    assert faults > 3 and (arch == "s390x") == (python == 0)
    assert python < 0.7 * faults


@pytest.mark.parametrize("program", ["faults", "advice", "hungry", "charges", "cgmoves", "fresh", "aio"])
def test_who_looks_at_pages(monkeypatch, program):
    """userfaultfd, madvise, memory that is all used, control groups that pay for it."""
    both(monkeypatch, "x86_64", "6.1", 1, CALLS / "x86_64" / program, ())


def test_from_any_fault_on(monkeypatch, busybox):
    """The compiled code begins in the midst of what Python began."""
    for after in (1, 7, 40, 300):
        monkeypatch.setitem(native_faults.HOT_FAULTS, Tier.NATIVE, after)
        both(
            monkeypatch,
            "x86_64",
            "6.1",
            1,
            busybox,
            ("sh", "-c", "busybox true; busybox ls / | busybox sort; busybox true"),
        )


@pytest.mark.parametrize(
    "point", ["exceptions/page_fault_user", "kmem/rss_stat", "mmap_lock/mmap_lock_released", "kmem/mm_page_alloc"]
)
def test_somebody_begins_to_listen(monkeypatch, busybox, point):
    script = (
        "busybox true; busybox true; mount -t tracefs x /sys/kernel/tracing; cd /sys/kernel/tracing/events; "
        f"echo 1 > {point}/enable; busybox true; echo 0 > {point}/enable; busybox true"
    )
    found, _, python = both(monkeypatch, "x86_64", "6.1", 1, busybox, ("sh", "-c", script))
    assert len(found["trace"]) > 3000 and python > 0
