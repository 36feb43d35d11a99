"""Structs of functions that programs supply: errors and states as in kernel/bpf/bpf_struct_ops.c of Linux 6.1."""

from __future__ import annotations

import pytest

import simkernel
from arch.abi.errno import EBUSY, EEXIST, EINPROGRESS, EINVAL, ENOENT, ENOTSUPP, EOPNOTSUPP
from bpf import uapi
from bpf.btf import Btf
from bpf.btf.codec import BtfType, Kind
from bpf.isa.asm import assemble
from bpf.isa.insn import encode

VALUE = "bpf_struct_ops_tcp_congestion_ops"


class Tool:
    """A task that makes structs of functions out of programs."""

    def __init__(self) -> None:
        self.machine = simkernel.boot()
        self.task, self.calls = self.machine.session.task, self.machine.session.syscalls
        found = self.machine.kernel.observer.vmlinux_btf
        assert found is not None
        self.btf: Btf = found

    def bpf(self, command: int, attr: bytes) -> int:
        at = self.calls.alloc(128)
        self.calls.write(at, attr.ljust(128, b"\0"))
        return self.calls.syscall("bpf", command, at, 128)

    def put(self, data: bytes) -> int:
        at = self.calls.alloc(len(data))
        self.calls.write(at, data)
        return at

    def map(self, value: str, size: int | None = None) -> int:
        type_id = self.btf.find(value, Kind.STRUCT)
        size = self.btf.types[type_id].size if size is None else size
        own = Btf()
        own.append(BtfType(Kind.INT, "int", 4, bits=32))
        data = own.encode()
        btf_fd = self.bpf(uapi.BPF_BTF_LOAD, self.task.pack("QQIII", self.put(data), 0, len(data), 0, 0))
        assert btf_fd >= 0
        words = (uapi.BPF_MAP_TYPE_STRUCT_OPS, 4, size, 1, 0, 0, 0, 0, 0, 0, 0, 0, btf_fd, 0, 0, type_id)
        return self.bpf(uapi.BPF_MAP_CREATE, b"".join(word.to_bytes(4, "little") for word in words))

    def program(self, struct: str, member: str, source: str = "r0 = 0\nexit") -> int:
        type_id = self.btf.find(struct, Kind.STRUCT)
        names = [each.name for each in self.btf.types[type_id].members]
        fd, log = self.task.prog_load(
            uapi.BPF_PROG_TYPE_STRUCT_OPS, encode(assemble(source), "little"), log_level=1, log_size=9999,
            attach_btf_id=type_id, expected_attach_type=names.index(member),
        )  # fmt: skip
        assert fd >= 0, log
        return fd

    def value(self, **members: int | bytes) -> bytes:
        """A struct tcp_congestion_ops with its state in front."""
        outer = self.btf.types[self.btf.find(VALUE, Kind.STRUCT)]
        raw = bytearray(outer.size)
        data = next(each.bit_offset // 8 for each in outer.members if each.name == "data")
        for each in self.btf.types[self.btf.find("tcp_congestion_ops", Kind.STRUCT)].members:
            given = members.get(each.name, b"")
            at = data + each.bit_offset // 8
            put = given if isinstance(given, bytes) else given.to_bytes(8, "little")
            raw[at : at + len(put)] = put
        return bytes(raw)

    def update(self, fd: int, value: bytes, key: int = 0, flags: int = 0) -> int:
        attr = self.task.pack("IIQQQ", fd, 0, self.put(key.to_bytes(4, "little")), self.put(value), flags)
        return self.bpf(uapi.BPF_MAP_UPDATE_ELEM, attr)

    def delete(self, fd: int) -> int:
        return self.bpf(uapi.BPF_MAP_DELETE_ELEM, self.task.pack("IIQ", fd, 0, self.put(bytes(4))))


def test_congestion_control_is_registered_once_and_taken_back() -> None:
    t = Tool()
    fd, other = t.map(VALUE), t.map(VALUE)
    assert fd >= 0 and other >= 0
    members = {name: t.program("tcp_congestion_ops", name) for name in ("ssthresh", "undo_cwnd", "cong_avoid")}
    names = t.machine.kernel.observer.bpf.congestion_controls
    assert t.update(fd, t.value(name=b"mine", ssthresh=members["ssthresh"])) == -EINVAL  # not all it needs
    assert t.update(fd, t.value(**members)) == -EINVAL  # no name
    assert t.update(fd, t.value(name=b"mine", **{**members, "ssthresh": members["undo_cwnd"]})) == -EINVAL
    assert t.update(fd, t.value(name=b"mine", key=1, **members)) == -EINVAL
    assert t.delete(fd) == -ENOENT
    assert t.update(fd, t.value(name=b"mine", **members)) == 0
    assert set(names) == {"mine"}
    assert t.update(fd, t.value(name=b"mine", **members)) == -EBUSY
    assert t.update(other, t.value(name=b"mine", **members)) == -EEXIST
    assert [t.delete(fd), t.delete(fd)] == [0, -EINPROGRESS]
    assert not names


def test_only_structs_that_programs_may_be() -> None:
    t = Tool()
    assert t.map("task_struct") == -ENOTSUPP
    assert t.map(VALUE, size=8) == -EINVAL
    dummy = t.map("bpf_struct_ops_bpf_dummy_ops")
    size = t.btf.types[t.btf.find("bpf_struct_ops_bpf_dummy_ops", Kind.STRUCT)].size
    assert t.update(dummy, bytes(size)) == -EOPNOTSUPP


def test_a_member_of_the_struct_for_tests_runs_on_a_state() -> None:
    t = Tool()
    with pytest.raises(AssertionError):
        t.program("bpf_dummy_ops", "test_1", "r0 = *(u64 *)(r1 + 8)\nexit")  # it has one argument
    fd = t.program(
        "bpf_dummy_ops",
        "test_1",
        "r1 = *(u64 *)(r1 + 0)\nr0 = *(u32 *)(r1 + 0)\nr2 = 7\n*(u32 *)(r1 + 0) = r2\nexit",
    )
    state = t.put((42).to_bytes(4, "little"))
    at = t.calls.alloc(80)
    attr = bytearray(80)
    attr[0:4] = fd.to_bytes(4, "little")
    attr[40:44] = (8).to_bytes(4, "little")  # ctx_size_in
    attr[48:56] = t.put(state.to_bytes(8, "little")).to_bytes(8, "little")  # ctx_in
    t.calls.write(at, bytes(attr))
    assert t.calls.syscall("bpf", uapi.BPF_PROG_TEST_RUN, at, 80) == 0
    assert int.from_bytes(t.calls.read(at + 4, 4), "little") == 42
    assert int.from_bytes(t.calls.read(state, 4), "little") == 7


def test_connections_use_congestion_control_of_programs() -> None:
    """Its functions run where 6.1 calls them; it is there until the last sock has let go of it."""
    t = Tool()
    fd = t.map(VALUE)  # a program with descriptor 0 would be none
    names = ("init", "release", "ssthresh", "undo_cwnd", "cong_avoid", "cwnd_event", "in_ack_event")
    sources = {"cong_avoid": "r1 = *(u64 *)(r1 + 0)\nr2 = 77\n*(u32 *)(r1 + SND_CWND) = r2\nr0 = 0\nexit"}
    types = t.machine.kernel.types
    cwnd = str(types.offsetof("struct tcp_sock", "snd_cwnd"))
    made = {
        name: t.program("tcp_congestion_ops", name, sources.get(name, "r0 = 2\nexit").replace("SND_CWND", cwnd))
        for name in names
    }
    assert t.update(fd, t.value(name=b"mine", **made)) == 0
    bpf = t.machine.kernel.observer.bpf
    bpf.stats_enabled = 1
    call = t.calls.syscall
    listener, client = call("socket", 2, 1, 0), call("socket", 2, 1, 0)
    for each in (listener, client):
        assert call("setsockopt", each, 6, 13, t.put(b"mine"), 4) == 0
    address = t.put(bytes((2, 0, 0x30, 0x39, 127, 0, 0, 1)) + bytes(8))
    assert call("bind", listener, address, 16) == 0 and call("listen", listener, 5) == 0
    assert call("connect", client, address, 16) == 0
    server = call("accept4", listener, 0, 0, 0)
    assert server > 0
    data = t.put(bytes(3000))
    assert call("write", client, data, 3000) == 3000
    assert call("read", server, data, 3000) == 3000
    supplied = bpf.congestion_controls["mine"]
    runs = {name: prog.run_cnt for name, prog in supplied.members.items()}
    assert runs["init"] == 2 and min(runs[name] for name in ("cong_avoid", "in_ack_event", "cwnd_event")) >= 1
    sock = next(sk for sk in t.machine.kernel.net.socks.values() if sk.lport != 12345 and sk.rport == 12345)
    assert sock.cwnd == 77 and sock.congestion_name == "mine"
    assert t.delete(fd) == 0 and call("setsockopt", call("socket", 2, 1, 0), 6, 13, t.put(b"mine"), 4) == -ENOENT
    assert call("setsockopt", client, 6, 13, t.put(b"cubic"), 5) == 0
    released = supplied.members["release"]
    assert released.run_cnt == 1 and call("close", fd) == 0 and not supplied.freed
    for each in (client, server, listener):
        assert call("close", each) == 0
    assert supplied.freed
