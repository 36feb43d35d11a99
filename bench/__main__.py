"""`python -m bench [NAME ...] [--json] [--record]`: run all benchmarks, or those named, each in a process of its own.

Every module of this package is one benchmark with a `main()` that prints its rows.  Numbers are for reading, not for
passing or failing: machines differ and are noisy, so compare rows of one run.  `--record` keeps the rows for
docs/performance.md (docs/performance_page.py); benchmarks that are not named keep what was recorded.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RECORD = HERE / "last_run.json"
TIMEOUT_S = 600


def names() -> list[str]:
    """All benchmarks, sorted."""
    return sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))


def facts() -> dict[str, str]:
    """Of this host, as far as they make numbers what they are."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return {
        "processors": f"{os.cpu_count()} {platform.machine()}",
        "Python": platform.python_version(),
        **{name: version(name) for name in ("unicorn", "llvmlite")},
        "load": f"{load:.1f}",
    }


def rounded(value: Any) -> Any:
    """Four digits of every number."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return {name: rounded(one) for name, one in value.items()} if isinstance(value, dict) else value


def record(chosen: list[str]) -> int:
    """Run and keep what was measured; the exit status is the number of benchmarks that did not finish."""
    kept = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    failed = 0
    for name in chosen:
        own = facts()
        try:
            done = subprocess.run(
                [sys.executable, "-m", f"bench.{name}", "--json"], timeout=TIMEOUT_S, capture_output=True, text=True
            )
            kept[name] = {"facts": own, "rows": rounded(json.loads(done.stdout))}
        except (subprocess.TimeoutExpired, json.JSONDecodeError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed += 1
    RECORD.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n")
    return failed


def main(arguments: list[str]) -> int:
    """Run and report; the exit status is the number of benchmarks that did not finish."""
    as_json, keep = "--json" in arguments, "--record" in arguments
    arguments = [argument for argument in arguments if not argument.startswith("--")]
    unknown = sorted(set(arguments) - set(names()))
    if unknown:
        print(f"no benchmark named {', '.join(unknown)}; there are: {', '.join(names())}", file=sys.stderr)
        return 2
    if keep:
        return record(arguments or names())
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
