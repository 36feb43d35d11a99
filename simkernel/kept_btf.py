"""Types of real kernels that a user keeps by a name: $XDG_DATA_HOME/simkernel/btf/NAME, each a copy of a /sys/kernel/btf/vmlinux."""

from __future__ import annotations

import os
import re
from pathlib import Path

from bpf.btf import Btf
from bpf.btf.codec import BtfError

SUFFIX = ".btf"


class BtfFileError(ValueError):
    """The types are not to be had; a sentence says why."""


def folder() -> Path:
    """Where they are."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share"
    return Path(home) / "simkernel" / "btf"


def names() -> list[str]:
    """Those that are kept."""
    return sorted(path.stem for path in folder().glob(f"*{SUFFIX}"))


def read(path: Path) -> Btf:
    """A kernel's types, as /sys/kernel/btf/vmlinux has them."""
    try:
        return Btf.parse(path.read_bytes())
    except (OSError, BtfError) as error:
        raise BtfFileError(f"no BTF: {error}") from None


def find(word: str) -> Path:
    """A file, or what was kept by that name; the word as a file where there is neither."""
    path, kept = Path(word), folder() / f"{word}{SUFFIX}"
    return kept if not path.exists() and _is_name(word) and kept.exists() else path


def keep(path: Path, name: str) -> int:
    """Keep a copy; how many types it has."""
    if not _is_name(name):
        raise BtfFileError(f"{name!r} is no name: letters, digits, and . _ + - behind the first")
    types = read(path)
    made = folder()
    try:
        made.mkdir(parents=True, exist_ok=True)
        (made / f"{name}{SUFFIX}").write_bytes(path.read_bytes())
    except OSError as error:
        raise BtfFileError(f"{made}: {error.strerror}") from None
    return len(types.types) - 1


def _is_name(word: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", word) is not None
