"""Regenerate the generated pages:  python -m docs.generate [--check]

With --check nothing is written; the exit status says whether what is committed is what would be written.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
#  page -> the command that writes it
PAGES = {
    "libbpf-tools.md": ["-m", "tests.simkernel.loader.libbpf_tools", "--doc"],
    "events.md": ["-m", "docs.events_page"],
}


def main(arguments: list[str]) -> int:
    """Write every page, or compare."""
    stale = 0
    for name, command in PAGES.items():
        page = HERE / name
        before = page.read_text()
        subprocess.run([sys.executable, *command], check=True, cwd=HERE.parent)
        after = page.read_text()
        if "--check" in arguments and after != before:
            page.write_text(before)
            print(f"docs/{name} is not what its generator writes now: run `python -m docs.generate`")
            stale += 1
    return stale


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
