"""What an object, a file or a program chose as a name does not command the terminal."""

from __future__ import annotations

import io
import shutil
import subprocess
from pathlib import Path

import pytest

from simkernel.terminal import Terminal, guarded, shown
from tests.tools.on_terminal import seen_by_a_terminal
from tests.tools.warm import warm_server

BUSYBOX = shutil.which("busybox")
OBJECT = Path(__file__).parents[3] / "samples" / "obj" / "x86_64" / "writes.bpf.o"


def on_a_terminal(*words: str) -> str:
    """What the terminal on stdout and stderr sees of a command."""
    command = warm_server().command(*words)
    process, seen = seen_by_a_terminal(
        lambda terminal: subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal)
    )
    process.wait(60)
    return seen


def test_names_of_an_object_and_of_a_file(tmp_path: Path) -> None:
    changed = tmp_path / "red.o"
    changed.write_bytes(OBJECT.read_bytes().replace(b"kprobe/", b"\x1b[31me/"))
    seen = on_a_terminal("verify", str(changed))
    assert "^[[31me/vfs_write" in seen and "\x1b" not in seen
    seen = on_a_terminal("run", "./\x1b]0;title\x07")
    assert "^[]0;title^G" in seen and "\x1b" not in seen


@pytest.mark.skipif(not BUSYBOX, reason="needs busybox-static")
def test_a_program_writes_what_it_likes_and_its_name_is_shown() -> None:
    script = r"printf '\033]0;PWN' >/proc/self/comm; printf '\033[1m\n'; kill -SEGV $$"
    seen = on_a_terminal("run", "--event", "sched:sched_process_exit", "--", "busybox", "sh", "-c", script)
    assert seen.count("\x1b") == 1 and "\x1b[1m" in seen
    assert "^[]0;PWN" in seen and "killed by SIGSEGV" in seen


def test_a_file_gets_the_text_itself() -> None:
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, "utf-8")
    assert guarded(stream) is stream  # no terminal
    terminal = Terminal(stream)
    assert terminal.write("a\x1b[0m\x9b\u202e\x7f\r\n\tb") == 12
    terminal.flush()
    assert buffer.getvalue() == b"a^[[0m\\x9b\\u202e^?^M\n\tb"
    assert shown("plain ü\n") == "plain ü\n"
