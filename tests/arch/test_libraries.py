"""Versions of libraries are looked at before anything is done with them, and are those that installers are told."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from arch.libraries import NEEDED, WrongLibrary, check_library, version_tuple

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("text", "numbers"), [("2.1.4", (2, 1, 4)), ("2.1.4rc1", (2, 1, 4)), ("0.44.dev0+g1", (0, 44)), ("x", ())]
)
def test_versions_are_numbers(text: str, numbers: tuple[int, ...]) -> None:
    assert version_tuple(text) == numbers


@pytest.mark.parametrize("version", ["2.0.1", "3.0", "1.0.3", ""])
def test_another_version_is_a_sentence(version: str) -> None:
    with pytest.raises(WrongLibrary, match=r"needs unicorn 2.1.4 or newer, below 3; .* is installed"):
        check_library("unicorn", version)


def test_installers_are_told_the_same() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    for name, (least, below) in NEEDED.items():
        assert f"{name}>={'.'.join(map(str, least))},<{below[0]}" in told


def test_the_lock_file_has_what_is_needed() -> None:
    """requirements.lock: every line has hashes, and every dependency is in it."""
    text = (ROOT / "requirements.lock").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + [
        n for group in ("dev", "cc", "proofs") for n in project["optional-dependencies"][group]
    ]
    for requirement in wanted:
        name = requirement.split(";")[0].strip().split(">")[0].split("<")[0]
        assert f"\n{name}==" in "\n" + text, name
    pinned = [block for block in text.replace("\\\n", " ").splitlines() if block.strip()]
    assert all("--hash=sha256:" in block for block in pinned)
