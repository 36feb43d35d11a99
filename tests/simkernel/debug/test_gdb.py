"""gdb attaches: breakpoints by symbol, registers, memory, steps, and the way back; on every architecture that a gdb here knows."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import simkernel
from arch.architecture import OURS, get
from arch.gdb import gdb_of
from simkernel.debug import gdb
from simkernel.debug.vmlinux import vmlinux
from simkernel.machine import Machine
from tests.tools import foreign_packages

SESSION = """
set pagination off
set confirm off
set remotetimeout 60
target remote :{port}
break *vfs_write
continue
stepi 3
reverse-stepi 3
printf "at %d %d\\n", $pc == (unsigned long)&vfs_write, *(unsigned char *)&vfs_write == {first}
x/2i $pc
delete
break *ksys_write
reverse-continue
printf "back at %d\\n", $pc == (unsigned long)&ksys_write
reverse-continue
monitor where
delete
continue
info registers
"""


def drive(machine: Machine) -> int:
    task = machine.user_task()
    fd = task.syscall("openat", 0xFFFFFF9C, "/tmp/x", 0o102, 0o644)
    return task.syscall("write", fd, "hello", 5)


def gdb_for(arch: str) -> str:
    """A gdb of this host that knows the CPU, by name."""
    package = foreign_packages.path("gdb-multiarch", "amd64")
    unpacked = package / "usr/bin/gdb-multiarch" if package is not None else None
    for path in (shutil.which("gdb-multiarch"), unpacked, shutil.which("gdb")):
        if path is not None:
            known = subprocess.run(
                [path, "-nx", "-batch", "-ex", f"set architecture {gdb_of(get(arch)).architecture}"],
                capture_output=True, text=True, check=False, timeout=60,
            )  # fmt: skip
            if known.returncode == 0 and "Undefined item" not in known.stderr:
                return str(path)
    pytest.skip(f"no gdb here knows {arch}")


@pytest.mark.parametrize("arch", OURS)
def test_a_session(arch: str, tmp_path: Path) -> None:
    path = gdb_for(arch)
    machine = simkernel.boot(arch=arch)
    symbols = tmp_path / "vmlinux"
    symbols.write_bytes(vmlinux(machine.kernel))
    first = machine.kernel.mem.read(machine.kernel.symbols["vfs_write"].address, 1)[0]
    with machine.debugger(drive) as debugger, gdb.listen(0) as server:
        port = server.getsockname()[1]
        script = tmp_path / "script"
        script.write_text(SESSION.format(port=port, first=first))
        serving = threading.Thread(target=gdb.serve, args=(debugger, server), daemon=True)
        serving.start()
        done = subprocess.run(
            [path, "-q", "-nx", "-batch", "-x", str(script), str(symbols)],
            capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        serving.join(20)
    said = done.stdout
    assert "Breakpoint 1, 0x" in said and "in vfs_write" in said, said + done.stderr
    assert "at 1 1" in said and "back at 1" in said, said + done.stderr
    assert "No more reverse-execution history" in said
    assert "the beginning of the run: " in said + done.stderr, said + done.stderr
    assert "Program terminated with signal SIGKILL" in said or "received signal SIGKILL" in said, "the end of the run"
    shown = {line.split()[0] for line in said.split("signal SIGKILL")[1].splitlines() if line}
    assert {each.name for each in gdb_of(machine.kernel.arch).registers if each.ours and each.bits >= 32} <= shown


def test_gdb_starts_it_itself(tmp_path: Path) -> None:
    path = gdb_for("x86_64")
    hello = Path(__file__).parents[3] / "samples/bin/x86_64/hello"
    script = tmp_path / "script"
    script.write_text(
        f"set pagination off\ntarget remote | {sys.executable} -m simkernel debug --gdb - -- {hello}\n"
        'stepi\nprintf "at %lx\\n", $pc\nkill\n'
    )
    done = subprocess.run(
        [path, "-q", "-nx", "-batch", "-x", str(script)], capture_output=True, text=True, timeout=100, check=False
    )
    assert "at ffffffff8" in done.stdout, done.stdout + done.stderr


def test_every_register_of_ours_is_shown() -> None:
    for arch in map(get, OURS):
        described = gdb_of(arch)
        shown = [each.ours for each in described.registers if each.ours is not None]
        left = {"priv"}  # riscv64 has no register that says in which mode it is
        assert set(arch.registers) - set(shown) <= left and len(shown) == len(set(shown))
        assert described.architecture in described.xml()


def test_packets_survive_what_the_protocol_reserves() -> None:
    every = bytes(range(256))
    assert gdb.unescape(gdb.escape(every)) == every
    assert not set(gdb.escape(every)) & set(b"$#*")


def test_a_client_that_speaks_nonsense_ends_its_session() -> None:
    """Unknown packets get an empty answer, malformed ones an error; closing ends the session."""
    machine = simkernel.boot()
    with machine.debugger(drive) as debugger, gdb.listen(0) as server:
        serving = threading.Thread(target=gdb.serve, args=(debugger, server), daemon=True)
        serving.start()
        with socket.create_connection(server.getsockname()) as client:
            client.settimeout(30)

            def ask(packet: bytes) -> bytes:
                client.sendall(b"$" + packet + b"#%02x" % (sum(packet) & 0xFF))
                answer = b""
                while answer.count(b"#") < 1 or not answer.split(b"#", 1)[1][1:]:
                    answer += client.recv(1 << 16)
                return answer.lstrip(b"+").split(b"#")[0][1:]

            assert ask(b"~nonsense") == b""
            assert ask(b"m10,4") == b"E0e"
            assert ask(b"mzz") == b"E16"
            assert ask(b"p9999") == b"E16"
            assert ask(b"Z9,0,0") == b""
            assert ask(b"qXfer:features:read:target.xml:0,8") == b"m<?xml ve"[:9]
        serving.join(20)
        assert not serving.is_alive()
