"""All C types of one kernel, from its headers: a data model, a version and an architecture.

Headers are cut into top-level declarations, each indexed by the names it defines; a declaration is parsed when one of
its names is first asked for, and structs are laid out then.  So a machine that boots parses only the few structs it
touches.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from arch.abi.version import NEWEST, KernelVersion
from arch.architecture import Architecture
from arch.cparse import Parser
from arch.cscan import CUT, DEFINE, TAGGED, Chunk, Conditions, cut, pattern, tokenize
from arch.ctype import (
    BaseTypes,
    CType,
    CTypeError,
    EnumType,
    FuncDecl,
    FuncType,
    Member,
    Names,
    StructType,
    resolve_path,
)
from arch.cview import Getter, MemoryLike, Setter, compile_getter, compile_setter, view_of
from arch.datamodel import LP64_LE, DataModel
from arch.layouts import NONE, Layouts, layouts_of, place

KERNEL_HEADERS = Path(__file__).resolve().parent.parent / "simkernel" / "include"


Contents = tuple[BaseTypes, Names, dict[str, CType], dict[str, FuncDecl]]


class Source:
    """The text behind a TypeTable: an index of declarations, and the parser over it."""

    def __init__(self, base_types: BaseTypes, conditions: Conditions, layouts: Layouts) -> None:
        self.base_types = base_types
        self.conditions = conditions
        self.layouts = layouts
        self.names = Names()
        self.chunks: list[Chunk] = []
        self.tags: dict[tuple[str, str], list[Chunk]] = {}
        self.words: dict[str, list[Chunk]] = {}  # typedef, function, variable and macro names
        self.enums: list[Chunk] = []
        self.enumerators_indexed = 0
        self.macros: dict[str, str] = {}
        self.prototypes: dict[str, FuncDecl] = {}  # by their texts
        self.texts: set[str] = set()  # that were parsed as a whole

    def add(self, text: str, filename: str) -> list[Chunk]:
        """Index a text; its declarations."""
        added = []
        for piece in cut(text):
            define = pattern(DEFINE).match(piece)
            if define:
                self.macros[define[1]] = define[2]
            elif not piece.lstrip().startswith("#"):
                added.append(Chunk(piece, filename))
                self._index(added[-1])
        return added

    def parse(self, chunks: list[Chunk]) -> None:
        for chunk in chunks:
            self._parse(chunk)

    def _index(self, chunk: Chunk) -> None:
        self.chunks.append(chunk)
        plain = pattern(*CUT).sub(lambda m: m[0] if m[0] in "{};" else " ", chunk.text)
        for kind, tag in pattern(TAGGED).findall(plain):
            self.tags.setdefault((kind, tag), []).append(chunk)
        if re.search(r"\benum\b[^;{]*\{", plain):
            self.enums.append(chunk)
        depth_zero = re.sub(r"\{.*\}", "{}", plain, flags=re.S)
        if depth_zero.rstrip(" ;\n").endswith("{}") and "typedef" not in depth_zero:
            return
        for word in re.findall(r"[A-Za-z_]\w*", depth_zero):
            self.words.setdefault(word, []).append(chunk)

    # Asking

    def parse_all(self) -> None:
        for chunk in self.chunks:
            self._parse(chunk)
        for name in list(self.macros):
            try:
                self.constant(name)
            except CTypeError:
                continue  # a macro that is no number is no constant
        for struct in list(self.names.structs.values()):
            struct.is_complete  # noqa: B018 - loads it

    def _parse(self, chunk: Chunk) -> None:
        if not chunk.done:
            chunk.done = True
            Parser(self, tokenize(chunk.text, chunk.filename), chunk.filename).declarations()

    def load_tag(self, kind: str, tag: str) -> None:
        for chunk in self.tags.get((kind, tag), ()):
            self._parse(chunk)

    def load_word(self, word: str, wanted: dict[str, object]) -> bool:
        """Parse declarations that mention a word until it is known."""
        for chunk in self.words.get(word, ()):
            if not chunk.done:
                self._parse(chunk)
                if word in wanted:
                    return True
        return word in wanted

    def typedef(self, name: str) -> CType | None:
        found = self.names.typedefs.get(name)
        if found is None and name in self.words and self.load_word(name, self.names.typedefs):  # type: ignore[arg-type]
            found = self.names.typedefs[name]
        return found

    def struct(self, is_union: bool, tag: str) -> StructType:
        found = self.names.structs.get((is_union, tag))
        if found is None:
            found = self.names.structs[(is_union, tag)] = StructType(tag, is_union)
            found.complete_with = self._complete
        return found

    def _complete(self, struct: StructType) -> None:
        self.load_tag(struct.kind, struct.name)

    def laid_out(self, struct: StructType) -> None:
        """A struct's definition was read: its members go where the kernel has them."""
        recorded = self.layouts.get((struct.is_union, struct.name))
        if recorded is not None:
            place(struct, recorded)

    def enum(self, tag: str) -> EnumType:
        if tag not in self.names.enums:
            self.load_tag("enum", tag)
        if tag not in self.names.enums:
            return EnumType(tag, 4, ())
        return self.names.enums[tag]

    def constant(self, name: str) -> int:
        constants = self.names.constants
        if name not in constants and name in self.macros:
            text = self.macros.pop(name)
            try:
                constants[name] = self.evaluate(text)
            except CTypeError as error:
                raise CTypeError(f"macro {name} is no constant: {error}") from None
        if name not in constants:
            for chunk in self.enums:
                if not chunk.done and name in chunk.text:
                    self._parse(chunk)
        if name not in constants:
            raise CTypeError(f"unknown constant {name}")
        return constants[name]

    def function(self, name: str) -> FuncDecl:
        if name not in self.names.functions:
            self.load_word(name, self.names.functions)  # type: ignore[arg-type]
        if name not in self.names.functions:
            raise CTypeError(f"unknown function {name}")
        return self.names.functions[name]

    def evaluate(self, text: str) -> int:
        parser = Parser(self, [t for t in tokenize(text) if t.kind != "comment"], "<expression>")
        value = parser.expression()
        parser.expect_end()
        return value

    def type_name(self, text: str) -> CType:
        parser = Parser(self, tokenize(text), "<type>")
        ctype = parser.type_name()
        parser.expect_end()
        return ctype

    def prototype(self, text: str) -> FuncDecl:
        found = self.prototypes.get(text)
        if found is None:
            found = self.prototypes[text] = self._prototype(text)
        return found

    def _prototype(self, text: str) -> FuncDecl:
        parser = Parser(self, tokenize(text.rstrip().rstrip(";")), "<prototype>")
        static = "static" in text.split("(")[0].split()
        base, _ = parser.specifiers()
        name, ctype = parser.declarator(base)
        parser.attributes()
        parser.expect_end()
        if not isinstance(ctype, FuncType) or not name:
            raise CTypeError(f"not a function prototype: {text!r}")
        return FuncDecl(name, ctype.ret, ctype.params, ctype.variadic, static)


class TypeTable:
    """All C types of one kernel."""

    def __init__(self, model: DataModel = LP64_LE, version: KernelVersion = NEWEST, layouts: Layouts = NONE) -> None:
        self.model = model
        self.version = version
        base_types = BaseTypes(model)
        self.void = base_types.void
        self.integers = base_types.integers
        self._source = Source(base_types, Conditions(version, model), layouts)
        self.names = self._source.names
        self._resolved: dict[str, CType] = {}
        self.indexed = False  # whether headers stand behind it

    # Filling

    def parse(self, text: str, filename: str = "<text>") -> None:
        """Add the declarations of C text, all at once; raises CTypeError for what it cannot understand."""
        if text not in self._source.texts:
            self._source.parse(self._source.add(text, filename))
            self._source.texts.add(text)

    def load_headers(self, *headers: Path, directory: Path = KERNEL_HEADERS) -> None:
        """Index every header of the directory, and others; each declaration is parsed when first needed."""
        for path in (*sorted(directory.rglob("*.h")), *headers):
            self._source.add(path.read_text(), path.name)
        self.indexed = True

    def contents(self) -> Contents:
        """Everything known so far, for fill() of another table (arch/typecache.py)."""
        source = self._source
        return source.base_types, source.names, self._resolved, source.prototypes

    def fill(
        self, base_types: BaseTypes, names: Names, resolved: dict[str, CType], prototypes: dict[str, FuncDecl]
    ) -> None:
        """Begin with the contents of another table, of the same kernel, that had parsed everything."""
        source = self._source
        source.base_types, source.names, self._resolved, source.prototypes = base_types, names, resolved, prototypes
        self.void, self.integers, self.names = base_types.void, base_types.integers, names

    def parse_all(self) -> None:
        """Parse everything indexed so far (BTF wants all of it)."""
        self._source.parse_all()

    # Asking

    def type(self, name: str) -> CType:
        """`"struct task_struct"`, `"u32"`, `"const char *"`: any C type name."""
        found = self._resolved.get(name)
        if found is None:
            found = self._resolved[name] = self._source.type_name(name)
        return found

    def struct(self, name: str) -> StructType:
        found = self.type(name).strip
        if not isinstance(found, StructType) or not found.is_complete:
            raise CTypeError(f"{name} is not a complete struct or union")
        return found

    def prototype(self, text: str) -> FuncDecl:
        """One function prototype, `"int f(struct file *file)"`."""
        return self._source.prototype(text)

    def function(self, name: str) -> FuncDecl:
        """A function declared in the headers."""
        return self._source.function(name)

    def constant(self, name: str) -> int:
        """An enumerator or a `#define`d number."""
        return self._source.constant(name)

    def evaluate(self, expression: str) -> int:
        """A constant C expression."""
        return self._source.evaluate(expression)

    def sizeof(self, name: str) -> int:
        return self.type(name).size

    def alignof(self, name: str) -> int:
        return self.type(name).align

    def offsetof(self, name: str | CType, path: str) -> int:
        """Byte offset of `"a.b[2].c"` in the type."""
        return self.resolve(name, path).offset

    def has_member(self, name: str | CType, path: str) -> bool:
        try:
            self.resolve(name, path)
        except CTypeError:
            return False
        return True

    def resolve(self, name: str | CType, path: str) -> Member:
        """The member at the end of a path, with its offset from the outermost type."""
        return resolve_path(self.type(name) if isinstance(name, str) else name, path)

    def getter(self, name: str | CType, path: str) -> Getter:
        """A compiled reader `get(mem, addr)` of one member."""
        member = self.resolve(name, path)
        return compile_getter(member)

    def setter(self, name: str | CType, path: str) -> Setter:
        """A compiled writer `set(mem, addr, value)` of one member."""
        member = self.resolve(name, path)
        return compile_setter(member)

    def view(self, mem: MemoryLike, addr: int, name: str | CType) -> Any:
        """A View (struct), ArrayView, or for a scalar type its value."""
        ctype = self.type(name) if isinstance(name, str) else name
        return view_of(mem, addr, ctype)


def kernel_types(arch: Architecture, version: KernelVersion) -> TypeTable:
    """The kernel's own types: of its headers, and of the architecture's.  arch/typecache.py has the shared ones."""
    table = TypeTable(arch.model, version, layouts_of(arch.name, version))
    table.load_headers(*arch.headers)
    return table
