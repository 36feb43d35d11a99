"""Python's search for circles of garbage, and when it is left out."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def unsearched() -> Iterator[None]:
    """No search here: what a boot makes stays, and to look at its hundred thousand objects takes as long as making them."""
    searched = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searched:
            if not gc.get_freeze_count():  # what was made counts as old: else the next object made begins the search
                gc.freeze()
                gc.unfreeze()
            gc.enable()
