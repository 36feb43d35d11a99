"""Tables: plain bytes in a pipe, lines and colours on a terminal, none of these with NO_COLOR."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

from simkernel.rows import aligned

SHOW = "from simkernel.rows import show; show([['object', '6.1'], ['x', 'ok']], lambda w: 'green' if w == 'ok' else '')"


def on_a_terminal(**environment: str) -> str:
    ours, theirs = pty.openpty()
    subprocess.run(
        [sys.executable, "-c", SHOW], stdout=theirs, check=True, env={**os.environ, "TERM": "xterm", **environment}
    )
    os.close(theirs)
    text = os.read(ours, 1 << 16).decode()
    os.close(ours)
    return text


def test_a_pipe_gets_plain_columns() -> None:
    done = subprocess.run([sys.executable, "-c", SHOW], capture_output=True, text=True, check=True)
    assert done.stdout == aligned([["object", "6.1"], ["x", "ok"]]) == "object  6.1\nx       ok\n"


def test_a_terminal_gets_lines_and_colours() -> None:
    text = on_a_terminal()
    assert "│" in text and re.search(r"\x1b\[32mok", text)
    assert "\x1b[32m" not in on_a_terminal(NO_COLOR="1") and "│" in on_a_terminal(NO_COLOR="1")
