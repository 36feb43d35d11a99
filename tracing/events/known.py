"""Which events the kernel of a version has on a CPU, as far as a real one was asked (tracing/events/recorded/).

A CPU whose kernel was not asked has the events of x86-64 that are not of x86 alone, laid out by its own data model and
numbered in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from arch.architecture import DEFAULT
from tracing.events.declare import TraceEventDecl
from tracing.events.recorded import Recording, recording, recordings
from tracing.events.templates import template_of
from tracing.face import TraceHost
from tracing.record.fields import BASE_TYPES, Field, FieldLayout

OF_X86 = (
    "amd_cpu", "exceptions", "hyperv", "intel_iommu", "irq_matrix", "irq_vectors", "mce", "msr", "nmi", "resctrl",
    "vsyscall", "x86_fpu", "xen",
)  # fmt: skip


class KnownEvents:
    """Which events the kernel of this version has on this CPU, as far as a real one was asked."""

    def __init__(self, host: TraceHost) -> None:
        self.host = host

    @cached_property
    def recording(self) -> Recording | None:
        """Of this CPU, or of the one that was asked first; None for a version that nobody asked."""
        host = self.host
        return recording(host.arch.name, host.version) or recording(DEFAULT, host.version)

    @property
    def exact(self) -> bool:
        """A kernel of this very CPU was asked."""
        return recording(self.host.arch.name, self.host.version) is not None

    def numbers(self) -> dict[tuple[str, str], int]:
        """System and name -> number; empty for a version that nobody asked."""
        if self.recording is None:
            return {}
        rows = [row for row in self.recording.events.values() if row.system != "ftrace"]
        if self.exact:
            return {(row.system, row.name): row.number for row in rows}
        return {(row.system, row.name): row.number for row in rows if row.system not in OF_X86}

    def elsewhere(self, system: str, name: str) -> bool:
        """An event that this kernel was asked for and does not have, but others do.  (Else it is one that somebody added.)"""
        return system == "syscalls" or any((system, name) in kernel.events for kernel in recordings(DEFAULT))

    def calls(self, numbers: Mapping[str, int]) -> list[str]:
        """The system calls with events; of those that this CPU has."""
        if self.recording is None:
            return []
        calls = self.recording.calls
        return calls if self.exact else [name for name in calls if name in numbers]

    def parameters(self, call: str) -> list[tuple[str, str]]:
        """(C type, name) of a call's arguments; empty where nobody asked."""
        event = ("syscalls", f"sys_enter_{call}")
        if self.recording is None or event not in self.recording.events:
            return []
        return [(field.type, field.name) for field in self.recording.format(*event)[0][1:] if not field.is_data_loc]

    def declaration(self, system: str, name: str) -> TraceEventDecl:
        """What is known of a silent event, as a row; its arguments have no names."""
        assert self.recording is not None
        row = self.recording.events[system, name]
        fields, text = self.recording.format(system, name)
        types = row.arguments.split(", ") if row.arguments else []
        proto = ", ".join(f"{ctype} arg{index}" for index, ctype in enumerate(types, 1))
        return TraceEventDecl(system, name, proto, tuple((declaration(field), "") for field in fields), text)

    def recorded(self, system: str, name: str) -> tuple[list[Field], str] | None:
        """Fields and text as this very kernel has them."""
        found = self.recording if self.exact else None
        return None if found is None or (system, name) not in found.events else found.format(system, name)

    def template(self, system: str, name: str) -> str:
        """The event's class, whose function makes the records: as recorded, else by the rows of templates.py."""
        row = self.recording.events.get((system, name)) if self.recording is not None else None
        return row.record if row is not None else template_of(name)

    def layout(self, system: str, name: str, char_signed: bool) -> tuple[list[Field], str]:
        """Fields and text of a silent event, as this CPU lays them out."""
        assert self.recording is not None
        fields, text = self.recording.format(system, name)
        if self.exact:
            return fields, text
        layout = FieldLayout(self.host.arch.model, char_signed)
        for field in fields:
            known = field.type.endswith("*") or field.type in BASE_TYPES or field.is_data_loc
            layout.add(declaration(field), 0 if known else field.size, signed=None if known else field.signed)
        return layout.fields, text


def declaration(field: Field) -> str:
    """`char comm[16]` again."""
    if field.is_data_loc or "[" not in field.type:
        return f"{field.type} {field.name}"
    kind, bracket = field.type.split("[", 1)
    return f"{kind} {field.name}[{bracket}"
