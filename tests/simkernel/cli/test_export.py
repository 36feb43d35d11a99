"""`simkernel run --out`, `--export`, `--sample`, `--stacks`, and what `export` and `report` make of a directory."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from simkernel.cli import cli
from simkernel.recording.formats import FORMATS
from simkernel.recording.store import load

ROOT = Path(__file__).parents[3]
WRITER, WRITES = ROOT / "samples" / "bin" / "x86_64" / "writer", ROOT / "samples" / "obj" / "x86_64" / "writes.bpf.o"


def simkernel(*args: object) -> Result:
    result = CliRunner().invoke(cli, [*map(str, args)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("recorded")
    result = simkernel(
        "run", "--seed", 5, "--bpf", WRITES, "--event", "p:one vfs_write", "--stacks", "--sample", 100_000, "--out", directory / "out",
        "--export", f"trace={directory / 'trace.txt'}", "--export", f"folded={directory / 'run.folded'}", "--", WRITER, 20,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    return directory / "out"


def test_the_directory_is_a_recording(out: Path) -> None:
    recording = load(out)
    document = json.loads((out / "result.json").read_text())
    assert recording.counters == document["counters"] and recording.meta.status == 0
    assert recording.meta.argv == [str(WRITER), "20"]
    assert {each.name for each in recording.maps} == set(document["maps"][str(WRITES)])
    assert not (out / "INCOMPLETE").exists()
    assert all(event.kernel_stack for event in recording.events.named("one"))
    assert all("processed" in program.log for program in recording.programs)


def test_exports_of_the_run_are_those_of_its_directory(out: Path) -> None:
    assert (out.parent / "trace.txt").read_text() == simkernel("export", out, "--format", "trace").output
    assert (out.parent / "run.folded").read_text() == simkernel("export", out, "-f", "folded", "-o", "-").output
    assert (out / "trace.txt").read_text().startswith((out.parent / "trace.txt").read_text())


def test_the_repeating_command_repeats(out: Path, tmp_path: Path) -> None:
    words = shlex.split(load(out).meta.repeat)
    assert words[:2] == ["simkernel", "run"]
    again = simkernel("run", "--out", tmp_path / "again", *words[2:])
    assert again.exit_code == 0, again.output
    for name in ("events.jsonl", "samples.jsonl", "trace.txt", "maps.txt"):
        assert (tmp_path / "again" / name).read_bytes() == (out / name).read_bytes(), name


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_written(out: Path, tmp_path: Path, name: str) -> None:
    if FORMATS[name].needs:
        pytest.importorskip(FORMATS[name].needs)
    result = simkernel("export", out, "--format", name, "-o", tmp_path / "file")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "file").stat().st_size > 50


def test_a_number_without_room_is_one_sentence(out: Path, tmp_path: Path) -> None:
    """A damaged recording: an address that no machine has."""
    damaged = shutil.copytree(out, tmp_path / "damaged")
    document = json.loads((damaged / "recording.json").read_text())
    document["files"][0]["start"] = 1 << 70
    (damaged / "recording.json").write_text(json.dumps(document))
    result = simkernel("export", damaged, "--format", "perf.data", "-o", tmp_path / "file")
    assert result.exit_code == 2
    assert "perf.data has no room for a number of the recording" in result.stderr


def test_report_writes_a_page(out: Path, tmp_path: Path) -> None:
    result = simkernel("report", out, "-o", tmp_path / "page.html")
    assert result.exit_code == 0 and result.output == f"{tmp_path / 'page.html'}\n"
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert simkernel("report", out).output == f"{out / 'report.html'}\n"


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["run", "--export", "perf.data", "--", WRITER], "FORMAT=FILE"),
        (["run", "--export", "nosuch=/tmp/x", "--", WRITER], "no format is named 'nosuch'; there are: trace"),
        (["run", "--export", "folded=/nosuch/x", "--", WRITER], "cannot be written"),
        (["run", "--export", "folded=/", "--", WRITER], "cannot be written"),
        (["run", "--sample", "100", "--", WRITER], "--out DIR or --export"),
        (["run", "--sample", "0", "--", WRITER], "0 is not in the range"),
        (["run", "--export", "folded=-", "--", WRITER], "no stacks were recorded"),
        (["export", "/nosuch", "-f", "trace"], "no such directory"),
        (["export", "/tmp", "-f", "nosuch"], "no format is named"),
        (["export", "/tmp"], "Missing option"),
        (["report", "/nosuch"], "no such directory"),
        (["report", "/proc"], "no recording.json"),
    ],
)
def test_what_cannot_be_is_one_line(args: list[object], sentence: str) -> None:
    result = simkernel(*args)
    assert result.exit_code == 2 and sentence in result.output, result.output


def test_a_missing_package_is_told_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = simkernel("run", "--export", "perfetto=/tmp/x", "--", WRITER)
    assert result.exit_code == 2 and "pip install 'simkernel[export]'" in result.output


def test_a_plain_run_imports_nothing_of_it() -> None:
    """What nobody asked for costs nothing at start."""
    import subprocess

    code = (
        "import sys; sys.argv = ['simkernel', 'run', '--', sys.argv[1]]\n"
        "from simkernel.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = [name for name in sys.modules if name.split('.')[0] in ('pandas', 'pyarrow', 'perfetto', 'matplotlib')]\n"
        "ours = [name for name in sys.modules if name.startswith(('simkernel.recording.', 'simkernel.cli.record'))]\n"
        "print(heavy, ours)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(WRITER)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "[] []", done.stdout
