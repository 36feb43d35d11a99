"""BPF iterators over objects of BPF, sockets and control groups, and what they refuse; rules of kernel/bpf/*_iter.c of Linux 6.1."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import simkernel
from arch.abi.errno import E2BIG, EACCES, EAGAIN, EBADF, EINVAL, EIO
from arch.abi.limits import U32_MAX
from arch.errors import KernelError
from bpf import uapi
from bpf.btf.codec import Btf, BtfType, Kind, Member
from bpf.isa.asm import assemble
from bpf.isa.insn import encode

# The number that stands at `place` in the object that the context points to at `at`; nothing for the last call.
PRINT = """
  r6 = r1
  r7 = *(u64 *)(r1 +{at})
  if r7 == 0 goto out
  {load}
  *(u64 *)(r10 -16) = r3
  r1 = *(u64 *)(r6 +0)
  r1 = *(u64 *)(r1 +0)
  r2 = r10
  r2 += -16
  r3 = 8
  call bpf_seq_write
out:
  r0 = {answer}
  exit
"""


class Tool:
    """Loads iterator programs and reads what they write."""

    def __init__(self) -> None:
        self.machine = simkernel.boot()
        self.task, self.calls = self.machine.session.task, self.machine.session.syscalls
        btf = self.machine.kernel.observer.vmlinux_btf
        assert btf is not None
        self.btf = btf
        self.task.map_create(uapi.BPF_MAP_TYPE_ARRAY, 4, 4, 1)  # takes descriptor 0, which an iterator takes for none

    def load(self, target: str, load: str, at: int = 8, answer: int = 0) -> int:
        fd, log = self.task.prog_load(
            uapi.BPF_PROG_TYPE_TRACING, encode(assemble(PRINT.format(at=at, load=load, answer=answer))), name="shown",
            expected_attach_type=uapi.BPF_TRACE_ITER, attach_btf_id=self.btf.find(f"bpf_iter_{target}", Kind.FUNC),
            log_level=1, log_size=9999,
        )  # fmt: skip
        assert fd >= 0, log
        return fd

    def offset(self, struct: str, member: str) -> int:
        t = self.btf.types[self.btf.find(struct, Kind.STRUCT)]
        return next(m.bit_offset // 8 for m in t.members if m.name == member)

    def link(self, prog: int, info: bytes = b"") -> int:
        at = self.calls.alloc(16)
        self.calls.write(at, info)
        tail = self.task.pack("QI", at if info else 0, len(info))
        try:
            return self.task.link_create(prog, 0, uapi.BPF_TRACE_ITER, tail)
        except KernelError as error:
            return -error.errno

    def read(self, prog: int, info: bytes = b"") -> list[int]:
        link = self.link(prog, info)
        assert link >= 0
        fd = self.task.iter_create(link)
        at, out = self.calls.alloc(4096), b""
        while (got := self.calls.syscall("read", fd, at, 4096)) > 0:
            out += self.calls.read(at, got)
        self.task.close(fd)
        self.task.close(link)
        return [int.from_bytes(out[i : i + 8], "little") for i in range(0, len(out), 8)]

    def text(self, path: str, size: int = 4096, fd: int = 0) -> tuple[bytes, int]:
        """What reading a file gives to its end or an error."""
        at, out = self.calls.alloc(max(size, 100)), b""
        if not fd:
            self.calls.write(at, path.encode() + b"\0")
            fd = self.calls.syscall("openat", -100, at, 0, 0)
            if fd < 0:
                return b"", fd
        while (got := self.calls.syscall("read", fd, at, size)) > 0:
            out += self.calls.read(at, got)
        self.task.close(fd)
        return out, got

    def group(self, name: str) -> int:
        path = self.calls.alloc(100)
        self.calls.write(path, f"/sys/fs/cgroup/{name}\0".encode())
        assert self.calls.syscall("mkdir", path, 0o755) == 0
        return self.calls.syscall("openat", -100, path, 0o200000, 0)


@pytest.fixture(scope="module")
def tool() -> Iterator[Tool]:
    yield Tool()


def test_elements_of_a_map_are_seen_and_may_be_changed(tool: Tool) -> None:
    fd = tool.task.map_create(uapi.BPF_MAP_TYPE_HASH, 4, 8, 8)
    for n in (1, 2, 3):
        tool.task.map_update(fd, n.to_bytes(4, "little"), (10 * n).to_bytes(8, "little"))
    change = "r3 = *(u64 *)(r7 +0)\nr4 = r3\nr4 += 1\n*(u64 *)(r7 +0) = r4"
    prog = tool.load("bpf_map_elem", change, at=24)
    info = tool.task.pack("I", fd)
    assert sorted(tool.read(prog, info)) == [10, 20, 30]
    assert tool.task.map_lookup(fd, (2).to_bytes(4, "little"), 8) == (21).to_bytes(8, "little")
    link = tool.link(prog, info)
    map_id = tool.task.unpack("IIII", tool.task.obj_info(fd, 16))[1]
    assert tool.task.unpack("IIIIQII", tool.task.obj_info(link, 32))[6] == map_id
    tool.task.close(link)


def test_which_maps_and_how_far(tool: Tool) -> None:
    small = tool.task.map_create(uapi.BPF_MAP_TYPE_ARRAY, 4, 4, 1)
    queue = tool.task.map_create(uapi.BPF_MAP_TYPE_QUEUE, 0, 8, 1)
    percpu = tool.task.map_create(uapi.BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8, 2)
    prog = tool.load("bpf_map_elem", "r3 = *(u64 *)(r7 +0)", at=24)
    pack = tool.task.pack
    assert tool.link(prog) == -EBADF and tool.link(prog, pack("I", 99)) == -EBADF
    assert tool.link(prog, pack("I", queue)) == -EINVAL
    assert tool.link(prog, pack("I", small)) == -EACCES  # eight bytes of a value of four
    assert tool.read(prog, pack("I", percpu)) == [0, 0]


def test_programs_and_links_by_number(tool: Tool) -> None:
    aux, number = tool.offset("bpf_prog", "aux"), tool.offset("bpf_prog_aux", "id")
    progs = tool.load("bpf_prog", f"r3 = *(u64 *)(r7 +{aux})\nr3 = *(u32 *)(r3 +{number})")
    own = tool.task.unpack("II", tool.task.obj_info(progs, 8))[1]
    shown = tool.read(progs)
    assert own in shown and shown == sorted(shown)
    links = tool.load("bpf_link", f"r3 = *(u32 *)(r7 +{tool.offset('bpf_link', 'id')})")
    kept = tool.link(links)
    assert tool.task.unpack("II", tool.task.obj_info(kept, 8))[1] in tool.read(links)
    tool.task.close(kept)


def test_sockets_of_each_kind(tool: Tool) -> None:
    address = tool.calls.alloc(16)
    tool.calls.write(address, b"\x02\0" + (7001).to_bytes(2, "big") + bytes((127, 0, 0, 1)) + bytes(8))
    kinds = {"udp": tool.calls.syscall("socket", 2, 2, 0), "tcp": tool.calls.syscall("socket", 2, 1, 0)}
    for fd in kinds.values():
        assert tool.calls.syscall("bind", fd, address, 16) == 0
    assert tool.calls.syscall("listen", kinds["tcp"], 4) == 0
    num = "r3 = *(u16 *)(r7 +14)"  # struct sock_common.skc_num
    assert tool.read(tool.load("udp", num)) == [7001] and tool.read(tool.load("tcp", num)) == [7001]
    family = "r3 = *(u16 *)(r7 +16)"  # .skc_family
    before = tool.read(tool.load("unix", family))
    tool.calls.syscall("socket", 1, 1, 0)
    assert tool.read(tool.load("unix", family)) == [*before, 1]
    tool.calls.syscall("socket", 16, 3, 0)
    assert 16 in tool.read(tool.load("netlink", family))


def test_groups_in_every_order(tool: Tool) -> None:
    outer = tool.group("iter")
    for name in ("iter/a", "iter/a/x", "iter/b"):
        tool.group(name)
    node, level = tool.offset("cgroup", "kn"), tool.offset("cgroup", "level")
    assert node
    prog = tool.load("cgroup", f"r3 = *(u32 *)(r7 +{level})")
    pack = tool.task.pack
    orders = {1: [1], 2: [1, 2, 3, 2], 3: [3, 2, 2, 1], 4: [1, 0]}
    assert {order: tool.read(prog, pack("IIQ", order, outer, 0)) for order in orders} == orders
    assert tool.read(prog, pack("IIQ", 2, 0, 0))[0] == 0  # the whole tree
    assert tool.link(prog, pack("IIQ", 0, outer, 0)) == -EINVAL and tool.link(prog, pack("IIQ", 1, outer, 1)) == -EINVAL
    once = tool.load("cgroup", f"r3 = *(u32 *)(r7 +{level})", answer=1)  # ends the walk
    assert tool.read(once, pack("IIQ", 2, outer, 0)) == [1]


LONG = """
  r6 = r1
  r7 = *(u64 *)(r1 +{at})
  if r7 == 0 goto out
  r1 = *(u64 *)(r6 +0)
  r8 = *(u64 *)(r1 +16)
  *(u64 *)(r10 -8) = r8
  r1 = *(u64 *)(r1 +0)
  r2 = r7
  r3 = {size}
  call bpf_seq_write
  {answer}
  exit
out:
  r0 = 0
  exit
"""


def test_a_read_gives_what_fits_and_goes_on_with_the_object_that_did_not(tool: Tool) -> None:
    maps = {size: tool.task.map_create(uapi.BPF_MAP_TYPE_ARRAY, 4, size, 2) for size in (20_000, 40_000)}

    def walk(size: int, answer: str, read: int) -> tuple[bytes, int]:
        code = encode(assemble(LONG.format(at=24, size=size, answer=answer)))
        prog, log = tool.task.prog_load(
            uapi.BPF_PROG_TYPE_TRACING, code, expected_attach_type=uapi.BPF_TRACE_ITER, log_level=1, log_size=9999,
            attach_btf_id=tool.btf.find("bpf_iter_bpf_map_elem", Kind.FUNC),
        )  # fmt: skip
        assert prog >= 0, log
        link = tool.link(prog, tool.task.pack("I", maps[size]))
        return tool.text("", read, tool.task.iter_create(link))

    assert walk(20_000, "r0 = 0", 60_000) == (bytes(40_000), 0)  # each read takes one: both do not fit into eight pages
    assert walk(20_000, "r0 = 0", 7) == (bytes(40_000), 0)
    assert walk(40_000, "r0 = 0", 60_000) == (b"", -E2BIG)
    assert walk(20_000, "r0 = 1", 60_000) == (b"", -EAGAIN)
    first = "r0 = *(u64 *)(r10 -8)\n  r0 &= 1"  # number 0 is told, number 1 is asked for again and again
    assert walk(20_000, first, 60_000) == (bytes(20_000), -EAGAIN)


def test_a_pinned_iterator_is_read_by_its_file(tool: Tool) -> None:
    link = tool.link(tool.load("bpf_prog", "r3 = 7"))
    tool.task.obj_pin(link, "/sys/fs/bpf/walk")
    for _ in range(2):  # each open is a walk of its own
        out, end = tool.text("/sys/fs/bpf/walk")
        assert set(out[::8]) == {7} and end == 0
    prog = tool.load("bpf_prog", "r3 = 7")
    tool.task.obj_pin(prog, "/sys/fs/bpf/program")
    assert tool.text("/sys/fs/bpf/program") == (b"", -EIO)


def test_a_pinned_map_shows_its_elements_by_their_types(tool: Tool) -> None:
    btf = Btf()
    number = btf.append(BtfType(Kind.INT, "int", 4, bits=32, encoding=1))
    color = btf.append(BtfType(Kind.ENUM, "color", 4, values=[("RED", 0), ("GREEN", 1)]))
    inner = btf.append(BtfType(Kind.STRUCT, "inner", 4, members=[Member("a", number, 0)]))
    members = [Member("n", number, 0), Member("c", color, 32), Member("i", inner, 64)]
    value = btf.append(BtfType(Kind.STRUCT, "value", 12, members=members))
    fd, _ = tool.task.btf_load(btf.encode())
    pack = tool.task.pack

    def pinned(
        kind: int, types: tuple[int, int], size: int, elements: dict[int, bytes], name: str
    ) -> tuple[bytes, int]:
        given = {"btf_fd": fd, "key_type_id": types[0], "value_type_id": types[1]} if types[1] else {}
        made = tool.task.map_create(kind, 4 if kind != uapi.BPF_MAP_TYPE_QUEUE else 0, size, 2, **given)
        for key, data in elements.items():
            tool.task.map_update(made, pack("I", key), data)
        tool.task.obj_pin(made, f"/sys/fs/bpf/{name}")
        return tool.text(f"/sys/fs/bpf/{name}")

    warning = b"# WARNING!! The output is for debug purpose only\n# WARNING!! The output format will change\n"
    hashed, array, percpu = uapi.BPF_MAP_TYPE_HASH, uapi.BPF_MAP_TYPE_ARRAY, uapi.BPF_MAP_TYPE_PERCPU_ARRAY
    assert pinned(hashed, (number, value), 12, {7: pack("iIi", -1, 1, 0)}, "h") == (
        warning + b"7: {-1,GREEN,{0,},}\n",
        0,
    )
    assert pinned(array, (number, number), 4, {1: pack("i", 9)}, "a") == (warning + b"0: 0\n1: 9\n", 0)
    lines = b"".join(
        b"%d: {\n" % n + b"".join(b"\tcpu%d: 0\n" % c for c in range(tool.machine.kernel.nr_cpus)) + b"}\n"
        for n in (0, 1)
    )
    assert pinned(percpu, (number, number), 4, {}, "p") == (warning + lines, 0)
    assert pinned(array, (0, 0), 4, {}, "untyped") == (b"", -EIO)
    assert pinned(uapi.BPF_MAP_TYPE_QUEUE, (0, 0), 4, {}, "queue") == (b"", -EIO)


def test_the_kernels_own_netlink_sockets_are_there_too() -> None:
    """By protocol, as /proc/net/netlink shows them on Linux 6.1."""
    tool = Tool()
    at = tool.offset("sock", "sk_protocol")
    prog = tool.load("netlink", f"r3 = *(u16 *)(r7 +{at})")
    assert tool.read(prog) == [0, 4, 7, 9, 10, 11, 15, 16]
    mine = tool.calls.syscall("socket", 16, 3, 4)
    assert tool.read(prog) == [0, 4, 4, 7, 9, 10, 11, 15, 16]
    text, _ = tool.text("/proc/net/netlink")
    assert [int(line.split()[1]) for line in text.decode().splitlines()[1:]] == [0, 4, 4, 7, 9, 10, 11, 15, 16]
    tool.task.close(mine)


def test_connections_that_wait_for_their_end_are_walked() -> None:
    """A closed connection's struct inet_timewait_sock: the iterator of Linux 6.1 shows it behind the others."""
    tool = Tool()
    state = tool.offset("sock_common", "skc_state")
    prog = tool.load("tcp", f"r3 = *(u8 *)(r7 +{state})")
    calls = tool.calls
    name = calls.alloc(16)
    calls.write(name, b"\2\0\x1e\x61\x7f\0\0\1" + bytes(8))
    listener = calls.syscall("socket", 2, 1, 0)
    assert not calls.syscall("bind", listener, name, 16) and not calls.syscall("listen", listener, 1)
    client = calls.syscall("socket", 2, 1, 0)
    assert not calls.syscall("connect", client, name, 16)
    server = calls.syscall("accept4", listener, 0, 0, 0)
    assert sorted(tool.read(prog)) == [1, 1, 10]
    for fd in (client, server, listener):
        tool.task.close(fd)
    assert tool.read(prog) == [6]


def test_maps_tell_who_holds_them_and_where_they_are() -> None:
    """struct bpf_map: the walk holds one reference more; no map asks for a node unless it says so."""
    tool = Tool()
    for member, wanted in (("numa_node", U32_MAX), ("refcnt", 2)):
        prog = tool.load("bpf_map", f"r3 = *(u32 *)(r7 +{tool.offset('bpf_map', member)})")
        assert set(tool.read(prog)) == {wanted}


def test_routes_of_ipv6_are_those_of_proc(tool: Tool) -> None:
    prog = tool.load("ipv6_route", f"r3 = *(u32 *)(r7 +{tool.offset('fib6_info', 'fib6_metric')})")
    lines = tool.machine.session.read_file("/proc/net/ipv6_route").decode().splitlines()
    assert tool.read(prog) == [int(line.split()[5], 16) for line in lines]
    prog = tool.load("ipv6_route", f"r3 = *(u32 *)(r7 +{tool.offset('fib6_info', 'fib6_flags')})")
    assert tool.read(prog) == [int(line.split()[8], 16) for line in lines]


@pytest.mark.parametrize("kind", [uapi.BPF_MAP_TYPE_SOCKMAP, uapi.BPF_MAP_TYPE_SOCKHASH])
def test_sockets_of_a_map(tool: Tool, kind: int) -> None:
    fd, socks = tool.task.map_create(kind, 4, 8, 4), {}
    for key, family in ((1, 2), (3, 10)):
        socks[key] = sock = tool.calls.syscall("socket", family, 2, 0)
        address = tool.calls.alloc(28)
        tool.calls.write(address, family.to_bytes(2, "little") + bytes(26))
        assert tool.calls.syscall("bind", sock, address, 28) == 0
        tool.task.map_update(fd, key.to_bytes(4, "little"), sock.to_bytes(8, "little"))
    info = fd.to_bytes(4, "little")
    family_at = tool.offset("sock_common", "skc_family")
    assert sorted(tool.read(tool.load("sockmap", f"r3 = *(u16 *)(r7 +{family_at})", at=24), info)) == [2, 10]
    seen = tool.read(tool.load("sockmap", "r3 = *(u32 *)(r7 +0)", at=16), info)
    assert sorted(seen) == ([0, 1, 2, 3] if kind == uapi.BPF_MAP_TYPE_SOCKMAP else [1, 3])
    for sock in socks.values():
        tool.task.close(sock)


def test_the_socket_of_a_file(tool: Tool) -> None:
    sock = tool.calls.syscall("socket", 1, 2, 0)
    look = f"r1 = r7\ncall bpf_sock_from_file\nr3 = r0\nif r0 == 0 goto out\nr3 = *(u16 *)(r0 +{tool.offset('socket', 'type')})"
    assert 2 in tool.read(tool.load("task_file", look, at=24))
    tool.task.close(sock)


def test_links_tell_what_they_go_over() -> None:
    """bpf_iter_task_show_fdinfo(), bpf_iter_cgroup_show_fdinfo(): texts asked of 6.1."""
    t = Tool()
    order = t.machine.kernel.mem.byteorder
    links = t.machine.kernel.observer.bpf.links.objects

    def told(target: str, info: bytes = b"") -> str:
        assert t.link(t.load(target, "r3 = 0"), info) >= 0
        return links[max(links)].fdinfo().partition("target_name")[2]

    me = t.calls.syscall("getpid")
    assert told("task_file") == ":\ttask_file\ntask_type:\tALL\n"
    assert told("task", me.to_bytes(4, order)) == f":\ttask\ntask_type:\tTID\ntid:\t{me}\n"
    assert told("task", bytes(4) + me.to_bytes(4, order)) == f":\ttask\ntask_type:\tPID\npid:\t{me}\n"
    pre = uapi.BPF_CGROUP_ITER_DESCENDANTS_PRE.to_bytes(4, order)
    assert told("cgroup", pre + bytes(12)) == ":\tcgroup\ncgroup_path:\t/\norder: descendants_pre\n"


def test_routes_of_ipv6_end_each_table_with_the_one_of_those_who_have_none() -> None:
    t = Tool()
    kinds = t.read(t.load("ipv6_route", f"r3 = *(u8 *)(r7 +{t.offset('fib6_info', 'fib6_type')})"))
    assert kinds.count(7) == 2 and kinds[-1] == 7  # RTN_UNREACHABLE: main and local
