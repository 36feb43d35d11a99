"""What is kept between processes: found again, never needed, never believed blindly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from arch import architecture, cache
from arch.native import objects
from arch.native.compile import Trampolines
from arch.native.ir import c_symbols


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "kept"))
    return tmp_path / "kept"


def test_round_trip(place: Path) -> None:
    name = cache.digest(["a", b"b"])
    assert name != cache.digest(["ab", b""])
    assert cache.load("things", name) is None
    cache.store("things", name, b"content")
    assert cache.load("things", name) == b"content"
    assert place.stat().st_mode & 0o777 == 0o700


def test_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, "0")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache.store("things", "x", b"content")
    assert cache.load("things", "x") is None and not list(tmp_path.iterdir())


def test_where_others_can_write_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv(cache.VARIABLE, str(shared))
    cache.store("things", "x", b"content")
    assert not list(shared.iterdir())


@pytest.mark.parametrize("damage", [lambda d: b"", lambda d: d[:-1], lambda d: d[:-1] + b"?", lambda d: b"?" + d[1:]])
def test_damaged_files_are_not_there(place: Path, damage) -> None:  # type: ignore[no-untyped-def]
    cache.store("things", "x", b"content")
    (file,) = place.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert cache.load("things", "x") is None


def test_old_files_go(place: Path) -> None:
    for number in range(cache.KEEP + 3):
        cache.store("things", f"{number:03}", b"x")
        os.utime(place / f"things-{number:03}", (number, number))
    assert len(list(place.iterdir())) == cache.KEEP
    assert cache.load("things", "000") is None


def make() -> Trampolines:
    ours = architecture.get("x86_64")
    return Trampolines(ours.support.emulator, ours.pt_regs, ours.word, False)


def test_trampolines_come_from_the_cache(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make()
    (file,) = place.iterdir()
    monkeypatch.setattr(objects, "_compile", lambda *rest: pytest.fail("compiled again"))
    assert set(make().address) >= {"fill", "probes"}
    monkeypatch.undo()
    monkeypatch.setenv(cache.VARIABLE, str(place))
    good = file.read_bytes()
    # whole by its digest, and yet no object: compiled again and replaced
    cache.store("trampolines", file.name.split("-")[1], b"\x7fELF\x02\x01 nonsense")
    make()
    assert file.read_bytes() == good


def test_objects_that_ask_for_more_are_refused() -> None:
    for data in (b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(58)):
        with pytest.raises(objects.CannotLink):
            objects.link(data, c_symbols())


def test_a_warm_start_reads_no_compiler(place: Path) -> None:
    script = "import sys, simkernel; simkernel.boot().close(); print('llvmlite' in sys.modules)"
    runs = [subprocess.run([sys.executable, "-c", script], capture_output=True, text=True) for _ in range(2)]
    assert [run.stdout for run in runs] == ["True\n", "False\n"], runs[0].stderr
