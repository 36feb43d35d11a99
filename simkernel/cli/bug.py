"""What the command line says about a bug of ours: one line, and a file with all that is needed to have it again."""

from __future__ import annotations

import os
import platform
import shlex
import sys
import tempfile
import traceback
from importlib import metadata
from pathlib import Path

from simkernel import __version__
from simkernel.bug import Oops

EXIT_BUG = 70  # EX_SOFTWARE of sysexits.h
LIBRARIES = ("unicorn", "llvmlite", "capstone", "pyelftools")


def report_text(oops: Oops) -> str:
    """Command line, machine, versions, the oops, the Python traceback."""
    parts = [
        f"command: {shlex.join(['simkernel', *sys.argv[1:]])}",
        f"directory: {os.getcwd()}",
        *(f"{name}: {value}" for name, value in oops.machine.items()),
        f"simkernel: {__version__}",
        f"python: {platform.python_version()} on {platform.platform()}",
        *(f"{name}: {version_of(name)}" for name in LIBRARIES),
        "",
        oops.text,
        "",
        python_traceback(oops),
    ]
    return "\n".join(parts)


def version_of(distribution: str) -> str:
    """Of an installed library."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


def python_traceback(oops: Oops) -> str:
    """Of the exception behind an oops."""
    return "".join(traceback.format_exception(oops.__cause__ or oops))


def report(oops: Oops, command: str, directory: Path | None, debug: bool) -> int:
    """Write the file (into `directory`, else the host's directory for temporary files), say so; the exit status."""
    text = report_text(oops)
    try:
        fd, name = tempfile.mkstemp(".txt", "simkernel-bug-", directory)
        with os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        where = f"; {name} has what is needed to repeat it"
    except OSError:
        where = ""
    if debug or not where:
        sys.stderr.write(python_traceback(oops))
    print(f"simkernel {command}: this is a bug of simkernel, please report it{where}", file=sys.stderr)
    return EXIT_BUG
