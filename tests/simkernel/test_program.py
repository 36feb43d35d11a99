"""Bad programs are refused with a sentence that says what to do."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from simkernel.program import ProgramError, check

HELLO = Path(__file__).parents[2] / "samples" / "bin" / "x86_64" / "hello"


def elf(machine: int = 62, kind: int = 2, interpreter: bytes = b"", elf_class: int = 2, order: int = 1) -> bytes:
    """A minimal ELF64 file with one PT_LOAD, perhaps with an interpreter."""
    headers = [struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000, 0x400000, 64, 64, 4096)]
    data = b""
    if interpreter:
        headers.append(struct.pack("<IIQQQQQQ", 3, 4, 64 + 2 * 56, 0, 0, len(interpreter), len(interpreter), 1))
        data = interpreter
    ident = b"\x7fELF" + bytes((elf_class, order, 1)) + bytes(9)
    mark = "<" if order == 1 else ">"
    head = ident + struct.pack(
        mark + "HHIQQQIHHHHHH", kind, machine, 1, 0x400000, 64, 0, 0, 64, 56, len(headers), 0, 0, 0
    )
    return head + b"".join(headers) + data


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"plain text", "not an ELF program"),
        (b"", "not an ELF program"),
        (b"#!/bin/sh\n", "is a script"),
        (b"\x7fELF\x02\x01", "truncated ELF file (6 bytes)"),
        (elf()[:100], "truncated ELF file (100 bytes)"),
        (elf(machine=183), "built for arm64, but the machine is x86_64; use --arch arm64"),
        (elf(machine=258), "built for loongarch64, but the machine is x86_64"),
        (elf(machine=22, order=2), "built for s390x, but the machine is x86_64; use --arch s390x"),
        (elf(kind=1), "not a program"),
        (elf(interpreter=b"/lib64/ld-linux-x86-64.so.2\0"), "dynamically linked (needs /lib64/ld-linux-x86-64.so.2)"),
    ],
)
def test_a_bad_file_is_named_with_its_reason(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "program"
    path.write_bytes(content)
    path.chmod(0o755)
    with pytest.raises(ProgramError) as refused:
        check(str(path), "x86_64")
    assert says in str(refused.value)
    assert str(path) in str(refused.value)


def test_missing_files_are_said() -> None:
    with pytest.raises(ProgramError, match="no such file"):
        check("/nowhere/at/all", "x86_64")
    with pytest.raises(ProgramError, match="not found on PATH"):
        check("no-such-program-anywhere", "x86_64")


def test_a_good_program_is_found() -> None:
    program = check(str(HELLO), "x86_64")
    assert (program.name, program.interpreter) == ("hello", "")
