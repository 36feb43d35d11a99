"""Links: a program attached to a place.  tools/lib/bpf/libbpf.c: bpf_program__attach_*().

Probes go through the kprobe and uprobe PMUs of perf_event_open where the kernel has them (4.17), else through
kprobe_events and uprobe_events of tracefs; programs are attached by link where it has those (5.15), else by ioctl.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile

from arch.abi.errno import EINVAL, ENOENT, EOPNOTSUPP, ESRCH, errno_name
from arch.abi.perf_event import (
    PERF_EVENT_IOC_DISABLE,
    PERF_EVENT_IOC_ENABLE,
    PERF_EVENT_IOC_SET_BPF,
    PERF_TYPE_TRACEPOINT,
)
from arch.architecture import by_machine
from arch.errors import KernelError
from bpf import uapi
from bpf.loader import sections
from bpf.loader.errors import LoadError
from bpf.loader.externs import uname_release
from bpf.loader.object import nearest
from bpf.loader.probes import Features
from bpf.loader.program import Program
from bpf.loader.sys import Task

if TYPE_CHECKING:
    from bpf.loader.object import BpfObject

PERF_ATTR_SIZE = 112
EBUSY_WORDS = "busy"


def perf_attr(task: Task, kind: int, config: int, config1: int = 0, config2: int = 0, **fields: int) -> bytes:
    """struct perf_event_attr: what the loader uses of it."""
    return task.pack(
        "IIQQQQQIIQQ",
        *(kind, PERF_ATTR_SIZE, config, fields.get("sample_period", 0), fields.get("sample_type", 0)),
        *(fields.get("read_format", 0), fields.get("flags", 0), fields.get("wakeup_events", 0), 0, config1, config2),
    ).ljust(PERF_ATTR_SIZE, b"\0")


@dataclass
class Link:
    """An attachment.  `destroy` undoes it; `what` says where, for people."""

    task: Task
    what: str
    fd: int = -1  # of the link, or -1
    perf_fd: int = -1
    undo: list[Any] = field(default_factory=list)  # further steps, last first

    def destroy(self) -> None:
        if self.perf_fd >= 0 and self.fd < 0:
            self._quietly(lambda: self.task.ioctl(self.perf_fd, PERF_EVENT_IOC_DISABLE))
        for fd in (self.fd, self.perf_fd):
            if fd >= 0:
                self._quietly(lambda fd=fd: self.task.close(fd))
        for step in reversed(self.undo):
            self._quietly(step)
        self.fd = self.perf_fd = -1
        self.undo.clear()

    @staticmethod
    def _quietly(step: Any) -> None:
        """What is gone already needs no undoing."""
        try:
            step()
        except KernelError:
            return


@dataclass
class Links:
    """Several attachments that go together."""

    links: list[Any]
    what: str = ""

    def destroy(self) -> None:
        for link in reversed(self.links):
            link.destroy()
        self.links.clear()


# --------------------------------------------------------------------------------------------- perf events


def attach_perf_event(obj: BpfObject, program: Program, perf_fd: int, what: str, cookie: int = 0) -> Link:
    """Give a perf event its program: by link, or by ioctl.  bpf_program__attach_perf_event_opts()."""
    task, features = _task(obj), _features(obj)
    _require_fd(program)
    link = Link(task, what, perf_fd=perf_fd)
    try:
        if features.perf_link:
            link.fd = task.link_create(program.fd, perf_fd, uapi.BPF_PERF_EVENT, task.pack("Q", cookie))
        else:
            if cookie:
                raise LoadError(f"prog '{program.name}': user context value is not supported", EOPNOTSUPP)
            task.ioctl(perf_fd, PERF_EVENT_IOC_SET_BPF, program.fd)
        task.ioctl(perf_fd, PERF_EVENT_IOC_ENABLE, 0)
    except KernelError as error:
        link.destroy()
        text = f"prog '{program.name}': failed to attach to {what}: {errno_name(error.errno)}"
        raise LoadError(text, error.errno) from None
    except LoadError:
        link.destroy()
        raise
    return link


def _task(obj: BpfObject) -> Task:
    if obj.task is None:
        raise LoadError(f"object '{obj.name}' is not loaded")
    return obj.task


def _features(obj: BpfObject) -> Features:
    if obj.features is None:
        raise LoadError(f"object '{obj.name}' is not loaded")
    return obj.features


def _require_fd(program: Program) -> None:
    if program.fd < 0:
        raise LoadError(f"prog '{program.name}': can't attach BPF program w/o FD (did you load it?)", EINVAL)


def pmu_type(task: Task, name: str) -> int:
    return int(task.read_file(f"/sys/bus/event_source/devices/{name}/type").decode())


def retprobe_bit(task: Task, name: str) -> int:
    """`config:0` says bit 0."""
    text = task.read_file(f"/sys/bus/event_source/devices/{name}/format/retprobe").decode()
    match = re.match(r"config:(\d+)", text)
    if match is None:
        raise KernelError(EINVAL, f"format of retprobe: {text!r}")
    return int(match[1])


def tracefs(task: Task) -> str:
    return "/sys/kernel/debug/tracing" if task.exists("/sys/kernel/debug/tracing") else "/sys/kernel/tracing"


def tracepoint_id(task: Task, group: str, name: str) -> int:
    return int(task.read_file(f"{tracefs(task)}/events/{group}/{name}/id").decode())


# ------------------------------------------------------------------------------------------------ kprobes


def open_kprobe(features: Features, symbol: str, offset: int, is_return: bool) -> int:
    """A perf event for a kernel probe, by PMU.  perf_event_open_probe()."""
    task = features.task
    kind = pmu_type(task, "kprobe")
    config = 1 << retprobe_bit(task, "kprobe") if is_return else 0
    with task.memory() as m:
        return task.perf_event_open(perf_attr(task, kind, config, m.string(symbol), offset), -1, 0)


_counter = 0


def _event_name(task: Task, text: str, offset: int) -> str:
    global _counter
    name = f"libbpf_{task.getpid()}_{text}_0x{offset:x}_{_counter}"
    _counter += 1
    return re.sub(r"[^A-Za-z0-9]", "_", name)


def open_kprobe_event(task: Task, symbol: str, offset: int, is_return: bool) -> tuple[int, Any]:
    """The same through kprobe_events; (descriptor, how to remove it).  perf_event_kprobe_open_legacy()."""
    name = _event_name(task, symbol, offset)
    path = f"{tracefs(task)}/kprobe_events"
    place = f"{symbol}+0x{offset:x}" if offset or not is_return else symbol
    task.write_file(path, f"{'r' if is_return else 'p'}:kprobes/{name} {place}\n", append=True)

    def remove() -> None:
        task.write_file(path, f"-:kprobes/{name}\n", append=True)

    try:
        attr = perf_attr(task, PERF_TYPE_TRACEPOINT, tracepoint_id(task, "kprobes", name))
        return task.perf_event_open(attr, -1, 0), remove
    except KernelError:
        Link._quietly(remove)
        raise


def attach_kprobe(obj: BpfObject, program: Program, symbol: str, offset: int = 0, is_return: bool = False,
                  cookie: int = 0) -> Link:  # fmt: skip
    """bpf_program__attach_kprobe_opts()."""
    task, features = _task(obj), _features(obj)
    _require_fd(program)
    word = "kretprobe" if is_return else "kprobe"
    undo: list[Any] = []
    try:
        if features.kprobe_pmu:
            fd = open_kprobe(features, symbol, offset, is_return)
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
        lines = task.read_file("/proc/kallsyms").decode().splitlines()
    except KernelError:
        return ""
    names = [parts[2] for line in lines if len(parts := line.split()) >= 3 and parts[1] in "tTwW"]
    return "" if name in names else nearest(name, names)


def _auto_kprobe(obj: BpfObject, program: Program) -> Link | None:
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


def syscall_prefix(task: Task) -> str:
    """What system-call functions are called here, as libbpf knows: "__x64_"; "" where it knows none."""
    arch = by_machine(_machine(task))
    return arch.syscall_abis[0].wrapper_prefix.removesuffix("sys_") if arch is not None else ""


def _machine(task: Task) -> str:
    with task.memory() as m:
        at = m.put(bytes(65 * 6))
        task.call("uname", at)
        return task.sys.read(at, 65 * 6)[260:325].split(b"\0")[0].decode()


def _auto_ksyscall(obj: BpfObject, program: Program) -> Link | None:
    """`ksyscall/openat`: whatever the function is called here.  attach_ksyscall()."""
    name = sections.target(program.section_name)
    if not name:
        return None
    task, features = _task(obj), _features(obj)
    is_return = program.section_name.lstrip("?").startswith("kretsyscall")
    if features.syscall_wrapper:
        return attach_kprobe(obj, program, f"{syscall_prefix(task)}sys_{name}", 0, is_return)
    try:
        return attach_kprobe(obj, program, f"__se_sys_{name}", 0, is_return)
    except LoadError:  # before 4.17
        return attach_kprobe(obj, program, f"sys_{name}", 0, is_return)


def _auto_kprobe_multi(obj: BpfObject, program: Program) -> Link | None:
    """`kprobe.multi/vfs_*`: one link for many functions.  bpf_program__attach_kprobe_multi_opts()."""
    pattern = sections.target(program.section_name)
    if not pattern:
        return None
    if not re.fullmatch(r"[A-Za-z0-9_.*?]+", pattern):
        raise LoadError(f"kprobe multi pattern is invalid: {pattern}")
    return attach_kprobe_multi(obj, program, pattern, program.section_name.lstrip("?").startswith("kretprobe"))


def attach_kprobe_multi(obj: BpfObject, program: Program, pattern: str, is_return: bool = False) -> Link:
    task = _task(obj)
    _require_fd(program)
    addresses = []
    for line in task.read_file("/proc/kallsyms").decode().splitlines():
        parts = line.split()
        if len(parts) == 3 and parts[1] in "tT" and fnmatchcase(parts[2], pattern):
            addresses.append(int(parts[0], 16))
    if not addresses:
        raise LoadError(f"prog '{program.name}': no function matches '{pattern}'", ENOENT)
    with task.memory() as m:
        rows = m.put(task.pack(f"{len(addresses)}Q", *addresses))
        tail = task.pack("IIQQQ", int(is_return), len(addresses), 0, rows, 0)
        try:
            fd = task.link_create(program.fd, 0, uapi.BPF_TRACE_KPROBE_MULTI, tail)
        except KernelError as error:
            text = f"prog '{program.name}': failed to attach: {errno_name(error.errno)}"
            raise LoadError(text, error.errno) from None
    return Link(task, f"kprobe.multi '{pattern}'", fd)


# ------------------------------------------------------------------------------------------------ uprobes


def open_uprobe(task: Task, path: str, offset: int, pid: int, is_return: bool, ref_ctr: int = 0) -> int:
    """A perf event for a user probe, by PMU."""
    if ref_ctr >= 1 << 32:
        raise KernelError(EINVAL, f"reference counter at {ref_ctr:#x}")
    config = ref_ctr << 32 | (1 << retprobe_bit(task, "uprobe") if is_return else 0)
    with task.memory() as m:
        attr = perf_attr(task, pmu_type(task, "uprobe"), config, m.string(path), offset)
        return task.perf_event_open(attr, -1 if pid < 0 else pid, 0 if pid == -1 else -1)


def open_uprobe_event(task: Task, path: str, offset: int, pid: int, is_return: bool) -> tuple[int, Any]:
    """Through uprobe_events.  perf_event_uprobe_open_legacy()."""
    name = _event_name(task, path, offset)
    control = f"{tracefs(task)}/uprobe_events"
    task.write_file(control, f"{'r' if is_return else 'p'}:uprobes/{name} {path}:0x{offset:x}\n", append=True)

    def remove() -> None:
        task.write_file(control, f"-:uprobes/{name}\n", append=True)

    try:
        attr = perf_attr(task, PERF_TYPE_TRACEPOINT, tracepoint_id(task, "uprobes", name))
        return task.perf_event_open(attr, -1 if pid < 0 else pid, 0 if pid == -1 else -1), remove
    except KernelError:
        Link._quietly(remove)
        raise


def attach_uprobe(
    obj: BpfObject,
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
    task, features = _task(obj), _features(obj)
    _require_fd(program)
    path = resolve_path(task, path, program.name)
    if function:
        offset += find_function(task.read_file(path), function, path)
    word = "uretprobe" if is_return else "uprobe"
    undo: list[Any] = []
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


def find_function(data: bytes, name: str, path: str) -> int:
    """File offset of a function, from the dynamic or the full symbol table.  elf_find_func_offset()."""
    try:
        elf = ELFFile(io.BytesIO(data))
        names: list[str] = []
        for kind in (".dynsym", ".symtab"):
            table: Any = elf.get_section_by_name(kind)
            best: int | None = None
            strength = -1
            for symbol in table.iter_symbols() if table is not None else ():
                if symbol["st_info"]["type"] != "STT_FUNC" or not isinstance(symbol["st_shndx"], int):
                    continue
                names.append(symbol.name)
                rank = {"STB_GLOBAL": 2, "STB_WEAK": 1}.get(symbol["st_info"]["bind"], 0)
                if symbol.name.split("@")[0] == name and rank > strength:
                    section = elf.get_section(symbol["st_shndx"])
                    best, strength = symbol["st_value"] - section["sh_addr"] + section["sh_offset"], rank
            if best is not None:
                return best
    except (ELFError, ConstructError, ValueError, KeyError, IndexError, AttributeError, TypeError) as error:
        raise LoadError(f"elf: could not read {path} as ELF file: {error}", EINVAL) from None
    raise LoadError(f"elf: failed to find symbol '{name}' in '{path}'{nearest(name, set(names))}", ENOENT)


def resolve_path(task: Task, path: str, program: str = "") -> str:
    """A name without a slash is searched for, as the shell or ld.so would.  resolve_full_path()."""
    if "/" in path:
        return path
    if path.endswith(".so") or ".so." in path:
        machine = _machine(task)
        places = [
            "/usr/lib64",
            "/usr/lib",
            f"/lib/{machine}-linux-gnu",
            f"/usr/lib/{machine}-linux-gnu",
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


def _auto_uprobe(obj: BpfObject, program: Program) -> Link | None:
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


def attach_tracepoint(obj: BpfObject, program: Program, group: str, name: str, cookie: int = 0) -> Link:
    """bpf_program__attach_tracepoint_opts()."""
    task = _task(obj)
    _require_fd(program)
    try:
        fd = task.perf_event_open(perf_attr(task, PERF_TYPE_TRACEPOINT, tracepoint_id(task, group, name)), -1, 0)
    except KernelError as error:
        near = near_events(task, f"{group}:{name}") if error.errno == ENOENT else ""
        text = f"prog '{program.name}': failed to create tracepoint '{group}/{name}' perf event: "
        raise LoadError(text + errno_name(error.errno) + near, error.errno) from None
    return attach_perf_event(obj, program, fd, f"tracepoint '{group}/{name}'", cookie)


def near_events(task: Task, name: str) -> str:
    try:
        lines = task.read_file(f"{tracefs(task)}/available_events").decode().splitlines()
    except KernelError:
        return ""
    return nearest(name, lines)


def _auto_tracepoint(obj: BpfObject, program: Program) -> Link | None:
    text = sections.target(program.section_name)
    if not text:
        return None
    group, slash, name = text.partition("/")
    if not slash:
        raise LoadError(f"prog '{program.name}': invalid section name '{program.section_name}'")
    return attach_tracepoint(obj, program, group, name)


def attach_raw_tracepoint(obj: BpfObject, program: Program, name: str) -> Link:
    task = _task(obj)
    _require_fd(program)
    try:
        return Link(task, f"raw tracepoint '{name}'", task.raw_tracepoint_open(name, program.fd))
    except KernelError as error:
        near = ""
        if error.errno == ENOENT:
            near = near_events(task, name)
        text = f"prog '{program.name}': failed to attach to raw tracepoint '{name}': {errno_name(error.errno)}"
        raise LoadError(text + near, error.errno) from None


def _auto_raw_tracepoint(obj: BpfObject, program: Program) -> Link | None:
    name = sections.target(program.section_name)
    return attach_raw_tracepoint(obj, program, name) if name else None


def _auto_trace(obj: BpfObject, program: Program) -> Link:
    """fentry, fexit, fmod_ret, tp_btf, lsm: the kernel knows the place from load.  bpf_program__attach_btf_id()."""
    task = _task(obj)
    _require_fd(program)
    try:
        return Link(task, f"{program.section_name}", task.raw_tracepoint_open(None, program.fd))
    except KernelError as error:
        raise LoadError(f"prog '{program.name}': failed to attach: {errno_name(error.errno)}", error.errno) from None


def attach_trace(obj: BpfObject, program: Program, cookie: int) -> Link:
    """The same with a cookie, by link (6.0)."""
    task = _task(obj)
    _require_fd(program)
    tail = task.pack("IIQ", 0, 0, cookie)
    return Link(task, program.section_name, task.link_create(program.fd, 0, program.expected_attach_type, tail))


def _auto_iter(obj: BpfObject, program: Program) -> Link:
    return attach_iter(obj, program)


def attach_iter(obj: BpfObject, program: Program, info: bytes = b"") -> Link:
    """bpf_program__attach_iter(); `info` is a union bpf_iter_link_info."""
    task = _task(obj)
    _require_fd(program)
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


def _auto_usdt(obj: BpfObject, program: Program) -> Any:
    """`usdt/PATH:provider:name`.  attach_usdt()."""
    name = program.section_name.lstrip("?")
    kind, _, rest = name.partition("/")
    if not rest:
        return None
    parts = rest.split(":")
    if kind != "usdt" or len(parts) != 3 or not all(parts):
        text = f"invalid section '{name}', expected SEC(\"usdt/<path>:<provider>:<name>\")"
        raise LoadError(f"prog '{program.name}': {text}")
    from bpf.loader.usdt import attach_usdt

    return attach_usdt(obj, program, parts[0], parts[1], parts[2])


def _auto_filter_file(obj: BpfObject, program: Program) -> Link:
    """`events/SYSTEM/EVENT` of January 2015: `bpf-N` into the event's filter file.  A kprobe event of that name is made."""
    from bpf.loader.bpf_load import write_filter

    task = _task(obj)
    _require_fd(program)
    name = program.section_name.lstrip("?")
    undo = []
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


_METHODS = {
    "filter_file": _auto_filter_file,
    "kprobe": _auto_kprobe,
    "ksyscall": _auto_ksyscall,
    "kprobe_multi": _auto_kprobe_multi,
    "uprobe": _auto_uprobe,
    "usdt": _auto_usdt,
    "tracepoint": _auto_tracepoint,
    "raw_tracepoint": _auto_raw_tracepoint,
    "trace": _auto_trace,
    "lsm": _auto_trace,
    "iter": _auto_iter,
}


def attach_program(obj: BpfObject, program: Program) -> Any:
    """As the section name says; None where it names no place."""
    if program.section is None or not program.section.attach:
        raise LoadError(f"prog '{program.name}': auto-attach is not supported for '{program.section_name}'", EOPNOTSUPP)
    return _METHODS[program.section.attach](obj, program)


__all__ = ["ESRCH", "Link", "Links", "attach_program", "uname_release"]
