"""/proc/PID/fdinfo of files that have lines of their own, and BPF programs in /proc/kallsyms, as Linux 6.1 shows them.

The expected texts are those of the real 6.1.192 for the same calls; numbers that depend on the machine (ids, inode
numbers, addresses) are left out.
"""

import pytest

import simkernel
from arch.abi.fcntl import EFD_SEMAPHORE, O_CLOEXEC, O_NONBLOCK
from arch.abi.poll import EPOLL_CTL_ADD, EPOLLET, POLLIN, POLLOUT
from arch.abi.time import CLOCK_MONOTONIC, CLOCK_REALTIME, NSEC_PER_SEC
from bpf import uapi
from bpf.core.link import BpfLink
from bpf.isa.asm import assemble
from bpf.isa.insn import encode
from simkernel.fs.testing import Libc

TWO = "r0 = 0\nexit"


def more(text: bytes | str) -> list[str]:
    """The lines behind those that every file has."""
    lines = (text if isinstance(text, str) else text.decode()).splitlines()
    assert [line.split(":")[0] for line in lines[:4]] == ["pos", "flags", "mnt_id", "ino"]
    return lines[4:]


def fdinfo(libc: Libc, fd: int) -> list[str]:
    return more(libc.get(f"/proc/self/fdinfo/{fd}"))


def test_eventfd(libc):
    first = libc.eventfd2(0x1F, EFD_SEMAPHORE)
    second = libc.eventfd2(3, O_NONBLOCK | O_CLOEXEC)
    assert fdinfo(libc, first) == ["eventfd-count:               1f", "eventfd-id: 0"]
    assert fdinfo(libc, second) == ["eventfd-count:                3", "eventfd-id: 1"]
    libc.close(first)
    assert fdinfo(libc, libc.eventfd2(0, 0)) == ["eventfd-count:                0", "eventfd-id: 0"]


def test_eventfd_had_no_id_before_5_2():
    old = Libc(version="4.19")
    fd = old.eventfd2(1, 0)
    lines = old.get(f"/proc/self/fdinfo/{fd}").decode().splitlines()
    assert lines[3:] == ["eventfd-count:                1"]


def test_timerfd(libc):
    fd = libc.timerfd_create(CLOCK_MONOTONIC, 0)
    spec = b"".join(value.to_bytes(8, "little") for value in (2, 5, 1000, 0))
    libc.k.usercopy.user.write(0x48000, spec)
    assert libc.timerfd_settime(fd, 0, 0x48000, 0) == 0
    libc.k.clock.advance(NSEC_PER_SEC)
    assert fdinfo(libc, fd) == [
        "clockid: 1", "ticks: 0", "settime flags: 00", "it_value: (999, 0)", "it_interval: (2, 5)",
    ]  # fmt: skip
    assert fdinfo(libc, libc.timerfd_create(CLOCK_REALTIME, 0)) == [
        "clockid: 0", "ticks: 0", "settime flags: 00", "it_value: (0, 0)", "it_interval: (0, 0)",
    ]  # fmt: skip


def test_epoll(libc):
    epoll, event, timer = libc.epoll_create1(0), libc.eventfd2(0, 0), libc.timerfd_create(CLOCK_MONOTONIC, 0)
    for fd, events, data in ((event, POLLIN | EPOLLET, 0x1234567890ABCDEF), (timer, POLLOUT, 7)):
        libc.k.usercopy.user.write(0x48000, events.to_bytes(4, "little") + data.to_bytes(8, "little"))
        assert libc.epoll_ctl(epoll, EPOLL_CTL_ADD, fd, 0x48000) == 0
    inode = libc.vfs.file_of(libc.k, libc.k.current, event).f_inode
    where = f"  pos:0 ino:{inode.i_ino:x} sdev:{inode.i_sb.s_dev:x}"
    assert fdinfo(libc, epoll) == [
        f"tfd: {event:8} events: 80000019 data: 1234567890abcdef" + where,
        f"tfd: {timer:8} events:       1c data:                7" + where,
    ]


class Tool:
    """A task of a machine that makes BPF objects."""

    def __init__(self, version: str = "6.1") -> None:
        self.machine = simkernel.boot(kernel=version)
        self.task = self.machine.session.task

    def fdinfo(self, fd: int) -> list[str]:
        text = self.machine.session.read_file(f"/proc/self/fdinfo/{fd}").decode()
        return more(text) if "\nino:" in text else text.splitlines()[3:]

    def prog(self, kind: int, name: str = "", text: str = TWO) -> int:
        fd, log = self.task.prog_load(kind, encode(assemble(text)), log_level=1, log_size=4096, name=name)
        assert fd >= 0, log
        return fd

    def kallsyms(self) -> list[str]:
        lines = self.machine.session.read_file("/proc/kallsyms").decode().splitlines()
        return [line for line in lines if "[bpf]" in line]


@pytest.fixture(scope="module")
def tool():
    return Tool()


def test_map(tool):
    fd = tool.task.map_create(uapi.BPF_MAP_TYPE_HASH, 8, 16, 100, uapi.BPF_F_NO_PREALLOC, name="mymap")
    lines = tool.fdinfo(fd)
    assert lines[:7] == [
        "map_type:\t1", "key_size:\t8", "value_size:\t16", "max_entries:\t100", "map_flags:\t0x1", "map_extra:\t0x0",
        "memlock:\t4096",
    ]  # fmt: skip
    assert lines[7].startswith("map_id:\t") and lines[8:] == ["frozen:\t0"]


def test_program_array_tells_its_owner(tool):
    fd = tool.task.map_create(uapi.BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 4)
    assert tool.fdinfo(fd)[-1] == "frozen:\t0"
    prog = tool.prog(uapi.BPF_PROG_TYPE_SOCKET_FILTER)
    tool.task.map_update(fd, (1).to_bytes(4, "little"), prog.to_bytes(4, "little"))
    assert tool.fdinfo(fd)[-2:] == ["owner_prog_type:\t1", "owner_jited:\t1"]


def test_program(tool):
    lines = tool.fdinfo(tool.prog(uapi.BPF_PROG_TYPE_SOCKET_FILTER, "sock"))
    assert lines[4].startswith("prog_id:\t")
    assert [*lines[:4], *lines[5:]] == [
        "prog_type:\t1", "prog_jited:\t1", "prog_tag:\ta04f5eef06a7f555", "memlock:\t4096", "run_time_ns:\t0",
        "run_cnt:\t0", "recursion_misses:\t0", "verified_insns:\t2",
    ]  # fmt: skip


def test_link(tool):
    prog = tool.prog(uapi.BPF_PROG_TYPE_RAW_TRACEPOINT)
    lines = tool.fdinfo(tool.task.raw_tracepoint_open("sched_switch", prog))
    assert [line.split(":")[0] for line in lines[1:4]] == ["link_id", "prog_tag", "prog_id"]
    assert [lines[0], *lines[4:]] == ["link_type:\traw_tracepoint", "tp_name:\tsched_switch"]


@pytest.mark.parametrize(
    ("kind", "shown", "info", "expected"),
    [
        ("CGROUP", "cgroup", {"cgroup_id": 1, "attach_type": 0}, ["cgroup_id:\t1", "attach_type:\t0"]),
        ("XDP", "xdp", {"ifindex": 1}, ["ifindex:\t1"]),
        ("PERF_EVENT", "perf", {}, []),
    ],
)
def test_lines_of_other_links(tool, kind, shown, info, expected):
    """Of links that this machine does not make from a plain call: the text of the object itself."""
    number = getattr(uapi, f"BPF_LINK_TYPE_{kind}")
    tool.prog(uapi.BPF_PROG_TYPE_SOCKET_FILTER)
    prog = next(iter(tool.machine.kernel.observer.bpf.progs.objects.values()))
    link = BpfLink(tool.machine.kernel.observer.bpf, number, prog, None, lambda: None, info)
    lines = link.fdinfo().splitlines()
    assert [lines[0], *lines[4:]] == [f"link_type:\t{shown}", *expected]


def test_older_kernels_show_fewer_lines():
    old = Tool("4.9")
    fd = old.task.map_create(uapi.BPF_MAP_TYPE_ARRAY, 4, 8, 10)
    assert old.fdinfo(fd) == ["map_type:\t2", "key_size:\t4", "value_size:\t8", "max_entries:\t10", "map_flags:\t0x0"]
    assert old.fdinfo(old.prog(uapi.BPF_PROG_TYPE_SOCKET_FILTER)) == []


def test_programs_are_in_kallsyms():
    tool = Tool()
    assert tool.kallsyms() == []
    tool.prog(uapi.BPF_PROG_TYPE_SOCKET_FILTER, "sock")
    unnamed = tool.prog(uapi.BPF_PROG_TYPE_TRACEPOINT)
    names = [line.split(" ", 1)[1] for line in tool.kallsyms()]
    assert names == ["t bpf_prog_a04f5eef06a7f555_sock\t[bpf]", "t bpf_prog_a04f5eef06a7f555\t[bpf]"]
    assert tool.kallsyms()[1].startswith(f"{tool.machine.kernel.observer.bpf.progs.objects[2].text:016x} t ")
    tool.task.close(unnamed)
    assert len(tool.kallsyms()) == 1
    tool.machine.session.write_file("/proc/sys/net/core/bpf_jit_kallsyms", "0")
    assert tool.kallsyms() == []


def test_functions_of_a_program_are_in_kallsyms(tool):
    before = len(tool.kallsyms())
    tool.prog(uapi.BPF_PROG_TYPE_SOCKET_FILTER, "withsub", "r2 = 0x5566778811223344 ll\ncall pc+1\nexit\nr0 = 7\nexit")
    names = [line.split(" ", 1)[1] for line in tool.kallsyms()[before:]]
    assert names == ["t bpf_prog_8923dad831f6fb51_F\t[bpf]", "t bpf_prog_864ca4c62d112258_withsub\t[bpf]"]


def test_io_counts_bytes_and_calls(libc):
    def io() -> dict[str, int]:
        return {
            name: int(value)
            for name, value in (line.split(": ") for line in libc.get("/proc/self/io").decode().splitlines())
        }

    before = io()
    libc.put("/tmp/counted", b"twelve bytes")
    assert libc.get("/tmp/counted") == b"twelve bytes"
    after = io()
    assert (after["wchar"] - before["wchar"], after["syscw"] - before["syscw"]) == (12, 1)
    shown = sum(len(f"{name}: {value}\n") for name, value in before.items())
    assert (after["rchar"] - before["rchar"], after["syscr"] - before["syscr"]) == (12 + shown, 4)  # and the end, twice
