"""`simkernel explain`: why a kernel's verifier rejects a program, or where an accepted one's instructions go."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from arch.abi.errno import errno_name
from arch.abi.version import KernelVersion
from bpf.explain.story import Explanation, accepted_text, explain, rejected_text
from simkernel.cc import CompileError
from simkernel.cli.compile import compiled
from simkernel.cli.listing import machine_options
from simkernel.own_floors import EXIT_USAGE

LOG_LEVEL = 2  # the whole path


@click.command("explain")
@machine_options
@click.option("--program", metavar="NAME", help="Only this program of the object.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per program.")
@click.argument("obj", type=click.Path(path_type=Path))
def explain_(arch: str, kernel: str, program: str | None, as_json: bool, obj: Path) -> None:
    """Explain the verdict on the programs of OBJ (an object file, or a C file that is compiled first).

    Exit status 0: all programs load; 1: not so; 2: OBJ cannot be read.
    """
    try:
        answers = ask(obj, kernel, arch)
    except (ValueError, CompileError) as error:
        print(f"simkernel explain: {error}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE) from None
    names = [answer["name"] for answer in answers]
    if program is not None and program not in names:
        print(f"simkernel explain: {obj}: no program {program}; there are {', '.join(names)}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE)
    chosen = [answer for answer in answers if program in (None, answer["name"])]
    for number, answer in enumerate(chosen):
        found = explain(answer["log"] or "")
        if as_json:
            click.echo(json.dumps(document(answer, found), separators=(",", ":")))
        else:
            click.echo(("\n" if number else "") + "\n".join(text(answer, found)))
    raise SystemExit(0 if all(answer["ret"] == 0 for answer in chosen) else 1)


def ask(obj: Path, kernel: str, arch: str) -> list[dict[str, Any]]:
    """The verifier's answers, one for each program.  ValueError with a sentence."""
    import tempfile

    from simkernel.verify_object import ObjectError, verify_object

    version = KernelVersion.supported(kernel)
    try:
        if obj.suffix != ".c":
            return list(verify_object(obj, version, arch, LOG_LEVEL))
        with tempfile.TemporaryDirectory(prefix="simkernel-explain-") as directory:
            made = Path(directory, obj.with_suffix(".o").name)
            made.write_bytes(compiled(obj, arch, kernel))
            return list(verify_object(made, version, arch, LOG_LEVEL))
    except ObjectError as error:
        raise ValueError(f"{obj}: {error}") from None


def text(answer: dict[str, Any], found: Explanation) -> list[str]:
    """One program for a person."""
    verdict = "accepted" if answer["ret"] == 0 else f"rejected, {errno_name(-answer['ret'])}"
    head = f"{answer['name']} ({answer['section']}): {verdict}"
    return [head, *(accepted_text(found) if answer["ret"] == 0 else rejected_text(found))]


def document(answer: dict[str, Any], found: Explanation) -> dict[str, object]:
    """One program for machines.  What is about a rejection is empty for an accepted one."""
    step = found.step if answer["ret"] else None
    return {
        "name": answer["name"],
        "section": answer["section"],
        "ret": answer["ret"],
        "message": found.message if answer["ret"] else "",
        "instruction": None if step is None else step.insn,
        "source": "" if step is None else step.source,
        "register": found.register,
        "value": found.value,
        "origin": found.origin if step is not None else "",
        "history": [vars(each) for each in found.history],
        "rule": None if found.rule is None else found.rule.rule,
        "fix": None if found.rule is None else found.rule.fix,
        "processed": found.cost.insns,
        "total_states": found.cost.total_states,
        "peak_states": found.cost.peak_states,
        "log": found.log,
    }
