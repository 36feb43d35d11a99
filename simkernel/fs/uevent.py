"""What is told of devices that come, change and go: NETLINK_KOBJECT_UEVENT, and files named `uevent`.  lib/kobject_uevent.c.

`k.vfs.uevents` makes the messages; the network carries them (`hear`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from arch.abi.errno import EINVAL
from arch.errors import KernelError

ACTIONS = ("add", "remove", "change", "move", "online", "offline", "bind", "unbind")
UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
ARGUMENT = re.compile(r"[0-9a-zA-Z]+=[0-9a-zA-Z]+")


class Uevents:
    """Those of one machine."""

    def __init__(self) -> None:
        self.seqnum = 0
        # (message, the namespace that its device is in: None for a device of no namespace)
        self.hear: Callable[[bytes, object | None], None] = lambda message, space: None

    def send(
        self, action: str, path: str, subsystem: str, own: Sequence[str] = (), more: Sequence[str] = (), space: object | None = None
    ) -> None:  # fmt: skip
        """kobject_uevent_env(): `own` is what its bus or class says of it, `more` what the caller does."""
        self.seqnum += 1
        first = (f"{action}@{path}", f"ACTION={action}", f"DEVPATH={path}", f"SUBSYSTEM={subsystem}")
        lines = (*first, *more, *own, f"SEQNUM={self.seqnum}")
        self.hear(b"".join(line.encode("utf-8", "surrogateescape") + b"\0" for line in lines), space)

    def synthesize(
        self, data: bytes, path: str, subsystem: str, own: Sequence[str] = (), space: object | None = None
    ) -> None:
        """kobject_synth_uevent(): an action, and perhaps a UUID and arguments.  EINVAL."""
        text = data.decode("latin-1").removesuffix("\n")
        action, asked, rest = text.partition(" ")
        words = rest.split(" ") if asked else []
        known = action in ACTIONS and all(ARGUMENT.fullmatch(word) for word in words[1:])
        if not known or (asked and not UUID.fullmatch(words[0])):
            raise KernelError(EINVAL, "no action, or not its arguments")
        more = [f"SYNTH_UUID={words[0] if words else 0}", *(f"SYNTH_ARG_{word}" for word in words[1:])]
        self.send(action, path, subsystem, own, more, space)
