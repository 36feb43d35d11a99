"""From the functions of an object to programs the kernel takes: subprograms appended and called, maps and variables named.

tools/lib/bpf/libbpf.c: bpf_program__record_reloc(), bpf_object__reloc_code(), bpf_object__relocate_data().
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.elf import SHN_UNDEF, STT_SECTION
from arch.abi.errno import EINVAL
from bpf.isa.insn import (
    BPF_CALL,
    BPF_JMP,
    BPF_LD_IMM64,
    BPF_PSEUDO_CALL,
    BPF_PSEUDO_FUNC,
    BPF_PSEUDO_KFUNC_CALL,
    BPF_PSEUDO_MAP_FD,
    BPF_PSEUDO_MAP_VALUE,
    Insn,
    signed32,
)
from bpf.loader.elf import ElfObject, Relocation
from bpf.loader.errors import LoadError
from bpf.loader.program import Code, Linked

MAX_PROGRAM_INSNS = 1_000_000


def is_call(insn: Insn) -> bool:
    return insn.code == BPF_JMP | BPF_CALL


class Linker:
    """Puts a main program and its subprograms together."""

    def __init__(self, elf: ElfObject, codes: list[Code]) -> None:
        self.elf = elf
        self.by_place = {(c.section_index, c.offset): c for c in codes}
        self.by_name = {c.name: c for c in codes}

    def link(self, main: Code) -> Linked:
        """The program's instructions followed by those of every function it reaches."""
        out = Linked()
        self._append(out, main)
        waiting = [main]
        while waiting:
            code = waiting.pop(0)
            for index, target in self._references(out, code):
                if target.name not in out.starts:
                    self._append(out, target)
                    waiting.append(target)
                insn = out.insns[index]
                start = out.starts[target.name]
                out.insns[index] = insn.replace(imm=start - (index + 1))
        return out

    def _append(self, out: Linked, code: Code) -> None:
        start = len(out.insns)
        if start + len(code.insns) > MAX_PROGRAM_INSNS:
            raise LoadError(f"prog '{code.name}': more than {MAX_PROGRAM_INSNS} instructions with its subprograms")
        out.starts[code.name] = start
        out.insns += code.insns
        out.func_info += [(start + at, info) for at, info in code.func_info]
        out.line_info += [(start + at, info) for at, info in code.line_info]
        out.core_relos += [(start + at, number, relo) for at, number, relo in code.core_relos]
        out.relocations += [(start + at, r) for at, r in code.relocations if not self._is_code(code, at, r)]

    def _is_code(self, code: Code, at: int, r: Relocation) -> bool:
        """The relocation is about another function of this object."""
        section = self.elf.at(r.symbol.section) if r.symbol.section != SHN_UNDEF else None
        return section is not None and section.is_exec

    def _references(self, out: Linked, code: Code) -> list[tuple[int, Code]]:
        """(instruction in `out`, function) for each call of, or pointer to, a function of this object."""
        start, found = out.starts[code.name], []
        relocated = dict(code.relocations)
        for at, insn in enumerate(code.insns):
            r = relocated.get(at)
            if is_call(insn) and insn.src_reg == BPF_PSEUDO_CALL:
                if r is not None and r.symbol.section == SHN_UNDEF:
                    continue  # an extern function: a kfunc
                found.append((start + at, self._callee(code, at, insn, r)))
            elif insn.code == BPF_LD_IMM64 and r is not None and self._is_code(code, at, r):
                target = self._function(
                    code, r, r.symbol.value // 8 + (insn.imm // 8 if r.symbol.type == STT_SECTION else 0)
                )
                out.insns[start + at] = insn.replace(src_reg=BPF_PSEUDO_FUNC)
                if start + at + 1 < len(out.insns):
                    out.insns[start + at + 1] = out.insns[start + at + 1].replace(imm=0)
                found.append((start + at, target))
        return found

    def _callee(self, code: Code, at: int, insn: Insn, r: Relocation | None) -> Code:
        if r is None:  # within the section: the compiler filled in the distance
            place = (code.section_index, code.offset + at + 1 + insn.imm)
            target = self.by_place.get(place)
            if target is None:
                raise LoadError(f"prog '{code.name}': no .text section found yet sub-program call exists (insn #{at})")
            return target
        if r.symbol.type == STT_SECTION:
            return self._function(code, r, r.symbol.value // 8 + insn.imm + 1)
        return self._function(code, r, r.symbol.value // 8)

    def _function(self, code: Code, r: Relocation, offset: int) -> Code:
        target = self.by_place.get((r.symbol.section, offset))
        if target is None:
            section = self.elf.at(r.symbol.section)
            where = section.name if section else r.symbol.section
            raise LoadError(f"prog '{code.name}': sub-program at {where}+{offset * 8} not found")
        return target


class References:
    """What symbols outside the code stand for, once maps exist."""

    def __init__(
        self,
        elf: ElfObject,
        map_fd: Callable[[Relocation, str], int | None],
        data_map: Callable[[int], int | None],
        extern: Callable[[str, bool], tuple[str, int, int]],
    ) -> None:
        self.elf = elf
        self.map_fd = map_fd  # descriptor of the map a symbol names
        self.data_map = data_map  # descriptor of a section's array map
        self.extern = extern  # name, is a call -> (kind, number, offset or descriptor)

    def apply(self, linked: Linked, program: str) -> None:
        for at, r in linked.relocations:
            if at >= len(linked.insns):
                raise LoadError(f"prog '{program}': relocation outside the program (insn #{at})")
            insn = linked.insns[at]
            if r.symbol.section == SHN_UNDEF:
                self._extern(linked, at, insn, r, program)
            elif insn.code == BPF_LD_IMM64:
                self._map_or_data(linked, at, insn, r, program)
            else:
                raise LoadError(f"prog '{program}': invalid relo for insns[{at}].code {insn.code:#x}", EINVAL)

    def _map_or_data(self, linked: Linked, at: int, insn: Insn, r: Relocation, program: str) -> None:
        if at + 1 >= len(linked.insns):
            raise LoadError(f"prog '{program}': ld_imm64 at insn #{at} has no second half")
        fd = self.map_fd(r, program)
        if fd is not None:
            linked.insns[at] = insn.replace(src_reg=BPF_PSEUDO_MAP_FD, imm=fd)
            return
        fd = self.data_map(r.symbol.section)
        if fd is None:
            section = self.elf.at(r.symbol.section)
            name = section.name if section else f"#{r.symbol.section}"
            raise LoadError(f"prog '{program}': bad map relo against '{r.symbol.name}' in section '{name}'")
        offset = insn.imm + r.symbol.value
        linked.insns[at] = insn.replace(src_reg=BPF_PSEUDO_MAP_VALUE, imm=fd)
        linked.insns[at + 1] = linked.insns[at + 1].replace(imm=signed32(offset))

    def _extern(self, linked: Linked, at: int, insn: Insn, r: Relocation, program: str) -> None:
        name = r.symbol.name
        kind, number, second = self.extern(name, is_call(insn))
        if is_call(insn):
            if kind == "missing":
                linked.insns[at] = Insn(BPF_JMP | BPF_CALL, 0, 0, 0, 2002000000 + at)
            else:
                linked.insns[at] = insn.replace(src_reg=BPF_PSEUDO_KFUNC_CALL, imm=number, off=second)
            return
        if insn.code != BPF_LD_IMM64 or at + 1 >= len(linked.insns):
            raise LoadError(f"prog '{program}': invalid relo for extern '{name}' (insn #{at})")
        high = linked.insns[at + 1]
        if kind == "kconfig":  # offset in the .kconfig map
            linked.insns[at] = insn.replace(src_reg=BPF_PSEUDO_MAP_VALUE, imm=second)
            linked.insns[at + 1] = high.replace(imm=number)
        elif kind == "btf":  # a kernel variable by BTF id
            linked.insns[at] = insn.replace(src_reg=3, imm=number)
            linked.insns[at + 1] = high.replace(imm=second)
        else:  # an address, 0 where a weak symbol is missing
            linked.insns[at] = insn.replace(src_reg=0, imm=signed32(number))
            linked.insns[at + 1] = high.replace(imm=signed32(number >> 32))
