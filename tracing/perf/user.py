"""Memory of the task that makes the call: what perf_event_open(2) and the ioctls point to."""

from __future__ import annotations

from arch.abi.errno import EFAULT, EINVAL
from arch.errors import Fault, KernelError
from tracing.face import TraceHost


class UserMemory:
    """Of whatever task runs now."""

    def __init__(self, host: TraceHost) -> None:
        self.host = host

    def read(self, addr: int, size: int) -> bytes:
        """copy_from_user().  EFAULT."""
        memory = self.host.user_mem()
        try:
            if memory is None:
                raise Fault(addr)
            return memory.read(addr, size)
        except Fault:
            raise KernelError(EFAULT) from None

    def write(self, addr: int, data: bytes) -> None:
        """copy_to_user().  EFAULT."""
        memory = self.host.user_mem()
        try:
            if memory is None:
                raise Fault(addr, "write")
            memory.write(addr, data)
        except Fault:
            raise KernelError(EFAULT) from None

    def read_u64(self, addr: int) -> int:
        """get_user() of a __u64.  EFAULT."""
        return int.from_bytes(self.read(addr, 8), self.host.arch.byteorder)

    def string(self, addr: int, limit: int, too_long: int = EINVAL) -> str:
        """strndup_user(): EFAULT, and `too_long` where no NUL comes within the limit."""
        data = bytearray()
        while len(data) < limit:
            byte = self.read(addr + len(data), 1)
            if byte == b"\0":
                return data.decode("latin-1")
            data += byte
        raise KernelError(too_long, "string too long")
