"""Contexts that a booted machine makes: programs read all of them, and find what the kernel has there.

The programs go through bpf(2), are attached through system calls, and keep what they read in a map.  Beside them the
test notes what was behind the context when the program ran.  tests/bpf/test_every_context_field.py reads every field in
every size without a machine.
"""

import re
from itertools import pairwise

import pytest

from arch.abi.fcntl import O_WRONLY
from arch.abi.perf_event import (
    PERF_COUNT_SW_CPU_CLOCK,
    PERF_COUNT_SW_TASK_CLOCK,
    PERF_EVENT_IOC_ENABLE,
    PERF_EVENT_IOC_SET_BPF,
    PERF_TYPE_SOFTWARE,
)
from arch.abi.socket import AF_INET, AF_INET6, SO_ATTACH_BPF, SOL_SOCKET
from bpf import uapi
from bpf.core.program import BpfProg
from bpf.isa.asm import assemble
from bpf.isa.insn import encode
from bpf.layout import layout_of
from bpf.loader.bpf_load import attach_perf, event_id
from bpf.loader.events import perf_attr
from bpf.loader.object import find_attach_btf_id
from bpf.verifier.context import ctx_layout as layouts
from samples.tool import Tool
from samples.v41.sock_example import open_raw_sock
from simkernel import net, workloads
from tests.bpf.test_every_context_field import CONTEXTS, SKB
from tests.kconfig import typed

ARCHES = ("x86_64", "arm64", "riscv64", "s390x", "i386", "arm")
FRAME = bytes.fromhex("525400123456 525500010202 88b5") + bytes(range(100))
LETTERS = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}


class Reader:
    """A tool whose programs keep what they read of their contexts."""

    def __init__(self, arch, kernel="6.1"):
        self.tool = Tool(arch, kernel, config=typed(arch))
        self.task, self.k = self.tool.task, self.tool.machine.kernel
        self.kernel = layout_of(self.k.types)
        self.order = self.k.mem.byteorder
        self.out = -1
        self.places = []

    def load(self, name, places, ret=0, attach=0, **more):
        """A program that reads these (offset, size)."""
        self.places = places
        self.out = self.task.map_create(uapi.BPF_MAP_TYPE_ARRAY, 4, 8 * len(places) + 8, 1)
        text = "r6 = r1\n"
        for n, (off, size) in enumerate(places):
            text += f"r7 = *({LETTERS[size]} *)(r6 +{off})\nr2 = map[out]+{8 * n}\n*(u64 *)(r2 +0) = r7\n"
        n = len(places)
        text += f"r2 = map[out]+{8 * n}\nr3 = *(u64 *)(r2 +0)\nr3 += 1\n*(u64 *)(r2 +0) = r3\nr0 = {ret}\nexit"
        code = encode(assemble(text, {"out": self.out}), self.order)
        fd, log = self.task.prog_load(
            getattr(uapi, f"BPF_PROG_TYPE_{name}"),
            code,
            expected_attach_type=attach,
            log_level=1,
            log_size=1 << 16,
            **more,
        )
        assert fd >= 0, log
        return fd

    def read_all(self):
        """What the last run kept, read beside the machine: for use while it runs."""
        found = self.k.observer.bpf.map_of_fd(self.out)
        at = found.direct_value_address(0)
        return [self.k.mem.read_uint(at + 8 * n, 8) for n in range(len(self.places))]

    def read(self):
        """What the last run kept; it did run."""
        raw = self.task.map_lookup(self.out, bytes(4), 8 * len(self.places) + 8)
        *values, runs = self.task.unpack(f"{len(self.places) + 1}Q", raw)
        assert runs, "the program did not run"
        return values

    def number(self, raw):
        return int.from_bytes(raw, self.order)


@pytest.fixture
def before_run(monkeypatch):
    """Functions of the context's address, called before a program runs: by Python, since compiled programs run without being asked."""
    monkeypatch.setenv("SIMKERNEL_TIER", "python")
    seen = []
    run = BpfProg.run64

    def noting(prog, ctx, *more):
        for function in seen:
            function(ctx)
        return run(prog, ctx, *more)

    monkeypatch.setattr(BpfProg, "run64", noting)
    return seen


# ---- perf events ----


def perf_places(arch):
    size, word = arch.user_pt_regs_size, arch.word
    return [(off, word) for off in range(0, size, word)] + [(size, 8), (size + 8, 8)]


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("config", [PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK])
def test_perf_event(arch, config):
    reader = Reader(arch)
    task, cpu, period = reader.task, reader.k.arch, 300_000
    notes = []
    core = reader.tool.machine.kernel.observer.tracing.perf
    hook = core.overflow_program_hook

    def noting(event, regs, addr, period):
        notes.append((reader.k.mem.read(regs, cpu.user_pt_regs_size), addr, period))
        return hook(event, regs, addr, period)

    core.overflow_program_hook = noting
    prog = reader.load("PERF_EVENT", perf_places(cpu))
    event = task.perf_event_open(perf_attr(task, PERF_TYPE_SOFTWARE, config, sample_period=period), -1, 0)
    task.ioctl(event, PERF_EVENT_IOC_SET_BPF, prog)
    task.ioctl(event, PERF_EVENT_IOC_ENABLE)
    workloads.run(reader.tool.machine, "forker")
    regs, addr, sampled = notes[-1]
    *values, read_period, read_addr = reader.read()
    assert values == [reader.number(regs[off : off + cpu.word]) for off in range(0, len(regs), cpu.word)]
    assert any(values)
    assert (read_period, read_addr) == (sampled, addr)
    assert read_period == period


# ---- packets ----


def behind(reader, source, base):
    """The bytes that a field shows, by the table of sources; see test_every_context_field.py."""
    kernel, mem, words = reader.kernel, reader.k.mem, source.split()
    shown = words.pop() if words[-1] in ("port", "word") else ""
    for word in words[:-1]:
        if word == "cb":
            base += kernel.offset("sk_buff.cb")
        elif word == "shinfo":
            head, end = kernel.place("sk_buff.head"), kernel.place("sk_buff.end")
            start = mem.read_uint(base + head.offset, head.size) if kernel.word == 8 else 0
            base = start + mem.read_uint(base + end.offset, end.size)
        else:
            place = kernel.place(word)
            base = mem.read_uint(base + place.offset, place.size)
    place = kernel.place(words[-1])
    value = mem.read_uint(base + place.offset, place.size)
    if place.mask:
        value = (value & place.mask) >> place.shift
    return value << 16 if shown == "port" and reader.order == "little" else value


@pytest.mark.parametrize("arch", ARCHES)
def test_socket_filter(arch, before_run):
    reader = Reader(arch)
    hidden = CONTEXTS["SOCKET_FILTER"][2].split()
    fields = [f for f in layouts.SK_BUFF.fields if f.name not in hidden and f.name != "cb"]
    sock = open_raw_sock(reader.tool, "eth0")
    prog = reader.load("SOCKET_FILTER", [(f.offset, f.unit) for f in fields], ret=-1)
    with reader.task.memory() as memory:
        where = memory.put(reader.task.pack("I", prog))
        reader.task.call("setsockopt", sock, SOL_SOCKET, SO_ATTACH_BPF, where, 4)
    sources = {f.name: SKB[f.name] for f in fields if f.name != "napi_id"}
    wanted = {}
    before_run.append(lambda ctx: wanted.update({name: behind(reader, way, ctx) for name, way in sources.items()}))
    net.inject(reader.k, FRAME)
    reader.tool.sleep(0.001)
    values = dict(zip((f.name for f in fields), reader.read(), strict=True))
    assert {name: values[name] for name in wanted} == wanted
    assert values["len"] == len(FRAME)
    assert values["protocol"] == reader.number(b"\x88\xb5")
    devices = reader.k.net.init.devices
    assert values["ifindex"] in devices and devices[values["ifindex"]].name == "eth0"


# ---- tracing ----


def write_something(reader):
    """write(2) of 23 bytes; what it is told: (descriptor, address, count)."""
    fd = reader.task.open("/dev/null", O_WRONLY)
    with reader.task.memory() as memory:
        at = memory.put(bytes(23))
        assert reader.task.call("write", fd, at, 23) == 23
    return fd, at, 23


@pytest.mark.parametrize("arch", ARCHES)
def test_kprobe(arch, before_run):
    reader = Reader(arch)
    layout, word, mem = reader.k.cpu.layout, reader.k.arch.word, reader.k.mem
    places = [(off, word) for off in range(0, layout.size - word + 1, word)]
    prog = reader.load("KPROBE", places)
    reader.task.write_file("/sys/kernel/tracing/kprobe_events", "p:contexts/probe vfs_write\n")
    attach_perf(reader.task, event_id(reader.task, "contexts/probe"), prog)
    frames = []
    before_run.append(
        lambda ctx: frames.append((mem.read(ctx, layout.size), reader.k.arch.argument(mem, ctx, 2, layout)))
    )
    _, _, count = write_something(reader)
    frame, argument = frames[-1]
    assert reader.read() == [reader.number(frame[off : off + size]) for off, size in places]
    assert argument == count


@pytest.mark.parametrize("arch", ARCHES)
def test_tracepoint_record(arch, before_run):
    reader = Reader(arch)
    word = reader.k.arch.word
    text = reader.task.read_file("/sys/kernel/tracing/events/syscalls/sys_enter_write/format").decode()
    shown = {m[1]: (int(m[2]), int(m[3])) for m in re.finditer(r"(\w+);\toffset:(\d+);\tsize:(\d+)", text)}
    fields = {name: place for name, place in shown.items() if place[0] >= 8}
    prog = reader.load("TRACEPOINT", list(fields.values()))
    attach_perf(reader.task, event_id(reader.task, "syscalls/sys_enter_write"), prog)
    fd, buf, count = write_something(reader)
    values = dict(zip(fields, reader.read(), strict=True))
    assert (values["fd"], values["buf"], values["count"]) == (fd, buf, count)
    assert fields["fd"][1] == word


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "riscv64", "s390x"])
def test_raw_tracepoint(arch, before_run):
    reader = Reader(arch)
    prog = reader.load("RAW_TRACEPOINT", [(0, 8), (8, 8)])
    frames = []
    before_run.append(lambda ctx: frames.append(reader.k.mem.read(ctx, 16)))
    reader.task.raw_tracepoint_open("sys_enter", prog)
    write_something(reader)
    assert reader.read() == list(reader.task.unpack("QQ", frames[-1]))
    numbers = {reader.number(frame[8:]) for frame in frames}
    assert reader.k.arch.syscall_abis[0].numbers["write"] in numbers


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "s390x"])
@pytest.mark.parametrize("attach", [uapi.BPF_TRACE_FENTRY, uapi.BPF_TRACE_FEXIT, uapi.BPF_MODIFY_RETURN])
def test_function_arguments(arch, attach, before_run):
    reader = Reader(arch)
    btf = reader.tool.machine.kernel.observer.vmlinux_btf
    name = "vfs_write" if attach != uapi.BPF_MODIFY_RETURN else "security_file_permission"
    number = find_attach_btf_id(btf, name, attach)
    count = len(btf.resolved(btf[number].type).params)
    places = [(8 * n, 8) for n in range(count + (attach != uapi.BPF_TRACE_FENTRY))]
    prog = reader.load("TRACING", places, attach=attach, attach_btf_id=number)
    frames = []
    before_run.append(lambda ctx: frames.append(reader.k.mem.read(ctx, 8 * len(places))))
    reader.task.raw_tracepoint_open(None, prog)
    _, buf, size = write_something(reader)
    values = reader.read()
    frame = list(reader.task.unpack(f"{len(places)}Q", frames[-1]))
    mask = [(1 << 32) - 1 if btf.size_of(p.type) == 4 else (1 << 64) - 1 for p in btf.resolved(btf[number].type).params]
    assert [v & m for v, m in zip(values, mask)] == [f & m for f, m in zip(frame, mask)]
    if name == "vfs_write":
        assert values[1:3] == [buf, size]
        assert attach == uapi.BPF_TRACE_FENTRY or values[-1] == size


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "riscv64", "s390x"])
@pytest.mark.parametrize("target", ["task", "task_file", "task_vma", "bpf_map", "ksym"])
def test_iterator(arch, target, before_run):
    """The context's own members; what the pointers lead to is read by the samples."""
    reader = Reader(arch)
    btf = reader.tool.machine.kernel.observer.vmlinux_btf
    number = find_attach_btf_id(btf, target, uapi.BPF_TRACE_ITER)
    struct = reader.k.types.struct(f"struct bpf_iter__{target}")
    members = [m for m in struct.flat_members() if m.name]
    places = [(m.offset, m.type.size) for m in members]
    prog = reader.load("TRACING", places, attach=uapi.BPF_TRACE_ITER, attach_btf_id=number)
    frames = []
    before_run.append(lambda ctx: frames.append((reader.k.mem.read(ctx, struct.size), reader.read_all())))
    link = reader.task.link_create(prog, 0, uapi.BPF_TRACE_ITER, reader.task.pack("QI", 0, 0))
    file = reader.task.iter_create(link)
    reader.task.read_fd(file, 4096)
    # what the program kept is noted before the next run: one context later
    assert len(frames) > 1
    for (frame, _), (_, kept) in pairwise(frames):
        assert kept == [reader.number(frame[off : off + size]) for off, size in places]
    assert not any(frames[-1][0][places[1][0] :][: places[1][1]])  # the last call, without an object


# ---- BPF_PROG_TEST_RUN through bpf(2) ----

PACKET = (
    bytes.fromhex("020000000001 020000000002 0800")
    + bytes.fromhex("4500003c000040004011 0000 7f000001 7f000002 1234 0035 0028 0000")
    + bytes(range(32))
)


def filled(layout, names, order):
    """A context with these fields set, each to another value; and the values."""
    raw, values = bytearray(layout.size), {}
    for n, name in enumerate(names):
        field = layout[name]
        size = field.unit * field.count
        values[name] = bytes((0x11 * (n + 1) + k) & 0x7F for k in range(size))
        raw[field.offset : field.offset + size] = values[name]
    return raw, {name: int.from_bytes(value[: layout[name].unit], order) for name, value in values.items()}


@pytest.mark.parametrize("arch", ARCHES)
def test_packet_test_run(arch):
    reader = Reader(arch)
    names = ["mark", "priority", "ingress_ifindex", "cb", "tstamp", "gso_size"]
    raw, wanted = filled(layouts.SK_BUFF, names, reader.order)
    for name, value in {"wire_len": len(PACKET) + 7, "gso_segs": 3, "gso_size": 0x0102, "ifindex": 1}.items():
        field = layouts.SK_BUFF[name]
        raw[field.offset : field.end] = value.to_bytes(4, reader.order)
        wanted[name] = value
    wanted |= {"len": len(PACKET), "protocol": reader.number(b"\x08\x00")}
    fields = [layouts.SK_BUFF[name] for name in wanted]
    prog = reader.load("SCHED_CLS", [(f.offset, f.unit) for f in fields])
    reader.task.prog_test_run(prog, PACKET, bytes(raw))
    assert dict(zip(wanted, reader.read(), strict=True)) == wanted


@pytest.mark.parametrize("arch", ARCHES)
def test_xdp_test_run(arch):
    reader = Reader(arch)
    fields = [f for f in layouts.XDP_MD.fields if f.name != "egress_ifindex"]
    prog = reader.load("XDP", [(f.offset, f.unit) for f in fields], ret=2)
    raw = bytearray(layouts.XDP_MD.size)
    for name, value in {"data_end": len(PACKET), "ingress_ifindex": 1}.items():
        field = layouts.XDP_MD[name]
        raw[field.offset : field.end] = value.to_bytes(4, reader.order)
    reader.task.prog_test_run(prog, PACKET, bytes(raw))
    got = dict(zip((f.name for f in fields), reader.read(), strict=True))
    assert got["data_end"] - got["data"] == len(PACKET)
    assert got["data_meta"] == got["data"]
    assert (got["ingress_ifindex"], got["rx_queue_index"]) == (1, 0)


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("family", [AF_INET, AF_INET6])
def test_sk_lookup_test_run(arch, family):
    reader = Reader(arch)
    layout = layouts.BPF_SK_LOOKUP
    names = ["remote_port", "local_port"] + (
        ["remote_ip4", "local_ip4"] if family == AF_INET else ["remote_ip6", "local_ip6"]
    )
    raw, wanted = filled(layout, names, reader.order)
    for name, value in {"family": family, "protocol": 6, "local_port": 0x1234}.items():
        raw[layout[name].offset : layout[name].end] = value.to_bytes(4, reader.order)
        wanted[name] = value
    places = [(layout[name].offset, layout[name].unit) for name in wanted]
    prog = reader.load("SK_LOOKUP", places, ret=1, attach=uapi.BPF_SK_LOOKUP)
    reader.task.prog_test_run(prog, b"", bytes(raw))
    assert dict(zip(wanted, reader.read(), strict=True)) == wanted


@pytest.mark.parametrize("arch", ARCHES)
def test_arguments_of_test_runs(arch):
    reader = Reader(arch)
    values = [0x0101010101010101 * (n + 1) for n in range(12)]
    raw = reader.task.pack("12Q", *values)
    prog = reader.load("RAW_TRACEPOINT", [(8 * n, 8) for n in range(12)])
    reader.task.prog_test_run(prog, b"", raw, repeat=0)
    assert reader.read() == values
    prog = reader.load("SYSCALL", [(0, 8), (8, 4), (14, 2), (95, 1)], flags=uapi.BPF_F_SLEEPABLE)
    reader.task.prog_test_run(prog, b"", raw, repeat=0)
    assert reader.read() == [reader.number(raw[a : a + n]) for a, n in ((0, 8), (8, 4), (14, 2), (95, 1))]
