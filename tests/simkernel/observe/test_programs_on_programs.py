"""fentry, fexit and freplace on functions of other programs; rules and numbers as Linux 6.1's tests fexit_bpf2bpf and trace_ext."""

from __future__ import annotations

import pytest

import simkernel
from arch.abi.errno import EBUSY, EINVAL
from arch.errors import KernelError
from bpf import uapi
from bpf.btf import Btf
from bpf.btf.codec import GLOBAL, BtfType, Kind, Member, Param
from bpf.isa.asm import assemble
from bpf.isa.insn import encode

TARGET = """
  r1 = 5
  call f
  r0 += 1
  exit
f:
  r0 = r1
  r0 += 10
  exit
"""
NOTE = """
  r6 = *(u64 *)(r1 +{at})
  *(u32 *)(r10 -4) = 0
  r1 = map[{fd}]
  r2 = r10
  r2 += -4
  call bpf_map_lookup_elem
  if r0 == 0 goto out
  *(u64 *)(r0 +{slot}) = r6
out:
  r0 = 0
  exit
"""
PACKET = bytes(64)


class Tool:
    """Loads programs whose BTF says int main(struct __sk_buff *) and int f(int)."""

    def __init__(self) -> None:
        self.machine = simkernel.boot()
        self.task = self.machine.session.task
        btf = Btf()
        number = btf.append(BtfType(Kind.INT, "int", 4, bits=32, encoding=1))
        skb = btf.append(BtfType(Kind.STRUCT, "__sk_buff", 4, members=[Member("len", number, 0)]))
        pointer = btf.append(BtfType(Kind.PTR, type=skb))
        on_skb = btf.append(BtfType(Kind.FUNC_PROTO, type=number, params=[Param("skb", pointer)]))
        self.main = btf.append(BtfType(Kind.FUNC, "main", type=on_skb, linkage=GLOBAL))
        on_int = btf.append(BtfType(Kind.FUNC_PROTO, type=number, params=[Param("a", number)]))
        self.f = btf.append(BtfType(Kind.FUNC, "f", type=on_int, linkage=GLOBAL))
        self.btf, _ = self.task.btf_load(btf.encode())
        self.map = self.task.map_create(uapi.BPF_MAP_TYPE_ARRAY, 4, 16, 1)

    def load(self, kind: int, source: str, functions: tuple[tuple[int, int], ...], **more: int) -> int:
        info = b"".join(self.task.pack("II", *row) for row in functions)
        fd, log = self.task.prog_load(
            kind, encode(assemble(source, maps={str(self.map): self.map})), btf_fd=self.btf, func_info=info,
            log_level=1, log_size=9999, **more,
        )  # fmt: skip
        assert fd >= 0, log
        return fd

    def target(self) -> int:
        return self.load(uapi.BPF_PROG_TYPE_SCHED_CLS, TARGET, ((0, self.main), (4, self.f)))

    def note(self, kind: int, target: int, function: int, at: int, slot: int) -> int:
        """A program that puts one of its arguments into the map."""
        source = NOTE.format(at=at, slot=slot, fd=self.map)
        more = {"expected_attach_type": kind, "attach_prog_fd": target, "attach_btf_id": function}
        return self.load(uapi.BPF_PROG_TYPE_TRACING, source, ((0, self.main),), **more)

    def extension(self, target: int, answer: int) -> int:
        more = {"attach_prog_fd": target, "attach_btf_id": self.f}
        return self.load(uapi.BPF_PROG_TYPE_EXT, f"r0 = {answer}\nexit", ((0, self.f),), **more)

    def attach(self, fd: int) -> int:
        """The link, or -errno."""
        try:
            return self.task.raw_tracepoint_open(None, fd)
        except KernelError as error:
            return -error.errno

    def attach_to(self, fd: int, target: int, function: int) -> int:
        try:
            return self.task.link_create(fd, target, 0, self.task.pack("I", function))
        except KernelError as error:
            return -error.errno

    def run(self, fd: int) -> int:
        return self.task.prog_test_run(fd, PACKET)[0]

    def noted(self) -> tuple[int, int]:
        first, second = self.task.unpack("QQ", self.task.map_lookup(self.map, bytes(4), 16))
        return first, second


@pytest.fixture
def tool() -> Tool:
    return Tool()


def test_tracing_programs_see_arguments_and_result_of_a_function(tool: Tool) -> None:
    target = tool.target()
    links = [
        tool.attach(tool.note(uapi.BPF_TRACE_FENTRY, target, tool.f, 0, 0)),
        tool.attach(tool.note(uapi.BPF_TRACE_FEXIT, target, tool.f, 8, 8)),
    ]
    assert min(links) > 0
    assert tool.run(target) == 16 and tool.noted() == (5, 15)
    info = tool.task.obj_info(links[0], 32)
    target_id = tool.task.unpack("II", tool.task.obj_info(target, 8))[1]
    assert tool.task.unpack("IIIIIII", info[:28])[4:7] == (uapi.BPF_TRACE_FENTRY, target_id, tool.f)
    for fd in links:
        tool.task.close(fd)
    tool.task.map_update(tool.map, bytes(4), bytes(16))
    assert tool.run(target) == 16 and tool.noted() == (0, 0)


def test_an_extension_runs_instead_of_a_function(tool: Tool) -> None:
    target, other = tool.target(), tool.target()
    extension = tool.extension(target, 100)
    first = tool.attach(extension)
    assert first > 0 and tool.run(target) == 101 and tool.run(other) == 16
    assert tool.attach(extension) == -EINVAL  # its target is let go of
    assert tool.attach_to(extension, target, tool.f) == -EBUSY
    assert tool.attach(tool.note(uapi.BPF_TRACE_FENTRY, target, tool.f, 0, 0)) == -EBUSY
    assert tool.attach_to(extension, other, tool.main) == -EINVAL  # another prototype
    assert tool.attach_to(extension, other, tool.f) > 0 and tool.run(other) == 101
    tool.task.close(first)
    assert tool.run(target) == 16 and tool.run(other) == 101


def test_an_extension_is_traced_where_it_runs(tool: Tool) -> None:
    target = tool.target()
    extension = tool.extension(target, 7)
    assert tool.attach(extension) > 0
    exit_of_it = tool.note(uapi.BPF_TRACE_FEXIT, extension, tool.f, 8, 8)
    assert tool.attach(exit_of_it) > 0
    assert tool.run(target) == 8 and tool.noted() == (0, 7)
