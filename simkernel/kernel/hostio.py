"""The host's ends of a program's standard streams: where its input comes from and its output goes."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import BinaryIO

from arch.abi.errno import EIO, EPIPE
from arch.errors import KernelError
from simkernel.kernel.hostcode import host_code
from simkernel.kernel.task import WaitQueue

MAX_OUTPUT = 1 << 30  # bytes that are collected of one stream, if nothing else is said


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
    """Collects what the guest writes, in memory or a file, or passes it on at once.

    Beyond `limit` bytes nobody reads any more: the guest's write is EPIPE.  A KernelError of the sink or an OSError of the
    file is what the guest's write gives, too.
    """

    def __init__(
        self, sink: Callable[[bytes], None] | None = None, limit: int | None = None, file: BinaryIO | None = None
    ) -> None:
        self.sink = sink
        self.limit = limit if limit is not None or sink is not None else MAX_OUTPUT  # None: no limit
        self.file: BinaryIO = file or io.BytesIO()
        self.taken = 0  # bytes
        self.refused = ""  # why some of it is missing
        self.tty = False

    def write(self, data: bytes) -> None:
        """Take the guest's bytes.  EPIPE, or what the host answers."""
        if self.limit is not None and self.taken + len(data) > self.limit:
            self.refused = f"more than {self.limit:,} bytes"
            raise KernelError(EPIPE, self.refused)
        if self.sink is not None:
            with host_code():
                self.sink(data)
        else:
            try:
                self.file.write(data)
            except OSError as error:
                self.refused = error.strerror or str(error)
                raise KernelError(error.errno or EIO, self.refused) from None
        self.taken += len(data)

    @property
    def data(self) -> bytes:
        """Everything collected so far."""
        if isinstance(self.file, io.BytesIO):
            return self.file.getvalue()
        self.file.seek(0)
        return self.file.read()
