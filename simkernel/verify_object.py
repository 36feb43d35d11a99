"""Ask a kernel version's verifier about the programs of a BPF object, without booting a machine.

Each program is loaded by itself, by the same loader and through the same bpf(2) as on a machine, so that one bad
program does not hide the others.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from arch import architecture
from arch.abi.errno import ENOENT, ENOSYS
from arch.abi.version import KernelVersion
from arch.architecture import Architecture
from arch.ctype import CTypeError, FuncDecl
from arch.errors import KernelError
from arch.typetable import TypeTable, kernel_types
from bpf.btf import Btf, Kind
from bpf.btf.recorded import recorded_btf
from bpf.btf.vmlinux import vmlinux
from bpf.loader.errors import LoadError
from bpf.loader.object import BpfObject
from bpf.loader.program import Program
from bpf.loader.sys import Task
from bpf.syscall.sys_bpf import bpf
from bpf.testing.host import TestHost
from bpf.verifier.api import OnPrune
from simkernel import kept_btf
from tracing.tracers.recorded import all_letters

Version = tuple[int, int]
MEMORY_BYTES, RAM_BYTES = 256 << 20, 1 << 30  # what all maps may take; what one may that takes it element by element
SYMBOLS_FILE, TEXT_START, SYMBOL_STEP = "/proc/kallsyms", 0xFFFFFFFF81000000, 16
PERCPU = ".data..percpu"
FIRST_FILE = 1 << 20  # descriptors of files, above those of BPF objects


class ObjectError(Exception):
    """The file is no BPF object that can be loaded at all."""


class Symbols:
    """Addresses of the kernel's variables, as far as its types tell them; all others are one made-up place."""

    def __init__(self, kernel_btf: Btf, zero_based: bool) -> None:
        """`zero_based`: the copies of variables that each CPU has are linked from address 0 on."""
        section = kernel_btf.types[kernel_btf.find(PERCPU, Kind.DATASEC)]
        base = 0 if zero_based else TEXT_START
        self.percpu = {kernel_btf.types[each.type].name: base + each.offset for each in section.secinfos}

    def __iter__(self) -> Iterator[object]:
        return iter(())

    def lookup(self, addr: int) -> tuple[str, int, int] | None:
        """Nothing is called here."""
        return None

    def address(self, name: str) -> int:
        """Where a variable is."""
        return self.percpu.get(name, TEXT_START)


class BareTask:
    """The loader's task on a host without a machine: bpf(2), uname and /proc/kallsyms."""

    word = 8
    page_size = 4096
    packed_epoll_event = False
    mmap_takes_block = False

    def __init__(self, host: TestHost, kernel_btf: Btf) -> None:
        self.host = host
        self.kernel_btf = kernel_btf
        self.byteorder = host.mem.byteorder
        self._reading: dict[int, io.BytesIO] = {}

    def alloc(self, size: int) -> int:
        return self.host.user.alloc(max(size, 1))

    def free(self, addr: int) -> None:
        self.host.user.free(addr)

    def read(self, addr: int, size: int) -> bytes:
        return self.host.user.read(addr, size)

    def write(self, addr: int, data: bytes) -> None:
        self.host.user.write(addr, data)

    def syscall(self, name: str, *args: int) -> int:
        """What the loader needs before anything is attached."""
        try:
            if name == "bpf":
                return bpf(self.host.bpf, *args)
            if name == "close":
                if self._reading.pop(args[0], None) is None:
                    self.host.fd_get(args[0])
                    self.host.close(args[0])
                return 0
            if name == "uname":
                return self._uname(args[0])
            if name == "openat":
                return self._open(args[1])
            if name == "read" and args[0] in self._reading:
                return self._read(*args)
            if name == "faccessat":
                return -ENOENT
        except KernelError as error:
            return -error.errno
        return -ENOSYS

    def _open(self, path: int) -> int:
        if self.read(path, len(SYMBOLS_FILE) + 1) != SYMBOLS_FILE.encode() + b"\0":
            return -ENOENT
        fd = FIRST_FILE + len(self._reading)
        self._reading[fd] = io.BytesIO(self._kallsyms().encode())
        return fd

    def _read(self, fd: int, addr: int, size: int) -> int:
        data = self._reading[fd].read(size)
        self.write(addr, data)
        return len(data)

    def _kallsyms(self) -> str:
        """What the kernel's types name, and what is known to be in that version; nothing has a true address here."""
        assert self.host.arch is not None
        names = {t.name for t in self.kernel_btf.types if t.kind in (Kind.FUNC, Kind.VAR)}
        names |= all_letters(self.host.arch.name, self.host.version).keys()
        return "".join(f"{TEXT_START + SYMBOL_STEP * n:x} T {name}\n" for n, name in enumerate(sorted(names)))

    def _uname(self, addr: int) -> int:
        """struct new_utsname: six texts of 65 bytes."""
        release = self.host.version.release
        assert self.host.arch is not None
        texts = ("Linux", "simkernel", release, "#1", self.host.arch.name, "(none)")
        self.host.user.write(addr, b"".join(text.encode().ljust(65, b"\0") for text in texts))
        return 0


def read_btf(path: Path) -> Btf:
    """A kernel's types, as /sys/kernel/btf/vmlinux has them."""
    try:
        return kept_btf.read(path)
    except kept_btf.BtfFileError as error:
        raise ObjectError(str(error)) from None


def verify_object(
    path: Path,
    version: KernelVersion,
    arch: str,
    log_level: int,
    kernel_btf: Btf | None = None,
    on_prune: Callable[[str], OnPrune] | None = None,
) -> list[dict[str, Any]]:
    """One row per program: name, section, prog_type, ret, log.  `kernel_btf`: types of a real kernel instead of ours."""
    try:
        data = path.read_bytes()
        names = list(BpfObject(data, path.stem).programs)
        machine = architecture.get(arch)
    except OSError as error:
        raise ObjectError(str(error.strerror)) from None
    except (LoadError, KeyError, ValueError) as error:
        raise ObjectError(str(error)) from None
    if not names:
        raise ObjectError("no programs in it")
    types = kernel_btf if kernel_btf is not None else _kernel_btf(machine, version)
    rows = []
    for name in names:
        watch = on_prune(name) if on_prune is not None else None
        rows.append(_verify_one(data, path.stem, name, version, machine, types, log_level, watch))
    return rows


def _kernel_btf(machine: Architecture, version: KernelVersion) -> Btf:
    """The BTF of the kernel the object is for."""
    recorded = recorded_btf(machine.name, version)
    if recorded is not None:
        return recorded
    table = kernel_types(machine, version)
    return vmlinux(table, functions=_functions(table))


def _functions(table: TypeTable) -> list[FuncDecl]:
    """The functions the simulated kernel declares for this version."""
    import simkernel.fs.boot
    import simkernel.kernel.kernel  # noqa: F401  - declares them
    from simkernel.kernel.kfunc import KERNEL_FUNCTIONS

    found: dict[str, FuncDecl] = {}
    for function in KERNEL_FUNCTIONS:
        try:
            found[function.name] = table.prototype(function.prototype.text)
        except CTypeError:  # of another version: its types are not there
            continue
    return [found[name] for name in sorted(found)]


def _verify_one(
    data: bytes,
    stem: str,
    name: str,
    version: KernelVersion,
    machine: Architecture,
    kernel_btf: Btf,
    log_level: int,
    on_prune: OnPrune | None,
) -> dict[str, Any]:
    host = TestHost(version, memory_size=MEMORY_BYTES, byteorder=machine.model.byteorder)
    host.bpf.memory_limit = RAM_BYTES
    host.arch, host.vmlinux_btf = machine, kernel_btf
    moved = machine.percpu_at_zero_until
    host.symbols = Symbols(kernel_btf, zero_based=moved is not None and version.before(moved))
    host.bpf.on_prune = on_prune
    for fd in range(3):
        host.fds[fd] = object()
    host.user.close()
    host.user = type(host.user)(0x10000, 48 << 20, machine.model.byteorder)
    obj = BpfObject(data, stem)
    for other in obj.programs.values():
        other.autoload = other.name == name
    program: Program = obj.programs[name]
    row = {"name": name, "section": program.section_name, "prog_type": program.prog_type}
    try:
        obj.load(Task(BareTask(host, kernel_btf)), kernel_btf=kernel_btf, log_level=log_level)
    except LoadError as error:
        return {**row, "prog_type": program.prog_type, "ret": -error.errno, "log": error.log or f"{error}\n"}
    except KernelError as error:
        raise ObjectError(f"program {name}: {error}") from None
    finally:
        host.mem.close()
        host.user.close()
    return {**row, "ret": 0, "log": program.log}
