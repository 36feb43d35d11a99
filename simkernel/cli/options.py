"""What `simkernel run` was asked for."""

from __future__ import annotations

from pathlib import Path

from arch.records import dataclass, field
from simkernel.binds import Bind


@dataclass
class Options:
    """What the command line asked for."""

    arch: str
    kernel: str
    cpus: int
    seed: int
    bpf: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    binds: list[Bind] = field(default_factory=list)
    strace: bool = False
    stats: bool = False
    json: bool = False
    out: Path | None = None
    timeout: float | None = None
    host_timeout: float | None = None
    env: dict[str, str] = field(default_factory=dict)
    workload: str | None = None
    debug: bool = False
    quiet: bool = False
    max_output: int | None = None  # bytes of one stream
    coverage: Path | None = None  # where lcov.info and index.html go
    netems: tuple[str, ...] = ()
    command: list[str] = field(default_factory=list)  # the program and its arguments
    sample_hz: int = 0
    stacks: bool = False
    exports: list[tuple[str, Path]] = field(default_factory=list)  # (format, file)
    memory: int | None = None  # bytes of the machine
    config: tuple[str, ...] = ()  # options that the kernel is built with beyond Debian's

    @property
    def recorded(self) -> bool:
        """A recording is made of the run."""
        return bool(self.out or self.exports)

    @property
    def collected(self) -> int:
        """Bytes of anything that is kept until the end."""
        return 1 << 30 if self.max_output is None else self.max_output
