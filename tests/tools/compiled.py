"""The verifier as machine code (SIMKERNEL_COMPILED=1, hatch_build.py) against the verifier's own tests.

    python tests/tools/compiled.py [FOLDER]       (a C compiler; four minutes on an idle machine)

The checkout's files are copied to FOLDER (build/compiled), compiled there in place, and the tests run there: what the compiler takes
and what it makes of it both count.  Proofs put symbols in the place of numbers, which machine code cannot.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
FOLDERS = ("arch", "bpf", "simkernel", "tracing", "samples", "bench", "tests", "docs")
FILES = ("hatch_build.py", "pyproject.toml", "README.md")


def compile_in(folder: Path) -> None:
    """A copy of the checkout with the shared libraries beside their sources."""
    sys.path.insert(0, str(ROOT))
    from hatch_build import GROUP, SETUP, sources

    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy2(ROOT / name, folder / name)
    setup = folder / "setup_compiled.py"
    setup.write_text(f"GROUP = {GROUP!r}\n{SETUP}")
    command = [sys.executable, str(setup), "build_ext", "--inplace", " ".join(sources(folder))]
    subprocess.run(command, check=True, cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)})


def main() -> int:
    """0: compiled, and all tests passed."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "compiled").resolve()
    compile_in(folder)
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    where = "import bpf.verifier.env as module; print(module.__file__)"
    loaded = subprocess.run(
        [sys.executable, "-c", where], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    if not loaded.stdout.strip().endswith(".so"):
        print(f"Python took {loaded.stdout.strip()}, not what was compiled")
        return 1
    tests = ["tests/bpf/verifier", "--ignore", "tests/bpf/verifier/test_proofs.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *tests]
    return subprocess.run(command, cwd=folder, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
