"""What real kernels say of their events: number, class, arguments and `format` of each, as compressed data.

    ARCH-VERSION.index.z     a row for each event: id, system, name, class, types of the arguments (from the kernel's BTF)
    ARCH-VERSION.formats.xz  the rest of its `format` file: fields and text; `=` where it is that of the kernel in EARLIER

Written by tests/tools/record_formats.py.  Most of these events stand for places that this kernel never comes to: they are
listed, can be enabled, filtered and attached to, and stay silent.  Those that fire have a row in the modules beside this
folder; their formats are made from the row, and compared with these by the tests.
"""

from __future__ import annotations

import lzma
import re
import zlib
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from arch.abi.version import KernelVersion
from tracing.record.fields import Field, filter_assign_type

FOLDER = Path(__file__).parent
EARLIER = {"x86_64-6.12": "x86_64-6.1", "x86_64-7.2": "x86_64-6.12"}  # kernel -> the one whose texts it shares
SAME = "="
FIELD = re.compile(r"\tfield:(.*?);\toffset:(\d+);\tsize:(\d+);\tsigned:(\d);")
DECLARATION = re.compile(r"(?P<type>.*[\s*])(?P<name>\w+)(?P<array>(\[.*\])?)")


class RecordedEvent(NamedTuple):
    """A row of the index."""

    number: int
    system: str
    name: str
    record: str  # the class, of which BTF has struct trace_event_raw_CLASS
    arguments: str  # C types, with commas between them: TP_PROTO without names


class Recording:
    """The events of one kernel."""

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self.events: dict[tuple[str, str], RecordedEvent] = {}
        text = zlib.decompress((FOLDER / f"{kernel}.index.z").read_bytes()).decode()
        for line in text.split("\n"):
            number, system, name, record, arguments = line.split("\t")
            self.events[system, name] = RecordedEvent(int(number), system, name, record, arguments)
        self._texts: dict[tuple[str, str], str] = {}

    def text(self, system: str, name: str) -> str:
        """The `format` file from the fields of the event's own on."""
        if not self._texts:
            data = lzma.decompress((FOLDER / f"{self.kernel}.formats.xz").read_bytes()).decode()
            self._texts = dict(zip(self.events, data.split("\0")))
        text = self._texts[system, name]
        if text == SAME:
            earlier = EARLIER[self.kernel].split("-")
            known = recording(earlier[0], KernelVersion.parse(earlier[1]))
            assert known is not None
            return known.text(system, name)
        return text

    def format(self, system: str, name: str) -> tuple[list[Field], str]:
        """Fields and print fmt."""
        fields, _, text = self.text(system, name).partition("\nprint fmt: ")
        return [field_of(*row) for row in FIELD.findall(fields)], text.rstrip("\n")

    @cached_property
    def calls(self) -> list[str]:
        """The system calls that have events."""
        names = (name for system, name in self.events if system == "syscalls")
        return [name.removeprefix("sys_enter_") for name in names if name.startswith("sys_enter_")]


def field_of(declaration: str, offset: str, size: str, signed: str) -> Field:
    """A field from its line of the `format` file."""
    if declaration.startswith("__data_loc") or declaration.startswith("__rel_loc"):
        ctype, _, name = declaration.rpartition(" ")
    else:
        match = DECLARATION.fullmatch(declaration)
        assert match is not None, declaration
        ctype, name = match["type"].removesuffix(" ") + match["array"], match["name"]
    return Field(ctype, name, int(offset), int(size), signed == "1", filter_assign_type(ctype))


@lru_cache(maxsize=4)
def recording(arch: str, version: KernelVersion) -> Recording | None:
    """What the kernel of this version says on this CPU; None where no such kernel was asked."""
    kernel = f"{arch}-{version}"
    return Recording(kernel) if (FOLDER / f"{kernel}.index.z").exists() else None


def recordings(arch: str) -> list[Recording]:
    """Of all versions that were asked on a CPU."""
    versions = (
        path.name.split("-", 1)[1].removesuffix(".index.z") for path in sorted(FOLDER.glob(f"{arch}-*.index.z"))
    )
    found = (recording(arch, KernelVersion.parse(version)) for version in versions)
    return [each for each in found if each is not None]
