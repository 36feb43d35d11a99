"""What programs are given besides their events: other CPUs, writable arguments, namespaces, keys, packets behind samples,
build ids.  Answers of Linux 6.1 (Debian 6.1.192), as its own selftests ask for them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest

import simkernel
from arch.abi.errno import E2BIG, EBADMSG, EEXIST, EINVAL, ENOENT, ENOKEY, ENOMEM, EPERM
from arch.abi.limits import PAGE_SIZE, U32_MAX, U64_MAX
from arch.architecture import get
from arch.errors import KernelError
from bpf import uapi
from bpf.btf.codec import Kind
from bpf.core.program import BpfProg
from bpf.helpers import keys
from bpf.helpers.dynptr import make_dynptr
from bpf.isa.asm import assemble
from bpf.isa.insn import encode
from simkernel.net.unix.sock import UnixSock
from simkernel.observe.buildid import build_id_of

DISSECTOR = uapi.BPF_FLOW_DISSECTOR
CLOCK_TAI = 11


class Tool:
    """Loads programs from assembly; answers are 0 or more, or minus an errno."""

    def __init__(self) -> None:
        self.machine = simkernel.boot(cpus=2)
        self.k, self.task, self.calls = self.machine.kernel, self.machine.session.task, self.machine.session.syscalls
        self.task.map_create(uapi.BPF_MAP_TYPE_ARRAY, 4, 4, 1)  # takes descriptor 0
        btf = self.k.observer.vmlinux_btf
        assert btf is not None
        self.btf = btf

    def load(self, kind: int, source: str, **more: int) -> int:
        fd, log = self.task.prog_load(kind, encode(assemble(source)), log_level=1, log_size=9999, **more)
        assert fd >= 0, log
        return fd

    def bpf(self, cmd: int, attr: bytes) -> int:
        try:
            return self.task.bpf(cmd, attr)
        except KernelError as error:
            return -error.errno

    def run(self, fd: int, ctx: bytes = b"", data: bytes = b"", flags: int = 0, cpu: int = 0) -> int:
        """BPF_PROG_TEST_RUN: the program's result."""
        with self.task.memory() as m:
            ctx_at, data_at = m.put(ctx) if ctx else 0, m.put(data) if data else 0
            attr = self.task.pack(
                "IIIIQQIIIIQQII", fd, 0, len(data), 0, data_at, 0, 0, 0, len(ctx), 0, ctx_at, 0, flags, cpu
            )
            try:
                _, after = self.task.bpf_out(uapi.BPF_PROG_TEST_RUN, attr)
            except KernelError as error:
                return -error.errno
        return int.from_bytes(after[4:8], "little")

    def shown(self, fd: int, attach_type: int = DISSECTOR) -> int:
        """BPF_PROG_QUERY of this network namespace: how many programs."""
        netns = self.task.open("/proc/self/ns/net")
        _, after = self.task.bpf_out(uapi.BPF_PROG_QUERY, self.task.pack("IIIIQI", netns, attach_type, 0, 0, 0, 0))
        self.task.close(netns)
        return int.from_bytes(after[24:28], "little")


@pytest.fixture(scope="module")
def tool() -> Iterator[Tool]:
    yield Tool()


def test_a_test_run_on_another_cpu(tool: Tool) -> None:
    prog = tool.load(uapi.BPF_PROG_TYPE_RAW_TRACEPOINT, "call bpf_get_smp_processor_id\nexit")
    on_cpu = uapi.BPF_F_TEST_RUN_ON_CPU
    assert [tool.run(prog, flags=on_cpu, cpu=cpu) for cpu in (0, 1, 0)] == [0, 1, 0]
    assert tool.run(prog, flags=on_cpu, cpu=2) == -6 and tool.run(prog, cpu=1) == -EINVAL  # ENXIO


def test_a_program_changes_the_answer_of_a_test_run(tool: Tool) -> None:
    change = "r1 = *(u64 *)(r1 +0)\n*(u32 *)(r1 +0) = 42\nr0 = 0\nexit"
    writer = tool.load(uapi.BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE, change)
    target = tool.load(uapi.BPF_PROG_TYPE_SOCKET_FILTER, "r0 = 0\nexit")
    link = tool.task.raw_tracepoint_open("bpf_test_finish", writer)
    with tool.task.memory() as m:
        attr = tool.task.pack("IIIIQQIIIIQQII", target, 0, 64, 0, m.put(bytes(64)), 0, 1, 0, 0, 0, 0, 0, 0, 0)
        assert tool.bpf(uapi.BPF_PROG_TEST_RUN, attr) == 42
        tool.task.close(link)
        assert tool.bpf(uapi.BPF_PROG_TEST_RUN, attr) == 0
    too_far = tool.load(uapi.BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE, change.replace("r1 +0) = 42", "r1 +4) = 42"))
    with pytest.raises(KernelError, match="EINVAL"):
        tool.task.raw_tracepoint_open("bpf_test_finish", too_far)


def test_a_frame_of_too_many_pages(tool: Tool) -> None:
    prog = tool.load(uapi.BPF_PROG_TYPE_XDP, "r0 = 2\nexit", flags=uapi.BPF_F_XDP_HAS_FRAGS)
    assert [tool.run(prog, data=bytes(size)) for size in (60_000, 90_000)] == [2, -ENOMEM]


def test_clocks_of_programs_and_processes_agree(tool: Tool) -> None:
    prog = tool.load(
        uapi.BPF_PROG_TYPE_SYSCALL, "call bpf_ktime_get_tai_ns\nr0 >>= 30\nexit", flags=uapi.BPF_F_SLEEPABLE
    )
    seconds = tool.run(prog)
    at = tool.calls.alloc(16)
    assert tool.calls.syscall("clock_gettime", CLOCK_TAI, at) == 0
    now, _ = tool.task.unpack("QQ", tool.calls.read(at, 16))
    assert seconds == now * 1_000_000_000 >> 30


def test_a_name_written_to_comm_is_a_rename(tool: Tool) -> None:
    seen: list[bytes] = []
    tool.k.tracepoints.point("task_rename")
    tracing = tool.k.observer.tracing
    point = tracing.tracepoint("task_rename")
    assert point is not None
    point.add(lambda task, comm: seen.append(bytes(tool.k.mem.read(comm, 6))))
    tool.task.write_file("/proc/self/comm", "dancer")
    assert seen == [b"dancer"]


def test_flow_dissectors_of_a_network_namespace(tool: Tool) -> None:
    one, two = (tool.load(uapi.BPF_PROG_TYPE_FLOW_DISSECTOR, "r0 = 0\nexit") for _ in range(2))

    def attach(prog: int, target: int = 0) -> int:
        return tool.bpf(uapi.BPF_PROG_ATTACH, tool.task.pack("IIIII", target, prog, DISSECTOR, 0, 0))

    def detach(prog: int) -> int:
        return tool.bpf(uapi.BPF_PROG_DETACH, tool.task.pack("III", 0, prog, DISSECTOR))

    netns = tool.task.open("/proc/self/ns/net")

    def link(prog: int) -> int:
        return tool.bpf(uapi.BPF_LINK_CREATE, tool.task.pack("IIII", prog, netns, DISSECTOR, 0))

    assert tool.shown(0) == 0 and detach(one) == -ENOENT
    assert attach(one, 1) == -EINVAL and attach(one) == 0 and tool.shown(0) == 1
    assert attach(two) == 0 and attach(two) == -EINVAL and detach(one) == -ENOENT
    assert link(one) == -EEXIST and detach(two) == 0 and tool.shown(0) == 0
    made = link(one)
    assert made >= 0 and tool.shown(0) == 1
    assert link(two) == -E2BIG and attach(two) == -EEXIST and detach(one) == -EINVAL
    info = tool.task.unpack("IIIIII", tool.task.obj_info(made, 24))
    assert info[0] == uapi.BPF_LINK_TYPE_NETNS and info[4] and info[5] == DISSECTOR
    tool.task.link_detach(made)
    assert tool.shown(0) == 0 and tool.task.unpack("IIIIII", tool.task.obj_info(made, 24))[4] == 0
    tool.task.close(made)
    lookups = [
        tool.load(uapi.BPF_PROG_TYPE_SK_LOOKUP, "r0 = 1\nexit", expected_attach_type=uapi.BPF_SK_LOOKUP) for _ in (1, 2)
    ]
    links = [tool.bpf(uapi.BPF_LINK_CREATE, tool.task.pack("IIII", p, netns, uapi.BPF_SK_LOOKUP, 0)) for p in lookups]
    assert min(links) >= 0 and tool.shown(0, uapi.BPF_SK_LOOKUP) == 2


def test_the_bpf_hook_decides(tool: Tool) -> None:
    source = "r1 = *(u64 *)(r1 +0)\nr0 = 0\nif r1 != 26 goto +1\nr0 = -1\nexit"
    prog = tool.load(
        uapi.BPF_PROG_TYPE_LSM, source, expected_attach_type=uapi.BPF_LSM_MAC, attach_btf_id=tool.btf.find("bpf_lsm_bpf", Kind.FUNC),
    )  # fmt: skip
    link = tool.task.raw_tracepoint_open(None, prog)
    assert tool.bpf(26, bytes(16)) == -EPERM
    assert tool.bpf(uapi.BPF_PROG_GET_NEXT_ID, tool.task.pack("III", 0, 0, 0)) == 0
    tool.task.close(link)
    assert tool.bpf(26, bytes(16)) != -EPERM


def test_an_address_of_a_unix_socket_is_in_kernel_memory(tool: Tool) -> None:
    fd = tool.calls.syscall("socket", 1, 1, 0)
    at = tool.calls.alloc(16)
    tool.calls.write(at, b"\1\0\0here")
    assert tool.calls.syscall("bind", fd, at, 7) == 0
    sk = next(sk for sk in tool.k.net.socks.values() if isinstance(sk, UnixSock) and sk.name)
    address = tool.k.types.offsetof("struct unix_sock", "addr")
    where = tool.k.mem.read_uint(sk.addr + address, 8)
    assert tool.k.view(where, "struct unix_address").len == 7
    assert tool.k.mem.read(where + tool.k.types.sizeof("struct unix_address"), 7) == b"\1\0\0here"
    tool.task.close(fd)


def test_keyrings_and_signatures_of_a_program(tool: Tool) -> None:
    tool.load(uapi.BPF_PROG_TYPE_SOCKET_FILTER, "r0 = 0\nexit")
    prog = next(p for p in tool.k.observer.bpf.progs.objects.values() if isinstance(p, BpfProg))
    rt, thread, session = prog.runtime, -1 & U64_MAX, -3 & U64_MAX
    assert not keys.bpf_lookup_user_key(rt, thread, 0) and not keys.bpf_lookup_user_key(rt, 1, 0)
    made = [
        keys.bpf_lookup_user_key(rt, thread, 1),
        keys.bpf_lookup_user_key(rt, thread, 3),
        keys.bpf_lookup_user_key(rt, session, 0),
    ]
    made += [keys.bpf_lookup_system_key(rt, 2)]
    assert all(made) and not keys.bpf_lookup_user_key(rt, thread, U64_MAX) and not keys.bpf_lookup_system_key(rt, 3)
    with tool.k.observer.bpf.scratch(64) as at:
        assert keys.bpf_verify_pkcs7_signature(rt, at, at, made[0]) == -EBADMSG & U32_MAX
        tool.k.mem.write(at + 16, b"\x30\x02\x05\x00")
        make_dynptr(tool.k.mem, at, at + 16, 4, 1)
        assert keys.bpf_verify_pkcs7_signature(rt, at, at, made[0]) == -ENOKEY & U32_MAX
    for key in made:
        keys.bpf_key_put(rt, key)


@pytest.mark.parametrize("name", ["x86_64", "arm"])
def test_build_ids_of_files(name: str) -> None:
    arch = get(name)
    wide, wanted = arch.word == 8, bytes(range(20))
    note = struct.pack("<III", 4, 20, 3) + b"GNU\0" + wanted
    ehdr = 64 if wide else 52
    head = b"\x7fELF" + bytes((2 if wide else 1, 1, 1)) + bytes(9) + struct.pack("<HH", 3, 0)
    page = bytearray(PAGE_SIZE)
    page[: len(head)] = head
    struct.pack_into("<H", page, 56 if wide else 44, 1)
    if wide:
        struct.pack_into("<IIQQQQQQ", page, ehdr, 4, 4, 0x200, 0, 0, len(note), len(note), 4)
    else:
        struct.pack_into("<IIIIIIII", page, ehdr, 4, 0x200, 0, 0, len(note), len(note), 4, 4)
    page[0x200 : 0x200 + len(note)] = note
    assert build_id_of(bytes(page), arch) == wanted
    page[0x200 + 8] = 1  # another kind of note
    assert build_id_of(bytes(page), arch) is None
    assert build_id_of(bytes(PAGE_SIZE), arch) is None
