"""Is this process the `simkernel` command?  And what Ctrl-C does until the command's first line.

The package is imported before the command can catch anything, and other imports follow: half a second on a slow computer, in which
Python would answer Ctrl-C with a traceback.  Until the command takes its signals (simkernel.cli.main), one ends it without a word.
"""

from __future__ import annotations

import _signal  # the module signal itself takes as long to import as all of this
import os
import sys


def is_command() -> bool:
    """Is this process the `simkernel` command, or `python -m simkernel`?

    Both import the package before a line of the command runs, so that it cannot catch an error itself.  While
    runpy looks for the module of `-m`, argv[0] is "-m".
    """
    if sys.argv[:1] == ["-m"]:
        return sys.orig_argv[-len(sys.argv)].removeprefix("-m") == "simkernel"
    return bool(sys.argv) and os.path.basename(sys.argv[0]) in ("simkernel", "simkernel.exe", "simkernel-script.py")


def end_quietly() -> None:
    """Ctrl-C ends a command that has not begun as it ends `cat`."""
    if is_command() and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
