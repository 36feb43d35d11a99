"""A boot begins no search for garbage, neither while it goes on nor at its end."""

from __future__ import annotations

import gc

from arch.garbage import unsearched


def test_what_is_made_meanwhile_is_not_searched() -> None:
    searches: list[str] = []

    def heard(phase: str, info: dict[str, int]) -> None:
        searches.append(phase)

    assert gc.isenabled()
    gc.unfreeze()  # what commands that ran in this process have kept
    gc.collect()
    gc.callbacks.append(heard)
    try:
        with unsearched(kept=True):
            kept = [[number] for number in range(50 * gc.get_threshold()[0])]
        after: list[list[int]] = [[]]
        assert searches == []
    finally:
        gc.callbacks.remove(heard)
    assert gc.isenabled()
    assert not gc.get_freeze_count()
    assert len(kept) and len(after)
