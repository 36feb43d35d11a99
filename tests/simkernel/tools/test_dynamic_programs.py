"""Programs with an interpreter: glibc's ld.so from bound directories, position-independent, unmodified."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import simkernel
from tests.tools import foreign_packages

HOST_LIBRARIES = ("/lib", "/lib64", "/usr/lib")
BINDS = [(path, path, False) for path in HOST_LIBRARIES if Path(path).is_dir()]
x86_64_host = pytest.mark.skipif(
    not Path("/lib64/ld-linux-x86-64.so.2").exists(), reason="the host has no dynamic loader for x86_64"
)


@x86_64_host
def test_programs_of_the_host():
    with closing(simkernel.boot(binds=BINDS)) as machine:
        listed = machine.run([machine.install("/bin/ls"), "-d", "/etc/hostname", "/no/such"])
        assert listed.status == 2 and listed.stdout == b"/etc/hostname\n" and b"No such file" in listed.stderr
        shell = machine.install("/bin/sh")
        assert machine.run([shell, "-c", "echo $((6*7)); exit 3"]).stdout == b"42\n"


@pytest.mark.slow
@x86_64_host
def test_python_of_the_host():
    """CPython itself: thousands of system calls, threads, shared libraries."""
    if not Path("/usr/bin/python3").exists():
        pytest.skip("no python3 in /usr/bin")
    program = "import threading, json; t = threading.Thread(target=lambda: print(json.dumps({'six': 6}))); t.start(); t.join()"
    with closing(simkernel.boot(binds=BINDS)) as machine:
        tool = machine.install(str(Path("/usr/bin/python3").resolve()))
        result = machine.run([tool, "-S", "-c", program], env={"PYTHONHOME": "/usr"}, timeout_host_s=100)
        assert (result.status, result.stdout) == (0, b'{"six": 6}\n'), result.stderr


def test_programs_of_a_given_root_on_arm64():
    """Debian's bash for arm64 with its libraries, unpacked into directories of the host."""
    roots = {name: foreign_packages.path(name, "arm64") for name in ("libc6", "bash", "libtinfo6")}
    if None in roots.values():
        pytest.skip("Debian's arm64 packages were not fetched (tests/tools/foreign_packages.py)")
    binds = [(str(roots["libc6"] / "lib"), "/lib", False), (str(roots["libtinfo6"] / "lib"), "/opt/lib", False)]
    with closing(simkernel.boot(arch="arm64", binds=binds)) as machine:
        bash = machine.install(str(roots["bash"] / "bin" / "bash"))
        environment = {"LD_LIBRARY_PATH": "/opt/lib/aarch64-linux-gnu"}
        result = machine.run([bash, "-c", 'for i in 1 2 3; do echo $((i*i)); done; echo "$HOSTTYPE"'], env=environment)
        assert (result.status, result.stdout) == (0, b"1\n4\n9\naarch64\n")


@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs ziglang")
@pytest.mark.parametrize(("arch", "debian", "target"), [("x86_64", "amd64", "x86_64"), ("arm64", "arm64", "aarch64")])
def test_a_position_independent_program_of_musl(arch, debian, target, tmp_path):
    """Linked by zig, started by the musl loader of Debian's package."""
    root = foreign_packages.path("musl", debian)
    if root is None:
        pytest.skip("Debian's musl was not fetched (tests/tools/foreign_packages.py)")
    source, program = Path(__file__).parent / "programs" / "dynamic.c", tmp_path / "dynamic"
    subprocess.run(
        [sys.executable, "-m", "ziglang", "cc", "-target", f"{target}-linux-musl", "-O1", "-fno-sanitize=all",
         "-dynamic", "-fPIE", "-pie", source, "-o", program], check=True, capture_output=True)  # fmt: skip
    with closing(simkernel.boot(arch=arch, binds=[(str(root / "lib"), "/lib", False)])) as machine:
        result = machine.run([machine.install(str(program)), "a", "b"], env={"COLOUR": "green"})
        assert (result.status, result.stdout) == (0, b"42 3 green 3\n"), result.stderr
