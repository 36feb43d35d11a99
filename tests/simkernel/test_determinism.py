"""The stories of stories.py, twice each in processes that differ in all that may not matter; ten ways: make determinism."""

from __future__ import annotations

import shutil

import pytest

from tests.simkernel.determinism import differences, digest
from tests.simkernel.stories import STORIES

QUICK = ("network", "sampling")


@pytest.mark.parametrize("story", [pytest.param(s, marks=() if s in QUICK else pytest.mark.slow) for s in STORIES])
def test_another_process_shows_the_same_bytes(story: str) -> None:
    if not shutil.which("busybox"):
        pytest.skip("busybox-static is not installed")
    assert differences([story], 2) == []


def test_a_difference_would_be_seen() -> None:
    """Another story is another digest, and one that cannot run says why."""
    assert digest("nothing", {}, []).startswith("failed:\nTraceback")
