"""The documentation as a site: every page is in the menu, no link is broken, commands and docstrings are in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

pytest.importorskip("yaml", reason="the extra `site` is not installed")
from docs import site
from simkernel.cli import COMMANDS, cli


def test_every_page_is_in_the_menu_once() -> None:
    pages = (
        {page.stem for page in site.DOCS.glob("*.md")}
        | set(site.OWN.values())
        | {"commands", "python", "notebook-kprobe", "notebook-seeds"}
    )
    listed = [page for group in site.menu(pages) for page in next(iter(group.values()))]
    assert sorted(listed) == sorted(f"{page}.md" for page in pages)


def test_links_lead_to_pages_of_the_site() -> None:
    pages = {"index", "usdt", "changelog"}
    text = "[u](docs/usdt.md#x) [c](../CHANGELOG.md) [code](../simkernel/cli/run.py) [w](https://example.org)\n```sh\n[a](b.md)\n```\n"
    assert site.linked(text, pages) == (
        "[u](usdt.md#x) [c](changelog.md) code [w](https://example.org)\n```sh\n[a](b.md)\n```\n"
    )


def test_commands_are_told_by_themselves() -> None:
    page = site.commands_page()
    for name in COMMANDS:
        assert f"## simkernel {name}\n" in page
    assert "| `--netem DEV:SPEC` | Delay and lose packets" in page and "## simkernel feature probe" in page


def test_man_pages(tmp_path: Path) -> None:
    pytest.importorskip("click_man", reason="the extra `site` is not installed")
    site.man_pages(tmp_path)
    names = [name for name, _, _ in site.commands(cli, click.Context(cli, info_name="simkernel"))]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"{n.replace(' ', '-')}.1" for n in names)
    assert "\\fB\\-\\-host\\-timeout\\fP" in (tmp_path / "simkernel-run.1").read_text()


@pytest.mark.parametrize("shell, word", [("bash", "1"), ("zsh", "1"), ("fish", "ma")])
def test_the_shell_completes(shell: str, word: str) -> None:
    """What the function of each shell is told: the kind of each completion, and then itself."""
    asked = {"_SIMKERNEL_COMPLETE": f"{shell}_complete", "COMP_WORDS": "simkernel ma", "COMP_CWORD": word}
    done = subprocess.run(
        [Path(sys.executable).with_name("simkernel")],
        env={**os.environ, **asked}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert re.split(r"[,\t\n]", done.stdout)[:2] == ["plain", "matrix"] and done.stdout.count("plain") == 1


def test_the_site_builds_strictly(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the extra `site` is not installed")
    out = tmp_path / "site"
    subprocess.run([sys.executable, "-m", "docs.site", out], check=True, cwd=site.ROOT, timeout=300)
    page, tutorial = (out / "python.html").read_text(), (out / "tutorial.html").read_text()
    assert '<span class="kn">import</span>' in tutorial and '<span class="gp">$ </span>' in tutorial, "code is coloured"
    assert "One simulated computer with its kernel." in page and 'id="simkernel.machine.Machine.run"' in page
    assert 'src="kprobe-' in (out / "notebook-kprobe.html").read_text()
    assert site.broken(out) == []
    (out / "tutorial.html").write_text('<a href="nothing.html"></a><img src="none.png"><a href="python.html#nowhere">')
    assert len(site.broken(out)) == 3
    assert not re.search(r'(src|href)="https?://(?!squidfunk|www.mkdocs)', tutorial)
