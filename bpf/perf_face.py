"""What BPF sees of perf events: they are the tracing floor's."""

from __future__ import annotations

from typing import Protocol

from arch.records import dataclass


class PerfAttr(Protocol):
    """The part of struct perf_event_attr that helpers ask for."""

    @property
    def type(self) -> int: ...
    @property
    def config(self) -> int: ...


class PerfEvent(Protocol):
    """A perf event of the tracing floor."""

    @property
    def attr(self) -> PerfAttr: ...
    @property
    def type_told(self) -> int:
        """attr.type, but of a clock in kernels where clocks have types of their own."""

    @property
    def cpu(self) -> int:
        """The CPU it counts on; -1: any."""

    @property
    def native_words(self) -> int:
        """Host address of words whose first two are the native functions output(words, pt_regs, data, size) and guard(words); 0: none."""


@dataclass(frozen=True)
class PerfEventInfo:
    """bpf_get_perf_event_info(): what a perf event with a program is; `kind`: BPF_FD_TYPE_*."""

    prog_id: int
    kind: int
    name: str | None  # of a tracepoint or function, or a file's path; None: a function by its address
    offset: int = 0  # from the function's begin or the file's
    address: int = 0  # of a probed place of the kernel
    missed: int = 0  # hits of that
    ref_ctr_offset: int = 0  # in the file
