"""Files that cost time to make and can be made again: in the user's cache directory, named by what they were made from.

Nothing here is needed: a file that is missing, damaged, of another owner or made from other sources is made again, and
where it cannot be kept it is not kept.  The directory is $XDG_CACHE_HOME/simkernel (~/.cache/simkernel), private to the
user, and may be deleted at any time.  SIMKERNEL_CACHE=0 turns it off; another value is the directory to use.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
from collections.abc import Iterable
from functools import cache
from importlib.util import source_hash
from pathlib import Path

VARIABLE = "SIMKERNEL_CACHE"
_HEADING = b"simkernel cache 1\n"
_DIGEST = 8  # bytes of the digest in front of the content
KEEP = 64  # files of one kind; the oldest go


@cache
def _directory(setting: str, home: str) -> Path | None:
    """The private directory, made if need be; None where there is none to be had."""
    if setting == "0" or os.name != "posix":
        return None
    place = Path(setting) if setting else Path(home) / "simkernel"
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = place.stat()
    except OSError:
        return None
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        return None  # others could write there
    return place


def directory() -> Path | None:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return _directory(os.environ.get(VARIABLE, ""), home)


def digest(parts: Iterable[bytes | str | Path]) -> str:
    """A name for what is made from these: texts, bytes, and files' contents."""
    pieces = [sys.version.encode(), os.uname().machine.encode()]
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else part.encode() if isinstance(part, str) else part
        pieces.append(data)
    return source_hash(b"".join(len(piece).to_bytes(8, "little") + piece for piece in pieces)).hex()


def load(kind: str, name: str) -> bytes | None:
    """What was stored under this name, whole and unchanged; else None."""
    place = directory()
    if place is None:
        return None
    try:
        data = (place / f"{kind}-{name}").read_bytes()
    except OSError:
        return None
    start = len(_HEADING) + _DIGEST
    if data[: len(_HEADING)] != _HEADING or source_hash(data[start:]) != data[len(_HEADING) : start]:
        return None
    return data[start:]


def mapped(kind: str, name: str) -> memoryview | None:
    """The same of what is large and read in parts: whether it is whole its reader looks part by part."""
    place = directory()
    if place is None:
        return None
    try:
        with (place / f"{kind}-{name}").open("rb") as file:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):  # an empty file cannot be mapped
        return None
    return data[len(_HEADING) + _DIGEST :] if data[: len(_HEADING)] == _HEADING else None


def store(kind: str, name: str, data: bytes, keep: int = KEEP) -> None:
    """Keep for later, and so many of its kind.  Readers see the old file or the new one, never a part."""
    place = directory()
    if place is None:
        return
    whole = _HEADING + source_hash(data) + data
    temporary = place / f".{kind}-{name}.{os.getpid()}"
    try:
        temporary.write_bytes(whole)
        temporary.replace(place / f"{kind}-{name}")
        _drop_old(place, kind, keep)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _drop_old(place: Path, kind: str, keep: int) -> None:
    files = sorted(place.glob(f"{kind}-*"), key=lambda path: path.stat().st_mtime_ns)
    for path in files[:-keep]:
        path.unlink(missing_ok=True)
