"""/proc by version: what proc_versions.sh prints on real kernels (proc_versions_*.out), but for what is known to be missing."""

import re
from pathlib import Path

import pytest

import simkernel
from arch.abi.errno import EFAULT, EPERM

HERE = Path(__file__).parent
MISSING = r"""/kernel/(cad_pid|sched_domain/.*|sched_energy_aware|seccomp/actions_logged|usermodehelper/.*|watchdog_cpumask|yama/.*)$|ProtectionKey"""


def without_missing(text):
    return [line for line in text.splitlines() if not re.search(MISSING, line)]


@pytest.mark.parametrize("version", ["5.10", "6.1", "6.12", "7.2"])
def test_names_modes_and_lines_are_those_of_the_real_kernel(version, tmp_path, busybox):
    (tmp_path / "script").write_text((HERE / "proc_versions.sh").read_text())
    with simkernel.boot(kernel=version, binds=[f"{tmp_path}:/host"]) as m:
        result = m.run([m.install(busybox), "sh", "/host/script"], timeout_host_s=120)
    assert result.crash is None
    assert result.text.splitlines() == without_missing((HERE / f"proc_versions_{version}.out").read_text())


def test_io_uring_disabled_forbids_rings():
    """uid 0 with 0, 1, 2 in io_uring_disabled, as on 6.12: EFAULT where it may."""
    with simkernel.boot(kernel="6.12") as m:
        answers = []
        for value in (0, 1, 2):
            m.kernel.vfs.sysctl["kernel.io_uring_disabled"] = value
            answers.append(m.session.syscalls.syscall("io_uring_setup", 8, 0))
    assert answers == [-EFAULT, -EFAULT, -EPERM]
