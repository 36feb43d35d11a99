"""What was begun and ended leaves nothing: no page of simulated memory, no object of the host's."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

import simkernel
from arch.abi.fcntl import O_APPEND, O_WRONLY
from arch.garbage import KEPT_BETWEEN
from bpf.isa.asm import assemble
from bpf.isa.insn import encode
from simkernel.machine import Machine, MachineError
from simkernel.usertask import Calls, Request

SAMPLES = Path(__file__).parent.parent.parent / "samples"
TRACEFS = "/sys/kernel/tracing"
ROUNDS = 12


def load_attach_close(m: Machine) -> None:
    obj = m.load(SAMPLES / "obj" / "x86_64" / "writes.bpf.o")
    obj.attach()
    obj.close()


def usdt(m: Machine) -> None:
    obj = m.load(SAMPLES / "obj" / "x86_64" / "requests.bpf.o")
    obj.attach()
    obj.close()


def kprobe_event(m: Machine) -> None:
    s = m.session
    name = f"growth{s.task.call('getpid') % 3}"
    s.write_file(f"{TRACEFS}/kprobe_events", f"p:{name} vfs_read count=%dx\n", O_WRONLY | O_APPEND)
    s.write_file(f"{TRACEFS}/events/kprobes/{name}/enable", "1")
    s.write_file(f"{TRACEFS}/events/kprobes/{name}/enable", "0")
    s.write_file(f"{TRACEFS}/kprobe_events", f"-:{name}\n", O_WRONLY | O_APPEND)


def many_kprobe_events(m: Machine) -> None:
    """Every name is a new one: nobody asks for the old ones again."""
    s = m.session
    name = f"n{m.kernel.clock.now_ns}"
    s.write_file(f"{TRACEFS}/kprobe_events", f"p:{name} vfs_read\n", O_WRONLY | O_APPEND)
    assert s.read_file(f"{TRACEFS}/events/kprobes/{name}/format")
    s.write_file(f"{TRACEFS}/kprobe_events", f"-:{name}\n", O_WRONLY | O_APPEND)


def fork_exit(m: Machine) -> None:
    def child(u: Calls) -> Generator[Request, int, object]:
        yield u.getppid()

    def story(u: Calls) -> Generator[Request, int, object]:
        pid = yield u.fork(child)
        yield u.wait4(pid, 0, 0, 0)

    m.wait(m.workload(story))


def program(m: Machine) -> None:
    assert m.run(["/bin/hello"]).status == 0


def mount_umount(m: Machine) -> None:
    def story(u: Calls) -> Generator[Request, int, object]:
        assert (yield u.mount("none", "/tmp", "tmpfs", 0, 0)) == 0
        yield u.umount2("/tmp", 0)

    m.wait(m.workload(story))


def prog_load(m: Machine) -> None:
    fd, _ = m.session.task.prog_load(1, encode(assemble("r0 = 0\nexit")))
    m.session.task.call("close", fd)


def credentials(m: Machine) -> None:
    """Each change makes new ones; so does a new program."""

    def child(u: Calls) -> Generator[Request, int, object]:
        yield u.setresuid(0, 0, 0)

    def story(u: Calls) -> Generator[Request, int, object]:
        for _ in range(8):
            yield u.setresuid(0, 0, 0)
            yield u.prctl(24, 40, 0, 0, 0)
        yield u.fork(child)

    m.wait(m.workload(story))


STORIES = (
    load_attach_close,
    usdt,
    kprobe_event,
    many_kprobe_events,
    fork_exit,
    program,
    credentials,
    mount_umount,
    prog_load,
)


def prepare(story: Callable[[Machine], None]) -> Machine:
    """A machine with what the story runs."""
    m = simkernel.boot()
    m.install(SAMPLES / "bin" / "x86_64" / "hello")
    if story is usdt:
        from simkernel.fs.rootfs import add_file

        add_file(m.kernel.vfs, "/samples/server", (SAMPLES / "bin" / "x86_64" / "server").read_bytes(), 0o755)
    return m


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_nothing_is_left(story: Callable[[Machine], None]) -> None:
    m = prepare(story)
    rounds = 200 if story is many_kprobe_events else ROUNDS
    for _ in range(rounds):
        story(m)
    gc.collect()
    pages, objects = m.kernel.physical.free_pages, len(gc.get_objects())
    for _ in range(rounds):
        story(m)
    gc.collect()
    # names that are gone are forgotten by the dozen (simkernel/fs/pseudo.py)
    assert pages - m.kernel.physical.free_pages <= (30 if story is many_kprobe_events else 3)
    # data of removed probes is kept until translated code is dropped: a few objects each, up to a bound (arch/probes.py)
    assert len(gc.get_objects()) - objects <= 16 * rounds


def test_a_closed_machine_gives_everything_back() -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4

    for _ in range(3):
        with simkernel.boot() as m:
            m.session.read_file("/proc/uptime")
    gc.collect()
    before, objects = resident(), len(gc.get_objects())
    for _ in range(5):
        with simkernel.boot() as m:
            m.session.read_file("/proc/uptime")
        assert m.kernel.physical.read(0, 64) == bytes(64)
        m.close()
        with pytest.raises(MachineError, match="closed"):
            m.run(["/bin/hello"])
    del m
    gc.collect()
    assert len(gc.get_objects()) - objects < 500
    assert resident() - before < 5 * 3000  # KiB; a machine takes ten times that


def test_dead_machines_are_found_without_being_asked_for() -> None:
    """Nobody searches for garbage here but Python and boot() itself."""
    machines = []
    for _ in range(3 * KEPT_BETWEEN):
        with simkernel.boot() as m:
            machines.append(weakref.ref(m.kernel))
        del m  # or the next boot's search would find it named
    assert sum(machine() is not None for machine in machines) <= KEPT_BETWEEN
