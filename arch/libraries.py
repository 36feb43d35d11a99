"""The libraries under the machine, and the versions of them that it was built with.

Some of what is done with unicorn rests on how it keeps its state (arch/emulator.py), and llvmlite reads the text that we
write for it: another version may do neither, and would say so late, or not at all.
"""

from __future__ import annotations

NEEDED = {  # name: from this version on, below that one; pyproject.toml says the same to installers
    "unicorn": ((2, 1, 4), (3,)),
    "llvmlite": ((0, 44), (1,)),
}


class WrongLibrary(ImportError):
    """A library has a version that simkernel was not built with; a sentence for a person."""


def version_tuple(text: str) -> tuple[int, ...]:
    """The numbers at the beginning of a version: `2.1.4rc1` is (2, 1, 4)."""
    out = []
    for part in text.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        out.append(int(digits))
        if digits != part:
            break
    return tuple(out)


def check_library(name: str, version: str) -> None:
    """WrongLibrary unless this version will do."""
    least, below = NEEDED[name]
    if not least <= version_tuple(version) < below:
        shown = ".".join(map(str, least))
        raise WrongLibrary(
            f"needs {name} {shown} or newer, below {below[0]}; {version} is installed: pip install '{name}>={shown},<{below[0]}'"
        )
