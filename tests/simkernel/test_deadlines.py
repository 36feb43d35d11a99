"""Whatever a program has begun, a run ends soon after its time, and the machine is good for another one."""

from __future__ import annotations

import signal
import struct
import threading
import time
from collections.abc import Callable, Generator

import pytest

import simkernel
from arch.abi.errno import ENOMEM
from arch.abi.fcntl import AT_FDCWD, O_CREAT, O_RDONLY, O_RDWR, O_WRONLY
from arch.abi.mman import MAP_ANONYMOUS, MAP_NORESERVE, MAP_POPULATE, MAP_PRIVATE, PROT_READ, PROT_WRITE
from arch.hosttime import HOST, HostStop, stop_behind
from bpf.isa.asm import assemble
from bpf.isa.insn import encode
from bpf.uapi import BPF_PROG_TYPE_SOCKET_FILTER
from simkernel.kernel.oops import Oopses
from simkernel.usertask import Calls, Request

Story = Callable[[Calls], Generator[Request, int, object]]
LIMIT_S = 0.25  # of real time
SLACK_S = 0.5  # of CPU time, for stopping
TIB, GIB = 1 << 40, 1 << 30
RW = PROT_READ | PROT_WRITE
LAZY = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
FOREVER = 1 << 62


def again(u: Calls) -> Generator[Request, int, object]:
    while True:
        yield u.getppid()


def mincore(u: Calls) -> Generator[Request, int, object]:
    area = yield u.mmap(0, 32 * TIB, PROT_READ, LAZY, -1, 0)
    vector = yield u.mmap(0, 9 * GIB, RW, LAZY, -1, 0)
    while True:
        yield u.mincore(area, 32 * TIB, vector)


def ranges(u: Calls) -> Generator[Request, int, object]:
    while True:
        area = yield u.mmap(0, 64 * TIB, RW, LAZY, -1, 0)
        yield u.madvise(area, 64 * TIB, 4)
        yield u.mprotect(area, 64 * TIB, PROT_READ)
        yield u.msync(area, 64 * TIB, 4)
        yield u.mlock(area, TIB)
        yield u.munmap(area, 64 * TIB)


def populate(u: Calls) -> Generator[Request, int, object]:
    while True:
        yield u.mmap(0, TIB, RW, LAZY | MAP_POPULATE, -1, 0)


def sparse(u: Calls) -> Generator[Request, int, object]:
    fd = yield u.openat(AT_FDCWD, "/tmp/x", O_RDWR | O_CREAT, 0o600)
    yield u.ftruncate(fd, 1 << 62)
    while True:
        yield u.pwrite64(fd, b"x", 1, 4 * TIB)
        yield u.fallocate(fd, 3, 0, 4 * TIB)  # PUNCH_HOLE | KEEP_SIZE
        yield u.lseek(fd, 0, 3)
        yield u.readahead(fd, 0, 1 << 50)
        yield u.sync_file_range(fd, 0, 1 << 50, 7)
        yield u.fsync(fd)


def copying(u: Calls) -> Generator[Request, int, object]:
    source = yield u.openat(AT_FDCWD, "/tmp/x", O_RDWR | O_CREAT, 0o600)
    yield u.ftruncate(source, 4 * TIB)
    sink = yield u.openat(AT_FDCWD, "/dev/null", O_WRONLY, 0)
    while True:
        yield u.sendfile(sink, source, 0, TIB)


def reading(u: Calls) -> Generator[Request, int, object]:
    zero = yield u.openat(AT_FDCWD, "/dev/zero", O_RDONLY, 0)
    area = yield u.mmap(0, 8 * GIB, RW, LAZY, -1, 0)
    vector = u.alloc(16 * 1024)
    u.write_memory(vector, struct.pack("<QQ", area, 2 * GIB) * 1024)
    while True:
        yield u.getrandom(area, 2 * GIB, 0)
        yield u.readv(zero, vector, 1024)


def timers(u: Calls) -> Generator[Request, int, object]:
    fd = yield u.timerfd_create(1, 0)
    yield u.timerfd_settime(fd, 0, struct.pack("<4Q", 0, 1, 0, 1), 0)
    yield u.rt_sigprocmask(0, bytes([0xFF] * 8), 0, 8)
    yield u.setitimer(0, struct.pack("<4Q", 0, 1, 0, 1), 0)
    while True:
        yield u.pause()


def forking(u: Calls) -> Generator[Request, int, object]:
    for _ in range(2000):
        yield u.fork(again)
    while True:
        yield u.pause()


def killing(u: Calls) -> Generator[Request, int, object]:
    yield u.rt_sigaction(signal.SIGCHLD, struct.pack("<4Q", 1, 0, 0, 0), 0, 8)
    while True:
        for _ in range(2000):
            yield u.fork(again)
        yield u.kill(-1, signal.SIGKILL)


def names(u: Calls) -> Generator[Request, int, object]:
    """A directory of ever more names, read from its begin each time."""
    yield u.mkdir("/tmp/many", 0o700)
    directory, buffer = (yield u.openat(AT_FDCWD, "/tmp/many", 0o200000, 0)), u.alloc(1 << 20)
    for number in range(1 << 30):
        yield u.symlink("x", f"/tmp/many/{number}")
        u.free_all()
        if not number % 256:
            yield u.lseek(directory, 0, 0)
            while (yield u.getdents64(directory, buffer, 1 << 20)) > 0:
                pass


def executing(u: Calls) -> Generator[Request, int, object]:
    """A program of which nothing is there but its size, and one whose segments are as large."""
    fd = yield u.openat(AT_FDCWD, "/tmp/huge", O_RDWR | O_CREAT, 0o700)
    header = (
        b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0x400000, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    )
    yield u.ftruncate(fd, TIB)
    nothing = u.string("")
    while True:
        yield u.execve("/tmp/huge", nothing, nothing)
        yield u.pwrite64(fd, header + struct.pack("<IIQQQQQQ", 1, 7, 0, 0x400000, 0, TIB, TIB, 4096), 120, 0)


def patterns(u: Calls) -> Generator[Request, int, object]:
    """Filters of an event: globs that could try every way to match, on a name that almost does."""
    where = "/sys/kernel/tracing/events/syscalls/sys_enter_openat"
    yield u.prctl(15, b"a" * 15, 0, 0, 0)
    for file, text in ((f"{where}/filter", 'comm ~ "' + "*a" * 120 + '*b"'), (f"{where}/enable", "1")):
        fd = yield u.openat(AT_FDCWD, file, O_WRONLY, 0)
        yield u.write(fd, text, len(text))
        yield u.close(fd)
    path = u.string("/" + "a" * 200)
    while True:
        yield u.openat(AT_FDCWD, path, O_RDONLY, 0)


STORIES = (
    again, mincore, ranges, populate, sparse, copying, reading, timers, forking, killing, names, executing, patterns,
)  # fmt: skip


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_time_ends_it(story: Story) -> None:
    m = simkernel.boot()
    assert m.session.read_file("/proc/uptime")
    task = m.workload(story)
    begin = time.process_time()
    result = m.wait(task, timeout_host_s=LIMIT_S)
    assert result.timed_out == "host"
    assert time.process_time() - begin < LIMIT_S + SLACK_S
    assert m.session.read_file("/proc/uptime")


def test_a_test_run_of_many_repeats() -> None:
    m = simkernel.boot()
    code = encode(assemble("r0 = 0\nagain: r0 += 1\nif r0 < 1000 goto again\nexit"))
    fd, _ = m.session.task.prog_load(BPF_PROG_TYPE_SOCKET_FILTER, code)
    begin = time.process_time()
    with pytest.raises(HostStop), HOST.limit(LIMIT_S):
        m.session.task.prog_test_run(fd, bytes(64), repeat=(1 << 32) - 1)
    assert time.process_time() - begin < LIMIT_S + SLACK_S
    assert m.session.read_file("/proc/uptime")


def test_a_verification_of_a_million_instructions() -> None:
    """The verifier follows such a loop for seconds; a stop leaves no program behind, and another one can be loaded."""
    m = simkernel.boot()
    code = encode(assemble("r0 = 0\nagain: r0 += 1\nif r0 < 400000 goto again\nexit"))
    begin = time.process_time()
    with pytest.raises(HostStop), HOST.limit(LIMIT_S):
        m.session.task.prog_load(BPF_PROG_TYPE_SOCKET_FILTER, code)
    assert time.process_time() - begin < LIMIT_S + SLACK_S
    assert not m.kernel.observer.bpf.progs.objects
    fd, _ = m.session.task.prog_load(BPF_PROG_TYPE_SOCKET_FILTER, encode(assemble("r0 = 0\nexit")))
    assert fd >= 0


def test_ctrl_c_leaves_a_machine_that_can_be_used() -> None:
    m = simkernel.boot()
    for _ in range(3):
        task = m.workload(ranges)
        threading.Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()
        with pytest.raises(KeyboardInterrupt):
            m.wait(task)
        assert m.session.read_file("/proc/uptime")


def test_a_task_has_so_many_areas_and_no_more() -> None:
    """vm.max_map_count."""
    seen = []

    def story(u: Calls) -> Generator[Request, int, object]:
        for n in range(70_000):
            area = yield u.mmap(0, 4096, PROT_READ if n & 1 else RW, LAZY, -1, 0)
            if area < 0:
                seen.append((n, area))
                return

    m = simkernel.boot()
    m.wait(m.workload(story))
    ((count, error),) = seen
    assert error == -ENOMEM
    assert 65_500 < count < 65_531


def test_a_program_that_kills_everybody_leaves_its_observer_alone() -> None:
    m = simkernel.boot()
    session = m.session

    def story(u: Calls) -> Generator[Request, int, object]:
        yield u.kill(-1, signal.SIGKILL)
        yield u.kill(session.syscalls.task.task.pid, signal.SIGKILL)

    m.wait(m.workload(story))
    assert session.read_file("/proc/uptime")


def test_a_program_that_could_not_be_ended_in_time_is_told_as_killed() -> None:
    m = simkernel.boot()
    task = m.workload(forking)
    m._kill = lambda task: None  # type: ignore[method-assign]
    result = m.wait(task, timeout_host_s=LIMIT_S)
    assert (result.timed_out, result.signal, result.status) == ("host", signal.SIGKILL, 128 + signal.SIGKILL)


def test_a_stop_while_the_tool_task_starts_is_a_stop() -> None:
    m = simkernel.boot()
    with pytest.raises(HostStop), HOST.limit(0):
        m.session.read_file("/proc/uptime")
    assert m.session.read_file("/proc/uptime")


def test_what_is_put_in_order_after_a_stop_hides_it_not() -> None:
    m = simkernel.boot()
    task = m.session.syscalls.task
    area = task.syscall("mmap", 0, 32 * TIB, PROT_READ, LAZY, -1, 0)
    vector = task.syscall("mmap", 0, 9 * GIB, RW, LAZY, -1, 0)
    with pytest.raises(HostStop), HOST.limit(0.05):
        try:
            task.syscall("mincore", area, 32 * TIB, vector)
        finally:
            assert task.syscall("close", 3) == 0
            for use in (lambda: task.syscall("getpid"), lambda: task.alloc(8), lambda: task.read(vector, 1)):
                with pytest.raises(HostStop):
                    use()
    with pytest.raises(RuntimeError, match="has ended"):
        task.syscall("getpid")


def test_a_call_that_a_stop_has_ended_has_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its task is gone, as after exit_group(2), which is no error; this is."""

    def stopped(*args: object) -> object:
        while not HOST.why:
            pass
        raise HostStop

    m = simkernel.boot()
    task = m.user_task()
    monkeypatch.setattr("bpf.syscall.sys_bpf.Attr", stopped)
    with pytest.raises(HostStop), HOST.limit(LIMIT_S):
        try:
            result = task.syscall("bpf", 0, 0, 0)
        except HostStop:
            result = None
        assert result is None
        HOST.seen()
        task.alloc(8)
    monkeypatch.undo()
    m.user_task().exit()


@pytest.mark.parametrize("where", ["seen", "_close_frames"])
def test_a_second_stop_behind_the_first_leaves_no_half_ended_task(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """What a verification of a second leaves takes longer to be dropped than the host waits until it stops again."""
    m = simkernel.boot()
    task = m.user_task()
    area = task.syscall("mmap", 0, 32 * TIB, PROT_READ, LAZY, -1, 0)
    vector = task.syscall("mmap", 0, 9 * GIB, RW, LAZY, -1, 0)
    owner = HOST if where == "seen" else Oopses
    original, stops = getattr(owner, where), [HostStop()]

    def interrupted(*args: object) -> None:
        if stops:
            raise stops.pop()
        original(*args)

    monkeypatch.setattr(owner, where, interrupted)
    with pytest.raises(HostStop), HOST.limit(0.05):
        task.syscall("mincore", area, 32 * TIB, vector)
    assert not stops
    with pytest.raises(RuntimeError, match="has ended"):
        task.syscall("getpid")
    assert m.session.read_file("/proc/uptime")
    assert not any("kernel BUG" in line for line in m.kernel.log.texts)


def test_a_stop_that_the_interpreter_wraps_is_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """HostStop inside a __set_name__() arrives as a RuntimeError: still no bug of ours."""

    class Stopped:
        def __set_name__(self, owner: type, name: str) -> None:
            while not HOST.why:
                pass
            raise HostStop

    def kernel_function(*args: object) -> object:
        return type("Made", (), {"member": Stopped()})

    m = simkernel.boot()
    monkeypatch.setattr("bpf.syscall.sys_bpf.Attr", kernel_function)
    with pytest.raises(HostStop), HOST.limit(LIMIT_S):
        m.user_task().syscall("bpf", 0, 0, 0)
    monkeypatch.undo()
    assert m.session.read_file("/proc/uptime")
    with pytest.raises(RuntimeError) as caught:
        type("Made", (), {"member": property(), "other": Broken()})
    assert not stop_behind(caught.value)


class Broken:
    """A member that says no."""

    def __set_name__(self, owner: type, name: str) -> None:
        raise ValueError(name)
