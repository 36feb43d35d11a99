"""Arguments of global functions and their `arg:` tags: what 6.12 and 7.2 said of the programs of tests/oracle/function_arguments.bpf.c."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from arch.abi.version import KernelVersion
from simkernel.verify_object import verify_object

DATA = Path(__file__).parents[2] / "data"
FILES = ("function_arguments", "held")  # the sources are in tests/oracle
# The most states at once are counted where dynptrs are compared: not as there.
NOT_TO_THE_BYTE = {("7.2", "dynptr")}


@pytest.mark.parametrize("version", ("6.12", "7.2"))
@pytest.mark.parametrize("file", FILES)
def test_each_program_gets_the_real_kernels_answer(file: str, version: str, tmp_path: Path) -> None:
    recorded: dict[str, Any] = json.loads(gzip.decompress((DATA / f"{file}.json.gz").read_bytes()))
    path = tmp_path / f"{file}.bpf.o"
    path.write_bytes(base64.b64decode(recorded["object"]))
    answers = recorded["answers"][version]
    rows = {row["name"]: row for row in verify_object(path, KernelVersion.parse(version), "x86_64", 1)}
    assert rows.keys() == answers.keys()
    for name, (errno, log) in answers.items():
        assert rows[name]["ret"] == errno, name
        if (version, name) not in NOT_TO_THE_BYTE:
            assert _without_addresses(rows[name]["log"]) == _without_addresses(log), name


def _without_addresses(log: str) -> str:
    return re.sub(r"0x[0-9a-f]{16}", "ADDRESS", log)
