"""Every command has --json; what it prints is what its schema says, no field more or less; docs/json.md is made from the schemas."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import click
import pytest

from docs import json_page
from simkernel.cli import cli
from simkernel.cli.documents import DOCUMENTS, Schema
from tests.tools.warm import warm_server

ROOT = Path(__file__).parent.parent
OBJECT, WRITES = (ROOT / f"samples/obj/x86_64/{name}.bpf.o" for name in ("sizes", "writes"))
WRITER = ROOT / "samples/bin/x86_64/writer"
ROWS = {row.command: row for row in DOCUMENTS}
COMMANDS = {
    "demo": "demo",
    "run": f"run --bpf {WRITES} -- {WRITER} 2",
    "run --explore N": f"run --explore 1 -- {ROOT}/samples/bin/x86_64/nothing_there",
    "debug --commands FILE": f"debug --bpf {WRITES} --commands script -- {WRITER} 2",
    "debug --verifier OBJ": f"debug --verifier {OBJECT}",
    "debug --vmlinux OUT": "debug --vmlinux vmlinux",
    "report DIR": "report kept",
    "export DIR -f FORMAT -o FILE": "export kept -f folded -o folded",
    "cc SOURCE": f"cc {ROOT}/samples/writes.bpf.c",
    "build PROGRAM": "build program.py",
    "list functions|events": "list events sched:*",
    "disasm FUNCTION": "disasm vfs_write",
    "verify OBJ...": f"verify {OBJECT}",
    "verify --cases FILE": "verify --cases cases.json --run",
    "explain OBJ": f"explain {WRITES} --kernel 4.1",
    "matrix OBJ...": f"matrix {OBJECT} --kernel 6.1",
    "sweep FILE": "sweep sweep.py --seeds 0-1",
    "diff BEFORE AFTER": f"diff 5.10 6.1 --for {OBJECT}",
    "feature probe": "feature probe --kernel 4.9",
    "btf dump": "btf dump --arch riscv64",
    "btf list": "btf list",
    "schema [COMMAND]": "schema",
}
NOT_RUN = {"debug --gdb PORT", "btf import"}  # tests/simkernel/debug/test_gdb.py, tests/simkernel/cli/test_verify.py


def leaves(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Every command that does something."""
    if not isinstance(command, click.Group):
        yield " ".join(words), command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from leaves(below, (*words, name))


def strict(schema: Schema) -> Schema:
    """The same, where a field that is not told is an error."""
    out = dict(schema)
    if "properties" in out:
        out["properties"] = {name: strict(each) for name, each in cast(dict[str, Schema], out["properties"]).items()}
        out["additionalProperties"] = False
    for name in ("items", "additionalProperties"):
        if isinstance(out.get(name), dict):
            out[name] = strict(cast(Schema, out[name]))
    return out


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with everything that COMMANDS name."""
    place = tmp_path_factory.mktemp("json")
    (place / "script").write_text("break bpf write_begins\ncontinue\nstep\nregisters\nquit\n")
    (place / "sweep.py").write_text('def experiment(machine):\n    return {"ns": machine.kernel.clock.now_ns}\n')
    (place / "program.py").write_text(
        "from simkernel import bpf\n\n\n@bpf.kprobe('vfs_read')\ndef program(ctx):\n    return 0\n"
    )
    case = {"id": 1, "insns": "b700000000000000 9500000000000000".replace(" ", ""), "prog_type": 1, "ret": 0}
    (place / "cases.json").write_text(json.dumps({"cases": [case]}))
    command = warm_server().command("run", "--out", "kept", "--sample", "50000", "--", WRITER, "2")
    subprocess.run(command, cwd=place, check=True, timeout=100)
    return place


def test_every_command_has_json_and_a_schema() -> None:
    for words, command in leaves(cli):
        assert any("--json" in option.opts for option in command.params), words
        assert any(row == words or row.startswith(f"{words} ") for row in ROWS), words
    assert set(ROWS) == {*COMMANDS, *NOT_RUN}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_document_is_what_its_schema_says(name: str, place: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    if name == "cc SOURCE" and not (shutil.which("clang") or importlib.util.find_spec("ziglang")):
        pytest.skip("needs clang or the Python package ziglang")
    row, words = ROWS[name], COMMANDS[name].split()
    before, dashes, program = (
        (words, [], []) if "--" not in words else (words[: words.index("--")], ["--"], words[words.index("--") + 1 :])
    )
    command = warm_server().command(*before, "--json", *dashes, *program)
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=100)
    documents = [json.loads(line) for line in done.stdout.splitlines()] if row.lines else [json.loads(done.stdout)]
    assert documents, done.stderr
    if name == "btf dump":
        documents = [{"types": list({each["kind"]: each for each in documents[0]["types"]}.values())}]
    for document in documents:
        jsonschema.Draft202012Validator(strict(row.schema)).validate(document)


def test_the_page_is_made_from_the_schemas() -> None:
    assert json_page.PAGE.read_text() == json_page.page(), "make it again: python -m docs.json_page"
