"""What gdb has to be told of a CPU: its name there, and registers in the order of the remote protocol's `g` packet.

gdb/features/ of its source has the same as XML.  Each architecture that gdb knows has a gdb.py, read when somebody asks.
"""

from __future__ import annotations

import importlib
from xml.sax.saxutils import quoteattr

from arch.architecture import Architecture
from arch.records import dataclass


@dataclass(frozen=True)
class Register:
    """One register; `ours` is its name in Architecture.registers, None where it is not shown."""

    name: str
    ours: str | None
    bits: int
    type: str = "int"


@dataclass(frozen=True)
class Feature:
    """One of gdb's standard features, with its registers in order."""

    name: str
    registers: tuple[Register, ...]


@dataclass(frozen=True)
class Gdb:
    """What gdb knows as one target."""

    architecture: str  # of `set architecture`
    features: tuple[Feature, ...]

    @property
    def registers(self) -> tuple[Register, ...]:
        """All, in the order of their numbers."""
        return tuple(each for feature in self.features for each in feature.registers)

    def xml(self) -> str:
        """The target description."""
        rows = []
        for feature in self.features:
            rows.append(f"<feature name={quoteattr(feature.name)}>")
            rows += [
                f'<reg name={quoteattr(each.name)} bitsize="{each.bits}" type={quoteattr(each.type)}/>'
                for each in feature.registers
            ]
            rows.append("</feature>")
        body = "".join(rows)
        return (
            '<?xml version="1.0"?><!DOCTYPE target SYSTEM "gdb-target.dtd">'
            f"<target><architecture>{self.architecture}</architecture>{body}</target>"
        )


def same(names: str, bits: int, type: str = "int") -> tuple[Register, ...]:
    """Registers that are called the same here."""
    return tuple(Register(name, name, bits, type) for name in names.split())


def unseen(names: str, bits: int, type: str = "int") -> tuple[Register, ...]:
    """Registers that gdb wants in a feature and that are not shown."""
    return tuple(Register(name, None, bits, type) for name in names.split())


def gdb_of(arch: Architecture) -> Gdb:
    """The target description of a CPU.  ValueError for one that has none."""
    try:
        module = importlib.import_module(f"arch.{arch.name}.gdb")
    except ModuleNotFoundError:
        raise ValueError(f"gdb's registers of {arch.name} are not described") from None
    made = module.GDB
    assert isinstance(made, Gdb)
    return made
