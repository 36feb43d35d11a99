"""BTF from C types: what pahole makes of the kernel's DWARF, we make of arch/ctype.py's tables.

scripts/pahole-flags.sh, tools/lib/bpf/btf.c (btf__add_*).  Types are added in the order they are first needed; equal
pointers, qualifiers, arrays and prototypes are shared, named types exist once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from arch import ctype as c
from arch.typetable import TypeTable
from bpf.btf.codec import INT_BOOL, INT_SIGNED, STATIC, Btf, BtfType, Kind, Member, Param, Secinfo

_QUALIFIER_KIND = {"const": Kind.CONST, "volatile": Kind.VOLATILE, "restrict": Kind.RESTRICT}


class Builder:
    """Adds C types of one TypeTable to one Btf."""

    def __init__(self, table: TypeTable, btf: Btf | None = None) -> None:
        self.table = table
        self.btf = btf or Btf(table.model.byteorder, table.model.word)
        self._ids: dict[int, int] = {}
        self._keep: list[c.CType] = []  # what _ids is keyed by must stay alive
        self._shared: dict[tuple[object, ...], int] = {}
        self._unfinished: list[tuple[BtfType, c.StructType]] = []
        self._depth = 0

    # Types

    def type_id(self, ctype: c.CType) -> int:
        """The id of a type, added if new."""
        found = self._ids.get(id(ctype))
        if found is None:
            found = self._add(ctype)
            self._ids[id(ctype)] = found
            self._keep.append(ctype)
        if not self._depth:
            self._finish()
        return found

    def _finish(self) -> None:
        """Fill in struct members, which may add more structs; not recursive, as pointers make long chains."""
        self._depth += 1
        while self._unfinished:
            new, struct = self._unfinished.pop(0)
            new.members = [Member(m.name, self.type_id(m.type), m.bit_position, m.bit_size) for m in struct.members]
            new.kflag = any(m.bit_size for m in struct.members)
        self._depth -= 1

    def _inner(self, ctype: c.CType) -> int:
        self._depth += 1
        found = self.type_id(ctype)
        self._depth -= 1
        return found

    def _share(self, key: tuple[object, ...], new: BtfType) -> int:
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = self.btf.append(new)
        return found

    def _add(self, ctype: c.CType) -> int:
        match ctype:
            case c.VoidType():
                return 0
            case c.IntType():
                encoding = INT_BOOL if ctype.kind == "bool" else INT_SIGNED if ctype.signed else 0
                new = BtfType(Kind.INT, ctype.name, ctype.size, encoding=encoding, bits=8 * ctype.size)
                return self._share((Kind.INT, ctype.name), new)
            case c.FloatType():
                return self._share((Kind.FLOAT, ctype.name), BtfType(Kind.FLOAT, ctype.name, ctype.size))
            case c.PointerType():
                return self._reference(Kind.PTR, ctype.target)
            case c.QualifiedType():
                return self._reference(_QUALIFIER_KIND[ctype.qualifier], ctype.target)
            case c.TypedefType():
                target = self._inner(ctype.target)
                return self._share((Kind.TYPEDEF, ctype.name), BtfType(Kind.TYPEDEF, ctype.name, type=target))
            case c.ArrayType():
                elem, index = self._inner(ctype.elem), self._inner(self.table.integers["int"])
                new = BtfType(Kind.ARRAY, type=elem, index_type=index, nelems=ctype.count)
                return self._share((Kind.ARRAY, elem, ctype.count), new)
            case c.EnumType():
                return self._enum(ctype)
            case c.StructType():
                return self._struct(ctype)
            case c.FuncType():
                return self.prototype(ctype.ret, ctype.params, ctype.variadic)
        raise TypeError(f"no BTF for {ctype!r}")

    def _reference(self, kind: Kind, target: c.CType) -> int:
        found = self._inner(target)
        return self._share((kind, found), BtfType(kind, type=found))

    def _enum(self, ctype: c.EnumType) -> int:
        kind = Kind.ENUM64 if ctype.size == 8 else Kind.ENUM
        new = BtfType(kind, ctype.name, ctype.size, kflag=ctype.signed, values=list(ctype.values))
        return self._share((Kind.ENUM, ctype.name) if ctype.name else (Kind.ENUM, id(ctype)), new)

    def _struct(self, struct: c.StructType) -> int:
        kind = Kind.UNION if struct.is_union else Kind.STRUCT
        if not struct.is_complete:
            return self._share((Kind.FWD, kind, struct.name), BtfType(Kind.FWD, struct.name, kflag=struct.is_union))
        new = BtfType(kind, struct.name, struct.size)
        found = self._share((kind, struct.name) if struct.name else (kind, id(struct)), new)
        if self.btf.types[found] is new:
            self._unfinished.append((new, struct))
        return found

    def prototype(self, ret: c.CType, params: Iterable[tuple[str, c.CType]], variadic: bool = False) -> int:
        """A FUNC_PROTO, shared with its equals."""
        ret_id = self._inner(ret)
        made = [Param(name, self._inner(ctype)) for name, ctype in params]
        if variadic:
            made.append(Param("", 0))
        key = (Kind.FUNC_PROTO, ret_id, tuple((p.name, p.type) for p in made))
        found = self._share(key, BtfType(Kind.FUNC_PROTO, type=ret_id, params=made))
        if not self._depth:
            self._finish()
        return found

    # Functions, tracepoints, variables

    def function(self, decl: c.FuncDecl, linkage: int = STATIC) -> int:
        """A FUNC with its prototype; the kernel's own all have static linkage."""
        proto = self.prototype(decl.ret, decl.params, decl.variadic)
        return self._share((Kind.FUNC, decl.name), BtfType(Kind.FUNC, decl.name, type=proto, linkage=linkage))

    def tracepoint(self, name: str, params: Iterable[tuple[str, c.CType]]) -> int:
        """`typedef void (*btf_trace_NAME)(void *__data, ...)`: how raw tracepoints announce their arguments."""
        data = ("__data", c.PointerType(self.table.void, self.table.model.word))
        proto = self.prototype(self.table.void, (data, *params))
        pointer = self._share((Kind.PTR, proto), BtfType(Kind.PTR, type=proto))
        typedef = f"btf_trace_{name}"
        return self._share((Kind.TYPEDEF, typedef), BtfType(Kind.TYPEDEF, typedef, type=pointer))

    def datasec(self, name: str, variables: Mapping[str, tuple[c.CType, int]]) -> int:
        """A section of variables (name -> type and offset in bytes), such as .data..percpu."""
        rows = []
        for variable, (ctype, offset) in variables.items():
            var = BtfType(Kind.VAR, variable, type=self.type_id(ctype), linkage=1)
            rows.append(Secinfo(self.btf.append(var), offset, ctype.size))
        rows.sort(key=lambda row: row.offset)
        size = max((row.offset + row.size for row in rows), default=0)
        return self.btf.append(BtfType(Kind.DATASEC, name, size, secinfos=rows))


class Extension(Builder):
    """Adds to the BTF that a kernel shows: what is there by its name stays what it is."""

    def _share(self, key: tuple[object, ...], new: BtfType) -> int:
        if key not in self._shared and new.name and (known := self.btf.find(new.name, new.kind)):
            self._shared[key] = known
        return super()._share(key, new)


def extended_btf(
    data: bytes,
    table: TypeTable,
    structs: Iterable[str],
    tracepoints: Mapping[str, Iterable[tuple[str, c.CType]]],
) -> Btf:
    """A kernel's BTF with structures of the table and tracepoints that this kernel has besides."""
    builder = Extension(table, Btf.parse(data, table.model.word))
    for name in structs:
        builder.type_id(table.struct(name))
    for name, params in tracepoints.items():
        builder.tracepoint(name, params)
    return builder.btf


def kernel_btf(
    table: TypeTable,
    functions: Iterable[c.FuncDecl] = (),
    tracepoints: Mapping[str, Iterable[tuple[str, c.CType]]] | None = None,
    percpu: Mapping[str, tuple[c.CType, int]] | None = None,
) -> Btf:
    """/sys/kernel/btf/vmlinux: every type of the table, every function, tracepoint and per-CPU variable given.

    Functions declared in the table's headers are included; a given declaration of the same name wins.
    """
    builder = Builder(table)
    table.parse_all()
    names = table.names
    for integer in table.integers.values():
        builder.type_id(integer)
    for _, ctype in sorted(names.typedefs.items()):  # by name: what was parsed first must not show
        builder.type_id(ctype)
    for _, struct in sorted(names.structs.items(), key=lambda item: item[0][1]):
        if struct.is_complete:
            builder.type_id(struct)
    for _, enum in sorted(names.enums.items()):
        builder.type_id(enum)
    for enum in sorted(names.anonymous_enums, key=lambda enum: enum.values):
        builder.type_id(enum)
    declared = {decl.name: decl for decl in names.functions.values()}
    declared.update({decl.name: decl for decl in functions})
    for name in sorted(declared):
        builder.function(declared[name])
    for name, params in sorted((tracepoints or {}).items()):
        builder.tracepoint(name, params)
    if percpu:
        builder.datasec(".data..percpu", percpu)
    return builder.btf
