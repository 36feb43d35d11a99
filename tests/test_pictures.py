"""The pictures of docs/concepts.md are what the machines show today."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from docs import pictures


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_a_picture_is_what_its_run_shows(name: str) -> None:
    drawn = pictures.PICTURES[name]()
    ElementTree.fromstring(drawn)
    assert drawn == (pictures.DOCS / f"concept-{name}.svg").read_text(), "draw them again: python -m docs.pictures"


def test_the_page_shows_all_of_them() -> None:
    page = (pictures.DOCS / "concepts.md").read_text()
    assert all(f"(concept-{name}.svg)" in page for name in pictures.PICTURES)
