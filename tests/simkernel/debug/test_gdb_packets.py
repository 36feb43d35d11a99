"""The stub against what is no gdb: packets of nonsense, of any length, and a connection that ends anywhere."""

from __future__ import annotations

import random
import socket
import threading

import pytest

import simkernel
from simkernel.debug import gdb
from simkernel.machine import Machine

NUMBERS = ("0", "-1", "ffff", "ffffffff80000000", "f" * 16, "f" * 40, "", "zz", "1_0", "-8000000000000000", "f" * 3000)


def drive(machine: Machine) -> int:
    task = machine.user_task()
    fd = task.syscall("openat", 0xFFFFFF9C, "/tmp/x", 0o102, 0o644)
    return task.syscall("write", fd, "hello", 5)


def packet(rng: random.Random) -> str:
    def number() -> str:
        return rng.choice(NUMBERS)

    commands = (
        "where",
        "break nope",
        "x/9999999999 0",
        "goto -5",
        "goto 9" + "9" * 30,
        "print ((((",
        "until",
        "a" * 4000,
    )
    return rng.choice(
        (
            f"m{number()},{number()}", f"M{number()},{number()}:{rng.choice(('', '00', 'zz', 'f' * 4001))}", f"p{number()}",
            f"P{number()}={number()}", "G" + rng.choice(("", "0", "x" * 3000, "f" * 3000)), f"Z{rng.randrange(5)},{number()},{number()}",
            f"z{rng.randrange(5)},{number()},{number()}", "Z", f"qXfer:features:read:target.xml:{number()},{number()}",
            "qRcmd," + rng.choice(commands).encode().hex(), "qRcmd,zz", "vCont;x", "vCont;", f"v{number()}", "bx", f"H{number()}",
            "\x80\xff", "", "?", "g", f"q{number()}",
        )
    )  # fmt: skip


def test_nonsense_is_answered() -> None:
    rng = random.Random(1)
    with simkernel.boot() as machine, machine.debugger(drive) as debugger:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            stub = gdb.Stub(debugger, ours)
            for _ in range(1500):
                answer = stub._answer(packet(rng).encode("latin-1"))
                assert answer is not None and len(answer) <= 1 << 20
            assert stub._answer(b"?")


@pytest.mark.parametrize(
    "sent", [b"", b"$", b"$m0,1#", b"$m0,1#zz$m0,1#00", b"+" * 5000, b"$" + b"x" * (1 << 21), b"\x03" * 100]
)
def test_a_connection_that_ends_anywhere_is_the_end(sent: bytes) -> None:
    with simkernel.boot() as machine, machine.debugger(drive) as debugger:
        ours, theirs = socket.socketpair()

        def send() -> None:
            try:
                theirs.sendall(sent)
                theirs.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # the stub has had enough

        sender = threading.Thread(target=send)
        sender.start()
        with ours:
            gdb.Stub(debugger, ours).serve()
        sender.join(10)
        theirs.close()
        assert not sender.is_alive()
