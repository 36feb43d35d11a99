"""A refusal with a word for who asked over netlink.  include/linux/netlink.h: struct netlink_ext_ack."""

from __future__ import annotations

from arch.errors import KernelError


class Refusal(KernelError):
    """-errno and, where NETLINK_EXT_ACK wants it, the kernel's own sentence, the bad attribute's place and rule, or the missing one."""

    def __init__(
        self,
        errno: int,
        text: str = "",
        bad: int | None = None,
        missing: int | None = None,
        policy: bytes = b"",
        nest: int | None = None,
    ) -> None:
        super().__init__(errno, text)
        self.text, self.bad, self.missing = text, bad, missing  # `bad`: bytes from the message's start
        self.nest = nest  # where what lacks it begins
        self.policy = policy  # NLMSGERR_ATTR_POLICY's attributes
