"""Links: a program attached to a place.  tools/lib/bpf/libbpf.c: bpf_program__attach_*().

Probes go through the kprobe and uprobe PMUs of perf_event_open where the kernel has them (4.17), else through
kprobe_events and uprobe_events of tracefs; programs are attached by link where it has those (5.15), else by ioctl.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from arch.abi.errno import EINVAL, ENOENT, EOPNOTSUPP, ESRCH, errno_name
from arch.abi.perf_event import (
    PERF_TYPE_TRACEPOINT,
)
from arch.errors import KernelError
from bpf import uapi
from bpf.loader import sections
from bpf.loader.bpf_load import write_filter
from bpf.loader.errors import LoadError, nearest
from bpf.loader.events import open_kprobe, open_kprobe_event, perf_attr, syscall_prefix, tracefs, tracepoint_id
from bpf.loader.externs import uname_release
from bpf.loader.links import (
    Attachment,
    Link,
    Links,
    LoadedObject,
    attach_perf_event,
    need_features,
    need_task,
    require_fd,
)
from bpf.loader.multi import attach_kernel_functions, attach_traced_functions, attach_user_functions
from bpf.loader.program import Program
from bpf.loader.sys import Task
from bpf.loader.uprobes import attach_uprobe
from bpf.loader.usdt import attach_usdt

EBUSY_WORDS = "busy"


# --------------------------------------------------------------------------------------------- perf events


# ------------------------------------------------------------------------------------------------ kprobes


def attach_kprobe(obj: LoadedObject, program: Program, symbol: str, offset: int = 0, is_return: bool = False,
                  cookie: int = 0) -> Link:  # fmt: skip
    """bpf_program__attach_kprobe_opts()."""
    task, features = need_task(obj), need_features(obj)
    require_fd(program)
    word = "kretprobe" if is_return else "kprobe"
    undo: list[Callable[[], object]] = []
    try:
        if features.kprobe_pmu:
            fd = open_kprobe(task, symbol, offset, is_return)
        else:
            fd, remove = open_kprobe_event(task, symbol, offset, is_return)
            undo.append(remove)
    except KernelError as error:
        text = f"prog '{program.name}': failed to create {word} '{symbol}+0x{offset:x}' perf event: "
        near = near_functions(task, symbol) if error.errno in (ENOENT, EINVAL) else ""
        raise LoadError(text + errno_name(error.errno) + near, error.errno) from None
    link = attach_perf_event(obj, program, fd, f"{word} '{symbol}+0x{offset:x}'", cookie)
    link.undo += undo
    return link


def near_functions(task: Task, name: str) -> str:
    """Names like this one among the kernel's functions."""
    try:
        lines = task.read_file("/proc/kallsyms").decode("utf-8", "surrogateescape").splitlines()
    except KernelError:
        return ""
    names = [parts[2] for line in lines if len(parts := line.split()) >= 3 and parts[1] in "tTwW"]
    return "" if name in names else nearest(name, names)


def _auto_kprobe(obj: LoadedObject, program: Program) -> Link | None:
    """`kprobe/symbol+offset`.  attach_kprobe()."""
    text = sections.target(program.section_name)
    if not text:
        return None
    match = re.fullmatch(r"([A-Za-z0-9_.]+)(?:\+(0[xX][0-9a-fA-F]+|\d+))?", text)
    if match is None:
        raise LoadError(f"kprobe name is invalid: {text}")
    is_return = program.section_name.lstrip("?").startswith("kretprobe")
    offset = int(match[2], 0) if match[2] else 0
    if is_return and offset:
        raise LoadError("kretprobes do not support offset specification")
    return attach_kprobe(obj, program, match[1], offset, is_return)


def _auto_ksyscall(obj: LoadedObject, program: Program) -> Link | None:
    """`ksyscall/openat`: whatever the function is called here.  attach_ksyscall()."""
    name = sections.target(program.section_name)
    if not name:
        return None
    task, features = need_task(obj), need_features(obj)
    is_return = program.section_name.lstrip("?").startswith("kretsyscall")
    if features.syscall_wrapper:
        return attach_kprobe(obj, program, f"{syscall_prefix(task)}sys_{name}", 0, is_return)
    try:
        return attach_kprobe(obj, program, f"__se_sys_{name}", 0, is_return)
    except LoadError:  # before 4.17
        return attach_kprobe(obj, program, f"sys_{name}", 0, is_return)


# ------------------------------------------------------------------------------------------------ uprobes


def _auto_uprobe(obj: LoadedObject, program: Program) -> Link | None:
    """`uprobe/PATH:function+offset`.  attach_uprobe()."""
    name = program.section_name.lstrip("?")
    kind, _, rest = name.partition("/")
    if not rest:
        return None
    path, colon, place = rest.rpartition(":")
    match = re.fullmatch(r"([A-Za-z0-9_.@]+)(?:\+(0[xX][0-9a-fA-F]+|\d+))?", place)
    if not colon or match is None:
        raise LoadError(f"prog '{program.name}': invalid format of section definition '{name}'")
    is_return = kind.startswith("uretprobe")
    offset = int(match[2], 0) if match[2] else 0
    if is_return and offset:
        raise LoadError(f"prog '{program.name}': uretprobes do not support offset specification")
    return attach_uprobe(obj, program, path, offset, function=match[1], is_return=is_return)


# ------------------------------------------------------------------------------------------- tracepoints ...


def attach_tracepoint(obj: LoadedObject, program: Program, group: str, name: str, cookie: int = 0) -> Link:
    """bpf_program__attach_tracepoint_opts()."""
    task = need_task(obj)
    require_fd(program)
    try:
        fd = task.perf_event_open(perf_attr(task, PERF_TYPE_TRACEPOINT, tracepoint_id(task, group, name)), -1, 0)
    except KernelError as error:
        near = near_events(task, f"{group}:{name}") if error.errno == ENOENT else ""
        text = f"prog '{program.name}': failed to create tracepoint '{group}/{name}' perf event: "
        raise LoadError(text + errno_name(error.errno) + near, error.errno) from None
    return attach_perf_event(obj, program, fd, f"tracepoint '{group}/{name}'", cookie)


def near_events(task: Task, name: str) -> str:
    try:
        lines = task.read_file(f"{tracefs(task)}/available_events").decode("utf-8", "surrogateescape").splitlines()
    except KernelError:
        return ""
    return nearest(name, lines)


def _auto_tracepoint(obj: LoadedObject, program: Program) -> Link | None:
    text = sections.target(program.section_name)
    if not text:
        return None
    group, slash, name = text.partition("/")
    if not slash:
        raise LoadError(f"prog '{program.name}': invalid section name '{program.section_name}'")
    return attach_tracepoint(obj, program, group, name)


def attach_raw_tracepoint(obj: LoadedObject, program: Program, name: str) -> Link:
    task = need_task(obj)
    require_fd(program)
    try:
        return Link(task, f"raw tracepoint '{name}'", task.raw_tracepoint_open(name, program.fd))
    except KernelError as error:
        near = ""
        if error.errno == ENOENT:
            near = near_events(task, name)
        text = f"prog '{program.name}': failed to attach to raw tracepoint '{name}': {errno_name(error.errno)}"
        raise LoadError(text + near, error.errno) from None


def _auto_raw_tracepoint(obj: LoadedObject, program: Program) -> Link | None:
    name = sections.target(program.section_name)
    return attach_raw_tracepoint(obj, program, name) if name else None


def _auto_trace(obj: LoadedObject, program: Program) -> Link:
    """fentry, fexit, fmod_ret, tp_btf, lsm: the kernel knows the place from load.  bpf_program__attach_btf_id()."""
    task = need_task(obj)
    require_fd(program)
    try:
        return Link(task, f"{program.section_name}", task.raw_tracepoint_open(None, program.fd))
    except KernelError as error:
        raise LoadError(f"prog '{program.name}': failed to attach: {errno_name(error.errno)}", error.errno) from None


def attach_trace(obj: LoadedObject, program: Program, cookie: int) -> Link:
    """The same with a cookie, by link (6.0)."""
    task = need_task(obj)
    require_fd(program)
    tail = task.pack("IIQ", 0, 0, cookie)
    return Link(task, program.section_name, task.link_create(program.fd, 0, program.expected_attach_type, tail))


def _auto_iter(obj: LoadedObject, program: Program) -> Link:
    return attach_iter(obj, program)


def attach_iter(obj: LoadedObject, program: Program, info: bytes = b"") -> Link:
    """bpf_program__attach_iter(); `info` is a union bpf_iter_link_info."""
    task = need_task(obj)
    require_fd(program)
    with task.memory() as m:
        tail = task.pack("QI", m.put(info) if info else 0, len(info))
        try:
            fd = task.link_create(program.fd, 0, uapi.BPF_TRACE_ITER, tail)
        except KernelError as error:
            text = f"prog '{program.name}': failed to attach to iterator: {errno_name(error.errno)}"
            raise LoadError(text, error.errno) from None
    return Link(task, program.section_name, fd)


def read_iter(link: Link) -> str:
    """What an iterator prints, once through."""
    fd = link.task.iter_create(link.fd)
    out = bytearray()
    try:
        while piece := link.task.read_fd(fd, 4096):
            out += piece
    finally:
        link.task.close(fd)
    return out.decode(errors="replace")


def _auto_usdt(obj: LoadedObject, program: Program) -> Attachment | None:
    """`usdt/PATH:provider:name`.  attach_usdt()."""
    name = program.section_name.lstrip("?")
    kind, _, rest = name.partition("/")
    if not rest:
        return None
    parts = rest.split(":")
    if kind != "usdt" or len(parts) != 3 or not all(parts):
        text = f"invalid section '{name}', expected SEC(\"usdt/<path>:<provider>:<name>\")"
        raise LoadError(f"prog '{program.name}': {text}")
    return attach_usdt(obj, program, parts[0], parts[1], parts[2])


def _auto_filter_file(obj: LoadedObject, program: Program) -> Link:
    """`events/SYSTEM/EVENT` of January 2015: `bpf-N` into the event's filter file.  A kprobe event of that name is made."""
    task = need_task(obj)
    require_fd(program)
    name = program.section_name.lstrip("?")
    undo: list[Callable[[], object]] = []
    function = name.removeprefix("events/kprobes/")
    if function != name and not task.exists(f"{tracefs(task)}/{name}"):
        control = f"{tracefs(task)}/kprobe_events"
        try:
            task.write_file(control, f"p:{function} {function}\n", append=True)
        except KernelError as error:
            text = f"failed to create kprobe '{function}' error '{errno_name(error.errno)}'"
            raise LoadError(text + near_functions(task, function), error.errno) from None
        undo.append(lambda: task.write_file(control, f"-:{function}\n", append=True))
    link = Link(task, name, undo=undo)
    try:
        link.fd = write_filter(task, name, f"bpf-{program.fd}")
    except LoadError:
        link.destroy()
        raise
    return link


_METHODS: dict[str, Callable[[LoadedObject, Program], Attachment | None]] = {
    "filter_file": _auto_filter_file,
    "kprobe": _auto_kprobe,
    "ksyscall": _auto_ksyscall,
    "kprobe_multi": attach_kernel_functions,
    "uprobe": _auto_uprobe,
    "uprobe_multi": attach_user_functions,
    "usdt": _auto_usdt,
    "tracepoint": _auto_tracepoint,
    "raw_tracepoint": _auto_raw_tracepoint,
    "trace": _auto_trace,
    "trace_multi": attach_traced_functions,
    "lsm": _auto_trace,
    "iter": _auto_iter,
}


def attach_program(obj: LoadedObject, program: Program) -> Attachment | None:
    """As the section name says; None where it names no place."""
    if program.section is None or not program.section.attach:
        raise LoadError(f"prog '{program.name}': auto-attach is not supported for '{program.section_name}'", EOPNOTSUPP)
    return _METHODS[program.section.attach](obj, program)


__all__ = ["ESRCH", "Link", "Links", "attach_program", "uname_release"]
