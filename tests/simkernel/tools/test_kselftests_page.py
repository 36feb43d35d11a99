"""docs/kselftests.md is what the runs have said, not what somebody wrote."""

from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    return pytest.importorskip("kselftests")


def test_the_page_is_made_from_what_is_kept(tool):
    assert tool.PAGE.read_text() == tool.page(tool.kept_rows())


def test_a_series_that_is_counted_again_is_counted_again(tool):
    said = "1..1\nok 1 first 0x12\n1..2\nok 1 second\nnot ok 2 - third # SKIP no\n[FAIL]\tx\n"
    assert tool.results(tool.Ran(1, said)) == [
        ("first N", "ok"), ("second", "ok"), ("third", "skip"), ("x", "not ok"), ("exit", "not 0"),
    ]  # fmt: skip
