"""`simkernel run --bpf`: C files, user probes of the program that runs, and warnings of what will surprise."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from simkernel.cc import CompileError, compiler
from tests.tools.warm import warm_server

ROOT = Path(__file__).parents[3]
HELLO = ROOT / "samples/bin/x86_64/hello"
try:
    compiler()
except CompileError:
    pytestmark = pytest.mark.skip(reason="needs clang or ziglang")

PROBE = """
#include "vmlinux.h"
#define SEC(name) __attribute__((section(name), used))
char LICENSE[] SEC("license") = "GPL";
int calls = 0;
SEC("%s") int probe(struct pt_regs *ctx) { calls++; return ctx->%s == 1; }
"""


def run(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        warm_server().command(*words), cwd=cwd, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL
    )


@pytest.mark.parametrize("where", ["host", "guest"])
def test_user_probes_find_the_program_that_runs(tmp_path, where):
    server = shutil.copy(ROOT / "samples/bin/x86_64/server", tmp_path / "server")
    path = server if where == "host" else "/bin/server"
    (tmp_path / "p.bpf.c").write_text(PROBE % (f"uprobe/{path}:answer", "di"))
    ran = run("run", "--bpf", "p.bpf.c", "--", server, "5", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "answered 5 requests" in ran.stdout and "{calls: 5}" in ran.stdout


def test_an_object_of_another_cpu_and_one_without_btf_are_told(tmp_path):
    (tmp_path / "p.bpf.c").write_text(PROBE % ("kprobe/vfs_write", "di"))
    assert run("cc", "p.bpf.c", cwd=tmp_path).returncode == 0
    ran = run("run", "--bpf", "p.bpf.o", "--", HELLO, cwd=tmp_path)
    assert ran.returncode == 0 and ran.stderr == ""
    arm64 = ROOT / "samples/bin/arm64/hello"
    ran = run("run", "--arch", "arm64", "--bpf", "p.bpf.o", "--", arm64, cwd=tmp_path)
    assert "compiled for the registers of x86_64" in ran.stderr and "simkernel cc --arch arm64" in ran.stderr
    strip = shutil.which("llvm-objcopy-14") or shutil.which("objcopy")
    if strip and not subprocess.run([strip, "-R", ".BTF", "-R", ".BTF.ext", "p.bpf.o"], cwd=tmp_path).returncode:
        ran = run("run", "--bpf", "p.bpf.o", "--", HELLO, cwd=tmp_path)
        assert "compile it with -g" in ran.stderr


def test_what_is_near_a_misspelt_function(tmp_path):
    ran = run("run", "--event", "p:vfs_raed", "--", HELLO, cwd=tmp_path)
    assert ran.returncode == 2 and "no kernel function is named vfs_raed; near: vfs_read" in ran.stderr
    ran = run("run", "--event", "p:x vfs_read a=%nosuch", "--", HELLO, cwd=tmp_path)
    assert ran.returncode == 2 and "Invalid register name" in ran.stderr and "near" not in ran.stderr
