"""Sections that name many functions by a pattern: kprobe.multi, uprobe.multi, fentry.multi and their kin.  tools/lib/bpf/libbpf.c."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from arch.abi.errno import ENOENT, errno_name
from arch.errors import KernelError
from bpf import uapi
from bpf.btf import Btf, BtfError
from bpf.btf.codec import COMPOSITES, BtfType
from bpf.loader import sections
from bpf.loader.errors import LoadError
from bpf.loader.links import Link, LoadedObject, need_task, require_fd
from bpf.loader.program import Program
from bpf.loader.uprobes import function_offsets, resolve_path


def attach_kernel_functions(obj: LoadedObject, program: Program) -> Link | None:
    """`kprobe.multi/vfs_*`: one link for all that match.  bpf_program__attach_kprobe_multi_opts()."""
    pattern = sections.target(program.section_name)
    if not pattern:
        return None
    if not re.fullmatch(r"[A-Za-z0-9_.*?]+", pattern):
        raise LoadError(f"kprobe multi pattern is invalid: {pattern}")
    task = need_task(obj)
    addresses = []
    for line in task.read_file("/proc/kallsyms").decode("utf-8", "surrogateescape").splitlines():
        parts = line.split()
        if len(parts) == 3 and parts[1] in "tT" and fnmatchcase(parts[2], pattern):
            addresses.append(int(parts[0], 16))
    if not addresses:
        raise LoadError(f"prog '{program.name}': no function matches '{pattern}'", ENOENT)
    with task.memory() as m:
        rows = m.put(task.pack(f"{len(addresses)}Q", *addresses))
        tail = task.pack("IIQQQ", _is_return(program), len(addresses), 0, rows, 0)
        return _link(obj, program, pattern, tail)


def attach_user_functions(obj: LoadedObject, program: Program) -> Link | None:
    """`uprobe.multi/PATH:function*`.  bpf_program__attach_uprobe_multi()."""
    place = sections.target(program.section_name)
    if not place:
        return None
    path, colon, pattern = place.rpartition(":")
    if not colon:
        raise LoadError(f"prog '{program.name}': invalid format of section definition '{program.section_name}'")
    task = need_task(obj)
    path = resolve_path(task, path, program.name)
    offsets = function_offsets(task.read_file(path), pattern, path)
    with task.memory() as m:
        rows, name = m.put(task.pack(f"{len(offsets)}Q", *offsets)), m.put(path.encode() + b"\0")
        tail = task.pack("QQQQIII", name, rows, 0, 0, len(offsets), _is_return(program), 0)
        return _link(obj, program, place, tail)


def attach_traced_functions(obj: LoadedObject, program: Program) -> Link | None:
    """`fentry.multi/vfs_*`: trampolines of all that match, by one link.  bpf_program__attach_tracing_multi()."""
    pattern, btf = sections.target(program.section_name), obj.kernel_btf
    if not pattern:
        return None
    if not re.fullmatch(r"[A-Za-z0-9_.*?:]+", pattern):
        raise LoadError(f"tracing multi pattern is invalid: {pattern}")
    if btf is None:
        raise LoadError(f"prog '{program.name}': the kernel has no BTF", ENOENT)
    found = [t.id for t in btf.functions() if fnmatchcase(t.name, pattern) and _is_traceable(btf, t)]
    if not found:
        raise LoadError(f"prog '{program.name}': no function that can be traced matches '{pattern}'")
    task = need_task(obj)
    with task.memory() as m:
        rows = m.put(task.pack(f"{len(found)}I", *found))
        return _link(obj, program, pattern, task.pack("QQI", rows, 0, len(found)))


LARGEST_ARGUMENT = 16  # bytes


def _is_traceable(btf: Btf, function: BtfType) -> bool:
    """btf_type_is_traceable_func(): a trampoline can save its arguments and its result."""
    proto = btf.types[function.type]
    if len(proto.params) > uapi.MAX_BPF_FUNC_ARGS or btf.resolved(proto.type).kind in COMPOSITES:
        return False
    try:
        return all(0 < btf.size_of(param.type) <= LARGEST_ARGUMENT for param in proto.params)
    except BtfError:  # void stands for the arguments that follow
        return False


def _is_return(program: Program) -> int:
    return int("retprobe" in program.section_name.partition("/")[0])


def _link(obj: LoadedObject, program: Program, place: str, tail: bytes) -> Link:
    task = need_task(obj)
    require_fd(program)
    kind = program.section_name.lstrip("?").partition("/")[0]
    try:
        fd = task.link_create(program.fd, 0, program.expected_attach_type, tail)
    except KernelError as error:
        text = f"prog '{program.name}': failed to attach: {errno_name(error.errno)}"
        raise LoadError(text, error.errno) from None
    return Link(task, f"{kind} '{place}'", fd)
