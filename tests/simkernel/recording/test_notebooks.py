"""The notebooks of docs/notebooks run to their ends; objects show themselves as HTML."""

from __future__ import annotations

import importlib.util
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bpf.verifier.api import Verdict
from simkernel.recording.latency import Interval
from tests.simkernel.recording.conftest import ROOT, Run

NOTEBOOKS = ROOT / "docs" / "notebooks"


@pytest.fixture(scope="module")
def make() -> ModuleType:
    for package in ("nbformat", "nbclient", "ipykernel", "matplotlib", "pandas"):
        pytest.importorskip(package)
    spec = importlib.util.spec_from_file_location("make_notebooks", NOTEBOOKS / "make.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shown(notebook: Any) -> list[str]:
    """What the code cells print and show; pictures may differ by the version of what draws them."""
    out = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            assert output.output_type != "error", output
            if output.output_type == "stream":
                out.append(output.text)
            elif "image/png" not in output.data:
                out.append(output.data.get("text/html") or output.data["text/plain"])
    return out


@pytest.mark.parametrize("name", ["kprobe.ipynb", "seeds.ipynb"])
def test_a_notebook_runs_and_every_cell_shows_something(make: ModuleType, name: str) -> None:
    saved = make.nbformat.read(NOTEBOOKS / name, as_version=4)
    # Addresses and times are those of the day on which it was saved: kernel functions grow.  Each cell still says something.
    assert len(shown(make.execute(make.build(make.NOTEBOOKS[name])))) == len(shown(saved))


@pytest.mark.parametrize("name", ["kprobe.ipynb", "seeds.ipynb"])
def test_saved_notebooks_are_those_of_make(make: ModuleType, name: str) -> None:
    saved = make.nbformat.read(NOTEBOOKS / name, as_version=4)
    assert [cell.source for cell in saved.cells] == list(make.NOTEBOOKS[name])
    assert all(cell.execution_count for cell in saved.cells if cell.cell_type == "code")
    assert str(Path.home()) not in (NOTEBOOKS / name).read_text() and "/work" not in (NOTEBOOKS / name).read_text()


class Text(HTMLParser):
    """What a reader sees."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def seen(thing: Any) -> str:
    parser = Text()
    parser.feed(thing._repr_html_())
    return " ".join(parser.words)


def test_objects_show_themselves(run: Run) -> None:
    obj = run.machine.session.objects[0]
    assert "A simulated computer" in seen(run.machine) and "writer" in seen(run.recording)
    assert f"{len(run.recording.events):,} events" in seen(run.recording.events)
    assert "map sizes, ARRAY" in seen(obj.maps["sizes"]) and "12 13" in seen(obj.maps["sizes"])
    by_process = seen(obj.maps["by_process"])
    assert "writes bytes failed" in by_process and "98,336" in by_process  # 98,305 to the device, 31 to stdout
    program = next(iter(obj.programs.values()))
    assert f"program {program.name} of {program.section_name}, loaded" in seen(program) and "exit" in seen(program)
    regs = run.machine.build.pt_regs(3, 0x1000, 64)
    assert "struct pt_regs" in seen(regs) and "0x1000 4,096" in seen(regs)
    assert seen(Verdict(-13, "R1 !read_ok <x>\n")).split()[:2] == ["rejected,", "EACCES"] and "<x>" in seen(
        Verdict(-13, "<x>")
    )
    assert seen(Verdict(0)).startswith("accepted")


def test_plots_have_what_was_counted(run: Run) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from simkernel.recording.plots import heat_map, histogram

    sizes = dict(run.machine.session.objects[0].maps["sizes"].items())
    bars = histogram(sizes).patches
    used = [slot for slot, count in sizes.items() if count]
    assert [int(bar.get_width()) for bar in bars] == [sizes[slot] for slot in range(min(used), max(used) + 1)]
    found = [Interval("k", "n", 1, begin, begin + 100) for begin in range(0, 1000, 10)]
    drawn = heat_map(found).images[0].get_array()
    assert int(drawn[~drawn.mask].sum() if hasattr(drawn, "mask") else drawn.sum()) == len(found)
    assert not list(heat_map([]).images)
