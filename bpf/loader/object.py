"""`BpfObject`: open an ELF object, load its maps and programs into a kernel, attach them.

tools/lib/bpf/libbpf.c: bpf_object__open(), bpf_object__load(), bpf_object__attach_skeleton().

    obj = BpfObject(Path("writes.bpf.o").read_bytes(), "writes")
    obj.load(Task(syscalls))
    links = obj.attach()
    dict(obj.maps["sizes"].items())
"""

from __future__ import annotations

import struct
from typing import Any

from arch.abi.elf import SHN_UNDEF, STB_GLOBAL, STB_LOCAL, STB_WEAK, STT_FUNC, STT_SECTION, STV_HIDDEN, STV_INTERNAL
from arch.abi.errno import EINVAL, ENOENT, ENOSPC, EOPNOTSUPP, EPERM, ESRCH, errno_name
from arch.abi.limits import U32_MAX
from arch.errors import KernelError
from bpf import uapi
from bpf.btf import Btf, BtfError, BtfType, Kind, Param
from bpf.btf.codec import EXTERN, GLOBAL, STATIC, Strings
from bpf.btf.ext import BtfExt
from bpf.isa.insn import BPF_CALL, BPF_JMP, decode, encode
from bpf.loader import defs, externs, sections
from bpf.loader.attach import attach_program
from bpf.loader.core import Relocator
from bpf.loader.defs import PIN_BY_NAME, MapDef
from bpf.loader.elf import ElfObject, ElfSection, Relocation, read_object
from bpf.loader.errors import LoadError, nearest
from bpf.loader.externs import Extern, kernel_version
from bpf.loader.maps import Globals, Map
from bpf.loader.probes import Features, sanitize
from bpf.loader.program import Code, Program
from bpf.loader.relocate import Linker, References
from bpf.loader.sys import Task
from bpf.loader.usdt_specs import UsdtManager
from bpf.maps.types import row_of

VMLINUX_BTF = "/sys/kernel/btf/vmlinux"
BPF_FS = "/sys/fs/bpf"
_DATA_KINDS = (".rodata", ".data", ".bss")


class BpfObject:
    """One object file.  Opening needs no kernel; everything in it can be inspected, and variables changed, before load."""

    def __init__(self, data: bytes, name: str = "", *, kconfig: str = "", pin_root: str = BPF_FS) -> None:
        self.name = object_name(name)
        self.kconfig = kconfig
        self.pin_root = pin_root
        self.messages: list[str] = []
        self.elf = read_object(data, name or "object")
        self.btf, self.ext = self._read_btf()
        self.license = self._text_section("license") or ""
        self.kern_version = self._version()
        self.externs: dict[str, Extern] = {}
        self.maps: dict[str, Map] = {}
        self.codes: list[Code] = []
        self.programs: dict[str, Program] = {}
        try:
            self.externs = externs.collect(self.elf, self.btf)
            self._collect_maps()
            self._collect_programs()
        except BtfError as error:
            raise LoadError(f"BTF of object '{self.name}' is corrupted: {error}") from None
        self.task: Task | None = None
        self.features: Features | None = None
        self.kernel_btf: Btf | None = None
        self.btf_fd = -1
        self._strings = Strings()
        self.links: list[Any] = []
        self.usdt: UsdtManager | None = None

    # Opening

    def _read_btf(self) -> tuple[Btf | None, BtfExt | None]:
        section, ext_section = self.elf.section(".BTF"), self.elf.section(".BTF.ext")
        if section is None:
            return None, None
        try:
            btf = Btf.parse(section.data)
            self._fix_datasecs(btf)
            ext = BtfExt.parse(ext_section.data, btf) if ext_section is not None else None
        except (BtfError, struct.error) as error:
            if self.elf.section(".maps") is not None:
                raise LoadError(f"Error loading ELF section .BTF: {error}") from None
            self.messages.append(f"Error loading ELF section .BTF: {error}. Ignored and continue.")
            return None, None
        return btf, ext

    def _fix_datasecs(self, btf: Btf) -> None:
        """The compiler leaves sizes of sections and places of variables to the loader.  btf_fixup_datasec()."""
        places = {s.name: s for s in self.elf.symbols if s.section not in (SHN_UNDEF,) and s.name}
        for t in btf.types[1:]:
            if t.kind is not Kind.DATASEC or t.name in (".kconfig", ".ksyms"):
                continue
            section = self.elf.section(t.name)
            if section is None:
                continue
            t.size = (t.size or section.size) & U32_MAX  # __u32 in BTF
            for row in t.secinfos:
                symbol = places.get(btf[row.type].name)
                if symbol is not None and symbol.section == section.index:
                    row.offset = symbol.value & U32_MAX
            t.secinfos.sort(key=lambda row: row.offset)

    def _text_section(self, name: str) -> str | None:
        section = self.elf.section(name)
        return section.data.split(b"\0", 1)[0].decode(errors="replace") if section is not None else None

    def _version(self) -> int:
        section = self.elf.section("version")
        if section is None:
            return 0
        if len(section.data) != 4:
            raise LoadError(f"invalid kver section in {self.name}")
        return int.from_bytes(section.data, self.elf.byteorder)

    def _collect_maps(self) -> None:
        found = defs.legacy_maps(self.elf) + defs.btf_maps(self.elf, self.btf)
        for section in self.elf.sections:
            kind = next((k for k in _DATA_KINDS if section.name == k or section.name.startswith(k + ".")), "")
            if kind and section.size and not section.name.startswith(".rodata.str") and section.flags & 2:
                if section.size > 1 << 26:
                    raise LoadError(f"section {section.name} of {section.size} bytes is too large")
                found.append(defs.data_map(self.name, section, kind))
            elif section.name.startswith(".rodata.str") and section.size:
                found.append(defs.data_map(self.name, section, ".rodata"))
        size = externs.kconfig_size(self.externs)
        if size:
            empty = ElfSection(-2, ".kconfig", 1, 2, size, bytes(size))
            found.append(defs.data_map(self.name, empty, ".kconfig"))
        for d in found:
            if d.name in self.maps:
                raise LoadError(f"map '{d.name}' is defined twice")
            self.maps[d.name] = Map(d, self.btf)
            if d.kind != "map" and self.btf is not None:
                d.value_type_id = self.btf.find(d.data_section, Kind.DATASEC)
                if d.kind != ".kconfig" and d.value_type_id and not self._is_mmapable(d):
                    d.flags &= ~uapi.BPF_F_MMAPABLE

    def _is_mmapable(self, d: MapDef) -> bool:
        """Only sections with a variable that is not static are worth mapping.  libbpf.c: map_is_mmapable()."""
        assert self.btf is not None
        return any(self.btf[row.type].linkage == GLOBAL for row in self.btf[d.value_type_id].secinfos)

    def _collect_programs(self) -> None:
        for section in self.elf.sections:
            if section.is_exec:
                self._collect_section(section)
        self._attach_records()
        text = self.elf.section(".text")
        in_programs = any(c.section_name != ".text" for c in self.codes)
        for code in self.codes:
            if text is not None and code.section_index == text.index and in_programs:
                continue
            self.programs[code.name] = Program(code, sections.find(code.section_name))

    def _collect_section(self, section: ElfSection) -> None:
        """bpf_object__add_programs(): every function symbol of an executable section."""
        if section.size % 8:
            raise LoadError(f"sec '{section.name}': size {section.size} isn't a multiple of 8")
        symbols = [s for s in self.elf.symbols if s.section == section.index and s.type == STT_FUNC]
        if not symbols:  # objects of old compilers: the label alone
            symbols = [s for s in self.elf.symbols if s.section == section.index and s.type != STT_SECTION
                       and s.bind == STB_GLOBAL and s.name]  # fmt: skip
        starts = sorted({s.value for s in symbols})
        for symbol in sorted(symbols, key=lambda s: s.value):
            end = symbol.value + symbol.size
            if not symbol.size:
                end = next((v for v in starts if v > symbol.value), section.size)
            if symbol.value >= section.size or end > section.size or symbol.value % 8 or end % 8:
                raise LoadError(f"sec '{section.name}': program at offset {symbol.value} crosses section boundary")
            if section.name != ".text" and symbol.bind == STB_LOCAL:
                text = f"sec '{section.name}': func '{symbol.name}' is static and not supported"
                raise LoadError(text, EOPNOTSUPP)
            code = Code(
                symbol.name, section.index, section.name, symbol.value // 8,
                decode(section.data[symbol.value : end], self.elf.byteorder),
                symbol.bind != STB_LOCAL and symbol.visibility not in (STV_HIDDEN, STV_INTERNAL),
            )  # fmt: skip
            if any(other.name == code.name for other in self.codes):
                raise LoadError(f"sec '{section.name}': function '{code.name}' is defined twice")
            self.codes.append(code)

    def _attach_records(self) -> None:
        """Hand relocations and BTF records to the functions they are in."""
        by_section: dict[str, list[Code]] = {}
        for code in self.codes:
            by_section.setdefault(code.section_name, []).append(code)

        def owner(section: str, insn: int) -> Code | None:
            rows = by_section.get(section, [])
            return next((c for c in rows if c.offset <= insn < c.offset + len(c.insns)), None)

        for section in self.elf.sections:
            for r in section.relocations if section.is_exec else ():
                if r.offset % 8 and r.offset % 4:
                    raise LoadError(f"sec '{section.name}': invalid relocation offset {r.offset:#x}")
                holder = owner(section.name, r.offset // 8)
                if holder is None:
                    raise LoadError(f"sec '{section.name}': relo at offset {r.offset} is in no function")
                holder.relocations.append((r.offset // 8 - holder.offset, r))
        if self.ext is None:
            return
        tables = ((self.ext.func_info, "func_info"), (self.ext.line_info, "line_info"))
        for table, attribute in tables:
            for name, rows in table.items():
                for row in rows:
                    holder = owner(name, row.insn_off // 8)
                    if holder is not None:
                        getattr(holder, attribute).append((row.insn_off // 8 - holder.offset, row))
        for name, relos in self.ext.core_relo.items():
            for number, relo in enumerate(relos):
                holder = owner(name, relo.insn_off // 8)
                if holder is not None:
                    holder.core_relos.append((relo.insn_off // 8 - holder.offset, number, relo))

    # Global variables

    def globals(self, section: str) -> Globals:
        """The variables of `.bss`, `.data`, `.rodata`, `.data.custom`, `.kconfig`."""
        for m in self.maps.values():
            if m.definition.kind != "map" and m.definition.data_section == section:
                return Globals(m, self.btf, m.definition.value_type_id)
        raise AttributeError(f"object {self.name} has no section {section}")

    @property
    def bss(self) -> Globals:
        return self.globals(".bss")

    @property
    def data(self) -> Globals:
        return self.globals(".data")

    @property
    def rodata(self) -> Globals:
        return self.globals(".rodata")

    # Loading

    def load(self, task: Task, *, kernel_btf: Btf | None = None, log_level: int = 0) -> None:
        """Create the maps, relocate and load the programs.  LoadError carries errno and the verifier's log."""
        if self.task is not None:
            raise LoadError(f"object '{self.name}': load can't be attempted twice")
        if task.byteorder != self.elf.byteorder:
            raise LoadError(f"object '{self.name}' is of {self.elf.byteorder} endian, the machine is not")
        self.task, self.features = task, Features(task)
        try:
            self._probe_loading()
            self.kernel_btf = kernel_btf or (self._read_kernel_btf() if self._needs_kernel_btf() else None)
            self._resolve_externs()
            self._load_btf()
            self._create_maps()
            self._relocate()
            self._load_programs(log_level)
            self._fill_program_slots()
        except KernelError as error:
            self.close()
            raise LoadError(f"failed to load object '{self.name}': {error.why}", error.errno) from error
        except BtfError as error:
            self.close()
            raise LoadError(f"BTF of object '{self.name}' is corrupted: {error}") from None
        except LoadError:
            self.close()
            raise

    def _probe_loading(self) -> None:
        """Can this task load anything at all?  bpf_object__probe_loading()."""
        assert self.task is not None
        from bpf.loader.probes import TRIVIAL

        insns = encode(TRIVIAL, self.task.byteorder)
        fd, _ = self.task.prog_load(uapi.BPF_PROG_TYPE_SOCKET_FILTER, insns)
        if fd < 0:
            fd, _ = self.task.prog_load(uapi.BPF_PROG_TYPE_TRACEPOINT, insns)
        if fd < 0:
            fd, _ = self.task.prog_load(uapi.BPF_PROG_TYPE_KPROBE, insns, kern_version=kernel_version(self.task))
        if fd < 0:
            text = f"Error in bpf_object__probe_loading():{errno_name(-fd)}({-fd}). Couldn't load trivial BPF program. "
            text += "Make sure your kernel supports BPF (CONFIG_BPF_SYSCALL=y) and/or that RLIMIT_MEMLOCK is set to "
            raise LoadError(text + "big enough value.", -fd)
        self.task.close(fd)

    def _needs_kernel_btf(self) -> bool:
        if any(c.core_relos for c in self.codes):
            return True
        if any(e.kind in ("ksym var", "kfunc") for e in self.externs.values()):
            return True
        return any(p.section is not None and p.section.flags & sections.ATTACH_BTF for p in self._loading())

    def _loading(self) -> list[Program]:
        return [p for p in self.programs.values() if p.autoload]

    def _read_kernel_btf(self) -> Btf | None:
        assert self.task is not None
        try:
            return Btf.parse(self.task.read_file(VMLINUX_BTF), self.task.word)
        except (KernelError, BtfError) as error:
            self.messages.append(f"Error loading vmlinux BTF: {error}")
            return None

    def _resolve_externs(self) -> None:
        if not self.externs:
            return
        assert self.task is not None and self.features is not None and self.btf is not None
        kconfig = next((m for m in self.maps.values() if m.definition.kind == ".kconfig"), None)
        resolver = externs.Resolver(self.task, self.features, self.btf, self.kernel_btf, self.kconfig)
        resolver.resolve(self.externs, kconfig.definition.data if kconfig else bytearray())

    def _load_btf(self) -> None:
        """bpf_object__sanitize_and_load_btf()."""
        assert self.task is not None and self.features is not None
        if self.btf is None:
            return
        if not self.features.btf:
            self.messages.append("Kernel doesn't support BTF, skipping uploading it.")
            return
        prepared = sanitize(self._finished_btf(), self.features)
        for code in self.codes:  # line records name strings of the BTF that is loaded
            for _, info in code.line_info:
                self._strings.add(info.file)
                self._strings.add(info.line)
        data = prepared.encode(self.task.byteorder, self._strings)
        self.btf_fd, _ = self.task.btf_load(data)
        if self.btf_fd < 0:
            errno, log = self.task.btf_load(data, 1 << 16, 1)
            if errno >= 0:
                self.btf_fd = errno
                return
            self.messages.append(f"BTF loading error: {errno}\n{log}")
            self.btf_fd = -1

    def _finished_btf(self) -> Btf:
        """Externs made acceptable to the kernel: bpf_object__collect_externs()."""
        assert self.btf is not None
        btf = self.btf
        self._hide_functions(btf)
        dummy = 0
        for section in (".kconfig", ".ksyms"):
            found = btf.find(section, Kind.DATASEC)
            if not found:
                continue
            datasec = btf[found]
            if section == ".ksyms" and not dummy:
                integer = btf.find("int", Kind.INT) or btf.append(BtfType(Kind.INT, "int", 4, encoding=1, bits=32))
                dummy = btf.append(BtfType(Kind.VAR, "dummy_ksym", type=integer, linkage=GLOBAL))
            for at, row in enumerate(datasec.secinfos):
                self._finish_extern(btf, row, section, at, dummy)
            datasec.secinfos.sort(key=lambda r: r.offset)
            datasec.size = max((r.offset + r.size for r in datasec.secinfos), default=0)
        return btf

    def _hide_functions(self, btf: Btf) -> None:
        """Hidden functions are static to the verifier: checked where they are called, not on their own."""
        hidden = {code.name for code in self.codes if not code.is_global}
        for t in btf.functions():
            if t.name in hidden and t.linkage == GLOBAL:
                t.linkage = STATIC

    def _finish_extern(self, btf: Btf, row: Any, section: str, at: int, dummy: int) -> None:
        t = btf[row.type]
        if section == ".kconfig":
            e = self.externs.get(t.name)
            if e is not None:
                t.linkage, row.offset, row.size = GLOBAL, e.offset, e.size
            return
        if t.kind is Kind.FUNC:
            t.linkage = GLOBAL
            for p in btf[t.type].params:
                if not p.name and p.type:
                    p.name = "dummy_ksym"
            row.type = dummy
        elif t.linkage == EXTERN:
            t.linkage, t.type = GLOBAL, btf[dummy].type
        row.offset, row.size = 4 * at, 4

    # Maps

    def _create_maps(self) -> None:
        for m in self.maps.values():
            d = m.definition
            if not m.autocreate:
                continue
            m.task = self.task
            if d.pinning == PIN_BY_NAME and not m.pin_path:
                m.pin_path = f"{self.pin_root}/{d.name}"
            if m.fd < 0 and not self._reuse(m):
                self._create(m)
            if d.kind != "map":
                self._populate(m)
            if m.pin_path and not m.reused and self.task is not None:
                self.task.obj_pin(m.fd, m.pin_path)
        for m in self.maps.values():
            self._fill_map_slots(m)

    def _reuse(self, m: Map) -> bool:
        """A pinned map of the same shape is taken over.  bpf_object__reuse_map()."""
        assert self.task is not None
        if not m.pin_path:
            return False
        try:
            fd = self.task.obj_get(m.pin_path)
        except KernelError as error:
            if error.errno == ENOENT:
                return False
            raise LoadError(f"couldn't retrieve pinned map '{m.pin_path}': {error}", error.errno) from None
        info = self.task.unpack("6I", self.task.obj_info(fd, 80)[:24])
        d = m.definition
        if (info[0], info[2], info[3], info[4]) != (d.type, d.key_size, d.value_size, d.max_entries):
            self.task.close(fd)
            raise LoadError(f"couldn't reuse pinned map at '{m.pin_path}': parameter mismatch")
        m.fd, m.reused = fd, True
        return True

    def _create(self, m: Map) -> None:
        assert self.task is not None and self.features is not None
        d = m.definition
        if d.kind != "map" and not self.features.global_data:
            raise LoadError("kernel doesn't support global data", EOPNOTSUPP)
        flags = d.flags
        if flags & uapi.BPF_F_MMAPABLE and not self.features.array_mmap:
            flags &= ~uapi.BPF_F_MMAPABLE
        entries = d.max_entries
        if d.type == uapi.BPF_MAP_TYPE_PERF_EVENT_ARRAY and not entries:
            from bpf.loader.maps import possible_cpus

            entries = possible_cpus(self.task)
        inner = self._inner_template(m)
        attrs: dict[str, Any] = {"inner_map_fd": inner, "numa_node": d.numa_node, "map_extra": d.map_extra}
        if self.features.map_name:
            attrs["name"] = d.name
        wants_btf = self.btf_fd >= 0 and d.value_type_id and row_of(d.type).loader_btf
        typed: dict[str, Any] = {"btf_fd": self.btf_fd, "key_type_id": d.key_type_id, "value_type_id": d.value_type_id}
        try:
            try:
                m.fd = self.task.map_create(d.type, d.key_size, d.value_size, entries, flags, **attrs,
                                            **(typed if wants_btf else {}))  # fmt: skip
            except KernelError as error:
                if not wants_btf:
                    raise
                text = f"Error in bpf_create_map_xattr({d.name}):{errno_name(error.errno)}({-error.errno}). "
                self.messages.append(text + "Retrying without BTF.")
                m.fd = self.task.map_create(d.type, d.key_size, d.value_size, entries, flags, **attrs)
        except KernelError as error:
            raise LoadError(f"map '{d.name}': failed to create: {errno_name(error.errno)}({-error.errno})",
                            error.errno) from None  # fmt: skip
        finally:
            if inner:
                self.task.close(inner)
        d.max_entries = entries

    def _inner_template(self, m: Map) -> int:
        d = m.definition
        if not row_of(d.type).map_in_map or d.inner is None:
            return 0
        i = d.inner
        assert self.task is not None
        try:
            return self.task.map_create(i.type, i.key_size, i.value_size, i.max_entries, i.flags)
        except KernelError as error:
            raise LoadError(f"map '{d.name}': failed to create inner map: {-error.errno}", error.errno) from None

    def _populate(self, m: Map) -> None:
        """Initial contents of global variables; constants are frozen.  bpf_object__populate_internal_map()."""
        assert self.task is not None
        d = m.definition
        if d.kind != ".bss":
            self.task.map_update(m.fd, bytes(4), bytes(d.data))
        if d.kind in (".rodata", ".kconfig"):
            try:
                self.task.map_freeze(m.fd)
            except KernelError as error:
                self.messages.append(f"Error freezing map({d.name}) as read-only: {error}")

    def _map_at(self, section: int, offset: int) -> Map | None:
        for m in self.maps.values():
            if m.definition.kind == "map" and (m.definition.section, m.definition.offset) == (section, offset):
                return m
        return None

    def _fill_map_slots(self, m: Map) -> None:
        """`values = { [0] = &inner }` of maps of maps."""
        if not row_of(m.definition.type).map_in_map:
            return
        for slot, symbol in m.definition.init_slots:
            inner = self._map_at(symbol.section, symbol.value)
            if inner is None:
                raise LoadError(f".maps relo: symbol '{symbol.name}' isn't a BTF-defined map")
            self._fill(m, slot, inner.fd, inner.name)

    def _fill_program_slots(self) -> None:
        for m in self.maps.values():
            if m.definition.type != uapi.BPF_MAP_TYPE_PROG_ARRAY:
                continue
            for slot, symbol in m.definition.init_slots:
                program = self.programs.get(symbol.name)
                if program is None or program.fd < 0:
                    raise LoadError(f".maps relo: '{symbol.name}' isn't a valid program reference")
                self._fill(m, slot, program.fd, program.name)

    def _fill(self, m: Map, slot: int, fd: int, what: str) -> None:
        assert self.task is not None
        try:
            m.update(self.task.pack("I", slot), self.task.pack("I", fd))
        except KernelError as error:
            text = f"map '{m.name}': failed to initialize slot [{slot}] to '{what}' fd={fd}: {-error.errno}"
            raise LoadError(text, error.errno) from None

    # Programs

    def _relocate(self) -> None:
        linker = Linker(self.elf, self.codes)
        references = References(self.elf, self._map_fd, self._data_fd, self._extern)
        relocator: Relocator | None = None
        for program in self._loading():
            linked = linker.link(program.code)
            if linked.core_relos:
                if relocator is None:
                    relocator = self._relocator()
                for at, number, relo in linked.core_relos:
                    relocator.apply(linked.insns, program.name, number, relo, at)
            references.apply(linked, program.name)
            self._fall_back(linked.insns)
            program.linked = linked

    def _relocator(self) -> Relocator:
        if self.kernel_btf is None:
            raise LoadError("failed to find valid kernel BTF", ESRCH)
        assert self.btf is not None
        return Relocator(self.btf, [self.kernel_btf], self.messages)

    def _map_fd(self, r: Relocation, program: str) -> int | None:
        section = self.elf.at(r.symbol.section)
        if section is None or not (section.name == ".maps" or section.name.split("/")[0] == "maps"):
            return None
        m = self._map_at(r.symbol.section, r.symbol.value)
        if m is None:
            raise LoadError(f"prog '{program}': failed to find map at offset {r.symbol.value} of {section.name}")
        return m.fd

    def _data_fd(self, section: int) -> int | None:
        for m in self.maps.values():
            if m.definition.kind != "map" and m.definition.section == section:
                return m.fd
        return None

    def _extern(self, name: str, is_call: bool) -> tuple[str, int, int]:
        e = self.externs.get(name)
        if e is None:
            raise LoadError(f"extern '{name}' is declared in no .kconfig or .ksyms section", ENOENT)
        if e.kind == "kconfig":
            kconfig = next(m for m in self.maps.values() if m.definition.kind == ".kconfig")
            return "kconfig", e.offset, kconfig.fd
        if not e.is_set:
            return "missing", 0, 0
        return {"ksym": "address", "ksym var": "btf", "kfunc": "kfunc"}[e.kind], e.number, e.second

    def _fall_back(self, insns: list[Any]) -> None:
        """Old kernels have one probe_read for both address spaces.  bpf_program__fixup_..."""
        older = {uapi.BPF_FUNC_probe_read_kernel: uapi.BPF_FUNC_probe_read,
                 uapi.BPF_FUNC_probe_read_user: uapi.BPF_FUNC_probe_read,
                 uapi.BPF_FUNC_probe_read_kernel_str: uapi.BPF_FUNC_probe_read_str,
                 uapi.BPF_FUNC_probe_read_user_str: uapi.BPF_FUNC_probe_read_str}  # fmt: skip
        for at, insn in enumerate(insns):
            if insn.code == BPF_JMP | BPF_CALL and insn.src_reg == 0 and insn.imm in older:
                assert self.features is not None
                if not self.features.probe_read_kernel:
                    insns[at] = insn.replace(imm=older[insn.imm])

    def _load_programs(self, log_level: int) -> None:
        version = self.kern_version
        for program in self._loading():
            if program.prog_type == uapi.BPF_PROG_TYPE_UNSPEC:
                raise LoadError(_unknown_section(program))
            filter_file = program.section is not None and program.section.attach == "filter_file"  # knows no version
            if not version and program.prog_type == uapi.BPF_PROG_TYPE_KPROBE and not filter_file:
                assert self.task is not None
                version = kernel_version(self.task)
            self._load_program(program, version, log_level)

    def _load_program(self, program: Program, version: int, log_level: int) -> None:
        assert self.task is not None and self.features is not None and program.linked is not None
        attrs = self._program_attributes(program)
        attrs["kern_version"] = self.kern_version or version
        insns = encode(program.linked.insns, self.task.byteorder)
        level = program.log_level or log_level
        size = 1 << 16 if level else 0
        while True:
            args = {"log_level": level, "log_size": size, **attrs}
            fd, log = self.task.prog_load(program.prog_type, insns, self.license, **args)
            program.log = log or program.log
            if fd >= 0 or (level and not (fd == -ENOSPC and size < 1 << 24)):
                break
            level, size = level or 1, size * 4 or 1 << 16
        if fd < 0:
            text = f"prog '{program.name}': BPF program load failed: {errno_name(-fd)}"
            if fd == -EPERM:
                text += " (permission denied; is RLIMIT_MEMLOCK set, or the license GPL-compatible?)"
            raise LoadError(text, -fd, program.log)
        program.fd = fd
        if self.features.prog_bind_map:
            for m in self.maps.values():
                if m.definition.kind == ".rodata" and m.fd >= 0:
                    self._bind(program, m)

    def _bind(self, program: Program, m: Map) -> None:
        assert self.task is not None
        try:
            self.task.prog_bind_map(program.fd, m.fd)
        except KernelError as error:
            self.messages.append(f"prog '{program.name}': failed to bind map '{m.name}': {error}")

    def _program_attributes(self, program: Program) -> dict[str, Any]:
        """bpf_object_load_prog() and libbpf_prepare_prog_load()."""
        assert self.task is not None and self.features is not None and program.linked is not None
        attrs: dict[str, Any] = {}
        if self.features.prog_name:
            attrs["name"] = program.name
        flags = program.flags
        section = program.section
        if section is not None:
            if section.flags & sections.SLEEPABLE:
                flags |= uapi.BPF_F_SLEEPABLE
            if section.flags & sections.XDP_FRAGS:
                flags |= uapi.BPF_F_XDP_HAS_FRAGS
            optional = section.flags & sections.ATTACHABLE_OPT == sections.ATTACHABLE_OPT
            if not (optional and not self.features.exp_attach_type):
                attrs["expected_attach_type"] = program.expected_attach_type
            if section.flags & sections.ATTACH_BTF:
                attrs.update(self._attach_target(program))
        else:
            attrs["expected_attach_type"] = program.expected_attach_type
        attrs["flags"] = flags
        if self.btf_fd >= 0 and self.features.btf_func and program.linked.func_info:
            pack = self.task.pack
            attrs["btf_fd"] = self.btf_fd
            attrs["func_info"] = b"".join(pack("II", at, r.type_id) for at, r in program.linked.func_info)
            add = self._strings.add
            attrs["line_info"] = b"".join(
                pack("IIII", at, add(r.file), add(r.line), r.line_col) for at, r in program.linked.line_info
            )
        return attrs

    def _attach_target(self, program: Program) -> dict[str, Any]:
        if program.attach_btf_id:
            return {"attach_btf_id": program.attach_btf_id, "attach_prog_fd": program.attach_prog_fd}
        name = program.attach_target or sections.target(program.section_name)
        if not name:
            text = (
                f"prog '{program.name}': no BTF-based attach target is specified, use bpf_program__set_attach_target()"
            )
            raise LoadError(text)
        if self.kernel_btf is None:
            raise LoadError(f"prog '{program.name}': the kernel has no BTF", ENOENT)
        found = find_attach_btf_id(self.kernel_btf, name, program.expected_attach_type)
        if not found:
            near = nearest(name, (f.name for f in self.kernel_btf.functions()))
            if program.expected_attach_type == uapi.BPF_TRACE_RAW_TP:
                events = (t.name[10:] for t in self.kernel_btf.types if t.name.startswith("btf_trace_"))
                near = nearest(name, events)
            raise LoadError(f"prog '{program.name}': failed to find kernel BTF type ID of '{name}': -3{near}", ESRCH)
        return {"attach_btf_id": found}

    # Attaching and closing

    def attach(self) -> list[Any]:
        """Attach every program whose section name says where; the links."""
        for program in self.programs.values():
            if program.fd < 0 or not program.autoattach or program.section is None or not program.section.attach:
                continue
            link = attach_program(self, program)
            if link is not None:
                self.links.append(link)
        return list(self.links)

    def close(self) -> None:
        """Detach, and close all descriptors."""
        for link in reversed(self.links):
            link.destroy()
        self.links.clear()
        if self.task is None:
            return
        held = [p for p in self.programs.values() if p.fd >= 0]
        for program in held:
            self._close(program.fd)
            program.fd = -1
        for m in self.maps.values():
            if m.fd >= 0:
                self._close(m.fd)
                m.fd = -1
        if self.btf_fd >= 0:
            self._close(self.btf_fd)
            self.btf_fd = -1

    def _close(self, fd: int) -> None:
        assert self.task is not None
        try:
            self.task.close(fd)
        except KernelError:
            self.messages.append(f"descriptor {fd} was closed already")


_ATTACH_PREFIX = {uapi.BPF_TRACE_RAW_TP: ("btf_trace_", Kind.TYPEDEF), uapi.BPF_LSM_MAC: ("bpf_lsm_", Kind.FUNC),
                  uapi.BPF_LSM_CGROUP: ("bpf_lsm_", Kind.FUNC), uapi.BPF_TRACE_ITER: ("bpf_iter_", Kind.FUNC)}  # fmt: skip


def find_attach_btf_id(btf: Btf, name: str, attach_type: int) -> int:
    """libbpf.c: find_attach_btf_id(), btf_get_kernel_prefix_kind()."""
    prefix, kind = _ATTACH_PREFIX.get(attach_type, ("", Kind.FUNC))
    return btf.find(prefix + name, kind)


def object_name(path: str) -> str:
    """`/tmp/writes.bpf.o` is `writes`."""
    base = path.rsplit("/", 1)[-1].split(".", 1)[0]
    return base or "object"


def _unknown_section(program: Program) -> str:
    known = sorted({s.name.rstrip("+/") for s in sections.SECTIONS})
    stem = program.section_name.split("/")[0]
    near = nearest(stem, known)
    return f"prog '{program.name}': missing BPF prog type, check ELF section name '{program.section_name}'{near}"


__all__ = ["EINVAL", "STB_WEAK", "BpfObject", "ElfObject", "Param", "find_attach_btf_id", "nearest", "object_name"]
