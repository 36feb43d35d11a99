"""`simkernel verify`: what a kernel version's verifier says about a BPF object, or about a file of recorded cases."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from arch.abi.version import NEWEST, KernelVersion
from arch.architecture import DEFAULT, names
from bpf.testing.case_files import CaseError, CaseFile, read_cases
from bpf.testing.cases import Options, Summary, compare, recorded_answer, run_cases, use_kernel_btf
from bpf.versions.confidence import confidence, in_words
from bpf.versions.program_types import PROGRAM_TYPES
from simkernel.kept_btf import find


def _version(text: str | None, default: KernelVersion) -> KernelVersion:
    if text is None:
        return default
    try:
        return KernelVersion.supported(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--kernel") from None


@click.command()
@click.argument("objects", nargs=-1, type=click.Path(path_type=Path))
@click.option("--cases", type=click.Path(path_type=Path), help="A file of recorded cases (JSON, perhaps gzipped).")
@click.option("--kernel", metavar="VERSION", help="Kernel version; default 6.1, for cases the recorded one.")
@click.option(
    "--arch", type=click.Choice(names()), default=DEFAULT, show_default=True, help="Architecture of the machine."
)
@click.option(
    "--btf",
    metavar="FILE|NAME",
    help="Types of a real kernel of that version: its /sys/kernel/btf/vmlinux, or what `btf import` keeps by that name.",
)
@click.option("--log-level", type=click.IntRange(0, 7), help="Verifier log level; default 1, for 4.1 cases their own.")
@click.option("--run", is_flag=True, help="With --cases: test-run what is accepted (BPF_PROG_TEST_RUN).")
@click.option("--unprivileged", is_flag=True, help="With --cases: ask as a task without capabilities.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per program.")
@click.option("-j", "--jobs", default=1, type=click.IntRange(1), help="Processes.", show_default=True)
def verify(
    objects: tuple[Path, ...],
    cases: Path | None,
    kernel: str | None,
    arch: str,
    btf: str | None,
    log_level: int | None,
    run: bool,
    unprivileged: bool,
    as_json: bool,
    jobs: int,
) -> None:
    """Ask a kernel version's verifier about the programs of OBJECTS, or about recorded cases.

    Exit status 0: all programs load (or all answers agree); 1: not so; 2: the input cannot be read.
    """
    if bool(objects) == (cases is not None):
        raise click.UsageError("give either object files or --cases FILE")
    types = find(btf) if btf is not None else None
    if cases is not None:
        sys.exit(_verify_cases(cases, kernel, arch, types, log_level, run, unprivileged, as_json, jobs))
    several = len(objects) > 1
    sys.exit(max(_verify_object(path, kernel, arch, types, log_level, as_json, several) for path in objects))


# ---- recorded cases ----


def _verify_cases(
    path: Path,
    kernel: str | None,
    arch: str,
    btf: Path | None,
    log_level: int | None,
    run: bool,
    unprivileged: bool,
    as_json: bool,
    jobs: int,
) -> int:
    from simkernel.verify_object import ObjectError, read_btf

    try:
        file: CaseFile = read_cases(path)
        if btf is not None:
            use_kernel_btf(_version(kernel, file.version), read_btf(btf), arch)
        options = Options(_version(kernel, file.version), log_level, run, unprivileged, xlated=run, arch=arch)
        results = []
        for result in run_cases(file, options, jobs):
            results.append(result)
            if as_json:
                row = file.rows[len(results) - 1]
                asked = (
                    options.version == file.version
                    and arch == DEFAULT
                    and recorded_answer(row, file, options) is not None
                )
                shown = {key: value for key, value in result.items() if key != "xlated"}
                shown["confidence"] = confidence(options.version, asked)
                click.echo(json.dumps(shown, separators=(",", ":")))
        summary: Summary = compare(file, options, results)
    except (CaseError, ObjectError) as error:
        click.echo(f"simkernel verify: {error}", err=True)
        return 2
    for line in summary.lines():
        click.echo(line, err=True)
    return 1 if summary.differs else 0


# ---- objects ----


def _verify_object(
    path: Path, kernel: str | None, arch: str, btf: Path | None, log_level: int | None, as_json: bool, several: bool
) -> int:
    """One object; of several each row says which."""
    from simkernel.verify_object import ObjectError, read_btf, verify_object

    version = _version(kernel, NEWEST)
    try:
        types = read_btf(btf) if btf is not None else None
        answers = verify_object(path, version, arch, 1 if log_level is None else log_level, types)
    except ObjectError as error:
        click.echo(f"simkernel verify: {path}: {error}", err=True)
        return 2
    for answer in answers:
        if as_json:
            named = {"object": str(path)} if several else {}
            click.echo(json.dumps({**named, **answer, "confidence": confidence(version)}, separators=(",", ":")))
        else:
            _show(answer, f"{path}: " if several else "")
    if not as_json:
        click.echo(f"(verdicts of {version}: {in_words(version)})", err=True)
    return 0 if all(answer["ret"] == 0 for answer in answers) else 1


def _show(answer: dict[str, Any], before: str) -> None:
    """One program for people: verdict, and the log where it says why."""
    from arch.abi.errno import errno_name

    kind = answer["prog_type"]
    name = PROGRAM_TYPES[kind].name.lower() if kind in PROGRAM_TYPES else str(kind)
    verdict = "accepted" if answer["ret"] == 0 else f"rejected: {errno_name(-answer['ret'])}"
    click.echo(f"{before}{answer['name']} ({name}, section {answer['section']}): {verdict}")
    if answer["log"]:
        for line in answer["log"].splitlines():
            click.echo(f"  {line}")
