"""The Python face misused: another thread, a call from inside, a machine that is closed, values that cannot be.  An exception of
Python's each time, never the end of the process, and never a machine that stands still.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import simkernel
from arch.hosttime import HOST
from arch.lastly import lastly
from simkernel.machine import Machine, MachineError

SAMPLES = Path(__file__).parents[2] / "samples"
HELLO, WRITER = SAMPLES / "bin" / "x86_64" / "hello", SAMPLES / "bin" / "x86_64" / "writer"


@pytest.fixture
def m() -> Machine:
    machine = simkernel.boot()
    machine.install(HELLO)
    return machine


def on_write(m: Machine, handler: Callable[[int], object]) -> None:
    m.kernel.cpu.add_probe(m.kernel.symbols.address("vfs_write"), handler)


def endless(u):
    while True:
        yield u.getpid()


def test_a_handler_cannot_run_its_machine(m: Machine) -> None:
    on_write(m, lambda regs: m.run(["/bin/hello"]))
    with pytest.raises(simkernel.Oops, match="kernel BUG"):
        m.run(["/bin/hello"], timeout_host_s=60)


def test_a_workload_cannot_run_its_machine(m: Machine) -> None:
    def inside(u):
        yield u.getpid()
        m.run(["/bin/hello"])

    with pytest.raises(RuntimeError, match="this machine runs already"):
        m.wait(m.workload(inside))
    assert m.session.read_file("/proc/uptime")


def test_but_another_machine(m: Machine) -> None:
    with simkernel.boot() as other:
        other.install(HELLO)
        said = []
        on_write(m, lambda regs: said.append(other.run(["/bin/hello"]).text))
        assert m.run(["/bin/hello"]).text == "hello, world\n" and said == ["hello, world\n"]


@pytest.mark.parametrize("way", ["probe", "strace"])
def test_closed_by_what_it_calls(way: str) -> None:
    m = simkernel.boot(strace=(lambda line: m.close()) if way == "strace" else None)
    m.install(HELLO)
    if way == "probe":
        on_write(m, lambda regs: m.close())
    with pytest.raises(MachineError, match="closed"):
        m.run(["/bin/hello"])
    with pytest.raises(MachineError, match="closed"):
        m.run(["/bin/hello"])


def test_closed_by_another_thread() -> None:
    m = simkernel.boot()
    running, said = threading.Event(), []

    def program(u):
        yield u.getpid()
        running.set()
        yield from endless(u)

    def go() -> None:
        try:
            m.wait(m.workload(program), timeout_host_s=60)
        except MachineError as error:
            said.append(str(error))

    thread = threading.Thread(target=go)
    thread.start()
    assert running.wait(60)
    m.close()
    thread.join(60)
    assert said == ["this machine is closed"]


def test_one_thread_at_a_time(m: Machine) -> None:
    said: list[object] = []

    def go() -> None:
        try:
            said.append(m.session.read_file("/proc/uptime"))
        except RuntimeError as error:
            said.append(str(error))

    def program(u):
        yield u.getpid()
        thread = threading.Thread(target=go)
        thread.start()
        thread.join()

    m.session.read_file("/proc/uptime")
    assert m.wait(m.workload(program)).status == 0
    assert len(said) == 1 and "another thread" in str(said[0])
    assert m.run(["/bin/hello"]).status == 0


CLOSED = """
import simkernel
m = simkernel.boot()
m.install({hello!r})
obj = m.load({obj!r})
obj.attach()
task, session, kernel = m.user_task(), m.session, m.kernel
m.close()
m.close()
for what in (
    lambda: m.run(["/bin/hello"]), lambda: session.read_file("/proc/uptime"), lambda: task.syscall("getpid"), lambda: obj.close(),
    lambda: list(obj.maps.values())[0].update(1, 1), lambda: obj.bss, lambda: m.workload(lambda u: (yield u.getpid())), lambda: m.record(),
    lambda: m.load({obj!r}), lambda: m.debugger(["/bin/hello"]), lambda: kernel.cpu.sp, lambda: kernel.cpu.pc, lambda: kernel.cpu.run(5),
    lambda: kernel.cpu.stop(), lambda: kernel.cpu.write_reg("rax", 5), lambda: kernel.cpu.new_context(), lambda: kernel.cpu.flush_code(),
    lambda: kernel.cpu.add_probe(kernel.symbols.address("vfs_read"), print), lambda: kernel.cpu.read_reg("rip"), lambda: m.user_task(),
):
    try:
        what()
    except Exception as error:
        print(type(error).__name__, end=" ")
    else:
        print("nothing", end=" ")
kernel.mem.read(kernel.mem.map.text_base, 8)
kernel.mem.alloc(64)
m.counters(), repr(m), m._repr_html_()
print("alive")
"""


def test_nothing_that_is_asked_of_a_closed_machine_ends_the_process() -> None:
    program = CLOSED.format(hello=str(HELLO), obj=str(SAMPLES / "obj" / "x86_64" / "writes.bpf.o"))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("alive\n"), done
    assert done.stdout.split().count("nothing") <= 1, done.stdout


@pytest.mark.parametrize(
    "options",
    [{"cpus": 0}, {"cpus": -1}, {"cpus": 65}, {"cpus": 10**9}, {"cpus": 1.5}, {"memory": 0}, {"memory": -4096}, {"memory": 4096},
     {"memory": 1 << 70}, {"memory": (64 << 20) + 1}, {"memory": "1G"}, {"kernel": None}, {"kernel": 6.1}, {"arch": None}, {"binds": [5]},
     {"binds": [("/tmp",)]}, {"binds": [("/tmp", "/x", "rw")]}],
)  # fmt: skip
def test_machines_that_cannot_be(options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        simkernel.boot(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("seconds", [1e300, float("inf"), -1.0])
def test_limits_of_any_size(m: Machine, seconds: float) -> None:
    result = m.run(["/bin/hello"], timeout_host_s=seconds)
    assert result.timed_out == ("host" if seconds < 0 else "")
    assert m.wait(m.workload(endless), timeout_host_s=0.2).timed_out == "host", "the watching thread goes on"


def test_a_limit_that_is_no_number(m: Machine) -> None:
    with pytest.raises(ValueError, match="number"):
        HOST.limit(float("nan"))


@pytest.mark.parametrize("what", [5, None, "getpid", ("getpid",)])
def test_a_workload_that_yields_no_call(m: Machine, what: object) -> None:
    def program(u):
        yield what

    with pytest.raises(TypeError, match="a workload yields calls"):
        m.wait(m.workload(program))
    assert m.run(["/bin/hello"]).status == 0


def test_a_sink_that_raises_is_its_own_fault() -> None:
    def sink(line: str) -> None:
        raise ValueError("mine")

    m = simkernel.boot(strace=sink)
    m.install(HELLO)
    with pytest.raises(ValueError, match="mine"):
        m.run(["/bin/hello"])


class Holder:
    pass


def test_what_is_given_back_loses_no_signal() -> None:
    """Ctrl-C at the moment when an object goes: its finalizer ends its work, and the exception comes behind it."""
    read, write = os.pipe()
    holder = Holder()
    lastly(holder, os.close, write)  # the references' callbacks are called from the last to the first
    lastly(holder, ctypes.CDLL(None)["raise"], int(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        try:
            del holder
        finally:
            for _ in range(100):
                pass
    assert os.read(read, 1) == b"", "the descriptor was not closed"
    os.close(read)
