"""BPF since 6.2: programs print here what they printed on 6.12 and 7.2, some of them on 6.1.

programs/arenas.c tells the log of each whole walk on 6.12, and on 7.2 that of what is refused; programs/slices.c is about dynptrs of packets,
programs/irqs.c about saved interrupt flags, programs/locks.c about resilient locks, programs/multi.c about links to many functions,
programs/tokens.c about delegation by mounts of bpffs, tokens that are refused, and places of arenas,
programs/aroundmany.c about programs around functions, sessions, many at once, and which programs may sleep,
programs/caches.c about iterators over the slab's caches,
programs/tcx.c about programs of devices, in an order that they choose, and netkit pairs,
programs/grouporder.c about programs of control groups, in an order that they choose,
programs/missedreturns.c about calls that links to many functions miss,
programs/perflinks.c about links to perf events and about hits that probes miss within programs.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from bpf.maps.free_ranges import BestFit, FirstFit
from simkernel.machine import boot

PROGRAMS = Path(__file__).parent / "programs"
ASKED = [
    ("arenas", "6.12", ["2"]),
    ("arenas", "7.2", ["1"]),
    ("slices", "6.12", []),
    ("slices", "7.2", []),
    ("irqs", "7.2", []),
    ("locks", "7.2", []),
    ("iters", "6.12", []),
    ("iters", "7.2", []),
    ("multi", "6.12", ["user"]),
    ("multi", "7.2", ["user"]),
    ("multi", "6.12", ["kernel"]),
    ("multi", "7.2", ["kernel"]),
    ("tokens", "6.12", ["mounts"]),
    ("tokens", "7.2", ["mounts"]),
    ("tokens", "6.12", ["places"]),
    ("tokens", "7.2", ["places"]),
    ("perflinks", "6.1", ["kinds"]),
    ("perflinks", "6.12", ["kinds"]),
    ("perflinks", "7.2", ["kinds"]),
    ("aroundmany", "6.1", ["cookies"]),
    ("aroundmany", "6.12", ["cookies"]),
    ("aroundmany", "7.2", ["cookies"]),
    ("aroundmany", "7.2", ["loads"]),
    ("aroundmany", "7.2", ["loads", "many"]),
    ("aroundmany", "7.2", ["multi"]),
    ("aroundmany", "7.2", ["session"]),
    ("caches", "7.2", []),
    ("tcx", "6.1", ["links"]),
    ("tcx", "6.12", ["links"]),
    ("tcx", "6.12", ["netkit"]),
    ("tcx", "7.2", ["programs"]),
    ("tcx", "7.2", ["refusals"]),
    ("tcx", "7.2", ["answers"]),
    ("tcx", "7.2", ["netkit"]),
    ("missedreturns", "6.12", []),
    ("missedreturns", "7.2", []),
    ("perflinks", "6.1", ["misses"]),
    ("perflinks", "6.12", ["misses"]),
    ("perflinks", "7.2", ["misses"]),
    ("grouporder", "6.12", []),
    ("grouporder", "7.2", []),
]
FLAGS = ["-nostdlib", "-static", "-Os", "-fno-pie", "-no-pie", "-fno-stack-protector", "-fno-asynchronous-unwind-tables",
         "-fno-builtin", "-w", "-s", "-Wl,--build-id=none", "-Wl,-z,noseparate-code", "-Wl,-z,noexecstack"]  # fmt: skip


needs_compiler = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler on this host")


def compare(folder, name, kernel, arguments):
    """What it prints here, beside what it printed there."""
    built = folder / name
    subprocess.run(["gcc", *FLAGS, "-o", built, PROGRAMS / f"{name}.c"], check=True)
    machine = boot(kernel=kernel)
    result = machine.run([machine.install(built), *arguments], timeout_host_s=120)
    machine.close()
    assert result.crash is None
    told = ".".join([name, *filter(str.isalpha, arguments), kernel])
    assert result.text == (PROGRAMS / told).read_text()


@needs_compiler
@pytest.mark.parametrize("name, kernel, arguments", ASKED)
def test_what_the_real_kernel_said(tmp_path, name, kernel, arguments):
    compare(tmp_path, name, kernel, arguments)


@needs_compiler
@pytest.mark.parametrize(
    "name, kernel, arguments",
    [
        ("perflinks", "6.12", ["misses"]),
        ("perflinks", "7.2", ["misses"]),
        ("arenas", "6.12", ["2"]),
        ("arenas", "7.2", ["1"]),
        ("aroundmany", "7.2", ["multi"]),
        ("aroundmany", "7.2", ["session"]),
    ],
)
def test_compiled_programs_say_the_same(tmp_path, monkeypatch, name, kernel, arguments):
    monkeypatch.setenv("SIMKERNEL_TIER", "native")
    compare(tmp_path, name, kernel, arguments)


def test_free_pages_are_found_as_each_version_finds_them():
    first, best = FirstFit(16), BestFit(16)
    for free in (first, best):
        assert [free.take(count, 16) for count in (3, 2, 1, 4)] == [0, 3, 5, 6]
        free.give(3, 2)
        free.give(0, 1)
        assert not free.take_at(0, 2) and free.take_at(3, 2)
        free.give(3, 2)
    assert first.take(2, 16) == 3 and best.take(2, 16) == 3
    assert first.take(1, 16) == 0 and best.take(7, 16) is None
    first.give(0, 16)
    assert first.ranges == [(0, 15)]
