"""The panels: by textual's own pilot, and on a real terminal by tmux."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import simkernel
from simkernel.debug.debugger import Debugger

SAMPLES = Path(__file__).parents[3] / "samples"
WRITER = SAMPLES / "bin/x86_64/writer"
OBJECT = SAMPLES / "obj/x86_64/writes.bpf.o"


@pytest.fixture
def d() -> Iterator[Debugger]:
    machine = simkernel.boot()
    machine.install(str(WRITER))
    machine.load(OBJECT).attach()
    with machine.debugger(["/bin/writer"]) as debugger:
        yield debugger


def test_keys_move_and_panels_show(d: Debugger) -> None:
    pytest.importorskip("textual")
    from textual.widgets import Input, Static

    from simkernel.debug.app import Panels

    async def session() -> None:
        app = Panels(d)

        def shown(name: str) -> str:
            return str(app.query_one(f"#{name}", Static).render())

        async with app.run_test(size=(160, 50)) as pilot:

            async def press(*keys: str) -> None:
                await pilot.press(*keys)
                for _ in range(100):
                    await pilot.pause()
                    await app.workers.wait_for_complete()
                    await pilot.pause()
                    if not app.busy:
                        break

            app.query_one(Input).value = "break bpf write_begins"
            await press("colon", "enter")
            assert list(d.breaks) == [1]
            await press("c")
            assert "breakpoint 1" in shown("head") and "=>   0: (bf) r6 = r1" in shown("bpf")
            assert "vfs_write" in shown("stack") and "asked" in shown("maps")
            first = d.stop.place
            await press("s")
            await press("s")
            assert "=>   2:" in shown("bpf")
            await press("s")
            frame = shown("frame").splitlines()
            assert frame[0].startswith("fp-8 ") and d.stop.pid.to_bytes(4, "little").hex(" ") + "  " in frame[0], (
                "at fp-4"
            )
            await press("b")
            await press("b")
            assert "=>   1:" in shown("bpf")
            await press("r")
            assert d.stop.place == first
            await press("f")
            assert "no BPF program runs" in shown("bpf") and "push rbp" in shown("code")
            await press("r", *"sssssb")
            assert "=>   4:" in shown("bpf"), "no key is lost while the machine moves"
            app.busy = True
            await pilot.press("s", "s", "escape")
            app.busy = False
            await press("s")
            assert "=>   5:" in shown("bpf"), "Escape forgets what waits"
            await press("b")
            for size in ((80, 24), (120, 40), (200, 60)):
                await pilot.resize_terminal(*size)
                for _ in range(100):  # the layout goes in steps
                    await pilot.pause()
                    fits = {each.id: len(shown(str(each.id)).splitlines()) <= each.content_size.height
                            for each in app.query(".panel") if each.size}  # fmt: skip
                    if all(fits.values()):
                        break
                assert all(fits.values()), (size, fits)
                seen = [each for each in app.query(".panel") if each.size]
                assert len(seen) == (2 if size[0] == 80 else 7), "one page, or all of them"
                assert "=> " in shown("bpf") and "R10 " in shown("bpf") and "fp-8 " in shown("frame")
                for each in seen:
                    lines = shown(str(each.id))
                    assert max(map(len, lines.splitlines()), default=0) <= each.content_size.width or each.id in (
                        "code",
                        "bpf",
                    )
            await press("1")
            await press("q")

    asyncio.run(session())


def test_on_a_terminal(tmp_path: Path) -> None:
    pytest.importorskip("textual")
    tmux = shutil.which("tmux")
    if tmux is None:
        pytest.skip("tmux is not installed")
    socket = ["-S", str(tmp_path / "tmux")]
    command = f"{sys.executable} -m simkernel debug --bpf {OBJECT} -- {WRITER}"
    plain = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "TMUX")}
    new = ["new-session", "-d", "-x", "160", "-y", "50", command]
    subprocess.run([tmux, *socket, "-f", "/dev/null", *new], check=True, env=plain)

    def until(text: str, there: bool = True) -> str:
        screen = ""
        for _ in range(400):
            done = subprocess.run([tmux, *socket, "capture-pane", "-p"], capture_output=True, text=True, check=False)
            screen = done.stdout
            if (text in screen) is there:
                return screen
            time.sleep(0.1)
        raise AssertionError(screen)

    def keys(*each: str) -> None:
        subprocess.run([tmux, *socket, "send-keys", *each], check=True)

    try:
        until("c continue")
        keys(":")
        until("c continue", there=False)  # keys are letters now
        keys("-l", "break bpf write_begins")
        until("break bpf write_begins")
        keys("Enter")
        until("breakpoint 1: bpf write_begins:0")
        keys("c")
        assert "writes.bpf.c:35" in until("=>   0: (bf) r6 = r1")
        keys("s")
        until("=>   1: (85) call bpf_get_current_pid_tgid")
        keys("b")
        until("=>   0: (bf) r6 = r1")
    finally:
        subprocess.run([tmux, *socket, "kill-server"], check=False)


def test_without_textual_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from simkernel.cli import debug
    from simkernel.cli.usage import UsageError
    from simkernel.debug.debugger import Command

    monkeypatch.setitem(sys.modules, "textual", None)
    monkeypatch.delitem(sys.modules, "simkernel.debug.app", raising=False)
    with pytest.raises(UsageError, match=r"pip install 'simkernel\[debug\]'"):
        debug.run_panels(simkernel.boot(), Command(["/bin/true"]))
