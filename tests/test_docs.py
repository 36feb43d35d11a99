"""Every command and snippet that the documentation shows is run, and shows what it says.

A fenced `console` block holds commands after `$ ` and the output that follows them (```console perf: where perf is installed); a line `...` stands for any lines,
` ...` at the end of a line for the rest of it.
A fenced `python` block is run; blocks of one page share their names, in order.  A block whose first line names a file
(```c first.bpf.c) is written to that file.  Pages run in an empty directory with the project's samples/ linked into it;
tests/test_installed.py runs those of a newcomer with nothing but the wheel.  Commands are copies of a process that has booted once
(tests/tools/warm.py): what is shown is the same.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.warm import warm_server

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]) if (ROOT / "README.md").exists() else []
FENCE = re.compile(r"^```(\w+) *([^\n]*)\n(.*?)^```", re.M | re.S)
FENCED = re.compile(r"^```.*?^```[^\n]*$", re.M | re.S)
WRITTEN = ("c", "sh")  # languages of blocks that become files; so does a python block with a name
LIBBPF = Path("/usr/include/bpf/bpf_helpers.h")


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """(language, file name, text) of the fenced blocks that are run, or written."""
    found = [(m[1], m[2].strip(), m[3]) for m in FENCE.finditer(page.read_text())]
    return [
        (language, file, text)
        for language, file, text in found
        if language in ("console", "python") or (file and language in WRITTEN)
    ]


def why_not(page: Path) -> str:
    """What is not here that a page needs; "" if it can be run."""
    text = page.read_text()
    if not blocks(page):
        return "nothing to run on this page"
    if "busybox" in text and not shutil.which("busybox"):
        return "busybox-static is not installed"
    if ("<bpf/" in text or "libbpf's headers" in text) and not LIBBPF.exists():
        return "libbpf's headers (libbpf-dev) are not installed"
    return ""


def matches(expected: list[str], actual: list[str]) -> bool:
    """Line by line; an expected `...` takes any number of lines."""
    if not expected:
        return not actual
    if expected[0].strip() == "...":
        return any(matches(expected[1:], actual[i:]) for i in range(len(actual) + 1))
    want = expected[0].rstrip()
    return bool(actual) and same(want, actual[0].rstrip()) and matches(expected[1:], actual[1:])


def same(want: str, got: str) -> bool:
    """Equal, or equal up to a ` ...` at the end of what is shown."""
    return got.startswith(want[:-4]) if want.endswith(" ...") else want == got


def run_console(text: str, where: Path, programs: Path = Path(sys.executable).parent) -> None:
    """Run the commands of one block and compare what they print (stdout and stderr together)."""
    path = f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100"}
    environment.pop("PYTEST_XDIST_WORKER", None)  # of this run, not of one that a page starts
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, expected = part.partition("\n")
        while command.endswith("\\"):
            more, _, expected = expected.partition("\n")
            command = command[:-1] + more.removeprefix("> ")
        if command.startswith("make "):
            continue  # the two commands of the README: run from a fresh clone, not from inside the tests
        done = subprocess.run(
            ["sh", "-c", command], cwd=where, env=environment, timeout=120, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        if expected.strip():
            shown = expected.rstrip("\n").split("\n")
            assert matches(shown, done.stdout.rstrip("\n").split("\n")), f"$ {command}\n{done.stdout}"
        else:
            assert done.returncode == 0, f"$ {command}\n{done.stdout}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_what_a_page_shows_is_what_happens(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := why_not(page):
        pytest.skip(reason)
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "docs"}
    for language, file, text in blocks(page):
        if language == "console":
            if not file or shutil.which(file):
                run_console(text, tmp_path, warm_server().path)
        elif file:
            (tmp_path / file).write_text(text)
        else:
            exec(compile(text, str(page.name), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_command_is_shown_that_is_not_run(page: Path) -> None:
    assert not re.search(r"^    \$ ", FENCED.sub("", page.read_text()), re.M), "write it as a fenced console block"


LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()] == []


def test_matching_takes_gaps() -> None:
    assert matches(["a", "...", "d"], ["a", "b", "c", "d"])
    assert not matches(["a", "d"], ["a", "b", "d"])
