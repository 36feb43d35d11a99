"""`strace -f` of shell pipelines: every call of every process, as on Debian's real 6.1 (strace/pipeline_6_1.txt), numbers of processes and addresses aside."""

from __future__ import annotations

import platform
import re
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import simkernel
from simkernel.fs.rootfs import add_bytes_lazily, add_host_file

HERE = Path(__file__).parent / "strace"
PROGRAMS = ("dash", "strace", "ls", "cat", "sort", "wc", "echo")
ROOM = re.compile(r"\s+")
LEFT_OUT = re.compile(
    r"^---|^rt_sigreturn|ERESTART|glibc-hwcaps/x86-64-v3|^wait4|^clock_gettime|^getppid|SIGQUIT|^sysinfo|\"nodev\\t"
)


def strace_6_1() -> bool:
    """The host has the programs that were asked: those of Debian 12."""
    places = [Path("/usr/bin") / name for name in PROGRAMS]
    if platform.machine() != "x86_64" or not all(place.exists() for place in places):
        return False
    version = subprocess.run(["/usr/bin/strace", "-V"], capture_output=True, text=True, check=False).stdout
    return "version 6.1" in version and platform.libc_ver()[1] == "2.36"


def files() -> Iterator[tuple[str, str]]:
    """(file of the host, its place below /r): the programs and the libraries that they are linked with."""
    for name in PROGRAMS:
        yield f"/usr/bin/{name}", f"/r/bin/{name}"
        linked = subprocess.run(["ldd", f"/usr/bin/{name}"], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"(/\S+)", linked):
            yield str(Path(library).resolve()), f"/r{library}"
    yield "/usr/bin/dash", "/r/bin/sh"


def calls(text: str) -> dict[str, list[str]]:
    """The lines of each process, in the order in which the shell made them; what chance and the surroundings decide is taken out.

    That is: pids, addresses, sizes, times, random bytes, when a signal comes (and the call that it interrupts), which of two children
    is waited for first, what a CPU with AVX looks for, whether SIGQUIT was ignored from the start, and which file systems there are.
    """
    made = [text.partition(" ")[0], *re.findall(r"(?:clone|vfork)(?: resumed>|\().*= (\d+)$", text, re.MULTILINE)]
    names = {pid: f"process {number}" for number, pid in enumerate(made)}
    lines: dict[str, list[str]] = {}
    begun: dict[str, str] = {}
    for line in text.splitlines():
        pid, _, said = line.partition(" ")
        name, said = names[pid], said.strip()
        if said.endswith("<unfinished ...>"):
            begun[name] = said.removesuffix("<unfinished ...>")
            continue
        if resumed := re.match(r"<\.\.\. \w+ resumed>(.*)", said):
            said = begun.pop(name, "") + resumed[1]
        if LEFT_OUT.search(said):
            continue
        said = ROOM.sub("", said.replace("INT QUIT", "INT"))
        said = re.sub(r"0x[0-9a-f]{5,}", "ADDRESS", said)
        said = re.sub(r'(getrandom\()"[^"]*"', r"\1R", said)
        said = re.sub(r"\b\d+\b", lambda number: names.get(number[0], number[0]), said)
        said = re.sub(r"st_size=(\d+|process \d+)", "st_size=N", said)
        lines.setdefault(name, []).append(said)
    return lines


@pytest.mark.skipif(not strace_6_1(), reason="the host has not the programs of Debian 12")
def test_strace_of_pipelines():
    with closing(simkernel.boot()) as machine:
        for source, place in files():
            add_host_file(machine.kernel.vfs, source, place, 0o755)
        add_bytes_lazily(machine.kernel.vfs, "/r/etc/passwd", b"root:x:0:0::/:/bin/sh\n", 0o644)
        add_bytes_lazily(machine.kernel.vfs, "/pipeline.sh", (HERE / "pipeline.sh").read_bytes())
        result = machine.run([machine.install("busybox"), "sh", "/pipeline.sh"], timeout_host_s=200)
    real, here = calls((HERE / "pipeline_6_1.txt").read_text()), calls(result.text)
    assert here.keys() == real.keys()
    for name, expected in real.items():
        assert here[name] == expected, name
