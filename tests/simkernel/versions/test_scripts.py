"""What scripts/NAME.sh prints on each simulated kernel is what it printed on the real one (answers/NAME.VERSION); record.py asks."""

import shutil
from functools import cache
from pathlib import Path

import pytest

from simkernel.fs.rootfs import add_bytes_lazily
from simkernel.machine import boot
from tests.simkernel.versions.record import HERE, KERNELS, scripts

BUSYBOX = shutil.which("busybox")
pytestmark = pytest.mark.skipif(BUSYBOX is None, reason="needs a static busybox on this host")
ASKED = [(kernel, path.stem) for kernel in KERNELS for path in scripts(kernel)]


@cache
def machine(kernel):
    """One for all its scripts, which leave nothing behind."""
    booted = boot(kernel=kernel)
    add_bytes_lazily(booted.kernel.vfs, "/bin/busybox", Path(BUSYBOX).read_bytes())
    booted.run(["/bin/busybox", "--install", "-s", "/bin"])
    return booted


@pytest.mark.parametrize(("kernel", "name"), ASKED)
def test_script(kernel, name):
    booted = machine(kernel)
    add_bytes_lazily(booted.kernel.vfs, f"/{name}.sh", (HERE / "scripts" / f"{name}.sh").read_bytes())
    result = booted.run(["/bin/busybox", "sh", "-c", f"cd /tmp; sh /{name}.sh 2>&1"], timeout_host_s=120)
    assert result.text == (HERE / "answers" / f"{name}.{kernel}").read_text(errors="surrogateescape")


def test_every_script_has_its_answers():
    assert {path.name for path in (HERE / "answers").iterdir()} == {f"{name}.{kernel}" for kernel, name in ASKED}
