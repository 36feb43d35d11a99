"""Arguments of probe events by the names of the kernel's BTF: `count`, `file->f_inode->i_ino`, `$arg*`, `:%pd`.

kernel/trace/trace_probe.c: parse_btf_arg(), parse_btf_field(), traceprobe_expand_meta_args(), traceprobe_expand_dentry_args();
kernel/trace/trace_btf.c.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from arch.abi.errno import EINVAL, ENOENT
from arch.ctype import ArrayType, CType, CTypeError, EnumType, IntType, Member, PointerType, StructType, VoidType
from arch.typetable import TypeTable
from tracing.board import Board
from tracing.probes.args import Op
from tracing.probes.errors import ProbeError


class Signature(NamedTuple):
    """What BTF says of a probe's place."""

    params: tuple[tuple[str, CType], ...]
    result: CType


class Found(NamedTuple):
    """A variable: how it is fetched, and the type of what that gives."""

    ops: list[Op]
    type: CType
    bits: tuple[int, int] | None = None  # (first bit, how many) of a bit-field, from where the last step points to


def of_function(board: Board, symbol: str) -> Signature | None:
    """None where BTF does not know the function, or the kernel has none."""
    declared = board.host.signature(symbol) if symbol and board.features.btf_args else None
    return None if declared is None else Signature(declared.params, declared.ret)


def of_tracepoint(board: Board, params: Sequence[tuple[str, str]]) -> Signature:
    """From (C type, name) of a tracepoint's arguments."""
    text = ", ".join(f"{ctype} {name}" for ctype, name in params) or "void"
    declared = board.host.types.prototype(f"void f({text})")
    return Signature(declared.params, declared.ret)


def split_member(text: str, at: int) -> tuple[str, str, str]:
    """(name, `->`, `.` or nothing, the rest).  split_next_field()"""
    match = re.search(r"[.-]", text)
    if match is None:
        return text, "", ""
    name, rest = text[: match.start()], text[match.start() :]
    if rest[0] == ".":
        return name, ".", rest[1:]
    if not rest.startswith("->"):
        raise ProbeError("BAD_HYPHEN", at + match.start())
    return name, "->", rest[2:]


def walk(base: Op, ctype: CType, text: str, at: int) -> Found:
    """From a variable through members, behind its first `->`.  parse_btf_field()"""
    ops, current, link = [base], ctype.strip, "->"
    bits = None
    while link == "->":
        if not isinstance(current, PointerType):
            raise ProbeError("NO_PTR_STRCT", at)
        current, offset, link = current.target.strip, 0, "."
        while link == ".":
            name, link, rest = split_member(text, at)
            member = member_of(current, name, at)
            offset += member.offset
            bits = (member.bit_offset, member.bit_size) if member.bit_size else None
            current = member.type.strip
            at += len(text) - len(rest)
            text = rest
        ops.append(Op("deref", 0, offset))
    return Found(ops, current, bits)


def member_of(ctype: CType, name: str, at: int) -> Member:
    """btf_find_struct_member()."""
    if not isinstance(ctype, StructType):
        raise ProbeError("BAD_BTF_TID", at)
    try:
        return ctype.member(name)
    except CTypeError:
        raise ProbeError("NO_BTF_FIELD", at) from None


def type_name(ctype: CType, word: int) -> str:
    """The fetch type of a C type; the default for what is no number.  find_fetch_type_from_btf_type()"""
    if isinstance(ctype, IntType):
        return f"{'s' if ctype.signed else 'u'}{8 * ctype.size}"
    if isinstance(ctype, EnumType):
        return "s64" if ctype.size == 8 else "s32"
    return f"x{8 * word}"


def string_step(ctype: CType, word: int) -> int | None:
    """How many steps lead from a value of this type to a string; None where none is.  check_prepare_btf_string_fetch()"""
    if isinstance(ctype, PointerType):
        return 1 if is_char(ctype.target) else None
    if isinstance(ctype, ArrayType):
        return 0 if is_char(ctype.elem) else None
    return 1 if isinstance(ctype, IntType) and ctype.size == word else None


def is_char(ctype: CType) -> bool:
    """char, and whatever else is a number of one byte."""
    found = ctype.strip
    return isinstance(found, IntType) and found.size == 1


def returns_nothing(signature: Signature | None) -> bool:
    """A void function: there is no $retval."""
    return signature is not None and isinstance(signature.result.strip, VoidType)


# ---- whole lines ----


def expand_args(words: Sequence[str], signature: Signature | None, first: int, at_an_end: bool) -> list[str]:
    """Arguments with `$arg*` and a `$argN` alone as the names of BTF.  traceprobe_expand_meta_args()

    `first`: the number of the first of the words, which goes with errors.
    """
    found = [index for index, word in enumerate(words) if word.startswith("$arg*")]
    if found and not at_an_end:
        raise WordError("NOFENTRY_ARGS", first + found[0])
    if len(found) > 1:
        raise WordError("DOUBLE_ARGS", first + found[1])
    if found and (signature is None or not signature.params):
        raise WordError("NOSUP_BTFARG", first + found[0])
    out: list[str] = []
    for index, word in enumerate(words):
        match = re.match(r"\$arg(\d+)(?=:|$)", word)
        if found and index == found[0] and signature is not None:
            out += [name for name, _ in signature.params]
        elif match is not None and signature is not None and at_an_end and int(match[1]):
            if int(match[1]) > len(signature.params):
                raise WordError("NO_BTFARG", first + index, ENOENT)
            out.append(signature.params[int(match[1]) - 1][0] + word[match.end() :])
        else:
            out.append(word)
    return out


class WordError(ProbeError):
    """An error of one word of a line."""

    def __init__(self, code: str, index: int, errno: int = EINVAL) -> None:
        super().__init__(code, 0, errno)
        self.index = index


def expand_dentries(words: Sequence[str], types: TypeTable) -> list[str]:
    """`a=EXPR:%pd` as the fetches that lead to the name of a struct dentry, `%pD` of a struct file's."""
    name = types.offsetof("struct dentry", "d_name.name")
    out: list[str] = []
    for word in words:
        body = re.fullmatch(r"([A-Za-z_0-9]*=)?(.*):%p([dD])", word)
        if body is None:
            out.append(word)
            continue
        inner = body[2]
        if body[3] == "D":
            inner = f"+0x{types.offsetof('struct file', 'f_path.dentry'):x}({inner})"
        out.append(f"{body[1] or ''}+0x0(+0x{name:x}({inner})):string")
    return out
