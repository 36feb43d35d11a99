"""CO-RE relocations that the kernel does, for light skeletons: core_relos of BPF_PROG_LOAD."""

from __future__ import annotations

import pytest

from arch.abi.errno import EINVAL
from arch.abi.version import KernelVersion
from bpf import uapi
from bpf.btf import Btf
from bpf.btf.codec import BtfType, Kind, Member
from bpf.isa.asm import assemble
from bpf.verifier.api import VerifyRequest
from bpf.verifier.modern import verify

BYTE_OFFSET, EXISTS = 0, 2  # enum bpf_core_relo_kind


def types(*places: tuple[str, int]) -> Btf:
    """A BTF with struct thing, whose int members lie at these bytes, and a function without arguments."""
    btf = Btf()
    number = btf.append(BtfType(Kind.INT, "int", 4, bits=32))
    members = [Member(name, number, 8 * at) for name, at in places]
    btf.append(BtfType(Kind.STRUCT, "thing", max(at for _, at in places) + 4, members=members))
    proto = btf.append(BtfType(Kind.FUNC_PROTO, type=number))
    btf.append(BtfType(Kind.FUNC, "f", type=proto, linkage=1))
    return Btf.parse(btf.encode())


@pytest.mark.parametrize(
    ("kind", "member", "compiled", "value"), [(BYTE_OFFSET, 1, 4, 24), (EXISTS, 1, 1, 1), (EXISTS, 0, 1, 0)]
)
def test_an_instruction_gets_what_the_kernels_types_say(kind: int, member: int, compiled: int, value: int) -> None:
    local, kernel = types(("gone", 0), ("kept", 4)), types(("first", 0), ("kept", 24))
    local.raw_strings += f"0:{member}\0".encode()
    access = len(local.raw_strings) - 4
    request = VerifyRequest(
        insns=assemble(f"r0 = {compiled}\nexit"), prog_type=uapi.BPF_PROG_TYPE_SOCKET_FILTER, version=KernelVersion.parse("6.1"),
        prog_btf=local, vmlinux_btf=kernel, func_info=[(0, 4)], core_relos=[(0, 2, access, kind)], log_level=1,
        log_size=4096,
    )  # fmt: skip
    verdict = verify(request)
    assert verdict.ret == 0, verdict.log
    assert verdict.insns[0].imm == value


def test_an_offset_outside_the_program_is_refused() -> None:
    local = types(("kept", 0))
    request = VerifyRequest(
        insns=assemble("r0 = 0\nexit"), prog_type=uapi.BPF_PROG_TYPE_SOCKET_FILTER, version=KernelVersion.parse("6.1"),
        prog_btf=local, vmlinux_btf=local, func_info=[(0, 4)], core_relos=[(16, 2, 0, EXISTS)], log_level=1, log_size=4096,
    )  # fmt: skip
    verdict = verify(request)
    assert verdict.ret == -EINVAL
    assert "Invalid core_relo[0].insn_off:16 prog->len:2" in verdict.log
