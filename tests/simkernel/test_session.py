"""The tool's side of a machine: files, events, probes, trace; refusals carry the kernel's errno."""

from __future__ import annotations

from pathlib import Path

import pytest

import simkernel
from arch.abi.errno import ENOENT, EROFS
from arch.abi.poll import EPOLL_CTL_ADD, EPOLLIN
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from simkernel.fs.rootfs import add_file
from simkernel.machine import Machine
from simkernel.session import is_probe

WRITER = Path(__file__).parents[2] / "samples" / "bin" / "x86_64" / "writer"


@pytest.fixture(scope="module")
def machine() -> Machine:
    return simkernel.boot()


def test_files_of_the_guest_by_system_calls(machine: Machine) -> None:
    machine.session.write_file("/tmp/note", "hello", 0o101)
    assert machine.session.read_file("/tmp/note") == b"hello"
    with pytest.raises(KernelError) as refused:
        machine.session.read_file("/nosuch")
    assert refused.value.errno == ENOENT


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "s390x", "i386", "arm"])
def test_epoll_says_which_file_is_ready(arch: str) -> None:
    """struct epoll_event is 12 bytes on x86 and 16 elsewhere."""
    machine = simkernel.boot(arch=arch)
    task = machine.session.task
    data = (0x1122_3344_5566_7788, 0x99AA_BBCC_DDEE_FF00)
    epoll = task.call("epoll_create1", 0)
    with task.memory() as memory:
        for value in data:
            ready = task.call("eventfd2", 1, 0)
            packed = arch in ("x86_64", "i386")
            event = EPOLLIN.to_bytes(4, task.byteorder) + bytes(0 if packed else 4) + value.to_bytes(8, task.byteorder)
            task.call("epoll_ctl", epoll, EPOLL_CTL_ADD, ready, memory.put(event))
    assert sorted(task.epoll_wait(epoll, 8, 0)) == sorted(data)
    machine.close()


def test_what_is_a_probe() -> None:
    assert [is_probe(s) for s in ("p:x y", "p vfs_read", "r8:x y", "r:y")] == [True] * 4
    assert [is_probe(s) for s in ("power:cpu_idle", "raw_syscalls:sys_enter", "p9:x y", "")] == [False] * 4


def test_events_and_probes_by_every_spelling(machine: Machine) -> None:
    names = [machine.enable_event(s) for s in ("sched:sched_process_exec", "syscalls/sys_enter_dup", "p:a vfs_read")]
    assert names == ["sched:sched_process_exec", "syscalls:sys_enter_dup", "kprobes:a"]
    assert machine.enable_event("r16:b vfs_write ret=$retval") == "kprobes:b"
    machine.run([machine.install(WRITER)])
    trace = machine.trace_pipe()
    assert "sched_process_exec: filename=/bin/writer" in trace
    assert " b: (" in trace


@pytest.mark.parametrize("spec", ["", "nosuch:thing", "sched:nosuch", "p:nosuch_function"])
def test_what_is_not_there_is_enoent(machine: Machine, spec: str) -> None:
    with pytest.raises(KernelError) as refused:
        machine.enable_event(spec)
    assert refused.value.errno == ENOENT


def test_putting_files_in_never_writes_to_a_bound_directory(tmp_path: Path) -> None:
    m = simkernel.boot(binds=[(str(tmp_path), "/in", True)])
    with pytest.raises(KernelError) as refused:
        add_file(m.kernel.vfs, "/in/x", b"data")
    assert refused.value.errno == EROFS
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["3.18", "3.20-rfc", "4.20", "5.19", "6.1", "6.1.55"])
def test_versions_that_a_machine_can_be(text: str) -> None:
    assert str(KernelVersion.supported(text)) == text


@pytest.mark.parametrize("text", ["3.17", "4.21", "5.20", "9.2", "9.0", "2.6", "x", ""])
def test_versions_that_it_cannot(text: str) -> None:
    with pytest.raises(ValueError):
        KernelVersion.supported(text)


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "i386", "s390x"])
def test_the_driver_reads_epoll_events_as_its_architecture_lays_them_out(arch: str) -> None:
    m = simkernel.boot(arch=arch)
    task, kernel = m.session.task, m.kernel
    counter, epoll = task.call("eventfd2", 1, 0), task.call("epoll_create1", 0)
    event = bytearray(kernel.types.sizeof("struct epoll_event"))
    at = kernel.types.offsetof("struct epoll_event", "data")
    event[0:4] = (1).to_bytes(4, kernel.arch.byteorder)  # EPOLLIN
    event[at : at + 8] = (0x123456789).to_bytes(8, kernel.arch.byteorder)
    with task.memory() as memory:
        task.call("epoll_ctl", epoll, 1, counter, memory.put(bytes(event)))
    assert task.epoll_wait(epoll, 4, 0) == [0x123456789]
