"""The loader of 2015: samples/bpf/bpf_load.c and libbpf.c of Linux 4.1, and of the tree of January 2015 before it.

Sections it knows: `license`, `version` (4.1), `maps` (entries of four u32: type, key_size, value_size, max_entries, created
in order), and programs: `socket...`, `kprobe/FUNC`, `kretprobe/FUNC` (4.1), `events/...` (January 2015).  A relocation must
be against a map.  kprobes become events by kprobe_events and get their program from a perf event; an `events/...` program is
written as `bpf-N` into that event's filter file, which stays open, since closing it detaches.
"""

from __future__ import annotations

from pathlib import Path

from arch.abi.errno import errno_name
from arch.abi.fcntl import O_WRONLY
from arch.abi.perf_event import PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_SET_BPF, PERF_SAMPLE_RAW, PERF_TYPE_TRACEPOINT
from arch.errors import KernelError
from bpf import uapi
from bpf.isa.insn import BPF_LD_IMM64, BPF_PSEUDO_MAP_FD, Insn, decode, encode
from bpf.loader.elf import ElfObject, ElfSection, read_object
from bpf.loader.errors import LoadError
from bpf.loader.events import perf_attr
from bpf.loader.sections import KPROBE_FILTER_2015, TRACING_FILTER_2015
from bpf.loader.sys import Task

DEBUGFS = "/sys/kernel/debug/tracing/"
LOG_BUF_SIZE = 65536
MAP_ENTRY = 16  # bytes of struct bpf_map_def
# Of the tree of January 2015; include/uapi/linux/bpf.h there.
BPF_PROG_TYPE_TRACING_FILTER, BPF_PROG_TYPE_KPROBE_FILTER = TRACING_FILTER_2015, KPROBE_FILTER_2015
PROGRAM_SECTIONS = ("kprobe/", "kretprobe/", "socket", "events/")


class BpfLoad:
    """What one object became: descriptors of maps, programs and events, in the order of the C arrays of these names."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.map_fd: list[int] = []
        self.prog_fd: list[int] = []
        self.event_fd: list[int] = []
        self.license = ""
        self.kern_version = 0

    def load_bpf_file(self, source: str | Path | bytes) -> None:
        """Create maps, load programs, attach.  LoadError says what the C loader prints."""
        data = source if isinstance(source, bytes) else Path(source).read_bytes()
        elf = read_object(data)
        if any(section.name.startswith(("kprobe/", "kretprobe/")) for section in elf.sections):
            self.task.write_file(DEBUGFS + "kprobe_events", "\n")  # no probes of an earlier run
        for section in elf.sections:
            self._prepare(section)
        programs = [s for s in elf.sections if s.is_exec and s.name.startswith(PROGRAM_SECTIONS)]
        for section in sorted(programs, key=lambda s: not s.relocations):  # those with relocations are loaded first
            self._load_and_attach(section.name, self._relocated(elf, section))

    def close(self) -> None:
        """Exit: events first, then programs, then maps."""
        for fds in (self.event_fd, self.prog_fd, self.map_fd):
            while fds:
                self.task.close(fds.pop())

    def _prepare(self, section: ElfSection) -> None:
        if section.name == "license":
            self.license = section.data[:128].split(b"\0")[0].decode(errors="replace")
        elif section.name == "version":
            if len(section.data) != 4:
                raise LoadError(f"invalid size of version section {len(section.data)}")
            self.kern_version = int.from_bytes(section.data, self.task.byteorder)
        elif section.name == "maps":
            for at in range(0, len(section.data) // MAP_ENTRY * MAP_ENTRY, MAP_ENTRY):
                self.map_fd.append(self.task.map_create(*self.task.unpack("IIII", section.data[at : at + MAP_ENTRY])))

    def _relocated(self, elf: ElfObject, section: ElfSection) -> list[Insn]:
        """Instructions with the descriptors of the maps they name."""
        insns = decode(section.data, self.task.byteorder)
        for relocation in section.relocations:
            index = relocation.offset // 8
            if insns[index].code != BPF_LD_IMM64:
                raise LoadError(f"invalid relo for insn[{index}].code 0x{insns[index].code:x}")
            fd = self.map_fd[relocation.symbol.value // MAP_ENTRY]
            insns[index] = insns[index].replace(src_reg=BPF_PSEUDO_MAP_FD, imm=fd)
        return insns

    # -- attaching ---------------------------------------------------------------------------------------------------

    def _load_and_attach(self, name: str, insns: list[Insn]) -> None:
        kind, _, place = name.partition("/")
        if kind in ("kprobe", "kretprobe"):
            self._create_kprobe("p" if kind == "kprobe" else "r", place)
            self.prog_fd.append(self._load(uapi.BPF_PROG_TYPE_KPROBE, insns, self.kern_version))
            self.event_fd.append(attach_perf(self.task, event_id(self.task, f"kprobes/{place}"), self.prog_fd[-1]))
        elif kind == "events":
            kprobe = place.startswith("kprobes/")
            prog_type = BPF_PROG_TYPE_KPROBE_FILTER if kprobe else BPF_PROG_TYPE_TRACING_FILTER
            self.prog_fd.append(self._load(prog_type, insns))
            self.event_fd.append(write_filter(self.task, name, f"bpf-{self.prog_fd[-1]}"))
        else:
            self.prog_fd.append(self._load(uapi.BPF_PROG_TYPE_SOCKET_FILTER, insns))

    def _create_kprobe(self, letter: str, function: str) -> None:
        try:
            self.task.write_file(DEBUGFS + "kprobe_events", f"{letter}:{function} {function}\n", append=True)
        except KernelError as error:
            text = f"failed to create kprobe '{function}' error '{errno_name(error.errno)}'"
            raise LoadError(text, error.errno) from None

    def _load(self, prog_type: int, insns: list[Insn], kern_version: int = 0) -> int:
        return bpf_prog_load(self.task, prog_type, insns, self.license, kern_version)


def bpf_prog_load(task: Task, prog_type: int, insns: list[Insn], license: str = "GPL", kern_version: int = 0) -> int:
    """A descriptor; LoadError with the verifier's log.  libbpf.c:bpf_prog_load()"""
    code = encode(insns, task.byteorder)
    fd, log = task.prog_load(prog_type, code, license, log_level=1, log_size=LOG_BUF_SIZE, kern_version=kern_version)
    if fd < 0:
        raise LoadError(f"bpf_prog_load() err={-fd}\n{log}", -fd, log)
    return fd


def event_id(task: Task, event: str) -> int:
    """The number behind events/.../id."""
    try:
        return int(task.read_file(f"{DEBUGFS}events/{event}/id"))
    except KernelError as error:
        raise LoadError(f"failed to open event {event.partition('/')[2]}", error.errno) from None


def attach_perf(task: Task, number: int, prog_fd: int) -> int:
    """A perf event of a trace event, on all tasks and CPU 0, with a program; its descriptor."""
    attr = perf_attr(task, PERF_TYPE_TRACEPOINT, number, sample_type=PERF_SAMPLE_RAW, sample_period=1, wakeup_events=1)
    try:
        fd = task.perf_event_open(attr, -1, 0, -1, 0)
    except KernelError as error:
        raise LoadError(f"event {number} fd -1 err {errno_name(error.errno)}", error.errno) from None
    for request, argument in ((PERF_EVENT_IOC_ENABLE, 0), (PERF_EVENT_IOC_SET_BPF, prog_fd)):
        try:
            task.ioctl(fd, request, argument)
        except KernelError as error:
            # bpf_load.c does not look; a program that counts nothing would be a bad surprise.
            task.close(fd)
            raise LoadError(f"event {number} fd {fd} err {errno_name(error.errno)}", error.errno) from None
    return fd


def write_filter(task: Task, section: str, text: str) -> int:
    """Write to an event's filter file and leave it open; its descriptor."""
    path = DEBUGFS + section + "/filter"
    try:
        fd = task.open(path, O_WRONLY)
    except KernelError as error:
        raise LoadError(f"failed to open event {path}", error.errno) from None
    try:
        task.write_fd(fd, text.encode("utf-8", "surrogateescape"))
    except KernelError as error:
        task.close(fd)
        raise LoadError(f"write to '{section}' failed '{errno_name(error.errno)}'", error.errno) from None
    return fd


__all__ = ["BpfLoad", "attach_perf", "bpf_prog_load", "event_id", "write_filter"]
