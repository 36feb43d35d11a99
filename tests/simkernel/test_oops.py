"""A bug of ours becomes an oops: the log tells, the task dies, what it held is free, and the machine goes on."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest

import simkernel
from arch.abi.signal import SIGKILL
from arch.cpu import KernelCrash
from simkernel.bug import Oops
from simkernel.fs.rootfs import add_file
from simkernel.kernel.runqueue import RunQueue
from simkernel.kernel.task import Task
from simkernel.machine import Machine
from simkernel.usertask import CODE
from tracing.probes.kprobes import Kprobe, Kretprobe

ARCHES = ["x86_64", "arm64", "riscv64", "s390x", "i386", "arm"]
BUSYBOX = shutil.which("busybox")
BUG = "this is what is wrong"
OBJECTS = Path(__file__).parents[2] / "samples" / "obj" / "x86_64"
GETPID = bytes.fromhex("b8270000000f05b8e700000031ff0f05")  # getpid(); exit_group(0)


def elf(code: bytes) -> bytes:
    """A static x86-64 program."""
    base, size = 0x400000, 120 + len(code)
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, base + 120, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return head + struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, size, size, 4096) + code


def wrong(*args: object) -> int:
    raise LookupError(BUG)


def replace_body(machine: Machine, name: str, body) -> None:
    """From now on this function of the text has another (plain) body."""
    k = machine.kernel
    k.cpu.set_enter(k.text.image.names.index(k.text.symbol_of[name]), body, 1)


@pytest.fixture(scope="module", params=ARCHES)
def box(request):
    m = simkernel.boot(arch=request.param)
    yield m
    m.close()


def test_a_bug_in_a_system_call_kills_the_task_and_only_it(box: Machine) -> None:
    k = box.kernel
    box.user_task("first").exit()
    box.settle()
    objects = k.mem.live_objects
    replace_body(box, "do_sys_openat2", wrong)
    task = box.user_task("victim")
    with pytest.raises(Oops) as caught:
        task.syscall("openat", -100, "/etc/hostname", 0, 0)
    k.cpu.set_enter(k.text.image.names.index("do_sys_openat2"), None, 0)
    assert isinstance(caught.value.__cause__, LookupError)
    assert task.task.exit_code == SIGKILL and not caught.value.fatal
    box.settle()
    assert k.mem.live_objects == objects
    other = box.user_task("other")
    assert other.syscall("openat", -100, "/proc/version", 0, 0) == 0
    other.exit()


def test_the_log_tells_it_as_linux_does(box: Machine) -> None:
    k = box.kernel
    before = len(k.log.texts)
    number = k.cpus.bugs + 1
    replace_body(box, "do_sys_openat2", wrong)
    with pytest.raises(simkernel.Oops) as caught:
        box.user_task("victim").syscall("openat", -100, "/etc/hostname", 0, 0)
    k.cpu.set_enter(k.text.image.names.index("do_sys_openat2"), None, 0)
    lines = k.log.texts[before:]
    assert "\n".join(lines) == caught.value.text
    assert lines[0] == "------------[ cut here ]------------"
    assert lines[1].startswith("kernel BUG at tests/simkernel/test_oops.py:")
    assert lines[2] == f"Oops: 0000 [#{number}] SMP"
    assert f"Comm: victim {'Not tainted' if number == 1 else 'Tainted: G      D'}" in lines[3]
    place = next(line for line in lines if "do_sys_openat2+0x" in line)
    assert place == k.arch.oops_pc.format(place[place.index("do_sys_openat2") :])
    trace = lines[lines.index(" <TASK>") + 1 : lines.index(" </TASK>")]
    assert any("sys_openat+0x" in line for line in trace) and "do_sys_openat2" not in trace[0]
    assert f"Python: LookupError: {BUG}" in lines
    assert lines[-2].endswith("wrong: raise LookupError(BUG)") and lines[-1].startswith("---[ end trace")
    printed = " ".join(lines)
    assert all(f"{name}: " in printed for name, field in k.arch.crash_registers if field != k.arch.instruction_pointer)


def test_a_handler_in_user_mode_kills_the_task(box: Machine) -> None:
    """A probe on user code that raises: the CPU is in user mode, and goes into the kernel by the timer's door."""
    k = box.kernel
    task = box.user_task("victim")
    probe = k.cpu.add_probe(CODE, wrong, user=True)
    with pytest.raises(Oops) as caught:
        task.syscall("getpid")
    k.cpu.remove_probe(probe)
    assert task.task.exit_code == SIGKILL
    assert k.arch.oops_pc.format(f"{CODE:#x}") in caught.value.text and "Call Trace" not in caught.value.text
    assert box.user_task("other").syscall("getppid") == 1


def test_a_kprobe_that_raises_kills_who_hit_it(box: Machine) -> None:
    k = box.kernel
    task = box.user_task("victim")
    kprobe = Kprobe(wrong, symbol="do_sys_openat2")
    k.observer.tracing.kprobes.register(kprobe)
    with pytest.raises(Oops, match=BUG):
        task.syscall("openat", -100, "/etc/hostname", 0, 0)
    assert task.task.exit_code == SIGKILL
    k.observer.tracing.kprobes.unregister(kprobe)
    assert box.user_task("other").syscall("openat", -100, "/proc/version", 0, 0) == 0


@pytest.fixture
def fresh():
    m = simkernel.boot(cpus=2)
    yield m
    m.close()


def test_what_the_task_had_attached_goes_with_it(fresh: Machine) -> None:
    """Its files are closed, so are perf events and the probes that hang on them."""
    k = fresh.kernel
    fresh.load(OBJECTS / "writes.bpf.o").attach()
    assert k.text.probed
    first = fresh.session
    replace_body(fresh, "do_sys_openat2", wrong)
    with pytest.raises(Oops):
        first.read_file("/proc/version")
    k.cpu.set_enter(k.text.image.names.index("do_sys_openat2"), None, 0)
    fresh.settle()
    assert not any(k.text.probed.values())
    assert not k.observer.bpf.progs.objects
    assert b"Linux version" in fresh.session.read_file("/proc/version")  # by a new task


def test_return_probes_under_way_are_given_back(fresh: Machine) -> None:
    """kprobe_flush_task(): the function never returns, and its instance is free for the next call."""
    k = fresh.kernel
    probe = Kretprobe(lambda instance, regs: None, symbol="do_sys_openat2")
    k.observer.tracing.kprobes.register_kretprobe(probe)
    free = probe.instances.free
    task = fresh.user_task("victim")
    replace_body(fresh, "do_sys_openat2", wrong)
    with pytest.raises(Oops):
        task.syscall("openat", -100, "/etc/hostname", 0, 0)
    assert probe.instances.free == free > 0


def test_locks_that_the_task_held_are_free(fresh: Machine) -> None:
    k = fresh.kernel
    seen = []
    kprobe = Kprobe(
        lambda regs: seen.append(k.arch.argument(k.mem, regs, 0, k.cpu.layout)), symbol="down_write_killable"
    )
    k.observer.tracing.kprobes.register(kprobe)
    task = fresh.user_task("victim")
    k.text.leaves["do_mmap"] = wrong
    task.task.mm.users += 1  # another thread's: the lock outlives this one
    with pytest.raises(Oops):
        task.syscall("mmap", 0, 4096, 3, 0x22, -1, 0)
    assert seen and k.mirror.get_field(seen[-1], "rw_semaphore", "count.counter") == 0
    assert not task.task.held_locks


def test_a_kernel_thread_dies_alone(fresh: Machine) -> None:
    k = fresh.kernel

    def body():
        yield k.wait(None, timeout_ns=1000)
        wrong()

    thread = k.threads.make_kernel_thread("worker", body)
    k.cpus.wake_new(thread)
    with pytest.raises(Oops, match="Comm: worker"):
        k.cpus.run(lambda: thread.exit_state)
    assert fresh.user_task().syscall("getppid") == 1


def test_a_bug_while_a_task_ends_leaves_it_where_it_is(fresh: Machine) -> None:
    k = fresh.kernel
    replace_body(fresh, "exit_files", wrong)
    task = fresh.user_task("victim")
    with pytest.raises(Oops):
        task.exit()
    k.cpu.set_enter(k.text.image.names.index("exit_files"), None, 0)
    assert k.log.texts[-1] == "Fixing recursive fault but reboot is needed!"
    assert fresh.user_task().syscall("getppid") == 1


def test_a_bug_in_an_interrupt_is_the_end(fresh: Machine) -> None:
    k = fresh.kernel
    replace_body(fresh, "handle_irq_event", wrong)
    k.irqs.raise_irq(11, "handle_irq_event", 11)
    with pytest.raises(Oops, match="Kernel panic - not syncing: Fatal exception in interrupt") as caught:
        fresh.user_task()
    assert caught.value.fatal
    with pytest.raises(Oops):
        fresh.run(["/bin/true"])


def test_a_timer_that_raises_while_nothing_runs_is_the_end(fresh: Machine) -> None:
    k = fresh.kernel
    fresh.settle()
    k.clock.add(k.clock.now_ns + 1000, wrong)
    with pytest.raises(Oops, match="Attempted to kill the idle task!"):
        k.cpus.run(lambda: False)


def test_what_code_of_the_host_raises_stays_what_it_is(fresh: Machine) -> None:
    """A workload is the user's program; its task is killed, and the machine goes on."""

    def program(u):
        yield u.getpid()
        wrong()

    task = fresh.workload(program)
    with pytest.raises(LookupError, match=BUG):
        fresh.kernel.cpus.run(lambda: task.exit_state)
    fresh.settle()
    assert task.exit_code == SIGKILL and not any("BUG" in line for line in fresh.kernel.log.texts)
    assert fresh.user_task().syscall("getppid") == 1


def test_a_program_of_a_machine_run(fresh: Machine) -> None:
    """Machine.run() raises it; the next program runs."""
    k = fresh.kernel
    add_file(k.vfs, "/bin/p", elf(GETPID), 0o755)
    name = k.syscalls.symbols["getpid"]
    k.cpu.set_enter(k.text.image.names.index(name), wrong, 1)
    with pytest.raises(Oops) as caught:
        fresh.run(["/bin/p"])
    assert caught.value.machine == {"arch": "x86_64", "kernel": "6.1", "cpus": 2, "seed": 0, "memory": 256 << 20}
    k.cpu.set_enter(k.text.image.names.index(name), None, 0)
    assert fresh.run(["/bin/p"]).status == 0
    fresh.settle()
    assert not [t for t in k.tasks.by_pid.values() if t.comm == "p"]


def test_kernel_text_that_faults_is_a_bug_too(fresh: Machine) -> None:
    k = fresh.kernel
    task = fresh.user_task("victim")
    ip = k.arch.instruction_pointer

    def astray(regs: int) -> bool:
        k.cpu.layout.set(k.mem, regs, ip, 0x10)
        return True

    probe = k.cpu.add_probe(k.symbols["do_sys_openat2"].address, astray)
    with pytest.raises(Oops, match="BUG: page fault in kernel mode for address: 0") as caught:
        task.syscall("openat", -100, "/etc/hostname", 0, 0)
    k.cpu.remove_probe(probe)
    assert isinstance(caught.value.__cause__, KernelCrash) and task.task.exit_code == SIGKILL


@pytest.mark.skipif(BUSYBOX is None, reason="needs a static busybox on this host")
def test_a_bug_in_the_middle_of_a_switch(fresh: Machine) -> None:
    """Who was to leave the CPU waits for it no more, who was to come waits again."""
    k = fresh.kernel
    told = k.cpus.rqs[0].told

    def once(queue: RunQueue, task: Task) -> None:
        if task is queue.current:  # it still runs, and waits already
            for each in k.cpus.rqs:
                each.told = told
            raise LookupError(BUG)

    for each in k.cpus.rqs:
        each.told = once
    count = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done"
    with pytest.raises(Oops, match=BUG):
        fresh.run([fresh.install(BUSYBOX), "sh", "-c", f"({count}) & ({count}) & ({count}) & {count}; wait"])
    fresh.settle()
    assert all(queue.current not in queue.tasks and all(task.addr for task in queue.tasks) for queue in k.cpus.rqs)
    assert b"Linux version" in fresh.session.read_file("/proc/version")
