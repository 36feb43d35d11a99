"""A host program for the machine: found on the host, looked at before it is put in.

A clear sentence says what is wrong with a file that the machine could not run, and what to do about it.
"""

from __future__ import annotations

import os
from pathlib import Path

from arch import architecture as architectures
from arch.abi.elf import EI_CLASS, EI_DATA, ELFMAG, EM_BPF, ET_DYN, ET_EXEC, PT_INTERP, PT_LOAD
from arch.records import dataclass

MAX_PROGRAM_BYTES = 256 << 20
# e_machine values that we can name though we do not run them.  include/uapi/linux/elf-em.h
OTHER_MACHINES = {8: "mips", 20: "powerpc", 21: "powerpc64", 43: "sparc64", 258: "loongarch64", 247: "bpf"}


class ProgramError(Exception):
    """The file cannot be run: a sentence for a person."""


@dataclass(frozen=True)
class Program:
    """A host file that can run."""

    path: Path
    name: str  # in the guest's /bin
    interpreter: str = ""  # PT_INTERP of a dynamic program


def find(name: str) -> Path:
    """The host file: a path, or a name searched on PATH."""
    if "/" in name:
        path = Path(name)
        if not path.exists():
            raise ProgramError(f"{name}: no such file")
    else:
        import shutil

        found = shutil.which(name)
        if found is None:
            if Path(name).is_file():
                raise ProgramError(f"{name}: not found on PATH; the file here is ./{name}")
            raise ProgramError(f"{name}: not found on PATH (give a path to a static program)")
        path = Path(found)
    path = path.resolve()
    if path.is_dir():
        raise ProgramError(f"{name}: is a directory")
    if not path.is_file():
        raise ProgramError(f"{name}: is not a regular file")
    if not os.access(path, os.R_OK):
        raise ProgramError(f"{name}: cannot be read")
    if path.stat().st_size > MAX_PROGRAM_BYTES:
        raise ProgramError(f"{name}: larger than {MAX_PROGRAM_BYTES >> 20} MiB")
    return path


def check(name: str, arch_name: str, dynamic_ok: bool = False) -> Program:
    """Find a program and see that this architecture's machine can run it; ProgramError says why not."""
    path = find(name)
    data = path.read_bytes()
    if data[:2] == b"#!":
        raise ProgramError(f"{name}: is a script; run its interpreter, for example `busybox sh {name}` with --bind")
    if data[:4] != ELFMAG:
        raise ProgramError(f"{name}: not an ELF program")
    if len(data) < 52:
        raise ProgramError(f"{name}: truncated ELF file ({len(data)} bytes)")
    architecture = architectures.get(arch_name)
    order = {1: "little", 2: "big"}.get(data[EI_DATA])
    if order is None or data[EI_CLASS] not in (1, 2):
        raise ProgramError(f"{name}: damaged ELF header")
    machine = int.from_bytes(data[18:20], "little" if order == "little" else "big")
    wanted = (architecture.elf_machine, architecture.model.byteorder, architecture.model.word // 4)
    if (machine, order, data[EI_CLASS]) != wanted:
        raise ProgramError(
            f"{name}: built for {machine_name(machine, order)}, but the machine is {arch_name}{hint(machine)}"
        )
    kind = int.from_bytes(data[16:18], architecture.model.byteorder)
    if kind not in (ET_EXEC, ET_DYN):
        raise ProgramError(f"{name}: an ELF file, but not a program")
    interpreter = program_interpreter(name, data, architecture.model.word, architecture.model.byteorder)
    if interpreter and not dynamic_ok:
        raise ProgramError(
            f"{name}: dynamically linked (needs {interpreter}); link it statically (-static), "
            f"or give the machine the libraries, for example --bind /lib:/lib --bind /lib64:/lib64 --bind /usr/lib:/usr/lib"
        )
    return Program(path, path.name if "/" in name else name, interpreter)


def program_interpreter(name: str, data: bytes, word: int, order: str) -> str:
    """PT_INTERP of an ELF file, "" for a static one; ProgramError where the file ends too early."""

    def number(at: int, size: int) -> int:
        if at + size > len(data):
            raise ProgramError(f"{name}: truncated ELF file ({len(data)} bytes)")
        return int.from_bytes(data[at : at + size], "little" if order == "little" else "big")

    phoff, phentsize, phnum = (number(32, 8), 54, 56) if word == 8 else (number(28, 4), 42, 44)
    entry, count = number(phentsize, 2), number(phnum, 2)
    loads = 0
    found = ""
    for index in range(count):
        base = phoff + index * entry
        kind = number(base, 4)
        offset, size = (
            (number(base + 8, 8), number(base + 32, 8)) if word == 8 else (number(base + 4, 4), number(base + 16, 4))
        )
        if kind in (PT_LOAD, PT_INTERP) and offset + size > len(data):
            raise ProgramError(f"{name}: truncated ELF file ({len(data)} bytes, {offset + size} expected)")
        loads += kind == PT_LOAD
        if kind == PT_INTERP:
            found = data[offset : offset + size].rstrip(b"\0").decode("latin-1")
    if not loads:
        raise ProgramError(f"{name}: an ELF file with nothing to load")
    return found


def machine_name(machine: int, order: str) -> str:
    """What an e_machine is called here."""
    for name in architectures.names():
        architecture = architectures.get(name)
        if (architecture.elf_machine, architecture.model.byteorder) == (machine, order):
            return name
    return OTHER_MACHINES.get(machine, f"ELF machine {machine}")


def hint(machine: int) -> str:
    """`; use --arch arm64` where that helps."""
    if machine == EM_BPF:
        return "; a BPF object goes with --bpf"
    for name in architectures.names():
        if architectures.get(name).elf_machine == machine:
            return f"; use --arch {name}"
    return ""


def busybox_applets(data: bytes) -> list[str]:
    """Applet names from the table inside a busybox binary: NUL-separated, sorted, from `[` to `zcat`."""
    start = data.find(b"\0[\0[[\0") + 1
    if not start:
        return []
    end = data.find(b"\0\0", start)
    names = data[start:end].split(b"\0")
    return [name.decode("ascii") for name in names if name.isascii() and 0 < len(name) < 24 and name != b"busybox"]
