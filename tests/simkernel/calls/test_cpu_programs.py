"""What user code asks of its CPU without a system call, on arm64, s390x and riscv64: programs/cpu, as Debian's kernels let it be answered."""

from __future__ import annotations

from pathlib import Path

import pytest

import simkernel

PROGRAMS = Path(__file__).parent / "programs" / "cpu"
KERNELS = {"arm64": "6.1", "s390x": "6.1", "riscv64": "6.12"}


def said(arch: str, name: str, *arguments: str, kernel: str | None = None, cpus: int = 1) -> list[str]:
    with simkernel.boot(arch, kernel or KERNELS[arch], cpus=cpus) as machine:
        return machine.run([machine.install(PROGRAMS / "bin" / arch / name), *arguments]).text.splitlines()


@pytest.mark.parametrize("arch", KERNELS)
def test_counters_and_registers_say_what_they_say_there(arch: str) -> None:
    assert said(arch, "counters") == (PROGRAMS / f"counters.{arch}.out").read_text().splitlines()


@pytest.mark.parametrize("arch", KERNELS)
def test_the_counter_is_the_machines(monkeypatch: pytest.MonkeyPatch, arch: str) -> None:
    """It tells the same in every run and in both tiers, on two CPUs."""
    runs = []
    for tier in ("native", "native", "python"):
        monkeypatch.setenv("SIMKERNEL_TIER", tier)
        runs.append(said(arch, "counters", "raw", cpus=2))
    assert len(runs[0][-1]) == 16 and int(runs[0][-1], 16) > int(runs[0][-3], 16)
    assert runs == runs[:1] * 3


def test_cycles_of_riscv64_were_user_codes_before_6_6() -> None:
    lines = said("riscv64", "counters", kernel="6.1")
    assert [line for line in lines if line.startswith(("rdcycle", "rdinstret", "hpm"))] == [
        "rdcycle: yes",
        "rdinstret: yes",
        "hpmcounter3: SIGILL",
    ]


# The emulator does what is not aligned.
DONE_HERE = {"unaligned ldar: signal 7 code 1 addr data+1 pc insn+4": "unaligned ldar: nothing"}


@pytest.mark.parametrize("arch", KERNELS)
def test_what_the_cpu_does_not_do_is_the_signal_that_it_is_there(arch: str) -> None:
    expected = (PROGRAMS / f"traps.{arch}.out").read_text().splitlines()
    assert len(expected) >= 20
    assert said(arch, "traps") == [DONE_HERE.get(line, line) for line in expected]


def test_the_log_has_registers_and_code_of_what_nobody_takes_on_riscv64() -> None:
    assert said("riscv64", "sayings") == (PROGRAMS / "sayings.riscv64.out").read_text().splitlines()
