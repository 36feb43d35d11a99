"""One kernel's types, shared by all its machines of this process, and kept for the next process.

Parsing and laying out what a boot needs takes longer than reading back everything, laid out.  What is kept is a pickle
that may name nothing but the classes of arch/ctype.py: whatever else a file asks for, it is not read.
"""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

from arch import cache, ctype
from arch.abi.version import KernelVersion
from arch.architecture import Architecture
from arch.ctype import StructType
from arch.datamodel import DataModel
from arch.layouts import layout_file
from arch.typetable import KERNEL_HEADERS, TypeTable, kernel_types

KIND = "types"
_SOURCES = ("ctype.py", "cparse.py", "cscan.py", "typetable.py", "typecache.py", "datamodel.py", "layouts.py")
_CLASSES = {
    cls.__name__: cls
    for cls in (
        ctype.ArrayType, ctype.BaseTypes, ctype.EnumType, ctype.FloatType, ctype.FuncDecl, ctype.FuncType,
        ctype.IntType, ctype.Member, ctype.Names, ctype.PointerType, ctype.QualifiedType, ctype.TypedefType,
        ctype.VoidType, DataModel,
    )
}  # fmt: skip

_tables: dict[tuple[object, ...], TypeTable] = {}


def shared_types(arch: Architecture, version: KernelVersion) -> TypeTable:
    """The types of this kernel: of this process, or as another one left them, or from the headers."""
    key = (arch.name, arch.headers, version)
    table = _tables.get(key)
    if table is None:
        table = TypeTable(arch.model, version)
        data = cache.load(KIND, _name(arch, version))
        if data is None or not _fill(table, data):
            table = kernel_types(arch, version)
        _tables[key] = table
    return table


def keep_types(arch: Architecture, version: KernelVersion) -> None:
    """Leave shared_types() for later processes, all of it laid out; nothing where it came from there."""
    table = _tables.get((arch.name, arch.headers, version))
    if table is not None and table.indexed and cache.directory() is not None:
        table.parse_all()
        cache.store(KIND, _name(arch, version), _pickled(table))
        table.indexed = False


def _name(arch: Architecture, version: KernelVersion) -> str:
    here = Path(__file__).parent
    recorded = layout_file(arch.name, version)
    headers = (*sorted(KERNEL_HEADERS.rglob("*.h")), *arch.headers, *((recorded,) if recorded.exists() else ()))
    return cache.digest([*(here / name for name in _SOURCES), *headers, arch.name, repr(arch.model), str(version)])


def _pickled(table: TypeTable) -> bytes:
    """Structs by number first, then everything else, their members last: so nothing nests deeper than a type is."""
    contents = table.contents()
    structs = _structs(contents)
    members = [(s.members, s.size, s.align) if s.is_complete else None for s in structs]
    out = io.BytesIO()
    pickle.dump([(s.name, s.is_union) for s in structs], out, 5)
    _Pickler(out, structs).dump((contents, members))
    return out.getvalue()


def _fill(table: TypeTable, data: bytes) -> bool:
    """Read back what _pickled() wrote; False if it is something else."""
    source = io.BytesIO(data)
    try:
        structs = [StructType(name, is_union) for name, is_union in _Unpickler(source, []).load()]
        contents, members = _Unpickler(source, structs).load()
        for struct, definition in zip(structs, members, strict=True):
            if definition is not None:
                struct.define(*definition)
        table.fill(*contents)
    except (pickle.UnpicklingError, EOFError, AttributeError, LookupError, TypeError, ValueError):
        return False
    return True


class _Pickler(pickle.Pickler):
    """Structs are written as their number."""

    def __init__(self, out: io.BytesIO, structs: list[StructType]) -> None:
        super().__init__(out, 5)
        self.numbers = {id(struct): number for number, struct in enumerate(structs)}

    def persistent_id(self, obj: Any) -> int | None:
        return self.numbers[id(obj)] if type(obj) is StructType else None


class _Unpickler(pickle.Unpickler):
    """Makes nothing but C types."""

    def __init__(self, source: io.BytesIO, structs: list[StructType]) -> None:
        super().__init__(source)
        self.persistent_load = structs.__getitem__  # type: ignore[method-assign]

    def find_class(self, module: str, name: str) -> Any:
        found = _CLASSES.get(name)
        if found is None or module != found.__module__:
            raise pickle.UnpicklingError(f"{module}.{name} has no place among types")
        return found


def _structs(contents: object) -> list[StructType]:
    """Every struct that can be reached, each once, in order of discovery."""
    found: dict[int, StructType] = {}
    seen: dict[int, object] = {}
    todo: list[object] = [contents]
    while todo:
        item = todo.pop()
        if id(item) in seen:
            continue
        seen[id(item)] = item
        if isinstance(item, StructType):
            found[id(item)] = item
            todo.extend(item.members)
        elif isinstance(item, dict):
            todo.extend(item.values())
        elif isinstance(item, list | tuple):
            todo.extend(item)
        elif type(item).__name__ in _CLASSES:
            todo.extend(vars(item).values())
    return list(found.values())
