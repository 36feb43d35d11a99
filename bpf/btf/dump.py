"""BTF as C text: `vmlinux.h`.  tools/lib/bpf/btf_dump.c, in our own words.

What a declaration needs comes before it: structs and unions used by value and typedefs in full, those behind pointers
as forward declarations.  Layout survives: packed structs are marked, holes become unnamed bit-fields.
"""

from __future__ import annotations

from bpf.btf.codec import COMPOSITES, ENUMS, QUALIFIERS, Btf, BtfType, Kind

_QUALIFIER_TEXT = {Kind.CONST: "const", Kind.VOLATILE: "volatile", Kind.RESTRICT: "restrict"}

_HEAD = """#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#ifndef BPF_NO_PRESERVE_ACCESS_INDEX
#pragma clang attribute push (__attribute__((preserve_access_index)), apply_to = record)
#endif

"""
_TAIL = """
#ifndef BPF_NO_PRESERVE_ACCESS_INDEX
#pragma clang attribute pop
#endif

#endif /* __VMLINUX_H__ */
"""


def dump_c(btf: Btf, header_guard: bool = True) -> str:
    """All types of a Btf, in an order that compiles."""
    dumper = Dumper(btf)
    for each in btf.types[1:]:
        dumper.top_level(each)
    body = "\n".join(dumper.out) + "\n"
    return _HEAD + body + _TAIL if header_guard else body


def type_text(btf: Btf, type_id: int, name: str = "") -> str:
    """One type or declaration as C: `const struct file *`, `char comm[16]`."""
    return Dumper(btf).declaration(type_id, name).strip()


class Dumper:
    def __init__(self, btf: Btf) -> None:
        self.btf = btf
        self.out: list[str] = []
        self._defined: set[int] = set()
        self._typedefs: set[int] = set()
        self._aligns: dict[int, int] = {}
        self._busy: set[int] = set()
        self._forward: set[tuple[bool, str]] = set()
        self._names: dict[int, str] = {}
        self._tags: dict[str, int] = {}
        self._idents: dict[str, int] = {}
        self._inline_enums = self._enums_with_a_user()

    def _enums_with_a_user(self) -> set[int]:
        """Anonymous enums that appear inside a declaration need none of their own."""
        used = set()
        for each in self.btf.types[1:]:
            targets = [m.type for m in each.members] + [p.type for p in each.params]
            targets += [each.type] if each.kind not in (Kind.FUNC_PROTO,) else []
            for target in targets:
                inner = self.btf[target]
                if inner.kind in ENUMS and not inner.name:
                    used.add(target)
        return used

    # Names

    def name(self, t: BtfType) -> str:
        """C has one name space for tags and one for the rest; the second of a kind becomes NAME___2."""
        if t.id not in self._names:
            space = self._tags if t.kind in COMPOSITES | ENUMS | {Kind.FWD} else self._idents
            count = space[t.name] = space.get(t.name, 0) + 1
            self._names[t.id] = t.name if count == 1 else f"{t.name}___{count}"
        return self._names[t.id]

    # Order

    def top_level(self, t: BtfType) -> None:
        if t.kind in COMPOSITES and t.name:
            self.define(t.id)
        elif t.kind is Kind.TYPEDEF:
            self.declare(t.id)
        elif t.kind in ENUMS and (t.name or t.id not in self._inline_enums):
            self.define(t.id)

    def declare(self, type_id: int) -> None:
        """Make a type nameable behind a pointer."""
        t = self.btf[type_id]
        match t.kind:
            case Kind.STRUCT | Kind.UNION | Kind.FWD:
                if t.name:
                    self._forward_declare(t)
                else:
                    self.define(type_id)
            case Kind.ENUM | Kind.ENUM64:
                self.define(type_id)
            case Kind.TYPEDEF:
                self._typedef(t)
            case Kind.FUNC_PROTO:
                self.declare(t.type)
                for param in t.params:
                    self.declare(param.type)
            case Kind.ARRAY:
                self.define(t.type)
            case Kind.PTR | Kind.CONST | Kind.VOLATILE | Kind.RESTRICT | Kind.TYPE_TAG:
                self.declare(t.type)
            case _:
                pass

    def define(self, type_id: int) -> None:
        """Make a type usable by value."""
        t = self.btf[type_id]
        if type_id in self._defined or type_id in self._busy:
            return
        match t.kind:
            case Kind.STRUCT | Kind.UNION:
                self._busy.add(type_id)
                for member in t.members:
                    self.define(member.type)
                self._busy.discard(type_id)
                if t.name:
                    self._defined.add(type_id)
                    self._forward.add((t.kind is Kind.UNION, t.name))
                    self.out.append(self.composite(t, 0) + ";\n")
            case Kind.ENUM | Kind.ENUM64:
                if t.name or type_id not in self._inline_enums:
                    self._defined.add(type_id)
                    self.out.append(self.enum(t, 0) + ";\n")
            case Kind.TYPEDEF:
                self._defined.add(type_id)
                self.define(t.type)
                self._typedef(t)
            case Kind.ARRAY:
                self.define(t.type)
            case Kind.CONST | Kind.VOLATILE | Kind.RESTRICT | Kind.TYPE_TAG:
                self.define(t.type)
            case _:
                self.declare(type_id)

    def _forward_declare(self, t: BtfType) -> None:
        union = t.kind is Kind.UNION or (t.kind is Kind.FWD and t.kflag)
        if t.kind is Kind.FWD:
            real = self.btf.find(t.name, Kind.UNION if union else Kind.STRUCT)
            self._names.setdefault(t.id, t.name if not real else self.name(self.btf[real]))
        if (union, t.name) not in self._forward:
            self._forward.add((union, t.name))
            self.out.append(f"{'union' if union else 'struct'} {self.name(t)};\n")

    def _typedef(self, t: BtfType) -> None:
        if t.id in self._typedefs or t.name == "__builtin_va_list":
            return
        self._typedefs.add(t.id)
        self.declare(t.type)
        self.out.append(f"typedef {self.declaration(t.type, self.name(t))};\n")

    # Declarations

    def declaration(self, type_id: int, name: str, indent: int = 0) -> str:
        """`name` declared as of that type, C's inside-out way."""
        t = self.btf[type_id]
        match t.kind:
            case Kind.VOID:
                return _join("void", name)
            case Kind.INT | Kind.FLOAT:
                return _join(t.name, name)
            case Kind.TYPEDEF:
                return _join(self.name(t), name)
            case Kind.STRUCT | Kind.UNION:
                if not t.name:
                    return _join(self.composite(t, indent), name)
                return _join(f"{'union' if t.kind is Kind.UNION else 'struct'} {self.name(t)}", name)
            case Kind.FWD:
                return _join(f"{'union' if t.kflag else 'struct'} {self.name(t)}", name)
            case Kind.ENUM | Kind.ENUM64:
                return _join(f"enum {self.name(t)}" if t.name else self.enum(t, indent), name)
            case Kind.CONST | Kind.VOLATILE | Kind.RESTRICT:
                word = _QUALIFIER_TEXT[t.kind]
                if self.btf[self.btf.skip(t.type, QUALIFIERS)].kind is Kind.PTR:
                    return self.declaration(t.type, _join(word, name), indent)
                if self._is_const_already(t.type):
                    return self.declaration(t.type, name, indent)
                return f"{word} {self.declaration(t.type, name, indent)}"
            case Kind.TYPE_TAG:
                return self.declaration(t.type, name, indent)
            case Kind.PTR:
                inner = self.btf[self.btf.skip(t.type, QUALIFIERS)]
                star = f"*{name}"
                grouped = f"({star})" if inner.kind in (Kind.FUNC_PROTO, Kind.ARRAY) else star
                return self.declaration(t.type, grouped, indent)
            case Kind.ARRAY:
                return self.declaration(t.type, f"{name}[{t.nelems}]", indent)
            case Kind.FUNC_PROTO:
                return self.declaration(t.type, f"{name}({self._parameters(t)})", indent)
            case _:
                return _join(f"/* {t.kind.name} */ void", name)

    def _is_const_already(self, type_id: int) -> bool:
        """An array whose elements carry the qualifier themselves."""
        t = self.btf[type_id]
        while t.kind is Kind.ARRAY:
            t = self.btf[t.type]
            if t.kind is Kind.CONST:
                return True
        return False

    def _parameters(self, t: BtfType) -> str:
        parts = ["..." if not p.type else self.declaration(p.type, p.name) for p in t.params]
        return ", ".join(parts) or "void"

    def enum(self, t: BtfType, indent: int) -> str:
        pad = "\t" * (indent + 1)
        lines = [f"enum {self.name(t)} {{" if t.name else "enum {"]
        for name, value in t.values:
            count = self._idents[name] = self._idents.get(name, 0) + 1
            ident = name if count == 1 else f"{name}___{count}"
            suffix = "" if t.kind is Kind.ENUM else ("LL" if t.kflag else "ULL")
            lines.append(f"{pad}{ident} = {value}{suffix},")
        if not t.values:
            return f"enum {self.name(t)} {{ {self.name(t)}__empty }}"
        mode = {1: " __attribute__((mode(byte)))", 8: " __attribute__((mode(word)))"}.get(t.size, "")
        return "\n".join(lines) + "\n" + "\t" * indent + "}" + mode

    # Structs

    def composite(self, t: BtfType, indent: int) -> str:
        """A struct or union with its body."""
        word = "union" if t.kind is Kind.UNION else "struct"
        pad = "\t" * (indent + 1)
        packed = self._is_packed(t)
        lines = [f"{word} {self.name(t)} {{" if t.name else f"{word} {{"]
        position = 0
        for member in t.members:
            if t.kind is Kind.STRUCT:
                start = self._natural(position, member.type, member.bit_size, packed)
                if member.bit_offset > start:
                    lines += [pad + line for line in self._hole(position, member.bit_offset)]
                position = member.bit_offset + (member.bit_size or 8 * self._size(member.type))
            text = self.declaration(member.type, member.name, indent + 1)
            lines.append(pad + text + (f": {member.bit_size}" if member.bit_size else "") + ";")
        if t.kind is Kind.STRUCT and t.size:
            align = 1 if packed else self._align(t.id)
            if (position + 7) // 8 + (-((position + 7) // 8) % align) < t.size:
                lines += [pad + line for line in self._hole(position, 8 * t.size)]
        return "\n".join(lines) + "\n" + "\t" * indent + "}" + (" __attribute__((packed))" if packed else "")

    def _align(self, type_id: int) -> int:
        found = self._aligns.get(type_id)
        if found is None:
            found = self._aligns[type_id] = self._compute_align(type_id)
        return found

    def _compute_align(self, type_id: int) -> int:
        """As Btf.align_of(), remembered: every struct asks for its members'."""
        t = self.btf.resolved(type_id)
        if t.kind is Kind.ARRAY:
            return self._align(t.type)
        if t.kind not in COMPOSITES:
            return self.btf.align_of(t.id)
        return 1 if self._is_packed(t) else max((self._align(m.type) for m in t.members), default=1)

    def _size(self, type_id: int) -> int:
        inner = self.btf.resolved(type_id)
        return 0 if inner.kind in (Kind.FWD, Kind.VOID, Kind.FUNC_PROTO) else self.btf.size_of(type_id)

    def _natural(self, position: int, type_id: int, bit_size: int, packed: bool) -> int:
        """Where a compiler would put the next member (bits)."""
        align = 8 if packed else 8 * self._align(type_id)
        if not bit_size:
            return position + -position % align
        unit = 8 * self._size(type_id) or 8
        if not packed and position % unit + bit_size > unit:
            return position + -position % unit
        return position

    def _hole(self, start: int, end: int) -> list[str]:
        """Unnamed bit-fields from one bit to another."""
        word, bits = ("long", 64) if self.btf.pointer_size == 8 else ("int", 32)
        lines = []
        if end - start > 64 * bits:  # so large a hole is an array
            first = start + -start % bits
            lines = [f"{word}: {first - start};"] if first > start else []
            lines.append(f"char __pad_{first // 8}[{(end - first) // 8}];")
            start = first + (end - first) // 8 * 8
        while start < end:
            step = min(end - start, bits - start % bits)
            lines.append(f"{word}: {step};")
            start += step
        return lines

    def _is_packed(self, t: BtfType) -> bool:
        """Some member, or the size, is not where alignment would put it."""
        if not t.members:
            return False
        align = max(self._align(m.type) for m in t.members)
        if t.size % align:
            return True
        for m in t.members:
            if m.bit_size:
                unit = 8 * self._size(m.type) or 8
                if m.bit_offset % unit + m.bit_size > unit:
                    return True
            elif m.bit_offset % (8 * self._align(m.type)):
                return True
        return False


def _join(left: str, name: str) -> str:
    return f"{left} {name}" if name else left
