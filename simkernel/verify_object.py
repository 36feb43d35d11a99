"""Ask a kernel version's verifier about the programs of a BPF object, without booting a machine.

Each program is loaded by itself, by the same loader and through the same bpf(2) as on a machine, so that one bad
program does not hide the others.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from arch import architecture
from arch.abi.errno import ENOENT, ENOSYS
from arch.abi.version import KernelVersion
from arch.architecture import Architecture
from arch.ctype import CTypeError, FuncDecl
from arch.errors import KernelError
from arch.typetable import TypeTable, kernel_types
from bpf.btf import Btf
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

Version = tuple[int, int]
MAX_MAPS_BYTES = 256 << 20
VMLINUX = b"/sys/kernel/btf/vmlinux"


class ObjectError(Exception):
    """The file is no BPF object that can be loaded at all."""


class BareTask:
    """The loader's task on a host without a machine: bpf(2), close, uname and the kernel's BTF file."""

    word = 8
    page_size = 4096
    packed_epoll_event = False
    mmap_takes_block = False

    def __init__(self, host: TestHost, kernel_btf: Btf) -> None:
        self.host = host
        self.kernel_btf = kernel_btf
        self.byteorder = host.mem.byteorder
        self._reading: dict[int, bytes] = {}

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
                if args[0] in self._reading:
                    del self._reading[args[0]]
                else:
                    self.host.fd_get(args[0])
                    self.host.close(args[0])
                return 0
            if name == "uname":
                return self._uname(args[0])
            if name in ("open", "openat", "faccessat"):
                return -ENOENT
        except KernelError as error:
            return -error.errno
        return -ENOSYS

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
    host = TestHost(version, memory_size=64 << 20, byteorder=machine.model.byteorder)
    host.arch, host.vmlinux_btf, host.unmapped_symbols = machine, kernel_btf, True
    host.bpf.on_prune = on_prune
    for fd in range(3):
        host.fds[fd] = object()
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
    return {**row, "ret": 0, "log": program.log}
