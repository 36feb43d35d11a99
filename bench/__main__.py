"""`python -m bench [NAME ...] [--json]`: run all benchmarks, or those named, each in a process of its own.

Every module of this package is one benchmark with a `main()` that prints its rows.  Numbers are for reading, not for
passing or failing: machines differ and are noisy, so compare rows of one run.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
TIMEOUT_S = 600


def names() -> list[str]:
    """All benchmarks, sorted."""
    return sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))


def main(arguments: list[str]) -> int:
    """Run and report; the exit status is the number of benchmarks that did not finish."""
    as_json = "--json" in arguments
    arguments = [argument for argument in arguments if argument != "--json"]
    unknown = sorted(set(arguments) - set(names()))
    if unknown:
        print(f"no benchmark named {', '.join(unknown)}; there are: {', '.join(names())}", file=sys.stderr)
        return 2
    failed = 0
    for name in arguments or names():
        command = [sys.executable, "-m", f"bench.{name}"]
        if as_json:
            command.append("--json")
        else:
            print(f"== {name}", flush=True)
        try:
            failed += subprocess.run(command, timeout=TIMEOUT_S).returncode != 0
        except subprocess.TimeoutExpired:
            print(f"{name}: not finished after {TIMEOUT_S} s", file=sys.stderr)
            failed += 1
    return failed


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
