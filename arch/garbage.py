"""Python's search for circles of garbage, and when it is left out."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

KEPT_BETWEEN = 8  # what is kept without a search until all is searched: dead machines, about 3 MB each
_kept = count(1)


@contextmanager
def unsearched(kept: bool = False) -> Iterator[None]:
    """No search here.  `kept`: what is made stays (a boot's hundred thousand objects), so that it counts as searched.

    What was garbage by then counts as searched, too, and Python would never look at it again: we do, now and then.
    """
    searched = gc.isenabled()
    if searched and kept and next(_kept) % KEPT_BETWEEN == 0:
        gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if searched:
            # What was made counts as old: else the next object made begins the search.
            if kept and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
