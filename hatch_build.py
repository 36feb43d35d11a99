"""Optional: the verifier as machine code in the wheel.

    SIMKERNEL_COMPILED=1 pip install .        (needs a C compiler; `pip wheel .` makes the wheel)

mypyc translates the modules of PACKAGES as they are; what it makes lies beside them, and Python prefers it.  Without the variable
the wheel is pure Python and runs everywhere, with the same results.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# What every instruction of a walk passes through.  Tables and what runs once for a program stay as they are.
PACKAGES = tuple(f"bpf/verifier/{name}" for name in ("access", "calls", "classic", "domain", "lines", "log", "paths"))
MODULES = ("bpf/isa/insn.py", "bpf/verifier/env.py")
GROUP = "simkernel_compiled"  # the one shared library behind all of them

SETUP = """
import sys
from mypyc.build import mypycify
from setuptools import setup
extensions = mypycify(sys.argv.pop().split(), opt_level="2", debug_level="0", group_name=GROUP)
setup(name="compiled", packages=[], ext_modules=extensions)
"""


def sources(root: Path) -> list[str]:
    """What is compiled."""
    found = [path for package in PACKAGES for path in sorted((root / package).rglob("*.py"))]
    return [str(path.relative_to(root)) for path in [*found, *(root / module for module in MODULES)]]


class CompiledBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """hatchling calls it before it packs a wheel."""

    PLUGIN_NAME = "custom"

    @property
    def wanted(self) -> bool:
        return self.target_name == "wheel" and os.environ.get("SIMKERNEL_COMPILED", "") not in ("", "0")

    def dependencies(self) -> list[str]:
        """What only this needs."""
        return ["mypy>=2.4,<3", "setuptools>=65"] if self.wanted else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and add what came of it to the wheel."""
        if not self.wanted or version == "editable":
            return
        root = Path(self.root)
        self._folder = tempfile.TemporaryDirectory()
        work = Path(self._folder.name)
        setup = work / "setup_compiled.py"
        setup.write_text(f"GROUP = {GROUP!r}\n{SETUP}")
        command = [sys.executable, str(setup), "build_ext", "--build-lib", str(work / "lib")]
        command += ["--build-temp", str(work / "temp"), " ".join(sources(root))]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
        subprocess.run(command, check=True, cwd=root, env=environment)
        for made in sorted((work / "lib").rglob("*.so")):
            build_data["force_include"][str(made)] = str(made.relative_to(work / "lib"))
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """The temporary files go."""
        if self.wanted and version != "editable":
            self._folder.cleanup()
