"""Kernel releases: ordered, written as people write them ("4.1", "5.10", "6.1", "3.20-rfc").

`RELEASES` has a row per release that a machine can be.  What a release has is said elsewhere, in rows with the first
version that has a thing (`since`) and the first that no longer has it (`until`), both as text or None; such rows are
read by `KernelVersion.within()`, and tables of values by `newest()`.  Nothing else compares versions.

`3.20-rfc` is the January 2015 patch set on top of what became Linux 4.0; it sorts just before 4.0.
Top-level Makefile (VERSION, PATCHLEVEL), `make kernelrelease`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import TypeVar

from arch.records import dataclass

T = TypeVar("T")

# What a machine can be; before 3.18 there was no bpf(2).
RELEASES = [
    "3.18", "3.19", "3.20-rfc",
    *(f"4.{minor}" for minor in range(21)),
    *(f"5.{minor}" for minor in range(20)),
    *(f"6.{minor}" for minor in range(20)),
    "7.0", "7.1", "7.2",
]  # fmt: skip
# The stable releases that are compared with; others are the first of their line.
STABLE = {(5, 10): 262, (6, 1): 192, (6, 12): 117, (7, 2): 13}
_TEXT = re.compile(r"^(\d+)\.(\d+)(?:\.(\d+))?(?:-([a-z0-9]+))?$")


@functools.total_ordering
@dataclass(frozen=True, slots=True)
class KernelVersion:
    """One kernel release: `KernelVersion.parse("6.1")`."""

    major: int
    minor: int
    patch: int = 0
    tag: str = ""

    def __hash__(self) -> int:
        return self.major << 16 | self.minor << 8 | self.patch  # it is the key of many caches

    @staticmethod
    def parse(text: str | KernelVersion) -> KernelVersion:
        """`"6.1"` -> KernelVersion(6, 1, 192), `"6.1.20"` -> KernelVersion(6, 1, 20); ValueError names what a version looks like."""
        if isinstance(text, KernelVersion):
            return text
        match = _TEXT.match(text.strip()) if isinstance(text, str) else None
        if match is None:
            raise ValueError(f"not a kernel version: {text!r} (write it like 6.1, 4.1 or 3.20-rfc)")
        key = int(match[1]), int(match[2])
        return KernelVersion(*key, int(match[3] or STABLE.get(key, 0)), match[4] or "")

    @staticmethod
    def supported(text: str | KernelVersion) -> KernelVersion:
        """parse(), and ValueError too for a version that the machine cannot be."""
        version = KernelVersion.parse(text)
        if all(version.key != KernelVersion.parse(release).key for release in RELEASES):
            known = f"{RELEASES[0]} to {RELEASES[-1]}"
            raise ValueError(f"no kernel version {version} here: there are {known}, and 3.20-rfc")
        return version

    @property
    def key(self) -> tuple[int, int]:
        """(major, minor): what features are compared by."""
        return (self.major, self.minor)

    @property
    def is_rfc(self) -> bool:
        """The patch set of January 2015, which has a bpf(2) of its own."""
        return self.key == (3, 20)

    @property
    def release(self) -> str:
        """uname -r: `6.1.192`."""
        base = f"{self.major}.{self.minor}.{self.patch}"
        return f"{base}-{self.tag}" if self.tag else base

    @property
    def code(self) -> int:
        """LINUX_VERSION_CODE, include/linux/version.h: (major << 16) + (minor << 8) + patch."""
        return (self.major << 16) + (self.minor << 8) + min(self.patch, 255)

    def at_least(self, text: str | None) -> bool:
        """True when this version is `text` or later; None means always."""
        return text is None or (self.major, self.minor) >= _KEYS[text]

    def before(self, text: str | None) -> bool:
        """True when this version is earlier than `text`; None means always."""
        return text is None or (self.major, self.minor) < _KEYS[text]

    def within(self, since: str | None, until: str | None = None) -> bool:
        """True from `since` on and before `until`: how the condition of a row is read."""
        return self.at_least(since) and self.before(until)

    def __lt__(self, other: KernelVersion) -> bool:
        return (self.key, self.patch, self.tag == "") < (other.key, other.patch, other.tag == "")

    def __str__(self) -> str:
        base = f"{self.major}.{self.minor}" + (f".{self.patch}" if self.patch != STABLE.get(self.key, 0) else "")
        return f"{base}-{self.tag}" if self.tag else base


# The newest that is modelled throughout, and so the default.  What came after it is there where a row says so.
NEWEST = KernelVersion.parse("6.1")


def newest(rows: Iterable[tuple[str | None, T]], version: KernelVersion) -> T:
    """The value of the first row whose `since` is not after `version`: rows are newest first, None is always.

    LookupError when none is that old.
    """
    for since, value in rows:
        if version.at_least(since):
            return value
    raise LookupError(f"nothing for kernel {version}")


class _Keys(dict[str, tuple[int, int]]):
    """(major, minor) by text, made when first asked for: comparisons stand on paths that every probe hit takes."""

    def __missing__(self, text: str) -> tuple[int, int]:
        key = self[text] = KernelVersion.parse(text).key
        return key


_KEYS = _Keys()
