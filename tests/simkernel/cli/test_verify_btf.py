"""Programs that hang on the kernel's types, by `simkernel verify --btf`: what libbpf and the verifiers of four real kernels said of them.

tests/data/core.bpf.o is tests/oracle/core.bpf.c, made by
`clang-14 -g -O2 -mcpu=v3 --target=bpf -D__TARGET_ARCH_x86 -idirafter /usr/include/x86_64-linux-gnu` and `llvm-strip-14 -g`;
tests/data/core_logs.json.gz has error and log at level 2 of each program, as tests/tools/object_logs.py asked them.
"""

from __future__ import annotations

import gzip
import json
import lzma
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from simkernel.cli import cli
from tests.bpf.loader.compile import bpf_object

ROOT = Path(__file__).parents[3]
OBJECT = ROOT / "tests/data/core.bpf.o"
SAID: dict[str, dict[str, Any]] = json.loads(gzip.decompress((ROOT / "tests/data/core_logs.json.gz").read_bytes()))
ADDRESSES = re.compile(r"0xffff[0-9a-f]{12}")


@pytest.mark.parametrize("kernel", SAID)
def test_errors_and_logs_are_the_real_kernels(kernel: str, tmp_path: Path) -> None:
    types = tmp_path / "vmlinux"
    types.write_bytes(lzma.decompress((ROOT / f"bpf/btf/recorded/x86_64-{kernel}.btf.xz").read_bytes()))
    words = ["verify", str(OBJECT), "--kernel", kernel, "--btf", str(types), "--log-level", "2", "--json"]
    rows = [json.loads(line) for line in CliRunner().invoke(cli, words).stdout.splitlines()]
    assert [row["name"] for row in rows] == list(SAID[kernel])
    for row in rows:
        error, lines = SAID[kernel][row["name"]]
        assert row["ret"] == error, row["name"]
        if lines:  # else the kernel was not asked: the loader says why
            assert [ADDRESSES.sub("-", line) for line in row["log"].splitlines()] == lines, row["name"]


def test_what_elements_of_a_map_may_take_is_not_taken(tmp_path: Path) -> None:
    """A hash of 102 MB and a program that uses it load, as on a real machine."""
    made = bpf_object(
        tmp_path,
        """
        struct { __uint(type, 1); __uint(max_entries, 10240); __type(key, u32); __type(value, char[10000]); } large SEC(".maps");
        SEC("tracepoint/syscalls/sys_enter_getpid") int uses(void *ctx) { u32 key = 0; return map_lookup(&large, &key) != NULL; }
        """,
    )
    object_file = tmp_path / "large.bpf.o"
    object_file.write_bytes(made)
    result = CliRunner().invoke(cli, ["verify", str(object_file), "--json"])
    assert [json.loads(line)["ret"] for line in result.stdout.splitlines()] == [0]


def test_symbols_without_a_type_are_those_of_the_kernel(tmp_path: Path) -> None:
    made = bpf_object(
        tmp_path,
        """
        extern const void schedule __ksym;
        extern const void no_such_symbol __ksym __weak;
        u64 a, b;
        SEC("tracepoint/syscalls/sys_enter_getpid") int uses(void *ctx) { a = (u64)&schedule; b = (u64)&no_such_symbol; return 0; }
        """,
    )
    object_file = tmp_path / "symbols.bpf.o"
    object_file.write_bytes(made)
    row = json.loads(CliRunner().invoke(cli, ["verify", str(object_file), "--log-level", "2", "--json"]).stdout)
    assert row["ret"] == 0
    assert re.search(r"\(18\) r\d = 0xffffffff8", row["log"]) and re.search(
        r"\(b7\) r\d = 0|\(18\) r\d = 0x0 ", row["log"]
    )


def test_a_relocation_that_found_nothing_is_told_in_the_logs_of_the_rejected(tmp_path: Path) -> None:
    """As libbpf 1.1 said of Debian's bindsnoop on 7.2, whose sockets have no such member."""
    text = """
    struct inet_sock { int inet_sport; int freebind; } relocatable;
    SEC("kprobe/inet_bind") int bind_exit(void *ctx) { struct inet_sock *sk = ctx; int n; return probe_read_kernel(&n, 4, &sk->freebind); }
    """
    object_file = tmp_path / "socket.bpf.o"
    object_file.write_bytes(bpf_object(tmp_path, text, flags=("-g",)))
    row = json.loads(CliRunner().invoke(cli, ["verify", str(object_file), "--kernel", "7.2", "--json"]).stdout)
    assert row["ret"] == -22
    last = re.search(r"^(\d+): <invalid CO-RE relocation>\n(.*)\nprocessed", row["log"], re.MULTILINE)
    assert last is not None
    assert re.fullmatch(
        r"failed to resolve CO-RE relocation <byte_off> \[\d+\] struct inet_sock.freebind \(0:1 @ offset 4\)", last[2]
    )
