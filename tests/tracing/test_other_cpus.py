"""What probes, events and stacks show on arm64 and s390x, as Debian's 6.1 of these CPUs answered: programs/cpu/*.out.

Asked with programs/cpu/probes.sh, memory.sh and programs/stacks.sh, busybox as the only other program and bin/ARCH/calls (cpu/calls.c) as /calls.
"""

import re
import shutil
import sys
from pathlib import Path

import pytest

import simkernel

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
import foreign_packages

PROGRAMS = Path(__file__).parent / "programs"
SCRIPTS = {"memory": PROGRAMS / "cpu/memory.sh", "probes": PROGRAMS / "cpu/probes.sh", "stacks": PROGRAMS / "stacks.sh"}
CPUS = ("arm64", "s390x")
# What differs from run to run: where an offset in a function is, times, pids, a wish to be rescheduled, addresses.
CHANGING = (
    (r"\+0x[0-9a-f]+/0x[0-9a-f]+", "+OFFSET"), (r" +\d+\.\d{6}:", " TIME:"), (r"-\d+ +\[", "-PID ["), (r"\.[nN]\.\.\.", "....."),
    (r"\b(0x)?[0-9a-f]{6,16}\b", "ADDRESS"),
)  # fmt: skip


def normal(text):
    for pattern, word in CHANGING:
        text = re.sub(pattern, word, text)
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("arch", CPUS)
@pytest.mark.parametrize("name", SCRIPTS)
def test_the_same_as_on_that_cpu(arch, name, tmp_path):
    busybox = foreign_packages.path("busybox-static", arch)
    if busybox is None:
        pytest.skip("that CPU's busybox is not here")
    shutil.copy(SCRIPTS[name], tmp_path)
    machine = simkernel.boot(arch=arch, binds=[(str(tmp_path), "/s", False)])
    shell = machine.install(str(busybox / "bin/busybox"))
    calls = machine.install(str(PROGRAMS / "bin" / arch / "calls"))
    command = f"cp {calls} /calls; cd /; sh /s/{SCRIPTS[name].name} 2>&1"
    text = machine.run([shell, "sh", "-c", command], timeout_host_s=100).text
    assert normal(text) == normal((PROGRAMS / f"cpu/{name}.{arch}.out").read_text())
