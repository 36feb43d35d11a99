"""What the recorded cases do not ask: log buffers, source lines, extensions, what a version lacks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from arch.abi.errno import E2BIG, EACCES, EINVAL, ENOSPC
from arch.abi.version import KernelVersion
from bpf import uapi
from bpf.btf.codec import GLOBAL, STATIC, Btf, BtfType, Kind, Member, Param
from bpf.isa.asm import assemble
from bpf.verifier.api import VerifyRequest
from bpf.verifier.modern import verify
from bpf.verifier.rewrite.emit import NOSPEC

XDP, TC, EXT, TRACING = (
    uapi.BPF_PROG_TYPE_XDP,
    uapi.BPF_PROG_TYPE_SCHED_CLS,
    uapi.BPF_PROG_TYPE_EXT,
    uapi.BPF_PROG_TYPE_TRACING,
)
STATS = "processed 2 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0\n"


def ask(text, prog_type=TC, **fields):
    return verify(VerifyRequest(list(assemble(text)), prog_type, **fields))


# ---- the log ----


def test_no_log():
    assert ask("r0 = 0\nexit").log == ""


def test_level_1_keeps_only_the_statistics_of_an_accepted_program():
    assert ask("r0 = 0\nexit", log_level=1).log == STATS


def test_level_2_keeps_every_step():
    assert ask("r0 = 0\nexit", log_level=2).log == (
        "func#0 @0\n0: R1=ctx(off=0,imm=0) R10=fp0\n"
        "0: (b7) r0 = 0                        ; R0_w=0\n1: (95) exit\n" + STATS
    )


def test_level_4_tells_stack_depths():
    verdict = ask("*(u64 *)(r10 -16) = 1\nr0 = 0\nexit", log_level=4)
    assert verdict.log.split("\n")[:2] == ["verification time 0 usec", "stack depth 16"]


@pytest.mark.parametrize(("level", "size"), [(8, None), (1, 127), (1, 1 << 31)])
def test_log_arguments_are_checked(level, size):
    verdict = ask("r0 = 0\nexit", log_level=level, log_size=size)
    assert (verdict.ret, verdict.log_valid) == (-EINVAL, False)


def test_a_full_log_refuses_the_program():
    verdict = ask("r0 = 0\n" * 20 + "exit", log_level=2, log_size=200)
    assert verdict.ret == -ENOSPC
    assert len(verdict.log) == 199
    assert verdict.log == ask("r0 = 0\n" * 20 + "exit", log_level=2).log[:199]


# ---- BTF ----


@dataclass
class Types:
    """BTF with functions, for one program."""

    btf: Btf = field(default_factory=Btf)

    def __post_init__(self):
        add = self.btf.append
        self.int = add(BtfType(Kind.INT, "int", size=4, encoding=1, bits=32))
        self.long = add(BtfType(Kind.INT, "long", size=8, encoding=1, bits=64))
        self.skb = self.pointer(add(BtfType(Kind.STRUCT, "__sk_buff", size=192, members=[Member("len", self.int, 0)])))

    def pointer(self, target):
        return self.btf.append(BtfType(Kind.PTR, type=target))

    def function(self, name, args, ret=None, linkage=GLOBAL):
        params = [Param(f"arg{i}", arg) for i, arg in enumerate(args)]
        proto = self.btf.append(BtfType(Kind.FUNC_PROTO, type=ret or self.int, params=params))
        return self.btf.append(BtfType(Kind.FUNC, name, type=proto, linkage=linkage))

    def lines(self, *texts):
        """String offsets of source lines."""
        offsets = []
        for text in texts:
            offsets.append(len(self.btf.raw_strings))
            self.btf.raw_strings += text.encode() + b"\0"
        return offsets


def test_source_lines_are_printed_once_each():
    types = Types()
    first, second = types.lines("    int x = 0;", "\treturn x + 1;")
    verdict = ask(
        "r0 = 0\nr0 += 1\nr0 += 0\nr2 = *(u32 *)(r1 +1)\nexit",
        log_level=1,
        prog_btf=types.btf,
        func_info=[(0, types.function("main", [types.skb]))],
        line_info=[(0, 0, first, 0), (1, 0, second, 0)],
    )
    assert verdict.ret == -EACCES
    assert verdict.log.split("\n") == [
        "0: R1=ctx(off=0,imm=0) R10=fp0",
        "; int x = 0;",
        "0: (b7) r0 = 0                        ; R0_w=0",
        "; return x + 1;",
        "1: (07) r0 += 1                       ; R0_w=1",
        "2: (07) r0 += 0                       ; R0_w=1",
        "3: (61) r2 = *(u32 *)(r1 +1)",
        "invalid bpf_context access off=1 size=4",
        "processed 4 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0",
        "",
    ]


def test_every_function_needs_a_line():
    types = Types()
    (line,) = types.lines("int main()")
    verdict = ask(
        "call pc+1\nexit\nr0 = 0\nexit",
        log_level=1,
        prog_btf=types.btf,
        func_info=[(0, types.function("main", [types.skb])), (2, types.function("f", []))],
        line_info=[(0, 0, line, 0)],
    )
    assert verdict.ret == -EINVAL
    assert verdict.log.startswith("missing bpf_line_info for 1 funcs starting from func#1\n")


def test_a_global_function_is_verified_by_itself():
    types = Types()
    func_info = [(0, types.function("main", [types.skb])), (3, types.function("f", [types.long]))]
    verdict = ask("r1 = 5\ncall pc+1\nexit\nr0 = r1\nexit", log_level=1, prog_btf=types.btf, func_info=func_info)
    assert verdict.ret == 0
    assert verdict.log.startswith("Func#1 is global and valid. Skipping.\n") is False
    assert verdict.insn_processed == 5


# ---- programs attached to programs ----


@dataclass
class Target:
    """A loaded program, as far as attaching to it goes."""

    prog_type: int
    prog_btf: Btf
    func_info: list[tuple[int, int]]
    expected_attach_type: int = 0
    attach_info: dict[str, Any] = field(default_factory=dict)


def extension(ours, theirs, **fields):
    """An extension whose function has the arguments `ours`, for a function with those of `theirs`."""
    mine, others = Types(), Types()
    target_function = others.function("old", [getattr(others, name) for name in theirs], **fields)
    target = Target(TC, others.btf, [(0, others.function("main", [others.skb])), (4, target_function)])
    return ask(
        "r0 = 0\nexit",
        EXT,
        log_level=1,
        prog_btf=mine.btf,
        func_info=[(0, mine.function("new", [getattr(mine, name) for name in ours]))],
        attach_prog=target,
        attach_btf_id=target_function,
    )


def test_an_extension_of_the_same_type_is_accepted():
    assert extension(["skb", "int"], ["skb", "int"]).ret == 0


@pytest.mark.parametrize(
    ("ours", "theirs", "fields", "message"),
    [
        (["skb"], ["skb", "int"], {}, "new() has 1 args while old() has 2 args"),
        (["int"], ["long"], {}, "arg0 in new() has size 4 while old() has 8"),
        (["skb"], ["int"], {}, "arg0 in new() is PTR while old() has INT"),
        (["skb"], ["skb"], {"linkage": STATIC}, "old() is not a global function"),
    ],
)
def test_an_extension_of_another_type_is_refused(ours, theirs, fields, message):
    verdict = extension(ours, theirs, **fields)
    assert verdict.ret == -EINVAL
    assert verdict.log.split("\n")[0] == message


def test_extensions_replace_no_kernel_function():
    types = Types()
    function = types.function("vfs_read", [types.int])
    verdict = ask("r0 = 0\nexit", EXT, log_level=1, vmlinux_btf=types.btf, attach_btf_id=function)
    assert verdict.log.startswith("Cannot replace kernel functions\n")


# ---- what is not there ----


def test_a_helper_the_version_lacks():
    verdict = ask("call 181\nexit", log_level=1, version=KernelVersion.parse("5.10"))
    assert verdict.ret == -EINVAL
    assert "invalid func unknown#181\n" in verdict.log


def test_an_endless_loop_is_found():
    assert "infinite loop detected at insn 1" in ask("r0 = 0\nif r0 == 0 goto -1\nexit", log_level=1).log


@pytest.mark.slow
def test_a_long_loop_is_too_long():
    verdict = ask("r1 = 0\nr1 += 1\nif r1 < 2000000 goto -2\nr0 = 0\nexit")
    assert (verdict.ret, verdict.insn_processed) == (-E2BIG, 1_000_001)


# ---- paths that a CPU only predicts ----


def test_an_unsafe_predicted_path_gets_a_fence_since_6_17():
    """test_verifier "jset: half-known const compare" of 5.10, loaded by others than root: refused by 6.12, accepted by 7.2."""
    text = "call bpf_get_prandom_u32\nr0 |= 2\nif r0 & 3 goto out\nr8 = *(u8 *)(r9 +0)\nout:\nr0 = 0\nexit"
    filtered = {"prog_type": uapi.BPF_PROG_TYPE_SOCKET_FILTER, "caps": frozenset(), "log_level": 2}
    before = ask(text, version=KernelVersion.parse("6.12"), **filtered)
    since = ask(text, version=KernelVersion.parse("7.2"), **filtered)
    assert before.ret == -EACCES and "R9 !read_ok\n" in before.log
    assert since.ret == 0 and "R9 !read_ok\n" in since.log
    fenced = [at for at, insn in enumerate(since.insns) if insn == NOSPEC]
    assert [since.insns[at + 1].code for at in fenced] == [0x05]  # on no true path, so it is a jump to itself
