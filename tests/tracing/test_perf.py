"""perf events: the checks of perf_event_open(2) in order, counting, samples byte for byte, buffers, programs."""

import struct

import pytest

from arch.abi.errno import E2BIG, EBADF, EBUSY, EEXIST, EINVAL, ENOENT, ENOSPC, ENOTTY, EOPNOTSUPP, ESRCH
from arch.abi.poll import EPOLLHUP, EPOLLIN
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from arch.memory import FlatMemory
from tests.tracing.fakes import cat, echo, machine
from tests.tracing.test_filter import written
from tracing.perf.attr import FLAG_BITS

DUMMY = 9


def attr(type=1, config=DUMMY, size=128, flags=(), raw_flags=0, order="<", **fields):
    """The bytes of a struct perf_event_attr."""
    bits = sum(1 << FLAG_BITS.index(name) for name in flags) | raw_flags
    if order == ">":
        bits = int(f"{bits:064b}"[::-1], 2)
    f = {"sample_period": 0, "sample_type": 0, "read_format": 0, "wakeup": 0, "bp_type": 0, "config1": 0, "config2": 0,
         "branch": 0, "regs_user": 0, "stack_user": 0, "clockid": 0, "regs_intr": 0, **fields}  # fmt: skip
    data = struct.pack(order + "IIQQQQQIIQQQQIiQ", type, size, config, f["sample_period"], f["sample_type"],
                       f["read_format"], bits, f["wakeup"], f["bp_type"], f["config1"], f["config2"], f["branch"],
                       f["regs_user"], f["stack_user"], f["clockid"], f["regs_intr"])  # fmt: skip
    return data.ljust(max(size, 128), b"\0")


@pytest.fixture
def tracing():
    tracing = machine()
    tracing.host.user = FlatMemory(base=0x10000, size=1 << 16)
    descriptors = {}

    def resolve(fd):
        if fd not in descriptors:
            raise KernelError(EBADF)
        return descriptors[fd]

    tracing.perf.resolve_fd = resolve
    tracing.descriptors = descriptors
    return tracing


def event_id(tracing, system, name):
    return tracing.events.get(system, name).id


def errno_of(function, *args, **kwargs):
    with pytest.raises(KernelError) as error:
        function(*args, **kwargs)
    return error.value.errno


# Each row was asked of the real Linux 6.1 (as root, one CPU there).
RECORDED = [
    # attribute, (pid, cpu, group, flags), errno; 0 for success
    *[({"type": 0, "config": n}, (0, -1, -1, 0), ENOENT) for n in (0, 3, 9)],
    *[({"type": 1, "config": n}, (0, -1, -1, 0), 0) for n in range(12)],
    *[({"type": 1, "config": n}, (0, -1, -1, 0), ENOENT) for n in (12, 13)],
    ({"type": 2, "config": 0}, (0, -1, -1, 0), EINVAL),
    ({"type": 2, "config": 99999}, (0, -1, -1, 0), EINVAL),
    *[({"type": n, "config": 1}, (0, -1, -1, 0), ENOENT) for n in (3, 4, 9)],
    ({"type": 7, "config": 0}, (0, -1, -1, 0), EINVAL),
    ({"type": 5, "config": 0}, (0, -1, -1, 0), EINVAL),
    ({"size": 0}, (0, -1, -1, 0), 0),
    ({"size": 63}, (0, -1, -1, 0), E2BIG),
    ({"size": 64}, (0, -1, -1, 0), 0),
    ({"size": 72}, (0, -1, -1, 0), 0),
    ({"size": 200}, (0, -1, -1, 0), 0),
    ({"size": 5000}, (0, -1, -1, 0), E2BIG),
    ({}, (0, -1, -1, 16), EINVAL),
    ({}, (0, -1, -1, 8), 0),
    ({}, (-1, 0, -1, 4), EINVAL),
    ({}, (0, -1, -1, 4), EINVAL),
    ({}, (-1, -1, -1, 0), EINVAL),
    ({}, (-1, 0, -1, 0), 0),
    ({}, (-1, 5, -1, 0), EINVAL),
    ({}, (-1, 99999, -1, 0), EINVAL),
    ({}, (0, -2, -1, 0), EINVAL),
    ({}, (99999, -1, -1, 0), ESRCH),
    ({}, (0, -1, 99, 0), EBADF),
    ({}, (0, -1, 0, 0), EBADF),
    ({"sample_period": 1 << 63}, (0, -1, -1, 0), EINVAL),
    ({"sample_period": 1000000, "flags": ["freq"]}, (0, -1, -1, 0), EINVAL),
    ({"sample_type": 1 << 25}, (0, -1, -1, 0), EINVAL),
    ({"sample_type": 1 << 24}, (0, -1, -1, 0), 0),
    ({"read_format": 32}, (0, -1, -1, 0), EINVAL),
    ({"read_format": 31}, (0, -1, -1, 0), 0),
    ({"raw_flags": 1 << 38}, (0, -1, -1, 0), EINVAL),
    ({"sample_type": 1 << 12}, (0, -1, -1, 0), EINVAL),
    ({"sample_type": 1 << 13, "stack_user": 7}, (0, -1, -1, 0), EINVAL),
    ({"sample_type": 1 << 11}, (0, -1, -1, 0), EINVAL),
    ({"sample_type": 1 << 11, "branch": 8}, (0, -1, -1, 0), EOPNOTSUPP),
    ({"sample_type": 1 << 14 | 1 << 24}, (0, -1, -1, 0), EINVAL),
    ({"flags": ["inherit_thread"]}, (0, -1, -1, 0), EINVAL),
    ({"flags": ["remove_on_exec", "enable_on_exec"]}, (0, -1, -1, 0), EINVAL),
    ({"flags": ["sigtrap"]}, (0, -1, -1, 0), EINVAL),
    ({"flags": ["inherit"], "sample_type": 16}, (0, -1, -1, 0), EINVAL),
    ({"clockid": 1}, (0, -1, -1, 0), 0),
    ({"flags": ["use_clockid"], "clockid": 99}, (0, -1, -1, 0), EINVAL),
]


@pytest.mark.parametrize(("fields", "where", "errno"), RECORDED)
def test_recorded_errors_of_open(tracing, fields, where, errno):
    raw = attr(**fields)
    if errno:
        assert errno_of(tracing.perf.open, raw, *where) == errno
        assert not tracing.perf.events
    else:
        tracing.perf.open(raw, *where).release()
        assert not tracing.perf.events


def test_unknown_bytes_must_be_zero(tracing):
    raw = bytearray(attr(size=200))
    raw[190] = 1
    assert errno_of(tracing.perf.open, bytes(raw), 0, -1) == E2BIG


def test_4_1_knows_less():
    tracing = machine(KernelVersion.parse("4.1"))
    assert errno_of(tracing.perf.open, attr(config=10), 0, -1) == ENOENT  # no bpf-output
    assert errno_of(tracing.perf.open, attr(type=6, config=0), 0, -1) == ENOENT  # no kprobe PMU
    assert errno_of(tracing.perf.open, attr(sample_type=1 << 19), 0, -1) == EINVAL
    assert errno_of(tracing.perf.open, attr(raw_flags=1 << 26), 0, -1) == EINVAL
    raw = bytearray(attr(size=120))
    raw[113] = 1
    assert errno_of(tracing.perf.open, bytes(raw), 0, -1) == E2BIG


def open_event(tracing, fd=None, pid=0, cpu=-1, group=-1, flags=0, **fields):
    event = tracing.perf.open(attr(**fields), pid, cpu, group, flags)
    if fd is not None:
        tracing.descriptors[fd] = event
    return event


def data(event, start=0):
    buffer = event.buffer
    head = buffer.mem.read_uint(buffer.base + 1024, 8)
    raw = buffer.mem.read(buffer.data, buffer.size)
    return b"".join(raw[i % buffer.size : i % buffer.size + 1] for i in range(start, head))


def test_sample_of_a_tracepoint_byte_for_byte(tracing):
    """IDENTIFIER, TID, CPU, PERIOD, RAW: the order and padding that the real kernel showed."""
    name = ("sched", "sched_process_exit")
    event = open_event(tracing, type=2, config=event_id(tracing, *name), sample_period=1, wakeup=1,
                       sample_type=0x10000 | 0x400 | 0x100 | 0x80 | 2)  # fmt: skip
    event.mmap(8192, True)
    assert event.poll() == 0
    tracing.trace("sched_process_exit", tracing.host.task_struct("sh", 81))
    assert event.poll() == EPOLLIN
    assert event.poll() == 0
    raw = struct.pack("<HBBi16sii", event.attr.config, 0, 0, 81, b"sh", 81, 120)
    body = struct.pack("<QIIIIQI", event.id, 81, 81, 0, 0, 1, 36) + raw + bytes(4)
    assert data(event) == struct.pack("<IHH", 9, 1, 8 + len(body)) + body
    assert struct.unpack("<Q", event.read(8)) == (1,)
    assert tracing.tracepoints["sched_process_exit"].active
    event.release()
    assert tracing.tracepoints["sched_process_exit"].active  # the mapping keeps it
    event.munmap()
    assert not tracing.tracepoints["sched_process_exit"].active


def test_lost_records(tracing):
    """As recorded: a full page loses samples; the next that fits is preceded by PERF_RECORD_LOST with their number."""
    event = open_event(tracing, sample_type=0x400, config=10, cpu=0, pid=-1)
    event.mmap(8192, True)
    buffer = event.buffer
    size = 8 + 4 + 52
    assert [event.bpf_output(bytes(50)) for _ in range(100)] == [True] * 63 + [False] * 37
    assert event.lost_samples == 37
    assert buffer.head == 4032 == 63 * size
    buffer.mem.write_uint(buffer.base + 1032, 8, buffer.head)  # the reader catches up
    event.bpf_output(b"x" * 50)
    record = data(event, 4032)
    assert record[:24] == struct.pack("<IHHQQ", 2, 0, 24, event.id, 37)
    assert len(record) == 24 + size
    assert buffer.lost == 0


def test_overwrite_mode_never_loses(tracing):
    event = open_event(tracing, sample_type=0x400, config=10, cpu=0, pid=-1)
    event.mmap(8192, False)
    for index in range(200):
        event.bpf_output(struct.pack("<I", index) + bytes(48))
    assert event.buffer.head == 200 * 64
    assert event.buffer.lost == 0


def test_header_page(tracing):
    event = open_event(tracing)
    pages = event.mmap(3 * 4096, True)
    assert len(pages) == 3
    mem = tracing.host.mem
    assert mem.read_uint(pages[0] + 72, 4) == 96
    assert [mem.read_uint(pages[0] + offset, 8) for offset in (1024, 1032, 1040, 1048)] == [0, 0, 4096, 8192]
    old = machine(KernelVersion.parse("4.1"))
    assert old.host.mem.read_uint(open_event(old).mmap(4096 * 2, True)[0] + 72, 4) == 76


def test_recorded_errors_of_mmap(tracing):
    event = open_event(tracing)
    assert event.poll() == EPOLLHUP
    assert errno_of(event.mmap, 4 * 4096, True) == EINVAL
    assert errno_of(event.mmap, 3 * 4096, True, shared=False) == EINVAL
    assert errno_of(event.mmap, 3 * 4096, True, offset=4096) == EINVAL
    event.mmap(3 * 4096, True)
    assert errno_of(event.mmap, 2 * 4096, True) == EINVAL
    event.mmap(3 * 4096, True)
    assert event.poll() == 0
    inherited = tracing.perf.open(attr(flags=["inherit"]), 0, -1)
    assert errno_of(inherited.mmap, 3 * 4096, True) == EINVAL


def test_ioctls(tracing):
    event = open_event(tracing, fd=5, config=1)
    user = tracing.host.user
    for request in (0x2400, 0x2401, 0x2403):
        assert event.ioctl(request, 0) == 0
    for request, arg, errno in (
        (0x2402, 0, EINVAL),  # REFRESH of what does not sample
        (0x9999, 0, ENOTTY),
        (0x40082404, 0x10000, EINVAL),  # PERIOD
        (0x40082406, 0x10000, EINVAL),  # SET_FILTER on a software event
        (0x40042409, 1, EINVAL),  # PAUSE_OUTPUT without a buffer
        (0x2405, 99, EBADF),
        (0x2405, 5, EINVAL),  # itself
        (0x80082407, 0x99, 14),  # EFAULT
    ):
        assert errno_of(event.ioctl, request, arg) == errno
    assert event.ioctl(0x80082407, 0x10000) == 0
    assert user.read_uint(0x10000, 8) == event.id
    assert errno_of(event.ioctl, 0x2405, (1 << 32) - 1) == EBADF  # only a whole word of ones is -1
    assert event.ioctl(0x2405, (1 << 64) - 1) == 0
    event.mmap(8192, True)
    other = open_event(tracing, config=1)
    assert other.ioctl(0x2405, 5) == 0
    assert other.buffer is event.buffer
    event.ioctl(0x40042409, 1)
    assert event.buffer.paused


def test_set_filter(tracing):
    user = tracing.host.user
    event = open_event(tracing, type=2, config=event_id(tracing, "sched", "sched_process_exit"))
    user.write(0x10000, b"nosuch == 1\0")
    assert errno_of(event.ioctl, 0x40082406, 0x10000) == EINVAL
    user.write(0x10000, b"pid == 5\0")
    assert event.ioctl(0x40082406, 0x10000) == 0
    for pid in (4, 5, 6):
        tracing.trace("sched_process_exit", tracing.host.task_struct("x", pid))
    assert event.count == 1


def test_group_read(tracing):
    leader = open_event(tracing, fd=3, type=2, config=event_id(tracing, "sched", "sched_process_exit"), read_format=31)
    sibling = open_event(tracing, group=3, type=2, config=event_id(tracing, "sched", "sched_wakeup"), read_format=31)
    task = tracing.host.task_struct()
    tracing.trace("sched_process_exit", task)
    tracing.trace("sched_wakeup", task)
    tracing.trace("sched_wakeup", task)
    values = struct.unpack("<9Q", leader.read(128))
    assert (values[0], values[3], values[4], values[6], values[7]) == (2, 1, leader.id, 2, sibling.id)
    assert errno_of(leader.read, 64) == ENOSPC
    assert errno_of(sibling.read, 64) == ENOSPC  # any member reads the whole group


def test_task_and_cpu_filters(tracing):
    host = tracing.host
    config = event_id(tracing, "sched", "sched_wakeup")
    mine, others = open_event(tracing, type=2, config=config), open_event(tracing, type=2, config=config, pid=82)
    on_cpu1 = open_event(tracing, type=2, config=config, pid=-1, cpu=1)
    everyone = tracing.perf.open(attr(type=2, config=config, flags=["inherit"]), 0, -1)
    task = host.task_struct()
    tracing.trace("sched_wakeup", task)
    host.task, host.cpu = "task82", 1
    tracing.trace("sched_wakeup", task)
    assert (mine.count, others.count, on_cpu1.count) == (1, 1, 1)
    tracing.perf.task_fork("task81", "child")
    host.task = "child"
    tracing.trace("sched_wakeup", task)
    assert (mine.count, everyone.count) == (1, 2)
    tracing.perf.task_exit("task82")
    assert others.poll() == EPOLLHUP


def test_inherit_thread_counts_threads_only(tracing):
    config = event_id(tracing, "sched", "sched_wakeup")
    event = tracing.perf.open(attr(type=2, config=config, flags=["inherit", "inherit_thread"]), 0, -1)
    tracing.perf.task_fork("task81", "process", False)
    tracing.perf.task_fork("task81", "thread", True)
    for tracing.host.task in ("process", "thread"):
        tracing.trace("sched_wakeup", tracing.host.task_struct())
    assert event.count == 1


def test_a_task_switches_its_events_off_and_on(tracing):
    """prctl(PR_TASK_PERF_EVENTS_DISABLE): those that it has opened, whomever they count."""
    event, other = open_event(tracing), open_event(tracing, pid=82)
    tracing.host.task = "task82"
    foreign = open_event(tracing, pid=82)
    tracing.perf.set_owned("task81", False)
    assert (event.enabled, other.enabled, foreign.enabled) == (False, False, True)
    tracing.perf.set_owned("task81", True)
    assert event.enabled and other.enabled


def test_one_clock_in_a_group_and_in_a_buffer(tracing):
    leader = tracing.descriptors[5] = open_event(tracing)
    assert errno_of(tracing.perf.open, attr(flags=["use_clockid"], clockid=1), 0, -1, 5) == EINVAL
    assert errno_of(tracing.perf.open, attr(), 0, -1, 5, 2) == EINVAL  # PERF_FLAG_FD_OUTPUT, and nothing is mapped
    leader.mmap(8192, True)
    assert tracing.perf.open(attr(), 0, -1, 5, 2).buffer is leader.buffer
    alone = tracing.perf.open(attr(flags=["use_clockid"], clockid=1), 0, -1)
    assert errno_of(tracing.perf.set_output, alone, 5) == EINVAL


def test_periods(tracing):
    event = open_event(tracing, type=1, config=3, sample_period=3, sample_type=1)
    event.mmap(8192, True)
    for _ in range(10):
        tracing.perf.sw_event(3, 1, tracing.host.regs(ip=0xFFFFFFFF81001000))
    assert event.count == 10
    assert len(data(event)) == 3 * 16
    assert tracing.perf.sw_active[3]
    event.munmap()
    event.release()
    assert not tracing.perf.sw_active[3]


def test_refresh_ends_the_event(tracing):
    event = tracing.perf.open(attr(config=3, sample_period=1, sample_type=1, flags=["disabled"]), 0, -1)
    event.mmap(8192, True)
    event.ioctl(0x2402, 2)
    for _ in range(5):
        tracing.perf.sw_event(3)
    assert event.count == 2
    assert event.poll() == 0  # nobody asked to be woken


def test_cpu_clock_samples_on_virtual_time(tracing):
    host = tracing.host
    event = open_event(tracing, config=0, sample_period=100_000, sample_type=4)
    event.mmap(8192, True)
    host.run_timers(host.ns + 1_050_000)
    times = [struct.unpack_from("<Q", data(event), 8 + 16 * i)[0] for i in range(10)]
    assert times == [1_000_000_000 + 100_000 * i for i in range(1, 11)]
    event.disable()
    assert struct.unpack("<Q", event.read(8)) == (1_050_000,)
    host.run_timers(host.ns + 1_000_000)
    assert len(data(event)) == 160


def test_watermark_wakeups(tracing):
    event = tracing.perf.open(attr(config=10, sample_type=0x400, flags=["watermark"], wakeup=200), -1, 0)
    event.mmap(8192, True)
    polls = []
    for _ in range(8):
        event.bpf_output(bytes(52))
        polls.append(event.poll())
    assert polls == [0, 0, 0, 1, 0, 0, 1, 0]
    assert tracing.host.woken.count(event.waiters) == 2


class Program:
    id = 7
    native = None

    def __init__(self, answer=1):
        self.when_native = []
        self.answer, self.seen, self.released = answer, [], 0

    def run(self, ctx):
        self.seen.append(ctx)
        return self.answer

    def missed(self):
        pass

    def release(self):
        self.released += 1


def with_programs(tracing, programs):
    kinds = []

    def hook(event, fd, kind):
        kinds.append(kind)
        if fd not in programs:
            raise KernelError(EBADF)
        return programs[fd]

    tracing.perf.set_bpf_hook = hook
    return kinds


SET_BPF = 0x40042408


def test_programs_since_4_14(tracing):
    """Several per event, each gone with its own perf event; their answers decide about samples."""
    echo(tracing, "kprobe_events", "p:foo vfs_read")
    programs = {1: Program(1), 2: Program(0)}
    kinds = with_programs(tracing, programs)
    config = event_id(tracing, "kprobes", "foo")
    one, two = (open_event(tracing, type=2, config=config, sample_period=1, sample_type=1) for _ in range(2))
    assert errno_of(one.ioctl, SET_BPF, 9) == EBADF
    assert one.ioctl(SET_BPF, 1) == 0
    assert errno_of(one.ioctl, SET_BPF, 2) == EEXIST
    host = tracing.host
    regs = host.regs()
    host.armed[host.address["vfs_read"]](regs)
    assert programs[1].seen == [regs]
    assert (one.count, two.count) == (1, 1)
    assert two.ioctl(SET_BPF, 2) == 0
    host.armed[host.address["vfs_read"]](regs)
    assert (one.count, two.count) == (1, 1)  # a program said 0
    two.release()
    host.armed[host.address["vfs_read"]](regs)
    assert one.count == 2
    assert programs[2].released == 2  # the refused attachment and the event's end
    assert written(tracing, "kprobe_events", "-:foo") == EBUSY
    one.release()
    assert programs[1].released == 1
    assert written(tracing, "kprobe_events", "-:foo") == 0
    assert set(kinds) == {"kprobe"}


def test_programs_of_4_1():
    """One per trace event, on kprobes only; freeing any perf event of it takes the program away."""
    tracing = machine(KernelVersion.parse("4.1"))
    echo(tracing, "kprobe_events", "p:foo vfs_read")
    programs = {1: Program()}
    with_programs(tracing, programs)
    config = event_id(tracing, "kprobes", "foo")
    one, two = (open_event(tracing, type=2, config=config) for _ in range(2))
    switch = open_event(tracing, type=2, config=event_id(tracing, "sched", "sched_switch"))
    assert errno_of(open_event(tracing).ioctl, SET_BPF, 1) == EINVAL
    assert errno_of(switch.ioctl, SET_BPF, 1) == EINVAL
    assert errno_of(one.ioctl, SET_BPF, 9) == EBADF
    assert one.ioctl(SET_BPF, 1) == 0
    assert errno_of(two.ioctl, SET_BPF, 1) == EEXIST
    host = tracing.host
    one.disable()
    host.task = "task82"  # neither task nor enable state matters to the program
    host.armed[host.address["vfs_read"]](host.regs())
    assert len(programs[1].seen) == 1
    two.release()
    assert programs[1].released == 1
    host.armed[host.address["vfs_read"]](host.regs())
    assert len(programs[1].seen) == 1
    assert one.ioctl(SET_BPF, 1) == 0


def test_a_program_on_a_tracepoint_sees_the_record(tracing):
    program = Program()
    with_programs(tracing, {1: program})
    event = open_event(tracing, type=2, config=event_id(tracing, "sched", "sched_process_exit"))
    event.ioctl(SET_BPF, 1)
    contexts = []
    program.run = lambda ctx: contexts.append(tracing.host.mem.read(ctx, 32)) or 1
    tracing.events.get("sched", "sched_process_exit").bpf_programs[:] = [program]
    tracing.trace("sched_process_exit", tracing.host.task_struct("sh", 81))
    assert contexts == [bytes(8) + b"sh".ljust(16, b"\0") + struct.pack("<ii", 81, 120)]


def test_programs_do_not_nest(tracing):
    """A probe hit while a program runs on this CPU does not run programs."""
    echo(tracing, "kprobe_events", "p:foo vfs_read")
    program = Program()
    with_programs(tracing, {1: program})
    event = open_event(tracing, type=2, config=event_id(tracing, "kprobes", "foo"))
    event.ioctl(SET_BPF, 1)
    tracing.running.active[0] += 1  # as bpf(2) does around a map update
    tracing.host.armed[tracing.host.address["vfs_read"]](tracing.host.regs())
    assert (program.seen, event.count, tracing.running.misses) == ([], 0, 1)


def test_kprobe_and_uprobe_pmu(tracing):
    host, user = tracing.host, tracing.host.user
    user.write(0x10000, b"vfs_write\0")
    event = open_event(tracing, type=6, config=0, config1=0x10000, sample_period=1, sample_type=1)
    event.mmap(8192, True)
    host.armed[host.address["vfs_write"]](host.regs())
    assert data(event)[8:16] == struct.pack("<Q", host.address["vfs_write"])
    assert "perf_kprobes" not in cat(tracing, "available_events")
    event.munmap()
    event.release()
    assert not host.armed
    user.write(0x10000, b"nosuch\0")
    assert errno_of(open_event, tracing, type=6, config=0, config1=0x10000) == ENOENT
    assert errno_of(open_event, tracing, type=6, config=0) == EINVAL
    address = host.address["vfs_read"] + 5
    by_address = open_event(tracing, type=6, config=0, config2=address)
    assert address in host.armed
    by_address.release()
    tracing.host_spaces.maps = [("mm1", 0x400000, 0x404000, 0x1000, True, "/h")]
    user.write(0x10000, b"/h\0")
    uprobe = open_event(tracing, type=7, config=0, config1=0x10000, config2=0x1100)
    assert ("mm1", 0x400100) in tracing.host_spaces.armed
    uprobe.release()
    assert not tracing.host_spaces.armed


def test_a_uprobe_of_one_task_is_armed_in_its_address_space_alone(tracing):
    spaces = tracing.host_spaces
    spaces.maps = [(mm, 0x400000, 0x404000, 0x1000, True, "/h") for mm in ("mm1", "mm2")]
    spaces.mm_of = {"task81": "mm1", "task82": "mm2"}
    tracing.host.user = FlatMemory(base=0x10000, size=4096)
    tracing.host.user.write(0x10000, b"/h\0")
    uprobe = tracing.perf.open(attr(7, 0, config1=0x10000, config2=0x1100), 82, -1)
    assert list(spaces.armed) == [("mm2", 0x400100)]
    uprobe.release()


@pytest.mark.parametrize("arch", ["s390x"])
def test_big_endian(arch):
    tracing = machine(arch=arch)
    config = tracing.events.get("sched", "sched_process_exit").id
    event = tracing.perf.open(
        attr(2, config, order=">", sample_period=1, sample_type=0x402, flags=["sample_id_all"]), 0, -1
    )
    assert event.attr.flag("sample_id_all")
    event.mmap(8192, True)
    tracing.trace("sched_process_exit", tracing.host.task_struct("sh", 81))
    assert data(event)[:16] == struct.pack(">IHHII", 9, 1, 16 + 4 + 36, 81, 81)


def test_software_counters_listen_to_tracepoints(tracing):
    host = tracing.host
    one, two = host.task_struct("a", 81), host.task_struct("b", 82)
    point = tracing.tracepoints["sched_switch"]
    assert not point.active
    event = open_event(tracing, config=3)
    assert point.active
    tracing.trace("sched_switch", 0, one, two, 1)
    host.task = "task82"
    tracing.trace("sched_switch", 0, two, one, 1)  # another task's
    host.task = "task81"
    assert event.count == 1
    event.release()
    assert not point.active


def test_time_of_a_task_event_is_the_tasks_own(tracing):
    host = tracing.host
    one, two = host.task_struct("a", 81), host.task_struct("b", 82)
    clock = open_event(tracing, config=1, read_format=3)
    host.ns += 1000
    tracing.trace("sched_switch", 0, one, two, 1)
    host.task, host.ns = "task82", host.ns + 5000
    tracing.trace("sched_switch", 0, two, one, 1)
    host.task, host.ns = "task81", host.ns + 200
    assert struct.unpack("<3Q", clock.read(24)) == (1200, 1200, 1200)


def test_inherit_through_tracepoints_and_exec(tracing):
    host = tracing.host
    event = tracing.perf.open(attr(config=3, flags=["disabled", "inherit", "enable_on_exec"]), 0, -1)
    child = host.task_struct("c", 82)
    tracing.trace("sched_process_fork", host.task_struct("a", 81), child)
    host.task = "task82"
    assert not event.enabled
    tracing.perf.task_exec("task82")
    assert event.enabled
    tracing.trace("sched_switch", 0, child, child, 1)
    assert event.count == 1


@pytest.mark.parametrize("mmap2", [False, True])
def test_names_forks_and_mappings(tracing, mmap2):
    """PERF_RECORD_COMM, FORK, EXIT, MMAP and MMAP2, as 6.1 laid them out for a program that forked and mapped itself."""
    host = tracing.host
    flags = ["comm", "task", "mmap", "sample_id_all", *(["mmap2", "mmap_data"] if mmap2 else [])]
    event = open_event(tracing, pid=-1, cpu=0, flags=0, raw_flags=sum(1 << FLAG_BITS.index(f) for f in flags),
                       sample_type=2)  # fmt: skip
    event.mmap(8192 + 4096 * 3, True)
    task, child = host.task_struct("a", 81, tgid=80), host.task_struct("c", 82, tgid=82)
    name = host.mem.alloc(16)
    host.mem.write(name, b"a name too long\0")
    tracing.trace("task_rename", task, name)
    tracing.trace("sched_process_fork", task, child)
    spaces = tracing.host_spaces
    spaces.maps += [("mm1", 0x400000, 0x402000, 0x1000, True, "/sb"), ("mm1", 0x500000, 0x501000, 0, False, "/sb")]
    spaces.listener("mm1", 0x400000)
    spaces.listener("mm1", 0x500000)
    got, rest = [], data(event)
    while rest:
        kind, misc, size = struct.unpack_from("<IHH", rest)
        got.append((kind, misc, rest[8 : size - 8]))
        assert rest[size - 8 : size] == struct.pack("<II", host.current_tgid(), host.current_pid())
        rest = rest[size:]
    me = struct.pack("<II", host.current_tgid(), host.current_pid())
    text = me + struct.pack("<QQQ", 0x400000, 0x2000, 0x1000)
    assert got[0] == (3, 0, struct.pack("<II", 80, 81) + b"a name too long\0")
    assert got[1][:2] == (7, 0)
    assert got[1][2][:16] == struct.pack("<IIII", 82, host.current_tgid(), 82, host.current_pid())
    if mmap2:
        numbers = struct.pack("<IIQQII", 0, 2, 7, 0, 5, 2)
        assert got[2:] == [
            (10, 2, text + numbers + b"/sb\0\0\0\0\0"),
            (10, 0x2002, me + struct.pack("<QQQ", 0x500000, 0x1000, 0) + struct.pack("<IIQQII", 0, 2, 7, 0, 1, 2)
             + b"/sb\0\0\0\0\0"),
        ]  # fmt: skip
    else:
        assert got[2:] == [(1, 2, text + b"/sb\0\0\0\0\0")]
    tracing.perf.free(event)
    assert not tracing.tracepoints["task_rename"].active
    assert tracing.uprobes.spaces.listener is None


def test_an_event_that_is_off_or_has_no_buffer_takes_nothing(tracing):
    """__bpf_perf_event_output(): EOPNOTSUPP for a disabled event (oncpu is -1), perf_output_begin(): ENOSPC without a mapping."""
    event = open_event(tracing, sample_type=0x400, config=10, cpu=0, pid=-1)
    assert not event.bpf_output(bytes(8))
    assert event.lost_samples == 0
    event.disable()
    with pytest.raises(KernelError, match="EOPNOTSUPP"):
        event.bpf_output(bytes(8))
