"""A boot begins no search for garbage, neither while it goes on nor at its end."""

from __future__ import annotations

import gc

import pytest

from arch import garbage
from arch.garbage import hold, release, unsearched


def test_what_is_made_meanwhile_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[str] = []

    def heard(phase: str, info: dict[str, int]) -> None:
        searches.append(phase)

    assert gc.isenabled()
    monkeypatch.setattr(garbage, "_held", [])  # what commands that ran in this process have kept
    gc.unfreeze()
    gc.collect()
    gc.callbacks.append(heard)
    try:
        with unsearched():
            kept = [[number] for number in range(50 * gc.get_threshold()[0])]
        after: list[list[int]] = [[]]
        assert searches == []
    finally:
        gc.callbacks.remove(heard)
    assert gc.isenabled()
    assert not gc.get_freeze_count()
    assert len(kept) and len(after)


def test_what_is_held_stays_unsearched_over_boots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "_held", [])
    gc.unfreeze()
    hold()
    hold()
    try:
        with unsearched():
            pass
        assert gc.get_freeze_count()
        release()
        assert gc.get_freeze_count()  # by the other
    finally:
        release()
    assert not gc.get_freeze_count()
