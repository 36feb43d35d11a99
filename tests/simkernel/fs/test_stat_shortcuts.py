"""stat(2) from the hook, and page faults in place: nobody can tell, not even by where the kernel's objects lie."""

import pytest

import simkernel
from arch.native.handler import Tier
from simkernel.fs import native_faults
from simkernel.kernel.faults import FaultsInPlace
from tests.simkernel.kernel.test_shortcuts import PROGRAMS
from tracing.probes.kprobes import Kprobe

SCRIPT = r"""
mkdir -p /tmp/d/e /tmp/closed; cd /tmp/d
for i in 1 2 3 4 5 6 7 8 9; do echo $i > f$i; ln -s f$i l$i; mkdir e/$i; mkfifo p$i; done
ln -s /tmp/d/e elsewhere; ln -s loop loop; chmod 0700 /tmp/closed; echo x > /tmp/closed/x; chmod 0641 f3; chown 7:8 f4
names() {
  for name in f1 ./f2 e/. e/./3 ../d/f3 e/3/ l1 elsewhere elsewhere/4 loop f1/x e/none none/none "" / /tmp //tmp /proc /proc/self \
    /dev/null /dev/none /sys /sys/kernel /bin/busybox /tmp/closed /tmp/closed/x p1 \
    nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn; do
    stat -c '%n %i %f %h %u %g %s %b %t %T %x %y %z' "$name"; stat -L -c '%i %f %N' "$name"; test -e "$name"; echo $?
  done; }
names; ls -lR /tmp; find / -xdev; find . -type l; du -s .; cd e; names; ls -la ../../d
rm -r /tmp/d/e/5; rmdir /tmp/d/e; stat .; cd /; rm -r /tmp/d; stat /tmp/d; mkdir /tmp/m; mount -t tmpfs none /tmp/m; stat -c %i /tmp/m
setuidgid nobody busybox sh -c 'stat /tmp/closed/x; stat /tmp/closed; find /tmp'; touch -h /tmp/m/x; mv /tmp/m/x /tmp/m/y; find /tmp/m
"""


def told(monkeypatch, tier, arch, kernel, cpus, busybox, prepare=lambda machine: None, argv=("sh", "-c", SCRIPT)):
    """Everything that can be seen of a run, and which calls were answered in the hook."""
    monkeypatch.setenv("SIMKERNEL_TIER", tier)
    with simkernel.boot(arch=arch, kernel=kernel, cpus=cpus) as machine:
        prepare(machine)
        result = machine.run([machine.install(busybox), *argv], timeout_host_s=120)
        k = machine.kernel
        seen = {
            "output": result.stdout + result.stderr,
            "now": k.clock.now_ns,
            "counts": dict(k.syscalls.counts),
            "switches": k.cpus.nr_switches,
            "faults": k.mm.nr_faults,
            "objects": sorted(k.mem._sizes.items()),
            "free": k.mem._free_lists,
            "pages": (k.physical.free_pages, bytes(k.physical.freed), list(k.physical.refcounts)),
            "dentries": [(addr, dentry.name) for addr, dentry in k.vfs.mirror.dentries.items()],
            "trace": machine.trace_pipe(),
        }
        return seen, set(k.shortcuts.used)


@pytest.mark.parametrize(("kernel", "cpus"), [("6.1", 1), ("6.1", 2), ("5.10", 1), ("4.1", 1), ("6.12", 1), ("7.2", 1)])
def test_nobody_can_tell(monkeypatch, busybox, kernel, cpus):
    python, served = told(monkeypatch, "python", "x86_64", kernel, cpus, busybox)
    assert not served and len(python["output"]) > 15000
    native, served = told(monkeypatch, "native", "x86_64", kernel, cpus, busybox)
    assert native == python
    assert bool({"newfstatat", "stat"} & served) == (kernel != "4.1")


@pytest.mark.parametrize(
    "point", ["raw_syscalls/sys_exit", "kmem/kmem_cache_alloc", "exceptions/page_fault_user", "kmem/rss_stat"]
)
def test_while_somebody_hears_of_it(monkeypatch, busybox, point):
    def listen(machine):
        machine.kernel.observer.tracing.events.get(*point.split("/")).set_enabled(True)

    script = (
        "mkdir /tmp/a; touch /tmp/a/b; for i in 1 2 3 4 5 6; do stat -c %i /tmp/a/b; stat /tmp/none; find /tmp; done"
    )
    argv = ("sh", "-c", script)
    python, _ = told(monkeypatch, "python", "x86_64", "6.1", 1, busybox, listen, argv)
    native, _ = told(monkeypatch, "native", "x86_64", "6.1", 1, busybox, listen, argv)
    assert native == python
    assert len(python["trace"]) > 5000


@pytest.mark.parametrize("function", ["vfs_statx", "handle_mm_fault", "schedule"])
def test_a_probe_sees_all(monkeypatch, busybox, function):
    hits = []

    def probe(machine):
        machine.kernel.observer.tracing.kprobes.register(
            Kprobe(lambda regs: hits.append(machine.kernel.clock.now_ns), function)
        )

    argv = ("sh", "-c", "for i in 1 2 3 4 5 6; do stat -c %i /tmp; stat /tmp/none; done")
    python, _ = told(monkeypatch, "python", "x86_64", "6.1", 1, busybox, probe, argv)
    first, hits[:] = list(hits), []
    native, _ = told(monkeypatch, "native", "x86_64", "6.1", 1, busybox, probe, argv)
    assert native == python and hits == first and len(hits) >= 12


def test_faults_in_place_end_in_signals_as_others_do(monkeypatch, busybox):
    """Memory that is not there, a file that is shorter than its mapping, memory that is all used."""
    script = (
        "ulimit -v 40000; dd if=/dev/zero of=/tmp/x bs=3000 count=1 2>/dev/null; cat /tmp/x | wc -c; "
        "sh -c 'kill -SEGV $$'; echo $?; sort /tmp/x | wc; awk 'BEGIN { while (1) s = s \"0123456789abcdef\" s }' | tail -c 60"
    )
    python, _ = told(monkeypatch, "python", "x86_64", "6.1", 1, busybox, argv=("sh", "-c", script))
    native, _ = told(monkeypatch, "native", "x86_64", "6.1", 1, busybox, argv=("sh", "-c", script))
    assert native == python


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "riscv64", "s390x", "i386", "arm"])
def test_faults_of_every_cpu(monkeypatch, arch):
    monkeypatch.setitem(native_faults.HOT_FAULTS, Tier.NATIVE, 10**9)  # by Python alone
    seen, taken, take = [], [], FaultsInPlace.take
    monkeypatch.setattr(FaultsInPlace, "take", lambda *args: taken.append(take(*args)) or taken[-1])
    for tier in ("python", "native"):
        found, _ = told(monkeypatch, tier, arch, "6.1", 1, PROGRAMS / arch / "calls", argv=("3", "300"))
        seen.append(found)
        assert (taken.count(1) > 3) == (tier == "native" and arch != "s390x")
    assert seen[0] == seen[1]
