"""`simkernel list functions|events [GLOB]` and `simkernel disasm FUNCTION`: what there is to probe, and where."""

from __future__ import annotations

import difflib
import fnmatch
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from arch.architecture import DEFAULT, names
from arch.text import disassemble

if TYPE_CHECKING:
    from simkernel.kernel.kernel import Kernel

C = TypeVar("C", bound=Callable[..., object])


def machine_options(command: C) -> C:
    """--arch and --kernel, as every command has them."""
    command = click.option("--kernel", default="6.1", show_default=True, help="Kernel version.")(command)
    return click.option("--arch", type=click.Choice(names()), default=DEFAULT, show_default=True, help="CPU.")(command)


def booted(arch: str, kernel: str) -> Kernel:
    """The kernel of a machine; exit status 2 and a sentence for an unknown version."""
    from simkernel.machine import boot

    try:
        return boot(arch=arch, kernel=kernel).kernel
    except ValueError as error:
        print(f"simkernel: {error}", file=sys.stderr)
        raise SystemExit(2) from None


@click.command("list")
@machine_options
@click.option("--json", "as_json", is_flag=True, help="A JSON array.")
@click.option("--silent", is_flag=True, help="Also functions that are there to attach to and never called, marked.")
@click.argument("what", type=click.Choice(["functions", "events"]))
@click.argument("glob", default="*")
def list_(arch: str, kernel: str, as_json: bool, silent: bool, what: str, glob: str) -> None:
    """List kernel functions that can be probed, or trace events; GLOB picks some (`vfs_*`, `sched:*`)."""
    k = booted(arch, kernel)
    names = function_names(k) if what == "functions" else event_names(k)
    never = silent_names(k, names) if silent and what == "functions" else set()
    names = sorted([*names, *never])
    chosen = [name for name in names if fnmatch.fnmatchcase(name, glob)]
    if as_json:
        print(json.dumps(chosen))
    else:
        for name in chosen:
            print(f"{name} (silent)" if name in never else name)
    if not chosen:
        print(f"simkernel list: no {what[:-1]} matches {glob}{near(glob, names)}", file=sys.stderr)
        raise SystemExit(1)


def function_names(k: Kernel) -> list[str]:
    """Probe-able functions, by name."""
    blocked = {name for _, _, name in k.observer.probe_blacklist()}
    refused = k.observer.tracing.functions.refused
    names = (symbol.name for symbol in k.symbols if symbol.kind in "tT" and symbol.name not in blocked)
    return sorted(name for name in names if not refused(name))


def silent_names(k: Kernel, called: list[str]) -> set[str]:
    """Functions of the real kernel of this CPU and version, as far as one was asked, that this machine never calls."""
    functions = k.observer.tracing.functions
    return {name for name in functions.listed if not functions.shared(name)}.difference(called)


def event_names(k: Kernel) -> list[str]:
    """`system:name` of every trace event."""
    return sorted(f"{event.system}:{event.name}" for event in k.observer.tracing.events)


def near(name: str, names: list[str]) -> str:
    """`; near: a, b` for what was probably meant."""
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    return f"; near: {', '.join(close)}" if close else ""


@click.command()
@machine_options
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.argument("function")
def disasm(arch: str, kernel: str, as_json: bool, function: str) -> None:
    """Disassemble a kernel function.  Every line is a place where a kprobe can sit; `p` and `r` mark entry and return."""
    k = booted(arch, kernel)
    if function not in k.symbols:
        print(f"simkernel disasm: no function {function}{near(function, function_names(k))}", file=sys.stderr)
        raise SystemExit(2)
    symbol = k.symbols[function]
    declared = k.text.functions.get(function)
    blocked = any(name == function for _, _, name in k.observer.probe_blacklist())
    code = disassemble(k.arch, k.mem.read(symbol.address, symbol.size), symbol.address)
    if as_json:
        print(
            json.dumps(
                {
                    "name": function,
                    "address": symbol.address,
                    "size": symbol.size,
                    "prototype": "" if declared is None else declared[1].text,
                    "source": "" if declared is None else declared[0].source,
                    "takes_pt_regs": declared is not None and declared[2],
                    "blocked": blocked,
                    "instructions": [
                        {
                            "offset": insn.address - symbol.address,
                            "bytes": insn.bytes.hex(),
                            "text": f"{insn.mnemonic} {insn.op_str}".rstrip(),
                        }
                        for insn in code
                    ],
                }
            )
        )
        return
    if declared is not None:
        print(f"{declared[1].text};" + ("    /* takes struct pt_regs * here */" if declared[2] else ""))
        print(f"/* {declared[0].source} */" if declared[0].source else "", end="\n")
    if blocked:
        print("/* on the kprobe blacklist: entry code runs inside the trap that a probe would need */")
    print(f"{symbol.address:016x} <{function}>: {symbol.size} bytes")
    for insn in code:
        offset = insn.address - symbol.address
        mark = " " if blocked else "p" if offset == 0 else "+"
        print(f"{mark} {function}+{offset:#06x}  {insn.bytes.hex():<16} {insn.mnemonic} {insn.op_str}".rstrip())
