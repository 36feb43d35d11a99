"""What may be attached where, and how often.  Answers of Linux 6.1 (Debian 6.1.192)."""

from __future__ import annotations

from collections.abc import Sequence

import simkernel
from arch.abi.errno import E2BIG, EBUSY, EEXIST, EINVAL, ENOTSUPP, EOPNOTSUPP
from arch.errors import KernelError
from bpf import uapi
from bpf.isa.asm import assemble
from bpf.isa.insn import encode

RETURN_0 = "r0 = 0\nexit"
RAW, KPROBE, TRACEPOINT = uapi.BPF_PROG_TYPE_RAW_TRACEPOINT, uapi.BPF_PROG_TYPE_KPROBE, uapi.BPF_PROG_TYPE_TRACEPOINT


class Tool:
    """Loads programs from assembly and attaches them."""

    def __init__(self, config: Sequence[str] = ()) -> None:
        self.machine = simkernel.boot(config=config)
        self.task = self.machine.session.task

    def load(self, kind: int, source: str = RETURN_0, **more: int) -> int:
        fd, log = self.task.prog_load(
            kind, encode(assemble(source), self.task.byteorder), log_level=1, log_size=4096, **more
        )
        assert fd >= 0, log
        return fd

    def tracing(self, attach_type: int, name: str) -> int:
        """A program for a function or tracepoint of the kernel."""
        btf = self.machine.kernel.observer.vmlinux_btf
        assert btf is not None
        return self.load(uapi.BPF_PROG_TYPE_TRACING, expected_attach_type=attach_type, attach_btf_id=btf.find(name))

    def open(self, fd: int, name: str | None = None) -> int:
        """BPF_RAW_TRACEPOINT_OPEN: 0 or -errno."""
        try:
            return min(self.task.raw_tracepoint_open(name, fd), 0)
        except KernelError as error:
            return -error.errno

    def event(self) -> int:
        """A perf event on the probe `one`."""
        trace_id = int(self.task.read_file("/sys/kernel/tracing/events/kprobes/one/id"))
        attr = self.task.pack("IIQQ", 2, 112, trace_id, 1).ljust(112, b"\0")
        return self.machine.session.syscalls.syscall("perf_event_open", self.task_put(attr), -1, 0, -1, 0)

    def task_put(self, data: bytes) -> int:
        at = self.machine.session.syscalls.alloc(len(data))
        self.machine.session.syscalls.write(at, data)
        return at

    def set_bpf(self, event: int, prog: int) -> int:
        return self.machine.session.syscalls.syscall("ioctl", event, 0x40042408, prog)


def test_a_raw_tracepoint_program_is_attached_once_to_each_and_reads_what_there_is() -> None:
    t = Tool()
    raw = t.load(RAW)
    assert [t.open(raw, name) for name in ("sched_switch", "sched_switch", "task_rename")] == [0, -EEXIST, 0]
    reads = [t.open(t.load(RAW, f"r0 = *(u64 *)(r1 + {8 * n})\nr0 = 0\nexit"), "task_rename") for n in range(4)]
    assert reads == [0, 0, -EINVAL, -EINVAL]
    writable = uapi.BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE
    source = "r1 = *(u64 *)(r1 + 0)\nr0 = *(u32 *)(r1 + 0)\nr0 = 0\nexit"
    assert t.open(t.load(writable, source), "task_rename") == -EINVAL
    assert t.open(t.load(writable), "task_rename") == 0


def test_a_function_has_a_program_once_and_at_most_38() -> None:
    t = Tool()
    for kind in (uapi.BPF_TRACE_FENTRY, uapi.BPF_TRACE_FEXIT):
        prog = t.tracing(kind, "vfs_open")
        assert [t.open(prog), t.open(prog)] == [0, -EBUSY]
    event = t.tracing(uapi.BPF_TRACE_RAW_TP, "btf_trace_task_rename")
    assert [t.open(event), t.open(event)] == [0, -EEXIST]
    many = [t.open(t.tracing(uapi.BPF_TRACE_FENTRY, "vfs_fsync")) for _ in range(39)]
    assert many == [0] * 38 + [-E2BIG]


def test_programs_on_the_events_of_a_kprobe() -> None:
    t = Tool()
    t.task.write_file("/sys/kernel/tracing/kprobe_events", "p:one vfs_open\n")
    plain, sleepable = t.load(KPROBE), t.load(KPROBE, flags=uapi.BPF_F_SLEEPABLE)
    first, second = t.event(), t.event()
    progs = (sleepable, t.load(TRACEPOINT), plain, plain, sleepable)
    assert [t.set_bpf(first, prog) for prog in progs] == [-EINVAL, -EINVAL, 0, -EEXIST, -EINVAL]
    assert t.set_bpf(second, plain) == -EEXIST
    assert t.set_bpf(second, t.load(KPROBE)) == 0


def test_kprobe_multi_is_a_matter_of_the_configuration() -> None:
    for config, answer in (((), -EOPNOTSUPP), (("FPROBE",), -EINVAL)):
        t = Tool(config)
        prog = t.load(KPROBE, expected_attach_type=uapi.BPF_TRACE_KPROBE_MULTI)
        try:
            got = t.task.link_create(prog, 0, uapi.BPF_TRACE_KPROBE_MULTI)
        except KernelError as error:
            got = -error.errno
        assert got == answer
        text = t.task.read_file(f"/boot/config-{t.machine.kernel.version.release}").decode()
        assert ("CONFIG_FPROBE=y\n" in text) == bool(config)
        assert ("# CONFIG_FPROBE is not set\n" in text) == (not config)
        assert "CONFIG_BPF_LSM=y\n" in text


def test_a_trampoline_hands_on_six_arguments_until_6_6() -> None:
    """arch_prepare_bpf_trampoline() of x86: asked of Linux 6.1 with a function of eight."""
    t = Tool()
    assert t.open(t.tracing(uapi.BPF_TRACE_FENTRY, "ip6_xmit")) == -ENOTSUPP
    assert t.open(t.tracing(uapi.BPF_TRACE_FENTRY, "icmp6_send")) == 0


def test_an_element_that_is_a_typedef_is_no_struct() -> None:
    """btf_struct_walk() looks at the element's type as it is: `atomic_long_t count[]` of struct mm_rss_stat, as on Linux 6.1."""
    t = Tool()
    btf = t.machine.kernel.observer.vmlinux_btf
    assert btf is not None
    types = t.machine.kernel.types
    mm, rss = types.offsetof("struct task_struct", "mm"), types.offsetof("struct mm_struct", "rss_stat")
    source = f"""
      call bpf_get_current_task_btf
      r1 = *(u64 *)(r0 +{mm})
      r2 = *(u64 *)(r1 +{rss})
      r0 = 0
      exit
    """
    fd, log = t.task.prog_load(
        uapi.BPF_PROG_TYPE_RAW_TRACEPOINT, encode(assemble(source), t.task.byteorder), log_level=1, log_size=4096
    )
    assert fd == -EINVAL and "Type 'atomic_long_t' is not a struct" in log


def test_what_a_task_weighs_is_in_its_struct() -> None:
    """task->se.load by its nice value, timer slack and references: as programs read them on Linux 6.1."""
    machine = simkernel.boot()
    task = machine.kernel.tasks.by_pid[machine.session.syscalls.syscall("getpid")]
    read = machine.kernel.mirror.get_field
    assert read(task.addr, "task_struct", "se.load.weight") == 1024 << 10
    assert read(task.addr, "task_struct", "se.load.inv_weight") == 4194304
    assert machine.session.syscalls.syscall("setpriority", 0, 0, 5) == 0
    assert read(task.addr, "task_struct", "se.load.weight") == 335 << 10
    assert read(task.addr, "task_struct", "se.load.inv_weight") == 12820798
    assert read(task.addr, "task_struct", "timer_slack_ns") == 50_000
    assert machine.session.syscalls.syscall("prctl", 29, 7, 0, 0, 0) == 0  # PR_SET_TIMERSLACK
    assert read(task.addr, "task_struct", "timer_slack_ns") == 7
    assert read(task.cred.addr, "cred", "user_ns") == machine.kernel.vfs.init_user_ns
