"""What the kernel keeps for programs counts against the machine's memory: a program that makes it keep ever more is ended by
the OOM killer (or told that there is no room), and when it is gone all of it is back."""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator

import pytest

import simkernel
from arch.abi.errno import ENOMEM
from arch.memory import OutOfMemory, PhysicalMemory
from simkernel.usertask import Calls, Request

Story = Generator[Request, int, object]
MEMORY = 16 << 20
FOREVER = range(1 << 30)


def unlimited(u: Calls) -> Story:
    for resource in (7, 11, 12):  # RLIMIT_NOFILE, RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE
        most = 1 << 20 if resource == 7 else 1 << 40
        yield u.prlimit64(0, resource, struct.pack("<QQ", most, most), 0)


def pipes(u: Calls) -> Story:
    fds, data = u.alloc(8), u.alloc(65536)
    while (yield u.pipe2(fds, 0o4000)) == 0:
        yield u.write(struct.unpack("<ii", u.read_memory(fds, 8))[1], data, 65536)


def unix_sockets(u: Calls) -> Story:
    fds, data = u.alloc(8), u.alloc(40000)
    while (yield u.socketpair(1, 1, 0, fds)) == 0:
        fd = struct.unpack("<ii", u.read_memory(fds, 8))[0]
        while (yield u.sendto(fd, data, 40000, 0x40, 0, 0)) > 0:
            pass


def posix_queues(u: Calls) -> Story:
    data = u.alloc(8192)
    attr = struct.pack("<8q", 0, 60000, 8192, 0, 0, 0, 0, 0)
    for i in FOREVER:
        fd = yield u.mq_open(f"q{i}", 0o4102, 0o600, attr)
        if fd < 0:
            return
        while (yield u.mq_timedsend(fd, data, 8192, 0, 0)) == 0:
            pass


def sysv_queues(u: Calls) -> Story:
    message = u.alloc(8200)
    u.write_memory(message, struct.pack("<q", 1))
    while (queue := (yield u.msgget(0, 0o1600))) >= 0:
        while (yield u.msgsnd(queue, message, 8192, 0o4000)) == 0:
            pass


def semaphores(u: Calls) -> Story:
    while (yield u.semget(0, 32000, 0o1600)) >= 0:
        pass


def tmpfs_names(u: Calls) -> Story:
    yield u.mkdir("/tmp/d", 0o700)
    yield u.mount("none", "/tmp/d", "tmpfs", 0, "nr_inodes=0,size=0")
    for i in FOREVER:
        if (yield u.symlink("x" * 2000, f"/tmp/d/{i}")) < 0:
            break
        u.free_all()
    yield u.umount2("/tmp/d", 2)


def attributes(u: Calls) -> Story:
    data = u.alloc(60000)
    fd = yield u.openat(-100, "/tmp/a", 0o102, 0o600)
    for i in FOREVER:
        if (yield u.fsetxattr(fd, f"trusted.{i}", data, 60000, 0)) < 0:
            return


def mounts(u: Calls) -> Story:
    yield u.unshare(0x20000)  # CLONE_NEWNS
    yield u.mount("none", "/", 0, (1 << 18) | (1 << 14), 0)  # MS_PRIVATE | MS_REC
    yield u.mkdir("/tmp/m", 0o700)
    for _ in range(300):
        yield u.mount("/tmp", "/tmp", 0, 4096, 0)
    for _ in FOREVER:  # each tree that is bound has twice as many as the one before
        if (yield u.mount("/", "/tmp", 0, 4096 | (1 << 14), 0)) < 0:
            return


def keys(u: Calls) -> Story:
    data = u.alloc(30000)
    for i in FOREVER:
        if (yield u.add_key("user", f"key {i}", data, 30000, -4 & 0xFFFFFFFF)) < 0:
            return


def trace_instances(u: Calls) -> Story:
    for i in FOREVER:
        if (yield u.mkdir(f"/sys/kernel/tracing/instances/{i}", 0o755)) < 0:
            return


def histograms(u: Calls) -> Story:
    file, data = "/sys/kernel/tracing/events/sched/sched_switch/trigger", u.alloc(64)
    for size, done in ((1 << 17, False), (1 << 14, True)):
        text = f"hist:keys=prev_pid:size={size}".encode()
        u.write_memory(data, text)
        fd = yield u.openat(-100, file, 1, 0)
        answer = yield u.write(fd, data, len(text))
        assert answer == (len(text) if done else -ENOMEM)
    yield u.openat(-100, file, 0o1001, 0)  # O_TRUNC: all go


def perf_events(u: Calls) -> Story:
    attr = u.alloc(128)
    u.write_memory(attr, struct.pack("<II", 1, 128))
    while (yield u.perf_event_open(attr, 0, -1, -1, 0)) >= 0:
        pass


def programs(u: Calls) -> Story:
    insns = u.alloc(16000)
    u.write_memory(insns, struct.pack("<Q", 0xB7) * 1999 + struct.pack("<Q", 0x95))
    attr = u.alloc(128)
    u.write_memory(attr, struct.pack("<IIQQ", 1, 2000, insns, u.string("GPL")))
    while (yield u.bpf(5, attr, 128)) >= 0:
        pass


def types(u: Calls) -> Story:
    ints = struct.pack("<IIII", 1, 1 << 24, 4, 32) * 500
    data = struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(ints), len(ints), 3) + ints + b"\0a\0"
    btf, attr = u.alloc(len(data)), u.alloc(128)
    u.write_memory(btf, data)
    u.write_memory(attr, struct.pack("<QQI", btf, 0, len(data)))
    while (yield u.bpf(18, attr, 128)) >= 0:
        pass


FAST: tuple[Callable[[Calls], Story], ...] = (
    pipes, unix_sockets, posix_queues, sysv_queues, semaphores, tmpfs_names, attributes, mounts, keys,
    trace_instances, histograms, perf_events, programs, types,
)  # fmt: skip


@pytest.mark.parametrize("story", FAST, ids=lambda story: story.__name__)
def test_what_is_kept_counts(story: Callable[[Calls], Story]) -> None:
    with simkernel.boot(memory=MEMORY) as m:
        m.wait(m.workload(lambda u: unlimited(u)))
        physical = m.kernel.physical
        charged = physical.charged

        def body(u: Calls) -> Story:
            yield from unlimited(u)
            yield from story(u)

        result = m.wait(m.workload(body), timeout_host_s=60)
        assert not result.timed_out
        killed = result.signal == 9 and any("Out of memory" in line for line in m.kernel.log.texts)
        assert killed or result.status == 0
        left = physical.charged - charged
        if story in (
            sysv_queues,
            semaphores,
            posix_queues,
            keys,
            attributes,
            tmpfs_names,
            trace_instances,
        ):  # these outlive who made them
            assert left > MEMORY // 8
        else:
            assert left < 16384


def small_signals(u: Calls) -> Story:
    """Few enough to be fast: what each takes is looked at, not what happens when nothing is left."""
    yield u.rt_sigprocmask(0, struct.pack("<Q", 1 << 39), 0, 8)
    info = struct.pack("<iii", 40, 0, -1).ljust(128, b"\0")
    me = yield u.getpid()
    for _ in range(500):
        assert (yield u.rt_sigqueueinfo(me, 40, info)) == 0


def timers(u: Calls) -> Story:
    where = u.alloc(8)
    for _ in range(500):
        assert (yield u.timer_create(1, 0, where)) == 0


def locks(u: Calls) -> Story:
    fd = yield u.openat(-100, "/tmp/l", 0o102, 0o600)
    for i in range(0, 600, 2):
        assert (yield u.fcntl(fd, 6, struct.pack("<hh4xqqi4x", 1, 0, i, 1, 0))) == 0


def events(u: Calls) -> Story:
    yield u.mkdir("/tmp/w", 0o700)
    watch = yield u.inotify_init1(0)
    yield u.inotify_add_watch(watch, "/tmp/w", 0x100 | 0x200)
    for _ in range(200):
        fd = yield u.openat(-100, "/tmp/w/" + "n" * 200, 0o102, 0o600)
        yield u.close(fd)
        yield u.unlink("/tmp/w/" + "n" * 200)
        u.free_all()


def areas(u: Calls) -> Story:
    start = yield u.mmap(0, 500 * 4096, 0, 0x22, -1, 0)
    for i in range(0, 500, 2):
        assert (yield u.mprotect(start + i * 4096, 4096, 1)) == 0


def groups(u: Calls) -> Story:
    for i in range(100):
        assert (yield u.mkdir(f"/sys/fs/cgroup/{i}", 0o755)) == 0
        u.free_all()


def watched(u: Calls) -> Story:
    ep, event = (yield u.epoll_create1(0)), u.alloc(16)
    for _ in range(500):
        fd = yield u.eventfd2(0, 0)
        assert (yield u.epoll_ctl(ep, 1, fd, event)) == 0


def test_file_max_is_for_those_without_privilege() -> None:
    with simkernel.boot() as m:
        physical, files = m.kernel.physical, m.kernel.vfs.files
        open_before, answers = len(files), list[int]()
        m.session.write_file("/proc/sys/fs/file-max", str(len(files) + 20))

        def body(u: Calls) -> Story:
            privileged = []
            for _ in range(40):
                privileged.append((yield u.eventfd2(0, 0)))
            assert min(privileged) >= 0
            for fd in privileged:
                yield u.close(fd)
            yield u.setresuid(1000, 1000, 1000)
            while (yield u.openat(-100, "/", 0, 0)) >= 0:
                pass
            free, charged = physical.free_pages, physical.charged
            for _ in range(200):
                answers.append((yield u.openat(-100, "/", 0, 0)))
                answers.append((yield u.openat(-100, "/", 0o10000000, 0)))
                answers.append((yield u.openat(-100, "/nowhere", 0, 0)))
                u.free_all()
            assert (yield u.dup(0)) >= 0
            assert free - physical.free_pages < 4 and physical.charged == charged

        assert m.wait(m.workload(body)).status == 0
        assert set(answers) == {-23}
        assert len(files) == open_before
        assert sum("file-max limit" in line for line in m.kernel.log.texts) == 1


def test_control_groups_count() -> None:
    with simkernel.boot(memory=MEMORY) as m:
        physical = m.kernel.physical
        before = physical.charged
        assert m.wait(m.workload(groups)).status == 0
        assert physical.charged - before == 100 * 12288

        def gone(u: Calls) -> Story:
            for i in range(100):
                assert (yield u.rmdir(f"/sys/fs/cgroup/{i}")) == 0
                u.free_all()

        assert m.wait(m.workload(gone)).status == 0
        assert physical.charged == before


def test_a_removed_control_group_leaves_no_inodes() -> None:
    with simkernel.boot() as m:
        seen: list[tuple[int, int]] = []

        def body(u: Calls) -> Story:
            for _ in range(3):
                yield u.mkdir("/sys/fs/cgroup/g", 0o755)
                fd = yield u.openat(-100, "/sys/fs/cgroup/g/cgroup.procs", 0, 0)
                yield u.close(fd)
                held = yield u.openat(-100, "/sys/fs/cgroup/g", 0, 0)
                assert (yield u.rmdir("/sys/fs/cgroup/g")) == 0
                yield u.close(held)
                u.free_all()
                seen.append((len(m.kernel.vfs.mirror.inodes), len(m.kernel.vfs.mirror.dentries)))

        assert m.wait(m.workload(body)).status == 0
        assert seen[0] == seen[1] == seen[2]


def test_areas_of_forked_processes_count() -> None:
    with simkernel.boot(memory=MEMORY) as m:
        physical, seen = m.kernel.physical, list[int]()

        def child(u: Calls) -> Story:
            yield u.pause()

        def body(u: Calls) -> Story:
            yield from areas(u)
            before = physical.charged
            children = []
            for _ in range(10):
                children.append((yield u.fork(child)))
            seen.append(physical.charged - before)
            for pid in children:
                yield u.kill(pid, 9)
                yield u.wait4(pid, 0, 0, 0)
            seen.append(physical.charged - before)

        before = physical.charged
        assert m.wait(m.workload(body)).status == 0
        assert 10 * 500 * 152 <= seen[0] < 10 * 520 * 152 and seen[1] == 0
        assert physical.charged == before


@pytest.mark.parametrize(
    ("story", "least"),
    [
        (small_signals, 500 * 80),
        (timers, 500 * 80),
        (locks, 300 * 216),
        (events, 400 * 248),
        (areas, 500 * 152),
        (watched, 500 * 184),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_each_small_thing_counts(story: Callable[[Calls], Story], least: int) -> None:
    with simkernel.boot(memory=MEMORY) as m:
        physical = m.kernel.physical
        seen: list[int] = []

        def body(u: Calls) -> Story:
            yield from unlimited(u)
            before = physical.charged
            yield from story(u)
            seen.append(physical.charged - before)

        before = physical.charged
        assert m.wait(m.workload(body)).status == 0
        assert least <= seen[0] < 2 * least
        assert physical.charged - before < 4096


def test_what_is_charged_cannot_be_had_and_comes_back() -> None:
    physical = PhysicalMemory(1 << 20)
    free, starving = physical.free_pages, []
    physical.on_starving = lambda: starving.append(1)
    physical.charge(5000)
    assert physical.free_pages == free - 2
    physical.charge(3000)
    assert physical.free_pages == free - 2
    with pytest.raises(OutOfMemory):
        physical.charge(physical.free_pages << 12 | 1000)
    assert starving
    physical.charge(physical.free_pages << 12)
    with pytest.raises(OutOfMemory):
        physical.alloc_page()
    with pytest.raises(OutOfMemory):
        physical.alloc_pages(2)
    physical.charge(-physical.charged)
    assert physical.free_pages == free
    assert physical.alloc_page() == 0


def test_an_unmounted_tmpfs_gives_its_pages_back() -> None:
    with simkernel.boot() as m:
        free: list[int] = []

        def body(u: Calls) -> Story:
            data = u.alloc(60000)
            yield u.mkdir("/tmp/t", 0o700)
            for _ in range(4):
                assert (yield u.mount("none", "/tmp/t", "tmpfs", 0, 0)) == 0
                yield u.mkdir("/tmp/t/d", 0o700)
                fd = yield u.openat(-100, "/tmp/t/d/f", 0o102, 0o600)
                for _ in range(20):
                    yield u.write(fd, data, 60000)
                yield u.umount2("/tmp/t", 2)  # MNT_DETACH: it stays while the file is open
                assert (yield u.pread64(fd, data, 60000, 0)) == 60000
                yield u.close(fd)
                free.append(m.kernel.physical.free_pages)

        assert m.wait(m.workload(body)).status == 0
        assert free[0] - free[-1] < 20


def test_a_namespace_of_ipc_objects_goes_with_its_last_task() -> None:
    with simkernel.boot() as m:
        charged = m.kernel.physical.charged

        def body(u: Calls) -> Story:
            yield u.unshare(0x08000000)  # CLONE_NEWIPC
            assert (yield u.semget(0, 1000, 0o1600)) >= 0
            queue = yield u.msgget(0, 0o1600)
            assert (yield u.msgsnd(queue, struct.pack("<q", 1) + bytes(1000), 1000, 0)) == 0
            assert (yield u.shmget(0, 8192, 0o1600)) >= 0
            assert m.kernel.physical.charged - charged > 64000

        assert m.wait(m.workload(body)).status == 0
        assert m.kernel.physical.charged - charged < 1024


def test_an_instance_gives_its_room_back() -> None:
    def body(u: Calls) -> Story:
        yield u.mkdir("/sys/kernel/tracing/instances/one", 0o755)
        yield u.rmdir("/sys/kernel/tracing/instances/one")

    with simkernel.boot(memory=MEMORY) as m:
        charged = m.kernel.physical.charged
        m.wait(m.workload(body))
        assert m.kernel.physical.charged == charged


def test_routes_and_rules_count_and_go_with_their_namespace() -> None:
    """Asked for over rtnetlink: blackholes have no device that would take them along."""

    def request(kind: int, body: bytes, *attributes: tuple[int, bytes]) -> bytes:
        body += b"".join(struct.pack("<HH", 4 + len(value), number) + value for number, value in attributes)
        return struct.pack("<IHHII", 16 + len(body), kind, 0x605, 0, 0) + body  # REQUEST | ACK | CREATE | EXCL

    with simkernel.boot() as m:
        physical, seen = m.kernel.physical, list[int]()

        def body(u: Calls) -> Story:
            yield u.unshare(0x40000000)  # CLONE_NEWNET
            before, data = physical.charged, u.alloc(256)
            fd = yield u.socket(16, 3, 0)

            def ask(message: bytes) -> Story:
                u.write_memory(data, message)
                assert (yield u.sendto(fd, data, len(message), 0, 0, 0)) == len(message)
                assert (yield u.recvfrom(fd, data, 256, 0, 0, 0)) > 0
                assert struct.unpack("<i", u.read_memory(data + 16, 4)) == (0,)

            for i in range(100):
                route = struct.pack("<8BI", 2, 32, 0, 0, 254, 4, 0, 6, 0)  # RTN_BLACKHOLE
                yield from ask(request(24, route, (1, bytes([10, 0, 0, i]))))
                rule = struct.pack("<8BI", 2, 0, 0, 0, 254, 0, 0, 1, 0)
                yield from ask(request(32, rule, (6, struct.pack("<I", 1000 + i))))
            yield u.close(fd)
            seen.append(physical.charged - before)

        before = physical.charged
        assert m.wait(m.workload(body)).status == 0
        assert 100 * 800 < seen[0] < 100 * 1600
        assert physical.charged - before < 4096
