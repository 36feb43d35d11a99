"""One cell of a matrix: an object on a kernel of one version on one CPU."""

from __future__ import annotations

import hashlib
import importlib.util
import traceback
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

from arch.abi.version import KernelVersion
from arch.errors import KernelError
from arch.hosttime import HOST, HostStop
from arch.records import dataclass
from bpf.btf import Btf
from bpf.loader.errors import LoadError
from bpf.loader.object import BpfObject
from bpf.versions.confidence import confidence
from simkernel import kept_btf
from simkernel.bug import Oops
from simkernel.cc import CompileError
from simkernel.copies import Template
from simkernel.machine import Machine, boot
from simkernel.matrix.reasons import WELL, Reason, classify
from simkernel.packed import ChildError

CELL_LIMIT_S = 60.0  # of CPU time: the table is the same on a busy host


@dataclass(frozen=True)
class Cell:
    """What is asked: a path, a kernel version, an architecture, and how far to go."""

    obj: str
    kernel: str
    arch: str
    attach: bool = False
    test: str = ""  # a Python file with test(machine, obj)
    btf: str = ""  # a file with the types of a kernel of that version, in place of ours: load only

    @property
    def key(self) -> str:
        """Its name in a journal: a changed object or test is another cell."""
        names = f"{self.column} {self.arch} {int(self.attach)}"
        files = (self.obj, self.test, self.btf)
        content = "".join(hashlib.sha256(Path(p).read_bytes()).hexdigest()[:16] for p in files if p)
        return f"{Path(self.obj).name} {names} {content}"

    @property
    def column(self) -> str:
        """How the table calls its kernel."""
        return f"{self.kernel}-{Path(self.btf).stem}" if self.btf else self.kernel


@dataclass(frozen=True)
class Outcome:
    """What came of it."""

    obj: str
    kernel: str
    arch: str
    kind: str  # reasons.KINDS
    text: str
    programs: int = 0
    insns: int = 0  # instructions of all programs
    confidence: str = ""  # how the verdict of this version is known

    @property
    def good(self) -> bool:
        return self.kind == WELL

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self)


_templates: dict[tuple[str, str, str], Template] = {}  # of this process: booted machines that cells copy


def run_cell(cell: Cell) -> Outcome:
    """Load (attach, test) in a copy of a machine that this process boots once for each kernel and CPU."""
    where = (cell.kernel, cell.arch, cell.btf)
    if where not in _templates:
        machine = boot(arch=cell.arch, kernel=cell.kernel)
        machine.session  # noqa: B018  the tool task is started once, for all copies
        if cell.btf:
            machine.kernel.observer.kernel_btf.use(read_types(cell.btf))
        machine.kernel.observer.kernel_btf.get().types  # noqa: B018  and the kernel's types made
        _templates[where] = Template(machine)
    try:
        return _templates[where].run(lambda machine: _work(machine, cell))
    except ChildError as error:
        return Outcome(cell.obj, cell.column, cell.arch, "limit", str(error))


def read_types(path: str) -> Btf:
    """A kernel's types, as its /sys/kernel/btf/vmlinux has them.  ValueError, with a sentence."""
    try:
        return kept_btf.read(Path(path))
    except kept_btf.BtfFileError as error:
        raise ValueError(f"{path}: {error}") from None


def _work(machine: Machine, cell: Cell) -> Outcome:
    """In the copy."""
    obj: BpfObject | None = None
    attaching = False

    def ended(kind: str, text: str) -> Outcome:
        programs = [] if obj is None else list(obj.programs.values())
        insns = sum(len(each.linked.insns) for each in programs if each.linked is not None)
        sure = confidence(KernelVersion.supported(cell.kernel))
        return Outcome(cell.obj, cell.column, cell.arch, kind, text, len(programs), insns, sure)

    try:
        with HOST.grace(CELL_LIMIT_S):
            obj = machine.open(cell.obj)
            machine.load(obj)
            if (cell.attach or cell.test) and not cell.btf:
                attaching = True
                obj.attach()
            if cell.test and not cell.btf:
                return ended(*_test(cell.test, machine, obj))
    except (LoadError, KernelError) as error:
        reason: Reason = classify(error, obj, KernelVersion.supported(cell.kernel), attaching)
        return ended(reason.kind, reason.text)
    except (CompileError, OSError) as error:
        return ended("object", str(error))
    except HostStop:
        return ended("limit", f"not done within {CELL_LIMIT_S:.0f} s of CPU time")
    except MemoryError:
        return ended("limit", "the host has no memory left")
    except Oops as error:
        said = next((line for line in error.text.splitlines() if "BUG" in line), error.text[:120])
        return ended("bug", f"{said.strip()} (loading it alone writes a report)")
    return ended(WELL, "")


def _test(path: str, machine: Machine, obj: BpfObject) -> tuple[str, str]:
    """Run test(machine, obj) of a file; what it raises is the answer."""
    try:
        test: Callable[[Machine, BpfObject], object] | None = vars(_module(path)).get("test")
        if test is None:
            return "test", f"{Path(path).name}: it has no function test(machine, obj)"
        test(machine, obj)
    except (LoadError, KernelError, Oops):
        raise
    except Exception as error:  # a person's code, whatever it raises
        lines = [line for line in traceback.extract_tb(error.__traceback__) if line.filename == path]
        line = lines[-1] if lines else traceback.extract_tb(error.__traceback__)[-1]
        named = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
        return "test", f"{Path(line.filename).name}:{line.lineno}: {named}{str(error) or line.line}"
    return WELL, ""


def _module(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
