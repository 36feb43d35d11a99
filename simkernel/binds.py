"""What of the host a machine shows: `HOST:GUEST[:rw]`, on the command line and in Python."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

Bind = tuple[str, str, bool]  # path of the host, path in the guest, writable


class BindSyntaxError(ValueError):
    """A bind that cannot be carried out: a sentence for a person, which begins with the bind."""


def parse_bind(text: str) -> Bind:
    """`HOST:GUEST[:rw]` -> (host path, guest path, writable)."""
    parts = text.split(":")
    if len(parts) not in (2, 3) or (len(parts) == 3 and parts[2] not in ("rw", "ro")) or not all(parts[:2]):
        raise BindSyntaxError(f"{text}: write it as HOST:GUEST or HOST:GUEST:rw")
    host, guest = parts[0], parts[1]
    if not Path(host).exists():
        raise BindSyntaxError(f"{text}: {host} does not exist on the host")
    if not guest.startswith("/"):
        raise BindSyntaxError(f"{text}: the guest's path has to begin with /")
    if os.path.normpath(guest).strip("/") == "":
        raise BindSyntaxError(f"{text}: the machine's root cannot be covered; choose a directory, such as /host")
    return host, guest, parts[2:] == ["rw"]


def as_binds(binds: Sequence[str | Bind]) -> list[Bind]:
    """Binds as boot() takes them, text or tuples, as tuples."""
    return [parse_bind(bind) if isinstance(bind, str) else _checked(bind) for bind in binds]


def _checked(bind: Bind) -> Bind:
    """A tuple of Python.  BindSyntaxError."""
    if not isinstance(bind, tuple) or [type(each) for each in bind] != [str, str, bool]:
        raise BindSyntaxError(f"{bind!r}: write it as 'HOST:GUEST' or (host, guest, writable)")
    return bind
