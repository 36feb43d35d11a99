"""The line about progress: on a terminal only, and never in the way of what is printed."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.tools.on_terminal import seen_by_a_terminal
from tests.tools.warm import warm_server

pytestmark = pytest.mark.skipif(not shutil.which("busybox"), reason="needs busybox-static")
LOOP = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; echo done"


def on_a_terminal(*options):
    """(status, stdout, what the terminal on stderr saw)."""
    command = warm_server().command("run", *options, "--timeout", "60", "--", "busybox", "sh", "-c", LOOP)
    process, seen = seen_by_a_terminal(
        lambda terminal: subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=terminal)
    )
    stdout = process.stdout.read()
    return process.wait(), stdout, seen


def test_work_that_takes_long_is_told_and_the_line_goes_away():
    status, stdout, seen = on_a_terminal("--event", "sched:sched_process_exec")
    assert status == 0 and stdout.startswith(b"done\n")
    if seen:  # a fast host is done within two seconds
        assert "s of virtual time, " in seen and "system calls (" in seen and "Traceback" not in seen
        assert seen.rstrip().endswith("\x1b[2K") or seen.endswith("\x1b[?25h")  # erased, the cursor shown again


def test_quiet_is_quiet():
    assert on_a_terminal("--quiet") == (0, b"done\n", "")
