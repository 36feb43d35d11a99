"""The host's ends of a program's standard streams: where its input comes from and its output goes."""

from __future__ import annotations

from collections.abc import Callable

from simkernel.kernel.hostcode import host_code
from simkernel.kernel.task import WaitQueue


class HostInput:
    """Bytes for the guest's standard input.  `read` gives None when the host has nothing *yet* (streaming)."""

    def __init__(self, data: bytes = b"", source: Callable[[int], bytes] | None = None) -> None:
        self.data = bytearray(data)
        self.source = source  # blocking host read(size) -> bytes, b"" at the end; used when data is empty
        self.queue = WaitQueue("host-input")
        self.tty = False
        self.configure: Callable[[int], None] | None = None  # told c_lflag when the guest sets a terminal's modes

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; b"" at the end of input."""
        if not self.data and self.source is not None:
            with host_code():
                return self.source(size)
        out = bytes(self.data[:size])
        del self.data[:size]
        return out


class HostOutput:
    """Collects what the guest writes, or passes it on at once; a sink's KernelError is what the guest's write gives."""

    def __init__(self, sink: Callable[[bytes], None] | None = None) -> None:
        self.chunks: list[bytes] = []
        self.sink = sink
        self.tty = False

    def write(self, data: bytes) -> None:
        """Take the guest's bytes."""
        if self.sink is not None:
            with host_code():
                self.sink(data)
        else:
            self.chunks.append(data)

    @property
    def data(self) -> bytes:
        """Everything collected so far."""
        return b"".join(self.chunks)
