"""A terminal of the guest: its settings, and the host's streams behind it.  drivers/tty/tty_io.c, include/linux/tty.h."""

from __future__ import annotations

from typing import Literal

from simkernel.kernel.hostio import HostInput, HostOutput

# A sane cooked terminal: c_iflag, c_oflag, c_cflag, c_lflag, c_line, c_cc[19].  include/linux/tty.h:INIT_C_CC
_IFLAG, _OFLAG, _CFLAG, _LFLAG = 0o2400, 0o5, 0o277, 0o105073
_C_CC = bytes((3, 28, 127, 21, 4, 0, 1, 0, 17, 19, 26, 0, 18, 15, 23, 22, 0, 0, 0))


class Terminal:
    """A terminal's settings and the host stream(s) behind it."""

    def __init__(self, byteorder: Literal["little", "big"]) -> None:
        self.termios = b"".join(v.to_bytes(4, byteorder) for v in (_IFLAG, _OFLAG, _CFLAG, _LFLAG)) + b"\0" + _C_CC
        self.rows, self.columns = 24, 80
        self.input: HostInput | None = None
        self.output: HostOutput | None = None
        self.pgrp = 0
