"""The kernel as tracing and BPF see it, in a running machine: what each answer is made of."""

from __future__ import annotations

import re
import shutil

import pytest

import simkernel
from arch.abi.errno import EINVAL, EIO
from arch.errors import KernelError
from bpf import uapi
from bpf.isa.asm import assemble
from bpf.isa.insn import encode
from simkernel.fs import rootfs
from simkernel.machine import Machine

BUSYBOX = shutil.which("busybox")
needs_busybox = pytest.mark.skipif(BUSYBOX is None, reason="needs a static busybox on this host")


def shell(m: Machine, script: str) -> str:
    """What a script prints, whatever its status."""
    assert BUSYBOX is not None
    with open(BUSYBOX, "rb") as program:
        rootfs.add_bytes_lazily(m.kernel.vfs, "/bin/busybox", program.read())
    return m.run(["/bin/busybox", "sh", "-c", script], timeout_host_s=60).text


def load(m: Machine, prog_type: int, source: str) -> int:
    """A program from assembly; its descriptor in the tool's task."""
    task = m.session.task
    fd, log = task.prog_load(prog_type, encode(assemble(source), task.byteorder), log_level=1, log_size=65536)
    assert fd >= 0, log
    return fd


@needs_busybox
def test_the_trace_says_that_an_interrupt_handler_runs() -> None:
    text = shell(
        simkernel.boot(),
        "cd /sys/kernel/tracing; echo 'p:disk sim_disk_interrupt' > kprobe_events; echo 1 > events/kprobes/enable;"
        "echo 1 > events/irq/irq_handler_entry/enable; echo 1 > events/irq/softirq_entry/enable;"
        "dd if=/dev/zero of=/mnt/x bs=4k count=10 2>/dev/null; sync;"
        "nslookup -timeout=1 -retry=1 name 127.0.0.1 >/dev/null; cat trace",
    )
    flags = {name: shown for shown, name in re.findall(r"\[000\] (\S{5}) +\d+\.\d+: (\w+): ", text)}
    assert flags["irq_handler_entry"] == "d.h1."
    assert flags["disk"] == "d.h.."
    assert flags["softirq_entry"][2] == "s"


@needs_busybox
@pytest.mark.parametrize(("helper", "group"), [("send_signal", 1), ("send_signal_thread", 0)])
def test_a_program_sends_a_signal_to_the_task_it_runs_in(helper: str, group: int) -> None:
    m = simkernel.boot()
    number = getattr(uapi, f"BPF_FUNC_{helper}")
    fd = load(m, uapi.BPF_PROG_TYPE_RAW_TRACEPOINT, f"r1 = 10\ncall bpf_{helper}#{number}\nr0 = 0\nexit")
    m.session.task.raw_tracepoint_open("task_rename", fd)
    m.enable_event("signal:signal_generate")
    shell(m, "exec sleep 100")
    assert re.search(rf"sig=10 errno=0 code=128 comm=busybox pid=\d+ grp={group} res=0", m.session.trace_pipe())


@needs_busybox
def test_a_uprobe_needs_a_file_with_pages() -> None:
    """As Linux 6.1 answered: EIO for procfs, none for kernfs, EINVAL past the end, nothing wrong at the end itself."""
    text = shell(
        simkernel.boot(),
        "cd /sys/kernel/tracing; echo -n abcd > /tmp/f;"
        "for at in /proc/version:0x0 /proc/version:0x10 /sys/kernel/uevent_seqnum:0x10 /tmp/f:0x4 /tmp/f:0x10; do "
        'echo "p:x $at" > uprobe_events; echo 1 2>/dev/null > events/uprobes/x/enable; '
        "cat events/uprobes/x/enable; echo 0 > events/uprobes/x/enable; done",
    )
    assert text.split() == ["0", "0", "1", "1", "0"]


@pytest.mark.parametrize(("place", "errno"), [("/proc/version", EIO), ("/proc/self/maps", EIO), ("/dev/null", EINVAL)])
def test_perf_refuses_a_uprobe_on_what_has_no_pages(place: str, errno: int) -> None:
    from bpf.loader.events import open_uprobe

    with pytest.raises(KernelError) as refused:
        open_uprobe(simkernel.boot().session.task, place, 0, -1, False)
    assert refused.value.errno == errno


@pytest.mark.parametrize(("arch", "kernel"), [("x86_64", "6.1"), ("arm64", "6.1"), ("i386", "4.1")])
def test_kallsyms_bounds_the_text(arch: str, kernel: str) -> None:
    """perf finds the kernel's mapping by _stext and _etext, and counts probes from _text."""
    m = simkernel.boot(arch=arch, kernel=kernel)
    rows = [line.split()[:3] for line in m.session.read_file("/proc/kallsyms").decode().splitlines()]
    at = {name: int(address, 16) for address, kind, name in rows if kind == "T"}
    assert at["_text"] == at["_stext"] == m.kernel.mem.map.text_base
    functions = [at[name] for name in ("vfs_read", "schedule", "ret_from_fork") if name in at]
    assert all(at["_stext"] <= address < at["_etext"] for address in functions)
    first = m.kernel.symbols.lookup(at["_stext"])
    assert first is not None
    assert first[0] not in ("_text", "_stext")  # what runs there is a function
    assert not any(start == end for start, end, _ in m.kernel.observer.probe_blacklist())


@needs_busybox
def test_probes_count_from_text_as_perf_probe_writes_them() -> None:
    m = simkernel.boot()
    offset = m.kernel.symbols["vfs_write"].address - m.kernel.symbols["_text"].address
    text = shell(
        m,
        f"cd /sys/kernel/tracing; echo 'p:probe/vfs_write _text+{offset}' > kprobe_events; cat kprobe_events;"
        "echo 1 > events/probe/enable; echo x > /dev/null; echo 0 > events/probe/enable; cat trace",
    )
    assert f"p:probe/vfs_write _text+{offset}" in text
    assert "vfs_write: (vfs_write+0x0/" in text


@needs_busybox
def test_sched_fork_is_there_for_fentry() -> None:
    """bpftrace attaches to it to find out whether the kernel has BPF trampolines."""
    m = simkernel.boot()
    text = shell(
        m,
        "cd /sys/kernel/tracing; echo 'p sched_fork flags=%di' > kprobe_events; echo 1 > events/kprobes/enable;"
        "(/bin/busybox true); echo 0 > events/kprobes/enable; cat trace; renice -n 5 $$ >/dev/null; (/bin/busybox cat /proc/self/stat)",
    )
    assert re.search(r"p_sched_fork_0: \(sched_fork\+0x0/0x\w+\) flags=0x", text)
    nice = text.splitlines()[-1].rpartition(")")[2].split()[16]
    assert nice == "5", text.splitlines()[-1]
