"""`simkernel verify`: verdicts and exit statuses, and case files that are not as they should be."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bpf.btf.codec import Btf, BtfType, Kind, Member, Param
from simkernel.cli import cli

ROOT = Path(__file__).parents[3]
OBJ = ROOT / "samples" / "obj"
DATA = ROOT / "tests" / "data"


def verify(*args: object) -> Result:
    """`simkernel verify ARGS` in this process.  A traceback is a failure of the test."""
    result = CliRunner().invoke(cli, ["verify", *map(str, args)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_an_object_program_by_program() -> None:
    result = verify("--json", OBJ / "x86_64" / "writes.bpf.o")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(row["name"], row["ret"]) for row in rows] == [("write_begins", 0), ("write_ends", 0)]
    assert result.exit_code == 0


def test_a_rejected_object_is_status_1_with_the_log() -> None:
    result = verify(OBJ / "x86_64" / "writes.bpf.o", "--kernel", "4.1")
    assert result.exit_code == 1
    assert "rejected: EINVAL" in result.stdout
    assert "invalid func 14" in result.stdout


def test_another_architecture() -> None:
    assert verify(OBJ / "s390x" / "writes.bpf.o", "--arch", "s390x").exit_code == 0


@pytest.mark.parametrize("name", ["/nosuch", "/", ROOT / "README.md", ROOT / "samples" / "bin" / "x86_64" / "hello"])
def test_what_is_no_object_is_status_2(name: object) -> None:
    result = verify(name)
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)


GOOD = {"id": 1, "prog_type": 1, "insns": "b7000000000000009500000000000000", "answer": {"ret": 0}}


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1, 2]", '{"cases": [{"id": 1}]}', '{"cases": 3}', "\x1f\x8bxx"]
    + [
        json.dumps({"maps": {}, "cases": [{**GOOD, **change}]})
        for change in ({"insns": "zz"}, {"insns": "b7"}, {"insns": 3}, {"runs": [None]}, {"runs": 1}, {"answer": "x"},
                       {"answer": {}}, {"kfuncs": [1]}, {"prog_type": "x"}, {"maps": {"nosuch": [0]}}, {"log": 5},
                       {"maps": [1]}, {"maps": {"fixup_map_hash_8b": [99]}}, {"answer": {"ret": 0, "xlated": "zz"}},
                       {"runs": [{"data": "00" * 64}], "answer": {"ret": 0, "runs": [None]}})
    ]
    + [json.dumps({"header": {}, "cases": [{"insns": ["b700000000000000", "9500000000000000"], "prog_type": 1,
                                            "verifier_ret": 0}]})],
)  # fmt: skip
def test_a_broken_case_file_is_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    path.write_text(text, encoding="latin-1")
    result = verify("--cases", path, "--run")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)


def test_agreement_and_difference(tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps([GOOD]))
    assert verify("--cases", path).exit_code == 0
    path.write_text(json.dumps([{**GOOD, "answer": {"ret": -13}}]))
    result = verify("--cases", path)
    assert result.exit_code == 1
    assert "the real kernel says EACCES" in result.stderr


@pytest.mark.parametrize("name", ["verifier_6_1_given", "verifier_logs_4_1_given", "test_verifier_4_1"])
def test_recorded_cases_with_one_wrong_field(name: str, tmp_path: Path) -> None:
    """Whatever a field holds: an answer or a refusal, no traceback."""
    content = json.loads(gzip.decompress((DATA / f"{name}.json.gz").read_bytes()))
    key = None if isinstance(content, list) else next(k for k, v in content.items() if isinstance(v, list))
    rows = content if key is None else content[key]
    rng, path = random.Random(4), tmp_path / "case.json"
    wrong: list[Any] = [None, -1, "zz", "", [], {}, 1 << 70, 3.5, [None], [1, "x"], True, {"a": 1}]
    for _ in range(40):
        row = dict(rng.choice(rows))
        row[rng.choice(list(row))] = rng.choice(wrong)
        path.write_text(json.dumps([row] if key is None else {**content, key: [row]}))
        assert verify("--cases", path, "--run").exit_code in (0, 1, 2)


def small_kernel_types(path: Path) -> None:
    """BTF in which struct thing is type 4, and traced() takes a pointer to it."""
    btf = Btf()
    btf.append(BtfType(Kind.INT, "int", size=4, bits=32))
    btf.append(BtfType(Kind.INT, "long", size=8, bits=64))
    btf.append(BtfType(Kind.INT, "char", size=1, bits=8))
    thing = btf.append(BtfType(Kind.STRUCT, "thing", size=4, members=[Member("n", 1, 0)]))
    pointer = btf.append(BtfType(Kind.PTR, "", type=thing))
    proto = btf.append(BtfType(Kind.FUNC_PROTO, "", type=1, params=[Param("it", pointer)]))
    btf.append(BtfType(Kind.FUNC, "traced", type=proto))
    path.write_bytes(btf.encode())


def test_types_of_a_real_kernel(tmp_path: Path) -> None:
    types, cases = tmp_path / "btf", tmp_path / "cases.json"
    small_kernel_types(types)
    fentry = {"prog_type": 26, "attach_type": 24, "attach": ["traced", 12]}
    cases.write_text(json.dumps([{**GOOD, **fentry, "insns": "7912000000000000" + GOOD["insns"]}]))
    log = json.loads(verify("--cases", cases, "--btf", types, "--kernel", "5.15", "--log-level", 2, "--json").stdout)[
        "log"
    ]
    assert "func 'traced' arg0 has btf_id 4 type STRUCT 'thing'" in log


@pytest.mark.parametrize("what", [OBJ / "x86_64" / "writes.bpf.o", DATA / "answers_5_10_suite.json.gz"])
def test_what_is_no_btf_is_status_2(what: Path) -> None:
    how = ["--cases", what] if what.suffix == ".gz" else [what]
    result = verify(*how, "--btf", ROOT / "README.md")
    assert (result.exit_code, "no BTF" in result.stderr) == (2, True)


def btf(*args: object) -> Result:
    """`simkernel btf ARGS`."""
    result = CliRunner().invoke(cli, ["btf", *map(str, args)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_types_are_kept_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    types, cases = tmp_path / "types", tmp_path / "cases.json"
    small_kernel_types(types)
    assert btf("list").stdout == ""
    assert btf("import", types, "--name", "vendor-5.15").stdout == "vendor-5.15: 7 types\n"
    assert json.loads(btf("import", types, "--name", "other", "--json").stdout) == {"name": "other", "types": 7}
    types.unlink()
    assert btf("list").stdout == "other\nvendor-5.15\n"
    fentry = {"prog_type": 26, "attach_type": 24, "attach": ["traced", 12]}
    cases.write_text(json.dumps([{**GOOD, **fentry, "insns": "7912000000000000" + GOOD["insns"]}]))
    asked = ["--cases", cases, "--kernel", "5.15", "--log-level", 2, "--json"]
    assert "btf_id 4 type STRUCT 'thing'" in json.loads(verify(*asked, "--btf", "vendor-5.15").stdout)["log"]
    assert verify(*asked, "--btf", "vendor").exit_code == 2


@pytest.mark.parametrize(
    "name, file", [("../x", None), ("", None), (".x", None), ("x", ROOT / "README.md"), ("x", "/nosuch")]
)
def test_types_that_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, file: object) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    small_kernel_types(tmp_path / "types")
    result = btf("import", file or tmp_path / "types", "--name", name)
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert not (tmp_path / "data").exists()
