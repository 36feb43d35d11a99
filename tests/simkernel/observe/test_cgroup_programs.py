"""Programs on control groups: who may attach where, and what they do to sockets, packets, options, sysctls and devices.

Rules as in kernel/bpf/cgroup.c of Linux 6.1; its own tests cgroup_attach_multi, cgroup_attach_override, cgroup_link,
cgroup_getset_retval, sockopt, sockopt_multi and cg_storage_multi pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import simkernel
from arch.abi.errno import E2BIG, EBADF, EEXIST, EINPROGRESS, EINVAL, EIO, ENOENT, ENOLINK, EOPNOTSUPP, EPERM
from arch.errors import KernelError
from bpf import uapi
from bpf.btf import Kind
from bpf.isa.asm import assemble
from bpf.isa.insn import encode

MULTI, OVERRIDE, REPLACE = uapi.BPF_F_ALLOW_MULTI, uapi.BPF_F_ALLOW_OVERRIDE, uapi.BPF_F_REPLACE
SKB, ADDR, OPTION = (
    uapi.BPF_PROG_TYPE_CGROUP_SKB,
    uapi.BPF_PROG_TYPE_CGROUP_SOCK_ADDR,
    uapi.BPF_PROG_TYPE_CGROUP_SOCKOPT,
)
EGRESS, INGRESS = uapi.BPF_CGROUP_INET_EGRESS, uapi.BPF_CGROUP_INET_INGRESS
ANSWER = "r0 = {}\nexit"
O_DIRECTORY = 0o200000
AF_INET, DGRAM, STREAM = 2, 2, 1


class Tool:
    """A task in a control group of its own, with raw system calls."""

    def __init__(self) -> None:
        self.machine = simkernel.boot()
        self.task, self.calls = self.machine.session.task, self.machine.session.syscalls
        self.groups = 0

    def put(self, data: bytes) -> int:
        at = self.calls.alloc(max(len(data), 1))
        self.calls.write(at, data)
        return at

    def call(self, name: str, *args: int) -> int:
        return self.calls.syscall(name, *args)

    def path(self, text: str) -> int:
        return self.put(text.encode() + b"\0")

    def mkdir(self, name: str) -> int:
        """A new group: the descriptor of its directory."""
        assert self.call("mkdir", self.path(f"/sys/fs/cgroup/{name}"), 0o755) == 0
        return self.open(name)

    def open(self, name: str = "") -> int:
        fd = self.call("openat", -100, self.path(f"/sys/fs/cgroup/{name}"), O_DIRECTORY, 0)
        assert fd >= 0
        return fd

    def join(self, name: str) -> None:
        self.task.write_file(f"/sys/fs/cgroup/{name}/cgroup.procs", "0")

    def rmdir(self, name: str) -> int:
        return self.call("rmdir", self.path(f"/sys/fs/cgroup/{name}"))

    def fresh(self) -> tuple[str, int]:
        self.groups += 1
        name = f"g{self.groups}"
        return name, self.mkdir(name)

    def load(self, kind: int, source: str = ANSWER.format(1), attach_type: int = 0, **maps: int) -> int:
        fd, log = self.task.prog_load(
            kind, encode(assemble(source, maps=maps)), expected_attach_type=attach_type, log_level=1, log_size=9999
        )
        assert fd >= 0, log
        return fd

    def bpf(self, command: int, *words: int) -> int:
        attr = self.task.pack(f"{len(words)}I", *(word & 0xFFFFFFFF for word in words))
        return self.calls.syscall("bpf", command, self.put(attr), len(attr))

    def attach(self, group: int, prog: int, flags: int = 0, attach_type: int = EGRESS, replaced: int = 0) -> int:
        return self.bpf(uapi.BPF_PROG_ATTACH, group, prog, attach_type, flags, replaced)

    def detach(self, group: int, prog: int, attach_type: int = EGRESS) -> int:
        return self.bpf(uapi.BPF_PROG_DETACH, group, prog, attach_type)

    def link(self, group: int, prog: int, attach_type: int = EGRESS) -> int:
        try:
            return self.task.link_create(prog, group, attach_type)
        except KernelError as error:
            return -error.errno

    def query(self, group: int, attach_type: int = EGRESS, effective: bool = False) -> tuple[int, int]:
        """(how many programs, flags)."""
        attr = self.put(self.task.pack("IIIIQI", group, attach_type, int(effective), 0, 0, 0).ljust(40, b"\0"))
        assert self.calls.syscall("bpf", uapi.BPF_PROG_QUERY, attr, 40) == 0
        _, _, _, flags, _, count = self.task.unpack("IIIIQI", self.calls.read(attr, 28))
        return count, flags

    def socket(self, kind: int = DGRAM) -> int:
        return self.call("socket", AF_INET, kind, 0)

    def address(self, port: int, host: bytes = bytes((127, 0, 0, 1))) -> int:
        return self.put(AF_INET.to_bytes(2, "little") + port.to_bytes(2, "big") + host + bytes(8))

    def send(self, fd: int, port: int) -> int:
        return self.call("sendto", fd, self.put(b"hello"), 5, 0, self.address(port), 16)

    def name_of(self, fd: int) -> tuple[int, bytes]:
        at, size = self.put(bytes(16)), self.put((16).to_bytes(4, "little"))
        assert self.call("getsockname", fd, at, size) == 0
        raw = self.calls.read(at, 16)
        return int.from_bytes(raw[2:4], "big"), raw[4:8]


@pytest.fixture(scope="module")
def tool() -> Tool:
    return Tool()


@pytest.fixture
def group(tool: Tool) -> Iterator[int]:
    """A group that the task is in, with nothing attached; left and removed afterwards."""
    name, fd = tool.fresh()
    tool.join(name)
    yield fd
    tool.join("")
    assert tool.rmdir(name) == 0


def test_flags_decide_what_may_be_attached_below_and_beside(tool: Tool) -> None:
    name, outer = tool.fresh()
    inner = tool.mkdir(f"{name}/inner")
    one, two = tool.load(SKB), tool.load(SKB, ANSWER.format(0))
    assert tool.attach(-1, one) == -EBADF and tool.attach(tool.open("../../dev"), one) == -EBADF
    assert tool.attach(outer, one, MULTI | OVERRIDE) == -EINVAL
    assert tool.attach(outer, one) == 0 and tool.attach(inner, two) == -EPERM  # not even by a link
    assert tool.link(inner, two) == -EPERM and tool.detach(outer, -1) == 0
    assert tool.attach(outer, one, OVERRIDE) == 0 and tool.attach(inner, two) == 0
    assert tool.query(inner, effective=True) == (1, 0)
    assert tool.attach(outer, one, MULTI) == -EPERM  # attached with other flags
    assert tool.detach(inner, two) == 0 and tool.detach(inner, two) == -ENOENT
    assert tool.detach(outer, one) == 0
    assert tool.attach(outer, one, MULTI) == 0 and tool.attach(outer, one, MULTI) == -EINVAL
    assert tool.attach(inner, two, MULTI) == 0 and tool.query(inner, effective=True) == (2, 0)
    assert tool.attach(outer, two, MULTI | REPLACE, replaced=two) == -ENOENT
    assert tool.attach(outer, two, MULTI | REPLACE, replaced=one) == 0 and tool.query(outer) == (1, MULTI)
    assert tool.detach(outer, -1) == -EINVAL and tool.detach(outer, one) == -ENOENT
    links = [tool.link(outer, one) for _ in range(63)]
    assert min(links) > 0 and tool.link(outer, one) == -E2BIG
    for fd in links:
        tool.task.close(fd)
    assert tool.query(outer) == (1, MULTI)


def test_a_link_is_updated_and_outlives_its_group(tool: Tool) -> None:
    name, group = tool.fresh()
    one, two = tool.load(SKB), tool.load(SKB, ANSWER.format(0))
    link = tool.link(group, one)
    info = tool.task.unpack("IIIIQI", tool.task.obj_info(link, 28))
    assert (info[0], info[4], info[5]) == (uapi.BPF_LINK_TYPE_CGROUP, 0, EGRESS) or info[4] > 1
    assert tool.bpf(uapi.BPF_LINK_UPDATE, link, two, REPLACE, two) == -EPERM
    assert tool.bpf(uapi.BPF_LINK_UPDATE, link, two, REPLACE, one) == 0
    assert tool.bpf(uapi.BPF_LINK_UPDATE, link, tool.load(ADDR, attach_type=uapi.BPF_CGROUP_INET4_BIND), 0) == -EINVAL
    assert tool.rmdir(name) == 0
    assert tool.task.unpack("IIIIQI", tool.task.obj_info(link, 28))[4] == 0
    assert tool.bpf(uapi.BPF_LINK_UPDATE, link, one, 0) == -ENOLINK
    tool.task.close(link)


def test_packets_are_dropped_on_their_way_out_and_in(tool: Tool, group: int) -> None:
    receiver, sender = tool.socket(), tool.socket()
    assert tool.call("bind", receiver, tool.address(5000), 16) == 0
    assert tool.send(sender, 5000) == 5
    out, into = tool.load(SKB, ANSWER.format(0)), tool.load(SKB, ANSWER.format(0))
    assert tool.attach(group, out) == 0 and tool.send(sender, 5000) == -EPERM
    assert tool.detach(group, out) == 0
    assert tool.attach(group, into, attach_type=INGRESS) == 0 and tool.send(sender, 5000) == 5
    assert tool.detach(group, into, INGRESS) == 0
    waiting = [tool.call("recvfrom", receiver, tool.put(bytes(8)), 8, 0x40, 0, 0) for _ in range(2)]
    assert waiting[0] == 5 and waiting[1] < 0  # one of the two that were sent


def test_addresses_are_rewritten(tool: Tool, group: int) -> None:
    bind4, connect4 = uapi.BPF_CGROUP_INET4_BIND, uapi.BPF_CGROUP_INET4_CONNECT
    port = "r2 = {}\n*(u32 *)(r1 +24) = r2\nr0 = 1\nexit"  # struct bpf_sock_addr.user_port, network order
    elsewhere = tool.load(ADDR, port.format(int.from_bytes((6001).to_bytes(2, "big"), "little")), bind4)
    assert tool.attach(group, elsewhere, attach_type=bind4) == 0
    server = tool.socket(STREAM)
    assert tool.call("bind", server, tool.address(6000), 16) == 0 and tool.name_of(server)[0] == 6001
    assert tool.call("listen", server, 4) == 0
    there = tool.load(ADDR, port.format(int.from_bytes((6001).to_bytes(2, "big"), "little")), connect4)
    assert tool.attach(group, there, attach_type=connect4) == 0
    assert tool.call("connect", tool.socket(STREAM), tool.address(1), 16) == 0
    refuse = tool.load(ADDR, ANSWER.format(0), connect4)
    assert tool.attach(group, refuse, attach_type=connect4) == 0
    assert tool.call("connect", tool.socket(STREAM), tool.address(6001), 16) == -EPERM


def test_sockets_and_their_options(tool: Tool, group: int) -> None:
    sock = uapi.BPF_PROG_TYPE_CGROUP_SOCK
    made = uapi.BPF_CGROUP_INET_SOCK_CREATE
    before = tool.socket()
    refuse = tool.load(sock, ANSWER.format(0), made)
    assert tool.attach(group, refuse, attach_type=made) == 0 and tool.socket() == -EPERM
    assert tool.detach(group, refuse, made) == 0
    setting, getting = uapi.BPF_CGROUP_SETSOCKOPT, uapi.BPF_CGROUP_GETSOCKOPT
    done = tool.load(
        OPTION, "r2 = -1\n*(u32 *)(r1 +32) = r2\nr0 = 1\nexit", setting
    )  # optlen -1: the kernel is not asked
    assert tool.attach(group, done, attach_type=setting) == 0
    assert tool.call("setsockopt", before, 999, 1, tool.put(bytes(4)), 4) == 0
    answer = tool.load(OPTION, "r2 = 0\n*(u32 *)(r1 +36) = r2\nr0 = 1\nexit", getting)  # retval 0
    size = tool.put((4).to_bytes(4, "little"))
    assert tool.call("getsockopt", before, 999, 1, tool.put(bytes(4)), size) < 0
    assert tool.attach(group, answer, attach_type=getting) == 0
    assert tool.call("getsockopt", before, 999, 1, tool.put(bytes(4)), size) == 0
    assert tool.detach(group, done, setting) == 0  # who reads answers needs nobody who looks at what is set
    assert tool.call("getsockopt", before, 999, 1, tool.put(bytes(4)), size) == 0


def test_devices_and_sysctls(tool: Tool, group: int) -> None:
    device, sysctl = uapi.BPF_CGROUP_DEVICE, uapi.BPF_CGROUP_SYSCTL
    zero = tool.path("/dev/zero")
    source = "r2 = *(u32 *)(r1 +8)\nr0 = 1\nif r2 != 5 goto out\nr0 = 0\nout:\nexit"  # minor 5: /dev/zero
    assert tool.attach(group, tool.load(uapi.BPF_PROG_TYPE_CGROUP_DEVICE, source, device), attach_type=device) == 0
    assert tool.call("openat", -100, zero, 0, 0) == -EPERM
    assert tool.call("openat", -100, tool.path("/dev/null"), 0, 0) >= 0
    only_reads = "r2 = *(u32 *)(r1 +0)\nr0 = 1\nif r2 == 0 goto out\nr0 = 0\nout:\nexit"
    prog = tool.load(uapi.BPF_PROG_TYPE_CGROUP_SYSCTL, only_reads, sysctl)
    assert tool.attach(group, prog, attach_type=sysctl) == 0
    assert tool.task.read_file("/proc/sys/kernel/ostype") == b"Linux\n"
    with pytest.raises(KernelError) as refused:
        tool.task.write_file("/proc/sys/vm/swappiness", "10\n")
    assert refused.value.errno == EPERM and tool.task.read_file("/proc/sys/vm/swappiness") == b"60\n"


@pytest.mark.parametrize("flags", [4, 12])
def test_programs_hear_of_connections(tool: Tool, group: int, flags: int) -> None:
    ops = uapi.BPF_CGROUP_SOCK_OPS
    counts = tool.task.map_create(uapi.BPF_MAP_TYPE_ARRAY, 4, 8, 16)
    source = f"""
      r6 = r1
      r2 = {flags}
      call bpf_sock_ops_cb_flags_set
      r2 = *(u32 *)(r6 +0)
      *(u32 *)(r10 -4) = r2
      r1 = map[{counts}]
      r2 = r10
      r2 += -4
      call bpf_map_lookup_elem
      if r0 == 0 goto out
      r1 = 1
      lock *(u64 *)(r0 +0) += r1
    out:
      r0 = 1
      exit
    """
    prog = tool.load(uapi.BPF_PROG_TYPE_SOCK_OPS, source, ops, **{str(counts): counts})
    assert tool.attach(group, prog, attach_type=ops) == 0
    server = tool.socket(STREAM)
    assert tool.call("bind", server, tool.address(6100 + flags), 16) == 0 and tool.call("listen", server, 4) == 0
    client = tool.socket(STREAM)
    assert tool.call("connect", client, tool.address(6100 + flags), 16) == 0

    def count() -> list[int]:
        return [tool.task.unpack("Q", tool.task.map_lookup(counts, n.to_bytes(4, "little"), 8))[0] for n in range(13)]

    heard = count()
    # connect, active and passive end, listen; and as the flag asks, the states from then on
    assert (heard[3], heard[4], heard[5], heard[11]) == (1, 1, 1, 1) and heard[10] >= 2
    # a round trip that is over, for who wants to know: two hear of the handshake at most
    assert (0 < heard[12] <= 2) == (flags == 12)
    assert tool.call("write", client, tool.put(b"x"), 1) == 1
    assert count()[12] - heard[12] == (flags == 12)


LOOK = """
r6 = r1
r2 = 0x0100007f
*(u32 *)(r10 -12) = r2
*(u32 *)(r10 -8) = r2
r2 = {port}
*(u32 *)(r10 -4) = r2
r1 = r6
r2 = r10
r2 += -12
r3 = 12
r4 = -1
r5 = 0
call {helper}
if r0 == 0 goto none
r1 = r0
call 86
r0 = 1
exit
none:
r0 = 0
exit
"""


def dport(port: int) -> int:
    """The second half of a struct bpf_sock_tuple's ports, as the program's word."""
    return int.from_bytes(bytes(2) + port.to_bytes(2, "big"), "little")


def option(tool: Tool, fd: int, level: int, name: int, value: int = 1) -> int:
    return tool.call("setsockopt", fd, level, name, tool.put(value.to_bytes(4, "little")), 4)


def value_of(tool: Tool, fd: int, level: int, name: int, room: int = 4) -> bytes:
    at, size = tool.put(bytes(room)), tool.put(room.to_bytes(4, "little"))
    assert tool.call("getsockopt", fd, level, name, at, size) == 0
    return tool.calls.read(at, int.from_bytes(tool.calls.read(size, 4), "little"))


def test_programs_find_the_sockets_of_the_machine(tool: Tool, group: int) -> None:
    connect4 = uapi.BPF_CGROUP_INET4_CONNECT
    tcp, udp = (tool.load(ADDR, LOOK.format(port=dport(6110), helper=helper), connect4) for helper in (84, 85))
    client, listener, receiver = tool.socket(STREAM), tool.socket(STREAM), tool.socket()
    assert tool.attach(group, tcp, attach_type=connect4) == 0
    assert tool.call("connect", client, tool.address(6110), 16) == -EPERM  # nobody listens
    assert tool.call("bind", listener, tool.address(6110), 16) == 0 and tool.call("listen", listener, 4) == 0
    assert tool.call("connect", client, tool.address(6110), 16) == 0
    assert tool.detach(group, tcp, connect4) == 0 and tool.attach(group, udp, attach_type=connect4) == 0
    assert tool.call("connect", tool.socket(), tool.address(9), 16) == -EPERM
    assert tool.call("bind", receiver, tool.address(6110), 16) == 0
    assert tool.call("connect", tool.socket(), tool.address(9), 16) == 0


def test_a_connection_has_its_listeners_options_and_first_headers(tool: Tool) -> None:
    client, listener = tool.socket(STREAM), tool.socket(STREAM)
    assert option(tool, listener, 1, 9) == 0 and option(tool, listener, 6, 1) == 0  # SO_KEEPALIVE, TCP_NODELAY
    assert option(tool, listener, 6, 27) == 0  # TCP_SAVE_SYN
    assert tool.call("bind", listener, tool.address(6101), 16) == 0 and tool.call("listen", listener, 4) == 0
    assert tool.call("connect", client, tool.address(6101), 16) == 0
    connection = tool.call("accept", listener, 0, 0)
    assert value_of(tool, connection, 1, 9)[0] == 1 and value_of(tool, connection, 6, 1)[0] == 1
    assert value_of(tool, client, 1, 9)[0] == 0
    syn = value_of(tool, connection, 6, 28, 100)  # TCP_SAVED_SYN
    assert syn[0] == 0x45 and syn[22:24] == (6101).to_bytes(2, "big") and syn[33] == 2
    assert value_of(tool, connection, 6, 28, 100) == b""  # it is told once


def test_a_connect_that_may_not_wait_longer_is_in_progress(tool: Tool, group: int) -> None:
    listener, client = tool.socket(STREAM), tool.socket(STREAM)
    assert tool.call("bind", listener, tool.address(6102), 16) == 0 and tool.call("listen", listener, 4) == 0
    assert tool.attach(group, tool.load(SKB, ANSWER.format(0)), attach_type=INGRESS) == 0
    second = tool.put((1).to_bytes(8, "little") + bytes(8))
    late = tool.socket(STREAM)
    assert tool.call("setsockopt", late, 1, 21, second, 16) == 0  # SO_SNDTIMEO
    inside = tool.socket(STREAM)
    assert tool.call("bind", inside, tool.address(6103), 16) == 0 and tool.call("listen", inside, 4) == 0
    assert tool.call("connect", late, tool.address(6103), 16) == -EINPROGRESS
    assert tool.call("connect", client, tool.address(6102), 16) < 0


BIND6 = """
r2 = 10
*(u16 *)(r10 -28) = r2
r2 = {port}
*(u16 *)(r10 -26) = r2
r2 = 0
*(u32 *)(r10 -24) = r2
*(u32 *)(r10 -20) = r2
*(u32 *)(r10 -16) = r2
*(u32 *)(r10 -12) = r2
*(u32 *)(r10 -4) = r2
r2 = 0x01000000
*(u32 *)(r10 -8) = r2
r2 = r10
r2 += -28
r3 = 28
call 64
if r0 == 0 goto bound
r0 = 0
exit
bound:
r0 = 1
exit
"""


def test_a_program_chooses_the_own_address_of_ipv6(tool: Tool, group: int) -> None:
    connect6, loopback = uapi.BPF_CGROUP_INET6_CONNECT, bytes(15) + b"\1"
    server, client = (tool.call("socket", 10, STREAM, 0) for _ in range(2))
    to = tool.put((10).to_bytes(2, "little") + (6104).to_bytes(2, "big") + bytes(4) + loopback + bytes(4))
    assert tool.call("bind", server, to, 28) == 0 and tool.call("listen", server, 4) == 0
    swapped = int.from_bytes((6105).to_bytes(2, "big"), "little")
    binds = tool.load(ADDR, BIND6.format(port=swapped), connect6)
    assert tool.attach(group, binds, attach_type=connect6) == 0
    assert tool.call("connect", client, to, 28) == 0
    at, size = tool.put(bytes(28)), tool.put((28).to_bytes(4, "little"))
    assert tool.call("getsockname", client, at, size) == 0
    assert int.from_bytes(tool.calls.read(at + 2, 2), "big") == 6105


def test_maps_hold_sockets_until_they_are_closed(tool: Tool) -> None:
    sockmap, sockhash = (tool.task.map_create(kind, 4, 8, 4) for kind in (15, 18))
    key, listener = (1).to_bytes(4, "little"), tool.socket(STREAM)

    def update(table: int, fd: int, flags: int = 0) -> int:
        try:
            tool.task.map_update(table, key, fd.to_bytes(8, "little"), flags)
        except KernelError as error:
            return error.errno
        return 0

    assert update(sockmap, listener) == EOPNOTSUPP  # neither connected nor listening
    assert tool.call("bind", listener, tool.address(6120), 16) == 0 and tool.call("listen", listener, 4) == 0
    for table in (sockmap, sockhash):
        assert update(table, listener, 2) == ENOENT and update(table, listener) == 0  # BPF_EXIST
        assert update(table, listener, 1) == EEXIST
        cookie = tool.task.map_lookup(table, key, 8)
        assert cookie == value_of(tool, listener, 1, 57, 8)  # SO_COOKIE
    tool.task.close(listener)
    for table in (sockmap, sockhash):
        with pytest.raises(KernelError) as gone:
            tool.task.map_lookup(table, key, 8)
        assert gone.value.errno == ENOENT


CHOOSE = """
r6 = r1
r2 = 0
*(u32 *)(r10 -4) = r2
r1 = map[{table}]
r2 = r10
r2 += -4
call bpf_map_lookup_elem
if r0 == 0 goto out
r7 = r0
r1 = r6
r2 = r0
r3 = 0
call bpf_sk_assign
r1 = r7
call bpf_sk_release
out:
r0 = 1
exit
"""


def test_a_program_of_the_namespace_chooses_who_hears_a_connection(tool: Tool) -> None:
    table, listener = tool.task.map_create(15, 4, 8, 1), tool.socket(STREAM)
    assert tool.call("bind", listener, tool.address(6121), 16) == 0 and tool.call("listen", listener, 4) == 0
    tool.task.map_update(table, bytes(4), listener.to_bytes(8, "little"))
    lookup = uapi.BPF_SK_LOOKUP
    prog = tool.load(uapi.BPF_PROG_TYPE_SK_LOOKUP, CHOOSE.format(table=table), lookup, **{str(table): table})
    client, refused = tool.socket(STREAM), tool.socket(STREAM)
    assert tool.call("connect", refused, tool.address(7007), 16) < 0
    netns = tool.call("openat", -100, tool.path("/proc/self/ns/net"), 0, 0)
    link = tool.link(netns, prog, lookup)
    assert link > 0 and tool.call("connect", client, tool.address(7007), 16) == 0
    connection = tool.call("accept", listener, 0, 0)
    assert connection > 0 and tool.name_of(connection)[0] == 7007  # as the client asked, not as the listener is bound
    tool.task.close(link)
    assert tool.call("connect", tool.socket(STREAM), tool.address(7007), 16) < 0


SELECT = """
r2 = {place}
*(u32 *)(r10 -4) = r2
r2 = map[{table}]
r3 = r10
r3 += -4
r4 = 0
call bpf_sk_select_reuseport
r0 = 1
exit
"""


def test_a_program_chooses_among_those_that_share_a_port(tool: Tool) -> None:
    table, kind = tool.task.map_create(20, 4, 8, 2), uapi.BPF_PROG_TYPE_SK_REUSEPORT
    receivers = [tool.socket(), tool.socket()]
    for place, fd in enumerate(receivers):
        assert option(tool, fd, 1, 15) == 0 and tool.call("bind", fd, tool.address(6122), 16) == 0  # SO_REUSEPORT
        tool.task.map_update(table, place.to_bytes(4, "little"), fd.to_bytes(8, "little"))
    for place in (0, 1, 1, 0):
        prog = tool.load(kind, SELECT.format(place=place, table=table), **{str(table): table})
        assert option(tool, receivers[0], 1, 52, prog) == 0  # SO_ATTACH_REUSEPORT_EBPF
        assert tool.send(tool.socket(), 6122) == 5
        waiting = [tool.call("recvfrom", fd, tool.put(bytes(8)), 8, 0x40, 0, 0) for fd in receivers]
        assert [got == 5 for got in waiting] == [place == 0, place == 1]
    assert option(tool, receivers[1], 1, 68) == 0 and option(tool, receivers[1], 1, 68) == -ENOENT


def lsm(tool: Tool, hook: str, answer: int, attach_type: int) -> int:
    """A loaded program of a security hook."""
    btf = tool.machine.kernel.observer.vmlinux_btf
    assert btf is not None
    fd, log = tool.task.prog_load(
        uapi.BPF_PROG_TYPE_LSM, encode(assemble(ANSWER.format(answer))), expected_attach_type=attach_type,
        attach_btf_id=btf.find(f"bpf_lsm_{hook}", Kind.FUNC), log_level=1, log_size=9999,
    )  # fmt: skip
    assert fd >= 0, log
    return fd


def asked_hooks(tool: Tool) -> dict[str, Callable[[], int]]:
    """Calls that ask a hook, in an order in which each of them is allowed."""
    fd, to = tool.socket(STREAM), tool.address(6123)
    pair, size = tool.put(bytes(8)), tool.put((4).to_bytes(4, "little"))
    return {
        "socket_create": lambda: tool.socket(), "socket_post_create": lambda: tool.socket(),
        "socket_socketpair": lambda: tool.call("socketpair", 1, STREAM, 0, pair),
        "socket_bind": lambda: tool.call("bind", fd, to, 16), "socket_listen": lambda: tool.call("listen", fd, 1),
        "socket_connect": lambda: tool.call("connect", tool.socket(STREAM), to, 16),
        "socket_accept": lambda: tool.call("accept", fd, 0, 0),
        "socket_sendmsg": lambda: tool.send(tool.socket(), 6124),
        "socket_recvmsg": lambda: tool.call("recvfrom", tool.socket(), pair, 1, 0x40, 0, 0) + 11,
        "socket_getsockname": lambda: tool.call("getsockname", fd, tool.put(bytes(16)), tool.put(bytes(4))),
        "socket_setsockopt": lambda: option(tool, fd, 1, 9),
        "socket_getsockopt": lambda: tool.call("getsockopt", fd, 1, 9, pair, size),
        "socket_shutdown": lambda: tool.call("shutdown", fd, 2),
    }  # fmt: skip


def test_security_hooks_of_sockets_are_asked(tool: Tool) -> None:
    for hook, call in asked_hooks(tool).items():
        link = tool.task.raw_tracepoint_open(None, lsm(tool, hook, -EPERM, uapi.BPF_LSM_MAC))
        sockets = len(tool.machine.kernel.net.sockets)
        assert call() in (-EPERM, 11 - EPERM), hook
        if hook in ("socket_create", "socket_post_create", "socket_socketpair"):
            assert len(tool.machine.kernel.net.sockets) == sockets
        tool.task.close(link)
        assert call() >= 0, hook


def test_the_hook_of_exec_is_asked(tool: Tool) -> None:
    script, nobody = tool.path("/tmp/script"), tool.put(bytes(8))
    fd = tool.call("openat", -100, script, 0o101, 0o755)  # O_CREAT | O_WRONLY
    assert tool.call("write", fd, tool.put(b"#!/tmp/nowhere\n"), 15) == 15
    tool.task.close(fd)
    link = tool.task.raw_tracepoint_open(None, lsm(tool, "bprm_check_security", -EPERM, uapi.BPF_LSM_MAC))
    assert tool.call("execve", script, nobody, nobody) == -EPERM
    tool.task.close(link)
    assert tool.call("execve", script, nobody, nobody) == -ENOENT  # there is no such interpreter


def test_a_control_group_decides_at_a_security_hook(tool: Tool, group: int) -> None:
    hook = uapi.BPF_LSM_CGROUP
    refuse, allow = lsm(tool, "socket_bind", 0, hook), lsm(tool, "socket_bind", 1, hook)
    bind = tool.put(AF_INET.to_bytes(2, "little") + bytes(14))
    assert tool.attach(group, allow, MULTI, attach_type=hook) == 0
    assert tool.call("bind", tool.socket(), bind, 16) == 0
    link = tool.link(group, refuse, hook)
    assert link > 0 and tool.call("bind", tool.socket(), bind, 16) == -EPERM
    assert tool.query(group, hook)[0] == 2
    tool.join("")
    assert tool.call("bind", tool.socket(), bind, 16) == 0  # the group is not asked about others
    tool.task.close(link)
    assert tool.detach(group, allow, hook) == 0 and not tool.machine.kernel.observer.bpf.lsm_shims


def test_a_socket_is_bound_to_a_device_by_name_and_number(tool: Tool) -> None:
    fd, lo = tool.socket(), tool.put(b"lo\0")
    assert tool.call("setsockopt", fd, 1, 25, lo, 3) == 0  # SO_BINDTODEVICE
    assert value_of(tool, fd, 1, 62) == (1).to_bytes(4, "little") and value_of(tool, fd, 1, 25, 16) == b"lo\0"
    sk = next(sk for sk in tool.machine.kernel.net.socks.values() if sk.bound_ifindex == 1)
    assert sk.view["__sk_common"].skc_bound_dev_if == 1
    assert option(tool, fd, 1, 62, 0) == 0 and value_of(tool, fd, 1, 25, 16) == b""  # SO_BINDTOIFINDEX


def test_a_value_that_cannot_be_read_yet_is_an_error(tool: Tool) -> None:
    with pytest.raises(KernelError) as unset:
        tool.task.read_file("/proc/sys/net/ipv6/conf/lo/stable_secret")
    assert unset.value.errno == EIO


def test_segments_are_no_longer_than_the_socket_says(tool: Tool) -> None:
    listener, client = tool.socket(STREAM), tool.socket(STREAM)
    assert tool.call("bind", listener, tool.address(6125), 16) == 0 and tool.call("listen", listener, 4) == 0
    assert option(tool, client, 6, 2, 1000) == 0  # TCP_MAXSEG
    assert tool.call("connect", client, tool.address(6125), 16) == 0
    assert value_of(tool, client, 6, 2) == (988).to_bytes(4, "little")  # 12 bytes are timestamps
