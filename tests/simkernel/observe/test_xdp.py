"""XDP in generic mode: attaching by link and by netlink, every action, redirection by device and by map.

Rules of net/core/dev.c and kernel/bpf/devmap.c of Linux 6.1; its own tests xdp_attach, xdp_info, xdp_link pass.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest

import simkernel
from arch.abi.errno import EBUSY, EEXIST, EINVAL, ENOENT, EOPNOTSUPP
from arch.abi.if_link import XDP_FLAGS_DRV_MODE, XDP_FLAGS_REPLACE, XDP_FLAGS_SKB_MODE, XDP_FLAGS_UPDATE_IF_NOEXIST
from arch.errors import KernelError
from bpf import uapi
from bpf.isa.asm import assemble
from bpf.isa.insn import encode

LO, ETH0 = 1, 2
PORT = 7100
DROP_ALL, PASS_ALL = f"r0 = {uapi.XDP_DROP}\nexit", f"r0 = {uapi.XDP_PASS}\nexit"
# The destination port of a UDP packet becomes PORT + 1; other frames pass.
REWRITE = f"""
  r2 = *(u32 *)(r1 +0)
  r3 = *(u32 *)(r1 +4)
  r4 = r2
  r4 += 42
  if r4 > r3 goto out
  r5 = *(u8 *)(r2 +23)
  if r5 != 17 goto out
  *(u16 *)(r2 +36) = {int.from_bytes((PORT + 1).to_bytes(2, "big"), "little")}
  *(u16 *)(r2 +40) = 0
out:
  r0 = {uapi.XDP_PASS}
  exit
"""
REDIRECT = "r1 = {}\nr2 = 0\ncall bpf_redirect\nexit"
BY_MAP = "r1 = map[{}]\nr2 = {}\nr3 = {}\ncall bpf_redirect_map\nexit"


class Tool:
    """A task with two UDP sockets on lo, and programs."""

    def __init__(self, cpus: int = 1) -> None:
        self.machine = simkernel.boot(cpus=cpus)
        self.task, self.calls = self.machine.session.task, self.machine.session.syscalls
        self.task.map_create(uapi.BPF_MAP_TYPE_ARRAY, 4, 4, 1)  # descriptor 0 means no program in an entry
        self.out = self.call("socket", 2, 2, 0)
        self.inboxes = []
        for port in (PORT, PORT + 1):
            fd = self.call("socket", 2, 2, 0)
            assert self.call("bind", fd, self.address(port), 16) == 0
            self.inboxes.append(fd)
        self.route = self.call("socket", 16, 3, 0)

    def call(self, name: str, *args: int) -> int:
        return self.calls.syscall(name, *args)

    def put(self, data: bytes) -> int:
        at = self.calls.alloc(max(len(data), 1))
        self.calls.write(at, data)
        return at

    def address(self, port: int) -> int:
        return self.put(b"\x02\0" + port.to_bytes(2, "big") + bytes((127, 0, 0, 1)) + bytes(8))

    def load(self, source: str, attach_type: int = uapi.BPF_XDP, fds: tuple[int, ...] = ()) -> int:
        maps = {str(fd): fd for fd in fds}
        fd, log = self.task.prog_load(
            uapi.BPF_PROG_TYPE_XDP, encode(assemble(source, maps=maps)), expected_attach_type=attach_type,
            log_level=1, log_size=9999,
        )  # fmt: skip
        assert fd >= 0, log
        return fd

    def link(self, prog: int, ifindex: int = LO, flags: int = 0) -> int:
        try:
            return self.task.link_create(prog, ifindex, uapi.BPF_XDP, flags=flags)
        except KernelError as error:
            return -error.errno

    def set(self, fd: int, flags: int = 0, expected: int | None = None, ifindex: int = LO) -> int:
        """RTM_SETLINK with IFLA_XDP: 0 or -errno."""
        nested = struct.pack("<HHiHHI", 8, 1, fd, 8, 3, flags)
        if expected is not None:
            nested += struct.pack("<HHi", 8, 8, expected)
        body = struct.pack("<BxHiII", 0, 0, ifindex, 0, 0) + struct.pack("<HH", 4 + len(nested), 43 | 0x8000) + nested
        message = struct.pack("<IHHII", 16 + len(body), 19, 5, 1, 0) + body
        assert self.call("sendto", self.route, self.put(message), len(message), 0, 0, 0) == len(message)
        answer = self.put(bytes(256))
        assert self.call("recvfrom", self.route, answer, 256, 0, 0, 0) > 0
        return int(struct.unpack("<i", self.calls.read(answer + 16, 4))[0])

    def arrived(self) -> tuple[int, int]:
        """A datagram is sent to PORT: what the two sockets get."""
        self.call("sendto", self.out, self.put(b"frame"), 5, 0, self.address(PORT), 16)
        buffer, counts = self.put(bytes(16)), []
        for fd in self.inboxes:
            count = 0
            while self.call("recvfrom", fd, buffer, 16, 0x40, 0, 0) > 0:
                count += 1
            counts.append(count)
        return counts[0], counts[1]


@pytest.fixture(scope="module")
def tool() -> Iterator[Tool]:
    yield Tool()


def test_actions_decide_what_becomes_of_a_frame(tool: Tool) -> None:
    found = {}
    for name, source in {
        "pass": PASS_ALL, "drop": DROP_ALL, "aborted": "r0 = 0\nexit", "unknown": "r0 = 77\nexit", "rewrite": REWRITE,
        "elsewhere": REDIRECT.format(ETH0), "nowhere": REDIRECT.format(99),
    }.items():  # fmt: skip
        link = tool.link(tool.load(source))
        assert link > 0
        found[name] = tool.arrived()
        tool.task.close(link)
    assert found == {
        "pass": (1, 0), "drop": (0, 0), "aborted": (0, 0), "unknown": (0, 0), "rewrite": (0, 1), "elsewhere": (0, 0),
        "nowhere": (0, 0),
    }  # fmt: skip
    assert tool.arrived() == (1, 0)


def test_links_and_programs_of_netlink_exclude_each_other(tool: Tool) -> None:
    drop, other = tool.load(DROP_ALL), tool.load(PASS_ALL)
    assert tool.link(drop, 99) == -EINVAL and tool.link(drop, LO, XDP_FLAGS_REPLACE) == -EINVAL
    assert tool.link(drop, LO, XDP_FLAGS_DRV_MODE) == -EOPNOTSUPP
    link = tool.link(drop)
    assert tool.link(other) == -EBUSY and tool.set(other) == -EBUSY
    attr = tool.put(tool.task.pack("IIII", link, other, 0, 0))
    assert tool.call("bpf", uapi.BPF_LINK_UPDATE, attr, 16) == 0 and tool.arrived() == (1, 0)
    assert tool.task.unpack("IIIII", tool.task.obj_info(link, 20))[4] == LO
    tool.task.close(link)
    assert tool.set(drop, XDP_FLAGS_SKB_MODE) == 0 and tool.arrived() == (0, 0)
    assert tool.link(other) == -EBUSY and tool.set(other, XDP_FLAGS_UPDATE_IF_NOEXIST) == -EBUSY
    assert tool.set(other, XDP_FLAGS_REPLACE, other) == -EEXIST
    assert tool.set(other, XDP_FLAGS_REPLACE, drop) == 0 and tool.arrived() == (1, 0)
    assert tool.set(drop, XDP_FLAGS_DRV_MODE) == -EOPNOTSUPP and tool.set(-1) == 0
    assert tool.set(tool.load(PASS_ALL, uapi.BPF_XDP_DEVMAP)) == -EINVAL


def test_entries_of_device_maps(tool: Tool) -> None:
    devices = tool.task.map_create(uapi.BPF_MAP_TYPE_DEVMAP, 4, 8, 4)
    hashed = tool.task.map_create(uapi.BPF_MAP_TYPE_DEVMAP_HASH, 4, 8, 1)

    def update(fd: int, key: int, ifindex: int, prog: int = 0, flags: int = 0) -> int:
        try:
            tool.task.map_update(fd, key.to_bytes(4, "little"), tool.task.pack("Ii", ifindex, prog), flags)
        except KernelError as error:
            return -error.errno
        return 0

    inside = tool.load(DROP_ALL, uapi.BPF_XDP_DEVMAP)
    assert [update(devices, 0, n) for n in (99, LO)] == [-EINVAL, 0]
    assert update(devices, 0, LO, flags=uapi.BPF_NOEXIST) == -EEXIST
    assert update(devices, 1, LO, tool.load(PASS_ALL)) == -EINVAL and update(devices, 1, LO, inside) == 0
    assert update(hashed, 77, LO) == 0 and update(hashed, 77, LO, flags=uapi.BPF_NOEXIST) == -EEXIST
    number = tool.task.unpack("II", tool.task.obj_info(inside, 8))[1]
    assert tool.task.map_lookup(devices, (1).to_bytes(4, "little"), 8) == tool.task.pack("II", LO, number)
    with pytest.raises(KernelError) as gone:
        tool.task.map_lookup(devices, (2).to_bytes(4, "little"), 8)
    assert gone.value.errno == ENOENT
    # a frame to lo by the map is one that lo sends again, until the hook drops it: a program in the entry ends that
    for source, answer in ((BY_MAP.format(devices, 1, 0), (0, 0)), (BY_MAP.format(devices, 2, uapi.XDP_PASS), (1, 0))):
        link = tool.link(tool.load(source, fds=(devices,)))
        assert tool.arrived() == answer
        tool.task.close(link)


# ---- clsact and filters of netlink ----

NEWQDISC, DELQDISC, NEWFILTER, DELFILTER, GETFILTER = 36, 37, 44, 45, 46
CLSACT, INGRESS, EGRESS = 0xFFFFFFF1, 0xFFFFFFF2, 0xFFFFFFF3
CREATE, EXCL, REPLACE_IT, ECHO = 0x400, 0x200, 0x100, 0x8
ALL = int.from_bytes((3).to_bytes(2, "big"), "little")  # ETH_P_ALL
SHOT, OK = "r0 = 2\nexit", "r0 = 0\nexit"


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("<HH", 4 + len(value), kind) + value.ljust(-(-len(value) // 4) * 4, b"\0")


class Netlink:
    """Requests about lo, as libbpf's bpf_tc_*() make them."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool

    def ask(
        self, kind: int, parent: int, attributes: bytes, flags: int = 0, handle: int = 0, info: int = 0
    ) -> tuple[int, bytes]:
        """(0 or -errno, the first message that is no answer to the request itself)."""
        tool = self.tool
        body = struct.pack("<BxxxiIII", 0, LO, handle, parent, info) + attributes
        message = struct.pack("<IHHII", 16 + len(body), kind, 5 | flags, 1, 0) + body
        assert tool.call("sendto", tool.route, tool.put(message), len(message), 0, 0, 0) == len(message)
        buffer, shown = tool.put(bytes(1024)), b""
        while (got := tool.call("recvfrom", tool.route, buffer, 1024, 0, 0, 0)) > 0:
            data = tool.calls.read(buffer, got)
            while data:
                size, what = struct.unpack_from("<IH", data)
                if what == 2:
                    return int(struct.unpack_from("<i", data, 16)[0]), shown
                shown, data = data[:size], data[-(-size // 4) * 4 :]
        raise AssertionError("no answer")

    def qdisc(self, kind: int, flags: int = CREATE | EXCL) -> int:
        return self.ask(kind, CLSACT, attribute(1, b"clsact\0"), flags, 0xFFFF0000)[0]

    def add(self, parent: int, prog: int, priority: int = 1, handle: int = 1, flags: int = CREATE | EXCL) -> int:
        options = attribute(6, struct.pack("<I", prog)) + attribute(7, b"shown\0") + attribute(8, struct.pack("<I", 1))
        rest = attribute(1, b"bpf\0") + attribute(2 | 0x8000, options)
        return self.ask(NEWFILTER, parent, rest, flags, handle, priority << 16 | ALL)[0]

    def remove(self, parent: int, priority: int = 1, handle: int = 1) -> int:
        return self.ask(DELFILTER, parent, attribute(1, b"bpf\0"), 0, handle, priority << 16 | ALL)[0]


def test_classifiers_decide_on_both_ways(tool: Tool) -> None:
    net = Netlink(tool)

    def load(source: str) -> int:
        fd, log = tool.task.prog_load(
            uapi.BPF_PROG_TYPE_SCHED_CLS, encode(assemble(source)), log_level=1, log_size=9999
        )
        assert fd >= 0, log
        return fd

    shot, passes = load(SHOT), load(OK)
    assert net.add(INGRESS, shot) == -EINVAL  # no queueing discipline
    assert (net.qdisc(NEWQDISC), net.qdisc(NEWQDISC)) == (0, -EEXIST)
    assert net.add(INGRESS, tool.load(PASS_ALL)) == -EINVAL  # no classifier
    assert net.add(INGRESS, shot) == 0 and net.add(INGRESS, shot) == -EEXIST and tool.arrived() == (0, 0)
    assert net.add(INGRESS, passes, flags=CREATE | REPLACE_IT) == 0 and tool.arrived() == (1, 0)
    error, shown = net.ask(GETFILTER, INGRESS, attribute(1, b"bpf\0"), 0, 1, 1 << 16 | ALL)
    number = tool.task.unpack("II", tool.task.obj_info(passes, 8))[1]
    assert error == 0 and attribute(11, struct.pack("<I", number)) in shown
    assert net.add(EGRESS, shot, 0, 0) == 0 and tool.arrived() == (0, 0)  # numbers are chosen
    assert net.remove(EGRESS, 0xC000) == 0 and net.remove(EGRESS, 0xC000) == -ENOENT and tool.arrived() == (1, 0)
    away = load(f"r1 = {ETH0}\nr2 = 0\ncall bpf_redirect\nexit")
    assert net.add(EGRESS, away) == 0 and tool.arrived() == (0, 0)
    assert net.qdisc(DELQDISC, 0) == 0 and tool.arrived() == (1, 0) and net.qdisc(DELQDISC, 0) == -EINVAL


def test_frames_of_a_kernel_that_knows_no_fragments() -> None:
    """Before 5.18 struct xdp_buff has no flags."""
    with simkernel.boot(kernel="5.10") as machine:
        task = machine.session.task
        fd, log = task.prog_load(uapi.BPF_PROG_TYPE_XDP, encode(assemble(PASS_ALL)), log_level=1, log_size=9999)
        assert fd >= 0, log
        calls = machine.session.syscalls
        data, attr = calls.alloc(64), calls.alloc(80)
        calls.write(attr, task.pack("IIIIQQII", fd, 0, 64, 0, data, 0, 1, 0).ljust(80, b"\0"))
        assert calls.syscall("bpf", uapi.BPF_PROG_TEST_RUN, attr, 80) == 0
        assert int.from_bytes(calls.read(attr + 4, 4), "little") == uapi.XDP_PASS


def test_a_frame_goes_up_the_stack_on_the_cpu_of_its_entry() -> None:
    two = Tool(cpus=2)
    notes = two.task.map_create(uapi.BPF_MAP_TYPE_ARRAY, 4, 4, 1)
    cpus = two.task.map_create(uapi.BPF_MAP_TYPE_CPUMAP, 4, 8, 2)
    where = two.load(
        f"""
        *(u32 *)(r10 -4) = 0
        r1 = map[{notes}]
        r2 = r10
        r2 += -4
        call bpf_map_lookup_elem
        if r0 == 0 goto out
        r6 = r0
        call bpf_get_smp_processor_id
        r0 += 1
        *(u32 *)(r6 +0) = r0
    out:
        r0 = {uapi.XDP_PASS}
        exit
        """,
        uapi.BPF_XDP_CPUMAP,
        (notes,),
    )
    for cpu in (1, 0):
        key = cpu.to_bytes(4, "little")
        two.task.map_update(cpus, key, struct.pack("<Ii", 8, where))
        link = two.link(two.load(BY_MAP.format(cpus, cpu, 0), fds=(cpus,)))
        two.call("sendto", two.out, two.put(b"frame"), 5, 0, two.address(PORT), 16)
        assert two.call("recvfrom", two.inboxes[0], two.put(bytes(16)), 16, 0, 0, 0) == 5
        assert two.task.map_lookup(notes, bytes(4), 4) == (cpu + 1).to_bytes(4, "little")
        two.task.close(link)
    names = [task.comm for task in two.machine.kernel.tasks.by_pid.values() if task.comm.startswith("cpumap/")]
    assert sorted(name[:13] for name in names) == ["cpumap/0/map:", "cpumap/1/map:"]
