"""Programs in Python: they do what the same programs in C do, and load where libbpf loads them.

That the objects load, attach and count on a real Linux 6.1 was checked with libbpf 1.1.2, statically linked: a program like writes.py
and EVERYTHING below; the loader's and this kernel's refusals agree too (a tracepoint's member behind its record is EACCES).
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

import simkernel
from bpf.loader import LoadError
from bpf.python import CompileError, compile_file, compile_source
from simkernel import workloads

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "samples"
IMPORTS = (
    "from simkernel import bpf\nfrom simkernel.bpf import array, char, const, ptr, s32, s64, u8, u16, u32, u64\n\n"
)


def text_of(lines: str) -> str:
    """A trace without times: an object with more maps takes more system calls to load."""
    return re.sub(r" +[0-9]+\.[0-9]{6}: ", " ", lines)


def state(objects) -> dict:
    return {name: sorted(map(repr, m.items())) for name, m in objects.maps.items() if "." not in name}


@pytest.mark.parametrize("arch", ["x86_64", "s390x"])
def test_writes_as_in_c(arch: str) -> None:
    seen = []
    for source in (compile_file(SAMPLES / "python" / "writes.py", arch), SAMPLES / "obj" / arch / "writes.bpf.o"):
        m = simkernel.boot(arch=arch)
        obj = m.load(source)
        obj.attach()
        assert m.run([m.install(SAMPLES / "bin" / arch / "writer")]).status == 0
        seen.append((state(obj), text_of(m.trace_pipe())))
    assert seen[0] == seen[1] and len(seen[0][0]["sizes"]) == 32


def test_functions_as_in_c() -> None:
    seen = []
    for source in (compile_file(SAMPLES / "python" / "functions.py"), SAMPLES / "obj" / "x86_64" / "functions.bpf.o"):
        m = simkernel.boot(binds=[(str(SAMPLES / "bin" / "x86_64"), "/samples", False)])
        obj = m.load(source)
        obj.attach()
        assert m.run(["/samples/server"]).status == 0
        variables = next(dict(m.items())[0] for name, m in obj.maps.items() if name.endswith("bss"))
        seen.append((state(obj), dict(variables)))
    assert seen[0] == seen[1] and seen[0][1]["calls"] > 0


@pytest.mark.parametrize(
    ("arch", "kernel"),
    [("x86_64", "6.1"), ("x86_64", "5.10"), ("arm64", "6.12"), ("riscv64", "6.1"), ("s390x", "6.1"), ("s390x", "5.10")],
)
def test_static_probes_as_in_c(arch: str, kernel: str) -> None:
    """One object for kernels with BPF cookies and for those without."""
    seen = []
    for source in (compile_file(SAMPLES / "python" / "requests.py", arch), SAMPLES / "obj" / arch / "requests.bpf.o"):
        m = simkernel.boot(arch=arch, kernel=kernel, binds=[(str(SAMPLES / "bin" / arch), "/samples", False)])
        obj = m.load(source)
        obj.attach()
        assert m.run(["/samples/server", "30"]).status == 0
        counts = {name: rows for name, rows in state(obj).items() if name not in ("latency", "__bpf_usdt_specs")}
        specs = [re.findall(r"-?\d+", str(value)) for _, value in obj.maps["__bpf_usdt_specs"].items()]
        slow = sum(count for _, count in obj.maps["latency"].items())
        variables = next(dict(m.items())[0] for name, m in obj.maps.items() if name.endswith("bss"))
        seen.append((counts, specs, slow, dict(variables)))
    assert seen[0] == seen[1] and seen[0][2] == 30 and seen[0][3]["missing"] == 8


def test_arguments_that_a_static_probe_does_not_have_are_0() -> None:
    m = simkernel.boot(binds=[(str(SAMPLES / "bin" / "x86_64"), "/samples", False)])
    program = """
seen = bpf.Hash(u32, u64, max_entries=8)
first: u8 = 0

@bpf.usdt("/samples/server:server:answer")
def f(ctx, number: u8, path: ptr[u8], status: s32, missing):
    global first
    bpf.probe_read_user(bpf.addressof(first), 1, path)
    seen.update(0, number)
    seen.update(1, status)
    seen.update(2, missing + 7)
    seen.update(3, ctx.sp != 0)
    return 0
"""
    obj = m.load(compile_source(IMPORTS + program, "probe.py"))
    obj.attach()
    assert m.run(["/samples/server", "5"]).status == 0
    found = dict(obj.maps["seen"].items())
    assert found[2] == 7 and found[3] == 1 and found[0] in (4, 5) and found[1] in (200, 404)
    variables = next(dict(m.items())[0] for name, m in obj.maps.items() if name.endswith("bss"))
    assert variables["first"] == ord("/")


def test_tasks_as_in_c() -> None:
    seen = []
    for source in (compile_file(SAMPLES / "python" / "tasks.py"), SAMPLES / "obj" / "x86_64" / "tasks.bpf.o"):
        m = simkernel.boot(cpus=2)
        obj = m.load(source)
        obj.attach()
        for name in ("sleeper", "forker"):
            workloads.run(m, name)
        seen.append(state(obj))
    assert seen[0] == seen[1] and seen[0]["switches"]


@pytest.mark.parametrize(
    ("name", "work"),
    [("tracex1", ["udp"]), ("tracex2", ["udp", "writer"]), ("tracex3", ["disk"]), ("tracex4", ["tcp"])],
)
def test_samples_of_4_1_as_in_c(name: str, work: list[str]) -> None:
    seen = []
    ours = compile_file(SAMPLES / "python" / "v41" / f"{name}.py", kernel="4.1")
    for source in (ours, SAMPLES / "obj" / "x86_64" / f"{name}.bpf.o"):
        m = simkernel.boot(kernel="4.1")
        obj = m.load(source)
        obj.attach()
        for workload in work:
            workloads.run(m, workload)
        maps = (
            state(obj) if name != "tracex4" else {n: [r.split(",")[0] for r in rows] for n, rows in state(obj).items()}
        )
        seen.append((maps, text_of(m.trace_pipe())))
    assert seen[0] == seen[1]
    assert seen[0][1] or any(seen[0][0].values()) or name == "tracex4"  # whose objects are all freed


EVERYTHING = (
    IMPORTS
    + """
LIMIT = 4 * 2
TASK_COMM_LEN = 16


@bpf.struct
class Event:
    pid: u32
    ppid: u32
    comm: array(char, TASK_COMM_LEN)
    size: u64


events = bpf.RingBuf(max_entries=1 << 16)
switches = bpf.Hash(u32, u64, max_entries=64)
seen = bpf.PercpuArray(u32, u64, max_entries=4)
target: const[u32] = 0
total: u64 = 0
biggest: u64 = 1


@bpf.fentry("vfs_write")
def on_write(ctx, file: ptr("file"), buf: u64, count: u64):
    global total, biggest
    if target and bpf.get_current_pid_tgid() >> 32 != target:
        return 0
    total += count
    if count > biggest:
        biggest = count
    if file.f_inode.i_ino == 99999999:
        return 0
    e = events.reserve(Event)
    if e is None:
        return 0
    task = bpf.get_current_task_btf()
    e.pid = task.pid
    e.ppid = task.real_parent.tgid
    e.size = count
    bpf.get_current_comm(e.comm, TASK_COMM_LEN)
    if e.comm[0] == 0:
        events.discard(e)
    else:
        events.submit(e)
    return 0


@bpf.tracepoint("sched", "sched_switch")
def on_switch(ctx):
    pid: u32 = ctx.next_pid
    n = switches.lookup(pid)
    if n:
        n[0] += 1
    else:
        switches.update(pid, 1)
    return 0


@bpf.raw_tracepoint("sched_process_fork")
def on_fork(ctx, parent: ptr("task_struct"), child: ptr("task_struct")):
    bpf.printk("%d forks %d", parent.pid, child.pid)
    s: u64 = 0
    for i in range(LIMIT):
        if child.comm[i] == 0:
            break
        s += child.comm[i]
    slot = seen.lookup(s % 4)
    if slot:
        slot[0] += 1
    return 0


@bpf.tracepoint("syscalls", "sys_enter_write")
def on_call(ctx):
    n = switches.lookup(u32(1000000))
    if n:
        n[0] += 1
    else:
        switches.update(1000000, 1 if ctx.args[2] else 5)
    return 0


@bpf.struct
class Ethernet:
    dest: array(u8, 6)
    source: array(u8, 6)
    proto: u16


@bpf.xdp
def packets(ctx):
    eth = bpf.cast(ptr[Ethernet], ctx.data)
    if ctx.data + bpf.sizeof(Ethernet) > ctx.data_end:
        return bpf.XDP_ABORTED
    return bpf.XDP_PASS if eth.proto == 8 else bpf.XDP_DROP
"""
)


def test_every_kind_of_program() -> None:
    m = simkernel.boot()
    obj = m.load(compile_source(EVERYTHING, "everything.py"))
    records: list[bytes] = []
    ring = m.session.ring_buffer(obj.maps["events"], records.append)
    obj.attach()
    assert m.run([m.install(SAMPLES / "bin" / "x86_64" / "writer")]).status == 0
    variables: dict[str, int] = {}
    for name, kept in obj.maps.items():
        if name.endswith((".bss", ".data")):
            variables |= dict(kept.items())[0]
    assert variables["total"] >= 98305 and variables["biggest"] == 4096
    switches = dict(obj.maps["switches"].items())
    assert switches[1000000] == 93 and len(switches) > 2
    ring.consume()
    pid, parent, comm, size = struct.unpack_from("<II16sQ", records[0])
    assert (comm, size) == (b"writer".ljust(16, b"\0"), 1) and pid > parent
    m.trace_pipe()
    before = sum(sum(v) for v in dict(obj.maps["seen"].items()).values())
    workloads.run(m, "forker")
    forks = m.trace_pipe().count(" forks ")
    assert forks and sum(sum(v) for v in dict(obj.maps["seen"].items()).values()) - before == forks


def test_the_log_shows_lines_of_python() -> None:
    source = IMPORTS + (
        "m = bpf.Hash(u32, u64, max_entries=4)\n\n\n"
        '@bpf.kprobe("vfs_write")\n'
        "def careless(ctx):\n"
        "    found = m.lookup(1)\n"
        "    return found[0]  # it may be None\n"
    )
    with pytest.raises(LoadError) as refused:
        simkernel.boot().load(compile_source(source, "careless.py"))
    assert "; return found[0]  # it may be None" in refused.value.log
    assert "invalid mem access 'map_value_or_null'" in refused.value.log


def test_an_object_is_made_the_same_each_time() -> None:
    assert compile_source(EVERYTHING, "everything.py") == compile_source(EVERYTHING, "everything.py")


PROGRAM = '@bpf.kprobe("vfs_write")\ndef program(ctx, file: ptr("file"), buf, count):\n'


@pytest.mark.parametrize(
    ("body", "line", "why"),
    [
        ("    return count / 2\n", 6, "// is division"),
        ("    x = [1, 2]\n", 6, "List has no meaning"),
        ("    return file.nothing\n", 6, "struct file of Linux 6.1 has no member nothing"),
        ("    file.f_pos = 3\n    return 0\n", 6, "a program cannot write into the kernel's structures"),
        ("    if count:\n        return 0\n", 5, "can come to its end without a return"),
        ("    for x in file:\n        pass\n    return 0\n", 6, "for has no meaning"),
        ("    for x in list(3):\n        pass\n    return 0\n", 6, "a for loop goes over range()"),
        ("    return bpf.no_such_helper(1)\n", 6, "there is no helper bpf_no_such_helper()"),
        ("    return unknown\n", 6, "unknown is not known here"),
        ("    break\n", 6, "outside of a loop"),
        ("    try:\n        return 0\n    finally:\n        pass\n", 6, "try has no meaning"),
        ("    m.lookup(file, 3)\n    return 0\n", 6, "lookup() takes 1 to 1 arguments"),
        ("    m.reserve(u64)\n    return 0\n", 6, "a HASH map has no reserve()"),
        ("    total = 1\n    return 0\n", 6, "total is a global variable"),
        ("    e = Event(1, 2, 3)\n    return 0\n", 6, "struct Event has 1 members"),
        ("    e = Event()\n    return e\n", 7, "struct Event is no number"),
        ("    e = Event()\n    return e.b\n", 7, "struct Event has no member b"),
        ("    e = Event()\n    return e.a[4]\n", 7, "there are 4 elements"),
        ("    return s64(count) // 3\n", 6, "BPF divides unsigned numbers only"),
        ("    x = lambda: 1\n    return 0\n", 6, "Lambda has no meaning"),
        ("    return 1 << 70\n", 6, "more than 64 bits"),
        ("    import os\n    return 0\n", 6, "import has no meaning"),
        ("    return print(1)\n", 6, "no function that a BPF program can call"),
    ],
)
def test_what_is_not_in_the_subset_is_said_at_its_line(body: str, line: int, why: str) -> None:
    head = "m = bpf.Hash(u32, u64, max_entries=4); total: u64 = 0\n" + PROGRAM
    event = "\n\n@bpf.struct\nclass Event:\n    a: array(u32, 4)\n"
    with pytest.raises(CompileError) as caught:
        compile_source(IMPORTS.rstrip("\n") + "\n" + head + body + event, "wrong.py")
    assert why in str(caught.value)
    assert str(caught.value).startswith(f"wrong.py:{line}:"), caught.value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = 1\n", "there is no program"),
        ("import os\n", "import has no meaning in a file"),
        ("from os import path\n", "can import from simkernel.bpf only"),
        ("def (:\n", "not Python"),
        ("m = bpf.Hash(u32, u64)\n", "max_entries is missing"),
        ("class A:\n    x: u32\n", "a class is a struct"),
        ("@bpf.kprobe()\ndef f(ctx):\n    return 0\n", "kprobe takes 1 text"),
        ('@bpf.kprobe("f")\ndef f(regs):\n    return 0\n', "first parameter is ctx"),
        ('@bpf.kprobe("f")\ndef f(ctx, x: ptr("no_such")):\n    return 0\n', "has no struct no_such"),
        ("@bpf.nothing\ndef f(ctx):\n    return 0\n", "a program's decorator is one of kprobe"),
        (
            "@bpf.usdt('/bin/x:a:b')\ndef f(ctx, " + ", ".join("abcdefghijklm") + "):\n    return 0\n",
            "12 arguments at most",
        ),
        ("x: u64 = y\n", "begins with a constant number"),
        ("def f(x) -> u64:\n    return x\n", "a parameter needs a type"),
    ],
)
def test_what_does_not_belong_in_a_file(text: str, why: str) -> None:
    with pytest.raises(CompileError, match=why.replace("(", r"\(")):
        compile_source(IMPORTS + text, "wrong.py")
