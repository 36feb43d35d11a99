"""What `simkernel run` does about a recording: --sample, --stacks, --export, and the command that makes the run again."""

from __future__ import annotations

import importlib.util
import os
import shlex
import struct
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from arch.architecture import DEFAULT
from simkernel.cli.options import Options
from simkernel.cli.usage import UsageError
from simkernel.session import TRACEFS

if TYPE_CHECKING:
    from simkernel.machine import Machine
    from simkernel.recording.model import Recording
    from simkernel.recording.take import Recorder

STACK_OPTIONS = ("stacktrace", "userstacktrace")
STDOUT = "-"


def parse_export(text: str) -> tuple[str, Path]:
    """`FORMAT=FILE`, refused before anything runs where it cannot be written."""
    name, separator, path = text.partition("=")
    if not separator or not path:
        raise UsageError(f"--export {text}: write it as FORMAT=FILE")
    check_format(f"--export {text}", name)
    parent = Path(path).parent
    if path != STDOUT and not (parent.is_dir() and os.access(parent, os.W_OK | os.X_OK) and not Path(path).is_dir()):
        raise UsageError(f"--export {text}: {path} cannot be written")
    return name, Path(path)


def check_format(option: str, name: str) -> None:
    """It exists, and the package that it needs is there."""
    from simkernel.recording.formats import FORMATS
    from simkernel.recording.needs import MissingPackage

    if name not in FORMATS:
        raise UsageError(f"{option}: no format is named {name!r}; there are: {', '.join(FORMATS)}")
    package = FORMATS[name].needs
    if package and importlib.util.find_spec(package) is None:
        raise UsageError(f"{option}: {MissingPackage(package)}")


def record_stacks(machine: Machine) -> None:
    """A stack with each event, from the first on."""
    for name in STACK_OPTIONS:
        machine.session.write_file(f"{TRACEFS}/options/{name}", "1")


def start(machine: Machine, options: Options) -> Recorder:
    """From here on the machine is watched."""
    from simkernel.recording.take import Recorder

    session = machine.session if options.sample_hz or options.stacks else None
    return Recorder(machine.kernel, session, options.sample_hz)


def describe(recording: Recording, options: Options, status: int) -> None:
    """Which run it was."""
    recording.meta.argv = options.command or ["--workload", options.workload or ""]
    recording.meta.repeat = repeat(options)
    recording.meta.status = status


def repeat(options: Options) -> str:
    """The command line that makes the same run again: what decides about it, and nothing else."""
    words = ["simkernel", "run"]
    for name, value, plain in (
        ("--arch", options.arch, DEFAULT), ("--kernel", options.kernel, ""), ("--cpus", options.cpus, 1),
        ("--seed", options.seed, 0), ("--memory", options.memory, None), ("--timeout", options.timeout, None), ("--workload", options.workload, None),
        ("--sample", options.sample_hz, 0), ("--max-output", options.max_output, None),
    ):  # fmt: skip
        if value != plain:
            words += [name, str(value)]
    for name, values in (
        ("--bpf", options.bpf),
        ("--event", options.events),
        ("--netem", options.netems),
        ("--bind", [f"{host}:{guest}{':rw' if writable else ''}" for host, guest, writable in options.binds]),
        ("--env", [f"{key}={value}" for key, value in options.env.items()]),
    ):
        for each in values:
            words += [name, each]
    words += ["--stacks"] * options.stacks
    return shlex.join([*words, *(["--", *options.command] if options.command else [])])


def write_exports(recording: Recording, exports: Iterable[tuple[str, Path]]) -> None:
    """Each into its file.  UsageError."""
    for name, path in exports:
        write_one(recording, name, path)


def write_one(recording: Recording, name: str, path: Path) -> None:
    """One format; `-` is stdout.  A file that cannot be made is not begun."""
    from simkernel.recording.formats import writer
    from simkernel.recording.needs import MissingPackage

    try:
        data = b"".join(writer(name)(recording))
        if str(path) == STDOUT:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.flush()
        else:
            path.write_bytes(data)
    except (MissingPackage, ValueError) as error:
        raise UsageError(f"{name}: {error}") from None
    except (struct.error, OverflowError) as error:
        raise UsageError(f"{name} has no room for a number of the recording: is it damaged? ({error})") from None
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
