"""`simkernel report`: the page has what was recorded, and a browser draws it without anything from outside."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from simkernel.recording.latency import Interval, heat, intervals, percentiles
from simkernel.recording.model import Recording
from simkernel.recording.page import page
from simkernel.recording.page.parts import slots
from simkernel.recording.rows import MapDump, Meta, ProgramDump
from tests.simkernel.recording.conftest import Run

EMPTY = {"meta", "input"}  # elements without an end
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class Checker(HTMLParser):
    """Elements are closed in the order in which they were opened; nothing points outside of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "action", "data")]
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, tag


@pytest.fixture(scope="module")
def text(run: Run) -> str:
    return page(run.recording)


def test_the_page_is_whole_and_alone(text: str) -> None:
    checker = Checker()
    checker.feed(text)
    checker.close()
    assert checker.open == [] and checker.links == []
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text) and "@import" not in text
    assert "prefers-color-scheme: dark" in text and "color-scheme" in text


def test_every_section_is_there(text: str) -> None:
    found = re.findall(r'<section id="([a-z]+)"', text)
    assert found == ["timeline", "histograms", "latency", "flames", "maps", "events", "verifier", "counters", "tasks"]
    assert "Nothing was lost" in text


def test_its_numbers_are_the_machines(run: Run, text: str) -> None:
    for name, count in run.recording.events.counts().items():
        assert f'<td class="name">{name}</td><td class="number">{count:,}</td>' in text.replace("\n", "")
    sizes = next(each for each in run.recording.maps if each.name == "sizes")
    for _, count in sizes.entries:
        assert isinstance(count, int)
        assert not count or f">{count:,}</text>" in text
    calls = len(intervals(run.recording)["system calls"])
    assert f"<b>System calls</b> <span>count <b>{calls:,}</b></span>" in text
    assert html.escape(run.recording.programs[0].log.splitlines()[0]) in text


def test_names_cannot_leave_their_place() -> None:
    """What programs call themselves is text, in HTML as in the script's data."""
    evil = "</script><script>alert(1)</script>\"'<b>"
    recording = Recording(Meta(argv=[evil], repeat=evil))
    recording.maps = [MapDump(evil, evil, "hash", [(evil, {evil: evil})])]
    recording.programs = [ProgramDump(evil, evil, evil, evil)]
    recording.lost = [evil]
    recording.counters = {evil: {evil: 1}}
    checker = Checker()
    checker.feed(page(recording))
    assert checker.seen.count("script") == 2 and "b" not in [tag for tag in checker.seen if tag == "alert"]
    assert "alert(1)</script>" not in page(recording)


def test_maps_with_slots_are_histograms() -> None:
    dump = MapDump("hists", "x", "hash", [({"dev": 1}, {"slots": [0, 2, 5]}), ({"dev": 2}, {"slots": [1]})])
    assert slots(dump) == [("hists[{dev: 1}]", [0, 2, 5]), ("hists[{dev: 2}]", [1])]


def test_heat_counts_each_once() -> None:
    found = [Interval("k", "n", 1, begin, begin + ns) for begin, ns in ((0, 1), (10, 1000), (99, 1023), (100, 1024))]
    cells = heat(found, 10, 0, 100)
    assert sum(cells.values()) == 4 and cells[9, 9] == 1 and cells[9, 10] == 1 and cells[1, 9] == 1 and cells[0, 0] == 1
    assert percentiles(found) == {"count": 4, "min": 1, "p50": 1000, "p90": 1023, "p99": 1023, "max": 1024}


def test_a_browser_draws_it(run: Run, text: str, tmp_path: Path) -> None:
    """The script came to its end with every slice and event, and the picture is no empty one."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        pytest.skip("chromium is not installed")
    (tmp_path / "report.html").write_text(text)
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom",
         "--virtual-time-budget=2000", f"file://{tmp_path / 'report.html'}"],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert "</html>" in done.stdout, done.stderr[-2000:]
    drawn = re.search(r'data-drawn="(\d+) (\d+) (\d+)"', done.stdout)
    assert drawn, "the script did not come to its end"
    events = sum(not event.name.startswith("ftrace:") for event in run.recording.events)
    assert [int(each) for each in drawn.groups()[:2]] == [len(run.recording.slices), events]
    assert int(drawn[3]) > 1000, "pixels of the timeline that are not empty"
