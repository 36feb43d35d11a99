"""What bpf_throw() does to the run of a program."""

from __future__ import annotations


class Thrown(Exception):
    """The program ends here, in whichever of its functions."""

    def __init__(self, cookie: int) -> None:
        super().__init__(cookie)
        self.cookie = cookie
