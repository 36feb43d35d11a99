"""Messages between the debugger and the copies of the machine: pickles on a socket, sometimes with a descriptor.

Both ends are this program, and the other end is a fork of it.
"""

from __future__ import annotations

import pickle
import select
import socket
from typing import cast

_LENGTH_BYTES = 8  # bytes: the length of the pickle behind it


class Gone(Exception):
    """The other end is closed."""


class Link:
    """One end."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock

    @staticmethod
    def pair() -> tuple[Link, Link]:
        """Two ends."""
        one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        return Link(one), Link(other)

    def send(self, message: object, fd: int = -1) -> None:
        """One message; Gone."""
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        try:
            header = len(data).to_bytes(_LENGTH_BYTES, "little")
            if fd >= 0:
                socket.send_fds(self.sock, [header], [fd])
                self.sock.sendall(data)
            else:
                self.sock.sendall(header + data)
        except OSError:
            raise Gone from None

    def receive(self) -> tuple[object, int]:
        """The next message, and the descriptor that came with it or -1; Gone."""
        try:
            header, fds, _, _ = socket.recv_fds(self.sock, _LENGTH_BYTES, 1)
            while header and len(header) < _LENGTH_BYTES:
                header += self._some(_LENGTH_BYTES - len(header))
            size = int.from_bytes(header, "little")
            data = bytearray()
            while header and len(data) < size:
                data += self._some(size - len(data))
        except OSError:
            raise Gone from None
        if not header:
            raise Gone
        return cast(object, pickle.loads(data)), fds[0] if fds else -1

    def _some(self, size: int) -> bytes:
        data = self.sock.recv(min(size, 1 << 20))
        if not data:
            raise Gone
        return data

    def waits(self) -> bool:
        """Something has come, or the other end is closed."""
        return bool(select.select([self.sock], [], [], 0)[0])

    def close(self) -> None:
        """No more."""
        self.sock.close()
