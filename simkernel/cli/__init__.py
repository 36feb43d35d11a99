"""The command line: `simkernel COMMAND ...`.

Each command lives in a module of its own and is imported only when it is asked for, so that every command starts
quickly.  Bad input ends in one clear line on stderr and exit status 2; no traceback.
"""

from __future__ import annotations

import importlib
import sys

import click

from arch.errors import KernelError

# Command name -> (module, attribute, one line of help).  Order: as a newcomer meets them.
COMMANDS = {
    "demo": ("simkernel.cli.demo", "demo", "Run a program under a BPF program; print trace and histogram."),
    "run": (
        "simkernel.cli.run",
        "run",
        "Run a program in the simulated computer, with probes and BPF attached.",
    ),
    "list": ("simkernel.cli.listing", "list_", "List kernel functions or trace events."),
    "disasm": ("simkernel.cli.listing", "disasm", "Disassemble a kernel function and show its probe sites."),
    "verify": ("simkernel.cli.verify", "verify", "Ask a kernel version's verifier about BPF programs."),
    "feature": ("simkernel.cli.feature", "feature", "What BPF features a kernel version has."),
    "btf": ("simkernel.cli.btf", "btf", "Dump the simulated kernel's BTF, raw or as vmlinux.h."),
}


class LazyGroup(click.Group):
    """A click group that imports a command's module when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_) for name, (_, _, help_) in COMMANDS.items()])


@click.group(cls=LazyGroup)
@click.version_option(package_name="simkernel")
def cli() -> None:
    """Tracing and eBPF on a simulated Linux computer: no root, no KVM, no real kernel."""


def main() -> None:
    """Entry point of the `simkernel` command."""
    try:
        cli()
    except KernelError as error:
        print(f"simkernel: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(141) from None
