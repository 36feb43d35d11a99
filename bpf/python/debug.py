"""LLVM's debug information for a program: BTF, line information and CO-RE relocations are made from it."""

from __future__ import annotations

from bpf.python.types import Array, Int, KernelStruct, Pointer, Struct, Type

_ENCODING = {True: "DW_ATE_signed", False: "DW_ATE_unsigned"}
# C's names of our numbers: what pahole, bpftool and vmlinux.h call them
_C_NAMES = {"u8": "unsigned char", "u16": "unsigned short", "u32": "unsigned int", "u64": "unsigned long long",
            "s8": "signed char", "s16": "short", "s32": "int", "s64": "long long", "char": "char", "int": "int"}  # fmt: skip


def quoted(text: str | bytes) -> str:
    """As a string of LLVM's assembly."""
    data = text.encode() if isinstance(text, str) else text
    return "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)


class DebugInfo:
    """Numbered metadata nodes."""

    def __init__(self, filename: str, source: str) -> None:
        self.nodes: list[str] = []
        self._types: dict[object, str] = {}
        self._locations: dict[tuple[int, int, str], str] = {}
        self.kernel: list[KernelStruct] = []
        self.globals: list[str] = []
        self.file = self.node(f'!DIFile(filename: "{quoted(filename)}", directory: ".", source: "{quoted(source)}")')
        self.unit = self.reserve()
        self.bpf_int = self.type(Int("int", 4, True))
        self.void_pointer = self.node("!DIDerivedType(tag: DW_TAG_pointer_type, baseType: null, size: 64)")

    def reserve(self) -> str:
        self.nodes.append("")
        return f"!{len(self.nodes) - 1}"

    def node(self, text: str) -> str:
        name = self.reserve()
        self.nodes[int(name[1:])] = text
        return name

    def define(self, name: str, text: str) -> None:
        self.nodes[int(name[1:])] = text

    # Types

    def type(self, kind: Type | None) -> str:
        """The node of a type."""
        if kind is None:
            return "null"
        key: object = kind if not isinstance(kind, Struct | KernelStruct) else id(kind)
        found = self._types.get(key)
        if found is None:
            found = self._types[key] = self.reserve()
            self.define(found, self._type(kind, found))
        return found

    def _type(self, kind: Type, own: str) -> str:
        match kind:
            case Int(name, size, signed):
                encoding = "DW_ATE_signed_char" if name == "char" else _ENCODING[signed]
                return f'!DIBasicType(name: "{_C_NAMES[name]}", size: {8 * size}, encoding: {encoding})'
            case Pointer(target, _):
                return f"!DIDerivedType(tag: DW_TAG_pointer_type, baseType: {self.type(target)}, size: 64)"
            case Array(elem, count):
                return self._array(self.type(elem), 8 * kind.size, count)
            case Struct():
                members = [
                    self.member(m.name, self.type(m.type), 8 * m.type.size, 8 * m.offset, own)
                    for m in kind.members.values()
                ]
                return self.struct(kind.name, members, 8 * kind.size)
            case KernelStruct():
                self.kernel.append(kind)
                return ""  # finish() writes it, when all its members are known
        raise AssertionError(kind)

    def _array(self, elem: str, bits: int, count: int) -> str:
        ranges = self.node(f"!{{{self.node(f'!DISubrange(count: {count})')}}}")
        return f"!DICompositeType(tag: DW_TAG_array_type, baseType: {elem}, size: {bits}, elements: {ranges})"

    def number(self, value: int) -> str:
        """`int (*)[value]`: how a map's definition says a number."""
        array = self.node(self._array(self.bpf_int, 32 * value, value))
        return self.node(f"!DIDerivedType(tag: DW_TAG_pointer_type, baseType: {array}, size: 64)")

    def member(self, name: str, kind: str, bits: int, offset: int, scope: str) -> str:
        return self.node(
            f'!DIDerivedType(tag: DW_TAG_member, name: "{name}", scope: {scope}, file: {self.file}, line: 1, '
            f"baseType: {kind}, size: {bits}, offset: {offset})"
        )

    def struct(self, name: str, members: list[str], bits: int) -> str:
        title = f'name: "{name}", ' if name else ""
        elements = self.node(f"!{{{', '.join(members)}}}")
        return (
            f"distinct !DICompositeType(tag: DW_TAG_structure_type, {title}file: {self.file}, line: 1, size: {bits}, "
            f"elements: {elements})"
        )

    # Variables, functions, lines

    def variable(self, name: str, kind: str, line: int, defined: bool = True) -> str:
        """A global one; what its definition, or declaration, is marked with."""
        var = self.node(
            f'distinct !DIGlobalVariable(name: "{name}", scope: {self.unit}, file: {self.file}, line: {line}, '
            f"type: {kind}, isLocal: false, isDefinition: {str(defined).lower()})"
        )
        found = self.node(f"!DIGlobalVariableExpression(var: {var}, expr: !DIExpression())")
        self.globals.append(found)
        return found

    def function(self, name: str, line: int, result: Type, params: list[tuple[str, str]], local: bool) -> str:
        """params: (name, node of its type)."""
        signature = ", ".join([self.type(result), *(kind for _, kind in params)])
        types = self.node(f"!{{{signature}}}")
        kind = self.node(f"!DISubroutineType(types: {types})")
        own = self.reserve()
        retained = [
            self.node(
                f'!DILocalVariable(name: "{param}", arg: {number}, scope: {own}, file: {self.file}, line: {line}, type: {node})'
            )
            for number, (param, node) in enumerate(params, 1)
        ]
        flags = "DISPFlagDefinition | DISPFlagOptimized" + (" | DISPFlagLocalToUnit" if local else "")
        self.define(
            own,
            f'distinct !DISubprogram(name: "{name}", scope: {self.file}, file: {self.file}, line: {line}, type: {kind}, '
            f"scopeLine: {line}, flags: DIFlagPrototyped, spFlags: {flags}, unit: {self.unit}, "
            f"retainedNodes: {self.node('!{' + ', '.join(retained) + '}')})",
        )
        return own

    def location(self, line: int, column: int, scope: str) -> str:
        key = (line, column, scope)
        found = self._locations.get(key)
        if found is None:
            text = f"!DILocation(line: {line}, column: {column}, scope: {scope})"
            found = self._locations[key] = self.node(text)
        return found

    def finish(self) -> str:
        """All of it as text."""
        for struct in self.kernel:  # grows: members bring further structs
            own = self._types[id(struct)]
            members, offset = [], 0
            for name, kind in struct.members.items():
                members.append(self.member(name, self.type(kind), 8 * kind.size, offset, own))
                offset += 8 * max(kind.size, 8)
            self.define(own, self.struct(struct.name, members, offset or 8))
        everything = self.node(f"!{{{', '.join(self.globals)}}}")
        self.define(
            self.unit,
            f'distinct !DICompileUnit(language: DW_LANG_C99, file: {self.file}, producer: "simkernel", isOptimized: true, '
            f"runtimeVersion: 0, emissionKind: FullDebug, globals: {everything})",
        )
        flags = [self.node('!{i32 7, !"Dwarf Version", i32 5}'), self.node('!{i32 2, !"Debug Info Version", i32 3}')]
        head = f"!llvm.dbg.cu = !{{{self.unit}}}\n!llvm.module.flags = !{{{', '.join(flags)}}}\n"
        return head + "".join(f"!{number} = {text}\n" for number, text in enumerate(self.nodes))
