"""The command's own modules as one file of the cache: a start reads some 900 of them, and most of that is looking for them.

Python asks for each module every finder, the folder, the source and the compiled file, and reads the last.  What a command has
imported is kept, as Python had compiled it, in one file (arch/cache.py); later commands take a module from there while its
source has the size and the time that it had.  Everything else, and whatever is missing or out of date, Python finds as ever; a
command that met such a module keeps it, too.  Only the command does this: a program that uses the package imports it as any other.
"""

from __future__ import annotations

import atexit
import marshal
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from pathlib import Path
from types import CodeType, ModuleType

from arch import cache
from simkernel.own_floors import FLOORS_BELOW, own_folder

CODE_KIND = "code"
CODE_FILES = 4  # files: one for each place that simkernel is installed in, 11 MB each
PACKAGES = frozenset((*FLOORS_BELOW, "simkernel"))
PYC_HEADER = 16  # bytes of a compiled file before its code: magic number, flags, time and size of the source
INDEX_SIZE = INDEX_HASH = 8

# Of a module: where its code begins and how long it is, its source, whether it is a package, of the source time and size as its
# compiled file has them, a hash of the code, and where that file is.
Row = tuple[int, int, str, bool, bytes, bytes, str]


class KeptLoader(SourceFileLoader):
    """What Python uses for a source, but the code is there already."""

    def __init__(self, fullname: str, path: str, kept: KeptCode) -> None:
        super().__init__(fullname, path)
        self.kept = kept

    def get_code(self, fullname: str) -> CodeType | None:
        """As compiled."""
        code = self.kept.code(fullname)
        return super().get_code(fullname) if code is None else code


class KeptCode(MetaPathFinder):
    """What is kept, as a finder of modules."""

    def __init__(self, name: str, packages: frozenset[str] = PACKAGES) -> None:
        self.name, self.packages = name, packages
        self.rows: dict[str, Row] = {}
        self.data = memoryview(b"")
        whole = cache.mapped(CODE_KIND, name)
        if whole is not None:
            begin = INDEX_SIZE + INDEX_HASH
            end = begin + int.from_bytes(whole[:INDEX_SIZE], "little")
            if source_hash(whole[begin:end]) == whole[INDEX_SIZE:begin]:
                self.rows, self.data = marshal.loads(whole[begin:end]), whole[end:]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """None of what is not kept, or kept from another source."""
        row = self.rows.get(fullname)
        if row is None or stamp(row[2]) != row[4]:
            return None
        spec = ModuleSpec(fullname, KeptLoader(fullname, row[2], self), origin=row[2], is_package=row[3])
        spec.has_location, spec.cached = True, row[6]
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(os.path.dirname(row[2]))
        return spec

    def code(self, fullname: str) -> CodeType | None:
        """Of a module that it has found; None where the file was damaged."""
        begin, size, _, _, _, whole, _ = self.rows[fullname]
        data = self.data[begin : begin + size]
        code = marshal.loads(data) if source_hash(data) == whole else None
        return code if isinstance(code, CodeType) else None

    def keep(self) -> None:
        """What this process has imported otherwise goes into the file, too."""
        rows: dict[str, tuple[str, bool, bytes, bytes]] = {}  # source, is a package, time and size, code
        for fullname, module in list(sys.modules.items()):
            if fullname.partition(".")[0] not in self.packages or module.__spec__ is None:
                continue
            spec = module.__spec__
            if type(spec.loader) is not SourceFileLoader or spec.origin is None or spec.name != fullname:
                continue
            now = stamp(spec.origin)
            if fullname in self.rows and self.rows[fullname][4] == now:
                continue
            code = _compiled(spec.origin, now) or marshal.dumps(spec.loader.get_code(fullname))
            rows[fullname] = (spec.origin, spec.submodule_search_locations is not None, now, code)
        if not rows:
            return
        for fullname, (begin, size, source, package, of_source, *_) in self.rows.items():
            if fullname not in rows and stamp(source) == of_source:
                rows[fullname] = (source, package, of_source, bytes(self.data[begin : begin + size]))
        cache.store(CODE_KIND, self.name, _packed(rows), CODE_FILES)


def _packed(rows: dict[str, tuple[str, bool, bytes, bytes]]) -> bytes:
    table: dict[str, Row] = {}
    pieces, at = [], 0
    for fullname, (source, package, of_source, code) in sorted(rows.items()):
        table[fullname] = (at, len(code), source, package, of_source, source_hash(code), cache_from_source(source))
        pieces.append(code)
        at += len(code)
    index = marshal.dumps(table)
    return b"".join((len(index).to_bytes(INDEX_SIZE, "little"), source_hash(index), index, *pieces))


def stamp(source: str) -> bytes:
    """Time and size of a source, as a compiled file notes them; nothing where there is none."""
    try:
        status = os.stat(source)
    except OSError:
        return b""
    return (int(status.st_mtime) & 0xFFFFFFFF).to_bytes(4, "little") + (status.st_size & 0xFFFFFFFF).to_bytes(
        4, "little"
    )


def _compiled(source: str, now: bytes) -> bytes:
    """The code as Python keeps it beside the source; empty where it does not, or of another source."""
    try:
        with open(cache_from_source(source), "rb") as file:
            header, code = file.read(PYC_HEADER), file.read()
    except OSError:
        return b""
    return code if header == MAGIC_NUMBER + bytes(4) + now else b""


def install() -> KeptCode:
    """From now on this process finds modules there first."""
    kept = KeptCode(cache.digest([Path(__file__), str(own_folder()), str(sys.flags.optimize), MAGIC_NUMBER]))
    sys.meta_path.insert(0, kept)
    return kept


def use() -> None:
    """For this process, which keeps at its end what was not kept."""
    atexit.register(install().keep)
