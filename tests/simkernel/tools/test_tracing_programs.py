"""Debian's strace, unmodified, inside: it traces a shell's pipeline with ptrace(2)."""

from __future__ import annotations

import re
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
