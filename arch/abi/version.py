"""Kernel versions the machine can be: ordered, written as people write them ("4.1", "5.10", "6.1", "3.20-rfc").

`3.20-rfc` is the January 2015 patch set on top of what became Linux 4.0; it sorts just before 4.0.
Top-level Makefile (VERSION, PATCHLEVEL), `make kernelrelease`.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

OLDEST, NEWEST = (3, 18), (6, 1)  # what a machine can be; before 3.18 there was no bpf(2)
LAST_MINOR = {3: 20, 4: 20, 5: 19, 6: 1}  # 3.20 is the patch set's own; Linus called it 4.0
_TEXT = re.compile(r"^(\d+)\.(\d+)(?:\.(\d+))?(?:-([a-z0-9]+))?$")


@functools.total_ordering
@dataclass(frozen=True, slots=True)
class KernelVersion:
    """One kernel release: `KernelVersion.parse("6.1")`."""

    major: int
    minor: int
    patch: int = 0
    tag: str = ""

    @staticmethod
    def parse(text: str | KernelVersion) -> KernelVersion:
        """`"4.1"` -> KernelVersion(4, 1); ValueError names what a version looks like."""
        if isinstance(text, KernelVersion):
            return text
        match = _TEXT.match(text.strip())
        if match is None:
            raise ValueError(f"not a kernel version: {text!r} (write it like 6.1, 4.1 or 3.20-rfc)")
        return KernelVersion(int(match[1]), int(match[2]), int(match[3] or 0), match[4] or "")

    @staticmethod
    def supported(text: str | KernelVersion) -> KernelVersion:
        """parse(), and ValueError too for a version that the machine cannot be."""
        version = KernelVersion.parse(text)
        if not OLDEST <= version.key <= NEWEST or version.minor > LAST_MINOR[version.major]:
            known = " to ".join(f"{major}.{minor}" for major, minor in (OLDEST, NEWEST))
            raise ValueError(f"no kernel version {version} here: there are {known}, and 3.20-rfc")
        return version

    @property
    def key(self) -> tuple[int, int]:
        """(major, minor): what features are compared by."""
        return (self.major, self.minor)

    @property
    def release(self) -> str:
        """uname -r: `6.1.0`."""
        base = f"{self.major}.{self.minor}.{self.patch}"
        return f"{base}-{self.tag}" if self.tag else base

    @property
    def code(self) -> int:
        """LINUX_VERSION_CODE, include/linux/version.h: (major << 16) + (minor << 8) + patch."""
        return (self.major << 16) + (self.minor << 8) + min(self.patch, 255)

    def at_least(self, text: str | None) -> bool:
        """True when this version is `text` or later; None means always."""
        return text is None or self.key >= _key(text)

    def before(self, text: str | None) -> bool:
        """True when this version is earlier than `text`; None means always."""
        return text is None or self.key < _key(text)

    def __lt__(self, other: KernelVersion) -> bool:
        return (self.key, self.patch, self.tag == "") < (other.key, other.patch, other.tag == "")

    def __str__(self) -> str:
        base = f"{self.major}.{self.minor}" + (f".{self.patch}" if self.patch else "")
        return f"{base}-{self.tag}" if self.tag else base


@functools.cache
def _key(text: str) -> tuple[int, int]:
    return KernelVersion.parse(text).key
