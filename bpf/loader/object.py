"""`BpfObject`: open an ELF object, load its maps and programs into a kernel, attach them.

tools/lib/bpf/libbpf.c: bpf_object__open(), bpf_object__load(), bpf_object__attach_skeleton().

    obj = BpfObject(Path("writes.bpf.o").read_bytes(), "writes")
    obj.load(Task(syscalls))
    links = obj.attach()
    dict(obj.maps["sizes"].items())
"""

from __future__ import annotations

from typing import TypedDict

from arch.abi.errno import ENOENT, ENOSPC, EPERM, ESRCH, errno_name
from arch.errors import KernelError
from bpf import uapi
from bpf.btf import Btf, BtfError, Kind
from bpf.btf.codec import Strings
from bpf.btf.lazy import read_kernel_btf
from bpf.isa.insn import BPF_CALL, BPF_JMP, Insn, encode
from bpf.loader import collect, externs, sections
from bpf.loader.attach import attach_program
from bpf.loader.btf_finish import finished_btf
from bpf.loader.core import Relocator
from bpf.loader.create import MapCreator, map_at
from bpf.loader.elf import Relocation, read_object
from bpf.loader.errors import LoadError, nearest
from bpf.loader.externs import Extern, kernel_version
from bpf.loader.links import Attachment
from bpf.loader.log_words import in_loader_words
from bpf.loader.maps import Globals, Map
from bpf.loader.probes import Features, sanitize
from bpf.loader.program import Code, Program
from bpf.loader.relocate import Linker, References
from bpf.loader.sys import Task
from bpf.loader.usdt_specs import UsdtManager

VMLINUX_BTF = "/sys/kernel/btf/vmlinux"
BPF_FS = "/sys/fs/bpf"


class ProgAttributes(TypedDict, total=False):
    """Attributes of BPF_PROG_LOAD beside type, instructions, license and log."""

    kern_version: int
    flags: int
    name: str
    expected_attach_type: int
    btf_fd: int
    func_info: bytes
    line_info: bytes
    attach_btf_id: int
    attach_prog_fd: int


class BpfObject:
    """One object file.  Opening needs no kernel; everything in it can be inspected, and variables changed, before load."""

    def __init__(self, data: bytes, name: str = "", *, kconfig: str = "", pin_root: str = BPF_FS) -> None:
        self.name = object_name(name)
        self.kconfig = kconfig
        self.pin_root = pin_root
        self.messages: list[str] = []
        self.elf = read_object(data, name or "object")
        self.btf, self.ext = collect.read_btf(self.elf, self.messages)
        self.license = self._text_section("license") or ""
        self.kern_version = self._version()
        self.externs: dict[str, Extern] = {}
        self.maps: dict[str, Map] = {}
        self.codes: list[Code] = []
        self.programs: dict[str, Program] = {}
        try:
            self.externs = externs.collect(self.elf, self.btf)
            size = externs.kconfig_size(self.externs)
            self.maps = collect.collect_maps(self.name, self.elf, self.btf, size)
            self.codes = collect.collect_codes(self.elf, self.ext)
            self.programs = collect.collect_programs(self.elf, self.codes)
        except BtfError as error:
            raise LoadError(f"BTF of object '{self.name}' is corrupted: {error}") from None
        self.task: Task | None = None
        self.closed = False
        self.features: Features | None = None
        self.kernel_btf: Btf | None = None
        self.btf_fd = -1
        self._strings = Strings()
        self.links: list[Attachment] = []
        self.usdt: UsdtManager | None = None

    # Opening

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
            creator = MapCreator(task, self.features, self.maps, self.btf_fd, self.pin_root, self.messages)
            creator.create()
            self._relocate()
            self._load_programs(log_level)
            creator.fill_program_slots(self.programs)
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
        named = [p.section for p in self._loading() if p.section is not None]
        return any(section.flags & sections.ATTACH_BTF or section.attach == "trace_multi" for section in named)

    def _loading(self) -> list[Program]:
        return [p for p in self.programs.values() if p.autoload]

    def _read_kernel_btf(self) -> Btf | None:
        assert self.task is not None
        try:
            return read_kernel_btf(self.task.read_file(VMLINUX_BTF), self.task.word)
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
        prepared = sanitize(finished_btf(self.btf, self.codes, self.externs), self.features)
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
        m = map_at(self.maps, r.symbol.section, r.symbol.value)
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
        kinds = {"ksym": "address", "ksym var": "btf", "kfunc": "kfunc" if is_call else "btf"}
        return kinds[e.kind], e.number, e.second

    def _fall_back(self, insns: list[Insn]) -> None:
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
            fd, log = self.task.prog_load(
                program.prog_type, insns, self.license, log_level=level, log_size=size, **attrs
            )
            program.log = log or program.log
            if fd >= 0 or (level and not (fd == -ENOSPC and size < 1 << 24)):
                break
            level, size = level or 1, size * 4 or 1 << 16
        if fd < 0:
            if self.btf is not None:
                program.log = in_loader_words(program.log, self.btf, program.linked.core_relos)
            text = f"prog '{program.name}': BPF program load failed: {errno_name(-fd)}"
            if fd == -EPERM:
                text += " (permission denied; is RLIMIT_MEMLOCK set, or the license GPL-compatible?)"
            raise LoadError(text, -fd, program.log)
        program.fd = fd
        if self.features.prog_bind_map:
            for m in self.maps.values():
                if m.definition.kind == ".rodata" and m.fd >= 0:
                    self._bind(program, m)

    def verifier_log(self, program: Program, log_level: int = 1, log_size: int = 1 << 20) -> str:
        """What the verifier says of a loaded program, asked once more; as much of it as has room.  KernelError."""
        if self.task is None or program.fd < 0 or program.linked is None:
            return program.log
        attrs = self._program_attributes(program)
        attrs["kern_version"] = self.kern_version or kernel_version(self.task)
        insns = encode(program.linked.insns, self.task.byteorder)
        fd, log = self.task.prog_load(
            program.prog_type, insns, self.license, log_level=log_level, log_size=log_size, **attrs
        )
        if fd >= 0:
            self.task.close(fd)
        return log

    def _bind(self, program: Program, m: Map) -> None:
        assert self.task is not None
        try:
            self.task.prog_bind_map(program.fd, m.fd)
        except KernelError as error:
            self.messages.append(f"prog '{program.name}': failed to bind map '{m.name}': {error}")

    def _program_attributes(self, program: Program) -> ProgAttributes:
        """bpf_object_load_prog() and libbpf_prepare_prog_load()."""
        assert self.task is not None and self.features is not None and program.linked is not None
        attrs: ProgAttributes = {}
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

    def _attach_target(self, program: Program) -> ProgAttributes:
        if program.attach_btf_id:
            return {"attach_btf_id": program.attach_btf_id, "attach_prog_fd": program.attach_prog_fd}
        name = program.attach_target or sections.target(program.section_name)
        if not name:
            text = (
                f"prog '{program.name}': no BTF-based attach target is specified, use bpf_program__set_attach_target()"
            )
            raise LoadError(text)
        if program.prog_type == uapi.BPF_PROG_TYPE_EXT:
            raise LoadError(f"prog '{program.name}': attach program FD is not set")
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

    def attach(self) -> list[Attachment]:
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
        self.closed = True
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
