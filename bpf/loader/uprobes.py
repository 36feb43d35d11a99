"""Attaching to functions of user programs: where the file is, where the function is in it.  libbpf.c, elf.c of libbpf."""

from __future__ import annotations

import io
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile

from arch.abi.errno import EINVAL, ENOENT, EOPNOTSUPP, errno_name
from arch.errors import KernelError
from bpf.loader.errors import LoadError, nearest
from bpf.loader.events import machine, open_uprobe, open_uprobe_event
from bpf.loader.links import Link, LoadedObject, attach_perf_event, need_features, need_task, require_fd
from bpf.loader.program import Program
from bpf.loader.sys import Task


def attach_uprobe(
    obj: LoadedObject,
    program: Program,
    path: str,
    offset: int = 0,
    *,
    function: str = "",
    pid: int = -1,
    is_return: bool = False,
    ref_ctr: int = 0,
    cookie: int = 0,
) -> Link:
    """bpf_program__attach_uprobe_opts(); `offset` in the file, or from the function's start."""
    task, features = need_task(obj), need_features(obj)
    require_fd(program)
    path = resolve_path(task, path, program.name)
    if function:
        offset += find_function(task.read_file(path), function, path)
    word = "uretprobe" if is_return else "uprobe"
    undo: list[Callable[[], object]] = []
    try:
        if features.uprobe_pmu:
            fd = open_uprobe(task, path, offset, pid, is_return, ref_ctr)
        else:
            if ref_ctr:
                raise LoadError(f"prog '{program.name}': the kernel has no reference counters", EOPNOTSUPP)
            fd, remove = open_uprobe_event(task, path, offset, pid, is_return)
            undo.append(remove)
    except KernelError as error:
        text = f"prog '{program.name}': failed to create {word} '{path}:0x{offset:x}' perf event: "
        raise LoadError(text + errno_name(error.errno), error.errno) from None
    link = attach_perf_event(obj, program, fd, f"{word} '{path}:0x{offset:x}'", cookie)
    link.undo += undo
    return link


def _functions(data: bytes, kind: str, path: str) -> list[tuple[str, str, int]]:
    """Name, binding and file offset of each function of a symbol table; none where the table is not there."""
    found = []
    try:
        elf = ELFFile(io.BytesIO(data))
        table: Any = elf.get_section_by_name(kind)
        for symbol in table.iter_symbols() if table is not None else ():
            if symbol["st_info"]["type"] != "STT_FUNC" or not isinstance(symbol["st_shndx"], int):
                continue
            section = elf.get_section(symbol["st_shndx"])
            offset = symbol["st_value"] - section["sh_addr"] + section["sh_offset"]
            found.append((symbol.name, symbol["st_info"]["bind"], offset))
    except (ELFError, ConstructError, ValueError, KeyError, IndexError, AttributeError, TypeError) as error:
        raise LoadError(f"elf: could not read {path} as ELF file: {error}", EINVAL) from None
    return found


def find_function(data: bytes, name: str, path: str) -> int:
    """File offset of a function, from the dynamic or the full symbol table.  elf_find_func_offset()."""
    names: list[str] = []
    for kind in (".dynsym", ".symtab"):
        functions = _functions(data, kind, path)
        names += [each for each, _, _ in functions]
        best: int | None = None
        strength = -1
        for each, bind, offset in functions:
            rank = {"STB_GLOBAL": 2, "STB_WEAK": 1}.get(bind, 0)
            if each.split("@")[0] == name and rank > strength:
                best, strength = offset, rank
        if best is not None:
            return best
    raise LoadError(f"elf: failed to find symbol '{name}' in '{path}'{nearest(name, set(names))}", ENOENT)


def function_offsets(data: bytes, pattern: str, path: str) -> list[int]:
    """File offsets of all functions that match, of the first table that has any.  elf_resolve_pattern_offsets()."""
    for kind in (".symtab", ".dynsym"):
        found = [offset for name, _, offset in _functions(data, kind, path) if fnmatchcase(name, pattern)]
        if found:
            return found
    raise LoadError(f"elf: no function of '{path}' matches '{pattern}'", ENOENT)


def resolve_path(task: Task, path: str, program: str = "") -> str:
    """A name without a slash is searched for, as the shell or ld.so would.  resolve_full_path()."""
    if "/" in path:
        return path
    if path.endswith(".so") or ".so." in path:
        cpu = machine(task)
        places = [
            "/usr/lib64",
            "/usr/lib",
            f"/lib/{cpu}-linux-gnu",
            f"/usr/lib/{cpu}-linux-gnu",
            "/lib64",
            "/lib",
        ]
        mode = 4
    else:
        places, mode = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"], 5
    for place in places:
        if task.exists(f"{place}/{path}", mode):
            return f"{place}/{path}"
    raise LoadError(f"prog '{program}': failed to resolve full path for '{path}': {-ENOENT}", ENOENT)
