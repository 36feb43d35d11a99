"""Python's search for circles of garbage, and when it is left out."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def unsearched(kept: bool = False) -> Iterator[None]:
    """No search here.  `kept`: what is made stays (a boot's hundred thousand objects), so that it counts as searched."""
    searched = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searched:
            if (
                kept and not gc.get_freeze_count()
            ):  # what was made counts as old: else the next object made begins the search
                gc.freeze()
                gc.unfreeze()
            gc.enable()
