"""What a test run is asked, and what it answers."""

from __future__ import annotations

from arch.records import dataclass


@dataclass
class TestRequest:
    """union bpf_attr, member `test`, with what it points to copied in; None: no buffer given."""

    __test__ = False  # for pytest

    data_in: bytes | None = None
    ctx_in: bytes | None = None
    has_data_out: bool = False
    data_size_out: int = 0
    has_ctx_out: bool = False
    ctx_size_out: int = 0
    duration: int = 0
    repeat: int = 0
    flags: int = 0
    cpu: int = 0
    batch_size: int = 0

    @property
    def data_size_in(self) -> int:
        """Bytes of the packet."""
        return len(self.data_in or b"")

    @property
    def ctx_size_in(self) -> int:
        """Bytes of the context."""
        return len(self.ctx_in or b"")

    @staticmethod
    def of(data: bytes = b"", ctx: bytes = b"", repeat: int = 0) -> TestRequest:
        """As a test asks: an output buffer large enough for the packet, none for the context."""
        return TestRequest(data or None, ctx or None, bool(data), 1 << 16 if data else 0, repeat=repeat)


@dataclass
class TestResult:
    """What goes back; `error` is ENOSPC where an output buffer was too small, and the rest is copied all the same."""

    __test__ = False

    retval: int = 0
    duration: int = 0
    data: bytes | None = None  # bytes for data_out
    data_size: int | None = None  # for data_size_out
    ctx: bytes | None = None  # bytes for ctx_out, or back into ctx_in (system-call programs)
    ctx_size: int | None = None
    error: int = 0
