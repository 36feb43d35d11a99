"""Debian's trace-cmd, unmodified: it waits for pages of trace_pipe_raw, and is woken by what is as full as it wants."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

import simkernel

FOLDERS = ("/lib", "/lib64", "/usr", "/bin", "/etc")


@pytest.mark.skipif(not Path("/usr/bin/trace-cmd").exists(), reason="the host has no trace-cmd")
def test_recording_switches_of_tasks_is_not_what_switches_them():
    binds = [(path, path, False) for path in FOLDERS if Path(path).is_dir()]
    with closing(simkernel.boot(binds=binds)) as machine:
        command = "cd /tmp; trace-cmd record -e sched:sched_switch sleep 0.1 > /dev/null 2>&1; trace-cmd report | grep -c trace-cmd"
        result = machine.run(["/bin/sh", "-c", command], timeout_host_s=200)
    assert 0 < int(result.text.split()[-1]) < 50, result.text
