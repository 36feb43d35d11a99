"""The pytest plugin: one test per combination of the mark, other arguments handed to boot()."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.warm import warm_server

TESTS = """
import pytest

@pytest.mark.simkernel(arch=["x86_64", "s390x"], kernel=["5.10", "6.1"], cpus=2)
def test_each(machine):
    assert machine.kernel.nr_cpus == 2

def test_plain(machine):
    assert machine.run([machine.install(HELLO)]).text == "hello, world\\n"
"""
ROOT = Path(__file__).parents[2]


def test_the_mark_makes_a_test_per_combination(tmp_path: Path) -> None:
    hello = ROOT / "samples" / "bin" / "x86_64" / "hello"
    (tmp_path / "test_tool.py").write_text(TESTS.replace("HELLO", repr(str(hello))))
    ran = subprocess.run(
        warm_server().python("-m", "pytest", "-v", "--strict-markers", "-p", "no:cacheprovider", "-p", "no:xdist", "."),
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for name in ("5.10-x86_64", "6.1-x86_64", "5.10-s390x", "6.1-s390x"):
        assert f"test_each[{name}] PASSED" in ran.stdout
    assert "test_plain[6.1-x86_64] PASSED" in ran.stdout


def pytest_run(tmp_path: Path, tests: str, *options: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "test_tool.py").write_text(tests)
    words = ["-m", "pytest", "-v", "-p", "no:cacheprovider", "-p", "no:xdist", *options, "."]
    return subprocess.run(warm_server().python(*words), cwd=tmp_path, capture_output=True, text=True, timeout=120)


FAILING = """
def test_refused(machine):
    machine.enable_event("p:vfs_raed")

def test_counts(machine, bpf_object, workload):
    obj = bpf_object(OBJECT)
    machine.enable_event("syscalls:sys_enter_write")
    def writer(u):
        fd = yield u.openat(-100, "/tmp/x", 0o102, 0o600)
        yield u.write(fd, b"x" * 12, 12)
    assert workload(writer).status == 0
    assert dict(obj.maps["sizes"].items())[3] == 7
"""


def test_a_failure_shows_what_the_machine_knows_and_none_of_our_frames(tmp_path: Path) -> None:
    path = ROOT / "samples" / "obj" / "x86_64" / "writes.bpf.o"
    ran = pytest_run(tmp_path, FAILING.replace("OBJECT", repr(str(path))))
    assert ran.returncode == 1
    refused, counts = ran.stdout.split("test_counts[6.1-x86_64] _")
    assert "KernelError: ENOENT: p vfs_raed" in refused and "Invalid probed address or symbol" in refused
    assert "simkernel/session.py" not in ran.stdout
    trace, _, maps = counts.partition("simkernel: maps")
    assert "simkernel: the end of the trace" in trace and "sys_write(fd: " in trace
    assert "by_process:" in maps and "sizes:" in maps


def test_options_replace_what_the_marks_say(tmp_path: Path) -> None:
    (tmp_path / "test_tool.py").write_text(TESTS)
    words = ["--collect-only", "-q", "--simkernel-kernel", "5.10", "--simkernel-seed", "0-1,7", "."]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words], cwd=tmp_path, capture_output=True, text=True
    )
    names = [line.partition("::")[2] for line in ran.stdout.splitlines() if "::" in line]
    assert names == [
        f"test_{test}[5.10-{arch}-seed{seed}]"
        for test, arches in (("each", ("x86_64", "s390x")), ("plain", ("x86_64",)))
        for arch in arches
        for seed in (0, 1, 7)
    ]
    refused = pytest_run(tmp_path, TESTS, "--simkernel-cpus", "many")
    assert refused.returncode != 0 and "--simkernel-cpus many: write numbers" in refused.stdout + refused.stderr


def test_machines_are_named_in_a_junit_report(tmp_path: Path) -> None:
    ran = pytest_run(tmp_path, "def test_one(machine): pass\n", "--junitxml=report.xml")
    assert ran.returncode == 0
    assert 'name="simkernel.kernel" value="6.1"' in (tmp_path / "report.xml").read_text()


COVERED = """
import pytest

def prepare(machine):
    machine.load(OBJECT).attach()

def write(machine):
    machine.call("vfs_write", 0, 0, 12, 0, returns=12)

@pytest.mark.parametrize("times", [1, 2])
def test_booted(machine, times):
    prepare(machine)
    for _ in range(times):
        write(machine)

@pytest.mark.simkernel(setup=prepare)
def test_copied(machine):
    write(machine)
"""


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_coverage_is_added_up_over_tests_copies_and_workers(tmp_path: Path, options: tuple[str, ...]) -> None:
    path = ROOT / "samples" / "obj" / "x86_64" / "writes.bpf.o"
    (tmp_path / "test_tool.py").write_text(COVERED.replace("OBJECT", repr(str(path))))
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--simkernel-coverage", "out", *options, "."]
    ran = subprocess.run(warm_server().python(*words), cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "coverage of BPF programs" in ran.stdout and "% of lines; out/lcov.info, out/index.html" in ran.stdout
    lcov = (tmp_path / "out" / "lcov.info").read_text()
    functions = dict(
        reversed(line.removeprefix("FNDA:").split(",")) for line in lcov.splitlines() if line[:5] == "FNDA:"
    )
    assert "4" in functions.values(), functions


EXPLORED = """
import pytest

@pytest.mark.simkernel(cpus=2)
def test_race(machine):
    assert machine.kernel.seed != 2

def test_other():
    pass
"""


def test_seeds_are_explored_up_to_the_first_that_fails(tmp_path: Path) -> None:
    ran = pytest_run(tmp_path, EXPLORED, "--simkernel-explore", "4", "-rs")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    words = {f"test_race[6.1-x86_64-seed{n}]": end for n, end in enumerate(("PASSED", "PASSED", "FAILED", "SKIPPED"))}
    assert all(f"{name} {end}" in ran.stdout for name, end in words.items())
    again = "--simkernel-kernel 6.1 --simkernel-arch x86_64 --simkernel-cpus 2 --simkernel-seed 2"
    assert f"pytest 'test_tool.py::test_race' {again}" in ran.stdout
    assert "another seed has failed already" in ran.stdout and "test_other PASSED" in ran.stdout
