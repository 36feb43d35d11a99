"""kprobes and kretprobes on a machine without a CPU."""

import re
import shutil
import sys

import pytest

import simkernel
from arch.abi.errno import EILSEQ, EINVAL, ENOENT
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from tests.tracing.fakes import TEXT, echo, machine
from tracing.probes.kprobes import Kprobe, Kretprobe

ARCHES = ["x86_64", "arm64", "riscv64", "s390x"]


def errno_of(function, *args):
    with pytest.raises(KernelError) as error:
        function(*args)
    return error.value.errno


def test_where_probes_may_be():
    tracing = machine()
    kprobes, host = tracing.kprobes, tracing.host
    hits = []
    for kp, errno in (
        (Kprobe(hits.append), EINVAL),  # neither symbol nor address
        (Kprobe(hits.append, "vfs_read", addr=TEXT), EINVAL),  # both
        (Kprobe(hits.append, "nosuch"), ENOENT),
        (Kprobe(hits.append, "vfs_read", 2), EILSEQ),
        (Kprobe(hits.append, "exc_int3"), EINVAL),
        (Kprobe(hits.append, addr=0xFFFF888000000000), ENOENT),
        (Kprobe(hits.append, "linux_banner"), EINVAL),
    ):
        assert errno_of(kprobes.register, kp) == errno
    for offset in (0, 5, 9, 12, 16):
        kprobes.register(Kprobe(hits.append, "vfs_read", offset))
    assert len(host.armed) == 5
    twice = Kprobe(hits.append, "vfs_read")
    kprobes.register(twice)
    assert errno_of(kprobes.register, twice) == EINVAL


def test_several_probes_per_address_and_enable():
    tracing = machine()
    order = []
    a, b = (
        Kprobe(lambda r: order.append("a"), "vfs_read"),
        Kprobe(lambda r: order.append("b"), "vfs_read", disabled=True),
    )
    host, address = tracing.host, tracing.host.address["vfs_read"]
    tracing.kprobes.register(a)
    tracing.kprobes.register(b)
    host.armed[address](0)
    tracing.kprobes.enable(b)
    host.armed[address](0)
    tracing.kprobes.disable(a)
    host.armed[address](0)
    assert order == ["a", "b", "a", "b"]  # the newest first, as add_new_kprobe() has it
    tracing.kprobes.unregister(b)
    assert address not in host.armed
    tracing.kprobes.enable(a)
    tracing.kprobes.unregister(a)
    assert not host.armed
    assert not tracing.kprobes.sites


def test_a_hit_inside_a_handler_is_missed():
    tracing = machine()
    host = tracing.host
    inner = Kprobe(lambda regs: 1 / 0, "vfs_write")
    outer = Kprobe(lambda regs: host.armed[host.address["vfs_write"]](regs), "vfs_read")
    tracing.kprobes.register(inner)
    tracing.kprobes.register(outer)
    host.armed[host.address["vfs_read"]](0)
    assert (inner.nmissed, outer.nmissed) == (1, 0)
    host.cpu = 1
    with pytest.raises(ZeroDivisionError):  # another CPU handles no probe: the handler runs
        host.armed[host.address["vfs_write"]](0)
    with pytest.raises(ZeroDivisionError):  # and an exception leaves no CPU marked busy
        host.armed[host.address["vfs_write"]](0)


def enter(tracing, name, back):
    """A call of `name` that will return to `back`: the pt_regs of its first instruction."""
    host = tracing.host
    stack = host.mem.alloc(64)
    regs = host.regs(**{host.arch.stack_pointer: stack})
    host.arch.set_return_address(host.mem, regs, back, host.layout)
    changed = host.armed[host.address[name]](regs)
    return regs, changed


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("version", [KernelVersion.parse(text) for text in ("4.1", "6.1")])
def test_return_address_is_replaced_and_given_back(arch, version):
    tracing = machine(version, arch)
    host = tracing.host
    seen = []
    ip = host.arch.instruction_pointer

    def handler(instance, regs):
        seen.append((instance.ret_addr, host.layout.get(host.mem, regs, ip)))

    tracing.kprobes.register_kretprobe(Kretprobe(handler, "vfs_read"))
    back = host.address["ksys_write"] + 0x20
    regs, changed = enter(tracing, "vfs_read", back)
    assert changed
    assert host.arch.return_address(host.mem, regs, host.layout) == host.return_trampoline
    assert host.return_handler(host.regs(**{ip: host.return_trampoline})) == back
    shown = back if version == KernelVersion.parse("6.1") else host.return_trampoline
    assert seen == [(back, shown)]


def test_recursion_two_probes_and_maxactive():
    tracing = machine()
    host = tracing.host
    seen = []
    first = Kretprobe(lambda i, r: seen.append("first"), "vfs_read", maxactive=2)
    second = Kretprobe(lambda i, r: seen.append("second"), "vfs_read", maxactive=1)
    tracing.kprobes.register_kretprobe(first)
    tracing.kprobes.register_kretprobe(second)
    backs = [host.address["schedule"] + 4 * n for n in range(3)]
    for back in backs:
        enter(tracing, "vfs_read", back)
    assert (first.nmissed, second.nmissed) == (1, 2)
    # the third call was not caught: it returns by itself; then the second and the first
    assert host.return_handler(host.regs()) == backs[1]
    assert seen == ["first"]
    assert host.return_handler(host.regs()) == backs[0]
    assert seen == ["first", "first", "second"]  # the newest went in first, and comes out last
    assert (first.instances.free, second.instances.free) == (2, 1)


def test_tasks_have_their_own_instances():
    tracing = machine()
    host = tracing.host
    probe = Kretprobe(lambda i, r: None, "vfs_read", maxactive=2)
    tracing.kprobes.register_kretprobe(probe)
    enter(tracing, "vfs_read", 0x1000)
    host.task = "task82"
    enter(tracing, "vfs_read", 0x2000)
    host.task = "task81"
    assert host.return_handler(host.regs()) == 0x1000
    tracing.task_exit("task82")
    assert probe.instances.free == 2
    assert not len(tracing.kprobes.returns)


def test_unregistering_with_a_call_under_way():
    tracing = machine()
    host = tracing.host
    probe = Kretprobe(lambda i, r: 1 / 0, "vfs_read")
    tracing.kprobes.register_kretprobe(probe)
    enter(tracing, "vfs_read", 0x1234)
    tracing.kprobes.unregister_kretprobe(probe)
    assert host.return_handler(host.regs()) == 0x1234


def test_entry_handler_may_decline_and_keep_data():
    tracing = machine()
    host = tracing.host
    seen = []

    def entry(instance, regs):
        instance.data = host.layout.get(host.mem, regs, host.arch.stack_pointer)
        return seen.append("declined") or True if len(seen) == 0 else False

    probe = Kretprobe(lambda i, r: seen.append(i.data), "vfs_read", entry_handler=entry)
    tracing.kprobes.register_kretprobe(probe)
    _, changed = enter(tracing, "vfs_read", 0x1)
    assert not changed
    regs, changed = enter(tracing, "vfs_read", 0x2)
    assert changed
    host.return_handler(host.regs())
    assert seen == ["declined", host.layout.get(host.mem, regs, host.arch.stack_pointer)]


def test_return_probe_needs_a_function_entry():
    tracing = machine()
    assert errno_of(tracing.kprobes.register_kretprobe, Kretprobe(print, addr=TEXT + 0x1004)) == EINVAL
    assert Kretprobe(print, "vfs_read").maxactive == 0
    probe = Kretprobe(print, "vfs_read")
    tracing.kprobes.register_kretprobe(probe)
    assert probe.maxactive == 10


@pytest.mark.parametrize(
    ("arch", "version", "shown"),
    [
        ("x86_64", "4.1", True), ("i386", "6.1", True), ("arm64", "6.1", False), ("arm", "6.1", False),
        ("s390x", "6.1", True), ("s390x", "5.5", False), ("riscv64", "6.1", True), ("riscv64", "5.11", False),
    ],
)  # fmt: skip
def test_which_probes_would_sit_on_ftrace_sites(arch, version, shown):
    """CONFIG_KPROBES_ON_FTRACE came to the CPUs one by one."""
    tracing = machine(version, arch=arch)
    tracing.kprobes.register(Kprobe(lambda regs: None, symbol="vfs_read"))
    (line,) = tracing.kprobes.list_lines()
    assert line.endswith("[FTRACE]\n") is shown


RETURNS = """
cd /sys/kernel/tracing
echo 'p:k1 vfs_read flags=%flags ax=%orig_ax cs=%cs ss=%ss ret=$stack0:symbol' > kprobe_events
echo 'p:k2 vfs_read' >> kprobe_events
echo 'r:r1 vfs_read ret=$retval flags=%flags ax=%orig_ax ip=%ip:symbol' >> kprobe_events
echo 'r:r2 vfs_read ret=$retval' >> kprobe_events
echo 1 > events/kprobes/enable
head -c 5 /proc/uptime > /dev/null
echo 0 > events/kprobes/enable
grep head- trace
"""


@pytest.mark.skipif(not shutil.which("busybox"), reason="needs a static busybox on this host")
def test_handlers_of_one_place_and_their_registers():
    """On 6.1: newest first, interrupts on, orig_ax 0 at an ftrace site; of two return probes the older sees the trampoline."""
    machine = simkernel.boot()
    run = machine.run([machine.install(shutil.which("busybox")), "sh", "-c", RETURNS], timeout_host_s=60)
    k2, k1, r1, r2 = (re.sub(r"^.*?\.\d+: ", "", line) for line in run.text.splitlines()[:4])
    assert k2.startswith("k2: (vfs_read+0x0/")
    fields = dict(word.split("=") for word in k1.split() if "=" in word)
    assert int(fields["flags"], 16) & 0x202 == 0x202
    assert (fields["ax"], fields["cs"], fields["ss"]) == ("0x0", "0x10", "0x18")
    assert fields["ret"].startswith("arch_rethook_trampoline+0x0/")
    fields = dict(word.split("=") for word in r1.split() if "=" in word)
    assert r1.startswith("r1: ([unknown/kretprobe'd] <- vfs_read) ret=0x")
    assert fields["ax"] == "0xffffffffffffffff" and fields["ip"].startswith("ksys_read+")
    assert r2.startswith("r2: (ksys_read+")


def test_what_no_event_may_probe():
    """within_notrace_func(): assembly, tracing itself and the blacklist are EINVAL; a name that is not there is ENOENT."""
    tracing = machine("6.1")
    for name in ("memcpy", "kprobe_ftrace_handler", "trace_event_buffer_commit", "__schedule", "do_int3", "strlen"):
        assert errno_of(echo, tracing, "kprobe_events", f"p {name}") == EINVAL, name
    assert "trace_kprobe: Could not probe notrace function strlen" in tracing.host.log
    assert errno_of(echo, tracing, "kprobe_events", "p no_such_function") == ENOENT
    for name in ("schedule", "do_error_trap", "bpf_get_current_pid_tgid"):
        echo(tracing, "kprobe_events", f"p {name}")


def lines_run(work):
    """How many lines of Python it takes, turns of loops included."""
    count = 0

    def trace(frame, event, arg):
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def nothing(regs):
    return None


def test_the_five_hundredth_probe_on_an_address_takes_no_more_than_the_twentieth():
    kprobes = machine().kprobes
    probes = [Kprobe(nothing, "vfs_read") for _ in range(500)]
    taken = [lines_run(lambda kp=kp: kprobes.register(kp)) for kp in probes]
    assert taken[-1] == taken[20]
    taken = [lines_run(lambda kp=kp: kprobes.unregister(kp)) for kp in probes]
    assert taken[400] == taken[20]


def test_the_three_hundredth_event_takes_little_more_than_the_tenth():
    tracing = machine()

    def taken(text, path, append=False):
        return lines_run(lambda: echo(tracing, path, text, append=append))

    made = [taken(f"p:e{number} vfs_read\n", "kprobe_events", True) for number in range(300)]
    assert made[-1] - made[10] < 10 * 300
    for switch in ("1", "0"):
        turned = [taken(switch, f"events/kprobes/e{number}/enable") for number in range(300)]
        middle = turned[290] if switch == "1" else turned[100]
        assert middle <= turned[30]
