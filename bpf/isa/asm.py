"""An assembler for the text the disassemblers print, with labels.

    r6 = r1
    *(u64 *)(r10 -8) = 0
    r1 = map[counts]                ; an ld_imm64 with BPF_PSEUDO_MAP_FD
    r2 = r10
    r2 += -8
    call bpf_map_lookup_elem        ; or: call 1, call bpf_map_lookup_elem#1
    if r0 == 0 goto out
    lock *(u64 *)(r0 +0) += r7
  out:
    r0 = 0
    exit

Everything `bpf/isa/disasm.py` prints can be read back, in both forms: a line may start with an index (`5:`) and with
an opcode (`(18)`); where the text alone would leave a choice (is `r1 = 0x5` a mov or an ld_imm64?) a given opcode
decides.  A comment starts with `;`, `//` or `#` at the start of a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from bpf.isa.disasm import ALU_OPS, ATOMIC_OPS, JMP_OPS
from bpf.isa.insn import (
    BPF_ABS,
    BPF_ADDR_SPACE_CAST,
    BPF_ALU,
    BPF_ALU64,
    BPF_ATOMIC,
    BPF_CALL,
    BPF_CMPXCHG,
    BPF_END,
    BPF_EXIT,
    BPF_FETCH,
    BPF_GOTOX,
    BPF_IMM,
    BPF_IND,
    BPF_JA,
    BPF_JCOND,
    BPF_JMP,
    BPF_JMP32,
    BPF_LD,
    BPF_LD_IMM64,
    BPF_LDX,
    BPF_LOAD_ACQ,
    BPF_MAY_GOTO,
    BPF_MEM,
    BPF_MEMSX,
    BPF_MOV,
    BPF_NEG,
    BPF_PSEUDO_CALL,
    BPF_PSEUDO_FUNC,
    BPF_PSEUDO_KFUNC_CALL,
    BPF_PSEUDO_MAP_FD,
    BPF_PSEUDO_MAP_VALUE,
    BPF_SIGNED,
    BPF_ST,
    BPF_STORE_REL,
    BPF_STX,
    BPF_TO_BE,
    BPF_X,
    BPF_XCHG,
    Insn,
    ld_imm64,
    signed32,
)
from bpf.uapi import HELPER_NAMES

HELPER_NUMBERS = {f"bpf_{name}": number for number, name in HELPER_NAMES.items()}
SIZE_CODES = {"u32": 0x00, "u16": 0x08, "u8": 0x10, "u64": 0x18}
_ALU_CODES = {text: index << 4 for index, text in enumerate(ALU_OPS)}
_JMP_CODES = {text: index << 4 for index, text in enumerate(JMP_OPS) if text not in ("jmp", "call", "exit")}
_ATOMIC_CODES = {name: op for op, name in ATOMIC_OPS.items()}


class AsmError(ValueError):
    """A line that is not an instruction; says which."""


_NUM = r"-?(?:0[xX][0-9a-fA-F]+|\d+)"
_MEM = r"\*\s*\(\s*(u8|u16|u32|u64)\s*\*\s*\)\s*\(\s*r(\d+)\s*([+-]\s*\w+)?\s*\)"
_ALU_TEXT = "|".join(re.escape(op) for op in sorted(ALU_OPS, key=len, reverse=True))
_JMP_TEXT = "|".join(re.escape(op) for op in sorted(_JMP_CODES, key=len, reverse=True))


class _Line:
    """One source line while its jump targets are not known yet."""

    def __init__(self, number: int, text: str, opcode: int | None) -> None:
        self.number = number
        self.text = text
        self.opcode = opcode
        self.insns: list[Insn] = []
        self.target: str | None = None  # label of a jump, call or function address
        self.target_in_imm = False

    def fail(self, why: str) -> AsmError:
        return AsmError(f"line {self.number}: {why}: {self.text!r}")


Rule = Callable[["_Line", "re.Match[str]", Mapping[str, int]], list[Insn]]
_RULES: list[tuple[re.Pattern[str], Rule]] = []


def _rule(pattern: str) -> Callable[[Rule], Rule]:
    def add(function: Rule) -> Rule:
        _RULES.append((re.compile(pattern + r"\s*$"), function))
        return function

    return add


def _number(text: str) -> int:
    return int(text.replace(" ", ""), 0)


def _offset(text: str | None) -> int:
    return _number(text) if text else 0


@_rule(r"exit")
def _exit(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    return [Insn(BPF_JMP | BPF_EXIT)]


def _jump_target(line: _Line, text: str) -> int:
    """`pc+2`, `+2` or a label (filled in later)."""
    relative = re.fullmatch(r"(?:pc)?\s*([+-]\d+)", text)
    if relative:
        return int(relative[1])
    line.target = text
    return 0


@_rule(r"goto\s+(\S+)")
def _goto(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    return [Insn(BPF_JMP | BPF_JA, 0, 0, _jump_target(line, m[1]), 0)]


@_rule(r"gotol\s+(\S+)")
def _gotol(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    line.target_in_imm = True
    return [Insn(BPF_JMP32 | BPF_JA, 0, 0, 0, _jump_target(line, m[1]))]


@_rule(r"gotox\s+r(\d+)")
def _gotox(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    return [Insn(BPF_GOTOX, int(m[1]))]


@_rule(r"may_goto\s+(\S+)")
def _may_goto(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    return [Insn(BPF_JMP | BPF_JCOND, 0, BPF_MAY_GOTO, _jump_target(line, m[1]), 0)]


@_rule(rf"if\s+([rw])(\d+)\s*({_JMP_TEXT}|exit|call)\s*(?:([rw])(\d+)|({_NUM}))\s+goto\s+(\S+)")
def _if(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    klass = BPF_JMP32 if m[1] == "w" else BPF_JMP
    op = _JMP_CODES.get(m[3], {"exit": BPF_EXIT, "call": BPF_CALL}.get(m[3], 0))
    off = _jump_target(line, m[7])
    if m[5]:
        return [Insn(klass | op | BPF_X, int(m[2]), int(m[5]), off, 0)]
    return [Insn(klass | op, int(m[2]), 0, off, signed32(_number(m[6])))]


@_rule(r"call\s+(\S+)")
def _call(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    text = m[1]
    if re.fullmatch(_NUM, text):
        return [Insn(BPF_JMP | BPF_CALL, 0, 0, 0, _number(text))]
    if re.fullmatch(r"pc[+-]\d+", text):
        return [Insn(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, int(text[2:]))]
    if kernel := re.fullmatch(rf"kernel-function#({_NUM})", text):
        return [Insn(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, _number(kernel[1]))]
    if named := re.fullmatch(rf"\w+#({_NUM})", text):
        return [Insn(BPF_JMP | BPF_CALL, 0, 0, 0, _number(named[1]))]
    if text in HELPER_NUMBERS:
        return [Insn(BPF_JMP | BPF_CALL, 0, 0, 0, HELPER_NUMBERS[text])]
    line.target, line.target_in_imm = text, True
    return [Insn(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 0)]


@_rule(rf"(?:lock\s+){_MEM}\s*(\+=|&=|\|=|\^=)\s*r(\d+)")
def _atomic(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    code = BPF_STX | BPF_ATOMIC | SIZE_CODES[m[1]]
    return [Insn(code, int(m[2]), int(m[5]), _offset(m[3]), _ALU_CODES[m[4]])]


_ORDERED = r"\(\s*\(\s*(u8|u16|u32|u64)\s*\*\s*\)\s*\(\s*r(\d+)\s*([+-]\s*\d+)?\s*\)"


@_rule(rf"r(\d+)\s*=\s*load_acquire\s*{_ORDERED}\s*\)")
def _load_acquire(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    return [Insn(BPF_STX | BPF_ATOMIC | SIZE_CODES[m[2]], int(m[1]), int(m[3]), _offset(m[4]), BPF_LOAD_ACQ)]


@_rule(rf"store_release\s*{_ORDERED}\s*,\s*r(\d+)\s*\)")
def _store_release(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    return [Insn(BPF_STX | BPF_ATOMIC | SIZE_CODES[m[1]], int(m[2]), int(m[4]), _offset(m[3]), BPF_STORE_REL)]


_PLACE = r"\(\s*\(\s*(u32|u64)\s*\*\s*\)\s*\(\s*r(\d+)\s*([+-]\s*\d+)?\s*\)"


@_rule(rf"r(\d+)\s*=\s*atomic(?:64)?_(fetch_add|fetch_and|fetch_or|fetch_xor|xchg)\s*{_PLACE}\s*,\s*r(\d+)\s*\)")
def _atomic_fetch(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    name = m[2].removeprefix("fetch_")
    op = BPF_XCHG if name == "xchg" else _ATOMIC_CODES[name] | BPF_FETCH
    if m[1] != m[6]:
        raise line.fail("the result goes to the register of the operand")
    return [Insn(BPF_STX | BPF_ATOMIC | SIZE_CODES[m[3]], int(m[4]), int(m[6]), _offset(m[5]), op)]


@_rule(rf"r0\s*=\s*atomic(?:64)?_cmpxchg\s*{_PLACE}\s*,\s*r0\s*,\s*r(\d+)\s*\)")
def _cmpxchg(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    code = BPF_STX | BPF_ATOMIC | SIZE_CODES[m[1]]
    return [Insn(code, int(m[2]), int(m[4]), _offset(m[3]), BPF_CMPXCHG)]


@_rule(rf"{_MEM}\s*=\s*(?:r(\d+)|({_NUM}))")
def _store(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    size = SIZE_CODES[m[1]]
    if m[4]:
        return [Insn(BPF_STX | BPF_MEM | size, int(m[2]), int(m[4]), _offset(m[3]), 0)]
    return [Insn(BPF_ST | BPF_MEM | size, int(m[2]), 0, _offset(m[3]), signed32(_number(m[5])))]


@_rule(rf"r(\d+)\s*=\s*{_MEM}")
def _load(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    return [Insn(BPF_LDX | BPF_MEM | SIZE_CODES[m[2]], int(m[1]), int(m[3]), _offset(m[4]), 0)]


@_rule(rf"r(\d+)\s*=\s*{_MEM.replace('u8|u16|u32|u64', 's8|s16|s32')}")
def _load_signed(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    return [Insn(BPF_LDX | BPF_MEMSX | SIZE_CODES["u" + m[2][1:]], int(m[1]), int(m[3]), _offset(m[4]), 0)]


@_rule(r"([rw])(\d+)\s*=\s*\(s(8|16|32)\)\s*([rw])(\d+)")
def _move_signed(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    if m[1] != m[4]:
        raise line.fail("both registers are r or both are w")
    return [Insn((BPF_ALU64 if m[1] == "r" else BPF_ALU) | BPF_MOV | BPF_X, int(m[2]), int(m[5]), int(m[3]), 0)]


@_rule(r"r(\d+)\s*=\s*addr_space_cast\s*\(\s*r(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)")
def _cast(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    spaces = int(m[3]) << 16 | int(m[4])
    return [Insn(BPF_ALU64 | BPF_MOV | BPF_X, int(m[1]), int(m[2]), BPF_ADDR_SPACE_CAST, spaces)]


@_rule(rf"r0\s*=\s*\*\s*\(\s*(u8|u16|u32|u64)\s*\*\s*\)\s*skb\[\s*(?:r(\d+)\s*\+\s*)?({_NUM})\s*\]")
def _packet_load(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    mode = BPF_IND if m[2] else BPF_ABS
    return [Insn(BPF_LD | mode | SIZE_CODES[m[1]], 0, int(m[2] or 0), 0, signed32(_number(m[3])))]


@_rule(r"r(\d+)\s*=\s*map\[\s*([^\]]+?)\s*\](?:\[0\])?\s*(?:\+\s*(\d+))?")
def _map(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    """`map[counts]`, `map[fd:3]`; with `+8` (or `[0]+8`) the address of byte 8 of the first value."""
    name = m[2].removeprefix("fd:")
    fd = maps[name] if name in maps else int(name, 0) if re.fullmatch(_NUM, name) else None
    if fd is None:
        raise line.fail(f"no map {name}")
    if m[3] is None:
        return ld_imm64(int(m[1]), fd, BPF_PSEUDO_MAP_FD)
    return ld_imm64(int(m[1]), fd | int(m[3]) << 32, BPF_PSEUDO_MAP_VALUE)


@_rule(r"r(\d+)\s*=\s*func\[\s*(\w+)\s*\]")
def _function(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    """The address of a callback subprogram: BPF_PSEUDO_FUNC."""
    line.target, line.target_in_imm = m[2], True
    return ld_imm64(int(m[1]), 0, BPF_PSEUDO_FUNC)


@_rule(rf"r(\d+)\s*=\s*({_NUM})\s*ll")
def _load_constant(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    return ld_imm64(int(m[1]), _number(m[2]) & (1 << 64) - 1)


@_rule(r"r(\d+)\s*=\s*(be|le|bswap)(\d+)\s+r(\d+)")
def _endian(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    if m[1] != m[4]:
        raise line.fail("a register is swapped in place")
    if m[2] == "bswap":
        return [Insn(BPF_ALU64 | BPF_END, int(m[1]), 0, 0, int(m[3]))]
    return [Insn(BPF_ALU | BPF_END | (BPF_TO_BE if m[2] == "be" else 0), int(m[1]), 0, 0, int(m[3]))]


@_rule(r"([rw])(\d+)\s*=\s*-\s*([rw])(\d+)")
def _negate(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    if m[1] != m[3] or m[2] != m[4]:
        raise line.fail("a register is negated in place")
    return [Insn((BPF_ALU64 if m[1] == "r" else BPF_ALU) | BPF_NEG, int(m[2]))]


@_rule(rf"([rw])(\d+)\s*s([/%]=)\s*(?:([rw])(\d+)|({_NUM}))")
def _divide_signed(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    return [insn.replace(off=BPF_SIGNED) for insn in _alu(line, m, maps)]


@_rule(rf"([rw])(\d+)\s*({_ALU_TEXT})\s*(?:([rw])(\d+)|({_NUM}))")
def _alu(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    if line.opcode == BPF_LD_IMM64:
        return ld_imm64(int(m[2]), _number(m[6]) & (1 << 64) - 1)
    if line.opcode is not None and Insn(line.opcode).cls == BPF_LD and Insn(line.opcode).mode == BPF_IMM:
        return [Insn(line.opcode, int(m[2]), 0, 0, signed32(_number(m[6])))]
    klass = BPF_ALU64 if m[1] == "r" else BPF_ALU
    op = _ALU_CODES[m[3]]
    if m[5]:
        if m[4] != m[1]:
            raise line.fail("both registers are r or both are w")
        return [Insn(klass | op | BPF_X, int(m[2]), int(m[5]), 0, 0)]
    value = _number(m[6])
    if op == BPF_MOV and line.opcode is None and not -(1 << 31) <= value < 1 << 32:
        raise line.fail("more than 32 bits: write `ll` after the number")
    return [Insn(klass | op, int(m[2]), 0, 0, signed32(value))]


@_rule(rf"\(u32\)\s*r(\d+)\s*({_ALU_TEXT})\s*\(u32\)\s*(?:r(\d+)|({_NUM}))")
def _alu32_4_1(line: _Line, m: re.Match[str], maps: Mapping[str, int]) -> list[Insn]:
    op = _ALU_CODES[m[2]]
    if m[3]:
        return [Insn(BPF_ALU | op | BPF_X, int(m[1]), int(m[3]), 0, 0)]
    return [Insn(BPF_ALU | op, int(m[1]), 0, 0, signed32(_number(m[4])))]


_COMMENT = re.compile(r"(?:;|//|(?:(?<=\s)|^)#).*$")
_PREFIX = re.compile(r"(?:(\d+):\s*)?(?:\(([0-9a-f]{2})\)\s*)?")
_LABEL = re.compile(r"([A-Za-z_.]\w*):\s*")


def _read_line(number: int, text: str, maps: Mapping[str, int]) -> _Line:
    prefix = _PREFIX.match(text)
    assert prefix is not None
    line = _Line(number, text[prefix.end() :].strip(), int(prefix[2], 16) if prefix[2] else None)
    for pattern, build in _RULES:
        m = pattern.match(line.text)
        if m:
            line.insns = build(line, m, maps)
            break
    else:
        raise line.fail("not an instruction")
    first = line.insns[0]
    if line.opcode is not None and first.code != line.opcode:
        line.insns[0] = first.replace(code=line.opcode)
    return line


def assemble(source: str, maps: Mapping[str, int] | None = None) -> list[Insn]:
    """Instructions of a program text; `maps` gives descriptors for the names in `map[...]`."""
    lines: list[_Line] = []
    labels: dict[str, int] = {}
    position = 0
    for number, raw in enumerate(source.splitlines(), 1):
        text = _COMMENT.sub("", raw).strip()
        while m := _LABEL.match(text):
            if m[1] in labels:
                raise AsmError(f"line {number}: label {m[1]} a second time")
            labels[m[1]] = position
            text = text[m.end() :]
        if not text:
            continue
        line = _read_line(number, text, maps or {})
        lines.append(line)
        position += len(line.insns)
    return _resolve(lines, labels)


def _resolve(lines: list[_Line], labels: Mapping[str, int]) -> list[Insn]:
    program: list[Insn] = []
    for line in lines:
        if line.target is not None:
            if line.target not in labels:
                raise line.fail(f"no label {line.target}")
            distance = labels[line.target] - len(program) - 1
            field = "imm" if line.target_in_imm else "off"
            line.insns[0] = line.insns[0].replace(**{field: distance})
        program += line.insns
    return program
