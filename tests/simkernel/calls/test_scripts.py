"""scripts/NAME.sh prints inside what busybox's shell printed on a real Linux 6.1: NAME.out, or NAME.CPU.out.

`ask.py [--arch CPU] run -f NAME.sh -o NAME.out "mkdir -p /tmp; busybox sh /NAME.sh > /tmp/out 2>&1"` of the project's oracle wrote the answers.
"""

import shutil
import sys
from pathlib import Path

import pytest

import simkernel
from simkernel.fs.rootfs import add_bytes_lazily

SCRIPTS = Path(__file__).parent / "scripts"
sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import foreign_packages  # noqa: E402

CASES = [
    (parts[1] if len(parts) > 2 else "x86_64", parts[0])
    for parts in (path.name.split(".") for path in sorted(SCRIPTS.glob("*.out")))
]


def busybox_of(arch):
    if arch == "x86_64":
        return shutil.which("busybox")
    package = foreign_packages.path("busybox-static", arch)
    return package and str(package / "bin/busybox")


@pytest.mark.parametrize(("arch", "name"), CASES)
def test_a_script_prints_what_it_printed_on_linux(arch, name):
    busybox = busybox_of(arch)
    if busybox is None:
        pytest.skip(f"no busybox-static for {arch}; tests/tools/foreign_packages.py fetches it")
    with simkernel.boot(arch=arch, cpus=1) as m:
        add_bytes_lazily(m.kernel.vfs, f"/{name}.sh", (SCRIPTS / f"{name}.sh").read_bytes())
        result = m.run([m.install(busybox), "sh", "-c", f"exec busybox sh /{name}.sh 2>&1"], timeout_host_s=120)
    assert result.crash is None
    own = SCRIPTS / f"{name}.{arch}.out"
    assert result.text == (own if own.exists() else SCRIPTS / f"{name}.out").read_text()


def test_every_script_has_its_answer():
    assert {path.stem for path in SCRIPTS.glob("*.sh")} == {path.name.split(".")[0] for path in SCRIPTS.glob("*.out")}
