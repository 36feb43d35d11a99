"""A parser of C declarations: the part of C that kernel headers' types and prototypes use.

Recursive descent over the tokens of one top-level declaration (cscan.py).  What other declarations a name means, the
parser asks of its `Scope` (typetable.py).  `#define NAME expression` is a constant; other preprocessor lines are ignored.
"""

from __future__ import annotations

from typing import Protocol

from arch.cscan import Conditions, Token
from arch.ctype import (
    ArrayType,
    BaseTypes,
    CType,
    CTypeError,
    EnumType,
    FuncDecl,
    FuncType,
    MemberDecl,
    Names,
    PointerType,
    QualifiedType,
    StructType,
    TypedefType,
    lay_out,
)

_QUALIFIERS = {"const": "const", "volatile": "volatile", "restrict": "restrict", "__restrict": "restrict",
               "__const": "const", "__volatile__": "volatile"}  # fmt: skip
_STORAGE = frozenset({"extern", "static", "inline", "__inline", "register", "auto", "_Noreturn", "asmlinkage"})
# Address-space and checker annotations that do not change layout.
_ANNOTATIONS = frozenset(
    [
        "__user",
        "__rcu",
        "__percpu",
        "__iomem",
        "__kernel",
        "__force",
        "__bitwise",
        "__must_check",
        "__init",
        "__always_unused",
        "__weak",
        "__randomize_layout",
        "__no_randomize_layout",
        "__extension__",
        "__cold",
        "__hot",
        "notrace",
        "noinline",
        "__sched",
    ]
)
_BASE_WORDS = frozenset(
    ["char", "short", "int", "long", "signed", "unsigned", "__signed__", "_Bool", "__int128", "float", "double", "void"]
)
_ATTRIBUTE_MACROS = {"__packed": ("packed", 0), "__aligned": ("aligned", 1), "____cacheline_aligned": ("aligned", 64)}


class Scope(Protocol):
    """What a parser asks of the text around its declaration."""

    base_types: BaseTypes
    names: Names
    conditions: Conditions

    def typedef(self, name: str) -> CType | None: ...
    def struct(self, is_union: bool, tag: str) -> StructType: ...
    def laid_out(self, struct: StructType) -> None: ...
    def enum(self, tag: str) -> EnumType: ...
    def constant(self, name: str) -> int: ...


class Attributes:
    """packed and aligned of one declaration."""

    def __init__(self) -> None:
        self.packed = False
        self.align = 0


_END = Token("end", "")
_PRECEDENCE = {"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
               "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10}  # fmt: skip


class Parser:
    """Recursive descent over the tokens of one chunk."""

    def __init__(self, source: Scope, tokens: list[Token], filename: str) -> None:
        self.source = source
        self.base_types = source.base_types
        self.names = source.names
        self.tokens = tokens
        self.filename = filename
        self.at = 0

    # Tokens

    @property
    def peek(self) -> Token:
        return self.tokens[self.at] if self.at < len(self.tokens) else _END

    def next(self) -> Token:
        token = self.peek
        self.at += 1
        return token

    def accept(self, text: str) -> bool:
        if self.peek.text == text and self.peek.kind != "string":
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.accept(text):
            self.fail(f"expected {text!r}, found {self.peek.text!r}")

    def expect_end(self) -> None:
        if self.peek is not _END:
            self.fail(f"unexpected {self.peek.text!r}")

    def fail(self, why: str) -> None:
        near = " ".join(t.text for t in self.tokens[max(0, self.at - 6) : self.at + 3])
        raise CTypeError(f"{self.filename}: {why} near {near!r}")

    # Conditions

    def _end_of(self, stops: str) -> int:
        """Index just past the next token of `stops` outside all brackets (or of the closing bracket itself)."""
        depth = 0
        for index in range(self.at, len(self.tokens)):
            text = self.tokens[index].text
            if depth == 0 and text in stops:
                return index + 1
            if text in ("{", "(", "["):
                depth += 1
            elif text in ("}", ")", "]"):
                if depth == 0:
                    return index
                depth -= 1
        return len(self.tokens)

    def wanted(self, stops: str) -> bool:
        """Whether the declaration that starts here holds for this version and architecture; skips it if not."""
        end = self._end_of(stops)
        after = end
        holds = True
        while after < len(self.tokens) and self.tokens[after].kind == "comment":
            holds = holds and self.source.conditions.hold(self.tokens[after].text)
            after += 1
        if not holds:
            self.at = after
        return holds

    def skip_comments(self) -> None:
        while self.peek.kind == "comment":
            self.at += 1

    # Declarations

    def declarations(self) -> None:
        self.skip_comments()
        while self.peek is not _END:
            if self.peek.kind == "define" or self.accept(";"):
                self.at += self.peek.kind == "define"
            elif self.wanted(";"):
                self.declaration()
            self.skip_comments()

    def declaration(self) -> None:
        is_typedef = self.accept("typedef")
        static = self.peek.text == "static"
        base, attributes = self.specifiers()
        while not self.accept(";"):
            name, ctype = self.declarator(base)
            self.attributes(attributes)
            if not name:
                self.fail("declaration without a name")
            if is_typedef:
                self.names.typedefs[name] = TypedefType(name, ctype, attributes.align)
            elif isinstance(ctype, FuncType):
                self.names.functions[name] = FuncDecl(name, ctype.ret, ctype.params, ctype.variadic, static)
            else:
                self.names.variables[name] = ctype
            if not self.accept(","):
                self.expect(";")
                return

    def attributes(self, into: Attributes | None = None) -> Attributes:
        found = into or Attributes()
        while True:
            text = self.peek.text
            if text in ("__attribute__", "__attribute"):
                self.next()
                self.expect("(")
                self.expect("(")
                while not self.accept(")"):
                    self._attribute(found)
                self.expect(")")
            elif text in _ATTRIBUTE_MACROS:
                self.next()
                kind, number = _ATTRIBUTE_MACROS[text]
                if kind == "packed":
                    found.packed = True
                elif self.accept("("):
                    found.align = self.expression()
                    self.expect(")")
                else:
                    found.align = number
            elif text in _ANNOTATIONS:
                self.next()
            else:
                return found

    def _attribute(self, found: Attributes) -> None:
        name = self.next().text.strip("_")
        argument = None
        if self.accept("("):
            if name == "aligned":
                argument = self.expression()
                self.expect(")")
            else:
                self.at = self._end_of("")
                self.expect(")")
        if name == "packed":
            found.packed = True
        elif name == "aligned":
            found.align = argument or 16
        self.accept(",")
        if self.peek is _END:
            self.fail("unfinished attribute")

    def specifiers(self) -> tuple[CType, Attributes]:
        """Declaration specifiers: storage, qualifiers and one type."""
        attributes = Attributes()
        qualifiers: list[str] = []
        words: list[str] = []
        ctype: CType | None = None
        while True:
            self.attributes(attributes)
            text = self.peek.text
            if text in _STORAGE:
                self.next()
            elif text in _QUALIFIERS:
                qualifiers.append(_QUALIFIERS[self.next().text])
            elif text in ("struct", "union") and ctype is None:
                ctype = self.struct()
            elif text == "enum" and ctype is None:
                ctype = self.enum()
            elif text in _BASE_WORDS and ctype is None:
                words.append(self.next().text)
            elif self.peek.kind == "name" and ctype is None and not words:
                ctype = self.source.typedef(text)
                if ctype is None:
                    self.fail(f"unknown type name {text!r}")
                self.next()
            else:
                break
        if words:
            ctype = self.base_type(words)
        if ctype is None:
            self.fail(f"expected a type, found {self.peek.text!r}")
        assert ctype is not None
        return self.qualify(ctype, qualifiers), attributes

    @staticmethod
    def qualify(ctype: CType, qualifiers: list[str]) -> CType:
        for qualifier in reversed(list(dict.fromkeys(qualifiers))):
            ctype = QualifiedType(qualifier, ctype)
        return ctype

    def base_type(self, words: list[str]) -> CType:
        count = {word: words.count(word) for word in words}
        sign = "unsigned" in count
        if words == ["void"]:
            return self.base_types.void
        if "double" in count or "float" in count:
            return self.base_types.floats[
                "float" if "float" in count else "long double" if "long" in count else "double"
            ]
        if "_Bool" in count:
            name = "_Bool"
        elif "char" in count:
            name = "unsigned char" if sign else "signed char" if "signed" in count else "char"
        elif "__int128" in count:
            name = "__int128 unsigned" if sign else "__int128"
        else:
            size = "short" if "short" in count else " ".join(["long"] * count.get("long", 0))
            name = " ".join(part for part in (size, "unsigned" if sign else "", "int") if part)
        return self.base_types.integers[name]

    # Structs and enums

    def struct(self) -> StructType:
        is_union = self.next().text == "union"
        attributes = self.attributes()
        tag = self.next().text if self.peek.kind == "name" else ""
        if self.peek.text != "{":
            if not tag:
                self.fail("struct without a name or body")
            return self.source.struct(is_union, tag)
        struct = self.source.struct(is_union, tag) if tag else StructType("", is_union)
        self.expect("{")
        decls: list[MemberDecl] = []
        self.skip_comments()
        while not self.accept("}"):
            if self.peek is _END:
                self.fail("unfinished struct")
            if self.wanted(";"):
                decls.extend(self.member())
            self.skip_comments()
        self.attributes(attributes)
        struct.define(*lay_out(decls, is_union, attributes.packed, attributes.align))
        self.source.laid_out(struct)
        return struct

    def member(self) -> list[MemberDecl]:
        base, specified = self.specifiers()
        if self.accept(";"):
            return [MemberDecl("", base, None, specified.align)]
        decls = []
        while True:
            name, ctype = ("", base) if self.peek.text == ":" else self.declarator(base)
            bits = self.expression() if self.accept(":") else None
            own = Attributes()
            own.align, own.packed = specified.align, specified.packed
            self.attributes(own)
            decls.append(MemberDecl(name, ctype, bits, own.align, own.packed))
            if self.accept(";"):
                return decls
            self.expect(",")

    def enum(self) -> EnumType:
        self.next()
        self.attributes()
        tag = self.next().text if self.peek.kind == "name" else ""
        if not self.accept("{"):
            return self.source.enum(tag)
        values: list[tuple[str, int]] = []
        value = 0
        self.skip_comments()
        while not self.accept("}"):
            if self.peek is _END:
                self.fail("unfinished enum")
            if self.wanted(","):
                name = self.next().text
                self.attributes()
                if self.accept("="):
                    value = self.expression()
                self.names.constants[name] = value
                values.append((name, value))
                value += 1
                self.accept(",")
            self.skip_comments()
        packed = self.attributes().packed
        return self._define_enum(tag, values, packed)

    def _define_enum(self, tag: str, values: list[tuple[str, int]], packed: bool) -> EnumType:
        low, high = min((v for _, v in values), default=0), max((v for _, v in values), default=0)
        signed = low < 0
        size = 4 if low >= -(1 << 31) and high < (1 << (31 if signed else 32)) else 8
        if packed:
            bits = max(high.bit_length() + signed, (low + 1).bit_length() + 1 if signed else 0)
            size = 1 if bits <= 8 else 2 if bits <= 16 else size
        found = EnumType(tag, size, tuple(values), signed, self.base_types.model.long_long_align if size == 8 else size)
        if tag:
            self.names.enums[tag] = found
        else:
            self.names.anonymous_enums.append(found)
        return found

    # Declarators

    def type_name(self) -> CType:
        base, _ = self.specifiers()
        name, ctype = self.declarator(base)
        if name:
            self.fail(f"unexpected name {name!r}")
        return ctype

    def declarator(self, base: CType) -> tuple[str, CType]:
        """Pointers, then the name or a parenthesised declarator, then arrays and parameters, inside out."""
        self.attributes()
        while self.accept("*"):
            base = PointerType(base, self.base_types.model.word)
            qualifiers = []
            self.attributes()
            while self.peek.text in _QUALIFIERS:
                qualifiers.append(_QUALIFIERS[self.next().text])
                self.attributes()
            base = self.qualify(base, qualifiers)
        if self.peek.text == "(" and self._is_nested():
            self.next()
            inner_at = self.at
            self.at = self._end_of("")
            self.expect(")")
            base = self.suffixes(base)
            after, self.at = self.at, inner_at
            result = self.declarator(base)
            self.expect(")")
            self.at = after
            return result
        name = self.next().text if self.peek.kind == "name" else ""
        return name, self.suffixes(base)

    def _is_nested(self) -> bool:
        """`(` starts a nested declarator (not a parameter list of an unnamed function)."""
        after = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else _END
        if after.text in ("*", "(", "[") or after.text in _ANNOTATIONS or after.text == "__attribute__":
            return True
        if after.kind != "name" or after.text in _BASE_WORDS or after.text in _QUALIFIERS:
            return False
        return after.text not in ("struct", "union", "enum") and self.source.typedef(after.text) is None

    def suffixes(self, base: CType) -> CType:
        if self.accept("["):
            self.accept("static")
            count = 0 if self.peek.text == "]" else self.expression()
            self.expect("]")
            return ArrayType(self.suffixes(base), count)
        if self.accept("("):
            params, variadic = self.parameters()
            return FuncType(self.suffixes(base), params, variadic)
        return base

    def parameters(self) -> tuple[tuple[tuple[str, CType], ...], bool]:
        params: list[tuple[str, CType]] = []
        if self.accept(")"):
            return (), False
        while True:
            if self.accept("..."):
                self.expect(")")
                return tuple(params), True
            base, _ = self.specifiers()
            name, ctype = self.declarator(base)
            self.attributes()
            params.append((name, self.decay(ctype)))
            if self.accept(")"):
                break
            self.expect(",")
        if len(params) == 1 and not params[0][0] and params[0][1] is self.base_types.void:
            return (), False
        return tuple(params), False

    def decay(self, ctype: CType) -> CType:
        """Arrays and functions become pointers as parameters."""
        if isinstance(ctype, ArrayType):
            return PointerType(ctype.elem, self.base_types.model.word)
        if isinstance(ctype, FuncType):
            return PointerType(ctype, self.base_types.model.word)
        return ctype

    # Constant expressions

    def expression(self) -> int:
        value = self.binary(1)
        if self.accept("?"):
            yes = self.expression()
            self.expect(":")
            no = self.expression()
            return yes if value else no
        return value

    def binary(self, level: int) -> int:
        left = self.unary()
        while True:
            op = self.peek.text
            precedence = _PRECEDENCE.get(op, 0) if self.peek.kind == "op" else 0
            if precedence < level or not precedence:
                return left
            self.next()
            left = self.apply(op, left, self.binary(precedence + 1))

    def apply(self, op: str, a: int, b: int) -> int:
        if op in ("/", "%") and b == 0:
            self.fail("division by zero")
        if op in ("<<", ">>") and not 0 <= b < 128:
            self.fail("bad shift")
        match op:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*":
                return a * b
            case "/":
                return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            case "%":
                return abs(a) % abs(b) * (-1 if a < 0 else 1)
            case "<<":
                return a << b
            case ">>":
                return a >> b
            case "&":
                return a & b
            case "|":
                return a | b
            case "^":
                return a ^ b
            case "&&":
                return int(bool(a and b))
            case "||":
                return int(bool(a or b))
            case "==":
                return int(a == b)
            case "!=":
                return int(a != b)
            case "<":
                return int(a < b)
            case ">":
                return int(a > b)
            case "<=":
                return int(a <= b)
            case _:
                return int(a >= b)

    def unary(self) -> int:
        token = self.next()
        match token.text:
            case "-":
                return -self.unary()
            case "+":
                return self.unary()
            case "~":
                return ~self.unary()
            case "!":
                return int(not self.unary())
            case "sizeof":
                self.expect("(")
                size = self.type_name().size
                self.expect(")")
                return size
            case "(":
                if self._is_cast():
                    self.type_name()
                    self.expect(")")
                    return self.unary()
                value = self.expression()
                self.expect(")")
                return value
        if token.kind == "number":
            digits = token.text.rstrip("uUlL")
            return int(digits, 8) if digits.isdigit() and digits.startswith("0") else int(digits, 0)
        if token.kind == "char":
            return ord(token.text[1:-1].encode().decode("unicode_escape"))
        if token.kind == "name":
            return self.source.constant(token.text)
        self.fail(f"expected a constant, found {token.text!r}")
        return 0

    def _is_cast(self) -> bool:
        token = self.peek
        if token.kind != "name":
            return False
        known = token.text in _BASE_WORDS or token.text in _QUALIFIERS or token.text in ("struct", "union", "enum")
        return known or self.source.typedef(token.text) is not None
