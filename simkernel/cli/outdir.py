"""The directory of `--out`: whole, or marked as not.

While the run goes on, and for good when it never comes to its end, the directory holds a file INCOMPLETE and no result of
this run or an earlier one: results are written into a directory of their own beside it, and moved when all are there.  What
a limit kept out of them is told in INCOMPLETE, which then stays.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

RESULTS = (
    "stdout", "stderr", "trace.txt", "maps.txt", "stats.txt", "strace.txt", "events.jsonl", "samples.jsonl",
    "recording.json", "result.json",
)  # fmt: skip
INCOMPLETE, PARTIAL = "INCOMPLETE", ".partial"


class OutDir:
    """One run's results.  All of it raises OSError."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.partial = directory, directory / PARTIAL

    def begin(self) -> None:
        """From here on nothing in the directory looks like a result."""
        (self.directory / INCOMPLETE).write_text("the run has not come to its end\n")
        for name in RESULTS:
            (self.directory / name).unlink(missing_ok=True)
        if self.partial.exists():
            import shutil  # brings three compressors

            shutil.rmtree(self.partial)
        self.partial.mkdir()

    def stream(self, name: str) -> BinaryIO:
        """A result that is written while the run goes on, and read at its end."""
        return open(self.partial / name, "w+b", buffering=0)

    def finish(self, files: Mapping[str, str], missing: Sequence[str]) -> None:
        """The other results; then all of them are moved to their places, result.json last."""
        for name, text in files.items():
            (self.partial / name).write_text(text, errors="backslashreplace")
        for name in RESULTS:
            if (self.partial / name).exists():
                os.replace(self.partial / name, self.directory / name)
        self.partial.rmdir()
        if missing:
            (self.directory / INCOMPLETE).write_text("".join(f"{line}\n" for line in missing))
        else:
            (self.directory / INCOMPLETE).unlink()
