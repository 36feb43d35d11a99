"""What a mistake is answered with: whole messages, each of which names the fix.  mistakes.txt is the table.

Each row is a command, its exit status and what it says; `python -m tests.simkernel.cli.test_mistakes` writes them anew, to be read.
The commands run in a folder with the files that FILES makes.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from simkernel.cli import cli

ROOT = Path(__file__).parents[3]
TABLE = Path(__file__).with_name("mistakes.txt")
FILES = {
    "hello": "samples/bin/x86_64/hello",
    "hello-arm64": "samples/bin/arm64/hello",
    "writes.bpf.o": "samples/obj/x86_64/writes.bpf.o",
    "s390x.bpf.o": "samples/obj/s390x/writes.bpf.o",
}


def rows() -> list[tuple[str, str]]:
    """(command, answer) of the table."""
    out = []
    for part in TABLE.read_text().split("\n$ ")[1:]:
        command, _, answer = part.partition("\n")
        out.append((command, answer.rstrip("\n")))
    return out


def prepare(folder: Path) -> None:
    for name, path in FILES.items():
        shutil.copy(ROOT / path, folder / name)
    (folder / "notes.txt").write_text("just text\n")
    (folder / "no_btf.bpf.o").write_bytes(without_btf((folder / "writes.bpf.o").read_bytes()))


def without_btf(data: bytes) -> bytes:
    """An object as without -g: the sections of BTF have other names."""
    return data.replace(b".BTF", b".btf")


def answer(command: str) -> str:
    """What `simkernel COMMAND` answers: its status, and stderr."""
    result = CliRunner().invoke(cli, shlex.split(command), prog_name="simkernel")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return f"[{result.exit_code}]\n{result.stderr}".rstrip("\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("mistakes")
    prepare(place)
    return place


@pytest.mark.parametrize(("command", "expected"), rows(), ids=[command for command, _ in rows()])
def test_a_mistake_is_answered_with_its_fix(
    command: str, expected: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert answer(command) == expected


def test_there_are_enough_and_none_is_a_traceback() -> None:
    assert len(rows()) >= 24
    assert not any("Traceback" in said or 'File "' in said for _, said in rows())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told(folder: Path) -> None:
    words = [sys.executable, "-m", "simkernel", "list", "functions", "vfs_*"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(words, cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (
        2,
        "simkernel list: the output cannot be written: No space left on device\n",
    )


def main() -> None:
    """Write the answers of today."""
    commands = [command for command, _ in rows()]
    with tempfile.TemporaryDirectory() as place:
        prepare(Path(place))
        os.chdir(place)
        text = (
            "What mistakes are answered with; written by python -m tests.simkernel.cli.test_mistakes, read by people.\n"
        )
        for command in commands:
            text += f"\n$ {command}\n{answer(command)}\n"
    TABLE.write_text(text)


if __name__ == "__main__":
    main()
