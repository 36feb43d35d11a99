"""A sweep over seeds and parameters: the same rows however it runs, and each row can be repeated."""

from __future__ import annotations

import csv
import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import simkernel
from simkernel.cli.sweep import sweep as sweep_command
from simkernel.experiments import Sweep, SweepError, sweep_file
from simkernel.experiments.points import Row
from simkernel.experiments.results import Mean
from simkernel.experiments.run import run_points

LOSS = Path(__file__).parents[3] / "samples" / "experiments" / "loss.py"


def command(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "simkernel", "sweep", *words], capture_output=True, text=True, timeout=120, cwd=cwd
    )


@pytest.fixture(scope="module")
def result() -> Sweep:
    return run_points(sweep_file(str(LOSS)))


def test_every_point_has_a_row(result: Sweep) -> None:
    assert len(result) == 6 and not result.failed
    assert [(row.parameters["loss"], row.parameters["seed"]) for row in result.rows] == [
        (loss, seed) for loss in (0.0, 0.2) for seed in range(3)
    ]
    assert {row.measured["bytes"] for row in result.rows} == {20000}


def test_loss_costs_time_and_the_interval_says_how_sure_that_is(result: Sweep) -> None:
    means = result.means("loss")
    without, with_loss = means[(0.0,)]["seconds"], means[(0.2,)]["seconds"]
    assert without.count == 3 and without.half == 0  # nothing random happens there
    assert with_loss.mean > 2 * without.mean and with_loss.half > 0
    text = result.summary("loss")
    assert text.splitlines()[0].split() == ["loss", "n", "seconds", "bytes"]
    assert "±" in text.splitlines()[2]


def test_a_row_is_repeated_by_its_command(result: Sweep) -> None:
    row = result.rows[-1]
    assert row.command == f"simkernel sweep {LOSS} --only loss=0.2 --only kernel=6.1 --only seed=2"
    again = run_points(sweep_file(str(LOSS), only={"loss": "0.2", "kernel": "6.1", "seed": "2"}))
    assert [each.measured for each in again.rows] == [row.measured]
    beyond = sweep_file(str(LOSS), only={"loss": "0.0", "seed": "77"})
    assert [point.parameters["seed"] for point in beyond] == [77]


def test_processes_give_the_same_and_a_journal_goes_on(result: Sweep, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    half = run_points(sweep_file(str(LOSS), seeds=[0]), journal=journal)
    assert len(half) == 2
    journal.write_text(journal.read_text() + '{"key": "broken')  # interrupted
    all_of_them = run_points(sweep_file(str(LOSS)), jobs=2, journal=journal)
    assert [row.flat() for row in all_of_them.rows] == [row.flat() for row in result.rows]
    assert len([line for line in journal.read_text().splitlines() if line.endswith("}}")]) == 6


def test_a_dask_cluster_gives_the_same(result: Sweep, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs the Python package distributed")
    journal = tmp_path / "journal"
    done = command(str(LOSS), "--only", "loss=0.2", "--dask", "local", "--journal", str(journal), "--json")
    assert done.returncode == 0, done.stderr
    wanted = [row.flat() for row in result.rows if row.parameters["loss"] == 0.2]
    assert json.loads(done.stdout)["rows"] == wanted and len(journal.read_text().splitlines()) == 3


@pytest.mark.parametrize("quiet", [False, True])
def test_a_terminal_sees_a_bar_and_nobody_else(quiet: bool, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def experiment(machine):\n    return {'cpus': machine.kernel.nr_cpus}\n")
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "simkernel", "sweep", "mine.py", "--seeds", "3", *(["--quiet"] if quiet else [])],
        cwd=tmp_path, env={**os.environ, "TERM": "xterm"}, stdout=subprocess.PIPE, stderr=theirs, text=True, timeout=120,
    )  # fmt: skip
    os.write(theirs, b"|end")
    seen = b""
    while not seen.endswith(b"|end"):
        seen += os.read(ours, 4096)
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 0 and "cpus" in done.stdout and "\x1b" not in done.stdout
    if quiet:
        assert seen == b"|end"
    else:
        assert b"points" in seen and b"100%" in seen and b"\x1b[2K" in seen, "drawn, and erased in the end"


def test_from_python(tmp_path: Path) -> None:
    program = (
        "import simkernel\n"
        "def experiment(machine, *, n):\n"
        "    return {'n2': n * n, 'seen': machine.kernel.nr_cpus}\n"
        "if __name__ == '__main__':\n"
        "    done = simkernel.sweep(experiment, {'n': [1, 2], 'cpus': [1, 3]}, seeds=[4], jobs=2)\n"
        "    print([list(row.values())[:5] for row in done])\n"
    )
    (tmp_path / "mine.py").write_text(program)
    out = subprocess.run([sys.executable, "mine.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert out.stdout == "[[1, 1, 4, 1, 1], [1, 3, 4, 1, 3], [2, 1, 4, 4, 1], [2, 3, 4, 4, 3]]\n", out.stderr


def test_files_are_whole_and_hold_every_row(result: Sweep, tmp_path: Path) -> None:
    for ending in ("csv", "jsonl"):
        result.write(tmp_path / f"out.{ending}")
    rows = list(csv.DictReader((tmp_path / "out.csv").open()))
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [float(row["seconds"]) for row in rows] == [line["seconds"] for line in lines]
    assert [line["command"] for line in lines] == [row.command for row in result.rows]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "out.jsonl"]
    with pytest.raises(SweepError, match=r"should end with one of \.parquet, \.csv, \.jsonl"):
        result.write(tmp_path / "out.xls")


def test_parquet_and_pandas(result: Sweep, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    pytest.importorskip("pandas", reason="pandas is not installed")
    result.write(tmp_path / "out.parquet")
    assert parquet.read_table(tmp_path / "out.parquet").to_pylist() == list(result)
    frame = result.to_pandas()
    assert list(frame.columns) == result.columns and frame["bytes"].sum() == 6 * 20000


def test_means() -> None:
    assert Mean.of([1.0]).count == 1 and str(Mean.of([1.5])) == "1.5"
    five = Mean.of([1.0, 2.0, 3.0, 4.0, 5.0])
    assert five.mean == 3 and five.half == pytest.approx(1.963, abs=1e-3)  # scipy.stats.t.interval(.95, 4, 3, sem)
    assert Mean.of([float(i) for i in range(100)]).half == pytest.approx(5.757, abs=5e-3)


def test_what_goes_wrong_is_a_sentence(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("GRID = {'x': [1]}\ndef experiment(machine, *, x):\n    raise KeyError('nothing')\n")
    out = command(str(bad), "--seeds", "5")
    assert out.returncode == 1 and "bad.py:3: KeyError: 'nothing'" in out.stderr and "--only x=1" in out.stderr
    assert "Traceback" not in out.stderr
    slow = tmp_path / "slow.py"
    slow.write_text("def experiment(machine):\n    while True:\n        machine.settle()\n")
    assert "not done within 0.5 s" in command(str(slow), "--seeds", "1", "--limit", "0.5").stderr
    (tmp_path / "wrong.py").write_text("def other(machine): ...\n")
    (tmp_path / "syntax.py").write_text("def (\n")
    (tmp_path / "strange").write_bytes(bytes(range(256)))
    for words, sentence in (
        (["none.py"], "none.py: no such file"),
        ([str(tmp_path / "strange")], "strange: no Python program: its name does not end in .py"),
        ([str(LOSS), "--only", "loss=7"], "loss has the values 0.0, 0.2"),
        ([str(LOSS), "--only", "size=7"], "no such parameter; there are loss, kernel, seed"),
        ([str(LOSS), "--only", "size"], "write it as NAME=VALUE"),
        ([str(LOSS), "--seeds", "x"], "write it as 0-9"),
        ([str(LOSS), "--by", "size"], "--by size: no such parameter"),
        ([str(tmp_path / "wrong.py")], "there is no function experiment(machine, ...)"),
        ([str(tmp_path / "syntax.py")], "syntax.py: SyntaxError"),
    ):
        refused = CliRunner().invoke(sweep_command, words)
        assert refused.exit_code == 2 and sentence in refused.stderr, words


def test_a_function_that_workers_could_not_find_is_refused() -> None:
    with pytest.raises(SweepError, match="at the top of a file"):
        simkernel.sweep(lambda machine: {"x": 1})


def test_the_command_prints_the_summary(tmp_path: Path) -> None:
    out = command(str(LOSS), "--seeds", "0-1", "--only", "loss=0.0", "--out", str(tmp_path / "x.csv"), "-j", "2")
    assert out.returncode == 0, out.stderr
    assert out.stdout.splitlines()[0].split() == ["loss", "kernel", "n", "seconds", "bytes"]
    assert out.stdout.splitlines()[1].split()[:3] == ["0.0", "6.1", "2"]
    assert (tmp_path / "x.csv").read_text().startswith("loss,kernel,seed,seconds,bytes,error,command\n")


def test_rows_of_a_journal() -> None:
    row = Row({"seed": 1}, {"x": 2.5}, "", "simkernel sweep x.py --only seed=1")
    assert row.flat() == {"seed": 1, "x": 2.5, "error": "", "command": "simkernel sweep x.py --only seed=1"}


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("", ["--seeds", "²"]),
        ("", ["--seeds", "9" * 5000]),
        ("", ["--seeds", "0-99999999999"]),
        ("", ["--seeds", "0", "--only", "seed=abc"]),
        ("", ["--seeds", "0", "--only", "seed=²"]),
        ("GRID = {'a': [{}]}", []),
        ("GRID = {5: [5]}", []),
        ("GRID = {'a': range(1 << 40)}", []),
    ],
)
def test_what_is_no_grid_is_said_in_a_line(tmp_path: Path, program: str, words: list[str]) -> None:
    file = tmp_path / "own.py"
    file.write_text(f"{program}\ndef experiment(machine, **own): return {{'x': 1}}\n")
    result = CliRunner().invoke(sweep_command, [str(file), *words])
    assert result.exit_code == 2 and isinstance(result.exception, SystemExit), result.exception
    assert result.stderr.startswith("simkernel sweep: ") and result.stderr.count("\n") == 1


@pytest.mark.parametrize("line", [b"\xff\xfe\n", b"[" * 100_000 + b"\n", b"{}\n", b'{"key": 5, "outcome": 5}\n'])
def test_a_damaged_journal_is_written_on(tmp_path: Path, line: bytes) -> None:
    file, journal = tmp_path / "own.py", tmp_path / "journal"
    file.write_text("def experiment(machine): return {'x': 1}\n")
    journal.write_bytes(line)
    result = CliRunner().invoke(sweep_command, [str(file), "--seeds", "0", "--journal", str(journal)])
    assert result.exit_code == 0, result.exception
    assert journal.read_bytes().count(b"\n") == 2


def test_what_is_no_finite_number_is_null(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(
        "GRID = {'a': [float('nan'), float('inf'), 10**400]}\ndef experiment(machine, a): return {'x': a}\n"
    )
    out = tmp_path / "rows.jsonl"
    result = CliRunner().invoke(sweep_command, [str(file), "--seeds", "0-1", "--json", "--out", str(out)])
    assert result.exit_code == 0, result.exception
    document = json.loads(result.stdout)
    assert [row["x"] for row in document["rows"]] == [None] * 4 + [10**400] * 2
    assert document["rows"] == [json.loads(line) for line in out.read_text().splitlines()]
    assert {each["measured"]["x"]["mean"] for each in document["summary"]} == {None}


@pytest.mark.parametrize(
    "body", ["time.sleep(1000)", "while True:\n  try: time.sleep(0.01)\n  except BaseException: pass"]
)
def test_a_point_that_sleeps_ends_at_its_limit(tmp_path: Path, body: str) -> None:
    file = tmp_path / "own.py"
    file.write_text(f"import time\ndef experiment(machine):\n {body}\n")
    begin = time.monotonic()
    rows = run_points(sweep_file(str(file), [0], limit_s=0.2)).rows
    assert [row.error for row in rows] == ["not done within 0.2 s"] and time.monotonic() - begin < 30
