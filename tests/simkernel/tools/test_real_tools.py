"""Debian's own tracing tools, unmodified dynamic programs, inside the machine beside a busybox workload.

The packages are fetched by tests/tools/foreign_packages.py (python3 tests/tools/foreign_packages.py) into a cache, never
into the project; without them, or without the host's C library, the tests are skipped by name.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import simkernel
from arch.abi.time import NSEC_PER_SEC
from simkernel.kernel.hostio import HostOutput
from tests.tools import foreign_packages

ROOT = Path(__file__).resolve().parents[3]
BINDS = [(path, path, False) for path in ("/lib", "/lib64", "/usr/lib") if Path(path).is_dir()]
LIBRARIES = ("/lib64/ld-linux-x86-64.so.2", "/usr/lib/x86_64-linux-gnu/libelf.so.1", "/lib/x86_64-linux-gnu/libz.so.1")


def package(name: str) -> Path:
    """The unpacked package's /usr/sbin."""
    found = foreign_packages.path(name, "amd64")
    if found is None:
        pytest.skip(f"Debian's {name} was not fetched (tests/tools/foreign_packages.py)")
    if not all(Path(library).exists() for library in LIBRARIES):
        pytest.skip("the host has no libelf, libz and dynamic loader for x86_64")
    return found / "usr" / "sbin"


# ------------------------------------------------------------------------------------------------------- bpftool


@pytest.fixture(scope="module")
def bpftool():
    """Call it as a function: status and output of one bpftool command on a machine with two programs attached."""
    machine = simkernel.boot(binds=[*BINDS, (str(ROOT / "samples" / "bin" / "x86_64"), "/samples", False)])
    tool = machine.install(str(package("bpftool") / "bpftool"))
    machine.load(ROOT / "samples" / "obj" / "x86_64" / "writes.bpf.o").attach()
    machine.run(["/samples/writer"])

    def run(*words):
        result = machine.run([tool, *words])
        return result.status, (result.stdout + result.stderr).decode()

    yield run
    machine.close()


@pytest.mark.slow  # sixty processes
def test_bpftool_does_with_maps_as_on_the_real_kernel():
    """Each command of a recorded session, its output and its status, to the byte."""
    blocks = (Path(__file__).parent / "bpftool_maps_6_1.txt").read_text().split("$ ")[1:]
    with simkernel.boot(binds=BINDS, cpus=2) as machine:
        tool = machine.install(str(package("bpftool") / "bpftool"))
        for block in blocks:
            command, expected = block.split("\n", 1)
            result = machine.run([tool, *command.split()])
            told = (result.stdout + result.stderr).decode() + f"= {result.status}\n"
            assert told == expected, command


def test_bpftool_lists_programs_maps_and_links(bpftool):
    assert bpftool("version")[1].splitlines()[0].endswith("bpftool v7.1.0")
    programs = json.loads(bpftool("-j", "prog", "list")[1])
    assert [p["name"] for p in programs] == ["write_begins", "write_ends"]
    assert all(p["gpl_compatible"] and p["type"] == "kprobe" for p in programs)
    maps = {m["name"]: m for m in json.loads(bpftool("-j", "map", "list")[1])}
    assert maps["sizes"]["type"] == "array" and maps["by_process"]["bytes_value"] == 24
    assert sorted(maps[n]["id"] for n in maps) == programs[1]["map_ids"]
    links = json.loads(bpftool("-j", "link", "list")[1])
    assert [(link["type"], link["prog_id"]) for link in links] == [("perf_event", p["id"]) for p in programs]
    events = json.loads(bpftool("-j", "perf", "list")[1])
    assert [(e["fd_type"], e["func"], e["offset"]) for e in events] == [
        ("kprobe", "vfs_write", 0), ("kretprobe", "vfs_write", 0)]  # fmt: skip


def test_bpftool_dumps_a_map_typed_by_its_btf(bpftool):
    status, text = bpftool("map", "dump", "name", "by_process")
    rows = {row["value"]["bytes"]: row["value"] for row in json.loads(text)}
    assert status == 0 and rows[98336] == {"writes": 93, "bytes": 98336, "failed": 1}


def test_bpftool_dumps_a_program(bpftool):
    status, text = bpftool("prog", "dump", "xlated", "name", "write_begins")
    assert status == 0 and "call bpf_map_update_elem" in text.replace("htab_map_update_elem", "bpf_map_update_elem")
    assert re.search(r"^ *\d+: \(95\) exit", text, re.M)


def test_bpftool_prints_the_kernels_types(bpftool):
    status, text = bpftool("btf", "dump", "id", "1", "format", "c")
    assert status == 0 and "struct task_struct {" in text and "#endif /* __VMLINUX_H__ */" in text


@pytest.mark.slow
def test_bpftool_probes_the_features(bpftool):
    status, text = bpftool("feature", "probe", "kernel")
    assert status == 0
    for line in (
        "bpf() syscall is available",
        "eBPF program_type kprobe is available",
        "eBPF map_type ringbuf is available",
    ):
        assert line in text
    assert "eBPF map_type cgrp_storage is NOT available" in text or "cgrp_storage" not in text


# ---------------------------------------------------------------------------------------------------- libbpf-tools

WORKLOAD = """
cat /etc/hostname; echo hi > /tmp/x; mkdir /tmp/d; busybox true; cat /no/such 2>/dev/null; rm /tmp/x
dd if=/dev/zero of=/mnt/f bs=4k count=4 2>/dev/null; sync; mount -t tmpfs none /tmp/d; umount /tmp/d; stat /etc >/dev/null
nc -l -p 9 & sleep 0.1; echo hello | nc 127.0.0.1 9; sh -c 'kill -USR1 $$'; sleep 1
"""

# tool and arguments -> patterns that lines of its output must match
TOOLS = {
    "execsnoop": [r"^exe +\d+ +\d+ +0 /proc/self/exe true *$", r"/etc/hostname"],
    "exitsnoop": [r"^sleep +\d+ +\d+ +\d+ +0\.1\d +0", r"^sh +\d+ .* signal 10|^sh +\d+ .*10"],
    "opensnoop": [r"^\d+ +cat +\d+ +0 /etc/hostname$", r"^\d+ +cat +-1 +2 /no/such$", r"busybox +\d+ +0 /tmp/x$"],
    "filelife": [r"^\S+ +\d+ +(rm|busybox) +0\.\d\d +x *$"],
    "filetop -C 1 1": [r"busybox +0 +1 +0 +0 +R x"],
    "vfsstat 1 1": [r"^\S+: +\d+ +[1-9]\d* +\d+ +[1-9]\d* +\d+"],
    "syscount -d 1": [r"^wait4 +[1-9]"],
    "runqlat": [r"0 -> 1 +: [1-9]"],
    "runqslower 1": [r"^\S+ +\S+ +\d+ +\d+"],
    "cpudist": [r"usecs +: count"],
    "biolatency": [r"512 -> 1023 +: [1-9]|256 -> 511 +: [1-9]|1024 -> 2047 +: [1-9]"],
    "bitesize": [r"Process Name = ", r": [1-9]"],
    "tcplife": [r"^\d+ +nc +127\.0\.0\.1 +\d+ +127\.0\.0\.1 +\d+"],
    "tcpconnect": [r"^\d+ +nc +4 +127\.0\.0\.1 +127\.0\.0\.1 +9"],
    "tcpconnlat": [r"^\d+ +nc +4 +127\.0\.0\.1 +127\.0\.0\.1 +9"],
    "tcpstates": [r"SYN_SENT +-> ESTABLISHED"],
    "sigsnoop": [r" sh +10 +\d+ +0"],
    "statsnoop": [r"\APID +COMM +RET +ERR +PATH\n\Z"],  # 0.26 looks for events/syscalls/statfs, which no kernel has
    "mountsnoop": [r'mount\("none", "/tmp/d", "tmpfs"', r'umount\("/tmp/d"'],
    "capable": [r" 21 +CAP_SYS_ADMIN +\d+ +allow| 21 +CAP_SYS_ADMIN "],
    "klockstat -d 1": [r"^ +\S+\+0x[0-9a-f]+ +\d+ ns +[1-9]"],
    "funclatency -u vfs_write": [r"usec +: count"],
    "oomkill": [r"Tracing OOM kills"],
    "solisten": [r"^\d+ +nc +\d+ +\d+ +TCPv4 +9 +0\.0\.0\.0"],
}  # fmt: skip
QUICK = ("execsnoop", "opensnoop", "tcplife", "klockstat -d 1")


def observed(command: str, path: Path) -> str:
    """What a tool prints while the workload runs, until it is interrupted."""
    name, *words = command.split()
    machine = simkernel.boot(binds=BINDS, cpus=2)
    k = machine.kernel
    try:
        tool, busybox = machine.install(str(path / name)), machine.install("busybox")
        out = HostOutput()
        task = machine.spawn([tool, *words], stdout=out, stderr=out)

        def ended() -> bool:
            return task.exit_state != 0

        k.cpus.run(ended, k.clock.now_ns + 6 * NSEC_PER_SEC // 10)  # it reads all of kallsyms
        assert not ended(), out.data.decode()
        machine.run([busybox, "sh", "-c", WORKLOAD], timeout_host_s=60)
        k.cpus.run(ended, k.clock.now_ns + 2 * NSEC_PER_SEC)
        if not ended():
            k.signals.send(task, 2)
            k.cpus.run(ended, k.clock.now_ns + 2 * NSEC_PER_SEC)
        return out.data.decode()
    finally:
        machine.close()


@pytest.mark.parametrize("command", [c if c in QUICK else pytest.param(c, marks=pytest.mark.slow) for c in TOOLS])
def test_libbpf_tool(command, busybox):
    text = observed(command, package("libbpf-tools"))
    for pattern in TOOLS[command]:
        assert re.search(pattern, text, re.M), f"no line like {pattern}\n{text}"
