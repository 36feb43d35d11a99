"""docs/performance.md is what the recorded run of the benchmarks says."""

import json

from bench.__main__ import names, rounded
from bench._rows import plot
from docs.performance_page import GOALS, PAGE, RECORD, SECTIONS, goals, page, ratio, shown, table

RECORDED = json.loads(RECORD.read_text())


def test_every_benchmark_has_its_section_and_was_recorded():
    assert sorted(name for section in SECTIONS for name in section.names) == names()
    assert sorted(RECORDED) == names()


def test_the_page_is_what_was_recorded():
    assert PAGE.read_text() == page(RECORDED)


def test_ratios_are_of_the_least_and_of_each_round():
    assert ratio([2.0, 9.0], [4.0, 3.0]) == "0.67 (0.50 to 3.00)"
    rows = [
        {"name": "a|b", "samples": [1234.5], "unit": "ns", "peers": {}},
        {"name": "c", "samples": [0.5], "unit": "ms", "peers": {"few": [1.0]}},
    ]
    assert table(rows).splitlines()[2:] == ["| a\\|b | 1,234 ns | 1,234 |  |", "| c | 0.5 ms | 0.5 | 0.50 |"]
    assert rounded({"samples": [123456.7, 0.00012345]}) == {"samples": [123500.0, 0.0001234]}


def test_growth_is_drawn_as_bars():
    row = {"name": "a thing", "samples": [3.0, 2.0], "unit": "us", "peers": {"10": [1.0, 4.0]}, "at": "1,000"}
    assert plot([row]).splitlines() == [
        "a thing, us", f"{'10':>12} {'#' * 20:<40} 1", f"{'1,000':>12} {'#' * 40} 2",
    ]  # fmt: skip
    assert shown([row]).splitlines()[2].startswith("| a thing (1,000) | 2 us |")
    drawn = RECORDED["growth"]["rows"]
    assert drawn and all(row["at"] for row in drawn) and plot(drawn) in PAGE.read_text()


def test_what_was_wanted_is_told_with_what_was_measured():
    text = goals(RECORDED)
    assert text in PAGE.read_text()
    for title, *_ in GOALS:
        (line,) = (line for line in text.splitlines() if line.startswith(f"| {title} |"))
        assert line.endswith("| reached |") or line.endswith(" times that |")
