"""Debian's strace, ltrace and gdb, unmodified, inside: all that ptrace(2) is for."""

from __future__ import annotations

import re
import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

import simkernel

FOLDERS = ("/lib", "/lib64", "/usr/lib", "/bin")
BINDS = [(path, path, False) for path in FOLDERS if Path(path).is_dir()]


@pytest.mark.skipif(not Path("/usr/bin/strace").exists(), reason="the host has no strace")
def test_strace_follows_a_pipeline():
    with closing(simkernel.boot(binds=BINDS)) as machine:
        command = ["/bin/strace", "-f", "-e", "trace=process,pipe,pipe2,dup2", "/bin/sh", "-c", "echo hi | /bin/cat"]
        result = machine.run(command, timeout_host_s=100)
    assert (result.status, result.stdout) == (0, b"hi\n")
    lines = [re.sub(r"\d\d\d", "N", line) for line in result.stderr.decode().splitlines()]
    assert lines[0].startswith('execve("/bin/sh", ["/bin/sh", "-c", "echo hi | /bin/cat"], 0x')
    assert sum("strace: Process N attached" in line for line in lines) == 2
    assert sum("+++ exited with 0 +++" in line for line in lines) == 3
    assert any('execve("/bin/cat", ["/bin/cat"], 0x' in line for line in lines)
    assert lines[-1] == "+++ exited with 0 +++"


PROGRAM = "int sum(int a, int b) { return a + b; }\nint main(void) { return sum(2, 3) != 5; }\n"


def program(tmp_path):
    (tmp_path / "w.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O0", "-o", str(tmp_path / "w"), str(tmp_path / "w.c")], check=True)
    return [*BINDS, (str(tmp_path), "/work", False)]


@pytest.mark.skipif(not shutil.which("ltrace") or not shutil.which("gcc"), reason="the host has no ltrace or gcc")
def test_ltrace_sees_calls_of_the_library(tmp_path):
    (tmp_path / "w.c").write_text("#include <stdlib.h>\nint main(void) { free(malloc(10)); return 0; }\n")
    subprocess.run(["gcc", "-O0", "-o", str(tmp_path / "w"), str(tmp_path / "w.c")], check=True)
    with closing(simkernel.boot(binds=[*BINDS, (str(tmp_path), "/work", False)])) as machine:
        result = machine.run(["/bin/ltrace", "/work/w"], timeout_host_s=100)
    text = result.stderr.decode()
    assert "malloc(10" in text and "free(0x" in text and "+++ exited (status 0) +++" in text


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("gdb") or not shutil.which("gcc"), reason="the host has no gdb or gcc")
def test_gdb_breaks_steps_and_finishes(tmp_path):
    asked = ("break sum", "run", "bt", "p a+b", "stepi", "finish", "c")
    command = ["/bin/gdb", "-nx", "-batch", *(word for line in asked for word in ("-ex", line)), "/work/w"]
    with closing(simkernel.boot(binds=program(tmp_path))) as machine:
        result = machine.run(command, timeout_host_s=300)
    text = result.stdout.decode()
    assert "Breakpoint 1, sum (a=2, b=3)" in text and "#1 " in text and "$1 = 5" in text
    assert "Value returned is $2 = 5" in text and "exited normally]" in text
