"""One program of an object: its instructions as compiled, and what the loader makes of them."""

from __future__ import annotations

from arch.htmltext import frame, pre
from arch.records import dataclass, field
from bpf.btf.ext import CoreRelo, FuncInfo, LineInfo
from bpf.isa.disasm import listing
from bpf.isa.insn import Insn
from bpf.loader.elf import Relocation
from bpf.loader.sections import Section


@dataclass
class Code:
    """A function: main program or subprogram.  Offsets of the records in instructions from its start."""

    name: str
    section_index: int
    section_name: str
    offset: int  # instructions from the section's start
    insns: list[Insn]
    is_global: bool = False
    relocations: list[tuple[int, Relocation]] = field(default_factory=list)  # (instruction, relocation)
    func_info: list[tuple[int, FuncInfo]] = field(default_factory=list)
    line_info: list[tuple[int, LineInfo]] = field(default_factory=list)
    core_relos: list[tuple[int, int, CoreRelo]] = field(default_factory=list)  # (instruction, number, record)


@dataclass
class Linked:
    """A main program with all the subprograms it needs, ready but for map descriptors."""

    insns: list[Insn] = field(default_factory=list)
    func_info: list[tuple[int, FuncInfo]] = field(default_factory=list)
    line_info: list[tuple[int, LineInfo]] = field(default_factory=list)
    relocations: list[tuple[int, Relocation]] = field(default_factory=list)
    core_relos: list[tuple[int, int, CoreRelo]] = field(default_factory=list)
    starts: dict[str, int] = field(default_factory=dict)  # function name -> instruction


class Program:
    """A loadable program.  Set `autoload`, `prog_type`, `expected_attach_type`, `attach_target` before loading."""

    def __init__(self, code: Code, section: Section | None) -> None:
        self.code = code
        self.name = code.name
        self.section_name = code.section_name
        self.section = section
        self.prog_type = section.prog_type if section else 0
        self.expected_attach_type = section.attach_type if section else 0
        self.flags = 0
        self.autoload = not code.section_name.startswith("?")
        self.autoattach = True
        self.attach_target = ""  # overrides what the section name says, for BTF-based programs
        self.attach_btf_id = 0
        self.attach_prog_fd = 0
        self.fd = -1
        self.log = ""
        self.log_level = 0
        self.linked: Linked | None = None

    def __repr__(self) -> str:
        return f"<program {self.name} of {self.section_name}>"

    def _repr_html_(self) -> str:
        """Its instructions, and what the verifier said where it was asked to."""
        lines = [f"{index}: {text}" for index, text in listing(self.insns)]
        state = "loaded" if self.fd >= 0 else "not loaded"
        note = self.log.rstrip("\n").rpartition("\n")[2]
        return frame(
            f"program {self.name} of {self.section_name}, {state}, {len(self.insns):,} instructions", pre(lines), note
        )

    @property
    def insns(self) -> list[Insn]:
        """As loaded (after relocation), or as compiled."""
        return self.linked.insns if self.linked else self.code.insns
