"""What `simkernel run` does with BPF objects: load and attach them, and warn of what will surprise."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from arch.architecture import Architecture, get, names
from arch.errors import KernelError
from simkernel.cli.usage import UsageError

if TYPE_CHECKING:
    from bpf.btf import Btf
    from bpf.loader import LoadError
    from bpf.loader.object import BpfObject
    from simkernel.machine import Machine
    from simkernel.program import Program


def load_objects(
    machine: Machine, paths: tuple[str, ...], program: Program | None = None, guest: str = ""
) -> list[tuple[str, BpfObject]]:
    """Load and attach every object; what the kernel, the loader or the compiler says goes into the UsageError.

    `program` is what will run and lies at `guest` in the machine; user probes find it by its path on the host, too.
    """
    if not paths:
        return []
    from bpf.loader import LoadError
    from simkernel.cc import CompileError

    out = []
    for path in paths:
        if not Path(path).is_file():
            raise UsageError(f"--bpf {path}: no such file")
        obj = None
        try:
            obj = machine.open(path)
            machine.load(obj)
            if program is not None and probes_file(obj, program.path):
                show_as(machine, guest, program.path)
            obj.attach()
        except LoadError as error:
            if obj is None and "BTF is required" in str(error):
                raise UsageError(f"--bpf {path}: it has no BTF: compile it with -g") from None
            told = "".join(f"\n{sentence}" for sentence in (warnings(machine, obj) if obj is not None else []))
            if error.log:
                cpu, version = machine.kernel.arch.name, machine.kernel.version
                told += f"\nmore about it: simkernel explain {path} --kernel {version} --arch {cpu}"
            raise UsageError(f"--bpf {path}: {load_error_text(error)}{told}") from None
        except (KernelError, CompileError, OSError) as error:
            raise UsageError(f"--bpf {path}: {error}") from None
        out.append((path, obj))
    return out


def probes_file(obj: BpfObject, path: Path) -> bool:
    """Whether a program's section names this file of the host: `uprobe//home/me/server:answer`."""
    return any(f"/{path.absolute()}:" in each.section_name for each in obj.programs.values())


def show_as(machine: Machine, guest: str, path: Path) -> None:
    """The program under its path of the host, which is what the author of a user probe wrote."""
    from simkernel.fs.rootfs import add_link

    if str(path.absolute()) != guest:
        with contextlib.suppress(KernelError):  # a bind covers that place: it is there already
            add_link(machine.kernel.vfs, str(path.absolute()), guest)


def load_error_text(error: LoadError) -> str:
    """Why an object was refused, with the verifier's log where there is one."""
    text = str(error)
    log = error.log
    if log and log.strip() not in text:
        text += "\n" + "".join(f"  {line}\n" for line in log.rstrip("\n").split("\n")).rstrip("\n")
    return text


def warnings(machine: Machine, obj: BpfObject) -> list[str]:
    """Sentences about an object that loads, but will not show what its author expects."""
    out = []
    if obj.btf is None:
        out.append("it has no BTF, so its maps are shown as bytes: compile it with -g")
    elif other := compiled_for(machine.kernel.arch, obj.btf):
        ours = machine.kernel.arch.name
        out.append(
            f"it was compiled for the registers of {other}, so the arguments that it reads here are wrong: "
            f"compile it for this machine, for example with simkernel cc --arch {ours}"
        )
    return out


def compiled_for(ours: Architecture, btf: Btf) -> str:
    """The other CPU whose registers the object's struct pt_regs has; "" where they are ours, or none that we know."""
    members = [
        member.name
        for each in btf.types[1:]
        if each.name in ("pt_regs", "user_pt_regs")
        for member in each.members
        if member.name and member.name not in ours.pt_regs.fields
    ]
    others = [
        name for name in names() if name != ours.name and members and set(members) & set(get(name).pt_regs.fields)
    ]
    return others[0] if others else ""
