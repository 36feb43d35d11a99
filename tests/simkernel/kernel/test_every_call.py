"""Every number in the tables of system calls is a call, or Linux has none there, or docs/differences.md names it."""

import re
from pathlib import Path

import pytest

import simkernel

ROOT = Path(__file__).parents[3]
ARCHS = ("x86_64", "i386", "arm64", "arm", "riscv64", "s390x")
# sys_ni_syscall in the tables of 32-bit machines and s390x, whatever is configured
NOWHERE = {
    "break", "stty", "gtty", "ftime", "prof", "lock", "mpx", "ulimit", "profil", "idle", "bdflush", "timerfd",
}  # fmt: skip


def named() -> set[str]:
    return set(re.findall(r"`(\w+)`", (ROOT / "docs/differences.md").read_text()))


def refused_by_6_1() -> set[str]:
    """What the real 6.1 on x86-64 said ENOSYS to (calls/programs/everycall.c)."""
    lines = (ROOT / "tests/simkernel/calls/programs/everycall.out").read_text().splitlines()
    return {line.split()[1].rstrip(":") for line in lines if line.endswith(": ENOSYS")}


def without_a_body(arch: str, kernel: str) -> set[str]:
    with simkernel.boot(arch=arch, kernel=kernel) as machine:
        calls = machine.kernel.syscalls
        return set(calls.abi.numbers) - set(calls.declared)


@pytest.mark.parametrize("arch", ARCHS)
def test_calls_that_are_not_there_are_named(arch):
    """On the newest version, which has all of them."""
    assert without_a_body(arch, "7.2") - refused_by_6_1() - NOWHERE <= named()


@pytest.mark.parametrize("arch", ARCHS)
def test_nothing_is_named_as_missing_that_is_there(arch):
    """The list of differences.md that says ENOSYS of calls."""
    text = (ROOT / "docs/differences.md").read_text()
    old = re.search(r"Calls of old tables\*\*(.*?)ENOSYS", text, re.DOTALL)
    assert old is not None
    claimed = set(re.findall(r"`(\w+)`", old[1]))
    with simkernel.boot(arch=arch, kernel="7.2") as machine:
        assert not claimed & set(machine.kernel.syscalls.declared)
