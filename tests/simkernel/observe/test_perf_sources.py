"""Where perf's samples and counts come from in a running machine."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator

import pytest

import simkernel
from arch.abi.perf_event import PERF_COUNT_SW_PAGE_FAULTS
from simkernel import workloads
from simkernel.fs import rootfs
from simkernel.machine import Machine
from tests.tracing.test_perf import attr, data, event_id
from tracing.perf.event import PerfEvent

BUSYBOX = shutil.which("busybox")
pytestmark = pytest.mark.skipif(BUSYBOX is None, reason="needs a static busybox on this host")

COMM, MMAP2, SAMPLE = 3, 10, 9
IP, ADDR = 1, 8


def shell(m: Machine, script: str) -> str:
    """What a script prints."""
    assert BUSYBOX is not None
    with open(BUSYBOX, "rb") as program:
        rootfs.add_bytes_lazily(m.kernel.vfs, "/bin/busybox", program.read())
    return m.run(["/bin/busybox", "sh", "-c", script], timeout_host_s=60).text


def records(event: PerfEvent) -> Iterator[tuple[int, bytes]]:
    """(type, body) of all in the ring."""
    rest = data(event)
    while rest:
        kind, _, size = struct.unpack_from("<IHH", rest)
        yield kind, rest[8:size]
        rest = rest[size:]


def test_samples_of_a_tracepoint_say_where_it_fired() -> None:
    """perf_fetch_caller_regs(): sched_switch lies in __schedule()."""
    m = simkernel.boot()
    tracing = m.kernel.observer.tracing
    number = event_id(tracing, "sched", "sched_switch")
    event = tracing.perf.open(attr(type=2, config=number, sample_period=1, sample_type=IP), -1, 0)
    event.mmap(4096 * 9, True)
    shell(m, "true; sleep 0.1")
    places = {m.kernel.symbols.lookup(struct.unpack("<Q", body)[0]) for kind, body in records(event) if kind == SAMPLE}
    assert {place and place[0] for place in places} == {"__schedule"}


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_page_faults_count_and_say_where(arch: str) -> None:
    """The sample's ip is the instruction of the program, or of the kernel that copied to it, its addr what was touched."""
    m = simkernel.boot(arch=arch)
    fields = attr(type=1, config=PERF_COUNT_SW_PAGE_FAULTS, sample_period=1, sample_type=IP | ADDR)
    event = m.kernel.observer.tracing.perf.open(fields, -1, 0)
    event.mmap(4096 * 9, True)
    workloads.run(m, "forker")
    assert event.count > 5
    found = [struct.unpack("<QQ", body) for kind, body in records(event) if kind == SAMPLE]
    assert found
    limit = m.kernel.mm.layout.task_size
    assert all(0 < addr < limit for _, addr in found)
    assert all(0 < ip < limit or m.kernel.symbols.lookup(ip) for ip, _ in found)
    assert sum(ip < limit for ip, _ in found) >= len(found) // 2


def test_an_event_that_waits_for_exec_sees_the_new_name_and_mappings() -> None:
    """begin_new_exec() turns it on before it renames the task; perf finds the program's symbols by these records."""
    m = simkernel.boot()
    core = m.kernel.observer.tracing.perf
    event = core.open(attr(flags=["disabled", "inherit", "enable_on_exec", "comm", "mmap", "mmap2"]), -1, 0)
    event.tasks = set()
    tasks = m.kernel.tasks
    m.kernel.tracepoints.points["sched_wakeup_new"].add(lambda addr: event.tasks.add(tasks.at(addr)))
    event.mmap(4096 * 9, True)
    shell(m, "/bin/busybox true; echo")
    found = list(records(event))
    assert found[0][0] == COMM
    renamed = [struct.unpack_from("<I", body)[0] for kind, body in found if kind == COMM]
    mapped = {struct.unpack_from("<I", body)[0] for kind, body in found if kind == MMAP2 and b"/bin/busybox" in body}
    assert len(renamed) == 2  # the shell, which the event waited for, and its child
    assert mapped == set(renamed)
