"""What is behind a descriptor of a terminal.  drivers/tty/tty_io.c, include/linux/tty.h.

`Terminal` is the console: its settings, and the host's streams, which do the editing.  `PtyEnd` is what the rest of the
file systems knows of one end of a pseudo-terminal (tty/tty.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from arch.abi.termios import INIT_C_CC
from simkernel.fs.inode import File, Path
from simkernel.kernel.body import Body
from simkernel.kernel.hostio import HostInput, HostOutput
from simkernel.kernel.task import WaitQueue

# A sane cooked terminal: c_iflag, c_oflag, c_cflag, c_lflag
_IFLAG, _OFLAG, _CFLAG, _LFLAG = 0o2400, 0o5, 0o277, 0o105073


class Terminal:
    """A terminal's settings and the host stream(s) behind it."""

    def __init__(self, byteorder: Literal["little", "big"]) -> None:
        self.termios = b"".join(v.to_bytes(4, byteorder) for v in (_IFLAG, _OFLAG, _CFLAG, _LFLAG)) + b"\0" + INIT_C_CC
        self.rows, self.columns = 24, 80
        self.input: HostInput | None = None
        self.output: HostOutput | None = None
        self.pgrp = 0
        self.redirect: File | None = None  # of a pseudo-terminal that gets what is written to the console (TIOCCONS)


class PtyEnd:
    """One end of a pseudo-terminal, as its files see it."""

    taken: bytes  # what the last read() got
    peer_path: Path  # of a master: its slave's file
    on_close: Callable[[], None]  # of a master: its slave's file goes

    @property
    def dev(self) -> int:
        """Its device number."""
        raise NotImplementedError

    def send(self, data: bytes) -> int:
        """To the other end; how much it took."""
        raise NotImplementedError

    def read(self, file: File, size: int) -> Body:
        """Leaves what it got in `taken`."""
        raise NotImplementedError

    def write(self, file: File, data: bytes) -> Body:
        """How many bytes went, or an error."""
        raise NotImplementedError

    def poll(self, file: File, queues: list[WaitQueue] | None) -> int:
        """POLL*."""
        raise NotImplementedError

    def open_slave(self) -> int:
        """May it be opened?"""
        raise NotImplementedError

    def opened(self, file: File) -> int:
        """One more file."""
        raise NotImplementedError

    def closed(self, file: File) -> None:
        """One less."""
        raise NotImplementedError
