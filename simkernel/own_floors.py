"""Are `arch`, `tracing` and `bpf` the ones that simkernel was built with?

simkernel is four top-level packages, and three of them have names that others use as well: the index of Python packages
has an `arch`, the sources of Linux a folder `arch`.  Whichever comes first on sys.path wins, or, when both were installed
into one environment, whichever was written last.  So the package looks before it imports anything from them.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from simkernel.own_command import is_command

FLOORS_BELOW = ("arch", "tracing", "bpf")
MARK = '__part_of__ = "simkernel"'  # in each floor's __init__.py
EXIT_USAGE = 2


class NameTaken(ImportError):
    """Another package has the name of one of simkernel's floors; `name` says which and `path` where it is."""


def own_folder() -> Path:
    """Where the four packages are, side by side."""
    return Path(__file__).resolve().parent.parent


def found(name: str) -> Path | None:
    """The file or folder that `import NAME` leads to; None when there is none."""
    try:
        spec = find_spec(name)
    except ValueError:  # a module that somebody put into sys.modules by hand
        module_file = sys.modules[name].__file__
        return Path(module_file) if module_file else None
    if spec is None:
        return None
    if spec.origin is not None and spec.has_location:
        return Path(spec.origin).resolve()
    folders = list(spec.submodule_search_locations or ())
    return Path(folders[0]).resolve() if folders else None


def is_own(name: str, where: Path) -> bool:
    """It stands beside this package, and it is not another's that was installed over ours."""
    ours = own_folder() / name / "__init__.py"
    if where.parent != ours.parent:
        return False
    return where.suffix != ".py" or MARK in where.read_text(encoding="utf-8", errors="replace")


def check() -> None:
    """NameTaken, with one sentence, when a floor is not simkernel's own."""
    for name in FLOORS_BELOW:
        where = found(name)
        if where is not None and is_own(name, where):
            continue
        taken = f"has been taken by {where}" if where is not None else "is missing"
        raise NameTaken(
            f"simkernel's own package `{name}`, beside {own_folder() / 'simkernel'}, {taken}: "
            "install simkernel into an environment of its own (python -m venv, or pipx install simkernel), "
            "and start it from a folder that has no `arch`, `tracing` or `bpf` in it.",
            name=name,
            path=str(where) if where is not None else None,
        )


def check_or_exit() -> None:
    """check(); for who typed a command one line on standard error and exit status 2, without a traceback."""
    try:
        check()
    except NameTaken as taken:
        if not is_command():
            raise
        print(f"simkernel: {taken}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE) from None
