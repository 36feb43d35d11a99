"""System calls that came after 6.1: programs/newer_*.c print here what they printed on real kernels, with ENOSYS for what is not there yet."""

import shutil
import subprocess
from pathlib import Path

import pytest

from simkernel.machine import boot

PROGRAMS = Path(__file__).parent / "programs"
NAMES = ("newer_calls", "newer_attributes", "newer_trees", "newer_mounts", "newer_secrets", "newer_tmpfs_attributes")
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler on this host")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Linked statically."""
    folder = tmp_path_factory.mktemp("built")
    for name in NAMES:
        subprocess.run(["gcc", "-static", "-O1", "-w", "-o", folder / name, PROGRAMS / f"{name}.c"], check=True)
    return folder


@pytest.mark.parametrize("kernel", ["6.1", "6.12", "7.2"])
@pytest.mark.parametrize("name", NAMES)
def test_what_the_real_kernel_said(built, name, kernel):
    machine = boot(kernel=kernel)
    result = machine.run([machine.install(built / name)], timeout_host_s=120)
    assert result.crash is None
    assert result.text == (PROGRAMS / f"{name}.{kernel}").read_text()


def test_events_have_them():
    """sys_enter_mseal fires on the kernel that has the call."""
    machine = boot(kernel="6.12")
    session = machine.session
    session.enable_event("syscalls:sys_enter_mseal")
    assert session.syscalls.syscall("mseal", 4096, 4096, 0) == -12
    assert "sys_mseal(start: 1000, len: 1000, flags: 0)" in session.read_file("/sys/kernel/tracing/trace").decode()
