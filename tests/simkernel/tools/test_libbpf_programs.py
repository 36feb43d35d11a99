"""docs/libbpf-tools.md: Debian's programs show what the same runs showed on real kernels."""

import json
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    return pytest.importorskip("libbpf_programs")


@pytest.mark.parametrize(
    "kernel, command",
    [
        ("6.1", "bindsnoop"),
        ("6.1", "exitsnoop"),
        ("6.1", "tcptracer"),
        ("5.10", "biolatency"),
        ("6.12", "capable"),
        ("7.2", "cachestat 1 2"),
    ],
)
def test_what_a_program_shows(tool, kernel, command, busybox):
    if tool.path("libbpf-tools", "amd64") is None:
        pytest.skip("Debian's libbpf-tools was not fetched (tests/tools/foreign_packages.py)")
    shown = tool.told(tool.run_inside(command, kernel)[0])[command]
    assert set(json.loads(tool.answers(kernel).read_text())[command]) <= set(shown)


def test_which_lines_count(tool):
    console = "=== a 1\nPID COMM\n12 cat 0x7f\n12 kworker\n    0 -> 1   : 5  |**|\n    2 -> 3   : 7  |**|\nPID COMM\n--- end\n"
    assert tool.told(console) == {"a 1": ["PID COMM", "N cat N", "N -> N : N"]}


def test_the_page_has_a_row_for_each(tool):
    usual = tool.PAGE.read_text().partition("\n## On ")[0]
    rows = [line.split("`")[1] for line in usual.splitlines() if line.startswith("| `")]
    assert rows == list(tool.COMMANDS) == list(json.loads(tool.answers("6.1").read_text()))


def test_other_kernels_are_compared_whole(tool):
    kept = json.loads(tool.HERE.read_text())
    assert list(kept) == ["5.10", "6.12", "7.2"]
    for kernel, shown in kept.items():
        asked = json.loads(tool.answers(kernel).read_text())
        assert {command: len(lines) for command, lines in asked.items()} == {
            command: count for command, (count, _) in shown.items()
        }
