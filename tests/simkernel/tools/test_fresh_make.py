"""A suite's own Makefile, run by ours."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.tools.foreign_packages import fresh_make


def test_a_make_below_ours_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not shutil.which("make"):
        pytest.skip("make is not installed")
    (tmp_path / "Makefile").write_text('all:\n\t@echo "$(MAKELEVEL) [$(WORDS)] $(HOME)"\n')
    for name, value in (("MAKELEVEL", "1"), ("MAKEFLAGS", " -- WORDS=theirs"), ("HOME", "/home/us")):
        monkeypatch.setenv(name, value)
    done = subprocess.run(["make", "-C", tmp_path, "-s"], env=fresh_make(), capture_output=True, text=True, check=True)
    assert done.stdout == "0 [] /home/us\n"
