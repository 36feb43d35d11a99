"""Rows that say since when the kernel has something: each has a reader, or it would be an opinion."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from arch.abi.version import NEWEST, RELEASES, KernelVersion
from bpf.versions.data import FLAGS
from bpf.versions.verifier_rules import rule_rows
from simkernel.fs.features import Features as FileFeatures
from tracing.features import Features

ROOT = Path(__file__).parent.parent


def code(*floors: str, but: str = "") -> str:
    """The sources of some floors, one after the other."""
    files = (path for floor in floors for path in sorted((ROOT / floor).rglob("*.py")))
    return "\n".join(path.read_text() for path in files if str(path.relative_to(ROOT)) != but)


def test_tracing_features_are_asked_for() -> None:
    text = code("tracing", "bpf", "simkernel", but="tracing/features.py")
    rows = [row.name for row in fields(Features) if row.metadata]
    own = (ROOT / "tracing" / "features.py").read_text()
    unread = [name for name in rows if not re.search(rf"\.{name}\b", text) and f"self.{name}" not in own]
    assert unread == []


def test_features_of_files_are_asked_for() -> None:
    text = code("simkernel")
    unread = [name for name in vars(FileFeatures(NEWEST)) if not re.search(rf"\.{name}\b(?! = )", text)]
    assert unread == []


def test_rules_of_the_verifier_are_asked_for() -> None:
    text = code("bpf", but="bpf/versions/verifier_rules.py")
    assert [row.name for row in rule_rows() if not re.search(rf"\b(env\.)?rules\.{row.name}\b", text)] == []


def test_groups_of_flags_are_asked_for() -> None:
    text = code("bpf", but="bpf/versions/data.py")
    assert [group for group in FLAGS if f'"{group}"' not in text] == []


@pytest.mark.parametrize("release", RELEASES)
def test_releases_are_in_order_and_supported(release: str) -> None:
    version = KernelVersion.supported(release)
    later = RELEASES[RELEASES.index(release) + 1 :]
    assert str(version) == release
    assert all(version < KernelVersion.parse(other) and version.before(other) for other in later)
