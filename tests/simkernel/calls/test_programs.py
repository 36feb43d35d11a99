"""programs/NAME.c prints on the simulated machine what it printed on a real Linux 6.1 (NAME.out, or NAME.CPU.out), on every CPU it is built for."""

from pathlib import Path

import pytest

from simkernel.fs.rootfs import add_bytes_lazily
from simkernel.machine import boot

PROGRAMS = Path(__file__).parent / "programs"
# Seconds that are used up by calls, which are answered in no hook there: the other CPUs have them in the ordinary tests.
SLOW = {("s390x", "realtime"), ("s390x", "periodic")}
BUILT = [
    pytest.param(*built, marks=[pytest.mark.slow] if built in SLOW else [])
    for built in sorted((path.parent.name, path.name) for path in PROGRAMS.glob("bin/*/*"))
]


def answer(arch, name):
    own = PROGRAMS / f"{name}.{arch}.out"
    return (own if own.exists() else PROGRAMS / f"{name}.out").read_text()


@pytest.mark.parametrize(("arch", "name"), BUILT)
def test_program_says_what_it_said_on_linux(arch, name):
    machine = boot(arch=arch)
    try:
        add_bytes_lazily(machine.kernel.vfs, f"/{name}", (PROGRAMS / "bin" / arch / name).read_bytes())
        result = machine.run([f"/{name}"], timeout_host_s=120)
    finally:
        machine.close()
    assert result.crash is None
    assert result.text == answer(arch, name)
    assert result.status == 0


def test_every_program_has_its_answer():
    assert {path.stem for path in PROGRAMS.glob("*.c")} == {path.name.split(".")[0] for path in PROGRAMS.glob("*.out")}
