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
    assert names == {"mine"}
    assert t.update(fd, t.value(name=b"mine", **members)) == -EBUSY
    assert t.update(other, t.value(name=b"mine", **members)) == -EEXIST
    assert [t.delete(fd), t.delete(fd)] == [0, -EINPROGRESS]
    assert names == set()


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
