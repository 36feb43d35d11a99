"""Regenerate what is generated, pages and tables:  python -m docs.generate [--check]

With --check nothing is written; the exit status says whether what is committed is what would be written.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
#  file -> the command that writes it
FILES = {
    "docs/events.md": ["-m", "docs.events_page"],
    "docs/bpf-tables.md": ["-m", "docs.bpf_tables"],
    "bpf/uapi.py": ["-m", "docs.uapi"],
    "docs/architecture.md": ["-m", "docs.rooms"],
    "docs/json.md": ["-m", "docs.json_page"],
    "docs/reliability.md": ["-m", "docs.reliability_page"],
    "docs/performance.md": ["-m", "docs.performance_page"],
    "docs/differences.md": ["-m", "docs.agreement_page"],
    **{f"docs/concept-{name}.svg": ["-m", "docs.pictures"] for name in ("kprobe", "ring", "verifier", "usdt")},
}


def main(arguments: list[str]) -> int:
    """Write every file, or compare."""
    stale = 0
    for name, command in FILES.items():
        page = ROOT / name
        before = page.read_text()
        subprocess.run([sys.executable, *command], check=True, cwd=ROOT)
        after = page.read_text()
        if "--check" in arguments and after != before:
            page.write_text(before)
            print(f"{name} is not what its generator writes now: run `python -m docs.generate`")
            stale += 1
    return stale


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
