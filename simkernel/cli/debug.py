"""`simkernel debug`: step through a program in the simulated computer, forwards and backwards."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import click

from arch.architecture import DEFAULT, names
from arch.records import dataclass, field
from simkernel.cli.objects import load_objects
from simkernel.cli.options import Options
from simkernel.cli.run import bind_option, boot_machine, enable_events, parse_env
from simkernel.cli.usage import UsageError
from simkernel.own_floors import EXIT_USAGE
from simkernel.program import ProgramError, check

if TYPE_CHECKING:
    from simkernel.debug.debugger import Command
    from simkernel.machine import Machine


@dataclass
class Wanted:
    """What the command line asked for beside the machine."""

    commands: str | None = None
    gdb: str | None = None
    vmlinux: Path | None = None
    verifier: Path | None = None
    program: str | None = None
    argv: list[str] = field(default_factory=list)
    json: bool = False


@click.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.option("--arch", type=click.Choice(names()), default=DEFAULT, show_default=True, help="The machine's CPUs.")
@click.option("--kernel", default="6.1", show_default=True, help="Kernel version.")
@click.option("--cpus", type=click.IntRange(1, 64), default=1, show_default=True, help="How many simulated CPUs.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of everything random.")
@click.option("--bpf", "bpf", multiple=True, metavar="OBJ", help="Load and attach a BPF object.  Repeatable.")
@click.option("--event", "events", multiple=True, metavar="GROUP:NAME|p:SPEC", help="Trace an event.  Repeatable.")
@click.option("--bind", "binds", multiple=True, metavar="HOST:GUEST[:rw]", help="Show a host file or directory.")
@click.option("--env", "env", multiple=True, metavar="NAME=VALUE", help="Environment of the program.  Repeatable.")
@click.option("--commands", metavar="FILE", help="Execute the commands of a file (-: stdin), print text.")
@click.option("--gdb", metavar="PORT", help="Wait for gdb on this port of localhost; -: it is at stdin and stdout.")
@click.option("--vmlinux", type=click.Path(path_type=Path), metavar="OUT", help="Write the kernel's symbols for gdb.")
@click.option("--verifier", type=click.Path(path_type=Path), metavar="OBJ", help="Walk the verifier's path instead.")
@click.option("--program", metavar="NAME", help="With --verifier: this program of the object.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object for each command, or program; no panels.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def debug(
    arch: str,
    kernel: str,
    cpus: int,
    seed: int,
    bpf: tuple[str, ...],
    events: tuple[str, ...],
    binds: tuple[str, ...],
    env: tuple[str, ...],
    commands: str | None,
    gdb: str | None,
    vmlinux: Path | None,
    verifier: Path | None,
    program: str | None,
    as_json: bool,
    command: tuple[str, ...],
) -> None:
    """Debug PROGRAM [ARG...] in the simulated computer, or with --verifier the verifier's walk over a BPF object.

    On a terminal there are panels; `pip install simkernel[debug]` brings what they need.  Without one, or with
    --commands, commands are read line by line: `help` lists them.
    """
    try:
        options = Options(arch, kernel, cpus, seed, bpf, events, [bind_option(b) for b in binds])
        options.env = dict(parse_env(e) for e in env)
        wanted = Wanted(commands, gdb, vmlinux, verifier, program, list(command), as_json)
        raise SystemExit(run_debugger(options, wanted))
    except (UsageError, ProgramError) as error:
        print(f"simkernel debug: {error}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE) from None


def run_debugger(options: Options, wanted: Wanted) -> int:
    """One of the faces; the exit status."""
    if wanted.verifier is not None:
        return walk_verifier(options, wanted)
    if not wanted.argv and wanted.vmlinux is None:
        raise UsageError("no program given; for example: simkernel debug -- busybox echo hello")
    program = check(wanted.argv[0], options.arch, dynamic_ok=bool(options.binds)) if wanted.argv else None
    machine = boot_machine(options)
    guest = "" if program is None else machine.install(program)
    load_objects(machine, options.bpf, program, guest)
    enable_events(machine, options)
    if wanted.vmlinux is not None:
        functions = write_vmlinux(machine, wanted.vmlinux)
        if wanted.json:
            say({"vmlinux": str(wanted.vmlinux), "functions": functions})
    if program is None:
        return 0
    from simkernel.debug.debugger import Command
    from simkernel.machine import DEFAULT_ENV

    command = Command([guest, *wanted.argv[1:]], {**DEFAULT_ENV, **options.env})
    if wanted.gdb is not None:
        return run_gdb(machine, command, wanted.gdb, wanted.json)
    if wanted.commands is None and not wanted.json and sys.stdin.isatty() and sys.stdout.isatty():
        return run_panels(machine, command)
    return run_script(machine, command, lines_of(wanted.commands or "-"), wanted.json)


def walk_verifier(options: Options, wanted: Wanted) -> int:
    """The whole walk over each program, or over one by commands.  UsageError."""
    from arch.abi.version import KernelVersion
    from simkernel.debug.verifier import ObjectError, WalkCommands, walks

    path = wanted.verifier
    assert path is not None
    try:
        found = walks(path, KernelVersion.supported(options.kernel), options.arch)
    except ObjectError as error:
        raise UsageError(f"--verifier {path}: {error}") from None
    except ValueError as error:
        raise UsageError(f"--kernel {error}") from None
    names = [walk.name for walk in found]
    if wanted.program is not None and wanted.program not in names:
        raise UsageError(f"--program {wanted.program}: the object has {', '.join(names)}")
    chosen = [walk for walk in found if wanted.program in (None, walk.name)]
    if wanted.commands is None:
        for walk in chosen:
            if wanted.json:
                say(walk.document())
            else:
                print("\n".join(walk.lines()))
    elif len(chosen) > 1:
        raise UsageError(f"--commands with --verifier walks one program: --program {' or '.join(names)}")
    else:
        commands = WalkCommands(chosen[0])
        if not wanted.json:
            print(chosen[0].head())
        execute_lines(commands, lines_of(wanted.commands), (lambda: (None, commands.number)) if wanted.json else None)
    return 0 if all(walk.ret == 0 for walk in chosen) else 1


class Executes(Protocol):
    """What a script talks to."""

    done: bool

    def execute(self, line: str) -> Iterator[str]:
        """What a line gives."""
        ...


def say(document: dict[str, object]) -> None:
    """One line of --json."""
    print(json.dumps(document), flush=True)


Where = Callable[[], tuple[dict[str, object] | None, int | None]]  # a stop of the machine, the event of a walk


def execute_lines(commands: Executes, lines: Iterator[str], where: Where | None = None) -> None:
    """Each is shown, and what it gives; with `where` as JSON."""
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if where is not None:
            said = list(commands.execute(line))
            stop, event = where()
            say({"command": line.strip(), "lines": said, "stop": stop, "event": event})
            if commands.done:
                break
            continue
        print(f"(debug) {line.strip()}")
        for text in commands.execute(line):
            print(text)
        sys.stdout.flush()
        if commands.done:
            break


def write_vmlinux(machine: Machine, path: Path) -> int:
    """The kernel's symbols as an ELF file; how many functions.  UsageError."""
    from simkernel.debug.vmlinux import vmlinux

    try:
        path.write_bytes(vmlinux(machine.kernel))
    except OSError as error:
        raise UsageError(f"--vmlinux {path}: {error.strerror}") from None
    return sum(symbol.kind in "tT" for symbol in machine.kernel.symbols)


def run_gdb(machine: Machine, command: Command, port: str, as_json: bool) -> int:
    """One session with gdb.  UsageError."""
    import socket

    from arch.gdb import gdb_of
    from simkernel.debug import gdb

    try:
        gdb_of(machine.kernel.arch)
    except ValueError as error:
        raise UsageError(f"--gdb {port}: {error}") from None
    try:
        if port == "-":
            with socket.socket(fileno=0) as pipe, machine.debugger(command) as debugger:  # gdb's pipes are sockets
                gdb.Stub(debugger, pipe).serve()
            return 0
        server = gdb.listen(int(port))
    except OSError as error:
        raise UsageError(f"--gdb {port}: {error.strerror}") from None
    except (OverflowError, ValueError):
        raise UsageError(f"--gdb {port}: write a port's number, up to 65535, or -") from None
    with server, machine.debugger(command) as debugger:
        bound = server.getsockname()[1]
        if as_json:
            say({"host": "localhost", "port": bound})
        else:
            print(f"waiting for gdb: target remote :{bound}", flush=True)
        gdb.serve(debugger, server)
    return 0


def run_panels(machine: Machine, command: Command) -> int:
    """Panels on the terminal.  UsageError where they cannot be."""
    try:
        from simkernel.debug.app import Panels
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the panels need {error.name}: pip install 'simkernel[debug]'; --commands FILE works without them"
        ) from None
    with machine.debugger(command) as debugger:
        Panels(debugger).run()
    return 0


def lines_of(source: str) -> Iterator[str]:
    """Commands of a file, or of stdin.  UsageError."""
    try:
        if source == "-":
            yield from sys.stdin
            return
        text = Path(source).read_text()
    except OSError as error:
        raise UsageError(f"--commands {source}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"--commands {source}: not a text; write a command of the debugger in each line") from None
    yield from text.splitlines()


def run_script(machine: Machine, command: Command, lines: Iterator[str], as_json: bool) -> int:
    """Commands line by line; each is shown, and what it gives."""
    from simkernel.debug import show
    from simkernel.debug.commands import Commands

    with machine.debugger(command) as debugger:
        where: Where = lambda: (show.document(debugger, debugger.stop), None)  # noqa: E731
        execute_lines(Commands(debugger), lines, where if as_json else None)
    return 0
