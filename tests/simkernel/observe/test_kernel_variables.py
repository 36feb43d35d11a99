"""Variables of the kernel in its BTF, by CPU, and what security_inode_getattr() shows of a path."""

from __future__ import annotations

import shutil
from copy import copy

import pytest

import simkernel
from bpf import uapi
from bpf.btf.codec import Kind
from bpf.isa.asm import assemble
from bpf.isa.insn import encode

BUSYBOX = shutil.which("busybox")


def test_each_cpu_has_its_own_run_queue() -> None:
    m = simkernel.boot(cpus=3)
    k = m.kernel
    btf = k.observer.vmlinux_btf
    assert btf is not None
    section = btf.types[btf.find(".data..percpu", Kind.DATASEC)]
    names = {btf.types[row.type].name for row in section.secinfos}
    assert {"bpf_prog_active", "bpf_task_storage_busy", "runqueues", "cpu_number"} < names
    assert len(names) == 380
    runqueues = k.symbols.address("runqueues")
    assert runqueues is not None
    cpus = [k.view(runqueues + k.observer.per_cpu_offset(cpu), "struct rq").cpu for cpu in range(3)]
    assert cpus == [0, 1, 2]


def test_a_program_reads_the_run_queue_of_another_cpu() -> None:
    m = simkernel.boot(cpus=2)
    task = m.session.task
    btf = m.kernel.observer.vmlinux_btf
    assert btf is not None
    at = m.kernel.types.offsetof("struct rq", "cpu")
    source = (
        f"r1 = btf_id#{btf.find('runqueues', Kind.VAR)} ll\nr2 = 1\ncall bpf_per_cpu_ptr#153\nif r0 == 0 goto +1\n"
        f"r0 = *(u32 *)(r0 + {at})\nexit"
    )
    insns = bytearray(encode(assemble(source.replace(f"btf_id#{btf.find('runqueues', Kind.VAR)}", "0")), "little"))
    insns[1] |= 3 << 4  # BPF_PSEUDO_BTF_ID
    insns[4:8] = btf.find("runqueues", Kind.VAR).to_bytes(4, "little")
    fd, log = task.prog_load(uapi.BPF_PROG_TYPE_RAW_TRACEPOINT, bytes(insns), log_level=1, log_size=9999)
    assert fd >= 0, log
    calls = m.session.syscalls
    attr = calls.alloc(80)
    calls.write(attr, task.pack("II", fd, 0).ljust(80, b"\0"))
    assert calls.syscall("bpf", uapi.BPF_PROG_TEST_RUN, attr, 80) == 0
    assert int.from_bytes(calls.read(attr + 4, 4), "little") == 1


@pytest.mark.skipif(BUSYBOX is None, reason="needs a static busybox on this host")
def test_run_queues_say_how_many_tasks_they_have() -> None:
    m = simkernel.boot()
    k = m.kernel
    task = m.session.task
    fd, log = task.prog_load(uapi.BPF_PROG_TYPE_PERF_EVENT, encode(assemble("r0 = 0\nexit"), task.byteorder))
    assert fd >= 0, log
    address = k.symbols.address("runqueues")
    assert address is not None
    queue = k.view(address, "struct rq")
    seen: list[tuple[int, int, int, bool]] = []

    def look() -> None:
        current = k.view(k.current.addr, "struct task_struct")
        here = k.current is not k.cpus.rq.idle
        seen.append(
            (queue.nr_running, queue.cfs.nr_running, len(k.cpus.rq.tasks) + here, current.se.cfs_rq == queue.cfs.addr)
        )
        if len(seen) < 1000:
            k.clock.add(k.clock.now_ns + 100_000, look)

    k.clock.add(k.clock.now_ns + 100_000, look)
    spins = " ".join(f"(i=0; while [ $i -lt {turns} ]; do i=$((i+1)); done) &" for turns in (300, 1000, 3000))
    m.run([m.install(BUSYBOX), "sh", "-c", f"{spins} wait"])
    assert {count for *_, count, _ in seen} >= {1, 2, 3}
    assert all(running == fair == count for running, fair, count, _ in seen)
    assert all(where for *_, count, where in seen if count)


def test_a_program_on_security_inode_getattr_sees_the_path() -> None:
    m = simkernel.boot()
    task = m.session.task
    btf = m.kernel.observer.vmlinux_btf
    assert btf is not None
    source = (
        "r6 = r1\nr2 = r10\nr2 += -64\nr3 = 64\nr1 = *(u64 *)(r6 + 0)\ncall bpf_d_path#147\n"
        "r1 = r10\nr1 += -64\nr2 = 13\ncall bpf_trace_printk#6\nr0 = 0\nexit"
    )
    fd, log = task.prog_load(
        uapi.BPF_PROG_TYPE_TRACING, encode(assemble(source), task.byteorder), log_level=1, log_size=9999,
        expected_attach_type=uapi.BPF_TRACE_FENTRY, attach_btf_id=btf.find("security_inode_getattr", Kind.FUNC),
    )  # fmt: skip
    assert fd >= 0, log
    task.raw_tracepoint_open(None, fd)
    buffer = m.session.syscalls.alloc(256)
    assert m.session.syscalls.syscall("newfstatat", -100, task_string(m, "/etc/passwd\0"), buffer, 0) == 0
    assert "/etc/passwd" in task.read_file("/sys/kernel/tracing/trace").decode()


def task_string(m: simkernel.Machine, text: str) -> int:
    at = m.session.syscalls.alloc(64)
    m.session.syscalls.write(at, text.encode())
    return at


def test_a_probe_reads_the_banners_of_the_kernel() -> None:
    """linux_banner is a variable: a fetch argument finds it by its name, and it says what /proc/version says."""
    m = simkernel.boot()
    place = "/sys/kernel/tracing"
    m.session.write_file(f"{place}/kprobe_events", "p:seen __x64_sys_getpid text=@linux_banner:string\n")
    m.session.write_file(f"{place}/events/kprobes/seen/enable", "1")
    m.session.task.call("getpid")
    version = m.session.read_file("/proc/version").decode()
    trace = m.session.read_file(f"{place}/trace").decode()
    assert f'text="{version}"' in trace
    assert " D linux_banner\n" in m.session.read_file("/proc/kallsyms").decode()


def test_queues_do_without_the_struct_of_an_ended_task():
    """A machine that is stopped lets tasks end that have given theirs back."""
    k = simkernel.boot().kernel
    k.observer.percpu.show_queues()
    ended = copy(k.tasks.init)
    ended.addr = 0
    (queue,) = k.cpus.rqs
    queue.told(queue, ended)


def test_limits_and_cpus_of_a_task_are_in_its_structures() -> None:
    """What a program finds that walks task->signal->rlim, task->cpus_ptr, and names init_task."""
    m = simkernel.boot(cpus=2)
    k, caller, calls = m.kernel, m.session.task, m.session.syscalls
    at = calls.alloc(64)
    calls.write(at, (77).to_bytes(8, "little") * 2)
    assert caller.call("setrlimit", 7, at) == 0
    calls.write(at, (2).to_bytes(8, "little"))
    assert caller.call("sched_setaffinity", 0, 8, at) == 0
    task = k.tasks.by_pid[caller.call("getpid")]
    view = k.view(task.addr, "struct task_struct")
    assert k.mem.read_uint(view.signal + k.types.offsetof("struct signal_struct", "rlim") + 7 * 16, 8) == 77
    assert view.cpus_ptr == task.addr + k.types.offsetof("struct task_struct", "cpus_mask")
    assert (k.mem.read_uint(view.cpus_ptr, 8), view.nr_cpus_allowed) == (2, 1)
    assert k.tasks.idle is not None and k.symbols["init_task"].address == k.tasks.idle.addr


def test_namespaces_and_threads_of_a_task_are_in_its_structures() -> None:
    """What programs find that walk task->nsproxy, task->signal, task->mm."""
    m = simkernel.boot()
    k, caller, calls = m.kernel, m.session.task, m.session.syscalls
    task, at = k.tasks.by_pid[caller.call("getpid")], calls.alloc(256)
    members = {
        "uts_ns": "uts", "ipc_ns": "ipc", "mnt_ns": "mnt", "pid_ns_for_children": "pid", "time_ns": "time",
        "time_ns_for_children": "time", "cgroup_ns": "cgroup",
    }  # fmt: skip

    def field(address: int, struct: str, member: str) -> int:
        return k.mirror.get_field(address, struct, member)

    def numbers() -> list[int]:
        proxy = field(task.addr, "task_struct", "nsproxy")
        found = [field(field(proxy, "nsproxy", m), f"{kind}_namespace", "ns.inum") for m, kind in members.items()]
        return [*found, field(field(proxy, "nsproxy", "net_ns"), "net", "ns.inum")]

    def told() -> list[int]:
        links = []
        for name in ("uts", "ipc", "mnt", "pid_for_children", "time", "time_for_children", "cgroup", "net"):
            calls.write(at, f"/proc/self/ns/{name}".encode() + b"\0")
            size = caller.call("readlink", at, at + 128, 64)
            links.append(int(calls.read(at + 128, size).decode().split("[")[1].rstrip("]")))
        return links

    first = numbers()
    assert first == told()
    assert caller.call("unshare", 0x0C000000 | 0x00020000 | 0x40000000 | 0x20000000 | 0x80) == 0  # not cgroup
    second = numbers()
    assert second == told()
    assert [a != b for a, b in zip(first, second)] == [True, True, True, True, False, True, False, True]
    deep = field(field(task.addr, "task_struct", "nsproxy"), "nsproxy", "pid_ns_for_children")
    assert field(deep, "pid_namespace", "level") == 1
    signal = field(task.addr, "task_struct", "signal")
    assert [field(signal, "signal_struct", m) for m in ("nr_threads", "live.counter", "quick_threads")] == [1, 1, 1]


def test_what_a_task_has_used_and_its_machines_names_are_in_its_structures() -> None:
    """Times as update_curr() leaves them from the first program about tasks on; names of struct uts_namespace as uname(2) tells them."""
    m = simkernel.boot()
    k, caller, calls = m.kernel, m.session.task, m.session.syscalls
    caller.prog_load(2, bytes.fromhex("b7000000000000009500000000000000"))
    task, at = k.tasks.by_pid[caller.call("getpid")], calls.alloc(512)
    calls.write(at, (1).to_bytes(8, "little") + (0).to_bytes(8, "little"))
    assert caller.call("nanosleep", at, 0) == 0

    def field(member: str) -> int:
        return k.mirror.get_field(task.addr, "task_struct", member)

    assert field("se.sum_exec_runtime") > 0 and field("se.exec_start") > 0
    assert field("se.sum_exec_runtime") == field("utime") + field("stime")
    assert field("nvcsw") > 0
    assert field("start_time") == field("start_boottime") == task.start_time_ns
    uts = k.mirror.get_field(field("nsproxy"), "nsproxy", "uts_ns") + k.mirror.offset_of("struct uts_namespace", "name")
    calls.write(at, b"elsewhere")
    assert caller.call("sethostname", at, 9) == 0
    assert caller.call("uname", at) == 0
    names = bytes(k.mem.read(uts, 390))
    assert names == calls.read(at, 390) and names[65:75] == b"elsewhere\0"
    assert caller.call("unshare", 0x04000000) == 0
    assert caller.call("sethostname", at, 5) == 0
    other = k.mirror.get_field(field("nsproxy"), "nsproxy", "uts_ns") + k.mirror.offset_of(
        "struct uts_namespace", "name"
    )
    assert (
        other != uts
        and bytes(k.mem.read(other + 65, 6)) == b"Linux\0"
        and bytes(k.mem.read(uts + 65, 10)) == b"elsewhere\0"
    )
