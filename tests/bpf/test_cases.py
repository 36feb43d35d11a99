"""Case files: both formats are read, run, and held against what the real kernels said."""

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from arch.abi.version import KernelVersion
from bpf.testing.case_files import CaseError, parse_cases, read_cases
from bpf.testing.cases import Options, compare, run_cases
from simkernel.cli.verify import verify

DATA = Path(__file__).parents[1] / "data"


def run(file, **options):
    options.setdefault("version", file.version)
    results = list(run_cases(file, Options(**options)))
    return results, compare(file, Options(**options), results)


@pytest.mark.parametrize(
    ("name", "count"), [("verifier_logs_4_1_given.json.gz", 1066), ("test_verifier_4_1.json.gz", 51)]
)
def test_everything_recorded_of_4_1(name, count):
    _, summary = run(read_cases(DATA / name))
    assert not summary.differs
    assert not summary.wrongly_accepted
    assert summary.logs.equal == summary.verdicts.equal == count


PART = 12


@pytest.mark.parametrize("part", range(PART))
def test_test_runs_of_6_1(part):
    """Every recorded test run, of the kernel's own cases and of random programs, gives the recorded value."""
    for name in ("verifier_6_1_given.json.gz", "fuzz_6_1_given.json.gz"):
        file = read_cases(DATA / name)
        file.rows = [row for row in file.rows if row["answer"].get("runs")][part::PART]
        if name.startswith("fuzz"):
            file.rows = file.rows[::3]
        _, summary = run(file, run=True)
        assert summary.runs.equal == summary.runs.compared > 0
        assert summary.errnos.equal == summary.errnos.compared


def simple(insns="b7000000000000009500000000000000", **more):
    return {"prog_type": 1, "insns": insns, **more}


def test_a_program_wrongly_accepted_comes_first():
    file = parse_cases([simple(answer={"ret": -13, "log1": "no\n"}), simple(answer={"ret": 0, "log1": None})])
    _, summary = run(file)
    lines = list(summary.lines())
    assert lines[0] == "ACCEPTED THOUGH THE REAL KERNEL REJECTS: 1"
    assert lines[1].endswith("the real kernel says EACCES")
    assert summary.differs
    assert any("-no" in line for line in summary.differences[1].splitlines())


def test_cases_may_define_maps():
    definition = {"type": 2, "key_size": 4, "value_size": 8, "max_entries": 1, "value": "2a00000000000000"}
    text = (
        "7a0af8ff00000000" "bfa2000000000000" "07020000f8ffffff" "1811000000000000" "0000000000000000"
        "8500000001000000" "1500010000000000" "7900000000000000" "9500000000000000"
    )  # fmt: skip
    row = simple(text, maps={"mine": [3]}, runs=[{"data": "00" * 64}])
    results, _ = run(parse_cases({"maps": {"mine": definition}, "cases": [row]}), run=True)
    assert results[0]["runs"] == [[0, 42]]
    with pytest.raises(CaseError, match="no map mine"):
        run(parse_cases([row]))


def test_program_arrays_hold_three_programs():
    """Tail call to key 0 of fixup_prog1: return 42."""
    text = "b70300000000000018120000000000000000000000000000850000000c000000b7000000010000009500000000000000"
    row = simple(text, maps={"fixup_prog1": [1]}, runs=[{"data": "00" * 64}])
    results, _ = run(parse_cases([row]), run=True)
    assert results[0]["runs"] == [[0, 42]]


def test_bad_files_say_what_is_wrong(tmp_path):
    for content, message in (
        (b"{", "cases.json"),
        (b"[{}]", "needs insns"),
        (b'[{"insns": "b7", "prog_type": 1}]', "case 0"),
    ):
        path = tmp_path / "cases.json"
        path.write_bytes(content)
        with pytest.raises(CaseError, match=message):
            run(read_cases(path))


def test_command_line(tmp_path):
    rows = [simple(id=7, answer={"ret": 0, "log1": None, "runs": [[0, 0]]}, runs=[{"data": "00" * 64}])]
    path = tmp_path / "cases.json.gz"
    path.write_bytes(gzip.compress(json.dumps(rows).encode()))
    result = CliRunner().invoke(verify, ["--cases", str(path), "--run", "--json"])
    assert result.exit_code == 0
    line = json.loads(result.stdout.splitlines()[0])
    assert line["id"] == 7
    assert line["ret"] == 0
    assert line["runs"] == [[0, 0]]
    assert line["log"].startswith("processed 2 insns")
    assert "accepted though the real kernel rejects: none" in result.stderr
    rows[0]["answer"]["ret"] = -22
    path.write_bytes(json.dumps(rows).encode())
    assert CliRunner().invoke(verify, ["--cases", str(path)]).exit_code == 1
    assert CliRunner().invoke(verify, ["--cases", str(tmp_path / "none")]).exit_code == 2
    assert CliRunner().invoke(verify, []).exit_code == 2


def test_processes_give_the_same_answers_in_order():
    file = read_cases(DATA / "test_verifier_4_1.json.gz")
    options = Options(KernelVersion.parse("4.1"))
    assert list(run_cases(file, options, 2)) == list(run_cases(file, options))


def test_an_object():
    path = Path(__file__).parents[2] / "samples" / "obj" / "x86_64" / "tracex2.bpf.o"
    for kernel in ("4.1", "6.1"):
        result = CliRunner().invoke(verify, [str(path), "--kernel", kernel, "--json"])
        answers = [json.loads(line) for line in result.stdout.splitlines()]
        assert result.exit_code == 0, result.stdout
        assert len(answers) == 2
        assert all(answer["ret"] == 0 and answer["log"] for answer in answers)
    assert CliRunner().invoke(verify, [__file__]).exit_code == 2
