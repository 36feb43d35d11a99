"""The command line: `simkernel COMMAND ...`.

Each command lives in a module of its own and is imported only when it is asked for, so that every command starts
quickly.  Bad input ends in one clear line on stderr and exit status 2; no traceback.
"""

from __future__ import annotations

import atexit
import errno
import gc
import importlib
import os
import sys
from typing import Any

import click

from arch.abi.signal import SIGINT
from arch.errors import KernelError
from arch.hosttime import HOST, HostStop, stop_behind
from arch.libraries import WrongLibrary
from simkernel import __version__
from simkernel.bug import Oops
from simkernel.own_floors import EXIT_USAGE
from simkernel.terminal import guarded

# Command name -> (module, attribute, one line of help).  Order: as a newcomer meets them.
COMMANDS = {
    "demo": ("simkernel.cli.demo", "demo", "Run a program under a BPF program; print trace and histogram."),
    "run": (
        "simkernel.cli.run",
        "run",
        "Run a program in the simulated computer, with probes and BPF attached.",
    ),
    "debug": ("simkernel.cli.debug", "debug", "Step through a program and the kernel, forwards and backwards."),
    "report": ("simkernel.cli.page", "report", "A recorded run as one HTML page."),
    "export": ("simkernel.cli.export", "export", "A recorded run for Perfetto, perf, pandas, flame graphs."),
    "cc": ("simkernel.cli.compile", "cc", "Compile a BPF program in C against the simulated kernel's types."),
    "build": ("simkernel.cli.build", "build", "Compile BPF programs written in Python to an object file."),
    "list": ("simkernel.cli.listing", "list_", "List kernel functions or trace events."),
    "disasm": ("simkernel.cli.listing", "disasm", "Disassemble a kernel function and show its probe sites."),
    "verify": ("simkernel.cli.verify", "verify", "Ask a kernel version's verifier about BPF programs."),
    "explain": ("simkernel.cli.explain", "explain_", "Why a program is rejected, and what would satisfy the verifier."),
    "matrix": ("simkernel.cli.matrix", "matrix", "Many BPF objects on many kernels and CPUs, with reasons."),
    "sweep": ("simkernel.cli.sweep", "sweep", "An experiment over seeds and parameters, with confidence intervals."),
    "diff": ("simkernel.cli.diff", "diff", "What moved between two kernels, for one object or for all."),
    "feature": ("simkernel.cli.feature", "feature", "What BPF features a kernel version has."),
    "schema": ("simkernel.cli.schema", "schema", "What the commands print with --json, field by field."),
    "btf": ("simkernel.cli.btf", "btf", "The simulated kernel's BTF, raw or as vmlinux.h; real kernels' by name."),
}

# Objects made before Python looks for circles among them: its 700 are met 400 times at start, and nothing is found.
GC_THRESHOLD = 100_000
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
EXIT_BROKEN_PIPE = 128 + 13  # as a shell tells of SIGPIPE


class LazyGroup(click.Group):
    """A click group that imports a command's module when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            import difflib

            close = difflib.get_close_matches(cmd_name, COMMANDS, n=2)
            ctx.fail(
                f"no command is named {cmd_name!r}"
                + (f"; near: {', '.join(close)}" if close else "; there are " + ", ".join(COMMANDS))
            )
        module, attribute, _ = COMMANDS[cmd_name]
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what a person at the terminal does to it ends it quietly."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except (KeyboardInterrupt, HostStop, RuntimeError) as error:
            if isinstance(error, RuntimeError) and not stop_behind(error):
                raise
            HOST.seen()
            raise SystemExit(128 + (HOST.asked or SIGINT)) from None
        except WrongLibrary as error:
            print(f"simkernel {ctx.invoked_subcommand}: {error}", file=sys.stderr)
            raise SystemExit(EXIT_USAGE) from None
        except MemoryError as error:
            print(
                f"simkernel {ctx.invoked_subcommand}: no memory of the host is left: {error or 'a limit of this process?'}",
                file=sys.stderr,
            )
            raise SystemExit(EXIT_USAGE) from None
        except BrokenPipeError:
            silence(sys.stdout)
            raise SystemExit(EXIT_BROKEN_PIPE) from None
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            silence(sys.stdout)
            print(
                f"simkernel {ctx.invoked_subcommand}: the output cannot be written: {error.strerror}", file=sys.stderr
            )
            raise SystemExit(EXIT_USAGE) from None
        except Oops as oops:
            from simkernel.cli.bug import report

            raise SystemExit(report(oops, ctx.invoked_subcommand or "", None, False)) from None
        except KernelError as error:
            print(f"simkernel {ctx.invoked_subcommand}: {error}", file=sys.stderr)
            raise SystemExit(EXIT_USAGE) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_) for name, (_, _, help_) in COMMANDS.items()])


@click.group(cls=LazyGroup)
@click.version_option(__version__, prog_name="simkernel")
@click.pass_context
def cli(context: click.Context) -> None:
    """Tracing and eBPF on a simulated Linux computer: no root, no KVM, no real kernel."""
    from simkernel.cli.config import ConfigError, defaults_of, tables

    name = context.invoked_subcommand or ""
    try:
        table = tables(COMMANDS).get(name)
        command = (
            context.command.get_command(context, name) if table and isinstance(context.command, LazyGroup) else None
        )
        if table and command is not None:
            context.default_map = {name: defaults_of(command, table, name)}
    except ConfigError as error:
        print(f"simkernel: {error}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE) from None


def silence(stream: Any) -> None:
    """Nobody reads this stream any more: what is still buffered goes nowhere, and nothing is said about it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def open_standard_streams() -> None:
    """A standard stream that was closed before the start is /dev/null: another file must not get its number."""
    for fd, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != fd:
                os.dup2(null, fd)
                os.close(null)
            setattr(sys, name, os.fdopen(fd, mode, closefd=False))
    sys.stdout, sys.stderr = guarded(sys.stdout), guarded(sys.stderr)


def main() -> None:
    """Entry point of the `simkernel` command."""
    gc.set_threshold(GC_THRESHOLD)
    atexit.register(gc.freeze)  # the process ends: a last search for garbage takes a sixth of a short run
    open_standard_streams()
    HOST.take_signals()
    cli()
