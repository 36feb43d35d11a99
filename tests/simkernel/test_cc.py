"""C programs for BPF: against the simulated kernel's vmlinux.h and the host's libbpf headers."""

from __future__ import annotations

import subprocess
from contextlib import closing
from pathlib import Path

import pytest

import simkernel
from simkernel.cc import CompileError, compiler
from simkernel.cli.compile import compiled
from tests.kconfig import typed
from tests.tools.warm import warm_server

LIBBPF = Path("/usr/include/bpf/bpf_helpers.h").exists()
try:
    compiler()
except CompileError:
    pytestmark = pytest.mark.skip(reason="needs clang or ziglang")

# What programs of libbpf-tools use without defining it: all of it comes from vmlinux.h.
CONSTANTS = """
#include "vmlinux.h"
#define SEC(name) __attribute__((section(name), used))
char LICENSE[] SEC("license") = "GPL";
_Static_assert(BPF_ANY == 0 && BPF_NOEXIST == 1 && BPF_EXIST == 2, "map update");
_Static_assert(BPF_F_CURRENT_CPU == 0xffffffffULL && BPF_F_USER_STACK == 256 && BPF_F_REUSE_STACKID == 1024, "flags");
_Static_assert(BPF_F_NO_PREALLOC == 1 && BPF_F_MMAPABLE == 1024 && BPF_RB_FORCE_WAKEUP == 2, "maps");
_Static_assert(IPPROTO_TCP == 6 && IPPROTO_UDP == 17 && TCP_LISTEN == 10 && TCPF_LISTEN == 1024, "net");
_Static_assert(TASK_COMM_LEN_ == 16 && SOCK_DGRAM == 2 && BPF_LOCAL_STORAGE_GET_F_CREATE == 1, "rest");
bool on = true;
SEC("kprobe/vfs_write") int count(struct pt_regs *ctx) { return on == false; }
"""
LIBBPF_PROGRAM = """
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_endian.h>
char LICENSE[] SEC("license") = "GPL";
struct event { u32 pid; u64 size; char comm[16]; char file[32]; };
struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 4096); } events SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 64); __type(key, u32); __type(value, u64); } counts SEC(".maps");
SEC("kprobe/vfs_write")
int BPF_KPROBE(writes, struct file *file, const char *buf, size_t count)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32;
	u64 one = 1, *seen = bpf_map_lookup_elem(&counts, &pid);
	if (seen)
		__sync_fetch_and_add(seen, 1);
	else
		bpf_map_update_elem(&counts, &pid, &one, BPF_ANY);
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e)
		return 0;
	e->pid = pid;
	e->size = count;
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	bpf_probe_read_kernel_str(e->file, sizeof(e->file), BPF_CORE_READ(file, f_path.dentry, d_name.name));
	bpf_ringbuf_submit(e, BPF_RB_FORCE_WAKEUP);
	return 0;
}
"""


@pytest.mark.parametrize("kernel", ["4.1", "5.10", "6.1"])
def test_the_header_has_the_constants_that_programs_use(tmp_path, kernel):
    comm_len = "TASK_COMM_LEN" if kernel == "6.1" else "16"  # an enumerator since 5.17
    (tmp_path / "p.bpf.c").write_text(CONSTANTS.replace("TASK_COMM_LEN_", comm_len))
    assert compiled(tmp_path / "p.bpf.c", "x86_64", kernel).startswith(b"\x7fELF")


@pytest.mark.skipif(not LIBBPF, reason="needs libbpf-dev")
@pytest.mark.parametrize("arch", ["x86_64", "arm64", "s390x"])
def test_a_program_in_c_is_compiled_for_the_machine_and_runs(tmp_path, arch):
    source = tmp_path / "writes.bpf.c"
    source.write_text(LIBBPF_PROGRAM)
    with closing(simkernel.boot(arch=arch, config=typed(arch))) as m:
        obj = m.load(source)
        obj.attach()
        records = []
        ring = m.session.ring_buffer(obj.maps["events"], records.append)
        m.run([m.install(f"samples/bin/{arch}/hello")])
        ring.poll()
        assert dict(obj.maps["counts"].items()).popitem()[1] == 1
    order = "big" if arch == "s390x" else "little"
    assert [(int.from_bytes(r[8:16], order), r[16:21]) for r in records] == [(13, b"hello")]


@pytest.mark.parametrize("kernel", ["4.1", "5.10", "6.1"])
def test_the_kernel_knows_the_instructions_that_are_made(tmp_path, kernel):
    """Counters are atomic additions: those that fetch are of 5.12."""
    (tmp_path / "p.bpf.c").write_text(
        '__attribute__((section("license"))) char _license[] = "GPL";\n'
        "struct map { unsigned type, key, value, entries, flags; };\n"
        '__attribute__((section("maps"))) struct map m = {2, 4, 8, 1, 0};\n'
        "static void *(*lookup)(void *, const void *) = (void *)1;\n"
        '__attribute__((section("kprobe/vfs_write"))) int f(void *ctx) {\n'
        "    int key = 0;\n"
        "    unsigned long long *count = lookup(&m, &key);\n"
        "    if (count)\n"
        "        __sync_fetch_and_add(count, 1);\n"
        "    return 0;\n"
        "}\n"
    )
    with closing(simkernel.boot(kernel=kernel)) as m:
        obj = m.load(tmp_path / "p.bpf.c")
        obj.attach()
        m.run([m.install("samples/bin/x86_64/hello")])
        assert dict(obj.maps["m"].items())[0] == 1


def test_what_the_compiler_says_is_the_error(tmp_path):
    source = tmp_path / "bad.bpf.c"
    source.write_text("int f(void) { return nothing; }\n")
    with pytest.raises(CompileError, match="nothing"):
        compiled(source, "x86_64", "6.1")
    ran = subprocess.run(warm_server().command("cc", source), capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 2 and "nothing" in ran.stderr and "Traceback" not in ran.stderr
    with pytest.raises(CompileError, match=r"none\.c: no such file"):
        compiled(tmp_path / "none.c", "x86_64", "6.1")


def test_the_command_writes_the_object(tmp_path):
    (tmp_path / "p.bpf.c").write_text(CONSTANTS.replace("TASK_COMM_LEN_", "TASK_COMM_LEN"))
    ran = subprocess.run(warm_server().command("cc", "p.bpf.c"), capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "p.bpf.o").read_bytes().startswith(b"\x7fELF")


def test_without_a_compiler_the_answer_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(CompileError, match=r"install clang, or the Python package ziglang"):
        compiler({"PATH": "/nowhere"})
    assert compiler({"CLANG": "clang-14 -v"}) == ["clang-14", "-v"]
