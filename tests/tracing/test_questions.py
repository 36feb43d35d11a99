"""Files of tracefs against the recorded answers of Linux 6.1: tests/data/tracing/questions/, asked by tests/tools/record_tracefs.py.

Every operation of a file is made on a machine without a CPU; what differs from run to run (times, pids of other tasks,
numbers of events) is written as a word.
"""

import re
from pathlib import Path

import pytest

from arch.abi.errno import EAGAIN
from arch.abi.errno import errno_name as name_of
from arch.errors import KernelError
from tests.tracing.fakes import cat, machine, node

QUESTIONS = Path(__file__).parents[1] / "data/tracing/questions"


def answers(name):
    """[(operation, what the real kernel answered)]."""
    out = []
    for line in (QUESTIONS / f"{name}.6.1").read_text(errors="surrogateescape").splitlines():
        if line.startswith("\t"):
            out[-1][1].append(line[1:])
        else:
            out.append((line, []))
    return [(op, "\n".join(lines)) for op, lines in out]


def normal(text):
    text = re.sub(r"^\[ *\d+\.\d{6}\]", "[TIME]", text, flags=re.M)
    text = re.sub(r" +\d+\.\d{6}:", " TIME:", text)
    text = re.sub(r"^ +(\S+|<\.\.\.>)-\d+ +\[", " TASK [", text, flags=re.M)
    text = re.sub(r"^ID: \d+$", "ID: N", text, flags=re.M)
    text = re.sub(r"(common_pid: +)\d+", r"\1PID", text)
    return text.rstrip("\n")


def make_room(tracing, path, make):
    parent, _, name = path.rpartition("/")
    where = node(tracing, parent) if parent else tracing.tracefs.root
    (where.mkdir if make else where.rmdir)(name)


def answer(tracing, operation):
    op, _, rest = operation.partition(" ")
    path, _, text = rest.partition(" ")
    try:
        if op == "<":
            return cat(tracing, path)
        if op in ("mkdir", "rmdir"):
            make_room(tracing, path, op == "mkdir")
            return ""
        try:
            found = node(tracing, path)
        except KernelError:  # the shell asks for creation: what is not there cannot be made
            return "EACCES"
        data = text.replace("\\n", "\n").encode()
        file = found.open(0o1 | (0o2000 if op == ">>" else 0o1000))
        try:
            while data:
                data = data[file.write(data, 0) :]
        finally:
            file.release()
    except KernelError as error:
        if error.errno == EAGAIN:
            raise
        return name_of(error.errno)
    return ""


def differences(name):
    tracing = machine("6.1", cpus=1)
    tracing.declare_syscalls([("newfstat", [("unsigned int", "fd"), ("struct stat *", "statbuf")])], {"newfstat": 5})
    tracing.trace_array.expand()  # all were asked in one boot, where an event had been on before
    out = []
    for operation, wanted in answers(name):
        tracing.host.ns += 1_000_000
        got = normal(answer(tracing, operation))
        if got != normal(wanted):
            out.append(f"{operation}\n--- real\n{wanted}\n--- ours\n{got}")
    return out


@pytest.mark.parametrize("name", sorted(path.stem for path in QUESTIONS.glob("*.txt")))
def test_as_the_real_kernel(name):
    assert not differences(name)
