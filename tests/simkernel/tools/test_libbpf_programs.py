"""docs/libbpf-tools.md: Debian's programs show what the same runs showed on the real 6.1."""

import json
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    return pytest.importorskip("libbpf_programs")


@pytest.mark.parametrize("command", ["bindsnoop", "exitsnoop", "tcptracer"])
def test_what_a_program_shows(tool, command, busybox):
    if tool.path("libbpf-tools", "amd64") is None:
        pytest.skip("Debian's libbpf-tools was not fetched (tests/tools/foreign_packages.py)")
    shown = tool.told(tool.run_inside(command)[0])[command]
    assert set(json.loads(tool.ANSWERS.read_text())[command]) <= set(shown)


def test_which_lines_count(tool):
    console = "=== a 1\nPID COMM\n12 cat 0x7f\n12 kworker\n    0 -> 1   : 5  |**|\n    2 -> 3   : 7  |**|\nPID COMM\n--- end\n"
    assert tool.told(console) == {"a 1": ["PID COMM", "N cat N", "N -> N : N"]}


def test_the_page_has_a_row_for_each(tool):
    rows = [line.split("`")[1] for line in tool.PAGE.read_text().splitlines() if line.startswith("| `")]
    assert rows == list(tool.COMMANDS) == list(json.loads(tool.ANSWERS.read_text()))
