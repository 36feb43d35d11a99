"""docs/tools.md: its commands, where the tools are.  A ```tools NAME block is run where NAME is installed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.test_docs import blocks, run_console

PAGE = Path(__file__).parents[3] / "docs" / "tools.md"
BLOCKS = re.findall(r"^```tools (\S+)\n(.*?)^```", PAGE.read_text(), re.M | re.S)


@pytest.mark.slow
@pytest.mark.parametrize(("tool", "text"), BLOCKS, ids=[tool for tool, _ in BLOCKS])
def test_a_tool_does_in_the_machine_what_the_page_shows(tool: str, text: str, tmp_path: Path) -> None:
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    for language, file, script in blocks(PAGE):
        if language == "sh":
            (tmp_path / file).write_text(script)
    run_console(text, tmp_path)


def test_every_tool_that_the_page_names_has_a_block() -> None:
    assert {tool for tool, _ in BLOCKS} == {"bpftrace", "perf", "trace-cmd", "bpftool", "opensnoop", "rustc"}
