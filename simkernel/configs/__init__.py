"""What /boot/config-RELEASE says: the configurations of Debian's kernels, by version and CPU, as they are installed."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cached_property
from importlib import resources

from arch.abi.version import KernelVersion


class KernelConfig:
    """The configuration of one kernel, with options beyond Debian's set; read when its text is asked for."""

    def __init__(self, version: KernelVersion, arch: str, more: Collection[str] = ()) -> None:
        file = resources.files(__name__) / f"{version}-{arch}.gz"
        self.packed = file.read_bytes() if file.is_file() else b""
        self.more = more

    @property
    def known(self) -> bool:
        """Is there a recorded one?"""
        return bool(self.packed)

    @property
    def size(self) -> int:
        """In bytes; gzip keeps it at the end."""
        return len(self.text) if self.more else int.from_bytes(self.packed[-4:], "little")

    @cached_property
    def text(self) -> bytes:
        """The file."""
        import gzip

        text = gzip.decompress(self.packed).decode()
        for option in sorted(self.more):
            text = re.sub(rf"^# CONFIG_{option} is not set\n", "", text, flags=re.MULTILINE) + f"CONFIG_{option}=y\n"
        return text.encode()
