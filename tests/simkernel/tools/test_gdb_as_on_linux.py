"""Debian's gdb inside, on a dynamic program (gdb/target.c): the whole of what gdb/gdb.sh prints, as on Debian's real 6.1 (gdb_6_1.txt).

Breakpoints, steps, watchpoints, threads, system calls, signals, core files, forks, attaching; in a root of its own (chroot), so that names of
mapped files are those that gdb can open. Left out: numbers of processes, addresses, lines whose place chance decides, and what gdb says of
its own surroundings.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

import simkernel
from simkernel.fs.rootfs import add_host_file

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent / "gdb"
LEFT_OUT = re.compile(
    r"^$|^\.$|^child$|^Terminated$|<exec_prefix>|exec file is newer|could not convert|This normally should|\[vvar\]|unexpected null"
    r"|^\[Thread .* exited\]|^\[New process|debuginfod|^Download|^\s+<https"
)
START = """
mkdir -p /r/proc /r/tmp /r/dev /r/root; mount -t proc proc /r/proc; mount --bind /dev /r/dev
[ -d /r/usr/lib/debug ] && mount -t tmpfs none /r/usr/lib/debug  # the real root had no symbols of libraries
cd /r; PATH=/usr/bin:/bin exec chroot /r /bin/sh /w/gdb.sh 2>&1
"""


def gdb_13() -> bool:
    """The host has the gdb that was asked, and a compiler: a Debian 12."""
    if platform.machine() != "x86_64" or not shutil.which("gcc") or not Path("/usr/bin/gdb").exists():
        return False
    version = subprocess.run(["/usr/bin/gdb", "--version"], capture_output=True, text=True, check=False).stdout
    return "Debian 13.1" in version and platform.libc_ver()[1] == "2.36"


def lines(text: str) -> list[str]:
    """Without what may differ."""
    out = []
    for line in text.splitlines():
        if LEFT_OUT.search(line):
            continue
        line = re.sub(r"0x[0-9a-f]{3,}", "ADDRESS", line).replace("/lib/x86_64-linux-gnu/ld-", "/lib64/ld-")
        line = re.sub(r"\b([Pp]rocess|LWP)(\s+)\d+", r"\1 N", line)
        out.append(re.sub(r"\s+", " ", line).strip().rstrip("."))
    return out


@pytest.mark.slow
@pytest.mark.skipif(not gdb_13(), reason="the host has not the programs of Debian 12")
def test_gdb(tmp_path, busybox):
    source = (HERE / "target.c").relative_to(ROOT)
    program = tmp_path / "target"
    subprocess.run(["gcc", "-g", "-O0", "-pthread", "-o", program, source], check=True, cwd=ROOT)
    places = [place for place in ("/usr", "/lib", "/lib64", "/bin") if Path(place).exists()]
    with closing(simkernel.boot(binds=[(place, f"/r{place}", False) for place in places], memory=1 << 30)) as machine:
        for file in (program, HERE / "target.c", HERE / "gdb.sh"):
            add_host_file(machine.kernel.vfs, str(file), f"/r/w/{file.name}", 0o755)
        result = machine.run([machine.install(busybox), "sh", "-c", START], timeout_host_s=300)
    here = lines(result.text)
    assert here == lines((HERE / "gdb_6_1.txt").read_text())


@pytest.mark.skipif(platform.machine() != "x86_64" or not shutil.which("gcc"), reason="needs gcc for x86_64")
def test_a_step_into_a_handler(tmp_path, busybox):
    program = tmp_path / "stepped"
    subprocess.run(["gcc", "-static", "-O1", "-w", "-o", program, HERE / "stepped.c"], check=True)
    with closing(simkernel.boot()) as machine:
        add_host_file(machine.kernel.vfs, str(program), "/below/stepped", 0o755)
        start = "mkdir -p /below/proc; mount -t proc proc /below/proc; /below/stepped"
        result = machine.run([machine.install(busybox), "sh", "-c", start], timeout_host_s=100)
    assert result.text == (HERE / "stepped_6_1.txt").read_text()


@pytest.mark.skipif(platform.machine() != "x86_64" or not shutil.which("gcc"), reason="needs gcc for x86_64")
def test_the_auxiliary_vector(tmp_path):
    """As on a real 6.1 of a CPU without XSAVE (`noxsave`), which the emulated one is."""
    program = tmp_path / "vector"
    subprocess.run(["gcc", "-static", "-O1", "-w", "-o", program, HERE / "vector.c"], check=True)
    with closing(simkernel.boot()) as machine:
        result = machine.run([machine.install(str(program))], timeout_host_s=60)
    assert result.text == (HERE / "vector_6_1.txt").read_text()
