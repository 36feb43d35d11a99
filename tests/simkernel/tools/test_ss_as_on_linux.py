"""`ss` of Debian 12 on sockets of every kind (ss/sockets.c): what it prints, as on Debian's real 6.1 (ss/ss_6_1.txt).

Left out is what chance decides: numbers of ports, inodes, cookies and processes, times and what is computed from them; the order of
socks, which on Linux is that of hashes with a key.
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
from simkernel.fs.rootfs import add_bytes_lazily, add_host_file

HERE = Path(__file__).parent / "ss"
PROGRAMS = ("/usr/bin/dash", "/usr/bin/ss", "/usr/bin/cat", "/usr/bin/sed")
MASKS = (
    (r"users:\S+", "USERS"), (r"127\.0\.0\.1:\d{5}", "127.0.0.1:P"), (r"(0100007F:)(?!1B5[9A-F])[0-9A-F]{4}", r"\1P"),
    (r"\b(ino|sk):\d+", r"\1:N"), (r"(\*|sock|abstract|tcpdiag:ss/|4:|^ *)\s?\d+(?=[ :/]|$)", r"\1N"),
    (r"(rto|rtt|send|lastsnd|lastrcv|lastack|pacing_rate|minrtt)[: ]\S+", r"\1:N"), (r"delivery_rate \S+ |busy:\S+ ", ""),
    (r"timewait,\d+sec", "timewait,N"), (r"(03|02):[0-9A-F]{8}", r"\1:N"), (r"\d+ \d$", "INODE"), (r"\s+", " "),
)  # fmt: skip


def ss_6_1() -> bool:
    """The host has the programs that were asked: those of Debian 12; and a compiler."""
    if platform.machine() != "x86_64" or not shutil.which("gcc") or not all(Path(name).exists() for name in PROGRAMS):
        return False
    version = subprocess.run(["/usr/bin/ss", "-V"], capture_output=True, text=True, check=False).stdout
    return "6.1.0" in version and platform.libc_ver()[1] == "2.36"


def blocks(text: str) -> dict[str, list[str]]:
    """Command -> its lines, in an order of their own."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("--- "):
            lines = found.setdefault(line, [])
            continue
        for pattern, instead in MASKS:
            line = re.sub(pattern, instead, line)
        lines.append(line.strip())
    return {command: sorted(lines) for command, lines in found.items()}


@pytest.mark.skipif(not ss_6_1(), reason="the host has not the programs of Debian 12")
def test_sockets(tmp_path):
    program = tmp_path / "sockets"
    subprocess.run(["gcc", "-O1", "-w", "-o", program, HERE / "sockets.c"], check=True)
    with closing(simkernel.boot()) as machine:
        for name in (*PROGRAMS, str(program)):
            add_host_file(machine.kernel.vfs, name, f"/r/bin/{Path(name).name}", 0o755)
            linked = subprocess.run(["ldd", name], capture_output=True, text=True, check=True).stdout
            for library in re.findall(r"(/\S+)", linked):
                add_host_file(machine.kernel.vfs, str(Path(library).resolve()), f"/r{library}", 0o755)
        add_host_file(machine.kernel.vfs, "/usr/bin/dash", "/r/bin/sh", 0o755)
        add_bytes_lazily(machine.kernel.vfs, "/r/ss.sh", (HERE / "ss.sh").read_bytes())
        start = (
            "cd /r; mkdir -p proc tmp sys; mount -t proc proc proc; ifconfig lo 127.0.0.1 up; "
            "PATH=/bin chroot . /bin/sockets 'sh /ss.sh' 2>&1 | cat"
        )
        result = machine.run([machine.install("busybox"), "sh", "-c", start], timeout_host_s=200)
    real, here = blocks((HERE / "ss_6_1.txt").read_text()), blocks(result.text)
    assert here.keys() == real.keys()
    for command, expected in real.items():
        assert here[command] == expected, command


@pytest.mark.skipif(platform.machine() != "x86_64" or not shutil.which("gcc"), reason="needs gcc for x86_64")
def test_keepalive_finds_out(tmp_path):
    """A connection over a device that goes down: asked twice and given up, as on 6.1; also by TCP_USER_TIMEOUT."""
    program = tmp_path / "keepalive"
    subprocess.run(["gcc", "-static", "-O1", "-w", "-o", program, HERE / "keepalive.c"], check=True)
    with closing(simkernel.boot()) as machine:
        result = machine.run([machine.install(str(program))], timeout_virtual_ns=10**11, timeout_host_s=100)
    assert result.text == (HERE / "keepalive_6_1.txt").read_text()
