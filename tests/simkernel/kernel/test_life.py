"""programs/life.c prints on the simulated machine what it prints on a real Linux: processes, signals, faults, threads.

life.out was written by a real Linux (programs/build.py --record); every architecture has to say the same.
"""

from pathlib import Path

import pytest

from arch.architecture import names
from simkernel.fs.rootfs import add_bytes_lazily
from simkernel.machine import boot

PROGRAMS = Path(__file__).parent / "programs"
PARTS = ("fork", "exec", "signals", "faults", "memory", "threads", "time", "ids")


def expected():
    parts = (PROGRAMS / "life.out").read_text().split("-- ")[1:]
    return {part.split("\n", 1)[0]: part.split("\n", 1)[1] for part in parts}


def life(arch, part, cpus=1, kernel="6.1"):
    machine = boot(arch=arch, cpus=cpus, kernel=kernel)
    try:
        add_bytes_lazily(machine.kernel.vfs, "/bin/life", (PROGRAMS / "bin" / arch / "life").read_bytes())
        result = machine.run(["/bin/life", *part], timeout_host_s=60)
        assert result.crash is None
        assert result.status == 0
        return result.text, machine.counters()
    finally:
        machine.close()


def built():
    return [path.name for path in sorted((PROGRAMS / "bin").iterdir()) if path.name in names()]


@pytest.mark.parametrize("arch", built())
def test_life_is_the_same_on_every_architecture(arch):
    """All parts in one run; compared part by part."""
    text, _ = life(arch, PARTS)
    got = {part.split("\n", 1)[0]: part.split("\n", 1)[1] for part in text.split("-- ")[1:]}
    want = expected()
    if arch == "s390x":  # its exceptions tell the page of an address, and so did a real one
        want["faults"] = want["faults"].replace(
            "on the other stack: signal 11 at 16", "on the other stack: signal 11 at 0"
        )
    assert got == want


@pytest.mark.parametrize("cpus", [2, 4])
def test_more_cpus_give_the_same_lines(cpus):
    text, _ = life("x86_64", PARTS, cpus)
    assert text == (PROGRAMS / "life.out").read_text()


@pytest.mark.parametrize("kernel", ["3.20-rfc", "4.1", "4.19", "5.4", "5.10", "5.15"])
def test_older_kernels_give_the_same_lines(kernel):
    text, _ = life("x86_64", PARTS, 1, kernel)
    assert text == (PROGRAMS / "life.out").read_text()


def test_two_runs_do_exactly_the_same_work():
    """Every counter is equal: system calls, faults, switches, virtual time, instructions."""
    first, second = (life("x86_64", ("threads", "signals", "memory"), 2) for _ in range(2))
    assert first == second
