"""Who takes a signal, and what the others of its thread group notice."""

import struct
from pathlib import Path

import pytest

from arch.abi.errno import EFAULT
from arch.abi.signal import SIGKILL, SIGSEGV, SIGUSR1
from arch.errors import KernelError
from simkernel.fs.pipe import PipeBuffer
from simkernel.fs.rootfs import add_file
from simkernel.kernel.sigpending import SigAction, SigInfo
from simkernel.machine import boot

PROGRAMS = Path(__file__).parent / "programs" / "signals"
SECOND = 10**9


def elf(code):
    """A static x86-64 program of one segment."""
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0x400080, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000, 0x400000, 0x1000, 0x1000, 0x1000)
    return ((head + load).ljust(0x80, b"\0") + code).ljust(0x1000, b"\0")


def started(name):
    m = boot()
    add_file(m.kernel.vfs, "/tmp/program", elf((PROGRAMS / f"{name}.bin").read_bytes()), 0o755)
    return m


def run(m):
    result = m.run(["/tmp/program"], timeout_virtual_ns=SECOND)
    return result.timed_out, result.signal, result.status


def test_a_call_that_another_threads_signal_met_is_restarted():
    """The signal of the group is there when one thread starts to read, and another one takes it: no errno 512."""
    m = started("restart")
    k = m.kernel
    hits = []

    def reading(regs):
        hits.append(k.current.pid)
        if len(hits) == 1:
            k.signals.send(k.current.group_leader, SIGUSR1)

    k.cpu.add_probe(k.symbols.address("pipe_read"), reading)
    k.text.set_probed(k.symbols.address("pipe_read"), True)  # so that it is called
    assert run(m) == ("", 0, 1)
    assert len(hits) == 2


def test_a_driven_call_is_restarted():
    """The signal is gone before the task is back in user mode."""
    m = boot()
    k = m.kernel
    task = m.user_task()
    fds = task.alloc(8)
    assert task.syscall("pipe2", fds, 0) == 0
    reader = int.from_bytes(task.read(fds, 4), "little")
    task.task.signal.actions[SIGUSR1] = SigAction(0x1000)
    pipe = task.task.files.fds[reader].f_inode.i_pipe
    began, left = [], []

    def reading(regs):
        began.append(1)
        if len(began) == 1:
            k.signals.send(task.task, SIGUSR1)

    def returning(regs):
        if began and not left:
            left.append(1)
            task.task.signal.pending.flush(-1)
            pipe.bufs.append(PipeBuffer(bytearray(b"y")))

    k.cpu.add_probe(k.symbols.address("pipe_read"), reading)
    k.cpu.add_probe(k.text.address_of("exit_to_user_mode_loop"), returning)
    assert task.syscall("read", reader, task.alloc(8), 8) == 1
    assert len(began) == 2


def test_sigwait_in_a_thread_that_is_not_the_leader():
    """kill(2) finds the thread that waits, though every thread blocks the signal."""
    assert run(started("sigwait")) == ("", 0, SIGUSR1)


def test_wait_looks_again_after_its_signal():
    """SIGCHLD has a handler without SA_RESTART and comes with the child's end: the child's status, not EINTR."""
    assert run(started("wait")) == ("", 0, 3)


@pytest.mark.parametrize(("name", "end"), [("frame_altstack", (0, 5)), ("frame_fatal", (SIGSEGV, 0))])
def test_a_frame_that_cannot_be_written(name, end):
    """SIGSEGV is sent, and its handler runs if its own frame can be written."""
    timed_out, signal, status = run(started(name))
    assert (timed_out, signal, 0 if signal else status) == ("", *end)


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "riscv64", "s390x", "i386", "arm"])
@pytest.mark.parametrize("sp", [0, 8, 120, 700, 4095])
def test_no_room_below_the_stack_pointer(arch, sp):
    """Nothing of it is below address 0."""
    task = boot(arch=arch).user_task()
    k = task.k
    action = SigAction(0x1000)
    k.signals.delivering = SigInfo(SIGUSR1)
    k.regs.set(task.task.regs, k.arch.stack_pointer, sp)
    k.current = task.task
    with pytest.raises(KernelError) as refused:
        k.sigframes.abi.setup_rt_frame(k.sigframes, task.task.regs, k.signals.delivering, action, 0)
    assert refused.value.errno == EFAULT


def test_sigtimedwait_leaves_other_signals_where_they_are():
    """SIGKILL that is pending is not taken as if it were of the set."""
    m = boot()
    task = m.user_task()
    k = m.kernel
    k.signals.send(task.task, SIGKILL)
    waiting = (*task.task.pending, *task.task.signal.pending)
    assert [i.sig for i in waiting] == [SIGKILL]
    assert k.signals.dequeue(task.task, ~(1 << (SIGUSR1 - 1))) is None
