"""Other CPUs than x86-64: what Debian's kernels on arm64, s390x (6.1) and riscv64 (6.12) said about the suite's programs.

Registers and byte order differ, and how the kernels are built: s390x has neither a compiler of programs nor types, riscv64's
compiler is off until somebody turns it on, and wants aligned accesses.  Kept are those whose answer is another than on x86-64,
and some more.  Left out are four of s390x, whose 6.1.176 does not let programs read their stack before they wrote it, and one
of arm64 that shows the number of a type.
"""

from pathlib import Path

import pytest

import simkernel
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from bpf.testing.case_files import read_cases
from bpf.testing.cases import Options, compare, run_cases

DATA = Path(__file__).parents[2] / "data"
KERNELS = {"arm64": "6.1", "s390x": "6.1", "riscv64": "6.12"}


@pytest.mark.parametrize("arch", KERNELS)
def test_every_recorded_answer(arch):
    file = read_cases(DATA / f"answers_{arch}.json.gz")
    options = Options(KernelVersion.parse(KERNELS[arch]), log_level=1, arch=arch)
    summary = compare(file, options, list(run_cases(file, options)))
    assert summary.wrongly_accepted == [] and summary.differences == []
    assert summary.errnos.equal == summary.logs.equal == len(file.rows) > 70


@pytest.mark.parametrize(
    ("arch", "kernel", "config", "enabled"),
    [
        ("x86_64", "6.1", (), 1),
        ("arm64", "6.1", (), 1),
        ("riscv64", "6.12", (), 0),
        ("riscv64", "6.12", ("BPF_JIT_DEFAULT_ON",), 1),
        ("s390x", "6.1", (), 0),
        ("s390x", "6.1", ("BPF_JIT",), 1),
    ],
)
def test_how_kernels_are_built(arch, kernel, config, enabled):
    with simkernel.boot(arch=arch, kernel=kernel, config=config) as machine:
        assert machine.kernel.observer.bpf.jit_enable == enabled
        task = machine.session.task
        if arch != "s390x" or config:
            assert task.read_file("/proc/sys/net/core/bpf_jit_enable") == b"%d\n" % enabled
        else:
            with pytest.raises(KernelError, match="ENOENT"):
                task.read_file("/proc/sys/net/core/bpf_jit_enable")
        if arch != "s390x":
            assert task.read_file("/sys/kernel/btf/vmlinux")[:2] == b"\x9f\xeb"
        else:
            with pytest.raises(KernelError, match="ENOENT"):
                task.read_file("/sys/kernel/btf/vmlinux")
