"""`simkernel` for tests that start it often: a process that has everything imported, of which each command is a copy.

    $ python warm.py serve SOCKET          # ends when its standard input does
    $ python warm.py ask SOCKET NAME ARGUMENT...

The command has the caller's directory, environment and standard streams; signals that the caller gets are handed on; its exit status,
or the signal that ended it, is the caller's.  When the caller is gone, the command is killed.  What it prints may not depend on what
has been done in the process before: that holds of any machine.  NAME is `simkernel`, or `python` with `-m MODULE` or a file.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import select
import shlex
import signal
import socket
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import NoReturn

HANDED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LENGTH = 4  # bytes of a message's length


# -- the command that a test starts ----------------------------------------------------------------------------------------


def ask(where: str, argv: list[str]) -> NoReturn:
    """Have `argv` done by the server."""
    server = socket.socket(socket.AF_UNIX)
    server.connect(where)
    request = json.dumps({"argv": argv, "cwd": os.getcwd(), "environment": dict(os.environ)}).encode()
    socket.send_fds(server, [len(request).to_bytes(LENGTH)], [0, 1, 2])
    server.sendall(request)
    pid = int.from_bytes(receive(server, LENGTH))
    for number in HANDED_ON:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, frame: os.kill(pid, number))
    status = os.waitstatus_to_exitcode(int.from_bytes(receive(server, LENGTH)))
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def receive(peer: socket.socket, size: int) -> bytes:
    """Exactly so many bytes; the end of the process when there are no more."""
    out = b""
    while len(out) < size:
        part = peer.recv(size - len(out))
        if not part:
            os._exit(255)
        out += part
    return out


# -- the server ------------------------------------------------------------------------------------------------------------


def serve(where: str) -> NoReturn:
    """Answer until standard input ends: it is a pipe that the tests hold."""
    warm_up()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(where)
    listener.listen()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        ready, _, _ = select.select([listener, 0], [], [])
        if 0 in ready:
            os._exit(0)
        while reaped():
            pass
        peer, _ = listener.accept()
        if not os.fork():
            listener.close()
            watch(peer)
        peer.close()


def reaped() -> bool:
    """A watcher that has ended is gone."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def warm_up() -> None:
    """What every command begins with, done once; nothing of it stays in a machine."""
    import gc
    import importlib

    import simkernel
    from arch.garbage import hold
    from simkernel.cli import COMMANDS

    for module, _, _ in COMMANDS.values():
        importlib.import_module(module)
    samples = Path(__file__).parents[2] / "samples"
    with simkernel.boot() as m:
        m.load(samples / "obj" / "x86_64" / "writes.bpf.o").attach()
        m.run([m.install(samples / "bin" / "x86_64" / "hello")])
    gc.collect()
    hold()


def watch(peer: socket.socket) -> NoReturn:
    """Start the command, tell how it ended; end it when nobody waits any more."""
    head, streams, _, _ = socket.recv_fds(peer, LENGTH, 3)
    request = json.loads(receive(peer, int.from_bytes(head)))
    pid = os.fork()
    if not pid:
        peer.close()
        command(request, streams)
    for stream in streams:
        os.close(stream)
    peer.sendall(pid.to_bytes(LENGTH))
    child = os.pidfd_open(pid)
    ready, _, _ = select.select([child, peer], [], [])
    if child not in ready:
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    if child in ready:
        peer.sendall(status.to_bytes(LENGTH))
    os._exit(0)


def command(request: dict[str, object], streams: list[int]) -> NoReturn:
    """Become the command, with a process group of the caller's kind: signals are handed on to it alone."""
    argv, directory, environment = request["argv"], request["cwd"], request["environment"]
    assert isinstance(argv, list) and isinstance(directory, str) and isinstance(environment, dict)
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    for number in HANDED_ON:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(0, closefd=False),
        os.fdopen(1, "w", 1 if os.isatty(1) else -1, closefd=False),
        os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False),
    )
    status = 1
    try:
        become(argv)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            status = status or 120
        os._exit(status)


def become(argv: list[str]) -> None:
    """What the installed command does, or what Python does with a module or a file."""
    if Path(argv[0]).name == "simkernel":
        from simkernel.cli import main

        sys.argv, sys.path[0] = ["simkernel", *argv[1:]], str(Path(sys.executable).parent)
        main()
    elif argv[1] == "-m":
        sys.argv, sys.path[0] = argv[2:], os.getcwd()
        runpy.run_module(argv[2], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = argv[1:], str(Path(argv[1]).parent)
        runpy.run_path(argv[1], run_name="__main__")


# -- for the tests ---------------------------------------------------------------------------------------------------------


class Warm:
    """The server, and a folder for PATH with a `simkernel` and a `python` that ask it."""

    def __init__(self, folder: Path) -> None:
        import subprocess

        self.path = folder / "bin"
        self.path.mkdir()
        where = folder / "socket"
        self.server = subprocess.Popen(
            [sys.executable, __file__, "serve", str(where)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert self.server.stdout is not None and self.server.stdout.readline() == b"ready\n"
        self.client = [sys.executable, "-I", "-S", __file__, "ask", str(where)]
        client = shlex.join(self.client)
        self._script("simkernel", f'exec {client} simkernel "$@"')
        self._script(
            "python",
            f'case "$1" in -m|*.py) exec {client} python "$@" ;; esac; exec {sys.executable} "$@"',
        )

    def _script(self, name: str, text: str) -> None:
        path = self.path / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def command(self, *words: object) -> list[str]:
        """What starts `simkernel WORDS`."""
        return [*self.client, "simkernel", *map(str, words)]

    def python(self, *words: object) -> list[str]:
        """What starts `python WORDS`, with -m or a file."""
        return [*self.client, "python", *map(str, words)]

    def close(self) -> None:
        """The server ends; commands that run end with those who wait for them."""
        assert self.server.stdin is not None
        self.server.stdin.close()
        self.server.wait(10)


@cache
def warm_server() -> Warm:
    """The one of this process, from the first test that needs it to the end."""
    folder = tempfile.TemporaryDirectory(prefix="warm-")
    server = Warm(Path(folder.name))
    atexit.register(lambda: (server.close(), folder.cleanup()))
    return server


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    ask(sys.argv[2], sys.argv[3:])
