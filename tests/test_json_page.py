"""docs/json.md names every field that the commands' documents have."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from simkernel.cli import cli

ROOT = Path(__file__).parent.parent
OBJECT = str(ROOT / "samples/obj/x86_64/sizes.bpf.o")
ROWS = dict(re.findall(r"^\| `([^`]*)` \| (.*) \|$", (ROOT / "docs/json.md").read_text(), re.M))


def keys(value: object) -> set[str]:
    """Of a document, and of those of its fields that have names of their own."""
    if isinstance(value, list):
        return set().union(*map(keys, value))
    if not isinstance(value, dict):
        return set()
    own = {key for key in value if isinstance(value[key], dict) and key in ("counters", "gone", "new", "crash")}
    return set(value) | set().union(*(keys(value[key]) for key in own))


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("run --json", ["run", "--json", "--", "busybox", "true"]),
        ("verify OBJ --json", ["verify", OBJECT, "--json"]),
        ("explain --json", ["explain", OBJECT, "--json"]),
        ("diff --json", ["diff", "5.10", "6.1", "--for", OBJECT, "--json"]),
        ("matrix --format json", ["matrix", OBJECT, "--kernel", "6.1", "--format", "json"]),
    ],
)
def test_every_field_is_told(row: str, words: list[str]) -> None:
    output = CliRunner().invoke(cli, words).stdout
    documents = (
        [json.loads(line) for line in output.splitlines()] if "a line for each" in ROWS[row] else json.loads(output)
    )
    told = set(re.findall(r"`(\w+)`", ROWS[row]))
    found = keys(documents)
    assert found and (found <= told or ("what else the verifier counted" in ROWS[row] and told <= found | {"message"}))
