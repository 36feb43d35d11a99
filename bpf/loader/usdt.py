"""User-space static probes: notes in an ELF file become uprobes and entries of two maps.  tools/lib/bpf/usdt.c.

There is no USDT program type.  Every call site of a probe (a nop, listed in .note.stapsdt) gets a uprobe; where its
arguments are goes into `__bpf_usdt_specs` under a small id.  The program learns the id from the BPF cookie (kernels
from 5.15), or looks its own instruction pointer up in `__bpf_usdt_ip_to_spec_id`.
"""

from __future__ import annotations

import io
import struct
from functools import partial

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile

from arch.abi.errno import EBADF, EEXIST, EINVAL, ENOENT, ENOTSUP, ESRCH
from arch.architecture import by_elf_machine
from arch.errors import KernelError
from arch.records import dataclass, field
from bpf.btf.codec import ByteOrder, mark
from bpf.loader.errors import LoadError
from bpf.loader.events import quietly
from bpf.loader.links import Link, LoadedObject
from bpf.loader.maps import Map
from bpf.loader.program import Program
from bpf.loader.sys import Task
from bpf.loader.uprobes import attach_uprobe, resolve_path
from bpf.loader.usdt_args import MAX_ARGS, Argument, ArgumentError, parse_arguments
from bpf.loader.usdt_specs import UsdtManager

NOTE_SECTION, BASE_SECTION = ".note.stapsdt", ".stapsdt.base"
NOTE_TYPE, NOTE_NAME = 3, b"stapsdt"
SPEC_SIZE, SIB_SPEC_SIZE = 208, 304  # struct __bpf_usdt_spec until 1.6, and since 1.7
_BROKEN = (ELFError, ConstructError, struct.error, ValueError, KeyError, IndexError, AttributeError, TypeError,
           AssertionError, OverflowError, MemoryError, RecursionError)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Note:
    """One call site as the note says: link-time addresses."""

    provider: str
    name: str
    arguments: str
    location: int
    base: int
    semaphore: int


@dataclass(frozen=True, slots=True)
class Segment:
    start: int
    end: int
    offset: int
    executable: bool


@dataclass(frozen=True, slots=True)
class Target:
    """One call site as the kernel wants it."""

    abs_ip: int  # run-time address, for the IP map
    rel_ip: int  # file offset
    semaphore_offset: int  # file offset, 0 if none
    arguments_text: str
    arguments: tuple[Argument, ...]


class Binary:
    """What USDT needs of an ELF file.  Any broken file becomes a LoadError."""

    def __init__(self, data: bytes, path: str, word: int = 8, byteorder: ByteOrder = "little") -> None:
        self.path = path
        try:
            self._read(data, word, byteorder)
        except LoadError:
            raise
        except _BROKEN as error:
            raise LoadError(f"usdt: failed to parse ELF binary '{path}': {error}", EBADF) from None

    def _read(self, data: bytes, word: int, byteorder: ByteOrder) -> None:
        path = self.path
        if data[:4] != b"\x7fELF":
            raise LoadError(f"usdt: unrecognized ELF kind 0 for '{path}'", EBADF)
        elf = ELFFile(io.BytesIO(data))
        if elf.elfclass != word * 8:
            raise LoadError(f"usdt: attaching to {elf.elfclass}-bit ELF binary '{path}' is not supported", EBADF)
        kind = elf.header["e_type"]
        if kind not in ("ET_EXEC", "ET_DYN"):
            number = {"ET_NONE": 0, "ET_REL": 1, "ET_CORE": 4}.get(kind, kind)
            text = f"usdt: unsupported type of ELF binary '{path}' ({number}), only ET_EXEC and ET_DYN are supported"
            raise LoadError(text, EBADF)
        if (elf.little_endian) != (byteorder == "little"):
            raise LoadError(f"usdt: ELF endianness mismatch for '{path}'", EBADF)
        self.word: int = word
        self.byteorder: ByteOrder = byteorder
        machine = by_elf_machine(int.from_bytes(data[18:20], byteorder))
        self.usdt = machine.usdt if machine is not None else None
        self.is_dyn = kind == "ET_DYN"
        self.segments = self._segments(elf)
        section = elf.get_section_by_name(NOTE_SECTION)
        self.notes_data: bytes | None = None
        self.notes_type = ""
        if section is not None:
            self.notes_type = str(section.header["sh_type"])
            start, size = section["sh_offset"], section["sh_size"]
            if start + size > len(data):
                raise LoadError(f"usdt: failed to parse ELF binary '{path}': notes lie outside the file", EBADF)
            self.notes_data = data[start : start + size]
        base = elf.get_section_by_name(BASE_SECTION)
        self.base: int = base["sh_addr"] if base is not None else 0

    @staticmethod
    def _segments(elf: ELFFile) -> list[Segment]:
        if elf.num_segments() > 0xFFFF:
            raise ValueError("too many program headers")
        rows = [
            Segment(s["p_vaddr"], s["p_vaddr"] + s["p_memsz"], s["p_offset"], bool(s["p_flags"] & 1))
            for s in elf.iter_segments()
            if s["p_type"] == "PT_LOAD"
        ]
        return sorted(rows, key=lambda s: s.start)

    def notes(self) -> list[Note]:
        """All notes, in file order."""
        if self.notes_data is None:
            raise LoadError(f"usdt: no USDT notes section ({NOTE_SECTION}) found in '{self.path}'", ENOENT)
        if self.notes_type not in ("SHT_NOTE", "7"):
            raise LoadError(f"usdt: invalid USDT notes section ({NOTE_SECTION}) in '{self.path}'", EINVAL)
        return parse_notes(self.notes_data, self.word, self.byteorder)

    def segment_at(self, address: int) -> Segment | None:
        return next((s for s in self.segments if s.start <= address < s.end), None)


def parse_notes(data: bytes, word: int, byteorder: ByteOrder) -> list[Note]:
    """Cut a note section; a broken note of any probe spoils the lot, as in libbpf.  parse_usdt_note()."""
    found, position, m = [], 0, mark(byteorder)
    while position + 12 <= len(data):
        name_size, size, kind = struct.unpack_from(m + "III", data, position)
        name_at = position + 12
        text_at = name_at + (name_size + 3) // 4 * 4
        position = text_at + (size + 3) // 4 * 4
        if text_at + size > len(data):
            break  # gelf_getnote() ends there
        name = data[name_at : name_at + name_size]
        found.append(parse_note(name, kind, data[text_at : text_at + size], word, byteorder))
    return found


def parse_note(name: bytes, kind: int, text: bytes, word: int, byteorder: ByteOrder) -> Note:
    if name.rstrip(b"\0") != NOTE_NAME or name[:8] != b"stapsdt\0" or kind != NOTE_TYPE:
        raise LoadError(f"usdt: unexpected note '{name!r}' of type {kind}", EINVAL)
    if len(text) < 3 * word + 3:
        raise LoadError("usdt: note is too short", EINVAL)
    location, base, semaphore = struct.unpack_from(mark(byteorder) + ("QQQ" if word == 8 else "III"), text)
    provider, end, rest = text[3 * word :].partition(b"\0")
    probe, end2, arguments = rest.partition(b"\0")
    if not end or not end2 or not probe or not arguments:
        raise LoadError("usdt: note without provider, name or arguments", EINVAL)
    args = arguments.split(b"\0", 1)[0]
    if args.startswith(b":"):
        args = b""
    return Note(provider.decode("latin-1"), probe.decode("latin-1"), args.decode("latin-1"), location, base, semaphore)


# -------------------------------------------------------------------------------------------------- targets


@dataclass
class Finder:
    """From notes to attach points.  collect_usdt_targets()."""

    task: Task
    binary: Binary
    provider: str
    name: str
    pid: int
    has_cookie: bool
    has_ref_ctr: bool
    version: tuple[int, ...] = (1, 1)
    _maps: list[tuple[int, int, int]] | None = field(default=None)

    @property
    def _what(self) -> str:
        return f"'{self.provider}:{self.name}' in '{self.binary.path}'"

    def targets(self) -> list[Target]:
        notes = self.binary.notes()
        if not self.binary.segments:
            path = self.binary.path
            text = f"usdt: failed to find PT_LOAD program headers in '{path}'"
            raise LoadError(f"{text}\nusdt: failed to process ELF program segments for '{path}': {-ESRCH}", ESRCH)
        found = [self._target(n) for n in notes if n.provider == self.provider and n.name == self.name]
        if not found:
            raise LoadError(f"usdt: no probe {self._what}", ENOENT)
        return found

    def _target(self, note: Note) -> Target:
        b = self.binary
        abs_ip = note.location
        if b.base and (note.base or self.version < (1, 6)):
            abs_ip = (abs_ip + b.base - note.base) & ((1 << 8 * b.word) - 1)
        segment = b.segment_at(abs_ip)
        if segment is None:
            raise LoadError(f"usdt: failed to find ELF program segment for {self._what} at IP 0x{abs_ip:x}", ESRCH)
        if not segment.executable:
            where = f"segment [0x{segment.start:x}, 0x{segment.end:x}) for '{self.provider}:{self.name}'"
            text = f"usdt: matched ELF binary '{b.path}' {where} at IP 0x{abs_ip:x} is not executable"
            raise LoadError(text, ESRCH)
        rel_ip = abs_ip - segment.start + segment.offset
        if b.is_dyn and not self.has_cookie:
            abs_ip = self._runtime_address(rel_ip)
        semaphore = self._semaphore(note.semaphore) if note.semaphore else 0
        try:
            arguments = parse_arguments(note.arguments, b.usdt, self.provider, self.name, self.version)
        except ArgumentError as error:
            raise LoadError(error.warning, error.errno) from None
        return Target(abs_ip, rel_ip, semaphore, note.arguments, tuple(arguments))

    def _runtime_address(self, rel_ip: int) -> int:
        if self.pid < 0:
            text = "usdt: attaching to shared libraries without specific PID is not supported on current kernel"
            raise LoadError(text, ENOTSUP)
        if self._maps is None:
            self._maps = self._mappings()
        for start, end, offset in self._maps:
            if offset <= rel_ip < offset + end - start:
                return start - offset + rel_ip
        text = f"usdt: failed to find shared lib memory segment for {self._what} at relative IP 0x{rel_ip:x}"
        raise LoadError(text, ESRCH)

    def _mappings(self) -> list[tuple[int, int, int]]:
        """Executable mappings of the file in the process: parse_vma_segs()."""
        pid = self.pid or self.task.getpid()
        path = self.binary.path
        root = f"/proc/{pid}/root"
        wanted = path.removeprefix(root) if path.startswith(root + "/") else path
        try:
            text = self.task.read_file(f"/proc/{pid}/maps").decode("utf-8", "surrogateescape")
        except KernelError as error:
            words = f"usdt: failed to open '/proc/{pid}/maps' to get base addr of '{path}': {-error.errno}"
            raise LoadError(words, error.errno) from None
        rows = [row for line in text.splitlines() if (row := _mapping(line, wanted)) is not None]
        if not rows:
            text = f"usdt: failed to find '{path}' (resolved to '{wanted}') within PID {pid} memory mappings"
            raise LoadError(text, ESRCH)
        return rows

    def _semaphore(self, address: int) -> int:
        b = self.binary
        if not self.has_ref_ctr:
            raise LoadError(f"usdt: kernel doesn't support USDT semaphore refcounting for {self._what}", ENOTSUP)
        segment = b.segment_at(address)
        if segment is None:
            text = f"usdt: failed to find ELF loadable segment with semaphore of {self._what} at 0x{address:x}"
            raise LoadError(text, ESRCH)
        if segment.executable:
            where = f"segment [0x{segment.start:x}, 0x{segment.end:x}] for semaphore of '{self.provider}:{self.name}'"
            raise LoadError(f"usdt: matched ELF binary '{b.path}' {where} at 0x{address:x} is executable", ESRCH)
        return address - segment.start + segment.offset


def _mapping(line: str, path: str) -> tuple[int, int, int] | None:
    parts = line.split(None, 5)
    if len(parts) < 6 or parts[5].strip() != path or parts[1][2:3] != "x":
        return None
    try:
        start, end = (int(x, 16) for x in parts[0].split("-"))
        return start, end, int(parts[2], 16)
    except ValueError:
        return None


# ------------------------------------------------------------------------------------------------ spec maps


def pack_spec(arguments: tuple[Argument, ...], cookie: int, byteorder: ByteOrder, size: int = SPEC_SIZE) -> bytes:
    """struct __bpf_usdt_spec, in the shape that a value of that size has."""
    m = mark(byteorder)
    rows = []
    for a in arguments:
        val_off = a.val_off & 0xFFFFFFFFFFFFFFFF
        if size == SPEC_SIZE:
            rows.append(struct.pack(m + "QIhBb", val_off, a.type, a.reg_off, a.signed, a.bitshift))
        else:
            packed = a.idx_reg_off | a.scale_bitshift << 12
            if byteorder == "big":
                packed = a.idx_reg_off << 4 | a.scale_bitshift
                head = struct.pack(">QBxHBx", val_off, 0, packed, a.type)
            else:
                head = struct.pack("<QBxHBx", val_off, a.type, packed, 0)
            rows.append(head + struct.pack(m + "hBb6x", a.reg_off, a.signed, a.bitshift))
    each = 16 if size == SPEC_SIZE else 24
    body = b"".join(rows).ljust(MAX_ARGS * each, b"\0")
    return body + struct.pack(m + "Qh6x", cookie & 0xFFFFFFFFFFFFFFFF, len(arguments))


@dataclass
class UsdtLink:
    """One attached probe: its uprobes, spec ids and IP entries."""

    manager: UsdtManager
    what: str
    uprobes: list[Link] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    ip_keys: list[bytes] = field(default_factory=list)

    def destroy(self) -> None:
        for link in self.uprobes:
            link.destroy()
        for key in self.ip_keys:
            quietly(partial(self.manager.ips.delete, key))
        self.manager.free_ids += self.ids
        self.uprobes, self.ids, self.ip_keys = [], [], []


def attach_usdt(
    obj: LoadedObject,
    program: Program,
    path: str,
    provider: str,
    name: str,
    *,
    pid: int = -1,
    cookie: int = 0,
    version: tuple[int, ...] = (1, 1),
) -> UsdtLink:
    """bpf_program__attach_usdt(): -1 all processes, 0 this one, else that process."""
    if program.fd < 0 or obj.task is None or obj.features is None:
        raise LoadError(f"prog '{program.name}': can't attach BPF program w/o FD (did you load it?)", EINVAL)
    task = obj.task
    path = resolve_path(task, path, program.name)
    if obj.usdt is None:
        obj.usdt = UsdtManager(obj.maps)
    manager: UsdtManager = obj.usdt
    try:
        data = task.read_file(path)
    except KernelError as error:
        raise LoadError(f"usdt: failed to open ELF binary '{path}': {-error.errno}", error.errno) from None
    binary = Binary(data, path, task.word, task.byteorder)
    if manager.specs.definition.value_size == SIB_SPEC_SIZE:
        version = max(version, (1, 7))
    has_cookie = bool(obj.features.bpf_cookie)
    finder = Finder(task, binary, provider, name, pid, has_cookie, bool(obj.features.ref_ctr), version)
    link = UsdtLink(manager, f"usdt '{path}:{provider}:{name}'")
    try:
        _attach_all(obj, program, finder, link, cookie)
    except LoadError:
        link.destroy()
        raise
    return link


def _attach_all(obj: LoadedObject, program: Program, finder: Finder, link: UsdtLink, cookie: int) -> None:
    assert obj.task is not None
    task, manager, what = obj.task, link.manager, finder._what
    known: dict[str, int] = {}
    for number, target in enumerate(finder.targets()):
        spec_id, is_new = manager.allocate(known, target.arguments_text)
        key = task.pack("i", spec_id)
        if is_new:
            link.ids.append(spec_id)
            raw = pack_spec(target.arguments, cookie, task.byteorder, manager.specs.definition.value_size)
            _update(manager.specs, key, raw, 0, f"usdt: failed to set USDT spec #{spec_id} for {what}")
        if not finder.has_cookie:
            ip = (target.abs_ip).to_bytes(manager.ips.definition.key_size, task.byteorder)
            try:
                manager.ips.update(ip, key, 1)
            except KernelError as error:
                text = f"usdt: failed to map IP 0x{target.abs_ip:x} to spec #{spec_id} for {what}: {-error.errno}"
                if error.errno == EEXIST:
                    text = f"usdt: IP collision detected for spec #{spec_id} for {what}"
                raise LoadError(text, error.errno) from None
            link.ip_keys.append(ip)
        try:
            uprobe = attach_uprobe(
                obj, program, finder.binary.path, target.rel_ip, pid=finder.pid, ref_ctr=target.semaphore_offset,
                cookie=spec_id if finder.has_cookie else 0,
            )  # fmt: skip
        except LoadError as error:
            text = f"usdt: failed to attach uprobe #{number} for {what}: {-error.errno}"
            raise LoadError(f"{text}\n{error.why}", error.errno) from None
        link.uprobes.append(uprobe)


def _update(m: Map, key: bytes, value: bytes, flags: int, what: str) -> None:
    try:
        m.update(key, value, flags)
    except KernelError as error:
        raise LoadError(f"{what}: {-error.errno}", error.errno) from None


__all__ = ["Binary", "Finder", "Note", "UsdtManager", "attach_usdt", "pack_spec", "parse_notes"]
