"""Following a how-to page in a copy of the sources: its blocks of code, edits of files, commands."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("arch", "tracing", "bpf", "simkernel", "docs")


def blocks(page, language):
    """The fenced blocks of one language, in order."""
    text = (ROOT / "docs" / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


class Checkout:
    """A copy of the sources that may be changed."""

    def __init__(self, place: Path):
        self.place = place
        for floor in FLOORS:
            shutil.copytree(ROOT / floor, place / floor, ignore=shutil.ignore_patterns("__pycache__", "*.o"))

    def insert(self, path, before, text):
        """Put a line in front of the first one that contains `before`, searched from the end of what it follows."""
        file = self.place / path
        content = file.read_text()
        assert content.count(before) == 1, before
        file.write_text(content.replace(before, text + before))

    def append(self, path, text):
        """Put a block at the end of a file."""
        file = self.place / path
        file.write_text(f"{file.read_text()}\n\n{text}")

    def command(self, block):
        """The commands of a block of shell."""
        for line in block.splitlines():
            assert line.startswith("$ python "), line
            self.python(*line.removeprefix("$ python ").split())

    def python(self, *arguments):
        """Run Python there; what it prints."""
        environment = {**os.environ, "PYTHONPATH": str(self.place), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, *arguments], cwd=self.place, env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout
